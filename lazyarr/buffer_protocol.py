"""Python's buffer protocol on arrays: `memoryview(x)`, `file.write(x)`, `hashlib.sha256(x)`.

In: the array type.   Out: the type with a buffer slot, that lends real, counted memory.
Python 3.12 has `__buffer__` for this, whose memory not all may ask for again (`PickleBuffer.raw`), and
before only C code can fill the slot (`buffer_slot`): so it is written through ctypes where it may be, after
checking that type objects are laid out as this interpreter's headers say.
Not for NumPy: it would prefer the buffer to `__array__`, and asarray(x) would be another array each time.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.protocols import pinned

FULL_RO = 0x011C
"""What `WHOLE` ask for; and NumPy, which takes BufferError for "try something else"."""

WHOLE = {"memoryview", "bytearray", "PickleBuffer", "from_buffer"}
"""What of Python and its library takes any buffer with all that is known about it."""

REFUSAL = f"a lazy array lends its memory where one of {', '.join(sorted(WHOLE))} is called by its name"
"""NumPy does not show it, but goes on to `__array__`."""

WRITABLE = 0x0001
"""Who asks for memory to write to may keep the address (`numpy.frombuffer`), and give the buffer back."""

_NAME, _BUFFER, _FLAGS = 24, 160, 168
"""Byte offsets in PyTypeObject (64 bit): tp_name, tp_as_buffer, tp_flags."""


def _for_numpy(flags: int) -> bool:
    """Is it NumPy that asks, and not code, two frames up, that names one of `WHOLE`?"""
    try:
        return flags == FULL_RO and WHOLE.isdisjoint(sys._getframe(2).f_code.co_names)
    except ValueError:                          # nobody's code: a thread's first call
        return True


def __buffer__(self: Any, flags: int) -> memoryview:
    if _for_numpy(flags):
        raise BufferError(REFUSAL)
    return memoryview(_real(self, flags))


def _find(self: Any, flags: int) -> Any:
    """The array whose memory is lent."""
    if _for_numpy(flags):
        raise BufferError(REFUSAL)
    return _real(self, flags)


def _real(x: ndarray, flags: int) -> numpy.ndarray:
    """The real array: of memory that stays where it is, if the address may be all that somebody keeps."""
    return pinned(x) if flags & WRITABLE else x.__array__()


def _word(address: int) -> ctypes.c_size_t:
    return ctypes.c_size_t.from_address(address)


def _layout_is_known() -> bool:
    """Do name, flags and buffer slot lie where they are expected, in two types known to have them?"""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.implementation.name != "cpython":
        return False
    for known, name in ((bytes, b"bytes"), (numpy.ndarray, b"numpy.ndarray")):
        at = id(known)
        if _word(at + _FLAGS).value != known.__flags__ or not _word(at + _BUFFER).value:
            return False
        if ctypes.string_at(_word(at + _NAME).value) != name:
            return False
    return _word(id(ndarray) + _FLAGS).value == ndarray.__flags__


def attach() -> None:
    if sys.version_info >= (3, 12):
        ndarray.__buffer__ = __buffer__
    if _layout_is_known():
        from lazyarr.buffer_slot import slot

        address = slot(_find)
        if address is not None:
            _word(_word(id(ndarray) + _BUFFER).value).value = address
