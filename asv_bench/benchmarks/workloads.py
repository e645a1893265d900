"""What is measured: one table of expressions, and how to run one so that no result can be faked.

In:  the array module and the size.   Out: `Running`, whose call computes one result.
Inputs change from call to call (a ring of sets), each result is evaluated before the call returns, and
the last few results are either dropped or kept alive, which decides whether memory can be used again.
"""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

MODULES = ("numpy", "lazyarr")
KEEP = ("dropped", "kept")
SIZES = (10, 1_000, 100_000, 10_000_000)
EAGER = 32_768
"""Up to this size lazyarr computes results at the call, by default."""
SETS = 3
"""Sets of inputs that take turns, and results that are kept alive."""


@dataclass(frozen=True)
class Workload:
    """An expression: called with the array module and `inputs` arrays of `n` elements in all."""

    group: str
    inputs: int
    call: Callable[..., Any]
    dtype: str = "float64"
    columns: int = 0
    """Inputs have this many columns; 0 for one dimension."""


def chain10(np: Any, a: Any, b: Any) -> Any:
    return ((((a + b) * a - b) * 0.5 + 1.5) * b - a) * (a + 2.0) - 3.0


def normal_cdf(np: Any, x: Any) -> Any:
    z = np.abs(x)
    t = 1 / (1 + 0.2316419 * z)
    series = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    tail = np.exp(-0.5 * z * z) * 0.3989422804 * t * (0.319381530 + t * (-0.356563782 + t * series))
    return np.where(x > 0, 1 - tail, tail)


