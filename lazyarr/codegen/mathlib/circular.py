"""sin, cos, tan: the remainder of x by pi/2 in two numbers, and two chain.

For |x| up to 2**20 quarters the remainder takes three parts of pi/2: the product with the first one loses
nothing in an FMA, since |x| has no smaller bits; that with the second one, of 31 bits, is exact.  Above that,
`payne_hanek`.  Remainders carry some 110 bits below the point, so half of that next to multiples of pi/2.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import tables as t
from lazyarr.codegen.mathlib.arithmetic import (
    Sum,
    chain,
    fma,
    ordered,
    product,
    remains,
    remains_of_short,
)
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import DOUBLE, Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.payne_hanek import REDUCE

MAGIC = DOUBLE.magic

LIMIT = 1.6e6
"""Below 2**20 quarters."""

Remainder = tuple[Real, Real, Bits]
"""The remainder as a sum, and the number of quarters in the low bits."""


def _differences(x: Real, part: str, more: int) -> tuple[Real, Real, Real, Bits]:
    """The remainder's first number; what it and the second part leave of the difference to the first part;
    the product with the third part; how many parts, and so many more, in the low bits.

    The first two differences are exact, the third one all but; so is the product with the second part."""
    on, magic = x.on, MAGIC + more
    shifted = fma(x, on.table(f"{part}S"), magic)
    k = shifted - magic
    one, two, three = on.table(f"{part}_PARTS")
    a = remains_of_short(on.real(-one), k, x)
    b = k.times(-two, a)
    return b, k.times(-two, a - b), k * three, shifted.bits


def remainder(x: Real) -> Remainder:
    """By a quarter of a circle."""
    r, left, third, quarters = _differences(x, "QUARTER", 0)
    return r, left - third, quarters


def _lacking(x: Real, part: str, more: int) -> Remainder:
    """r and l, the remainder is r - l, by a part of a circle, of which so many more are counted; l of 0 is 0,
    so that what is taken from a zero leaves its sign."""
    r, left, third, count = _differences(x, part, more)
    return r, third - left, count


def sine_beyond(r: Real, low: Real, z: Real) -> Real:
    """What sin(r + low) has beyond r."""
    return fma(r * z, chain(z, t.SIN_TAIL), fma(z, -0.5 * low, low))


def cosine_sum(r: Real, low: Real, z: Real) -> Sum:
    """cos(r + low): 1 - z / 2 rounded, and all else."""
    top = z.times(-0.5, 1.0)
    left = z.times(-0.5, 1.0 - top)
    return top, fma(z * z, chain(z, t.COS_TAIL), fma(-r, low, left))


def _wave(rest: Remainder) -> Real:
    """sin(r - l), or -cos(r - l) where the number of quarters is even: its second bit has the sign.

    One polynomial, of coefficients that are chosen before: r - (r z P(z) + l), or h - (z z Q(z) + m), where
    h + m is z/2 - 1, of which h is rounded, and m has r l, too."""
    r, less, quarters = rest
    sine = (quarters & 1).differs(0)
    z = r * r
    top = z.times(0.5, -1.0)
    left = z.times(-0.5, 1.0 + top)
    slopes = [sine.real(-a, b) for a, b in zip(t.SIN_TAIL, t.COS_TAIL, strict=True)]
    bend = sine.real(r, z) * z * chain(z, slopes)
    y = sine.real(r, top) - (bend + sine.real(less, fma(less, r, left)))
    return (y.bits ^ ((quarters & 2) << 62)).real


def far_remainder(on: Lanes, x: Real) -> Remainder:
    high, low, quarters = on.each(REDUCE, x, "ddq")
    assert isinstance(high, Real) and isinstance(low, Real) and isinstance(quarters, Bits)
    return high, low, quarters


def _of_infinity(x: Real, y: Real) -> tuple[Real, Raised]:
    infinite = abs(x).is_(INF)
    return infinite.real(NAN, x.nan().real(x, y)), {"invalid": infinite}


def _far_wave(on: Lanes, x: Real, quarters: int) -> Real:
    r, low, count = far_remainder(on, x)
    return _wave((r, -low, count + quarters))


def sin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(_lacking(x, "QUARTER", 1)), abs(x).outside(LIMIT)


def sin_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return _of_infinity(x, _far_wave(on, x, 1))


def cos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(_lacking(x, "QUARTER", 2)), abs(x).outside(LIMIT)


def cos_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return _of_infinity(x, _far_wave(on, x, 2))


def _quotient(n: Sum, d: Sum) -> Real:
    """One division, corrected; second numbers are what rounding left off."""
    (over, over_low), (under, under_low) = n, d
    inverse = 1.0 / under
    q = over * inverse
    return fma(fma(-q, under_low, remains(-q, under, over) + over_low), inverse, q)


def _ratio(rest: Remainder) -> Real:
    """sin / cos, or -cos / sin, both as sums."""
    r, low, quarters = rest
    z, left = product(r, r)
    beyond = sine_beyond(r, low, z)
    top, more = cosine_sum(r, low, z)
    less = left.times(-0.5, more)
    swap = (quarters & 1).differs(0)
    n = ordered(swap.real(top, r), swap.real(less, beyond))
    return _quotient(n, ordered(swap.real(-r, top), swap.real(-beyond, less)))


def tan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """By a table of tangents T of sixteenths of a quarter: (T + t) / (1 - T t), or what that turns into.

    T t is a twentieth at most, so that rounding it does no harm.  T of 0 is -0, and what the remainder
    lacks of its tangent is taken from it with the other sign, so that zeros keep theirs."""
    r, lacks, steps = _lacking(x, "SIXTEENTH", 8 + 16)
    high, high_low = look_up(steps, t.TAN_HIGH, t.TAN_LOW)
    z = r * r
    one, two, three, four = t.TAN_TAIL
    tail = (z * two + one) + (z * z) * (z * four + three)     # by pairs: latency is what counts
    less = r * z * tail + lacks
    tangent = r - less
    n = high + tangent
    n_low = ((high - n) + r) + (high_low - less)
    product = high * tangent
    d = product - 1.0
    d_low = product - (d + 1.0)
    even = (steps & 16).differs(0)
    y = _quotient(
        (even.real(n, d), even.real(n_low, d_low)), (even.real(d, n), even.real(d_low, n_low))
    )
    return (y.bits ^ ((steps << 59) & on.p.sign)).real, abs(x).outside(LIMIT)


def tan_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return _of_infinity(x, _ratio(far_remainder(on, x)))
