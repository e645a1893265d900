"""Functions and ufuncs are called with arguments as they lie on the interpreter's stack (PEP 590,
vectorcall): CPython makes no tuple of them then, nor a dict.

In:  classes with room (`slot_words.with_room`), their objects, addresses of machine code.   Out: nothing.
Always holds: an object in whose room there is nothing is called by its class's ``__call__``.
"""

from __future__ import annotations

from typing import Any

from lazyarr.object_fields import TYPE_FLAGS, word
from lazyarr.slot_words import CALLED_AT

PLACE = 56
"""Of a type: where its objects have the address of what they are called by."""
HAS_PLACE, IS_METHOD = 1 << 11, 1 << 17
"""Py_TPFLAGS_HAVE_VECTORCALL, and _METHOD_DESCRIPTOR: what is called as an attribute of an object gets that
as the first argument."""


def call_through(cls: type, flags: int = HAS_PLACE) -> None:
    """From now on objects of a class are called by the functions that their words name."""
    place = _place(cls)
    if place:
        word(id(cls) + PLACE).value = place
        word(id(cls) + TYPE_FLAGS).value |= flags


def call_by(x: Any, address: int) -> None:
    """The function that one object is called by."""
    place = _place(type(x))
    if place:
        word(id(x) + place).value = address


def _place(cls: type) -> int:
    return next((CALLED_AT[base] for base in cls.__mro__ if base in CALLED_AT), 0)
