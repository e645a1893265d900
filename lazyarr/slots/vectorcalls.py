"""Functions and ufuncs are called with arguments as they lie on the interpreter's stack (PEP 590,
vectorcall): CPython makes no tuple of them then, nor a dict.

In:  classes with room (`slot_words.with_room`), their objects, addresses of machine code.   Out: nothing.
Always holds: an object in whose room there is nothing is called by its class's ``__call__``.
"""

from __future__ import annotations

import ctypes
from typing import Any

from lazyarr.slot_words import CALLED_AT

PLACE, FLAGS = 56, 168
"""Of a type: where its objects have the address of what they are called by, and its flags."""
HAS_PLACE = 1 << 11
"""Py_TPFLAGS_HAVE_VECTORCALL"""


def call_through(cls: type) -> None:
    """From now on objects of a class are called by the functions that their words name."""
    place = _place(cls)
    if place:
        _word(id(cls) + PLACE).value = place
        _word(id(cls) + FLAGS).value |= HAS_PLACE


def call_by(x: Any, address: int) -> None:
    """The function that one object is called by."""
    place = _place(type(x))
    if place:
        _word(id(x) + place).value = address


def _place(cls: type) -> int:
    return next((CALLED_AT[base] for base in cls.__mro__ if base in CALLED_AT), 0)


def _word(address: int) -> ctypes.c_ssize_t:
    return ctypes.c_ssize_t.from_address(address)
