"""arctan2: the angle of the smaller coordinate over the larger one, then turned into its octant.

With c near n / d from a table by quarter octaves, t = (n - c d) / (d + c n) is the tangent of what is left.
The quotient that the table needs comes from a difference of bits, which is at most an eighth too large.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, chain, fma, ordered, remains
from lazyarr.codegen.mathlib.exponential import INF
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

_FAR = {DOUBLE: 450, SINGLE: 60}
"""Exponents of coordinates that need no scaling, with both signs."""
_SCALE = {DOUBLE: 600, SINGLE: 64}
"""By which all others are moved."""
_INVERSE = 0x7EF311C7
"""Less a float32's bits: those of its reciprocal, within 12 %."""


def _angle(n: Real, d: Real, base: Real) -> Sum:
    """base + arctan(n / d), 0 <= n <= d > 0, for a base that is 0 or above 1 in size, with its own low part.

    The first number of what is added to it has so few bits that the sum is exact.  What rounding left off
    float32's t is the remainder over the divisor, of whose reciprocal an eighth more or less does no harm."""
    on, p = n.on, n.on.p
    first = on.real(0.0625).bits
    quotient = n.bits - d.bits + (on.real(1.0).bits - first - 1)        # so that 1 is in the last interval
    index = on.held(quotient.shifted(p.mantissa - 2), 0)
    c, high, low = look_up(index, *map(on.table, ("SLOPE", "SLOPE_HIGH", "SLOPE_LOW")))
    over, under = remains(-c, d, n), fma(c, n, d)
    if p is SINGLE:
        t = over / under
        left = remains(-t, under, over) * (on.bits(_INVERSE) - under.bits).real + low
    else:
        inverse = 1.0 / under
        t = over * inverse
        left = fma(remains(-t, under, over), inverse, low)
    z = t * t
    more = fma(t * z, chain(z, on.table("SLOPE_TAIL")), left)
    top, least = ordered(base + high, t)
    quarter, quarter_low = on.table("QUARTER_TURN")
    return top, least + fma(base, quarter_low / quarter, more)


def _turned(n: Real, d: Real, swap: Mask, y: Real, x: Real) -> tuple[Sum, Bits]:
    """The angle in its octant, but for a sign."""
    on = x.on
    quarter, _ = on.table("QUARTER_TURN")
    back = x.bits.negative()
    base = swap.real(back.real(quarter, -quarter), back.real(-2.0 * quarter, 0.0))
    turn = (swap ^ back).bits(on.p.sign, 0) ^ (y.bits & on.p.sign)
    return _angle(n, d, base), turn


def angle(y: Real, x: Real) -> Sum:
    """arctan2 as a sum: not both are 0, and those that are not have exponents in the middle range."""
    a, b = abs(y), abs(x)
    swap = a > b
    found, turn = _turned(swap.real(b, a), swap.real(a, b), swap, y, x)
    return (found[0].bits ^ turn).real, (found[1].bits ^ turn).real


def arctan2(on: Lanes, y: Real, x: Real) -> tuple[Real, Mask]:
    """Of the size of NaNs no coordinate is smaller: in its place they make the result one, in the larger
    one's place they are too large here."""
    a, b = abs(y), abs(x)
    swap = a > b
    n, d = swap.real(b, a), swap.real(a, b)
    least, most = (on.real(2.0 ** (sign * _FAR[on.p])).bits for sign in (-1, 1))
    (high, low), turn = _turned(n, d, swap, y, x)
    return ((high + low).bits ^ turn).real, ~n.bits.at_least(least) | d.bits.at_least(most)


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
    (high, low), turn = _turned(tiny.real(0.0, n * scale), d * scale, swap, y, x)
    near = tiny & ~swap & ~x.bits.negative()
    found = near.real(ratio.signed(y), ((high + low).bits ^ turn).real)
    return (x.nan() | y.nan()).real(x + y, found), {}
