"""Partition: pending nodes -> fusion groups, each of which becomes one parfor.

In:  the nodes to run, in program order.   Out: `Group`s in an order that keeps all dependences.
Greedy and linear: a node joins the last group that it depends on, or one of the latest groups, if
it has the same iteration space and no access conflicts; otherwise it opens a new group.  Since a
node never joins a group earlier than one of its inputs', group numbers are a topological order.

Dependences of a node: its inputs (flow), and for a write also every reader of the value that it
overwrites (anti).  What was refused, and why, is kept in `Group.refusals` for `explain`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy

from lazyarr.dtypes import char_of
from lazyarr.expr import FOLDS, Compress, Expr, Map, Read, Reduce
from lazyarr.fusion.alias import disjoint, injective, memory_key
from lazyarr.fusion.fold import fold_order, stricter
from lazyarr.geometry import in_order, same
from lazyarr.reduce_order import Order

MAX_NODES = 128
"""Nodes of one kernel: compile time grows with the body, the gain from fusing does not."""

LOOK_BACK = 8
"""Groups that are tried for a node: more would make partition quadratic."""

_epochs = itertools.count()


class Refusal(NamedTuple):
    """Why a node was not fused into the group of its inputs."""

    serial: int
    why: str


@dataclass(slots=True, eq=False)
class Access:
    """A load or store of memory: whose, in which buffer (see `memory_key`), and where in it."""

    value: Expr
    key: Expr
    geo: numpy.ndarray


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that run as one loop nest over `shape`; `opaque` ones run through NumPy instead."""

    number: int
    shape: tuple[int, ...]
    opaque: bool = False
    nodes: list[Expr] = field(default_factory=list)
    loads: list[Access] = field(default_factory=list)
    stores: list[Access] = field(default_factory=list)
    merged: set[int] = field(default_factory=set)
    """id(memory key) of what masked writes read besides: the elements that they leave."""
    refusals: list[Refusal] = field(default_factory=list)
    fold: Expr | None = None
    """The node whose order the group's loops keep; None for a pure map."""


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


def partition(nodes: list[Expr], asked: Asked, refuse: Lowerable) -> Partition:
    """Put `nodes` (pending, in program order) into groups; those that are `asked` for must be stored."""
    found = _attempt(nodes, asked, refuse, LOOK_BACK)
    outside = {n.serial for n in nodes if asked(n)}
    if any(_crowded(g, found.stored - outside) for g in found.groups):
        return _attempt(nodes, asked, refuse, 0)
    return found


def _crowded(group: Group, passing: set[int]) -> bool:
    """Does a group make more arrays that only later groups read than NumPy would hold at a time?"""
    sizes = [n.nbytes for n in group.nodes if n.serial in passing and n.old is None]
    return len(sizes) > 2 and sum(sizes) > 2 * max(sizes)


def _attempt(nodes: list[Expr], asked: Asked, refuse: Lowerable, look_back: int) -> Partition:
    """Groups, where a node may also join one of `look_back` groups that it does not depend on."""
    epoch = next(_epochs)
    groups: list[Group] = []
    stored = {n.serial for n in nodes if asked(n)}
    last_reader: dict[int, int] = {}    # id(memory key) -> last group that loads it
    for node in nodes:
        group = _place(node, groups, last_reader, epoch, asked, refuse, look_back)
        group.nodes.append(node)
        node.epoch, node.index = epoch, group.number
        for i in _memory_reads(node, group, epoch):
            key = memory_key(i.expr)
            group.loads.append(Access(i.expr, key, i.geo))
            last_reader[id(key)] = max(group.number, last_reader.get(id(key), -1))
            if i.expr.op is not None:
                stored.add(i.expr.serial)
        if node.old is not None:
            group.stores.append(Access(node, memory_key(node.old), _region(node)))
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
    for at, first in enumerate(group.nodes):
        for node in group.nodes[at + 1 :]:
            if node.old is not None and _follows(node.old, first) and same(_region(node), _region(first)):
                found.append(first)
                break
    return found


def _follows(value: Expr | None, first: Expr) -> bool:
    """Is it `first`, or made from it by writes?"""
    while value is not None and value.serial > first.serial:
        value = value.old
    return value is first


def _region(node: Expr) -> numpy.ndarray:
    assert node.region is not None
    return node.region


def space(node: Expr) -> tuple[int, ...]:
    """The iteration space of a node: what it writes, or for a fold or a compression what it reads."""
    if isinstance(node.op, FOLDS):
        first = node.inputs[0]
        assert isinstance(first, Read)
        return first.geo.shape
    return _region(node).shape


