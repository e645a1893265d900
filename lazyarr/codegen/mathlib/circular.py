"""sin, cos, tan: the remainder of x by pi/2 in two numbers, and two chain.

For |x| up to 2**20 quarters the remainder takes four parts of pi/2 of 33 bits, whose products are exact;
above that, `payne_hanek`.  Remainders carry some 70 correct bits even next to multiples of pi/2.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import tables as t
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import (
    DOUBLE,
    Bits,
    Lanes,
    Mask,
    Raised,
    Real,
    Sum,
    chain,
    ordered,
    product,
)
from lazyarr.codegen.mathlib.payne_hanek import REDUCE

MAGIC = DOUBLE.magic

LIMIT = 1.6e6
"""Below 2**20 quarters."""

Remainder = tuple[Real, Real, Bits]
"""The remainder as a sum, and the number of quarters in the low bits."""


def _quarters(x: Real) -> Remainder:
    shifted = x * t.QUARTERS + MAGIC
    k = shifted - MAGIC
    one, two, three, four = t.QUARTER_PARTS
    a = k.times(-one, x)
    b = k.times(-two, a)
    left = k.times(-two, a - b)
    c = k.times(-three, b)
    left = left + k.times(-three, b - c)
    high, low = ordered(c, k.times(-four, left))
    return high, low, shifted.bits


def _sine(r: Real, low: Real, z: Real) -> Real:
    """What sin(r + low) has beyond r."""
    return r * z * chain(z, t.SIN_TAIL) + (low - low * (0.5 * z))


def _cosine(r: Real, low: Real, z: Real) -> Sum:
    """cos(r + low): 1 - z / 2 rounded, and all else."""
    half = 0.5 * z
    top = 1.0 - half
    return top, ((1.0 - top) - half) + (z * z * chain(z, t.COS_TAIL) - r * low)


def _wave(rest: Remainder, quarter: int) -> Real:
    r, low, quarters = rest
    if quarter:
        quarters = quarters + quarter
    z = r * r
    sine = r + _sine(r, low, z)
    top, more = _cosine(r, low, z)
    y = (quarters & 1).differs(0).real(top + more, sine)
    return (y.bits ^ ((quarters & 2) << 62)).real


def _far(on: Lanes, x: Real) -> Remainder:
    high, low, quarters = on.each(REDUCE, x, "ddq")
    assert isinstance(high, Real) and isinstance(low, Real) and isinstance(quarters, Bits)
    return high, low, quarters


def _of_infinity(x: Real, y: Real) -> tuple[Real, Raised]:
    infinite = abs(x).is_(INF)
    return infinite.real(NAN, x.nan().real(x, y)), {"invalid": infinite}


def sin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    y = _wave(_quarters(x), 0)
    return x.is_(0.0).real(x, y), abs(x).outside(LIMIT)


def sin_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return _of_infinity(x, _wave(_far(on, x), 0))


def cos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(_quarters(x), 1), abs(x).outside(LIMIT)


def cos_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return _of_infinity(x, _wave(_far(on, x), 1))


def _ratio(rest: Remainder) -> Real:
    """sin / cos, or -cos / sin, both as sums; one division, corrected."""
    r, low, quarters = rest
    z, left = product(r, r)
    sine, sine_low = ordered(r, _sine(r, low, z))
    top, more = _cosine(r, low, z)
    cosine, cosine_low = ordered(top, more - 0.5 * left)
    swap = (quarters & 1).differs(0)
    n, n_low = swap.real(cosine, sine), swap.real(cosine_low, sine_low)
    d, d_low = swap.real(-sine, cosine), swap.real(-sine_low, cosine_low)
    inverse = 1.0 / d
    q = n * inverse
    back, back_low = product(q, d)
    return q + (((n - back) - back_low) + (n_low - q * d_low)) * inverse


def tan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return x.is_(0.0).real(x, _ratio(_quarters(x))), abs(x).outside(LIMIT)


def tan_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return _of_infinity(x, _ratio(_far(on, x)))


# float32, in float64: the remainder needs no second number, nor the series much precision.

_LIMIT_F = 12000.0
"""Below 2**13 halves: two parts of pi of 40 bits suffice, and their products are exact."""


def _remainder(x: Real, k: Real, parts: tuple[float, ...]) -> Real:
    for part in parts:
        x = k.times(-part, x)
    return x


def _half_wave(r: Real, halves: Bits) -> Real:
    return ((r * chain(r * r, t.SIN_OVER)).bits ^ (halves << 63)).real


def sin_f(on: Lanes, x: Real) -> tuple[Real, Mask]:
    shifted = x * t.HALVES + MAGIC
    r = _remainder(x, shifted - MAGIC, t.HALF_PARTS)
    return _half_wave(r, shifted.bits), abs(x).outside(_LIMIT_F)


def cos_f(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """As the sine of the remainder by an odd multiple of pi / 2."""
    shifted = (x * t.HALVES + 0.5) + MAGIC
    r = _remainder(x, shifted - MAGIC - 0.5, t.HALF_PARTS)
    return _half_wave(r, shifted.bits), abs(x).outside(_LIMIT_F)


def tan_f(on: Lanes, x: Real) -> tuple[Real, Mask]:
    shifted = x * t.QUARTERS + MAGIC
    r = _remainder(x, shifted - MAGIC, tuple(part / 2 for part in t.HALF_PARTS))
    z = r * r
    sine, cosine = r * chain(z, t.SIN_SHORT), chain(z, t.COS_SHORT)
    swap = (shifted.bits & 1).differs(0)
    return swap.real(-cosine, sine) / swap.real(sine, cosine), abs(x).outside(_LIMIT_F)
