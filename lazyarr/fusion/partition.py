"""Partition: pending nodes -> fusion groups, each of which becomes one parfor.

In:  the nodes to run, in program order.   Out: `Group`s in an order that keeps all dependences.
Greedy and linear: a node joins the last group that it depends on, or one of the latest groups, if
its iteration space is the group's, perhaps seen through a view (`reindex`), and no access conflicts;
otherwise it opens a new group.  Since a node never joins a group earlier than one of its inputs', group
numbers are a topological order.

Dependences of a node: its inputs (flow), and for a write also every reader of the value that it
overwrites (anti).  What was refused, and why, is kept in `Group.refusals` for `explain`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy

from lazyarr.draws import DRAWS
from lazyarr.dtypes import char_of
from lazyarr.expr import ELEMENTWISE, FOLDS, Compress, Expr, Gather, Map, Read, Reduce, Tally
from lazyarr.fusion.alias import anywhere, disjoint, injective, memory_key
from lazyarr.fusion.fold import fold_order, stricter
from lazyarr.fusion.group import Access, Group, Placed, Refusal, region_of
from lazyarr.fusion.reindex import crossed, reindex, spread
from lazyarr.geometry import in_order, same
from lazyarr.reduce_order import Order

MAX_NODES = 128
"""Nodes of one kernel: compile time grows with the body, the gain from fusing does not."""

LOOK_BACK = 8
"""Groups that are tried for a node: more would make partition quadratic."""

CROSSING = 1 << 17
"""Elements from which on it matters that memory is read in its own order."""

_epochs = itertools.count()


Lowerable = Callable[[Expr], str | None]
"""Why a node has no native lowering, or None if it has one."""


@dataclass(slots=True, eq=False)
class Partition:
    groups: list[Group]
    stored: set[int]
    """Serials of the nodes whose values must exist in memory afterwards."""
    epoch: int


Asked = Callable[[Expr], bool]
"""Does somebody outside ask for the value, now or later?"""


def partition(
    nodes: list[Expr], asked: Asked, refuse: Lowerable, apart: Collection[int] = (),
    alone: Collection[int] = (),
) -> Partition:
    """Put `nodes` (pending, in program order) into groups; those that are `asked` for must be stored.

    Nodes whose serials are in `apart` join no group through a view; those in `alone` share none."""
    found = _attempt(nodes, Terms(asked, refuse, LOOK_BACK, apart, alone))
    outside = {n.serial for n in nodes if asked(n)}
    if any(_crowded(g, found.stored - outside) for g in found.groups):
        return _attempt(nodes, Terms(asked, refuse, 0, apart, alone))
    return found


class Terms(NamedTuple):
    """What decides about joining, besides the nodes."""

    asked: Asked
    refuse: Lowerable
    look_back: int
    """Groups that a node may join though it does not depend on them."""
    apart: Collection[int]
    alone: Collection[int]


def _crowded(group: Group, passing: set[int]) -> bool:
    """Does a group make more arrays that only later groups read than NumPy would hold at a time?"""
    sizes = [n.nbytes for n in group.nodes if n.serial in passing and n.old is None]
    return len(sizes) > 2 and sum(sizes) > 2 * max(sizes)


def _attempt(nodes: list[Expr], terms: Terms) -> Partition:
    epoch, asked = next(_epochs), terms.asked
    groups: list[Group] = []
    stored = {n.serial for n in nodes if asked(n)}
    last_reader: dict[int, int] = {}    # id(memory key) -> last group that loads it
    for node in nodes:
        group, placed = _place(node, groups, last_reader, epoch, terms)
        group.nodes.append(node)
        group.placed[node.serial] = placed
        node.epoch, node.index = epoch, group.number
        for value, geo in _memory_reads(node, placed, group, epoch):
            key = memory_key(value)
            group.loads.append(Access(value, key, geo))
            last_reader[id(key)] = max(group.number, last_reader.get(id(key), -1))
            if value.op is not None:
                stored.add(value.serial)
        if node.old is not None:
            group.stores.append(Access(node, memory_key(node.old), placed.region))
            if node.masked:
                group.merged.add(id(memory_key(node.old)))
            if not node.covers and node.old.op is not None:
                stored.add(node.old.serial)
    stored.update(node.serial for node in nodes if node.old is not None and not node.covers)
    for group in groups:
        stored -= {first.serial for first in _replaced(group) if not asked(first)}
    return Partition(groups, stored, epoch)


def _replaced(group: Group) -> list[Expr]:
    """Nodes whose elements a later node of the group writes again.

    Where nobody else asks for them they are not stored: so a group stores each element once, and its
    stores may happen in any order."""
    found: list[Expr] = []
    regions = {serial: placed.region for serial, placed in group.placed.items()}
    for at, first in enumerate(group.nodes):
        for node in group.nodes[at + 1 :]:
            if node.old is not None and _follows(node.old, first) and same(
                regions[node.serial], regions[first.serial]
            ):
                found.append(first)
                break
    return found


def _follows(value: Expr | None, first: Expr) -> bool:
    """Is it `first`, or made from it by writes?"""
    while value is not None and value.serial > first.serial:
        value = value.old
    return value is first


def draws(node: Expr) -> bool:
    """Is it a draw of random numbers?"""
    return isinstance(node.op, Map) and node.op.name in DRAWS


def space(node: Expr) -> tuple[int, ...]:
    """The iteration space of a node: what it writes, or for a fold or a compression what it reads."""
    if isinstance(node.op, FOLDS):
        first = node.inputs[0]
        assert isinstance(first, Read)
        return first.geo.shape
    return region_of(node).shape


def forwards(value: Expr, geo: numpy.ndarray, group: Group, epoch: int) -> bool:
    """Can the value pass from producer to consumer in a register?"""
    return (
        not group.opaque
        and _in(value, group, epoch)
        and isinstance(value.op, ELEMENTWISE)
        and same(geo, group.placed[value.serial].region)
    )


def _in(value: Expr, group: Group, epoch: int) -> bool:
    """Is this pending value made by the group?"""
    return value.op is not None and value.epoch == epoch and value.index == group.number


def _reads(node: Expr, placed: Placed) -> list[tuple[Expr, numpy.ndarray]]:
    """The values that a node reads, and where."""
    if isinstance(node.op, Gather):
        table = node.inputs[0]
        assert isinstance(table, Read)
        places: tuple[numpy.ndarray | None, ...] = (anywhere(table.geo), *placed.reads[1:])
        placed = placed._replace(reads=places)
    return [
        (i.expr, geo) for i, geo in zip(loop_inputs(node), placed.reads, strict=False)
        if isinstance(i, Read) and geo is not None
    ]


def loop_inputs(node: Expr) -> tuple[Read | numpy.generic, ...]:
    """What a node reads element by element: a compression's ranks belong to the launch."""
    return node.inputs[:2] if isinstance(node.op, Compress) else node.inputs


