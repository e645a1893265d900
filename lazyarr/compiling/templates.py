"""Templates: what a function does with arrays of a kind, whatever their lengths.

In:  what a function does with arrays of two sets of lengths (`trace.Recorded`), and what it asked of them.
Out: `Template`, which gives the nodes for any lengths that answer the same.

The lengths of a recording are samples: numbers far apart, so each number in a geometry says what it is made
of, and the second recording says whether that was right.  What goes another way by lengths is asked by
`Length`s, and by the keys of elements (`Asked`): guards.  All else that is let through (`attributes.GENERIC`)
does the same for all lengths above 1; which of them are one is part of the kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from lazyarr.compiling.extents import QUESTIONS, Asked, Lengths, Question
from lazyarr.compiling.formulas import Formula, Reader
from lazyarr.compiling.values import Refused, Slot
from lazyarr.expr import Expr, Map, Read, Reduce, Scan
from lazyarr.geometry import extent, fresh, geometry, offset_of
from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.values import Buffer, Unwritten

EXACT = 4
"""Bytes of a constant that holds a length: shorter floats round the samples."""

SHAPELESS = (Map, Reduce, Scan)
"""Ops that say nothing of extents."""


class Place(NamedTuple):
    """A geometry, in formulas."""

    shape: tuple[Formula, ...]
    dtype: numpy.dtype
    order: str
    """Of a whole array's axes, as `fresh` has it; "" for a view."""
    strides: tuple[Formula, ...] = ()
    offset: tuple[Formula, ...] = ()
    nbytes: Formula = Formula(0)
    writeable: bool = True

    def at(self, lengths: Lengths) -> numpy.ndarray | None:
        """The geometry for some lengths; None where an axis gets too short to be like the others."""
        shape = tuple([f.at(lengths) for f in self.shape])
        if any(n < 2 and f.terms for n, f in zip(shape, self.shape, strict=True)):
            return None
        if self.order:
            return fresh(shape, self.dtype, self.order)
        offset, nbytes = sum([f.at(lengths) for f in self.offset]), self.nbytes.at(lengths)
        found = geometry(shape, self.dtype, [f.at(lengths) for f in self.strides], offset, nbytes)
        low, high = extent(found)
        if not 0 <= low < high <= nbytes:
            return None
        found.flags.writeable = self.writeable
        return found


class Node(NamedTuple):
    """An operation; references are numbers: k >= 0 is node k, k < 0 is leaf -1 - k."""

    op: Any
    inputs: tuple[Any, ...]
    """(reference, number of the place), or a constant, or (its type, formula)."""
    region: int
    old: int | None
    masked: bool
    covers: bool
    errors: Any
    loc: Any


class Leaf(NamedTuple):
    kind: str
    """"input" (`what`: which), "constant" (its buffer), "unwritten" (number of its place)."""
    what: Any


@dataclass(slots=True, eq=False)
class Template:
    """A recording in formulas."""

    nodes: list[Node] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    guards: list[Question] = field(default_factory=list)
    """Of formulas."""

    def holds(self, lengths: Lengths) -> bool:
        return all(
            QUESTIONS[q.sign](q.left.at(lengths), q.right.at(lengths)) is q.answer for q in self.guards
        )

    def values(
        self, lengths: Lengths, inputs: Mapping[int, Expr]
    ) -> tuple[list[Expr], list[Expr], list[numpy.ndarray]] | None:
        """Nodes, leaves and geometries for some lengths; None where they are not like those recorded."""
        geos = []
        for place in self.places:
            geo = place.at(lengths)
            if geo is None:
                return None
            geos.append(geo)
        leaves = []
        for leaf in self.leaves:
            if leaf.kind == "input":
                leaves.append(inputs[leaf.what])
            else:
                whole = Unwritten(geos[leaf.what], False) if leaf.kind == "unwritten" else leaf.what
                leaves.append(Expr.leaf(whole))
        nodes: list[Expr] = []

        def value(k: int) -> Expr:
            return nodes[k] if k >= 0 else leaves[-1 - k]

        for n in self.nodes:
            made = []
            for i in n.inputs:
                if type(i) is not tuple:
                    made.append(i)
                elif type(i[0]) is int:
                    made.append(Read(value(i[0]), geos[i[1]]))
                else:
                    try:
                        made.append(i[0](i[1].at(lengths)))
                    except OverflowError:   # (NumPy says so when the program is there: it may have written)
                        return None
            old = None if n.old is None else value(n.old)
            node = Expr(n.op, tuple(made), geos[n.region], old, n.masked, n.errors, n.loc)
            if node.covers is not n.covers:
                return None
            nodes.append(node)
        return nodes, leaves, geos


