"""Scans: ufunc.accumulate, cumsum and cumprod.

In:  an array and NumPy's arguments.   Out: lazy arrays of Scan nodes; types, shapes and errors are settled at
the call.  What kernels cannot repeat is an Opaque node: NumPy's loop runs when a value is needed, into its
place.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, capture, fresh_array, is_quiet, ndarray, wrap
from lazyarr.deferred import type_of, waits
from lazyarr.dtypes import char_of
from lazyarr.elementwise import at_call
from lazyarr.error_state import loud, remembered
from lazyarr.expr import Opaque, Scan
from lazyarr.flags import discards
from lazyarr.geometry import layout
from lazyarr.movement import ravel
from lazyarr.ops import OPS, loop_types, native
from lazyarr.reduce_order import called_in_sequence


def accumulate(fn: numpy.ufunc, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """fn.accumulate(x, ...), strictly one element after the other."""
    if x.__class__ is not ndarray or fn.nin != 2 or loud() or not x.geo.size:
        raise Unsupported
    given = x.geo.dtype
    if char_of(given) is None:
        raise Unsupported
    try:
        at = operator.index(axis)
    except TypeError:
        raise Unsupported from None
    if axis.__class__ is bool or not -x.geo.ndim <= at < x.geo.ndim:
        raise Unsupported
    if _discards(given, dtype):         # NumPy warns, once
        raise Unsupported
    result = type_of(lambda: fn.accumulate(numpy.zeros(1, given), dtype=dtype), fn, given, dtype)
    op = _op(fn, result, at % x.geo.ndim, dtype)
    if out is not None:
        return _stored(op, x, result, out)
    if _at_call(op, x):
        raise Unsupported
    return fresh_array(op, (capture(x),), layout(result, x.geo.shape, [x.geo], at_once=False))


def _discards(given: numpy.dtype, dtype: Any) -> bool:
    """Does the type that is asked for discard imaginary parts?"""
    if given.kind != "c" or dtype is None:
        return False
    try:
        return discards(given, numpy.dtype(dtype))
    except TypeError:
        return False


def _op(fn: numpy.ufunc, result: numpy.dtype, axis: int, dtype: Any) -> Scan | Opaque:
    char = char_of(result)
    name, sig = fn.__name__, f"{char}{char}->{char}"
    row = OPS.get(name)
    if row is not None and "raises" in row.traits and result.kind in "iu":
        raise Unsupported                       # for its values: at the call
    scanned = row is not None and row.fn is fn and (native(name, sig) or called_in_sequence(name, sig))
    if scanned and sig in loop_types(name):
        return Scan(name, sig, axis)
    return Opaque(_accumulate, "accumulate", (fn, axis, dtype))


def _at_call(op: Scan | Opaque, *arrays: ndarray) -> bool:
    """Is it NumPy's, at the call?  What only NumPy computes does not wait where all operands exist."""
    if isinstance(op, Opaque):
        return not waits(*arrays)
    return at_call(arrays[0].geo.size, arrays)


def _stored(op: Scan | Opaque, x: ndarray, dtype: numpy.dtype, out: Any) -> Any:
    """The result written to an array of its own type and shape."""
    given = out[0] if out.__class__ is tuple and len(out) == 1 else out
    target = wrap(given)
    if target.__class__ is not ndarray or target.storage is None or not target.geo.flags.writeable:
        raise Unsupported
    if target.geo.shape != x.geo.shape or target.geo.dtype != dtype:
        raise Unsupported
    if isinstance(op, Opaque):
        if not waits(x, target):
            raise Unsupported
    elif is_quiet(target) and at_call(x.geo.size, (x,)):
        raise Unsupported
    target.storage.write(target.geo, op, (capture(x),), errors=remembered())
    return given


def _accumulate(region: numpy.ndarray, x: numpy.ndarray, fn: Any, axis: int, dtype: Any) -> None:
    fn.accumulate(x, axis, dtype, region)


def scan(fn: numpy.ufunc) -> Any:
    """The rule of cumsum or cumprod: along an axis, or over all elements in C order."""

    def call(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if a.__class__ is not ndarray or not a.geo.ndim or out.__class__ is tuple:
            raise Unsupported
        if axis is None:
            return accumulate(fn, ravel(a), 0, dtype, out)
        return accumulate(fn, a, axis, dtype, out)

    return call


cumsum, cumprod = scan(numpy.add), scan(numpy.multiply)
