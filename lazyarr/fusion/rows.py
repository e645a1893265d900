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
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

from lazyarr.expr import FOLDS, Expr, Reduce
from lazyarr.fusion.alias import ANYWHERE
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.collapse import broadcast_strides
from lazyarr.fusion.fold import result_strides
from lazyarr.fusion.following import STAYS, Way, changes_what_stays, open_axes, ways_into
from lazyarr.fusion.group import Asked, Group, region_of
from lazyarr.fusion.leading import ANEW, begun_of, in_rows, led, may_lead
from lazyarr.fusion.touches import Flat, Touch, flats, in_step, like
from lazyarr.fusion.whole_launches import note_chain
from lazyarr.geometry import offset_of
from lazyarr.records import dataclass, field

MOST = 64
"""Groups of a chain: planning looks at all that is different of what they touch."""


@dataclass(slots=True, eq=False)
class Found:
    """What the groups of a partition make of it."""

    chains: list[Chain] = field(default_factory=list)
    buffers: list[tuple[str, ...]] = field(default_factory=list)
    """For each of the chains, what becomes of sweeps' second buffers; filled in with their blocks."""
    apart: dict[int, str] = field(default_factory=dict)
    """For the number of a group that folds, or follows one that does: why its rows do not follow those of
    the groups before."""


def chains(
    groups: Sequence[Group], stored: Collection[int], asked: Asked, out: Collection[int] = (),
    room: int = sys.maxsize, alike: Sequence[object] = (),
) -> Found:
    """Put successive groups into chains, as many as fit; the groups numbered in `out` are in none.

    Only chains with a fold are worth it, or with groups that lag: others have their reasons to be apart.
    `room` is how many bytes may lie between the first of the groups and the last.  Groups of one structure
    have one object among `alike`, those of unknown structure None."""
    found = Found()
    if all(g.fold is None and not g.stores for g in groups):
        return found
    tried: Tried | None = None
    kinds, first = Kinds(stored, alike), Stage()
    last = Last(groups)
    at = 0
    while at < len(groups) or (tried is not None and len(tried.begun) > 1):
        group = groups[at] if at < len(groups) else None
        why: str | None = "it is the last"
        one: Begun | None = None
        if group is not None:
            why = _unfit(group, out)
            if why is None:
                one = kinds.begun(group)
                why = NONE_BEFORE if tried is None else tried.follow(one, asked)
                if why is None:
                    at += 1
                    continue
            if group.fold is not None or (tried is not None and tried.folds):
                found.apart[group.number] = why
        best = tried.best(room) if tried is not None and len(tried.begun) > 1 else None
        if best is not None:
            kept = _cut(best, last, room)
            if kept < len(best.groups):
                at -= len(best.groups) - kept
                best = best.part(kept)
                if best.lagging and best.groups[0].memory.turns is None:
                    note_chain([store.value for each in best.groups for store in each.stores])
                group = None
                if not _saves(best):
                    best = None
            if best is not None:
                found.chains.append(best)
        tried = None
        if group is not None:
            if one is not None and not one.group.edge and one.kind.opens and one.keys:
                tried = Tried.of(one, first)
            at += 1
    return found


FIRST = -2
"""Among the numbers of a group's buffers: it is the first sweep behind those that lead."""

NONE_BEFORE = "there is no group before whose rows it could follow"


@dataclass(slots=True, eq=False)
class Kind:
    """What a group is in a chain, whose memory it may touch."""

    number: int
    places: list[tuple[Any, ...]]
    """What its touches have besides value and key."""
    opens: list[int]
    """Axes along which its rows may lie."""
    flats: list[Flat]
    """Several of them as one."""


@dataclass(slots=True, eq=False)
class Begun:
    """A group that may be part of a chain, and what it touches."""

    group: Group
    kind: Kind
    values: list[Expr]
    keys: list[Expr]

    @property
    def touches(self) -> list[Touch]:
        each = zip(self.values, self.keys, self.kind.places, strict=True)
        return [_touch((value, key, *place)) for value, key, place in each]


_touch: Any = partial(tuple.__new__, Touch)
"""(The interpreter's own constructor: a class's takes three times as long.)"""


