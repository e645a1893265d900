"""sin, cos, tan in float32: the remainder by pi/2 as a sum of two numbers, and two polynomials, or one.

For |x| up to 2**13 quarters three parts of pi/2 suffice.  The first difference is exact, since it has no more
bits below its point than x and the first part; what rounding leaves off the second one is kept, with the
other sign.  All parts are positive, so that zeros keep theirs.  Above that, `payne_hanek`, in float64.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import circular
from lazyarr.codegen.mathlib.arithmetic import chain, fma, remains
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.wider import rare_by_double

_LIMIT = 12000.0


def _quarters(x: Real) -> tuple[Real, Real, Bits]:
    """r and l, the remainder is r - l; the number of quarters in the low bits."""
    on = x.on
    one, two, three = on.table("QUARTER_PARTS")
    shifted = x * on.table("QUARTERS") + on.p.magic
    k = shifted - on.p.magic
    first = remains(k, -one, x)
    r = k.times(-two, first)
    return r, k * three + k.times(two, r - first), shifted.bits


def _wave(x: Real, quarter: int) -> tuple[Real, Mask]:
    on = x.on
    r, low, quarters = _quarters(x)
    if quarter:
        quarters = quarters + quarter
    z = r * r
    sine = r - fma(r * z, chain(z, on.table("SINE"), apart=2), low)
    left = remains(r, r, -z).times(-0.5, r * low)
    cosine = 1.0 + fma(z, chain(z, on.table("COSINE"), apart=3), left)
    y = (quarters & 1).differs(0).real(cosine, sine)
    return (y.bits ^ ((quarters & 2) << 30)).real, abs(x).outside(_LIMIT)


def sin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(x, 0)


def cos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(x, 1)


def tan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """t or -1 / t: both are rounded."""
    r, low, quarters = _quarters(x)
    z = r * r
    t = r - fma(r * z, chain(z, on.table("TANGENT")), low)
    return (quarters & 1).differs(0).real(-1.0 / t, t), abs(x).outside(_LIMIT)


sin_rare, cos_rare, tan_rare = map(
    rare_by_double, (circular.sin_rare, circular.cos_rare, circular.tan_rare)
)
