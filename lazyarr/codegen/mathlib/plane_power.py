"""power of complex numbers: the exponential of b log(a), with sums; NumPy's cases by multiplication.

As in NumPy, integers less than 100 in size multiply, with its roundings; a**0 is 1, and 0**b is 0 or, where
b's first part is not positive, no number.  What is not finite goes C's way, by product and exponential.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from lazyarr.codegen.mathlib import circular
from lazyarr.codegen.mathlib.arithmetic import ordered
from lazyarr.codegen.mathlib.direction import angle
from lazyarr.codegen.mathlib.exponential import INF, NAN, clamped, scaled, steps, tail
from lazyarr.codegen.mathlib.lanes import DOUBLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.loop import Function, Short
from lazyarr.codegen.mathlib.number import Number, choose, number
from lazyarr.codegen.mathlib.payne_hanek import reduce_text
from lazyarr.codegen.mathlib.plane_circular import SMALL, grown, moved, small_sine
from lazyarr.codegen.mathlib.plane_exponential import E, Exponential, any_angle, near_angle, waves_of
from lazyarr.codegen.mathlib.plane_logarithm import (
    LARGE,
    TINY,
    angle_of,
    log_length,
    log_of,
    square_sum,
)
from lazyarr.codegen.mathlib.plane_rules import SHORT, WIDE, Kind, Pair, beyond

_WHOLE = 100.0
"""Integers less than that multiply."""


def _exponent(b: Pair, log: tuple[Number, Number]) -> tuple[Number, Number]:
    """b times a logarithm."""
    return log[0] * b[0] - log[1] * b[1], log[1] * b[0] + log[0] * b[1]


def _whole(b: Sequence[Real], least: float = -_WHOLE, beyond: float = _WHOLE) -> Mask:
    magic, n = DOUBLE.magic, b[0]
    return b[1].is_(0.0) & (n > least) & (n < beyond) & ((n + magic) - magic).is_(n)


def _usual(kind: Kind, on: Lanes, x: Real, y: Real, u: Real, v: Real) -> tuple[Pair, Mask]:
    parts = square_sum(x, y, kind)
    log = 0.5 * log_of(kind, parts), number(angle(y, x), kind.twice)
    grow, turn = _exponent((u, v), log)
    k, r = steps(grow.high)
    s, s_low = scaled(k)
    size = number(ordered(s, s * tail(r + grow.parts[1], s_low)), kind.twice)
    cosine, sine = waves_of(kind, turn.parts, near_angle(turn.parts))
    re, im = (size * cosine).rounded, (size * sine).rounded
    special = _whole((u, v)) | beyond(u, SMALL, LARGE) | beyond(v, SMALL, LARGE)
    special = special | beyond(x, TINY, LARGE) | beyond(y, TINY, LARGE) | parts[0].outside(LARGE * LARGE)
    special = special | abs(grow.high).outside(600.0 if kind.twice else 80.0)
    special = special | beyond(turn.high, SMALL, circular.LIMIT)
    special = special | (parts[0] < SMALL * SMALL)
    for part in (re, im):
        special = special | ((abs(part) < kind.least) & ~part.is_(0.0))
    return (re, im), special


def _times(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _inverse(a: Pair) -> Pair:
    """1 / a, as NumPy divides (Smith)."""
    re, im = a
    first = abs(re) >= abs(im)
    most, least = first.real(re, im), first.real(im, re)
    ratio = least / most
    scale = 1.0 / (most + least * ratio)
    one, other = first.real(scale, (ratio + 0.0) * scale), first.real((0.0 - ratio) * scale, -scale)
    zero = re.is_(0.0) & im.is_(0.0)
    return zero.real(INF, one), zero.real(NAN, other)


def _choose(where: Mask, yes: Pair, no: Pair) -> Pair:
    return where.real(yes[0], no[0]), where.real(yes[1], no[1])


def _multiplied(kind: Kind, a: Pair, n: Real, bits: int = 7, back: bool = True) -> Pair:
    """a**n by squares, for integers of so many bits; complex64 with float32's roundings."""
    if kind.twice:
        return _multiplied_here(a, n, bits, back)
    re, im = _multiplied_here((a[0].narrow, a[1].narrow), n.narrow, bits, back)
    return re.wide, im.wide


