"""Complex numbers: absolute, sqrt and exp, each number as two; complex64 goes through float64.

Roots and products are taken of sums, so that each part is rounded once, all but.  Special values are C's
(Annex G), and NumPy's where that leaves a choice.  NumPy's own absolute of complex64 is the faster one.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import (
    plane_arctan,
    plane_circular,
    plane_exponential,
    plane_inverse,
    plane_logarithm,
    plane_power,
    roots,
)
from lazyarr.codegen.mathlib.arithmetic import Sum, fma, ordered, product, remains, total
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import DOUBLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.loop import Function

Pair = tuple[Real, Real]

_TINY, _LARGE = 2.0**-400, 2.0**400
"""Between these squares are normal numbers."""
_FAR = 600
"""Exponent by which other numbers are moved."""
_EXACT = 2.0**-960
"""Products from here on have a number for what rounding takes off."""


def _root(a: Real, b: Real) -> Sum:
    """The root of (a + |a + ib|) / 2, whose second number rounding left off."""
    swap = a < b
    m, n = swap.real(b, a), swap.real(a, b)
    one, one_low = product(m, m)
    two, two_low = product(n, n)
    high, low = ordered(one, two)
    length = high.sqrt()
    left = (remains(-length, length, high) + (low + (one_low + two_low))) / (length + length)
    whole, rest = total(a, length)
    half = 0.5 * whole
    root = half.sqrt()
    return root, (remains(-root, root, half) + 0.5 * (rest + left)) / (root + root)


def _over(b: Real, root: Sum) -> Real:
    """b over twice a root."""
    high, low = root[0] + root[0], root[1] + root[1]
    q = b / high
    return q + fma(-q, low, remains(-q, high, b)) / high


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
        special = special | (((other < self.least * 2.0) | (b < _EXACT)) & ~b.is_(0.0))
        return _sided(x, y, root[0] + root[1], other), special

    def rare(self, on: Lanes, x: Real, y: Real) -> tuple[Pair, Raised]:
        a, b = abs(x), abs(y)
        most = (a > b).real(a, b)
        large, tiny = most > _LARGE, most < _TINY
        scale = large.real(2.0**-_FAR, tiny.real(2.0**_FAR, 1.0))
        back = large.real(2.0 ** (_FAR // 2), tiny.real(2.0 ** (-_FAR // 2), 1.0))
        high, low = _root(a * scale, b * scale)
        side = b * scale
        small = side < _TINY
        lifted = small.real(large.real(b, side * 2.0**_FAR), side)
        over = _over(lifted, (high, low))
        root, other = (high * back, low * back), over * (back * small.real(2.0**-_FAR, 1.0))
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


_SQRT, _SQRT_F = Root(DOUBLE.least), Root(2.0**-126)

FUNCTIONS: dict[str, dict[str, Function]] = {
    "absolute": {"D": Function(1, DOUBLE, roots.hypot, roots.hypot_rare, registers_avx=2)},
    "sqrt": {
        "D": Function(1, DOUBLE, _SQRT.fast, _SQRT.rare, fused=False),
        "F": Function(1, DOUBLE, _SQRT_F.fast, _SQRT_F.rare, fused=False),
    },
    **plane_exponential.FUNCTIONS,
    **plane_logarithm.FUNCTIONS,
    **plane_circular.FUNCTIONS,
    **plane_inverse.FUNCTIONS,
    **plane_arctan.FUNCTIONS,
    **plane_power.FUNCTIONS,
}
