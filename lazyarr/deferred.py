"""What NumPy computes, later: products of matrices, and what `scans` has no loop for.

In:  arrays and NumPy's arguments.   Out: lazy arrays of Opaque nodes; types, shapes and errors are settled at
the call.  NumPy's loop or the BLAS runs when a value is needed, straight into its place, so that what comes
before is fused, and what nobody asks for is not computed.  Where all operands exist, NumPy runs at the call.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, capture, fresh_array, is_pending, ndarray, part
from lazyarr.config import current
from lazyarr.dtypes import char_of
from lazyarr.error_state import loud
from lazyarr.expr import Opaque
from lazyarr.geometry import LEGACY_AXES, broadcast_shapes, fresh, in_order
from lazyarr.ufuncs import CORES, MATRICES

_types: dict[Any, numpy.dtype | None] = {}


def type_of(ask: Any, *key: Any) -> numpy.dtype:
    """The dtype that NumPy gives a result, asked once on tiny arrays; Unsupported where there is none."""
    try:
        found = _types[key]
    except KeyError:
        try:
            found = ask().dtype
        except (TypeError, ValueError, RuntimeError):
            found = None
        _types[key] = found
    except TypeError:
        raise Unsupported from None
    if found is None or char_of(found) is None:
        raise Unsupported
    return found


def waits(*arrays: ndarray) -> bool:
    """Is one of the operands pending?  If all are there, nothing is gained by waiting, and calls of several
    Python threads can run side by side, as evaluations cannot."""
    return current.jit == "always" or any(is_pending(x) for x in arrays)


# --------------------------------------------------------------------------------- products


def product(fn: numpy.ufunc, args: tuple[Any, ...]) -> Any:
    """A generalised ufunc (matmul and its relatives) of arrays whose loop dims come first in memory, too."""
    geos = _operands(args)
    cores, core = CORES[fn]
    ones = [numpy.zeros((1,) * len(c), g.dtype) for c, g in zip(cores, geos, strict=True)]
    result = type_of(lambda: fn(*ones), fn, *[g.dtype for g in geos])
    shape = _shape(cores, core, geos)
    return _computed(args, Opaque(_product, fn.__name__, (fn,)), fresh(shape, result))


def _product(region: numpy.ndarray, a: numpy.ndarray, b: numpy.ndarray, fn: Any) -> None:
    fn(a, b, out=region)


def with_last(args: tuple[Any, ...], axis: Any) -> tuple[Any, ...]:
    """The operands with that axis last, where vectors lie."""
    if axis.__class__ is bool or any(x.__class__ is not ndarray for x in args):
        raise Unsupported
    try:
        at = operator.index(axis)
        return tuple([part(x, numpy.moveaxis(x.geo, at, -1)) for x in args])
    except (TypeError, ValueError):
        raise Unsupported from None


def _operands(args: tuple[Any, ...]) -> list[numpy.ndarray]:
    if any(x.__class__ is not ndarray or not x.geo.size or not x.geo.ndim for x in args) or loud():
        raise Unsupported
    geos = [x.geo for x in args]
    if any(char_of(g.dtype) is None for g in geos):
        raise Unsupported
    return geos


def _computed(args: tuple[Any, ...], op: Opaque, geo: numpy.ndarray) -> Any:
    """A node; NumPy does it at the call where the result has no axes."""
    if not geo.ndim or not geo.size or not waits(*args):
        raise Unsupported
    return fresh_array(op, tuple([capture(x) for x in args]), geo)


def _shape(cores: tuple[str, ...], result: str, geos: list[numpy.ndarray]) -> tuple[int, ...]:
    """The shape of the result; Unsupported where operands do not fit, or its layout is unusual."""
    sizes: dict[str, int] = {}
    loops = []
    missing = ""
    for core, g in zip(cores, geos, strict=True):
        if cores == MATRICES and g.ndim == 1:           # a vector: its other dim is not in the result
            missing += core[1 if core == "km" else 0]
            core = "k"
        if g.ndim < len(core):
            raise Unsupported
        split = g.ndim - len(core)
        if any(sizes.setdefault(c, n) != n for c, n in zip(core, g.shape[split:], strict=True)):
            raise Unsupported
        loops.append(g.shape[:split])
        first: Any = (..., *(0,) * len(core))
        if split > 1 and not in_order(g[first]):
            raise Unsupported
    try:
        loop = broadcast_shapes(*loops)
    except ValueError:
        raise Unsupported from None
    return (*loop, *(sizes[c] for c in result if c not in missing))


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """numpy.dot of arrays with axes."""
    if out is not None:
        raise Unsupported
    x, y = _operands((a, b))
    if max(x.ndim, y.ndim) > LEGACY_AXES:
        raise Unsupported
    if x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        raise Unsupported
    ones = numpy.zeros(1, x.dtype), numpy.zeros(1, y.dtype)
    result = type_of(lambda: numpy.dot(*ones), numpy.dot, x.dtype, y.dtype)
    shape = x.shape[:-1] + y.shape[:-2] + (y.shape[-1:] if y.ndim > 1 else ())
    return _computed((a, b), Opaque(_dot, "dot"), fresh(shape, result))


def _dot(region: numpy.ndarray, a: numpy.ndarray, b: numpy.ndarray) -> None:
    """(`out` must be of the very type: of long and long long, of one size, it takes one.)"""
    numpy.dot(a, b, out=region.view(numpy.promote_types(a.dtype, b.dtype)))


def inner(a: Any, b: Any, /) -> Any:
    """numpy.inner: dot, with the last two axes of `b` exchanged."""
    if b.__class__ is ndarray and b.geo.ndim > 1:
        b = part(b, b.geo.swapaxes(-1, -2))
    return dot(a, b)