class Kinds:
    """The kinds of groups: asked once for all of one structure."""

    def __init__(self, stored: Collection[int], alike: Sequence[object]) -> None:
        self.stored, self.alike = stored, alike
        self.known: dict[tuple[int, bool], Kind] = {}
        self.places: dict[tuple[int, tuple[int, ...], bool], tuple[Any, ...]] = {}
        """Of touches: by the geometry's identity, the space, and whether they write."""
        self.numbers: dict[tuple[Any, ...], int] = {}

    def begun(self, group: Group) -> Begun:
        memory, stored = group.memory, self.stored
        values: list[Expr] = []
        keys: list[Expr] = []
        made: list[Expr] = []
        for value, key, _ in group.loads:
            values.append(value)
            keys.append(key)
        for node in group.nodes:
            if node.serial in stored:
                made.append(node)
                keys.append(node if node.old is None else memory.key(node))
        values += made
        structure = self.alike[group.number] if self.alike else None
        if structure is None:
            kind = self._kind(group, made)
        else:
            of = id(structure), bool(group.edge)
            found = self.known.get(of)
            kind = self.known[of] = self._kind(group, made) if found is None else found
        return Begun(group, kind, values, keys)

    def _kind(self, group: Group, made: Sequence[Expr]) -> Kind:
        places = self._places(group, made)
        folded = None if group.fold is None else group.fold.op.axes     # type: ignore[union-attr]
        said = folded, group.scan, bool(group.edge), group.shape, *[place[-1] for place in places]
        number = self.numbers.setdefault(said, len(self.numbers))
        opens, (strides, anywhere) = open_axes(group), ([p[1] for p in places], [p[5] for p in places])
        flat = [] if len(opens) < 2 or group.edge or any(anywhere) else flats(group.shape, opens, strides)
        return Kind(number, places, opens, flat)

    def _places(self, group: Group, made: Sequence[Expr]) -> list[tuple[Any, ...]]:
        """Of all that a group loads and stores."""
        found, shape, seen = [], group.shape, self.places
        for _, _, geo in group.loads:
            where = seen.get((id(geo), shape, False))
            if where is None:
                anywhere = geo.dtype == ANYWHERE
                still = (0,) * len(shape)
                strides = still if anywhere else broadcast_strides(shape, geo.shape, geo.strides)
                where = like(shape, strides, offset_of(geo), geo.itemsize, False, anywhere)
                seen[id(geo), shape, False] = where
            found.append(where)
        for node in made:
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
            found.append(where)
        return found


_GROUP = attrgetter("group")


UNKNOWN = -1


@dataclass(slots=True, eq=False)
class Stage:
    """Chains of the same groups, with all like them: the kinds of these groups, and which of the buffers that
    they touch are one, lead here."""

    before: Stage | None = None
    ways: list[Way] = field(default_factory=list)
    """How the last group joined each of the chains."""
    after: dict[tuple[int, ...], Stage | str] = field(default_factory=dict)
    """By kind of one more group, and the numbers of its buffers."""
    best: int | None = UNKNOWN
    """Which of the chains is worth it, if one is."""
    levels: list[int] = field(default_factory=list)
    """Those whose rows may be within one another's, that one among them."""


@dataclass(slots=True, eq=False)
class Tried:
    """Chains of the same groups."""

    begun: list[Begun]
    stage: Stage
    folds: bool
    buffers: dict[int, int] = field(default_factory=dict)
    """Numbers of the buffers, by id of the key."""
    leading: int = 0
    """So many groups make what sweeps begin with."""
    chains: list[Chain] | None = None
    """Made when somebody first needs them."""

    @classmethod
    def of(cls, one: Begun, first: Stage) -> Tried:
        """Of one group, a chain for each axis that its rows may lie along."""
        found = cls([one], first, one.group.fold is not None)
        where = found._where(one)
        stage = first.after.get(where)
        if stage is None:
            ways = [Way(k, d, 0, 0, 0, 0) for k, d in enumerate(one.kind.opens)]
            # (Of all axes as one, rows would be elements.)
            several = (f for f in one.kind.flats if f.shape[f.axis] < math.prod(f.shape))
            ways += [Way(k, f.axis, 0, 0, 0, 0, flat=f) for k, f in enumerate(several, len(ways))]
            stage = first.after[where] = Stage(first, ways)
        assert isinstance(stage, Stage)
        found.stage = stage
        return found

    def _where(self, one: Begun) -> tuple[int, ...]:
        number, buffers, where = self.buffers.setdefault, self.buffers, [one.kind.number]
        for key in one.keys:
            where.append(number(id(key), len(buffers)))
        return tuple(where)

    def follow(self, one: Begun, asked: Asked) -> str | None:
        """Let a group follow, in the chains that can have it; or why none can."""
        group = one.group
        if len(self.begun) - self.leading >= MOST:
            return f"{MOST} groups run together already"
        known = len(self.buffers)
        where = self._where(one)
        if len(where) == 1 or min(where[1:]) >= known:
            return "it uses nothing that the groups before use"
        turns, begun, first = group.memory.turns, list[Expr](), False
        if turns is not None and (begun := begun_of(self._groups(), group, turns)):
            first = not self.leading
            if not may_lead([b.group for b in self.begun[: self.leading or None]], begun, turns):
                return ANEW
        if group.stores and changes_what_stays(self._groups(), group, asked):
            return STAYS
        if first:
            where = *where, FIRST
        found = self.stage.after.get(where)
        if found is None:
            found = self.stage.after[where] = self._joined(one, begun if first else ())
        if isinstance(found, str):
            return found
        if first:
            self.leading = len(self.begun)
        if self.chains is not None:
            self.chains = _longer(self.chains, one, found)
        self.begun.append(one)
        self.stage, self.folds = found, self.folds or group.fold is not None
        return None

    def _groups(self) -> Iterator[Group]:
        return map(_GROUP, self.begun)

    def _joined(self, one: Begun, begun: Sequence[Expr]) -> Stage | str:
        """With one more group, which may be the first sweep that begins with what the others have `begun`."""
        if self.chains is None:
            self.chains = self._made()
        ways = _behind(self.chains, one, begun) if begun else ways_into(
            self.chains, one.group, one.touches, one.kind.flats
        )  # fmt: skip
        return ways if isinstance(ways, str) else Stage(self.stage, ways)

    def _made(self) -> list[Chain]:
        """The chains, as the stages say."""
        stages = [self.stage]
        while stages[-1].before is not None:
            stages.append(stages[-1].before)
        found: list[Chain] = []
        for one, stage in zip(self.begun, stages[-2::-1], strict=True):
            found = _longer(found, one, stage)
        return found

    def best(self, room: int) -> Chain | None:
        """If one of the chains is worth it: one whose rows are contiguous, and have room, and best one whose
        rows lie along several axes."""
        stage = self.stage
        if stage.best is None:
            return None                         # (so nearly always: no chain is made for that)
        chains = self._made() if self.chains is None else self.chains
        if stage.best == UNKNOWN:
            worth = [k for k, chain in enumerate(chains) if _saves(chain)]
            order = [(_fitness(chains[k], room), -chains[k].flat, k) for k in worth]
            stage.best = min(order)[-1] if order else None
            stage.levels = [] if stage.best is None else _levels(chains, stage.best)
        if stage.best is None:
            return None
        found = chains[stage.best]
        found.like = stage, len(self.begun)
        found.levels = tuple([chains[k] for k in stage.levels])
        return found


