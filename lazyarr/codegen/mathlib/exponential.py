"""exp, exp2: 2**(k/16) from a table, times the exponential of a remainder.

With x = k ln2 / 16 + r, |r| <= ln2 / 32:  e**x = s + s * (e**r - 1), s = 2**(k/16).  A second table has what
rounding left off s, relative to it.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Bits, Lanes, Mask, Raised, Real, chain

INF, NAN = float("inf"), float("nan")

Steps = tuple[Bits, Real]
"""k in the low bits, and a remainder."""

_NORMAL = {"exp": {DOUBLE: 708.0, SINGLE: 87.0}, "exp2": {DOUBLE: 1021.0, SINGLE: 125.0}}
"""Up to here results are normal numbers, with both signs."""

_ENDS = {
    "exp": {DOUBLE: (-746.0, 710.0), SINGLE: (-104.0, 89.0)},
    "exp2": {DOUBLE: (-1076.0, 1025.0), SINGLE: (-151.0, 129.0)},
}
"""From here on results are zero, and infinite."""


def scaled(on: Lanes, k: Bits) -> Real:
    """2**(k/16), k in the low bits: the table's numbers lack what all of k adds to exponents."""
    return (on.look_up(on.table("EXP_HIGH"), k).bits + (k << on.p.mantissa - 4)).real


def steps(x: Real) -> Steps:
    """The products are exact: the parts of ln2 / 16 have few bits."""
    on = x.on
    shifted = x * on.table("EXP_SCALE") + on.p.magic
    k, r = shifted - on.p.magic, x
    for part in on.table("EXP_STEP"):
        r = k.times(-part, r)
    return shifted.bits, r


def steps2(x: Real) -> Steps:
    magic = x.on.p.magic
    shifted = x * 16.0 + magic
    return shifted.bits, (shifted - magic).times(-0.0625, x)


def tail(r: Real) -> Real:
    """e**r - 1."""
    return r + r * r * chain(r, r.on.table("EXP_TAIL"))


def tail2(r: Real) -> Real:
    return r * chain(r, r.on.table("EXP2_TAIL"))


def gradual(on: Lanes, k: Bits, beyond: Real) -> Real:
    """2**(k/16) * (1 + beyond) where that may leave the exponents' range: rounded twice if below it."""
    unit = scaled(on, k & 15)
    biased = ((k + (2048 << 4)) & 0xFFFF) >> 4
    first = biased >> 1
    one, two = first - 1024, biased - first - 1024
    return (unit + unit * beyond) * on.power_of_two(one) * on.power_of_two(two)


def clamped(x: Real, low: float, high: float) -> Real:
    """Within limits; NaN stays."""
    x = (x > high).real(high, x)
    return (x < low).real(low, x)


def raised(x: Real, y: Real) -> Raised:
    """Results that left the range, of finite operands."""
    finite = abs(x) < INF
    return {"over": finite & abs(y).is_(INF), "under": finite & (abs(y) < x.on.p.least)}


def _family(
    name: str, split: Callable[[Real], Steps], beyond: Callable[[Real], Real]
) -> tuple[Callable[[Lanes, Real], tuple[Real, Mask]], Callable[[Lanes, Real], tuple[Real, Raised]]]:
    def fast(on: Lanes, x: Real) -> tuple[Real, Mask]:
        k, r = split(x)
        s = scaled(on, k)
        return s + s * (beyond(r) + on.look_up(on.table("EXP_LOW"), k)), abs(x).outside(_NORMAL[name][on.p])

    def rare(on: Lanes, x: Real) -> tuple[Real, Raised]:
        k, r = split(clamped(x, *_ENDS[name][on.p]))
        y = gradual(on, k, beyond(r) + on.look_up(on.table("EXP_LOW"), k))
        flags = raised(x, y)
        exact = (x + on.p.magic - on.p.magic).is_(x) & (y > 0.0)
        return y, {**flags, "under": flags["under"] & ~exact} if name == "exp2" else flags

    return fast, rare


exp, exp_rare = _family("exp", steps, tail)
exp2, exp2_rare = _family("exp2", steps2, tail2)
