"""The language's exact operations, against fractions, at every width and level."""

from __future__ import annotations

import ctypes
import hashlib
from fractions import Fraction

import numpy
import pytest

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib import arithmetic
from lazyarr.codegen.mathlib.arithmetic import (
    cut,
    fma,
    product,
    product_of_short,
    remains_of_short,
    series,
    settled,
    total,
)
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Lanes, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels

CASES = [(level.target, width) for level in host_levels() for width in (0, 2, 4, 8)]


def compiled(target, width, write, p=DOUBLE):
    """A function of three arrays into two arrays, one vector of them."""
    b = Builder(target, width)
    t, on = b.ty(p.real), Lanes(b, p)
    xs = (Real(on, b.op(f"load {t}, ptr {place}, align {p.size}")) for place in ("%x", "%y", "%z"))
    for result, place in zip(write(*xs), ("%h", "%l"), strict=True):
        b.do(f"store {t} {result.name}, ptr {place}, align {p.size}")
    head = "(ptr %x, ptr %y, ptr %z, ptr %h, ptr %l) {"
    text = "\n".join([head, "entry:", *b.lines, "  ret void", "}", *b.declarations])
    symbol = f"lazyarr_test_{hashlib.blake2b((target.name + text).encode(), digest_size=8).hexdigest()}"
    address = jit.load(f"define void @{symbol}{text}\n", (symbol,), target, 2, kernel=False)[symbol]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(address)

    def run(*xs):
        high, low = numpy.empty_like(xs[0]), numpy.empty_like(xs[0])
        for k in range(0, len(high), max(width, 1)):
            function(*(a[k:].ctypes.data for a in (*xs, high, low)))
        return high, low

    return run


@pytest.mark.parametrize("target, width", CASES, ids=lambda case: str(getattr(case, "name", case)))
@pytest.mark.parametrize("precision", [DOUBLE, SINGLE], ids=lambda p: p.real)
@pytest.mark.parametrize("operation", [product, total])
def test_sums_of_two_are_exact(operation, precision, target, width):
    rng = numpy.random.default_rng(2)
    reach, dtype = (60, "d") if precision is DOUBLE else (20, "f")
    x, y = (
        (rng.uniform(-1, 1, 200) * 2.0 ** rng.integers(-reach, reach, 200)).astype(dtype) for _ in range(2)
    )
    high, low = compiled(target, width, lambda a, b, _: operation(a, b), precision)(x, y, y)
    for a, b, h, l in zip(*(v.astype("d") for v in (x, y, high, low)), strict=True):
        exact = Fraction(a) * Fraction(b) if operation is product else Fraction(a) + Fraction(b)
        assert Fraction(h) + Fraction(l) == exact


@pytest.mark.parametrize("target, width", CASES, ids=lambda case: str(getattr(case, "name", case)))
@pytest.mark.parametrize("c", [1.4426950216293335, -0.36, 1.5 * 2.0**19, 1.01])
def test_sums_of_one_exponent_are_rounded_once(c, target, width):
    """Also in the middle between two numbers, and where float64 itself would round before."""
    rng = numpy.random.default_rng(3)
    short = rng.integers(-(1 << 11), 1 << 11, (2, 400)) * 2.0**-16         # products of few bits: middles
    x, y = numpy.concatenate([rng.uniform(-1, 1, (2, 400)) / 32, short], 1).astype("f")
    y[::3] = x[::3].astype("d") * 2.0 ** rng.integers(-12, 1, len(x[::3]))
    x = x * abs(c) if c < 1 or c > 2 else x
    spread = 2.0**-10 * max(1.0, abs(c))
    both = compiled(target, width, lambda a, b, _: (settled(a, b, c, spread), fma(a, b, c)), SINGLE)
    found, again = both(x, y, y)
    assert (found == again).all()
    for a, b, got in zip(*(v.astype("d").tolist() for v in (x, y, found)), strict=True):
        exact = Fraction(a) * Fraction(b) + Fraction(float(numpy.float32(c)))
        assert 2 * abs(Fraction(got) - exact) <= Fraction(float(numpy.spacing(abs(numpy.float32(got)))))


def test_what_may_have_another_exponent_is_no_such_sum(monkeypatch):
    """They are emulated, as without the promise."""
    low = next((target for target, _ in CASES if not target.fma), None)
    if low is None:
        pytest.skip("all levels fuse products and sums")
    emulated, emulate = [], arithmetic._fma_by_double
    monkeypatch.setattr(arithmetic, "_fma_by_double", lambda a, b, c: emulated.append(c) or emulate(a, b, c))
    on = Lanes(Builder(low, 4), SINGLE)
    x = Real(on, "%x")
    for c, spread, count in ((1.0, 0.01, 1), (1.9, 0.2, 1), (1.5, 0.2, 0), (0.5, 0.001, 1), (-0.75, 0.2, 0)):
        emulated.clear()
        settled(x, x, c, spread)
        assert len(emulated) == count, c


