"""Again: a value that several groups use is computed in each of them, where that moves fewer bytes than to
store it once and to load it again.

In:  the groups of a partition, and which of them rows of blocks join.   Out: the same groups, some of which
compute again what another one has computed.
The second pass of ``(v * 2).std()`` reads `v`, as the first did, and nobody stores ``v * 2``.  Only what
costs less than memory does is computed twice: elementwise, by code of ours.  Who computes it first has told
of its flags; nobody tells of them again (`plan.Step.shared`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter

import numpy

from lazyarr.expr import Expr, Map, Read, Reduce
from lazyarr.fusion.group import Access, Group, View, region_of
from lazyarr.fusion.partition import MAX_NODES
from lazyarr.fusion.reindex import CROSSING, crossed, reindex, spread
from lazyarr.fusion.uniting import BYTES_PER_NS, ns_of
from lazyarr.geometry import same
from lazyarr.ops import native
from lazyarr.records import NamedTuple
from lazyarr.switches import is_node_off

MOST = 16
"""Operations that are done again for one value: more cost more than memory does."""

Chained = Mapping[int, Collection[int]]
"""For the number of a group that runs in row blocks with others: theirs, its own among them."""


class Repeat(NamedTuple):
    """A value that pays to be computed in all groups that read it."""

    value: Expr
    made: list[Expr]
    """It, and what it is made of in registers, in program order."""
    loads: list[tuple[Expr, numpy.ndarray]]
    """What these load, and where, over the maker's space."""
    maker: Group
    readers: list[Group]
    views: list[View]
    """How each of the readers sees the maker's space."""


_NBYTES = attrgetter("nbytes")

LEAST = 1 << 15
"""Bytes of a value for which that may pay: smaller ones stay in the first-level cache."""


def any_large(nodes: Sequence[Expr]) -> bool:
    """Is there any value for which it may pay?"""
    most: int = max(map(_NBYTES, nodes))
    return most >= LEAST


def repeats(
    groups: Sequence[Group], stored: Collection[int], asked: Collection[int], chained: Chained,
    apart: Collection[int] = (),
) -> Iterator[Repeat]:
    """What pays to compute again: not what rows of blocks keep in the cache, nor, through a view, what is to
    stay `apart` (`outline.Barred`).  (Groups may be changed by it before the next is asked for.)"""
    passing = {n.serial for g in groups for n in g.nodes if n.nbytes >= LEAST and n.serial in stored}
    passing.difference_update(asked)
    if not passing:
        return
    passing -= {n.old.serial for g in groups for n in g.nodes if n.old is not None and not n.covers}
    readers: dict[int, list[Group]] = {}
    for group in groups:
        for access in group.loads:
            serial = access.value.serial
            if serial in passing:
                mine = readers.setdefault(serial, [])
                if not mine or mine[-1] is not group:
                    mine.append(group)
    for group in groups:
        if group.opaque or group.unit is not None:
            continue
        for node in [n for n in group.nodes if n.serial in readers]:
            found = readers[node.serial]
            together = {*chained.get(group.number, ())}
            if node.serial not in stored or together.issuperset(g.number for g in found):
                continue            # (some groups compute it by now)
            repeat = _repeat(node, group, found, groups, stored, apart)
            if repeat is not None:
                yield repeat


def repeat(
    groups: list[Group], stored: set[int], asked: Collection[int], chained: Chained, apart: Collection[int]
) -> bool:
    """Let groups compute again what it pays to; is there any?"""
    found = False
    for each in repeats(groups, stored, asked, chained, apart):
        found = True
        stored.discard(each.value.serial)
        for group, view in zip(each.readers, each.views, strict=True):
            _enter(each, group, view)
        _leave(each, stored)
    if not all(group.nodes for group in groups):
        _renumber(groups)
    for group in groups if found else ():
        group.refusals = [r._replace(serial=group.nodes[0].serial) for r in group.refusals]
    return found


def _repeat(
    value: Expr, maker: Group, readers: list[Group], groups: Sequence[Group], stored: Collection[int],
    apart: Collection[int],
) -> Repeat | None:
    """A value as one that is computed in all groups that read it, if that can be, and pays."""
    made = _made_of(value, maker, stored)
    if made is None:
        return None
    loads = list(_loads(made, maker))
    keys = {id(maker.memory.key(v)) for v, _ in loads}
    between = groups[maker.number : readers[-1].number + 1]
    if any(id(a.key) in keys for g in between for a in g.stores):
        return None
    saved, views = float(value.nbytes), list[View]()
    for group in readers:
        view = _view(value, maker, group)
        if view is None or len(group.nodes) + len(made) > MAX_NODES:
            return None
        if view is not _as_it_is and any(node.serial in apart for node in made):
            return None
        seen = [view(geo) for _, geo in loads]
        if any(geo is None for geo in seen) or _crosses(group, seen):
            return None
        if not all(_fits(node, maker, group, view) for node in made):
            return None
        ns = sum(map(ns_of, made)) * math.prod(group.shape)
        saved += value.nbytes - ns * BYTES_PER_NS - sum(
            _visited(geo) for (v, _), geo in zip(loads, seen, strict=True) if not _has(group, v, geo)
        )
        views.append(view)
    return Repeat(value, made, loads, maker, readers, views) if saved > 0 else None


