"""Lists and tuples of numbers, as operands and as what arrays are made of: NumPy's results, no Python."""

from __future__ import annotations

import copy
import operator
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, both, python_calls, same

pytestmark = ONLY_HERE


class Own(list):
    """A list of somebody else's."""


class Number(int):
    """An integer of somebody else's."""


ITSELF: list[Any] = [1, 2]
ITSELF.append(ITSELF)

READ: dict[str, Any] = {
    "floats": [1.0, -0.0, 3.5], "integers": (1, 2, -1), "mixed": [1, 2.5, 3], "long": [2**53 + 1, 1.0, -1],
    "words": [-(2**63), 2**63 - 1, 0], "NumPy's": [numpy.float64(1), 2, numpy.int64(-3)],
    "NumPy's integers": (numpy.int64(7), 2, 1), "odd": [float("nan"), float("inf"), -1.5], "one": (5,),
    "rows": [[1, 2, 3], [4, 5, 6]], "kinds of rows": ([1.0, 2, 3], (4, 5, 6)), "columns": [[1], [2.0], [3]],
    "one row": [[1, 2, 3]],
}  # fmt: skip
"""What is read here."""
LEFT: dict[str, Any] = {
    "nothing": [], "no rows": [[]], "bools": [True, False, True], "a bool": [True, 2, 3],
    "complex": [1j, 2, 3],
    "large": [2**63, 1, 2], "huge": [2**70, 1, 2], "large and a float": [2**64, 1.0, 2],
    "singles": [numpy.float32(1), 2, 3], "uneven": [[1, 2], [3]], "part of it rows": [[1, 2], 3],
    "deep": [[[1, 2, 3]]], "text": ["a", "b", "c"], "none": [None, 1, 2], "own list": Own([1, 2, 3]),
    "own number": [Number(1), 2, 3], "an array": [numpy.zeros(()), 1, 2], "many": [1] * 5000,
    "itself": ITSELF,
}  # fmt: skip
LISTS = {**READ, **LEFT}

ARRAYS = (
    "np.arange(3.0)", "np.arange(3)", "np.arange(6.0).reshape(2, 3)", "np.arange(3, dtype='f4')",
    "np.arange(3) > 1", "np.arange(3) * 1j", "np.zeros(())", "np.zeros((0, 3))", "np.zeros((3, 1))",
    "np.array([1, None, 'x'], dtype=object)", "np.arange(3, dtype='u1')", "np.arange(3.0)[::-1]",
    "np.array(['a', 'b', 'c'])", "np.float64(2)", "np.ones((4_000, 3))", "np.ones(3) + np.ones((4_000, 1))",
)  # fmt: skip
OPERATORS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.and_, operator.lshift, operator.eq, operator.ne, operator.lt, operator.ge, operator.matmul,
    operator.iadd, operator.isub, operator.itruediv, operator.ior, divmod,
)  # fmt: skip
FUNCTIONS = (
    "add", "maximum", "bitwise_and", "sqrt", "arctan2", "equal", "divide", "exp", "isnan", "matmul", "divmod",
    "logical_or",
)  # fmt: skip


