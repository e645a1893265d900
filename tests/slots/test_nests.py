"""Operators on small arrays that are broadcast, or do not lie in one run, give what NumPy gives."""

from __future__ import annotations

import itertools
import operator
import random
import sys
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.slots.nests import AXES
from tests.slots.operands import ONLY_HERE, python_calls
from tests.slots.test_loops import outcome

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt,
    operator.ge, operator.eq, operator.ne,
]  # fmt: skip
NAMED = "add", "subtract", "multiply", "divide", "maximum", "minimum"
SPECIAL = 0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e308, -1.5

Both = tuple[numpy.ndarray, Any]


def both(rng: random.Random, shape: list[int], char: str) -> Both:
    """An array of a shape, NumPy's and ours, laid out in some way."""
    ranges = [2 * extent + 1 for extent in shape]
    with numpy.errstate(all="ignore"):
        numbers = numpy.array([rng.uniform(-9, 9) for _ in range(int(numpy.prod(ranges)))])
        if char in "fdFD" and rng.random() < 0.3:
            for _ in range(3):
                numbers[rng.randrange(numbers.size)] = rng.choice(SPECIAL)
        real = numbers.astype("q" if char in "?BbhHIL" else char).astype(char).reshape(ranges)
    key = tuple(
        rng.choice((slice(extent), slice(1, extent + 1), slice(0, 2 * extent, 2), slice(extent, 0, -1)))
        for extent in shape
    )
    if rng.random() < 0.4:
        real, key = numpy.ascontiguousarray(real[key]), ()
    a, x = real[key], np.array(real)[key]
    return (a.T, x.T) if rng.random() < 0.1 else (a, x)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("char", "?bHlQfdFD")
def test_programs_by_chance(char: str, seed: int) -> None:
    rng = random.Random(f"{char}{seed}")
    for _ in range(60):
        shape = [rng.choice((1, 2, 3, 5, 17)) for _ in range(rng.randrange(5))]
        if shape and rng.random() < 0.05:
            shape[rng.randrange(len(shape))] = 0
        shapes = ([1 if rng.random() < 0.3 else extent for extent in shape] for _ in range(2))
        (a, x), (b, y) = [both(rng, each[rng.choice((0, 0, 1)) :], char) for each in shapes]
        if rng.random() < 0.2:
            # (What no element can be makes NumPy 2.0 crash, beside arrays that do not lie in one run.)
            b = y = rng.choice((2, 0.5, numpy.dtype(char).type(3)))
        for fn in OPERATORS:
            assert outcome(fn, x, y) == outcome(fn, a, b), (fn, a.shape, a.strides, numpy.shape(b))
            assert outcome(fn, y, x) == outcome(fn, b, a), (fn, a.shape, a.strides, numpy.shape(b))
        for name in NAMED:
            assert outcome(getattr(np, name), x, y) == outcome(getattr(numpy, name), a, b)


def test_order_of_axes() -> None:
    """The result lies as NumPy's iterator lays it out, whatever the operands."""
    for shape in (2, 3, 4), (2, 1, 4), (3, 3, 3):
        a = numpy.arange(float(numpy.prod(shape))).reshape(shape)
        x = np.array(a)
        for first, second in itertools.product(itertools.permutations(range(3)), repeat=2):
            b, y = a.transpose(second)[::1], x.transpose(second)[::1]
            if a.transpose(first).shape == b.shape:
                found, expected = x.transpose(first) + y, a.transpose(first) + b
                assert found.strides == expected.strides and (numpy.asarray(found) == expected).all()


def test_axes_that_repeat_and_overlap() -> None:
    base = numpy.arange(40.0)
    window = numpy.lib.stride_tricks.as_strided
    views = [
        numpy.broadcast_to(base[:4], (3, 4)), numpy.broadcast_to(base[:3, None], (3, 4)),
        base[:12].reshape(3, 4),
        window(base, (3, 4), (8, 8)), window(base, (3, 4), (16, 8)), window(base, (3, 4), (8, 24)),
        window(base, (3, 4), (0, 8)), window(base, (3, 4), (0, 0)),
    ]  # fmt: skip
    for a, b in itertools.product(views, repeat=2):
        x, y = np.asarray(a), np.asarray(b)
        assert outcome(operator.add, x, y) == outcome(operator.add, a, b), (a.strides, b.strides)
        for name in "sum", "max", "mean":
            for axis in 0, 1, None:
                assert outcome(getattr(np, name), x, axis) == outcome(getattr(numpy, name), a, axis)


