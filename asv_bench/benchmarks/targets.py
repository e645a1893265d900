"""The programs that lazyarr is held against other engines by, at the sizes that the project has set itself.

`TARGETS` is the table: programs of NumPy, the shapes and the type of their inputs.  The other engines'
versions, under the same names, are in `peers`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from benchmarks.workloads import MODULES, SETS, black_scholes, chain10, layer_norm, softmax

SWEEPS = 100


@dataclass(frozen=True)
class Target:
    """A program: called with the array module and one array for each shape."""

    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str = "float64"
    positive: bool = False
    """Inputs lie between 0.5 and 1.5, else between -0.5 and 0.5."""

    def sets(self) -> list[list[numpy.ndarray]]:
        """Inputs that take turns."""
        low = 0.5 if self.positive else -0.5
        found = []
        for seed in range(SETS):
            rng = numpy.random.default_rng(seed)
            found.append([rng.uniform(low, low + 1, shape).astype(self.dtype) for shape in self.shapes])
        return found


def rosenbrock(np: Any, x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def mean_std(np: Any, x: Any, axis: int) -> Any:
    return x.mean(axis=axis), x.std(axis=axis)


def squared_distances(np: Any, x: Any, y: Any) -> Any:
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)


def jacobi_sweep(u: Any) -> None:
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def heat_step(u: Any) -> None:
    """No heat passes through the borders."""
    inner = u[1:-1, 1:-1]
    inner += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
    u[0, :] = u[1, :]
    u[-1, :] = u[-2, :]
    u[:, 0] = u[:, 1]
    u[:, -1] = u[:, -2]


def stepped(np: Any, start: Any, step: Callable[[Any], None]) -> Any:
    u = start.copy()
    for _ in range(SWEEPS):
        step(u)
    return u


LONG, ROWS, ROW, TABLE, SQUARE, POINTS, FIELD = (
    (10_000_000,), (4096, 1024), (1, 1024), (5000, 2000), (4096, 4096), (2000, 32), (1000, 1000),
)  # fmt: skip
TARGETS: dict[str, Target] = {
    "triad": Target(lambda np, a, b, c: a + b * c, (LONG,) * 3),
    "10-op chain": Target(chain10, (LONG,) * 2),
    "Black-Scholes": Target(black_scholes, ((2_000_000,),) * 3, positive=True),
    "Rosenbrock sum": Target(rosenbrock, (LONG,)),
    "softmax of rows": Target(softmax, (ROWS,), "float32"),
    "layer norm of rows": Target(layer_norm, (ROWS, ROW, ROW), "float32"),
    "mean, std, axis 0": Target(lambda np, x: mean_std(np, x, 0), (TABLE,)),
    "mean, std, axis 1": Target(lambda np, x: mean_std(np, x, 1), (TABLE,)),
    "row sums": Target(lambda np, x: x.sum(axis=1), (SQUARE,), "float32"),
    "column sums": Target(lambda np, x: x.sum(axis=0), (SQUARE,), "float32"),
    "distances float32": Target(squared_distances, (POINTS,) * 2, "float32"),
    "distances float64": Target(squared_distances, (POINTS,) * 2),
    "Jacobi": Target(partial(stepped, step=jacobi_sweep), (FIELD,)),
    "heat": Target(partial(stepped, step=heat_step), (FIELD,)),
    "masked sum": Target(lambda np, a: a[a > 0].sum(), (LONG,)),
}


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


class Running:
    """A program with its inputs in NumPy or lazyarr: a call takes the next set and computes one result."""

    def __init__(self, module: str, name: str) -> None:
        self.np = importlib.import_module(module)
        self.call = TARGETS[name].call
        self.sets = [[self.np.array(x) for x in each] for each in TARGETS[name].sets()]
        self.turn = 0

    def __call__(self) -> Any:
        self.turn = (self.turn + 1) % SETS
        result = self.call(self.np, *self.sets[self.turn])
        if self.np is not numpy:
            self.np.evaluate(*(a for a in as_tuple(result) if isinstance(a, self.np.ndarray)))
        return result


class Targets:
    params = (MODULES, list(TARGETS))
    param_names = ("module", "program")

    def setup(self, module: str, program: str) -> None:
        self.run = Running(module, program)
        self.run()

    def time_program(self, module: str, program: str) -> None:
        self.run()
