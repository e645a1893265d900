"""arcsin, arccos in float32: as `inverse`, of a square root whose rounding is known.

What rounding left off the root is what its square lacks, over twice the root.  arcsin takes the root from
pi/2, so that a constant does for 1/2 over the root: right for roots near 1, whose last place is the result's.
arccos has results as small as roots, and takes it from the root's bits.

The root is taken of all numbers, not of the chosen square: that waits for a comparison.
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
    bend: Real
    """arcsin(s) / s - 1, where s = sqrt((1 - x) / 2) of large x, else x."""
    root: Real
    """2 s, if x is large."""
    square: Real
    """Then what it is the root of."""


def _parts(size: Real) -> _Parts:
    """By (2 s)**2, so that the root is the double one."""
    double = size + size
    near, far = double * double, 2.0 - double
    square = (far < near).real(far, near)       # the lesser one: for large x
    bend = square * chain(square, size.on.table("ASIN_OF_DOUBLE"), reach=1.0)
    return _Parts(size > 0.5, bend, far.sqrt(), far)


def arcsin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    p = _parts(size)
    high, low = on.table("HALF_PI")
    top = high - p.root
    left = (high - top) - p.root
    lacks = fma(remains(-p.root, p.root, p.square), -_HALVED, left + low)
    far = top + fma(-p.root, p.bend, lacks)
    return p.large.real(far, size + size * p.bend).signed(x), size.outside(1.0000001)


def arccos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """pi - 2 arcsin(s) for x near -1, 2 arcsin(s) near 1, else pi/2 - arcsin(x): base + side."""
    size = abs(x)
    p = _parts(size)
    high, low = on.table("HALF_PI")
    side = p.large.real(p.root, -size).times_sign(x)
    base = p.large.real(high - on.real(high).signed(x), high)
    rest = p.large.real(remains(-p.root, p.root, p.square), 0.0)
    halved = (on.bits(_HALF_INVERSE) - side.bits).real
    top, left = ordered(base, side)
    more = side * p.bend + (rest * halved + base * (low / high))
    return top + (left + more), size.outside(1.0000001)
