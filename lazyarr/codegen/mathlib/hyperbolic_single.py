"""expm1, cosh and sinh in float32: of the exponential, whose parts are rounded where it no longer counts.

With x = k ln2 / 16 + r, s = 2**(k/16), p = e**r - 1:

    expm1(x) = (s - 1) + s p          cosh(x) = s / 2 + (s p / 2 + 1 / (4 (s / 2 + s p / 2)))
    sinh(x) = s / 2 + (s p / 2 - e**-x / 2), where e**-x is computed as e**x
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma
from lazyarr.codegen.mathlib.exponential import scaled, steps
from lazyarr.codegen.mathlib.hyperbolic import LARGE
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real
from lazyarr.codegen.mathlib.lookup import look_up


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
    """Below 3/4 a series; above, e**-x needs no second number."""
    size = abs(x)
    k, r = steps(size, less=16)
    s, low = scaled(k)
    (u,) = look_up(k, on.table("EXP_FALL"))
    u = (u.bits - (k << on.p.mantissa - 4)).real
    square = r * r
    first, second = on.table("EXP_TAIL")
    rise = r + fma(square, fma(r, second, first), low)
    fall = fma(square, fma(r, -second, first), -r)
    z = size * size
    near = fma(size * z, chain(z, on.table("SINH_SERIES")), size)
    far = s + fma(s, rise, -fma(u, fall, u))
    return (size < 0.75).real(near, far).signed(x), size.outside(LARGE[on.p])
