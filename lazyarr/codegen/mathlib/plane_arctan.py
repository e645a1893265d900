"""arctan and arctanh of complex numbers:

    arctanh(x + iy) = log1p(4 x / ((1 - x)**2 + y**2)) / 4 + i arctan2(2 y, (1 - x) (1 + x) - y**2) / 2

for parts without signs.  arctan is arctanh with the parts changed.
"""

from __future__ import annotations

from math import pi

from lazyarr.codegen.mathlib import tables as t
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.codegen.mathlib.number import Number, number
from lazyarr.codegen.mathlib.plane_inverse import LARGE, SMALL, UP, log1p_of
from lazyarr.codegen.mathlib.plane_logarithm import direction, log_length
from lazyarr.codegen.mathlib.plane_rules import Kind, Pair, Special, beyond, rows
from lazyarr.records import dataclass


def _parts(kind: Kind, a: Real, b: Real) -> tuple[Number, Number, Mask]:
    """Without signs; and where z is 1."""
    x, y = number(a, kind.twice), number(b, kind.twice)
    left, square = 1.0 - x, y.square
    divisor = left.square + square
    re = 0.25 * log1p_of(kind, 4.0 * x / divisor)
    im = 0.5 * direction(2.0 * y, left * (x + 1.0) - square)
    return re, im, divisor.high.is_(0.0)


def _all(kind: Kind, on: Lanes, a: Real, b: Real) -> Pair:
    low_x, low_y, far = a < SMALL, b < SMALL, a.outside(LARGE) | b.outside(LARGE)
    pole = a.is_(1.0) & low_y
    apart = far | pole
    parts = _parts(kind, apart.real(2.0, low_x.real(0.0, a)), apart.real(1.0, low_y.real(0.0, b)))
    re, im = parts[0].rounded, parts[1].rounded
    re = low_x.real((a * UP) / (number(b, kind.twice).square + 1.0).rounded * (1.0 / UP), re)
    im = (low_y & (a < 1.0)).real((b * UP) / ((1.0 - a) * (1.0 + a)) * (1.0 / UP), im)
    swap = a < b
    most, least = swap.real(b, a), swap.real(a, b)
    slope = least / most
    re = far.real(a / most / (1.0 + slope * slope) / most, re)
    im = far.real(pi / 2, im)
    log2 = on.real(t.LOG2_STEPS[0]), on.real(t.LOG2_STEPS[1])
    near = 0.5 * (number(log2, kind.twice) - log_length(kind, on, on.real(0.0), b))
    re = pole.real(b.is_(0.0).real(INF, near.rounded), re)
    return re, pole.real(b.is_(0.0).real(0.0, pi / 4), im)


@dataclass(frozen=True, slots=True)
class _Arc:
    turned: bool
    """arctan?"""

    def _signed(self, parts: Pair, x: Real, y: Real) -> Pair:
        re, im = reversed(parts) if self.turned else parts
        return re.signed(x), im.signed(y)

    def fast(self, kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        re, im, lost = _parts(kind, abs(y if self.turned else x), abs(x if self.turned else y))
        special = beyond(x, SMALL, LARGE) | beyond(y, SMALL, LARGE) | lost
        return self._signed((re.rounded, im.rounded), x, y), special

    def rare(self, kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
        sizes = (abs(y), abs(x)) if self.turned else (abs(x), abs(y))
        return self._signed(_all(kind, on, *sizes), x, y)

    def flags(self, x: Real, y: Real) -> Raised:
        a, b = (y, x) if self.turned else (x, y)
        return {"divide": abs(a).is_(1.0) & b.is_(0.0)}


_ARCTANH = Special({
    "0 inf": (0.0, pi / 2), "1 inf": (0.0, pi / 2), "inf 0": (0.0, pi / 2), "inf 1": (0.0, pi / 2),
    "inf inf": (0.0, pi / 2), "0 nan": (0.0, NAN), "inf nan": (0.0, NAN), "nan inf": (0.0, pi / 2),
})  # fmt: skip


def _rows(of: _Arc, special: Special) -> dict[str, Function]:
    return rows(of.fast, of.rare, special, of.flags)


FUNCTIONS: dict[str, dict[str, Function]] = {
    "arctan": _rows(_Arc(True), _ARCTANH.turned(True)),
    "arctanh": _rows(_Arc(False), _ARCTANH),
}
