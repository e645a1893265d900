"""float16's functions, in float32: what 11 bits need and no more, off by 2**-16 of the result at most.

All of float16's numbers, the subnormal ones too, are normal in float32.  So logarithms need no rare path for
small numbers, squares do not overflow, and the remainder by pi/2 takes two parts of it for the largest angle.
Where a function is not here, float32's own is as fast.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma, remains
from lazyarr.codegen.mathlib.exponential import INF, nearest, rounded
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.logarithm_single import decimal, split
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.roots_single import split_root

_SMALL = 0.0625
"""Up to here two terms of a series suffice."""
_LARGEST = 11.78
"""From here on sinh and cosh may not fit."""


def exp2(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Results from 2**-115 on are taken here, and become zero; up to 2**15.9 they fit."""
    magic = on.p.magic / 16
    shifted = x + magic
    r = x - (shifted - magic)
    s = rounded(shifted.bits)
    return fma(s * r, chain(r, on.table("HALF_EXP2")), s), abs(x + 50.0).outside(65.9)


def _half_exp(size: Real) -> Real:
    """e**x / 2, of sizes."""
    k, shifts = nearest(size, less=16)
    r = remains(shifts, -size.on.table("STEP")[0], size)
    s = rounded(k)
    return fma(s * r, fma(r, 0.5, 1.0), s)


def cosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    e = _half_exp(size)
    return e + 0.25 / e, size.outside(_LARGEST)


def sinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    e, z = _half_exp(size), size * size
    near = fma(size * z, chain(z, on.table("HALF_SINH")), size)
    return (size < 0.5).real(near, e - 0.25 / e).signed(x), size.outside(_LARGEST)


def expm1(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Results of -71 and below are -1."""
    k, shifts = nearest(x)
    r = fma(shifts, -on.table("STEP")[0], x)
    s = rounded(k)
    p = fma(r * r, fma(r, 1 / 6, 0.5), r)
    return fma(s, p, s - 1.0).signed(x), abs(x + 30.0).outside(41.08)


def _log(x: Real) -> Real:
    on = x.on
    k, m, index = split(x)
    c, t = look_up(index, on.table("SHORT_LOG_INVERSE"), on.table("SHORT_LOG"))
    r = fma(m, c, -1.0)
    return fma(r, chain(r, on.table("HALF_LOG")), fma(k, on.table("SHORT_LOG_STEP")[0], t))


def log(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _log(x), x.odd()


def log10(on: Lanes, x: Real) -> tuple[Real, Mask]:
    thirds, r = decimal(x)
    return fma(r, chain(r, on.table("HALF_LOG10")), thirds * on.table("SHORT_LOG10_THIRD")), x.odd()


def log1p(on: Lanes, x: Real) -> tuple[Real, Mask]:
    whole = 1.0 + x
    near = fma(x * x, chain(x, on.table("HALF_LOG1P")), x)
    return (abs(x) < _SMALL).real(near, _log(whole)), whole.odd()


def _or_cube(a: Real, part: float, y: Real) -> Real:
    """a + part * a**3 of small numbers."""
    return (a < _SMALL).real(fma(a * a, a * part, a), y)


def arcsinh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    a = abs(x)
    y = _log(a + fma(a, a, 1.0).sqrt())
    return _or_cube(a, -1 / 6, y).signed(x), a.outside(INF)


def arccosh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    t = x - 1.0
    return _log(x + fma(t, t, t + t).sqrt()), t.bits.at_least(on.real(INF).bits)


def arctanh(on: Lanes, x: Real) -> tuple[Real, Mask]:
    a = abs(x)
    y = 0.5 * _log((1.0 + a) / (1.0 - a))
    return _or_cube(a, 1 / 3, y).signed(x), a.outside(1.0)


def cbrt(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """As float32's, by fewer terms."""
    return split_root(x).grown("HALF_CBRT").signed(x), x.odd(either=True)


def _arc(size: Real) -> tuple[Mask, Real]:
    """Above 1/2 the arcsine of sqrt((1 - x) / 2), else that of x."""
    large = size > 0.5
    z = large.real(fma(size, -0.5, 0.5), size * size)
    side = large.real(z.sqrt(), size)
    return large, fma(side * z, chain(z, size.on.table("HALF_ASIN")), side)


def arcsin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    large, t = _arc(size)
    return large.real(fma(t, -2.0, on.table("HALF_PI")[0]), t).signed(x), size.outside(1.0000001)


def arccos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    large, t = _arc(size)
    high = on.table("HALF_PI")[0]
    base = large.real((x < 0.0).real(2.0 * high, 0.0), high)
    return fma(t, large.real(2.0, -1.0).times_sign(x), base), size.outside(1.0000001)


def _quarters(x: Real) -> tuple[Real, Bits]:
    on = x.on
    shifted = fma(x, on.table("QUARTERS"), on.p.magic)
    k = shifted - on.p.magic
    high, low = on.table("HALF_PI")
    return fma(k, -low, remains(k, -high, x)), shifted.bits


def _wave(x: Real, quarter: int) -> tuple[Real, Mask]:
    on = x.on
    r, quarters = _quarters(x)
    if quarter:
        quarters = quarters + quarter
    z = r * r
    sine = fma(r * z, chain(z, on.table("HALF_SINE")), r)
    cosine = fma(z, chain(z, on.table("HALF_COSINE")), 1.0)
    y = (quarters & 1).differs(0).real(cosine, sine)
    return (y.bits ^ ((quarters & 2) << 30)).real, abs(x).outside(INF)


def sin(on: Lanes, x: Real) -> tuple[Real, Mask]:
    y, special = _wave(x, 0)
    return x.is_(0.0).real(x, y), special


def cos(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _wave(x, 1)


def tan(on: Lanes, x: Real) -> tuple[Real, Mask]:
    r, quarters = _quarters(x)
    z = r * r
    t = fma(r * z, chain(z, on.table("HALF_TANGENT")), r)
    y = (quarters & 1).differs(0).real(-1.0 / t, t)
    return x.is_(0.0).real(x, y), abs(x).outside(INF)


FAST = {
    "exp2": exp2, "expm1": expm1, "cosh": cosh, "sinh": sinh, "log": log, "log10": log10, "log1p": log1p,
    "arcsinh": arcsinh, "arccosh": arccosh, "arctanh": arctanh, "cbrt": cbrt, "arcsin": arcsin,
    "arccos": arccos, "sin": sin, "cos": cos, "tan": tan,
}  # fmt: skip
"""Name -> float16's own definition; the rare path is float32's."""
