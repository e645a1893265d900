"""Reductions: ufunc.reduce, argmax and argmin, count_nonzero.

In:  an array and NumPy's arguments.   Out: lazy arrays of Reduce nodes; full reductions are real NumPy
scalars, evaluated at the call.  sum, mean, var and the like are NumPy's own Python code on top of
`reduce` (see `methods`), so their order of operations and intermediate types are the running NumPy's.
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, capture, fresh_array, ndarray, now, wrap
from lazyarr.calls import ASKED
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import FOLD, SCALARS, at_call, mask_of
from lazyarr.error_state import loud
from lazyarr.expr import Read, Reduce
from lazyarr.flags import discards
from lazyarr.geometry import broadcast_shapes, fresh, reduced_layout
from lazyarr.movement import copy_as, ravel, view
from lazyarr.ufuncs import MISSING

REORDERABLE = {
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor",
}
ONE_AXIS = {"logaddexp", "logaddexp2", "hypot"}

_loops: dict[Any, tuple[str, numpy.dtype] | None] = {}


def loop_of(fn: numpy.ufunc, dtype_in: numpy.dtype, dtype: Any) -> tuple[str, numpy.dtype] | None:
    """(signature, result dtype) of a reduction; None: NumPy must decide."""
    known = fn, dtype_in, dtype
    try:
        return _loops[known]
    except KeyError:
        pass
    except TypeError:
        raise Unsupported from None
    options: dict[str, Any] = {}
    try:
        if dtype is not None:
            options = {"signature": (numpy.dtype(dtype), None, None), "casting": "unsafe"}
        dtypes = fn.resolve_dtypes((None, dtype_in, None), reduction=True, **options)
        chars = [char_of(d) for d in dtypes]
    except (TypeError, ValueError):
        chars = [None]
    found = None
    if None not in chars and not discards(dtype_in, dtypes[1]):
        found = "".join(chars[:2]) + "->" + chars[2], dtypes[2]
    _loops[known] = found
    return found


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes to fold, as sorted numbers; Unsupported where NumPy has words for it."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if axis.__class__ is tuple else (axis,)
    try:
        axes = [operator.index(i) for i in given]
    except TypeError:
        raise Unsupported from None
    if bool in map(type, given) or any(not -ndim <= i < ndim for i in axes):
        raise Unsupported
    axes = sorted({i % ndim for i in axes})
    if len(axes) != len(given) or not axes:
        raise Unsupported
    return tuple(axes)


def _initial(initial: Any, dtype: numpy.dtype) -> Any:
    if initial is None or initial is MISSING:
        return None
    if initial.__class__ not in SCALARS:
        raise Unsupported
    try:
        if isinstance(initial, numpy.generic):
            return initial.astype(dtype)
        return dtype.type(initial)
    except (OverflowError, TypeError, ValueError):
        raise Unsupported from None


def _exact(*dtypes: Any) -> bool:
    """Integers and bools only: folding them raises no floating-point flag."""
    return all(d is None or numpy.dtype(d).kind in "biu" for d in dtypes)


def reduce(
    fn: numpy.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: Any = False, initial: Any = MISSING,
    where: Any = True, out: numpy.ndarray | None = None,
) -> Any:
    """fn.reduce(x, ...) as a new array or scalar; where that is to go to `out`, only if it is of its type."""
    if x.__class__ is not ndarray or not x.geo.size or (loud() and not _exact(x.geo.dtype, dtype)):
        raise Unsupported
    axes = axes_of(axis, x.ndim)
    if fn.__name__ not in REORDERABLE and (fn.__name__ not in ONE_AXIS or len(axes) > 1):
        raise Unsupported
    loop = loop_of(fn, x.geo.dtype, dtype)
    if loop is None or keepdims.__class__ not in (bool, int) or keepdims not in (0, 1):
        raise Unsupported
    sig, result = loop
    if out is not None:
        geo = reduced_layout(result, x.geo, axes, bool(keepdims))
        if (out.dtype, out.shape) != (geo.dtype, geo.shape) or not _lies_as(out, geo, x.geo):
            raise Unsupported                   # (its strides have a say in NumPy's order)
    start = _initial(initial, result)
    mask = mask_of(where)
    if mask and ((fn.identity is None and start is None) or _enlarges(mask[0], x)):
        raise Unsupported
    if initial is None and fn.identity is not None:
        raise Unsupported
    if at_call(x.geo.size, (x, *mask), sys.maxsize if mask and _is_long(fn, sig, x, axes) else FOLD):
        COUNT.eager += 1
        options = {"where": now(mask[0])} if mask else {}
        return wrap(fn.reduce(now(x), axis, dtype, None, keepdims, initial, **options))
    op = _fold_of(fn.__name__, sig, axes, bool(keepdims), bool(mask), start)
    inputs = [capture(x)]
    for m in mask:
        seen = capture(m)
        inputs.append(Read(seen.expr, numpy.broadcast_to(seen.geo, x.geo.shape)))
    seen_by = mask[0].geo if mask else None
    return _folded(op, tuple(inputs), reduced_layout(result, x.geo, axes, bool(keepdims), seen_by))


def _lies_as(out: numpy.ndarray, geo: numpy.ndarray, read: numpy.ndarray) -> bool:
    """Has a given result its axes in the order that a new one would have, and none of them reversed?"""
    if min((*out.strides, *read.strides), default=0) < 0:
        return False
    axes = [k for k, n in enumerate(geo.shape) if n > 1]
    given, new = (sorted(axes, key=lambda k: x.strides[k], reverse=True) for x in (out, geo))
    return given == new


def _is_long(fn: numpy.ufunc, sig: str, x: ndarray, axes: tuple[int, ...]) -> bool:
    """Is it a masked sum of floats in one long sequence?  One thread makes that, so NumPy is no slower where
    nothing is to be computed for it."""
    from lazyarr.reduce_order import MASKED  # here: nobody else needs that module before there are plans

    return fn is numpy.add and sig[-1] in "fdFD" and x.geo.size > MASKED and len(axes) == x.geo.ndim


_folds: dict[tuple[Any, ...], Reduce] = {}


def _fold_of(*said: Any) -> Reduce:
    """A fold: the same object each time, by which evaluations are known at sight (`at_sight`)."""
    if said[-1] is not None:                    # (-0.0 and 0.0 are equal)
        return Reduce(*said)
    if len(_folds) >= MAX_FOLDS:
        _folds.clear()
    return _folds.setdefault(said, Reduce(*said))


MAX_FOLDS = 1024
"""All are forgotten when there are more."""


def _folded(op: Reduce, inputs: tuple[Any, ...], geo: numpy.ndarray) -> Any:
    result = fresh_array(op, inputs, geo)
    if geo.ndim:
        return result
    found = now(result)[()]
    if ASKED.of is inputs[0].expr and len(inputs) == 1:
        ASKED.found = found, op, inputs[0].geo, geo
        ASKED.folds += 1
    return found


def _enlarges(mask: ndarray, x: ndarray) -> bool:
    try:
        return broadcast_shapes(mask.geo.shape, x.geo.shape) != x.geo.shape
    except ValueError:
        return True


def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum along a diagonal, a view."""
    if out is not None:
        raise Unsupported
    return reduce(numpy.add, view(numpy.diagonal, a, offset, axis1, axis2), -1, dtype)


