"""Do two accesses touch the same bytes?  What fusion asks before it puts them into one loop nest.

In: geometries of one storage.   Out: answers that err on the side of "yes".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.expr import Expr
from lazyarr.geometry import elements, extent, geometry, same, together

if TYPE_CHECKING:
    from lazyarr.fusion.turns import Turns

EFFORT: Any = 200
"""Candidate solutions that NumPy's exact overlap test may look at."""


ANYWHERE = numpy.dtype("V1")
"""The dtype of an access that may touch any byte between two: it is the same as none, nor as its equal."""


def anywhere(geo: numpy.ndarray) -> numpy.ndarray:
    """The bytes of which a gather reads or a scatter writes some, from the first to the last of its table."""
    low, high = extent(geo)
    return geometry((high - low,), ANYWHERE, None, low, high)


class Memory:
    """Whose buffer values have, and what accesses of one buffer have in common: asked once for each, while
    nothing is evaluated."""

    __slots__ = ("_known", "_elements", "_harmless", "_seen", "odd", "turns")

    def __init__(self, odd: bool, turns: Turns | None = None) -> None:
        self._known: dict[int, Expr] = {}
        """By serial of a write.  (What was sunk has the serial of what it stands for, but is none.)"""
        self._elements: dict[int, tuple[numpy.ndarray, Any]] = {}
        self._harmless: dict[tuple[int, int], tuple[bool, numpy.ndarray, numpy.ndarray]] = {}
        self._seen: dict[tuple[int, int], tuple[bool, bool, numpy.ndarray, numpy.ndarray]] = {}
        # (By identity: what is asked about stays here, so that no other geometry gets its identity.)
        self.odd = odd
        """Some of it, or some access, may not be aligned."""
        self.turns = turns
        """Writes that do not go in place."""
        for node, source in turns.sources() if turns is not None else ():
            self.turn(node, source)

    def turn(self, node: Expr, source: Expr | None) -> None:
        """A write does not go in place, but to the buffer of `source`, or to a new one."""
        self._known[node.serial] = node if source is None else self.key(source)

    def key(self, value: Expr) -> Expr:
        """The oldest pending value that shares its buffer with `value`, if all writes go in place but those
        that take turns with another buffer."""
        if value.old is None or value.op is None:
            return value
        known = self._known
        found = known.get(value.serial)
        if found is not None:
            return found
        found = known.get(value.old.serial)
        if found is not None:                   # (nearly all: old values are asked about first)
            known[value.serial] = found
            return found
        passed = list[int]()
        while value.op is not None and value.old is not None and value.serial not in known:
            passed.append(value.serial)
            value = value.old
        found = value if value.op is None or value.old is None else known[value.serial]
        known.update(dict.fromkeys(passed, found))
        return found

    def elements(self, geo: numpy.ndarray) -> Any:
        """`geometry.elements`."""
        found = self._elements.get(id(geo))
        if found is None:
            found = self._elements[id(geo)] = geo, elements(geo)
        return found[1]

    def harmless(self, g: numpy.ndarray, h: numpy.ndarray) -> bool:
        """Are two accesses of one buffer at the same element in the same iteration, or provably disjoint?"""
        key = id(g), id(h)
        found = self._harmless.get(key)
        if found is None:
            alike = (same(g, h) and g.dtype != ANYWHERE) or disjoint(g, h)
            found = self._harmless[key] = alike, g, h
        return found[0]

    def clashes(self, geo: numpy.ndarray, others: Mapping[Any, numpy.ndarray]) -> bool:
        """Do accesses of a buffer touch the same bytes as another one, at other elements?"""
        for other in others.values():
            found = self._harmless.get((id(other), id(geo)))
            if not (self.harmless(other, geo) if found is None else found[0]):
                return True
        return False

    def seen(self, g: numpy.ndarray, h: numpy.ndarray) -> tuple[bool, bool]:
        """Are two accesses of one value at the same elements; and do they at least reach equally far?"""
        if g is h:
            return True, True
        key = id(g), id(h)
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = same(g, h), extent(g) == extent(h), g, h
        return found[:2]


def disjoint(g: numpy.ndarray, h: numpy.ndarray) -> bool:
    """Provably no byte in common."""
    if g.size == 0 or h.size == 0:
        return True
    a, b = extent(g), extent(h)
    if a[1] <= b[0] or b[1] <= a[0]:
        return True
    g, h = together(g, h)
    try:
        return not numpy.shares_memory(g, h, max_work=EFFORT)
    except numpy.exceptions.TooHardError:
        return False


def injective(geo: numpy.ndarray) -> bool:
    """Provably no byte visited twice, so that a write has no order."""
    reach = 0
    for stride, n in sorted((abs(s), n) for s, n in zip(geo.strides, geo.shape, strict=True) if n > 1):
        if stride < reach + geo.itemsize:
            return False
        reach += stride * (n - 1)
    return True
