"""Parts of arrays as public calls: how a repeated program names what a node reads or writes.

In:  a variable and where it lies in its storage, a geometry in the same storage.   Out: an expression.
A geometry becomes the variable itself, a slice of it, or of its transpose; what is none of these, a call of
the program's own `view`, which sees the memory as it is told (`template`).
"""

from __future__ import annotations

import numpy

from lazyarr.geometry import offset_of, same
from lazyarr.records import NamedTuple


class Place(NamedTuple):
    """A variable, and the geometry that it has in its storage."""

    name: str
    geo: numpy.ndarray


def expression(place: Place, geo: numpy.ndarray) -> str:
    """The part `geo` of the place's storage."""
    name, base = place
    if geo.size == 0:
        return f"np.empty({geo.shape}, {geo.dtype.str!r})"
    for words, seen in ((name, base), (f"{name}.T", base.T)):
        if same(seen, geo):
            return words
        found = _sliced(seen, geo)
        if found is not None:
            return words + found
    order = sorted(range(base.ndim), key=lambda d: -base.strides[d])
    flat = name if base.flags.c_contiguous else f"{name}.transpose({tuple(order)})"
    start = offset_of(geo) - offset_of(base)
    return f"view(np, {flat}, {geo.dtype.str!r}, {geo.shape}, {geo.strides}, {start})"


def _sliced(base: numpy.ndarray, geo: numpy.ndarray) -> str | None:
    """An index of one slice for each axis, if one does it."""
    if base.ndim != geo.ndim or base.dtype != geo.dtype or base.size == 0:
        return None
    rest = offset_of(geo) - offset_of(base)
    slices: dict[int, slice] = {}
    for d in sorted(range(base.ndim), key=lambda d: -abs(base.strides[d])):
        step, n = base.strides[d], geo.shape[d]
        if step <= 0 or (n > 1 and (geo.strides[d] % step or not geo.strides[d])):
            return None
        start, rest = divmod(rest, step) if base.shape[d] > 1 else (0, rest)
        stride = geo.strides[d] // step if n > 1 else 1
        end = start + stride * n
        slices[d] = slice(start, end if end >= 0 else None, stride)
    found = tuple(slices[d] for d in range(base.ndim))
    if rest or not same(base[found], geo):
        return None
    return "[" + ", ".join(map(_words, found, base.shape)) + "]"


def _words(s: slice, n: int) -> str:
    start = "" if s.start == 0 and s.step > 0 else str(s.start)
    stop = "" if s.stop is None or s.stop >= n else str(s.stop)
    return f"{start}:{stop}" + ("" if s.step == 1 else f":{s.step}")
