"""power in float32: 2**(y log2(x)), where the logarithm is a sum of two numbers.

x = 2**k m, and r = m c - 1 with c near 1/m from a table of 32, of so few bits that r is exact.  Of

    log2(x) = k - log2(c) + r (1 - r / 2 + r**2 / 3 - ...) / log(2)

all is kept as sums that counts in the last place of 2**126: the table, the slope, and its product with r.
On CPUs without fused products most steps have results of one exponent, or exact ones, which is cheap there.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import power as wide
from lazyarr.codegen.mathlib.arithmetic import (
    Sum,
    chain,
    difference,
    exactly,
    onto,
    remains,
    settled,
)
from lazyarr.codegen.mathlib.exponential import scaled
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.wider import rare_by_double

_LIMIT = 125.0
"""Of the exponent: up to here results are normal numbers."""
_REACH = 2.0**-5
"""Of r, and all but of what sixteenths leave of the exponent."""


def _log2(x: Real) -> Sum:
    """Of the size of normal numbers, with 33 bits or more; the second number is up to 1/2000 of the first."""
    on = x.on
    tables = map(on.table, ("POWER_INVERSE", "POWER_LOG_HIGH", "POWER_LOG_LOW"))
    c, high, low = look_up(x.bits >> on.p.mantissa - 5, *tables)
    scale, scale_low, first = on.table("POWER_SCALE")
    r = exactly(x.fraction(), c, -1.0)
    slope = settled(r, first, scale, _REACH)
    left = remains(r, first, difference(scale, slope))
    rest = r * (r * chain(r, on.table("POWER_BEND"), reach=_REACH)) + (left + scale_low)
    top, more = onto((x if on.full else abs(x)).floor_log2() + high, r, slope)
    return top, r * rest + (more + low)


def power(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
    """What the exponent's sixteenths leave of it takes one rounding, so that its product needs no sum."""
    high, low = _log2(x)
    magic = on.p.magic / 16
    shifted = settled(y, high + low, magic, 2.0 * _LIMIT)
    near = difference(shifted, on.real(magic))
    left = remains(y, high, -near) + y * low
    s, s_low = scaled(shifted.bits)
    more = left * chain(left, on.table("EXP2_TAIL"), reach=_REACH + 2.0**-9) + s_low
    return s * more + s, x.odd() | abs(near).outside(_LIMIT)


power_rare = rare_by_double(wide.power_f_rare)


def power_known(on: Lanes, found: Real, x: Real, y: Real) -> tuple[Real, Mask, Raised]:
    return wide.known(found, x, y, _LIMIT - 1.0)
