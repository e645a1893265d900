"""arctanh, arcsinh and arccosh in float32.

arctanh: by the quotient q = (1 + a) / (1 - a), whose logarithm is twice the result.

With C = 2**k C' near q from a table, s = (1 + a - C (1 - a)) / (1 + a + C (1 - a)) is small, and

    arctanh(a) = k log(2) / 2 + log(C') / 2 + arctanh(s)

k and the table's index are a difference of bits, which is near log2(q), and 0 for small a, where C is 1.

arcsinh, arccosh: as `inverse_hyperbolic`, by float32's logarithm; what rounding leaves off the second one's
square, of which the root has half, does not count.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import inverse_hyperbolic as wide
from lazyarr.codegen.mathlib.arithmetic import chain, fma, ordered, remains
from lazyarr.codegen.mathlib.inverse import root
from lazyarr.codegen.mathlib.inverse_hyperbolic import limit
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real
from lazyarr.codegen.mathlib.logarithm_single import of_sum
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.wider import rare_by_double


def arctanh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    a, one = abs(x), on.real(1.0)
    (up, up_low), (down, down_low) = ordered(one, a), ordered(one, -a)
    offset = up.bits - down.bits
    center, log, log_low = look_up(
        offset >> on.p.mantissa - 4, *map(on.table, ("RATIO", "RATIO_LOG_HIGH", "RATIO_LOG_LOW"))
    )
    c = (center.bits + (offset & on.p.exponent)).real
    n = fma(-down, c, up) + remains(-down_low, c, up_low)
    s = n / fma(down, c, up)
    z = s * s
    high, low = on.table("RATIO_STEP")
    k = offset.exponent()
    top, left = ordered(k.times(high, log), s)
    y = top + (left + fma(s * z, chain(z, on.table("RATIO_TAIL")), k.times(low, log_low)))
    return y.signed(x), a.outside(1.0)


def arcsinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    a = abs(x)
    square = a * a
    w, low = ordered(a, square / (1.0 + fma(a, a, 1.0).sqrt()))
    whole, more = ordered(on.real(1.0), w)
    return of_sum(whole, more + low).signed(x), a.outside(limit(on))


def arccosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    t = x - 1.0
    side, side_low = root(fma(t, t, t + t))
    whole, low = ordered(x, side)
    return of_sum(whole, low + side_low), t.bits.at_least(on.real(limit(on)).bits)


arcsinh_rare, arccosh_rare = map(rare_by_double, (wide.arcsinh_rare, wide.arccosh_rare))
