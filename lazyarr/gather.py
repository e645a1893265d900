"""a[i], a[i, j], a[rows], take and take_along_axis: elements at any places, picked when they are needed.

In:  an array and integer indices.   Out: lazy arrays of Gather nodes.
Indices are looked through at the call, since NumPy refuses there what is out of bounds; what they pick
waits, and joins the loops that use it.  A mask of some axes stands for the positions where it is True.
`Unsupported` leaves the rest to NumPy, its errors too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, capture, fresh_array, ndarray, now, part, wrap
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import FOLD, at_call, elementwise, made, operand
from lazyarr.expr import Expr, Gather, Read, Reduce
from lazyarr.geometry import broadcast_shapes, fresh, geometry
from lazyarr.indexing import BASIC, CACHED, FEW
from lazyarr.movement import astype, ravel
from lazyarr.places import nonzero
from lazyarr.records import NamedTuple
from lazyarr.storage import evaluate

MOST_ARRAYS = 30
"""More index arrays are too many for NumPy's iterator sooner or later, depending on the version."""

Order = tuple[tuple[int, int, bool], ...]
"""Of an array's axes, for its memory order: rank by stride, extent (1, or 2 for any other), turned round?"""


class Picked(NamedTuple):
    """An index, taken apart: basic indices first, then arrays along axes of the view that these make."""

    view: numpy.ndarray
    arrays: tuple[ndarray, ...]
    axes: tuple[int, ...]
    at: int
    """Axes of the result before those of the indices."""
    held: tuple[bool, ...] = ()
    """For each array, are its positions in bounds already?"""


def gathered(x: ndarray, key: Any) -> ndarray:
    """x[key], with arrays of integers in the key."""
    picked = parsed(x, key if key.__class__ is tuple else (key,), masks=True)
    shape = shape_of(picked.arrays)
    kept = [d for d in range(picked.view.ndim) if d not in picked.axes]
    dims = (*kept[: picked.at], *(-1,) * len(shape), *kept[picked.at :])
    return _gather(part(x, picked.view), picked.arrays, Gather(picked.axes, dims), shape, held=picked.held)


def parsed(x: ndarray, key: tuple[Any, ...], masks: bool = False) -> Picked:
    """NumPy's rule: the indices' axes are where the first of them was, if they were neighbours; else first.

    There an integer counts as an index array without axes.  `masks` of some axes are taken, too."""
    basic: list[Any] = []
    arrays: dict[int, ndarray] = {}         # by position in the key
    masked: dict[int, tuple[int, ...]] = {}     # shapes of masks, likewise
    held: list[bool] = []
    for k in key:
        if k.__class__ in (ndarray, numpy.ndarray, list):
            found = _index_array(k)
            mask = found.geo.dtype == bool
            if mask:
                if not masks:
                    raise Unsupported
                masked[len(basic)] = found.geo.shape
            for positions in kept_by(found) if mask else (found,):
                arrays[len(basic)] = positions
                held.append(mask)
                basic.append(slice(None))
        else:
            basic.append(k)
    if not arrays or len(arrays) > MOST_ARRAYS:
        raise Unsupported
    view = _view(x.geo, tuple(basic))
    fancy = [at for at, k in enumerate(basic) if at in arrays or not _is_slice(k)]
    together = fancy[-1] - fancy[0] < len(fancy)
    before = [_axes_made(k, x.ndim, basic) for k in basic]
    axes = tuple(sum(before[:at]) for at in arrays)
    at = sum(before[: fancy[0]]) if together else 0
    if at != (axes[0] if axes[-1] - axes[0] < len(axes) else 0):
        raise Unsupported               # integers among the basic indices decide where the axes go
    for first, shape in masked.items():
        d = sum(before[:first])
        if view.shape[d : d + len(shape)] != shape:
            raise Unsupported           # NumPy says so
    return Picked(view, tuple(arrays.values()), axes, at, tuple(held))


def _index_array(k: Any) -> ndarray:
    """Positions, or a mask."""
    try:
        found: ndarray = operand(k)
    except ValueError:                      # lists of different lengths
        raise Unsupported from None
    return found if found.geo.dtype == bool else _positions(found)


def _positions(found: ndarray) -> ndarray:
    dtype = found.geo.dtype
    if dtype.kind not in "iu" or char_of(dtype) is None or not numpy.can_cast(dtype, numpy.intp):
        raise Unsupported
    return found


