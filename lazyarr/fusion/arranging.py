"""Arranging: the nodes of an evaluation in an order in which those that read through each other are together.

In:  the nodes, in program order; units (`boxes`).   Out: the same with units in the place of their nodes.
A node that several units have goes with the first of them, and nothing that any of them reads is overwritten
before it has run.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.expr import Expr
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.boxes import Unit


def arranged(nodes: Sequence[Expr], units: Sequence[Unit], memory: Memory) -> list[Expr | Unit] | None:
    """The nodes in an order in which those of each unit are together; None if others must run in between."""
    order: list[Expr | Unit] = list(nodes)
    for unit in reversed(units):            # (the first one has what others make as well)
        moved = _together(order, unit, memory)
        if moved is None:
            return None
        order = moved
    return None if any(_too_late(order, unit, memory) for unit in units) else order


def _too_late(order: Sequence[Expr | Unit], unit: Unit, memory: Memory) -> bool:
    """Is something that a unit reads, for what another one has made before, overwritten in between?"""
    members = {n.serial for n in unit.nodes}
    read = {id(memory.key(value)) for value, _ in unit.loads}
    between = False
    for each in order:
        if each is unit:
            return False
        between = between or (isinstance(each, Unit) and any(n.serial in members for n in each.nodes))
        nodes = [each] if isinstance(each, Expr) else each.nodes
        if between and any(n.old is not None and id(memory.key(n.old)) in read for n in nodes):
            return True
    return False


def _together(order: Sequence[Expr | Unit], unit: Unit, memory: Memory) -> list[Expr | Unit] | None:
    """All that needs something of the unit comes after it, all else in between before it."""
    every = {n.serial for n in unit.nodes}
    mine = [k for k, each in enumerate(order) if isinstance(each, Expr) and each.serial in every]
    first, last = mine[0], mine[-1]
    members = every.intersection(each.serial for each in order if isinstance(each, Expr))
    made, read = set(members), {id(memory.key(value)) for value, _ in unit.loads}
    before: list[Expr | Unit] = []
    after: list[Expr | Unit] = []
    later: set[int] = set()
    late_reads: set[int] = set()
    for each in order[first : last + 1]:
        nodes = [each] if isinstance(each, Expr) else each.nodes
        needs = {v.serial for n in nodes for v in (*n.needs(), *([n.old] if n.old is not None else []))}
        writes = {id(memory.key(n.old)) for n in nodes if n.old is not None}
        if isinstance(each, Expr) and each.serial in members:
            if needs & later or writes & late_reads:
                return None
        elif needs & made or writes & (read | late_reads):
            after.append(each)
            serials = {n.serial for n in nodes}
            made |= serials
            later |= serials
            late_reads |= {id(memory.key(v)) for n in nodes for v in n.needs()}
        else:
            before.append(each)
    return [*order[:first], *before, unit, *after, *order[last + 1 :]]
