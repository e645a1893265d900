"""Few elements of an array that exists: NumPy picks them at the call.  Masks of several arrays."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np
from lazyarr.counters import COUNT
from lazyarr.masks import FEW

N = 200_000
REAL = numpy.random.default_rng(3).permutation(numpy.arange(float(N)))


@pytest.fixture
def x() -> np.ndarray:
    found = np.array(REAL) * 1
    np.evaluate(found)
    return found


def picked(x: np.ndarray, most: float) -> tuple[np.ndarray, numpy.ndarray, int]:
    """What a mask, which stays, keeps; what NumPy keeps; nodes that were built for that, with the mask."""
    built = COUNT.nodes_built
    mask = x < most
    return x[mask], REAL[most > REAL], COUNT.nodes_built - built


@pytest.mark.parametrize("most", [1, 50, N // FEW])
def test_few_are_picked_at_the_call(x: np.ndarray, most: int) -> None:
    found, expected, _ = picked(x, most)
    assert np.is_evaluated(found) and numpy.asarray(found).tobytes() == expected.tobytes()
    x[:] = 7
    assert numpy.asarray(found).tobytes() == expected.tobytes()


def test_one_more_waits(x: np.ndarray) -> None:
    few, _, less = picked(x, N // FEW)
    more, expected, built = picked(x, N // FEW + 1)
    assert np.is_evaluated(few) and not np.is_evaluated(more) and built > less
    x[:] = 7
    assert numpy.asarray(more).tobytes() == expected.tobytes()


def test_what_is_to_be_computed_waits(x: np.ndarray) -> None:
    doubled = (x * 2)[x < 50]
    assert not np.is_evaluated(doubled)
    assert numpy.asarray(doubled).tobytes() == (2 * REAL[REAL < 50]).tobytes()


def test_of_large_arrays_threads_pick() -> None:
    large = np.arange(1_000_000.0) * 1
    mask = large < 50
    found = large[mask]
    assert not np.is_evaluated(found) and numpy.asarray(found).tobytes() == numpy.arange(50.0).tobytes()


@pytest.mark.parametrize("jit", ["auto", "always"])
def test_what_waits_for_a_mask_has_counted_it(jit: str) -> None:
    """Several arrays through one mask: it is counted once, and anew when somebody has written to it."""
    n = 1_000_000
    real = numpy.random.default_rng(4).permutation(numpy.arange(float(n)))
    x, y, kept = np.array(real) * 1, np.array(real[::-1]) * 1, real > 1000
    np.evaluate(x, y)
    with np.options(jit=jit):
        mask = np.array(kept)
        first = x[mask]
        nodes = COUNT.nodes_run
        second, third = y[mask], x[::-1][mask[:]]
        assert COUNT.nodes_run == nodes and not np.is_evaluated(second)
        mask[: n // 2] = False
        after = y[mask]
    assert numpy.asarray(first).tobytes() == real[kept].tobytes()
    assert numpy.asarray(second).tobytes() == real[::-1][kept].tobytes() == numpy.asarray(third).tobytes()
    kept[: n // 2] = False
    assert numpy.asarray(after).tobytes() == real[::-1][kept].tobytes()
