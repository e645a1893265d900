"""Short lists and tuples of numbers as operands: NumPy's results and errors, and NumPy's way at the call."""

from __future__ import annotations

import operator
import warnings

import numpy
import pytest

import lazyarr as np
from lazyarr import elementwise

LISTS = [
    (1, 0, 1), [1, 2, 3], [1.5, -0.0, float("nan")], [True, False, True], [1j, 2, 3.0], [2],
    (numpy.float32(2), 1, 0), [numpy.int8(3), 2**62, 1], [], [1, 2],
    [[1, 2, 3], [4, 5, 6]], ["a", "b", "c"], [None, 1, 2],
]  # fmt: skip
ARRAYS = [
    numpy.array([3, 0, -2]), numpy.array([True, False, True]), numpy.array([1.5, -0.0, numpy.inf], "f4"),
    numpy.float64(2.5), numpy.ones((2, 3), "f2"), numpy.array([1 + 2j, 0, -1]),
    numpy.array([7, 255, 0], "u1"), numpy.array(2), numpy.empty((0, 3)),
]  # fmt: skip
BY_OPERATOR = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip
BY_NAME = [
    numpy.add, numpy.maximum, numpy.bitwise_and, numpy.divmod, numpy.arctan2, numpy.copysign, numpy.equal,
    numpy.left_shift, numpy.power,
]  # fmt: skip


def described(x):
    real = numpy.asarray(x)
    return isinstance(x, np.ndarray), real.dtype, real.shape, real.astype(object).tolist()


def words(call, *args):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            got = call(*args)
            results = got if isinstance(got, tuple) else (got,)
            answer = [described(x) for x in results]
        except Exception as error:
            answer = type(error), str(error)
        return repr(answer), sorted(str(w.message) for w in given)


@pytest.mark.parametrize("given", LISTS, ids=repr)
@pytest.mark.parametrize("jit", ["auto", "always"])
def test_as_numpy(given, jit):
    with np.options(jit=jit):
        for x in ARRAYS if jit == "auto" else ARRAYS[:2]:
            a = np.array(x) if isinstance(x, numpy.ndarray) else x
            for fn in BY_OPERATOR:
                assert words(fn, a, given) == words(fn, x, given), (fn, x)
                assert words(fn, given, a) == words(fn, given, x), (fn, x)
            for fn in BY_NAME:
                ours = getattr(np, fn.__name__)
                assert words(ours, a, given) == words(fn, x, given), (fn, x)
                assert words(ours, given, a) == words(fn, given, x), (fn, x)
        for name in "sqrt", "negative", "isnan", "modf":
            assert words(getattr(np, name), given) == words(getattr(numpy, name), given)


def test_into_what_exists():
    out, real = np.zeros(3), numpy.zeros(3)
    assert np.add(out, [1, 2, 3], out=out) is out
    numpy.add(real, [1, 2, 3], out=real)
    assert numpy.asarray(out).tobytes() == real.tobytes()


def test_nobody_looks_at_such_calls_twice(monkeypatch):
    """They are as short as NumPy's own."""
    monkeypatch.setattr(elementwise, "loop_of", None)
    a = np.array([True, False, True])
    assert (np.bitwise_and((1, 0, 1), a) == (1, 0, 1)).tolist() == [True, True, True]
    assert np.sqrt([4, 9]).tolist() == [2, 3] and (a + [1, 2, 3]).tolist() == [2, 2, 4]


def test_large_results_wait():
    x = np.array(numpy.ones((300_000, 1)))
    assert not np.is_evaluated(x + [1, 2, 3])
    assert not np.is_evaluated(np.multiply([1, 2, 3], x))
