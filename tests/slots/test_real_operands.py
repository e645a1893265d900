"""NumPy's own arrays beside small lazy ones: operands, what is written to, and rows of plain arrays."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, VALUES, both, python_calls, same

pytestmark = ONLY_HERE

Program = Callable[[Any, Any], Any]
"""Of NumPy's array, which it may write to, and of a lazy one."""

OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod,
    operator.lt, operator.eq, operator.iadd, operator.imul, operator.isub,
)  # fmt: skip
UFUNCS: dict[str, Program] = {
    "NumPy's": lambda r, x: numpy.add(r, x),
    "turned": lambda r, x: numpy.subtract(x, r),
    "one": lambda r, x: numpy.sqrt(x),
    "into": lambda r, x: numpy.add(r, x, out=r),
    "into a tuple": lambda r, x: numpy.add(x, r, out=(r,)),
    "by position": lambda r, x: numpy.multiply(r, x, r),
    "one into": lambda r, x: numpy.negative(x, r),
    "a scalar into": lambda r, x: numpy.multiply(x, 2.0, out=r),
    "compared": lambda r, x: numpy.less(r, x, out=r),
    "masked": lambda r, x: numpy.add(r, x, out=r, where=numpy.arange(12) > 4),
    "cast": lambda r, x: numpy.add(r, x, out=r, casting="unsafe"),
    "of a type": lambda r, x: numpy.add(r, x, dtype="f4"),
    "reduced": lambda r, x: numpy.add.reduce(x),
    "outer": lambda r, x: numpy.multiply.outer(r, x),
    "product": lambda r, x: r @ x,
    "two": lambda r, x: numpy.divmod(r, x),
    "parts": lambda r, x: operator.iadd(r[3:], x[:9]),
    "set": lambda r, x: operator.setitem(r, slice(2, None), x[2:]),
    "an element": lambda r, x: operator.setitem(r, 3, x[4]),
}


