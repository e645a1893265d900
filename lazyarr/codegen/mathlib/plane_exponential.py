"""exp, exp2, expm1 of complex numbers: an exponential, as a sum, times the waves of an angle.

    expm1(x + iy) = expm1(x) cos(y) + (cos(y) - 1) + i e**x sin(y)

where cos(y) - 1 keeps its precision next to multiples of 2 pi, so that only the addition cancels.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib import circular
from lazyarr.codegen.mathlib import tables as t
from lazyarr.codegen.mathlib.arithmetic import Sum, chain, fma, ordered, product, total
from lazyarr.codegen.mathlib.exponential import INF, NAN, clamped, scaled, steps, steps2, tail, tail2
from lazyarr.codegen.mathlib.hyperbolic import expm1_sum
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.codegen.mathlib.number import Number, choose, number
from lazyarr.codegen.mathlib.payne_hanek import reduce_text
from lazyarr.codegen.mathlib.plane_circular import (
    SMALL,
    all_remainders,
    grown,
    grown2,
    moved,
    small_sine,
    waves,
)
from lazyarr.codegen.mathlib.plane_rules import (
    CLASSES,
    FORMULA,
    SHORT,
    WIDE,
    Kind,
    Pair,
    Special,
    beyond,
    rows,
)
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class _Base:
    """e, or 2."""

    size: Callable[[Real], Sum]
    """The power of x within the range of exponents."""
    grown: Callable[[Real], tuple[Sum, Bits]]
    """The power of any x, and an exponent."""
    angle: Callable[[Real], Sum]
    """y times the base's logarithm."""
    normal: dict[Kind, float]
    """Up to where parts are normal numbers for certain."""


def _natural(x: Real) -> Sum:
    k, r = steps(x)
    s, low = scaled(k)
    return ordered(s, s * tail(r, low))


def _twos(x: Real) -> Sum:
    k, r = steps2(x)
    s, low = scaled(k)
    return ordered(s, s * tail2(r, low))


def _same(y: Real) -> Sum:
    return y, y.on.real(0.0)


def _times_log2(y: Real) -> Sum:
    """Exact products need operands in the middle of the range."""
    one, two = t.LOG2_STEPS
    high, low = product(y, one)
    odd = (abs(y) < 2.0**-480) | abs(y).outside(2.0**900)
    return high, odd.real(0.0, fma(y, two, low))


E = _Base(_natural, grown, _same, {WIDE: 650.0, SHORT: 80.0})
_TWO = _Base(_twos, grown2, _times_log2, {WIDE: 940.0, SHORT: 115.0})


def near_angle(angle: Sum) -> circular.Remainder:
    r, low, quarters = circular.remainder(angle[0])
    return (*ordered(r, low + angle[1]), quarters)


def any_angle(on: Lanes, angle: Sum) -> circular.Remainder:
    """Of an angle so large that each number of the sum has to be reduced."""
    (one, one_low, k), (two, two_low, m) = all_remainders(on, angle[0]), all_remainders(on, angle[1])
    high, more = total(one, two)
    r, low, n = circular.remainder(high)
    return (*ordered(r, low + (more + (one_low + two_low))), k + m + n)


def waves_of(kind: Kind, angle: Sum, rest: circular.Remainder) -> tuple[Number, Number]:
    """Cosine and sine; a zero keeps its sign."""
    cosine, sine = (number(ordered(*part), kind.twice) for part in waves(rest))
    return cosine, Number(angle[0].is_(0.0).real(angle[0], sine.high), sine.low, sine.twice)


