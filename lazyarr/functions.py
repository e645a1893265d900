"""The lazy rules of NumPy's functions, as tables.

In: the rules of the other face modules.   Out: `namespace.OVERRIDES` filled.
A function that is in no table goes through NumPy, on evaluated arrays.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy

from lazyarr import (
    creation,
    deferred,
    gather,
    joining,
    masks,
    methods,
    movement,
    nan_folds,
    reductions,
    scans,
    scatter,
    selection,
)
from lazyarr.array_likes import standing_in
from lazyarr.arrays import Unsupported, ndarray, wrap
from lazyarr.config import current
from lazyarr.elementwise import FOLD, SCALARS
from lazyarr.fallback import fallback, lazily
from lazyarr.lazy_calls import all_plain, anywhere, is_worth, of_any, of_arrays
from lazyarr.namespace import LATE, OVERRIDES
from lazyarr.rebind import rebound
from lazyarr.temporaries import ends_function
from lazyarr.warning_sites import ours

VIEWS = """
    transpose swapaxes moveaxis rollaxis rot90 matrix_transpose permute_dims expand_dims squeeze flip flipud
    fliplr broadcast_to diagonal split array_split hsplit vsplit dsplit unstack
    lib.stride_tricks.sliding_window_view lib.stride_tricks.as_strided linalg.diagonal linalg.matrix_transpose
"""
"""Make views of their first argument: NumPy's code runs on the geometry."""

MEANS = ("mean", "std", "var")
"""Those of them that warn of too few elements, at NumPy's own line that calls the method's code."""

VALUES_BELOW = {"flip": 1, "unstack": 2, "min_scalar_type": 1}
"""Functions of the lists above and below that take elements of arrays with fewer axes than that."""

EACH = "atleast_1d atleast_2d atleast_3d"
"""Make views of all their arguments."""

METADATA = """
    shape ndim size iscomplexobj isrealobj isfortran min_scalar_type can_cast iterable isscalar
"""
"""Look at the shape and type of the first argument only."""

TYPES = "result_type common_type"
"""Look at the types of all their arguments only."""

BY_METHOD = """
    sum prod max min amax amin any all mean std var ptp clip argmax argmin reshape ravel round around
"""
"""NumPy's code calls the method of that name (or near it) on what it is given."""

ENDS = {*methods.ENDS.split(), "amax", "amin", "count_nonzero", "compress", "extract"}
"""Use their first array once: a temporary is not needed afterwards."""

REBOUND = """
    average gradient diff trapezoid cov corrcoef angle unwrap ediff1d isclose allclose array_equal
    array_equiv cross outer nanmin nanmax nanstd nan_to_num fix isposinf
    isneginf iscomplex isreal real imag tril triu linalg.norm linalg.vector_norm
    asarray_chkfinite diag diag_indices_from fill_diagonal kron piecewise vander linalg.cross
    linalg.matrix_norm linalg.outer linalg.trace lib.scimath.sqrt
    lib.scimath.log lib.scimath.log2 lib.scimath.log10 lib.scimath.arccos lib.scimath.arcsin
    lib.scimath.arctanh lib.scimath.power require
    cumulative_sum cumulative_prod nancumsum nancumprod tensordot linalg.tensordot linalg.matmul
    linalg.vecdot linalg.matrix_power nanargmax nanargmin real_if_close
"""
"""NumPy's code runs over lazyarr's names where the first argument is a lazy array."""

REBOUND_ANYWHERE = """
    polyadd polysub polyder polyint polyval select apply_over_axes ix_ linspace lib.scimath.logn
    linalg.multi_dot
"""
"""The same where any argument is one, or holds one."""

REBOUND_COPIES = """
    append block column_stack delete dstack hstack insert meshgrid pad resize row_stack stack tile vstack
"""
"""The same, if that array is pending or large: NumPy is the faster one at copying little that is there."""

FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
"""Modules of numpy.polynomial, and how the names of their functions begin."""

