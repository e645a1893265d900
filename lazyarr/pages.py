"""Anonymous pages of the system, and those of them that are free.

In:  numbers of bytes, whole pages.   Out: addresses, for `buffers`, which counts what they are used for.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from bisect import bisect_left, insort
from typing import Any

import numpy

PAGE = mmap.PAGESIZE
HUGE = 2 << 20
"""Alignment of fresh pages from `LARGE` on, and the size of a huge page."""
LARGE = 1 << 20

HEAP = 2 << 20
"""Bytes up to which malloc keeps what is freed, and no system call is needed for the next array.  Larger ones
go back to the system at once, until a program frees one; from 4 MB on they have huge pages."""


def keep_heap(nbytes: int = HEAP) -> None:
    """Let C's malloc serve arrays of up to so many bytes from its heap, of which it keeps twice as much.

    It begins by mapping each block from 128 kB on by itself, and takes from what is freed how large blocks
    are that pass: to touch pages anew takes ten times as long as to add numbers up in them.  Programs whose
    arrays have half a megabyte come to a size at which it gives the pages of two temporaries back at each
    call.  One block that is freed says it (nobody touches it), and larger ones still say more."""
    numpy.empty(nbytes, numpy.uint8)


def mapping_calls() -> tuple[Any, Any, Any]:
    """C's mmap, munmap and madvise."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_ssize_t]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc.mmap, libc.munmap, libc.madvise


class Pages:
    """The system's side: anonymous private pages by address.  Absent where there is no mmap."""

    def __init__(self) -> None:
        self._map, self._unmap, self._advise = mapping_calls()
        self._huge: int | None = getattr(mmap, "MADV_HUGEPAGE", None)

    def fresh(self, nbytes: int) -> int | None:
        """The address of zeroed pages, or None where the system refuses."""
        slack = HUGE - PAGE if nbytes >= LARGE else 0
        if nbytes + slack > sys.maxsize:
            return None
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        raw = self._map(None, nbytes + slack, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if raw is None or raw == ctypes.c_void_p(-1).value:
            return None
        start = int(raw)
        if slack:
            start = -(-raw // HUGE) * HUGE
            self.release(raw, start - raw)
            self.release(start + nbytes, raw + slack - start)
        # Only whole huge pages: a huge page beyond the end would be memory that nobody asked for.
        if self._huge is not None and nbytes >= HUGE:
            self._advise(start, nbytes // HUGE * HUGE, self._huge)
        return start

    def release(self, start: int, nbytes: int) -> None:
        if nbytes:
            self._unmap(start, nbytes)


class FreeSpans:
    """Free spans by size, by both ends (for merging), and in the order in which they came.

    A signal handler may raise between any two lines.  `_starts` is right at each of them, though a span may
    be missing that was on its way; the rest is made anew from it by whoever comes next."""

    __slots__ = ("_changing", "_ends", "_sizes", "_starts", "total")

    def __init__(self) -> None:
        self._changing = False
        self.total = 0
        self._sizes: list[tuple[int, int]] = []
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def add(self, start: int, nbytes: int) -> None:
        self._begin()
        before = self._ends.get(start)
        if before is not None:
            nbytes += start - before
            start = before
            self._remove(start)
        end = start + nbytes
        if end in self._starts:
            nbytes += self._starts[end]
            self._remove(end)
        self._starts[start] = nbytes
        self._ends[start + nbytes] = start
        insort(self._sizes, (nbytes, start))
        self.total += nbytes
        self._changing = False

    def _begin(self) -> None:
        if self._changing:
            self._sizes = sorted((nbytes, start) for start, nbytes in self._starts.items())
            self._ends = {start + nbytes: start for start, nbytes in self._starts.items()}
            self.total = sum(self._starts.values())
        self._changing = True

    def _remove(self, start: int) -> int:
        nbytes = self._starts.pop(start)
        del self._ends[start + nbytes]
        del self._sizes[bisect_left(self._sizes, (nbytes, start))]
        self.total -= nbytes
        return nbytes

    def take(self, nbytes: int) -> int | None:
        """The best fitting span, cut to size; its rest stays free."""
        self._begin()
        at = bisect_left(self._sizes, (nbytes, 0))
        if at == len(self._sizes):
            self._changing = False
            return None
        start = self._sizes[at][1]
        size = self._remove(start)
        self._changing = False
        if size > nbytes:
            self.add(start + nbytes, size - nbytes)
        return start

    def oldest(self) -> tuple[int, int]:
        """Remove and return the span that has been free for longest."""
        self._begin()
        start = next(iter(self._starts))
        nbytes = self._remove(start)
        self._changing = False
        return start, nbytes
