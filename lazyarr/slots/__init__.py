"""Operators, methods and functions on small arrays without Python in between: machine code in types' slots.

In:  plain arrays and scalars.   Out: what NumPy gives for them, wrapped; for all other operands: what the
slot did before, which is to call the Python method.
Python's methods would take two to ten times as long as NumPy on ten elements; the code here takes a tenth of
a microsecond beside it.  It decides nothing that Python would decide otherwise: it is a shorter way to the
same result, on Linux and x86-64; elsewhere there is just the longer one.

To put the code in place takes 4 ms, as long as some 1,000 to 3,000 small calls through Python take more than
NumPy; to write it takes as long again (`template` says where it is kept).  So what is there is put in place
when there were that many, and else it is written a little later; most programs have few, and large arrays.
"""

from __future__ import annotations

import sys

from lazyarr.arrays import ndarray
from lazyarr.awaited import TRIES
from lazyarr.counters import Counters
from lazyarr.slot_words import WAITING

PAYS = 1500
"""Small calls through Python, after which there will be as many again."""

WRITING_PAYS = 2000
"""The same, where the cache does not have the code."""

ROOM = 200
"""Frames that putting it in place may take: an error on the way would leave types half done."""


def wait() -> None:
    """Put the code in place when it pays."""
    left, writes, tries, begun = PAYS, False, TRIES, dict(vars(ndarray))

    def hear(calls: int = 1) -> None:
        nonlocal left, writes, tries
        left -= calls
        if left > 0 or sys.is_finalizing():
            return
        if not has_room():
            left = PAYS
        elif begun == vars(ndarray):
            try:
                if not attach(writes):
                    left, writes = WRITING_PAYS - PAYS, True
            except BaseException:                   # a signal's handler has raised, perhaps
                left, tries = PAYS, tries - 1
                if not tries:
                    WAITING.clear()
                raise
        else:
            WAITING.clear()                         # methods of somebody else's, which Python calls

    WAITING.append(hear)


def hasten() -> None:
    """Put the code in place now, since it pays for other reasons."""
    for _ in range(2):                              # (that it has to be written is known then)
        for hear in [*WAITING]:
            hear(PAYS + WRITING_PAYS)


def has_room() -> bool:
    """Are there frames enough left to put code in place?"""
    try:
        sys._getframe(max(0, sys.getrecursionlimit() - ROOM))
    except ValueError:
        return True
    return False


def attach(writes: bool = True) -> bool:
    """Put the code in place, unless somebody has begun to; False if it has to be written before, and `writes`
    does not allow that, or that was not done."""
    from lazyarr.interrupts import hold_signals, release_signals

    held = hold_signals()                           # modules and types are whole when their handlers run
    there = not WAITING
    waiting, WAITING[:] = [*WAITING], []
    try:
        if not there:
            from lazyarr.slots.install import attach as put_in_place

            there = put_in_place(writes)
            if there:
                type.__setattr__(Counters, "eager", vars(Counters)["by_python"])
    finally:
        if not there:
            WAITING[:] = waiting
        release_signals(held)
    return there
