"""Sweeps over fields whose points lie between those of others: arrays of unequal rows follow one another.

The cache is taken to be small, so that small arrays have many blocks, in several strips.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import plan, planning, row_room
from lazyarr.counters import COUNT
from lazyarr.debug import explain
from lazyarr.plan import RowBlocks

Fields = tuple[Any, ...]
Program = Callable[..., None]


@pytest.fixture(autouse=True, params=[1, 2, 3])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 16)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 2)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def shallow_water(h: Any, u: Any, v: Any) -> None:
    """An Arakawa C grid: velocities at the sides of cells."""
    u[:, 1:-1] -= 0.01 * (h[:, 1:] - h[:, :-1])
    v[1:-1] -= 0.01 * (h[1:] - h[:-1])
    h -= 0.01 * (u[:, 1:] - u[:, :-1] + v[1:] - v[:-1])


def maxwell(ez: Any, hy: Any, hx: Any) -> None:
    """FDTD, transverse magnetic: curls forwards, then backwards, borders stay."""
    hy[:, 1:-1] += 0.5 * (ez[:, 1:] - ez[:, :-1])
    hx[1:-1] -= 0.5 * (ez[1:] - ez[:-1])
    ez[1:-1, 1:-1] += 0.5 * (hy[1:-1, 2:-1] - hy[1:-1, 1:-2] - hx[2:-1, 1:-1] + hx[1:-2, 1:-1])


def sound(p: Any, u: Any, v: Any) -> None:
    """Pressure and velocities; these come last, and the first group has fewer rows."""
    v[1:-1] += 0.3 * (p[:-1] - p[1:])
    p += 0.4 * (u[:, :-1] - u[:, 1:] + v[:-1] - v[1:])
    u[:, 1:-1] += 0.3 * (p[:, :-1] - p[:, 1:])


def carried(h: Any, u: Any, v: Any) -> None:
    """What is swept over is read beside what is written, too: it takes turns with a second buffer."""
    u[1:-1, 1:-1] -= 0.1 * (h[1:-1, 1:] - h[1:-1, :-1] + u[2:, 1:-1] - u[:-2, 1:-1])
    v[1:-1, 1:-1] -= 0.1 * (h[1:, 1:-1] - h[:-1, 1:-1] + v[2:, 1:-1] - v[:-2, 1:-1])
    h -= 0.1 * (u[:, 1:] - u[:, :-1] + v[1:] - v[:-1])


def shrinking(h: Any, u: Any, v: Any) -> None:
    """Interiors of several extents."""
    h[2:-2, 2:-2] += 0.1 * (v[2:-3, 2:-2] - h[4:, 2:-2])
    u[1:-1, 1:-1] -= 0.1 * (h[:-2, :-1] + h[2:, 1:])
    v[3:-3, 1:-1] -= 0.1 * (u[2:-3, 2:-1] * h[3:-2, 1:-1])


PROGRAMS = [shallow_water, maxwell, sound, carried, shrinking]

SHAPES = ((3, 4), (9, 40), (40, 9), (64, 33), (65, 100), (257, 65))


def fields(shape: tuple[int, int], char: str = "d") -> list[numpy.ndarray]:
    rng, (n, m) = numpy.random.default_rng(5), shape
    return [rng.uniform(-1, 1, s).astype(char) for s in ((n, m), (n, m + 1), (n + 1, m))]


def swept(program: Program, given: list[numpy.ndarray], count: int) -> list[numpy.ndarray]:
    found = [lazyarr.array(x) for x in given]
    for _ in range(count):
        program(*found)
    lazyarr.evaluate(*found)
    return [numpy.asarray(x) for x in found]


def alike(program: Program, given: list[numpy.ndarray], count: int) -> None:
    found, expected = swept(program, given, count), [x.copy() for x in given]
    for _ in range(count):
        program(*expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("count", [1, 2, 7, 12])
def test_bits_of_numpy(program: Program, shape: tuple[int, int], count: int) -> None:
    if shape[0] > 3 or program is not shrinking:
        alike(program, fields(shape), count)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_other_types_and_orders(program: Program) -> None:
    alike(program, fields((70, 33), "f"), 5)
    alike(program, [numpy.asfortranarray(x) for x in fields((70, 33))], 5)


@pytest.mark.parametrize("program", [shallow_water, maxwell, sound], ids=lambda p: p.__name__)
def test_steps_share_launches_and_make_no_arrays(program: Program, launched: list[RowBlocks]) -> None:
    given = fields((400, 50))
    alike(program, given, 4)
    arrays = [lazyarr.array(x) for x in given]
    lazyarr.evaluate(*arrays)
    launched.clear()
    before = COUNT.native_launches, COUNT.bytes_allocated
    for _ in range(12):
        program(*arrays)
    lazyarr.evaluate(*arrays)
    assert COUNT.native_launches - before[0] <= 5       # (36 writes)
    assert max(len(rows.parts) for rows in launched) >= 12
    assert COUNT.bytes_allocated - before[1] <= 4 * given[0].nbytes     # (what the caller still holds)


def test_what_lies_between_two_kernels_is_a_block() -> None:
    """An odd sweep is two groups, of fewer rows than the chain's: they pass a thread's own memory."""

    def step(h: Any, u: Any, v: Any) -> None:
        h *= 0.99
        v[1:-1, 1:-1] = 0.25 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2]) + h[1:, 1:-1]

    for shape in SHAPES:
        alike(step, fields(shape), 3)
    h, u, v = map(lazyarr.array, fields((400, 50)))
    lazyarr.evaluate(h, v)
    before = COUNT.native_launches, COUNT.bytes_allocated
    step(h, u, v)
    found = explain(h, v)
    lazyarr.evaluate(h, v)
    assert "in row blocks with groups" in str(found)
    assert COUNT.native_launches - before[0] == 1
    assert COUNT.bytes_allocated - before[1] < h.nbytes * 3 / 2


def test_rows_that_repeat_are_the_same_in_both() -> None:
    """Columns: where one array has other rows than another, a column of each is no step of the other."""

    def step(h: Any, u: Any, v: Any) -> None:
        h[:, 1:] += 0.5 * h[:, :-1]
        u[:, 1:-1] -= 0.1 * (h[:, 1:] - h[:, :-1])

    for shape in SHAPES:
        alike(step, fields(shape), 4)


def test_far_rows_do_not_follow() -> None:
    given = fields((64, 33))
    h, _, v = map(lazyarr.array, given)
    h += 1
    v[:32] = h[32:] * 2
    assert "in row blocks" not in str(explain(h, v))


@pytest.mark.parametrize("part", [180_000, 200_000, 1 << 18])
def test_within_a_row_all_have_the_same_rows(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that have no room whole are cut along another axis, but not where groups differ in their rows."""
    monkeypatch.setattr(row_room, "cache_bytes", lambda: part)

    def step(xp: Any, a: Any, b: Any, weights: Any) -> list[Any]:
        a[1:-1] *= weights
        b += a
        return [a, b, xp.max(b[1:-1], axis=2)]

    rng = numpy.random.default_rng(5)
    given = [rng.uniform(-1, 1, shape) for shape in ((40, 64, 33), (40, 64, 33), (64, 33))]
    expected = step(numpy, *(x.copy() for x in given))
    found = step(lazyarr, *map(lazyarr.array, given))
    lazyarr.evaluate(*found)
    for mine, theirs in zip(found, expected, strict=True):
        assert numpy.asarray(mine).tobytes() == theirs.tobytes()


