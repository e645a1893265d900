"""Boxes: the space of a group cut so that within each box every element that it reads is made in one place.

In:  a group, the values that it is to read through.   Out: `Box`es of `Piece`s, which planning assembles as
it does groups of nodes; or why a value has to be stored.
A piece is a node at those of its elements that a box needs, over the box's own space.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy

from lazyarr.dtypes import char_of
from lazyarr.expr import Expr, Map, Op, Read, Reduce
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.fold import folded
from lazyarr.fusion.group import Group, Placed, region_of
from lazyarr.fusion.overlap import Cut, Layout, Unclear, Where, layout_of, where
from lazyarr.fusion.reindex import spread
from lazyarr.fusion.short_folds import layers, unrolled
from lazyarr.geometry import fresh, same
from lazyarr.records import dataclass

MOST_BOXES = 27
"""Boxes of a unit: as many as a cube has with its faces, edges and corners."""

MOST_NODES = 128
"""Nodes of one box's kernel, and of a unit."""

DEEPEST = 32
"""Pieces of which one is made of the next one, and so on: as deep as that planning calls itself."""

BOXES = -2
"""The epoch of pieces: no partition has it."""

_serials = itertools.count(-1, -1)


class Piece(Expr):
    """A node in one box: planning alone knows it, and nobody evaluates it.

    A value that is read as it was joined has one, too, which copies it (`copy_of`)."""

    __slots__ = ("whole",)
    whole: Expr

    def __init__(
        self, whole: Expr, inputs: tuple[Any, ...], region: numpy.ndarray, op: Op | None = None
    ) -> None:
        self.whole, self.op, self.errors = whole, op or whole.op, whole.errors
        self.inputs, self.region = inputs, region
        self.old = self.buf = self.readers = self.home = self.loc = None
        self.covers, self.nbytes = True, region.nbytes
        self.masked = self.spared = self.replaced = False
        self.epoch, self.index, self.serial = -1, 0, next(_serials)


def copy_of(value: Expr, geo: numpy.ndarray) -> Piece:
    """What a group reads of a value, as a node of its own."""
    char = char_of(geo.dtype)
    return Piece(value, (Read(value, geo),), geo, Map("copy", f"{char}->{char}"))


def is_piece(value: Expr) -> bool:
    return isinstance(value, Piece)


def whole_of(node: Expr) -> Expr:
    """The node that a piece is of; any other node is itself."""
    return node.whole if isinstance(node, Piece) else node


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
    fed: Expr | None = None
    """The value that a fold reads, portion by portion: it is no memory."""
    programs: dict[tuple[int, ...], tuple[Any, ...]] = field(default_factory=dict)
    """By the serials of what is stored: the steps of the boxes, which `steps` has made."""


class Unreadable(Exception):
    """A value has to be stored."""

    def __init__(self, value: Expr, why: str) -> None:
        super().__init__(value, why)
        self.value, self.why = value, why


class TooMany(Exception):
    """Boxes, or nodes, of one unit."""


class Reading:
    """The boxes of a group that reads through some values."""

    def __init__(self, group: Group, nodes: Sequence[Expr], through: Mapping[int, Expr]) -> None:
        self.group, self.nodes, self.through = group, nodes, through
        self.inside = {n.serial for n in nodes}
        self.layouts: dict[int, Layout] = {}
        self.loads: list[tuple[Expr, numpy.ndarray]] = []
        self.made: dict[int, list[Where]] = {}
        """By serial: which elements of a value that is read through are computed."""
        self.pieces = 0
        """Made so far, in boxes that were cut, too."""

    def boxes(self) -> list[Box]:
        """Cut until each box reads each value from one place."""
        todo = [tuple(slice(0, n) for n in self.group.shape)]
        found: list[Box] = []
        while todo:
            at = todo.pop()
            if len(todo) + len(found) >= MOST_BOXES:
                raise TooMany
            try:
                box = Cutting(self, at)
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


