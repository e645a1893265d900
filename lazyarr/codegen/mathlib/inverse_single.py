"""arcsin, arccos in float32: as `inverse`, of a square root whose rounding is known.

What rounding left off the root is what its square lacks, over twice the root.  arcsin takes the root from
pi/2, so that a constant does for 1/2 over the root: right for roots near 1, whose last place is the result's.
arccos has results as small as roots, and takes it from the root's bits.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma, ordered, remains
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real
from lazyarr.records import dataclass

_HALVED = 0.55
"""1/2 over a root from 1/2 to 1, all but."""
_HALF_INVERSE = 0x7E7311C7
"""Less a number's bits: those of half its reciprocal, within 6 %."""


@dataclass(frozen=True, slots=True)
class _Parts:
    large: Mask
    """Is x above 1/2?"""
    side: Real
    """Then 2 s, s = sqrt((1 - x) / 2), else s = x."""
    bend: Real
    """arcsin(s) / s - 1."""
    root: Real
    rest: Real
    """What (2 s)**2 has beyond the square of its root."""


def _parts(size: Real) -> _Parts:
    """By (2 s)**2, so that the root is the double one."""
    large, double = size > 0.5, size + size
    square = double.times(large.real(-1.0, double), large.real(2.0, 0.0))
    root = square.sqrt()
    bend = square * chain(square, size.on.table("ASIN_OF_DOUBLE"))
    return _Parts(large, large.real(root, size), bend, root, remains(-root, root, square))


def arcsin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    p = _parts(size)
    side = p.large.real(-p.side, p.side)
    high, low = on.table("HALF_PI")
    top, left = ordered(p.large.real(high, 0.0), side)
    low = p.large.real(fma(p.rest, -_HALVED, on.real(low)), 0.0)
    return (top + (left + fma(side, p.bend, low))).signed(x), size.outside(1.0000001)


def arccos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """pi - 2 arcsin(s) for x near -1, 2 arcsin(s) near 1, else pi/2 - arcsin(x): base + side.

    Near -1 the root's rounding does not count."""
    size, turned = abs(x), x.bits.shifted(8 * on.p.size - 1)
    p = _parts(size)
    side = p.large.real(p.side, -p.side).times_sign(x)
    high, low = on.table("HALF_PI")
    base = p.large.real((turned & on.real(2.0 * high).bits).real, high)
    halved = (on.bits(_HALF_INVERSE) - p.root.bits).real
    low = p.large.real(x.bits.negative().real(2.0 * low, p.rest * halved), low)
    top, left = ordered(base, side)
    return top + (left + fma(side, p.bend, low)), size.outside(1.0000001)
