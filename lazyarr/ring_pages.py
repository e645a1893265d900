"""Ring pages: address ranges in which few pages come round, again and again.

In:  a `Pattern`.   Out: addresses, for `buffers`, which counts what they are used for.
What goes through a large array in order, and never goes far back, needs memory for as much of it as it has in
use at a time.  Where addresses that lie so far apart have the same pages, code that knows nothing of it finds
its rows by their usual strides, and all stays in the caches.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable

from lazyarr.pages import PAGE, mapping_calls
from lazyarr.records import NamedTuple

FIXED = 0x10
"""Linux's number for mappings at a given address, which take the place of what is there."""

DONT_FORK = getattr(mmap, "MADV_DONTFORK", None)

MOST_SPANS = 1024
"""Mappings of a pattern: the system has room for some 65,000 in all."""

LEAST_SAVED = 2
"""A ring has no more than one part in so many of the whole buffer's memory."""

MOST_LONGER = 2
"""In a ring that serves others pages come round after no more than so many times their bytes: what passes
through it is to stay in the caches (`docs/tuning.md`)."""


class Pattern(NamedTuple):
    """Which pages addresses have."""

    nbytes: int
    """Of addresses; whole pages."""
    own: int
    """Of memory."""
    spans: tuple[tuple[int, int, int], ...]
    """First byte and end of successive addresses, and where in the memory these lie."""
    begin: int = 0
    """Where in the addresses the bytes begin that they are for."""
    rings: tuple[tuple[int, int], ...] = ()
    """The ranges of addresses in which pages come round."""
    length: int = 0
    """After so many bytes."""

    def serves(self, asked: Pattern) -> bool:
        """Do any two addresses that have one page here have one there, too, or might have?"""
        if (self.nbytes, self.begin) != (asked.nbytes, asked.begin):
            return False
        if not asked.length <= self.length <= MOST_LONGER * asked.length:
            return False
        return all(any(a <= low and high <= b for a, b in asked.rings) for low, high in self.rings)

    def both(self, other: Pattern) -> Pattern | None:
        """One that serves whom either serves, if that saves enough."""
        if (self.nbytes, self.begin) != (other.nbytes, other.begin):
            return None
        shorter, length = sorted((self.length, other.length))
        shared = [(max(a, low), min(b, high)) for a, b in self.rings for low, high in other.rings]
        rings = [(low, high) for low, high in shared if high - low > length]
        found = pattern(self.nbytes - self.begin, rings, length, self.begin)
        return found if length <= MOST_LONGER * shorter and found.saves() else None

    def saves(self) -> bool:
        """Is it worth its mappings?"""
        return self.own * LEAST_SAVED <= self.nbytes and len(self.spans) <= MOST_SPANS


def pattern(nbytes: int, rings: Iterable[tuple[int, int]], length: int, begin: int = 0) -> Pattern:
    """In each of some ranges of addresses pages come round after so many bytes; all else has pages of its
    own.  (Ranges in order, whole pages, as the length.)  The bytes `begin` so far from the first page."""
    rings = tuple(rings)
    end = -(-(begin + nbytes) // PAGE) * PAGE
    spans, own, at = list[tuple[int, int, int]](), 0, 0
    for low, high in (*rings, (end, end)):
        if at < low:
            spans.append((at, low, own))
            own += low - at
        for at in range(low, high, length):
            spans.append((at, min(at + length, high), own))
        own += min(length, high - low)
        at = high
    return Pattern(end, own, tuple(spans), begin, rings, length)


class RingPages:
    """The system's side.  Absent where it has no memory by itself that can be mapped several times."""

    def __init__(self) -> None:
        if not sys.platform.startswith("linux") or DONT_FORK is None:
            raise OSError("no memory that can be mapped several times")
        self._memory = os.memfd_create
        os.close(self._memory("lazyarr", os.MFD_CLOEXEC))       # (some systems refuse it)
        self._map, self._unmap, self._advise = mapping_calls()

    def fresh(self, asked: Pattern) -> int | None:
        """The address of zeroed pages, or None where the system refuses.

        A child has none of them: they would be one memory for both."""
        if len(asked.spans) > MOST_SPANS:
            return None
        try:
            file = self._memory("lazyarr", os.MFD_CLOEXEC)
        except OSError:
            return None
        try:
            os.ftruncate(file, asked.own)
            return self._mapped(file, asked)
        except OSError:
            return None
        finally:
            os.close(file)

    def _mapped(self, file: int, asked: Pattern) -> int | None:
        access, failed = mmap.PROT_READ | mmap.PROT_WRITE, ctypes.c_void_p(-1).value
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        start = self._map(None, asked.nbytes, 0, kind, -1, 0)
        if start is None or start == failed:
            return None
        kind = mmap.MAP_SHARED | FIXED | getattr(mmap, "MAP_POPULATE", 0)
        for low, high, at in asked.spans:
            if self._map(start + low, high - low, access, kind, file, at) != start + low:
                break
        else:
            if not self._advise(start, asked.nbytes, DONT_FORK):
                return int(start)
        self.release(start, asked.nbytes)
        return None

    def release(self, start: int, nbytes: int) -> None:
        self._unmap(start, nbytes)
