"""logaddexp, logaddexp2: log(e**x + e**y) = x + log(1 + e**(y - x)), x >= y.

All of it is in sums of two numbers, as x may cancel four bits of the logarithm.  Where more is cancelled, or
anything of a logarithm so small that it is the exponential and no sum any more, it is computed again in the
rare path: by sums of float64 throughout, to 2**-98 of it or so (`_precise`), for either dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, log

from lazyarr.codegen.mathlib.arithmetic import (
    Sum,
    chain,
    fma,
    ordered,
    plus,
    product,
    product_of_short,
    times,
    total,
)
from lazyarr.codegen.mathlib.exponential import (
    ENDS,
    INF,
    clamped,
    gradual,
    nearest,
    scaled,
    steps,
    steps2,
    tail,
    tail2,
)
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.power import log_sum

_NEAR = {DOUBLE: 600.0, SINGLE: 80.0}
"""Differences up to which the exponential is a normal number, and so are its parts."""
_NEAR_BY_SUMS = {DOUBLE: 600.0, SINGLE: 120.0}
"""The same in the rare path, which is float64's; from there on float32 has so few bits that they do."""

_LITTLE = 1 / 16
"""The part of the logarithm that may be left of it: what takes the rare path takes ten times as long, so not
much, as numbers around 0 are usual operands."""
_TINY = {DOUBLE: 2.0**-40, SINGLE: 2.0**-11}
"""Logarithms of an eighth of it are one number, all but, of which x may cancel nothing: x of eight times
their size or more takes a bit at most."""
_FAR = 2.0**100
"""From here on a logarithm of 2 at most changes nothing."""
LN2 = log(2.0)


def _larger(x: Real, y: Real) -> tuple[Real, Real]:
    swap = x < y
    return swap.real(y, x), swap.real(x, y)


def _natural(gap: Real, low: Real) -> Sum:
    k, r = steps(gap)
    s, s_low = scaled(k)
    fall = fma(r * r, chain(r, r.on.table("EXPM1_TAIL")), r + (s_low + (low + low * r)))
    return ordered(s, s * fall)


def _binary(gap: Real, low: Real) -> Sum:
    k, r = steps2(gap)
    s, s_low = scaled(k)
    return ordered(s, s * tail2(r, fma(low * LN2, fma(r, LN2, 1.0), s_low)))


def _in_twos(log: Sum) -> Sum:
    high, low = log[0].on.table("LOG2_SCALE")
    main, rest = product(log[0], high)
    return main, fma(log[0], low, fma(log[1], high, rest))


def _in_twos_briefly(log: Sum) -> Sum:
    """To 2**-79 of it or so: the scale's first number is short."""
    high, low = log[0].on.table("SUM_SCALE")
    main, rest = product_of_short(log[0], log[0].on.real(high))
    return main, fma(log[0] + log[1], low, fma(log[1], high, rest))


def _same(log: Sum) -> Sum:
    return log


def _tiny(gap: Real) -> Real:
    k, r = steps(clamped(gap, *ENDS["exp"][gap.on.p]))
    return gradual(k, lambda low: tail(r, low))


def _tiny_binary(gap: Real) -> Real:
    k, r = steps2(clamped(gap, *ENDS["exp2"][gap.on.p]))
    scale: float = gap.on.table("LOG2_SCALE")[0]
    return gradual(k, lambda low: tail2(r, low)) * scale


def _growth(r: Sum) -> Sum:
    """e**r - 1 of a remainder, by its series: terms from the eighth on need one number only."""
    x = r[0].on.real
    tail = chain(r[0], [1 / factorial(k) for k in range(8, 13)])
    found = (tail, x(0.0))
    for high, low in reversed(r[0].on.table("FACTORIALS")):
        found = plus((x(high), x(low)), times(r, found))
    return times(r, found)


def _exponential(k: Bits, r: Sum) -> tuple[Real, Sum]:
    """s and q: 2**(k/16) e**r is s (1 + q)."""
    s, s_low = scaled(k)
    one = r[0].on.real(1.0)
    p = _growth(r)
    return s, plus(p, times((s_low, s.on.real(0.0)), plus((one, s.on.real(0.0)), p)))


