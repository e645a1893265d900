"""Regions: what a group reads of values that are written piece by piece, taken from where the pieces come from.

In:  a partition, the nodes that it is of.   Out: `Unit`s, and for other groups why they read from memory.
``np.roll(u, 1)``, ``np.pad``, ``np.concatenate``, ``np.gradient``, a border of zeros around what a slice is assigned
to: each is several writes to parts of new memory, which somebody then reads otherwise than it was written.
Where one group alone reads them, its space is cut into boxes, so that within each every element is written by
one node, at positions that a geometry describes.  Each box is a loop nest in which what wrote the elements
is computed in the place of a load (`Piece`), and none of it is stored: elementwise(joined(parts)) becomes
joined(elementwise(parts)).

The same goes for a value that is read at several places, as a stencil does: it is computed again for each of them
where that takes less time than to store and load it.  Each operation is done on the elements on which
NumPy does it, so flags are NumPy's: what nobody reads and may raise some is stored as before.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from lazyarr.draws import DRAWS
from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.group import Asked, Group, Placed, forwards, makes, region_of
from lazyarr.fusion.overlap import Cut, Layout, Unclear, Where, layout_of, where
from lazyarr.fusion.reindex import spread
from lazyarr.geometry import fresh
from lazyarr.ops import may_raise, row

MOST_BOXES = 27
"""Boxes of a unit: as many as a cube has with its faces, edges and corners."""

MOST_NODES = 128
"""Nodes of one box's kernel, and of a unit."""

BOX_BYTES = 1 << 16
"""What a launch more takes, in bytes that memory moves meanwhile."""

BYTES_PER_NS = 12.0
"""What memory moves."""

COST_NS = 0.1
"""Nanoseconds of an element of an op of cost 1."""

BOXES = -2
"""The epoch of pieces: no partition has it."""

_serials = itertools.count(-1, -1)


class Piece(Expr):
    """A node in one box: planning alone knows it, and nobody evaluates it."""

    __slots__ = ("whole",)
    whole: Expr

    def __init__(self, whole: Expr, inputs: tuple[Any, ...], region: numpy.ndarray) -> None:
        self.whole, self.op, self.errors = whole, whole.op, whole.errors
        self.inputs, self.region = inputs, region
        self.old = self.buf = self.readers = self.home = self.loc = None
        self.covers, self.nbytes = True, region.nbytes
        self.masked = self.spared = self.replaced = False
        self.epoch, self.index, self.serial = -1, 0, next(_serials)


@dataclass(slots=True, eq=False)
class Box:
    """A part of a unit's space."""

    shape: tuple[int, ...]
    pieces: list[Piece]
    own: dict[int, Piece]
    """By serial: the nodes that run over the unit's space."""

    def group(self, number: int, memory: Memory, stored: Collection[int]) -> tuple[Group, set[int], int]:
        """The box as a group of pieces; which of these are stored; the epoch that they are of."""
        group = Group(number, self.shape, memory, nodes=list(self.pieces))
        for piece in self.pieces:
            group.placed[piece.serial] = Placed.plainly(piece)
            piece.epoch, piece.index = BOXES, number
        return group, {piece.serial for serial, piece in self.own.items() if serial in stored}, BOXES


@dataclass(slots=True, eq=False)
class Unit:
    """Nodes that run together, in a loop nest for each of some boxes that make up one space."""

    shape: tuple[int, ...]
    nodes: list[Expr]
    """In program order."""
    placed: dict[int, Placed]
    through: set[int]
    """Serials of those that are read through: nobody stores them."""
    boxes: list[Box]
    loads: list[tuple[Expr, numpy.ndarray]]


@dataclass(slots=True, eq=False)
class Regions:
    """What reading through makes of the groups of a partition."""

    units: list[Unit] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    """By serial of a value that is stored and read by one group: why it is not read through."""


class _Unreadable(Exception):
    """A value has to be stored."""

    def __init__(self, value: Expr, why: str) -> None:
        super().__init__(value, why)
        self.value, self.why = value, why


class _TooMany(Exception):
    """Boxes, or nodes, of one unit."""


