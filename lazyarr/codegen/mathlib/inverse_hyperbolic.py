"""arcsinh, arccosh, arctanh: logarithms of 1 + w, with w as a sum where w is small.

    arcsinh(a) = log1p(a + a**2 / (1 + sqrt(1 + a**2)))        arccosh(1 + t) = log(1 + t + sqrt(2 t + t**2))
    arctanh(a) = log1p(2 a / (1 - a)) / 2

Above 2**(half of the mantissa) the first two are log(2 a).
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import fma, ordered, product, remains, total
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.inverse import root
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.logarithm import of_sum, of_whole, plain, split
from lazyarr.records import replace


def limit(on: Lanes) -> float:
    return 2.0 ** (on.p.mantissa // 2 + 2)


def arcsinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    a = abs(x)
    square = a * a
    w, low = ordered(a, square / (1.0 + (1.0 + square).sqrt()))
    y, _ = of_sum(w, low)
    return y.signed(x), a.outside(limit(on))


def _of_large(on: Lanes, a: Real) -> Real:
    """log(2 a)."""
    s = split(a)
    return a.is_(INF).real(INF, plain(replace(s, k=s.k + 1.0)))


def arcsinh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    return x.nan().real(x, _of_large(on, abs(x)).signed(x)), {}


def arccosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    t = x - 1.0
    square, square_low = product(t, t)
    inside, inside_low = total(2.0 * t, square)
    side, side_low = root(inside, inside_low + square_low)
    whole, low = ordered(x, side)
    return of_whole(whole, low + side_low), t.bits.at_least(on.real(limit(on)).bits)


def arccosh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y, _, raised = arccosh_known(on, _of_large(on, x), x)
    return x.nan().real(x, y), raised


def arccosh_known(on: Lanes, found: Real, x: Real) -> tuple[Real, Mask, Raised]:
    below = x < 1.0
    return below.real(NAN, found), below, {"invalid": below}


def arctanh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    a = abs(x)
    d, d_low = ordered(on.real(1.0), -a)
    inverse, n = 1.0 / d, 2.0 * a
    w = n * inverse
    y, _ = of_sum(w, fma(-w, d_low, remains(-w, d, n)) * inverse)
    return (0.5 * y).signed(x), a.outside(1.0)


def arctanh_rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
    y, _, raised = arctanh_known(on, x, x)
    return y, raised


def arctanh_known(on: Lanes, found: Real, x: Real) -> tuple[Real, Mask, Raised]:
    pole, beyond = abs(x).is_(1.0), abs(x) > 1.0
    y = pole.real(on.real(INF).signed(x), beyond.real(NAN, found))
    return y, pole | beyond, {"divide": pole, "invalid": beyond}
