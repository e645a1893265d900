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
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from lazyarr.expr import FOLDS, Reduce
from lazyarr.fusion.alias import ANYWHERE
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.collapse import broadcast_strides
from lazyarr.fusion.fold import result_strides
from lazyarr.fusion.group import Asked, Group, makes, region_of
from lazyarr.fusion.touches import Touch, in_step, like, rows_apart, spread_out
from lazyarr.geometry import offset_of
from lazyarr.records import NamedTuple, dataclass

STAYS = "somebody else still reads the value that it changes: a copy of it must exist first"

MOST = 64
"""Groups of a chain: planning looks at all that is different of what they touch."""

NEAR = 8
"""What a chain overwrites is read at most one part in so many of its rows away."""


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
    one: Begun | None = None            # in the place of chains that have this one group
    places: Seen = {}
    refused: Refused = {}
    last = Last(groups)
    at = 0
    while at < len(groups) or tried:            # (of one group alone nothing is left to do)
        group = groups[at] if at < len(groups) else None
        why: str | None = "it is the last"
        if group is not None:
            why, mine, new = _unfit(group, out), [], None
            if why is None:
                mine = _touches(group, stored, places)
                if one is None:
                    longer = _extended(tried, group, mine, asked)
                else:
                    new = Begun.of(group, mine)
                    longer = _second(one, new, asked, refused)
                if isinstance(longer, list):
                    tried, one, at = longer, None, at + 1
                    continue
                why = longer
            before = one.group.fold is not None if one is not None else tried and tried[0].folds
            if group.fold is not None or before:
                found.apart[group.number] = why
        best = _best(tried) if tried and len(tried[0].groups) > 1 else []
        if best:
            kept = _cut(best[0], last, room)
            if kept < len(best[0].groups):
                at -= len(best[0].groups) - kept
                best = [best[0].part(kept)]
                group = None
            found.chains += [c for c in best if _saves(c)]
        tried, one = [], None
        if group is not None:
            one = (new or Begun.of(group, mine)) if mine and _open_axes(group) else None
            at += 1
    return found


class Begun(NamedTuple):
    """A group that may be the first of a chain, and what it touches."""

    group: Group
    touches: list[Touch]
    kind: tuple[Any, ...]
    """All that chains go by, but for whose memory is touched."""

    @classmethod
    def of(cls, group: Group, touches: list[Touch]) -> Begun:
        folded = None if group.fold is None else group.fold.op
        return cls(
            group, touches, (folded, group.scan, group.edge, group.shape, *[t.like for t in touches])
        )


Refused = dict[tuple[Any, ...], str]
"""By kinds of two groups, and which of their touches are of one buffer: why the second is in no chain with
the first."""


def _second(
    one: Begun, other: Begun, asked: Asked, refused: Refused
) -> list[Chain] | str:
    """The chains of a group and the one after it; or why there are none."""
    group, touches, kind = other
    number: dict[int, int] = {}
    buffers = [number.setdefault(id(t.key), len(number)) for t in (*one.touches, *touches)]
    kinds = one.kind, kind, tuple(buffers)
    why = refused.get(kinds)
    if why is not None:
        return STAYS if group.stores and _changes_what_stays([one.group], group, asked) else why
    found = _extended(_begun(one.group, one.touches), group, touches, asked)
    if isinstance(found, str) and found is not STAYS:
        refused[kinds] = found
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