class Recording(NamedTuple):
    """What is compared of two of them."""

    nodes: Sequence[Expr]
    inputs: Sequence[Expr | None]
    geos: Sequence[numpy.ndarray]
    """Of results."""
    asked: Asked


class _Writer:
    """Two recordings on their way to a template."""

    def __init__(self, one: Recording, other: Recording, reader: Reader) -> None:
        self.one, self.other, self.reader = one, other, reader
        self.made = Template()
        self.numbers: dict[int, int] = {}
        self.leaves: dict[int, Expr] = {}
        """The other recording's, for each of this one's by identity."""
        self.place_of: dict[int, int] = {}
        self.steps: dict[int, list[tuple[int, int, Formula]]] = {}
        """By identity of the first value in a storage: strides of the whole."""

    def place(self, g: numpy.ndarray, h: numpy.ndarray, value: Expr | None) -> int:
        """The number of a place in a value, or of a result."""
        found = self.place_of.get(id(g))
        if found is None:
            self.made.places.append(self._place(g, h, value))
            found = self.place_of[id(g)] = len(self.made.places) - 1
        return found

    def _place(self, g: numpy.ndarray, h: numpy.ndarray, value: Expr | None) -> Place:
        if g.ndim != h.ndim or g.dtype != h.dtype or g.dtype.kind == "c":
            raise Refused("its operations depend on lengths, or are complex")
        read = self.reader.formula
        shape = tuple([read(n, m) for n, m in zip(g.shape, h.shape, strict=True)])
        order = _order(g, value)
        if order != _order(h, None if value is None else self._twin(value)):
            raise Refused("its layouts depend on lengths")
        if order:
            return Place(shape, g.dtype, order)
        if value is None:
            raise Refused("it returns a view, or an array of an unusual layout")
        strides: list[Formula] = []
        for s, t in reversed([*zip(g.strides, h.strides, strict=True)]):
            if s * t < 0 or (s == 0) is not (t == 0):
                raise Refused("its layouts depend on lengths")
            made = read(abs(s), abs(t))
            strides.insert(0, made._replace(factor=-made.factor) if s < 0 else made)
        first = _first(value)
        steps = {(abs(s), abs(t)) for s, t in zip(g.strides, h.strides, strict=True) if s}
        steps |= {(s, t) for s, t, _ in self.steps.get(id(first), ())}
        offset = self._offset(offset_of(g), offset_of(h), steps)
        nbytes = read(value.nbytes, self._twin(value).nbytes)
        return Place(shape, g.dtype, "", tuple(strides), offset, nbytes, g.flags.writeable)

    def _offset(self, a: int, b: int, steps: set[tuple[int, int]]) -> tuple[Formula, ...]:
        """Bytes to the first element: so many of each step."""
        found = []
        for s, t in sorted(steps, reverse=True):
            (n, a), (m, b) = divmod(a, s), divmod(b, t)
            start = self.reader.simple(n, m)
            if start is None:
                raise Refused("its parts begin where no length says")
            if n or m:
                found.append(start.times(self.reader.formula(s, t)))
        if a or b:
            raise Refused("its parts begin where no length says")
        return tuple(found)

    def _twin(self, value: Expr) -> Expr:
        k = self.numbers.get(id(value))
        return self.other.nodes[k] if k is not None and k >= 0 else self.leaves[id(value)]

    def number(self, x: Expr, y: Expr) -> int:
        """The reference to a value; leaves are met here."""
        found = self.numbers.get(id(x))
        if found is not None:
            if self._twin(x) is not y:
                raise Refused("its operations depend on lengths")
            return found
        if x.op is not None or y.op is not None:
            raise Refused("a value that has no place")
        given = [k for k, value in enumerate(self.one.inputs) if value is x]
        self.leaves[id(x)] = y
        leaf: Leaf
        if given:
            if self.other.inputs[given[0]] is not y:
                raise Refused("its operations depend on lengths")
            leaf = Leaf("input", given[0])
        elif x.buf.__class__ is Unwritten and y.buf.__class__ is Unwritten:
            leaf = Leaf("unwritten", self.place(x.buf.layout, y.buf.layout, x))
        elif x.buf.__class__ is Buffer and y.buf.__class__ is Buffer and _same_bytes(x, y):
            leaf = Leaf("constant", x.buf)
        else:
            raise Refused("it makes arrays whose elements depend on lengths")
        self.made.leaves.append(leaf)
        self.numbers[id(x)] = -len(self.made.leaves)
        return -len(self.made.leaves)

    def whole(self, x: Expr, g: numpy.ndarray, h: numpy.ndarray) -> None:
        """Remember the strides of a storage."""
        for n, m in zip(g.shape, h.shape, strict=True):
            self.reader.formula(n, m)
        steps = [(abs(s), abs(t)) for s, t in zip(g.strides, h.strides, strict=True) if s]
        self.steps[id(x)] = [(s, t, self.reader.formula(s, t)) for s, t in reversed(steps)]

    def node(self, k: int, x: Expr, y: Expr) -> None:
        if not isinstance(x.op, SHAPELESS) or x.op != y.op or len(x.inputs) != len(y.inputs):
            raise Refused("it has operations that depend on lengths")
        if isinstance(x.op, Reduce) and isinstance(y.op, Reduce):
            starts = [None if op.initial is None else op.initial.tobytes() for op in (x.op, y.op)]
            if starts[0] != starts[1]:
                raise Refused("it has operations that depend on lengths")
        same = (x.masked, x.covers, x.old is None) == (y.masked, y.covers, y.old is None)
        assert x.region is not None
        if not same or y.region is None:
            raise Refused("its operations depend on lengths")
        old = None if x.old is None or y.old is None else self.number(x.old, y.old)
        self.numbers[id(x)] = k
        if x.old is None:
            self.whole(x, x.region, y.region)
        inputs = tuple([self.input(i, j) for i, j in zip(x.inputs, y.inputs, strict=True)])
        region = self.place(x.region, y.region, x)
        self.made.nodes.append(Node(x.op, inputs, region, old, x.masked, x.covers, x.errors, x.loc))

    def input(self, i: Any, j: Any) -> Any:
        if i.__class__ is not j.__class__:
            raise Refused("its operations depend on lengths")
        if i.__class__ is Read:
            at = self.number(i.expr, j.expr)
            return at, self.place(i.geo, j.geo, i.expr)
        if i.tobytes() == j.tobytes():
            return i
        if i.dtype.kind not in "iuf" or i.itemsize < EXACT or i != int(i) or j != int(j):
            raise Refused("it computes with numbers that depend on lengths")
        return type(i), self.reader.formula(int(i), int(j))

    def guards(self) -> list[Question]:
        """Questions that not all lengths answer alike."""
        mine, others = self.one.asked.questions, self.other.asked.questions
        if [(q.sign, q.answer) for q in mine] != [(q.sign, q.answer) for q in others]:
            raise Refused("it goes on by lengths")
        found: dict[Question, None] = {}
        for q, r in zip(mine, others, strict=True):
            left, right = self.reader.formula(q.left, r.left), self.reader.formula(q.right, r.right)
            if not _decided(left, right, q):
                found[Question(q.sign, left, right, q.answer)] = None
        return list(found)


