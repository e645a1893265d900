"""a[i] = v, a[i, j] = v, put and put_along_axis: elements to any places, lazily.

In:  an array, integer indices, a value.   Out: a write of a Scatter node.
The mirror image of `gather`: indices are looked through at the call, and refused before anything is written;
value and positions wait, and are part of the loop that stores.  Of elements that go to one place NumPy's
last one stays: the last in C order where all that NumPy iterates over lies so.  `Unsupported` leaves the
rest to NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, capture, is_pending, is_quiet, ndarray, now, part, wrap
from lazyarr.config import current
from lazyarr.dtypes import char_of
from lazyarr.elementwise import SCALARS, at_call, elementwise
from lazyarr.error_state import loud, prompt, remembered
from lazyarr.expr import Scatter
from lazyarr.flags import discards
from lazyarr.gather import HOLDS, inside, operands, over, parsed, shape_of
from lazyarr.geometry import broadcast_shapes, reshaped
from lazyarr.indexing import CACHED
from lazyarr.movement import astype, ravel
from lazyarr.records import NamedTuple

FEW = 65
"""Positions that are looked at before all of them."""


class Places(NamedTuple):
    """Where to write: a table, positions along axes of it, and which of its axes those of the value are."""

    table: ndarray
    arrays: tuple[ndarray, ...]
    axes: tuple[int, ...]
    dims: tuple[int, ...]
    shape: tuple[int, ...]
    along: bool = False
    held: bool = False
    """Positions are in bounds already."""

    def behind(self) -> int:
        """Axes after the last of those that positions have."""
        last = max(d for d, axis in enumerate(self.dims) if axis < 0)
        return 0 if self.along else len(self.dims) - last - 1

    def still(self) -> list[int]:
        """Axes along which the table does not move: elements may go to one place there."""
        return [d for d, axis in enumerate(self.dims) if axis < 0 and self.shape[d] > 1]


def assign_at(x: ndarray, key: Any, value: Any) -> None:
    """x[key] = value, with arrays of integers in the key."""
    picked = parsed(x, key if key.__class__ is tuple else (key,))
    at = shape_of(picked.arrays)
    kept = [d for d in range(picked.view.ndim) if d not in picked.axes]
    dims = (*kept[: picked.at], *(-1,) * len(at), *kept[picked.at :])
    extents = iter(at)
    shape = tuple(next(extents) if d < 0 else picked.view.shape[d] for d in dims)
    _scatter(Places(part(x, picked.view), picked.arrays, picked.axes, dims, shape), value)


def _table(a: Any, indices: Any) -> tuple[ndarray, ndarray]:
    """The operands of a function that writes to its first one, which NumPy takes for no list."""
    if a.__class__ is not ndarray:
        raise Unsupported
    return operands(a, indices)


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """numpy.put of one value, or of one for each position."""
    x, i = _table(a, ind)
    flat = reshaped(x.geo, (-1,)) if x.geo.flags.c_contiguous else None
    if x.storage is None or flat is None or not x.geo.flags.writeable or i.storage is x.storage:
        raise Unsupported
    i, n = ravel(i), flat.size
    if v.__class__ in (ndarray, numpy.ndarray):
        v = ravel(wrap(v))
        if v.geo.size != i.geo.size:
            raise Unsupported           # values are repeated, or left over
    if mode != "raise":
        if mode not in HOLDS or not n:
            raise Unsupported
        i = HOLDS[mode](astype(i, numpy.intp), n)
    _scatter(Places(part(x, flat), (i,), (0,), (-1,), i.geo.shape, held=mode != "raise"), v)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """numpy.put_along_axis."""
    x, i = _table(arr, indices)
    shape, ndim = i.geo.shape, x.geo.ndim
    if x.storage is None or not x.geo.flags.writeable or len(shape) != ndim:
        raise Unsupported
    if axis.__class__ is not int or not -ndim <= axis < ndim:
        raise Unsupported
    axis %= ndim
    if any(n != shape[d] for d, n in enumerate(x.geo.shape) if d != axis):
        raise Unsupported
    dims = tuple(-1 if d == axis else d for d in range(ndim))
    _scatter(Places(x, (i,), (axis,), dims, shape, along=True), values)


def _scatter(to: Places, value: Any) -> None:
    """A pending write, unless so little is written that NumPy is the faster one."""
    x, dtype, size = to.table, to.table.geo.dtype, math.prod(to.shape)
    if value.__class__ is numpy.ndarray:
        value = wrap(value)
    given = (value,) if value.__class__ is ndarray else ()
    if (not given and value.__class__ not in SCALARS) or char_of(dtype) is None or loud():
        raise Unsupported
    if given:
        _check(value.geo, dtype, to.shape)
    operands = (*to.arrays, *given)
    if is_quiet(x) and at_call(size, (x, *operands), CACHED):
        raise Unsupported
    from lazyarr.compiler import COMPILER, SCATTER_NS  # here: whoever imports lazyarr need not wait for it

    if not size or not COMPILER.ready(size * SCATTER_NS):
        raise Unsupported
    positions = tuple([over(i, to.behind()) for i in to.arrays])
    waits = current.jit == "always" or not is_quiet(x) or any(is_pending(i) for i in operands)
    alike = not given or _alike(value.geo, to)
    if not alike and not _in_c_order([i.geo for i in to.arrays], value.geo, to):
        raise Unsupported
    rises = None if to.held else _rises(to)
    if not (rises or waits):
        raise Unsupported               # nothing to fuse with, and one thread: NumPy's loop is as fast
    if rises is None and not to.held:
        _check_bounds(to)
    op = Scatter(to.axes, to.dims, to.shape, to.along, bool(rises))
    assert x.storage is not None
    x.storage.write(x.geo, op, (_cast(value, dtype), *positions), False, remembered())


def _check(geo: numpy.ndarray, dtype: numpy.dtype, shape: tuple[int, ...]) -> None:
    """Is it a value that can be written, without more warnings than a cast gives?"""
    if char_of(geo.dtype) is None or discards(geo.dtype, dtype) or (geo.dtype != dtype and prompt()):
        raise Unsupported
    try:
        fits = geo.ndim <= len(shape) and broadcast_shapes(geo.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise Unsupported


def _cast(value: Any, dtype: numpy.dtype) -> Any:
    """The value as an input of the table's type."""
    if value.__class__ is not ndarray:
        one = numpy.zeros(1, dtype)
        one[numpy.zeros(1, numpy.intp)] = value         # NumPy's errors, and warnings
        return one[0]
    if value.geo.dtype != dtype:
        value = wrap(value.geo.astype(dtype)) if value.storage is None else astype(value, dtype)
    return capture(value)


