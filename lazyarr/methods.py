"""The array type's attributes and methods, and the lazy rules of NumPy's functions, as tables.

In: the rules of the other face modules.   Out: `ndarray` complete, `namespace.OVERRIDES` filled.
Everything that is in no table goes through NumPy.
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

import numpy

from lazyarr import creation, movement, operators, protocols, reductions, selection
from lazyarr.arrays import Unsupported, ndarray, now, wrap
from lazyarr.fallback import fallback, lazily, looking, method
from lazyarr.indexing import getitem, setitem
from lazyarr.namespace import OVERRIDES
from lazyarr.rebind import METHODS, rebound
from lazyarr.ufuncs import adapt

# -------------------------------------------------------------------------------- functions

VIEWS = (
    "transpose swapaxes moveaxis rollaxis rot90 matrix_transpose permute_dims expand_dims squeeze atleast_1d "
    "atleast_2d atleast_3d flip flipud fliplr broadcast_to diagonal real imag split array_split hsplit vsplit dsplit "
    "unstack"
).split()
"""Functions that make views of their first argument."""

METADATA = (
    "shape ndim size result_type common_type iscomplexobj isrealobj isfortran min_scalar_type can_cast iscomplex isreal"
).split()[:-2]
"""Functions that look at shapes and types only."""

BY_METHOD = (
    "sum prod max min amax amin any all mean std var ptp clip argmax argmin reshape ravel squeeze "
).split()
"""NumPy's Python functions that call the method of that name on what they are given."""


def by_method(fn: Any) -> Any:
    """NumPy's own function, whose code calls the methods of an array that is not NumPy's."""
    implementation = fn._implementation

    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        if a.__class__ is not ndarray:
            raise Unsupported
        return implementation(a, *args, **kwargs)

    return rule


def _first_view(fn: Any) -> Any:
    return functools.partial(movement.view, fn)


FUNCTIONS: dict[str, Any] = {
    "reshape": movement.reshape_function,
    "ravel": movement.ravel,
    "astype": movement.astype_function,
    "copyto": selection.copyto,
    "count_nonzero": reductions.count_nonzero,
    "broadcast_arrays": movement.broadcast_arrays,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
}

CONVERT: dict[str, dict[str, Any]] = {
    "array": {"copy": True},
    "asarray": {},
    "asanyarray": {},
    "ascontiguousarray": {"order": "C", "ndmin": 1},
    "asfortranarray": {"order": "F", "ndmin": 1},
    "copy": {"copy": True},
}

MAKE = {
    "zeros": creation.zeros, "ones": creation.ones, "empty": creation.empty, "full": creation.full,
}


def _converter(name: str, defaults: dict[str, Any]) -> Any:
    """asarray and its relatives."""
    fn = getattr(numpy, name)
    allowed = {"dtype", "order", "copy", "ndmin", "subok"}

    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        options = dict(defaults)
        if args:
            options["dtype" if name != "copy" else "order"] = args[0]
        if len(args) > 1:
            options["order"] = args[1]
        if len(args) > 2 or not set(kwargs) <= allowed:
            raise Unsupported
        options.update(kwargs)
        options.pop("subok", None)
        return movement.convert(a, **options)

    converted = lazily(fn, rule)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and args[0].__class__ is ndarray and args[0].storage is None:
            return _plain_array(fn, args, kwargs)
        if args and args[0].__class__ in (list, tuple):         # NumPy asks nested arrays itself
            return wrap(fn(*args, **kwargs))
        return converted(*args, **kwargs)

    return call


