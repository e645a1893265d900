"""The lazy rules of NumPy's functions, as tables.

In: the rules of the other face modules.   Out: `namespace.OVERRIDES` filled.
A function that is in no table goes through NumPy, on evaluated arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy

from lazyarr import creation, gather, masks, methods, movement, reductions, selection
from lazyarr.arrays import Unsupported, ndarray, wrap
from lazyarr.elementwise import SCALARS
from lazyarr.fallback import lazily
from lazyarr.namespace import OVERRIDES
from lazyarr.rebind import rebound
from lazyarr.temporaries import ends_function

VIEWS = """
    transpose swapaxes moveaxis rollaxis rot90 matrix_transpose permute_dims expand_dims squeeze atleast_1d
    atleast_2d atleast_3d flip flipud fliplr broadcast_to diagonal split array_split hsplit vsplit dsplit
    unstack lib.stride_tricks.sliding_window_view lib.stride_tricks.as_strided
"""
"""Make views of their first argument: NumPy's code runs on the geometry."""

METADATA = """
    shape ndim size result_type common_type iscomplexobj isrealobj isfortran min_scalar_type can_cast
"""
"""Look at shapes and types only."""

BY_METHOD = """
    sum prod max min amax amin any all mean std var ptp clip argmax argmin reshape ravel round around
"""
"""NumPy's code calls the method of that name (or near it) on what it is given."""

ENDS = {*methods.ENDS.split(), "amax", "amin", "count_nonzero", "compress", "extract"}
"""Use their first array once: a temporary is not needed afterwards."""

REBOUND = """
    average gradient diff trapezoid cov corrcoef angle sinc unwrap ediff1d roll isclose allclose array_equal
    array_equiv cross outer nanmin nanmax nansum nanprod nanmean nanvar nanstd nan_to_num fix isposinf
    isneginf iscomplex isreal real imag tril triu linalg.norm linalg.vector_norm fft.fftshift fft.ifftshift
"""
"""NumPy's code runs over lazyarr's names."""

RULES: dict[str, Any] = {
    "reshape": movement.reshape_function,
    "ravel": movement.ravel,
    "astype": movement.astype_function,
    "copyto": selection.copyto,
    "count_nonzero": reductions.count_nonzero,
    "compress": masks.compress,
    "extract": masks.extract,
    "take": gather.take,
    "take_along_axis": gather.take_along_axis,
    "choose": selection.choose,
    "putmask": selection.putmask,
    "place": selection.place,
    "broadcast_arrays": movement.broadcast_arrays,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
}

MAKERS = {"zeros": creation.zeros, "ones": creation.ones, "empty": creation.empty, "full": creation.full}

CONVERTERS: dict[str, dict[str, Any]] = {
    "array": {"copy": True},
    "asarray": {},
    "asanyarray": {},
    "ascontiguousarray": {"order": "C", "ndmin": 1},
    "asfortranarray": {"order": "F", "ndmin": 1},
    "copy": {"copy": True},
}


def named(names: str) -> Iterator[tuple[str, Any]]:
    """The functions of these names that the running NumPy has."""
    for name in names.split():
        found: Any = numpy
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            yield name, found


def _of_arrays(rule: Any) -> Any:
    """A rule for arrays; lists and the like are NumPy's to convert."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        if a.__class__ is not ndarray:
            raise Unsupported
        return rule(a, *args, **kwargs)

    return call


def _converter(name: str, fn: Any, defaults: dict[str, Any]) -> Any:
    """asarray and its relatives."""
    second = "order" if name == "copy" else "dtype"

    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        options = dict(defaults)
        options.update(zip((second, "order"), args, strict=False))
        if len(args) > 2 or not kwargs.keys() <= {"dtype", "order", "copy", "ndmin", "subok"}:
            raise Unsupported
        options.update(kwargs)
        options.pop("subok", None)
        return movement.convert(a, **options)

    by_rule = lazily(fn, rule)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and args[0].__class__ is list and args[0] and args[0][0].__class__ in SCALARS:
            return wrap(fn(*args, **kwargs))        # no need to look for arrays inside
        return by_rule(*args, **kwargs)

    return call


def attach() -> None:
    for _, fn in named(VIEWS):
        OVERRIDES[fn] = lazily(fn, functools.partial(movement.view, fn))
    for _, fn in named(METADATA):
        OVERRIDES[fn] = functools.wraps(fn, updated=())(movement.metadata(fn))
    for name, fn in named(BY_METHOD):
        rule = lazily(fn, _of_arrays(fn._implementation))
        OVERRIDES[fn] = ends_function(rule) if name in ENDS else rule
    for _, fn in named(REBOUND):
        OVERRIDES[fn] = lazily(fn, _of_arrays(rebound(fn)))
    for name, fn in named(" ".join(RULES)):
        rule = lazily(fn, RULES[name])
        OVERRIDES[fn] = ends_function(rule) if name in ENDS else rule
    for name, fn in named(" ".join(MAKERS)):
        OVERRIDES[fn] = creation.maker(fn, MAKERS[name])
    for name, fn in named(" ".join(CONVERTERS)):
        OVERRIDES[fn] = _converter(name, fn, CONVERTERS[name])
    OVERRIDES[numpy.where] = lazily(numpy.where, selection.where, by_first=False)
