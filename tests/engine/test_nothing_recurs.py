"""Where sizes change at every call NumPy computes at the call; where they come round again nodes are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import recipes
from lazyarr.counters import COUNT

MOST = 200_000


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    with np.options(jit="auto", plan="auto"):
        yield


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda np, a, b: a * 2 + b,
    "called": lambda np, a, b: np.subtract(np.sqrt(a), b),
    "folded": lambda np, a, b: np.asarray(((a - b) ** 2).sum()),
    "choice": lambda np, a, b: np.where(a > b, a, b) - a,
}


def arrays() -> tuple[Any, Any, Any, Any]:
    x, y = numpy.random.default_rng(8).random((2, MOST))
    x[:3], y[:3] = (numpy.nan, -0.0, numpy.inf), (-0.0, 0.0, numpy.inf)
    a, b = np.array(x), np.array(y)
    np.evaluate(a, b)
    return a, b, x, y


def nodes(program: Callable[[Any, Any, Any], Any], sizes: Sequence[int]) -> list[int]:
    a, b, x, y = arrays()
    counts = []
    with numpy.errstate(all="ignore"):
        for n in sizes:
            before = COUNT.nodes_built
            found = program(np, a[:n], b[:n])
            counts.append(COUNT.nodes_built - before)
            real = program(numpy, x[:n], y[:n])
            assert numpy.asarray(found).tobytes() == real.tobytes()
    return counts


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_nodes_are_made(name: str) -> None:
    counts = nodes(PROGRAMS[name], range(150_000, 150_000 + 40))
    assert any(counts[: recipes.FIRSTS]) and not any(counts[recipes.FIRSTS + 2 :]), counts


@pytest.mark.parametrize("name", ["sum", "called"])
def test_sizes_that_come_again_are_met(name: str) -> None:
    counts = nodes(PROGRAMS[name], [*range(150_000, 150_030)] * 2)
    assert any(counts[30:])


def test_larger_results_are_not_counted() -> None:
    with np.options(eager_elements=1 << 10):
        assert all(nodes(PROGRAMS["sum"], range(150_000, 150_020)))


def test_who_asks_for_kernels_has_nodes() -> None:
    with np.options(plan="always"):
        assert all(nodes(PROGRAMS["sum"], range(150_000, 150_020)))


def test_the_memory_is_dense_and_aligned() -> None:
    a, b, *_ = arrays()
    for n in range(100_000, 100_020):
        found = a[:n] + b[:n]
    assert np.is_evaluated(found)
    assert numpy.asarray(found).ctypes.data % 64 == 0 and found.flags.c_contiguous
