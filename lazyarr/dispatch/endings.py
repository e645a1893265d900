"""What is done when nobody holds memory any more that machine code lies in, and not a moment before.

In:  a function.   Out: an object, at whose end it is called.
A finalizer (`__del__`) of the holder itself is called too early in two cases:

  - The garbage collector calls the finalizers of what it finds in any order, those of a program among them,
    which may run the code yet.  It does not look into NumPy's arrays, so what only an array refers to ends
    when that does: when the garbage has been taken apart, after all finalizers.
  - Weak references lead to an object until its finalizer has run, so a signal's handler, or another thread,
    may take hold of it in the middle of that.  When what it refers to ends, those that led to it are gone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy


class _End:
    __slots__ = ("_act",)

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __del__(self) -> None:
        self._act()


def at_end(act: Callable[[], object]) -> object:
    """An object at whose end `act` is called."""
    holder = numpy.empty((), object)
    holder[()] = _End(act)
    return holder
