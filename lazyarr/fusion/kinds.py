"""Kinds: what the nodes of an evaluation are by themselves, whatever values they need, in numbers.

In:  the geometries of nodes, and what is said of these and of each node.   Out: `Kinds`; equal numbers stand
for what is alike:

    place   a geometry: shape, strides, type, offset
    form    a node: all that is said of it but which values it needs and whether it is stored
    kind    a form whatever its offsets are

The number of a place or form is that of the first one like it, so the interpreter itself counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy

from lazyarr.expr import Map, Reduce, Scan

Key = tuple[Any, ...]


def numbered(things: Iterable[Any]) -> Iterator[int]:
    """For each thing the number of the first equal one."""
    first: dict[Any, int] = {}
    return map(first.setdefault, things, count())


class Each:
    """Things of which several may be one object, for questions that are asked once for each object."""

    __slots__ = ("things", "at")

    def __init__(self, things: Sequence[Any]) -> None:
        self.at = [*map(id, things)]
        self.things = dict(zip(self.at, things, strict=True))

    def once(self, f: Callable[[Any], Any]) -> list[Any]:
        """What a function says of each thing."""
        if len(self.things) == 1:
            return [*map(f, self.things.values())] * len(self.at)
        found = dict(zip(self.things, map(f, self.things.values()), strict=True))
        return [*map(found.__getitem__, self.at)]


def once(f: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
    """What a function says of each thing, asked once for each object."""
    return Each(things).once(f)


SHAPELESS = (Map, Reduce, Scan)
"""Ops of which no extent becomes a number in the body."""


class Kinds(dict[int, int]):
    """The number of each form's kind, which is found when it is asked for."""

    __slots__ = (
        "geos", "said", "place", "forms", "told", "heads", "bare", "shapeless", "usual", "strides",
        "_like", "_seen", "_known",
    )  # fmt: skip

    def __init__(self, geos: Sequence[numpy.ndarray], said: Sequence[Key]) -> None:
        self.geos = geos
        self.said = said
        """By number of a place: the first such geometry; shape, strides, type and offset."""
        self.place: dict[int, int] = dict(zip(map(id, geos), numbered(said), strict=True))
        """By identity of a geometry."""
        self.forms: dict[int, int] = {}
        """By serial of a node."""
        self.told: Sequence[Key] = ()
        """What forms are, by number: the place of the region, what else is said, from `heads` on the inputs,
        each a place or what is said of a constant.  (Nothing else is an int.)"""
        self.heads = 0
        self.bare: list[Key] = []
        """By number of a kind: its key without extents; in the place of a geometry its axes and its type."""
        self.shapeless: list[bool] = []
        """Does no extent become a number in the body of such nodes?"""
        self.usual: dict[int, Any] = {}
        """By number of a kind, as far as somebody asked: how assembly takes such nodes."""
        self.strides: dict[int, tuple[int, ...] | None] = {}
        """Likewise: what NumPy's loop sees of such nodes, if these write to new arrays."""
        self._like: list[int] | None = None
        self._seen: list[int] | None = None
        self._known: dict[Key, int] = {}

    def enter(self, serials: Iterable[int], keys: Sequence[Key], heads: int) -> None:
        """Note what is said of nodes."""
        self.told, self.heads = keys, heads
        self.forms = dict(zip(serials, numbered(keys), strict=True))

    def __missing__(self, form: int) -> int:
        like = self._like
        if like is None:
            like = self._like = [*numbered([said[:3] for said in self.said])]
        key = self.told[form]
        kind = *[like[x] if x.__class__ is int else x for x in key],
        found = self[form] = self._known.setdefault(kind, len(self.bare))
        if found == len(self.bare):
            said = self.said
            self.bare.append((*[(len(said[x][0]), said[x][2]) if x.__class__ is int else x for x in key],))
            self.shapeless.append(isinstance(key[1], SHAPELESS))
        return found

    def operation(self, kind: int) -> Map | None:
        """The op of nodes of a kind, if these compute elements of arrays alone; nothing is cast or copied."""
        (_, made), op, _, _, masked, *_ = key = self.bare[kind]
        if op.__class__ is not Map or masked or op.name == "copy" or made.__class__ is not str:
            return None
        ins, _, outs = op.sig.partition("->")
        reads = key[self.heads :]
        if outs[op.part] != made or len(reads) != len(ins):
            return None
        uncast = all(i.__class__ is tuple and i[1:] == (c,) for i, c in zip(reads, ins, strict=True))
        return op if uncast else None

    def visits(self, forms: Iterable[int]) -> tuple[Key, Key | None]:
        """Which of the geometries of some nodes are one; and which visit the same elements, whatever their
        axes of length 1 are, if these are others."""
        keys = self.told
        places = [x for form in forms for x in keys[form] if x.__class__ is int]
        told = tuple(numbered(places))
        if self._seen is None:
            self._seen = _seen(self.said)
        if not self._seen:
            return told, None
        seen = tuple(numbered(map(self._seen.__getitem__, places)))
        return told, None if seen == told else seen


def _seen(said: Sequence[Key]) -> list[int]:
    """Numbers for the elements that geometries visit; none if no axis has length 1."""
    if not any(1 in shape for shape, *_ in said):
        return []
    return [*numbered([(shape, _steps(shape, strides), *rest) for shape, strides, *rest in said])]


def _steps(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of the axes along which there is something to step over."""
    return tuple([s for s, n in zip(strides, shape, strict=True) if n > 1]) if 1 in shape else strides
