"""expm1, cosh, sinh, tanh in float32: of the exponential, whose parts are rounded where it no longer counts.

With x = k ln2 / 16 + r, s = 2**(k/16), p = e**r - 1:

    expm1(x) = (s - 1) + s p          cosh(x) = s / 2 + (s p / 2 + 1 / (4 (s / 2 + s p / 2)))

(ln2 / 16 is a float32, all but: multiples of it can be taken from x without rounding, since what is left is
small.)

With x = k ln2 + r, M = (2**k - 2**-k) / 2, P = (2**k + 2**-k) / 2, which have no rounding where it counts:

    sinh(x) = M + (M (cosh(r) - 1) + P sinh(r))
"""

from __future__ import annotations

from lazyarr.codegen.mathlib import tables
from lazyarr.codegen.mathlib.arithmetic import chain, fma, remains, total
from lazyarr.codegen.mathlib.exponential import nearest, scaled
from lazyarr.codegen.mathlib.hyperbolic import LARGE
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.tables import TANH_FIRST


def _fall(x: Real, more: Real, tail: str) -> Real:
    """e**x - 1 + more, which rounding takes nothing off but at the end."""
    return x + fma(x * x, chain(x, x.on.table(tail)), more)


def _taken(x: Real, shifts: Real, low: Real) -> tuple[Real, Real]:
    """What so many steps leave of x, a number; and `low` less what the step lacks."""
    step, lacks = x.on.table("STEP")
    return remains(shifts, -step, x), remains(shifts, -lacks, low)


def expm1(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Of less than a step and a half k is 0, so that small results are no difference of larger numbers, and
    what is left is a third of others at most."""
    size, magic = abs(x), on.p.magic
    small = size < 1.5 * on.table("STEP")[0]
    shifted = small.real(magic, fma(x, on.table("EXP_SCALE"), magic))
    s, low = scaled(shifted.bits)
    p = _fall(*_taken(x, shifted - magic, low), "EXPM1_TAIL")
    top, left = total(s, on.real(-1.0))
    return (top + fma(s, p, left)).signed(x), size.outside(LARGE[on.p])


def cosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """The reciprocal's error and that of the half exponential cancel where both count."""
    size = abs(x)
    k, shifts = nearest(size, less=16)
    s, low = scaled(k)
    p = _fall(*_taken(size, shifts, low), "EXP_TAIL")
    return s + fma(s, p, 0.25 / fma(s, p, s)), size.outside(LARGE[on.p])


def sinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """By octaves, without a table: x = k log(2) + r, M and P half the difference and the sum of 2**k, 2**-k.

    Signs go through k and r.  k log(2) has no more bits behind the point than log(2), so that taking it away
    leaves no rounding; what is left of it is added where r's own rounding would count."""
    k, shifts = nearest_octave(x)
    high, low = on.table("OCTAVE")
    first, more = remains(shifts, -high, x), shifts * -low
    r = first + more
    shift, half = k << on.p.mantissa, on.real(0.5).bits
    up, down = (half + shift).real, (half - shift).real
    less, plus = down - up, up + down       # -M, so that -0 stays one
    z = r * r
    odd = fma(r * z, chain(z, on.table("OCTAVE_SINH")), more)
    even = z * chain(z, on.table("OCTAVE_COSH"))
    rest = fma(plus, first, fma(-less, even, plus * odd))
    return rest - less, abs(x).outside(LARGE[on.p])


def nearest_octave(x: Real) -> tuple[Bits, Real]:
    """k in the low bits, and as a number."""
    shifted = fma(x, x.on.table("OCTAVES"), x.on.p.magic)
    return shifted.bits, shifted - x.on.p.magic


_LAST = 9.5
"""From here on tanh is 1."""


def tanh(on: Lanes, x: Real) -> tuple[Real, None]:
    """A polynomial from a table by quarter octaves, whose first row is all of what is below; a NaN stays one.

    The index is the bits of the exponent and the next two."""
    size = abs(x)
    size = (size > _LAST).real(_LAST, size)
    first = on.real(TANH_FIRST).bits
    index = on.held(size.bits, first, None) >> on.p.mantissa - 2
    center, value, *slopes = look_up(index, *(getattr(tables, f"TANH_ROWS_{k}") for k in range(7)))
    r = size - center
    return fma(r, chain(r, slopes), value).signed(x), None
