"""Fusion groups as data: nodes that run as one loop nest, and how its loops see each of them.

In:  nodes, views of spaces.   Out: `Group`s, which partition fills and assembly reads; what a node of a group
reads from memory, and what comes to it in registers.
All geometries of a group are over its space (or broadcast to it), so that two accesses of one buffer
touch the same element in the same iteration where they are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.expr import ELEMENTWISE, FOLDS, Compress, Expr, Gather, Map, Read, Reduce, Scatter
from lazyarr.fusion.alias import ANYWHERE, Memory, anywhere
from lazyarr.fusion.reindex import Reindex
from lazyarr.geometry import offset_of, same
from lazyarr.records import NamedTuple, dataclass, field, replace

if TYPE_CHECKING:
    from lazyarr.fusion.boxes import Unit

View = Reindex | Callable[[numpy.ndarray], numpy.ndarray | None]
"""A geometry over one space, as another space has it."""

Asked = Collection[int]
"""Serials of the values that somebody outside asks for, now or later."""


def region_of(node: Expr) -> numpy.ndarray:
    """What a pending node writes."""
    assert node.region is not None
    return node.region


def space(node: Expr) -> tuple[int, ...]:
    """The iteration space of a node: what it writes, or for a fold or a compression what it reads.

    A scatter writes to places in its region, as often as its own shape says."""
    if isinstance(node.op, FOLDS):
        first = node.inputs[0]
        assert isinstance(first, Read)
        return first.geo.shape
    return node.op.shape if isinstance(node.op, Scatter) else region_of(node).shape


TOO_FEW = "too few elements for a kernel"

def written(node: Expr, region: numpy.ndarray) -> numpy.ndarray:
    """The bytes of which a node writes some, where the loops of its group see its region so."""
    return anywhere(region_of(node)) if isinstance(node.op, Scatter) else region


def loop_inputs(node: Expr) -> tuple[Read | numpy.generic, ...]:
    """What a node reads element by element: a compression's ranks belong to the launch."""
    return node.inputs[:2] if isinstance(node.op, Compress) else node.inputs


class Refusal(NamedTuple):
    """Why a node opened a group of its own, instead of joining another."""

    serial: int
    why: str
    group: int = -1
    """The group that it did not join: the last one that it depends on, else the latest; -1: any."""


class Access(NamedTuple):
    """A load or store of memory: whose, in which buffer (see `Memory`), and where in it."""

    value: Expr
    key: Expr
    geo: numpy.ndarray

    def through(self, view: Reindex) -> Access | None:
        if self.geo.dtype == ANYWHERE:
            return self
        geo = view(self.geo)
        return None if geo is None else self._replace(geo=geo)


def _itself(geo: numpy.ndarray) -> numpy.ndarray:
    return geo


class Placed(NamedTuple):
    """A node's accesses over the space of its group."""

    reads: tuple[numpy.ndarray | None, ...]
    """One for each input; None for a constant.  Of a table: where it is read if all positions are 0."""
    region: numpy.ndarray
    """What a Map writes; a fold's result keeps its own axes.  Of a scatter: where it writes if all positions
    are 0."""

    @classmethod
    def plainly(cls, node: Expr, one: Callable[[numpy.ndarray], numpy.ndarray] = _itself) -> Placed:
        """Over the node's own space; `one` gives one geometry for all that are alike."""
        reads = [one(i.geo) if i.__class__ is Read else None for i in node.inputs]
        region = one(region_of(node))
        if isinstance(node.op, Gather):
            table = node.inputs[0]
            assert isinstance(table, Read)
            reads[0] = _first_elements(table.geo, node.op.dims, region.shape)
        elif isinstance(node.op, Scatter):
            region = _first_elements(region, node.op.dims, node.op.shape)
        return cls(tuple(reads), region)

    def through(self, view: View) -> Placed | None:
        region = view(self.region)
        reads = [None if geo is None else view(geo) for geo in self.reads]
        lost = any(geo is not None and found is None for geo, found in zip(self.reads, reads, strict=True))
        return None if region is None or lost else Placed(tuple(reads), region)


def _first_elements(table: numpy.ndarray, dims: tuple[int, ...], shape: tuple[int, ...]) -> numpy.ndarray:
    """A table over the space: it moves along the axes that are not indexed."""
    strides = [0 if d < 0 else table.strides[d] for d in dims]
    return numpy.ndarray(shape, table.dtype, table.base, offset_of(table), strides)


