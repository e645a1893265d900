"""log, log2, log10, log1p of complex numbers: the logarithm of the squared length, halved, and the angle.

The square is taken exactly, all but: next to the circle of length 1 what it has beyond 1 counts.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import tables as t
from lazyarr.codegen.mathlib.arithmetic import Sum, ordered, product, total
from lazyarr.codegen.mathlib.direction import angle, arctan2_rare
from lazyarr.codegen.mathlib.exponential import INF
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.logarithm import of_whole
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.codegen.mathlib.number import Number, choose, number
from lazyarr.codegen.mathlib.plane_rules import CLASSES, FORMULA, Kind, Pair, Special, beyond, rows
from lazyarr.codegen.mathlib.power import log_sum

TINY, SMALL, LARGE = 2.0**-480, 2.0**-400, 2.0**400
"""From the first on squares can be taken exactly; between the others a length's square is a usual number."""
_FAR = 600
"""Exponent by which other numbers are moved."""


def square_sum(x: Real, y: Real, kind: Kind) -> Sum:
    """x * x + y * y, so precisely that 1 may be taken from it."""
    a, b = abs(x), abs(y)
    swap = a < b
    m, n = swap.real(b, a), swap.real(a, b)
    if not kind.twice:
        return ordered(m * m, n * n)
    (one, one_low), (two, two_low) = product(m, m), product(n, n)
    high, low = ordered(one, two)
    rest, least = total(one_low, two_low)
    rest, more = total(low, rest)
    rest, least = total(rest, more + least)
    high, low = ordered(high, rest)
    return high, low + least


def log_of(kind: Kind, parts: Sum, shift: Real | None = None) -> Number:
    """log(parts) - shift log(2), of positive normal numbers."""
    if kind.twice or shift is not None:
        return number(log_sum(*parts, shift), kind.twice)
    return number(of_whole(*parts), False)


def direction(y: Number, x: Number) -> Number:
    """arctan2(y, x), for what `angle` takes."""
    found = angle(y.high, x.high)
    if y.low is not None or x.low is not None:
        turn = y.high.on.real(0.0)
        if y.low is not None:
            turn = x.high * y.low
        if x.low is not None:
            turn = turn - y.high * x.low
        found = found[0], found[1] + turn / (x.high * x.high + y.high * y.high)
    return number(found, y.twice)


def angle_of(on: Lanes, y: Real, x: Real) -> Real:
    """arctan2 of all numbers."""
    return arctan2_rare(on, y, x)[0]


def log_length(kind: Kind, on: Lanes, x: Real, y: Real) -> Number:
    """The logarithm of the length, of all finite numbers but 0."""
    a, b = abs(x), abs(y)
    swap = a < b
    most, least = swap.real(b, a), swap.real(a, b)
    up, down = most < SMALL, most >= LARGE
    scale = up.real(2.0**_FAR, down.real(2.0**-_FAR, 1.0))
    shift = up.real(2.0 * _FAR, down.real(-2.0 * _FAR, 0.0))
    far = least < most * 2.0**-200
    parts = square_sum(most * scale, far.real(0.0, least * scale), kind)
    found = 0.5 * log_of(kind, parts, shift)
    circle = number(least * least * 0.5, kind.twice)
    return choose(far & most.is_(1.0), circle, found)


def _scaled(x: Number, scale: tuple[float, ...] | None) -> Real:
    if scale is None:
        return x.rounded
    on = x.high.on
    return (x * number((on.real(scale[0]), on.real(scale[1])), x.twice)).rounded


def _log(scale: tuple[float, ...] | None) -> dict[str, Function]:
    def fast(kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        parts = square_sum(x, y, kind)
        re = 0.5 * log_of(kind, parts)
        im = number(angle(y, x), kind.twice)
        outside = beyond(x, TINY, LARGE) | beyond(y, TINY, LARGE) | parts[0].outside(LARGE * LARGE)
        return (_scaled(re, scale), _scaled(im, scale).signed(y)), outside | (parts[0] < SMALL * SMALL)

    def rare(kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
        re = log_length(kind, on, x, y)
        turn, pole = angle_of(on, y, x), x.is_(0.0) & y.is_(0.0)
        flat = turn * scale[0] if scale else turn
        im = (abs(turn) < SMALL).real(flat, _scaled(number(turn, kind.twice), scale))
        return pole.real(-INF, _scaled(re, scale)), im.signed(y)

    return rows(fast, rare, _ENDLESS, _pole)


def _pole(x: Real, y: Real) -> Raised:
    return {"divide": x.is_(0.0) & y.is_(0.0)}


_ENDLESS = Special(
    {f"{x} {y}": (INF, FORMULA) for x in CLASSES for y in CLASSES if "inf" in (x, y)}, signs="+y"
)


def _beyond_one(kind: Kind, x: Real, y: Real, squared: Pair) -> tuple[Sum, Number]:
    """|1 + z| squared, and 1 + x; what is too small for its square to matter is 0 in `squared`."""
    one, (a, b) = x.on.real(1.0), squared
    u, u_low = total(one, x)
    near, near_low = square_sum(u, b, kind)
    near_low = near_low + 2.0 * (u * u_low)
    (p, *terms), (q, *more) = (product(a, a), product(b, b)) if kind.twice else ((a * a,), (b * b,))
    s, left = total(2.0 * x, q)
    for term in (p, *more, *terms):
        s, rest = total(s, term)
        left = left + rest
    far, far_low = total(one, s)
    left_of = x < -0.5
    parts = ordered(left_of.real(near, far), left_of.real(near_low, far_low + left))
    return parts, number((u, u_low), kind.twice)


def _log1p_fast(kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
    parts, whole = _beyond_one(kind, x, y, (x, y))
    re, im = 0.5 * log_of(kind, parts), direction(number(y, kind.twice), whole)
    outside = beyond(x, TINY, LARGE) | beyond(y, TINY, LARGE)
    return (re.rounded, im.rounded.signed(y)), outside | whole.high.is_(0.0)


def _log1p_rare(kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
    pole, low_x, low_y = x.is_(-1.0), abs(x) < TINY, abs(y) < TINY
    apart = pole | abs(x).outside(LARGE) | abs(y).outside(LARGE)
    held = apart.real(1.0, x), apart.real(1.0, y)
    squared = low_x.real(0.0, held[0]), low_y.real(0.0, held[1])
    parts, _ = _beyond_one(kind, *held, squared)
    re = (0.5 * log_of(kind, parts)).rounded
    re = (low_x & low_y).real(x + 0.5 * (y * y), re)
    re = apart.real(log_length(kind, on, pole.real(0.0, x), y).rounded, re)
    return (pole & y.is_(0.0)).real(-INF, re), angle_of(on, y, x + 1.0)


def _pole_of_log1p(x: Real, y: Real) -> Raised:
    return {"divide": x.is_(-1.0) & y.is_(0.0)}


FUNCTIONS: dict[str, dict[str, Function]] = {
    "log": _log(None),
    "log2": _log(t.LOG2_SCALE),
    "log10": _log(t.LOG10_SCALE),
    "log1p": rows(_log1p_fast, _log1p_rare, _ENDLESS, _pole_of_log1p),
}
