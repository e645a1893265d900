"""exp, exp2: 2**(k/16) from a table, times the exponential of a remainder.

With x = k ln2 / 16 + r, |r| <= ln2 / 32:  e**x = s + s * (e**r - 1), s = 2**(k/16).  A second table has what
rounding left off s, relative to it.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.arithmetic import chain, fma, series
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up

INF, NAN = float("inf"), float("nan")

Steps = tuple[Bits, Real]
"""k in the low bits, and a remainder."""

_NORMAL = {"exp": {DOUBLE: 650.0, SINGLE: 87.0}, "exp2": {DOUBLE: 940.0, SINGLE: 125.0}}
"""Up to here results are normal numbers, with both signs, and so are their parts in emulated operations."""

ENDS = {
    "exp": {DOUBLE: (-746.0, 710.0), SINGLE: (-104.0, 89.0)},
    "exp2": {DOUBLE: (-1076.0, 1025.0), SINGLE: (-151.0, 129.0)},
}
"""From here on results are zero, and infinite."""


def scaled(k: Bits) -> tuple[Real, Real]:
    """2**(k/16), k in the low bits, and what rounding left off, relative to it.

    The table's numbers lack what all of k adds to exponents."""
    on = k.on
    high, low = look_up(k, on.table("EXP_HIGH"), on.table("EXP_LOW"))
    return (high.bits + (k << on.p.mantissa - 4)).real, low


def rounded(k: Bits) -> Real:
    """2**(k/16)."""
    (high,) = look_up(k, k.on.table("EXP_HIGH"))
    return (high.bits + (k << k.on.p.mantissa - 4)).real


def nearest(x: Real, less: int = 0) -> tuple[Bits, Real]:
    """The number of the step that x is next to, less so many in the low bits, and as a number."""
    magic = x.on.p.magic - less
    shifted = fma(x, x.on.table("EXP_SCALE"), magic)
    return shifted.bits, shifted - magic


def steps(x: Real, less: int = 0) -> Steps:
    """The first product is exact, so the first difference is; in float64 so is the second product."""
    k, r = nearest(x, less)
    high, low = x.on.table("EXP_STEP")
    first = r.times(-high, x)
    return k, r.times(-low, first) if x.on.p is DOUBLE else fma(r, -low, first)


def steps2(x: Real) -> Steps:
    magic = x.on.p.magic / 16
    shifted = x + magic
    return shifted.bits, x - (shifted - magic)


def tail(r: Real, more: Real) -> Real:
    """e**r - 1 + more."""
    return fma(r * r, series(r, r.on.table("EXP_TAIL")), r + more)


def tail2(r: Real, more: Real) -> Real:
    return fma(r, chain(r, r.on.table("EXP2_TAIL"), apart=1), more)


def gradual(k: Bits, beyond: Callable[[Real], Real]) -> Real:
    """2**(k/16) * (1 + beyond(low)) where that may leave the exponents' range: rounded twice if below it."""
    on = k.on
    unit, low = scaled(k & 15)
    biased = ((k + (2048 << 4)) & 0xFFFF) >> 4
    first = biased >> 1
    one, two = first - 1024, biased - first - 1024
    return fma(unit, beyond(low), unit) * on.power_of_two(one) * on.power_of_two(two)


def clamped(x: Real, low: float, high: float) -> Real:
    """Within limits; NaN stays."""
    x = (x > high).real(high, x)
    return (x < low).real(low, x)


def raised(x: Real, y: Real) -> Raised:
    """Results that left the range, of finite operands."""
    finite = abs(x) < INF
    return {"over": finite & abs(y).is_(INF), "under": finite & (abs(y) < x.on.p.least)}


def _family(
    name: str, split: Callable[[Real], Steps], beyond: Callable[[Real, Real], Real]
) -> tuple[Callable[[Lanes, Real], tuple[Real, Mask]], Callable[[Lanes, Real], tuple[Real, Raised]]]:
    def fast(on: Lanes, x: Real) -> tuple[Real, Mask]:
        k, r = split(x)
        s, low = scaled(k)
        return fma(s, beyond(r, low), s), abs(x).outside(_NORMAL[name][on.p])

    def rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
        k, r = split(clamped(x, *ENDS[name][on.p]))
        y = gradual(k, lambda low: beyond(r, low))
        flags = raised(x, y)
        exact = (x + on.p.magic - on.p.magic).is_(x) & (y > 0.0)
        return y, {**flags, "under": flags["under"] & ~exact} if name == "exp2" else flags

    return fast, rare


exp, exp_rare = _family("exp", steps, tail)
exp2, exp2_rare = _family("exp2", steps2, tail2)
