"""The lazy rules of NumPy's functions, as tables.

In: the rules of the other face modules.   Out: `namespace.OVERRIDES` filled.
A function that is in no table goes through NumPy, on evaluated arrays.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr import methods
from lazyarr.array_likes import standing_in
from lazyarr.arrays import Unsupported, ndarray, wrap
from lazyarr.config import current
from lazyarr.elementwise import FOLD, SCALARS
from lazyarr.fallback import fallback, lazily
from lazyarr.late import Late, elsewhere, late
from lazyarr.lazy_calls import all_plain, anywhere, is_worth, of_any, of_arrays
from lazyarr.namespace import LATE, OVERRIDES
from lazyarr.temporaries import ends_function
from lazyarr.warning_sites import ours

if TYPE_CHECKING:
    from lazyarr.joining import array_of
    from lazyarr.movement import convert, ravel
    from lazyarr.rebind import rebound
else:
    late(globals(), joining="array_of", movement="convert ravel", rebind="rebound")

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


NAN_FOLDS = "nansum nanprod nanmean nanvar"
"""NumPy's steps, evaluated together (`nan_folds.STEPS`)."""


def _diagflat(v: Any, k: Any = 0) -> Any:
    """numpy.diagflat by numpy.diag: its code goes through an index array."""
    return OVERRIDES[numpy.diag](ravel(v), k)


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


@functools.cache
def _numpys_sinc() -> Any:
    return rebound(numpy.sinc)


def _sinc(x: Any) -> Any:
    """NumPy's steps; one function under ``math="native"``, as these steps are off by more than 1 ULP."""
    if current.math == "native" and x.dtype.char in "efd":
        from lazyarr.special import sinc

        return sinc(x)
    return _numpys_sinc()(x)


