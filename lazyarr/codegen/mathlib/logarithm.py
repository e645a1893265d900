"""log, log2, log10: the exponent, a table of 16 logarithms, and a series for what is left.

x = 2**k m, and r = m c - 1 with c near 1/m from a table: log(x) = k ln2 - log(c) + log1p(r).  c has 7 bits,
so r is exact but for its last bit, and around 1 c is 1: results near 0 keep their precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lazyarr.codegen.mathlib.arithmetic import fma, ordered, product, remains_of_short, series
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """x = 2**k (1 + r) / c."""

    k: Real
    r: Real
    high: Real
    """-log(c) of few bits, in the base asked for."""
    low: Real


def split(x: Real, base: str = "LOG") -> Split:
    """Of positive normal numbers."""
    on, bits = x.on, x.bits
    offset = bits - on.table("LOG_FIRST")
    m = (bits - (offset & on.p.exponent)).real
    tables = on.table("LOG_INVERSE"), on.table(f"{base}_HIGH"), on.table(f"{base}_LOW")
    c, high, low = look_up(offset >> on.p.mantissa - 4, *tables)
    return Split(offset.exponent(), remains_of_short(m, c, -1.0), high, low)


def bend(r: Real, more: Real) -> Real:
    """log1p(r) - r + more."""
    return fma(r * r, series(r, (-0.5, *r.on.table("LOG_TAIL"))), more)


def plain(s: Split) -> Real:
    high, low = s.k.on.table("LOG_STEP")
    top, left = ordered(s.k.times(high, s.high), s.r)
    return top + bend(s.r, left + s.k.times(low, s.low))


def _based(name: str) -> Core:
    """In another base: r is multiplied exactly."""

    def log(s: Split) -> Real:
        on, r = s.k.on, s.r
        high, low = on.table(f"{name}_STEP")
        scale, scale_low = on.table(f"{name}_SCALE")
        below = s.k.times(low, s.low) if low else s.low
        main, rest = product(r, scale)
        top, left = ordered(s.k.times(high, s.high), main)
        bent = series(r, on.table(f"{name}_BEND"))
        return top + fma(r * r, bent, left + fma(r, scale_low, rest + below))

    return log


Core = Callable[[Split], Real]


def _fast(core: Core, base: str) -> Callable[[Lanes, Real], tuple[Real, Mask]]:
    def function(on: Lanes, x: Real) -> tuple[Real, Mask]:
        return core(split(x, base)), x.odd()

    return function


def _rare(core: Core, base: str) -> Callable[[Lanes, Real], tuple[Real, Raised]]:
    def function(on: Lanes, x: Real) -> tuple[Real, Raised]:
        """Subnormal numbers, with the exponent of larger ones; and all that has no logarithm."""
        shift = on.p.mantissa + 1
        s = split(x * 2.0**shift, base)
        y = core(replace(s, k=s.k - shift))
        zero, negative = x.is_(0.0), x < 0.0
        y = x.is_(INF).real(x, zero.real(-INF, negative.real(NAN, y)))
        return x.nan().real(x, y), {"divide": zero, "invalid": negative}

    return function


def of_sum(x: Real, more: Real | float) -> tuple[Real, Real]:
    """log1p(x + more), and 1 + x.  `more` is what rounding left off x, which is above -1.

    What rounding leaves off the sum is found, although x may be the larger one: 1 has no smaller bits than
    an x of which the sum keeps some."""
    whole, low = ordered(x.on.real(1.0), x)
    return of_whole(whole, low + more), whole


def of_whole(whole: Real, low: Real) -> Real:
    """log(whole + low), where `low` is what rounding left off: it joins the remainder."""
    on, bits = whole.on, whole.bits
    offset = bits - on.table("LOG_FIRST")
    octave = offset & on.p.exponent
    tables = on.table("LOG_INVERSE"), on.table("LOG_HIGH"), on.table("LOG_LOW")
    c, log_high, log_low = look_up(offset >> on.p.mantissa - 4, *tables)
    upper = remains_of_short((bits - octave).real, c, -1.0)
    r, r_low = ordered(upper, low * (on.real(1.0).bits - octave).real * c)
    high, step_low = on.table("LOG_STEP")
    k = offset.exponent()
    top, left = ordered(k.times(high, log_high), r)
    return top + bend(r, left + (k.times(step_low, log_low) + r_low))


def log1p(on: Lanes, x: Real) -> tuple[Real, Mask]:
    y, whole = of_sum(x, 0.0)
    return y.signed(x), out_of_range(whole)


def out_of_range(whole: Real) -> Mask:
    """Is it no positive number whose reciprocal is normal, too?"""
    p = whole.on.p
    least = 1 << p.mantissa
    return (whole.bits - least).at_least((p.bias * 15 // 8 << p.mantissa) - least)


def log1p_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    """Of large numbers the logarithm; and all that has none."""
    y = plain(split(x))
    pole, beyond = x.is_(-1.0), x < -1.0
    y = x.is_(INF).real(x, pole.real(-INF, beyond.real(NAN, y)))
    return x.nan().real(x, y), {"divide": pole, "invalid": beyond}


_CORES = ((plain, "LOG"), (_based("LOG2"), "LOG2"), (_based("LOG10"), "LOG10"))
log, log2, log10 = (_fast(*core) for core in _CORES)
log_rare, log2_rare, log10_rare = (_rare(*core) for core in _CORES)
