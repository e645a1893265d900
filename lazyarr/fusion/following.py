"""Following: do the rows of a group follow those of the groups of a chain, along which axis, how far behind?

In:  chains of the same groups (`rows` puts them together), one more group.   Out: chains with it, or reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from lazyarr.expr import Expr, Reduce
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import Asked, Group, makes
from lazyarr.fusion.touches import Flat, Touch, in_step, over, rows_apart, spread_out
from lazyarr.records import NamedTuple

STAYS = "somebody else still reads the value that it changes: a copy of it must exist first"

NEAR = 8
"""What a chain overwrites is read at most one part in so many of its rows away."""


class Way(NamedTuple):
    """How a group joins a chain."""

    chain: int
    """Which of those tried."""
    axis: int
    """Along which its rows lie."""
    start: int
    """At which of the chain's rows they begin."""
    lag: int
    """How many blocks it runs behind the first group."""
    front: int
    """How many more it leaves out where a strip begins."""
    apart: int
    """How many rows away others touch what it does, at most."""
    stride: int = 0
    """Bytes from row to row, by which what it touches is `moved` where its rows are not the chain's; or 0."""
    flat: Flat | None = None
    """Where rows lie along several axes: these as one."""
    before: int | None = None
    """Where it is the first sweep, and the groups of the chain lead: how many rows these have before its own,
    by which the chain goes from here on."""

    def touches(self, touches: list[Touch]) -> list[Touch]:
        """What the group touches, as the chain sees it."""
        return moved(over(touches, self.flat), self.axis, self.start, self.stride)


def open_axes(group: Group) -> list[int]:
    folded = group.fold.op.axes if group.fold is not None and isinstance(group.fold.op, Reduce) else ()
    return [d for d, n in enumerate(group.shape) if n > 1 and d not in folded and d != group.scan]


def ways_into(
    tried: Sequence[Chain], group: Group, touches: list[Touch], flats: Sequence[Flat] = ()
) -> list[Way] | str:
    """How a group joins chains, those that can have it; or why none can."""
    found, why = list[Way](), ""
    for k, chain in enumerate(tried):
        why = f"it folds all axes of extent {chain.extent}, or has none"
        ways = list[tuple[Way, list[Touch]]]()
        for axis, start, stride in _aligned(chain, group, touches):
            mine = moved(touches, axis, start, stride)
            if stride and any(spread_out(t, axis) for t in mine):
                continue
            behind = _behind(chain, mine, axis, start)
            if isinstance(behind, str):
                why = behind
            else:
                ways.append((Way(k, axis, start, *behind, stride), mine))
        if all(not way.lag and not way.apart for way, _ in ways):   # (sweeps keep the axes that they have)
            for flat in (f for f in flats if f.shape[f.axis] == chain.extent):
                mine = over(touches, flat)
                if _behind(chain, mine, flat.axis, 0) == (0, 0, 0):
                    ways.append((Way(k, flat.axis, 0, 0, 0, 0, flat=flat), mine))
        if ways:
            found.append(_nearest(chain, ways))
    return found or why


def moved(touches: list[Touch], axis: int, start: int, stride: int) -> list[Touch]:
    """What a group touches as if it began at the chain's first row.  (A row by itself gets an axis of one
    row.)"""
    if not stride:
        return touches
    if axis == len(touches[0].shape):
        touches = [t._replace(shape=(*t.shape, 1), strides=(*t.strides, stride)) for t in touches]
    return [t._replace(offset=t.offset - start * t.strides[axis], like=0) for t in touches]


def _aligned(chain: Chain, group: Group, touches: list[Touch]) -> Iterator[tuple[int, int, int]]:
    """Along which axis the rows of a group may lie, at which of the chain's they begin, and by which stride
    they are moved there, or 0; all ways there are.

    Edges may have other rows than the chain: a column some more, another row one.  So may groups that begin
    and end near the chain's rows: fields that lie between the points of others."""
    for axis in open_axes(group):
        if group.shape[axis] == chain.extent:
            yield axis, 0, 0
    if not group.edge:
        if not chain.folds and group.fold is None:
            yield from _staggered(chain, group, touches)
        return
    ndim = len(group.shape)
    write = next(t for t in touches if t.writes)
    written = chain.buffers.written
    if id(write.key) not in written:
        return
    _, other, across = written[id(write.key)][0]
    stride = other.strides[across]
    if not stride or other.anywhere or spread_out(other, across):
        return
    for axis in (*(d for d in open_axes(group) if write.strides[d] == stride), ndim):
        apart = (write.offset - other.offset) / stride
        for start in (math.floor(apart), math.ceil(apart)):
            rows = 1 if axis == ndim else group.shape[axis]
            (at,) = moved([write], axis, start, stride)
            if _among(chain, start, rows) and in_step(other, across, at, axis):
                yield axis, start, stride


