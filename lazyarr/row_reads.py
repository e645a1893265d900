"""Row reads: what an operand of a chain visits, and whether values may lie where others are read.

In:  programs; reads of one value, by which groups of a chain, and a write.   Out: bytes; answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazyarr.dtypes import PLAIN
from lazyarr.fusion.program import Program
from lazyarr.fusion.touches import Touch, in_step


def reach(program: Program, k: int) -> tuple[int, int]:
    """First byte and end of what an operand visits, from its value's first byte on."""
    low = high = program.offsets[k]
    for n, s in zip(program.loops.shape, program.loops.strides[k], strict=True):
        low, high = low + min(0, s * (n - 1)), high + max(0, s * (n - 1))
    return low, high + PLAIN[program.parfor.operands[k].dtype].itemsize


Reads = list[tuple[int, int, Touch]]
"""Which group reads a value, along which axis its rows lie, and what it touches."""


Turn = tuple[int, int]
"""By how many blocks a group lags, and how many more it leaves out where a strip begins."""


def way_of(found: Reads, lags: Sequence[Turn], known: dict[Any, int]) -> int:
    """A number, from 1 on, for how a value is read; 0: in a way of its own."""
    ways = {(lags[at], axis, t.like) for at, axis, t in found}
    return known.setdefault(frozenset(ways), len(known) + 1) if all(like for *_, like in ways) else 0


def fits_in(reads: Reads, k: int, mine: Touch, axis: int, lags: Sequence[Turn]) -> bool:
    """Are these reads over where group `k` writes: at the same element, or before, in the same rows?"""
    return all(
        _is_before(lags[at], lags[k]) and in_step(t, a, mine, axis) if at < k else _alike(t, mine)
        for at, a, t in reads
    )


def _is_before(one: Turn, other: Turn) -> bool:
    """Does a group come first to each block, in strips and between them?"""
    return one[0] <= other[0] and one[1] <= other[1]


def _alike(a: Touch, b: Touch) -> bool:
    """Is it the same element in the same iteration?"""
    return (a.offset, a.strides, a.itemsize) == (b.offset, b.strides, b.itemsize)
