"""Compressions, ``a[mask]``: their programs, and which of them are never stored.

In:  Compress nodes, groups.   Out: `Kept`, the two programs of a compression: one counts block by block,
one packs; and for each group the compressions that it can be fed with, chunk by chunk.
A compression is fed to the only group that reads it, whole and in order, if nobody else may ask for it
and nothing that it reads is written before that group has run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lazyarr.expr import Compress, Expr, Read
from lazyarr.fusion.alias import memory_key
from lazyarr.fusion.assemble import Arrange, Binding, Program, access_class
from lazyarr.fusion.collapse import Loops
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.fusion.partition import Group
from lazyarr.geometry import offset_of, same
from lazyarr.reduce_order import Order

CHARS = {1: "B", 2: "H", 4: "I", 8: "L", 16: "D"}
"""Elements are moved unchanged: their size is all that a kernel knows."""

InOrder = Callable[[Sequence[int], Sequence[int]], Order]
Counting = Callable[[Parfor], Parfor]


@dataclass(frozen=True, slots=True)
class Kept:
    """The programs of one compression; their operands are the array, the mask, and the result."""

    count: Program
    pack: Program


def operands(node: Expr) -> tuple[Read, Read]:
    """What is compressed, and the mask."""
    x, mask = node.inputs
    assert isinstance(x, Read) and isinstance(mask, Read)
    return x, mask


def programs(node: Expr, arrange: Arrange, in_order: InOrder, counting: Counting) -> Kept:
    """The programs that count and pack the elements of a compression."""
    x, mask = operands(node)
    assert node.region is not None
    shape = x.geo.shape
    order = in_order(shape, x.geo.strides)
    nest = arrange(order, [x.geo.strides, mask.geo.strides, (0,) * len(shape)])
    char = CHARS[x.geo.itemsize]
    row, flags, _ = nest.strides
    parfor = Parfor(
        nest.dims,
        (
            Operand(char, access_class(row[-1], x.geo.itemsize)),
            Operand("?", access_class(flags[-1], 1)),
            Operand(char, "z", "out"),
        ),
        "",
        (
            Inst("load", char, (), 0),
            Inst("load", "?", (), 1),
            Inst("reduce", char, (0,), Reduction("compress", "sequential", 2, -1, 1, nest.group)),
        ),
    )
    loops = Loops(nest.shape, nest.strides, (0, 0, 0))
    offsets = offset_of(x.geo), offset_of(mask.geo), 0
    bindings = [
        Binding(x.expr, x.geo, "in"), Binding(mask.expr, mask.geo, "in"), Binding(node, node.region, "out"),
    ]  # fmt: skip
    count, pack = (Program(p, loops, offsets, bindings, [], nest.run) for p in (counting(parfor), parfor))
    return Kept(count, pack)


def fed(groups: list[Group], external: Callable[[Expr], bool]) -> dict[int, list[Group]]:
    """For the number of a group: the groups of the compressions that it is fed with."""
    found: dict[int, list[Group]] = {}
    for group in groups:
        node = group.nodes[0]
        if not group.opaque and isinstance(node.op, Compress) and not external(node):
            reader = _only_reader(node, groups)
            if reader is not None and not _overwritten(node, groups[group.number + 1 : reader.number + 1]):
                found.setdefault(reader.number, []).append(group)
    return found


def _only_reader(node: Expr, groups: list[Group]) -> Group | None:
    """The one group that reads a compression, if it does so whole and in order."""
    readers = [g for g in groups if any(a.key is node for a in (*g.loads, *g.stores))]
    if len(readers) != 1:
        return None
    reader = readers[0]
    region = node.region
    assert region is not None
    whole = all(same(a.geo, region) for a in reader.loads if a.key is node)
    written = any(a.key is node for a in reader.stores)
    fits = reader.shape == region.shape and not reader.opaque
    alone = isinstance(reader.nodes[0].op, Compress)
    return reader if whole and fits and not written and not alone else None


def _overwritten(node: Expr, groups: Sequence[Group]) -> bool:
    """Does one of the groups write to memory that a compression reads?"""
    keys = [memory_key(i.expr) for i in operands(node)]
    return any(a.key is k for g in groups for a in g.stores for k in keys)


def feedable(program: Program) -> bool:
    """Can the program run in chunks of one sequence?  A strict sequence is one chunk."""
    return len(program.loops.shape) == 1 and all(
        not isinstance(i.attr, Reduction) or i.attr.order != "sequential" for i in program.parfor.body
    )