def _multiplied_here(a: Pair, n: Real, bits: int, back: bool) -> Pair:
    on = n.on
    count = (abs(n) + on.p.magic).bits
    found, power = (on.real(1.0), on.real(0.0)), a
    for bit in range(bits):
        taken = (count & (1 << bit)).differs(0)
        found = _choose(taken, _times(found, power), found)
        if bit < bits - 1:
            power = _times(power, power)
    if back:
        found = _choose(n < 0.0, _inverse(found), found)
    square = _times(a, a)
    for k, known in ((1.0, a), (2.0, square), (3.0, _times(a, square))):
        found = _choose(n.is_(k), known, found)
    nothing = a[0].is_(0.0) & a[1].is_(0.0) & (n > 0.0)
    return _choose(nothing, (on.real(0.0), on.real(0.0)), found)


def _product(p: Number, q: Real) -> Number:
    """Exactly only where that is possible."""
    small = (abs(q) < SMALL) | (abs(p.high) < SMALL)
    return choose(small, number(p.rounded * q, p.twice), p * q)


def _finite(kind: Kind, on: Lanes, a: Pair, b: Pair) -> Pair:
    """Of all finite numbers but 0."""
    x, y = a
    u, v = (clamped(part, -(2.0**900), 2.0**900) for part in b)
    re, im = log_length(kind, on, x, y), number(angle_of(on, y, x), kind.twice)
    grow, turn = _product(re, u) - _product(im, v), _product(im, u) + _product(re, v)
    power, exponent = grown(grow.high, abs(grow.high).outside(2.0**20).real(0.0, grow.parts[1]))
    size = number(power, kind.twice)
    cosine, sine = waves_of(kind, turn.parts, any_angle(on, turn.parts))
    sine, lifted = small_sine(kind, turn.high, sine)
    return moved((size * cosine).rounded, exponent), moved((size * sine).rounded, exponent + lifted)


def _recovered(b: Pair, log: Pair) -> tuple[Pair, Mask]:
    """b log(a) with C's rule that a product with an infinity is one (Annex G), and where that is invalid."""
    on = b[0].on
    terms = [(b[0], log[0]), (b[1], log[1]), (b[0], log[1]), (b[1], log[0])]
    products = [one * two for one, two in terms]
    plain = products[0] - products[1], products[2] + products[3]
    lost = plain[0].nan() & plain[1].nan()
    made = zip((*products, *plain), (*terms, products[:2], products[2:]), strict=True)
    first, *more = (y.nan() & ~one.nan() & ~two.nan() for y, (one, two) in made)
    invalid = reduce(or_, more, first)

    def endless(z: Pair) -> Mask:
        return abs(z[0]).is_(INF) | abs(z[1]).is_(INF)

    def boxed(z: Pair) -> Pair:
        sizes = (abs(part).is_(INF).real(1.0, 0.0).signed(part) for part in z)
        one, two = sizes
        return one, two

    def without(z: Pair) -> Pair:
        one, two = (part.nan().real(on.real(0.0).signed(part), part) for part in z)
        return one, two

    p, q = endless(b), endless(log)
    left = _choose(p, boxed(b), _choose(q, without(b), b))
    right = _choose(q, boxed(log), _choose(p, without(log), log))
    re, im = left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]
    return _choose(lost & (p | q), (re * INF, im * INF), plain), invalid


