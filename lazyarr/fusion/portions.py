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
from lazyarr.fusion.compress import Accesses
from lazyarr.fusion.group import Group
from lazyarr.fusion.parfor import Reduction
from lazyarr.fusion.program import Program
from lazyarr.switches import is_off


def portioned(
    groups: Sequence[Group], stored: Collection[int], asked: Collection[int], accesses: Accesses
) -> dict[int, tuple[Group, Expr]]:
    """For the number of a group that folds: the group that makes what it reads, and the value."""
    found: dict[int, tuple[Group, Expr]] = {}
    for group in () if is_off("feeds") or "fusion" not in current.parallel else groups:
        value = None if group.scan is None and group.unit is None else _result(group, stored)
        reader = None if value is None or value.serial in asked else _reader(value, group, accesses)
        if value is None or reader is None or reader.opaque or reader.unit is not None:
            continue
        folds = reader.fold is not None and isinstance(reader.fold.op, Reduce)
        if folds and not accesses.overwritten(group, reader):
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


def _reader(value: Expr, maker: Group, accesses: Accesses) -> Group | None:
    """The one group that reads a value."""
    key = id(maker.memory.key(value))
    readers, writers = accesses.loads.get(key, []), accesses.stores.get(key, [])
    if not readers or (writers and writers[-1].number > maker.number):
        return None
    reader = readers[-1]
    if reader.number <= maker.number or (len(readers) > 1 and readers[-2].number > maker.number):
        return None
    return reader if any(a.value is value for a in reader.loads) else None


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