def _memory_reads(
    node: Expr, placed: Placed, group: Group, epoch: int
) -> list[tuple[Expr, numpy.ndarray]]:
    return [(v, geo) for v, geo in _reads(node, placed) if not forwards(v, geo, group, epoch)]


def _place(
    node: Expr, groups: list[Group], last_reader: dict[int, int], epoch: int, terms: Terms
) -> tuple[Group, Placed]:
    floor = _floor(node, last_reader, epoch)
    why = terms.refuse(node) or _own_conflict(node)
    refusals = [] if why is None else [Refusal(node.serial, why)]
    if why is None:
        for group in _candidates(groups, floor, terms.look_back):
            found = _join(node, group, epoch, terms)
            if isinstance(found, Placed):
                if isinstance(node.op, FOLDS):
                    group.fold = _leader(node, group.fold)
                return group, found
            if group.number == floor:
                refusals.append(Refusal(node.serial, found))
    group = Group(len(groups), space(node), opaque=why is not None, refusals=refusals)
    if isinstance(node.op, FOLDS) and not group.opaque:
        group.fold = node
    groups.append(group)
    return group, Placed.plainly(node)


def _floor(node: Expr, last_reader: dict[int, int], epoch: int) -> int:
    """The last group that must not run after this node."""
    floor = -1
    for value in (*(i.expr for i in node.inputs if isinstance(i, Read)), node.old):
        if value is not None and value.op is not None and value.epoch == epoch:
            floor = max(floor, value.index)
    if node.old is not None:
        floor = max(floor, last_reader.get(id(memory_key(node.old)), -1))
    return floor


