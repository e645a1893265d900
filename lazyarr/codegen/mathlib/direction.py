"""arctan2: the angle of the smaller coordinate over the larger one, then turned into its octant.

With c near n / d from a table by quarter octaves, t = (n - c d) / (d + c n) is the tangent of what is left.
The quotient that the table needs comes from a difference of bits, which is at most an eighth too large.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, chain, fma, ordered, remains
from lazyarr.codegen.mathlib.exponential import INF
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

_FAR = {DOUBLE: 450, SINGLE: 60}
"""Exponents of coordinates that need no scaling, with both signs."""
_SCALE = {DOUBLE: 600, SINGLE: 64}
"""By which all others are moved."""


def _angle(n: Real, d: Real, base: Sum) -> Sum:
    """base + arctan(n / d), 0 <= n <= d > 0, for a base that is 0 or above 1 in size."""
    on, p = n.on, n.on.p
    first = on.real(0.0625).bits
    quotient = n.bits - d.bits + (on.real(1.0).bits - first)
    index = on.held(quotient.shifted(p.mantissa - 2), 0, 15)
    c, high, low = look_up(index, *map(on.table, ("SLOPE", "SLOPE_HIGH", "SLOPE_LOW")))
    over, under = remains(-c, d, n), fma(c, n, d)
    inverse = 1.0 / under
    t = over * inverse
    left = fma(remains(-t, under, over), inverse, low)
    z = t * t
    more = fma(t * z, chain(z, on.table("SLOPE_TAIL")), left)
    whole, rest = ordered(on.real(base[0]), high)
    top, least = ordered(whole, t)
    return top, least + (rest + (base[1] + more))


def _turned(n: Real, d: Real, y: Real, x: Real) -> Sum:
    """The angle in its octant, with y's sign."""
    on = x.on
    high, low = on.table("HALF_PI")
    swap, back = abs(y) > abs(x), x.bits.negative()
    side, side_low = back.real(-2.0 * high, 0.0), back.real(-2.0 * low, 0.0)
    up, up_low = back.real(high, -high), back.real(low, -low)
    found = _angle(n, d, (swap.real(up, side), swap.real(up_low, side_low)))
    turn = (swap ^ back).bits(on.p.sign, 0) ^ (y.bits & on.p.sign)
    return (found[0].bits ^ turn).real, (found[1].bits ^ turn).real


def angle(y: Real, x: Real) -> Sum:
    """arctan2 as a sum: not both are 0, and those that are not have exponents in the middle range."""
    a, b = abs(y), abs(x)
    swap = a > b
    return _turned(swap.real(b, a), swap.real(a, b), y, x)


def arctan2(on: Lanes, y: Real, x: Real) -> tuple[Real, Mask]:
    a, b = abs(y), abs(x)
    swap = a > b
    n, d = swap.real(b, a), swap.real(a, b)
    least, most = (on.real(2.0 ** (sign * _FAR[on.p])).bits for sign in (-1, 1))
    special = (n.bits - least).at_least(most - least) | (d.bits - least).at_least(most - least)
    high, low = _turned(n, d, y, x)
    return high + low, special


def arctan2_rare(on: Lanes, y: Real, x: Real) -> tuple[Real, Raised]:
    """Coordinates of the same infinite size count as equal; a small quotient is its own angle."""
    a, b = abs(y), abs(x)
    swap = a > b
    n, d = swap.real(b, a), swap.real(a, b)
    endless = d.is_(INF)
    n, d = endless.real(n.is_(INF).real(1.0, 0.0), n), (endless | d.is_(0.0)).real(1.0, d)
    ratio = n / d
    tiny = ratio < 2.0 ** (-on.p.mantissa - 8)
    scale = (d > 1.0).real(2.0 ** -_SCALE[on.p], 2.0 ** _SCALE[on.p])
    high, low = _turned(tiny.real(0.0, n * scale), d * scale, y, x)
    near = tiny & ~swap & ~x.bits.negative()
    found = near.real(ratio.signed(y), high + low)
    return (x.nan() | y.nan()).real(x + y, found), {}
