"""Numbers for longer formulas: rounded once an operation, or twice as precise, as sums of two.

In:  `Real`s of float64, and which of both they shall be.   Out: `Number`s, with operators.
A formula is written once: complex128 computes it with sums (within some units of 2**-104 where nothing
cancels), so that results are rounded once, all but; complex64 with float64's numbers.
"""

from __future__ import annotations

import math

from lazyarr.codegen.mathlib.arithmetic import Sum, fma, ordered, product, remains, total
from lazyarr.codegen.mathlib.inverse import root
from lazyarr.codegen.mathlib.lanes import Mask, Real
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    high: Real
    low: Real | None
    """What is left of a sum; None: nothing."""
    twice: bool
    """Is it to be twice as precise?"""

    def _sum(self, parts: Sum) -> Number:
        return Number(*parts, True)

    def _plain(self, x: Real) -> Number:
        return Number(x, None, False)

    def _other(self, x: Number | Real | float) -> Number:
        return x if isinstance(x, Number) else Number(self.high.on.real(x), None, self.twice)

    def __add__(self, other: Number | Real | float) -> Number:
        o = self._other(other)
        if not self.twice:
            return self._plain(self.high + o.high)
        high, low = total(self.high, o.high)
        rest = [x for x in (self.low, o.low) if x is not None]
        if not rest:
            return self._sum((high, low))
        return self._sum(ordered(high, low + (rest[0] + rest[1] if len(rest) > 1 else rest[0])))

    __radd__ = __add__

    def __neg__(self) -> Number:
        return Number(-self.high, None if self.low is None else -self.low, self.twice)

    def __sub__(self, other: Number | Real | float) -> Number:
        return self + -self._other(other)

    def __rsub__(self, other: Real | float) -> Number:
        return self._other(other) + -self

    def __mul__(self, other: Number | Real | float) -> Number:
        if isinstance(other, float) and abs(math.frexp(other)[0]) == 0.5:
            low = None if self.low is None else self.low * other
            return Number(self.high * other, low, self.twice)
        o = self._other(other)
        if not self.twice:
            return self._plain(self.high * o.high)
        high, low = product(self.high, o.high)
        if o.low is not None:
            low = fma(self.high, o.low, low)
        if self.low is not None:
            low = fma(self.low, o.high, low)
        exact = o.low is None and self.low is None
        return self._sum((high, low) if exact else ordered(high, low))

    __rmul__ = __mul__

    def __truediv__(self, other: Number | Real | float) -> Number:
        o = self._other(other)
        if not self.twice:
            return self._plain(self.high / o.high)
        inverse = 1.0 / o.high
        q = self.high * inverse
        left = remains(-q, o.high, self.high)
        if self.low is not None:
            left = left + self.low
        if o.low is not None:
            left = fma(-q, o.low, left)
        return self._sum(ordered(q, left * inverse))

    def __rtruediv__(self, other: Real | float) -> Number:
        return self._other(other) / self

    def sqrt(self) -> Number:
        if not self.twice:
            return self._plain(self.high.sqrt())
        return self._sum(root(self.high, self.low))

    @property
    def square(self) -> Number:
        return self * self

    def signed(self, sign: Real) -> Number:
        """The size of it is that of a number without a sign: with the sign of another."""
        low = None if self.low is None else self.low.times_sign(sign)
        return Number(self.high.times_sign(sign), low, self.twice)

    @property
    def rounded(self) -> Real:
        return self.high if self.low is None else self.high + self.low

    @property
    def parts(self) -> Sum:
        return self.high, self.high.on.real(0.0) if self.low is None else self.low


def number(x: Real | Sum, twice: bool) -> Number:
    """One that is exact; or a sum, which is rounded unless it is to be kept."""
    if isinstance(x, Real):
        return Number(x, None, twice)
    return Number(*x, True) if twice else Number(x[0] + x[1], None, False)


def choose(where: Mask, yes: Number, no: Number) -> Number:
    high = where.real(yes.high, no.high)
    if yes.low is None and no.low is None:
        return Number(high, None, yes.twice)
    return Number(high, where.real(yes.parts[1], no.parts[1]), yes.twice)
