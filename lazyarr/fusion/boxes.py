"""Boxes: the space of a group cut so that within each box every element that it reads is made in one place.

In:  a group, the values that it is to read through.   Out: `Box`es of `Piece`s, which planning assembles as
it does groups of nodes; or why a value has to be stored.
A piece is a node at those of its elements that a box needs, over the box's own space.

Where NumPy folds rows onto rows, boxes follow each other as rows do: each goes on from what those before it
have left of the same results.
"""

from __future__ import annotations

import itertools
import math
from bisect import insort
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy

from lazyarr.dtypes import char_of
from lazyarr.expr import Expr, Map, Op, Read, Reduce
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.fold import fold_order, folded
from lazyarr.fusion.group import Group, Placed, region_of
from lazyarr.fusion.overlap import Cut, Layout, Unclear, Where, layout_of, where
from lazyarr.fusion.pieces import BOXES, Piece, whole_of
from lazyarr.fusion.reindex import spread
from lazyarr.fusion.short_folds import layers, unrolled
from lazyarr.geometry import fresh, same
from lazyarr.records import dataclass, field
from lazyarr.reduce_order import Order

MOST_BOXES = 27
"""Boxes of a unit: as many as a cube has with its faces, edges and corners."""

MOST_NODES = 128
"""Nodes of one box's kernel, and of a unit."""

DEEPEST = 32
"""Pieces of which one is made of the next one, and so on: as deep as that planning calls itself."""

IN_ORDER = "a fold goes through all of it, in an order of its own"


@dataclass(slots=True, eq=False)
class Box:
    """A part of a unit's space."""

    shape: tuple[int, ...]
    pieces: list[Piece]
    own: dict[int, Piece]
    """By serial: the nodes that run over the unit's space."""
    fold: Piece | None = None
    """The piece whose order the loops keep (`Group.fold`)."""

    def group(self, number: int, memory: Memory, stored: Collection[int]) -> tuple[Group, set[int], int]:
        """The box as a group of pieces; which of these are stored; the epoch that they are of."""
        group = Group(number, self.shape, memory, nodes=list(self.pieces), fold=self.fold)
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
        self.whole: frozenset[int] = frozenset()
        """Axes of the space that cannot be cut: a fold goes to and fro along them."""

    def boxes(self) -> list[Box]:
        """Cut until each box reads each value from one place; the largest one, or the first rows, first."""
        if self.group.fold is not None:
            return self._rows_of_boxes(self.group.fold)
        todo = [tuple(slice(0, n) for n in self.group.shape)]
        found: list[Box] = []
        while todo:
            at = todo.pop()
            if len(todo) + len(found) >= MOST_BOXES:
                raise TooMany
            try:
                found.append(self._box(at))
            except Cut as cut:
                side = at[cut.axis]
                middle = side.start + cut.at
                for part in (slice(middle, side.stop), slice(side.start, middle)):
                    todo.append((*at[: cut.axis], part, *at[cut.axis + 1 :]))
                continue
        return sorted(found, key=lambda b: -math.prod(b.shape))

    def _box(self, at: tuple[slice, ...], resumes: bool = False) -> Box:
        cutting = Cutting(self, at, resumes)
        box = cutting.box()
        self.loads += cutting.loads
        for serial, w in cutting.made:
            self.made.setdefault(serial, []).append(w)
        return box

    def _rows_of_boxes(self, fold: Expr) -> list[Box]:
        """Boxes as the cells of a grid: one row after the other, of each column."""
        order = fold_order(fold)
        assert isinstance(order, Order)
        along = [loop.axis for loop in order.loops if loop.kind == "r"]
        self.whole = frozenset(along[1:])
        edges = [[0, n] for n in self.group.shape]
        nest = [d for d in range(len(edges)) if d not in along] + along
        while True:
            if math.prod(len(e) - 1 for e in edges) > MOST_BOXES:
                raise TooMany
            sides = [[slice(*pair) for pair in itertools.pairwise(edges[d])] for d in nest]
            self.loads, self.made, found = [], {}, list[Box]()
            try:
                for cell in itertools.product(*sides):
                    at = dict(zip(nest, cell, strict=True))
                    key = tuple(at[d] for d in range(len(edges)))
                    found.append(self._box(key, any(at[d].start for d in along)))
                return found
            except Cut as cut:
                insort(edges[cut.axis], key[cut.axis].start + cut.at)

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

    def __init__(self, reading: Reading, at: tuple[slice, ...], resumes: bool) -> None:
        self.reading, self.at, self.resumes = reading, at, resumes
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
            if isinstance(node.op, Reduce) and group.fold is None:
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
            if isinstance(node.op, Reduce):
                self.own[own] = self._add(node, tuple(inputs), self._of_results(node), resumes=self.resumes)
            else:
                self.own[own] = self._add(node, tuple(inputs), self.part(placed.region))
        fold = None if group.fold is None else self.own[group.fold.serial]
        return Box(tuple(s.stop - s.start for s in self.at), self.pieces, self.own, fold)

    def part(self, geo: numpy.ndarray) -> numpy.ndarray:
        """The box of a geometry over the space.  (With an ellipsis it is an array, also without axes.)"""
        key: tuple[Any, ...] = (*self.at, ...)
        found: numpy.ndarray = geo[key]
        return found

    def _of_results(self, node: Expr) -> numpy.ndarray:
        """What a fold makes of the box: a part of its results."""
        op = node.op
        assert isinstance(op, Reduce)
        sides = [
            slice(None) if d in op.axes else s for d, s in enumerate(self.at)
            if op.keepdims or d not in op.axes
        ]  # fmt: skip
        key: tuple[Any, ...] = (*sides, ...)
        found: numpy.ndarray = region_of(node)[key]
        return found

    def source(self, value: Expr, geo: numpy.ndarray) -> Read:
        """Where the elements of a value come from: memory, or a piece."""
        r, asked = self.reading, value
        while value.serial in r.through:
            try:
                found = where(r.layout(value), geo, region_of(value))
            except Cut as cut:
                if cut.axis in r.whole:
                    raise Unreadable(value, IN_ORDER) from None
                raise
            except Unclear:
                raise Unreadable(value, "its parts are not read along its axes") from None
            if found is not None:
                return self._piece(value, found)
            if value.old is None or value.covers:
                raise Unreadable(value, "its parts are not read along its axes")
            value = value.old
        if value.serial in r.inside:
            raise Unreadable(asked, "the group makes a part of it")
        if value.op is None and value.buf.unwritten:
            raise Unreadable(asked, "some of what is read was never written")
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
        self, node: Expr, inputs: tuple[Any, ...], region: numpy.ndarray, op: Op | None = None,
        resumes: bool = False,
    ) -> Piece:
        if len(self.pieces) >= MOST_NODES:
            raise TooMany
        self.reading.pieces += 1
        piece = Piece(whole_of(node), inputs, region, op or node.op, resumes)
        self.pieces.append(piece)
        return piece
