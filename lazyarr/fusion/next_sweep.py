"""Next sweeps: what is computed to write an array anew runs with the rest of that, not with writes before.

In:  the nodes of an evaluation, who asks for values.   Out: by node, the buffers whose writers it is not to
join.
``v[1:-1] = 2 * u[1:-1] - v[1:-1] + near(u)`` after a write to ``u[1:-1]``: the loops of that one have the
first product's elements in registers, but all else that the write to `v` reads of `u` is beside them.  So
that has loops of its own, which load these elements as well; a product that ran with the sweep before would
be stored for it, and read again, for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.group import Asked, region_of
from lazyarr.geometry import same

Beside = Mapping[int, frozenset[int]]
"""By serial of a node: identities of the buffers of which it, and what runs with it, read several parts that
overlap."""


def beside(nodes: Sequence[Expr], asked: Asked, memory: Memory) -> Beside:
    """Of the nodes that are computed for writes, and for nothing else."""
    if sum(node.old is not None for node in nodes) < 2:
        return {}
    ways, way_of, apart = _Ways(memory), dict[int, int](), set[int]()
    for node in reversed(nodes):
        serial, reads = node.serial, [i for i in node.inputs if isinstance(i, Read)]
        if node.old is not None:
            way_of[serial] = ways.begun()
        elif serial in apart or serial in asked or not isinstance(node.op, Map):
            way_of.pop(serial, None)
        if serial not in way_of:
            apart.update(i.expr.serial for i in reads)
        for i in reads if serial in way_of else ():
            value = i.expr
            if value.op is not None and value.old is not None:
                ways.reads(way_of[serial], memory.key(value), i.geo)
            elif value.op is not None and same(i.geo, region_of(value)):
                way_of[value.serial] = ways.joined(way_of[serial], way_of.get(value.serial, way_of[serial]))
            else:
                apart.add(value.serial)
    computed = (n.serial for n in nodes if n.old is None and n.serial in way_of)
    return {serial: found for serial in computed if (found := ways.overlapping(way_of[serial]))}


class _Ways:
    """What runs together: writes, and what they are computed from."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.into: list[int] = []
        """For each, itself, or another one that it has become a part of."""
        self.parts: list[dict[int, list[numpy.ndarray]]] = []
        """By identity of a buffer, which parts are read."""

    def begun(self) -> int:
        self.into.append(len(self.into))
        self.parts.append({})
        return len(self.into) - 1

    def whole(self, way: int) -> int:
        while self.into[way] != way:
            way = self.into[way]
        return way

    def joined(self, one: int, other: int) -> int:
        one, other = self.whole(one), self.whole(other)
        if one != other:
            self.into[other] = one
            for key, parts in self.parts[other].items():
                for geo in parts:
                    self._add(one, key, geo)
        return one

    def reads(self, way: int, buffer: Expr, geo: numpy.ndarray) -> None:
        self._add(self.whole(way), id(buffer), geo)

    def _add(self, way: int, key: int, geo: numpy.ndarray) -> None:
        parts = self.parts[way].setdefault(key, [])
        if not parts or (len(parts) == 1 and not self.memory.harmless(parts[0], geo)):
            parts.append(geo)

    def overlapping(self, way: int) -> frozenset[int]:
        """The buffers of which two parts are read that overlap."""
        return frozenset(key for key, parts in self.parts[self.whole(way)].items() if len(parts) > 1)
