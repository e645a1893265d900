"""The target programs in torch: `torch.compile`, whose C++ may use fast math, a thread for each core."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
import torch
import torch._inductor.config
from benchmarks.targets import SWEEPS, heat_step, jacobi_sweep

torch.set_num_threads(len(os.sched_getaffinity(0)))
torch._inductor.config.cpp.enable_unsafe_math_opt_flag = True



def array(x: numpy.ndarray) -> Any:
    return torch.tensor(x)


def finish(result: Any) -> Any:
    return result


def cdf(x: Any) -> Any:
    z = x.abs()
    t = 1 / (1 + 0.2316419 * z)
    series = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    tail = torch.exp(-0.5 * z * z) * 0.3989422804 * t * (0.319381530 + t * (-0.356563782 + t * series))
    return torch.where(x > 0, 1 - tail, tail)


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    spread = 0.25 * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (0.03 + 0.5 * 0.25**2) * years) / spread
    return spot * cdf(d1) - strike * torch.exp(-0.03 * years) * cdf(d1 - spread)


def stepped(step: Callable[[Any], None]) -> Callable[[Any], Any]:
    """A compiled step, taken again and again: to compile the loop as a whole would unroll it."""
    compiled = torch.compile(step)

    def program(start: Any) -> Any:
        u = start.clone()
        for _ in range(SWEEPS):
            compiled(u)
        return u

    return program


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[1:], scale[0], shift[0], 1e-5)


def squared_distances(x: Any, y: Any) -> Any:
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def mean_std(axis: int) -> Callable[[Any], Any]:
    return lambda x: (x.mean(axis), x.std(axis, correction=0))


WHOLE: dict[str, Callable[..., Any]] = {
    "triad": lambda a, b, c: a + b * c,
    "10-op chain": lambda a, b: ((((a + b) * a - b) * 0.5 + 1.5) * b - a) * (a + 2.0) - 3.0,
    "Black-Scholes": black_scholes,
    "Rosenbrock sum": rosenbrock,
    "softmax of rows": lambda x: torch.softmax(x, 1),
    "layer norm of rows": layer_norm,
    "mean, std, axis 0": mean_std(0),
    "mean, std, axis 1": mean_std(1),
    "row sums": lambda x: x.sum(1),
    "column sums": lambda x: x.sum(0),
    "distances float32": squared_distances,
    "distances float64": squared_distances,
    "masked sum": lambda a: torch.where(a > 0, a, 0.0).sum(),
}
PROGRAMS: dict[str, Callable[..., Any]] = {name: torch.compile(program) for name, program in WHOLE.items()}
PROGRAMS |= {"Jacobi": stepped(jacobi_sweep), "heat": stepped(heat_step)}
