"""arcsin, arccos, arcsinh, arccosh of complex numbers, after Hull, Fairgrieve and Tang, without cancellation.

With r = |z + 1|, s = |z - 1|, a = (r + s) / 2, for parts x, y without signs:

    arcsin(z) = arctan2(x, sqrt((a - x) (a + x))) + i log1p(w),    w = a - 1 + sqrt((a - 1) (a + 1))
    2 (a - 1) = (r - (x + 1)) + (s - (1 - x)) for x <= 1, of which each is y**2 over a sum; and so on
"""

from __future__ import annotations

from math import pi

from lazyarr.codegen.mathlib import tables as t
from lazyarr.codegen.mathlib.arithmetic import total
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.codegen.mathlib.number import Number, choose, number
from lazyarr.codegen.mathlib.plane_logarithm import angle_of, direction, log_length, log_of
from lazyarr.codegen.mathlib.plane_rules import FORMULA, Kind, Pair, Special, beyond, rows
from lazyarr.records import dataclass

SMALL, LARGE = 2.0**-300, 2.0**200
"""Between these squares, and products of four parts, are normal numbers."""
UP = 2.0**600
"""By which smaller numbers are moved for a quotient."""


def log1p_of(kind: Kind, w: Number) -> Number:
    """log(1 + w) of what is not negative."""
    whole, low = total(w.high.on.real(1.0), w.high)
    return log_of(kind, (whole, low if w.low is None else low + w.low))


@dataclass(frozen=True, slots=True)
class _Parts:
    x: Number
    side: Number
    """sqrt((a - x) (a + x))."""
    height: Number
    """log1p(w)."""
    lost: Mask
    """Where z is 1."""


def _parts(kind: Kind, a: Real, b: Real) -> _Parts:
    x, square = number(a, kind.twice), number(b, kind.twice).square
    right, off = x + 1.0, x - 1.0
    left = Number(abs(off.high), None if off.low is None else off.low.times_sign(off.high), kind.twice)
    r, s = (right.square + square).sqrt(), (left.square + square).sqrt()
    reach = s + left
    above, rest = square / (r + right), square / reach
    inside = a <= 1.0
    less_one = 0.5 * (above + choose(inside, rest, reach))
    less_x = 0.5 * (above + choose(inside, reach, rest))
    w = less_one + (less_one * (less_one + 2.0)).sqrt()
    side = (less_x * (less_x + 2.0 * x)).sqrt()
    return _Parts(x, side, log1p_of(kind, w), reach.high.is_(0.0))


def _usual(kind: Kind, x: Real, y: Real) -> tuple[_Parts, Mask]:
    p = _parts(kind, abs(x), abs(y))
    return p, beyond(x, SMALL, LARGE) | beyond(y, SMALL, LARGE) | p.lost


def _sine_and_height(kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
    """Of arcsin, without signs."""
    p, special = _usual(kind, x, y)
    return (direction(p.x, p.side).rounded, p.height.rounded), special


def _cosine_and_height(kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
    """Of arccos, without signs."""
    p, special = _usual(kind, x, y)
    return (direction(p.side, number(x, kind.twice)).rounded, p.height.rounded), special


def _all(kind: Kind, on: Lanes, x: Real, y: Real, sine: bool) -> Pair:
    """The same of all finite numbers.

    Next to the axes parts are proportional to what is left to them; far off z is its own square root."""
    a, b = abs(x), abs(y)
    low_x, low_y, far = a < SMALL, b < SMALL, a.outside(LARGE) | b.outside(LARGE)
    pole = a.is_(1.0) & low_y
    apart = far | pole
    held = _parts(kind, apart.real(2.0, low_x.real(0.0, a)), apart.real(1.0, low_y.real(0.0, b)))
    level = ((1.0 - a) * (1.0 + a)).sqrt()
    beyond_one = ((a - 1.0) * (a + 1.0)).sqrt()
    inside = a < 1.0
    ratio = ((b * UP) / inside.real(level, beyond_one)) * (1.0 / UP)
    root = b.sqrt()
    log2 = on.real(t.LOG2_STEPS[0]), on.real(t.LOG2_STEPS[1])
    height = (low_y & inside).real(ratio, held.height.rounded)
    twice = log_length(kind, on, a, b) + number(log2, kind.twice)
    height = pole.real(root, far.real(twice.rounded, height))
    if sine:
        width = direction(held.x, held.side).rounded
        slope = ((a * UP) / (number(b, kind.twice).square + 1.0).sqrt().rounded) * (1.0 / UP)
        width = low_x.real(slope, width)
        return far.real(angle_of(on, a, b), pole.real(angle_of(on, on.real(1.0), root), width)), height
    width = direction(held.side, number(apart.real(1.0, x), kind.twice)).rounded
    width = (low_y & (x > 1.0)).real(ratio, width)
    return far.real(angle_of(on, b, x), pole.real(angle_of(on, root, x), width)), height


@dataclass(frozen=True, slots=True)
class _Arc:
    turned: bool
    """arcsinh, arccosh?"""
    sine: bool

    def _signed(self, parts: Pair, x: Real, y: Real) -> Pair:
        width, height = parts
        if self.sine:
            return (height.signed(x), width.signed(y)) if self.turned else (width.signed(x), height.signed(y))
        return (height, width.signed(y)) if self.turned else (width, height.signed(-y))

    def fast(self, kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        a, b = (y, x) if self.turned and self.sine else (x, y)
        parts, special = (_sine_and_height if self.sine else _cosine_and_height)(kind, on, a, b)
        return self._signed(parts, x, y), special

    def rare(self, kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
        a, b = (y, x) if self.turned and self.sine else (x, y)
        return self._signed(_all(kind, on, a, b, self.sine), x, y)


_ARCSINH = Special({
    "0 inf": (INF, pi / 2), "1 inf": (INF, pi / 2), "inf 0": (INF, 0.0), "inf 1": (INF, 0.0),
    "inf inf": (INF, pi / 4), "inf nan": (INF, NAN), "nan 0": (NAN, 0.0), "nan inf": (INF, NAN),
})  # fmt: skip
_ARCCOS = {
    "0 nan": (pi / 2, NAN), "0 inf": (pi / 2, INF), "1 inf": (pi / 2, INF), "inf 0": (FORMULA, INF),
    "inf 1": (FORMULA, INF), "inf inf": (FORMULA, INF), "inf nan": (NAN, INF), "nan inf": (NAN, INF),
}  # fmt: skip
_ARCCOSH = {key: row[::-1] for key, row in _ARCCOS.items()}


def _rows(of: _Arc, special: Special) -> dict[str, Function]:
    return rows(of.fast, of.rare, special)


FUNCTIONS: dict[str, dict[str, Function]] = {
    "arcsin": _rows(_Arc(False, True), _ARCSINH.turned(True)),
    "arccos": _rows(_Arc(False, False), Special(_ARCCOS, signs="+-")),
    "arcsinh": _rows(_Arc(True, True), _ARCSINH),
    "arccosh": _rows(_Arc(True, False), Special(_ARCCOSH, signs="+y")),
}
