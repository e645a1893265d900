"""What numbers in lanes can do that is one instruction on some CPU levels and several on others.

In:  `Real`s.   Out: `Real`s, or sums of two.
Holds: the same bits on every level.

    fma(a, b, c)           a * b + c, rounded once; emulated if need be
    remains(a, b, c)       the same where the product nearly is -c: cheaper to emulate
    settled(a, b, c, s)    the same where the result's exponent is c's
    chain(x, c)            a polynomial by Horner's scheme, of FMAs; `series` by even and odd terms
    product(a, b)          a * b as an unevaluated sum of two numbers, exact: one FMA, or Dekker's fifteen
    total(a, b)            a + b as such a sum (Knuth); `ordered` where a is the larger one (Dekker)
    plus(a, b), times      of such sums

Levels without the instruction pay some forty for it in float64 (Boldo and Melquiond's way), or a dozen in
float32 (`doubtful`).  Most functions do without (`Lanes.fused`): what corrects what is known may be rounded
twice.  `remains_of_short` and `product_of_short` are cheaper still, for factors of half the bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Bits, Lanes, Mask, Real

Sum = tuple[Real, Real]
"""An unevaluated sum: the number, and what rounding it left off."""


def fma(a: Real, b: Real | float, c: Real | float) -> Real:
    """a * b + c, rounded once (emulated: unless the product's parts leave the exponents' range); on lanes
    that are not fused, twice."""
    on = a.on
    if not on.fused:
        return a * b + c
    if on.b.target.fma:
        return on.call("fma", a, b, c)
    return (_fma_by_double if on.p is SINGLE else _fma_by_sums)(a, on.real(b), on.real(c))


def settled(a: Real, b: Real | float, c: float, spread: float) -> Real:
    """a * b + c of products that are no larger than `spread`, rounded once: cheaper to emulate where all
    results have one exponent.

    Then the place of the last bit is known, and float64 rounds there if its own last place is moved to it by
    a large constant: once, as that and c are one number."""
    on = a.on
    if not on.fused or on.b.target.fma or on.p is not SINGLE or not _one_exponent(c, spread):
        return fma(a, b, c)
    c = float(numpy.float32(c))
    large = 1.5 * 2.0 ** (math.frexp(c)[1] - 1 + DOUBLE.mantissa - SINGLE.mantissa)
    whole = (a.wide * on.real(b).wide + (c + large)) - large
    return Real(on, whole.narrow.name, whole)


def _one_exponent(c: float, spread: float) -> bool:
    """Have all numbers that are so near to c its exponent?"""
    size, margin = abs(float(numpy.float32(c))), spread * (1 + 2.0**-20)
    return margin < size and math.frexp(size - margin)[1] == math.frexp(size + margin)[1]


def remains(a: Real, b: Real | float, c: Real | float) -> Real:
    """a * b + c, rounded once, where c less the product's rounded value is exact: of half to twice its size,
    or where one of both is 0.  In float32: where float64 has the sum."""
    on = a.on
    if on.b.target.fma:
        return on.call("fma", a, b, c)
    if on.p is SINGLE:
        return (a.wide * on.real(b).wide + on.real(c).wide).narrow
    high, low = product(a, b)
    return (high + c) + low


def exactly(a: Real, b: Real, c: float) -> Real:
    """a * b + c, which is a number."""
    on = a.on
    if on.b.target.fma or on.p is not SINGLE:
        return remains_of_short(a, b, c)
    whole = a.wide * b.wide + on.real(c).wide
    return Real(on, whole.narrow.name, whole)


def difference(a: Real | float, b: Real) -> Real:
    """a - b, which is a number."""
    on = b.on
    near = a - b
    if on.b.target.fma or on.p is not SINGLE:
        return near
    return Real(on, near.name, on.real(a).wide - b.wide)


def remains_of_short(a: Real, b: Real, c: Real | float) -> Real:
    """The same of a `b` that has half the bits at most: cheaper still."""
    on = a.on
    if on.b.target.fma or on.p is SINGLE:
        return remains(a, b, c)
    high, low = cut(a)
    return (high * b + c) + low * b


def product_of_short(a: Real, b: Real) -> Sum:
    """a * b exactly, where b has half the bits at most."""
    if a.on.b.target.fma:
        return product(a, b)
    (high, low), whole = cut(a), a * b
    return whole, (high * b - whole) + low * b


def _fma_by_double(a: Real, b: Real, c: Real) -> Real:
    """The product is exact there; the sum is rounded so that rounding it again does no harm, or, where it
    is quicker, in a way that seldom does, which is noted."""
    if a.on.doubts is None:
        return _odd(a.wide * b.wide, c.wide).narrow
    whole = a.wide * b.wide + c.wide
    _doubt(a.on, whole)
    return whole.narrow


_MIDDLE = -(1 << 31)
"""The last 29 bits, moved to the upper end of 32, of a float64 in the middle between two float32."""


def _doubt(on: Lanes, whole: Real) -> None:
    """Rounding to float32 is in doubt if float64's number is a middle, as the truth may lie beside it."""
    b = on.b
    low = Bits(on, b.op(f"trunc {b.ty('i64')} {whole.bits.name} to {b.ty('i32')}")) << 3
    assert on.doubts is not None
    on.doubts[:] = [low if not on.doubts else low.least(on.doubts[0])]


