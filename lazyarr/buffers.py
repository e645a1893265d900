"""The bounded caching allocator: memory for results, with the pages of freed results used again.

In:  sizes in bytes.   Out: `Block`s, 64-byte aligned, whose memory comes back when nobody holds it.
First-touch page faults cost more than arithmetic, so freed pages are kept warm.  What always holds:
live + cached bytes never exceed the highest number of live bytes so far (so NumPy, which frees at
once, has needed as much), and cached bytes never exceed the option ``buffer_cache_bytes``.

In front of all stand `WARM` arrays: those of buffers freed last are kept whole, and serve the next
requests of exactly their size.  They count as live until a request finds none, and all of them are let
go first; so what always holds is not touched by them.

Blocks below `SMALL` come from NumPy.  The others are spans of anonymous pages: best fit, split at
the page asked for, merged with free neighbours, the longest unused given back first.

`Ring`s are address ranges in which pages come round (`ring_pages`), in the place of memory that NumPy needs.
Those that nobody uses are kept for the next one of their pattern: cached bytes, too, no more of them than one
ring has saved.  (The system counts a page as often as it is mapped, and addresses may be scarce: of these
rings have no more than NumPy's temporaries would have, where they are many.)  To map a ring takes as long as
to touch new pages, but pages that were free before need no touching: so who asks for other patterns all the
time gets none, and needs whole buffers, until one is asked for twice.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from _thread import allocate_lock, get_ident
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.geometry import address as address_of
from lazyarr.pages import LARGE, PAGE, FreeSpans, Pages
from lazyarr.records import NamedTuple

if TYPE_CHECKING:
    from lazyarr.ring_pages import Pattern, RingPages

SMALL = 32 << 10
"""Smaller blocks come from NumPy: malloc keeps them warm by itself."""
WARM: dict[int, list[tuple[numpy.ndarray, int]]] = {}
"""Size of a buffer -> arrays of that size that nobody else holds, and their addresses."""
WARM_SIZES = 16
WARM_EACH = 4
WARM_MOST = 8 << 20
"""Bytes of the largest of which there are so many."""
WARM_LARGEST = 4 * WARM_MOST
"""And of the largest of which there is one: filling it takes a hundred times what its allocation takes."""
WARM_ROOM = 32 * WARM_MOST
"""Bytes that must be left of what may be cached."""
SPARING = 1 << 18
"""Bytes for which warm arrays are let go: smaller blocks add little to what is held.  (Else two evaluations
in turns that have none of their sizes in common would find nothing warm.)"""
MOST_RINGS = 32
"""Rings that nobody uses."""
RING_ADDRESSES = 64 << 20
"""Bytes of addresses that all rings may have; or `TEMPORARIES` times as many as were in use at a time."""
TEMPORARIES = 2
IN_VAIN = 3
"""Rings that are mapped for nobody to use them again; each that is used again pays for another one."""
LATELY = 8
"""Patterns that are known to have been asked for without success."""
_LINE = 64
_PLACES = itertools.cycle(range(4))
"""Where in their first pages blocks below `LARGE` begin, in turn: in quarters of what their pages have to
spare.  Were it one place, to copy an array to another one element further on would take ten times as long: a
load waits for a store before it whose address is the same but for the page."""
_SPARE = 256
"""Bytes that pages have to spare at least; else there is one more, as C's malloc has for its words."""
_BYTE = numpy.dtype(numpy.uint8)


class Usage(NamedTuple):
    """Bytes of blocks of at least `SMALL`, whole pages."""

    live: int
    cached: int
    peak_live: int


def let_go() -> None:
    """Give all warm arrays back."""
    for arrays in list(WARM.values()):
        arrays.clear()


def keep_warm(memory: numpy.ndarray, at: int, finalizing: Any = sys.is_finalizing) -> None:
    """Take an array that only the caller holds; called by finalizers, so nothing here waits for a lock."""
    if finalizing():
        return
    arrays = WARM.get(memory.nbytes)
    owner: Any = memory.base
    most = WARM_EACH if memory.nbytes <= WARM_MOST else 1
    if arrays is not None and len(arrays) < most and owner.__class__ is Block and (
        _allocator is None or _allocator.has_room(WARM_ROOM)
    ):
        arrays.append((memory, at))


class _Inside:
    """Note a thread that is about to take a lock, unless it was noted further out.

    Where an interrupt leaves it noted, it merely has NumPy's memory now and then, while another thread has
    the lock."""

    __slots__ = ("_mine", "_noted")

    def __init__(self, noted: set[int]) -> None:
        self._noted = noted
        self._mine = -1

    def __enter__(self) -> None:
        me = get_ident()
        if me not in self._noted:
            self._mine = me
            self._noted.add(me)

    def __exit__(self, *_: object) -> None:
        self._noted.discard(self._mine)


