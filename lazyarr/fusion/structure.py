"""Structure: what planning goes by, in tokens; equal ones have equal plans, equal groups share one program.

In:  nodes: those of an evaluation, or of one group of it.   Out: a key, and the values that the nodes need of
others, in the order in which the key numbers them.
A key holds all that partition and assembly look at: ops, types, geometries, which inputs are which, what must
be stored, the alignment of foreign memory; constants and error states only as far as rules go by them.
A reference is a number: k >= 0 is node k, k < 0 is value -1 - k of others.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import field
from itertools import chain, count
from operator import attrgetter
from typing import Any

import numpy

from lazyarr import switches
from lazyarr.dtypes import CHARS, char_of
from lazyarr.error_state import ignores
from lazyarr.expr import Expr, Map, Read, Reduce, Scan
from lazyarr.fusion.assemble import Arrange, Filled, Frame, assemble
from lazyarr.fusion.fold import fold_order
from lazyarr.fusion.group import Group
from lazyarr.fusion.program import Program
from lazyarr.fusion.registry import NONE, Active
from lazyarr.geometry import FRESH, GHOSTS, address
from lazyarr.records import dataclass
from lazyarr.reduce_order import DECIDED_EARLY, Order

Key = tuple[Any, ...]


_OP, _INPUTS, _REGION, _OLD = map(attrgetter, ("op", "inputs", "region", "old"))
_EXPR, _GEO = map(attrgetter, ("expr", "geo"))


class Numbers(dict[Expr, int]):
    """The numbers of nodes; other values get theirs when these are asked for.

    It holds the nodes: nobody keeps it."""

    leaves: list[Expr]
    """The other values, in the order of their numbers."""

    @classmethod
    def of(cls, nodes: Iterable[Expr]) -> Numbers:
        found = cls(zip(nodes, count()))            # (no number for each: this runs for every node there is)
        found.leaves = []
        return found

    def __missing__(self, value: Expr) -> int:
        self.leaves.append(value)
        number = self[value] = -len(self.leaves)
        return number


@dataclass(slots=True, eq=False, repr=False)
class Tokens:
    """What keys say of nodes, as long as the nodes live.  (Nobody may print geometries.)"""

    rules: Active
    literal: bool
    """Constants and error states are what they are at every run, and rules may go by them."""
    pins: list[Any] = field(default_factory=list)
    """Objects whose identity is a token."""
    shared: dict[int, numpy.ndarray] = field(default_factory=dict)
    """The geometries among them, by identity."""
    _others: list[numpy.ndarray] = field(default_factory=list)
    """Geometries that are told by what is said of them."""
    _foreign: bool = False
    """Some memory of others does not begin at a multiple of 16."""
    _aligned: tuple[int, bool] = (0, True)
    """Of how many of those geometries it is known whether all are aligned, and whether they are."""
    _known: dict[int, Any] = field(default_factory=dict)
    """By identity, what is said of the nodes' geometries: they hold these."""
    _ones: dict[Any, numpy.ndarray] = field(default_factory=dict)
    """By what is said of them: the first such geometry."""
    _one_of: dict[int, numpy.ndarray] = field(default_factory=dict)
    """The same, by identity."""
    _forms: dict[Key, int] = field(default_factory=dict)
    _form_of: dict[int, int] = field(default_factory=dict)
    """By serial of a node: its form."""

    def of(
        self, nodes: Sequence[Expr], stored: Sequence[bool], numbers: Numbers,
        live: Container[int] | None = None,
    ) -> list[Any]:  # fmt: skip
        """The tokens of some nodes, whose `numbers` they are; those of the other values that they need are
        added.  What is pending and not in `live` (by identity; those with numbers) nobody asks for: it was
        overwritten.

        One kind of token comes after the other, since the interpreter itself then goes through the nodes; how
        many there are of each kind, those before say.  Only of nodes with old values there is a loop."""
        rules, literal = self.rules, self.literal
        ops: list[Any] = [*map(_OP, nodes)]
        given = [*map(_INPUTS, nodes)]
        inputs: list[Any] = [*chain.from_iterable(given)]
        reads = [i for i in inputs if i.__class__ is Read]
        geos = [*map(_GEO, reads), *map(_REGION, nodes)]
        seen = [*map(id, geos)]
        self._see(seen, geos)
        parts: list[Any] = [
            bytes(stored), *ops, *map(len, given), *map(type, inputs),      # (a type says a constant's dtype)
            *map(numbers.__getitem__, map(_EXPR, reads)), *map(self._known.__getitem__, seen),
        ]  # fmt: skip
        early = False
        for op in ops:
            if op.__class__ is Reduce:
                early = early or op.name in DECIDED_EARLY
                if op.initial is not None:
                    parts.append(op.initial.tobytes())          # (-0.0 and 0.0 are equal)
        if rules.numbers:
            parts += [rules.seen(i) if literal else NONE for i in inputs if i.__class__ is not Read]
        if rules.flagless or early:
            parts += [literal and ignores(node.errors) for node in nodes]
        for k, old in enumerate(map(_OLD, nodes)):
            if old is None:
                continue
            node, found = nodes[k], old
            while found is not None and found.op is not None and (
                found not in numbers if live is None else id(found) not in live
            ):
                found = found.old
            below = None if found is None else numbers[found]
            parts += (k, below, found is old, node.masked, node.covers)
        for k, value in enumerate(numbers.leaves):
            if value.buf is not None and value.buf.bridge is not None:
                parts += (-1 - k, value.buf.address & 15)
                self._foreign = self._foreign or value.buf.address & 15 != 0
        return parts

    def _see(self, ids: Iterable[int], geos: Iterable[numpy.ndarray]) -> None:
        """Note what is said of geometries: one that arrays share goes by its identity."""
        known, add = self._known, self._others.append
        for i, geo in dict(zip(ids, geos, strict=True)).items():
            if i in known:
                continue
            if i in FRESH:
                self.pins.append(geo)
                self.shared[i] = geo
                known[i] = i
            else:
                add(geo)
                known[i] = by_contents(geo)

    @property
    def odd(self) -> bool:
        """Some memory is somebody else's, or some access is not aligned."""
        count, aligned = self._aligned
        if count < len(self._others):
            aligned = aligned and all(geo.flags.aligned for geo in self._others[count:])
            self._aligned = len(self._others), aligned
        return self._foreign or not aligned

    def one(self, geo: numpy.ndarray) -> numpy.ndarray:
        """Of all geometries of nodes of which the same is said, one."""
        found = self._one_of.get(id(geo))
        if found is None:
            found = self._one_of[id(geo)] = self._ones.setdefault(self._known[id(geo)], geo)
        return found

    def form(self, node: Expr) -> int:
        """A number for what a node is by itself, whatever its inputs are: for all that is said of it but
        which values it needs and whether it is stored."""
        number = self._form_of.get(node.serial)
        if number is None:
            known, one, op = self._one_of, self.one, node.op
            region: Any = node.region
            inputs: Sequence[Any] = node.inputs
            where = known.get(id(region))
            key: list[Any] = [
                op, node.old is None, node.covers, node.masked, id(one(region) if where is None else where),
            ]  # fmt: skip
            add = key.append
            for i in inputs:
                if i.__class__ is Read:
                    geo = i.geo
                    where = known.get(id(geo))
                    add(id(one(geo) if where is None else where))
                else:
                    add(i.dtype.char)
                    if self.rules.numbers:
                        add(self.rules.seen(i) if self.literal else NONE)
            if op.__class__ is Reduce and op.initial is not None:
                add(op.initial.tobytes())
            if self.rules.flagless:
                add(self.literal and ignores(node.errors))
            number = self._form_of[node.serial] = self._forms.setdefault(tuple(key), len(self._forms))
        return number

    def places(self) -> Iterable[Any]:
        """What was said of geometries, in the order in which they were met, each once."""
        return dict.fromkeys(self._known.values())


