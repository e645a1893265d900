"""Portions: values that a fold reads from first to last, which are made for it a portion at a time.

In:  groups, their steps.   Out: for the number of a group that folds: the group whose one result it reads.
A group is fed with what runs as several loop nests (`regions`), and with running results of scans, which a
fold cannot share loops with, since its order is not theirs.  The fold's kernel is the one that it would be
anyhow, and reads each portion from a buffer in the cache, so its bits are NumPy's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lazyarr.config import current
from lazyarr.dtypes import PLAIN
from lazyarr.expr import Expr, Reduce
from lazyarr.fusion.compress import overwritten
from lazyarr.fusion.group import Group
from lazyarr.fusion.parfor import Reduction
from lazyarr.fusion.program import Program
from lazyarr.switches import is_off


def portioned(
    groups: Sequence[Group], stored: Collection[int], asked: Collection[int]
) -> dict[int, tuple[Group, Expr]]:
    """For the number of a group that folds: the group that makes what it reads, and the value."""
    found: dict[int, tuple[Group, Expr]] = {}
    for group in () if is_off("feeds") or "fusion" not in current.parallel else groups:
        value = None if group.scan is None and group.unit is None else _result(group, stored)
        reader = None if value is None or value.serial in asked else _reader(value, group, groups)
        if value is None or reader is None or reader.opaque or reader.unit is not None:
            continue
        folds = reader.fold is not None and isinstance(reader.fold.op, Reduce)
        if folds and not overwritten(group, groups[group.number + 1 : reader.number + 1]):
            found.setdefault(reader.number, (group, value))
    return found


def _result(group: Group, stored: Collection[int]) -> Expr | None:
    """The one value that a group stores, where it is one to be fed."""
    if group.unit is not None:
        return group.unit.fed
    if group.scan is None or group.opaque:
        return None
    made = [n for n in group.nodes if n.serial in stored]
    return made[0] if len(made) == 1 and made[0].old is None else None


def _reader(value: Expr, maker: Group, groups: Sequence[Group]) -> Group | None:
    """The one group that reads a value."""
    key = maker.memory.key(value)
    found = [g for g in groups[maker.number + 1 :] if any(a.key is key for a in (*g.loads, *g.stores))]
    if len(found) != 1 or any(a.key is key for a in found[0].stores):
        return None
    return found[0] if any(a.value is value for a in found[0].loads) else None


def takes(program: Program, operand: int, nbytes: int) -> bool:
    """Does each chunk of a fold read a range of an operand, from the first of so many bytes to the last?"""
    loops, parfor = program.loops, program.parfor
    folds = [i.attr for i in parfor.body if isinstance(i.attr, Reduction)]
    rows = parfor.dims.startswith("pr") and parfor.dims.strip("pr") == "" and parfor.dims.count("p") == 1
    if not rows and (parfor.dims != "r" or any(fold.order == "sequential" for fold in folds)):
        return False
    reach = PLAIN[parfor.operands[operand].dtype].itemsize
    for n, stride in zip(reversed(loops.shape), reversed(loops.strides[operand]), strict=True):
        if stride != reach:
            return False
        reach *= n
    return program.offsets[operand] == 0 and reach == nbytes
