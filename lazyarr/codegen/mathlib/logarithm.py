"""log, log2, log10: the exponent, a table of 16 logarithms, and a series for what is left.

x = 2**k m, and r = m c - 1 with c near 1/m from a table: log(x) = k ln2 - log(c) + log1p(r).  c has 7 bits,
so r is exact but for its last bit, and around 1 c is 1: results near 0 keep their precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Raised, Real, chain, ordered, product, total


@dataclass(frozen=True, slots=True)
class Split:
    """x = 2**k (1 + r) / c."""

    k: Real
    index: Bits
    r: Real


def split(on: Lanes, x: Real) -> Split:
    """Of positive normal numbers."""
    bits = x.bits
    offset = bits - on.table("LOG_FIRST")
    m = (bits - (offset & on.p.exponent)).real
    index = offset >> on.p.mantissa - 4
    return Split(offset.exponent(), index, m.times_short(on.look_up(on.table("LOG_INVERSE"), index), -1.0))


def odd(x: Real) -> Mask:
    """Is it no positive normal number?"""
    p = x.on.p
    least, infinite = 1 << p.mantissa, p.exponent & ~p.sign
    return (x.bits - least).at_least(infinite - least)


def bend(r: Real) -> Real:
    """log1p(r) - r."""
    return r * r * (r * chain(r, r.on.table("LOG_TAIL")) - 0.5)


def plain(on: Lanes, s: Split) -> Real:
    high, low = on.table("LOG_STEP")
    top, left = ordered(s.k.times(high, on.look_up(on.table("LOG_HIGH"), s.index)), s.r)
    below = s.k.times(low, on.look_up(on.table("LOG_LOW"), s.index))
    return top + ((left + below) + bend(s.r))


def _based(name: str) -> Core:
    """In another base: r is multiplied exactly."""

    def log(on: Lanes, s: Split) -> Real:
        high, low = on.table(f"{name}_STEP")
        scale, scale_low = on.table(f"{name}_SCALE")
        below = on.look_up(on.table(f"{name}_LOW"), s.index)
        if low:
            below = s.k.times(low, below)
        main, rest = product(s.r, scale)
        first = s.k.times(high, on.look_up(on.table(f"{name}_HIGH"), s.index))
        top, left = ordered(first, main)
        scaled: Real = bend(s.r) * scale + s.r * scale_low
        return top + ((left + below) + (rest + scaled))

    return log


Core = Callable[[Lanes, Split], Real]


def _fast(core: Core) -> Callable[[Lanes, Real], tuple[Real, Mask]]:
    def function(on: Lanes, x: Real) -> tuple[Real, Mask]:
        return core(on, split(on, x)), odd(x)

    return function


def _rare(core: Core) -> Callable[[Lanes, Real], tuple[Real, Raised]]:
    def function(on: Lanes, x: Real) -> tuple[Real, Raised]:
        """Subnormal numbers, with the exponent of larger ones; and all that has no logarithm."""
        shift = on.p.mantissa + 1
        s = split(on, x * 2.0**shift)
        y = core(on, Split(s.k - shift, s.index, s.r))
        zero, negative = x.is_(0.0), x < 0.0
        y = x.is_(INF).real(x, zero.real(-INF, negative.real(NAN, y)))
        return x.nan().real(x, y), {"divide": zero, "invalid": negative}

    return function


def of_sum(x: Real, more: Real | float) -> tuple[Real, Real]:
    """log1p(x + more), and 1 + x.  `more` is what rounding left off x, which is above -1.

    1 + x is taken as a sum; its lower part joins the remainder."""
    on = x.on
    whole, low = total(on.real(1.0), x)
    low = low + more
    bits = whole.bits
    offset = bits - on.table("LOG_FIRST")
    octave = offset & on.p.exponent
    index = offset >> on.p.mantissa - 4
    c = on.look_up(on.table("LOG_INVERSE"), index)
    upper = (bits - octave).real.times_short(c, -1.0)
    r, r_low = ordered(upper, low * (on.real(1.0).bits - octave).real * c)
    high, step_low = on.table("LOG_STEP")
    k = offset.exponent()
    top, left = ordered(k.times(high, on.look_up(on.table("LOG_HIGH"), index)), r)
    below = k.times(step_low, on.look_up(on.table("LOG_LOW"), index))
    return top + ((left + (below + r_low)) + bend(r)), whole


def log1p(on: Lanes, x: Real) -> tuple[Real, Mask]:
    y, whole = of_sum(x, 0.0)
    least = 1 << on.p.mantissa
    return y.signed(x), (whole.bits - least).at_least((on.p.bias * 15 // 8 << on.p.mantissa) - least)


def log1p_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    """Of large numbers the logarithm; and all that has none."""
    y = plain(on, split(on, x))
    pole, beyond = x.is_(-1.0), x < -1.0
    y = x.is_(INF).real(x, pole.real(-INF, beyond.real(NAN, y)))
    return x.nan().real(x, y), {"divide": pole, "invalid": beyond}


_CORES = (plain, _based("LOG2"), _based("LOG10"))
log, log2, log10 = map(_fast, _CORES)
log_rare, log2_rare, log10_rare = map(_rare, _CORES)