def arg_reduce(name: str, x: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """argmax and argmin; without an axis, the index in C order."""
    if x.__class__ is not ndarray or not x.geo.size or not x.ndim:
        raise Unsupported
    if out is not None or keepdims is not False:
        raise Unsupported
    axes = axes_of(axis, x.ndim)
    if at_call(x.geo.size, (x,), FOLD):
        COUNT.eager += 1
        return wrap(getattr(numpy, name)(now(x), axis))
    if axis is None:
        x, axes = ravel(x), (0,)
    elif len(axes) > 1 or axis.__class__ is tuple:
        raise Unsupported
    shape = x.geo.shape
    geo = fresh(shape[: axes[0]] + shape[axes[0] + 1 :], numpy.dtype(numpy.intp))
    return _folded(Reduce(name, char_of(x.geo.dtype) + "->l", axes, False), (capture(x),), geo)


argmax = functools.partial(arg_reduce, "argmax")
argmin = functools.partial(arg_reduce, "argmin")


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = a
    if x.__class__ is not ndarray or not x.geo.size or not x.ndim:
        raise Unsupported
    if at_call(x.geo.size, (x,), FOLD):
        COUNT.eager += 1
        return wrap(numpy.count_nonzero(now(x), axis, keepdims=keepdims))
    if x.geo.dtype != bool:
        x = copy_as(x, bool)            # in x's memory order, which the counts have, too
    found = reduce(numpy.add, x, axis, numpy.dtype(numpy.intp), keepdims)
    return _COUNT_TYPE(found) if axis is None and not keepdims else found


_COUNT_TYPE = type(numpy.count_nonzero(numpy.ones(1)))
