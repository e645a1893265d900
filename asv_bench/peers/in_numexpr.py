"""The target programs in numexpr: expressions as text, a temporary wherever a sum ends one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.targets import SWEEPS
from numexpr import evaluate

CDF = """where({0} > 0, 1, 0) + where({0} > 0, -1, 1) * exp(-0.5 * {0} * {0}) * 0.3989422804
    * {1} * (0.319381530 + {1} * (-0.356563782 + {1} * (1.781477937
    + {1} * (-1.821255978 + {1} * 1.330274429))))"""


def array(x: np.ndarray) -> np.ndarray:
    return x


def finish(result: Any) -> Any:
    return result


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    d1 = evaluate("(log(spot / strike) + (0.03 + 0.5 * 0.25 ** 2) * years) / (0.25 * sqrt(years))")
    d2 = evaluate("d1 - 0.25 * sqrt(years)")
    t1, t2 = (evaluate("1 / (1 + 0.2316419 * abs(d))", {"d": d}) for d in (d1, d2))
    text = f"spot * ({CDF.format('d1', 't1')}) - strike * exp(-0.03 * years) * ({CDF.format('d2', 't2')})"
    return evaluate(" ".join(text.split()), {**locals()})


def rosenbrock(x: Any) -> Any:
    a, b = x[:-1], x[1:]
    return evaluate("sum(100 * (b - a ** 2) ** 2 + (1 - a) ** 2)", {"a": a, "b": b})


def softmax(x: Any) -> Any:
    high = evaluate("max(x, axis=1)")[:, None]
    e = evaluate("exp(x - high)", {"x": x, "high": high})
    total = evaluate("sum(e, axis=1)")[:, None]
    return evaluate("e / total", {"e": e, "total": total})


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    n = np.float32(x.shape[1])
    mean = (evaluate("sum(x, axis=1)") / n)[:, None]
    var = (evaluate("sum((x - mean) ** 2, axis=1)", {"x": x, "mean": mean}) / n)[:, None]
    factor = 1 / np.sqrt(var + np.float32(1e-5))
    given = {"x": x, "mean": mean, "factor": factor, "scale": scale, "shift": shift}
    return evaluate("(x - mean) * factor * scale + shift", given)


def mean_std(axis: int) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        mean = evaluate(f"sum(x, axis={axis})") / x.shape[axis]
        there = np.expand_dims(mean, axis)
        squares = evaluate(f"sum((x - there) ** 2, axis={axis})", {"x": x, "there": there})
        return mean, np.sqrt(squares / x.shape[axis])

    return program


def squared_distances(x: Any, y: Any) -> Any:
    return evaluate("sum((a - b) ** 2, axis=2)", {"a": x[:, None, :], "b": y[None, :, :]})


def jacobi(start: Any) -> Any:
    u = start.copy()
    step = {"a": u[:-2, 1:-1], "b": u[2:, 1:-1], "c": u[1:-1, :-2], "d": u[1:-1, 2:]}
    for _ in range(SWEEPS):
        u[1:-1, 1:-1] = evaluate("0.25 * (a + b + c + d)", step)
    return u


def heat(start: Any) -> Any:
    u = start.copy()
    inner = u[1:-1, 1:-1]
    step = {"a": u[:-2, 1:-1], "b": u[2:, 1:-1], "c": u[1:-1, :-2], "d": u[1:-1, 2:], "inner": inner}
    for _ in range(SWEEPS):
        inner[...] = evaluate("inner + 0.1 * (a + b + c + d - 4 * inner)", step)
        u[0, :] = u[1, :]
        u[-1, :] = u[-2, :]
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
    return u


PROGRAMS: dict[str, Callable[..., Any]] = {
    "triad": lambda a, b, c: evaluate("a + b * c"),
    "10-op chain": lambda a, b: evaluate("((((a + b) * a - b) * 0.5 + 1.5) * b - a) * (a + 2.0) - 3.0"),
    "Black-Scholes": black_scholes,
    "Rosenbrock sum": rosenbrock,
    "softmax of rows": softmax,
    "layer norm of rows": layer_norm,
    "mean, std, axis 0": mean_std(0),
    "mean, std, axis 1": mean_std(1),
    "row sums": lambda x: evaluate("sum(x, axis=1)"),
    "column sums": lambda x: evaluate("sum(x, axis=0)"),
    "distances float32": squared_distances,
    "distances float64": squared_distances,
    "Jacobi": jacobi,
    "heat": heat,
    "masked sum": lambda a: evaluate("sum(where(a > 0, a, 0))"),
}
