"""sin, cos, tan in float32: the remainder by pi/2 as a sum of two numbers, and two polynomials, or one.

For |x| up to 2**13 quarters three parts of pi/2 suffice, of 24 bits each: the first difference is exact, since
it has no more bits than x and the first part below its point; what rounds the second one is kept.
The lower number is taken with the other sign, so that zeros keep theirs.  Above that, `payne_hanek`, in float64.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real

_LIMIT = 12000.0


def _quarters(x: Real) -> tuple[Real, Real, Bits]:
    """r and l, the remainder is r - l; the number of quarters in the low bits."""
    on = x.on
    one, two, three = on.table("QUARTER_PARTS")
    shifted = fma(x, on.table("QUARTERS"), on.p.magic)
    k = shifted - on.p.magic
    first = fma(k, -one, x)
    r = fma(k, -two, first)
    return r, fma(k, three, fma(k, two, r - first)), shifted.bits


def _wave(x: Real, quarter: int) -> tuple[Real, Mask]:
    on = x.on
    r, low, quarters = _quarters(x)
    if quarter:
        quarters = quarters + quarter
    z = r * r
    sine = r - fma(r * z, chain(z, on.table("SINE")), low)
    cosine = fma(z, chain(z, on.table("COSINE")), fma(r, low, 1.0))
    y = (quarters & 1).differs(0).real(cosine, sine)
    return (y.bits ^ ((quarters & 2) << 30)).real, abs(x).outside(_LIMIT)


def sin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(x, 0)


def cos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(x, 1)


def tan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """t, or -1 / t, of a t that is a sum."""
    r, low, quarters = _quarters(x)
    z = r * r
    rest = fma(r * z, chain(z, on.table("TANGENT")), low)
    t = r - rest
    left = (r - t) - rest
    q = -1.0 / t
    turned = fma(fma(q, left, fma(q, t, 1.0)), q, q)
    return (quarters & 1).differs(0).real(turned, t), abs(x).outside(_LIMIT)
