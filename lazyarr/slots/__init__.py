"""Operators, methods and functions on small arrays without Python in between: machine code in types' slots.

In:  plain arrays and scalars.   Out: what NumPy gives for them, wrapped; for all other operands: what the
slot did before, which is to call the Python method.
Python's methods would take two to ten times as long as NumPy on ten elements; the code here takes a tenth of
a microsecond beside it.  It decides nothing that Python would decide otherwise: it is a shorter way to the
same result, on Linux and x86-64; elsewhere there is just the longer one.

To write the code takes as long as some thousand small calls through Python take more than NumPy.  So it is
written when there were that many; most programs have few, and large arrays.
"""

from __future__ import annotations

import sys

from lazyarr.counters import Counters
from lazyarr.slot_words import WAITING

PAYS = 2000
"""Small calls through Python, after which there will be as many again."""


def wait() -> None:
    """Put the code in place when it pays."""
    left = iter(range(PAYS))

    def hear() -> None:
        if next(left, None) is None and not sys.is_finalizing():
            attach()

    WAITING.append(hear)


def attach() -> None:
    """Put the code in place, unless somebody has begun to."""
    try:
        WAITING.pop()
    except IndexError:
        return
    type.__setattr__(Counters, "eager", vars(Counters)["by_python"])
    from lazyarr.interrupts import hold_signals, release_signals
    from lazyarr.slots.install import attach

    held = hold_signals()                           # types are whole when their handlers run
    try:
        attach()
    finally:
        release_signals(held)