def outcome(program: Callable[[Any], Any], module: Any) -> Any:
    """What it gives, or the error; and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result = shown(program(module))
        except Exception as error:
            result = type(error), str(error).replace("lazyarr", "numpy")
    return result, [(w.category, str(w.message)) for w in found]


def shown(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(shown, x))
    if not isinstance(x, np.ndarray | numpy.ndarray):
        return type(x), repr(x)
    assert isinstance(x, np.ndarray) or numpy.ndarray is type(x)
    real, flags = numpy.asarray(x), x.flags
    if real.dtype.kind in "fc":
        real = numpy.where(real == real, real, numpy.nan).astype(real.dtype)    # (whatever a NaN's sign)
    bits = repr(real.tolist()) if real.dtype.hasobject else real.tobytes()
    return real.dtype, real.shape, bits, flags.writeable, flags.c_contiguous, flags.f_contiguous


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("array", ARRAYS)
def test_operators(array: str, name: str) -> None:
    given = LISTS[name]
    for apply in OPERATORS:
        for turned in False, True:

            def program(np: Any, apply: Any = apply, turned: bool = turned) -> Any:
                operands = eval(array), copy.copy(given)
                return apply(*operands[:: -1 if turned else 1])

            assert outcome(program, np) == outcome(program, numpy), (apply, turned)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_ufuncs(function: str, name: str) -> None:
    given = LISTS[name]
    for array in ARRAYS:
        for turned in 1, -1:

            def program(np: Any, array: str = array, turned: int = turned) -> Any:
                return getattr(np, function)(*(eval(array), given)[::turned])

            assert outcome(program, np) == outcome(program, numpy), (array, turned)
    for other in [(), *[(x,) for x in LISTS.values()], (2,), (1.5,)]:

        def program_of_lists(np: Any, other: Any = other) -> Any:
            return getattr(np, function)(given, *other)

        assert outcome(program_of_lists, np) == outcome(program_of_lists, numpy), other


MAKERS = "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"
TYPES = (
    float, int, bool, complex, object, "f8", None, numpy.float64, numpy.int64, numpy.float32,
    numpy.dtype("d"), numpy.dtype("l"), numpy.dtype(">f8"),
)  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("function", MAKERS)
def test_arrays_of_lists(function: str, name: str) -> None:
    given = LISTS[name]
    programs: list[Callable[[Any], Any]] = [
        lambda np: getattr(np, function)(given), lambda np: getattr(np, function)(given, ndmin=2),
        lambda np: getattr(np, function)(given, copy=True), lambda np: getattr(np, function)(given, foo=1),
        lambda np: getattr(np, function)(object=given), lambda np: getattr(np, function)(given, *range(9)),
    ]  # fmt: skip
    for dtype in TYPES:
        programs += (
            lambda np, dtype=dtype: getattr(np, function)(given, dtype),
            lambda np, dtype=dtype: getattr(np, function)(given, dtype=dtype),
            lambda np, dtype=dtype: getattr(np, function)(given, dtype=dtype, order="F"),
        )
    for number, program in enumerate(programs):
        assert outcome(program, np) == outcome(program, numpy), number


@pytest.mark.parametrize("name", READ)
def test_no_python_runs(name: str) -> None:
    given = READ[name]
    x, real = np.ones((len(given), 3)), numpy.ones((len(given), 3))
    if numpy.ndim(given) < 2:
        x, real = x[:, 0], real[:, 0]
    for apply in operator.add, operator.eq, operator.sub, np.maximum, np.hypot:
        for mine, theirs in (((x, given), (real, given)), ((given, x), (given, real))):
            result, calls = python_calls(apply, *mine)
            assert not calls, apply
            assert same(result, getattr(numpy, apply.__name__, apply)(*theirs))
    for function in MAKERS[:-1]:
        for args in (given,), (given, float), (given, numpy.dtype("d")):
            result, calls = python_calls(getattr(np, function), *args)
            assert not calls, function
            assert same(result, getattr(numpy, function)(*args))
    result, calls = python_calls(np.array, given, dtype=float)
    assert not calls and same(result, numpy.array(given, dtype=float))
    result, calls = python_calls(np.negative, given)
    assert not calls and same(result, numpy.negative(given))


def test_in_place_runs_no_python() -> None:
    x = np.ones(3)
    result, calls = python_calls(operator.iadd, x, [1, 2.5, 3])
    assert result is x and not calls and x.tolist() == [2, 3.5, 4]


def test_lists_with_lazy_arrays() -> None:
    x = np.arange(3.0)
    waiting = np.ones(4_000) * 2
    for given in ([x[0], x[1], 2], [x, x, x], [np.array(1.0), 2, 3], [waiting.sum(), 1, 2], [waiting[3:6]]):
        assert (x + given).tolist() == (numpy.arange(3.0) + numpy.array(given)).tolist()
        assert np.maximum(given, x).tolist() == numpy.maximum(given, numpy.arange(3.0)).tolist()


def test_made_arrays_are_ones_own() -> None:
    given = [[1, 2], [3, 4]]
    x = np.array(given)
    x[0, 0] = 9
    given[1] = [7, 7]
    assert x.base is None and x.flags.owndata and x.tolist() == [[9, 2], [3, 4]]
    assert np.asarray(given) is not np.asarray(given)


def test_large_arrays_and_lists() -> None:
    x, real = both()
    for given in [2.0], [[3]], [[1.5]] * 4000:
        assert same(x * given, real * given) and same(np.maximum(given, x), numpy.maximum(given, real))
        assert same(x[:, :1] - given, real[:, :1] - given)


def test_nothing_is_kept() -> None:
    """References and memory stay as they were, also where it ends on the way."""
    number, wide, real = 10**15, 2**70, 1234.5
    lists: list[Any] = [[number, 1, real], (number, 2, 3), [[real, number, 1], [1, 2, wide]], [1, 2, wide]]
    x, word = np.ones(3), numpy.dtype("l")

    def all_of_it() -> None:
        for given in lists:
            x + given
            np.maximum(given, x)
            np.array(given)
            np.array(given, int)
            operator.eq(given, x)
            np.add(given, given)
            np.add(given, "no number") if given is lists[0] else None

    def count() -> list[int]:
        whole = [number, wide, real, word, numpy.dtype("d"), x, *lists]
        return [sys.getrefcount(each) for each in whole]

    def quietly() -> None:
        with suppress(TypeError):
            all_of_it()

    quietly()
    before = count()
    for _ in range(50):
        quietly()
    assert count() == before
    tracemalloc.start()
    try:
        for _ in range(50):
            quietly()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            quietly()
        assert tracemalloc.get_traced_memory()[0] - first < 20_000
    finally:
        tracemalloc.stop()
