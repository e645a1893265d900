"""arcsin, arccos in float32: as `inverse`, of a square root that is rounded.

Its half of a last place is all that these results are off by beyond their own rounding, and twice as much
work would find it.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma, ordered
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real


def _parts(size: Real) -> tuple[Mask, Real, Real]:
    """Is it above 1/2; then sqrt((1 - x) / 2), else x; and arcsin(s) / s - 1 of that."""
    large = size > 0.5
    z = large.real(size.times(-0.5, 0.5), size * size)
    return large, large.real(z.sqrt(), size), z * chain(z, size.on.table("ASIN_TAIL"))


def arcsin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    large, side, bend = _parts(size)
    more = side * bend
    high, low = on.table("HALF_PI")
    top, left = ordered(on.real(high), -2.0 * side)
    far = top + (left + more.times(-2.0, low))
    return large.real(far, side + more).signed(x), size.outside(1.0000001)


def arccos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """pi - 2 arcsin(s) for x near -1, 2 arcsin(s) near 1, else pi/2 - arcsin(x): base + side."""
    size = abs(x)
    large, root, bend = _parts(size)
    high, low = on.table("HALF_PI")
    base = large.real((x < 0.0).real(2.0 * high, 0.0), high)
    side = (root * large.real(2.0, -1.0)).times_sign(x)
    top, left = ordered(base, side)
    return top + (left + fma(side, bend, base * (low / high))), size.outside(1.0000001)
