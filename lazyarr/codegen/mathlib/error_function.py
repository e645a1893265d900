"""erf, erfc: a series near zero, else exp(-x**2) R(x), where R changes little.

    erfc(x) = exp(-x**2) R(x) for x >= 1/2        erf(x) = 1 - erfc(x)        erfc(-x) = 2 - erfc(x)

R is a polynomial for each quarter octave, around a number near which its value is one.  The square, the
exponential and the product are sums of two numbers, so that what is rounded is the result.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, chain, fma, ordered, product
from lazyarr.codegen.mathlib.exponential import scaled, steps, tail
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

_NEAR, _FAR = 0.5, 8.0
"""Where the first table begins, and the second one, of four octaves each."""
_LAST = {DOUBLE: 27.5, SINGLE: 10.5}
"""From here on erfc is zero."""
_SCALE = {DOUBLE: 200, SINGLE: 64}
"""An exponent that keeps all parts of erfc in range up to there."""


def _ratio(x: Real, first: float, name: str) -> Sum:
    """R(x)."""
    on = x.on
    index = (x.bits - on.real(first).bits) >> on.p.mantissa - 2
    center, value, *slopes = look_up(index, *on.table(name))
    r = x - center
    return ordered(value, r * chain(r, slopes))


def _beyond(x: Real, first: float, name: str, scale: int = 0) -> Sum:
    """erfc(x) 2**scale as a sum."""
    square, more = product(x, x)
    k, r = steps(-square)
    s, s_low = scaled(k + 16 * scale if scale else k)
    e, e_low = ordered(s, s * tail(r - more, s_low))
    ratio, ratio_low = _ratio(x, first, name)
    high = e * ratio
    return high, fma(e, ratio, -high) + fma(e, ratio_low, e_low * ratio)


def _series(x: Real) -> Real:
    """erf(x) - x."""
    z = x * x
    return x * chain(z, x.on.table("ERF_SERIES"))


def erf(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    near = size < _NEAR
    high, low = _beyond(near.real(_NEAR, size), _NEAR, "ERFC_ROWS")
    one, left = ordered(on.real(1.0), -high)
    far = one + (left - low)
    return near.real(size + _series(size), far).signed(x), size.outside(_FAR)


def erf_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return x.nan().real(x, on.real(1.0).signed(x)), {}


def erfc(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size, negative = abs(x), x < 0.0
    near = size < _NEAR
    high, low = _beyond(near.real(_NEAR, size), _NEAR, "ERFC_ROWS")
    two, left = ordered(on.real(2.0), -high)
    far = negative.real(two + (left - low), high + low)
    one, rest = ordered(on.real(1.0), -x)
    return near.real(one + (rest - _series(x)), far), size.outside(_FAR)


def erfc_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    """2 far below zero; above it down to the smallest numbers, which are rounded twice."""
    last, scale = _LAST[on.p], _SCALE[on.p]
    held = (x < last).real((x > _FAR).real(x, _FAR), last)
    high, low = _beyond(held, _FAR, "ERFC_FAR_ROWS", scale)
    y = (high + low) * 2.0**-scale
    y = (x >= last).real(0.0, (x < 0.0).real(2.0, y))
    small = (abs(y) < on.p.least) & x.below(float("inf"))
    return x.nan().real(x, y), {"under": small}
