"""Re-indexing: one iteration space as another one that visits the same elements.

In:  two geometries of one value: as a space reads it, and as another space has it.
Out: `Reindex`, a bijection of the spaces made of what NumPy can answer with views (axes turned round,
     permuted, split, merged; axes of length 1 come and go), which takes any geometry over the first
     space to the second; or None where there is none, or where a geometry cannot follow.

A reindexed geometry visits the same bytes in the same iteration, so all questions about accesses of
one group (equal? disjoint?) have the same answers on either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy

from lazyarr.fusion.collapse import SHORT, broadcast_strides
from lazyarr.geometry import offset_of, reshaped, same
from lazyarr.records import NamedTuple

CROSSING = 1 << 17
"""Elements from which on it matters that memory is read in its own order."""

Flips = tuple[Any, ...]
"""An index that turns axes round; the ellipsis keeps an element without axes an array."""

FORWARDS, BACKWARDS = slice(None), slice(None, None, -1)


class Normal(NamedTuple):
    """How a space looks along the memory of a value: axes turned round, then the longest stride first."""

    flips: Flips
    axes: tuple[int, ...]

    def of(self, geo: numpy.ndarray) -> numpy.ndarray:
        return geo[self.flips].transpose(self.axes)

    def undo(self, geo: numpy.ndarray) -> numpy.ndarray:
        back = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        return geo.transpose(back)[self.flips]


def _normal(geo: numpy.ndarray) -> Normal | None:
    """None where some element is visited more than once because an axis repeats it."""
    steps = [s if n > 1 else 0 for s, n in zip(geo.strides, geo.shape, strict=True)]
    if any(s == 0 and n != 1 for s, n in zip(steps, geo.shape, strict=True)):
        return None
    flips = [BACKWARDS if s < 0 else FORWARDS for s in steps]
    return Normal((*flips, ...), tuple(sorted(range(geo.ndim), key=lambda d: -abs(steps[d]))))


class Reindex(NamedTuple):
    """A bijection from the space `source` to another, by way of one shape along a value's memory."""

    source: tuple[int, ...]
    there: Normal
    shape: tuple[int, ...]
    back: Normal

    def __call__(self, geo: numpy.ndarray) -> numpy.ndarray | None:
        """A geometry over the source, or one that broadcasts to it, over the other space."""
        if geo.shape != self.source:
            geo = spread(geo, self.source)
        found = reshaped(self.there.of(geo), self.shape)
        return None if found is None else self.back.undo(found)


def spread(geo: numpy.ndarray, shape: tuple[int, ...]) -> numpy.ndarray:
    """A geometry over the whole space that it is broadcast to."""
    if geo.shape == shape:
        return geo
    strides = broadcast_strides(shape, geo.shape, geo.strides)
    return numpy.ndarray(shape, geo.dtype, geo.base, offset_of(geo), strides)


def reindex(seen: numpy.ndarray, made: numpy.ndarray) -> Reindex | None:
    """The bijection that takes `seen` to `made`, if they are the same elements once each."""
    if seen.size != made.size or seen.size == 0 or seen.dtype != made.dtype:
        return None
    there, back = _normal(seen), _normal(made)
    if there is None or back is None:
        return None
    found = Reindex(seen.shape, there, back.of(made).shape, back)
    moved = found(seen)
    return found if moved is not None and same(moved, made) else None


def crossed(geos: Iterable[numpy.ndarray]) -> int:
    """Of accesses over one space, how many have another nearest axis than most: no order of the loops
    follows all of them along their memory."""
    near = Counter(d for d in map(_nearest, geos) if d is not None)
    return near.total() - max(near.values(), default=0)


def _nearest(geo: numpy.ndarray) -> int | None:
    """The long axis of the smallest stride; None where it does not matter, or an axis is repeated."""
    long = [d for d, n in enumerate(geo.shape) if n >= SHORT]
    steps = [abs(geo.strides[d]) for d in long]
    return None if not long or 0 in steps else long[steps.index(min(steps))]
