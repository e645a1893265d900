"""Operators on small arrays of double precision and of other types give what NumPy gives."""

from __future__ import annotations

import operator
import random
import sys

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, python_calls
from tests.slots.test_loops import outcome
from tests.slots.test_nests import NAMED, OPERATORS, both


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("char", "?bBhHiIlLqQefgFD")
def test_programs_by_chance(char: str, seed: int) -> None:
    rng = random.Random(f"{char}{seed}")
    for _ in range(30):
        shape = [rng.choice((1, 2, 3, 5, 17)) for _ in range(rng.randrange(1, 4))]
        shapes = ([1 if rng.random() < 0.3 else extent for extent in shape] for _ in range(2))
        (a, x), (b, y) = [
            both(rng, each[rng.choice((0, 0, 1)) :], of) for each, of in zip(shapes, "d" + char, strict=True)
        ]
        if not (a.ndim and b.ndim):                 # (scalars' warnings and errors say so)
            continue
        for fn in (*OPERATORS, operator.and_):
            assert outcome(fn, x, y) == outcome(fn, a, b), (fn, a.shape, b.shape)
            assert outcome(fn, y, x) == outcome(fn, b, a), (fn, a.shape, b.shape)
        for name in NAMED:
            assert outcome(getattr(np, name), x, y) == outcome(getattr(numpy, name), a, b)


@pytest.mark.parametrize("char", "fl")
def test_other_byte_orders_and_sizes(char: str) -> None:
    a = numpy.arange(6.0)
    b = numpy.arange(6).astype(char).astype(numpy.dtype(char).newbyteorder())
    assert outcome(operator.mul, np.array(a), np.array(b)) == outcome(operator.mul, a, b)
    for extent in 0, 1, 8191, 8192, 8193:
        a, b = numpy.arange(float(extent)), numpy.arange(extent).astype(char)
        assert outcome(operator.add, np.array(a), np.array(b)) == outcome(operator.add, a, b)


def test_integers_that_no_double_is() -> None:
    a = numpy.array([(1 << 53) + 1, -(1 << 53) - 1, (1 << 63) - 1, -(1 << 63)])
    for b in numpy.array([1.0, 2.0, numpy.nan, -0.0]), numpy.array([[2.0**53], [2.0**63]]):
        for fn in OPERATORS:
            assert outcome(fn, np.array(a), np.array(b)) == outcome(fn, a, b)


@ONLY_HERE
def test_no_python_runs() -> None:
    x, y = np.ones((3, 4)), np.arange(1, 5)
    for fn in OPERATORS:
        assert python_calls(fn, x, y)[1] == python_calls(fn, y, x)[1] == 0


def test_nothing_leaks() -> None:
    x, y = np.ones((3, 4)), np.arange(1, 5)
    kept = numpy.asarray(x)
    objects = x, y, kept, kept.dtype, numpy.dtype("l"), numpy.ndarray
    before = [sys.getrefcount(each) for each in objects]
    with numpy.errstate(all="ignore"):
        for _ in range(100):
            x + y, y / x, x / y, y < x, x % y
    after = [sys.getrefcount(each) for each in objects]
    assert all(abs(now - then) < 50 for now, then in zip(after, before, strict=True))
