"""The standard's data types and what it asks about them.

In: dtypes, and arrays for their dtypes.   Out: NumPy's dtypes; Python numbers where the standard says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazyarr
from lazyarr.array_api.array_type import Array, on_cpu, plain, standard
from lazyarr.records import dataclass

NAMES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
"""

DTYPES = {name: getattr(numpy, name) for name in NAMES.split()}
"""NumPy's types, which equal the dtypes of arrays; unlike those, none of them equals None."""


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """Machine limits of a floating-point data type, or of the parts of a complex one."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: numpy.dtype[Any]


def _dtype(x: Any) -> Any:
    return plain(x).dtype if isinstance(x, lazyarr.ndarray) else x


def finfo(type: Any, /) -> FloatLimits:
    """Machine limits of a floating-point data type, as Python numbers."""
    found = numpy.finfo(_dtype(type))
    eps, most, least = float(found.eps), float(found.max), float(found.min)
    return FloatLimits(found.bits, eps, most, least, float(found.smallest_normal), found.dtype)


def iinfo(type: Any, /) -> Any:
    """Machine limits of an integer data type."""
    return numpy.iinfo(_dtype(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Is a data type of a kind: another data type, a name of the standard's, or a tuple of these?"""
    return numpy.isdtype(dtype, kind)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Do the rules of type promotion allow this cast?"""
    return numpy.can_cast(_dtype(from_), to)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The data type that the rules of type promotion give."""
    return lazyarr.result_type(*plain(arrays_and_dtypes))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """x in another data type; with `copy=False` x itself, if it has that data type."""
    on_cpu(device)
    face = plain(x)
    if face.dtype.kind == "c" and numpy.isdtype(numpy.dtype(dtype), ("integral", "real floating")):
        raise TypeError("a complex array has no cast to real numbers: take its real or its imag")
    result = face.astype(dtype, copy=copy)
    return x if result is face and x.__class__ is Array else standard(result)


OWN = (finfo, iinfo, isdtype, can_cast, result_type, astype)


def functions() -> dict[str, Callable[..., Any]]:
    found: dict[str, Any] = {fn.__name__: fn for fn in OWN}
    return found