class Cutting:
    """One box, perhaps to be cut."""

    def __init__(self, reading: Reading, at: tuple[slice, ...]) -> None:
        self.reading, self.at = reading, at
        self.pieces: list[Piece] = []
        self.known: dict[tuple[Any, ...], Piece] = {}
        self.own: dict[int, Piece] = {}
        self.loads: list[tuple[Expr, numpy.ndarray]] = []
        self.made: list[tuple[int, Where]] = []
        self.depth = 0

    def box(self) -> Box:
        r, group = self.reading, self.reading.group
        for node in r.nodes:
            placed = group.placed[node.serial]
            own = whole_of(node).serial
            if isinstance(node.op, Reduce):
                self.own[own] = self._folded(node, self.part(placed.region), self.part)
                continue
            inputs: list[Any] = []
            for i, geo in zip(node.inputs, placed.reads, strict=True):
                if geo is None or not isinstance(i, Read):
                    inputs.append(i)
                elif i.expr.serial in r.inside and same(geo, group.placed[i.expr.serial].region):
                    piece = self.own[i.expr.serial]
                    inputs.append(Read(piece, region_of(piece)))
                else:
                    inputs.append(self.source(i.expr, self.part(spread(geo, group.shape))))
            self.own[own] = self._add(node, tuple(inputs), self.part(placed.region))
        return Box(tuple(s.stop - s.start for s in self.at), self.pieces, self.own)

    def part(self, geo: numpy.ndarray) -> numpy.ndarray:
        """The box of a geometry over the space.  (With an ellipsis it is an array, also without axes.)"""
        key: tuple[Any, ...] = (*self.at, ...)
        found: numpy.ndarray = geo[key]
        return found

    def source(self, value: Expr, geo: numpy.ndarray) -> Read:
        """Where the elements of a value come from: memory, or a piece."""
        r = self.reading
        while value.serial in r.through:
            try:
                found = where(r.layout(value), geo, region_of(value))
            except Unclear:
                raise Unreadable(value, "its parts are not read along its axes") from None
            if found is not None:
                return self._piece(value, found)
            if value.old is None or value.covers:
                raise Unreadable(value, "its parts are not read along its axes")
            value = value.old
        if value.serial in r.inside:
            raise Unreadable(value, "the group makes a part of it")
        if value.op is None and value.buf.unwritten:
            raise Unreadable(value, "some of what is read was never written")
        self.loads.append((value, geo))
        return Read(value, geo)

    def _piece(self, node: Expr, at: Where) -> Read:
        key = node.serial, at
        piece = self.known.get(key)
        if piece is None:
            self.depth += 1
            if self.depth > DEEPEST:
                raise Unreadable(node, "it is made by too many operations, one after the other")
            region = region_of(node)
            made = fresh(at.shape, region.dtype)
            if isinstance(node.op, Reduce):
                piece = self._folded(node, made, at.of)
            else:
                piece = self._add(node, self._inputs(node, at), made)
            self.depth -= 1
            self.known[key] = piece
            self.made.append((node.serial, at))
        return Read(piece, region_of(piece))

    def _inputs(self, node: Expr, at: Where) -> tuple[Any, ...]:
        shape = region_of(node).shape
        return tuple(
            self.source(i.expr, at.of(spread(i.geo, shape))) if isinstance(i, Read) else i
            for i in node.inputs
        )

    def _folded(
        self, node: Expr, region: numpy.ndarray, at: Callable[[numpy.ndarray], numpy.ndarray]
    ) -> Piece:
        """A short fold; `at` says where in its space the box is."""
        start, op = unrolled(node)
        value = folded(node).expr
        given: list[Any] = [self.source(value, at(geo)) for geo in layers(node)]
        if start is not None:
            given.insert(0, start)
        if len(given) == 1:
            copy = Map("copy", f"{char_of(folded(node).geo.dtype)}->{op.sig[-1]}")
            return self._add(node, tuple(given), region, copy)
        total = given[0]
        for other in given[1:-1]:
            piece = self._add(node, (total, other), fresh(region.shape, region.dtype), op)
            total = Read(piece, region_of(piece))
        return self._add(node, (total, given[-1]), region, op)

    def _add(
        self, node: Expr, inputs: tuple[Any, ...], region: numpy.ndarray, op: Op | None = None
    ) -> Piece:
        if len(self.pieces) >= MOST_NODES:
            raise TooMany
        self.reading.pieces += 1
        piece = Piece(whole_of(node), inputs, region, op or node.op)
        self.pieces.append(piece)
        return piece
