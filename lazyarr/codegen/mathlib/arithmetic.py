"""What numbers in lanes can do that is one instruction on some CPU levels and several on others.

In:  `Real`s.   Out: `Real`s, or sums of two.
Holds: the same bits on every level.

    fma(a, b, c)           a * b + c, rounded once; by Boldo and Melquiond's way if need be
    remains(a, b, c)       the same where the product nearly is -c: cheaper to emulate
    chain(x, c)            a polynomial by Horner's scheme, of FMAs
    product(a, b)          a * b as an unevaluated sum of two numbers, exact: one FMA, or Dekker's seventeen
    total(a, b)            a + b as such a sum (Knuth); `ordered` where a is the larger one (Dekker)
    plus(a, b), times      of such sums

Levels without the instruction pay some forty for it, or twenty in float32: bits come before speed there.
Functions of complex numbers do without (`Lanes.fused`): what corrects what is known may be rounded twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.codegen.mathlib.lanes import SINGLE, Real

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


def remains(a: Real, b: Real | float, c: Real | float) -> Real:
    """a * b + c, rounded once, where c less the product's rounded value is exact: of half to twice its size,
    or where one of both is 0."""
    on = a.on
    if on.b.target.fma:
        return on.call("fma", a, b, c)
    if on.p is SINGLE:
        return (a.wide * on.real(b).wide + on.real(c).wide).narrow
    high, low = product(a, b)
    return (high + c) + low


def _fma_by_double(a: Real, b: Real, c: Real) -> Real:
    """The product is exact there; the sum is rounded so that rounding it again does no harm."""
    return _odd(a.wide * b.wide, c.wide).narrow


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


def chain(x: Real, coefficients: Sequence[Real | float]) -> Real:
    """A polynomial, lowest degree first, by Horner's scheme: fewest operations, one after the other."""
    *rest, last = coefficients
    found = x.on.real(last)
    for c in reversed(rest):
        found = fma(found, x, c)
    return found


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
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    return high, al * bl - (((high - ah * bh) - al * bh) - ah * bl)


def onto(base: Real, a: Real, b: Real | float) -> Sum:
    """base + a * b as a sum, all but exact: the base is 0 or twice the product in size."""
    if not base.on.fused:
        more, least = product(a, b)
        high, low = ordered(base, more)
        return high, low + least
    high = fma(a, b, base)
    return high, fma(a, b, base - high)


def plus(a: Sum, b: Sum) -> Sum:
    """The sum of two sums, to its last place but a few, if they do not cancel."""
    high, low = total(a[0], b[0])
    return ordered(high, low + (a[1] + b[1]))


def times(a: Sum, b: Sum) -> Sum:
    """The product of two sums, to its last place but a few."""
    high, low = product(a[0], b[0])
    return ordered(high, fma(a[0], b[1], fma(a[1], b[0], low)))


def _halves(a: Real) -> Sum:
    """Two numbers of half the bits (Veltkamp)."""
    scaled = a * (2.0 ** (a.on.p.mantissa // 2 + 1) + 1)
    high = scaled - (scaled - a)
    return high, a - high
