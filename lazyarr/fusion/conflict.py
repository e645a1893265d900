"""Conflicts: why a node cannot run in the loops of a group, or in compiled loops at all.

In:  a node, how the loops of a group would see it, the group.   Out: a reason for `explain`, or None.
Where there is none, the loops keep NumPy's order of accesses: of two accesses of one buffer, one of them a
write, either both are at the same element in the same iteration, or they are provably disjoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from lazyarr.expr import FOLDS, Compress, Expr, Gather, Map, Read, Reduce, Scan, Scatter
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.fold import fold_order, stricter
from lazyarr.fusion.group import (
    Asked,
    Group,
    Loads,
    Placed,
    Places,
    loop_inputs,
    makes,
    region_of,
    written,
)
from lazyarr.geometry import in_order, same
from lazyarr.ops import row
from lazyarr.reduce_order import Order


def conflict(
    node: Expr, placed: Placed, loads: Loads, group: Group, epoch: int, asked: Asked
) -> str | None:
    """Why a node cannot run in the loops of a group, which have its space; `loads` are what it would load."""
    if node.op.__class__ is Map and group.scan is None and (node.old is None or not group.ordered):
        found = _load_conflict(loads, group, epoch)             # the usual case, for which this is all
        return found if found or node.old is None else _store_conflict(node, placed, group, epoch, asked)
    return (
        _order_conflict(node, group)
        or _waits_for_one(node, group)
        or _fold_conflict(node, loads, group, asked)
        or _load_conflict(loads, group, epoch)
        or _store_conflict(node, placed, group, epoch, asked)
        or _cannot_repeat(node, group, epoch, asked)
    )


def _order_conflict(node: Expr, group: Group) -> str | None:
    """What scans goes in order along one axis, and nothing else may ask for another order."""
    if isinstance(node.op, Scan) and (group.fold is not None or group.scatters):
        return "a scan has an order of its own, and so has the group"
    if group.scan is None:
        return None
    if isinstance(node.op, Scan) and node.op.axis != group.scan:
        return "scans along another axis than the group"
    if isinstance(node.op, (*FOLDS, Scatter)):
        return "the group scans, in an order of its own"
    return None


HEAVY = 20.0
"""Cost (`ops.Op.cost`) of an element from which on it is quicker to store it and share the work."""

SHARED = 1 << 16
"""Elements from which on threads share work."""


def _waits_for_one(node: Expr, group: Group) -> str | None:
    """Would work that threads can share wait for a sequence that one of them runs?"""
    axis = node.op.axis if isinstance(node.op, Scan) else group.scan
    if axis is None or (size := math.prod(group.shape)) < SHARED or size != group.shape[axis]:
        return None
    work = sum(row(n.op.name).cost for n in (*group.nodes, node) if isinstance(n.op, Map))
    return "one thread scans, and threads share what is much work" if work >= HEAVY else None


def _fold_conflict(node: Expr, loads: Loads, group: Group, asked: Asked) -> str | None:
    """A fold may visit elements twice, in an order of its own."""
    if group.fold is not None and node.old is not None and _overwrites(node, group):
        return "a fold may visit elements twice, and this changes what the group reads"
    if not isinstance(node.op, FOLDS):
        return None
    if group.scatters:
        return "a fold has an order of its own, and so have writes to positions"
    if group.stores:
        read = {id(a.key) for a in group.loads}
        read |= {id(group.memory.key(value)) for value, _ in loads}
        stored = [id(a.key) for a in group.stores]
        # (One masked write leaves or computes the same again; two might build on each other.)
        if not read.isdisjoint(stored) or any(stored.count(key) > 1 for key in group.merged):
            return "a fold may visit elements twice, and the group changes what it reads"
    if isinstance(node.op, Reduce) and node.op.masked and any(n.serial in asked for n in group.nodes):
        order = fold_order(node)
        if isinstance(order, Order) and order.fold == "long":
            return "a long run under a mask is gone through several times, and the group stores something"
    if leader(node, group.fold) is None:
        return "folds other axes, or in another order, than the group"
    return None


def _load_conflict(loads: Loads, group: Group, epoch: int) -> str | None:
    memory, stores = group.memory, group.stores
    for value, geo in loads:
        if value.op is not None and makes(value, group, epoch):
            return "reads a value of the group at other elements"
        if stores and _clashes(geo, group.at(memory.key(value)), loads=False):
            return "reads memory that the group writes, at other elements"
    return None


def _store_conflict(node: Expr, placed: Placed, group: Group, epoch: int, asked: Asked) -> str | None:
    old, region = node.old, written(node, placed.region)
    if old is None:
        return None
    key = group.memory.key(node)
    if not node.covers and makes(old, group, epoch):
        if old is key and not same(group.placed[old.serial].region, region):
            return "changes a part of what the group makes"
        if old.serial in asked:
            return "somebody else still reads the value that it changes: a copy of it must exist first"
    if _clashes(region, group.at(key)):
        return "writes memory that the group uses, at other elements"
    return None


def _clashes(geo: numpy.ndarray, places: Places | None, loads: bool = True) -> bool:
    """Do stores of a buffer, or `loads`, touch the same bytes at other elements?"""
    if places is None:
        return False
    clashes = places.memory.clashes
    return clashes(geo, places.stores) or (loads and clashes(geo, places.loads))


def _cannot_repeat(node: Expr, group: Group, epoch: int, asked: Asked) -> str | None:
    """Why what counts or keeps elements in C order cannot take a group in.

    The chunks of a compression's reader may need the same block of it, so the group may run twice
    for some elements: it must store nothing."""
    if not isinstance(node.op, FOLDS) or isinstance(node.op, Reduce):
        return None
    if not all(in_order(i.geo) for i in loop_inputs(node) if isinstance(i, Read)):
        return "memory lies in another order than C"
    if isinstance(node.op, Compress) and not all(_passes(n, node, group, epoch, asked) for n in group.nodes):
        return "somebody else may ask for what the group makes"
    return None


def _passes(node: Expr, reader: Expr, group: Group, epoch: int, asked: Asked) -> bool:
    """Is a node read by `reader` and the group alone?"""
    return node.old is None and node.serial not in asked and all(
        r is reader or (r.epoch == epoch and r.index == group.number) for r in node.waiting()
    )


def _overwrites(node: Expr, group: Group) -> bool:
    """Does a write go to memory that the group, or the node itself, reads?"""
    assert node.old is not None
    key = group.memory.key(node)
    own = [group.memory.key(i.expr) for i in node.inputs if isinstance(i, Read)]
    return (
        not node.covers
        or id(key) in group.merged
        or any(k is key for k in (*own, *(a.key for a in group.loads)))
    )


def leader(node: Expr, fold: Expr | None) -> Expr | None:
    """Which of two folds decides the loops of a group that holds both; None: they do not agree."""
    if fold is None:
        return node
    if not isinstance(node.op, Reduce) or not isinstance(fold.op, Reduce):
        return None
    mine, other = fold_order(node), fold_order(fold)
    if node.op.axes != fold.op.axes or not isinstance(mine, Order) or not isinstance(other, Order):
        return None
    found = stricter(other, mine, (fold.op.name, node.op.name))
    return None if found is None else fold if found is other else node


def own_conflict(node: Expr, plain: Placed, memory: Memory, key: Expr) -> str | None:
    """Overlap within one node, as in ``a[1:] = a[:-1]``: NumPy's own rules apply, so NumPy runs it.

    `plain` has its accesses over its own space, `key` is its buffer's."""
    over = None
    for i, geo in zip(node.inputs, plain.reads, strict=True):
        if i.__class__ is not Read:
            continue
        value = i.expr
        if value is key or (value.old is not None and memory.key(value) is key):
            if over is None:
                over = written(node, plain.region)
            if geo is None or node.op.__class__ is Gather:      # (a table as a whole)
                geo = i.geo
            if not memory.harmless(geo, over):
                return "reads what it overwrites, at other elements"
    return None


def plain_node(node: Expr, chars: Sequence[str | None]) -> str:
    """Why the element types, those of what it writes and reads, keep a node out of compiled code."""
    dtypes = [region_of(node).dtype, *[i.geo.dtype for i in node.inputs if isinstance(i, Read)]]
    return f"dtype {dtypes[chars.index(None)]} is not compiled"