def _order(geo: numpy.ndarray, value: Expr | None) -> str:
    """In which order the axes of a whole array lie, "C" or "F"; "" for a view."""
    if not geo.flags.writeable or offset_of(geo) or (value is not None and geo.nbytes != value.nbytes):
        return ""
    return next((o for o in "CF" if fresh(geo.shape, geo.dtype, o).strides == geo.strides), "")


def _decided(left: Formula, right: Formula, q: Question) -> bool:
    """Do all lengths of the kind, 2 at least, answer a question alike?"""
    if not left.terms and not right.terms:
        return True
    if [k for k, _ in left.terms] == [k for k, _ in right.terms] and len(left.terms) == 1:
        return left.factor == right.factor
    positive = right.factor == 1 and len(right.terms) == 1 and right.terms[0][1] >= 0
    return q.sign == "<=" and q.answer and positive and not left.terms and left.factor <= 2


def _first(value: Expr) -> Expr:
    """The first value that its storage had."""
    while value.op is not None and value.old is not None:
        value = value.old
    return value


def _same_bytes(x: Expr, y: Expr) -> bool:
    return not isinstance(x.buf, Slot) and bool(x.buf.memory.tobytes() == y.buf.memory.tobytes())


class Written(NamedTuple):
    """A template, and where it has the things of a recording."""

    template: Template
    numbers: dict[int, int]
    places: dict[int, int]


def written(
    one: Recording, other: Recording, wholes: Mapping[int, tuple[numpy.ndarray, numpy.ndarray]],
    reader: Reader,
) -> Written:
    """The template of two recordings; `wholes` are the arrays given, by input.

    Raises
    ------
    Refused
        If the function does not the same for all lengths."""
    w = _Writer(one, other, reader)
    if len(one.nodes) != len(other.nodes):
        raise Refused("it has other operations for other lengths")
    for k, (g, h) in wholes.items():
        x, y = one.inputs[k], other.inputs[k]
        assert x is not None and y is not None
        w.number(x, y)
        w.whole(x, g, h)
    for k, (x, y) in enumerate(zip(one.nodes, other.nodes, strict=True)):
        w.node(k, x, y)
    for mine, others in zip(one.geos, other.geos, strict=True):
        w.place(mine, others, None)
    w.made.guards = w.guards()
    return Written(w.made, w.numbers, w.place_of)
