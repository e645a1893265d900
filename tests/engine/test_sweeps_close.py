"""Sweeps follow one another by rows, not by blocks: what one of them makes the next one finds in the
first-level cache.  The bits are NumPy's, whatever the blocks, strips and seams are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import planning, row_room
from lazyarr.buffers import has_rings
from lazyarr.counters import COUNT
from lazyarr.debug import explain
from lazyarr.plan import Place, RowBlocks


@pytest.fixture(autouse=True, params=[1, 2, 3])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 20)       # (how many sweeps go by it)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield


def jacobi(u: Any) -> None:
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def far(u: Any) -> None:
    u[2:-2, 2:-2] = 0.25 * (u[:-4, 2:-2] + u[4:, 2:-2] + u[2:-2, :-4] + u[1:-3, 4:])


def heat(u: Any) -> None:
    inner = u[1:-1, 1:-1]
    inner += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
    u[0, :] = u[1, :]
    u[-1, :] = u[-2, :]
    u[:, 0] = u[:, 1]
    u[:, -1] = u[:, -2]


def life(u: Any) -> None:
    n = u[:-2, :-2] + u[:-2, 1:-1] + u[:-2, 2:] + u[1:-1, :-2] + u[1:-1, 2:]
    n += u[2:, :-2] + u[2:, 1:-1] + u[2:, 2:]
    u[1:-1, 1:-1] = (n == 3) | ((u[1:-1, 1:-1] != 0) & (n == 2))


def upwards(u: Any) -> None:
    u[1:] = u[1:] - 0.5 * (u[1:] - u[:-1])


SHAPES = ((300, 1000), (301, 130), (1003, 61), (40, 2000), (17, 300), (600, 400))


@pytest.mark.parametrize("sweep", [jacobi, far, heat, life, upwards], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("count", [3, 8, 13])
def test_bits_of_numpy(sweep: Callable[[Any], None], shape: tuple[int, int], count: int) -> None:
    x = numpy.random.default_rng(3).random(shape)
    x = (x < 0.3).astype("u1") if sweep is life else x
    u, expected = lazyarr.array(x), x.copy()
    for _ in range(count):
        sweep(u)
        sweep(expected)
    assert numpy.asarray(u).tobytes() == expected.tobytes()


def pending(sweep: Callable[[Any], None], count: int, shape: tuple[int, int]) -> Any:
    u = lazyarr.array(numpy.random.default_rng(4).random(shape))
    lazyarr.evaluate(u)
    for _ in range(count):
        sweep(u)
    return u


def behind(rows: RowBlocks) -> list[int]:
    """How many rows each part is behind the first."""
    return [part.place.late * rows.rows + part.place.shift for part in rows.parts]


def test_each_sweep_is_a_row_behind(launched: list[RowBlocks]) -> None:
    lazyarr.evaluate(pending(jacobi, 8, (600, 1000)))
    (rows,) = launched
    assert behind(rows) == list(range(8))
    assert all(part.place.late + part.place.front == part.lag for part in rows.parts)
    launched.clear()
    lazyarr.evaluate(pending(far, 4, (600, 1000)))
    assert behind(launched[0]) == [0, 2, 4, 6]


def test_a_block_behind_what_leaves_values_in_a_threads_own_memory(launched: list[RowBlocks]) -> None:
    """The last sweep of an odd number is in place: what it computes lies in a slot until it is written."""
    lazyarr.evaluate(pending(jacobi, 5, (600, 1000)))
    (rows,) = launched
    assert [part.lag for part in rows.parts] == [0, 1, 2, 3, 4, 5]
    writer, maker = rows.parts[-1], rows.parts[-2]
    assert writer.place.late == maker.place.late + 1 and writer.place.shift == maker.place.shift
    assert maker.place in writer.sources


def test_sweeps_in_place_alone_follow_by_blocks(launched: list[RowBlocks]) -> None:
    lazyarr.evaluate(pending(jacobi, 1, (600, 1000)))
    assert [part.place for part in launched[0].parts] == [Place(), Place(1, 1)]


def test_strips_end_together(launched: list[RowBlocks]) -> None:
    lazyarr.evaluate(pending(jacobi, 14, (1000, 1000)))
    assert launched[0].strips(2) in (2, 4) and launched[0].strips(1) == 1


def test_a_dozen_sweeps_read_and_write_memory_once() -> None:
    """The other buffer's rows come round."""
    told = explain(pending(jacobi, 12, (1000, 1000)))
    assert "in row blocks with groups 0 to 11" in str(told)
    assert told.bytes_moved <= told.bytes_least * (1.02 if has_rings() else 1.5)
    before = COUNT.native_launches
    lazyarr.evaluate(pending(jacobi, 100, (1000, 1000)))
    assert COUNT.native_launches - before <= 9
