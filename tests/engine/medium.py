"""Results of medium size for tests of who computes them (`direct`), and a clock that says what they take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import direct, earlier_runs
from lazyarr.compiler import COMPILER
from lazyarr.direct import DIRECT
from lazyarr.earlier_runs import Runs
from lazyarr.slots import hasten

N = 100_000

in_slots = pytest.mark.skipif(
    not sys.platform.startswith("linux") or np.get_options()["disable"] != "", reason="no slots here"
)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is measured yet, nobody asks for plans at once, and the slots are there."""
    before = np.get_options()["plan"]
    np.set_options(plan="auto")
    hasten()
    monkeypatch.setattr(earlier_runs, "RUNS", Runs())
    DIRECT.forget()
    yield
    DIRECT.forget()
    np.set_options(plan=before)


def begin() -> None:
    DIRECT._starts(1 << 40)


def both(dtype: Any = "f8", shape: Any = N) -> tuple[Any, numpy.ndarray]:
    rng = numpy.random.default_rng(5)
    real = (rng.uniform(-9, 9, shape)).astype(dtype)
    if real.dtype.kind in "fc":
        real.flat[3::1000], real.flat[5::1000], real.flat[7::1000] = numpy.nan, -0.0, numpy.inf
    return np.array(real), real


def same(found: Any, expected: numpy.ndarray) -> bool:
    real = numpy.asarray(found)
    assert (real.dtype, real.shape, real.strides) == (expected.dtype, expected.shape, expected.strides)
    return real.tobytes() == expected.tobytes()


EVERY = 180


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[Any, float]:
    """Seconds that each result takes by nodes (False) and directly; those that the program takes after each
    `EVERY` results."""
    takes, now = {False: 1.0, True: 1.0, "own": 0.0}, [0.0, 0]

    def time() -> float:
        return now[0]

    for told in "work", "debt":                     # (by `worth.rented`)
        monkeypatch.setattr(COMPILER, told, 0.0)
    monkeypatch.setattr(direct, "thread_time", time)
    monkeypatch.setattr(direct, "_busy", lambda: 0.0)
    counts = DIRECT.counts

    def passes(measure: float) -> bool:
        now[1] += 1
        now[0] += takes[DIRECT.on] + takes["own"] * (now[1] % EVERY == 0)
        return counts(measure)

    monkeypatch.setattr(direct.Direct, "counts", lambda self, measure: passes(measure))
    return takes


def results(count: int) -> int:
    """How many of so many results are NumPy's."""
    return sum(DIRECT.counts(N) for _ in range(count))
