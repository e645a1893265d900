"""Overlap: which elements of what a node wrote a read of the same storage sees.

In:  how the storage is laid out, the geometry that is read, the one that was written.
Out: `Where` in the written space each element that is read lies, or None if none does.

    storage  = axes, the one of the longest stride first        `Layout`
    geometry = for each of these: first position, step, number  `along`

What lies there in part only has to be cut first (`Cut`); where positions do not say it, nobody knows
(`Unclear`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy

from lazyarr.geometry import offset_of
from lazyarr.records import NamedTuple

Layout = tuple[tuple[int, int], ...]
"""Stride and extent of each axis of a dense storage."""


class Cut(Exception):
    """A read has to be cut, so that each part is from one place: axis and position."""

    def __init__(self, axis: int, at: int) -> None:
        super().__init__(axis, at)
        self.axis, self.at = axis, at


class Unclear(Exception):
    """A geometry does not go along the axes of its storage, or a write leaves out elements in between."""


class Along(NamedTuple):
    """Positions along an axis of a storage."""

    start: int
    step: int
    axis: int
    """The geometry's own axis that moves along it; -1: it stays."""
    extent: int


class Where(NamedTuple):
    """Where the elements of a read lie in what was written."""

    starts: tuple[int, ...]
    """For each axis of what was written: the position of the first one."""
    steps: tuple[int, ...]
    axes: tuple[int, ...]
    """Which axis of the read moves along it; -1: none."""
    shape: tuple[int, ...]
    """Of the read."""

    def of(self, geo: numpy.ndarray) -> numpy.ndarray:
        """The same elements of a geometry over what was written."""
        strides = [0] * len(self.shape)
        offset = offset_of(geo)
        for start, step, axis, stride in zip(self.starts, self.steps, self.axes, geo.strides, strict=True):
            offset += start * stride
            if axis >= 0:
                strides[axis] = step * stride
        return numpy.ndarray(self.shape, geo.dtype, geo.base, offset, strides)

    def bounds(self) -> tuple[tuple[int, int], ...] | None:
        """For each axis of what was written the positions that are read; None if some in between are not."""
        found = []
        for start, step, axis in zip(self.starts, self.steps, self.axes, strict=True):
            n = self.shape[axis] if axis >= 0 else 1
            if n > 1 and abs(step) != 1:
                return None
            last = start + step * (n - 1)
            found.append((min(start, last), max(start, last) + 1))
        return tuple(found)


def layout_of(geo: numpy.ndarray) -> Layout:
    """The axes of a storage that a geometry covers as a whole."""
    pairs = zip(geo.strides, geo.shape, strict=True)
    return tuple(sorted(((abs(s), n) for s, n in pairs if n > 1), reverse=True))


Geometry = tuple[int, tuple[int, ...], tuple[int, ...]]
"""First byte in the storage, strides and shape."""


@lru_cache(4096)
def along(layout: Layout, geo: Geometry) -> tuple[Along, ...] | None:
    """A geometry by the axes of its storage; None if it does not go along these."""
    left, strides, shape = geo
    found: list[Along] = []
    for stride, _ in layout:
        at, left = divmod(left, stride)
        found.append(Along(at, 1, -1, 1))
    if left:
        return None
    for axis, (s, n) in enumerate(zip(strides, shape, strict=True)):
        if n == 1 or s == 0:
            continue
        d = next((d for d, (stride, _) in enumerate(layout) if stride <= abs(s)), None)
        if d is None or found[d].axis >= 0 or s % layout[d][0]:
            return None
        start, step = found[d].start, s // layout[d][0]
        if not 0 <= start + step * (n - 1) < layout[d][1]:
            return None
        found[d] = Along(start, step, axis, n)
    return tuple(found)


def where(layout: Layout, read: numpy.ndarray, region: numpy.ndarray) -> Where | None:
    """Where in `region` lies what is read?

    Raises
    ------
    Cut
        If only a part lies there.
    Unclear
        If that is no range of positions.
    """
    if read.dtype != region.dtype:
        raise Unclear
    found = _where(layout, _geometry(read), _geometry(region))
    if isinstance(found, Where) or found is None:
        return found
    if not found:
        raise Unclear
    raise Cut(*found[0])


def _geometry(geo: numpy.ndarray) -> Geometry:
    return offset_of(geo), geo.strides, geo.shape


Cuts = Sequence[tuple[int, int]]
"""Axes and positions; none where it is unclear."""


@lru_cache(4096)
def _where(layout: Layout, read: Geometry, region: Geometry) -> Where | Cuts | None:
    """The same, remembered: boxes that are cut ask again, and so do later steps of a loop."""
    mine_along, its_along = along(layout, read), along(layout, region)
    if mine_along is None or its_along is None:
        return ()
    ndim = len(region[2])
    starts, steps, axes = [0] * ndim, [1] * ndim, [-1] * ndim
    cuts: list[tuple[int, int]] = []
    for mine, its in zip(mine_along, its_along, strict=True):
        apart = mine.start - its.start
        if mine.axis >= 0 and mine.step % its.step:
            return ()
        if apart % its.step:
            return None
        first, step = apart // its.step, mine.step // its.step if mine.axis >= 0 else 1
        low, high = _within(first, step, mine.extent, its.extent)
        if low >= high:
            return None
        if low or high < mine.extent:
            cuts.append((mine.axis, low or high))
        if its.axis >= 0:
            starts[its.axis], steps[its.axis], axes[its.axis] = first, step, mine.axis
    if cuts:
        return sorted(cuts)
    return Where(tuple(starts), tuple(steps), tuple(axes), read[2])


def _within(first: int, step: int, n: int, extent: int) -> tuple[int, int]:
    """For which of n positions, of the first one and with steps, it is at least 0 and below the extent."""
    if step < 0:
        low, high = _within(first + step * (n - 1), -step, n, extent)
        return n - high, n - low
    return max(0, -(first // step)), min(n, (extent - 1 - first) // step + 1)


def all_of(shape: tuple[int, ...], made: Sequence[Where]) -> bool:
    """Is every element of a space among what was read?"""
    bounds = [w.bounds() for w in made]
    boxes = [b for b in bounds if b is not None]
    if not shape:
        return bool(made)
    edges = [sorted({0, n, *(at for b in boxes for at in b[d])}) for d, n in enumerate(shape)]
    seen = numpy.zeros([len(e) - 1 for e in edges], bool)
    for b in boxes:
        sides = zip(edges, b, strict=True)
        seen[tuple(slice(edge.index(low), edge.index(high)) for edge, (low, high) in sides)] = True
    return bool(seen.all())
