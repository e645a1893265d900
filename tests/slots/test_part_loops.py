"""Operators on parts of large arrays, and beside NumPy's own arrays, go by NumPy's inner loops alone."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.slots.descriptors import KEPT
from lazyarr.slots.loop_tables import ENTRY, LONE, OPERATORS, TABLE, UFUNCS, UNARY
from tests.slots.operands import ONLY_HERE, W, both, lazy, python_calls, same
from tests.slots.test_loops import COMPARED, DYADIC, IN_PLACE, outcome

pytestmark = ONLY_HERE

NAMES = list(dict.fromkeys((*OPERATORS.values(), *UFUNCS, *LONE, *UNARY.values(), "matmul")))
"""In the order of the tables that machine code reads."""


@contextmanager
def instead_of(name: str, other: str, char: str = "d") -> Iterator[None]:
    """While it lasts, one ufunc's table names another's loop: what gives the other's results went there."""
    tables = [x for x in KEPT if isinstance(x, ctypes.Array) and ctypes.sizeof(x) == TABLE]
    table, theirs = (tables[NAMES.index(x)] for x in (name, other))
    places = [numpy.dtype(char).num * ENTRY // 8 + k for k in (1, 2)]
    kept = [table[k] for k in places]
    for k in places:
        table[k] = theirs[k]
    try:
        yield
    finally:
        for k, word in zip(places, kept, strict=True):
            table[k] = word


BY_LOOPS: dict[str, tuple[str, str, Callable[..., Any], Callable[..., Any]]] = {
    "row + row": ("add", "subtract", lambda np, m, w: m[3] + m[4], lambda np, m, w: m[3] - m[4]),
    "column + column": ("add", "subtract", lambda np, m, w: m[:9, 3] + m[:9, 4],
                        lambda np, m, w: m[:9, 3] - m[:9, 4]),
    "row + array": ("add", "subtract", lambda np, m, w: m[3] + w, lambda np, m, w: m[3] - w),
    "row * scalar": ("multiply", "add", lambda np, m, w: m[3] * 2.5, lambda np, m, w: m[3] + 2.5),
    "scalar * row": ("multiply", "subtract", lambda np, m, w: numpy.float64(2.5) * m[3],
                     lambda np, m, w: 2.5 - m[3]),
    "ufunc of rows": ("maximum", "minimum", lambda np, m, w: np.maximum(m[3], m[4]),
                      lambda np, m, w: np.minimum(m[3], m[4])),
    "ufunc of a row": ("absolute", "negative", lambda np, m, w: np.abs(m[3]), lambda np, m, w: -m[3]),
    "negative row": ("negative", "absolute", lambda np, m, w: -m[3], lambda np, m, w: abs(m[3])),
    "array of NumPy's": ("add", "subtract", lambda np, m, w: w + W, lambda np, m, w: w - W),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_LOOPS)
def test_parts_go_by_loops(name: str) -> None:
    looked_for, other, made, expected = BY_LOOPS[name]
    x, real = both()
    made(np, x, lazy(W))                            # the module finds its names
    with instead_of(looked_for, other):
        found, calls = python_calls(made, np, x, lazy(W))
    assert calls == 0 and same(found, expected(numpy, real, W))
    assert same(made(np, x, lazy(W)), made(numpy, real, W))


def test_parts_are_written_by_loops() -> None:
    x, real = both()
    part, row = x[3], real[3].copy()
    with instead_of("add", "subtract"):
        _, calls = python_calls(operator.iadd, part, x[4])
    assert calls == 0 and same(x[3] * 1, row - real[4])
    assert same(x[5:9] * 1, real[5:9])


def test_complex_sums_go_by_loops() -> None:
    a = numpy.array([1 + 2j, -0.0 + 3j, numpy.inf - 1j, 5 - numpy.inf * 1j])
    for char in "FD":
        x, y = np.array(a.astype(char)), np.array(a[::-1].astype(char))
        with instead_of("add", "subtract", char):
            assert same(x + y, a.astype(char) - a[::-1].astype(char))
        for fn in operator.add, operator.sub, operator.iadd, operator.isub:
            for cut in slice(None), slice(None, None, -1), slice(None, None, 2):
                theirs = a.astype(char)
                assert outcome(fn, np.array(theirs)[cut], y[cut]) == outcome(
                    fn, theirs[cut], a[::-1].astype(char)[cut]
                )
    long = numpy.arange(512) + 1j
    assert same(operator.iadd(np.array(long), np.array(long)), 2 * long)


@pytest.mark.parametrize("dtype", ["d", "f", "l", "i", "u1", "?", "D"])
@pytest.mark.parametrize("other", ["row", "column", "array", "NumPy's", "scalar", "zero", "overlap"])
def test_operators_on_parts_are_numpys(dtype: str, other: str) -> None:
    def run(module: Any, m: Any, fn: Any, at: Any) -> Any:
        m[:6] = m[10:16]
        given = {
            "row": m[7], "column": m[:100, 8], "array": module.array(W), "NumPy's": W.copy(), "scalar": 3,
            "zero": (m[7] > 5000).astype(dtype), "overlap": m[at][::-1],
        }[other]  # fmt: skip
        given = given if getattr(given, "ndim", 0) == 0 or at != (slice(5), 3) else given[:5]
        part = m[at]
        return outcome(fn, part, given), outcome(fn, given, part), outcome(lambda: m[:8] + 0)

    x, real = both(dtype)
    for fn in (*DYADIC, *COMPARED, *IN_PLACE):
        for at in 3, (slice(5), 3), (2, slice(None, None, -1)):
            assert run(np, x, fn, at) == run(numpy, real, fn, at), (fn, at)