@pytest.mark.parametrize("target, width", CASES, ids=lambda case: str(getattr(case, "name", case)))
def test_numbers_are_cut_in_two(target, width):
    """The first one has half the bits, so that its square is exact, and the second one is what is left."""
    x = numpy.random.default_rng(8).uniform(-2, 2, 200)
    upper, lower = compiled(target, width, lambda a, b, _: cut(a))(x, x, x)
    assert (upper + lower == x).all() and (abs(lower) < abs(x) * 2.0**-25).all()
    assert all(Fraction(u) ** 2 == Fraction(u * u) for u in upper)


@pytest.mark.parametrize("target, width", CASES, ids=lambda case: str(getattr(case, "name", case)))
@pytest.mark.parametrize("precision", [DOUBLE, SINGLE], ids=lambda p: p.real)
def test_fma_rounds_once(precision, target, width):
    """Sums of all sizes of both terms, and those that lie next to the middle between two numbers."""
    rng = numpy.random.default_rng(3)
    dtype, m = ("d", 52) if precision is DOUBLE else ("f", 23)
    one, two = ((rng.uniform(-2, 2, 4000) * 2.0 ** rng.integers(-9, 9, 4000)).astype(dtype) for _ in range(2))
    few = (rng.integers(-99, 99, (2, 2000)) * 2.0 ** rng.integers(-m - 2, 3, (2, 2000))).astype(dtype)
    x, y = numpy.concatenate([one, few[0]]), numpy.concatenate([two, few[1]])
    third = (rng.choice([1, -1, 0.5, 3], 6000) * 2.0 ** rng.integers(-m - 3, m, 6000)).astype(dtype)
    z = numpy.where(rng.random(6000) < 0.3, -(x * y), third)
    found, _ = compiled(target, width, lambda a, b, c: (fma(a, b, c), a), precision)(x, y, z)
    for a, b, c, h in zip(x, y, z, found, strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        assert h == rounded(exact, m)


def rounded(x, mantissa):
    """To the nearest number, of the range of normal ones."""
    if not x:
        return 0.0
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (exponent - mantissa)
    return float(round(x / unit) * unit)


@pytest.mark.parametrize("target, width", CASES, ids=lambda case: str(getattr(case, "name", case)))
def test_products_of_short_numbers(target, width):
    """Of half the bits: exact as sums, and rounded once beside a number that is nearly theirs."""
    rng = numpy.random.default_rng(4)
    x = rng.uniform(0.7, 1.4, 200) * (-1.0) ** rng.integers(0, 2, 200)
    y = numpy.rint(2.0**25 / x) / 2.0**25
    high, low = compiled(target, width, lambda a, b, _: product_of_short(a, b))(x, y, y)
    found, _ = compiled(target, width, lambda a, b, c: (remains_of_short(a, b, c), a))(x, y, -numpy.ones(200))
    for a, b, h, l, r in zip(x, y, high, low, found, strict=True):
        assert Fraction(h) + Fraction(l) == Fraction(a) * Fraction(b)
        assert r == rounded(Fraction(a) * Fraction(b) - 1, 52)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("degree", range(1, 8))
def test_series_are_polynomials(degree, fused):
    rng = numpy.random.default_rng(5)
    c, x = rng.uniform(-1, 1, degree + 1), rng.uniform(-1, 1, 64)

    def write(a, _, __):
        lanes = Lanes(a.on.b, DOUBLE, fused)
        return series(Real(lanes, a.name), c.tolist()), a

    found, _ = compiled(host_levels()[-1].target, 8, write)(x, x, x)
    assert numpy.allclose(found, numpy.polynomial.polynomial.polyval(x, c), rtol=0, atol=1e-14)


@pytest.mark.parametrize("target, width", [*CASES, *((t, 16) for t, w in CASES if not w)],
                         ids=lambda case: str(getattr(case, "name", case)))
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8])
def test_tables(columns, target, width):
    rng = numpy.random.default_rng(1)
    tables = rng.uniform(size=(columns, 16)).tolist()
    x = rng.integers(-100, 100, 64).astype("d")

    def write(a, b, c):
        index = (a + a.on.p.magic).bits
        return look_up(index, *tables)[-1], look_up(index, *tables)[0]

    last, first = compiled(target, width, write)(x, x, x)
    index = x.astype(int) % 16
    assert (last == numpy.array(tables[-1])[index]).all() and (first == numpy.array(tables[0])[index]).all()
