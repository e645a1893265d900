"""Formulas: what the numbers of a recording are made of, of the lengths of arrays.

In:  two sets of lengths, and a number as it is with either.   Out: a `Formula`, for any lengths.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.compiling.extents import NEAR, Lengths
from lazyarr.compiling.values import Refused
from lazyarr.records import NamedTuple


class Formula(NamedTuple):
    """A number: a product of lengths, each with a number added."""

    factor: int
    terms: tuple[tuple[int, int], ...] = ()

    def at(self, lengths: Lengths) -> int:
        found = self.factor
        for k, more in self.terms:
            found *= lengths[k] + more
        return found

    def times(self, other: Formula) -> Formula:
        return Formula(self.factor * other.factor, self.terms + other.terms)

    def words(self, letters: Sequence[str]) -> str:
        """As one writes it."""
        terms = [f"{letters[k]}{more:+d}" if more else letters[k] for k, more in self.terms]
        if len(terms) == 1 and self.factor == 1:
            return terms[0]
        factor = [str(self.factor)] if self.factor != 1 or not terms else []
        return "*".join(factor + [f"({term})" if "+" in term or "-" in term else term for term in terms])


class Reader:
    """Numbers of two recordings, read as formulas."""

    def __init__(self, one: Lengths, other: Lengths) -> None:
        self.one, self.other = one, other
        self.known: dict[tuple[int, int], Formula] = {}
        for k, pair in enumerate(zip(one, other, strict=True)):
            self.known[pair] = Formula(1, ((k, 0),))

    def simple(self, a: int, b: int) -> Formula | None:
        """A constant, or one length and some more or less."""
        if a == b:
            return Formula(a)
        for k, (n, m) in enumerate(zip(self.one, self.other, strict=True)):
            if a - n == b - m and abs(a - n) <= NEAR:
                return Formula(1, ((k, a - n),))
        return None

    def formula(self, a: int, b: int) -> Formula:
        """What a number is made of, that is `a` in the one recording and `b` in the other."""
        found = self.known.get((a, b)) or self.simple(a, b)
        if found is None and a > 0 and b > 0:
            for (n, m), formula in self.known.items():
                if n > 1 and not a % n and not b % m:
                    rest = self.simple(a // n, b // m)
                    if rest is not None:
                        found = formula.times(rest)
                        break
        if found is None:
            raise Refused("its extents are no products of its arguments' lengths")
        if found.terms:
            self.known[a, b] = found
        return found