class _Allocator:
    """Hands out spans and takes them back, from any thread, even from within a garbage collection."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._free = FreeSpans()
        self._returned: deque[tuple[int, int]] = deque()
        self.rings: RingPages | None = None
        """Loaded when somebody first asks for one."""
        self._rings: list[tuple[Pattern, int]] = []
        """Rings that nobody uses, and where they are; the longest unused first."""
        self._saved = 0
        """Bytes that a ring had fewer than addresses, at most."""
        self._reach = self._widest = 0
        """Bytes of addresses of rings in use, now and at most."""
        self._credit = IN_VAIN
        self._asked: deque[int] = deque(maxlen=LATELY)
        """Hashes of patterns that were asked for without success."""
        self._came: deque[tuple[Pattern, int, int]] = deque()
        self.forks = 0
        """How often this process is a child since rings are made: it has none of its parents'."""
        self._lock = allocate_lock()
        self._inside: set[int] = set()
        """Threads that have the lock, or are about to take it."""
        self._held_for_fork = False
        self.live = 0
        self.peak = 0

    def is_interrupted(self) -> bool:
        """Has a handler of signals or a finalizer come while this thread has the lock?  It cannot wait."""
        return self._lock.locked() and get_ident() in self._inside

    def take(self, nbytes: int) -> tuple[int, bool] | None:
        """Address of `nbytes` (whole pages) and whether they are recycled; None: out of memory."""
        if nbytes >= SPARING:
            let_go()
        with _Inside(self._inside), self._lock:
            self._settle()
            start = self._free.take(nbytes)
            recycled = start is not None
            if start is None:
                self._shrink(max(self.peak - self.live - nbytes, 0))
                start = self._pages.fresh(nbytes)
                if start is None:
                    self._shrink(0)
                    self._unmap(0)
                    start = self._pages.fresh(nbytes)
            if start is not None:
                self.live += nbytes
                self.peak = max(self.peak, self.live)
        self._collect()
        return None if start is None else (start, recycled)

    def give(self, start: int, nbytes: int) -> None:
        """Take pages back.  Called by finalizers, which may interrupt any line of this class in
        the same thread: so only note it, and settle unless somebody is at work and will do it."""
        self._returned.append((start, nbytes))
        self._collect()

    def take_ring(self, asked: Pattern) -> tuple[Pattern, int, bool] | None:
        """A ring's pattern, which may be another one that serves, where it begins, and whether it was there
        already; None: the system has none, or it would not be worth while."""
        self.rings = _ring_pages()
        if self.rings is None or self.is_interrupted():
            return None
        with _Inside(self._inside), self._lock:
            self._settle()
            at, start = self._idle(asked), None
            if at >= 0:
                asked, start = self._rings.pop(at)
                self._credit = min(self._credit + 1, IN_VAIN)
            elif self._pays(asked):
                asked = self._joined(asked)
                self._shrink(max(self.peak - self.live - asked.own, 0))
                start = self.rings.fresh(asked)
            if start is not None:
                self._reach += asked.nbytes
                self._widest = max(self._widest, self._reach)
                self._saved = max(self._saved, asked.nbytes - asked.own)
                self.live += asked.own
                self.peak = max(self.peak, self.live)
        self._collect()
        return None if start is None else (asked, start, at >= 0)

    def _idle(self, asked: Pattern) -> int:
        """Which ring that nobody uses has the pattern, or else one that serves; -1: none has."""
        serves = -1
        for k, (known, _) in enumerate(self._rings):
            if known is asked or known == asked:
                return k
            if serves < 0 and known.serves(asked):
                serves = k
        return serves

    def _joined(self, asked: Pattern) -> Pattern:
        """A pattern that serves those of rings that nobody uses, too, in the place of the oldest of these:
        launches of one loop come to have rings that serve all of them."""
        for k, (known, _) in enumerate(self._rings):
            both = known.both(asked)
            if both is not None:
                assert self.rings is not None
                self.rings.release(self._rings.pop(k)[1], known.nbytes)
                return both
        return asked

    def _pays(self, asked: Pattern) -> bool:
        """Will a ring be used again, as far as one can tell?"""
        name = hash(asked)
        if name in self._asked:
            return True
        if self._credit:
            self._credit -= 1
            return True
        self._asked.append(name)
        return False

    def give_ring(self, kind: Pattern, start: int, forks: int) -> None:
        """Take a ring back; `forks` is what it was when it was made.  Who comes next settles that: till then
        it counts as live."""
        self._came.append((kind, start, forks))

    def has_room(self, nbytes: int) -> bool:
        """May so many bytes more be cached?"""
        return self._free.total + nbytes <= current.buffer_cache_bytes

    def _collect(self) -> None:
        # Not `acquire(blocking=False)`: an interrupt between it and a `try` would keep the lock for ever.
        while (self._returned or self._came) and not self._lock.locked():
            with _Inside(self._inside), self._lock:
                self._settle()

    def _settle(self) -> None:
        while self._returned:
            start, nbytes = self._returned.popleft()
            self.live -= nbytes
            self._free.add(start, nbytes)
        while self._came:
            kind, start, forks = self._came.popleft()
            self.live -= kind.own
            self._reach -= kind.nbytes
            if forks == self.forks:
                self._rings.append((kind, start))
        if self._free.total > current.buffer_cache_bytes:
            self._shrink(current.buffer_cache_bytes)
        if self._rings:
            self._unmap(min(self._saved, current.buffer_cache_bytes - self._free.total))

    def _shrink(self, limit: int) -> None:
        while self._free.total > limit:
            self._pages.release(*self._free.oldest())

    def _in_rings(self) -> int:
        return sum([kind.own for kind, _ in self._rings])

    def _unmap(self, limit: int) -> None:
        """Keep no more bytes of rings."""
        room = max(RING_ADDRESSES, TEMPORARIES * self._widest) - self._reach
        while self._rings:
            own = reach = 0
            for kind, _ in self._rings:
                own += kind.own
                reach += kind.nbytes
            if own <= limit and reach <= room and len(self._rings) <= MOST_RINGS:
                break
            kind, start = self._rings.pop(0)
            if (name := hash(kind)) in self._asked:         # (there is no room for it: others come first)
                self._asked.remove(name)
            assert self.rings is not None
            self.rings.release(start, kind.nbytes)

    def trim(self) -> None:
        let_go()
        if self.is_interrupted():
            return
        with _Inside(self._inside), self._lock:
            self._settle()
            self._shrink(0)
            self._unmap(0)
        self._collect()

    def usage(self) -> Usage:
        let_go()
        if not self.is_interrupted():
            with _Inside(self._inside), self._lock:
                self._settle()
        return Usage(self.live, self._free.total + self._in_rings(), self.peak)

    def before_fork(self) -> None:
        # The timeout: a signal handler that forks may have interrupted the holder of the lock.
        if not self.is_interrupted():
            self._inside.add(get_ident())
            self._held_for_fork = self._lock.acquire(timeout=1)

    def after_fork(self) -> None:
        if self._held_for_fork:
            self._held_for_fork = False
            self._lock.release()
            self._inside.discard(get_ident())

    def after_fork_in_child(self) -> None:
        if not self._held_for_fork:
            self._free = FreeSpans()       # half changed: leave those pages alone
        self._rings.clear()             # (their addresses are free)
        self.forks += 1
        self._lock = allocate_lock()
        self._inside.clear()
        self._held_for_fork = False


