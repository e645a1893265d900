"""x.flat: NumPy's flat iterator over lent memory, that takes and gives lazy arrays.

In: an array.   Out: an iterator; while it lives, the memory counts as seen by others, so writes
through it and reads of the array keep program order.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import export, ndarray, wrap
from lazyarr.fallback import lend


class FlatIter:
    """Stands for numpy.flatiter."""

    __slots__ = ("_array", "_flat")

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._flat = export(array).flat

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

    def __iter__(self) -> FlatIter:
        return self

    def __next__(self) -> Any:
        return next(self._flat)

    def __len__(self) -> int:
        return len(self._flat)

    def __getitem__(self, key: Any) -> Any:
        return wrap(self._flat[lend(key, {})])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._flat[lend(key, {})] = lend(value, {})

    def __delitem__(self, key: Any) -> None:
        del self._flat[key]

    def __eq__(self, other: Any) -> Any:
        return wrap(self._flat.__array__() == lend(other, {}))

    def __ne__(self, other: Any) -> Any:
        return wrap(self._flat.__array__() != lend(other, {}))

    __hash__ = None
