"""concatenate and repeat: new arrays, written region by region.

In: arrays and NumPy's arguments.   Out: a lazy array, or a write into `out`: one write for each operand, so
that what is pending is computed straight into its place.  stack, block, append and the like are NumPy's own
code over this (see `functions`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, manage, managed, ndarray, now, part, wrap
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.creation import unset
from lazyarr.dtypes import char_of
from lazyarr.elementwise import FOLD, MOVED, at_call, operand
from lazyarr.error_state import loud
from lazyarr.expr import Expr
from lazyarr.fallback import NUMPYS_AXES
from lazyarr.geometry import fresh, geometry, in_order, like
from lazyarr.indexing import write
from lazyarr.movement import copied, ravel, reshape, seen
from lazyarr.namespace import OVERRIDES
from lazyarr.rebind import rebound
from lazyarr.recipes import WORD
from lazyarr.storage import SMALL_WRITES, Storage
from lazyarr.values import Buffer
from lazyarr.windows import INTEGERS

_dtypes: dict[Any, numpy.dtype | None] = {}


def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """numpy.concatenate; its errors are NumPy's to raise, on the evaluated arrays."""
    target = _target(out)
    found = _concatenated(_parts(arrays), axis, target, dtype, casting, _layout)
    return found if out is None else out


Layout = Callable[[numpy.dtype, tuple[int, ...], Sequence[numpy.ndarray]], numpy.ndarray]
"""The geometry of a result, from its dtype and shape and the operands' geometries."""


def _concatenated(
    parts: list[ndarray], axis: Any, target: ndarray | None, dtype: Any, casting: Any, layout: Layout
) -> ndarray:
    if axis is None:
        parts, axis = [x if x.geo.ndim == 1 and target is None else _flat(x) for x in parts], 0
    shape, axis = _joined([x.geo for x in parts], axis)
    result = _dtype_of(parts, dtype, casting, target)
    size = int(numpy.prod(shape, dtype=object))
    if not size or loud():
        raise Unsupported
    geo = layout(result, shape, [x.geo for x in parts])
    if target is not None:
        if target.geo.shape != shape or not target.geo.flags.writeable:
            raise Unsupported
    elif at_call(size, tuple(parts), FOLD, counts=True):
        COUNT.eager += 1
        given = [now(x) for x in parts]
        if _is_small(size * result.itemsize) and layout is _layout:
            made: ndarray = wrap(numpy.concatenate(given, axis, dtype=dtype, casting=casting))
            return made
        return _filled(geo, lambda real: numpy.concatenate(given, axis, real, casting="unsafe"))
    elif current.jit == "never" or _many(parts, size):
        raise Unsupported
    else:
        target = unset(geo)
    start = 0
    before = (slice(None),) * axis
    for x in parts:
        stop = start + x.geo.shape[axis]
        if x.geo.size:
            write(target, target.geo[(*before, slice(start, stop))], x)
        start = stop
    return target


def _in_c_order(dtype: numpy.dtype, shape: tuple[int, ...], _: Any) -> numpy.ndarray:
    return fresh(shape, dtype)


def array_of(arrays: Any, dtype: Any = None) -> Any:
    """numpy.array of arrays of one shape: in C order, however they lie."""
    parts = _parts(arrays)
    shape = parts[0].geo.shape
    if any(x.geo.shape != shape for x in parts) or len(shape) >= NUMPYS_AXES:
        raise Unsupported
    wide = [part(x, x.geo[None]) for x in parts]
    return _concatenated(wide, 0, None, dtype, "unsafe", _in_c_order)


def _many(parts: Sequence[ndarray], size: int) -> bool:
    """So many small writes that NumPy is the faster one?"""
    return len(parts) >= SMALL_WRITES and size < len(parts) * current.eager_elements


def _is_small(nbytes: int) -> bool:
    """Does NumPy make the array, too, rather than fill memory of ours?"""
    return nbytes <= WORD * current.eager_elements or current.jit == "never"


