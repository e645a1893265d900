"""Shifts: operands of a loop nest that are one array, some rows or elements further on.

In:  whose memory operands are, where they begin, how they move.   Out: a `Shift` for each.
A stencil reads the same elements again from row to row, and from element to element; a kernel that knows so
loads them once for several rows (`codegen.jam`).  Rows and elements are counted, in the place of bytes, so
what is said holds for arrays of any shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lazyarr.fusion.parfor import Operand, Shift

LEAST = 3
"""Reads of one array that make a stencil.  (Two arrays may lie in any way to each other, lag by lag, and each
way would be a kernel of its own.)"""

NEAR = 8
"""Elements, and rows, that one operand may lie beside another."""


def shifts(
    operands: Sequence[Operand], values: Sequence[int], strides: Sequence[tuple[int, ...]],
    offsets: Sequence[int], sizes: Sequence[int],
) -> tuple[Shift, ...]:
    """What operands are to each other; empty if no array is read at some places.

    Equal `values` are one array.  Rows lie along the last loop but one."""
    found: list[Shift] = []
    leaders: dict[tuple[object, ...], list[int]] = {}
    for k, (operand, value, mine, size) in enumerate(zip(operands, values, strides, sizes, strict=True)):
        shift = Shift(k, 0, 0)
        if operand.role == "in" and operand.access == "u" and abs(mine[-2]) >= 4 * NEAR * size:
            others = leaders.setdefault((value, operand.dtype, mine), [])
            apart = (_apart(offsets[k] - offsets[leader], mine[-2], size, leader) for leader in others)
            shift = next((one for one in apart if one is not None), shift)
            if shift.leader == k:
                others.append(k)
        found.append(shift)
    beside = Counter([shift.leader for shift in found])
    return tuple(found) if max(beside.values(), default=0) >= LEAST else ()


def _apart(nbytes: int, stride: int, size: int, leader: int) -> Shift | None:
    """So many bytes in rows and elements."""
    rows = (2 * nbytes + abs(stride)) // (2 * abs(stride)) * (1 if stride > 0 else -1)
    elements, odd = divmod(nbytes - rows * stride, size)
    near = not odd and abs(rows) <= NEAR and abs(elements) <= NEAR
    return Shift(leader, rows, elements) if near else None
