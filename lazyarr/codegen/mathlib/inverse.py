"""arctan, arcsin, arccos: a table of angles, or a square root, and a series.

arctan: with c = q / p near |x| from a table by half octaves, t = (p |x| - q) / (p + q |x|) is the tangent of
the angle that is left, at most 1/8; the last c is infinite.
arcsin: above 1/2, pi/2 - 2 arcsin(s), s = sqrt((1 - |x|) / 2), where s is taken as a sum.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.exponential import NAN
from lazyarr.codegen.mathlib.lanes import (
    Lanes,
    Mask,
    Raised,
    Real,
    Sum,
    chain,
    ordered,
    product,
)


def arctan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size, p = abs(x), on.p
    first = on.real(0.125).bits - (1 << p.mantissa - 1)
    index = on.held((size.bits - first).shifted(p.mantissa - 1), 0, 13)
    one, c = on.look_up(on.table("ATAN_P"), index), on.look_up(on.table("ATAN_Q"), index)
    t = (size * one - c) / (one + size * c)
    z = t * t
    more = t * z * chain(z, on.table("ATAN_TAIL"))
    high, low = on.look_up(on.table("ATAN_HIGH"), index), on.look_up(on.table("ATAN_LOW"), index)
    top, left = ordered(high, t)
    return (top + (left + (low + more))).signed(x), size.outside(2.0 ** (p.bias // 2))


def arctan_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    """Of large numbers: all but infinitely many."""
    high, low = on.table("HALF_PI")
    y = on.real(high) + (low - 1.0 / abs(x))
    return x.nan().real(x, y.signed(x)), {}


def root(z: Real, more: Real | float = 0.0) -> Sum:
    """The square root of a sum as a sum."""
    high = z.sqrt()
    square, low = product(high, high)
    rest = ((z - square) - low) + more
    return high, (z > 0.0).real(rest / (2.0 * high), 0.0)


def _series(z: Real) -> Real:
    """arcsin(s) / s - 1, of z = s * s."""
    return z * chain(z, z.on.table("ASIN_TAIL"))


def arcsin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    large = size > 0.5
    z = large.real(0.5 - 0.5 * size, size * size)
    side, low = root(z)
    bend = _series(z)
    high, high_low = on.table("HALF_PI")
    top, left = ordered(on.real(high), -2.0 * side)
    far = top + (left + (high_low - 2.0 * (low + side * bend)))
    return large.real(far, size + size * bend).signed(x), size.outside(1.0000001)


def arccos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    large = size > 0.5
    z = large.real(0.5 - 0.5 * size, size * size)
    side, low = root(z)
    bend = _series(z)
    more = low + side * bend
    high, high_low = on.table("HALF_PI")
    # x near -1: pi - 2 arcsin(s); near 1: 2 arcsin(s); else pi/2 - arcsin(x)
    top, left = ordered(on.real(2.0 * high), -2.0 * side)
    behind = top + (left + (2.0 * high_low - 2.0 * more))
    beyond = (x < 0.0).real(behind, 2.0 * (side + more))
    middle, rest = ordered(on.real(high), -x)
    near = middle + (rest + (high_low - x * bend))
    return large.real(beyond, near), size.outside(1.0000001)


def arc_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return x.nan().real(x, NAN), {"invalid": abs(x) > 1.0}
