"""sin, cos, tan, sinh, cosh, tanh of complex numbers: products of functions of an angle a and of a number b.

    sin(a + ib)  =  sin(a) cosh(b) + i cos(a) sinh(b)          sinh(b + ia) = i sin(a - ib), turned
    cos(a + ib)  =  cos(a) cosh(b) - i sin(a) sinh(b)
    tan(a + ib)  =  (sin(a) cos(a) + i sinh(b) cosh(b)) / (cos(a)**2 + sinh(b)**2)

Factors are sums, so that a product is rounded once.  What leaves the exponents' range has one of its own.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import circular
from lazyarr.codegen.mathlib.arithmetic import Sum, ordered
from lazyarr.codegen.mathlib.exponential import INF, NAN, clamped, scaled, steps2, tail, tail2
from lazyarr.codegen.mathlib.hyperbolic import both, remainder
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.codegen.mathlib.number import Number, choose, number
from lazyarr.codegen.mathlib.payne_hanek import reduce_text
from lazyarr.codegen.mathlib.plane_rules import FORMULA, Kind, Pair, Special, beyond, rows
from lazyarr.records import dataclass

SMALL = 2.0**-400
"""Below here sines are their operands."""
UP = 600
"""Exponent by which such numbers are moved."""
_ENDLESS = 1470.0
"""Where each product with an exponential is infinite."""
_ENDLESS2 = 2121.0
"""The same for powers of 2."""
_GROWN = 40.0
"""From here on both hyperbolic functions are half an exponential."""


def waves(rest: circular.Remainder) -> tuple[Sum, Sum]:
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


def all_remainders(on: Lanes, x: Real) -> circular.Remainder:
    """Of near and far angles."""
    far = abs(x).outside(circular.LIMIT)
    near, away = circular.remainder(x), circular.far_remainder(on, x)
    return far.real(away[0], near[0]), far.real(away[1], near[1]), far.bits(away[2], near[2])


def grown(x: Real, more: Real | float = 0.0) -> tuple[Sum, Bits]:
    """e**(x + more) as a sum around 1, and an exponent."""
    k, r, low = remainder(clamped(x, -_ENDLESS, _ENDLESS))
    unit, unit_low = scaled(k & 15)
    return ordered(unit, unit * tail(r + more, low + unit_low)), exponent_of(k)


def grown2(x: Real) -> tuple[Sum, Bits]:
    """2**x likewise."""
    k, r = steps2(clamped(x, -_ENDLESS2, _ENDLESS2))
    unit, unit_low = scaled(k & 15)
    return ordered(unit, unit * tail2(r, unit_low)), exponent_of(k)


def exponent_of(k: Bits) -> Bits:
    """Of k sixteenths, which are in the low bits."""
    return (((k + (4096 << 4)) & 0x1FFFF) >> 4) - 4096


def moved(x: Real, exponent: Bits) -> Real:
    """x times a power of two, which may leave the range of exponents."""
    on = x.on
    held = on.held(exponent, -2044, 2044)
    one = held.shifted(1)
    return x * on.power_of_two(one) * on.power_of_two(held - one)


def small_sine(kind: Kind, x: Real, sine: Number) -> tuple[Number, Bits]:
    """The sine of x, or its hyperbolic sine, with an exponent apart."""
    small = abs(x) < SMALL
    return choose(small, number(x * 2.0**UP, kind.twice), sine), small.bits(-UP, 0)


@dataclass(frozen=True, slots=True)
class _Factors:
    cosine: Number
    sine: Number
    cosh: Number
    sinh: Number


def _near(kind: Kind, a: Real, b: Real) -> _Factors:
    cosine, sine = _waves(kind, a, circular.remainder(a))
    cosh, sinh = (number(ordered(*part), kind.twice) for part in both(abs(b)))
    return _Factors(cosine, sine, cosh, sinh.signed(b))


def _waves(kind: Kind, a: Real, rest: circular.Remainder) -> tuple[Number, Number]:
    """Cosine and sine of a; a zero keeps its sign."""
    cosine, sine = (number(ordered(*part), kind.twice) for part in waves(rest))
    return cosine, Number(a.is_(0.0).real(a, sine.high), sine.low, sine.twice)


def _times(one: Number, two: Number) -> Real:
    return (one * two).rounded.signed(one.high.times_sign(two.high))


@dataclass(frozen=True, slots=True)
class _Far:
    """Factors, and their exponents."""

    factors: _Factors
    sine: Bits
    cosh: Bits
    sinh: Bits
    large: Mask
    """Is b so large that cosh is sinh?"""


def _all(kind: Kind, on: Lanes, a: Real, b: Real) -> _Far:
    cosine, sine = _waves(kind, a, all_remainders(on, a))
    size = abs(b)
    large = size >= _GROWN
    cosh, sinh = (number(ordered(*part), kind.twice) for part in both(clamped(size, 0.0, _GROWN)))
    power, exponent = grown(size)
    sine, sine_moved = small_sine(kind, a, sine)
    sinh, sinh_moved = small_sine(kind, size, sinh)
    half = 0.5 * number(power, kind.twice)
    cosh, sinh = choose(large, half, cosh), choose(large, half, sinh)
    factors = _Factors(cosine, sine, cosh, sinh.signed(b))
    return _Far(factors, sine_moved, large.bits(exponent, 0), large.bits(exponent, sinh_moved), large)


@dataclass(frozen=True, slots=True)
class _Wave:
    """sin and cos, and with the parts changed sinh and cosh."""

    turned: bool
    """Is the first part b?"""
    odd: bool
    """Sine?"""

    def _pair(self, parts: Pair) -> Pair:
        if self.odd:
            return (parts[1], parts[0]) if self.turned else parts
        return parts if self.turned else (parts[0], -parts[1])

    def fast(self, kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        a, b = (y, x) if self.turned else (x, y)
        f = _near(kind, a, b)
        one, two = (f.sine, f.cosine) if self.odd else (f.cosine, f.sine)
        special = beyond(a, SMALL, circular.LIMIT) | beyond(b, SMALL, 685.0 if kind.twice else 80.0)
        return self._pair((_times(one, f.cosh), _times(two, f.sinh))), special

    def rare(self, kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
        a, b = (y, x) if self.turned else (x, y)
        far = _all(kind, on, a, b)
        f, nothing = far.factors, on.bits(0)
        one, two = (f.sine, f.cosine) if self.odd else (f.cosine, f.sine)
        up, down = (far.sine, nothing) if self.odd else (nothing, far.sine)
        re = moved(_times(one, f.cosh), up + far.cosh)
        return self._pair((re, moved(_times(two, f.sinh), down + far.sinh)))


@dataclass(frozen=True, slots=True)
class _Tangent:
    """tan, and with the parts changed tanh."""

    turned: bool

    def _pair(self, parts: Pair) -> Pair:
        return (parts[1], parts[0]) if self.turned else parts

    def fast(self, kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        a, b = (y, x) if self.turned else (x, y)
        f = _near(kind, a, b)
        inverse = 1.0 / (f.cosine.square + f.sinh.square)
        re, im = f.sine * f.cosine * inverse, f.sinh * f.cosh * inverse
        special = beyond(a, SMALL, circular.LIMIT) | beyond(b, SMALL, 300.0)
        if kind.twice:      # sums of two need room below results, which are a / cosh(b)**2
            special = special | ((abs(a) < 2.0**-90) & (abs(b) > 30.0) & ~a.is_(0.0))
        return self._pair((_signed(re.rounded, f), im.rounded.signed(b))), special

    def rare(self, kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
        a, b = (y, x) if self.turned else (x, y)
        far = _all(kind, on, a, clamped(b, -700.0, 700.0))
        f = far.factors
        small = abs(b) < SMALL
        sinh = choose(small, number(on.real(0.0), kind.twice), f.sinh)
        divisor = choose(far.large, f.cosh.square, f.cosine.square + sinh.square)
        re = moved((f.sine * f.cosine / divisor).rounded, far.sine - (far.cosh + far.cosh))
        im = moved((f.sinh * f.cosh / divisor).rounded, far.large.bits(0, far.sinh))
        return self._pair((_signed(re, f), far.large.real(1.0, im).signed(b)))


def _signed(x: Real, f: _Factors) -> Real:
    return x.signed(f.sine.high.times_sign(f.cosine.high))


_SINH = Special({
    "0 inf": (0.0, NAN), "0 nan": (0.0, NAN), "inf 0": (INF, 0.0), "inf 1": (FORMULA, FORMULA),
    "inf inf": (INF, NAN), "inf nan": (INF, NAN), "nan 0": (NAN, 0.0),
}, plain=("inf inf", "inf nan"), loud=("1 nan",))  # fmt: skip
_COSH = Special({
    "0 inf": (NAN, 0.0), "0 nan": (NAN, 0.0), "inf 0": (INF, FORMULA), "inf 1": (FORMULA, FORMULA),
    "inf inf": (INF, NAN), "inf nan": (INF, NAN), "nan 0": (NAN, 0.0),
}, signs="+y", plain=("0 inf",))  # fmt: skip
_TANH = Special({
    "0 inf": (0.0, NAN), "0 nan": (0.0, NAN), "inf 0": (1.0, 0.0), "inf 1": (FORMULA, FORMULA),
    "inf inf": (1.0, 0.0), "inf nan": (1.0, 0.0), "nan 0": (NAN, 0.0),
}, loud=("nan inf",))  # fmt: skip


def _rows(of: _Wave | _Tangent, special: Special) -> dict[str, Function]:
    return rows(of.fast, of.rare, special, None, reduce_text)


FUNCTIONS: dict[str, dict[str, Function]] = {
    "sin": _rows(_Wave(False, True), _SINH.turned(True)),
    "cos": _rows(_Wave(False, False), _COSH.turned(False)),
    "sinh": _rows(_Wave(True, True), _SINH),
    "cosh": _rows(_Wave(True, False), _COSH),
    "tan": _rows(_Tangent(False), _TANH.turned(True)),
    "tanh": _rows(_Tangent(True), _TANH),
}
