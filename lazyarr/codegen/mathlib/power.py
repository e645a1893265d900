"""power: the exponential of y log(x), with the logarithm as a sum that carries 65 bits or more.

Negative bases have the power of their size, with a sign (`known`).  Other bases that are not positive, and
results that may leave the exponents' range, take the rare path; that of float32 (`power_single`) is
float64's.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import Sum, fma, ordered, product, product_of_short, series
from lazyarr.codegen.mathlib.exponential import INF, NAN, gradual, scaled, steps, tail
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

_LIMIT = 650.0
"""Of the exponent in float64: up to here the exponential's fast path holds."""
_LIMIT_OCTAVES = 900.0
"""Of the exponent in base 2: below that other one."""
_FAR = 800.0
"""From here on results are zero or infinite, for either dtype."""
_OVER_F = (2.0 - 2.0**-24) * 2.0**127
"""What float32 rounds to infinity."""
_BEND = -1.0 - 0.75 / 32**2
"""log1p(r + r_low) - log1p(r) is r_low / (1 + r), of which 1 - r + r**2 lacks r**3: -r takes most of that."""


def log_sum(
    x: Real, more: Real | None = None, shift: Real | None = None, brief: bool = False
) -> Sum:  # fmt: skip
    """log(x + more) - shift log(2) of a positive normal x, as a sum; `more` is below x's last bit.

    `brief`: with few bits more than one number has."""
    on, bits = x.on, x.bits
    offset = bits - on.table("LOG_FIRST")
    octave = offset & on.p.exponent
    names = "LOG_INVERSE", "LOG_HIGH", "LOG_LOW"
    c, log_high, log_low = look_up(offset >> on.p.mantissa - 4, *map(on.table, names))
    near, r_low = product_of_short((bits - octave).real, c)
    r, k = near - 1.0, offset.exponent()
    if more is not None:
        r_low = fma(more * (on.real(1.0).bits - octave).real, c, r_low)
    if shift is not None:
        k = k - shift
    high, low = on.table("LOG_STEP")
    top, left = ordered(k.times(high, log_high), r)
    square = r * r
    half = -0.5 * square
    top, more_left = ordered(top, half)
    below = fma(-r if brief else fma(r, _BEND, square), r_low, r_low) + k.times(low, log_low)
    if not brief:
        below = product(r, r)[1].times(-0.5, below)
    rest = (more_left + left) + below
    return top, fma(r * half, series(r, on.table("SUM_TAIL" if brief else "POWER_TAIL")), rest)


def _exponent(y: Real, log: Sum) -> Sum:
    """y log(x).  The logarithm's second number may reach far beyond the first one's last bit, and times y
    beyond what the exponential's series hold for."""
    top, rest = ordered(*log)
    high, low = product(y, top)
    return high, fma(y, rest, low)


def power(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
    high, low = _exponent(y, log_sum(abs(x)))
    k, r = steps(high)
    s, s_low = scaled(k)
    # A huge exponent of 1 cannot be taken apart by what emulates exact products: `low` is a NaN.
    special = x.odd() | abs(high + low).outside(_LIMIT)
    return fma(s, tail(r + low, s_low), s), special


def known(found: Real, x: Real, y: Real, limit: float) -> tuple[Real, Mask, Raised]:
    """The powers of negative numbers, of those of their sizes, and of NaNs: where, too, and the flags.

    Not where the result may leave the exponents' range: |log2(x)| |y| is `limit` at most."""
    size, half = abs(x), 0.5 * y
    reach = abs(size.floor_log2() + 0.5) + 0.5
    held = (x < 0.0) & ~size.odd() & (abs(y) * reach < limit)
    whole, even = x.on.call("floor", y).is_(y), x.on.call("floor", half).is_(half)
    value = whole.real(even.real(found, -found), NAN)
    nan = (x.nan() | y.nan()) & ~(x.is_(1.0) | y.is_(0.0))
    return nan.real(x + y, held.real(value, found)), held | nan, {"invalid": held & ~whole}


def power_known(on: Lanes, found: Real, x: Real, y: Real) -> tuple[Real, Mask, Raised]:
    return known(found, x, y, _LIMIT_OCTAVES)


def _size(x: Real, y: Real) -> Real:
    """|x|**y of numbers that are neither zero nor infinite."""
    tiny = x < x.on.p.least
    shift = x.on.p.mantissa + 1
    log = log_sum(tiny.real(x * 2.0**shift, x), shift=tiny.real(float(shift), 0.0))
    high, low = _exponent(y, log)
    near = abs(high) < _FAR
    held = near.real(high, (high < 0.0).real(-_FAR, _FAR))
    k, r = steps(held)
    return gradual(k, lambda s_low: tail(r + near.real(low, 0.0), s_low))


def _rare(on: Lanes, x: Real, y: Real, over: float) -> tuple[Real, Raised]:
    """C's rules: ones first, then NaNs, then signs; infinities and zeros by the sizes."""
    size, half = abs(x), 0.5 * y
    whole, even = on.call("floor", y).is_(y), on.call("floor", half).is_(half)
    zero, endless, far = x.is_(0.0), size.is_(INF), abs(y).is_(INF)
    grows = (y > 0.0) ^ (size < 1.0)
    end = zero | endless | far
    found = end.real(grows.real(INF, 0.0), _size(end.real(2.0, size), far.real(1.0, y)))
    found = size.is_(1.0).real(1.0, found)
    negative = x.bits.negative()
    found = (negative & whole & ~even).real(-found, found)
    invalid = (x < 0.0) & ~whole & ~endless & ~y.nan()
    found = invalid.real(NAN, found)
    ones = y.is_(0.0) | x.is_(1.0)
    nan = x.nan() | y.nan()
    found = ones.real(1.0, nan.real(x + y, found))
    usual = ~(end | ones | nan | invalid)
    raised: Raised = {
        "divide": zero & (y < 0.0) & ~far, "invalid": invalid,
        "over": usual & (abs(found) >= over), "under": usual & (abs(found) < on.p.least),
    }  # fmt: skip
    return found, raised


def power_rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
    return _rare(on, x, y, INF)


def power_f_rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
    return _rare(on, x, y, _OVER_F)
