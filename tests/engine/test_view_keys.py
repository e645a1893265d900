"""Geometries of views that machine code finds again: NumPy's, and each array's own where it changes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import swift_nodes
from lazyarr.compiler import COMPILER
from lazyarr.geometry import offset_of
from lazyarr.view_keys import MOST, NEAR

CODE: list[Any] = []


@pytest.fixture
def view() -> Any:
    import lazyarr.engine  # noqa: F401  (which loads LLVM)

    COMPILER.ready(1e12)
    if not CODE:
        CODE.append(swift_nodes.load(True))
    if CODE[0] is None:
        pytest.skip("objects lie otherwise here")
    with np.options(jit="always"):
        yield CODE[0].view


def lies(geo: numpy.ndarray) -> tuple[Any, ...]:
    return geo.shape, geo.strides, offset_of(geo) if geo.size else 0, geo.dtype


def pending(*shape: int) -> Any:
    return np.array(numpy.ones(shape)) + 1.0


NUMBERS = None, 0, 1, -1, 2, NEAR, -NEAR, NEAR + 1, -NEAR - 1, 10**30, -(10**30)
ITEMS = (
    *(slice(a, b) for a, b in itertools.product(NUMBERS, repeat=2)),
    *(slice(a, b, c) for a, b in ((None, None), (1, -1)) for c in (1, 2, -1, NEAR + 1)),
)


def test_all_are_numpys_and_the_same_again(view: Any) -> None:
    x = pending(12, 11)
    for key in (*ITEMS, *((slice(1, -1), item) for item in ITEMS), *((item, 3) for item in ITEMS)):
        first, again, expected = view(x, key), view(x, key), x.geo[key]
        assert lies(first.geo) == lies(again.geo) == lies(expected), key
        numbers = [n for s in (key if isinstance(key, tuple) else (key,)) for n in (
            (s.start, s.stop, s.step) if isinstance(s, slice) else (s,)
        )]  # fmt: skip
        near = all(n is None or abs(n) <= NEAR for n in numbers)
        assert (first.geo is again.geo) is near, key


def test_axes_are_told_apart(view: Any) -> None:
    x = pending(5, 6, 7)
    every = slice(None)
    keys = [1, (1,), (1, every), (every, 1), (every, every, 1), (..., slice(1, 2)), (None, every)]
    keys += [(every, None), (slice(1, 2), ...), (every, ..., 1), (1, 1, every), (1, every, 1)]
    keys += [(every,) * MOST, (1, 1, every, None)]
    for key in keys * 2:
        found = view(x, key)
        if found is not None:                   # (None: this is for Python to do)
            assert lies(found.geo) == lies(x.geo[key]), key
    assert view(x, (every, 1)).geo is not view(x, (1, every)).geo


def test_arrays_of_other_geometries_have_others(view: Any) -> None:
    for shape in ((9, 8), (8, 9), (9, 9)):
        for x in (pending(*shape), pending(*shape).T, pending(*shape)[1:]):
            key = slice(1, -1), slice(2, None)
            assert lies(view(x, key).geo) == lies(x.geo[key])


def test_words_of_errors_are_numpys(view: Any) -> None:
    x = pending(4, 5)
    for key in ((slice(None), 9), (slice(None),) * 3, slice(None, None, 0)):
        with pytest.raises((IndexError, ValueError)) as theirs:
            x.geo[key]
        for _ in range(2):
            with pytest.raises(type(theirs.value)) as mine:
                view(x, key)
            assert str(mine.value) == str(theirs.value)


def test_what_one_view_becomes_others_do_not(view: Any) -> None:
    x = pending(6, 6)
    key = slice(1, -1), slice(1, -1)
    one, other = view(x, key), view(x, key)
    assert one.geo is other.geo
    one.flags.writeable = False
    assert other.flags.writeable and view(x, key).flags.writeable and not one.flags.writeable
    flat = view(x, slice(1, 2))
    flat.shape = (6,)
    assert flat.shape == (6,) and view(x, slice(1, 2)).shape == (1, 6)
    x.flags.writeable = False
    assert not x[key].flags.writeable and other.flags.writeable
