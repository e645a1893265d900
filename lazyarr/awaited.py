"""Machine code that is looked for once it pays, and compiled once that does.

In:  how often Python did what the code would do.   Out: the code, from the cache at first; where it is not
there, it is compiled later, for all processes that come.
"""

from __future__ import annotations

import sys

LARGE = 1 << 20
"""Bytes of an array that drives what the interpreter needs out of the caches."""

COLD = 5
"""Where it does, what Python does counts as so many: it takes five to ten times as long."""

TRIES = 3
"""How often it is looked for again where something was raised meanwhile: by a signal's handler, perhaps."""

WAITED_NS = 20e6
"""What a wait in vain counts as, where LLVM is not loaded: it is, in the end, in the first such process."""


class Awaited:
    """Some such code."""

    def __init__(self, pays: int, writing_pays: int) -> None:
        self.left = pays
        """How often Python does it until somebody looks for the code; nobody does once it is below zero."""
        self.writing_pays = writing_pays
        """How often after that until it is compiled."""
        self.compiles = False
        """Is it to be compiled then, if the cache does not have it?"""
        self.tries = TRIES

    def load(self, compiles: bool) -> bool:
        """Take the code from the cache, or else compile it, if it may be; is it there now?"""
        raise NotImplementedError

    def hear(self, count: int = 1, nbytes: int = 0) -> None:
        """Python did it once more, or so many times, beside an array of so many bytes."""
        if self.left < 0:
            return
        self.left -= count * COLD if nbytes >= LARGE else count
        if self.left > 0 or sys.is_finalizing():
            return
        from lazyarr.compiler import COMPILER  # here: whoever imports lazyarr need not wait for it

        if self.compiles and COMPILER.usable is None:
            COMPILER.ready(WAITED_NS)           # (LLVM is not loaded for this at once)
            self.left = self.writing_pays
            return
        self.left = -1                          # (a handler does not load it, too)
        try:
            there = self.load(self.compiles)
        except BaseException:
            if self.tries:
                self.tries -= 1
                self.left = self.writing_pays
            raise
        if not there and not self.compiles:
            self.compiles, self.left = True, self.writing_pays
