"""Finalizers of garbage in cycles, whose weak references are cleared, compute what pends as all others do."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.values import LEDGER

SIZES = 10, 1000, 70_000, 400_000


def program(np: Any, x: Any) -> tuple[Any, ...]:
    half = x * 0.5
    y = x + 1
    y[1:] *= half[:-1]
    return (half + 1) * x - half, y, half, x, (x - half).sum()


@pytest.mark.parametrize("plan", ["auto", "always"])
@pytest.mark.parametrize("n", SIZES)
def test_finalizers(n: int, plan: str) -> None:
    """None of what a finalizer asks for was overwritten, or is forgotten, by what it asked for before."""
    found = list[bytes]()

    class Log:
        def __init__(self, x: numpy.ndarray) -> None:
            self.me, self.arrays = self, program(lazyarr, lazyarr.array(x))

        def __del__(self) -> None:
            found.extend([numpy.asarray(a).tobytes() for a in self.arrays])

    x = numpy.random.default_rng(n).uniform(-1, 1, n)
    gc.collect()
    before = LEDGER.unallocated
    with lazyarr.options(plan=plan, jit="auto" if plan == "auto" else "always"):
        for _ in range(4):
            found.clear()
            Log(x)
            gc.collect()
            assert found == [a.tobytes() for a in program(numpy, x.copy())]
            assert LEDGER.unallocated == before


@pytest.mark.parametrize("plan", ["auto", "always"])
@pytest.mark.parametrize("use", ["computed", "read", "written", "dropped", "pending"])
@pytest.mark.parametrize("n", SIZES)
def test_what_a_finalizer_lets_live_on(n: int, use: str, plan: str) -> None:
    """Its values are the program's again: none is lost, or overwritten in place, by what reads it."""
    found = list[Any]()

    class Saved:
        def __init__(self, x: numpy.ndarray) -> None:
            self.me, self.array = self, lazyarr.array(x) * 2 + 1
            if use == "computed":
                lazyarr.evaluate(self.array)

        def __del__(self) -> None:
            found.append(self.array)

    x = numpy.random.default_rng(n).uniform(-1, 1, n)
    gc.collect()
    before = LEDGER.unallocated
    with lazyarr.options(plan=plan, jit="auto" if plan == "auto" else "always"):
        for _ in range(4):
            Saved(x)
            gc.collect()
            y, wanted = found.pop(), x * 2 + 1
            later = [y * 3 + 1, y.sum()] if use != "dropped" else []
            if use == "read":
                assert numpy.asarray(later[0]).tobytes() == (wanted * 3 + 1).tobytes()
            if use == "written":
                y[3] = 7
                y += 1
                after = numpy.where(numpy.arange(n) == 3, 7, wanted) + 1
                assert numpy.asarray(y).tobytes() == after.tobytes()
            elif use != "dropped":
                assert numpy.asarray(later[0]).tobytes() == (wanted * 3 + 1).tobytes()
                assert numpy.asarray(y).tobytes() == wanted.tobytes()
            if later:
                assert numpy.asarray(later[0]).tobytes() == (wanted * 3 + 1).tobytes()
                assert float(later[1]) == wanted.sum()
            del y, later
            assert LEDGER.unallocated == before


def test_generators() -> None:
    found = list[float]()

    def steps(x: Any) -> Iterator[Any]:
        arrays = program(lazyarr, x)
        me = yield                              # noqa: F841 (a cycle)
        try:
            yield
        finally:
            found.extend([float(a.sum()) for a in arrays])

    x = numpy.arange(400_000.0)
    made: Any = steps(lazyarr.array(x))
    next(made)
    made.send(made)
    del made
    gc.collect()
    assert found == [float(a.sum()) for a in program(numpy, x)]


CODE = """
import gc, numpy, lazyarr
class Log:
    def __init__(self):
        self.me, self.x = self, lazyarr.array(numpy.ones(400_000))
        self.half = self.x * 0.5
        self.y = (self.half + 1) * self.x - self.half
        self.asarray = numpy.asarray
    def __del__(self):
        print([float(self.asarray(a).sum()) for a in (self.y, self.half, self.x)], flush=True)
log = Log()
del log
gc.collect()
"""


def test_first() -> None:
    """The first evaluation of all, which imports much."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[400000.0, 200000.0, 400000.0]\n", "")
