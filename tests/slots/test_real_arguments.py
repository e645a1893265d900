"""NumPy's own arrays, as libraries give them, as operands and arguments: no Python runs."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, VALUES, lazy, python_calls, same

pytestmark = ONLY_HERE

M = VALUES.reshape(3, 4)
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.eq, operator.ge, operator.matmul,
]  # fmt: skip
OTHERS = [
    VALUES + 0.5, VALUES.astype("i4"), VALUES[::-1], VALUES > 2, VALUES.astype(">f8"), VALUES + 1j,
    numpy.float32(VALUES), numpy.broadcast_to(2.5, 12), VALUES[:0], VALUES[:5], M, numpy.array(3.0),
]  # fmt: skip


def answer(act: Any, *args: Any) -> Any:
    with numpy.errstate(all="ignore"):
        try:
            return act(*args)
        except Exception as error:
            return type(error), str(error)


def agree(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple) and expected and isinstance(expected[0], type):
        return bool(found == expected)
    return same(found, expected)


@pytest.mark.parametrize("other", OTHERS, ids=lambda x: f"{x.dtype}{x.shape}{x.strides}")
@pytest.mark.parametrize("act", OPERATORS)
def test_operators(act: Any, other: Any) -> None:
    x = lazy(VALUES)
    assert agree(answer(act, x, other), answer(act, VALUES, other))
    assert agree(answer(act, other, x), answer(act, other, VALUES))


@pytest.mark.parametrize("other", OTHERS, ids=lambda x: f"{x.dtype}{x.shape}{x.strides}")
def test_in_place_and_assigned(other: Any) -> None:
    for act in (operator.iadd, operator.imul, lambda x, y: operator.setitem(x, slice(None), y)):
        x, y = lazy(VALUES), VALUES.copy()
        assert agree(answer(act, x, other), answer(act, y, other)) and same(x, y)


def test_no_python_runs() -> None:
    x, square, index = lazy(VALUES), lazy(M), numpy.array([0, 2])
    for run in (
        lambda: x + VALUES, lambda: VALUES + x, lambda: np.subtract(x, VALUES), lambda: np.sqrt(VALUES**2),
        lambda: np.dot(x, VALUES), lambda: np.dot(VALUES, x), lambda: square @ VALUES[:4], lambda: x[index],
        lambda: np.concatenate((x, VALUES)), lambda: np.sum(VALUES), lambda: np.array(VALUES),
        lambda: np.linalg.norm(VALUES), lambda: np.interp(x, VALUES, VALUES), lambda: np.maximum(VALUES, x),
    ):  # fmt: skip
        run()                                   # (names are looked up)
        found, calls = python_calls(run)
        assert calls == 0 and type(found) in (np.ndarray, numpy.float64)


def test_results_are_new_and_given_ones_come_back() -> None:
    real = VALUES.copy()
    x = lazy(VALUES)
    for found in (np.array(real), np.clip(real, 0, 3), x[:0] + real[:0], np.add(real, real), +lazy(real)):
        assert type(found) is np.ndarray and not numpy.shares_memory(numpy.asarray(found), real)
    view = np.asarray(real)
    view[0] = 77
    assert real[0] == 77 and np.ascontiguousarray(real)[0] == 77
    out = numpy.zeros(12)
    for result in (np.add(x, 1, out=out), np.add(x, 1, out), np.cumsum(x, out=out), x.cumsum(out=out)):
        assert result is out
    assert np.clip(x, 0, 3, out=out) is out and out[1] == 0


def test_subclasses_and_objects_keep_their_words() -> None:
    x = lazy(VALUES)
    masked = numpy.ma.masked_less(VALUES, 0)
    assert type(masked + x) is numpy.ma.MaskedArray
    objects = numpy.array([x, 1, "a"], object)
    assert np.array(objects)[0] is x
    assert (numpy.array([1, 2.5], object) + lazy(VALUES[:2])).tolist() == [-2, 0.5]


def test_memory_of_an_array_that_is_written_to() -> None:
    """What refers to memory of ours sees each write at once, whoever looks."""
    large = np.array(numpy.arange(100_000.0))
    real, x = numpy.asarray(large), lazy(VALUES)
    part = real[:12]
    for k in range(4):
        large *= 2
        large[3] = k
        expected = numpy.arange(12.0) * 2.0 ** (k + 1)
        expected[3] = k
        assert same(x * 0 + part, expected) and same(part + x * 0, expected)
        assert np.dot(part, lazy(numpy.ones(12))) == expected.sum()
        large[3] = 3 * 2.0 ** (k + 1)


def test_large_ones_are_not_plain() -> None:
    real = numpy.arange(200_000.0)
    total = np.sum(real)
    assert total == real.sum()
    column, row = lazy(numpy.arange(8000.0)[:, None]), numpy.ones((1, 400))
    assert not np.is_evaluated(column * row)
    assert same((column * row)[-1], numpy.full(400, 7999.0))
