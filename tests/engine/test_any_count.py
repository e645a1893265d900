"""Folds of what a mask keeps are known at sight, whatever number of elements that is."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import at_sight, buffers, materialize, ready
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.fusion.conflict import SHARED
from lazyarr.fusion.reindex import CROSSING
from lazyarr.known_steps import Bound
from tests.slots.operands import python_functions

N = 600_000
"""More than what NumPy is tried for."""

PROGRAMS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, y, c: x[x > c].sum(),
    "maximum": lambda x, y, c: x[x > c].max(),
    "of an expression": lambda x, y, c: (x + y)[x > c].sum(),
    "under another mask": lambda x, y, c: (x[y > c] * 2 - c).sum(),
    "of two": lambda x, y, c: (x[x > c] * y[x > c]).sum(),
    "rows": lambda x, y, c: x.reshape(600, 1000)[y.reshape(600, 1000) > c].sum(),
    "decided": lambda x, y, c: (x[x > c] > 100).any(),
}


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """LLVM is there, and nothing is known at sight."""
    COMPILER.load()
    for known in (at_sight._sights, at_sight._noted):
        known.clear()


def arrays(seed: int, dtype: str = "f8") -> list[Any]:
    rng = numpy.random.default_rng(seed)
    real = [rng.uniform(-4, 4, N) for _ in range(2)]
    if dtype == "D":
        real = [a + 1j * a[::-1] for a in real]
    real = [a.astype(dtype) for a in real]
    return [*map(np.array, real), *real]


def same(found: Any, expected: Any) -> bool:
    found, expected = numpy.asarray(found), numpy.asarray(expected)
    return found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_number_makes_no_key_and_no_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, looked = PROGRAMS[name], list[Any]()
    for seed in range(3):
        x, y, _, _ = arrays(seed)
        program(x, y, 0.25)
    materialize._load()
    monkeypatch.setattr(materialize, "_look", lambda roots: looked.append(roots) or ready.look(roots))
    for seed, c in ((3, 0.25), (4, -1.0), (5, 0.5)):
        x, y, a, b = arrays(seed)
        looked.clear()
        plans, launches = COUNT.plans + COUNT.reshaped, COUNT.native_launches
        found = program(x, y, c)
        assert not looked and plans == COUNT.plans + COUNT.reshaped
        assert COUNT.native_launches == launches + 2 + (name == "of two")      # (two masks are counted)
        assert same(found, program(a, b, c))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "D", "u1"])
def test_numbers_that_decide_something(dtype: str) -> None:
    """How large threads' shares are, whether it is all, as much as of something else, or nothing."""
    x, _, a, _ = arrays(1, dtype)
    z, b = np.array(a[:200_000]), a[:200_000]
    mask = numpy.zeros(N, bool)
    counts = [SHARED + 1, CROSSING, CROSSING + 1, 200_000, N, N - 1, 1, 0, SHARED, 99_999]
    for n in (90_000, 95_000, 180_000, 190_000, *counts):
        mask[:] = False
        mask[numpy.random.default_rng(n).permutation(N)[:n]] = True
        m = np.array(mask)
        assert same(x[m].sum(), a[mask].sum())
        if n == len(b):
            assert same((x[m] * z).sum(), (a[mask] * b).sum())


def test_another_operand_that_fits_the_number() -> None:
    """After sights of other numbers one that an array of that many elements is read with."""
    for n in (300_000, 299_999, 150_000, 300_000):
        for seed in range(4):
            x, _, a, _ = arrays(seed)
            mask = numpy.zeros(N, bool)
            mask[numpy.random.default_rng(seed).permutation(N)[:n]] = True
            m, z, b = np.array(mask), np.array(a[:n]), a[:n]
            assert same(x[m].sum(), a[mask].sum())
            assert same((x[m] * z).sum(), (a[mask] * b).sum())
            assert same((x[m] * z[0]).sum(), (a[mask] * b[0]).sum())
        with pytest.raises(ValueError, match=r"broadcast|shape"):
            x[m] * z[1:]
        assert same(x[m].sum(), a[mask].sum())


