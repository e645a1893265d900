"""Shape equivalence: which dims of an evaluation are one, and why.

In:  pending nodes.   Out: `Dims`, a union-find over the dims of values and of what nodes read; for `explain`.
Extents are known numbers when a plan is made, and partition decides by them.  The classes say what holds
for other numbers, too: dims are one where a program makes them so (an elementwise operation, a fold's kept
axis, a view, what one mask keeps), never because their extents happen to be equal.

    name = letter | 1 | letter-k (a part, k shorter) | letter*letter (axes merged, or an axis that is split)

A dim is named by what it belongs to: (serial of a node, `RESULT` or the number of an input, axis), or
(serial of a value, `MEMORY`, stride) for the axis of an array in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from lazyarr.expr import ELEMENTWISE, Compress, Expr, Gather, Read, Reduce
from lazyarr.geometry import offset_of
from lazyarr.records import NamedTuple, dataclass, field

Dim = tuple[int, int, int]

RESULT, MEMORY = -1, -2

LETTERS = "mnpqrstuvwxyzabcdefghijkl"


class Link(NamedTuple):
    """Why two dims are one."""

    one: Dim
    other: Dim
    why: str


@dataclass(slots=True)
class Facts:
    """What is known of a class of dims besides its extent; the earliest comes first."""

    parts: dict[int, Dim] = field(default_factory=dict)
    """Dims that run along it, but not over all of it: one for each extent."""
    splits: dict[tuple[int, ...], tuple[Dim, ...]] = field(default_factory=dict)
    """The axes of equal splits of it, by their extents."""
    merged: list[tuple[Dim, ...]] = field(default_factory=list)
    """Axes that it consists of."""
    wholes: list[Dim] = field(default_factory=list)
    """Dims that it is a part of."""

    def take(self, other: Facts) -> None:
        """The classes are one."""
        self.parts = {**other.parts, **self.parts}
        self.splits = {**other.splits, **self.splits}
        self.merged += other.merged
        self.wholes += other.wholes


class Dims:
    """Classes of dims; `links` says where each equality comes from."""

    def __init__(self) -> None:
        self.extents: dict[Dim, int] = {}
        self.links: list[Link] = []
        self.memory: dict[int, list[Dim]] = {}
        """Axes of a value's memory, by its serial."""
        self.kept: dict[tuple[Any, ...], Dim] = {}
        """By mask: what it keeps."""
        self._parents: dict[Dim, Dim] = {}
        self._facts: dict[Dim, Facts] = {}
        """Of classes, by their roots."""
        self._splits: list[tuple[Dim, tuple[Dim, ...]]] = []
        self._letters: dict[Dim, str] = {}

    def add(self, dim: Dim, extent: int) -> None:
        if dim not in self._parents:
            self._parents[dim], self.extents[dim] = dim, extent
            if dim[1] == MEMORY:
                self.memory.setdefault(dim[0], []).append(dim)

    def root(self, dim: Dim) -> Dim:
        parents = self._parents
        while parents[dim] != dim:
            parents[dim] = dim = parents[parents[dim]]      # (half the way for who asks next)
        return dim

    def _of(self, dim: Dim) -> Facts:
        return self._facts.setdefault(self.root(dim), Facts())

    def same(self, one: Dim, other: Dim) -> bool:
        return self.root(one) == self.root(other)

    def unite(self, one: Dim, other: Dim, why: str) -> None:
        assert self.extents[one] == self.extents[other]
        self.links.append(Link(one, other, why))
        to, gone = self.root(one), self.root(other)
        if to != gone:
            self._parents[gone] = to
            facts = self._facts.pop(gone, None)
            if facts is not None:
                self._of(to).take(facts)

    def part(self, dim: Dim, whole: Dim) -> None:
        """`dim` runs along `whole`, but not over all of it; equally long parts of one dim are one."""
        known = self._of(whole).parts.setdefault(self.extents[dim], dim)
        if known == dim:
            self._of(dim).wholes.append(whole)
        else:
            self.unite(known, dim, "slice")

    def merge(self, dim: Dim, axes: Sequence[Dim]) -> None:
        self._of(dim).merged.append(tuple(axes))

    def split(self, whole: Dim, axes: Sequence[Dim]) -> None:
        """The elements along `whole` are those along `axes`; the axes of two equal splits are the same."""
        extents = tuple([self.extents[a] for a in axes])
        known = self._of(whole).splits.setdefault(extents, tuple(axes))
        if known == tuple(axes):
            self._splits.append((whole, known))
            self.merge(whole, axes)
            return
        for one, other in zip(known, axes, strict=True):
            self.unite(one, other, "reshape")

    def name(self, dim: Dim, within: tuple[Dim, ...] = ()) -> str:
        """Short, the same for all dims of a class; letters are given in the order of asking.

        `within` are the classes whose names this one is to be a piece of."""
        if self.extents[dim] == 1:
            return "1"
        root = self.root(dim)
        known, facts = (*within, root), self._facts.get(root)
        if facts is not None and root not in within:
            if facts.merged:
                return "*".join(self.name(a, known) for a in facts.merged[0])
            if facts.wholes:
                whole = facts.wholes[0]
                return f"{self.name(whole, known)}-{self.extents[whole] - self.extents[dim]}"
        again, at = divmod(len(self._letters), len(LETTERS))
        return self._letters.setdefault(root, LETTERS[at] + (str(again) if again else ""))

    def names(self, serial: int, slot: int, ndim: int) -> str:
        return "[" + ", ".join(self.name((serial, slot, d)) for d in range(ndim)) + "]"

    def legend(self) -> str:
        """The extents of the letters given so far, and products of some that are others'."""
        ways: dict[Dim, dict[str, None]] = {}
        for whole, axes in self._splits:
            ways.setdefault(self.root(whole), {})["*".join(map(self.name, axes))] = None
        extents = [f"{letter} = {self.extents[root]}" for root, letter in self._letters.items()]
        return ", ".join([*extents, *(" = ".join(way) for way in ways.values() if len(way) > 1)])


