"""Compressions, ``a[mask]``, that are never stored.

In:  groups.   Out: for each group the compressions that it can be fed with, chunk by chunk.
A compression is fed to the only group that reads it, whole and in order, if nobody else may ask for it
and nothing that its group reads is written before that group has run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter

from lazyarr.config import current
from lazyarr.expr import Compress, Expr, Reduce
from lazyarr.fusion.group import Access, Asked, Group
from lazyarr.fusion.parfor import Reduction
from lazyarr.fusion.program import Program
from lazyarr.geometry import same
from lazyarr.switches import is_off


class Accesses:
    """Which groups load from each buffer (by id of its key), and which store to it, in order; looked for when
    somebody first asks."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups

    @cached_property
    def loads(self) -> dict[int, list[Group]]:
        return self._by_buffer(attrgetter("loads"))

    @cached_property
    def stores(self) -> dict[int, list[Group]]:
        return self._by_buffer(attrgetter("stores"))

    def _by_buffer(self, accesses: Callable[[Group], list[Access]]) -> dict[int, list[Group]]:
        found: dict[int, list[Group]] = {}
        for group in self.groups:
            for key in {id(access.key) for access in accesses(group)}:
                found.setdefault(key, []).append(group)
        return found

    def overwritten(self, source: Group, reader: Group) -> bool:
        """Does a group after one, up to another, write to memory that the first one reads?"""
        for key in {id(load.key) for load in source.loads}:
            writers = self.stores.get(key, ())
            at = bisect_right(writers, source.number, key=_NUMBER)
            if at < len(writers) and writers[at].number <= reader.number:
                return True
        return False


_NUMBER = attrgetter("number")


def fed(
    groups: list[Group], stored: set[int], asked: Asked, accesses: Accesses
) -> dict[int, list[Group]]:  # fmt: skip
    """For the number of a group: the groups of the compressions that it is fed with."""
    found: dict[int, list[Group]] = {}
    for group in () if is_off("feeds") or "fusion" not in current.parallel else groups:
        node = group.nodes[-1]
        if node.op.__class__ is not Compress or group.opaque or node.serial in asked:
            continue
        reader = only_reader(node, accesses)
        alone = all(n.serial not in stored for n in group.nodes[:-1])
        if reader is not None and alone and not accesses.overwritten(group, reader):
            found.setdefault(reader.number, []).append(group)
    return found


def only_reader(node: Expr, accesses: Accesses) -> Group | None:
    """The one group that reads a value, if it does so whole and in order."""
    readers = accesses.loads.get(id(node), ())
    if len(readers) != 1 or id(node) in accesses.stores:
        return None
    reader = readers[0]
    region = node.region
    assert region is not None
    whole = all(same(a.geo, region) for a in reader.loads if a.key is node)
    fits = reader.shape == region.shape and not reader.opaque and reader.unit is None
    usual = reader.fold is None or isinstance(reader.fold.op, Reduce)
    return reader if whole and fits and usual else None


def feedable(program: Program) -> bool:
    """Can the program run in chunks of one sequence?  A strict sequence is one chunk."""
    return len(program.loops.shape) == 1 and "s" not in program.parfor.dims and all(
        not isinstance(i.attr, Reduction) or i.attr.order != "sequential" for i in program.parfor.body
    )
