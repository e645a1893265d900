"""expm1, sinh, cosh, tanh: exponentials of both signs with one remainder.

With |x| = k ln2 / 16 + r, s = 2**(k/16), u = 1/s, P = (s + u) / 2, M = (s - u) / 2:

    sinh(|x|) = M cosh(r) + P sinh(r)        cosh(|x|) = P cosh(r) + M sinh(r)

For k = 0 M is 0, and small results keep their precision.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyarr.codegen.mathlib.exponential import (
    clamped,
    exp_rare,
    gradual,
    raised,
    scaled,
    steps,
    tail,
)
from lazyarr.codegen.mathlib.lanes import (
    DOUBLE,
    SINGLE,
    Bits,
    Lanes,
    Mask,
    Raised,
    Real,
    Sum,
    chain,
    ordered,
    product,
    total,
)

_LARGE = {DOUBLE: 685.0, SINGLE: 78.0}
"""Below here products of exponentials can be exact; above, e**-x no longer counts."""
_ONE = {DOUBLE: 20.0, SINGLE: 10.0}
"""From here on tanh is 1."""


def _remainder(x: Real) -> tuple[Bits, Real, Real]:
    """k, r, and what r's rounding left off."""
    on = x.on
    shifted = x * on.table("EXP_SCALE") + on.p.magic
    k, r = shifted - on.p.magic, x
    *first, last = on.table("EXP_STEP")
    for part in first:
        r = k.times(-part, r)
    rounded = k.times(-last, r)
    return shifted.bits, rounded, k.times(-last, r - rounded)


def expm1(on: Lanes, x: Real) -> tuple[Real, Mask]:
    k, r, low = _remainder(x)
    s = scaled(on, k)
    s_low = on.look_up(on.table("EXP_LOW"), k)
    bend = r * r * chain(r, on.table("EXPM1_TAIL")) + (low + (s_low + s_low * r))
    top, left = total(s, on.real(-1.0))
    main, rest = product(s, r)
    high, more = ordered(top, main)     # 0, or twice as much: the table's steps are twice the remainders
    y = high + (more + ((rest + left) + s * bend))
    return y.signed(x), abs(x).outside(_LARGE[on.p])


def expm1_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y, flags = exp_rare(on, x)
    return (x < 0.0).real(-1.0, y), {"over": flags["over"]}


@dataclass(frozen=True, slots=True)
class _Parts:
    """Of a sum of exponentials: P and M as sums; r; cosh(r) - 1 and sinh(r) - r."""

    plus: Sum
    minus: Sum
    r: Real
    even: Real
    odd: Real


def _parts(x: Real) -> _Parts:
    """x is not negative, and its exponential in range."""
    on = x.on
    k, r, low = _remainder(x)
    opposite = on.bits(0) - k
    s, u = scaled(on, k) * 0.5, scaled(on, opposite) * 0.5
    s_low = s * on.look_up(on.table("EXP_LOW"), k)
    u_low = u * on.look_up(on.table("EXP_LOW"), opposite)
    plus, plus_low = ordered(s, u)
    minus, minus_low = ordered(s, -u)
    z = r * r
    even = z * chain(z, on.table("COSH_TAIL"))
    odd = r * z * chain(z, on.table("SINH_TAIL")) + low
    return _Parts((plus, plus_low + (s_low + u_low)), (minus, minus_low + (s_low - u_low)), r, even, odd)


def _sinh(p: _Parts) -> Sum:
    (plus, plus_low), (minus, minus_low) = p.plus, p.minus
    main, rest = product(plus, p.r)
    high, more = ordered(minus, main)
    return high, more + ((rest + (minus_low + plus_low * p.r)) + (minus * p.even + plus * p.odd))


def _cosh(p: _Parts) -> Sum:
    (plus, plus_low), (minus, _) = p.plus, p.minus
    return plus, plus_low + (plus * p.even + minus * (p.r + p.odd))


def sinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    high, low = _sinh(_parts(size))
    return (high + low).signed(x), size.outside(_LARGE[on.p])


def cosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    high, low = _cosh(_parts(size))
    return high + low, size.outside(_LARGE[on.p])


def _half_exp(on: Lanes, size: Real) -> Real:
    """e**x / 2, of large x."""
    k, r = steps(clamped(size, 0.0, _LARGE[on.p] + 30.0))
    return gradual(on, k - 16, tail(r) + on.look_up(on.table("EXP_LOW"), k))


def sinh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y = _half_exp(on, abs(x)).signed(x)
    return y, {"over": raised(x, y)["over"]}


def cosh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y = _half_exp(on, abs(x))
    return y, {"over": raised(x, y)["over"]}


def tanh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    p = _parts(size)
    n, n_low = _sinh(p)
    d, d_low = _cosh(p)
    d, d_low = ordered(d, d_low)
    inverse = 1.0 / d
    q = n * inverse
    back, back_low = product(q, d)
    y = q + (((n - back) - back_low) + (n_low - q * d_low)) * inverse
    return y.signed(x), size.outside(_ONE[on.p])


def tanh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return x.nan().real(x, on.real(1.0).signed(x)), {}