def by_contents(geo: numpy.ndarray) -> Key:
    """What keys say of a geometry that arrays do not share."""
    dtype = geo.dtype
    char = CHARS.get(id(dtype)) or char_of(dtype) or dtype
    if not geo.size:
        return geo.shape, geo.strides, char, 0
    return geo.shape, geo.strides, char, address(geo) - GHOSTS[id(geo.base)]     # (`geometry.offset_of`)


def structure_of(
    group: Group, stored: Sequence[bool], tokens: Tokens, live: Container[int]
) -> tuple[Key, list[Expr]]:
    """The key of a group, of whose nodes some are stored, and the values that it needs of others."""
    numbers = {id(n): k for k, n in enumerate(group.nodes)}
    parts: list[Any] = []
    needed: list[Expr] = []
    add, form = parts.append, tokens.form
    for node, store in zip(group.nodes, stored, strict=True):
        add(form(node))
        add(store)
        values = [i.expr for i in node.inputs if i.__class__ is Read]
        old = node.old
        if old is not None:                         # (which the node's form says)
            while old is not None and old.op is not None and id(old) not in live:
                old = old.old
            add(old is node.old)
            if old is None:
                add(None)
            else:
                values.append(old)
        for value in values:
            k = numbers.get(id(value))
            if k is None:
                needed.append(value)
                k = numbers[id(value)] = -len(needed)
                if value.buf is not None and value.buf.bridge is not None:
                    add(value.buf.address & 15)
            add(k)
    if group.fold is not None and any(
        isinstance(n.op, Reduce) and n.op.name in DECIDED_EARLY for n in group.nodes
    ):
        parts += [tokens.literal and ignores(n.errors) for n in group.nodes]
    if group.bridged:               # the loops see nodes otherwise than these were written
        parts.append(group.shape)
        for node in group.nodes:
            placed = group.placed[node.serial]
            parts += [None if geo is None else by_contents(geo) for geo in (placed.region, *placed.reads)]
    return tuple(parts), needed


