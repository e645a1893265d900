"""hypot: the squares as sums of two, so that only the root rounds; float32 in float64, where they are exact.
cbrt: x = 2**k (1 + r) / c, by sixteenths of octaves, with tables of numbers of 26 bits, near the roots of 1/c
and of 1, 2 and 4, whose cubes' inverses c is made of."""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.arithmetic import cut, ordered, remains, series
from lazyarr.codegen.mathlib.exponential import INF
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

_FAR = 600
"""Exponent by which numbers out of the middle range are moved into it."""


def _square(a: Real) -> tuple[Real, Real]:
    """a * a: that of its upper half, exactly, and what is left, all but."""
    upper, lower = cut(a)
    return upper * upper, lower * (a + upper)


def _length(a: Real, b: Real) -> tuple[Real, Real]:
    """sqrt(a * a + b * b), |a| >= |b|, and the sum of the squares."""
    (one, one_low), (two, two_low) = _square(a), _square(b)
    high, low = ordered(one, two)
    square = high + (low + (one_low + two_low))
    return square.sqrt(), square


def _sorted(x: Real, y: Real) -> tuple[Real, Real]:
    x, y = abs(x), abs(y)
    swap = x < y
    return swap.real(y, x), swap.real(x, y)


def hypot(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
    found, square = _length(*_sorted(x, y))
    least, most = on.real(2.0**-850).bits, on.real(2.0**900).bits
    return found, (square.bits - least).at_least(most - least)


def hypot_rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
    """Scaled; an infinity is further away than any NaN."""
    a, b = _sorted(x, y)
    large = a > 1.0
    scale = large.real(2.0**-_FAR, 2.0**_FAR)
    found, _ = _length(a * scale, b * scale)
    found = found * large.real(2.0**_FAR, 2.0**-_FAR)
    infinite = abs(x).is_(INF) | abs(y).is_(INF)
    over = found.is_(INF) & ~infinite
    return infinite.real(INF, (x + y).nan().real(x + y, found)), {"over": over}


def hypot_f(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
    """In float64, where squares of float32 are exact."""
    square = x.times(x, y * y)
    return square.sqrt(), square.outside(2.0**250)


def hypot_f_rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
    found = x.times(x, y * y).sqrt()
    infinite = abs(x).is_(INF) | abs(y).is_(INF)
    over = (found >= (2.0 - 2.0**-24) * 2.0**127) & ~infinite
    return infinite.real(INF, found), {"over": over}


def _third(x: Real) -> Real:
    """The cube root of the size of a normal number."""
    on = x.on
    c, root = look_up(x.bits >> on.p.mantissa - 4, on.table("CBRT_INVERSE"), on.table("CBRT"))
    exponent = (x if on.full else abs(x)).floor_log2()
    thirds = exponent.times(1 / 3, on.p.magic / 8).bits       # the nearest eighth, rounded or not
    two, inverse = look_up(thirds, on.table("CBRT_TWO"), on.table("CBRT_TWO_INVERSE"))
    r = remains(x.fraction(), c * inverse, -1.0)
    s = root * two      # exactly
    y = s + s * r * series(r, on.table("CBRT_TAIL"))
    return (y.bits + ((thirds << on.p.mantissa - 3) & on.p.exponent)).real


def cbrt(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _third(x).signed(x), x.odd(either=True)


def rare(third: Callable[[Real], Real]) -> Callable[[Lanes, Real], tuple[Real, Raised]]:
    def function(on: Lanes, x: Real) -> tuple[Real, Raised]:
        """Of subnormal numbers; all others are their own roots."""
        shift = on.p.mantissa // 3 * 3 + 3
        y = third(abs(x) * 2.0**shift) * 2.0 ** (-shift // 3)
        return (abs(x) < on.p.least).real((x.is_(0.0)).real(x, y.signed(x)), x), {}

    return function


cbrt_rare = rare(_third)


def cbrt_known(on: Lanes, found: Real, x: Real) -> tuple[Real, Mask, Raised]:
    """Zeros and infinities are their own roots."""
    held = x.is_(0.0) | abs(x).is_(INF)
    return held.real(x, found), held, {}