def read_through(
    nodes: Sequence[Expr], groups: Sequence[Group], stored: Collection[int], asked: Asked, memory: Memory,
    epoch: int, out: Collection[int],
) -> Regions:
    """The units that pay; groups numbered in `out` stay as they are."""
    found = Regions()
    if all(asked(n) for n in nodes if n.serial in stored):
        return found
    readers: dict[int, set[int]] = defaultdict(set)
    for node in nodes:
        for value in node.needs():
            readers[value.serial].add(node.serial)
    taken: set[int] = set()
    for group in reversed(groups):
        mine = [n for n in group.nodes if n.serial not in taken]
        if not mine or group.number in out or not _elementwise(group):
            continue
        if not any(v.op is not None and not asked(v) for v in (a.value for a in group.loads)):
            continue
        unit = _Uniting(group, mine, readers, stored, asked, memory, epoch, taken, found.refused).unit()
        if unit is not None:
            found.units.append(unit)
            taken.update(n.serial for n in unit.nodes)
    return found


def _elementwise(group: Group) -> bool:
    return not group.opaque and not group.edge and not group.ordered and all(map(_is_plain, group.nodes))


def _is_plain(node: Expr) -> bool:
    return isinstance(node.op, Map) and not node.masked and node.op.name not in DRAWS


class _Uniting:
    """One group on its way to a unit."""

    def __init__(
        self, group: Group, nodes: list[Expr], readers: Mapping[int, set[int]], stored: Collection[int],
        asked: Asked, memory: Memory, epoch: int, taken: Collection[int], refused: dict[int, str],
    ) -> None:
        self.group, self.nodes, self.readers, self.stored = group, nodes, readers, stored
        self.asked, self.memory, self.epoch, self.taken, self.refused = asked, memory, epoch, taken, refused
        self.barred = {n.old.serial for n in nodes if n.old is not None}
        """Serials of values that have to be stored."""

    def unit(self) -> Unit | None:
        """The unit, if reading through pays."""
        while True:
            through = self._through()
            if not any(serial in self.stored for serial in through):
                return None
            reading = _Reading(self.group, self.nodes, through, self.epoch)
            try:
                boxes = reading.boxes()
            except _Unreadable as found:
                self._bar(found.value, found.why)
                continue
            except _TooMany:
                self._refuse(through.values(), f"that would take more than {MOST_BOXES} loop nests")
                return None
            lost = self._lost(through, reading)
            if lost is not None:
                self._bar(*lost)
                continue
            if self._saved(through, reading, len(boxes)) <= 0:
                self._refuse(through.values(), "the loop nests take more time than memory saves")
                return None
            if self._overwrites(reading):
                self._refuse(through.values(), "the group writes memory that the parts come from")
                return None
            members = sorted((*through.values(), *self.nodes), key=lambda n: n.serial)
            placed = {s: self.group.placed[s] for s in (n.serial for n in self.nodes)}
            placed |= {s: Placed.plainly(n) for s, n in through.items()}
            return Unit(self.group.shape, members, placed, set(through), boxes, reading.loads)

    def _bar(self, value: Expr, why: str) -> None:
        self.barred.add(value.serial)
        self._refuse([value], why)

    def _refuse(self, values: Iterable[Expr], why: str) -> None:
        self.refused.update((v.serial, why) for v in values if v.serial in self.stored)

    def _through(self) -> dict[int, Expr]:
        """What only the group needs, and what only that needs, by serial."""
        inside = {n.serial for n in self.nodes}
        found: dict[int, Expr] = {}
        todo = [value for n in self.nodes for value in n.needs()]
        while todo and len(inside) < MOST_NODES:
            value = todo.pop()
            serial = value.serial
            if (
                value.op is None or serial in inside or serial in self.barred or serial in self.taken
                or self.asked(value) or not _is_plain(value) or not region_of(value).size
                or not self.readers[serial] <= inside
            ):  # fmt: skip
                continue
            found[serial] = value
            inside.add(serial)
            todo += value.needs()
        return found

    def _lost(self, through: Mapping[int, Expr], reading: _Reading) -> tuple[Expr, str] | None:
        """A value that has to be stored, since it would be computed too often, or not for all elements."""
        most, worst = 0.0, None
        spent = saved = 0.0
        for serial, node in through.items():
            made = reading.made.get(serial, [])
            if may_raise(node.op, region_of(node).dtype.char) and not _all_of(region_of(node).shape, made):
                return node, "elements that nobody reads may raise floating-point flags"
            again = sum(math.prod(w.shape) for w in made) - region_of(node).size
            ns = _ns(node) * again
            spent += max(0.0, ns)
            saved += 2 * region_of(node).nbytes / BYTES_PER_NS * (serial in self.stored)
            if ns > most:
                most, worst = ns, node
        if worst is None or spent <= saved:
            return None
        return worst, "to compute it for each of its readers takes more time than to store it"

    def _saved(self, through: Mapping[int, Expr], reading: _Reading, boxes: int) -> int:
        """Bytes that memory need not move, less what the loop nests take."""
        before = sum(region_of(n).nbytes for s, n in through.items() if s in self.stored)
        values = {v.serial: v for v, _ in reading.loads if v.op is not None}
        new = sum(v.nbytes for s, v in values.items() if s not in self.stored)
        return 2 * (before - new) - BOX_BYTES * (boxes - 1)

    def _overwrites(self, reading: _Reading) -> bool:
        keys = {id(self.memory.key(value)) for value, _ in reading.loads}
        return any(n.old is not None and id(self.memory.key(n.old)) in keys for n in self.nodes)


