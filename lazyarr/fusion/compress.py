"""Compressions, ``a[mask]``, that are never stored.

In:  groups.   Out: for each group the compressions that it can be fed with, chunk by chunk.
A compression is fed to the only group that reads it, whole and in order, if nobody else may ask for it
and nothing that its group reads is written before that group has run.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.config import current
from lazyarr.expr import Compress, Expr, Reduce
from lazyarr.fusion.group import Asked, Group
from lazyarr.fusion.parfor import Reduction
from lazyarr.fusion.program import Program
from lazyarr.geometry import same
from lazyarr.switches import is_off


def fed(groups: list[Group], stored: set[int], asked: Asked) -> dict[int, list[Group]]:
    """For the number of a group: the groups of the compressions that it is fed with."""
    found: dict[int, list[Group]] = {}
    for group in () if is_off("feeds") or "fusion" not in current.parallel else groups:
        node = group.nodes[-1]
        if node.op.__class__ is not Compress or group.opaque or node.serial in asked:
            continue
        reader = only_reader(node, groups)
        alone = all(n.serial not in stored for n in group.nodes[:-1])
        between = [] if reader is None else groups[group.number + 1 : reader.number + 1]
        if reader is not None and alone and not overwritten(group, between):
            found.setdefault(reader.number, []).append(group)
    return found


def only_reader(node: Expr, groups: Sequence[Group]) -> Group | None:
    """The one group that reads a value, if it does so whole and in order."""
    readers = [g for g in groups if any(a.key is node for a in (*g.loads, *g.stores))]
    if len(readers) != 1:
        return None
    reader = readers[0]
    region = node.region
    assert region is not None
    whole = all(same(a.geo, region) for a in reader.loads if a.key is node)
    written = any(a.key is node for a in reader.stores)
    fits = reader.shape == region.shape and not reader.opaque and reader.unit is None
    usual = reader.fold is None or isinstance(reader.fold.op, Reduce)
    return reader if whole and fits and not written and usual else None


def overwritten(source: Group, groups: Sequence[Group]) -> bool:
    """Does one of the groups write to memory that another one reads?"""
    return any(a.key is load.key for g in groups for a in g.stores for load in source.loads)


def feedable(program: Program) -> bool:
    """Can the program run in chunks of one sequence?  A strict sequence is one chunk."""
    return len(program.loops.shape) == 1 and "s" not in program.parfor.dims and all(
        not isinstance(i.attr, Reduction) or i.attr.order != "sequential" for i in program.parfor.body
    )