def outcome(program: Program, r: Any, x: Any) -> Any:
    """What it gives and leaves, or the error; and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result: Any = program(r, x)
        except Exception as error:
            result = type(error), str(error).replace("lazyarr", "numpy")
        said = [(w.category, str(w.message), w.filename) for w in found]
    if isinstance(result, np.ndarray):
        result = "r" if result is r else numpy.asarray(result).tolist(), result.dtype.str
    elif isinstance(result, tuple) and isinstance(result[0], np.ndarray):
        result = [(numpy.asarray(x).tolist(), x.dtype.str) for x in result]
    return repr(result), r.tolist() if r.dtype.hasobject else r.tobytes(), said


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize(("one", "other"), [*itertools.product(["f8", "f4", "i8", "u1", "D", "?"], repeat=2)])
def test_ufuncs(name: str, one: str, other: str) -> None:
    r, x = VALUES.astype(one, casting="unsafe"), (VALUES[::-1] + 1).astype(other, casting="unsafe")
    assert outcome(UFUNCS[name], r.copy(), np.array(x)) == outcome(UFUNCS[name], r.copy(), x)


@pytest.mark.parametrize("fn", OPERATORS)
@pytest.mark.parametrize("r", [
    VALUES, VALUES[::-2].copy()[:1], VALUES.reshape(12, 1), VALUES[:0], numpy.array(2.0), VALUES[::2],
    numpy.array([numpy.nan, numpy.inf, -0.0] * 4), VALUES.astype(">f8"), VALUES.astype(object),
    VALUES.astype("f2"), VALUES.astype("S4"),
])  # fmt: skip
def test_operators(fn: Any, r: numpy.ndarray) -> None:
    for program in (fn, lambda r, x: fn(x, r) if not fn.__name__.startswith("i") else fn(r, x[:1])):
        assert outcome(program, r.copy(), np.array(VALUES)) == outcome(program, r.copy(), VALUES)


def test_no_python_runs() -> None:
    r, x = VALUES.copy(), np.array(VALUES)
    large, real = both()
    for fn, args, expected in (
        (operator.add, (r, x), VALUES + VALUES), (operator.mul, (x, r), VALUES * VALUES),
        (np.add, (x, r), VALUES + VALUES), (numpy.subtract, (x, r), VALUES * 0),
        (np.sin, (r,), numpy.sin(VALUES)), (operator.add, (real[1], large[2]), real[1] + real[2]),
        (numpy.cos, (x,), numpy.cos(VALUES)),
    ):  # fmt: skip
        found, calls = python_calls(fn, *args)
        assert same(found, expected) and not calls
    for fn, other, factor in ((operator.iadd, x, 2), (operator.isub, x, 1)):
        found, calls = python_calls(fn, r, other)
        assert found is r and not calls and numpy.array_equal(r, VALUES * factor)
    row = real[7].copy()
    found, calls = python_calls(operator.iadd, row, large[3])
    assert found is row and not calls and numpy.array_equal(row, real[7] + real[3])


def test_memory_is_one() -> None:
    """What is lent is one array: writes to either are seen by the other at once."""
    x = np.array(VALUES)
    r = numpy.asarray(x)
    r += x
    assert same(x, VALUES * 2)
    r[1:] -= x[:-1]
    expected = VALUES * 2
    expected[1:] -= expected[:-1].copy()
    assert same(x, expected) and numpy.array_equal(r, expected)
    large, real = both()
    lent = numpy.asarray(large)
    later = large[0] * 2.0
    lent[0] += large[1]
    assert same(later, real[0] * 2) and same(large[0] + 0.0, real[0] + real[1])


def test_what_waits_is_computed_first() -> None:
    large, real = both()
    pending = large[5] + large[6]
    total = (large + 1.0)[9]
    r = VALUES.copy()
    r[:4] += pending[:4]
    r[4:] -= total[:8]
    assert numpy.array_equal(r[:4], VALUES[:4] + (real[5] + real[6])[:4])
    assert numpy.array_equal(r[4:], VALUES[4:] - (real[9] + 1)[:8])


def test_what_refuses() -> None:
    fixed, x = VALUES.copy(), np.array(VALUES)
    fixed.flags.writeable = False
    for program in (operator.iadd, lambda r, x: numpy.add(r, x, out=r), lambda r, x: np.add(x, x, out=r)):
        with pytest.raises(ValueError, match="read-only"):
            program(fixed, x)
    with pytest.raises(ValueError, match="broadcast"):
        operator.iadd(VALUES[:3].copy(), x)
    with pytest.raises(TypeError, match="casting"):
        operator.iadd(numpy.arange(12), x)


def test_subclasses_answer() -> None:
    class Mine(numpy.ndarray):
        pass

    x = np.array(VALUES)
    for r in (VALUES.view(Mine), numpy.ma.array(VALUES, mask=VALUES > 2)):
        for fn in (operator.add, lambda r, x: x + r, numpy.add):
            found, expected = fn(r, x), fn(r, VALUES)
            assert type(found) is type(expected)
            assert numpy.array_equal(numpy.asarray(found), numpy.asarray(expected))


def test_arrays_of_objects_keep_what_they_hold() -> None:
    x = np.array([1.0, 2.0])
    r = numpy.empty(2, object)
    r[0], r[1] = np.arange(3), 5
    found = r + x
    assert same(found[0], numpy.arange(3) + 1.0) and found[1] == 7
    r += x
    assert type(r) is numpy.ndarray and same(r[0], numpy.arange(3) + 1.0)


def test_warnings_name_the_line() -> None:
    r, x = numpy.ones(3), np.zeros(3)
    with pytest.warns(RuntimeWarning, match="divide by zero") as found:
        r /= x
    assert found[0].filename == __file__
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        numpy.ones(3) / x


def test_rows() -> None:
    a = numpy.arange(24.0).reshape(2, 3, 4)
    x = np.array(a)
    assert all(map(same, x, a)) and len([*x]) == 2 and [*np.array(a[:0])] == []
    found, calls = python_calls(list, iter(np.array(a[0])))
    assert same(tuple(found), tuple(a[0])) and not calls
    for row in x:
        row += 1
    assert same(x, a + 1)
    with pytest.raises(TypeError, match="0-d"):
        iter(np.array(3.0))
    large, real = both()
    assert all(map(same, itertools.islice(large * 2.0, 5), itertools.islice(real * 2.0, 5)))