def equivalence(nodes: Iterable[Expr]) -> Dims:
    """The classes of all dims of `nodes` and of what they read."""
    dims, nodes = Dims(), list(nodes)
    _leaves(dims, nodes)
    for node in nodes:
        for k, i in enumerate(node.inputs):
            if isinstance(i, Read):
                _seen(dims, (node.serial, k), i.geo, i.expr)
        region = node.region
        assert region is not None
        if node.old is not None:
            _seen(dims, (node.serial, RESULT), region, node.old)
        else:
            _declare(dims, (node.serial, RESULT), region.shape)
            _lies(dims, node, region)
        if isinstance(node.op, ELEMENTWISE):
            _elementwise(dims, node, region)
        elif isinstance(node.op, Reduce):
            _folded(dims, node, node.op)
        elif isinstance(node.op, Compress):
            _masked(dims, node)
    return dims


def _leaves(dims: Dims, nodes: Sequence[Expr]) -> None:
    """The memory of a value that exists already has the longest axes of its views that do not run into
    each other."""
    extents: dict[int, dict[int, set[int]]] = {}
    for read in (i for node in nodes for i in node.inputs if isinstance(i, Read) and i.expr.op is None):
        for n, s in zip(read.geo.shape, read.geo.strides, strict=True):
            if n > 1 and s:
                extents.setdefault(read.expr.serial, {}).setdefault(abs(s), set()).add(n)
    for serial, axes in extents.items():
        room = math.inf
        for stride in sorted(axes, reverse=True):
            fitting = [n for n in axes[stride] if n * stride <= room]
            room = stride
            if fitting:
                dims.add((serial, MEMORY, stride), max(fitting))


def _declare(dims: Dims, of: tuple[int, int], shape: Sequence[int]) -> None:
    for d, n in enumerate(shape):
        dims.add((*of, d), n)


def _lies(dims: Dims, value: Expr, geo: numpy.ndarray) -> None:
    """The axes of a new value's memory are those of its first geometry."""
    for d, (n, s) in enumerate(zip(geo.shape, geo.strides, strict=True)):
        if n > 1:
            dims.add((value.serial, MEMORY, abs(s)), n)
            dims.unite((value.serial, RESULT, d), (value.serial, MEMORY, abs(s)), "value")


