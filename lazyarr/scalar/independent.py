"""Independence: may the iterations of a loop run in any order?

In:  the body's IR, where its arrays' words are among its parameters, which arrays are the same memory.
Out: `Proof`, with what is yet to be looked at for each range of indices; or the reason why not.
They may if no variable carries a value from one to the next, and if each array that is written to has an axis
along which all its accesses are at the same place, one that is another in each iteration: ``c * i + k``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lazyarr.records import NamedTuple
from lazyarr.scalar.ir import Function, Inst


class Affine(NamedTuple):
    """``index * factor + constant``, and parameters with their factors."""

    factor: int
    constant: int
    others: tuple[tuple[int, int], ...] = ()

    def at(self, index: int, words: Mapping[int, int]) -> int:
        return self.factor * index + self.constant + sum(c * words[p] for p, c in self.others)


class Access(NamedTuple):
    base: int
    """The array's first parameter; -1 where that is not known."""
    places: tuple[Affine | None, ...]
    """Of each axis; None for what is not known."""
    writes: bool


class Proof(NamedTuple):
    places: tuple[Affine, ...]
    """Of the axis that tells iterations apart, one for each array that is written to: none may be negative,
    or be negative in some iterations only."""


class _Looking:
    def __init__(self, f: Function) -> None:
        self.made: dict[int, Inst] = {i.value: i for block in f.blocks for i in block.body}
        entry = f.blocks[0].params
        self.index = entry[1] if len(entry) > 1 else -1
        self.params = {v: k for k, v in enumerate(entry[2:])}
        self.known: dict[int, Affine | None] = {}

    def affine(self, v: int) -> Affine | None:
        if v not in self.known:
            self.known[v] = self._affine(v)
        return self.known[v]

    def _affine(self, v: int) -> Affine | None:
        if v == self.index:
            return Affine(1, 0)
        if v in self.params:
            return Affine(0, 0, ((self.params[v], 1),))
        inst = self.made.get(v)
        if inst is None:
            return None
        if inst.op == "const" and isinstance(inst.attr, int):
            return Affine(0, int(inst.attr))
        if inst.op not in ("int_add", "int_sub", "int_mul"):
            return None
        a, b = map(self.affine, inst.args)
        if a is None or b is None:
            return None
        if inst.op == "int_mul":
            if a.factor or a.others:
                a, b = b, a
            return None if a.factor or a.others else _scaled(b, a.constant)
        return _sum(a, b if inst.op == "int_add" else _scaled(b, -1))

    def access(self, address: int, writes: bool) -> Access:
        places: list[Affine | None] = []
        while address in self.made:
            inst = self.made[address]
            assert inst.op == "offset", inst
            address, position, _ = inst.args
            index = self.made[position]
            assert index.op == "index", index
            places.append(self.affine(index.args[0]))
        return Access(self.params.get(address, -1), tuple(reversed(places)), writes)


def _scaled(a: Affine, c: int) -> Affine:
    return Affine(a.factor * c, a.constant * c, tuple([(p, k * c) for p, k in a.others if c]))


def _sum(a: Affine, b: Affine) -> Affine:
    others = dict(a.others)
    for p, c in b.others:
        others[p] = others.get(p, 0) + c
    kept = tuple(sorted((p, c) for p, c in others.items() if c))
    return Affine(a.factor + b.factor, a.constant + b.constant, kept)


def accesses(f: Function) -> list[Access]:
    """All accesses of elements."""
    looking = _Looking(f)
    return list(_accesses(f, looking))


def _accesses(f: Function, looking: _Looking) -> Iterator[Access]:
    for block in f.blocks:
        for inst in block.body:
            kind = inst.op.partition("_")[0]
            if kind in ("load", "store"):
                yield looking.access(inst.args[0], kind == "store")


def independent(found: list[Access], same: Mapping[int, int]) -> Proof | str:
    """`same`: array -> the one that stands for all with its memory."""
    by_array: dict[int, list[Access]] = {}
    if any(access.base < 0 for access in found):
        return "it takes parts of several arrays in one place"
    for access in found:
        by_array.setdefault(same[access.base], []).append(access)
    places = []
    for some in by_array.values():
        if not any(access.writes for access in some):
            continue
        place = _apart(some)
        if place is None:
            return "iterations may read or write what others write"
        places.append(place)
    return Proof(tuple(places))


def _apart(some: list[Access]) -> Affine | None:
    """The place along an axis that is the same in all accesses, and another in each iteration."""
    axes = min(len(access.places) for access in some)
    for axis in range(axes):
        found = {access.places[axis] for access in some}
        if len(found) == 1:
            (place,) = found
            if place is not None and place.factor:
                return place
    return None
