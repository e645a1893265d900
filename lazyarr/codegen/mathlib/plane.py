"""Complex numbers: absolute, sqrt and exp, each number as two; complex64 goes through float64.

Roots and products are taken of sums, so that each part is rounded once, all but.  Special values are C's
(Annex G), and NumPy's where that leaves a choice.  NumPy's own absolute of complex64 is the faster one.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import circular, roots
from lazyarr.codegen.mathlib.arithmetic import Sum, fma, ordered, product, times, total
from lazyarr.codegen.mathlib.exponential import INF, NAN, clamped, scaled, steps, tail
from lazyarr.codegen.mathlib.lanes import DOUBLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.codegen.mathlib.payne_hanek import reduce_text

Pair = tuple[Real, Real]

_TINY, _LARGE = 2.0**-400, 2.0**400
"""Between these squares are normal numbers."""
_FAR = 600
"""Exponent by which other numbers are moved."""


def _root(a: Real, b: Real) -> Sum:
    """The root of (a + |a + ib|) / 2, whose second number rounding left off."""
    swap = a < b
    m, n = swap.real(b, a), swap.real(a, b)
    one, one_low = product(m, m)
    two, two_low = product(n, n)
    high, low = ordered(one, two)
    length = high.sqrt()
    left = (fma(-length, length, high) + (low + (one_low + two_low))) / (length + length)
    whole, rest = total(a, length)
    half = 0.5 * whole
    root = half.sqrt()
    return root, (fma(-root, root, half) + 0.5 * (rest + left)) / (root + root)


def _over(b: Real, root: Sum) -> Real:
    """b over twice a root."""
    high, low = root[0] + root[0], root[1] + root[1]
    q = b / high
    return q + fma(-q, low, fma(-q, high, b)) / high


def _sided(x: Real, y: Real, root: Real, other: Real) -> Pair:
    """The root lies to the right, on y's side."""
    left = x.bits.negative()
    return left.real(other, root), left.real(root, other).signed(y)


