"""cbrt in float32: as `roots`, x = 2**k (1 + r) / c, by a table of 32, whose roots need no second number.

The third of k and the rest of it are found among numbers, not integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyarr.codegen.mathlib.arithmetic import chain, fma, product
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.logarithm_single import split
from lazyarr.codegen.mathlib.lookup import look_up


@dataclass(frozen=True, slots=True)
class Split:
    """x = (root * 2**(rest / 3) * 2**third)**3 * (1 + r)."""

    r: Real
    root: Real
    two: Real
    """2**(rest / 3), rest -1, 0, 1."""
    two_low: Real
    """What rounding left off it, relative to it."""
    third: Bits

    def grown(self, y: Real) -> Real:
        """y * 2**third."""
        return (y.bits + (self.third << y.on.p.mantissa)).real


def split_root(x: Real) -> Split:
    """Of positive normal numbers."""
    on, magic = x.on, x.on.p.magic
    exponent, m, index = split(x)
    root, c = look_up(index, on.table("ROOT"), on.table("ROOT_INVERSE"))
    shifted = fma(exponent, 1 / 3, magic)
    rest = fma(shifted - magic, -3.0, exponent + magic).bits
    two, two_low = look_up(rest, on.table("CBRT_TWO_HIGH"), on.table("CBRT_TWO_LOW"))
    return Split(fma(m, c, -1.0), root, two, two_low, shifted.bits)


def cbrt(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    part = split_root(size)
    s, s_low = product(part.root, part.two)
    more = fma(part.r, chain(part.r, on.table("ROOT_TAIL")), part.two_low)
    return part.grown(s + fma(s, more, s_low)).signed(x), size.odd()