def _ns(node: Expr) -> float:
    assert isinstance(node.op, Map)
    return 0.0 if node.op.name == "copy" else COST_NS * row(node.op.name).cost


def _all_of(shape: tuple[int, ...], made: Sequence[Where]) -> bool:
    """Is every element of a space among what was read?"""
    bounds = [w.bounds() for w in made]
    boxes = [b for b in bounds if b is not None]
    if not shape:
        return bool(made)
    edges = [sorted({0, n, *(at for b in boxes for at in b[d])}) for d, n in enumerate(shape)]
    seen = numpy.zeros([len(e) - 1 for e in edges], bool)
    for b in boxes:
        seen[tuple(slice(e.index(low), e.index(high)) for e, (low, high) in zip(edges, b, strict=True))] = True
    return bool(seen.all())


class _Reading:
    """The boxes of a group that reads through some values."""

    def __init__(self, group: Group, nodes: Sequence[Expr], through: Mapping[int, Expr], epoch: int) -> None:
        self.group, self.nodes, self.through, self.epoch = group, nodes, through, epoch
        self.inside = {n.serial for n in nodes}
        self.layouts: dict[int, Layout] = {}
        self.loads: list[tuple[Expr, numpy.ndarray]] = []
        self.made: dict[int, list[Where]] = {}
        """By serial: which elements of a value that is read through are computed."""

    def boxes(self) -> list[Box]:
        """Cut until each box reads each value from one place."""
        todo = [tuple(slice(0, n) for n in self.group.shape)]
        found: list[Box] = []
        while todo:
            at = todo.pop()
            if len(todo) + len(found) >= MOST_BOXES:
                raise _TooMany
            try:
                box = _Cutting(self, at)
                found.append(box.box())
            except Cut as cut:
                side = at[cut.axis]
                middle = side.start + cut.at
                for part in (slice(middle, side.stop), slice(side.start, middle)):
                    todo.append((*at[: cut.axis], part, *at[cut.axis + 1 :]))
                continue
            self.loads += box.loads
            for serial, w in box.made:
                self.made.setdefault(serial, []).append(w)
        return sorted(found, key=lambda b: -math.prod(b.shape))

    def layout(self, value: Expr) -> Layout:
        """How the storage of a value is laid out."""
        chain: list[Expr] = []
        while value.serial not in self.layouts:
            chain.append(value)
            if value.op is None:
                geo = getattr(value.buf, "layout", None)
                if geo is None:
                    raise Unclear
                self.layouts[value.serial] = layout_of(geo)
            elif value.old is None:
                self.layouts[value.serial] = layout_of(region_of(value))
            else:
                value = value.old
        found = self.layouts[value.serial]
        self.layouts.update((v.serial, found) for v in chain)
        return found