def _is_cheap(node: Expr) -> bool:
    op = node.op
    return (
        isinstance(op, Map) and node.old is None and not node.masked and native(op.name, op.sig)
        and not is_node_off("fusion", node.serial) and region_of(node).size > 0
    )  # fmt: skip


def _made_of(value: Expr, maker: Group, stored: Collection[int]) -> list[Expr] | None:
    """A value and what it is made of in registers, in program order; None where some of that is dear."""
    mine = {n.serial for n in maker.nodes}
    found: dict[int, Expr] = {}
    todo = [value]
    while todo:
        node = todo.pop()
        if node.serial in found:
            continue
        if not _is_cheap(node) or len(found) == MOST:
            return None
        found[node.serial] = node
        todo += [v for v in node.needs() if v.serial in mine and v.serial not in stored]
    return [found[serial] for serial in sorted(found)]


def _leave(repeat: Repeat, stored: Collection[int]) -> None:
    """Take from the maker what it computes for others alone: no more than what they compute.

    (What nobody needs at all stays: a thread may have let go of it since it was to be computed.)"""
    maker, theirs = repeat.maker, {node.serial for node in repeat.made}
    live: set[int] = set()
    for node in reversed(maker.nodes):
        serial = node.serial
        if serial not in theirs or serial in stored or serial in live:
            live.add(serial)
            live.update(v.serial for v in node.needs())
    if all(node.serial in live for node in maker.nodes):
        return
    maker.nodes = [node for node in maker.nodes if node.serial in live]
    mine = {node.serial for node in maker.nodes}
    read = {v.serial for node in maker.nodes for v in node.needs() if v.serial not in mine}
    maker.loads = [a for a in maker.loads if a.value.serial in read]


def _renumber(groups: list[Group]) -> None:
    """Forget the groups of which nothing is left."""
    groups[:] = [group for group in groups if group.nodes]
    number = {group.number: k for k, group in enumerate(groups)}
    for group in groups:
        group.number = number[group.number]
        group.refusals = [r._replace(group=number.get(r.group, -1)) for r in group.refusals]


def _loads(made: Sequence[Expr], maker: Group) -> Iterator[tuple[Expr, numpy.ndarray]]:
    """What the operations load, and where, over the maker's space."""
    inside = {n.serial for n in made}
    for node in made:
        for i, geo in zip(node.inputs, maker.placed[node.serial].reads, strict=True):
            if isinstance(i, Read) and i.expr.serial not in inside:
                assert geo is not None
                yield i.expr, geo


def _view(value: Expr, maker: Group, group: Group) -> View | None:
    """How a group that reads a value sees the maker's space; None if its loops cannot compute the value."""
    fold = group.fold
    if (
        group.opaque or group.unit is not None or group.edge or group.scatters
        or (fold is not None and not isinstance(fold.op, Reduce))
    ):  # fmt: skip
        return None
    seen = [a.geo for a in group.loads if a.value is value]
    made = maker.placed[value.serial].region
    if any(not same(geo, seen[0]) for geo in seen) or any(a.value is value for a in group.stores):
        return None
    if maker.shape == group.shape and same(seen[0], made):
        return _as_it_is
    return reindex(spread(made, maker.shape), spread(seen[0], group.shape))


def _fits(node: Expr, maker: Group, group: Group, view: View) -> bool:
    """Does a group that computes a node for another value already do so where this view has it?"""
    if all(n is not node for n in group.nodes):
        return True
    mine, theirs = group.placed[node.serial], maker.placed[node.serial]
    seen = theirs if view is _as_it_is else theirs.through(view)
    return seen is not None and same(mine.region, seen.region)


def _as_it_is(geo: numpy.ndarray) -> numpy.ndarray:
    return geo


def _crosses(group: Group, seen: Sequence[numpy.ndarray | None]) -> bool:
    """Would loops stride across more large operands than they do?"""
    if math.prod(group.shape) < CROSSING:
        return False
    theirs = [a.geo for a in (*group.loads, *group.stores)]
    more = [*theirs, *(geo for geo in seen if geo is not None)]
    before, after = (crossed(g for g in geos if g.shape == group.shape) for geos in (theirs, more))
    return after > before


def _has(group: Group, value: Expr, geo: numpy.ndarray | None) -> bool:
    return geo is not None and any(a.value is value and same(a.geo, geo) for a in group.loads)


def _visited(geo: numpy.ndarray | None) -> int:
    """Bytes of the different elements that are loaded."""
    assert geo is not None
    elements: int = math.prod(n for n, s in zip(geo.shape, geo.strides, strict=True) if s)
    return elements * geo.itemsize


def _enter(repeat: Repeat, group: Group, view: View) -> None:
    """Have a group compute a value in the place of loading it."""
    value, made, loads, maker = repeat[:4]
    group.loads = [a for a in group.loads if a.value is not value]
    group.places.pop(id(group.memory.key(value)), None)
    known = {n.serial for n in group.nodes}
    for node in made:
        if node.serial in known:
            continue
        placed = maker.placed[node.serial]
        seen = placed if view is _as_it_is else placed.through(view)
        assert seen is not None
        group.placed[node.serial] = seen
        group.nodes.append(node)
        if view is not _as_it_is or node.serial in maker.bridged:
            group.bridged |= {node.serial}
    group.nodes.sort(key=lambda n: n.serial)
    for v, geo in loads:
        there = view(geo)
        assert there is not None
        if not _has(group, v, there):
            group.loads.append(Access(v, group.memory.key(v), there))
