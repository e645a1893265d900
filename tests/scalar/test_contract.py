"""NumPy's contract of `vectorize`, whether or not the function is compiled."""

from __future__ import annotations

import copy
import math
import pickle

import numpy
import pytest
from scalar.conftest import check, outcome

import lazyarr

X = numpy.linspace(-2, 2, 12)


def shifted(x, by=1, *, scale=2):
    """Documented."""
    return (x + by) * scale


def escape(x, y, most=50):
    zx = zy = 0.0
    for k in range(most):
        if zx * zx + zy * zy > 4:
            return k
        zx, zy = zx * zx - zy * zy + x, 2 * zx * zy + y
    return most


GRID = X.reshape(3, 4)
CALLS = {
    "positional": ((X,), {}, {}),
    "scalar operand": ((X, 3), {}, {}),
    "float operand": ((X, 2.5), {}, {}),
    "keyword": ((X,), {"by": X * 2}, {}),
    "keywords alone": ((), {"scale": X[::2], "x": X[1::2]}, {}),
    "keyword scalar": ((X,), {"scale": True}, {}),
    "excluded by number": ((X, 5), {}, {"excluded": [1]}),
    "excluded by name": ((X,), {"scale": 0.5}, {"excluded": ["scale"]}),
    "excluded array": ((3.0, X), {}, {"excluded": {1}}),
    "all excluded": ((3.0,), {}, {"excluded": {0}}),
    "otypes": ((X,), {}, {"otypes": "f"}),
    "otypes list": ((X,), {}, {"otypes": [numpy.int32]}),
    "object results": ((X,), {}, {"otypes": "O"}),
    "cached": ((X,), {}, {"cache": True}),
    "signature": ((X,), {}, {"signature": "()->()"}),
    "broadcast": ((GRID, X[:3, None]), {}, {}),
    "columns": ((GRID.T, X[:4, None]), {}, {}),
    "reversed": ((GRID[::-1, ::2],), {}, {}),
    "repeated": ((numpy.broadcast_to(X[:4], (3, 4)).T,), {}, {}),
    "no axes": ((numpy.array(2.5),), {}, {}),
    "a number": ((2.5,), {}, {}),
    "a NumPy number": ((X, numpy.float32(0.1)), {}, {}),
    "a list": (([1, 2.5, True],), {}, {}),
    "empty": ((X[:0],), {}, {}),
    "empty with otypes": ((X[:0],), {}, {"otypes": "d"}),
    "shapes that do not fit": ((X, X[:5]), {}, {}),
    "too many": ((X, 1, 2), {}, {}),
    "unknown name": ((X,), {"other": 1}, {}),
    "twice": ((X,), {"x": 1}, {}),
    "none": ((), {}, {}),
    "complex": ((X + 1j,), {}, {}),
    "dates": ((numpy.array(["2020-01-01"], "M8[D]"),), {}, {}),
    "wrong number of otypes": ((X,), {}, {"otypes": "dd"}),
}


@pytest.mark.parametrize("case", CALLS)
def test_calls(case):
    args, kwargs, options = CALLS[case]
    check(shifted, *args, options=options, **kwargs)


COMPILED = (
    "positional", "scalar operand", "float operand", "keyword", "keywords alone", "keyword scalar", "otypes",
    "excluded by number", "excluded by name", "broadcast", "columns", "reversed", "repeated", "otypes list",
)  # fmt: skip


@pytest.mark.parametrize("case", COMPILED)
def test_these_are_compiled(case):
    args, kwargs, options = CALLS[case]
    called = []
    before = shifted.__code__
    v = check(shifted, *args, options=options, **kwargs)
    assert v.refusal is None and not called and shifted.__code__ is before


def test_several_results():
    check(lambda x: (x, int(x), x > 0), X)
    check(lambda x: (x,), X)
    check(lambda x: divmod(x, 0.7), GRID.T)
    check(lambda x: (x, 1) if x < 0 else (x, 2.5), X, options={"otypes": "dd"})
    check(lambda x: (x, 1) if x < 0 else x, X)


def test_decorator_and_documentation():
    made = [m.vectorize(otypes=[float], doc="words")(escape) for m in (numpy, lazyarr)]
    assert made[0].__doc__ == made[1].__doc__ == "words" and made[1].__name__ == "escape"
    assert numpy.array_equal(*[m(X, 0.3) for m in made])

    @lazyarr.vectorize
    def twice(x):
        """Twice."""
        return x * 2

    assert twice.__doc__ == "Twice." and isinstance(twice, numpy.vectorize)
    assert numpy.array_equal(twice(X), X * 2)


def test_copies_and_pickles():
    v = lazyarr.vectorize(shifted)
    wanted = shifted(X)
    v(X)
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert numpy.array_equal(other(X), wanted)


def test_the_first_call_alone_is_pythons():
    """NumPy calls the function once more than there are elements, on NumPy's scalars: once is left."""
    counted = []

    def f(x):
        return helper(x) + 1

    def helper(x):
        return x * 2

    def counting(x):
        counted.append(type(x))
        return x * 2

    v = lazyarr.vectorize(f)
    assert v(X).dtype == float and v.refusal is None
    wanted, _ = outcome(numpy.vectorize, counting, (X,), {}, {})
    first = list(counted)
    counted.clear()
    seen, v = outcome(lazyarr.vectorize, counting, (lazyarr.asarray(X),), {}, {})
    assert seen == wanted and counted == first and len(counted) == X.size + 1 and v.refusal


def test_float32_results_follow_the_first_call():
    check(lambda x: x * 0.1, X.astype("f"))
    check(lambda x: x * 2, numpy.arange(5, dtype="b"))


def failing(x):
    if x > 1:
        raise KeyError("large")
    assert x != 0.5, "half"
    return 1 / (x + 1)


BAD = [X, X[X < -1], *map(numpy.array, ([2.0, 0.5, -1.0], [-1.0], [0.5]))]


@pytest.mark.parametrize("x", BAD)
def test_exceptions_come_at_the_call(x):
    check(failing, x)
    check(failing, x, options={"otypes": "d"})


@pytest.mark.parametrize("x", [numpy.array([2**62, 3]), numpy.array([3, 2**62]), numpy.array([-(2**63)])])
def test_ints_beyond_64_bits_are_pythons(x):
    check(lambda x: x * 4 // 4, x)
    check(lambda x: x * 4 > 0, x)
    check(lambda x: abs(x) ** 3 % 1000, x, options={"otypes": "l"})
    check(lambda x: -x, x, options={"otypes": "O"})
    check(lambda x: (x << 3) >> 3, x)


def test_error_states():
    big = numpy.full(5, 1e308)
    for state in ({"over": "ignore"}, {"all": "ignore"}, {"over": "raise"}, {"all": "warn"}):
        with numpy.errstate(**state):
            check(lambda x: x * x, big)
            check(lambda x: x * x / 2.0, big, options={"otypes": "d"})
            check(lambda x: x / x * x * x, big, options={"otypes": "d"})
            check(lambda x: math.exp(x), -big)


def test_branches_that_return_other_types():
    check(lambda x: 0 if x < 0 else x, X)
    check(lambda x: x if x < 0 else 0, X)
    check(lambda x: 0 if x < 0 else x, X, options={"otypes": "d"})
    check(lambda x: None if x < 0 else x, X[::-1])
    check(lambda x: None if x < -5 else x, X[::-1])
