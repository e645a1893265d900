"""Leading: what makes an array anew, element by element, runs with the sweeps over it, ahead of the first.

In:  chains of groups that make whole arrays; the group of a sweep that begins to take turns with a new buffer
     (`turns`).   Out: the chains with the sweep's rows, or reasons.
``u = a.copy()``, then sweeps over `u`: the copy's rows are still in the cache when the first sweep reads
them.  What no sweep writes is copied to the new buffer block by block, just before it is needed
(`row_rings`), so it must be a ring.  The array has some rows more than a sweep: these are before the chain's
first row, and after its last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lazyarr.draws import DRAWS
from lazyarr.expr import Expr, Map
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import Group, makes
from lazyarr.fusion.touches import Touch, like
from lazyarr.fusion.turns import BORDER, Turns

MOST = 4
"""Groups that lead a chain."""

LEAST = 1 << 21
"""Bytes of an array that is made so, at least: others stay in the cache until they are read."""

ANEW = "sweeps take turns with a new buffer, which begins as a part of what the groups before make"


def begun_of(groups: Iterable[Group], group: Group, turns: Turns) -> list[Expr]:
    """What these groups make of which a part is copied to a new buffer, before this one writes there."""
    olds = (n.old for n in group.nodes if n.serial in turns.begin)
    return [old for old in olds if old is not None and any(makes(old, g, old.epoch) for g in groups)]


def may_lead(groups: Sequence[Group], begun: Sequence[Expr], turns: Turns) -> bool:
    """Do the groups make whole arrays, element by element, among them all that sweeps begin with?"""
    if not turns.led or len(groups) > MOST or not all(map(_is_plain, groups)):
        return False
    return all(
        old.nbytes >= LEAST and any(makes(old, g, old.epoch) for g in groups) for old in begun
    )


def _is_plain(group: Group) -> bool:
    if group.opaque or group.ordered or group.unit is not None:
        return False
    return all(
        isinstance(node.op, Map) and node.covers and not node.masked and node.op.name not in DRAWS
        for node in group.nodes
    )


def led(
    chain: Chain, group: Group, touches: Sequence[Touch], begun: Sequence[Expr]
) -> tuple[int, int] | None:  # fmt: skip
    """Along a chain of groups that lead: how many rows these have before those of a sweep that begins with
    what they make, and how many the sweep has; None if it has others, or many less."""
    if chain.flat or chain.lagging or chain.reach:
        return None
    begins = {n.serial: n.old for n in group.nodes if any(n.old is old for old in begun)}
    for t in touches:
        old = begins.get(t.value.serial) if t.writes else None
        if old is None:
            continue
        _, other, across = chain.buffers.written[id(group.memory.key(old))][0]
        stride = other.strides[across]
        along = [d for d, step in enumerate(t.strides) if step == stride and t.shape[d] > 1]
        if stride <= 0 or len(along) != 1:
            return None
        before, rows = (t.offset - other.offset) // stride, t.shape[along[0]]
        if not 0 <= before <= BORDER or not 0 <= chain.extent - before - rows <= BORDER:
            return None
        return before, rows
    return None


def in_rows(chain: Chain, before: int, rows: int) -> Chain:
    """Groups that begin so many rows before the first of a chain that has so many."""
    found = Chain([], [], [], rows)
    placed = zip(chain.groups, chain.axes, chain.touches, chain.starts, strict=True)
    for group, axis, touches, start in placed:
        found.add(group, axis, [_moved(t, before * t.strides[axis]) for t in touches], 0, start - before)
    found.leading = len(found.groups)
    return found


def _moved(t: Touch, offset: int) -> Touch:
    offset += t.offset
    kind = like(t.shape, t.strides, offset, t.itemsize, t.writes, t.anywhere)
    return t._replace(offset=offset, like=kind[-1])