def doubtful(on: Lanes) -> Mask | None:
    """Where an emulated operation may be wrong; None if none was quick."""
    return on.doubts[0].is_(_MIDDLE) if on.doubts else None


def _fma_by_sums(a: Real, b: Real, c: Real) -> Real:
    high, low = product(a, b)
    more, least = total(c, low)
    top, rest = total(high, more)
    return top + _odd(rest, least)


def _odd(a: Real, b: Real) -> Real:
    """a + b, cut off to an odd last bit unless it is exact."""
    near, left = total(a, b)
    bits, one = near.bits, a.on.bits(1)
    inexact = left.is_(0.0) | (bits & 1).differs(0)
    towards = ((bits ^ left.bits).shifted(8 * a.on.p.size - 1)) | one      # 1 away from zero, or -1
    return (bits + inexact.bits(0, towards)).real


def chain(x: Real, coefficients: Sequence[Real | float], apart: int = 0, reach: float = math.inf) -> Real:
    """A polynomial, lowest degree first, by Horner's scheme: fewest operations, one after the other.

    So many of them, the first ones, whose rounding does not count, are a product and a sum.  `reach` is the
    largest size of x, where it is known (`settled`)."""
    *rest, last = coefficients
    found, size = x.on.real(last), _size(last)
    for step, c in enumerate(reversed(rest)):
        size *= reach
        if step < apart:
            found = found * x + c
        else:
            found = fma(found, x, c) if isinstance(c, Real) else settled(found, x, c, size)
        size += _size(c)
    return found


def _size(c: Real | float) -> float:
    return math.inf if isinstance(c, Real) else abs(c)


def series(x: Real, coefficients: Sequence[Real | float]) -> Real:
    """The same; on lanes that are not fused by its even and its odd part, so that half as many operations
    are one after the other, as each takes two."""
    if x.on.fused:
        return chain(x, coefficients)
    z = x * x
    return chain(z, coefficients[1::2]) * x + chain(z, coefficients[::2])


def total(a: Real, b: Real) -> Sum:
    """a + b exactly (Knuth)."""
    high = a + b
    other = high - a
    return high, (a - (high - other)) + (b - other)


def ordered(a: Real, b: Real) -> Sum:
    """a + b exactly where a is 0 or has at least b's exponent (Dekker)."""
    high = a + b
    return high, (a - high) + b


def product(a: Real, b: Real | float) -> Sum:
    """a * b exactly, unless it leaves the exponents' range."""
    b = a.on.real(b)
    high = a * b
    if a.on.b.target.fma:
        return high, a.on.call("fma", a, b, -high)
    if a.on.p is SINGLE:
        return high, (a.wide * b.wide - high.wide).narrow
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    return high, al * bl - (((high - ah * bh) - al * bh) - ah * bl)


def onto(base: Real, a: Real, b: Real | float) -> Sum:
    """base + a * b as a sum, all but exact: the base is 0 or twice the product in size."""
    if not base.on.fused:
        more, least = product(a, b)
        high, low = ordered(base, more)
        return high, low + least
    high = fma(a, b, base)
    return high, remains(a, b, difference(base, high))


def plus(a: Sum, b: Sum) -> Sum:
    """The sum of two sums, to its last place but a few, if they do not cancel."""
    high, low = total(a[0], b[0])
    return ordered(high, low + (a[1] + b[1]))


def times(a: Sum, b: Sum) -> Sum:
    """The product of two sums, to its last place but a few."""
    high, low = product(a[0], b[0])
    return ordered(high, fma(a[0], b[1], fma(a[1], b[0], low)))


def _halves(a: Real) -> Sum:
    """Two numbers of half the bits: the lower one has a sign, and so one bit less than were cut off."""
    places = a.on.p.mantissa // 2 + 1
    return cut(a, 1 << places - 1)


def cut(a: Real, more: int = 0) -> Sum:
    """Two numbers, the first one of half the bits, cut off after adding that many units in the last place."""
    unit = 1 << a.on.p.mantissa // 2 + 1
    bits = a.bits + more if more else a.bits
    high = (bits & (2 * a.on.p.sign - unit)).real
    return high, a - high
