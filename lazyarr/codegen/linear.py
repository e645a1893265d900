"""Sums of products of whole numbers that nobody knows, and proofs that one is never negative.

In:  polynomials over symbols, each of which was made with what bounds it.
Out: `Facts.never_negative`: True is a proof, False says that none was found.

A proof replaces the symbol that was made last by what bounds it, until a number is left; so bounds speak of
symbols made before.  Numbers do not overflow: what they count lies in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

DEPTH = 24
"""Symbols that are replaced, one after the other, in one proof."""

Number = int | Fraction
Terms = dict[tuple[int, ...], Number]
Key = frozenset[tuple[tuple[int, ...], Number]]


class Poly:
    """A sum: the numbers of the symbols that are multiplied, in order -> how often (never 0)."""

    __slots__ = ("_key", "terms")

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._key: Key | None = None

    @property
    def key(self) -> Key:
        found = self._key
        if found is None:
            found = self._key = frozenset(self.terms.items())
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.key)

    def __add__(self, other: Poly | Number) -> Poly:
        return self._plus(other.terms if isinstance(other, Poly) else {(): other}, 1)

    def __sub__(self, other: Poly | Number) -> Poly:
        return self._plus(other.terms if isinstance(other, Poly) else {(): other}, -1)

    def _plus(self, more: Terms, times: int) -> Poly:
        terms = self.terms.copy()
        for m, c in more.items():
            c = whole(terms.get(m, 0) + c * times)
            if c:
                terms[m] = c
            else:
                terms.pop(m, None)
        return Poly(terms)

    def __mul__(self, other: Poly | Number) -> Poly:
        if not isinstance(other, Poly):
            if other == 1:
                return self
            return Poly({m: whole(c * other) for m, c in self.terms.items()}) if other else ZERO
        if other.terms.keys() <= CONSTANT:
            return self * other.terms.get((), 0)
        terms: Terms = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                key = tuple(sorted(m + n)) if m else n
                terms[key] = terms.get(key, 0) + c * d
        return Poly({m: whole(c) for m, c in terms.items() if c})

    @property
    def number(self) -> Number | None:
        """Its value, if it has no symbols."""
        return self.terms.get((), 0) if self.terms.keys() <= CONSTANT else None

    @property
    def symbols(self) -> set[int]:
        return {s for m in self.terms for s in m}

    @property
    def last(self) -> int:
        """The symbol that was made last, of those that it has (it has one)."""
        return max(m[-1] for m in self.terms if m)

    def split(self, symbol: int) -> tuple[Poly, Poly] | None:
        """What the symbol is multiplied by, and the rest; None: it is squared."""
        by: Terms = {}
        rest: Terms = {}
        for m, c in self.terms.items():
            if symbol not in m:
                rest[m] = c
                continue
            at = m.index(symbol)
            left = m[:at] + m[at + 1 :]
            if symbol in left:
                return None
            by[left] = c
        return Poly(by), Poly(rest)

    def over(self, divisor: Poly) -> Number | None:
        """How many times a divisor it is, if that is a number."""
        if not divisor.terms:
            return None
        if self.terms.keys() != divisor.terms.keys():
            return None if self.terms else 0
        m, c = next(iter(divisor.terms.items()))
        factor = whole(Fraction(self.terms[m], c)) if self.terms[m] % c else self.terms[m] // c
        same = all(self.terms[m] == c * factor for m, c in divisor.terms.items())
        return factor if same else None


def poly(x: Poly | Number) -> Poly:
    return x if isinstance(x, Poly) else Poly({(): x} if x else {})


def whole(x: Number) -> Number:
    """The same number: as an int, which computes many times as fast, if it is one."""
    return x.numerator if x.denominator == 1 else x


ZERO = Poly({})
CONSTANT: frozenset[tuple[int, ...]] = frozenset([()])


class Bound:
    """``by * symbol <= most`` or ``by * symbol >= least``, where `by` is positive."""

    __slots__ = ("by", "end", "upper")

    def __init__(self, upper: bool, by: Poly, end: Poly) -> None:
        self.upper, self.by, self.end = upper, by, end


class Facts:
    """What holds in a part of a program: what held outside of it, and more."""

    def __init__(self, outer: Facts | None = None) -> None:
        self.outer = outer
        self.never: bool = outer is not None and outer.never
        """Nothing comes here."""
        self.bounds: dict[int, list[Bound]] = {}
        self.equal: dict[int, Poly] = {}
        """Symbols that are something else here."""
        self.choices: dict[int, tuple[Poly, Poly]] = {} if outer is None else outer.choices
        """Symbols that are one of two."""
        self.known: dict[Key, bool] = {}
        self.count: list[int] = [0] if outer is None else outer.count

    # Symbols

    def symbol(self, least: Poly | int | None = None, most: Poly | int | None = None) -> Poly:
        """A new one, with bounds that hold wherever it does."""
        number = self.count[0]
        self.count[0] += 1
        if least is not None:
            self.bound(number, Bound(False, poly(1), poly(least)))
        if most is not None:
            self.bound(number, Bound(True, poly(1), poly(most)))
        return Poly({(number,): 1})

    def bound(self, number: int, bound: Bound) -> None:
        self.bounds.setdefault(number, []).append(bound)
        self.known = {}

    def at_most(self, number: int, by: Poly, end: Poly) -> None:
        """``by * symbol <= end``, where `by` is not negative."""
        self.bound(number, Bound(True, by, end))

    def quotient(self, x: Poly, by: Poly) -> Poly:
        """x / by rounded down, where neither is negative."""
        size = by.number
        if size is not None:
            times = {m: c // size for m, c in x.terms.items() if not m or not c % size}
            parts = Poly({m: c for m, c in times.items() if c})
            rest = x - parts * size
            if self.never_negative(rest) and self.never_negative(by - rest - 1):
                return parts
        found = self.symbol(0 if self.never_negative(x) else None)
        (number,) = found.symbols
        self.bound(number, Bound(True, by, x))
        self.bound(number, Bound(False, by, x - by + 1))
        return found

    def either(self, one: Poly, other: Poly, smaller: bool) -> Poly:
        """One of two; with `smaller` the smaller one."""
        found = self.symbol()
        (number,) = found.symbols
        self.choices[number] = one, other
        if smaller:
            self.bound(number, Bound(True, poly(1), one))
            self.bound(number, Bound(True, poly(1), other))
        return found

    # What holds

    def holds(self, p: Poly, depth: int = 4) -> None:
        """From here on p >= 0."""
        number = p.number
        if number is not None:
            self.never |= number < 0
            return
        last = p.last
        parts = p.split(last)
        by = parts[0].number if parts else None
        if parts is None or by is None:
            return
        upper = by < 0
        self.bound(last, Bound(upper, poly(by if by > 0 else -by), parts[1] * (1 if upper else -1)))
        if depth:
            for bound in list(self._bounds(last)):
                if bound.upper != upper and bound.by.number:
                    times = Fraction(by) / bound.by.number
                    self.holds(parts[1] + bound.end * times, depth - 1)

    def is_zero(self, p: Poly) -> None:
        self.holds(p)
        self.holds(p * -1)
        if p.symbols:
            last = p.last
            parts = p.split(last)
            if parts and parts[0].number in (1, -1):
                self.equal[last] = parts[1] * -parts[0].number

    def _scopes(self) -> Iterator[Facts]:
        at: Facts | None = self
        while at is not None:
            yield at
            at = at.outer

    def _bounds(self, number: int) -> Iterator[Bound]:
        for scope in self._scopes():
            yield from scope.bounds.get(number, ())

    def plain(self, p: Poly) -> Poly:
        """The same, with what symbols are known to be."""
        for scope in self._scopes():
            for number, other in scope.equal.items():
                parts = p.split(number)
                if parts is not None and parts[0].terms:
                    p = parts[0] * other + parts[1]
        return p

    # Proofs

    def never_negative(self, p: Poly, depth: int = DEPTH) -> bool:
        found = True if self.never else self.known.get(p.key)
        if found is None:
            self.known[p.key] = False       # (what leads back to itself is no proof)
            found = self._proof(p, depth)
            self.known[p.key] = found
        return found

    def _proof(self, p: Poly, depth: int) -> bool:
        number = p.number
        if number is not None:
            return number >= 0
        last = p.last
        parts = p.split(last)
        if parts is None or not depth:
            return False
        by, rest = parts
        for bound in self._bounds(last):
            less = self._less(by, rest, bound, depth)
            if less is not None and self.never_negative(less, depth - 1):
                return True
        both = self.choices.get(last)
        return both is not None and all(self.never_negative(rest + by * x, depth - 1) for x in both)

    def _less(self, by: Poly, rest: Poly, bound: Bound, depth: int) -> Poly | None:
        """What ``by * symbol + rest`` is never less than."""
        times = by.over(bound.by)
        if times is not None:
            return rest + bound.end * times if (times < 0) == bound.upper else None
        size = bound.by.number
        if not size or not self.never_negative(by * (-1 if bound.upper else 1), depth - 1):
            return None
        return rest + by * bound.end * Fraction(1, size)

    def zero(self, p: Poly) -> bool:
        return self.plain(p) == ZERO
