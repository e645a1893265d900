"""Room in a class's instances for the function that calls of them go to, which takes arguments as they lie on
the interpreter's stack (PEP 590, vectorcall): CPython makes no tuple of them then, nor a dict.

In:  classes written in Python, of which there are no instances yet.   Out: the same, with one word more in
each instance, zero at first, of which the garbage collector knows nothing.
Always holds: where that word is zero, the class's ``__call__`` is called.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, TypeVar

C = TypeVar("C", bound=type)

SIZE, PLACE, FLAGS = 32, 56, 168
"""Of a type: bytes of its instances (tp_basicsize), where these have that word, and its flags."""
HAS_PLACE = 1 << 11
"""Py_TPFLAGS_HAVE_VECTORCALL"""


def with_room(cls: C) -> C:
    """Class decorator: a word behind all else in each instance, of subclasses, too.

    (What has no attribute in ``__slots__`` may be laid out in another way.)"""
    if _is_known() and cls.__basicsize__ > object.__basicsize__:
        size = _word(id(cls) + SIZE)
        if size.value == cls.__basicsize__:
            _PLACES[cls] = size.value
            size.value += 8
    return cls


def call_through(cls: type) -> None:
    """From now on instances are called by the functions that their words name."""
    place = _place(cls)
    if place:
        _word(id(cls) + PLACE).value = place
        _word(id(cls) + FLAGS).value |= HAS_PLACE


def call_by(x: Any, address: int) -> None:
    """The function that one object is called by."""
    place = _place(type(x))
    if place:
        _word(id(x) + place).value = address


_PLACES: dict[type, int] = {}
"""Class -> where its instances have the word."""


def _place(cls: type) -> int:
    return next((_PLACES[base] for base in cls.__mro__ if base in _PLACES), 0)


def _is_known() -> bool:
    """(Objects have other heads where there is no GIL.)"""
    if sys.implementation.name != "cpython" or "t" in getattr(sys, "abiflags", ""):
        return False
    return ctypes.sizeof(ctypes.c_void_p) == 8


def _word(address: int) -> ctypes.c_ssize_t:
    return ctypes.c_ssize_t.from_address(address)
