"""Outlooks: what becomes of the elements that a mask keeps, told by what became of those before.

In:  masks of a kind, how many elements they kept, which of these were handed on, or stored, or summed.
Out: what to do with the elements when the next such mask is counted (`expr.Keep`).
How many there will be, and what is asked of them, nobody knows when they are counted; but programs come
round.  A wrong guess costs a part of the time that counting takes, never a result.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.cache_sizes import cache_bytes, share_bytes
from lazyarr.codegen.ranks_words import words_for
from lazyarr.codegen.sum_leaves import OCTET, SUMMED, leaf_of
from lazyarr.compiler import COMPILER
from lazyarr.config import plan_key
from lazyarr.expr import BLOCK, HEAD, TALLY, Expr, Keep, Read
from lazyarr.geometry import fresh
from lazyarr.kernels import host
from lazyarr.records import NamedTuple
from lazyarr.switches import is_off
from lazyarr.threading.limits import get_num_threads
from lazyarr.tuning import tuning

LEAST = 1 << 15
"""Elements of a mask from which on anything is kept."""

MORE = 16
"""There is room for more elements than the last time: one for so many."""

FEW = 8
"""Of an array that the caches hold nothing is kept, unless it is one element of so many: to read it again
takes no longer than to read what was kept."""

MOVES, APART = 3, 5
"""So many times what is kept is moved: a line that is written is read before and written back, and then it is
read again.  So elements of larger arrays are kept where all of that is less than what counting their mask
reads, since as much is not read once more then; but no more of them than the caches hold.  Where the mask
reads other arrays, both ways wait for memory all the time, and that packing takes no time of its own gains
nothing: then it is to be less by far."""

MOST = 256
"""Kinds of masks, and ways to keep; all are forgotten when there are more."""

WATCHED = 64
"""Counts of which somebody may say what became of the elements; all are given up when there are more."""

SURE = 2
"""So many more were read where they are kept than not, of late, at most."""

PAUSES = 4, 64
"""And so many after it was in vain to keep anything, at least and at most; twice as many if it is again.
(Who stores the elements packs them once more.  Nothing is found where threads have waited for each other, as
others had their CPU, where sums raise flags, and where numbers jump.)"""

_WORDS = numpy.dtype(numpy.int64)


class Choice(NamedTuple):
    """What to keep, and what that is right for.  (One object, as threads may count such masks at once.)"""

    op: Keep
    geo: numpy.ndarray
    """Of its region."""
    low: int
    high: int
    """The least and the largest number of elements."""
    state: object
    """`config.plan_key`: any other is another object."""


class Outlook:
    """What is known of one kind of masks."""

    __slots__ = ("choice", "count", "fed", "native", "pause", "ranks", "refused", "summed", "tried")

    def __init__(self, blocks: int) -> None:
        self.ranks = fresh((blocks + 1 + HEAD,), _WORDS)
        """The geometry of the ranks, and of what says whether more lies behind them."""
        self.count = 0
        """Elements that the last one kept."""
        self.native = False
        """Was it a kernel that counted them?  Then one that keeps them has its price."""
        self.tried = self.refused = False
        """Was anything to be kept the last time; and when it was, did NumPy count, as LLVM was not there?"""
        self.fed = self.summed = 0
        """How many more were handed on step by step than not; and to a sum alone."""
        self.pause = PAUSES[0]
        self.choice: Choice | None = None
        """The last one."""

    def told(self, node: Expr, native: bool) -> int:
        """A mask was counted by a node; how many elements it keeps."""
        end = self.ranks.size
        count: int
        count, leafs, elements, _ = node.buf.memory.view(_WORDS)[end - HEAD - 1 : end].tolist()
        self.count, self.native = count, native
        if self.fed > 0:
            self.fed -= 1
        choice = self.choice
        if self.tried and choice is not None:
            self.refused = not native
            if leafs == leaf_of(count) > 0 if choice.op.leaf else elements:
                self.pause = max(PAUSES[0], self.pause // 2)
            else:
                self.missed()
        if self.summed:
            self.summed -= 1
        if len(_watched) >= WATCHED:
            _watched.clear()
        _watched[node.serial] = self
        return count

    def missed(self) -> None:
        """It was in vain to keep anything, or would have been."""
        self.fed = -self.pause
        if self.tried:
            self.pause = min(PAUSES[1], 2 * self.pause)


_outlooks: dict[tuple[Any, ...], Outlook] = {}
_watched: dict[int, Outlook] = {}


def was_fed(serial: int, summed: bool) -> None:
    """What was counted by a node was handed on step by step; was it summed in NumPy's order, and nothing
    else?"""
    found = _watched.pop(serial, None)
    if found is not None:
        found.fed = min(SURE, found.fed + 2)
        if summed:
            found.summed = min(SURE, found.summed + 2)


def was_stored(serial: int) -> None:
    """What was counted by a node was stored."""
    found = _watched.pop(serial, None)
    if found is not None:
        found.missed()


def outlook(x: Read, mask: Read) -> Outlook:
    """That of masks like this one, for arrays like this one."""
    node, geo = mask.expr, x.geo
    key: tuple[Any, ...] = node.op, geo.shape, geo.dtype.char
    for i in node.inputs:
        key += (i.expr is x.expr if i.__class__ is Read else i.tobytes(),)      # type: ignore[union-attr]
    found = _outlooks.get(key)
    if found is None:
        if len(_outlooks) >= MOST:
            _outlooks.clear()
        found = _outlooks[key] = Outlook(-(-geo.size // BLOCK))
    return found


def counting(x: Read, mask: Read, known: Outlook) -> Expr:
    """The node that counts a mask."""
    choice = known.choice
    if choice is not None and choice.low <= known.count <= choice.high and choice.state is plan_key():
        keeps = known.fed > 0 and (known.summed > 0 or not choice.op.leaf)
        choice = choice if keeps and known.native and x.expr.op is None else None
    else:
        choice = None if _waits(x, known) else _chosen(x, mask, known)
    known.tried = choice is not None
    if choice is None:
        return Expr(TALLY, (mask,), known.ranks)
    return Expr(choice.op, (x, mask), choice.geo)


def _waits(x: Read, known: Outlook) -> bool:
    """Is nothing to be kept, whatever was before?"""
    if not known.native or known.fed <= 0 or (known.refused and COMPILER.usable is None):
        return True
    return not known.count or x.geo.size < LEAST or x.expr.op is not None or is_off("keep")


def _chosen(x: Read, mask: Read, known: Outlook) -> Choice | None:
    """What to keep, if anything."""
    geo, count, size, caches = x.geo, known.count, x.geo.itemsize, caches_hold()
    leaf, octets, unit, behind = 0, count, 1, size
    sums = known.summed and geo.dtype.char in SUMMED and "+avx512f" in host().features
    if geo.nbytes <= caches:
        most = geo.size // FEW
    elif sums:
        most = min(geo.size, caches // 2 // size)       # (it stays there while the array goes through)
    else:
        most = min(geo.size, caches // size, _bytes_saved(x, mask) // size)
    if count > most:
        leaf, octets, unit, behind = leaf_of(count), count // OCTET, OCTET, 2 * size
        most = int(tuning(host().name).sums_share * geo.size)
        if not (sums and geo.nbytes > caches and leaf and count <= most):
            return None
        half = octets.bit_length() - 5          # (the leaf goes by these bits of their number)
        most = min(most, (((octets >> half) + 1) << half) * OCTET - 1)
    op = _op(known.choice, leaf, octets, geo.size // unit + 1)
    region = fresh((words_for(known.ranks.size - HEAD - 1, op.room * behind),), _WORDS)
    low, high = op.room * unit * 3 // 4, min(most, (op.room - op.room // (2 * MORE)) * unit)
    if leaf:
        low = max(low, (octets >> half << half) * OCTET)
    choice = known.choice = Choice(op, region, low, high, plan_key())
    return choice


def _bytes_saved(x: Read, mask: Read) -> int:
    """Bytes that may be kept in the place of reading what exists that a mask is computed from (or the mask if
    it does), each array once."""
    seen, todo, found = set[int](), [mask], 0
    while todo:
        read = todo.pop()
        node = read.expr
        if node.serial not in seen:
            seen.add(node.serial)
            if node.op is None:
                found += min(node.nbytes, read.geo.size * read.geo.itemsize)
            todo += [i for i in node.inputs if i.__class__ is Read]
    return found // (MOVES if x.expr.serial in seen else APART)


def caches_hold() -> int:
    """Bytes that the threads' caches hold."""
    return max(cache_bytes(), share_bytes() * get_num_threads())


_ops: dict[tuple[int, int], Keep] = {}


def _op(before: Choice | None, leaf: int, count: int, most: int) -> Keep:
    """What keeps as many again, or some more: what did before if it does, and few different ones, as each has
    plans of its own; the same object each time, by which evaluations are known at sight."""
    unit = 1 << max(0, count.bit_length() - 4)
    least = min(most, count + count // (2 * MORE))
    if before is not None and before.op.leaf == leaf and least <= before.op.room <= count + 3 * unit:
        return before.op
    room = min(most, -(-(count + count // MORE) // unit) * unit)
    if len(_ops) >= MOST:
        _ops.clear()                            # (where all elements are kept, any size is a room)
    return _ops.setdefault((leaf, room), Keep(leaf, room))