class Places(NamedTuple):
    """Where a buffer is accessed: each geometry once, by its elements (`geometry.elements`)."""

    loads: dict[Any, numpy.ndarray]
    stores: dict[Any, numpy.ndarray]
    memory: Memory


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that run as one loop nest over `shape`; `opaque` ones run through NumPy instead."""

    number: int
    shape: tuple[int, ...]
    memory: Memory
    opaque: bool = False
    nodes: list[Expr] = field(default_factory=list)
    placed: dict[int, Placed] = field(default_factory=dict)
    """By serial: how the loops see each node."""
    bridged: frozenset[int] = frozenset()
    """Serials of the nodes that joined through a view."""
    loads: list[Access] = field(default_factory=list)
    stores: list[Access] = field(default_factory=list)
    places: dict[int, Places] = field(default_factory=dict)
    """By id of the memory key: where the first `entered` loads are, and the first `kept` stores."""
    entered: int = 0
    kept: int = 0
    merged: frozenset[int] = frozenset()
    """id(memory key) of what masked writes read besides: the elements that they leave."""
    refusals: list[Refusal] = field(default_factory=list)
    fold: Expr | None = None
    """The node whose order the group's loops keep; None for a pure map."""
    scan: int | None = None
    """The axis along which nodes of it scan: its space stays as it is, and elements go in order there."""
    scatters: bool = False
    """It writes to positions: its space stays as it is, and elements go in C order where that matters."""
    edge: int = 0
    """Serial of the write, if it is one to a border (`edges`)."""
    unit: Unit | None = None
    """It runs as several loop nests, and nothing joins it (`boxes`)."""
    usual: bool = False
    """It is elementwise, or folds what it makes, and writes to new arrays alone."""

    @property
    def ordered(self) -> bool:
        """Do the loops keep an order that depends on the space?"""
        return self.fold is not None or self.scan is not None or self.scatters

    def through(self, view: Reindex, shape: tuple[int, ...]) -> Group | None:
        """The same group over another space, if all its accesses can follow."""
        moved = replace(self, shape=shape, placed={}, loads=[], stores=[], places={}, entered=0, kept=0)
        for serial, p in self.placed.items():
            seen = p.through(view)
            if seen is None:
                return None
            moved.placed[serial] = seen
        for to, accesses in ((moved.loads, self.loads), (moved.stores, self.stores)):
            for each in accesses:
                access = each.through(view)
                if access is None:
                    return None
                to.append(access)
        return moved

    def at(self, key: Expr) -> Places | None:
        """Where the buffer of a key is accessed, if it is.  (Most groups are never asked.)"""
        if self.entered < len(self.loads):
            for access in self.loads[self.entered :]:
                self._at(access.key).loads.setdefault(self.memory.elements(access.geo), access.geo)
            self.entered = len(self.loads)
        if self.kept < len(self.stores):
            for access in self.stores[self.kept :]:
                self._at(access.key).stores.setdefault(self.memory.elements(access.geo), access.geo)
            self.kept = len(self.stores)
        return self.places.get(id(key))

    def _at(self, key: Expr) -> Places:
        found = self.places.get(id(key))
        if found is None:
            found = self.places[id(key)] = Places({}, {}, self.memory)
        return found

    def plain(self, node: Expr) -> bool:
        """Do the loops see an operation as it was written: over its own space?"""
        if not isinstance(node.op, Map | Reduce) or space(node) != self.shape:
            return False
        if not self.bridged:
            return True
        own, placed = Placed.plainly(node), self.placed[node.serial]
        places = zip((own.region, *own.reads), (placed.region, *placed.reads), strict=True)
        return all(a is b or (a is not None and b is not None and same(a, b)) for a, b in places)

    def become(self, other: Group) -> None:
        """Take the other's space, and how it sees the nodes."""
        self.shape, self.placed, self.fold = other.shape, other.placed, other.fold
        self.loads, self.stores, self.usual = other.loads, other.stores, other.usual
        self.places, self.entered, self.kept = other.places, other.entered, other.kept


def makes(value: Expr, group: Group, epoch: int) -> bool:
    """Is this a pending value that a node of the group makes, in the partition of this epoch?"""
    return value.op is not None and value.epoch == epoch and value.index == group.number


def forwards(value: Expr, geo: numpy.ndarray, group: Group, epoch: int) -> bool:
    """Can the value pass from producer to consumer in a register?"""
    return (
        not group.opaque
        and makes(value, group, epoch)
        and isinstance(value.op, ELEMENTWISE)
        and same(geo, group.placed[value.serial].region)
    )


def left(group: Group) -> Iterator[tuple[Expr, Expr]]:
    """Masked writes, and values that others made: what these leave of them they read where they write."""
    for node in group.nodes:
        if node.masked:
            old = node.old
            while old is not None and old.serial in group.placed:
                old = old.old
            if old is not None:
                yield node, old


Loads = list[tuple[Expr, numpy.ndarray]]
"""Values and where they are read."""


def memory_reads(node: Expr, placed: Placed, group: Group, epoch: int) -> Loads:
    """The values that a node of a group loads, and where."""
    number = group.number
    return [
        (value, geo) for value, geo in reads_of(node, placed)
        # (What an earlier evaluation made, or another group: asked here, for nearly all.)
        if value.index != number or value.epoch != epoch or value.op is None
        or not forwards(value, geo, group, epoch)
    ]  # fmt: skip


def reads_of(node: Expr, placed: Placed) -> Loads:
    """The values that a node loads where nothing comes in registers, and where."""
    reads, inputs = placed.reads, node.inputs
    kind = node.op.__class__
    if kind is Gather:
        table = inputs[0]
        assert isinstance(table, Read)
        reads = (anywhere(table.geo), *reads[1:])
    elif kind is Compress:
        inputs = loop_inputs(node)
    found: Loads = []
    for i, geo in zip(inputs, reads, strict=False):
        if geo is not None:
            found.append((i.expr, geo))         # type: ignore[union-attr]
    return found
