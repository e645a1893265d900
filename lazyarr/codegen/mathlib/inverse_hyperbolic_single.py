"""arctanh, arcsinh and arccosh in float32.

arctanh: by the quotient q = (1 + a) / (1 - a), whose logarithm is twice the result.

With C = 2**k C' near q from a table, s = (1 + a - C (1 - a)) / (1 + a + C (1 - a)) is small, and

    arctanh(a) = k log(2) / 2 + log(C') / 2 + arctanh(s)

k and the table's index are a difference of bits, which is near log2(q), and 0 for small a, where C is 1.

arcsinh: log(a + sqrt(1 + a**2)) with the root as a sum, so that small results need no division.
arccosh: as `inverse_hyperbolic`, by float32's logarithm; what rounding leaves off the square, of which the
root has half, does not count.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import inverse_hyperbolic as wide
from lazyarr.codegen.mathlib.arithmetic import Sum, chain, fma, onto, ordered, remains
from lazyarr.codegen.mathlib.inverse import root
from lazyarr.codegen.mathlib.inverse_hyperbolic import limit
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.logarithm_single import of_sum
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.wider import rare_by_double

_NEAR_ONE = 1 - 2.0**-21
"""From here on C may have too many bits."""
_HALVED = 379 << 22
"""Less half a number's bits: half its root's reciprocal, all but, and exactly that of powers of 4."""


def arctanh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """C has so few bits that 1 + C and 1 - C are exact, up to where C is too large."""
    a = abs(x)
    offset = (1.0 + a).bits - (1.0 - a).bits
    center, log, log_low = look_up(
        offset >> on.p.mantissa - 4, *map(on.table, ("RATIO", "RATIO_LOG_HIGH", "RATIO_LOG_LOW"))
    )
    c = (center.bits + (offset & on.p.exponent)).real
    up, down = 1.0 + c, 1.0 - c
    s = remains(a, up, down) / remains(a, down, up)
    high, low = on.table("RATIO_STEP")
    k, z = offset.exponent(), s * s
    y = k.times(high, log) + (s + fma(s * z, chain(z, on.table("RATIO_TAIL")), k.times(low, log_low)))
    return y.signed(x), a.outside(_NEAR_ONE)


def _arctanh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    """Next to 1, too."""
    y, special = wide.arctanh(on, x)
    found, raised = wide.arctanh_rare(on, x)
    return special.real(found, y), raised


def _root_of_more(a: Real) -> Sum:
    """sqrt(1 + a**2) as a sum, whose second number is as exact as a is small: as `inverse.root`, but that the
    reciprocal of what has few bits is one."""
    one = a.on.real(1.0)
    z, left = onto(one, a, a)
    high = z.sqrt()
    halved = a.on.bits(_HALVED) - (z.bits >> 1)
    return high, (remains(-high, high, z) + left) * halved.real


def arcsinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Up to where 1 less the rounded 1 + a**2 is a number, which all levels have then."""
    a = abs(x)
    side, side_low = _root_of_more(a)
    whole, low = ordered(side, a)
    return of_sum(whole, low + side_low).signed(x), a.outside(limit(on) / 2)


def arccosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    t = x - 1.0
    side, side_low = root(fma(t, t, t + t))
    whole, low = ordered(x, side)
    return of_sum(whole, low + side_low), t.bits.at_least(on.real(limit(on)).bits)


arcsinh_rare, arccosh_rare, arctanh_rare = map(
    rare_by_double, (wide.arcsinh_rare, wide.arccosh_rare, _arctanh_rare)
)