def kept_by(mask: ndarray) -> tuple[ndarray, ...]:
    """The positions where a mask is True, one array for each of its axes: how many is known at the call."""
    if not mask.geo.ndim:
        raise Unsupported
    return tuple(map(wrap, nonzero(now(mask))))


def _view(geo: numpy.ndarray, basic: tuple[Any, ...]) -> numpy.ndarray:
    if not BASIC.issuperset(map(type, basic)):
        raise Unsupported
    try:
        view = geo[(*basic, ...)] if Ellipsis not in basic else geo[basic]
    except (IndexError, TypeError, ValueError):
        raise Unsupported from None         # NumPy says so in its words
    if view.__class__ is not numpy.ndarray:
        raise Unsupported
    return view


def _is_slice(k: Any) -> bool:
    return k is None or k is Ellipsis or k.__class__ is slice


def _axes_made(k: Any, ndim: int, basic: list[Any]) -> int:
    """Axes of the view that come of one basic index."""
    if k is Ellipsis:
        return ndim - sum(k is not None and k is not Ellipsis for k in basic)
    return 1 if k is None or k.__class__ is slice else 0


def shape_of(arrays: tuple[ndarray, ...]) -> tuple[int, ...]:
    try:
        shape = broadcast_shapes(*(i.geo.shape for i in arrays))
    except ValueError:
        raise Unsupported from None
    if not shape:
        raise Unsupported
    return shape


def operands(a: Any, indices: Any) -> tuple[ndarray, ndarray]:
    """The table and the positions of a call, unless so few are asked for that NumPy is the faster one."""
    if indices.__class__ is ndarray and indices.geo.size < FEW and current.jit != "always":
        raise Unsupported
    x, i = operand(a), operand(indices)
    if x.__class__ is not ndarray or i.__class__ is not ndarray:
        raise Unsupported
    return x, _positions(i)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """numpy.take."""
    if out is not None:
        raise Unsupported
    x, i = operands(a, indices)
    if axis is None:
        x, axis = ravel(x), 0
    ndim, shape = x.geo.ndim, shape_of((i,))
    if axis.__class__ is not int or not -ndim <= axis < ndim:
        raise Unsupported
    axis %= ndim
    dims = (*range(axis), *(-1,) * len(shape), *range(axis + 1, ndim))
    if mode != "raise":
        n = x.geo.shape[axis]
        if mode not in HOLDS or not n or at_call(i.geo.size, (x, i), CACHED):
            raise Unsupported
        i = HOLDS[mode](astype(i, numpy.intp), n)
    return _gather(x, (i,), Gather((axis,), dims), shape, order="C", held=(mode != "raise",))


def _clipped(i: ndarray, n: int) -> ndarray:
    found: ndarray = elementwise(numpy.minimum, (elementwise(numpy.maximum, (i, 0)), n - 1))
    return found


def _wrapped(i: ndarray, n: int) -> ndarray:
    found: ndarray = elementwise(numpy.remainder, (i, n))
    return found


HOLDS = {"clip": _clipped, "wrap": _wrapped}
"""Modes of `take`: how positions are brought into bounds."""


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """numpy.take_along_axis."""
    if indices.__class__ is not ndarray:        # (it asks a list for its dtype)
        raise Unsupported
    x, i = operands(arr, indices)
    ndim = x.geo.ndim
    if axis.__class__ is not int or i.geo.ndim != ndim or not -ndim <= axis < ndim:
        raise Unsupported
    axis %= ndim
    others = [n for d, n in enumerate(x.geo.shape) if d != axis]
    if others != [n for d, n in enumerate(i.geo.shape) if d != axis]:
        raise Unsupported
    dims = tuple(-1 if d == axis else d for d in range(ndim))
    return _gather(x, (i,), Gather((axis,), dims, along=True), i.geo.shape)


