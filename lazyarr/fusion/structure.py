"""Structure: what planning goes by, in tokens; equal ones have equal plans, equal groups share one program.

In:  nodes: those of an evaluation, or of one group of it.   Out: a key, and the values that the nodes need of
others, in the order in which the key numbers them.
A key holds all that partition and assembly look at: ops, types, geometries, which inputs are which, what must
be stored, the alignment of foreign memory; constants and error states only as far as rules go by them.
A reference is a number: k >= 0 is node k, k < 0 is value -1 - k of others.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import chain, count, islice, repeat
from operator import attrgetter, is_
from typing import Any

import numpy

from lazyarr import switches
from lazyarr.dtypes import CHARS, char_of
from lazyarr.error_state import ignores
from lazyarr.expr import Expr, Read, Reduce
from lazyarr.fusion.assemble import Arrange, Filled, Frame, assemble
from lazyarr.fusion.fold import fold_order
from lazyarr.fusion.group import Group
from lazyarr.fusion.kinds import Key, Kinds, numbered
from lazyarr.fusion.program import Program
from lazyarr.fusion.registry import NONE, Active
from lazyarr.geometry import FRESH, GHOSTS, address
from lazyarr.records import dataclass, field
from lazyarr.reduce_order import DECIDED_EARLY, Order

_OP, _INPUTS, _REGION, _OLD = map(attrgetter, ("op", "inputs", "region", "old"))
_COVERS, _MASKED, _SERIAL = map(attrgetter, ("covers", "masked", "serial"))
_EXPR, _GEO = map(attrgetter, ("expr", "geo"))


class Numbering(dict[Any, int]):
    """Numbers things as they are first asked for."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


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


OPTIONS = 2
"""Parts of a walk's key before its tokens."""


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
    foreign: bool = False
    """Some memory of others does not begin at a multiple of 16."""
    _aligned: tuple[int, bool] = (0, True)
    """Of how many of those geometries it is known whether all are aligned, and whether they are."""
    _known: dict[int, Any] = field(default_factory=dict)
    """By identity, what is said of the nodes' geometries: they hold these."""
    _geos: list[numpy.ndarray] = field(default_factory=list)
    """These, in the same order."""
    saying: slice = slice(0)
    """Where among the tokens that `of` found it is said of all geometries what they are."""
    visited: list[int] = field(default_factory=list)
    """By identity, the geometries of all reads, input by input, then those of all regions."""
    kinds: Kinds = field(default_factory=lambda: Kinds((), ()))
    """What each node is by itself, of those of which `tell` was asked."""

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
        seen = self.visited = [*map(id, geos)]
        self._see(seen, geos)
        parts: list[Any] = [
            bytes(stored), *ops, *map(len, given), *map(type, inputs),      # (a type says a constant's dtype)
            *map(numbers.__getitem__, map(_EXPR, reads)), *map(self._known.__getitem__, seen),
        ]  # fmt: skip
        self.saying = slice(len(parts) - len(seen), len(parts))
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
            if astray := beyond(value):
                self.foreign = True
                parts += (-1 - k, astray)
        return parts

    def _see(self, ids: Iterable[int], geos: Iterable[numpy.ndarray]) -> None:
        """Note what is said of geometries: one that arrays share goes by its identity."""
        known, add, every = self._known, self._others.append, self._geos.append
        for i, geo in dict(zip(ids, geos, strict=True)).items():
            if i in known:
                continue
            every(geo)
            if i in FRESH:
                self.pins.append(geo)
                self.shared[i] = geo
                known[i] = i
            else:
                add(geo)
                known[i] = by_contents(geo)

    @property
    def odd(self) -> bool:
        """Some memory is somebody else's, and begins anywhere, or some access is not aligned."""
        count, aligned = self._aligned
        if count < len(self._others):
            aligned = aligned and all(geo.flags.aligned for geo in self._others[count:])
            self._aligned = len(self._others), aligned
        return self.foreign or not aligned

    def tell(self, nodes: Sequence[Expr]) -> None:
        """Number what nodes are by themselves: those of the last call of `of`.

        (One kind of token comes after the other, as in `of`.)"""
        if self.kinds.forms:
            return
        rules, literal, shared = self.rules, self.literal, self.shared
        kinds = self.kinds = Kinds(self._geos, [
            by_contents(shared[said]) if said.__class__ is int else said for said in self._known.values()
        ])  # fmt: skip
        ops, given = [*map(_OP, nodes)], [*map(_INPUTS, nodes)]
        inputs: list[Any] = [*chain.from_iterable(given)]
        places = [*map(kinds.place.__getitem__, self.visited)]
        regions = places[len(places) - len(nodes) :]
        if len(regions) + len(inputs) == len(places):           # (no constants)
            inputs = places
        else:
            at, seen = iter(places), rules.seen if rules.numbers and literal else None
            inputs = [
                next(at) if i.__class__ is Read else i.dtype.char if seen is None else (i.dtype.char, seen(i))
                for i in inputs
            ]  # fmt: skip
        new = map(is_, map(_OLD, nodes), repeat(None))
        heads: list[Any] = [regions, ops, new, map(_COVERS, nodes), map(_MASKED, nodes)]
        initial = [op.initial if op.__class__ is Reduce else None for op in ops]
        if initial.count(None) < len(ops):
            heads.append([None if x is None else x.tobytes() for x in initial])
        if rules.flagless:
            heads.append([literal and ignores(node.errors) for node in nodes])
        counts = [*map(len, given)]
        if counts.count(counts[0]) == len(counts):              # (all have as many inputs)
            keys = [*zip(*heads, *[inputs[k :: counts[0]] for k in range(counts[0])], strict=False)]
        else:
            at, said = iter(inputs), zip(*heads, strict=True)
            keys = [(*mine, *islice(at, n)) for mine, n in zip(said, counts, strict=True)]
        kinds.enter(map(_SERIAL, nodes), keys, len(heads))

    def places(self) -> Iterable[Any]:
        """What was said of geometries, in the order in which they were met, each once."""
        return dict.fromkeys(self._known.values())


