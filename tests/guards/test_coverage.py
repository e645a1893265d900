"""`lazyarr.coverage()` says what happens: every function is called on arrays that nobody computed yet.

Counted are evaluations (by a hook around `materialize.evaluate`), calls that NumPy answers, and kernels; and
the operands tell by themselves whether they are still pending.
"""

from __future__ import annotations

import numpy
import pytest
from coverage_calls import CALLS, Given

import lazyarr
from lazyarr import materialize, storage
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.coverage_report import NO_RULE
from lazyarr.ops import OPS
from lazyarr.values import Unwritten

TARGET = 350
"""Functions that run natively, wait, or look at shapes only."""

FOUND = lazyarr.coverage()
LANE_OF = {name: lane for lane, names in FOUND.items() for name in names}


class Watched(Given):
    """Operands; what making them costs does not count."""

    def _pending(self, x):
        before = EVALUATIONS[0], COUNT.numpy_fallbacks, COUNT.native_launches
        made = super()._pending(x)
        EVALUATIONS[0], COUNT.numpy_fallbacks, COUNT.native_launches = before
        return made


EVALUATIONS = [0]


@pytest.fixture(autouse=True)
def hook(monkeypatch):
    def evaluate(roots):
        roots = list(roots)
        EVALUATIONS[0] += any(r.op is not None for r in roots)
        materialize.evaluate(roots)

    COMPILER.load()
    monkeypatch.setattr(storage, "_evaluate", evaluate)


def arrays(x):
    if isinstance(x, tuple | list):
        for y in x:
            yield from arrays(y)
    elif isinstance(x, lazyarr.ndarray):
        yield x


def waits(x):
    """Is an array not computed yet, or not even begun?"""
    return not lazyarr.is_evaluated(x) or (
        type(x) is lazyarr.ndarray and x.storage is not None and type(x.storage.value.buf) is Unwritten
    )


def measured(name):
    """What a call does: the lane, as counted."""
    given = Watched()
    EVALUATIONS[0] = 0
    fallbacks = COUNT.numpy_fallbacks
    result = CALLS[name](lazyarr, given)
    results = list(arrays(result))
    computed = EVALUATIONS[0] or not all(waits(x) for x in given.made)
    if COUNT.numpy_fallbacks > fallbacks:
        return "numpy"
    if computed:
        return "at_call"
    if not results:
        return "metadata"
    if not given.made and not all(waits(x) for x in results):
        return "numpy"                          # made by NumPy
    lazyarr.evaluate(*results)
    return "deferred" if COUNT.numpy_fallbacks > fallbacks else "lazy"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in LANE_OF if LANE_OF[name] != "settings"])
def test_lane(name):
    if LANE_OF[name] in ("native", "inner_loops"):
        assert name in OPS or getattr(numpy, name).__name__ in OPS      # each has tests of its own
        return
    got = measured(name)
    assert got == LANE_OF[name], f"{name}: counted {got}, listed {LANE_OF[name]}"


def test_every_function_is_called_and_has_a_reason():
    assert not [n for n, why in FOUND["numpy"].items() if why == NO_RULE]
    ufuncs = {*FOUND["native"], *FOUND["inner_loops"], *FOUND["settings"]}
    assert set(LANE_OF) - ufuncs <= set(CALLS)


def test_share():
    count = {lane: len(names) for lane, names in FOUND.items()}
    lanes = ("native", "inner_loops", "lazy", "deferred", "metadata", "at_call")
    assert sum(count[lane] for lane in lanes) >= TARGET
