"""Launch what makes an operand portion by portion: parts of it, or running results, that are never stored.

In:  programs that write parts of an array, addresses; which elements each chunk of a fold reads.
Out: `Fed`s for `launch_feeds.launch_fed`: which of their chunks make these, in each thread's own memory.
Elements pass through the second-level cache.  At either end of a chunk a few are made for its neighbour, too;
a running result goes on from the one that the chunk before has left, so those are made in turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy

from lazyarr.codegen.scan_plan import BOUNDS, left_bytes
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import SCAN, Parfor
from lazyarr.fusion.program import Program
from lazyarr.geometry import address
from lazyarr.launch import Prepared, bind, prepare
from lazyarr.launch_feeds import Fed
from lazyarr.records import NamedTuple, dataclass
from lazyarr.schedule import LINE
from lazyarr.threading.limits import get_num_threads

BLOCK = 1 << 12
"""Elements that are made at once, at most: so many are made twice for either end of a chunk."""

SPAN = 1 << 14
"""Elements of the value between the first and the last of these, at most: a buffer has room for them."""


class Blocks(NamedTuple):
    """What the chunks of a program write."""

    tile: tuple[int, ...]
    low: numpy.ndarray
    """The first byte of each, from the value's first one on; they rise."""
    reach: int
    """How many bytes lie between the first one and the end, at most."""


@dataclass(slots=True, eq=False)
class Part:
    """A program, and its memory."""

    program: Program
    addresses: Sequence[int]
    """Of each operand's first element; that of the result is not looked at."""
    scalars: Sequence[Any]
    out: int
    """The operand that is the result."""

    @property
    def itemsize(self) -> int:
        return PLAIN[self.program.parfor.operands[self.out].dtype].itemsize


@dataclass(slots=True, eq=False)
class Portions:
    """An operand that programs make together, each a part of it."""

    parts: Sequence[Part]
    step: int
    """Bytes of the operand between two iterations of the consumer's outermost loop."""

    @property
    def in_turn(self) -> bool:
        return any(is_in_turn(part.program.parfor) for part in self.parts)

    @property
    def size(self) -> int:
        return sum(math.prod(part.program.loops.shape) for part in self.parts)

    def feeds(self, starts: numpy.ndarray, at: int) -> list[Fed]:
        """What makes the elements that each chunk needs: all parts share a thread's buffer."""
        bounds = starts * self.step
        ready = [_prepared(part.program, part.out) for part in self.parts]
        tables = [_pieces(bounds) if self.in_turn else _table(blocks, bounds) for _, blocks in ready]
        under = max(table[1] for table in tables)
        slack = -(-under // LINE) * LINE
        room = slack + max(table[2] for table in tables)
        buffer_at, found = at, []
        at += -(-room // LINE) * LINE
        for part, (p, _), (table, _, _) in zip(self.parts, ready, tables, strict=True):
            words, keep = bind(p, part.addresses, part.scalars)
            if self.in_turn:
                pieces = bounds // part.itemsize
                words[p.kernel.layout.extra(BOUNDS)] = address(pieces)
                keep.append(pieces)
            table[:, 3] = bounds[:-1] - slack
            table[:, 2] = table[:, 3] - part.program.offsets[part.out]
            end = at + -(-8 * len(words) // LINE) * LINE
            found.append(Fed(p, words, table, at, buffer_at, end, part.out, keep))
            at = end
        return found


def is_in_turn(parfor: Parfor) -> bool:
    """Is it one sequence of running results?"""
    return parfor.dims == "s" and any(inst.op == SCAN for inst in parfor.body)


def blocks_of(program: Program, out: int) -> Blocks | None:
    """Chunks of a program that write its result from its first byte to the last; None if none do."""
    loops, dims = program.loops, program.parfor.dims
    itemsize = PLAIN[program.parfor.operands[out].dtype].itemsize
    steps = [s if n > 1 else itemsize for n, s in zip(loops.shape, loops.strides[out], strict=True)]
    whole = "s" in dims
    if "r" in dims or 0 in loops.shape or min(steps, default=1) <= 0 or (whole and not _rows_of_scans(dims)):
        return None
    tile, room, reach = list(loops.shape), BLOCK, itemsize
    for d in sorted(range(len(steps)), key=lambda d: steps[d]):
        if steps[d] < reach and loops.shape[d] > 1:
            return None                             # rows that overlap, or lie between each other
        reach += steps[d] * (loops.shape[d] - 1)
        if dims[d] != "s":
            tile[d] = max(1, min(loops.shape[d], room, SPAN * itemsize // steps[d]))
        room //= tile[d]
    cut = [d for d, (n, t) in enumerate(zip(loops.shape, tile, strict=True)) if t < n]
    if any(steps[a] < steps[b] for a, b in pairwise(cut)):
        return None
    low = numpy.full(1, program.offsets[out], numpy.int64)
    for d in cut:
        places = numpy.arange(-(-loops.shape[d] // tile[d]), dtype=numpy.int64) * (tile[d] * steps[d])
        low = (low[:, None] + places).ravel()
    return Blocks(tuple(tile), low, itemsize + sum(s * (t - 1) for s, t in zip(steps, tile, strict=True)))


def _rows_of_scans(dims: str) -> bool:
    return dims == "p" * (len(dims) - 1) + "s"


def _pieces(bounds: numpy.ndarray) -> tuple[numpy.ndarray, int, int]:
    """The same of one sequence, a piece for each chunk."""
    table = numpy.empty((len(bounds) - 1, 4), numpy.int64)
    table[:, 0] = numpy.arange(len(table))
    table[:, 1] = table[:, 0] + 1
    return table, 0, int(numpy.diff(bounds).max())


def _table(blocks: Blocks, bounds: numpy.ndarray) -> tuple[numpy.ndarray, int, int]:
    """For each chunk of the consumer, which blocks it needs; bytes before and behind its first one."""
    table = numpy.empty((len(bounds) - 1, 4), numpy.int64)
    table[:, 0] = first = numpy.searchsorted(blocks.low + blocks.reach, bounds[:-1], "right")
    table[:, 1] = end = numpy.maximum(first, numpy.searchsorted(blocks.low, bounds[1:], "left"))
    some = first < end
    if not some.any():
        return table, 0, 0
    low = bounds[:-1][some]
    before = low - blocks.low[first[some]]
    behind = blocks.low[end[some] - 1] + blocks.reach - low
    return table, max(0, int(before.max())), int(behind.max())


def _prepared(program: Program, out: int) -> tuple[Prepared, Blocks]:
    """A program's kernel by blocks; scratch memory is for all threads."""
    key = "portions", out, plan_key()
    found: tuple[Prepared, Blocks] | None = program.launches.get(key)
    if found is None:
        blocks = blocks_of(program, out)
        assert blocks is not None
        threads = get_num_threads()
        p = prepare(program, False, threads, tile=list(blocks.tile))
        p.scratch_bytes = p.kernel.scratch_bytes * threads
        if is_in_turn(program.parfor):
            p.scratch_bytes += left_bytes(program.parfor)
        found = p, blocks
        program.launches[key] = found           # complete: from here on others run it
    else:
        COUNT.memory_hits += 1
    return found

