"""log, log2, log10, log1p: the exponent, a table of 16 logarithms, and a series for what is left.

x = 2**k m, and r = m c - 1 with c near 1/m from a table: log(x) = k ln2 - log(c) + log1p(r).  c has 7 bits,
so r is exact but for its last bit, and around 1 c is 1: results near 0 keep their precision.

With s = r / (2 + r), log1p(r) = r - s (r - s**2 P(s**2)): a division, and three terms that need no fused
products.  In other bases s is the scaled one, and r is multiplied exactly.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.arithmetic import ordered, product, remains_of_short
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Split:
    """x = 2**k (1 + r) / c."""

    k: Real
    r: Real
    high: Real
    """-log(c) of few bits, in the base asked for."""
    low: Real
    c: Real
    octave: Bits
    """k as a part of a number's bits."""


def split(x: Real, base: str = "LOG") -> Split:
    """Of positive normal numbers."""
    on, bits = x.on, x.bits
    offset = bits - on.table("LOG_FIRST")
    octave = offset & on.p.exponent
    tables = on.table("LOG_INVERSE"), on.table(f"{base}_HIGH"), on.table(f"{base}_LOW")
    c, high, low = look_up(offset >> on.p.mantissa - 4, *tables)
    r = remains_of_short((bits - octave).real, c, -1.0)
    return Split(offset.exponent(), r, high, low, c, octave)


def _bow(r: Real, s: Real, base: str) -> Real:
    """How far the logarithm of 1 + r is below its tangent at 1."""
    z = s * s
    *slopes, last = r.on.table(f"{base}_BOW")
    tail = r.on.real(last)
    for slope in reversed(slopes):
        tail = tail * z + slope
    return s * (r - (tail * z if base == "LOG" else tail))


def plain(s: Split) -> Real:
    high, low = s.k.on.table("LOG_STEP")
    top, left = ordered(s.k.times(high, s.high), s.r)
    return top + ((left + s.k.times(low, s.low)) - _bow(s.r, s.r / (s.r + 2.0), "LOG"))


def _based(base: str) -> Core:
    """In another base: r is multiplied exactly."""

    def log(s: Split) -> Real:
        on, r = s.k.on, s.r
        high, low = on.table(f"{base}_STEP")
        scale, _ = on.table(f"{base}_SCALE")
        below = s.k.times(low, s.low) if low else s.low
        main, rest = product(r, scale)
        top, left = ordered(s.k.times(high, s.high), main)
        return top + ((left + (rest + below)) - _bow(r, main / (r + 2.0), base))

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
        y, _, raised = known(on, y, x)
        return x.nan().real(x, y), raised

    return function


def known(on: Lanes, found: Real, x: Real) -> tuple[Real, Mask, Raised]:
    """What needs no logarithm: zero, negative numbers and infinity."""
    return _ended(found, x, x.is_(0.0), x < 0.0)


def _ended(found: Real, x: Real, pole: Mask, beyond: Mask) -> tuple[Real, Mask, Raised]:
    endless = x.is_(INF)
    y = endless.real(INF, pole.real(-INF, beyond.real(NAN, found)))
    return y, pole | beyond | endless, {"divide": pole, "invalid": beyond}


def of_sum(x: Real, more: Real | float) -> tuple[Real, Real]:
    """log1p(x + more), and 1 + x.  `more` is what rounding left off x, which is above -1.

    What rounding leaves off the sum is found, although x may be the larger one: 1 has no smaller bits than
    an x of which the sum keeps some."""
    whole, low = ordered(x.on.real(1.0), x)
    return of_whole(whole, low + more), whole


def of_whole(whole: Real, low: Real) -> Real:
    """log(whole + low), where `low` is what rounding left off: that times the slope there is added."""
    s = split(whole)
    more = low * (s.c.bits - s.octave).real
    return plain(replace(s, low=s.low + (more - more * s.r)))


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
    y, _, raised = log1p_known(on, plain(split(x)), x)
    return x.nan().real(x, y), raised


def log1p_known(on: Lanes, found: Real, x: Real) -> tuple[Real, Mask, Raised]:
    return _ended(found, x, x.is_(-1.0), x < -1.0)


_CORES = ((plain, "LOG"), (_based("LOG2"), "LOG2"), (_based("LOG10"), "LOG10"))
log, log2, log10 = (_fast(*core) for core in _CORES)
log_rare, log2_rare, log10_rare = (_rare(*core) for core in _CORES)