class _Cutting:
    """One box, perhaps to be cut."""

    def __init__(self, reading: _Reading, at: tuple[slice, ...]) -> None:
        self.reading, self.at = reading, at
        self.pieces: list[Piece] = []
        self.known: dict[tuple[Any, ...], Piece] = {}
        self.own: dict[int, Piece] = {}
        self.loads: list[tuple[Expr, numpy.ndarray]] = []
        self.made: list[tuple[int, Where]] = []

    def box(self) -> Box:
        r, group = self.reading, self.reading.group
        for node in r.nodes:
            placed = group.placed[node.serial]
            inputs: list[Any] = []
            for i, geo in zip(node.inputs, placed.reads, strict=True):
                if geo is None or not isinstance(i, Read):
                    inputs.append(i)
                elif i.expr.serial in r.inside and forwards(i.expr, geo, group, r.epoch):
                    piece = self.own[i.expr.serial]
                    inputs.append(Read(piece, region_of(piece)))
                else:
                    inputs.append(self.source(i.expr, spread(geo, group.shape)[self.at]))
            self.own[node.serial] = self._add(node, tuple(inputs), placed.region[self.at])
        return Box(tuple(s.stop - s.start for s in self.at), self.pieces, self.own)

    def source(self, value: Expr, geo: numpy.ndarray) -> Read:
        """Where the elements of a value come from: memory, or a piece.  (No deeper than a unit has nodes.)"""
        r = self.reading
        while value.serial in r.through:
            try:
                found = where(r.layout(value), geo, region_of(value))
            except Unclear:
                raise _Unreadable(value, "its parts are not read along its axes") from None
            if found is not None:
                return self._piece(value, found)
            if value.old is None or value.covers:
                raise _Unreadable(value, "its parts are not read along its axes")
            value = value.old
        if makes(value, r.group, r.epoch) and value.serial in r.inside:
            raise _Unreadable(value, "the group makes a part of it")
        if value.op is None and value.buf.unwritten:
            raise _Unreadable(value, "some of what is read was never written")
        self.loads.append((value, geo))
        return Read(value, geo)

    def _piece(self, node: Expr, at: Where) -> Read:
        key = node.serial, at
        piece = self.known.get(key)
        if piece is None:
            region = region_of(node)
            inputs = tuple(
                self.source(i.expr, at.of(spread(i.geo, region.shape))) if isinstance(i, Read) else i
                for i in node.inputs
            )
            piece = self.known[key] = self._add(node, inputs, fresh(at.shape, region.dtype))
            self.made.append((node.serial, at))
        return Read(piece, region_of(piece))

    def _add(self, node: Expr, inputs: tuple[Any, ...], region: numpy.ndarray) -> Piece:
        if len(self.pieces) >= MOST_NODES:
            raise _TooMany
        piece = Piece(node, inputs, region)
        self.pieces.append(piece)
        return piece


def arranged(nodes: Sequence[Expr], units: Sequence[Unit], memory: Memory) -> list[Expr | Unit] | None:
    """The nodes in an order in which those of each unit are together; None if others must run in between."""
    order: list[Expr | Unit] = list(nodes)
    for unit in units:
        moved = _together(order, unit, memory)
        if moved is None:
            return None
        order = moved
    return order


def _together(order: Sequence[Expr | Unit], unit: Unit, memory: Memory) -> list[Expr | Unit] | None:
    """All that needs something of the unit comes after it, all else in between before it."""
    members = {n.serial for n in unit.nodes}
    mine = [k for k, each in enumerate(order) if isinstance(each, Expr) and each.serial in members]
    first, last = mine[0], mine[-1]
    made, read = set(members), {id(memory.key(value)) for value, _ in unit.loads}
    before: list[Expr | Unit] = []
    after: list[Expr | Unit] = []
    later: set[int] = set()
    late_reads: set[int] = set()
    for each in order[first : last + 1]:
        nodes = [each] if isinstance(each, Expr) else each.nodes
        needs = {v.serial for n in nodes for v in (*n.needs(), *([n.old] if n.old is not None else []))}
        writes = {id(memory.key(n.old)) for n in nodes if n.old is not None}
        if isinstance(each, Expr) and each.serial in members:
            if needs & later or writes & late_reads:
                return None
        elif needs & made or writes & (read | late_reads):
            after.append(each)
            serials = {n.serial for n in nodes}
            made |= serials
            later |= serials
            late_reads |= {id(memory.key(v)) for n in nodes for v in n.needs()}
        else:
            before.append(each)
    return [*order[:first], *before, unit, *after, *order[last + 1 :]]
