"""The language's exact operations, against fractions, at every width and level."""

from __future__ import annotations

import ctypes
import hashlib
from fractions import Fraction

import numpy
import pytest

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib.lanes import Lanes, Real, product, total
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels

CASES = [(level.target, width) for level in host_levels() for width in (0, 2, 4, 8)]


def compiled(target, width, write):
    """A function of two arrays into two arrays, one vector of them."""
    b = Builder(target, width)
    x, y = (Real(Lanes(b), b.op(f"load {b.ty('double')}, ptr {p}, align 8")) for p in ("%x", "%y"))
    for result, place in zip(write(x, y), ("%h", "%l"), strict=True):
        b.do(f"store {b.ty('double')} {result.name}, ptr {place}, align 8")
    head = "(ptr %x, ptr %y, ptr %h, ptr %l) {"
    text = "\n".join([head, "entry:", *b.lines, "  ret void", "}", *b.declarations])
    symbol = f"lazyarr_test_{hashlib.blake2b((target.name + text).encode(), digest_size=8).hexdigest()}"
    address = jit.load(f"define void @{symbol}{text}\n", (symbol,), target, 2, kernel=False)[symbol]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)

    def run(x, y):
        high, low = numpy.empty_like(x), numpy.empty_like(x)
        for k in range(0, len(x), max(width, 1)):
            function(*(a[k:].ctypes.data for a in (x, y, high, low)))
        return high, low

    return run


@pytest.mark.parametrize("target, width", CASES, ids=lambda case: str(getattr(case, "name", case)))
@pytest.mark.parametrize("operation", [product, total])
def test_sums_of_two_are_exact(operation, target, width):
    rng = numpy.random.default_rng(2)
    x, y = (rng.uniform(-1, 1, 200) * 2.0 ** rng.integers(-60, 60, 200) for _ in range(2))
    high, low = compiled(target, width, operation)(x, y)
    for a, b, h, l in zip(x, y, high, low, strict=True):
        exact = Fraction(a) * Fraction(b) if operation is product else Fraction(a) + Fraction(b)
        assert Fraction(h) + Fraction(l) == exact


@pytest.mark.parametrize("target, width", CASES, ids=lambda case: str(getattr(case, "name", case)))
def test_products_with_few_bits_are_rounded_once(target, width):
    rng = numpy.random.default_rng(3)
    y = rng.integers(46, 91, 400) / 64
    x = (1 + rng.uniform(-1, 1, 400) / 32) / y
    found, _ = compiled(target, width, lambda a, b: (a.times_short(b, -1.0), a))(x, y)
    for a, b, h in zip(x, y, found, strict=True):
        assert float(Fraction(a) * Fraction(b) - 1) == h
