"""Words that machine code reads or writes, and Python, too: the slots' functions (`slots`).

In:  options that change, calls of slots, and of Python where slots might answer.   Out: `FORCED`, `ANSWERED`,
`WAITING`; what is NumPy's at the call beyond small arrays (`direct`); words in objects that are called.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TypeVar

FORCED = ctypes.c_longlong(0)
"""How many settings in force, of the process and of its threads, send small arrays elsewhere than to NumPy:
while there is one, all calls go through Python, which knows the calling thread's."""

UNUSUAL = ctypes.c_longlong(0)
"""The same of settings that make a difference to which large results wait, and how long (`swift_nodes`)."""

ANSWERED = ctypes.c_longlong(0)
"""Calls that NumPy answered without any Python in between: part of the counter `numpy_eager`."""

WAITING: list[Callable[..., None]] = []
"""Who hears of each small call that goes through Python, or of so many at once, until the slots are in place
(`slots`)."""

LIMIT, MOST = ctypes.c_longlong(0), ctypes.c_longlong(0)
"""Elements, or words if these are fewer, of arrays that slots hand to NumPy, and bytes of results that they
keep as NumPy made them."""

MADE = ctypes.c_longlong(0)
"""Results of medium size that NumPy made while `LIMIT` was raised."""

UNTIL = ctypes.c_longlong(0)
"""When there are more Python hears of it."""

GRANTED = ctypes.c_longlong(0)
"""Nodes of medium size that machine code may make yet until Python counts them (`direct`)."""

GRANTEE = ctypes.c_longlong(0)
"""The address of the code that these are for, if not for all."""

SHARED = ctypes.c_longlong(0)
"""Nodes that may wait one below the other where several read the same ones (`cuts`)."""

LONGEST_PACKED = 32
"""Bytes of an element, or of a row of some."""

PACKERS = (ctypes.c_longlong * (LONGEST_PACKED + 1))()
"""Bytes of an element -> the address of what packs such (`packing`); 0 where nothing does, or not yet."""

SPREADERS = (ctypes.c_longlong * (LONGEST_PACKED + 1))()
"""The same of what assigns through a mask."""

APART = ctypes.c_longlong(0)
"""How many settings in force ask for no compiled code, or for that of another target than the usual one."""

UNPACKED = ctypes.c_longlong(-1 << 23)
"""Elements among which NumPy picks for want of such code, yet, below zero: then Python looks for it.  At
first as many as the first masks of `packing` count for (`PAYS`, `OF_SLOTS`)."""

PACKED = ctypes.c_longlong(0)
"""Calls that were answered by such code without any Python in between."""

LEAST, LEAST_TRUTHS = 1 << 12, 1 << 14
"""Elements among which NumPy finds some sooner than `places` does; and those of one axis of bools, for which
it is quick."""

FINDS = ctypes.c_longlong(1)
"""Does Python want to see the arrays, beyond the smallest ones, of which it is asked what is not zero?"""

BARRING: list[Callable[[], None]] = []
"""Who hears of settings under which medium arrays must not be NumPy's at the call."""


CALLED_AT: dict[type, int] = {}
"""Class -> where its objects have a word for the address of what they are called by; zero, until there is
such a thing (`slots.vectorcalls`)."""

_SIZE = 32
"""Of a type: bytes of its objects (tp_basicsize)."""
_Class = TypeVar("_Class", bound=type)


def with_room(cls: _Class) -> _Class:
    """Class decorator: objects, of which there are none yet, have that word behind all else, those of
    subclasses, too.  The garbage collector knows nothing of it.

    (What has no attribute in ``__slots__`` may be laid out in another way; and where there is no GIL, all
    is.)"""
    known = sys.implementation.name == "cpython" and "t" not in getattr(sys, "abiflags", "")
    if known and ctypes.sizeof(ctypes.c_void_p) == 8 and cls.__basicsize__ > object.__basicsize__:
        size = ctypes.c_ssize_t.from_address(id(cls) + _SIZE)
        if size.value == cls.__basicsize__:
            CALLED_AT[cls] = size.value
            size.value += ctypes.sizeof(size)
    return cls


def at_address(word: ctypes.c_longlong) -> int:
    """Where machine code finds a word."""
    return ctypes.addressof(word)