def black_scholes(np: Any, spot: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.03, 0.25
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    call = spot * normal_cdf(np, d1) - strike * np.exp(-rate * years) * normal_cdf(np, d1 - spread)
    return call


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_in_place(np: Any, x: Any) -> Any:
    y = x - x.max(axis=1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
    return y


def layer_norm(np: Any, x: Any, scale: Any, shift: Any) -> Any:
    mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale[0] + shift[0]


def standardised(np: Any, x: Any, axis: int) -> Any:
    return (x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True)


def attention_scores(np: Any, q: Any, k: Any) -> Any:
    scores = q @ k[:64].T * np.float32(0.125)       # as many as there are inputs
    return softmax(np, scores)


def jacobi(np: Any, u: Any) -> Any:
    out = u.copy()
    out[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return out


def prefix_update(np: Any, a: Any) -> Any:
    x = a * 1.0
    x[1:] += x[:-1]
    return x


WORKLOADS: dict[str, Workload] = {
    "a+b": Workload("elementwise", 2, lambda np, a, b: a + b),
    "a+b*c": Workload("elementwise", 3, lambda np, a, b, c: a + b * c),
    "10-op chain": Workload("elementwise", 2, chain10),
    "Black-Scholes": Workload("elementwise", 3, black_scholes),
    "sqrt(a)": Workload("elementwise", 1, lambda np, a: np.sqrt(a)),
    "exp(-a*a)": Workload("elementwise", 1, lambda np, a: np.exp(-a * a)),
    "where, clip": Workload("elementwise", 2, lambda np, a, b: np.where(a > b, np.clip(a, 0.7, 1.2), b)),
    "a+b*c float32": Workload("elementwise", 3, lambda np, a, b, c: a + b * c, "float32"),
    "integer mix": Workload("elementwise", 2, lambda np, a, b: (a * 3 + b) // 2 ^ (a >> 1), "int64"),
    "by number": Workload("elementwise", 1, lambda np, a: (a + 1) * np.arange(1, a.size + 1)),
    "on a line": Workload("elementwise", 1, lambda np, a: a * np.linspace(0, 1, a.size)),
    "to uint8": Workload("elementwise", 1, lambda np, a: (a * 100 + 0.5).astype(np.uint8), "float32"),
    "sum": Workload("reduce", 1, lambda np, a: a.sum()),
    "((x-y)**2).sum()": Workload("reduce", 2, lambda np, x, y: ((x - y) ** 2).sum()),
    "a[a>0].sum()": Workload("reduce", 1, lambda np, a: a[a > 0].sum()),
    "mean, std": Workload("reduce", 1, lambda np, a: a.mean() + a.std()),
    "max - min": Workload("reduce", 1, lambda np, a: a.max() - a.min()),
    "argmax": Workload("reduce", 1, lambda np, a: a.argmax()),
    "count a>0": Workload("reduce", 1, lambda np, a: np.count_nonzero(a > 0)),
    "row sums": Workload("reduce", 1, lambda np, a: (a * 2).sum(axis=1), columns=1000),
    "column means": Workload("reduce", 1, lambda np, a: a.mean(axis=0), columns=1000),
    "softmax rows": Workload("reduce", 1, softmax, "float32", columns=1000),
    "cumsum": Workload("scans", 1, lambda np, a: np.cumsum(a)),
    "cumsum axis 0": Workload("scans", 1, lambda np, a: np.cumsum(a, axis=0), columns=1000),
    "cumsum axis 1": Workload("scans", 1, lambda np, a: np.cumsum(a, axis=1), columns=1000),
    "cumsum float32": Workload("scans", 1, lambda np, a: np.cumsum(a, axis=0), "float32", columns=1000),
    "cumsum of integers": Workload("scans", 1, lambda np, a: np.cumsum(a), "int64"),
    "cumsum of points": Workload("scans", 1, lambda np, a: np.cumsum(a, axis=0), columns=3),
    "running means": Workload(
        "scans", 1, lambda np, a: np.cumsum(a**2, axis=1) / np.arange(1.0, a.shape[1] + 1), columns=1000
    ),
    "running maxima": Workload("scans", 1, lambda np, a: np.maximum.accumulate(a, axis=0), columns=1000),
    "softmax, axis 1": Workload("rows", 1, softmax, "float32", columns=1024),
    "softmax in place": Workload("rows", 1, softmax_in_place, "float32", columns=1024),
    "layer norm": Workload("rows", 3, layer_norm, "float32", columns=1024),
    "standardise axis 1": Workload("rows", 1, lambda np, a: standardised(np, a, 1), columns=2000),
    "standardise axis 0": Workload("rows", 1, lambda np, a: standardised(np, a, 0), columns=2000),
    "row norms": Workload(
        "rows", 1, lambda np, a: a / np.sqrt((a * a).sum(axis=1, keepdims=True)), "float32", columns=1024
    ),
    "variance axis 1": Workload("rows", 1, lambda np, a: np.var(a, axis=1), columns=2000),
    "attention scores": Workload("rows", 2, attention_scores, "float32", columns=64),
    "a + a.T.copy()": Workload("views", 1, lambda np, a: a + a.T.copy().reshape(a.shape), columns=1000),
    "reversed": Workload("views", 2, lambda np, a, b: a[::-1] * 2 + b),
    "every other": Workload("views", 1, lambda np, a: a[::2] * 2 + 1),
    "row and column": Workload("views", 1, lambda np, a: a * a[:1] + a[:, :1], columns=1000),
    "Jacobi step": Workload("views", 1, jacobi, columns=1000),
    "x[1:] += x[:-1]": Workload("views", 1, prefix_update),
}
KEPT = ("a+b*c", "10-op chain", "Black-Scholes", "((x-y)**2).sum()", "a[a>0].sum()")
"""The workloads that are measured with results kept alive, too."""


def group(name: str) -> list[str]:
    return [key for key, workload in WORKLOADS.items() if workload.group == name]


def inputs(module: str, workload: Workload, n: int, seed: int) -> list[Any]:
    """Fresh arrays that belong to the module (lazyarr must not have to watch memory of others)."""
    np = importlib.import_module(module)
    rng = numpy.random.default_rng(seed)
    columns = min(workload.columns, n)
    shape = (n // columns, columns) if columns else (n,)
    if workload.dtype == "int64":
        return [np.array(rng.integers(1, 1000, shape)) for _ in range(workload.inputs)]
    spread = [rng.uniform(0.5, 1.5, shape).astype(workload.dtype) for _ in range(workload.inputs)]
    if workload.group in ("reduce", "rows", "scans"):
        spread = [x - x.dtype.type(1) for x in spread]      # both signs
    return [np.array(x) for x in spread]


def finisher(module: str) -> Callable[[Any], Any]:
    """A function that has a result computed, if it is lazy; of equal cost for all modules."""
    np = importlib.import_module(module)
    array, evaluate = np.ndarray, getattr(np, "evaluate", lambda result: None)

    def finish(result: Any) -> Any:
        if type(result) is array:
            evaluate(result)
        return result

    return finish


class Running:
    """A workload with its inputs: each call takes the next set and computes one result."""

    def __init__(self, module: str, name: str, n: int, keep: str = "dropped") -> None:
        self.np = importlib.import_module(module)
        self.finish = finisher(module) if n > EAGER else lambda result: result
        self.call = WORKLOADS[name].call
        self.sets = [inputs(module, WORKLOADS[name], n, seed) for seed in range(SETS)]
        self.kept: deque[Any] = deque(maxlen=SETS if keep == "kept" else 0)
        self.turn = 0

    def __call__(self) -> Any:
        self.turn = (self.turn + 1) % SETS
        result = self.finish(self.call(self.np, *self.sets[self.turn]))
        self.kept.append(result)
        return result
