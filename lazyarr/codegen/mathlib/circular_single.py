"""sin, cos, tan in float32: the remainder by pi/2 as a sum of two numbers, and one polynomial.

For |x| up to 2**13 quarters three parts of pi/2 suffice.  The first difference is exact, since it has no more
bits below its point than x and the first part; so is the product with the second part, and what rounding
leaves off its difference is kept, with the other sign.  All parts are positive, so that zeros keep theirs.
Above that, `payne_hanek`, in float64.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import circular
from lazyarr.codegen.mathlib.arithmetic import chain, fma, remains, settled
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.wider import rare_by_double

_LIMIT = 12000.0
_REACH = 0.6171
"""Of r**2."""


def _quarters(x: Real, fused: bool) -> tuple[Real, Real, Bits]:
    """r and l, the remainder is r - l; the number of quarters in the low bits.

    Products and sums apart where that is exact: sums are sooner so, and have units of their own.  Others,
    too, unless all else takes long: fused they are fewer, but emulated on some CPUs."""
    on = x.on
    one, two, three = on.table("QUARTER_PARTS")
    scale, magic = on.table("QUARTERS"), on.p.magic
    shifted = settled(x, scale, magic, _LIMIT) if fused else x * scale + magic
    k = shifted - magic
    first, second = remains(k, -one, x), k * two
    r = first - second
    low = second + (r - first)
    return r, fma(k, three, low) if fused else k * three + low, shifted.bits


def _wave(x: Real, quarter: int) -> tuple[Real, Mask]:
    """r - (r z P(z) + l), or 1 - (z P(z) - r l): one polynomial, of coefficients that are chosen before."""
    on = x.on
    r, low, quarters = _quarters(x, False)
    if quarter:
        quarters = quarters + quarter
    cosine = (quarters & 1).differs(0)
    z = r * r
    left = cosine.real(remains(r, r, -z).times(0.5, -(r * low)), low)
    slopes = [cosine.real(*pair) for pair in zip(on.table("COSINE"), on.table("SINE"), strict=True)]
    base = cosine.real(1.0, r)
    y = base - fma(base * z, chain(z, slopes, apart=2), left)
    return (y.bits ^ ((quarters << 30) & on.p.sign)).real, abs(x).outside(_LIMIT)


def sin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(x, 0)


def cos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(x, 1)


def tan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """t or -1 / t, t = r + c, where c is what the tangent has beyond r; the quotient is corrected by what it
    leaves of 1, with t in its two parts, so that t's rounding does not count.  As few operations as can be:
    they are what takes time where vectors overlap (`flowing`).

    The tangent's slope, 1 + tan(r)**2, is 1 + r**2 within a fifth, for what rounding left off r."""
    r, low, quarters = _quarters(x, True)
    z = r * r
    c = fma(r * z, chain(z, on.table("TANGENT")), -fma(low, z, low))
    t = r + c
    q = -1.0 / t
    left = remains(q, c, remains(q, r, 1.0))
    swap = (quarters & 1).differs(0)
    return swap.real(fma(q, left, q), t), abs(x).outside(_LIMIT)


sin_rare, cos_rare, tan_rare = map(
    rare_by_double, (circular.sin_rare, circular.cos_rare, circular.tan_rare)
)