def _remainder(x: Real, more: Real) -> tuple[Bits, Sum]:
    k, shifts = nearest(x)
    high, low = x.on.table("EXP_STEP")
    return k, plus((shifts.times(-high, x), more), (shifts * -low, shifts * -x.on.table("EXP_STEP_REST")))


def _remainder2(x: Real, more: Real) -> tuple[Bits, Sum]:
    k, r = steps2(x)
    high, low = x.on.table("LOG2_STEPS")
    return k, times((r, more), (x.on.real(high), x.on.real(low)))


def _precise(top: Real, e: Sum, based: Callable[[Sum], Sum]) -> Real:
    """top + log(1 + e): a logarithm, and what its exponential lacks of 1 + e."""
    on = top.on
    one, zero = on.real(1.0), on.real(0.0)
    whole, left = ordered(one, e[0])
    near, rest = log_sum(whole, left + e[1])
    near, rest = ordered(near, rest)
    s, q = _exponential(*_remainder(-near, zero))
    fall = plus((s - one, zero), times((s, zero), q))      # e**-near - 1
    lacks = plus(plus(e, fall), times(e, fall))
    high, low = based((near, lacks[0] + lacks[1]))
    found, more = total(top, high)
    return found + (more + low)


def _family(
    exponential: Callable[[Real, Real], Sum], brief: Callable[[Sum], Sum], based: Callable[[Sum], Sum],
    tiny: Callable[[Real], Real], remainder: Callable[[Real, Real], tuple[Bits, Sum]],
) -> tuple[Callable[..., tuple[Real, Mask]], Callable[..., tuple[Real, Raised]]]:
    def fast(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
        top, other = _larger(x, y)
        gap, gap_low = total(other, -top)
        e, e_low = exponential(gap, gap_low)
        whole, left = ordered(on.real(1.0), e)
        high, low = brief(log_sum(whole, left + e_low, brief=True))
        found, rest = total(top, high)
        found = found + (rest + low)
        special = ~(gap > -_NEAR[on.p]) | abs(top).outside(_FAR)
        log = high + low
        above = 8.0 * log
        above = (above < _TINY[on.p]).real(above, _TINY[on.p])
        special = special | ((top < 0.0) & (-top < above))
        return found, special | (abs(found) < log * _LITTLE)

    def little(on: Lanes, x: Real, y: Real) -> Real:
        """Of numbers whose logarithm the larger one cancels."""
        if on.p is SINGLE:
            return little(on.wide, x.wide, y.wide).narrow
        top, other = _larger(x, y)
        k, r = remainder(*total(other, -top))
        s, q = _exponential(k, r)
        zero = on.real(0.0)
        return _precise(top, plus((s, zero), times((s, zero), q)), based)

    def rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
        """Far apart the logarithm is the exponential itself; equal infinities have no difference."""
        top, other = _larger(x, y)
        gap = other - top
        found, nan = top + tiny(gap.nan().real(0.0, gap)), x.nan() | y.nan()
        over = gap.is_(-INF) & (abs(top) < INF) & (abs(other) < INF)
        near = (gap > -_NEAR_BY_SUMS[on.p]) & (abs(top) < _FAR)
        found = near.real(little(on, near.real(x, -0.5), near.real(y, -0.5)), found)
        if based is _in_twos:
            found = gap.is_(0.0).real(top + 1.0, found)     # exactly
        return nan.real(x + y, found), {"invalid": nan, "over": over}

    return fast, rare


def known(on: Lanes, found: Real, x: Real, y: Real) -> tuple[Real, Mask, Raised]:
    """Of nothing and a number, and of what is no number."""
    nan, (top, other) = x.nan() | y.nan(), _larger(x, y)
    nothing = other.is_(-INF) & (top > -INF)
    return nan.real(x + y, nothing.real(top + 0.0, found)), nan | nothing, {"invalid": nan}


logaddexp, logaddexp_rare = _family(_natural, _same, _same, _tiny, _remainder)
logaddexp2, logaddexp2_rare = _family(_binary, _in_twos_briefly, _in_twos, _tiny_binary, _remainder2)