def _seen(dims: Dims, of: tuple[int, int], geo: numpy.ndarray, value: Expr) -> None:
    """A view of a value: an axis that steps like one of its memory is that one, or a part of it."""
    while value.op is not None and value.old is not None:
        value = value.old                       # a write leaves the axes of the memory as they are
    _declare(dims, of, geo.shape)
    done = set()
    for whole, pieces in _split(dims, value, geo):
        dims.split(whole, [(*of, d) for d in pieces])
        done.update(pieces)
    for d, (n, s) in enumerate(zip(geo.shape, geo.strides, strict=True)):
        if n <= 1 or s == 0 or d in done:
            continue
        axis, mine = (value.serial, MEMORY, abs(s)), (*of, d)
        merged = _merged(dims, value, abs(s), n)
        if merged:
            dims.merge(mine, merged)
        elif dims.extents.get(axis) == n:
            dims.unite(axis, mine, "view")
        elif dims.extents.get(axis, 0) > n and not any(
            abs(s) < t < abs(s) * dims.extents[axis] for t in map(abs, geo.strides)
        ):
            dims.part(mine, axis)


def _split(dims: Dims, value: Expr, geo: numpy.ndarray) -> list[tuple[Dim, list[int]]]:
    """The axes of a value's memory that several axes of a view run through together, and these."""
    axes = enumerate(zip(geo.shape, geo.strides, strict=True))
    steps = {s: (d, n) for d, (n, s) in axes if n > 1 and s > 0}
    found = []
    for axis in dims.memory.get(value.serial, ()):
        pieces: list[int] = []
        step, length = axis[2], 1
        while step in steps and length < dims.extents[axis]:
            d, n = steps[step]
            pieces.insert(0, d)
            step, length = step * n, length * n
        if len(pieces) > 1 and length == dims.extents[axis]:
            found.append((axis, pieces))
    return found


def _merged(dims: Dims, value: Expr, stride: int, extent: int) -> list[Dim]:
    """The axes of a value's memory, longest stride first, that one axis of a view runs through."""
    axes = sorted(dims.memory.get(value.serial, ()), key=lambda d: d[2])
    found: list[Dim] = []
    step = stride
    for axis in axes:
        if axis[2] == step and math.prod(dims.extents[a] for a in found) < extent:
            found.insert(0, axis)
            step *= dims.extents[axis]
    whole = math.prod(dims.extents[a] for a in found) == extent
    return found if len(found) > 1 and whole else []


def _elementwise(dims: Dims, node: Expr, region: numpy.ndarray) -> None:
    """Operands are aligned at their last axes; an axis of length 1 is stretched."""
    table = isinstance(node.op, Gather)         # the first input: it has axes of its own
    for k, i in enumerate(node.inputs):
        if not isinstance(i, Read) or (table and not k):
            continue
        for d, n in enumerate(i.geo.shape):
            at = d + region.ndim - i.geo.ndim
            if n == region.shape[at]:
                dims.unite((node.serial, k, d), (node.serial, RESULT, at), "elementwise")


def _masked(dims: Dims, node: Expr) -> None:
    """A mask has the axes of what it is for; what one mask keeps of several arrays is equally long."""
    mask = node.inputs[1]
    assert isinstance(mask, Read)
    for d in range(mask.geo.ndim):
        dims.unite((node.serial, 0, d), (node.serial, 1, d), "mask")
    key = mask.expr.serial, offset_of(mask.geo), mask.geo.shape, mask.geo.strides
    mine = node.serial, RESULT, 0
    known = dims.kept.setdefault(key, mine)
    if known != mine:
        dims.unite(known, mine, "same mask")


def _folded(dims: Dims, node: Expr, op: Reduce) -> None:
    """A fold keeps the axes that it does not fold."""
    first = node.inputs[0]
    assert isinstance(first, Read)
    kept = [d for d in range(first.geo.ndim) if op.keepdims or d not in op.axes]
    for at, d in enumerate(kept):
        if d not in op.axes:
            dims.unite((node.serial, 0, d), (node.serial, RESULT, at), "kept")
