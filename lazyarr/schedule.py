"""Schedule: how an iteration space is cut into chunks, and how many threads run them.

In:  collapsed loops, operand strides, the cost of one element.   Out: tile sizes and threads.
A chunk is one tile (a hyper-rectangle).  Tiles are large enough to hide the claiming of a chunk
and small enough to share the work; where operands disagree on which loop is contiguous, they are
square, so that every cache line that a tile touches is used up inside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from lazyarr.draws import DRAWS
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.collapse import SHORT
from lazyarr.fusion.program import Program
from lazyarr.switches import is_off

TINY = 1024
"""Elements below which NumPy, op by op, takes less than a launch (and no compile)."""

CHUNK = 1 << 16
"""Elements of a chunk (4,096 to 5 million were measured within 7 %)."""

CACHED = 1 << 14
"""Elements of a chunk that is passed over several times: some arrays of it fit the L2 cache."""

SEQUENCE = 1 << 22
"""Elements of a sequence between which signals are let through."""

SQUARE = 64
"""Side of a tile for transposed operands: 64 x 64 doubles of two operands fit the L1 cache."""

LINE = 64
"""Bytes of a cache line."""

PARALLEL_NS = 30_000.0
"""Work below which sleeping workers cost more than they give."""

CACHED_NS = 40_000.0
"""The same where memory need not be waited for: operations take less than half of what is reckoned then.  (In
a loop workers are awake; where they are not, and cost more than they give, the pool finds out.)"""

BYTES_PER_NS = 12.0
"""What one thread moves from and to memory."""

CACHED_BYTES = 4 << 20
"""So many bytes may well lie in the caches."""

CACHED_BYTES_PER_NS = 64.0
"""What one thread moves from and to these."""


def tiles(
    shape: Sequence[int], strides: Sequence[Sequence[int]], itemsizes: Sequence[int], threads: int = 1
) -> list[int]:
    """Tile size of each loop, outermost first, for work that `threads` share."""
    rank = len(shape)
    if is_off("tile"):
        return list(shape)
    if rank == 1:
        return [_share(shape[0], threads)]
    square = squares(shape, strides, itemsizes)
    if square is not None:
        return square
    tile = [n if n < SHORT else 1 for n in shape[:-1]] + [1]
    # Short outer loops pass over the same cache lines again: what they pass over must stay cached.
    room = CHUNK if math.prod(tile) == 1 else CACHED // math.prod(tile)
    for d in reversed(range(rank)):
        if tile[d] == 1:
            tile[d] = max(1, min(shape[d], room))
            room //= tile[d]
        if room <= 1:
            break
    return tile


def in_sequence(dims: str, shape: Sequence[int], threads: int) -> tuple[list[int], int]:
    """Tile sizes where some loops run in sequence, and threads.  A parallel loop is cut for threads, whose
    tiles have the whole sequence; without a long one the sequence is cut: tiles run one after the other."""
    tile, first = list(shape), dims.index("s")
    if threads > 1 and first and shape[0] >= SHORT:
        tile[0] = max(1, min(tile[0], CHUNK // math.prod(shape[1:])))
        return tile, threads
    last = dims.rfind("p")
    if threads > 1 and last >= 0 and shape[last] > LINE:
        tile[last] = -(-shape[last] // (threads * LINE)) * LINE
        return tile, threads
    # (Short outer loops pass over the same cache lines again: what they pass over must stay cached.)
    room = CACHED if first else SEQUENCE
    others = math.prod(shape) // shape[first]
    tile[first] = max(1, min(shape[first], room // others))
    return tile, 1


def squares(
    shape: Sequence[int], strides: Sequence[Sequence[int]], itemsizes: Sequence[int]
) -> list[int] | None:
    """Square tiles, where operands disagree on which loop is contiguous."""
    cross = None if is_off("tile") else _other_order(shape, strides, itemsizes)
    if cross is None:
        return None
    tile = [n if n < SHORT else 1 for n in shape]
    tile[-1] = min(shape[-1], SQUARE)
    tile[cross] = min(shape[cross], SQUARE)
    return tile


def _share(n: int, threads: int) -> int:
    """Elements of a chunk of one loop: whole cache lines, and as many chunks for each thread."""
    chunks = -(-n // (CHUNK * threads)) * threads
    return min(n, -(-n // (chunks * LINE)) * LINE)


def _other_order(
    shape: Sequence[int], strides: Sequence[Sequence[int]], itemsizes: Sequence[int]
) -> int | None:
    """A long loop along which some operand's elements are near each other, while they are far apart
    along the innermost loop; None if all operands agree with the innermost loop."""
    long = [d for d, n in enumerate(shape) if n >= SHORT]
    if len(long) < 2 or long[-1] != len(shape) - 1:
        return None
    for s, size in zip(strides, itemsizes, strict=True):
        near = min(long, key=lambda d: abs(s[d]) or LINE)
        if abs(s[-1]) >= LINE and abs(s[near]) < min(abs(s[-1]), SHORT * size):
            return near
    return None


def chunk_count(shape: Sequence[int], tile: Sequence[int]) -> int:
    return math.prod(-(-n // t) for n, t in zip(shape, tile, strict=True))


ROW = 256
"""Random numbers that are drawn at once, at least: a call finds its place in the stream first."""


_OP = attrgetter("op")


def scattered(program: Program) -> bool:
    """Would random numbers be drawn in another order than the stream's, or few at a time?"""
    body, loops = program.parfor.body, program.loops
    if DRAWS.keys().isdisjoint(map(_OP, body)):
        return False
    drawn = {body[i.args[0]].attr for i in body if i.op in DRAWS}
    if not drawn or math.prod(loops.shape) <= 1:
        return False
    sizes = [PLAIN[o.dtype].itemsize for o in program.parfor.operands]
    if any(loops.strides[k][-1] != sizes[k] for k in drawn if isinstance(k, int)):
        return True
    row = loops.shape[-1] if "r" in program.parfor.dims else tiles(loops.shape, loops.strides, sizes)[-1]
    return len(loops.shape) > 1 and row < ROW


def worth_threads(elements: int, bytes_per_element: int, ns_per_element: float) -> bool:
    """Does the work outweigh the waking of workers?"""
    if elements * bytes_per_element <= CACHED_BYTES:
        return elements * max(bytes_per_element / CACHED_BYTES_PER_NS, ns_per_element) > CACHED_NS
    return duration(elements, bytes_per_element, ns_per_element) > PARALLEL_NS


def duration(elements: int, bytes_per_element: int, ns_per_element: float) -> float:
    """Nanoseconds that one thread needs, roughly."""
    return elements * max(bytes_per_element / BYTES_PER_NS, ns_per_element)
