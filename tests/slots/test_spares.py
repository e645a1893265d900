"""Arrays that end are kept for the next ones: who sees them, who does not, and what their end may do."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.arrays import plain
from lazyarr.slots.tables import SPARES
from tests.crowd import numbered_at_once
from tests.slots.operands import ONLY_HERE

pytestmark = ONLY_HERE

N = 5000


MAKERS: dict[str, Callable[[], Any]] = {
    "operator": lambda: SMALL + SMALL,
    "function": lambda: np.empty(3),
    "method": lambda: SMALL.copy(),
    "row": lambda: SQUARE[1],
    "view": lambda: SQUARE.T,
    "Python": lambda: plain(numpy.zeros(2)),
}
SMALL, SQUARE = np.arange(5.0), np.zeros((4, 4))


@pytest.mark.parametrize("made", MAKERS)
def test_the_last_one_is_the_next_one(made: str) -> None:
    make = MAKERS[made]
    x = make()
    first = id(x)
    del x
    x = make()
    assert id(x) == first
    assert gc.is_tracked(x)
    assert sys.getrefcount(x) == 2


def test_the_collector_sees_only_arrays_in_use() -> None:
    kept = [SMALL + SMALL for _ in range(SPARES)]
    ids = {*map(id, kept)}
    assert len(ids) == SPARES
    kept.clear()
    assert not ids & {*map(id, gc.get_objects())}
    gc.collect()
    kept = [SMALL + SMALL for _ in range(SPARES)]
    assert {*map(id, kept)} == ids


def test_what_one_was_is_forgotten() -> None:
    """References, a value, what stood for it elsewhere, what its elements were taken from."""
    a = np.arange(float(N))
    with np.options(jit="always"):
        y = a * 2
        part = y[3:]
        part[1], numpy.asarray(y), memoryview(part)     # type: ignore[arg-type]
        gone = weakref.ref(y), weakref.ref(part)
        where = {id(y), id(part)}
        del y, part
    assert [ref() for ref in gone] == [None, None]
    fresh = [SMALL + k for k in range(4)]
    assert where & {*map(id, fresh)}
    for k, x in enumerate(fresh):
        assert weakref.getweakrefcount(x) == 0
        assert not hasattr(x, "twin")
        assert not hasattr(x, "window")
        assert x.base is None
        assert x.tolist() == (numpy.arange(5.0) + k).tolist()


def test_weak_references_hear_of_the_end() -> None:
    heard: list[Any] = []
    for _ in range(3):
        x = SMALL + 1
        ref = weakref.ref(x, lambda r: heard.append((r(), SMALL - 1)))
        del x
        assert ref() is None
    assert [r for r, _ in heard] == [None] * 3
    assert all(y.tolist() == [-1, 0, 1, 2, 3] for _, y in heard)


def test_memory_whose_end_computes() -> None:
    """What an array is a view of is a program's object, which makes and drops arrays when it ends."""
    made: list[Any] = []

    class Owner(numpy.ndarray):
        def __del__(self) -> None:
            made.append([SMALL * k for k in range(3)])
            SQUARE.copy()

    for k in range(2 * SPARES):
        x = plain(numpy.zeros(4).view(Owner).view(numpy.ndarray)) + k
        y = plain(numpy.ndarray.__getitem__(numpy.zeros(4).view(Owner), slice(1, 3)).view(numpy.ndarray))
        del y
        assert x.tolist() == [k] * 4
    assert len(made) >= 2 * SPARES
    ids = [id(z) for several in made for z in several]
    assert len(ids) == len({*ids})
    expected = [(numpy.arange(5.0) * k).tolist() for k in range(3)]
    assert all([z.tolist() for z in several] == expected for several in made)


def test_more_than_are_kept() -> None:
    for _ in range(3):
        many = [SMALL + k for k in range(20 * SPARES)]
        assert len({*map(id, many)}) == len(many)
        assert all(x[0] == k for k, x in enumerate(many))
        views = [x[1:] for x in many]
        del many
        assert all(x[0] == k + 1 for k, x in enumerate(views))
        assert all(x.base is not None for x in views)


def test_classes_of_their_own_are_not_kept() -> None:
    import lazyarr.array_api as xp

    x = xp.asarray([1.0, 2.0])
    cls, where = type(x), id(x)
    before = sys.getrefcount(cls)
    for _ in range(100):
        xp.asarray([1.0, 2.0]) + x
    assert sys.getrefcount(cls) == before
    del x
    assert where not in [id(SMALL + k) for k in range(3)] or cls is np.ndarray


def test_the_type_is_referred_to_as_often_as_there_are_arrays() -> None:
    def step() -> int:
        many = [[SMALL + k, SQUARE[1], SQUARE.T, np.empty(3)] for k in range(SPARES)]
        del many
        return sys.getrefcount(np.ndarray)

    step()
    assert len({step() for _ in range(20)}) == 1


def test_garbage_in_cycles() -> None:
    class Node:
        pass

    ends: list[int] = []
    for k in range(50):
        node: Any = Node()
        node.array, node.itself = SMALL + k, node
        node.view = node.array[1:]
        weakref.finalize(node.array, ends.append, k)
        del node
    gc.collect()
    assert sorted(ends) == [*range(50)]
    assert [(SMALL + k).tolist() for k in range(3)] == [(numpy.arange(5.0) + k).tolist() for k in range(3)]


def test_saved_from_the_collector() -> None:
    saved: list[Any] = []

    class Saver:
        def __del__(self) -> None:
            saved.append(self.array)

    for k in range(20):
        x: Any = Saver()
        x.array, x.itself = SMALL + k, x
        del x
    gc.collect()
    others = [SMALL * 0 for _ in range(2 * SPARES)]
    assert sorted(x[0] for x in saved) == [*range(20)]
    assert not {*map(id, saved)} & {*map(id, others)}


def test_threads() -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        for n in range(3000):
            x = SMALL + k
            y = x[1:]
            z = [y + n for _ in range(3)]
            if z[2][0] != 1 + k + n:
                wrong.append((k, n))

    numbered_at_once(work)
    assert not wrong


def test_no_memory_is_lost() -> None:
    def step() -> None:
        many = [SMALL + k for k in range(2 * SPARES)]
        views = [x[1:] for x in many]
        del many, views

    step()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(100):
        step()
    gc.collect()
    assert sys.getallocatedblocks() - before < 200