def forwards(read: Read, group: Group, epoch: int) -> bool:
    """Can the value pass from producer to consumer in a register?"""
    value = read.expr
    return (
        not group.opaque
        and _in(value, group, epoch)
        and isinstance(value.op, Map)
        and same(read.geo, _region(value))
    )


def _in(value: Expr, group: Group, epoch: int) -> bool:
    """Is this pending value made by the group?"""
    return value.op is not None and value.epoch == epoch and value.index == group.number


def _memory_reads(node: Expr, group: Group, epoch: int) -> list[Read]:
    return [i for i in loop_inputs(node) if isinstance(i, Read) and not forwards(i, group, epoch)]


def loop_inputs(node: Expr) -> tuple[Read | numpy.generic, ...]:
    """What a node reads element by element: a compression's ranks belong to the launch."""
    return node.inputs[:2] if isinstance(node.op, Compress) else node.inputs


def _place(
    node: Expr, groups: list[Group], last_reader: dict[int, int], epoch: int, asked: Asked,
    refuse: Lowerable, look_back: int,
) -> Group:
    floor = _floor(node, last_reader, epoch)
    shape = space(node)
    why = refuse(node) or _own_conflict(node)
    refusals = [] if why is None else [Refusal(node.serial, why)]
    if why is None:
        for group in _candidates(groups, floor, look_back):
            why_not = _cannot_join(node, group, shape, epoch, asked)
            why_not = why_not or _cannot_repeat(node, group, epoch, asked)
            if why_not is None:
                if isinstance(node.op, FOLDS):
                    group.fold = _leader(node, group.fold)
                return group
            if group.number == floor:
                refusals.append(Refusal(node.serial, why_not))
    group = Group(len(groups), shape, opaque=why is not None, refusals=refusals)
    if isinstance(node.op, FOLDS) and not group.opaque:
        group.fold = node
    groups.append(group)
    return group


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


def _cannot_join(
    node: Expr, group: Group, shape: tuple[int, ...], epoch: int, asked: Asked
) -> str | None:
    if group.opaque:
        return "an input is made by NumPy"
    if group.fold is not None and not isinstance(group.fold.op, Reduce):
        return "elements are counted or kept in a kernel of its own"
    if group.shape != shape:
        return f"iteration space {shape} is not {group.shape}"
    if len(group.nodes) >= MAX_NODES:
        return f"the kernel has {MAX_NODES} nodes already"
    if group.fold is not None and node.old is not None and _overwrites(node, group):
        return "a fold may visit elements twice, and this changes what the group reads"
    if isinstance(node.op, FOLDS):
        read = {id(a.key) for a in group.loads}
        read |= {id(memory_key(i.expr)) for i in _memory_reads(node, group, epoch)}
        written = [id(a.key) for a in group.stores]
        # (One masked write leaves or computes the same again; two might build on each other.)
        if not read.isdisjoint(written) or any(written.count(key) > 1 for key in group.merged):
            return "a fold may visit elements twice, and the group changes what it reads"
        if _leader(node, group.fold) is None:
            return "folds other axes, or in another order, than the group"
    for i in _memory_reads(node, group, epoch):
        value = i.expr
        if _in(value, group, epoch):
            return "reads a value of the group at other elements"
        key = memory_key(value)
        for access in group.stores:
            if access.key is key and not _harmless(access.geo, i.geo):
                return "reads memory that the group writes, at other elements"
    if node.old is not None:
        key, region = memory_key(node.old), _region(node)
        old = node.old
        if not node.covers and old is key and _in(old, group, epoch) and not same(_region(old), region):
            return "changes a part of what the group makes"
        if not node.covers and _in(old, group, epoch) and asked(old):
            return "somebody else still reads the value that it changes: a copy of it must exist first"
        for access in (*group.loads, *group.stores):
            if access.key is key and not _harmless(access.geo, region):
                return "writes memory that the group uses, at other elements"
    return None


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
    region, key = _region(node), memory_key(node.old)
    if not injective(region):
        return "writes some element twice"
    for i in node.inputs:
        if isinstance(i, Read) and memory_key(i.expr) is key and not _harmless(i.geo, region):
            return "reads what it overwrites, at other elements"
    return None


def plain_node(node: Expr) -> str | None:
    """Why the element types keep a node out of compiled code, or None."""
    for geo in (_region(node), *(i.geo for i in node.inputs if isinstance(i, Read))):
        if char_of(geo.dtype) is None:
            return f"dtype {geo.dtype} is not compiled"
    return None