class Last:
    """Which group loads each value (serials) last; looked for when somebody first asks."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups

    @cached_property
    def reader(self) -> dict[int, int]:
        return {access.value.serial: group.number for group in self.groups for access in group.loads}


def _cut(chain: Chain, last: Last, room: int) -> int:
    """After how many of its groups a chain should end: where what they lag behind with has room, and the
    least is stored that others read later (between sweeps, nothing is)."""
    every = len(chain.groups)
    if not chain.lagging:
        return every
    fits = next((n for n in range(every, 2, -1) if chain.window(n) * max(1, chain.reach) <= room), 2)
    if fits == every < MOST:
        return every
    passing, numbers = [0] * (every + 2), chain.numbers
    """Bytes that only what comes after so many groups reads; at first, by how much that differs from those
    after one group less."""
    for made, touches in enumerate(chain.touches, 1):
        for t in touches:
            if t.writes and t.value.old is None:
                until = bisect_left(numbers, last.reader.get(t.value.serial, 0))
                if until >= made:
                    passing[made] += t.value.nbytes
                    passing[until + 1] -= t.value.nbytes
    passing = list(itertools.accumulate(passing))
    return min(range(fits, fits // 2, -1), key=passing.__getitem__)


def _best(tried: Sequence[Chain]) -> list[Chain]:
    """Of chains of the same groups, the one whose rows are contiguous, if one is worth it."""
    worth = [c for c in tried if len(c.groups) > 1 and _saves(c)]
    return worth if len(worth) < 2 else sorted(worth, key=lambda c: c.spread > 0)[:1]


SHORT = 16
"""Rows are short if one element is at least one part in so many of what is read of one array."""


def _saves(chain: Chain) -> bool:
    """Is there a fold, or what is overwritten, and do two groups touch the same rows?

    One element a row counts only where rows are short: else it is little of what memory moves."""
    if not chain.lagging and not chain.folds:
        return False
    widths = [
        [(id(t.key), t.row_bytes(axis), t.itemsize) for t in touches]
        for axis, touches in zip(chain.axes, chain.touches, strict=True)
    ]
    most = max((width for mine in widths for _, width, _ in mine), default=0)
    seen: set[int] = set()
    for group in widths:
        mine = {key for key, width, one in group if width > one or width * SHORT >= most > one}
        if seen & mine:
            return True
        seen |= mine
    return False


Seen = dict[tuple[int, tuple[int, ...], bool], tuple[Any, ...]]
"""What touches have besides value and key: by the geometry's identity, the space, and whether they write."""


def _touches(group: Group, stored: Collection[int], seen: Seen) -> list[Touch]:
    """All that a group loads and stores."""
    found, shape = [], group.shape
    for value, key, geo in group.loads:
        where = seen.get((id(geo), shape, False))
        if where is None:
            anywhere = geo.dtype == ANYWHERE
            still = (0,) * len(shape)
            strides = still if anywhere else broadcast_strides(shape, geo.shape, geo.strides)
            where = like(shape, strides, offset_of(geo), geo.itemsize, False, anywhere)
            seen[id(geo), shape, False] = where
        found.append(Touch(value, key, *where))
    for node in group.nodes:
        if node.serial not in stored:
            continue
        key = node if node.old is None else group.memory.key(node)
        if isinstance(node.op, FOLDS):
            geo = region_of(node)
            strides = result_strides(node, len(shape))
            where = like(shape, strides, offset_of(geo), geo.itemsize, True, False)
        else:
            geo = group.placed[node.serial].region
            where = seen.get((id(geo), shape, True))
            if where is None:
                strides = broadcast_strides(shape, geo.shape, geo.strides)
                where = like(shape, strides, offset_of(geo), geo.itemsize, True, False)
                seen[id(geo), shape, True] = where
        found.append(Touch(node, key, *where))
    return found


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
    if tried[0].touched.keys().isdisjoint([id(t.key) for t in touches]):
        return "it uses nothing that the groups before use"
    if _begins_anew(tried[0], group):
        return "sweeps take turns with a new buffer, which begins as a part of what the groups before make"
    if group.stores and _changes_what_stays(tried[0].groups, group, asked):
        return STAYS
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
    row = [t._replace(shape=(*t.shape, 1), strides=(*t.strides, stride), like=0) for t in touches]
    for axis in (*(d for d in _open_axes(group) if write.strides[d] == stride), ndim):
        mine = row if axis == ndim else touches
        apart = (write.offset - other.offset) / stride
        for start in (math.floor(apart), math.ceil(apart)):
            rows = 1 if axis == ndim else group.shape[axis]
            # (All begin or end near the chain's rows, or lie among them.)
            if start < -(chain.extent // NEAR) or start + rows > chain.extent + chain.extent // NEAR:
                continue
            moved = [t._replace(offset=t.offset - start * stride, like=0) for t in mine]
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


def _changes_what_stays(groups: Sequence[Group], group: Group, asked: Asked) -> bool:
    """Does it write to a part of what other groups make, while others want it as it was?"""
    olds = [n.old for n in group.nodes if n.old is not None and not n.covers and asked(n.old)]
    return any(makes(old, g, old.epoch) for old in olds for g in groups)


def _behind(chain: Chain, touches: list[Touch], axis: int, start: int) -> tuple[int, int] | str:
    """How many blocks a group must run behind the chain's first, and how many rows away others touch what it
    does; or why its rows depend on others from afar.

    A row by itself before the chain's first, or after its last, is in one block with those nearby."""
    alone = touches[0].shape[axis] == 1 and not 0 <= start < chain.extent
    lag = most = 0
    for mine in touches:
        latest, writes = chain.latest.get(id(mine.key)), mine.writes
        for (before, other, across), beyond in () if latest is None else latest.values():
            if not (writes or other.writes):
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
