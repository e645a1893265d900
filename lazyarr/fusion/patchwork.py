"""Patchwork: results that are written patch by patch, several of them in one space.

In:  the nodes of an evaluation, which of them are asked for.   Out: `Patchwork`s.
``np.gradient(u)`` writes the inside of each of its results, then borders; what is to stay is asked for, so
no reader takes the patches' place (`regions`).  But the results themselves, seen as copies of what was
written, are nodes that read piece by piece.  Those of one shape that are made of the same arrays become one
unit: its boxes make a part of each of them, and what they read in common is read once.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

import numpy

from lazyarr.expr import Expr, is_dense
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.boxes import MOST_BOXES, MOST_NODES
from lazyarr.fusion.group import Group, Placed, region_of
from lazyarr.fusion.pieces import copy_of
from lazyarr.fusion.uniting import Prospects, is_plain
from lazyarr.records import NamedTuple


class Patched(NamedTuple):
    """A result, and all of the storage that it is."""

    writes: tuple[Expr, ...]
    """The last one first."""
    whole: numpy.ndarray

    @property
    def result(self) -> Expr:
        return self.writes[0]


class Patchwork(NamedTuple):
    """Results that one unit may make, in the order in which the program makes them."""

    results: tuple[Patched, ...]

    def group(self, memory: Memory) -> Group:
        """Copies of the results, as a group would hold them."""
        copies: list[Expr] = [copy_of(each.result, each.whole) for each in self.results]
        placed = {copy.serial: Placed.plainly(copy) for copy in copies}
        return Group(-1, self.results[0].whole.shape, memory, nodes=copies, placed=placed)

    def apart(self) -> list[Patchwork]:
        """Each result by itself, where they are several."""
        return [Patchwork((each,)) for each in self.results] if len(self.results) > 1 else []


def patchworks(of: Prospects, out: Collection[int]) -> list[Patchwork]:
    """Those that no group numbered in `out` has a part in, the last one first."""
    asked = of.asked
    last = [n for n in of.nodes if n.old is not None and not n.covers and n.serial in asked]
    found = [each for node in last if (each := _patched(node, of)) is not None]
    if not found:
        return []
    barred = {n.serial for g in of.groups if g.opaque or g.edge or g.number in out for n in g.nodes}
    together: list[list[Patched]] = []
    sources: list[set[int]] = []
    for each in found:
        if any(n.serial in barred for n in each.writes):
            continue
        mine = _sources(each)
        for others, theirs in zip(together, sources, strict=True):
            if others[0].whole.shape == each.whole.shape and not theirs.isdisjoint(mine):
                others.append(each)
                theirs |= mine
                break
        else:
            together.append([each])
            sources.append(mine)
    return [Patchwork(tuple(each)) for each in reversed(together)]


def _patched(node: Expr, of: Prospects) -> Patched | None:
    """A result, of which `node` writes the last part, if it is new memory that is written patch by patch and
    nobody reads what it was in between."""
    writes, value = [node], node
    while len(writes) <= MOST_BOXES and not value.covers:
        if value.old is None or value.old.op is None:
            break
        value = value.old
        writes.append(value)
    whole = _whole(value)
    if whole is None or not is_dense(whole) or whole.nbytes != node.nbytes or len(writes) > MOST_BOXES:
        return None
    if whole.dtype != region_of(node).dtype or any(reader.old is node for reader in node.waiting()):
        return None
    for newer, older in itertools.pairwise(writes):
        if older.serial in of.asked or of.readers.of(older) != {newer.serial}:
            return None
    return Patched(tuple(writes), whole) if all(is_plain(n, of.short) for n in writes) else None


def _whole(first: Expr) -> numpy.ndarray | None:
    """All of the new memory to which something is written first; None if that is not new."""
    if first.old is None:
        return region_of(first)
    unwritten = not first.covers and first.old.op is None and first.old.buf.unwritten
    return getattr(first.old.buf, "layout", None) if unwritten else None


def _sources(each: Patched) -> set[int]:
    """By identity, what exists already of all that a result is made of."""
    found: set[int] = set()
    seen: set[int] = set()
    todo = [value for n in each.writes for value in n.needs()]
    while todo and len(seen) < MOST_NODES:      # (a unit has no more)
        value = todo.pop()
        if value.op is None:
            found.add(id(value))
        elif value.serial not in seen:
            seen.add(value.serial)
            todo += value.needs()
    return found
