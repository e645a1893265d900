"""The array type's methods, as tables.

In: the rules of the other face modules.   Out: `ndarray` with NumPy's methods.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.arrays import Unsupported, ndarray, now, wrap
from lazyarr.elementwise import elementwise
from lazyarr.fallback import fallback, looking, method
from lazyarr.geometry import fresh
from lazyarr.indexing import getitem, setitem
from lazyarr.late import Late, elsewhere, late
from lazyarr.temporaries import ends_method

if TYPE_CHECKING:
    from lazyarr.movement import copied
    from lazyarr.movement import reshape as reshaped
else:
    late(globals(), movement="copied reshape=reshaped")

PYTHON = {
    "sum": "_sum", "prod": "_prod", "max": "_amax", "min": "_amin", "any": "_any", "all": "_all",
    "mean": "_mean", "std": "_std", "var": "_var", "clip": "_clip",
}  # fmt: skip
"""Methods whose C code calls a Python function of NumPy's."""

ENDS = "sum prod max min any all mean argmax argmin"
"""Fold their array once: a temporary is not needed afterwards."""

RECALLED = frozenset({"sum", "prod", "max", "min", "any", "all", "mean", "std", "var"})
"""Of these: what makes the same nodes for all arrays of one geometry, whatever their values are."""

LOOK = "item tobytes tolist dumps tofile"
"""Only look at the values."""

VIEWS = "transpose swapaxes squeeze diagonal"

CONVERSIONS = {
    "bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index, "str": str,
    "repr": repr, "format": format,
}  # fmt: skip


def _forward(fn: Any, call_numpy: Any) -> Any:
    @functools.wraps(fn, updated=())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal call_numpy
        if call_numpy.__class__ is Late:
            call_numpy = call_numpy.found()
        return call_numpy(fn, self, *args, **kwargs)

    return call


def _convert(name: str, fn: Any) -> Any:
    @functools.wraps(getattr(numpy.ndarray, name), updated=())
    def call(self: Any, *args: Any) -> Any:
        return fn(now(self), *args)

    return call


def conjugate(x: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs:
        raise Unsupported
    return elementwise(numpy.conjugate, (x,)) if x.geo.dtype.kind == "c" else x


def rounded(x: Any, decimals: Any = 0, out: Any = None) -> Any:
    """NumPy's steps: to full decimals by rint, else scaled by a power of ten that is exact."""
    if out is not None or x.geo.dtype.kind != "f" or decimals.__class__ is not int or not 0 <= decimals <= 8:
        raise Unsupported
    if not decimals:
        return elementwise(numpy.rint, (x,))
    scale = 10.0**decimals
    scaled = elementwise(numpy.rint, (elementwise(numpy.multiply, (x, scale)),))
    result = elementwise(numpy.true_divide, (scaled, scale))
    # NumPy's lies in Fortran's order where x does, else in C's, and not in that of x's strides.
    geo = fresh(x.geo.shape, x.geo.dtype, "F" if x.geo.flags.fnc else "C")
    return result if result.geo.strides == geo.strides else copied(result, geo)


def reshape(x: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    return reshaped(x, *shape, order=order, copy=copy)


RULES: dict[str, Any] = {
    "reshape": reshape, "conj": conjugate, "conjugate": conjugate, "round": rounded,
    **elsewhere("movement", "ravel flatten astype copy_method=copy retyped=view"),
    **elsewhere("joining", "repeat"),
    **elsewhere("reductions", "trace argmax argmin"),
    **elsewhere("gather", "take"),
    **elsewhere("scans", "cumsum cumprod"),
    **elsewhere("deferred", "dot"),
    **elsewhere("selection", "choose_method=choose"),
    **elsewhere("scatter", "put"),
}  # fmt: skip


def _mean(code: Any) -> Any:
    """NumPy's mean, whose last step for float16 calls the scalar type: on an array of ours that gives a real
    one."""

    @functools.wraps(code, updated=())
    def call(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, *args: Any, **kwargs: Any) -> Any:
        result = code(x, axis, dtype, out, *args, **kwargs)
        return wrap(result) if out is None else result

    return call


def python_code(name: str) -> Any:
    """NumPy's Python code of a method, over lazyarr's names."""
    from lazyarr.rebind import METHODS_SPACE  # here: who has small arrays alone needs no rules

    code = METHODS_SPACE[PYTHON[name]]
    return _mean(code) if name == "mean" else code


REST = ("__array_finalize__", "__array_wrap__", "__setstate__")
"""Protocols among them."""


def attach() -> None:
    of_numpy = vars(numpy.ndarray)
    for name in PYTHON:
        rule = Late(__name__, "python_code", given=(name,))
        setattr(ndarray, name, method(of_numpy[name], rule, name in RECALLED))
    for name in VIEWS.split():
        rule = Late("lazyarr.movement", "view_of", given=(of_numpy[name],))
        setattr(ndarray, name, method(of_numpy[name], rule))
    for name in RULES:
        setattr(ndarray, name, method(of_numpy[name], RULES[name]))
    for name in LOOK.split():
        setattr(ndarray, name, _forward(of_numpy[name], looking))
    ndarray.nonzero = _forward(of_numpy["nonzero"], Late("lazyarr.finding", "found"))
    for name, fn in CONVERSIONS.items():
        setattr(ndarray, f"__{name}__", _convert(f"__{name}__", fn))
    for name in ENDS.split():
        setattr(ndarray, name, ends_method(getattr(ndarray, name)))
    ndarray.__getitem__ = getitem
    ndarray.__setitem__ = setitem


def attach_rest() -> None:
    """What is in no table, NumPy runs on real memory."""
    for name, fn in vars(numpy.ndarray).items():
        if callable(fn) and not hasattr(ndarray, name) and (name[0] != "_" or name in REST):
            setattr(ndarray, name, _forward(fn, fallback))
