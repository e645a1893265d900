"""Views, reshapes, copies and casts: the same elements elsewhere.

In: arrays and NumPy's arguments.   Out: views of the same storage (NumPy's function run on the
geometry), or lazy copies.  Whether `reshape` is a view depends on strides alone, which are known.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from lazyarr.array_likes import accepting
from lazyarr.arrays import (
    Unsupported,
    capture,
    face_of,
    fresh_array,
    is_pending,
    managed,
    ndarray,
    now,
    part,
    plain,
    wrap,
)
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import MOVED, at_call
from lazyarr.error_state import loud
from lazyarr.expr import Expr, map_of
from lazyarr.fallback import NESTED, NUMPYS_AXES, fallback, lend
from lazyarr.flags import warn_of_cast
from lazyarr.geometry import fresh, like, reshaped, together, view_geometry
from lazyarr.lazy_calls import overriding
from lazyarr.ops import may_raise
from lazyarr.storage import Storage
from lazyarr.values import Buffer

# ------------------------------------------------------------------------------------ views


def seen(x: ndarray, geo: Any) -> Any:
    """The array that a view of x's geometry describes."""
    if geo is x.geo:
        return x
    if x.storage is None:
        return part(x, geo)
    writeable = geo.flags.writeable
    geo = view_geometry(geo)
    if geo is None:
        raise Unsupported
    if not writeable:
        geo.flags.writeable = False
    if char_of(geo.dtype) is None:              # not the engine's business any more
        return plain(x.storage.lend(geo))
    return part(x, geo)


def view(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A NumPy function that only makes views: it is run on the geometry."""
    if x.__class__ is not ndarray:
        raise Unsupported
    result = fn(x.geo, *lend(args, {}), **lend(kwargs, {}))
    if result.__class__ is numpy.ndarray:
        return seen(x, result)
    if result.__class__ not in (list, tuple):
        raise Unsupported
    return type(result)([seen(x, g) for g in result])


def view_of(fn: Any) -> Any:
    """`view` by one function or method."""
    return functools.partial(view, fn)


def with_axes(axes: int, rule: Any) -> Any:
    """A rule for arrays of so many axes; of fewer, NumPy's function takes elements, which are values."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if x.__class__ is not ndarray or x.geo.ndim < axes:
            raise Unsupported
        return rule(x, *args, **kwargs)

    return call


def overlap(fn: Any) -> Any:
    """A rule for may_share_memory and shares_memory: the answer lies in storages and geometries."""

    def call(a: Any, b: Any, /, max_work: Any = None) -> Any:
        if any(x.__class__ is not ndarray or x.storage is None for x in (a, b)):
            raise Unsupported
        if a.storage is b.storage:
            return fn(*together(a.geo, b.geo), max_work=max_work)
        if any(x.storage.value.op is None and x.storage.value.buf.bridge is not None for x in (a, b)):
            raise Unsupported                   # memory of others may have several storages
        return False

    return call


def each_view(fn: Any) -> Any:
    """A rule for a function that makes views of several arguments (atleast_2d)."""

    def call(*args: Any) -> Any:
        if overriding(args):
            raise Unsupported
        offered = [x if x.__class__ is ndarray else wrap(numpy.asanyarray(x)) for x in args]
        if any(x.__class__ is not ndarray for x in offered):
            raise Unsupported
        return tuple([view(fn, x) for x in offered])

    return call


def retyped(x: ndarray, *args: Any, **kwargs: Any) -> Any:
    """x.view(dtype): a view; with a class, a real array of that class; NumPy's array stands for ours."""
    for a in (*args, *kwargs.values()):
        if a is ndarray:
            return retyped(x, *lend(args, {}), **lend(kwargs, {}))
        if isinstance(a, type) and a is not numpy.ndarray and issubclass(a, numpy.ndarray):
            raise Unsupported
        if a.__class__ is ndarray:              # which has a dtype, but is none to NumPy
            raise Unsupported
    return seen(x, x.geo.view(*args, **kwargs))


def metadata(fn: Any) -> Any:
    """A NumPy function that asks its first argument for its shape and type only."""
    fn = accepting(fn)

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*[_nested(a, 0) for a in args[:1]], *lend(args[1:], {}), **lend(kwargs, {}))

    return call