def beyond(value: Expr) -> int:
    """By how much somebody else's memory begins beyond a multiple of 16, where that of ours begins; so what
    begins there, too, has the same plans."""
    buf = value.buf
    return 0 if buf is None or buf.bridge is None else buf.address & 15


def by_contents(geo: numpy.ndarray) -> Key:
    """What keys say of a geometry that arrays do not share."""
    dtype = geo.dtype
    char = CHARS.get(id(dtype)) or char_of(dtype) or dtype
    if not geo.size:
        return geo.shape, geo.strides, char, 0
    return geo.shape, geo.strides, char, address(geo) - GHOSTS[id(geo.base)]     # (`geometry.offset_of`)


def structure_of(
    group: Group, stored: Sequence[bool], tokens: Tokens, live: Container[int]
) -> tuple[Key, Key, list[Expr]]:
    """What the nodes of a group are, of which some are stored; which values they need, by the numbers that
    these have in the group; and those of others among these.  The first two are the group's key."""
    nodes, known = group.nodes, tokens.kinds.forms
    forms: list[int] = []
    links: list[Any] = [*stored]
    needed: list[Expr] = []
    numbers: dict[int, int] = {}
    for node in nodes:                              # (no function for each: most groups have few nodes)
        serial = node.serial
        numbers[serial] = len(forms)
        forms.append(known[serial])
    for node in nodes:
        for i in node.inputs:
            if i.__class__ is Read:
                value = i.expr
                serial = value.serial
                if serial in numbers:
                    links.append(numbers[serial])
                else:
                    needed.append(value)
                    numbers[serial] = -len(needed)
                    links.append(-len(needed))
        old = node.old
        if old is not None:                         # (which the node's form says)
            while old is not None and old.op is not None and id(old) not in live:
                old = old.old
            k = None if old is None else numbers.get(old.serial)
            if old is not None and k is None:
                needed.append(old)
                k = numbers[old.serial] = -len(needed)
            links += (old is node.old, k)
    if tokens.foreign:
        for k, value in enumerate(needed):
            if astray := beyond(value):
                links += (-1 - k, astray)
    if group.fold is not None and any(
        isinstance(n.op, Reduce) and n.op.name in DECIDED_EARLY for n in nodes
    ):
        links += [tokens.literal and ignores(n.errors) for n in nodes]
    if group.bridged:               # the loops see nodes otherwise than these were written
        links.append(group.shape)
        for node in nodes:
            placed = group.placed[node.serial]
            links += [None if geo is None else by_contents(geo) for geo in (placed.region, *placed.reads)]
    return tuple(forms), tuple(links), needed


def form_of(group: Group, forms: Key, links: Key, tokens: Tokens) -> Key | None:
    """What the body of a group depends on, whatever the extents: what is said of its nodes (`structure_of`),
    in which geometries are told by their types and by which of them are one; None where the body itself has
    extents in it.

    (Equal loads are one by what they say of memory, values pass in registers by which elements they are: axes
    of length 1 make a difference.)"""
    if group.bridged or switches.OFF:
        return None
    kinds = tokens.kinds
    each = [*dict.fromkeys(forms)]              # (nodes are alike as these, so more need not be looked at)
    mine = [*map(kinds.__getitem__, each)]
    if not all(map(kinds.shapeless.__getitem__, mine)):
        return None
    form: list[Any] = [links, tuple(numbered(forms)), *map(kinds.bare.__getitem__, mine), *kinds.visits(each)]
    for node in group.nodes if group.fold is not None else ():
        if node.op.__class__ is Reduce:
            order = fold_order(node)
            assert isinstance(order, Order)
            across = bool(order.loops) and order.loops[-1].kind == "p"
            form += (node is group.fold, order.fold, order.start, across)
    return tuple(form)


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