# Order


def _alike(geo: numpy.ndarray, to: Places) -> bool:
    """Is all that may go to one place the same?"""
    strides = numpy.broadcast_to(geo, to.shape).strides
    return all(strides[d] == 0 for d in to.still())


def _in_c_order(positions: list[numpy.ndarray], value: numpy.ndarray, to: Places) -> bool:
    """Does NumPy visit positions and value in C order?  (Its iterator follows the memory of both.)"""
    still = to.still()
    behind = to.behind()
    rows = [numpy.broadcast_to(value, to.shape).strides]
    for i in positions:
        lead = len(to.shape) - behind - i.ndim
        rows.append((0,) * lead + tuple(0 if n == 1 else s for n, s in zip(i.shape, i.strides, strict=True)))
    return all(_falls([row[d] for d in still if d < len(row)]) for row in rows)


def _falls(strides: list[int]) -> bool:
    """The longest stride first, and none backwards; 0 has no place."""
    steps = [s for s in strides if s]
    return min(steps, default=0) >= 0 and steps == sorted(steps, reverse=True)


# Bounds


def _check_bounds(to: Places) -> None:
    extents = to.table.geo.shape
    if not all(inside(i, -extents[d], extents[d]) for i, d in zip(to.arrays, to.axes, strict=True)):
        raise Unsupported


def _rises(to: Places) -> bool | None:
    """Of positions each greater than the one before, in bounds: are all places different?  None of others.

    The first pair that does not rise ends the pass: it costs something only where it replaces the other."""
    i: Any = to.arrays[0]
    if len(to.arrays) > 1 or i.geo.ndim != 1 or i.geo.size < 2:
        return None
    if not is_pending(i) and not _begins_rising(i):
        return None                     # (the usual case: without a kernel)
    before, after = (part(i, i.geo[s]) for s in (slice(None, -1), slice(1, None)))
    if not elementwise(numpy.less, (before, after)).all():
        return None
    n, first, last = to.table.geo.shape[to.axes[0]], int(i[0]), int(i[-1])
    if first < -n or last >= n:
        raise Unsupported
    return first >= 0 or last < 0


def _begins_rising(i: ndarray) -> bool:
    few = now(part(i, i.geo[:FEW]))     # (which must not outlive this look: it counts as somebody else's)
    return bool((few[:-1] < few[1:]).all())
