"""Words that machine code reads or writes, and Python, too: the slots' functions (`slots`).

In:  options that change, calls of slots, and of Python where slots might answer.   Out: `FORCED`, `ANSWERED`,
`WAITING`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

FORCED = ctypes.c_longlong(0)
"""How many settings in force, of the process and of its threads, send small arrays elsewhere than to NumPy:
while there is one, all calls go through Python, which knows the calling thread's."""

ANSWERED = ctypes.c_longlong(0)
"""Calls that NumPy answered without any Python in between: part of the counter `numpy_eager`."""

WAITING: list[Callable[[], None]] = []
"""Who hears of each small call that goes through Python, until the slots are in place (`slots`)."""