def form_of(group: Group, stored: Sequence[bool], tokens: Tokens, live: Container[int]) -> Key | None:
    """What the body of a group depends on, whatever the extents: the tokens of its nodes, in which geometries
    are told by their types and by which of them are one; None where the body itself has extents in it.

    (Equal loads are one by what they say of memory, values pass in registers by which elements they are: axes
    of length 1 make a difference.)"""
    if group.bridged or switches.OFF or any(not isinstance(n.op, SHAPELESS) for n in group.nodes):
        return None
    pinned, labels, form = tokens.shared, dict[Any, int](), list[Any]()
    known: dict[Any, tuple[Any, ...]] = {}
    for part in tokens.of(group.nodes, stored, Numbers.of(group.nodes), live):
        told = part.__class__ is tuple
        if not told and (part.__class__ is not int or part not in pinned):
            form.append(part)
            continue
        found = known.get(part)
        if found is None:
            said = part if told else by_contents(pinned[part])
            shape, strides, char, offset = said
            if 1 in shape:
                strides = tuple([s for s, n in zip(strides, shape, strict=True) if n > 1])
            seen = shape, strides, offset, char
            found = known[part] = (
                char, len(shape), labels.setdefault(said, len(labels)), labels.setdefault(seen, len(labels)),
            )  # fmt: skip
        form += found
    for node in group.nodes:
        if node.op.__class__ is Reduce:
            order = fold_order(node)
            assert isinstance(order, Order)
            across = bool(order.loops) and order.loops[-1].kind == "p"
            form += (node is group.fold, order.fold, order.start, across)
    return tuple(form)


SHAPELESS = (Map, Reduce, Scan)
"""Ops of which no extent becomes a number in the body."""


@dataclass(slots=True, eq=False)
class Framed:
    """The programs of a group, and of all that are like it, over some of its rows."""

    filled: Filled
    arrange: Arrange
    _programs: dict[Frame, Program] = field(default_factory=dict)

    def over(self, frame: Frame) -> Program:
        found = self._programs.get(frame)
        if found is None:
            found = self._programs[frame] = assemble(self.filled, self.arrange, frame)
        return found
