"""What small calls answer besides one array: two results, lists, dtypes, texts, fields; without Python."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, lazy, python_calls, same

pytestmark = ONLY_HERE

REALS = {
    "doubles": numpy.array([1.5, -2.5, 0.0, numpy.inf, numpy.nan]),
    "singles": numpy.array([[1.5], [7]], "f4"),
    "integers": numpy.array([7, -7, 3]), "none": numpy.empty((0, 3)), "alone": numpy.array(2.5),
}  # fmt: skip

TWO: dict[str, Callable[[Any, Any], Any]] = {
    "modf": lambda np, x: np.modf(x), "frexp": lambda np, x: np.frexp(x),
    "divmod": lambda np, x: np.divmod(x, x[::-1] if x.ndim else x),
    "by a number": lambda np, x: np.divmod(x, 3),
    "of a number": lambda np, x: np.divmod(3.5, x), "numbers": lambda np, x: np.divmod(7, 2),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", TWO.values(), ids=TWO)
@pytest.mark.parametrize("real", REALS.values(), ids=REALS)
def test_two_results(real: numpy.ndarray, call: Any) -> None:
    call(np, lazy(real))                        # (names are adapted when somebody asks for them)
    found, calls = python_calls(call, np, lazy(real))
    expected = call(numpy, real)
    assert type(found) is tuple and same(found, expected) and not calls
    for x in found:
        assert type(x) is not np.ndarray or x.base is None


def test_two_results_elsewhere() -> None:
    """Names, results that are given, and what is wrong are Python's, or NumPy's words."""
    x, out = np.array([1.5, 2.5]), (np.empty(2), np.empty(2))
    assert np.modf(x, *out)[1] is out[1] and same(out[0], numpy.array([0.5, 0.5]))
    assert np.modf(x, out=out)[0] is out[0]
    for wrong in (
        lambda np: np.modf("a"), lambda np: np.divmod(np.ones(2), np.ones(3)), lambda np: np.divmod(1),
        lambda np: np.frexp(np.ones(2, complex)),
    ):  # fmt: skip
        with pytest.raises(Exception) as expected:
            wrong(numpy)
        with pytest.raises(type(expected.value)) as found:
            wrong(np)
        assert str(found.value) == str(expected.value)


def test_nothing_is_left_behind() -> None:
    x = np.array([1.5, 2.5])
    before = sys.getrefcount(x)
    for _ in range(50):
        np.modf(x)
        x.tolist()
    assert sys.getrefcount(x) == before


@pytest.mark.parametrize("real", REALS.values(), ids=REALS)
def test_lists(real: numpy.ndarray) -> None:
    found, calls = python_calls(lazy(real).tolist)
    assert repr(found) == repr(real.tolist()) and not calls


@pytest.mark.parametrize("real", [*REALS.values(), numpy.ones((3, 2)).T], ids=[*REALS, "turned"])
def test_copies(real: numpy.ndarray) -> None:
    x = lazy(real) if real.flags.c_contiguous else lazy(real.T).T
    found, calls = python_calls(operator.methodcaller("__copy__"), x)
    assert same(found, real) and found.strides == copy.copy(real).strides and not calls
    assert found is not x and not np.shares_memory(found, x)


RECORDS = numpy.dtype([("x", "f8"), ("y", "i4", (2,)), ("n", [("p", "f4"), ("q", "U3")])])


@pytest.mark.parametrize("shape", [(3,), (2, 2), (0,), ()])
def test_fields(shape: tuple[int, ...]) -> None:
    real = numpy.zeros(shape, RECORDS)
    x = np.array(real)
    for name in RECORDS.names:
        found, calls = python_calls(operator.getitem, x, name)
        assert same(found, real[name]) and not calls
        assert found.base is x and np.shares_memory(found, x) == (x.size > 0)
    x["n"]["p"][...] = 3
    assert (numpy.asarray(x)["n"]["p"] == 3).all()
    for array in (x, np.ones(2)):
        with pytest.raises((ValueError, IndexError)) as expected:
            numpy.asarray(array)["z"]
        with pytest.raises(type(expected.value)) as found:
            array["z"]
        assert str(found.value) == str(expected.value)


OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "promote_types": lambda np, x: np.promote_types("f4", "i8"),
    "result_type": lambda np, x: np.result_type(x, np.float32(2)),
    "issubdtype": lambda np, x: np.issubdtype(x.dtype, np.floating),
    "binary_repr": lambda np, x: np.binary_repr(5, width=8), "base_repr": lambda np, x: np.base_repr(35, 36),
    "upper": lambda np, x: np.char.upper(np.array(["a", "b"])), "require": lambda np, x: np.require(x, "f4"),
    "resize": lambda np, x: np.resize(x, (2, 3)), "is_busday": lambda np, x: np.is_busday("2020-01-01"),
    "key": lambda np, x: np.s_[1:2, ..., None],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", OTHERS.values(), ids=OTHERS)
def test_other_answers(call: Any) -> None:
    real = numpy.array([1.0, 2.0, 3.0])
    call(np, lazy(real))
    found, calls = python_calls(call, np, lazy(real))
    expected = call(numpy, real)
    assert (found == expected if not isinstance(expected, numpy.ndarray) else same(found, expected))
    assert type(found) in (type(expected), np.ndarray) and not calls