def _filled(geo: numpy.ndarray, fill: Callable[[numpy.ndarray], Any]) -> ndarray:
    """A new array that NumPy fills now, in memory of ours: that is recycled."""
    target = unset(geo)
    storage: Any = target.storage
    storage.put(target.geo, fill)
    return target


def _parts(arrays: Any) -> list[ndarray]:
    """The operands, if they are of the engine's dtypes, and some are its own."""
    if arrays.__class__ not in (list, tuple) or not arrays:
        raise Unsupported
    parts = [operand(x) for x in arrays]
    if any(x.__class__ is not ndarray or char_of(x.geo.dtype) is None for x in parts):
        raise Unsupported
    if all(x.storage is None for x in parts) and current.jit != "always":
        raise Unsupported
    return parts


def _target(out: Any) -> ndarray | None:
    if out is None:
        return None
    target = wrap(out)
    if target.__class__ is not ndarray or (target.storage is None and not manage(target)):
        raise Unsupported
    return target


def _flat(x: ndarray) -> Any:
    return ravel(x) if x.storage is not None else wrap(x.geo.ravel())


def _joined(geos: Sequence[numpy.ndarray], axis: Any) -> tuple[tuple[int, ...], int]:
    """The shape of the result, and the axis counted from the first."""
    try:
        at = operator.index(axis)
    except TypeError:
        raise Unsupported from None
    first = geos[0].shape
    if axis.__class__ is bool or not -len(first) <= at < len(first):
        raise Unsupported
    at %= len(first)
    rest = first[:at], first[at + 1 :]
    for g in geos:
        if g.ndim != len(first) or (g.shape[:at], g.shape[at + 1 :]) != rest:
            raise Unsupported
    return (*rest[0], sum(g.shape[at] for g in geos), *rest[1]), at


def _dtype_of(parts: Sequence[ndarray], dtype: Any, casting: Any, target: ndarray | None) -> numpy.dtype:
    """The dtype of the result: NumPy is asked, with arrays of no elements."""
    given = tuple(dict.fromkeys(x.geo.dtype for x in parts))
    if target is not None:
        if dtype is not None or any(not numpy.can_cast(d, target.geo.dtype, casting) for d in given):
            raise Unsupported
        return target.geo.dtype
    key = given, dtype, casting
    try:
        found = _dtypes.get(key)
    except TypeError:
        raise Unsupported from None
    if found is None:
        try:
            # (Nothing that warns: it is asked of dtypes alone whether they may be cast to a given one.)
            if dtype is None:
                found = numpy.concatenate([numpy.empty(0, d) for d in given], casting=casting).dtype
            else:
                found = numpy.dtype(dtype)
            if not all(numpy.can_cast(d, found, casting) for d in given):
                raise Unsupported
        except (TypeError, ValueError):
            raise Unsupported from None
        _dtypes[key] = found
    if char_of(found) is None:
        raise Unsupported
    return found


def _layout(dtype: numpy.dtype, shape: tuple[int, ...], geos: Sequence[numpy.ndarray]) -> numpy.ndarray:
    """Where NumPy puts the elements: in the memory order of the operands."""
    if all(g.flags.c_contiguous or in_order(g) for g in geos):
        return fresh(shape, dtype)
    strides = [0] * len(shape)
    step = dtype.itemsize
    for i in reversed(_memory_order(geos)):
        strides[i] = step
        step *= shape[i]
    return geometry(shape, dtype, strides)


def _memory_order(geos: Sequence[numpy.ndarray]) -> list[int]:
    """The axes from the largest stride to the smallest; where operands disagree, C order wins.

    NumPy's own insertion sort (PyArray_CreateMultiSortedStridePerm)."""
    order: list[int] = []
    for axis in range(geos[0].ndim):
        at = len(order)
        for k in range(len(order) - 1, -1, -1):
            swaps = _all_swap(geos, axis, order[k])
            if swaps:
                at = k
            elif swaps is not None:
                break
        order.insert(at, axis)
    return order