def _candidates(groups: list[Group], floor: int, look_back: int) -> list[Group]:
    """Groups that a node may join without running before what it depends on: the one that makes its
    inputs first, since values pass in registers there, then the latest.

    Without `look_back` only the very last: then a group is a piece of the program as it was written, and
    holds no more at a time than NumPy did."""
    if not look_back:
        return groups[-1:]
    later = groups[:floor:-1][:look_back] if floor >= 0 else groups[::-1][:look_back]
    return [groups[floor], *later] if floor >= 0 else later


def _join(node: Expr, group: Group, epoch: int, terms: Terms) -> Placed | str:
    """How the group's loops see a node that joins it, or why it cannot.

    The group may take the node's space for that."""
    if group.opaque:
        return "an input is made by NumPy"
    if terms.alone and any(n.serial in terms.alone for n in (node, *group.nodes)):
        return "random numbers are drawn in the order of their stream, many at a time"
    if group.fold is not None and not isinstance(group.fold.op, Reduce):
        return "elements are counted or kept in a kernel of its own"
    if len(group.nodes) >= MAX_NODES:
        return f"the kernel has {MAX_NODES} nodes already"
    shape, plain, asked = space(node), Placed.plainly(node), terms.asked
    link = _link(node, group, epoch)
    # (What counts or keeps elements runs block by block, in C order of its own space.)
    views = node.serial not in terms.apart and not isinstance(node.op, Tally | Compress)
    if shape == group.shape and (link is None or same(*link) or not views):
        return _conflict(node, plain, group, epoch, asked) or plain
    if link is None or not views:
        return f"iteration space {shape} is not {group.shape}"
    seen, made = spread(link[0], shape), spread(link[1], group.shape)
    view = reindex(seen, made)
    if view is None:
        return _elsewhere(shape, group.shape)
    placed = None if isinstance(node.op, Reduce) else plain.through(view)
    if placed is not None:
        why = _strides_apart(node, placed, group, epoch) or _conflict(node, placed, group, epoch, asked)
        if why is None:
            group.bridged.add(node.serial)
        return why or placed
    back = None if group.fold is not None else reindex(made, seen)
    moved = None if back is None else group.through(back, shape)
    if moved is None:
        return f"no view takes {shape} to {group.shape} for all operands"
    why = _strides_apart(node, plain, moved, epoch) or _conflict(node, plain, moved, epoch, asked)
    if why is None:
        group.become(moved)
        group.bridged.add(node.serial)
    return why or plain


def _elsewhere(shape: tuple[int, ...], other: tuple[int, ...]) -> str:
    if shape == other:
        return "reads a value of the group at other elements"
    return f"iteration space {shape} is not {other}"


def _strides_apart(node: Expr, placed: Placed, group: Group, epoch: int) -> str | None:
    """Would one loop nest stride across more large operands than two do, with the value that passes
    between them stored?"""
    if math.prod(group.shape) < CROSSING:
        return None
    link = _link(node, group, epoch)
    assert link is not None
    theirs = [a.geo for a in (*group.loads, *group.stores)]
    mine = [geo for _, geo in _memory_reads(node, placed, group, epoch)]
    if not isinstance(node.op, Reduce):
        mine.append(placed.region)
    between = [link[1]]
    together, one, other = (
        crossed(g for g in geos if g.shape == group.shape)
        for geos in (theirs + mine, theirs + between, mine + between)
    )
    if together > one + other:
        return "its operands lie in another order of axes"
    return None


def _link(node: Expr, group: Group, epoch: int) -> tuple[numpy.ndarray, numpy.ndarray] | None:
    """A value of the group that the node needs: as the node's space and as the group's space has it."""
    inputs = node.inputs[1:] if isinstance(node.op, Gather) else loop_inputs(node)
    needs = [(i.expr, i.geo) for i in inputs if isinstance(i, Read)]
    if node.old is not None and not node.covers:
        needs.append((node.old, region_of(node)))
    for value, geo in needs:
        if _in(value, group, epoch) and isinstance(value.op, ELEMENTWISE):
            return geo, group.placed[value.serial].region
    return None