def _gather(
    x: ndarray, arrays: tuple[ndarray, ...], op: Gather, shape: tuple[int, ...], order: str | None = None,
    held: tuple[bool, ...] = (),
) -> ndarray:
    """A pending gather; positions are `held` in bounds, or looked through now."""
    geo = x.geo
    if char_of(geo.dtype) is None:
        raise Unsupported
    if not op.along:
        kept = iter(shape)
        shape = tuple(next(kept) if d < 0 else geo.shape[d] for d in op.dims)
    size = math.prod(shape)
    if at_call(size, (x, *arrays), CACHED):
        raise Unsupported               # (NumPy looks through positions while it picks)
    from lazyarr.compiler import COMPILER, GATHER_NS  # here: whoever imports lazyarr need not wait for it

    if not COMPILER.ready(size * GATHER_NS):
        raise Unsupported
    for i, d, known in zip(arrays, op.axes, held or (False,) * len(arrays), strict=True):
        if not known and not inside(i, -geo.shape[d], geo.shape[d]):
            raise Unsupported
    made(size)
    region = fresh(shape, geo.dtype) if order else _layout(geo, [i.geo for i in arrays], op, shape)
    behind = 0 if op.along else len(op.dims) - max(d for d, axis in enumerate(op.dims) if axis < 0) - 1
    return fresh_array(op, (_table(x), *(over(i, behind) for i in arrays)), region)


def _table(x: ndarray) -> Read:
    found = capture(x)
    if not isinstance(found, Read):
        raise Unsupported
    return found


def over(i: ndarray, behind: int) -> Any:
    """An index array as an input that broadcasts to the result."""
    found = capture(i)
    if isinstance(found, Read) and behind:
        return Read(found.expr, found.geo[(..., *(None,) * behind)])
    return found


# Bounds


def inside(i: ndarray, low: int, end: int) -> bool:
    """Is every position at least `low` and less than `end`?"""
    if not i.geo.size:
        return True
    info = numpy.iinfo(i.geo.dtype)
    if low <= info.min and info.max < end:
        return True
    least, greatest = _extremes(i)
    return low <= least and greatest < end


def _extremes(i: ndarray) -> tuple[int, int]:
    """The least and the greatest: one pass."""
    if at_call(i.geo.size, (i,), FOLD):
        real = now(i)
        return int(real.min()), int(real.max())
    read, char = capture(i), char_of(i.geo.dtype)
    axes = tuple(range(i.geo.ndim))
    result = fresh((), i.geo.dtype)
    nodes = [Expr(Reduce(name, f"{char}{char}->{char}", axes, False), (read,), result) for name in ENDS]
    COUNT.bytes_numpy -= 2 * result.nbytes      # results that NumPy does not have
    evaluate(nodes)
    low, high = (int(node.buf.real(result)) for node in nodes)
    return low, high


ENDS = ("minimum", "maximum")


# Memory order of the result


def _layout(
    geo: numpy.ndarray, indices: list[numpy.ndarray], op: Gather, shape: tuple[int, ...]
) -> numpy.ndarray:
    """The geometry that NumPy gives the result: it picks from stand-ins of the same memory orders."""
    if len(indices) == 1 and (geo.ndim == 1 or op.along) and indices[0].flags.c_contiguous:
        return fresh(shape, geo.dtype)
    if op.along or 1 in shape:          # (the strides of axes of length 1 follow rules of their own)
        raise Unsupported
    rank = _ranks_of_result(_order(geo), tuple(map(_order, indices)), op)
    if rank is None:
        return fresh(shape, geo.dtype)
    strides, step = [0] * len(shape), geo.itemsize
    for d in sorted(range(len(shape)), key=rank.__getitem__):
        strides[d] = step
        step *= shape[d]
    return geometry(shape, geo.dtype, strides)


def _order(geo: numpy.ndarray) -> Order:
    outwards = sorted(range(geo.ndim), key=lambda d: (abs(geo.strides[d]), -d))
    return tuple((outwards.index(d), min(geo.shape[d], 2), geo.strides[d] < 0) for d in range(geo.ndim))


@lru_cache(256)
def _ranks_of_result(table: Order, indices: tuple[Order, ...], op: Gather) -> tuple[int, ...] | None:
    """None: C order; else for each axis its place, from the smallest stride up."""
    key: list[Any] = [slice(None)] * len(table)
    for axis, order in zip(op.axes, indices, strict=True):
        key[axis] = _stand_in(order, numpy.intp)
    found = _stand_in(table, numpy.int8)[tuple(key)]
    if found.flags.c_contiguous:
        return None
    return tuple(found.strides)


def _stand_in(order: Order, dtype: Any) -> numpy.ndarray:
    """Zeros that lie in the given order."""
    inwards = sorted(range(len(order)), key=lambda d: -order[d][0])
    zeros = numpy.zeros([order[d][1] for d in inwards], dtype)
    turned = tuple(slice(None, None, -1 if turn else 1) for _, _, turn in order)
    return zeros.transpose([inwards.index(d) for d in range(len(order))])[turned]
