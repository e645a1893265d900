"""arcsin, arccos in float32: as `inverse`, of a square root that is rounded.

Its half of a last place is all that these results are off by beyond their own rounding, and twice as much
work would find it.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma, ordered
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real


def _parts(size: Real) -> tuple[Mask, Real, Real]:
    """Is it above 1/2; then 2 sqrt((1 - x) / 2), else x; and arcsin(s) / s - 1, s = sqrt((1 - x) / 2) or x.

    By w = 4 s**2, so that the root is the double one."""
    large, double = size > 0.5, size + size
    w = double.times(large.real(-1.0, double), large.real(2.0, 0.0))
    return large, large.real(w.sqrt(), size), w * chain(w, size.on.table("ASIN_OF_DOUBLE"))


def arcsin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    large, side, bend = _parts(size)
    side = large.real(-side, side)
    high, low = (large.real(part, 0.0) for part in on.table("HALF_PI"))
    top, left = ordered(high, side)
    return (top + (left + fma(side, bend, low))).signed(x), size.outside(1.0000001)


def arccos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """pi - 2 arcsin(s) for x near -1, 2 arcsin(s) near 1, else pi/2 - arcsin(x): base + side."""
    size, turned = abs(x), x.bits.shifted(8 * on.p.size - 1)
    large, side, bend = _parts(size)
    side = large.real(side, -side).times_sign(x)
    base, low = (
        large.real((turned & on.real(2.0 * part).bits).real, part) for part in on.table("HALF_PI")
    )
    top, left = ordered(base, side)
    return top + (left + fma(side, bend, low)), size.outside(1.0000001)
