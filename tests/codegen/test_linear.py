"""Sums of products: their values at points, their form, and that a proof has no counterexample."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyarr.codegen.linear import Facts, Number, Poly, poly, whole

SYMBOLS = 3

NUMBERS = st.one_of(st.integers(-6, 6), st.fractions(-4, 4, max_denominator=4).map(whole))
PRODUCTS = st.lists(st.integers(0, SYMBOLS - 1), max_size=3).map(lambda m: tuple(sorted(m)))
POLYS = st.dictionaries(PRODUCTS, NUMBERS.filter(bool), max_size=5).map(Poly)
LINEAR = st.tuples(*[st.integers(-4, 4)] * SYMBOLS, st.integers(-9, 9))
POINTS = st.tuples(*[st.integers(-5, 5)] * SYMBOLS)
Point = tuple[int, ...]


def at(p: Poly, point: Point) -> Number:
    """Its value."""
    return sum(c * math.prod(point[s] for s in m) for m, c in p.terms.items())


def made(p: Poly) -> Poly:
    """It has no zero terms, its products are sorted, and whole numbers are ints."""
    assert all(p.terms.values()) and all([*m] == sorted(m) for m in p.terms)
    assert all(c.__class__ is int or c.denominator > 1 for c in p.terms.values())
    return p


@given(POLYS, POLYS, POINTS)
def test_values_of_polynomials(p: Poly, q: Poly, point: Point) -> None:
    x, y = at(p, point), at(q, point)
    assert at(made(p + q), point) == x + y
    assert at(made(p - q), point) == x - y
    assert at(made(p * q), point) == x * y
    assert p + q == q + p and hash(p + q) == hash(q + p) and p * q == q * p
    assert (p - q == poly(0)) == (p == q) and p - p == poly(0)


@given(POLYS, NUMBERS, POINTS)
def test_values_with_numbers(p: Poly, n: Number, point: Point) -> None:
    x = at(p, point)
    assert at(made(p + n), point) == x + n and p + n == p + poly(n)
    assert at(made(p - n), point) == x - n and p - n == p - poly(n)
    assert at(made(p * n), point) == x * n and p * n == p * poly(n)
    assert made(poly(n)).number == n


@given(POLYS, st.integers(0, SYMBOLS - 1), POINTS)
def test_split(p: Poly, symbol: int, point: Point) -> None:
    parts = p.split(symbol)
    assert (parts is None) == any(m.count(symbol) > 1 for m in p.terms)
    if parts is not None:
        by, rest = map(made, parts)
        assert symbol not in by.symbols | rest.symbols
        assert at(by, point) * point[symbol] + at(rest, point) == at(p, point)


@given(POLYS, POLYS, NUMBERS)
def test_over(p: Poly, q: Poly, n: Number) -> None:
    assert (p * n).over(p) == (n if p.terms else None)
    found = q.over(p)
    if found is not None:
        assert q == p * found and (found.__class__ is int or found.denominator > 1)
    if p.terms and q.terms:
        m = next(iter(p.terms))
        assert (found is None) == (q != p * Fraction(q.terms.get(m, 0), p.terms[m]))


@given(POLYS)
def test_of_what_symbols_it_is(p: Poly) -> None:
    assert (p.number is None) == bool(p.symbols)
    if p.symbols:
        assert p.last == max(p.symbols)


def affine(symbols: list[Poly], numbers: Point) -> Poly:
    found = poly(numbers[-1])
    for symbol, n in zip(symbols, numbers[:-1], strict=True):
        found += symbol * n
    return found


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=SYMBOLS, max_size=SYMBOLS),
    st.lists(LINEAR, max_size=3), POLYS,
)  # fmt: skip
def test_a_proof_has_no_counterexample(
    ranges: list[tuple[int, int]], held: list[Point], asked: Poly
) -> None:  # fmt: skip
    """Symbols between numbers, and what holds besides: at each point that fits, what is proved is true."""
    facts = Facts()
    symbols = [facts.symbol(least, least + more) for least, more in ranges]
    holds = [affine(symbols, numbers) for numbers in held]
    inner = Facts(facts)
    for p in holds:
        inner.holds(p)
    points = [*itertools.product(*(range(least, least + more + 1) for least, more in ranges))]
    for scope, fit in (facts, points), (inner, [x for x in points if all(at(p, x) >= 0 for p in holds)]):
        for p in (asked, asked * -1, *holds):
            if scope.never_negative(p):
                assert all(at(p, x) >= 0 for x in fit)


@given(
    st.integers(0, 6), st.integers(0, 6), st.integers(1, 5),
    st.tuples(*[st.integers(-4, 4)] * 4, st.integers(-9, 9)), st.booleans(),
)  # fmt: skip
def test_proofs_of_quotients_and_choices(most: int, other: int, by: int, asked: Point, smaller: bool) -> None:
    facts = Facts()
    n, m = facts.symbol(0, most), facts.symbol(0, other)
    quotient = facts.quotient(n + m * 2, poly(by))
    least = facts.either(n, m, smaller)
    if facts.never_negative(affine([n, m, quotient, least], asked)):
        for x, y in itertools.product(range(most + 1), range(other + 1)):
            for chosen in {min(x, y)} if smaller else {x, y}:
                values = x, y, (x + 2 * y) // by, chosen, 1
                assert sum(a * b for a, b in zip(asked, values, strict=True)) >= 0


def test_what_has_to_be_proved() -> None:
    """Of what verifying rests on some is found, so that all this is not about no proof at all."""
    facts = Facts()
    n = facts.symbol(1)
    i = facts.symbol(0, n - 1)
    assert facts.never_negative(n - i - 1) and not facts.never_negative(n - i - 2)
    assert facts.never_negative(n * i) and not facts.never_negative(i - n)
    k = facts.quotient(n, poly(8))
    assert facts.never_negative(n - k * 8) and facts.never_negative(k * 8 + 7 - n)
    inner = Facts(facts)
    inner.holds(n - 16)
    assert inner.never_negative(k * 8 - 9) and not facts.never_negative(k * 8 - 9)
    inner.is_zero(n - 32)
    assert inner.zero(n * i - i * 32) and not facts.zero(n * i - i * 32)


@pytest.mark.parametrize("upper", [False, True])
def test_a_bound_of_nothing_proves_nothing(upper: bool) -> None:
    """0 <= 5 says nothing of the symbol that is multiplied by 0."""
    facts = Facts()
    x = facts.symbol()
    if upper:
        facts.at_most(x.last, poly(0), poly(5))
    assert not facts.never_negative(x) and not facts.never_negative(x * -1)