OF_SERIES = """
    val valfromroots val2d val3d valnd grid2d grid3d vander vander2d vander3d weight
"""
"""What they compute array by array; the rest goes element by element through the coefficients."""

POLYNOMIAL = "numpy.polynomial."
FFT = "numpy.fft"
"""As those, imported when somebody asks for it."""


def _diagflat(v: Any, k: Any = 0) -> Any:
    """numpy.diagflat by numpy.diag: its code goes through an index array."""
    return OVERRIDES[numpy.diag](movement.ravel(v), k)


def _bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> Any:
    """numpy.bmat.  Names in a string are the caller's, whom its code takes for the nearest one."""
    if isinstance(obj, str) and gdict is None:
        frame = sys._getframe(1)
        while frame.f_back is not None and ours(frame.f_code.co_filename):
            frame = frame.f_back
        ldict, gdict = frame.f_locals, frame.f_globals
    return fallback(numpy.bmat, obj, ldict, gdict)


def _i0(x: Any) -> Any:
    from lazyarr.bessel import i0  # here: few programs ask for it

    return i0(x)


_numpys_sinc = functools.cache(lambda: rebound(numpy.sinc))


def _sinc(x: Any) -> Any:
    """NumPy's steps; one function under ``math="native"``, as these steps are off by more than 1 ULP."""
    if current.math == "native" and x.dtype.char in "efd":
        from lazyarr.special import sinc

        return sinc(x)
    return _numpys_sinc()(x)


RULES: dict[str, Any] = {
    "reshape": movement.reshape_function,
    "ravel": movement.ravel,
    "astype": movement.astype_function,
    "repeat": joining.repeat,
    "roll": of_arrays(of_any(joining.roll)),
    "trace": reductions.trace,
    "cumsum": scans.scan(numpy.add),
    "cumprod": scans.scan(numpy.multiply),
    "dot": deferred.dot,
    "diagflat": _diagflat,
    "inner": deferred.inner,
    "copyto": selection.copyto,
    "count_nonzero": reductions.count_nonzero,
    "compress": masks.compress,
    "extract": masks.extract,
    "take": gather.take,
    "take_along_axis": gather.take_along_axis,
    "put": scatter.put,
    "put_along_axis": scatter.put_along_axis,
    "choose": selection.choose,
    "putmask": selection.putmask,
    "place": selection.place,
    "broadcast_arrays": movement.broadcast_arrays,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
    "i0": _i0,
    "sinc": of_arrays(of_any(_sinc)),
}


def _identity(n: Any, dtype: Any = None) -> Any:
    """numpy.identity; its code imports NumPy's eye."""
    return OVERRIDES[numpy.eye](n, dtype=dtype)


def _first(n: Any, *_: Any, **__: Any) -> Any:
    return int(n)


def _square(n: Any, m: Any = None, *_: Any, **__: Any) -> Any:
    return n * (n if m is None else m)


def _extents(dimensions: Any, *_: Any, **__: Any) -> Any:
    """A shape.  An iterator is none (a TypeError, as it has no slices): NumPy could not read it again."""
    return tuple(dimensions[:])


def _samples(start: Any, stop: Any, num: int = 50, *_: Any, **__: Any) -> int:
    return num


CURVES = """
    hanning hamming blackman bartlett logspace geomspace
"""
"""Functions of one number for each element of the result, worth computing lazily from smaller sizes on."""

SIZED: dict[str, Any] = {
    **dict.fromkeys(CURVES.split(), _first),
    **dict.fromkeys(["linspace", "logspace", "geomspace"], _samples),
    **dict.fromkeys(["eye", "tri"], _square),
    "diag_indices": _first,
    "identity": lambda n, *_, **__: n * n,
    "indices": _extents,
    "fromfunction": lambda function, shape, **_: _extents(shape),
}
"""NumPy's code runs over lazyarr's names where the result, as large as its arguments say, is large."""

MAKERS = {"zeros": creation.zeros, "ones": creation.ones, "empty": creation.empty, "full": creation.full}

CONVERTERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "array": ("dtype", "order copy subok ndmin", {"copy": True}),
    "asarray": ("dtype order", "copy", {}),
    "asanyarray": ("dtype order", "copy", {}),
    "ascontiguousarray": ("dtype", "", {"order": "C", "ndmin": 1}),
    "asfortranarray": ("dtype", "", {"order": "F", "ndmin": 1}),
    "copy": ("order subok", "", {"copy": True}),
}
"""Parameters after the first one, by position or name; those by name only; what is not NumPy's default."""


def named(names: str) -> Iterator[tuple[str, Any]]:
    """The functions of these names that the running NumPy has."""
    for name in names.split():
        found: Any = numpy
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            yield name, found


LISTS = (list, tuple)


def _each(fn: Any) -> Any:
    """A function that makes a view of its argument, or of each of several."""
    one = lazily(fn, functools.partial(movement.view, fn))
    several = lazily(fn, movement.each_view(fn), by_first=False)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return (one if len(args) == 1 else several)(*args, **kwargs)

    return call


def _converter(fn: Any, positional: list[str], named: list[str], defaults: dict[str, Any]) -> Any:
    """asarray and its relatives."""
    second = positional[0]

    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        allowed = {*positional[len(args) :], *named}
        if len(args) > len(positional) or not kwargs.keys() <= allowed:
            raise Unsupported
        options = {**defaults, **dict(zip(positional, args, strict=False)), **kwargs}
        options.pop("subok", None)
        return movement.convert(a, **options)

    def joined(a: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("copy") is False or (args and second == "order"):
            raise Unsupported
        dtype = args[0] if args else kwargs.get("dtype")
        return rule(joining.array_of(a, dtype), *args, **{**kwargs, "copy": None})      # it is a copy

    by_rule = lazily(fn, rule)
    by_joining = lazily(fn, joined, by_first=False)
    through = functools.partial(fallback, fn)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and args[0].__class__ in LISTS and args[0]:
            first = args[0][0].__class__
            if first in SCALARS and "like" not in kwargs:
                return wrap(fn(*args, **kwargs))        # no need to look for arrays inside
            if first is ndarray:
                return through(*args, **kwargs) if all_plain(args[0]) else by_joining(*args, **kwargs)
        return by_rule(*args, **kwargs)

    return call


def _of_enough(implementation: Any) -> Any:
    """A mean's code, where there surely are elements to take it of."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        shape, axis = a.geo.shape, kwargs.get("axis", args[0] if args else None)
        if axis.__class__ is int and -len(shape) <= axis < len(shape):
            shape = (shape[axis],)
        ddof = kwargs.get("correction", kwargs.get("ddof", 0))
        if 0 in a.geo.shape or (ddof.__class__ in (int, float) and math.prod(shape) <= ddof):
            raise Unsupported
        return implementation(a, *args, **kwargs)

    return call


def _with_its_words(implementation: Any) -> Any:
    """NumPy's code that calls a method, and after a TypeError a real array's, whose words for a lazy `out`
    are others: the first error is the one that NumPy gives."""
    if "_wrapfunc" not in implementation.__code__.co_names:
        return implementation

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return implementation(*args, **kwargs)
        except TypeError as error:
            first = error.__context__
            if not isinstance(first, TypeError):
                raise
        raise first

    return call


IMPLEMENTATIONS = ("_implementation", "__wrapped__")
"""Under these names NumPy's code finds what a function of NumPy's does once nobody overrides it."""


def attach_series(name: str) -> None:
    """The functions of one module of polynomials."""
    module, begin = sys.modules[name], FAMILIES[name.removeprefix(POLYNOMIAL)]
    for rest in OF_SERIES.split():
        fn = getattr(module, begin + rest, None)
        if fn is not None:
            OVERRIDES[fn] = anywhere(fn, rebound(fn))
    for rest in ("pts1", "pts2"):
        fn = getattr(module, begin + rest, None)
        if fn is not None:
            OVERRIDES[fn] = creation.sized(fn, rebound(fn), _first, 1)


def attach_fft(name: str) -> None:
    """The functions of `numpy.fft` that transform nothing."""
    module = sys.modules[name]
    for fn in (module.fftshift, module.ifftshift):
        _enter(fn, _over_names(fn))
    for fn in (module.fftfreq, module.rfftfreq):
        _enter(fn, creation.sized(fn, rebound(fn), _first, FOLD))


def _over_names(fn: Any) -> Any:
    """NumPy's code over lazyarr's names."""
    return lazily(fn, of_arrays(of_any(rebound(fn))))


def _enter(fn: Any, rule: Any) -> None:
    """A rule, under all names that NumPy's code has for the function."""
    OVERRIDES[fn] = rule
    for name in IMPLEMENTATIONS:
        OVERRIDES.setdefault(getattr(fn, name, fn), rule)


def attach() -> None:
    LATE.update((POLYNOMIAL + module, attach_series) for module in FAMILIES)
    LATE[FFT] = attach_fft
    for _, fn in named(VIEWS):
        OVERRIDES[fn] = lazily(fn, functools.partial(movement.view, fn))
    for _, fn in named(EACH):
        OVERRIDES[fn] = _each(fn)
    for names, kind in ((METADATA, movement.metadata), (TYPES, movement.types)):
        for _, fn in named(names):
            OVERRIDES[fn] = functools.wraps(fn, updated=())(kind(fn))
    for name, fn in named(" ".join(VALUES_BELOW)):
        OVERRIDES[fn] = lazily(fn, movement.with_axes(VALUES_BELOW[name], OVERRIDES[fn]))
    for name, fn in named(BY_METHOD):
        by_method = _with_its_words(fn._implementation)
        rule = lazily(fn, of_arrays(_of_enough(by_method) if name in MEANS else by_method))
        OVERRIDES[fn] = ends_function(rule) if name in ENDS else rule
    for _, fn in named(REBOUND):
        OVERRIDES[fn] = _over_names(fn)
    for _, fn in named(" ".join(nan_folds.STEPS)):
        OVERRIDES[fn] = lazily(fn, of_arrays(of_any(nan_folds.rule(fn))))
    for fn in (numpy.array_equal, numpy.array_equiv):
        OVERRIDES[fn] = standing_in(OVERRIDES[fn])
    for _, fn in named(REBOUND_ANYWHERE):
        OVERRIDES[fn] = anywhere(fn, rebound(fn))
    for _, fn in named(REBOUND_COPIES):
        OVERRIDES[fn] = anywhere(fn, rebound(fn), is_worth)
    for name, fn in named(" ".join(RULES)):
        rule = lazily(fn, RULES[name])
        OVERRIDES[fn] = ends_function(rule) if name in ENDS else rule
    for name, fn in named(" ".join(MAKERS)):
        OVERRIDES[fn] = creation.maker(fn, MAKERS[name])
    for name, fn in named(" ".join(CONVERTERS)):
        positional, by_name, defaults = CONVERTERS[name]
        OVERRIDES[fn] = _converter(fn, positional.split(), by_name.split(), defaults)
    for name, fn in named(" ".join(SIZED)):
        rule = _identity if fn is numpy.identity else rebound(fn)
        factor = 1 if name in CURVES.split() else FOLD
        OVERRIDES[fn] = creation.sized(fn, rule, SIZED[name], factor, OVERRIDES.get(fn))
    for _, fn in named("may_share_memory shares_memory"):
        OVERRIDES[fn] = lazily(fn, movement.overlap(fn), by_first=False)
    OVERRIDES[numpy.bmat] = functools.wraps(numpy.bmat, updated=())(_bmat)
    OVERRIDES[numpy.arange] = creation.arange_function(numpy.arange)
    for fn, rule in list(OVERRIDES.items()):
        _enter(fn, rule)
    for _, fn in named("concatenate concat"):
        OVERRIDES[fn] = anywhere(fn, joining.concatenate)
    OVERRIDES[numpy.where] = lazily(numpy.where, selection.where, by_first=False)