def _fitness(chain: Chain, room: int) -> int:
    """The less the better: rows are contiguous, or lie side by side, or too few of them have room."""
    if chain.spread:
        return 1
    return 0 if chain.lagging or 2 * chain.window() <= room else 2


def _levels(chains: Sequence[Chain], best: int) -> list[int]:
    """Which chains' rows lie along different axes in all groups, those with the longest way from row to row
    first: that one and others, where rows lie along several axes before those where they lie along one."""
    fit = [
        k for k, chain in enumerate(chains)
        if not chain.lagging and all(map(chain.standard, range(len(chain.groups))))
    ]
    if best not in fit or len(fit) == 1:        # (a row of one group is no row of another)
        return []
    found = [best]
    for k in sorted(fit, key=lambda k: -chains[k].flat):
        mine, places = chains[k], range(len(chains[k].groups))
        if k != best and all(
            mine.span(at).isdisjoint(chains[other].span(at)) for other in found for at in places
        ):
            found.append(k)
    return sorted(found, key=lambda k: -chains[k].stride())


def _behind(tried: Sequence[Chain], one: Begun, begun: Sequence[Expr]) -> list[Way] | str:
    """How the first sweep joins chains of groups that lead, or why it joins none."""
    touches = one.touches
    places = [(k, led(chain, one.group, touches, begun)) for k, chain in enumerate(tried)]
    fit = [(k, place) for k, place in places if place is not None]
    ways = ways_into([in_rows(tried[k], *place) for k, place in fit], one.group, touches)
    if isinstance(ways, str):
        return ANEW
    return [way._replace(chain=fit[way.chain][0], before=fit[way.chain][1][0]) for way in ways]


def _longer(tried: list[Chain], one: Begun, stage: Stage) -> list[Chain]:
    """Chains with one more group.  (Those without it are of no use any more.)"""
    touches = one.touches
    begin = not tried
    if begin:
        tried = [Chain([], [], [], 0) for _ in stage.ways]
    for way in stage.ways:
        chain, mine = tried[way.chain], way.touches(touches)
        if begin:
            chain.extent = mine[0].shape[way.axis]
            chain.flat = 0 if way.flat is None else chain.extent
        if way.before is not None:
            chain = tried[way.chain] = in_rows(chain, way.before, mine[0].shape[way.axis])
        chain.reach = max(chain.reach, way.apart)
        chain.add(one.group, way.axis, mine, way.lag, way.start, way.front)
    return [tried[way.chain] for way in stage.ways]


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
    windows = chain.windows(chain.leading)
    fits = next((n for n in range(every, 2, -1) if windows[n] * max(1, chain.reach) <= room), 2)
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


SHORT = 16
"""Rows are short if one element is at least one part in so many of what is read of one array."""


def _saves(chain: Chain) -> bool:
    """Is there a fold, or what is overwritten, and do two groups touch the same rows?

    One element a row counts only where rows are short: else it is little of what memory moves."""
    if not chain.lagging and not chain.folds:
        return False
    placed = list(zip(chain.axes, chain.touches, strict=True))
    most = max((t.row_bytes(axis) for axis, touches in placed for t in touches), default=0)
    seen: dict[int, list[tuple[Touch, int]]] = {}
    for axis, touches in placed:
        mine = []
        for t in touches:
            width, one = t.row_bytes(axis), t.itemsize
            if width > one or width * SHORT >= most > one:
                # (Others of a square array, perhaps, are of another axis: they come from memory again.)
                if any(chain.lagging or in_step(other, a, t, axis) for other, a in seen.get(id(t.key), ())):
                    return True
                mine.append((t, axis))
        for each in mine:
            seen.setdefault(id(each[0].key), []).append(each)
    return False
