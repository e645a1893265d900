"""expm1, sinh, cosh, tanh: exponentials of both signs with one remainder.

With |x| = k ln2 / 16 + r, s = 2**(k/16), u = 1/s, from tables both:

    2 cosh(|x|) = s e**r + u e**-r        2 sinh(|x|) = s e**r - u e**-r, below 3/4 a series
    tanh(|x|) = E / (E + 2), E = expm1(2 |x|)

As sums, for complex numbers: with P = (s + u) / 2, M = (s - u) / 2, which is 0 where k is,

    sinh(|x|) = M cosh(r) + P sinh(r)     cosh(|x|) = P cosh(r) + M sinh(r)
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, chain, fma, onto, ordered, remains, series, total
from lazyarr.codegen.mathlib.exponential import (
    clamped,
    exp_rare,
    gradual,
    nearest,
    raised,
    scaled,
    steps,
    tail,
)
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.records import dataclass

LARGE = {DOUBLE: 685.0, SINGLE: 78.0}
"""Below here products of exponentials can be exact; above, e**-x no longer counts."""
_ONE = 20.0
"""From here on tanh is 1."""


def remainder(x: Real) -> tuple[Bits, Real, Real]:
    """k, r, and what r's rounding left off, in float64, where both products are exact."""
    k, shifts = nearest(x)
    high, low = x.on.table("EXP_STEP")
    first = shifts.times(-high, x)
    r = shifts.times(-low, first)
    return k, r, shifts.times(-low, first - r)


def _expm1(x: Real, one_off: tuple[Real, Real | None], s: Real, s_low: Real, r: Real, low: Real) -> Sum:
    """s e**r - 1, of s - 1 as a sum; if s is not below 1, or huge, it has one number."""
    bend = fma(r * r, series(r, x.on.table("EXPM1_TAIL")), fma(s_low, r, s_low) + low)
    top, left = one_off
    high, more = onto(top, s, r)        # 0, or twice as much: the table's steps are twice the remainders
    return high, fma(s, bend, more if left is None else more + left)


def expm1(on: Lanes, x: Real) -> tuple[Real, Mask]:
    k, r, low = remainder(x)
    s, s_low = scaled(k)
    high, rest = _expm1(x, total(s, on.real(-1.0)), s, s_low, r, low)
    return (high + rest).signed(x), abs(x).outside(LARGE[on.p])


def expm1_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y, flags = exp_rare(on, x)
    return (x < 0.0).real(-1.0, y), {"over": flags["over"]}


@dataclass(frozen=True, slots=True)
class _Parts:
    """Of a sum of exponentials: P and M as sums; r; (cosh(r) - 1) / r**2 and sinh(r) - r."""

    plus: Sum
    minus: Sum
    r: Real
    even: Real
    odd: Real


def _parts(x: Real) -> _Parts:
    """x is not negative, and its exponential in range."""
    on = x.on
    k, r, low = remainder(x)
    (s, s_off), (u, u_off) = scaled(k - 16), scaled(on.bits(-16) - k)
    plus, plus_low = ordered(s, u)
    minus, minus_low = ordered(s, -u)
    s_low, z = s * s_off, r * r
    odd = fma(r * z, chain(z, on.table("SINH_TAIL")), low)
    even = z * chain(z, on.table("COSH_TAIL"))
    plus_low, minus_low = plus_low + fma(u, u_off, s_low), minus_low + fma(u, -u_off, s_low)
    return _Parts((plus, plus_low), (minus, minus_low), r, even, odd)


def _sinh(p: _Parts) -> Sum:
    (plus, plus_low), (minus, minus_low) = p.plus, p.minus
    high, more = onto(minus, plus, p.r)
    rest = fma(plus_low, p.r, more + minus_low)
    return high, fma(plus, p.odd, fma(minus, p.even, rest))


def _cosh(p: _Parts) -> Sum:
    (plus, plus_low), (minus, _) = p.plus, p.minus
    return plus, fma(plus, p.even, fma(minus, p.r + p.odd, plus_low))


def both(size: Real) -> tuple[Sum, Sum]:
    """cosh and sinh of numbers without a sign, less than `LARGE`."""
    p = _parts(size)
    return _cosh(p), _sinh(p)


def expm1_sum(x: Real) -> tuple[Sum, Sum]:
    """e**x and e**x - 1, for sizes less than `LARGE`."""
    k, r, low = remainder(x)
    s, s_low = scaled(k)
    less = _expm1(x, total(s, x.on.real(-1.0)), s, s_low, r, low)
    return (s, s * tail(r, low + s_low)), less


def halves(size: Real) -> tuple[Real, Real, Real, Real]:
    """s / 2 and what rounding left off, relative to it; u / 2; the remainder."""
    on = size.on
    k, r = steps(size, less=16)
    up, low, down = look_up(k, *map(on.table, ("EXP_HIGH", "EXP_LOW", "EXP_FALL")))
    shift = k << on.p.mantissa - 4
    return (up.bits + shift).real, low, (down.bits - shift).real, r


def sinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """The series is the remainder's, too."""
    size = abs(x)
    s, low, u, r = halves(size)
    small = size < 0.75
    w = small.real(size, r)
    z = w * w
    odd = w + w * z * series(z, on.table("SINH_SERIES"))
    even = z * chain(z, on.table("COSH_TAIL"))
    far = s + (s * (odd + (even + low)) - (u + u * (even - odd)))
    return small.real(odd, far).signed(x), size.outside(LARGE[on.p])


def cosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    s, low, u, r = halves(size)
    z = r * r
    odd = r + r * z * chain(z, on.table("SINH_TAIL"))
    even = z * chain(z, on.table("COSH_TAIL"))
    return s + (u + (s * (odd + (even + low)) + u * (even - odd))), size.outside(LARGE[on.p])


def _half_exp(on: Lanes, size: Real) -> Real:
    """e**x / 2, of large x."""
    k, r = steps(clamped(size, 0.0, LARGE[on.p] + 30.0))
    return gradual(k - 16, lambda low: tail(r, low))


def sinh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y = _half_exp(on, abs(x)).signed(x)
    return y, {"over": raised(x, y)["over"]}


def cosh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y = _half_exp(on, abs(x))
    return y, {"over": raised(x, y)["over"]}


def tanh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    twice = size + size
    k, r, low = remainder(twice)
    s, s_low = scaled(k)
    n, n_low = ordered(*_expm1(twice, (s - 1.0, None), s, s_low, r, low))
    d = n + 2.0
    d_low = (n - (d - 2.0)) + n_low
    inverse = 1.0 / d
    q = n * inverse
    y = fma(fma(-q, d_low, remains(-q, d, n) + n_low), inverse, q)
    return y.signed(x), size.outside(_ONE)


def tanh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return x.nan().real(x, on.real(1.0).signed(x)), {}