def test_shapes_that_do_not_fit() -> None:
    for one, other in ((3, 4), (2,)), ((3, 1), (4, 2)), ((2, 3), (3, 2)), ((0,), (2,)):
        a, b = numpy.ones(one), numpy.ones(other)
        assert outcome(operator.add, np.array(a), np.array(b)) == outcome(operator.add, a, b)


@pytest.mark.parametrize("axes", (AXES - 1, AXES, AXES + 1))
def test_many_axes(axes: int) -> None:
    a = numpy.arange(3.0**axes).reshape((3,) * axes)[..., :2]
    b = numpy.arange(2.0)
    assert outcome(operator.mul, np.array(a), np.array(b)) == outcome(operator.mul, a, b)
    row = b.reshape((1,) * axes + (2,))
    assert outcome(operator.mul, np.array(a), np.array(row)) == outcome(operator.mul, a, row)


def test_memory_that_is_not_aligned() -> None:
    raw = numpy.zeros(8 * 13 + 1, numpy.uint8)
    a = raw[1:].view(numpy.float64)[:12].reshape(3, 4)
    a[...] = numpy.arange(12.0).reshape(3, 4)
    assert not a.flags.aligned
    x, row = np.asarray(a), numpy.ones(4)
    assert outcome(operator.add, x, np.array(row)) == outcome(operator.add, a, row)
    assert outcome(operator.add, np.array(row), x) == outcome(operator.add, row, a)


def test_parts_of_what_is_large() -> None:
    """Windows on managed arrays are operands, too."""
    a = numpy.arange(400_000.0).reshape(400, 1000)
    x = np.array(a) + 0
    np.evaluate(x)
    for key, other in itertools.product(
        (numpy.s_[3:9, 5:30], numpy.s_[::40, ::50], numpy.s_[:, 3:4]),
        (numpy.s_[0, :1], numpy.s_[7:8, 5:6], numpy.s_[1:2, :1]),
    ):
        assert outcome(operator.mul, x[key], x[other]) == outcome(operator.mul, a[key], a[other])


@ONLY_HERE
def test_no_python_runs() -> None:
    x, row, column = np.ones((4, 5)), np.ones(5), np.ones((4, 1))
    for args in (x, row), (column, x), (row, column), (x[1:, 1:], x[:-1, :-1]), (x[1:, 1:], 2.0):
        for fn in OPERATORS:
            assert python_calls(fn, *args)[1] == 0


def test_nothing_leaks() -> None:
    x, row = np.ones((4, 5)), np.zeros(5)
    kept = numpy.asarray(x)
    objects = x, row, kept, kept.dtype, numpy.ndarray
    before = [sys.getrefcount(each) for each in objects]
    with numpy.errstate(all="ignore"):
        for _ in range(100):
            x + row, x / row, x[1:, ::2] * 2.0, row < x
    after = [sys.getrefcount(each) for each in objects]
    assert all(abs(now - then) < 50 for now, then in zip(after, before, strict=True))


PARTS = numpy.s_[..., ::2], numpy.s_[::2], numpy.s_[:1, ::2], numpy.s_[1:3, 1:5]


@pytest.mark.parametrize("char", "?bBhHiIlLqQfdFD")
@pytest.mark.parametrize("key", PARTS, ids=str)
def test_scalars_of_the_arrays_own_type(char: str, key: Any) -> None:
    """Which stay where they are, whatever another one has left on the stack."""
    real = numpy.arange(24).reshape(4, 6).astype(char)
    a, x = real[key], np.array(real)[key]
    names = ("add", "multiply", "less", "equal", "maximum")
    for scalar, name in itertools.product((numpy.dtype(char).type(3), real[1, 1]), names):
        numpys, ours = getattr(numpy, name), getattr(np, name)
        for (p, q), (r, s) in (((a, scalar), (x, scalar)), ((scalar, a), (scalar, x))):
            x * 7
            expected, found = numpys(p, q), ours(r, s)
            assert found.dtype == expected.dtype and found.strides == expected.strides
            assert numpy.asarray(found).tobytes() == expected.tobytes()
    for fn in (operator.add, operator.mul, operator.lt):
        assert numpy.asarray(fn(x, real[1, 1])).tobytes() == fn(a, real[1, 1]).tobytes()
