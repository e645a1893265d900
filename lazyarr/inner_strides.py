"""With which strides NumPy would call a ufunc's inner loop: what its bits may depend on.

In:  shape, the operands as they lie in memory, which of them NumPy casts.
Out: one stride per operand, in bytes, as all calls of the inner loop see it; or None where calls of
     one ufunc see different ones, or the running NumPy follows no known rule.

NumPy first looks for one call for everything (operands of one shape that are 1-d or contiguous).  Else
its iterator sorts the axes by stride, turns round those where no stride is positive, merges what it
can, and buffers: NumPy >= 2.3 operands that need it where that makes runs longer, older versions
all operands wherever a buffer goes beyond the innermost axis.  A buffered operand is contiguous.
The iterator gives one single element stride 0, the result's too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from lazyarr.records import NamedTuple
from lazyarr.reduce_order import BUFFER, RULES, Axis, Runs, coalesced, insert, runs_where_needed


class Seen(NamedTuple):
    """An operand of a ufunc call."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    """Of the loop's type."""
    cast: bool
    """Does it lie in memory as another type than the loop takes?"""


def inner_strides(
    shape: tuple[int, ...],
    ins: Sequence[Seen],
    outs: Sequence[Seen],
    mask: Seen | None = None,
    buffer: int = BUFFER,
    rule: Runs | None = None,
    in_place: bool = False,
) -> tuple[int, ...] | None:
    """Strides of `ins` and `outs` in NumPy's inner loop, if they are the same in all its calls.

    `in_place`: an input lies where the result does."""
    if mask is None:
        ins = _cast_early(ins, buffer)
    if mask is None and len(outs) == 1 and not (in_place and math.prod(shape) == 1):
        found = _one_call(ins, outs[0])
        if found is not None:
            return found
    operands = [*ins, *outs, *(() if mask is None else (mask,))]
    axes = coalesced([a for a in _axes(shape, operands) if a.extent > 1])
    if rule is None:
        from lazyarr.reduce_proof import rule_for

        rule = rule_for("pairwise d unmerged")
    if not axes:
        axes = [Axis(1, (0,) * len(operands), 0)]
    if rule is runs_where_needed:
        strides = _where_needed(axes, operands, buffer)
    elif rule in RULES:
        strides = _of_buffers(axes, operands, buffer)
    else:
        return None
    return None if strides is None else strides[: len(ins) + len(outs)]


def _cast_early(ins: Sequence[Seen], buffer: int) -> list[Seen]:
    """Inputs up to the first large one to be cast: the small ones before it are cast at once."""
    found = list(ins)
    for k, x in enumerate(ins):
        if x.cast:
            if len(x.shape) > 1 or math.prod(x.shape) > buffer:
                break
            found[k] = Seen(x.shape, (x.itemsize,) * len(x.shape), x.itemsize, False)
    return found


def _one_call(ins: Sequence[Seen], out: Seen) -> tuple[int, ...] | None:
    """Strides where NumPy needs no iterator; None where it does."""
    strides = []
    orders = {"C", "F"}
    for x in (*ins, out):
        if x.cast or (x is out and len(x.shape) == 1 and x.strides[0] < 0):
            return None
        if not x.shape and x is not out:
            strides.append(0)
        elif x.shape != out.shape:
            return None
        elif len(x.shape) == 1:
            strides.append(x.strides[0])
        else:
            strides.append(x.itemsize)
            orders &= _orders(x)
            if not orders:
                return None
    return tuple(strides)


def _orders(x: Seen) -> set[str]:
    """In which orders is it contiguous?  Axes of length 1 do not matter."""
    found = set()
    for order, axes in (("C", range(len(x.shape) - 1, -1, -1)), ("F", range(len(x.shape)))):
        step = x.itemsize
        for k in axes:
            if x.shape[k] != 1 and x.strides[k] != step:
                break
            step *= x.shape[k]
        else:
            found.add(order)
    return found


def _axes(shape: tuple[int, ...], operands: Sequence[Seen]) -> list[Axis]:
    """Iterator axes, innermost first: K order, in which all operands vote."""
    columns = [_spread(shape, x) for x in operands]
    found: list[Axis] = []
    for k in reversed(range(len(shape))):
        column = tuple(c[k] for c in columns)
        if min(column) < 0 and max(column) <= 0:
            column = tuple(-s for s in column)
        insert(found, Axis(shape[k], column, k))
    return found


def _spread(shape: tuple[int, ...], x: Seen) -> tuple[int, ...]:
    """Strides over the whole space, 0 along axes of length 1."""
    lead = len(shape) - len(x.shape)
    return (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True))


def _where_needed(axes: list[Axis], operands: Sequence[Seen], buffer: int) -> tuple[int, ...] | None:
    """NumPy >= 2.3: axes join the buffer while the estimated overhead, (1 + operands to buffer) over
    the elements per buffer, does not grow."""
    buffered = [x.cast and x.shape != () for x in operands]
    cost = best_cost = 1 + sum(buffered)
    size = best_size = axes[0].extent
    best, joined = list(buffered), 1
    for at, (inner, outer) in enumerate(itertools.pairwise(axes), 2):
        if size >= buffer and cost > 1:
            break
        for k, (s, t) in enumerate(zip(inner.strides, outer.strides, strict=True)):
            if not buffered[k] and s * inner.extent != t:
                buffered[k] = True
                cost += 1
        size *= outer.extent
        room = min(size, buffer) if cost > 1 else size
        if cost * best_size <= best_cost * room:
            best_cost, best_size, best, joined = cost, room, list(buffered), at
    return tuple(
        x.itemsize if best[k] and any(a.strides[k] for a in axes[:joined]) else axes[0].strides[k]
        for k, x in enumerate(operands)
    )


def _of_buffers(axes: list[Axis], operands: Sequence[Seen], buffer: int) -> tuple[int, ...] | None:
    """NumPy < 2.3: a stretch of elements up to the buffer's size; contiguous if it leaves the
    innermost axis, with its own strides if not."""
    extent, total = axes[0].extent, math.prod(a.extent for a in axes)
    own, dense = [], []
    for k, x in enumerate(operands):
        stride = axes[0].strides[k]
        own.append(x.itemsize if x.cast and x.shape else stride)
        straight = not x.shape if x.cast else x.shape and all(
            i.strides[k] * i.extent == o.strides[k] for i, o in itertools.pairwise(axes)
        )
        dense.append(own[-1] if straight else x.itemsize)
    if own == dense or len(axes) == 1 or (extent >= buffer and not any(x.cast for x in operands)):
        return tuple(own)
    last = total % buffer
    return tuple(dense) if extent < buffer and (last == 0 or last > extent) else None
