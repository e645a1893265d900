"""Schedule: how an iteration space is cut into chunks, and how many threads run them.

In:  collapsed loops, operand strides, the cost of one element.   Out: tile sizes and threads.
A chunk is one tile (a hyper-rectangle).  Tiles are large enough to hide the claiming of a chunk
and small enough to share the work; where operands disagree on which loop is contiguous, they are
square, so that every cache line that a tile touches is used up inside it.
"""

from __future__ import annotations

from collections.abc import Sequence

CHUNK = 1 << 16
"""Elements of a chunk (4,096 to 5 million were measured within 7 %)."""

SQUARE = 64
"""Side of a tile for transposed operands: 64 x 64 doubles of two operands fit the L1 cache."""

PARALLEL_NS = 30_000.0
"""Work below which sleeping workers cost more than they give."""

BYTES_PER_NS = 12.0
"""What one thread moves from and to memory."""


def tiles(shape: Sequence[int], strides: Sequence[Sequence[int]], itemsizes: Sequence[int]) -> list[int]:
    """Tile size of each loop, outermost first."""
    rank = len(shape)
    if rank == 1:
        return [min(shape[0], CHUNK)]
    cross = _contiguous_elsewhere(shape, strides, itemsizes)
    if cross is not None:
        tile = [1] * rank
        tile[-1] = min(shape[-1], SQUARE)
        tile[cross] = min(shape[cross], SQUARE)
        return tile
    tile = [1] * rank
    room = CHUNK
    for d in reversed(range(rank)):
        tile[d] = max(1, min(shape[d], room))
        room //= max(tile[d], 1)
        if room <= 1:
            break
    return tile


def _contiguous_elsewhere(
    shape: Sequence[int], strides: Sequence[Sequence[int]], itemsizes: Sequence[int]
) -> int | None:
    """A loop other than the innermost along which some operand is contiguous, both being long."""
    if shape[-1] < 2 * SQUARE // 8:
        return None
    for s, size in zip(strides, itemsizes, strict=True):
        if abs(s[-1]) > 8 * size:
            for d in range(len(shape) - 1):
                if abs(s[d]) == size and shape[d] >= 8:
                    return d
    return None


def chunk_count(shape: Sequence[int], tile: Sequence[int]) -> int:
    count = 1
    for n, t in zip(shape, tile, strict=True):
        count *= -(-n // t)
    return count


def worth_threads(elements: int, bytes_per_element: int, ns_per_element: float) -> bool:
    """Does the work outweigh the waking of workers?"""
    return elements * max(bytes_per_element / BYTES_PER_NS, ns_per_element) > PARALLEL_NS