class Root:
    """sqrt of a dtype, whose least normal number is given."""

    def __init__(self, least: float) -> None:
        self.least = least

    def fast(self, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        a, b = abs(x), abs(y)
        root = _root(a, b)
        other = _over(b, root)
        most = (a > b).real(a, b)
        special = (most < _TINY) | most.outside(_LARGE) | x.nan() | y.nan()
        special = special | ((other < self.least * 2.0) & ~b.is_(0.0))
        return _sided(x, y, root[0] + root[1], other), special

    def rare(self, on: Lanes, x: Real, y: Real) -> tuple[Pair, Raised]:
        a, b = abs(x), abs(y)
        most = (a > b).real(a, b)
        large, tiny = most > _LARGE, most < _TINY
        scale = large.real(2.0**-_FAR, tiny.real(2.0**_FAR, 1.0))
        back = large.real(2.0 ** (_FAR // 2), tiny.real(2.0 ** (-_FAR // 2), 1.0))
        high, low = _root(a * scale, b * scale)
        root = high * back, low * back
        other = _over(b, root)
        re, im = _sided(x, y, root[0] + root[1], other)
        zero, nan = most.is_(0.0), x.nan() | y.nan()
        re, im = zero.real(0.0, re), zero.real(y, im)
        re, im = nan.real(NAN, re), nan.real(NAN, im)
        right = x.is_(INF)
        re, im = right.real(INF, re), right.real(y.nan().real(y, on.real(0.0).signed(y)), im)
        left = x.is_(-INF)
        re, im = left.real(y.nan().real(y, 0.0), re), left.real(on.real(INF).signed(y), im)
        up = b.is_(INF)
        usual = (a < INF) & (b < INF) & ~zero & ~b.is_(0.0)
        return (up.real(INF, re), up.real(y, im)), {"under": usual & (other < self.least)}


def _wave(rest: circular.Remainder) -> tuple[Sum, Sum]:
    """Cosine and sine."""
    r, low, quarters = rest
    z = r * r
    cosine, sine = circular.cosine_sum(r, low, z), (r, circular.sine_beyond(r, low, z))
    swap = (quarters & 1).differs(0)

    def turned(one: Sum, two: Sum, quarter: int) -> Sum:
        sign = ((quarters + quarter) & 2) << 62
        high, low = swap.real(two[0], one[0]), swap.real(two[1], one[1])
        return (high.bits ^ sign).real, (low.bits ^ sign).real

    return turned(cosine, sine, 1), turned(sine, cosine, 0)


class Exponential:
    """exp of a dtype: up to where its parts are normal numbers for certain; least and largest ones."""

    def __init__(self, normal: float, least: float, largest: float) -> None:
        self.normal, self.least, self.largest = normal, least, largest

    def fast(self, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        k, r = steps(x)
        s, low = scaled(k)
        size = ordered(s, s * tail(r, low))
        cosine, sine = (sum_of(times(size, part)) for part in _wave(circular.remainder(y)))
        special = abs(x).outside(self.normal) | abs(y).outside(circular.LIMIT)
        return (cosine, y.is_(0.0).real(y, sine)), special

    def rare(self, on: Lanes, x: Real, y: Real) -> tuple[Pair, Raised]:
        k, r = steps(clamped(x, -850.0, 850.0))
        unit, low = scaled(k & 15)
        size = ordered(unit, unit * tail(r, low))
        biased = ((k + (2048 << 4)) & 0xFFFF) >> 4
        first = biased >> 1
        one, two = on.power_of_two(first - 1024), on.power_of_two(biased - first - 1024)
        far = abs(y).outside(circular.LIMIT)
        near, away = circular.remainder(y), circular.far_remainder(on, y)
        angle = far.real(away[0], near[0]), far.real(away[1], near[1]), far.bits(away[2], near[2])
        waves = _wave(angle)
        parts = [sum_of(times(size, part)) * one * two for part in waves]
        re, im = parts[0], y.is_(0.0).real(y, parts[1])
        flat, endless = abs(y) < INF, abs(x).is_(INF)
        usual = (abs(x) < INF) & flat
        over = abs(re).outside(self.largest) | abs(im).outside(self.largest)
        under = (abs(re) < self.least) | ((abs(im) < self.least) & ~y.is_(0.0))
        end = (x > 0.0).real(INF, 0.0)
        signs = [flat.real(end.signed(part[0]), end) for part in waves]
        re = endless.real(signs[0], re)
        side = (x > 0.0).real(NAN, on.real(0.0).signed(y))
        im = endless.real(flat.real(signs[1], side), im)
        lost = x.nan() | (~flat & ~endless)
        re, im = lost.real(NAN, re), lost.real(NAN, im)
        im = (y.is_(0.0) & ~usual).real(y, im)
        invalid = (~flat & (abs(x) < INF)) | (x.is_(INF) & abs(y).is_(INF))
        invalid = invalid | (x.nan() & ~y.is_(0.0) & ~y.nan())
        return (re, im), {"over": usual & over, "under": usual & under, "invalid": invalid}


def sum_of(parts: Sum) -> Real:
    return parts[0] + parts[1]


_EXP = Exponential(650.0, DOUBLE.least, INF)
_EXP_F = Exponential(80.0, 2.0**-126, (2.0 - 2.0**-24) * 2.0**127)
_SQRT, _SQRT_F = Root(DOUBLE.least), Root(2.0**-126)

FUNCTIONS: dict[str, dict[str, Function]] = {
    "absolute": {"D": Function(1, DOUBLE, roots.hypot, roots.hypot_rare)},
    "sqrt": {
        "D": Function(1, DOUBLE, _SQRT.fast, _SQRT.rare),
        "F": Function(1, DOUBLE, _SQRT_F.fast, _SQRT_F.rare),
    },
    "exp": {
        "D": Function(1, DOUBLE, _EXP.fast, _EXP.rare, reduce_text),
        "F": Function(1, DOUBLE, _EXP_F.fast, _EXP_F.rare, reduce_text),
    },
}
