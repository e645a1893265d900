"""Evaluations known at sight: a program that comes round again is compared with what it was, node by node.

In:  pending values that somebody asks for.   Out: what `ready.look` would say of it (`Met`), or None.
`look` makes a key of all that an evaluation depends on, and hashes it.  To compare the same things with what
they were the last time takes a third of that, since nothing is made: ops, geometries and constants' types are
the very objects, or it is not known at sight.
Always holds: what is known at sight has the key by which `look` has found its plan.
"""

from __future__ import annotations

import math
import sys
import weakref
from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy

from lazyarr.awaited import Awaited
from lazyarr.calls import Call
from lazyarr.compiler import COMPILER, numpy_ns
from lazyarr.config import plan_key
from lazyarr.error_state import buffer_size, ignores, look
from lazyarr.expr import COMPRESS, Expr, Gather, Read
from lazyarr.fusion.structure import by_contents
from lazyarr.geometry import FRESH
from lazyarr.habits import told_of
from lazyarr.pace import begins, ended, work_of
from lazyarr.plan import Plan
from lazyarr.plan_patterns import SIZES
from lazyarr.ready import Met, Way
from lazyarr.records import NamedTuple

MOST = 1024
"""Last nodes; all are forgotten when there are more."""

EACH = 4
"""Evaluations that end with the same node."""

MOST_ROOTS = 8
"""Values that are asked for."""

SWIFT_PAYS = 100
"""Evaluations known at sight, after which machine code for them is looked for in the cache."""

SWIFT_WRITING_PAYS = 100
"""Evaluations after which it is compiled, in 27 ms.  That comes back after 2,000 evaluations, or 250 where
large data goes through the caches; but then it is there for all processes that come."""

SETTLED, LOOKED = 4, 256
"""The how manieth time the code is told of an evaluation, and after how many more again."""

LEAF, NODE, AGAIN, CONSTANT = range(4)
"""What an input is: a value met for the first time, that exists or is to be computed; one of those met
before; no array."""


class Kept(NamedTuple):
    """How the elements that a mask keeps are seen, where any number of them has the same plan."""

    char: str


class Sight:
    """An evaluation, as it looks from its last node."""

    __slots__ = (
        "band", "buffers", "calls", "ignored", "key", "launches", "leaves", "nodes", "order", "others",
        "over", "pins", "plan", "roots", "row", "seen", "share", "state", "stored", "way", "work",
    )  # fmt: skip

    nodes: list[tuple[int, Any, Any, tuple[tuple[int, int, Any], ...], bool, int]]
    """Of each, those that are asked for first: its place among the values met, op, region, inputs; is it
    stored, and how many of the others read it?  An input: what it is, its place, and how it is seen (or its
    type)."""
    roots: int
    """How many are asked for."""
    order: tuple[int, ...]
    """The places of the nodes, in program order."""
    leaves: tuple[int, ...]
    """And of the leaves, as a plan numbers them."""
    over: dict[int, int]
    """The place of what a node writes over, by the node's."""
    key: tuple[Any, ...]
    pins: list[Any]
    calls: dict[int, Call]
    stored: list[bool]
    plan: weakref.ref[Plan]
    way: weakref.ref[Way]
    ignored: list[bool] | None
    """These are the fields of `Met`."""
    state: object
    """`config.plan_key` of then: any other is another object."""
    buffers: int
    """And `error_state.buffer_size`."""
    share: float
    """How much of the time for all nodes is the first one's, to NumPy."""
    work: float
    """And what it would take for all of them, in seconds (`pace`)."""
    band: int | None
    """Which of `SIZES` the number of kept elements is beyond, where it may be another one."""
    others: set[int]
    """The numbers of elements of all else then."""
    seen: int
    """How often Python has seen it again."""
    row: Any
    """What machine code knows of it, and of how many launches of two it does not."""
    launches: int


class Swift(Awaited):
    """Machine code for evaluations known at sight, once there were enough of them that Python did."""

    def __init__(self) -> None:
        super().__init__(SWIFT_PAYS, SWIFT_WRITING_PAYS)
        self.evaluate: Any = None
        """Function (nodes, `config.plan_key`) -> True if they are computed; None: Python is to do it; False:
        likewise, but some may be computed by now."""
        self.code: Any = None

    def load(self, compiles: bool) -> bool:
        from lazyarr.swift_sight import load

        self.code = load(compiles)
        if self.code is not None:
            self.evaluate = self.code.evaluate
        return self.code is not None

    def tell(self, seconds: float) -> None:
        """Let the habit know, if the last evaluation tells about one, which took so long."""
        told = told_of(*self.code.last())
        if told is not None:
            habit, building, share = told
            habit.ran_alone((building + seconds) * share)

    def looked(self, seconds: float) -> None:
        """Let those know who look how long evaluations take."""
        work = self.code.work()
        if work is not None:
            begins(work, known=True)
        ended(seconds)


