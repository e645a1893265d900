"""Loops over elements in compiled functions: Python's own loop, the same compiled, and NumPy on whole arrays.

    python -m benchmarks.loops          # prints the table, side by side, results compared bit for bit
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import lazyarr
from benchmarks.workloads import MODULES, SETS
from lazyarr import prange

SIZES = (10_000, 1_000_000)
"""Of the table."""
WAYS = ("python", "compiled", "numpy")
ROUNDS = 7
PYTHON_N = 20_000
"""Elements of Python's loop in the table."""


def smooth(a: Any, out: Any) -> Any:
    for i in prange(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.25
    return out


def smooth_numpy(a: Any, out: Any) -> Any:
    out[1:-1] = (a[:-2] + a[1:-1] + a[2:]) * 0.25
    return out


def blend(a: Any, out: Any) -> Any:
    for i in prange(len(a)):
        x = a[i]
        if x < 0.2:
            out[i] = 0.0
        elif x > 0.8:
            out[i] = 1.0
        else:
            out[i] = x * x * (3.0 - 2.0 * x)
    return out


def blend_numpy(a: Any, out: Any) -> Any:
    out[...] = numpy.where(a < 0.2, 0.0, numpy.where(a > 0.8, 1.0, a * a * (3.0 - 2.0 * a)))
    return out


def scaled(a: Any, b: Any, out: Any) -> Any:
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            out[i, j] = a[i, j] * b[i, j] + 2.0
    return out


def scaled_numpy(a: Any, b: Any, out: Any) -> Any:
    out[...] = a * b + 2.0
    return out


def total(a: Any) -> Any:
    s = 0.0
    for i in prange(len(a)):
        s += a[i]
    return s


def filtered(a: Any, out: Any) -> Any:
    for i in range(1, len(a)):
        out[i] = 0.9 * out[i - 1] + a[i]
    return out


class Loop(NamedTuple):
    fn: Callable[..., Any]
    numpy: Callable[..., Any] | None
    """The same on whole arrays, with the same bits; None where NumPy has no word for it."""
    inputs: Callable[[Any, int], list[Any]]


LOOPS = {
    "three-point mean": Loop(smooth, smooth_numpy, lambda rng, n: [rng.random(n), numpy.zeros(n)]),
    "branches": Loop(blend, blend_numpy, lambda rng, n: [rng.random(n), numpy.zeros(n)]),
    "two axes": Loop(
        scaled, scaled_numpy, lambda rng, n: [*rng.random((2, n // 100, 100)), numpy.zeros((n // 100, 100))],
    ),
    "sum in order": Loop(total, None, lambda rng, n: [rng.random(n)]),
    "recursive filter": Loop(filtered, None, lambda rng, n: [rng.random(n), numpy.zeros(n)]),
}


class Loops:
    """Python's loop over NumPy's arrays, and the compiled one."""

    params = (MODULES, list(LOOPS), (1_000, 100_000))
    param_names = ("module", "loop", "n")

    def setup(self, module: str, loop: str, n: int) -> None:
        row = LOOPS[loop]
        self.call, self.turn = (row.fn if module == "numpy" else lazyarr.compile(row.fn)), 0
        self.sets = [row.inputs(numpy.random.default_rng(seed), n) for seed in range(SETS)]
        for _ in range(SETS):
            self.time_call(module, loop, n)

    def time_call(self, module: str, loop: str, n: int) -> None:
        self.turn = (self.turn + 1) % SETS
        self.call(*self.sets[self.turn])


def timed(fn: Callable[..., Any], args: list[Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = fn(*args)
    return time.perf_counter() - began, result


def table() -> None:
    """Nanoseconds an element, medians of rounds that alternate."""
    print(f"{'':18}{'n':>9}{'Python':>10}{'compiled':>10}{'NumPy':>8}{'P/c':>11}{'N/c':>10}   spread of c")
    for name, row in LOOPS.items():
        fn = lazyarr.compile(row.fn)
        for n in SIZES:
            rng = numpy.random.default_rng(1)
            for _ in range(4):
                fn(*row.inputs(rng, n))
            took: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(ROUNDS):
                args = row.inputs(rng, n)
                spent, got = timed(fn, [x.copy() for x in args])
                took["compiled"].append(spent / n)
                if row.numpy is not None:
                    spent, want = timed(row.numpy, [x.copy() for x in args])
                    took["numpy"].append(spent / n)
                    assert numpy.asarray(got).tobytes() == want.tobytes()
                few = row.inputs(rng, PYTHON_N // 2)
                spent, want = timed(row.fn, [x.copy() for x in few])
                took["python"].append(spent / (PYTHON_N // 2))
                assert numpy.asarray(fn(*few)).tobytes() == numpy.asarray(want).tobytes()
            print(_row(name, n, took))


def _row(name: str, n: int, took: dict[str, list[float]]) -> str:
    mid = {way: statistics.median(some) * 1e9 if some else float("nan") for way, some in took.items()}
    spread = f"{min(took['compiled']) * 1e9:.1f} to {max(took['compiled']) * 1e9:.1f}"
    return (
        f"{name:18}{n:9}{mid['python']:10.0f}{mid['compiled']:10.1f}{mid['numpy']:8.1f}"
        f"{mid['python'] / mid['compiled']:11.0f}{mid['numpy'] / mid['compiled']:10.2f}   {spread}"
    )


if __name__ == "__main__":
    table()
