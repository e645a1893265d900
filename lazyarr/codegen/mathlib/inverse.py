"""arctan, arcsin, arccos: a table of angles, or a square root, and a series.

arctan: with c = q / p near |x| from a table by half octaves, t = (p |x| - q) / (p + q |x|) is the tangent of
the angle that is left, at most 1/8; the last c is infinite, all but.  float32's c are tangents of float32.
arcsin: above 1/2, pi/2 - 2 arcsin(s), s = sqrt((1 - |x|) / 2), where s is taken as a sum.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, fma, ordered, remains, series
from lazyarr.codegen.mathlib.exponential import NAN
from lazyarr.codegen.mathlib.lanes import DOUBLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

_BEYOND = 1.0 + 2.0**-52
"""The least number of float64 whose arcsine there is none of: from here on operands are invalid."""


def arctan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size, p = abs(x), on.p
    first = on.real(0.125).bits - (1 << p.mantissa - 1)
    index = on.held((size.bits - first).shifted(p.mantissa - 1), 0, 13)
    names = "ATAN_P", "ATAN_Q", "ATAN_HIGH", *(("ATAN_LOW",) if p is DOUBLE else ())
    one, c, high, *low = look_up(index, *map(on.table, names))
    t = fma(size, one, -c) / fma(size, c, one)
    z = t * t
    top, left = ordered(high, t)
    y = top + fma(t * z, series(z, on.table("ATAN_TAIL")), left + low[0] if low else left)
    return y.signed(x), size.outside(2.0 ** (p.bias // 2))


def arctan_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    """Of large numbers: all but infinitely many."""
    high, low = on.table("HALF_PI")
    y = on.real(high) + (low - 1.0 / abs(x))
    return x.nan().real(x, y.signed(x)), {}


def root(z: Real, more: Real | None = None) -> Sum:
    """The square root of a sum as a sum.

    The correction is a rounding error, of which a tenth does not matter: what it is divided by comes from
    halving the exponent."""
    p = z.on.p
    high = z.sqrt()
    rest = remains(-high, high, z)
    halved = z.on.bits(p.half_root) - (z.bits >> 1)
    return high, (rest if more is None else rest + more) * halved.real


def _series(z: Real) -> Real:
    """arcsin(s) / s - 1, of z = s * s."""
    return z * series(z, z.on.table("ASIN_TAIL"))


def arcsin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    far, z = _squares(size)
    side, low = root(far)
    bend = _series(z)
    high, high_low = on.table("HALF_PI")
    double = -2.0 * side
    top, left = ordered(on.real(high), double)
    beyond = top + (left + fma(double, bend, low.times(-2.0, high_low)))
    return (size > 0.5).real(beyond, fma(size, bend, size)).signed(x), size.outside(_BEYOND)


def _squares(size: Real) -> tuple[Real, Real]:
    """s * s of large x; that or x * x, whichever is less: so it need not wait for a comparison."""
    far, near = size.times(-0.5, 0.5), size * size
    return far, (far < near).real(far, near)


def arccos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """pi - 2 arcsin(s) for x near -1, 2 arcsin(s) near 1, else pi/2 - arcsin(x): base + side."""
    size = abs(x)
    large = size > 0.5
    far, z = _squares(size)
    found, low = root(far)
    high, high_low = on.table("HALF_PI")
    side = large.real(found + found, -size).times_sign(x)
    base = large.real(high - on.real(high).signed(x), high)
    left = large.real((low + low).times_sign(x), 0.0)
    more = fma(side, _series(z), base.times(high_low / high, left))
    top, rest = ordered(base, side)
    return top + (rest + more), size.outside(_BEYOND)


def arc_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return x.nan().real(x, NAN), {"invalid": abs(x) > 1.0}


def arc_known(on: Lanes, found: Real, x: Real) -> tuple[Real, Mask, Raised]:
    beyond = abs(x) > 1.0
    return beyond.real(NAN, found), beyond, {"invalid": beyond}