SWIFT = Swift()

_NBYTES = attrgetter("nbytes")


_sights: dict[tuple[int, int], list[Sight]] = {}

_noted: set[tuple[Any, ...]] = set()
"""Keys of what was noted."""


def at_sight(roots: Sequence[Expr]) -> Met | None:
    """What `ready.look` says of values, if they look as others did before."""
    root = roots[0]
    known = _sights.get((id(root.op), id(root.region)))
    if known is None or COMPILER.usable is False or sys.is_finalizing():
        return None
    for sight in reversed(known):               # (the last one most likely comes again)
        values = _values(sight, roots)
        if values is None or (sight.band is not None and not _like_kept(sight, values)):
            continue
        plan, way = sight.plan(), sight.way()
        if plan is None or way is None or sight.state is not plan_key() or sight.buffers != look()[6]:
            _noted.discard(sight.key)           # (first: a signal's handler may raise)
            known.remove(sight)
            return None
        nodes = [*map(values.__getitem__, sight.order)]
        kept = _kept(sight, nodes, values)
        if kept is None:
            continue
        if sight.ignored is not None and sight.ignored != [ignores(node.errors) for node in nodes]:
            continue
        if sight is not known[-1]:
            at = known.index(sight)
            known[at:] = *known[at + 1 :], sight        # (at once: a signal's handler may raise)
        leaves = [*map(values.__getitem__, sight.leaves)]
        if SWIFT.code is None:
            SWIFT.hear(nbytes=max(map(_NBYTES, leaves), default=0))
        else:
            sight.seen += 1
            one = way[0] if len(way) == 1 else None
            if one is not None:
                more = sight.row is not None and sight.launches != one.bound.count(None)
                if more or sight.seen % LOOKED == SETTLED:
                    sight.launches = one.bound.count(None)
                    SWIFT.code.know(sight, values, one)
        stored, share = sight.stored, sight.share
        return Met(
            nodes, leaves, sight.key, sight.pins, kept, sight.calls, stored, plan, way, share, None,
            None if sight.band is None else sight.key,
        )  # fmt: skip
    return None


def _values(sight: Sight, roots: Sequence[Expr]) -> list[Any] | None:
    """The values of an evaluation, in the order in which they are met; None if it is another one."""
    values: list[Any] = [*roots]
    if len(values) != sight.roots:
        return None
    for place_of_node, op, region, inputs, _, _ in sight.nodes:
        node = values[place_of_node]
        if node.op is not op or (node.old is not None) is not (place_of_node in sight.over):
            return None
        if node.region is not region and not _is_like(node.region, region):
            return None
        for i, (kind, place, seen) in zip(node.inputs, inputs, strict=False):
            if i.__class__ is not Read:
                if i.__class__ is not seen:
                    return None
                continue
            value, geo = i.expr, i.geo
            if geo is not seen and not _is_like(geo, seen):
                return None
            if kind == AGAIN:
                if values[place] is not value:
                    return None
                continue
            if kind == LEAF:
                buf = value.buf
                if value.op is not None or buf is None or buf.is_odd():
                    return None
            elif kind == CONSTANT:
                return None
            values.append(value)
    for place, below in sight.over.items():
        if values[place].old is not values[below] or not values[place].covers:
            return None
    return values if len({*map(id, values)}) == len(values) else None


def _is_like(geo: Any, seen: Any) -> bool:
    """Does a geometry look as what was seen, which is another object?"""
    if seen.__class__ is tuple:
        return id(geo) not in FRESH and by_contents(geo) == seen
    return seen.__class__ is Kept and id(geo) in FRESH and geo.ndim == 1 and geo.dtype.char == seen.char


def _like_kept(sight: Sight, values: list[Any]) -> bool:
    """Are all that are seen as kept elements as many, and nothing else?"""
    n = 0
    for at, _, region, inputs, _, _ in sight.nodes:
        node = values[at]
        geos = [node.region] if region.__class__ is Kept else []
        geos += [i.geo for i, (_, _, seen) in zip(node.inputs, inputs, strict=True) if seen.__class__ is Kept]
        for geo in geos:
            n = n or geo.shape[0]
            if geo.shape[0] != n:
                return False
    return n not in sight.others and bisect_left(SIZES, n) == sight.band