def _plain_array(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = args[0]
    real = fn(x.geo, *args[1:], **kwargs)
    return x if real is x.geo else wrap(real)


# ---------------------------------------------------------------------------------- methods

REDUCTIONS = {
    "sum": "_sum", "prod": "_prod", "max": "_amax", "min": "_amin", "any": "_any", "all": "_all",
    "mean": "_mean", "std": "_std", "var": "_var", "ptp": "_ptp", "clip": "_clip",
}
"""Methods whose C code calls a Python function of NumPy's."""

THROUGH = (
    "argpartition argsort byteswap choose compress conj conjugate cumprod cumsum dot dump getfield nonzero partition put "
    "repeat round searchsorted setfield sort take trace to_device __array_namespace__"
).split()
"""Methods that NumPy runs on real memory."""

LOOK = "item tobytes tolist dumps tofile".split()
"""Methods that only look at the values."""

VIEW_METHODS = "transpose swapaxes squeeze diagonal".split()


def _method(name: str, rule: Any) -> Any:
    """A method by its rule; NumPy's own for plain arrays and where the rule does not apply."""
    return method(getattr(numpy.ndarray, name), rule)


def _forward(name: str) -> Any:
    fn = getattr(numpy.ndarray, name)

    @functools.wraps(fn, updated=())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return fallback(fn, self, *args, **kwargs)

    return call


def _look(name: str) -> Any:
    fn = getattr(numpy.ndarray, name)

    @functools.wraps(fn, updated=())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return looking(fn, self, *args, **kwargs)

    return call


def _asked(fn: Any) -> Any:
    def call(self: Any, *args: Any) -> Any:
        return fn(now(self), *args)

    return call


def _attach_methods() -> None:
    for name, python in REDUCTIONS.items():
        if hasattr(numpy.ndarray, name):
            setattr(ndarray, name, _method(name, rebound(getattr(METHODS, python))))
    for name in THROUGH:
        if hasattr(numpy.ndarray, name):
            setattr(ndarray, name, _forward(name))
    for name in LOOK:
        setattr(ndarray, name, _look(name))
    for name in VIEW_METHODS:
        setattr(ndarray, name, _method(name, _first_view(getattr(numpy.ndarray, name))))
    rules = {
        "reshape": _reshape_method, "ravel": movement.ravel, "flatten": movement.flatten, "astype": movement.astype,
        "copy": movement.copy_method, "view": movement.retyped,
    }
    for name in ("argmax", "argmin"):
        rules[name] = functools.partial(reductions.arg_reduce, name)
    for name, rule in rules.items():
        setattr(ndarray, name, _method(name, rule))
    for name, fn in _CONVERSIONS.items():
        setattr(ndarray, f"__{name}__", _asked(fn))
    ndarray.__getitem__ = getitem
    ndarray.__setitem__ = setitem
    for name in ("conj", "conjugate"):
        setattr(ndarray, name, _method(name, _conjugate))


def _conjugate(self: Any) -> Any:
    return adapt(numpy.conjugate)(self) if self.geo.dtype.kind == "c" else self


def _reshape_method(self: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    return movement.reshape(self, *shape, order=order, copy=copy)


_CONVERSIONS = {
    "bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index, "str": str,
    "repr": repr, "format": format,
}


# ---------------------------------------------------------------------------------- install


def attach() -> None:
    operators.attach()
    protocols.attach()
    _attach_methods()
    for name in VIEWS:
        fn = getattr(numpy, name, None)
        if fn is not None:
            OVERRIDES[fn] = lazily(fn, _first_view(fn))
    for fn in (numpy.lib.stride_tricks.sliding_window_view, numpy.lib.stride_tricks.as_strided):
        OVERRIDES[fn] = lazily(fn, _first_view(fn))
    for name in METADATA:
        fn = getattr(numpy, name)
        OVERRIDES[fn] = functools.wraps(fn, updated=())(movement.metadata(fn))
    for name in BY_METHOD:
        fn = getattr(numpy, name)
        OVERRIDES[fn] = lazily(fn, by_method(fn))
    for name, rule in FUNCTIONS.items():
        if hasattr(numpy, name):
            fn = getattr(numpy, name)
            OVERRIDES[fn] = lazily(fn, rule)
    OVERRIDES[numpy.where] = lazily(numpy.where, selection.where, by_first=False)
    for name, rule in MAKE.items():
        fn = getattr(numpy, name)
        OVERRIDES[fn] = creation.maker(fn, rule)
    for name, defaults in CONVERT.items():
        fn = getattr(numpy, name)
        OVERRIDES[fn] = _converter(name, defaults)