def _seldom(kind: Kind, on: Lanes, x: Real, y: Real, u: Real, v: Real) -> tuple[Pair, Raised]:
    a, b = (x, y), (u, v)
    nothing, zero = x.is_(0.0) & y.is_(0.0), u.is_(0.0) & v.is_(0.0)
    finite = (abs(x) < INF) & (abs(y) < INF) & (abs(u) < INF) & (abs(v) < INF)
    odd = nothing | ~finite
    one, two = on.real(1.0), on.real(2.0)
    found = _finite(kind, on, _choose(odd, (two, one), a), _choose(odd, (one, one), b))
    size = (abs(x).is_(INF) | abs(y).is_(INF)).real(INF, NAN)
    usual = (abs(x) < INF) & (abs(y) < INF) & ~nothing
    length = usual.real(log_length(kind, on, usual.real(x, 2.0), usual.real(y, 2.0)).rounded, size)
    exponential = Exponential(E)
    (grow, turn), invalid = _recovered(b, (length, angle_of(on, y, x)))
    found = _choose(finite, found, exponential.rare(kind, on, grow, turn))
    whole = _whole(b)
    found = _choose(whole, _multiplied(kind, a, u), found)
    lost = nothing & ~(u > 0.0) & ~zero
    end = lost.real(NAN, 0.0)
    found = _choose(nothing, (end, end), found)
    found = _choose(zero, (on.real(1.0), on.real(0.0)), found)
    raised = _flags(kind, a, b, found, finite & ~nothing & ~zero)
    invalid = (invalid | exponential.flags(grow, turn)["invalid"]) & ~finite & ~whole & ~zero
    invalid = (invalid | (v.is_(0.0) & abs(u).outside(INF) & ~zero)) & ~nothing
    return found, {**raised, "invalid": raised["invalid"] | invalid | lost}


def _flags(kind: Kind, a: Pair, b: Pair, found: Pair, plain: Mask) -> Raised:
    """Of finite results; and of products, of which a quotient compares, so that a NaN is invalid."""
    whole = _whole(b)
    large = (abs(found[0]) >= kind.over) | (abs(found[1]) >= kind.over)
    small = (abs(found[0]) < kind.least) | (abs(found[1]) < kind.least)
    nan, back = a[0].nan() | a[1].nan(), b[0] < 0.0
    none = found[0].nan() | found[1].nan()
    pole = plain & whole & back & none
    invalid = whole & none & (~nan | back) & ~b[0].is_(0.0) & ~b[0].is_(1.0)
    over, under = plain & large & ~pole, plain & ~whole & small
    return {"over": over, "under": under, "divide": pole, "invalid": invalid}


def _function(kind: Kind) -> Function:
    def fast(on: Lanes, *parts: Real) -> tuple[Pair, Mask]:
        x, y, u, v = parts
        return _usual(kind, on, x, y, u, v)

    def rare(on: Lanes, *parts: Real) -> tuple[Pair, Raised]:
        x, y, u, v = parts
        return _seldom(kind, on, x, y, u, v)

    shorts = (_short(kind, -1.0, 8.0, 3, False), _short(kind, -_WHOLE, _WHOLE, 7, True))
    return Function(2, DOUBLE, fast, rare, needs=reduce_text, shorts=shorts, fused=False)


def _short(kind: Kind, least: float, beyond: float, bits: int, back: bool) -> Short:
    def where(on: Lanes, *parts: Real) -> Mask:
        return _whole(parts[2:], least, beyond)

    def found(on: Lanes, x: Real, y: Real, n: Real, _: Real) -> tuple[Pair, Mask]:
        """Unless something leaves the exponents' range, of which flags tell."""
        re, im = _multiplied(kind, (x, y), n, bits, back)
        return (re, im), abs(re).outside(kind.over) | abs(im).outside(kind.over)

    return Short(where, found)


FUNCTIONS: dict[str, dict[str, Function]] = {"power": {"D": _function(WIDE), "F": _function(SHORT)}}
FUNCTIONS["float_power"] = {"D": FUNCTIONS["power"]["D"]}