def types(fn: Any) -> Any:
    """A NumPy function that asks all arguments for their types only."""
    fn = accepting(fn)

    def call(*args: Any) -> Any:
        return fn(*[a.geo if a.__class__ is ndarray else lend(a, {}) for a in args])

    return call


def _nested(x: Any, depth: int) -> Any:
    """What NumPy may ask: arrays in lists it puts together, and so looks at the values, of no use to it."""
    if x.__class__ is ndarray:
        alone = x.storage is None or not depth
        return x.geo if alone else numpy.broadcast_to(numpy.zeros((), x.geo.dtype), x.geo.shape)
    if x.__class__ in (list, tuple) and depth < NUMPYS_AXES and not NESTED.isdisjoint(map(type, x)):
        return type(x)([_nested(y, depth + 1) for y in x])
    return x


WEAK = {bool, int, float, complex}


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    if any(x.__class__ is ndarray and x.storage is not None for x in args):
        args = tuple([wrap(numpy.asarray(x)) if x.__class__ in WEAK else x for x in args])
    if not all(x.__class__ is ndarray for x in args):
        raise Unsupported
    shapes = [x.geo.shape for x in args]
    if len(set(shapes)) == 1:
        return _BROADCAST(args)
    shape = numpy.broadcast_shapes(*shapes)
    return _BROADCAST([x if _KEEPS and x.geo.shape == shape else _widened(x, shape) for x in args])


_wide = numpy.zeros((1, 1))
_both = numpy.broadcast_arrays(_wide, numpy.zeros(1))
_BROADCAST = type(_both)
_KEEPS = _both[0] is _wide
"""Does this NumPy hand back an argument that has the common shape already?"""


def _widened(x: ndarray, shape: tuple[int, ...]) -> ndarray:
    """NumPy lets one write to these views (and warns), so not broadcast_to, which is read-only."""
    strides = numpy.broadcast_to(x.geo, shape).strides
    return seen(x, numpy.lib.stride_tricks.as_strided(x.geo, shape, strides))


# --------------------------------------------------------------------------------- reshapes