def _kept(sight: Sight, nodes: list[Expr], values: list[Any]) -> bool | None:
    """Does an array that seems to be a temporary hold a node that is not stored?  None if others are stored
    than before, or the nodes have another order."""
    kept, before = False, 0
    for node in nodes:
        if node.serial < before:
            return None
        before = node.serial
    for at, _, _, _, expected, readers in sight.nodes[sight.roots:]:
        node, stored = values[at], False
        storage = None if node.home is None else node.home()
        if storage is not None and storage.value is node:
            stored = not storage.dying or node.spared
            kept = kept or not stored
        if not stored and len(node.readers) != readers:
            for ref in node.readers:
                reader = ref()
                if reader is not None and reader.op is not None and reader not in nodes:
                    stored = True
        if stored is not expected:
            return None
    return kept


def note(met: Met, roots: Sequence[Expr]) -> None:
    """Remember what the evaluation of some values looks like, whose plan `look` has found.

    One that was noted before and is not known at sight has ops of its own each time."""
    plan: Plan | None = met.plan
    assert plan is not None and met.way is not None
    if met.key in _noted or len({*map(id, roots)}) < len(roots) or len(roots) > MOST_ROOTS:
        return
    if len(_noted) >= MOST:
        _noted.clear()
    looks = _looks(met, roots)
    if looks is None:
        _noted.add(met.key)
        return
    sight = Sight()
    sight.nodes, places = looks
    sight.roots = len(roots)
    sight.order = tuple([places[id(node)] for node in met.nodes])
    sight.leaves = tuple([places[id(leaf)] for leaf in met.leaves])
    sight.over = {sight.order[k]: sight.order[old] for k, old in met.over}
    works = [*map(numpy_ns, met.nodes)]
    sight.share, sight.work = works[0] / sum(works), work_of(met.nodes)
    sight.ignored, sight.band, sight.others = met.ignored, None, set()
    if met.key == met.counted:
        _forget_count(sight, met)
    sight.state, sight.buffers = plan_key(), buffer_size()
    sight.key, sight.pins, sight.calls, sight.stored = met.key, met.pins, met.calls, met.stored
    sight.seen, sight.row, sight.launches = 0, None, 2
    sight.plan, sight.way = weakref.ref(plan), weakref.ref(met.way)
    if len(_sights) >= MOST:
        _sights.clear()
        _noted.clear()
    known = _sights.setdefault((id(roots[0].op), id(roots[0].region)), [])
    known.append(sight)
    del known[:-EACH]
    _noted.add(met.key)                         # (last: a signal's handler may raise)


def _forget_count(sight: Sight, met: Met) -> None:
    """Let any number of elements be kept."""
    (n,) = {node.region.shape[0] for node in met.nodes if node.op is COMPRESS}      # type: ignore[union-attr]
    sight.band = bisect_left(SIZES, n)

    def seen(geo: Any) -> Any:
        if geo.__class__ is not numpy.ndarray:
            sizes = () if geo.__class__ is type else (math.prod(geo[0]),)
            sight.others.update(sizes)
            return geo
        if geo.size == n:
            return Kept(geo.dtype.char)
        sight.others.add(geo.size)
        return geo

    sight.nodes = [
        (at, op, seen(region), tuple([(kind, place, seen(geo)) for kind, place, geo in inputs]), *more)
        for at, op, region, inputs, *more in sight.nodes
    ]


def _looks(met: Met, roots: Sequence[Expr]) -> tuple[list[Any], dict[int, int]] | None:
    """The `nodes` of a `Sight`, and the places of values by identity; None for what makes a difference beyond
    that."""
    places: dict[int, int] = {id(root): k for k, root in enumerate(roots)}
    numbers = {id(node): k for k, node in enumerate(met.nodes)}
    readers, todo, found = [0] * len(roots), [*roots], list[Any]()
    while todo:
        node = todo.pop(0)
        inputs: list[tuple[int, int, Any]] = []
        for i in node.inputs:
            if i.__class__ is not Read:
                inputs.append((CONSTANT, 0, i.__class__))
                continue
            value: Any = i.expr
            seen = i.geo if id(i.geo) in FRESH else by_contents(i.geo)
            if id(value) in places:
                inputs.append((AGAIN, places[id(value)], seen))
                continue
            if value.op is None and value.buf.is_odd():
                return None                     # (where it begins makes a difference)
            place = places[id(value)] = len(readers)
            readers.append(0)
            if value.op is not None:
                todo.append(value)
            inputs.append((LEAF if value.op is None else NODE, place, seen))
        if id(node.region) not in FRESH or node.op.__class__ is Gather:
            return None
        for place in {place for kind, place, _ in inputs if kind != CONSTANT}:
            readers[place] += 1
        found.append((places[id(node)], node.op, node.region, tuple(inputs), met.stored[numbers[id(node)]]))
    return [(*each, readers[each[0]]) for each in found], places
