"""x.flat: NumPy's flat iterator over lent memory, that takes and gives lazy arrays.

In: an array.   Out: an iterator; while it lives, the memory counts as seen by others, so writes
through it and reads of the array keep program order.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import export, ndarray, part, wrap
from lazyarr.counters import COUNT
from lazyarr.elementwise import SCALARS
from lazyarr.fallback import lend, through
from lazyarr.geometry import reshaped, same
from lazyarr.indexing import keeps, kept
from lazyarr.type_names import named_as


@named_as(numpy.flatiter)
class FlatIter:
    """Stands for numpy.flatiter."""

    __slots__ = ("_array", "_made")

    __class__ = property(lambda self: numpy.flatiter)

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._made: Any = export(array).flat if array.storage is None else None
        _check = array.geo.flat                 # NumPy refuses where there are too many axes

    @property
    def _flat(self) -> Any:
        """NumPy's iterator: made when it is asked for something that a view cannot do."""
        if self._made is None:
            COUNT.numpy_fallbacks += 1
            self._made = export(self._array).flat
        return self._made

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

    def __iter__(self) -> Any:
        return self._flat                       # which goes on where this one is

    def __next__(self) -> Any:
        return next(self._flat)

    def __len__(self) -> int:
        return len(self._flat)

    def __getitem__(self, key: Any) -> Any:
        array, size = self._array, self._array.geo.size
        if self._made is None and key.__class__ is int and array.geo.ndim == 1 and -size <= key < size:
            return array[key]                   # (of other indices NumPy has other words)
        return wrap(self._flat[lend(key, {})])

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._made is None and key.__class__ is slice and self._array.storage is not None:
            line = reshaped(self._array.geo, (-1,))
            if line is not None and line.flags.writeable and self._fills(value, line[key]):
                part(self._array, line)[key] = value
                return
        if keeps(self._array.geo.dtype, 1, key):
            self._flat[key] = kept(value)
        else:
            flat = self._flat
            through(flat.__setitem__, (lend(key, {}), value), {}, held=(flat.base,))

    def _fills(self, value: Any, line: numpy.ndarray) -> bool:
        """Does assigning to a flat iterator mean the same as to a line?

        It repeats a shorter value, and goes one by one: so it may read what it has written."""
        if value.__class__ is not ndarray:
            return value.__class__ in SCALARS
        if value.geo.shape != line.shape or value.geo.dtype != line.dtype:
            return False
        if value.storage is not self._array.storage or same(value.geo, line):
            return True
        return not numpy.may_share_memory(value.geo, line)

    def __delitem__(self, key: Any) -> None:
        del self._flat[key]

    __hash__ = None


def _comparison(name: str) -> Any:
    def compare(self: FlatIter, other: Any) -> Any:
        return wrap(getattr(self._flat, name)(lend(other, {})))

    return compare


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(FlatIter, _name, _comparison(_name))

