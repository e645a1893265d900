"""sinc: sin(pi x) / (pi x), which is 1 at 0, without pi.

With r = x - n, of the nearest integer n, exactly, and S(r) = sin(pi r) / (pi r), an even function without
zeros up to 1/2, it is S(x) if n is 0, else S(r) r / x with a sign: r, and so small results, has no error.
In float64 S is a sum of two numbers, and the quotient's error is taken away; float32 is computed in float64.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, ordered, product, series
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real

_EVEN = 2.0**60
"""From here on all numbers are even integers, and taking their products apart may overflow."""


def _nearest(x: Real) -> tuple[Real, Mask]:
    """x less the integer next to it, and whether that is odd."""
    n = x.on.call("rint", x)
    half = n * 0.5
    return x - n, ~x.on.call("floor", half).is_(half)


def _ratio(r: Real) -> Sum:
    """S(r): a series in r**2, of which two terms count in the last place."""
    on = r.on
    high, low = on.table("SINC_FIRST")
    z, z_low = product(r, r)
    second, second_low = product(z, high)
    top, left = ordered(on.real(1.0), -second)
    rest = second_low + (z * low + z_low * high)
    return top, (left - rest) + z * z * series(z, on.table("SINC_TAIL"))


def _negated(y: Real, where: Mask) -> Real:
    return where.real(-y, y)


def sinc(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    near = size <= 0.5
    held = near.real(1.0, x)
    r, odd = _nearest(x)
    top, low = _ratio(r)
    high, more = product(r, top)
    more = more + r * low
    inverse = 1.0 / held
    found = high * inverse
    back, back_low = product(found, held)
    found = found + (((high - back) - back_low) + more) * inverse
    return near.real(top + low, _negated(found, odd)), size.outside(_EVEN)


def sinc_f(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    near = size <= 0.5
    r, odd = _nearest(x)
    ratio = series(r * r, on.table("SINC_SHORT"))
    return near.real(ratio, _negated(ratio * r / near.real(1.0, x), odd)), size.outside(_EVEN)


def sinc_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    endless = abs(x).is_(INF)
    return x.nan().real(x, endless.real(NAN, on.real(0.0).signed(x))), {"invalid": endless}
