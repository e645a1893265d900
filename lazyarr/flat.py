"""x.flat: NumPy's flat iterator, that takes and gives lazy arrays.

In: an array.   Out: an iterator.  Elements and slices are those of the array, as far as that means the same.
What only NumPy's iterator can do, it does over lent memory: from then on that counts as seen by others, so
writes through it and reads of the array keep program order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from lazyarr.arrays import export, ndarray, part, wrap
from lazyarr.counters import COUNT
from lazyarr.elementwise import SCALARS
from lazyarr.fallback import lend, through
from lazyarr.geometry import reshaped, same
from lazyarr.indexing import keeps, kept
from lazyarr.slot_words import WAITING
from lazyarr.type_names import named_as


@named_as(numpy.flatiter)
class FlatIter:
    """Stands for numpy.flatiter."""

    __slots__ = ("_array", "_made")

    __class__ = property(lambda self: numpy.flatiter)

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._made: Any = None
        _check = array.geo.flat                 # NumPy refuses where there are too many axes

    @property
    def _flat(self) -> Any:
        """NumPy's iterator: made when it is asked for something that a view cannot do."""
        if self._made is None:
            COUNT.numpy_fallbacks += self._array.storage is not None
            self._made = export(self._array).flat
        return self._made

    def _numpys(self) -> Any:
        """NumPy's iterator, where there is one, or another, over the memory of a plain array."""
        return self._array.geo.flat if self._made is None else self._made

    @property
    def base(self) -> ndarray:
        return self._array

    @property
    def index(self) -> int:
        return self._flat.index

    @property
    def coords(self) -> tuple[int, ...]:
        return self._flat.coords

    def copy(self) -> ndarray:
        return wrap(self._flat.copy())

    def __array__(self, dtype: Any = None, *, copy: Any = None) -> numpy.ndarray:
        return numpy.asarray(self._flat.__array__(), dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._flat.__reduce_ex__(protocol)       # which refuses

    def __iter__(self) -> Any:
        return self._flat                       # which goes on where this one is

    def __next__(self) -> Any:
        return next(self._flat)

    def __len__(self) -> int:
        return len(self._flat)

    def __getitem__(self, key: Any) -> Any:
        if key.__class__ is int:
            array = self._array
            if self._made is not None or array.storage is None:
                found = self._numpys()[key]
                return wrap(found) if found.__class__ is numpy.ndarray else found
            if -array.geo.size <= key < array.geo.size:
                return array[_place(key, array.geo.shape)]      # (of other indices NumPy has other words)
        return wrap(self._flat[lend(key, {})])

    def __setitem__(self, key: Any, value: Any) -> None:
        if key.__class__ in (int, slice) and self._writes(key, value):
            return
        if keeps(self._array.geo.dtype, 1, key):
            self._flat[key] = kept(value)
        else:
            flat = self._flat
            through(flat.__setitem__, (lend(key, {}), value), {}, held=(flat.base,))

    def _writes(self, key: int | slice, value: Any) -> bool:
        """Write without an iterator of NumPy's for it, if that means the same; did it?"""
        array = self._array
        if self._made is not None or array.storage is None:
            if value.__class__ not in SCALARS:
                return False
            for hear in WAITING:
                hear()
            self._numpys()[key] = value
            return True
        if not array.geo.flags.writeable:
            return False
        if key.__class__ is int:
            if not -array.geo.size <= key < array.geo.size or not _is_as_it_is(value, array.geo.dtype):
                return False
            array[_place(key, array.geo.shape)] = value
            return True
        line = reshaped(array.geo, (-1,))
        if line is None or not self._fills(value, line[key]):
            return False
        part(array, line)[key] = value
        return True

    def _fills(self, value: Any, line: numpy.ndarray) -> bool:
        """Does assigning to a flat iterator mean the same as to a line?

        It repeats a shorter value, and goes one by one: so it may read what it has written."""
        if value.__class__ is not ndarray:
            return _is_as_it_is(value, line.dtype)
        if value.geo.shape != line.shape or value.geo.dtype != line.dtype:
            return False
        if value.storage is not self._array.storage or same(value.geo, line):
            return True
        return not numpy.may_share_memory(value.geo, line)

    def __delitem__(self, key: Any) -> None:
        del self._flat[key]

    __hash__ = None


def _place(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of an element, in C order."""
    index %= math.prod(shape)
    found = []
    for length in reversed(shape):
        index, place = divmod(index, length)
        found.append(place)
    return tuple(reversed(found))


NUMBERS = {"b": "bfc", "i": "fc", "u": "fc", "f": "fc", "c": "c"}
"""Kind of scalars -> kinds of arrays, of whatever size, that take any of them without an error."""
SMALL, LARGE = 128, 1 << 53
"""Python's integers up to there fit into all numbers; those up to here, into all that are no integers."""


def _is_as_it_is(value: Any, dtype: numpy.dtype) -> bool:
    """Is it a scalar that arrays of that type take without an error?  (NumPy's iterator has other words for
    errors than its arrays have, and casts where these refuse.)"""
    if value.__class__ not in SCALARS or dtype.char in "gG":
        return False
    kind = dtype.kind
    if value.__class__ is int and 0 <= value < SMALL:
        return kind in "biufc"
    if value.__class__ is int and not -LARGE < value < LARGE:
        return False
    return kind == "b" or kind in NUMBERS[numpy.dtype(value.__class__).kind]


def _comparison(name: str) -> Any:
    def compare(self: FlatIter, other: Any) -> Any:
        return wrap(getattr(self._flat, name)(lend(other, {})))

    return compare


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(FlatIter, _name, _comparison(_name))

