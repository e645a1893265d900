"""Windows: elements and small parts of arrays that are computed, read and written at once by NumPy.

In:  managed arrays.   Out: real ndarrays over their bytes, or None where something waits.
Loops over elements and rows live on this: it is the shortest way to what exists.  The window of `element_of`
is kept with its array and holds no reference to the memory, so that nobody takes the memory for shared; it
is used only while the caller holds the buffer, which still lies where it lay.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import is_quiet, ndarray
from lazyarr.config import current
from lazyarr.geometry import offset_of
from lazyarr.values import Buffer

INTEGERS: frozenset[Any] = frozenset((int, *(numpy.dtype(c).type for c in "bhilqBHILQ")))
"""Types of numbers that pick one element of an axis, and run nothing meanwhile."""


class _Bytes:
    """The bytes of a buffer, without a reference to it."""

    def __init__(self, buf: Buffer) -> None:
        readonly = not buf.memory.flags.writeable
        self.__array_interface__ = {
            "version": 3, "typestr": "|u1", "shape": (buf.nbytes,), "data": (buf.address, readonly),
        }  # fmt: skip


def element_of(x: ndarray, buf: Buffer) -> numpy.ndarray:
    """All of x, whose value the caller holds: to take elements from, or to put them there."""
    try:
        at, geo, found = x.window
        if at == buf.address and geo is x.geo:
            return found
    except AttributeError:
        pass
    geo = x.geo
    found = numpy.ndarray(geo.shape, geo.dtype, numpy.asarray(_Bytes(buf)), offset_of(geo), geo.strides)
    if not geo.flags.writeable:
        found.flags.writeable = False
    x.window = buf.address, geo, found
    return found


def is_element(key: Any, ndim: int) -> bool:
    """Is it an index of integers, one for each axis?"""
    if key.__class__ is tuple:
        return len(key) == ndim and INTEGERS.issuperset(map(type, key))
    return ndim == 1 and key.__class__ in INTEGERS


def small_part(x: ndarray) -> numpy.ndarray | None:
    """The values of a small array that exist; only to look at, or to write under the lock."""
    if x.storage is not None and x.geo.size > current.eager_elements:
        return None
    return existing(x)


def existing(x: ndarray) -> numpy.ndarray | None:
    """The values of an array of any size that exist; only to look at."""
    geo = x.geo
    storage = x.storage
    if storage is None:
        return geo
    value = storage.value
    buf = value.buf
    if value.op is not None or buf.__class__ is not Buffer:
        return None
    return buf.real(geo)


def existing_pair(a: ndarray, b: ndarray) -> tuple[numpy.ndarray, numpy.ndarray] | None:
    """Both operands for NumPy, of any size, where they exist: what only NumPy computes need not wait."""
    if current.jit == "always" or a.geo.dtype.hasobject or b.geo.dtype.hasobject:
        return None
    x, y = existing(a), existing(b)
    return None if x is None or y is None else (x, y)


def is_free(x: ndarray) -> bool:
    """May x be written to at once?  (Its memory exists, nothing pending reads it, and both may change.)"""
    storage = x.storage
    assert storage is not None
    return is_quiet(x) and storage.value.buf.memory.flags.writeable and x.geo.flags.writeable