def _all_swap(geos: Sequence[numpy.ndarray], axis: int, other: int) -> bool | None:
    """Do all operands step further along `axis` than along `other`?  None: neither is a step in any."""
    told = [
        abs(g.strides[axis]) > abs(g.strides[other])
        for g in geos
        if g.shape[axis] != 1 and g.shape[other] != 1
    ]
    return all(told) if told else None


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """numpy.repeat by one number: a copy of the elements seen several times."""
    if a.__class__ is not ndarray or repeats.__class__ not in INTEGERS or repeats < 1 or not a.geo.size:
        raise Unsupported
    if axis is None:
        return repeat(ravel(a), repeats, 0)
    x = a
    if axis.__class__ not in INTEGERS or not -x.geo.ndim <= axis < x.geo.ndim:
        raise Unsupported
    shape = list(x.geo.shape)
    after = axis % x.geo.ndim + 1
    wide = numpy.broadcast_to(numpy.expand_dims(x.geo, after), (*shape[:after], int(repeats), *shape[after:]))
    shape[after - 1] *= int(repeats)
    if at_call(wide.size, (x,), FOLD, counts=True):
        COUNT.eager += 1
        return wrap(numpy.repeat(now(x), repeats, axis))
    dtype = x.geo.dtype
    return copied(seen(x, wide), fresh(tuple(shape), dtype), fresh(wide.shape, dtype))


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """numpy.roll: by integers its steps, without what they cost for each; its own code for all else."""
    if a.__class__ is not ndarray or a.storage is None or not a.geo.size:
        return _roll(a, shift, axis)
    if axis is None and shift.__class__ in INTEGERS:
        if a.geo.flags.c_contiguous and at_call(a.geo.size, (a,), MOVED, counts=True):
            flat = ravel(a)
            real, cut = now(flat), -int(shift) % a.geo.size
            rolled = _copied(flat, lambda out: numpy.concatenate((real[cut:], real[:cut]), out=out))
            return reshape(rolled, a.geo.shape)
        return reshape(roll(ravel(a), shift, 0), a.geo.shape)
    shifts, axes = (x if x.__class__ is tuple else (x,) for x in (shift, axis))
    ndim = a.geo.ndim
    if len(shifts) != len(axes) or not all(
        s.__class__ in INTEGERS and d.__class__ in INTEGERS and -ndim <= d < ndim
        for s, d in zip(shifts, axes, strict=True)
    ):
        return _roll(a, shift, axis)
    sums = [0] * ndim
    for s, d in zip(shifts, axes, strict=True):
        sums[d] += int(s)
    parts: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [((), ())]
    for n, s in zip(a.geo.shape, sums, strict=True):
        parts = [((*x, i), (*y, o)) for x, y in parts for i, o in _wrapped(s % n)]
    if char_of(a.geo.dtype) is not None and at_call(a.geo.size, (a,), MOVED, counts=True):
        real = now(a)

        def fill(out: numpy.ndarray) -> None:
            for given, to in parts:
                out[to] = real[given]

        return _copied(a, fill)
    target: Any = OVERRIDES[numpy.empty_like](a)
    if target.__class__ is not ndarray or target.storage is None:
        return _roll(a, shift, axis)
    for given, to in parts:
        write(target, target.geo[to], part(a, a.geo[given]))
    return target


def _copied(a: ndarray, fill: Callable[[numpy.ndarray], Any]) -> ndarray:
    """A new array like a, that NumPy fills now."""
    COUNT.eager += 1
    geo = like(numpy.empty_like(a.geo))
    COUNT.bytes_numpy += geo.nbytes
    buf = Buffer.new(geo.nbytes)
    fill(buf.real(geo))
    return managed(Storage(Expr.leaf(buf)), geo)


WHOLE = slice(None)


def _wrapped(shift: int) -> tuple[tuple[slice, slice], ...]:
    """Which elements along an axis go where."""
    if not shift:
        return ((WHOLE, WHOLE),)
    return (slice(-shift), slice(shift, None)), (slice(-shift, None), slice(shift))


_roll = rebound(numpy.roll)