RULES: dict[str, Any] = {
    **elsewhere("movement", "reshape_function=reshape ravel astype_function=astype broadcast_arrays"),
    **elsewhere("joining", "repeat"),
    **elsewhere("reductions", "trace count_nonzero"),
    **elsewhere("scans", "cumsum cumprod"),
    **elsewhere("convolution", "convolve correlate"),
    **elsewhere("deferred", "dot inner"),
    **elsewhere("selection", "copyto choose putmask place"),
    **elsewhere("masks", "compress extract"),
    **elsewhere("gather", "take take_along_axis"),
    **elsewhere("scatter", "put put_along_axis"),
    **elsewhere("creation", "zeros_like ones_like empty_like full_like"),
    "diagflat": _diagflat,
    "i0": _i0,
    "roll": Late(__name__, "of_all", given=("lazyarr.joining", "roll")),
    "sinc": Late(__name__, "of_all", given=(__name__, "_sinc")),
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


def _product(a: Any, b: Any, out: Any = None) -> int:
    """Elements for each of one array together with each of the other."""
    return a.geo.size * b.geo.size if a.__class__ is ndarray is b.__class__ else 0


def _samples(start: Any, stop: Any, num: int = 50, *_: Any, **__: Any) -> int:
    return num


CURVES = """
    hanning hamming blackman bartlett logspace geomspace
"""
"""Functions of one number for each element of the result, worth computing lazily from smaller sizes on."""

PRODUCTS = "outer kron linalg.outer"
"""Functions of two arrays of any sizes that multiply each element of one by each of the other: what is large
of them is made of nodes, as by operators, also where both are plain."""

SIZED: dict[str, Any] = {
    **dict.fromkeys(CURVES.split(), _first),
    **dict.fromkeys(["linspace", "logspace", "geomspace"], _samples),
    **dict.fromkeys(["eye", "tri"], _square),
    "diag_indices": _first,
    **dict.fromkeys(PRODUCTS.split(), _product),
    "identity": lambda n, *_, **__: n * n,
    "indices": _extents,
    "fromfunction": lambda function, shape, **_: _extents(shape),
}
"""NumPy's code runs over lazyarr's names where the result, as large as its arguments say, is large."""

BY_ELEMENT = {*CURVES.split(), *PRODUCTS.split()}

MAKERS = "zeros ones empty full"

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
    one = lazily(fn, Late("lazyarr.movement", "view_of", given=(fn,)))
    several = lazily(fn, Late("lazyarr.movement", "each_view", given=(fn,)), by_first=False)

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
        return convert(a, **options)

    def joined(a: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("copy") is False or (args and second == "order"):
            raise Unsupported
        dtype = args[0] if args else kwargs.get("dtype")
        return rule(array_of(a, dtype), *args, **{**kwargs, "copy": None})      # it is a copy

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


def attach_series(name: str) -> None:
    """The functions of one module of polynomials."""
    from lazyarr.creation import sized  # here, as below: who asks for these modules

    module, begin = sys.modules[name], FAMILIES[name.removeprefix(POLYNOMIAL)]
    for rest in OF_SERIES.split():
        fn = getattr(module, begin + rest, None)
        if fn is not None:
            OVERRIDES[fn] = anywhere(fn, rebound(fn))
    for rest in ("pts1", "pts2"):
        fn = getattr(module, begin + rest, None)
        if fn is not None:
            OVERRIDES[fn] = sized(fn, rebound(fn), _first, 1)


def attach_fft(name: str) -> None:
    """The functions of `numpy.fft` that transform nothing."""
    from lazyarr.creation import sized

    module = sys.modules[name]
    for fn in (module.fftshift, module.ifftshift):
        OVERRIDES.enter(fn, lazily(fn, over_names(fn)))
    for fn in (module.fftfreq, module.rfftfreq):
        OVERRIDES.enter(fn, sized(fn, rebound(fn), _first, FOLD))


def over_names(fn: Any) -> Any:
    """NumPy's code over lazyarr's names."""
    return of_arrays(of_any(rebound(fn)))


def nan_fold(fn: Any) -> Any:
    from lazyarr.nan_folds import rule  # here: few programs ask for it

    return of_arrays(of_any(rule(fn)))


def of_all(module: str, name: str) -> Any:
    """A rule for arrays, wherever they are."""
    return of_arrays(of_any(Late(module, name).found()))


# -------------------------------------------------------------------- rules, when asked for


def _view(fn: Any, name: str, before: Any) -> Any:
    return lazily(fn, Late("lazyarr.movement", "view_of", given=(fn,)))


def _metadata(fn: Any, name: str, before: Any) -> Any:
    from lazyarr.movement import metadata

    return functools.wraps(fn, updated=())(metadata(fn))


def _types(fn: Any, name: str, before: Any) -> Any:
    from lazyarr.movement import types

    return functools.wraps(fn, updated=())(types(fn))


def _with_axes(fn: Any, name: str, before: Any) -> Any:
    return lazily(fn, Late("lazyarr.movement", "with_axes", given=(VALUES_BELOW[name], before)))


def _by_method(fn: Any, name: str, before: Any) -> Any:
    code = _with_its_words(fn._implementation)
    return _ending(lazily(fn, of_arrays(_of_enough(code) if name in MEANS else code)), name)


def _ending(rule: Any, name: str) -> Any:
    return ends_function(rule) if name in ENDS else rule


def _over_names(fn: Any, name: str, before: Any) -> Any:
    return lazily(fn, Late(__name__, "over_names", given=(fn,)))


def _nan_fold(fn: Any, name: str, before: Any) -> Any:
    return lazily(fn, Late(__name__, "nan_fold", given=(fn,)))


def _standing_in(fn: Any, name: str, before: Any) -> Any:
    return standing_in(before)


def _anywhere(fn: Any, name: str, before: Any) -> Any:
    return anywhere(fn, Late("lazyarr.rebind", "rebound", given=(fn,)))


def _copying(fn: Any, name: str, before: Any) -> Any:
    return anywhere(fn, Late("lazyarr.rebind", "rebound", given=(fn,)), is_worth)


def _by_rule(fn: Any, name: str, before: Any) -> Any:
    return _ending(lazily(fn, RULES[name]), name)


def _maker(fn: Any, name: str, before: Any) -> Any:
    from lazyarr import creation

    return creation.maker(fn, getattr(creation, name))


def _converting(fn: Any, name: str, before: Any) -> Any:
    positional, by_name, defaults = CONVERTERS[name]
    return _converter(fn, positional.split(), by_name.split(), defaults)


def _line(rule: Any) -> Any:
    """Between two numbers an op of positions; else NumPy's code."""
    def line(*args: Any, **kwargs: Any) -> Any:
        from lazyarr.creation import linspace

        try:
            found = linspace(*args, **kwargs)
        except TypeError:
            found = None                    # (arguments that it does not know)
        return rule(*args, **kwargs) if found is None else found

    return line


def _sized(fn: Any, name: str, before: Any) -> Any:
    from lazyarr.creation import sized

    rule = _identity if fn is numpy.identity else Late("lazyarr.rebind", "rebound", given=(fn,))
    if name == "linspace":
        rule = _line(rule)
    return sized(fn, rule, SIZED[name], 1 if name in BY_ELEMENT else FOLD, before)


def _overlap(fn: Any, name: str, before: Any) -> Any:
    return lazily(fn, Late("lazyarr.movement", "overlap", given=(fn,)), by_first=False)


def _block_matrix(fn: Any, name: str, before: Any) -> Any:
    return functools.wraps(fn, updated=())(_bmat)


def _finding(fn: Any, name: str, before: Any) -> Any:
    found: Any = Late("lazyarr.finding", "found")

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal found
        if found.__class__ is Late:
            found = found.found()
        return found(fn, *args, **kwargs)

    return call


def _range(fn: Any, name: str, before: Any) -> Any:
    from lazyarr.creation import arange_function

    return arange_function(fn)


ROWS = (
    (VIEWS, _view), (EACH, lambda fn, *_: _each(fn)), (METADATA, _metadata), (TYPES, _types),
    (" ".join(VALUES_BELOW), _with_axes), (BY_METHOD, _by_method), (REBOUND, _over_names),
    (NAN_FOLDS, _nan_fold), ("array_equal array_equiv", _standing_in), (REBOUND_ANYWHERE, _anywhere),
    (REBOUND_COPIES, _copying), (" ".join(RULES), _by_rule), (MAKERS, _maker),
    (" ".join(CONVERTERS), _converting), (" ".join(SIZED), _sized),
    ("may_share_memory shares_memory", _overlap), ("bmat", _block_matrix), ("arange", _range),
    ("nonzero flatnonzero argwhere", _finding),
)  # fmt: skip
"""Names, and what makes the rule of a function: of the function, its name, and the rule of a row above."""


def attach() -> None:
    LATE.update((POLYNOMIAL + module, attach_series) for module in FAMILIES)
    LATE[FFT] = attach_fft
    for names, make in ROWS:
        for name, fn in named(names):
            OVERRIDES.later(fn, make, name)
    for _, fn in named("concatenate concat"):
        OVERRIDES[fn] = anywhere(fn, Late("lazyarr.joining", "concatenate"))
    OVERRIDES[numpy.where] = lazily(numpy.where, Late("lazyarr.selection", "where"), by_first=False)