def test_blocks_without_rows_of_a_group_are_left_out() -> None:
    """Nothing lags, and the last block has rows of some groups only."""

    def step(xp: Any, a: Any, b: Any) -> list[Any]:
        a *= 1.5
        b[:-2] += a[:-2]
        a += 1
        return [a, b, xp.max(a, axis=1)]

    rng = numpy.random.default_rng(5)
    given = [rng.uniform(-1, 1, (16, 700)) for _ in range(2)]
    expected = step(numpy, *(x.copy() for x in given))
    found = step(lazyarr, *map(lazyarr.array, given))
    lazyarr.evaluate(*found)
    for mine, theirs in zip(found, expected, strict=True):
        assert numpy.asarray(mine).tobytes() == theirs.tobytes()


def test_warnings_are_those_of_numpy(launched: list[RowBlocks]) -> None:
    """(Each once: where all are asked for, operations run at the call.)"""
    given = fields((65, 40))
    given[0][30, 7] = 1e300

    def steps(h: Any, u: Any, v: Any) -> None:
        for _ in range(6):
            v[1:-1] *= 0.01 * (h[1:] / h[:-1])
            h *= v[1:] * v[:-1] * 1e200

    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("default")
        theirs = [x.copy() for x in given]
        steps(*theirs)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        mine = [lazyarr.array(x) for x in given]
        steps(*mine)
        lazyarr.evaluate(*mine)
    assert max(len(rows.parts) for rows in launched) >= 12
    assert {str(w.message) for w in found} == {str(w.message) for w in expected} != set()
    numpy.testing.assert_array_equal(numpy.asarray(mine[0]), theirs[0])