def _among(chain: Chain, start: int, rows: int) -> bool:
    """Do all begin or end near the chain's rows, or lie among them?"""
    return start >= -(chain.extent // NEAR) and start + rows <= chain.extent + chain.extent // NEAR


def _staggered(chain: Chain, group: Group, touches: list[Touch]) -> Iterator[tuple[int, int, int]]:
    """The same for a group of nearly as many rows as the chain, which begins where one of them touches what
    one of the chain's does, or next to it."""
    latest = chain.buffers.latest
    for axis in open_axes(group):
        rows = group.shape[axis]
        if rows == chain.extent or abs(rows - chain.extent) > chain.extent // NEAR:
            continue
        starts = dict[int, int]()
        for mine in touches:
            stride = mine.strides[axis]
            for _, _, other, across, _ in latest.get(id(mine.key), {}).values() if stride else ():
                if other.anywhere or other.strides[across] != stride or spread_out(other, across):
                    continue
                apart = (mine.offset - other.offset) / stride
                starts.update({math.floor(apart): stride, math.ceil(apart): stride})
        yield from ((axis, start, stride) for start, stride in starts.items() if _among(chain, start, rows))


def changes_what_stays(groups: Iterable[Group], group: Group, asked: Asked) -> bool:
    """Does it write to a part of what other groups make, while others want it as it was?"""
    olds: list[Expr] = []
    for node in group.nodes:                    # (nearly always it is none)
        old = node.old
        if old is not None and not node.covers and old.serial in asked:
            olds.append(old)
    return bool(olds) and any(makes(old, g, old.epoch) for g in groups for old in olds)


def _nearest(chain: Chain, ways: list[tuple[Way, list[Touch]]]) -> Way:
    """The way along which others touch the nearest rows, and that runs the least behind.  Of axes of one
    extent that do so the one along which what the chain touches is touched in the same rows: to read others
    is no harm, but no gain."""
    if len(ways) == 1:
        return ways[0][0]
    latest = chain.buffers.latest

    def order(found: tuple[Way, list[Touch]]) -> tuple[int, int, int]:
        (_, axis, _, lag, _, apart, *_), touches = found
        placed = [(t, latest[id(t.key)]) for t in touches if id(t.key) in latest]
        near = [any(in_step(o.touch, o.axis, t, axis) for o in each.values()) for t, each in placed]
        return apart, lag, near.count(False)

    return min(ways, key=order)[0]


def _behind(chain: Chain, touches: list[Touch], axis: int, start: int) -> tuple[int, int, int] | str:
    """How many blocks a group must run behind the chain's first, how many more it leaves out where a strip
    begins, and how many rows away others touch what it does; or why its rows depend on others from afar.

    What it touches in rows further on must have been touched by others, so it runs behind these; in rows
    before, others have been there, but where a strip begins.  A row by itself before the chain's first, or
    after its last, is in one block with those nearby."""
    alone = touches[0].shape[axis] == 1 and not 0 <= start < chain.extent
    lag, most = chain.lags[-1], 0               # (no less: who looks at a block goes by the order of groups)
    found = list[tuple[int, int, bool]]()
    """Of what others touch: their lag and front, and whether that is in rows before."""
    for mine in touches:
        latest, writes = chain.buffers.latest.get(id(mine.key)), mine.writes
        for before, front, other, across, beyond in () if latest is None else latest.values():
            if not (writes or other.writes):
                continue
            if in_step(other, across, mine, axis):
                lag = max(lag, before)
                found.append((before, front, False))
                continue
            rows = rows_apart(other, across, mine, axis)
            if rows is None or max(-rows[0], rows[1]) > chain.extent // NEAR:
                if mine.writes:
                    return "it writes memory that the groups before use, in other rows"
                return "its rows need other rows of what the groups before make"
            near = alone or beyond
            lag, most = max(lag, before + (rows[1] > 0 and not near)), max(most, -rows[0], rows[1])
            found.append((before, front, rows[0] < 0 and not near))
    # (What lags leaves out more rows there than it lags: so who lags more has left out those before, too.)
    return lag, max((front + (first and before == lag) for before, front, first in found), default=0), most