def test_two_masks_keep_other_numbers() -> None:
    for seed, c in ((0, 0.0), (1, 0.5), (2, -2.0), (3, 3.9), (4, 5.0)):
        x, y, a, b = arrays(seed)
        found = x[x > c].sum() + y[y > -c].sum()
        assert same(found, a[a > c].sum() + b[b > -c].sum())
        assert same(x[x > c][::2].sum(), a[a > c][::2].sum())
        assert same(x[x > c].sum() * y[x > c].sum(), a[a > c].sum() * b[a > c].sum())
        with pytest.raises(ValueError, match=r"broadcast|shape"):
            x[x > 0.5] * y[y > -0.5]


def test_another_number_of_threads_between_calls() -> None:
    for threads, seed in ((2, 0), (2, 1), (1, 2), (3, 3), (2, 4), (1, 5), (4, 6)):
        with np.options(num_threads=threads):
            x, y, a, b = arrays(seed)
            assert same(x[x > 0.25].sum(), a[a > 0.25].sum())
            assert same((x[y > 0] * 2 - 1).sum(), (a[b > 0] * 2 - 1).sum())


def test_threads_at_one_line() -> None:
    """Several threads with masks of their own come to one sight at a time."""
    def total(np: Any, x: Any, c: float) -> Any:
        return numpy.asarray((x[x > c] * 2).sum())

    given = [arrays(seed) for seed in range(4)]
    for x, _, a, _ in given:
        assert same(total(np, x, 0.5), total(numpy, a, 0.5))

    def work(k: int) -> list[bool]:
        x, _, a, _ = given[k]
        cuts = [0.1 * k, -1.0, 2.0, 0.5] * 4
        return [same(total(np, x, c), total(numpy, a, c)) for c in cuts]

    with ThreadPoolExecutor(len(given)) as pool:
        assert all(all(each) for each in pool.map(work, range(len(given))))


def test_few_functions_run() -> None:
    given, ways = [arrays(seed) for seed in range(6)], []
    buffers.trim()                              # (so that there is room for warm arrays)
    with np.options(jit="always"):
        for x, _, a, _ in given:                # (between two, a kernel of the second tier may be ready)
            found = x[x > 0].sum(keepdims=True)
            ways.append(python_functions(np.evaluate, found)[1])
            assert same(found, a[a > 0].sum(keepdims=True))
    few = min(ways, key=len)
    assert len(few) <= 57, "\n".join(few)


def test_elements_that_somebody_holds_are_stored() -> None:
    for seed in range(4):
        x, _, a, _ = arrays(seed)
        x[x > 0].sum()
    kept = x[x > 0]
    assert same(kept.sum(), a[a > 0].sum())
    assert same(kept, a[a > 0])


def test_warnings_are_given_for_another_number() -> None:
    for seed in range(4):
        x, _, a, _ = arrays(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert same((1 / x[x > -5]).sum(), (1 / a).sum())
        (1 / x[x > 0]).sum()
    x[7] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (1 / x[x > -1]).sum() == numpy.inf


def test_other_thresholds_of_buffers() -> None:
    """Where NumPy's buffers are large, its sums of what is cast have long runs: nothing is taken for another
    number's."""
    before = numpy.getbufsize()
    try:
        numpy.setbufsize(16 * 10_000)
        for seed in range(4):
            x, _, a, _ = arrays(seed, "f4")
            assert same(x[x > 0].sum(dtype="f8"), a[a > 0].sum(dtype="f8"))
    finally:
        numpy.setbufsize(before)


def test_launches_for_numbers_hold_no_circle() -> None:
    """Code goes with the last plan that runs it, not with a collection."""
    for seed in range(4):
        x, y, _, _ = arrays(seed)
        PROGRAMS["sum"](x, y, 0.5)
    counting = [b for b in gc.get_objects() if b.__class__ is Bound and b.counts]
    assert counting and not [one for b in counting for one in b.counts.values() if one.counts is not None]