@dataclass(frozen=True, slots=True)
class Exponential:
    base: _Base

    def fast(self, kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        angle, size = self.base.angle(y), number(self.base.size(x), kind.twice)
        cosine, sine = waves_of(kind, angle, near_angle(angle))
        im = (size * sine).rounded.signed(sine.high)
        special = abs(x).outside(self.base.normal[kind]) | beyond(y, SMALL, circular.LIMIT)
        return ((size * cosine).rounded, im), special

    def rare(self, kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
        """Infinite x count as ones that are large enough, with the signs of the waves."""
        angle, (power, exponent) = self.base.angle(y), self.base.grown(x)
        cosine, sine = waves_of(kind, angle, any_angle(on, angle))
        sine, lifted = small_sine(kind, angle[0], sine)
        size = number(power, kind.twice)
        re = moved((size * cosine).rounded, exponent)
        im = moved((size * sine).rounded.signed(sine.high), exponent + lifted)
        end, nothing = x.is_(INF), x.is_(-INF)
        odd, real = abs(y).outside(INF), y.is_(0.0)
        most = end.real(INF, 0.0)
        re = (end | nothing).real(odd.real(most, most.signed(re)), re)
        im = (end | nothing).real(odd.real(end.real(NAN, most.signed(y)), most.signed(im)), im)
        lost = x.nan() | (odd & ~end & ~nothing)
        return lost.real(NAN, re), real.real(y, lost.real(NAN, im))

    def flags(self, x: Real, y: Real) -> Raised:
        far = abs(y).is_(INF)
        invalid = (far & x.is_(INF)) | (abs(y).outside(INF) & (abs(x) < INF))
        return {"invalid": invalid | (x.nan() & ~y.is_(0.0) & ~y.nan())}


def _less_one(angle: Sum, rest: circular.Remainder, cosine: Number) -> Number:
    """cos(y) - 1, of what is left of y, in the first quarter of it; else of its cosine."""
    r, low, quarters = rest
    z, z_low = product(r, r)
    more = fma(z * z, chain(z, t.COS_TAIL), fma(-r, low, -0.5 * z_low))
    near = number(ordered(-0.5 * z, more), cosine.twice)
    return choose((quarters & 3).is_(0), near, cosine - 1.0)


def _expm1_parts(
    kind: Kind, x: Real, y: Real, rest: circular.Remainder
) -> tuple[Number, Number, Number, Number]:
    """e**x, the angle's waves, and the first part of the result."""
    size, less = (number(ordered(*part), kind.twice) for part in expm1_sum(x))
    angle = _same(y)
    cosine, sine = waves_of(kind, angle, rest)
    return size, cosine, sine, less * cosine + _less_one(angle, rest, cosine)


_TINY = 2.0**-480
"""Squares below that do not matter, and cannot be taken exactly."""


def _expm1(kind: Kind, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
    size, _, sine, re = _expm1_parts(kind, x, y, circular.remainder(y))
    special = beyond(x, _TINY, 650.0 if kind.twice else 80.0) | beyond(y, SMALL, circular.LIMIT)
    zero = x.is_(0.0) & re.high.is_(0.0)
    return (zero.real(x, re.rounded), (size * sine).rounded.signed(sine.high)), special


def _expm1_rare(kind: Kind, on: Lanes, x: Real, y: Real) -> Pair:
    low_x, low_y = abs(x) < _TINY, abs(y) < _TINY
    held = low_x.real(0.0, clamped(x, -650.0, 650.0))
    turn = low_y.real(0.0, y)
    _, cosine, sine, near = _expm1_parts(kind, held, turn, all_remainders(on, turn))
    power, exponent = grown(x)
    size = number(power, kind.twice)
    sine, lifted = small_sine(kind, y, sine)
    im = moved((size * sine).rounded.signed(sine.high), exponent + lifted)
    re = near.rounded
    re = low_x.real(re + (x * cosine.high - low_y.real(0.5 * (y * y), 0.0)), re)
    re = (abs(x) > 650.0).real(moved((size * cosine).rounded, exponent), re)
    re = (x < -650.0).real(-1.0, re)
    im = y.is_(0.0).real(x.is_(INF).real(NAN, y), im)
    return (x.is_(0.0) & re.is_(0.0)).real(x, re), im


def _endless(x: Real, y: Real) -> Raised:
    return {"invalid": x.is_(INF) & y.is_(0.0)}


_FORMULA = {f"{x} {y}": (FORMULA, FORMULA) for x in CLASSES for y in CLASSES}
_OF_EXPM1 = Special(
    {"inf 0": (FORMULA, FORMULA), "inf 1": (FORMULA, FORMULA)}, signs="++", loud=("nan inf",)
)


def _rows(of: Exponential) -> dict[str, Function]:
    return rows(of.fast, of.rare, Special(_FORMULA, signs="++"), of.flags, reduce_text)


FUNCTIONS: dict[str, dict[str, Function]] = {
    "exp": _rows(Exponential(E)),
    "exp2": _rows(Exponential(_TWO)),
    "expm1": rows(_expm1, _expm1_rare, _OF_EXPM1, _endless, reduce_text),
}