def reshape(x: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    """A view where NumPy makes a view, else one of a lazy copy."""
    if x.__class__ is not ndarray or order.__class__ is not str or order not in ("C", "F", "A"):
        raise Unsupported
    geo = x.geo
    if order == "A":
        order = "F" if geo.flags.fnc else "C"
    target = fresh(geo.shape, geo.dtype, order).reshape(*shape, order=order)
    if not copy:
        # (NumPy asks for the shape as given: x[::7][:1].reshape(-1) has other strides than .reshape(1).)
        result = reshaped(geo, shape[0] if len(shape) == 1 else shape, order)
        if result is not None:
            return seen(x, result)
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
    copy = copied(x, fresh(geo.shape, geo.dtype, order))
    return seen(copy, reshaped(copy.geo, target.shape, order))


def _flowed(x: ndarray, shape: tuple[int, ...], order: str) -> ndarray:
    """A copy in another shape: the new array's memory is written as if it had x's shape."""
    geo = fresh(shape, x.geo.dtype, order)
    return copied(x, geo, fresh(x.geo.shape, x.geo.dtype, order))


def reshape_function(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    return reshape(a, shape, order=order, copy=copy)


def ravel(a: Any, order: Any = "C") -> Any:
    """Flat and contiguous: so, unlike reshape(-1), a copy of a[::2]."""
    if a.__class__ is not ndarray:
        raise Unsupported
    order = _flat_order(a, order)
    flags = a.geo.flags
    if flags.f_contiguous if order == "F" else flags.c_contiguous:
        return reshape(a, -1, order=order)
    return _flowed(a, (a.geo.size,), order)


def flatten(x: ndarray, order: Any = "C") -> ndarray:
    return _flowed(x, (x.geo.size,), _flat_order(x, order))


def _flat_order(x: ndarray, order: Any) -> str:
    """The order in which the elements follow each other: "C" or "F"."""
    flags = x.geo.flags
    if order.__class__ is not str or order not in ("C", "F", "A", "K") or (order == "K" and not flags.forc):
        raise Unsupported
    return "F" if order == "F" or (order in "AK" and flags.fnc) else "C"


# ---------------------------------------------------------------------------- copies, casts


def copied(x: ndarray, geo: numpy.ndarray, region: numpy.ndarray | None = None, depth: int = 3) -> ndarray:
    """A lazy copy of x into a fresh `geo`; cast where the types differ.  `depth`: as for `fresh_array`."""
    if loud() and geo.dtype != x.geo.dtype:     # casts report errors, too
        raise Unsupported
    if current.jit == "never" or (
        current.jit == "auto" and x.geo.size <= current.eager_elements and not is_pending(x)
    ):
        COUNT.eager += 1
        real = numpy.ndarray(geo.shape, geo.dtype, strides=geo.strides)
        target = real if region is None else numpy.ndarray(region.shape, geo.dtype, real, 0, region.strides)
        numpy.copyto(target, now(x), casting="unsafe")
        return wrap(real)
    if at_call(x.geo.size, (x,), MOVED, counts=True):
        COUNT.eager += 1
        COUNT.bytes_numpy += geo.nbytes
        buf = Buffer.new(geo.nbytes)
        numpy.copyto(buf.real(geo if region is None else region), now(x), casting="unsafe")
        return managed(Storage(Expr.leaf(buf)), geo)
    warn_of_cast(x.geo.dtype, geo.dtype)
    given = capture(x)
    sig = f"{char_of(x.geo.dtype)}->{char_of(geo.dtype)}"
    op = map_of("copy", sig)
    return fresh_array(op, (given,), geo, region, depth if may_raise(op) else 0)


def copy_as(x: ndarray, dtype: Any = None, order: Any = "K") -> ndarray:
    geo = like(numpy.empty_like(x.geo, dtype=dtype, order=order or "K"))
    if char_of(geo.dtype) is None or x.storage is None:
        raise Unsupported
    return copied(x, geo, None, 6)      # casts come through convert, one of its callers and a wrapper


COPIES = (None, False, True)
ORDERS = (None, "C", "F", "A", "K")


def convert(x: Any, dtype: Any = None, order: Any = None, copy: Any = None, ndmin: int = 0) -> ndarray:
    """asarray() and its relatives: x itself where it will do, else a lazy copy."""
    x = face_of(x)
    if x.__class__ is not ndarray or x.storage is None or dtype.__class__ is ndarray:
        raise Unsupported
    dtype = x.geo.dtype if dtype is None else numpy.dtype(dtype)
    if char_of(dtype) is None or dtype.metadata or copy not in COPIES or order not in ORDERS:
        raise Unsupported
    flags = x.geo.flags
    ordered = {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, True)
    if copy or dtype != x.geo.dtype or not ordered:
        if copy is False:                           # NumPy says why not
            raise Unsupported
        x = copy_as(x, dtype, order)
    return x if ndmin <= x.geo.ndim else seen(x, numpy.array(x.geo, copy=False, ndmin=ndmin))


def astype(
    x: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
) -> Any:
    if x.__class__ is not ndarray or x.storage is None:
        raise Unsupported
    if dtype is None:                   # NumPy's default type, where `convert` would keep x's
        dtype = numpy.dtype(None)
    if casting != "unsafe":
        numpy.empty(0, x.geo.dtype).astype(dtype, casting=casting)
    return convert(x, dtype, order, copy or None)


def astype_function(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    if device not in (None, "cpu"):
        raise Unsupported
    return astype(x, dtype, copy=copy)


def copy_method(x: ndarray, order: Any = "C") -> ndarray:
    if order.__class__ is not str:
        raise Unsupported
    return copy_as(x, None, order)


def own_copy(x: ndarray) -> ndarray:
    """copy.copy(x)."""
    return fallback(numpy.array, x) if x.storage is None else copy_as(x)
