"""The standard's elementwise functions.

In: `Array`s and Python scalars.   Out: lazy `Array`s.
All are functions of the NumPy face; those at the end correct what NumPy answers to some values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

import lazyarr
from lazyarr.array_api.array_type import called, plain
from lazyarr.arrays import ndarray

UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp floor imag isfinite isinf isnan
    log log10 log1p log2 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square
    tan trunc
"""

BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum
    multiply nextafter not_equal pow remainder subtract
"""

KEEP_INTEGERS = {"ceil", "floor", "round", "trunc"}
"""NumPy 2.0 makes floating-point numbers of them."""


def _unary(name: str) -> Callable[..., Any]:
    fn = getattr(lazyarr, name)

    def call(x: Any, /) -> Any:
        return called(fn, x)

    def rounding(x: Any, /) -> Any:
        return called(lazyarr.copy if plain(x).dtype.kind in "iu" else fn, x)

    return named(rounding if name in KEEP_INTEGERS else call, name, fn)


def _binary(name: str) -> Callable[..., Any]:
    fn = getattr(lazyarr, name)

    def call(x1: Any, x2: Any, /) -> Any:
        return called(fn, x1, x2)

    return named(call, name, fn)


def named(call: Callable[..., Any], name: str, fn: Any) -> Callable[..., Any]:
    """A function of the namespace: its own name, NumPy's documentation."""
    call.__name__ = call.__qualname__ = name
    call.__module__ = "lazyarr.array_api"
    call.__doc__ = fn.__doc__
    return call


def corrected(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the face's arrays, as one of `Array`s."""

    @functools.wraps(fn)
    def call(*args: Any) -> Any:
        return called(fn, *args)

    call.__module__ = "lazyarr.array_api"
    return call


# ------------------------------------------------------------------- where NumPy answers otherwise


@corrected
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """floor(x1 / x2), also where one of them is infinite; NumPy follows Python there."""
    dtype = lazyarr.result_type(x1, x2)
    if dtype.kind != "f" or (_small_and_finite(x1) and _small_and_finite(x2)):
        return lazyarr.floor_divide(x1, x2)
    x1, x2 = lazyarr.asarray(x1, dtype), lazyarr.asarray(x2, dtype)
    infinite = lazyarr.logical_or(lazyarr.isinf(x1), lazyarr.isinf(x2))
    quiet = lazyarr.where(infinite, 1, x1)      # so that NumPy's answer, not used, gives no warning
    return lazyarr.where(infinite, lazyarr.floor(lazyarr.divide(x1, x2)), lazyarr.floor_divide(quiet, x2))


def _small_and_finite(x: Any) -> bool:
    """Known to be finite without waiting for values."""
    if x.__class__ is ndarray:
        return x.storage is None and bool(numpy.isfinite(x.geo).all())
    return isinstance(x, int | float) and numpy.isfinite(x)


def complex_corrected(parts: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[..., Any]:
    """A function of the face whose complex results are put right, as one of `Array`s.

    `parts`, of the same name, makes real and imaginary part anew, of the argument and the face's result."""
    fn = getattr(lazyarr, parts.__name__)

    def call(x: Any, /) -> Any:
        result = fn(x)
        if result.dtype.kind != "c":
            return result
        found = lazyarr.empty_like(result)
        found.real, found.imag = parts(x, result)
        return found

    return corrected(named(call, parts.__name__, parts))


@complex_corrected
def expm1(x: Any, result: Any) -> tuple[Any, Any]:
    """exp(x) - 1.  Of complex numbers, NumPy loses what is known where a part is infinite or NaN."""
    a, b = x.real, x.imag
    real, wild = b == 0, lazyarr.logical_not(lazyarr.isfinite(b))
    up, down = a == numpy.inf, lazyarr.logical_and(a == -numpy.inf, wild)
    re = lazyarr.where(lazyarr.logical_and(up, lazyarr.logical_or(real, wild)), numpy.inf, result.real)
    re = lazyarr.where(lazyarr.logical_and(a == 0, real), 0, re)
    im = lazyarr.where(real, b, lazyarr.where(down, 0, result.imag))
    return lazyarr.where(down, -1, re), im


@complex_corrected
def tanh(x: Any, result: Any) -> tuple[Any, Any]:
    """Hyperbolic tangent.  C libraries lose the 0 of tanh(0 + inf j), and the sign of an imaginary 0."""
    a, b = x.real, x.imag
    finite = lazyarr.isfinite(b)
    lost = lazyarr.logical_and(a == 0, lazyarr.logical_not(finite))
    flat = lazyarr.logical_and(lazyarr.isinf(a), finite)
    im = lazyarr.where(flat, lazyarr.copysign(0, b), result.imag)
    return lazyarr.where(lost, a, result.real), im


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Each element of x within [min, max], in the data type of x."""
    dtype = plain(x).dtype
    if min is None and max is None:
        return called(lazyarr.copy, x)
    result = x if min is None else called(lazyarr.maximum, x, min)
    result = result if max is None else called(lazyarr.minimum, result, max)
    face = plain(result)
    return result if face.dtype == dtype else called(lambda y: y.astype(dtype), result)


OWN = (floor_divide, expm1, tanh, clip)


def functions() -> dict[str, Callable[..., Any]]:
    found = {name: _unary(name) for name in UNARY.split()}
    found.update((name, _binary(name)) for name in BINARY.split())
    found.update((fn.__name__, fn) for fn in OWN)
    return found
