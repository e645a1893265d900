"""Bytes moved against the least, of the programs that lazyarr is measured by (`asv_bench`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import row_room
from lazyarr.buffers import has_rings
from lazyarr.debug import Explanation, explain

sys.path.append(str(Path(__file__).parents[2] / "asv_bench"))
from benchmarks import targets


@pytest.fixture(autouse=True)
def forced() -> Any:
    with np.options(jit="always"):
        yield


def triad(x: Any) -> Any:
    return x + x[::-1] * 2


def rosenbrock(x: Any) -> Any:
    a, b = x[:-1], x[1:]
    return (100 * (b - a**2) ** 2 + (1 - a) ** 2).sum(axis=0)


def mean_std_rows(x: Any) -> Any:
    return x.mean(axis=1), x.std(axis=1)


def row_sums(x: Any) -> Any:
    return x.sum(axis=1)


def column_sums(x: Any) -> Any:
    return x.sum(axis=0)


def distances(x: Any) -> Any:
    return ((x[:, None, :32] - x[None, :, :32]) ** 2).sum(axis=-1)


def jacobi(u: Any) -> Any:
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def heat(u: Any) -> Any:
    inner = u[1:-1, 1:-1]
    inner += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
    u[0, :], u[-1, :] = u[1, :], u[-2, :]
    u[:, 0], u[:, -1] = u[:, 1], u[:, -2]
    return u


PROGRAMS = (triad, rosenbrock, mean_std_rows, row_sums, column_sums, distances, jacobi, heat)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_memory_is_passed_over_once(program: Callable[..., Any]) -> None:
    x = np.array(numpy.random.default_rng(1).standard_normal((600, 500)))
    made = program(x)
    told = explain(*made) if isinstance(made, tuple) else explain(made)
    assert 0.9 * told.bytes_least <= told.bytes_moved <= 1.1 * told.bytes_least


def test_neighbours_are_read_once() -> None:
    x = np.array(numpy.ones(100_000))
    told = explain(x[1:] - x[:-1])
    assert told.bytes_least <= told.bytes_moved <= x.nbytes + (x.size - 1) * x.itemsize


def test_packed_elements_are_not_stored() -> None:
    """What is kept of an array passes to the fold in the cache: all of it is read, and nothing else moves."""
    x = np.array(numpy.random.default_rng(2).standard_normal(200_000))
    told = explain(x[x > 0].sum(keepdims=True))
    assert x.nbytes <= told.bytes_moved <= 1.1 * x.nbytes
    assert told.bytes_moved <= 1.1 * told.bytes_least


def test_each_part_that_changes_is_written() -> None:
    """The last of several writes to parts of an array is not all that is written."""
    x = np.array(numpy.ones((1000, 100)))
    x[:500] = x[:500] * 2
    x[500:501] = 0
    told = explain(x)
    assert told.bytes_least >= 2 * 500 * 100 * 8


SHORTER = 20
"""The long arrays are so many times shorter here."""

SWEEPS = 4
"""So few wait together, and run in one launch."""

RATIOS = {
    # The length of what a mask keeps is known at the call, so what it compares is read to count, then to sum.
    "masked sum": 2.0,
    # Where the second buffer is whole the array is copied first; then a launch reads it, and writes both.
    "Jacobi": 1.0 if has_rings() else 2.5,
    "heat": 1.0 if has_rings() else 2.5,
}
"""Bytes moved by the least that any program would; 1 where nothing else is said."""


@pytest.mark.parametrize("name", targets.TARGETS)
def test_targets(name: str, told: list[Explanation], monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs read once and results written once are the least; what the call evaluates counts, too."""
    monkeypatch.setattr(targets, "SWEEPS", SWEEPS)
    # (Columns of 5000 rows are read once where a core's share of the third-level cache holds a block.)
    monkeypatch.setattr(row_room, "share_bytes", lambda: 16 << 20)
    target = targets.TARGETS[name]
    rng = numpy.random.default_rng(1)
    given = []
    for shape in target.shapes:
        extents = (shape[0] // SHORTER,) if len(shape) == 1 else shape
        low = 0.5 if target.positive else -0.5
        given.append(np.array(rng.uniform(low, low + 1, extents).astype(target.dtype)))
    np.evaluate(*given)
    told.clear()
    results = targets.as_tuple(target.call(np, *given))
    np.evaluate(*[x for x in results if isinstance(x, np.ndarray)])
    least = sum(x.nbytes for x in (*given, *results))
    groups = [g for each in told for g in each.groups]
    assert all(g.bytes_read >= 0 <= g.bytes_written for g in groups)
    assert sum(g.bytes_read + g.bytes_written for g in groups) == sum(each.bytes_moved for each in told)
    assert sum(each.bytes_moved for each in told) / least == pytest.approx(RATIOS.get(name, 1), rel=0.01)
