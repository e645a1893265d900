"""Classes that NumPy's own Python code uses, for lazy arrays: its converter of arguments, and broadcast.

In: the arguments of a NumPy function, lazy arrays among them.   Out: arrays, and results as that function
gives them.  NumPy's class is asked about types and shapes, on geometries; lazy arrays come back as they are.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy

from lazyarr.array_likes import accepting
from lazyarr.arrays import ndarray, now, wrap

MULTIARRAY = importlib.import_module("numpy._core._multiarray_umath")
REAL: Any = getattr(MULTIARRAY, "_array_converter", None)
"""Of NumPy from 2.1 on."""


class Converter:
    """Stands for NumPy's converter."""

    __slots__ = ("_given", "_real")

    def __init__(self, *args: Any) -> None:
        self._given = args
        self._real = accepting(REAL)(*[x.geo if x.__class__ is ndarray else x for x in args])

    @property
    def scalar_input(self) -> Any:
        return self._real.scalar_input

    def as_arrays(self, **options: Any) -> tuple[Any, ...]:
        pairs = zip(self._given, self._real.as_arrays(**options), strict=True)
        return tuple([x if x.__class__ is ndarray else wrap(array) for x, array in pairs])

    def result_type(self, *args: Any, **options: Any) -> Any:
        return self._real.result_type(*args, **options)

    def wrap(self, x: Any, /, *, to_scalar: Any = None) -> Any:
        if x.__class__ is not ndarray:
            return wrap(self._real.wrap(x, to_scalar=to_scalar))
        scalar = all(self._real.scalar_input) if to_scalar is None else to_scalar
        return now(x)[()] if scalar and not x.ndim else x

    def __getitem__(self, i: int) -> Any:
        return self.as_arrays()[i]

    def __len__(self) -> int:
        return len(self._real)


class Broadcast:
    """Stands for numpy.broadcast: shapes are known; the rest asks for the elements."""

    __slots__ = ("_given", "_shapes")

    def __init__(self, *args: Any) -> None:
        self._given = args
        geos = [x.geo if x.__class__ is ndarray else x for x in args]
        self._shapes: numpy.broadcast = accepting(numpy.broadcast)(*geos)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shapes.shape

    @property
    def ndim(self) -> int:
        return self._shapes.ndim

    @property
    def size(self) -> int:
        return self._shapes.size

    def __iter__(self) -> Any:
        return iter(numpy.broadcast(*[now(x) if x.__class__ is ndarray else x for x in self._given]))


INSIDE: dict[Any, Any] = {numpy.broadcast: Broadcast, REAL: Converter}
"""What NumPy's own code gets in place of a class of NumPy's."""
