"""Operators of strings, bytes, dates and spans of time on small plain arrays: NumPy's, without Python."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import lazy, python_calls, same

ARRAYS = {
    "strings": numpy.array(["a", "bc", ""]), "bytes": numpy.array([b"a", b"bc", b""]),
    "dates": numpy.array(["2020-01-01", "NaT", "2021-05-05"], "M8[D]"),
    "spans": numpy.array([1, -3, "NaT"], "m8[h]"), "objects": numpy.array(["a", 1, None], object),
    "doubles": numpy.array([1.0, 2.5, numpy.nan]), "integers": numpy.array([[1], [2]]),
    "records": numpy.array([(1, 2.0)], "i4,f8"), "none": numpy.array([], "U3"), "alone": numpy.array("a"),
}  # fmt: skip
OTHERS = (
    "a", b"a", numpy.str_("bc"), numpy.bytes_(b"bc"), numpy.datetime64("2020-06-01"),
    numpy.datetime64("NaT", "s"), numpy.timedelta64(5, "m"), 2,
)  # fmt: skip
SIGNS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.eq,
    operator.ne, operator.lt, operator.ge, operator.and_, operator.pow, operator.matmul,
)  # fmt: skip


def outcome(sign: Any, *operands: Any) -> tuple[Any, Any]:
    try:
        return sign(*operands), None
    except Exception as error:
        return None, (type(error), str(error))


def alike(found: Any, expected: Any) -> bool:
    """The same types, and elements; no time, or number, is like itself."""
    if type(found) is not (np.ndarray if type(expected) is numpy.ndarray else type(expected)):
        return False
    return getattr(found, "dtype", None) == getattr(expected, "dtype", None) and repr(found) == repr(expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("name", ARRAYS)
def test_operators(name: str, sign: Any) -> None:
    real = ARRAYS[name]
    for other in OTHERS:
        for turned in False, True:
            x = lazy((real,))[0]
            theirs = (other, real) if turned else (real, other)
            ours = (other, x) if turned else (x, other)
            expected, found = outcome(sign, *theirs), outcome(sign, *ours)
            assert found[1] == expected[1], other
            assert (found[0] is None) == (expected[0] is None)
            if expected[0] is not None:
                if type(found[0]) is numpy.ndarray and sign in (operator.eq, operator.ne):
                    # NumPy's scalar is asked first, and asks nobody where there is nothing to compare.
                    found = np.asarray(found[0]), None
                assert alike(found[0], expected[0]), (other, turned)


@pytest.mark.parametrize(
    ("name", "sign", "other"),
    [
        ("strings", operator.eq, "a"), ("bytes", operator.ne, b"a"),
        ("strings", operator.lt, numpy.str_("b")), ("dates", operator.gt, numpy.datetime64("2020-06-01")),
        ("dates", operator.add, numpy.timedelta64(1, "D")),
        ("dates", operator.sub, numpy.datetime64("2020-06-01")),
        ("spans", operator.truediv, numpy.timedelta64(1, "m")),
    ],
)  # fmt: skip
def test_without_python(name: str, sign: Any, other: Any) -> None:
    for turned in False, True:
        if turned and sign is operator.truediv:
            continue
        x = lazy((ARRAYS[name],))[0]
        found, calls = python_calls(sign, *((other, x) if turned else (x, other)))
        assert type(found) is np.ndarray and (not calls or turned)


def test_memory_that_is_shared() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for fn in np.may_share_memory, np.shares_memory:
        for parts, shared in ((x[:, 0], x[:, 1:3]), None), ((x[0], x[1]), False), ((x[0], x), True):
            found, calls = python_calls(fn, *parts)
            assert calls == 0 and type(found) is bool
            if shared is not None:
                assert found is shared
    assert np.may_share_memory(x[:, 0], x[:, 1:3]) and not np.shares_memory(x[:, 0], x[:, 1:3])
    assert not np.shares_memory(x, np.ones(5)) and np.shares_memory(x, numpy.asarray(x))


def test_shuffled() -> None:
    for sample in (numpy.arange(9), numpy.arange(12.0).reshape(4, 3), [1, "a", None]):
        theirs, ours = sample.copy(), lazy((sample.copy(),))[0]
        np.random.seed(5)
        assert np.random.shuffle(ours) is None
        numpy.random.seed(5)
        numpy.random.shuffle(theirs)
        assert ours == theirs if isinstance(theirs, list) else same(ours, theirs)
