"""Real arrays that were views are kept for the next views: these look as NumPy's do, whatever was before."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.arrays import plain
from lazyarr.slots.tables import SPARE_VIEWS
from tests.crowd import numbered_at_once
from tests.slots.operands import ONLY_HERE, python_calls

pytestmark = ONLY_HERE

BASES = [
    ("f8", (12,)), ("f8", (3, 4)), ("i4", (4, 1)), ("f8", (1, 4)), ("f8", (0, 3)), ("f8", (3, 0)),
    ("?", (5, 3)), ("f4", (2, 3, 4)), ("f8", (1,)), ("f8", (0,)), ("f8", ()), ("c16", (3, 3)),
    (">f8", (3, 4)), ("f2", (3, 4)),
    ("M8[s]", (3, 4)), ("U2", (3, 4)), ("f8", (1, 1)), ("g", (3, 4)), ("f8", (300, 40)), ("f8", (100_000,)),
    ("O", (3, 4)), ("u1", (2, 2, 2, 2)),
]  # fmt: skip
SHAPES: list[Any] = [
    (-1,), (12,), (3, 4), (4, 3), ((2, 6),), ((-1, 3),), (3, -1), (-1, 1), (1, -1), (0,), (0, 3), (-1, -1),
    (-1, 0), (5, -1), (2, 2, 3), (numpy.int64(12),), ("a",), (2.5,), (-2, 6), (1, 12), (12, 1), ((),),
    ([12],), (2**70,), (-1, 2**40), (2**62, 4), (True,), (),
]  # fmt: skip


def looks(x: Any) -> tuple[Any, ...]:
    flags = x.flags
    about = flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned, flags.owndata
    return x.dtype.str, x.shape, x.strides, about, numpy.asarray(x).ravel()[:50].tolist()


def steps_of(rng: random.Random) -> list[tuple[str, Any]]:
    """A random program of views."""

    def part() -> slice:
        ends = [None, None, 0, 1, 2, -1, 3, -2, 5]
        return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, None, 1, 2, -1, -2]))

    steps: list[tuple[str, Any]] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(["key", "key", "T", "mT", "reshape", "ravel", "rows", "locked"])
        key = [part() if rng.random() < 0.6 else rng.choice([0, 1, -1, 2]) for _ in range(rng.randint(1, 2))]
        given: Any = key[0] if len(key) == 1 else tuple(key)
        steps.append((kind, rng.choice(SHAPES) if kind == "reshape" else given))
    return steps


def outcome(np: Any, dtype: str, shape: tuple[int, ...], steps: list[tuple[str, Any]]) -> Any:
    found: list[Any] = []
    x = np.arange(int(numpy.prod(shape))).astype(dtype).reshape(shape)
    try:
        for kind, given in steps:
            if kind == "key":
                x = x[given]
            elif kind in ("T", "mT"):
                x = getattr(x, kind)
            elif kind == "reshape":
                x = x.reshape(*given)
            elif kind == "ravel":
                x = x.ravel()
            elif kind == "locked":
                x.setflags(write=False)
            else:
                rows = [*x]
                found.append([looks(row) for row in rows[:5]])
                x = rows[-1] if rows else x
            found.append(looks(x))
    except (IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        found.append((type(error), str(error)))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_views_of_all_kinds(seed: int) -> None:
    rng = random.Random(seed)
    for dtype, shape in BASES:
        for _ in range(25):
            steps = steps_of(rng)
            assert repr(outcome(np, dtype, shape, steps)) == repr(outcome(numpy, dtype, shape, steps)), steps


LINE, SQUARE = np.arange(5.0), np.arange(16.0).reshape(4, 4)
MAKERS: dict[str, Callable[[], Any]] = {
    "part": lambda: LINE[1:], "element's row": lambda: SQUARE[2], "column": lambda: SQUARE[:, 1],
    "turned": lambda: SQUARE.T, "corner": lambda: SQUARE[1:, 1:], "flat": lambda: SQUARE.ravel(),
    "reshaped": lambda: SQUARE.reshape(2, -1), "rows": lambda: next(iter(SQUARE)),
}  # fmt: skip


@pytest.mark.parametrize("made", MAKERS)
def test_the_last_one_is_the_next_one(made: str) -> None:
    make = MAKERS[made]
    x = make()
    real, expected = id(x.geo), looks(x)
    del x
    x, calls = python_calls(make)
    references = sys.getrefcount(x.geo)
    assert id(x.geo) == real and references == 2
    assert looks(x) == expected
    assert x.base is not None and not calls


def test_memory_ends_with_its_last_view() -> None:
    class Owner(numpy.ndarray):
        pass

    for make in (
        lambda x: x[1:], lambda x: x[None][0], lambda x: x.reshape(2, 2).T, lambda x: x.reshape(2, 2)[0],
    ):  # fmt: skip
        owner: Any = Owner(4)
        gone = weakref.ref(owner)
        x = plain(owner.view(numpy.ndarray))
        del owner
        view = make(x)
        del x
        assert gone() is not None
        del view
        assert gone() is None


def test_references_to_memory_and_types_stay_as_many() -> None:
    base = numpy.zeros((4, 4))
    x, types = plain(base), [numpy.dtype(c) for c in "?bhilqBHILQfdFD"]
    arrays = [np.zeros((4, 4), dtype) for dtype in types]

    def step() -> None:
        for row in x:
            row[1:], row.T
        for y in arrays:
            y[1], y[1:, 1:], y.T, y.ravel()

    def counts() -> list[int]:
        return [*map(sys.getrefcount, [base, x, *arrays, *[y.geo for y in arrays]])]

    step()
    before, of_types = counts(), [*map(sys.getrefcount, types)]
    for _ in range(200):
        step()
    assert counts() == before
    # (each of those that wait refers to one type or another)
    assert all(abs(sys.getrefcount(t) - n) <= 4 * SPARE_VIEWS for t, n in zip(types, of_types, strict=True))


def test_whoever_knows_one_keeps_it() -> None:
    x = SQUARE[1]
    real = x.geo
    del x
    y = SQUARE[2]
    assert y.geo is not real and real.tolist() == [4, 5, 6, 7]
    x = SQUARE[1]
    heard: list[Any] = []
    ref = weakref.ref(x.geo, heard.append)
    del x
    assert ref() is None and heard == [ref]
    x = SQUARE[1]
    shown = memoryview(x)  # type: ignore[arg-type]
    del x
    assert SQUARE[2].tolist() == [8, 9, 10, 11] and shown.tolist() == [4, 5, 6, 7]


def test_flags_are_not_taken_over() -> None:
    locked = np.arange(16.0).reshape(4, 4)
    locked.setflags(write=False)
    for _ in range(5):
        assert not locked[1].flags.writeable and SQUARE[1].flags.writeable
        assert not locked.T.flags.writeable and SQUARE.T.flags.writeable
    odd = np.frombuffer(bytearray(41), "f8", 5, 1)
    assert not odd[1:].flags.aligned and LINE[1:].flags.aligned and not odd[1:].flags.aligned


def test_rows_of_what_changes_meanwhile() -> None:
    def rows(np: Any) -> list[Any]:
        x = np.arange(12.0).reshape(4, 3)
        found = []
        for k, row in enumerate(x):
            found.append(row)
            x[k + 1 :] *= 2
            if k == 1:
                x.shape = (3, 4)
        return [looks(row) for row in found]

    assert rows(np) == rows(numpy)


def test_rows_that_end_and_rows_that_stay() -> None:
    kept = list(np.arange(1000.0).reshape(250, 4))
    assert [row[0] for row in kept] == [*range(0, 1000, 4)]
    assert len({id(row.geo) for row in kept}) == 250
    del kept
    many = [SQUARE[k % 4] for k in range(10 * SPARE_VIEWS)]
    assert all(row[0] == 4 * (k % 4) for k, row in enumerate(many))


def test_memory_whose_end_makes_views() -> None:
    made: list[Any] = []

    class Owner(numpy.ndarray):
        def __del__(self) -> None:
            made.append([SQUARE[k] for k in range(3)])
            LINE[2:]

    for _ in range(2 * SPARE_VIEWS):
        x = plain(numpy.zeros(8).view(Owner).view(numpy.ndarray))[2:]
        row = SQUARE[3]
        del x
        assert row.tolist() == [12, 13, 14, 15]
    assert all([row[0] for row in rows] == [0, 4, 8] for rows in made)
    assert len({id(row.geo) for rows in made for row in rows}) == 6 * SPARE_VIEWS


def test_threads() -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        x = np.arange(16.0).reshape(4, 4) + 16 * k
        for n in range(2000):
            rows = [row[1:] for row in x]
            begin = 16 * k + 4 * (n % 4)
            if rows[n % 4].tolist() != [begin + j for j in (1, 2, 3)] or x.T[0, 3] != 16 * k + 12:
                wrong.append((k, n))

    numbered_at_once(work)
    assert not wrong


def test_no_memory_is_lost() -> None:
    def step() -> None:
        for row in SQUARE:
            row[1:].T, SQUARE.T[1:], SQUARE.reshape(8, 2), SQUARE.ravel()
        kept = [SQUARE[k % 4] for k in range(3 * SPARE_VIEWS)]
        del kept

    step()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(200):
        step()
    gc.collect()
    assert sys.getallocatedblocks() - before < 200
