"""`ctypeslib.ndpointer`: types of arguments and results of C functions, which take lazy arrays.

In:  what an array must be.   Out: a subclass of the type that NumPy makes of that.
C code that was given an address may keep it, so the array is pinned, as by `x.ctypes`: from here on it is
read and written at the call.  Imported when a program asks for ctypeslib, as NumPy's is.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from lazyarr.array_flags import Flags
from lazyarr.arrays import ndarray, wrap
from lazyarr.fallback import fallback
from lazyarr.namespace import OVERRIDES
from lazyarr.protocols import Holding, pinned
from lazyarr.protocols import flags as flags_of


class _Lent(Holding):
    """Memory whose flags are those of the array that lends it (it owns memory; what it lends does not)."""

    @property
    def flags(self) -> Any:
        return flags_of(self.array)


class _Pointer:
    """What our types answer before NumPy's."""

    @classmethod
    def from_param(cls, x: Any) -> Any:
        return super().from_param(lent(x) if x.__class__ is ndarray else x)   # type: ignore[misc]


class _Whole(_Pointer):
    """Of types that know dtype and shape."""

    @property
    def contents(self) -> Any:
        return wrap(super().contents)           # type: ignore[misc]


def lent(x: ndarray) -> _Lent:
    held = pinned(x).view(_Lent)
    held.array = x
    return held


@functools.cache
def accepting(of_numpy: type) -> type:
    """The type of NumPy's, for lazy arrays too."""
    return type(of_numpy.__name__, (_Whole if hasattr(of_numpy, "contents") else _Pointer, of_numpy), {})


def ndpointer(dtype: Any = None, ndim: Any = None, shape: Any = None, flags: Any = None) -> type:
    """See `numpy.ctypeslib.ndpointer`."""
    if type(flags) is Flags:
        flags = flags.num
    return accepting(fallback(numpy.ctypeslib.ndpointer, dtype, ndim, shape, flags))


def attach() -> None:
    of_numpy = numpy.ctypeslib.ndpointer
    OVERRIDES[of_numpy] = functools.wraps(of_numpy, updated=())(ndpointer)
