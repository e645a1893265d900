"""Rows: which successive groups can run together, block by block along an axis that they share.

In:  the groups of a partition, which values are stored.   Out: `Chain`s, and for each other boundary the
reason (`explain`).
A row of a group is a position along one axis of its space: all else of the space, there.  Groups make a
chain along such axes if none folds across its own, and if of any two accesses of one buffer, one of them a
write, both touch the same bytes in the same row only.  Then the rows of one block may pass through all the
groups before those of the next block begin, in any order of blocks: softmax, layer norm, standardisation
read memory once.
A group that overwrites what one before reads in rows nearby (a stencil in place), or reads what one before
makes in rows nearby (the next sweep), lags: it runs a block behind that one, and blocks go in order.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy

from lazyarr.expr import FOLDS, Expr, Reduce
from lazyarr.fusion.alias import ANYWHERE
from lazyarr.fusion.collapse import broadcast_strides
from lazyarr.fusion.fold import result_strides
from lazyarr.fusion.group import Asked, Group, makes, region_of
from lazyarr.fusion.touches import Touch, in_step, rows_apart, spread_out
from lazyarr.geometry import offset_of

MOST = 64
"""Groups of a chain: planning looks at all that is different of what they touch."""

NEAR = 8
"""What a chain overwrites is read at most one part in so many of its rows away."""


Placed = tuple[int, Touch, int]
"""Which group of a chain, a touch of it, and the axis along which its rows lie."""


@dataclass(slots=True, eq=False)
class Chain:
    """Groups that run together, and the axis of each along which their rows lie."""

    groups: list[Group]
    axes: list[int]
    """A group of one row only has none: its number of axes stands for it."""
    touches: list[list[Touch]]
    extent: int
    """Rows."""
    touched: dict[int, list[Placed]] = field(default_factory=dict)
    """By id of the key: the touches of a buffer."""
    written: dict[int, list[Placed]] = field(default_factory=dict)
    """Those that write."""
    latest: dict[int, dict[tuple[object, ...], tuple[Placed, bool]]] = field(default_factory=dict)
    """The touches of a buffer again, with the lag of the group in the place of its number, and whether they
    are of a row by itself before the first row or after the last; of those of the same bytes, which sweeps
    touch again and again, the last one."""
    block: int = 0
    """Rows that run together; filled in by who makes a step of the chain."""
    lags: list[int] = field(default_factory=list)
    """How many blocks each group runs behind the first: what it reads or overwrites, others write or read
    in rows nearby."""
    reach: int = 0
    """How many rows away that is, at most: so many a block must have."""
    starts: list[int] = field(default_factory=list)
    """Which row of the first group is the first row of each group.  What begins before the first group's, or
    ends after them, is part of the first block, or of the last."""

    def add(
        self, group: Group, axis: int, touches: list[Touch], lag: int = 0, start: int = 0
    ) -> Chain:
        """One more group."""
        at = len(self.groups)
        self.groups.append(group)
        self.axes.append(axis)
        self.touches.append(touches)
        self.lags.append(lag)
        self.starts.append(start)
        outside = not 0 <= start < self.extent
        for t in touches:
            beyond = outside and t.shape[axis] == 1
            latest, where = self.latest.setdefault(id(t.key), {}), (*t[2:], axis, beyond)
            if where not in latest or latest[where][0][0] <= lag:
                latest[where] = (lag, t, axis), beyond
            self.touched.setdefault(id(t.key), []).append((at, t, axis))
            if t.writes:
                self.written.setdefault(id(t.key), []).append((at, t, axis))
        return self

    @property
    def spread(self) -> int:
        """Bytes from row to row where a row is not contiguous, the least; 0 if all are."""
        placed = ((t, a) for each in self.touched.values() for _, t, a in each)
        return min((abs(t.strides[a]) for t, a in placed if spread_out(t, a)), default=0)

    @property
    def lagging(self) -> bool:
        """Do groups run behind others?"""
        return any(self.lags)

    def window(self, most: int = MOST) -> int:
        """Bytes of a row of each buffer, as often as there are blocks between the first of the groups that
        touches it and the last; of so many groups at most."""
        seen: dict[int, tuple[int, int, int]] = {}
        placed = zip(self.axes, self.touches, self.lags, strict=True)
        for axis, touches, lag in itertools.islice(placed, most):
            for t in touches:
                row, first, last = seen.get(id(t.key), (0, lag, lag))
                seen[id(t.key)] = max(row, t.row_bytes(axis)), min(first, lag), max(last, lag)
        return sum(row * (last - first + 1) for row, first, last in seen.values())

    def part(self, n: int) -> Chain:
        """The first groups."""
        found = Chain([], [], [], self.extent, reach=self.reach)
        for k in range(n):
            found.add(self.groups[k], self.axes[k], self.touches[k], self.lags[k], self.starts[k])
        return found

    def rows(self, k: int) -> int:
        """How many rows a group has."""
        return self.groups[k].shape[self.axes[k]] if self.axes[k] < len(self.groups[k].shape) else 1

    def standard(self, k: int) -> bool:
        """Has a group the rows of the first one?"""
        return self.starts[k] == 0 and self.rows(k) == self.extent

    @property
    def numbers(self) -> list[int]:
        return [g.number for g in self.groups]


@dataclass(slots=True, eq=False)
class Found:
    """What the groups of a partition make of it."""

    chains: list[Chain] = field(default_factory=list)
    apart: dict[int, str] = field(default_factory=dict)
    """For the number of a group that folds, or follows one that does: why its rows do not follow those of
    the groups before."""


def chains(
    groups: Sequence[Group], stored: Collection[int], asked: Asked, out: Collection[int] = (),
    room: int = sys.maxsize,
) -> Found:
    """Put successive groups into chains, as many as fit; the groups numbered in `out` are in none.

    Only chains with a fold are worth it, or with groups that lag: others have their reasons to be apart.
    `room` is how many bytes may lie between the first of the groups and the last."""
    found = Found()
    if all(g.fold is None and not g.stores for g in groups):
        return found
    tried: list[Chain] = []
    at = 0
    while at < len(groups) or tried:
        group = groups[at] if at < len(groups) else None
        why: str | None = "it is the last"
        if group is not None:
            why, mine = _unfit(group, out), []
            if why is None:
                mine = _touches(group, stored)
                longer = _extended(tried, group, mine, asked)
                if isinstance(longer, list):
                    tried, at = longer, at + 1
                    continue
                why = longer
            if any(g.fold is not None for g in (group, *(g for c in tried[:1] for g in c.groups))):
                found.apart[group.number] = why
        best = _best(tried)
        if best:
            kept = _cut(best[0], groups, room)
            if kept < len(best[0].groups):
                at -= len(best[0].groups) - kept
                best = [best[0].part(kept)]
                group = None
            found.chains += [c for c in best if _saves(c)]
        tried = []
        if group is not None:
            tried = _begun(group, mine) if mine else []
            at += 1
    return found


def _unfit(group: Group, out: Collection[int]) -> str | None:
    """Why a group is in no chain."""
    if group.opaque:
        return "NumPy runs it"
    if group.unit is not None:
        return "it runs as several loop nests"
    if group.number in out or (group.fold is not None and not isinstance(group.fold.op, Reduce)):
        return "elements are counted, kept or packed"
    return "it writes to positions, in any row" if group.scatters else None


def _cut(chain: Chain, groups: Sequence[Group], room: int) -> int:
    """After how many of its groups a chain should end: where what they lag behind with has room, and the
    least is stored that others read later (between sweeps, nothing is)."""
    every = len(chain.groups)
    if not chain.lagging:
        return every
    fits = next((n for n in range(every, 2, -1) if chain.window(n) * max(1, chain.reach) <= room), 2)
    if fits == every < MOST:
        return every
    last: dict[int, int] = {}
    for group in groups:
        last.update((access.value.serial, group.number) for access in group.loads)

    def passing(n: int) -> int:
        """Bytes that only what comes after so many groups reads."""
        end = chain.groups[n - 1].number
        made = (t.value for touches in chain.touches[:n] for t in touches if t.writes)
        return sum(v.nbytes for v in made if v.old is None and last.get(v.serial, 0) > end)

    return min(range(fits, fits // 2, -1), key=passing)


def _best(tried: Sequence[Chain]) -> list[Chain]:
    """Of chains of the same groups, the one whose rows are contiguous, if one is worth it."""
    worth = [c for c in tried if len(c.groups) > 1 and _saves(c)]
    return sorted(worth, key=lambda c: c.spread > 0)[:1]


def _saves(chain: Chain) -> bool:
    """Is there a fold, or what is overwritten, and do two groups touch the same rows?"""
    if not chain.lagging and not any(g.fold is not None for g in chain.groups):
        return False
    seen: set[int] = set()
    for axis, touches in zip(chain.axes, chain.touches, strict=True):
        mine = {id(t.key) for t in touches if t.row_bytes(axis) > t.itemsize}
        if seen & mine:
            return True
        seen |= mine
    return False


def _touches(group: Group, stored: Collection[int]) -> list[Touch]:
    """All that a group loads and stores."""
    found = []
    for a in group.loads:
        anywhere = a.geo.dtype == ANYWHERE
        found.append(_touch(group, a.value, a.key, a.geo, writes=False, anywhere=anywhere))
    for node in group.nodes:
        if node.serial in stored:
            region = region_of(node) if isinstance(node.op, FOLDS) else group.placed[node.serial].region
            found.append(_touch(group, node, group.memory.key(node), region, writes=True))
    return found


def _touch(
    group: Group, value: Expr, key: Expr, geo: numpy.ndarray, writes: bool, anywhere: bool = False
) -> Touch:
    shape = group.shape
    if anywhere:
        strides: tuple[int, ...] = (0,) * len(shape)
    elif writes and isinstance(value.op, FOLDS):
        strides = result_strides(value, len(shape))
    else:
        strides = broadcast_strides(shape, geo.shape, geo.strides)
    return Touch(value, key, shape, strides, offset_of(geo), geo.itemsize, writes, anywhere)


def _begun(group: Group, touches: list[Touch]) -> list[Chain]:
    """A chain of one group for each axis that its rows may lie along."""
    return [Chain([], [], [], group.shape[d]).add(group, d, touches) for d in _open_axes(group)]


def _open_axes(group: Group) -> list[int]:
    folded = group.fold.op.axes if group.fold is not None and isinstance(group.fold.op, Reduce) else ()
    return [d for d, n in enumerate(group.shape) if n > 1 and d not in folded and d != group.scan]


def _extended(
    tried: Sequence[Chain], group: Group, touches: list[Touch], asked: Asked
) -> list[Chain] | str:
    """The chains with one more group, those that can have it; or why none can."""
    if not tried:
        return "there is no group before whose rows it could follow"
    if len(tried[0].groups) >= MOST:
        return f"{MOST} groups run together already"
    if all(id(t.key) not in tried[0].touched for t in touches):
        return "it uses nothing that the groups before use"
    if _begins_anew(tried[0], group):
        return "sweeps take turns with a new buffer, which begins as a part of what the groups before make"
    if _changes_what_stays(tried[0], group, asked):
        return "somebody else still reads the value that it changes: a copy of it must exist first"
    longer, whys = [], []
    for chain in tried:
        why = f"it folds all axes of extent {chain.extent}, or has none"
        best: tuple[tuple[int, int], int, int, list[Touch]] | None = None
        for axis, start, mine in _aligned(chain, group, touches):
            found = _behind(chain, mine, axis, start)
            if isinstance(found, str):
                why = found
            elif best is None or found < best[0]:
                best = found, axis, start, mine
        if best is None:
            whys.append(why)
            continue
        (lag, apart), axis, start, mine = best      # (the chain without the group is of no use any more)
        chain.reach = max(chain.reach, apart)
        longer.append(chain.add(group, axis, mine, lag, start))
    return longer or whys[-1]


def _aligned(
    chain: Chain, group: Group, touches: list[Touch]
) -> Iterator[tuple[int, int, list[Touch]]]:
    """Along which axis the rows of a group may lie, at which of the chain's they begin, and what it touches,
    as if it began at the first; all ways there are.

    Edges may have other rows than the chain: a column some more, another row one."""
    for axis in _open_axes(group):
        if group.shape[axis] == chain.extent:
            yield axis, 0, touches
    if not group.edge:
        return
    ndim = len(group.shape)
    write = next(t for t in touches if t.writes)
    if id(write.key) not in chain.written:
        return
    _, other, across = chain.written[id(write.key)][0]
    stride = other.strides[across]
    if not stride or other.anywhere or spread_out(other, across):
        return
    # (A row by itself gets an axis of one row.)
    row = [t._replace(shape=(*t.shape, 1), strides=(*t.strides, stride)) for t in touches]
    for axis in (*(d for d in _open_axes(group) if write.strides[d] == stride), ndim):
        mine = row if axis == ndim else touches
        apart = (write.offset - other.offset) / stride
        for start in (math.floor(apart), math.ceil(apart)):
            rows = 1 if axis == ndim else group.shape[axis]
            # (All begin or end near the chain's rows, or lie among them.)
            if start < -(chain.extent // NEAR) or start + rows > chain.extent + chain.extent // NEAR:
                continue
            moved = [t._replace(offset=t.offset - start * stride) for t in mine]
            at = next(t for t in moved if t.writes)
            if in_step(other, across, at, axis) and not any(spread_out(t, axis) for t in moved):
                yield axis, start, moved


def _begins_anew(chain: Chain, group: Group) -> bool:
    """Does it write to a new buffer (`turns`), into which something is copied before the chain begins?"""
    turns = group.memory.turns
    if turns is None:
        return False
    new = (n.old for n in group.nodes if n.serial in turns.first and turns.first[n.serial].source is None)
    return any(makes(old, g, old.epoch) for old in new if old is not None for g in chain.groups)


def _changes_what_stays(chain: Chain, group: Group, asked: Asked) -> bool:
    """Does it write to a part of what the chain makes, while others want it as it was?"""
    olds = [n.old for n in group.nodes if n.old is not None and not n.covers]
    return any(asked(old) and any(makes(old, g, old.epoch) for g in chain.groups) for old in olds)


def _behind(chain: Chain, touches: list[Touch], axis: int, start: int) -> tuple[int, int] | str:
    """How many blocks a group must run behind the chain's first, and how many rows away others touch what it
    does; or why its rows depend on others from afar.

    A row by itself before the chain's first, or after its last, is in one block with those nearby."""
    alone = touches[0].shape[axis] == 1 and not 0 <= start < chain.extent
    lag = most = 0
    for mine in touches:
        for (before, other, across), beyond in chain.latest.get(id(mine.key), {}).values():
            if not (mine.writes or other.writes):
                continue
            if in_step(other, across, mine, axis):
                lag = max(lag, before)
                continue
            rows = rows_apart(other, across, mine, axis)
            if rows is None or rows > chain.extent // NEAR:
                if mine.writes:
                    return "it writes memory that the groups before use, in other rows"
                return "its rows need other rows of what the groups before make"
            lag, most = max(lag, before + (not (alone or beyond))), max(most, rows)
    return lag, most
