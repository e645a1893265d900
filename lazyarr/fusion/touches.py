"""Touches: which rows of a buffer an access reads or writes, and how far those of two accesses are apart.

In:  accesses over the spaces of groups, axes along which rows lie.   Out: bytes, rows, answers that err on
the side of "other rows".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

from lazyarr.expr import Expr
from lazyarr.records import NamedTuple

Extents = tuple[int, ...]


class Touch(NamedTuple):
    """An access of a group, over the group's space."""

    value: Expr
    key: Expr
    """Whose buffer (`alias.Memory`)."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    itemsize: int
    writes: bool
    anywhere: bool = False
    """Any byte of the table, in any row."""
    like: int = 0
    """The same for all that differ in whose memory it is alone (`like`); 0: not known."""

    def row_bytes(self, axis: int) -> int:
        """Bytes of one row; 0 where all rows are the same."""
        return _row_bytes(self.shape, self.strides, self.itemsize, axis)


@lru_cache(maxsize=4096)
def _row_bytes(shape: Extents, strides: Extents, itemsize: int, axis: int) -> int:
    if not strides[axis]:
        return 0
    others = (n for d, (n, s) in enumerate(zip(shape, strides, strict=True)) if s and d != axis)
    return itemsize * math.prod(others)


_alike: dict[tuple[object, ...], int] = {}
_numbers = itertools.count(1)

MOST_ALIKE = 4096
"""Kinds of touches that are remembered; all are forgotten when there are more."""


def like(
    shape: Extents, strides: Extents, offset: int, itemsize: int, writes: bool, anywhere: bool
) -> tuple[Extents, Extents, int, int, bool, bool, int]:
    """What touches have besides a value and its key, with a number for all that have the same."""
    where = shape, strides, offset, itemsize, writes, anywhere
    number = _alike.get(where)
    if number is None:
        if len(_alike) >= MOST_ALIKE:
            _alike.clear()
        number = _alike[where] = next(_numbers)
    return (*where, number)


class Flat(NamedTuple):
    """Successive axes of a space as one."""

    axis: int
    """The last of them."""
    shape: Extents
    """The space in which that is as long as all of them, and the others have one element."""


def flats(shape: Extents, opens: Sequence[int], strides: Sequence[Extents]) -> list[Flat]:
    """Those of the open axes that all accesses go through in equal steps, as through one."""
    found = []
    for k, first in enumerate(opens):
        before, extent = first, shape[first]
        for axis in opens[k + 1 :]:
            apart = math.prod(shape[before + 1 : axis]) > 1
            if apart or any(s[before] != s[axis] * shape[axis] for s in strides):
                break
            before, extent = axis, extent * shape[axis]
            within = [1 if first <= d < axis else n for d, n in enumerate(shape)]
            found.append(Flat(axis, (*within[:axis], extent, *within[axis + 1 :])))
    return found


def over(touches: list[Touch], flat: Flat | None) -> list[Touch]:
    """What a group touches, with some axes of its space as one."""
    return touches if flat is None else [t._replace(shape=flat.shape, like=0) for t in touches]


def narrowed(t: Touch, shape: Extents) -> Touch:
    """A touch in a part of the space."""
    return t._replace(shape=shape, like=like(shape, *t[3:8])[-1])


def rows_apart(a: Touch, axis_a: int, b: Touch, axis_b: int) -> tuple[int, int] | None:
    """How many rows further on those of `a` are, at least and at most, that touch the same bytes of one
    buffer as a row of `b`; below 0 they are before it.

    None where that is not known: rows that are not contiguous, or lie in another order."""
    stride = a.strides[axis_a]
    if a.anywhere or b.anywhere or not stride or stride != b.strides[axis_b]:
        return None
    period = abs(stride) * a.shape[axis_a]
    low, high, repeats = _window(a.shape, a.strides, a.itemsize, axis_a, period)
    low_b, high_b, repeats_b = _window(b.shape, b.strides, b.itemsize, axis_b, period)
    if repeats or repeats_b:
        return None
    apart = b.offset - a.offset
    most, least = apart + high_b - low, apart + low_b - high        # (neither of them is reached)
    if stride < 0:
        most, least = -least, -most
    return least // abs(stride) + 1, -(-most // abs(stride)) - 1


def in_step(a: Touch, axis_a: int, b: Touch, axis_b: int) -> bool:
    """Do two accesses of one buffer touch the same bytes in the same row only?

    Row i is a window of bytes at i times the stride, perhaps again in each period, in which all rows lie
    once.  So rows are apart if the windows of both accesses together are no longer than the stride."""
    if not a.like or not b.like:
        return _are_in_step(a, axis_a, b, axis_b)
    key = a.like, axis_a, b.like, axis_b
    found = _steps.get(key)
    if found is None:
        if len(_steps) >= MOST_ALIKE:
            _steps.clear()
        found = _steps[key] = _are_in_step(a, axis_a, b, axis_b)
    return found


_steps: dict[tuple[int, int, int, int], bool] = {}
"""Answers by numbers of kinds, none of which is ever given twice."""


def _are_in_step(a: Touch, axis_a: int, b: Touch, axis_b: int) -> bool:
    return not (a.anywhere or b.anywhere) and _in_step(
        a.shape, a.strides, a.itemsize, axis_a, b.shape, b.strides, b.itemsize, axis_b, b.offset - a.offset
    )


@lru_cache(maxsize=4096)
def _in_step(
    shape: Extents, strides: Extents, itemsize: int, axis: int,
    shape_b: Extents, strides_b: Extents, itemsize_b: int, axis_b: int, apart: int,
) -> bool:
    stride = strides[axis]
    if not stride or stride != strides_b[axis_b]:
        return False
    period = abs(stride) * shape[axis]
    low, high, repeats = _window(shape, strides, itemsize, axis, period)
    low_b, high_b, repeats_b = _window(shape_b, strides_b, itemsize_b, axis_b, period)
    if repeats or repeats_b:
        if shape[axis] != shape_b[axis_b]:
            return False
        apart = (apart + period // 2) % period - period // 2
    return max(high, apart + high_b) - min(low, apart + low_b) <= abs(stride)


def _window(
    shape: Extents, strides: Extents, itemsize: int, axis: int, period: int
) -> tuple[int, int, bool]:
    """First byte and end of a row, from its first element on, and whether it lies in several periods."""
    low, high, repeats = 0, itemsize, False
    for d, (n, s) in enumerate(zip(shape, strides, strict=True)):
        if d == axis or n == 1 or not s:
            continue
        if s % period == 0:
            repeats = True
        elif s < 0:
            low += s * (n - 1)
        else:
            high += s * (n - 1)
    return low, high, repeats


def spread_out(t: Touch, axis: int) -> bool:
    """Is a row not contiguous?"""
    return _spread(t.shape, t.strides, t.itemsize, axis)


@lru_cache(maxsize=4096)
def _spread(shape: Extents, strides: Extents, itemsize: int, axis: int) -> bool:
    stride = strides[axis]
    return bool(stride) and _window(shape, strides, itemsize, axis, abs(stride) * shape[axis])[2]
