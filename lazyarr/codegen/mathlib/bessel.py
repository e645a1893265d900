"""i0: the modified Bessel function of order 0, exp(x) R(x), where R changes little; a series near zero.

R is a polynomial for each quarter octave, around a number near which its value is one (as of the error
function).  float32 is computed in float64, with shorter polynomials.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, chain, ordered, product, series
from lazyarr.codegen.mathlib.exponential import INF, NAN, scaled, steps, tail
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

_NEAR = 0.5
"""Where the table begins."""
_LARGE, _LAST = 700.0, 714.0
"""Up to here exponentials are taken as they are; from here on results are infinite."""
_LARGE_F, _LAST_F = 88.0, 100.0
"""The same of float32, whose results are numbers of float64."""
_OVER_F = (2.0 - 2.0**-24) * 2.0**127
"""What float32 rounds to infinity."""
_SPARE = 64
"""An exponent that is put off where exponentials may not fit."""


def _ratio(x: Real, name: str) -> Sum:
    """R(x)."""
    on = x.on
    index = (x.bits - on.real(_NEAR).bits) >> on.p.mantissa - 2
    center, value, *slopes = look_up(index, *on.table(name))
    r = x - center
    return ordered(value, r * series(r, slopes))


def _far(x: Real, scale: int = 0) -> Real:
    """i0(x) / 2**scale, from 1/2 on."""
    k, r = steps(x)
    s, s_low = scaled(k - 16 * scale if scale else k)
    e, e_low = ordered(s, s * tail(r, s_low))
    ratio, ratio_low = _ratio(x, "I0_ROWS")
    high, low = product(e, ratio)
    return high + (low + (e * ratio_low + e_low * ratio))


def _near(x: Real) -> Real:
    z = x * x
    return 1.0 + z * chain(z, x.on.table("I0_SERIES"))


def i0(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    near = size < _NEAR
    return near.real(_near(x), _far(near.real(_NEAR, size))), size.outside(_LARGE)


def _whatever(x: Real, y: Real, over: Mask) -> tuple[Real, Raised]:
    """As with NumPy, whose steps end in a quotient, infinities have no result."""
    endless = abs(x).is_(INF)
    return x.nan().real(x, endless.real(NAN, y)), {"invalid": endless, "over": over & ~endless}


def i0_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    size = abs(x)
    y = _far((size < _LAST).real(size, _LAST), _SPARE) * 2.0**_SPARE
    return _whatever(x, y, y.is_(INF) & ~x.nan())


def _in_double(size: Real) -> Real:
    near = size < _NEAR
    held = near.real(_NEAR, size)
    k, r = steps(held)
    s, s_low = scaled(k)
    ratio, more = _ratio(held, "I0_SHORT_ROWS")
    return near.real(_near(size), (s + s * tail(r, s_low)) * (ratio + more))


def i0_f(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    return _in_double(size), size.outside(_LARGE_F)


def i0_f_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    size = abs(x)
    y = _in_double((size < _LAST_F).real(size, _LAST_F))
    return _whatever(x, y, (y >= _OVER_F) & ~x.nan())
