"""expm1, cosh and sinh in float32: of the exponential, whose parts are rounded where it no longer counts.

With x = k ln2 / 16 + r, s = 2**(k/16), p = e**r - 1:

    expm1(x) = (s - 1) + s p          cosh(x) = s / 2 + (s p / 2 + 1 / (4 (s / 2 + s p / 2)))
    sinh(x) = s / 2 + (s p / 2 - e**-x / 2), where e**-x is computed as e**x
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma
from lazyarr.codegen.mathlib.exponential import scaled, steps
from lazyarr.codegen.mathlib.hyperbolic import LARGE, halves
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real


def _parts(x: Real) -> tuple[Real, Real]:
    """s / 2, and p with what rounding left off s."""
    on = x.on
    k, r = steps(x, less=16)
    s, low = scaled(k)
    return s, r + fma(r * r, chain(r, on.table("EXP_TAIL")), low)


def expm1(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Of less than a step k is 0, so that small results are no difference of larger numbers."""
    size = abs(x)
    small = size < on.table("EXP_STEP")[0]
    k, rest = steps(x)
    s, low = scaled(k)
    r, s, low = small.real(x, rest), small.real(1.0, s), small.real(0.0, low)
    p = r + fma(r * r, chain(r, on.table("EXPM1_TAIL")), low)
    return fma(s, p, s - 1.0).signed(x), size.outside(LARGE[on.p])


def cosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """The reciprocal's error and that of the half exponential cancel where both count."""
    size = abs(x)
    s, p = _parts(size)
    left = s * p
    return s + (left + 0.25 / (s + left)), size.outside(LARGE[on.p])


def sinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Below 3/4 a series, which is the remainder's, too; above, e**-x needs no second number."""
    size = abs(x)
    s, low, u, r = halves(size)
    small = size < 0.75
    w = small.real(size, r)
    z = w * w
    odd = fma(w * z, chain(z, on.table("SINH_SERIES")), w)
    half = on.table("EXP_TAIL")[0]
    far = s + fma(s, fma(z, half, odd) + low, -fma(u, fma(z, half, -odd), u))
    return small.real(odd, far).signed(x), size.outside(LARGE[on.p])
