"""logaddexp, logaddexp2: log(e**x + e**y) = x + log(1 + e**(y - x)), x >= y.

All of it is in sums of two numbers, as x may cancel the logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

from lazyarr.codegen.mathlib.arithmetic import Sum, fma, ordered, product, total
from lazyarr.codegen.mathlib.exponential import (
    ENDS,
    INF,
    clamped,
    gradual,
    scaled,
    steps,
    steps2,
    tail,
    tail2,
)
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.power import log_sum

_NEAR = {DOUBLE: 600.0, SINGLE: 80.0}
"""Differences up to which the exponential is a normal number, and so are its parts."""


_FAR = 2.0**100
"""From here on a logarithm of 2 at most changes nothing."""
LN2 = log(2.0)


def _larger(x: Real, y: Real) -> tuple[Real, Real]:
    swap = x < y
    return swap.real(y, x), swap.real(x, y)


def _natural(gap: Real, low: Real) -> Sum:
    k, r = steps(gap)
    s, s_low = scaled(k)
    return ordered(s, s * tail(r, s_low + low))


def _binary(gap: Real, low: Real) -> Sum:
    k, r = steps2(gap)
    s, s_low = scaled(k)
    return ordered(s, s * tail2(r, fma(low, LN2, s_low)))


def _in_twos(log: Sum) -> Sum:
    high, low = log[0].on.table("LOG2_SCALE")
    main, rest = product(log[0], high)
    return main, fma(log[0], low, fma(log[1], high, rest))


def _same(log: Sum) -> Sum:
    return log


def _tiny(gap: Real) -> Real:
    k, r = steps(clamped(gap, *ENDS["exp"][gap.on.p]))
    return gradual(k, lambda low: tail(r, low))


def _tiny_binary(gap: Real) -> Real:
    k, r = steps2(clamped(gap, *ENDS["exp2"][gap.on.p]))
    scale: float = gap.on.table("LOG2_SCALE")[0]
    return gradual(k, lambda low: tail2(r, low)) * scale


def _family(
    exponential: Callable[[Real, Real], Sum], based: Callable[[Sum], Sum], tiny: Callable[[Real], Real]
) -> tuple[Callable[..., tuple[Real, Mask]], Callable[..., tuple[Real, Raised]]]:
    def fast(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
        top, other = _larger(x, y)
        gap, gap_low = total(other, -top)
        e, e_low = exponential(gap, gap_low)
        whole, left = ordered(on.real(1.0), e)
        high, low = based(log_sum(whole, left + e_low))
        found, rest = total(top, high)
        return found + (rest + low), ~(gap > -_NEAR[on.p]) | abs(top).outside(_FAR)

    def rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
        """Far apart the logarithm is the exponential itself; equal infinities have no difference."""
        top, other = _larger(x, y)
        gap = other - top
        found, nan = top + tiny(gap.nan().real(0.0, gap)), x.nan() | y.nan()
        over = gap.is_(-INF) & (abs(top) < INF) & (abs(other) < INF)
        return nan.real(x + y, found), {"invalid": nan, "over": over}

    return fast, rare


logaddexp, logaddexp_rare = _family(_natural, _same, _tiny)
logaddexp2, logaddexp2_rare = _family(_binary, _in_twos, _tiny_binary)
