"""How a scan is cut into chunks: each has the whole sequence of some positions of the other loops.

In:  the kinds and extents of loops, outermost first: ``p* s`` or ``p* s p``.   Out: the tile.
A single sequence may be cut into pieces (`scan_along`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lazyarr.fusion.parfor import SCAN, Parfor

COLUMNS = 2048
"""Most columns of a chunk that scans across rows: their accumulators (memory for so many) stay in caches."""

NARROW = 256
"""Fewest, to share the work: shorter stretches of a row cost more to fetch."""

ROWS = 4
"""Rows that are scanned side by side, each along its elements, which wait for one another."""

CHUNK = 1 << 16
"""Elements of a chunk, roughly."""

PASSED = 1 << 17
"""Elements of a chunk that is passed over several times: they stay in the second-level cache."""

SHORT = 16
"""Loops below this extent are not cut."""

LINE = 64
"""Elements: whole cache lines, of any type."""

BOUNDS = 0
"""The extra word of a single sequence: address of where each piece begins, and the end; 0: it is one."""

CARRY = 16
"""Bytes for the last running result of a row."""


def tiles_along(dims: str, shape: Sequence[int], threads: int) -> list[int]:
    """Tile size of each loop."""
    tile, n = list(shape), shape[dims.index("s")]
    if dims[-1] == "p":
        outer = list(shape[:-2])
        passes = math.prod(m for m in outer if m < SHORT)
        tile[-1] = min(shape[-1], _width(shape[-1], n * passes if passes > 1 else 0, threads))
        cut = [d for d, m in enumerate(outer) if m >= SHORT]
        room = CHUNK // (n * passes * tile[-1])
    else:
        cut = list(range(len(shape) - 1))
        room = max(1, min(CHUNK // n, math.prod(shape[:-1]) // threads) // ROWS) * ROWS
    for d in reversed(cut):
        tile[d] = max(1, min(shape[d], room))
        room //= tile[d]
    return tile


def _width(columns: int, passed: int, threads: int) -> int:
    """Columns of a chunk, of each of which so many elements are passed over again; 0: none are."""
    if passed:
        return min(COLUMNS, max(LINE, PASSED // passed // LINE * LINE))
    share = -(-columns // (LINE * threads)) * LINE
    return min(COLUMNS, max(NARROW, share))


def left_bytes(parfor: Parfor) -> int:
    """What a piece of a single sequence leaves for the next one."""
    return CARRY * sum(inst.op == SCAN for inst in parfor.body)
