"""Operands: the memory that a fusion group accesses, and what it stores there.

In:  the nodes of a group, and which of them are stored.   Out: `Operands`; once values have numbers, stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, count, repeat
from operator import attrgetter
from typing import Any

import numpy

from lazyarr.dtypes import CHARS, char_of
from lazyarr.expr import Expr, Gather, Map, Scan, Scatter
from lazyarr.fusion.group import Group
from lazyarr.fusion.kinds import once
from lazyarr.fusion.parfor import Inst, inst_of
from lazyarr.records import dataclass


@dataclass(slots=True, eq=False)
class Operands:
    """Memory that a group accesses, column by column: of each operand the value (its buffer, at launch), the
    geometry in it, over the group's space, and which access of which of the group's nodes it is."""

    values: list[Expr]
    geos: list[numpy.ndarray]
    members: list[int]
    inputs: list[int]

    def columns(self) -> tuple[list[Any], ...]:
        return self.values, self.geos, self.members, self.inputs


REGION = -1
"""In the place of an input's number: what the node writes."""

VALUES = {Map, Gather, Scan}
"""Ops of nodes that make values; all others store what they make themselves."""

_SERIAL, _REGION, _OP, _ATTR = map(attrgetter, ("serial", "region", "op", "attr"))


def written_by(group: Group, stored: Sequence[bool]) -> tuple[Operands, dict[int, int]]:
    """What nodes write to memory: those that are stored, and those that store what they make themselves; and
    where these are among them, by serial."""
    nodes = group.nodes
    members = [*compress(count(), stored)]
    others = VALUES.issuperset(map(type, map(_OP, nodes)))
    if not others:
        members = [k for k, n in enumerate(nodes) if stored[k] or n.op.__class__ not in VALUES]
    values = [*map(nodes.__getitem__, members)]
    geos: list[Any] = [*map(_REGION, map(group.placed.__getitem__, map(_SERIAL, values)))]
    at = {} if others else {n.serial: k for k, n in enumerate(values) if n.op.__class__ not in VALUES}
    for n, k in zip(map(values.__getitem__, at.values()), at.values(), strict=True):
        if n.op.__class__ is not Scatter:
            geos[k] = n.region                  # (a fold's result keeps its own axes)
    return Operands(values, geos, members, [REGION] * len(members)), at


def stores(
    written: Operands, numbers: Mapping[int, int], at: Mapping[int, int], scattered: Sequence[Inst]
) -> list[Inst]:  # fmt: skip
    """What is stored, element by element, in the order of the operands; and what is scattered.

    `numbers` are those of values, by serial; `at` has the nodes that store what they make themselves."""
    values, geos = written.values, written.geos
    places: Sequence[int] = range(len(values))
    if at:
        places = [k for k, n in enumerate(values) if n.serial not in at]
        values, geos = [values[k] for k in places], [geos[k] for k in places]
    made = zip(map(numbers.__getitem__, map(_SERIAL, values)), strict=True)
    parts = zip(repeat("store"), once(element, geos), made, places, strict=False)
    found: list[Any] = [*map(inst_of, parts)]
    return sorted((*found, *scattered), key=_ATTR) if scattered else found


def element(x: numpy.ndarray | numpy.generic) -> str:
    """The type of an access's elements, or of a constant."""
    dtype = x.dtype
    char = CHARS.get(id(dtype)) or char_of(dtype)
    assert char is not None
    return char