def _make_allocator() -> _Allocator | None:
    try:
        made = _Allocator(Pages())
    except (AttributeError, OSError, TypeError):    # no mmap in the C library: all blocks from NumPy
        return None
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=made.before_fork,
            after_in_parent=made.after_fork,
            after_in_child=made.after_fork_in_child,
        )
    return made


_allocator = _make_allocator()


class Block:
    """Raw memory of one storage.

    Attributes
    ----------
    address : int
        64-byte aligned; fresh blocks of at least 1 MiB are 2 MiB aligned.
    nbytes : int
    recycled : bool
        Its pages are warm, so stores past the caches pay.
    """

    __slots__ = ("_pages", "_root", "address", "nbytes", "recycled")

    def __init__(self, address: int, nbytes: int, recycled: bool, pages: int, root: Any) -> None:
        self.address = address
        self.nbytes = nbytes
        self.recycled = recycled
        self._pages = pages
        self._root = root

    def ndarray(self) -> numpy.ndarray:
        """Return the bytes as a flat uint8 array that keeps the block alive."""
        # Not as a view of another ndarray: NumPy would make that one the base of all views, and
        # how many views there are could not be counted.
        return numpy.asarray(self)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "typestr": "|u1", "shape": (self.nbytes,), "data": (self.address, False)}

    def __del__(self, allocator: Any = _allocator, finalizing: Any = sys.is_finalizing) -> None:
        # At exit the pages go with the process; of a block that is half made, since an interrupt came, they
        # are lost.
        if getattr(self, "_pages", 0) and not finalizing():
            allocator.give(self.address - self.address % PAGE, self._pages)


