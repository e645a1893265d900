"""cbrt in float32: x = 2**(3 third + rest) m, by a table over rest and the eighths of an octave of m.

Its roots need no second number.  The exponent's third is the nearest one, whether the product with 1/3 is
rounded or not.  As -3 third is third modulo 4, adding it to x's exponent leaves the rest in the two lowest
bits, beside the eighth: one sum is the table's index.
"""

from __future__ import annotations

from lazyarr.codegen.mathlib.arithmetic import chain, fma, remains
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.roots import rare
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """A number without its sign is (root * 2**third)**3 * (1 + r)."""

    r: Real
    root: Real
    octaves: Bits
    """The third, where exponents have theirs."""

    def grown(self, name: str) -> Real:
        """The root, by a series of (1 + r)**(1/3)."""
        more = fma(self.root * self.r, chain(self.r, self.r.on.table(name)), self.root)
        return (more.bits + self.octaves).real


def split_root(x: Real) -> Split:
    """Of normal numbers."""
    on, p = x.on, x.on.p
    exponent = (x if on.full else abs(x)).floor_log2()
    octaves = exponent.times(1 / 3, p.magic).bits << p.mantissa
    root, c = look_up((x.bits + octaves) >> p.mantissa - 3, on.table("ROOT"), on.table("ROOT_INVERSE"))
    return Split(remains(x.fraction(), c, -1.0), root, octaves)


def _third(x: Real) -> Real:
    return split_root(x).grown("ROOT_TAIL")


def cbrt(on: Lanes, x: Real) -> tuple[Real, Mask]:
    return _third(x).signed(x), x.odd(either=True)


cbrt_rare = rare(_third)