def _conflict(
    node: Expr, placed: Placed, group: Group, epoch: int, asked: Asked
) -> str | None:
    """Why a node cannot run in the loops of a group, which have its space."""
    if group.fold is not None and node.old is not None and _overwrites(node, group):
        return "a fold may visit elements twice, and this changes what the group reads"
    if isinstance(node.op, FOLDS):
        read = {id(a.key) for a in group.loads}
        read |= {id(memory_key(value)) for value, _ in _memory_reads(node, placed, group, epoch)}
        written = [id(a.key) for a in group.stores]
        # (One masked write leaves or computes the same again; two might build on each other.)
        if not read.isdisjoint(written) or any(written.count(key) > 1 for key in group.merged):
            return "a fold may visit elements twice, and the group changes what it reads"
        if _leader(node, group.fold) is None:
            return "folds other axes, or in another order, than the group"
    for value, geo in _memory_reads(node, placed, group, epoch):
        if _in(value, group, epoch):
            return "reads a value of the group at other elements"
        key = memory_key(value)
        for access in group.stores:
            if access.key is key and not _harmless(access.geo, geo):
                return "reads memory that the group writes, at other elements"
    if node.old is not None:
        old, key, region = node.old, memory_key(node.old), placed.region
        if not node.covers and old is key and _in(old, group, epoch) and not same(
            group.placed[old.serial].region, region
        ):
            return "changes a part of what the group makes"
        if not node.covers and _in(old, group, epoch) and asked(old):
            return "somebody else still reads the value that it changes: a copy of it must exist first"
        for access in (*group.loads, *group.stores):
            if access.key is key and not _harmless(access.geo, region):
                return "writes memory that the group uses, at other elements"
    return _cannot_repeat(node, group, epoch, asked)


def _cannot_repeat(node: Expr, group: Group, epoch: int, asked: Asked) -> str | None:
    """Why what counts or keeps elements in C order cannot take a group in.

    The chunks of a compression's reader may need the same block of it, so the group may run twice
    for some elements: it must store nothing."""
    if not isinstance(node.op, FOLDS) or isinstance(node.op, Reduce):
        return None
    if not all(in_order(i.geo) for i in loop_inputs(node) if isinstance(i, Read)):
        return "memory lies in another order than C"
    if isinstance(node.op, Compress) and not all(_passes(n, node, group, epoch, asked) for n in group.nodes):
        return "somebody else may ask for what the group makes"
    return None


def _passes(node: Expr, reader: Expr, group: Group, epoch: int, asked: Asked) -> bool:
    """Is a node read by `reader` and the group alone?"""
    return node.old is None and not asked(node) and all(
        r is reader or (r.epoch == epoch and r.index == group.number) for r in node.waiting()
    )


def _overwrites(node: Expr, group: Group) -> bool:
    """Does a write go to memory that the group, or the node itself, reads?"""
    assert node.old is not None
    key = memory_key(node.old)
    own = [memory_key(i.expr) for i in node.inputs if isinstance(i, Read)]
    return (
        not node.covers
        or id(key) in group.merged
        or any(k is key for k in (*own, *(a.key for a in group.loads)))
    )


def _leader(node: Expr, fold: Expr | None) -> Expr | None:
    """Which of two folds decides the loops of a group that holds both; None: they do not agree."""
    if fold is None:
        return node
    if not isinstance(node.op, Reduce) or not isinstance(fold.op, Reduce):
        return None
    mine, other = fold_order(node), fold_order(fold)
    if node.op.axes != fold.op.axes or not isinstance(mine, Order) or not isinstance(other, Order):
        return None
    found = stricter(other, mine, (fold.op.name, node.op.name))
    return None if found is None else fold if found is other else node


def _harmless(g: numpy.ndarray, h: numpy.ndarray) -> bool:
    return same(g, h) or disjoint(g, h)


def _own_conflict(node: Expr) -> str | None:
    """Overlap within one node, as in ``a[1:] = a[:-1]``: NumPy's own rules apply, so NumPy runs it."""
    if node.old is None:
        return None
    region, key = region_of(node), memory_key(node.old)
    if not injective(region):
        return "writes some element twice"
    for i in node.inputs:
        if isinstance(i, Read) and memory_key(i.expr) is key and not _harmless(i.geo, region):
            return "reads what it overwrites, at other elements"
    return None


def plain_node(node: Expr) -> str | None:
    """Why the element types keep a node out of compiled code, or None."""
    for geo in (region_of(node), *(i.geo for i in node.inputs if isinstance(i, Read))):
        if char_of(geo.dtype) is None:
            return f"dtype {geo.dtype} is not compiled"
    return None