class Ring:
    """Memory of which only what was used last is there."""

    __slots__ = ("_forks", "_kind", "address", "nbytes")

    def __init__(self, kind: Pattern, nbytes: int, address: int, forks: int) -> None:
        self.address = address
        self.nbytes = nbytes
        self._kind = kind
        self._forks = forks                     # (last: see `__del__`)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "typestr": "|u1", "shape": (self.nbytes,), "data": (self.address, False)}

    def __del__(self, allocator: Any = _allocator, finalizing: Any = sys.is_finalizing) -> None:
        # As a block's.
        if getattr(self, "_forks", None) is not None and not finalizing():
            allocator.give_ring(self._kind, self.address - self._kind.begin, self._forks)


@cache
def _ring_pages() -> RingPages | None:
    from lazyarr.ring_pages import RingPages

    try:
        return RingPages()
    except (AttributeError, OSError, TypeError):
        return None


def has_rings() -> bool:
    """Has the system pages that can come round?"""
    return _allocator is not None and _ring_pages() is not None


def ring(kind: Pattern, nbytes: int) -> Ring | None:
    """Return addresses for so many bytes, with the pages of a pattern; None where there are none such, or
    where a whole buffer is to be had sooner."""
    found = None if _allocator is None else _allocator.take_ring(kind)
    if found is None or _allocator is None:
        return None
    kind, start, again = found
    COUNT.bytes_allocated += kind.own
    if again:
        COUNT.bytes_recycled += kind.own
    else:
        COUNT.bytes_fresh += kind.own
    return Ring(kind, nbytes, start + kind.begin, _allocator.forks)


def array(nbytes: int) -> tuple[numpy.ndarray, int, bool]:
    """Return uninitialised memory as a flat array, its address, and whether its pages are warm."""
    arrays = WARM.get(nbytes)
    if arrays:
        try:
            memory, at = arrays.pop()
        except IndexError:              # another thread took it
            pass
        else:
            COUNT.bytes_allocated += nbytes
            if nbytes < SMALL:
                return memory, at, False
            COUNT.bytes_recycled += nbytes
            return memory, at, True
    elif arrays is None and nbytes <= WARM_LARGEST:
        if len(WARM) >= WARM_SIZES:
            WARM.clear()
        WARM[nbytes] = []
    block = empty(nbytes)
    return block.ndarray(), block.address, block.recycled


def passing(nbytes: int) -> tuple[numpy.ndarray, int, bool]:
    """The same from the C library, for a size that is not expected to be asked for again: pages of ours serve
    requests of the size that they had, its own any."""
    COUNT.bytes_allocated += nbytes
    block = _of_numpy(nbytes)
    return block.ndarray(), block.address, False


def _of_numpy(nbytes: int) -> Block:
    root = numpy.empty(nbytes + _LINE - 1, _BYTE)
    return Block(-(-address_of(root) // _LINE) * _LINE, nbytes, False, 0, root)


def empty(nbytes: int) -> Block:
    """Return a block of uninitialised memory.

    Parameters
    ----------
    nbytes : int

    Returns
    -------
    Block

    Raises
    ------
    MemoryError
        NumPy's own, when the system refuses.
    """
    COUNT.bytes_allocated += nbytes
    if nbytes < SMALL or _allocator is None or _allocator.is_interrupted():
        return _of_numpy(nbytes)
    spare = -nbytes % PAGE
    if nbytes >= LARGE:
        begin = 0
    else:
        if spare < _SPARE:
            spare += PAGE
        begin = next(_PLACES) * (spare // 4) // _LINE * _LINE
    pages = nbytes + spare
    found = _allocator.take(pages)
    if found is None and pages < SPARING:       # (larger ones have let go of these already)
        let_go()
        found = _allocator.take(pages)
    if found is None:
        raise _out_of_memory(nbytes)
    start, recycled = found
    if recycled:
        COUNT.bytes_recycled += nbytes
    else:
        COUNT.bytes_fresh += nbytes
    return Block(start + begin, nbytes, recycled, pages, None)


def zeros(nbytes: int) -> Block:
    """Return a block of zeroed memory; see `empty`."""
    block = empty(nbytes)
    if block.recycled or block._root is not None:
        ctypes.memset(block.address, 0, nbytes)
    return block


def trim() -> None:
    """Give all cached pages back to the system."""
    if _allocator is not None:
        _allocator.trim()


def usage() -> Usage:
    """Return how much memory is live, cached, and was live at most."""
    return Usage(0, 0, 0) if _allocator is None else _allocator.usage()


def _out_of_memory(nbytes: int) -> MemoryError:
    try:
        from numpy._core._exceptions import _ArrayMemoryError
    except ImportError:
        return MemoryError(f"Unable to allocate {nbytes} bytes")
    error: MemoryError = _ArrayMemoryError((nbytes,), _BYTE)
    return error
