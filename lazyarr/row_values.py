"""Row values: what only the groups of a chain read, so that a thread's memory for some rows is enough.

In:  a chain of groups (`fusion.rows`), who uses which values.   Out: the values, and how their rows lie;
whether reads of a value are over where another is written in its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lazyarr.dtypes import PLAIN
from lazyarr.fusion.assemble import Inside
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import Group
from lazyarr.fusion.program import Program
from lazyarr.fusion.touches import Touch, in_step
from lazyarr.plan import Walk


class Uses(NamedTuple):
    """Who uses which values (serials)."""

    loads: dict[int, set[int]]
    """Numbers of the groups that load a value."""
    parts: set[int]
    """Values of which a write changes a part."""

    @classmethod
    def of(cls, groups: Sequence[Group]) -> Uses:
        found = cls({}, set())
        for group in groups:
            for a in group.loads:
                found.loads.setdefault(a.value.serial, set()).add(group.number)
            found.parts.update(n.old.serial for n in group.nodes if n.old is not None and not n.covers)
        return found


def inside_of(chain: Chain, uses: Uses, w: Walk) -> dict[int, Inside]:
    """Values that only the chain reads, and whole: a thread's memory has room for a block of them."""
    mine = set(chain.numbers)
    writes = [(t, axis) for axis, ts in zip(chain.axes, chain.touches, strict=True) for t in ts if t.writes]
    passing = {
        serial: (t, axis) for t, axis in writes
        if t.value.covers and (serial := t.value.serial) not in w.asked and serial not in uses.parts
        and mine.issuperset(uses.loads.get(serial, ()))
    }
    for k, (axis, touches) in enumerate(zip(chain.axes, chain.touches, strict=True) if passing else ()):
        standard = chain.standard(k)
        for t in touches:
            made = passing.get(t.value.serial)
            if made is not None and not (standard and in_step(*made, t, axis)):
                del passing[t.value.serial]         # rows of other blocks are read
    # Values that come to lie in an array that exists, or is made, need no memory: it is in the cache, too.
    lasting = {id(t.key) for t, _ in writes if t.value.serial not in passing or t.key.op is None}
    return {
        w.numbers[id(t.value)]: Inside(t.strides[axis], abs(t.strides[axis]) * chain.extent)
        for t, axis in writes if id(t.key) not in lasting
    }


def reach(program: Program, k: int) -> tuple[int, int]:
    """First byte and end of what an operand visits, from its value's first byte on."""
    low = high = program.offsets[k]
    for n, s in zip(program.loops.shape, program.loops.strides[k], strict=True):
        low, high = low + min(0, s * (n - 1)), high + max(0, s * (n - 1))
    return low, high + PLAIN[program.parfor.operands[k].dtype].itemsize


Reads = list[tuple[int, int, Touch]]
"""Which group reads a value, along which axis its rows lie, and what it touches."""


def way_of(found: Reads, lags: Sequence[int], known: dict[Any, int]) -> int:
    """A number, from 1 on, for how a value is read; 0: in a way of its own."""
    ways = {(lags[at], axis, t.like) for at, axis, t in found}
    return known.setdefault(frozenset(ways), len(known) + 1) if all(like for *_, like in ways) else 0


def read_before(reads: Reads, k: int, mine: Touch, axis: int, lags: Sequence[int]) -> bool:
    """Are these reads over where group `k` writes: at the same element, or before, in the same rows?"""
    return all(
        lags[at] <= lags[k] and in_step(t, a, mine, axis) if at < k else _alike(t, mine) for at, a, t in reads
    )


def _alike(a: Touch, b: Touch) -> bool:
    """Is it the same element in the same iteration?"""
    return (a.offset, a.strides, a.itemsize) == (b.offset, b.strides, b.itemsize)
