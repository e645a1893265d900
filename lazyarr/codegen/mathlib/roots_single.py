"""cbrt in float32: x = 2**(3 third + rest) m, by a table over rest and the eighths of an octave of m.

Its roots need no second number.  The exponent's third and its rest are found among numbers, not integers:
the nearest one, whether the product with 1/3 is rounded or not.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma, remains
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.logarithm_single import split
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.roots import rare
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """x = (root * 2**third)**3 * (1 + r)."""

    r: Real
    root: Real
    third: Bits

    def grown(self, name: str) -> Real:
        """The root, by a series of (1 + r)**(1/3)."""
        more = self.r * chain(self.r, self.r.on.table(name))
        return (fma(self.root, more, self.root).bits + (self.third << self.r.on.p.mantissa)).real


def split_root(x: Real) -> Split:
    """Of positive normal numbers."""
    on, magic = x.on, x.on.p.magic
    exponent, m, _ = split(x)
    shifted = exponent.times(1 / 3, magic)
    rest = (shifted - magic).times(-3.0, exponent + magic).bits
    eighth = (x.bits >> on.p.mantissa - 3) & 7
    root, c = look_up((rest << 3) | eighth, on.table("ROOT"), on.table("ROOT_INVERSE"))
    return Split(remains(m, c, -1.0), root, shifted.bits)


def _third(x: Real) -> Real:
    return split_root(x).grown("ROOT_TAIL")


def cbrt(on: Lanes, x: Real) -> tuple[Real, Mask]:
    size = abs(x)
    return _third(size).signed(x), size.odd()


cbrt_rare = rare(_third)
