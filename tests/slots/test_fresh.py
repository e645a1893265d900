"""New arrays of few numbers, copies, and arrays as they are: NumPy's results, no Python between."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, both, python_calls, same
from tests.slots.test_listed import outcome

pytestmark = ONLY_HERE

SHAPES: list[Any] = [
    3, 0, 1, (3,), (2, 3), (0, 3), (2, 0), (1, 2, 3), (1, 1, 2, 2), (1, 1, 1, 2, 2), (), 1000, 5000,
    (100, 100), -1, (2, -1), numpy.int64(3), (numpy.int64(2), 2), numpy.int32(3), True, (True, 2), 2.0,
    (2.5,), "a", None, [2, 3], [], (2, "a"), 2**64, (2**64, 0), (0, 2**40), ((2,),), numpy.array([2, 3]),
    range(2),
]  # fmt: skip
TYPES: list[Any] = [
    None, float, int, bool, complex, object, "f4", numpy.float64, numpy.int64, numpy.dtype("d"),
    numpy.dtype("l"), numpy.dtype(">f8"), "i8", numpy.int32, "no type", 3, [("a", "f8")],
    *[numpy.dtype(c).type for c in "?bBhHiIlLqQefdFD"], *map(numpy.dtype, "?bBhHiIlLqQefdFD"), str,
    numpy.dtype("f4", metadata={"a": 1}), numpy.floating, numpy.generic, numpy.dtypes.Float32DType, numpy.nan,
]  # fmt: skip


@pytest.mark.parametrize("function", ["empty", "zeros", "ones"])
def test_arrays_of_shapes(function: str) -> None:
    def program(np: Any, *args: Any, **kwargs: Any) -> Any:
        x = getattr(np, function)(*args, **kwargs)
        if function == "empty" and not x.dtype.hasobject:
            x[...] = numpy.zeros((), x.dtype)
        return x

    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((), {"shape": 3})]
    for shape in SHAPES:
        calls += ((shape,), {}), ((shape,), {"order": "F"}), ((shape,), {"no": 1}), ((shape, float, "C"), {})
        for dtype in TYPES:
            calls += ((shape, dtype), {}), ((shape,), {"dtype": dtype}), ((shape, dtype), {"order": "F"})
    for args, kwargs in calls:
        mine, theirs = (outcome(lambda np: program(np, *args, **kwargs), m) for m in (np, numpy))  # noqa: B023
        assert mine == theirs, (args, kwargs)


def test_no_memory() -> None:
    for function in np.empty, np.zeros, np.ones:
        for shape in (2**33, 2**33), (2**62,):
            with pytest.raises((MemoryError, ValueError)):
                function(shape)


@pytest.mark.parametrize("function", ["empty", "zeros", "ones"])
def test_no_python_runs(function: str) -> None:
    make, theirs = getattr(np, function), getattr(numpy, function)
    for shape in 3, (3,), (2, 3), 0, (), (1, 2, 3, 4), numpy.int64(4):
        for given in (), (float,), (int,), (numpy.dtype("l"),), (None,):
            x, calls = python_calls(make, shape, *given)
            assert not calls and x.dtype == theirs(shape, *given).dtype and x.strides == theirs(shape).strides
            assert x.flags.owndata and x.flags.writeable and x.base is None
            assert function == "empty" or same(x, theirs(shape, *given))
        for given in (*"?bBhHiIlLqQfF", bool):
            x, calls = python_calls(make, shape, dtype=numpy.dtype(given).type)
            assert x.dtype == given and (function == "empty" or same(x, theirs(shape, given)))
            assert not calls or function == "ones"
        assert not python_calls(make, shape, dtype=numpy.float64)[1]


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "line": lambda np: np.arange(5.0), "nothing": lambda np: np.zeros((0, 3)),
    "no axes": lambda np: np.array(2.5),
    "square": lambda np: np.arange(6).reshape(2, 3), "turned": lambda np: np.arange(6.0).reshape(2, 3).T,
    "gaps": lambda np: np.arange(6)[::2], "backwards": lambda np: np.arange(6)[::-1],
    "cube": lambda np: np.arange(24.0).reshape(2, 3, 4), "bools": lambda np: np.arange(4) > 1,
    "complex": lambda np: np.arange(3) * 1j, "halves": lambda np: np.arange(3).astype("f2"),
    "of another machine": lambda np: np.arange(3).astype(">f8"), "text": lambda np: np.array(["a", "bc"]),
    "objects": lambda np: np.array([1, None, []], dtype=object),
    "dates": lambda np: np.arange(3).astype("M8[s]"),
    "large": lambda np: np.arange(100_000.0), "waits": lambda np: np.arange(100_000.0) * 2,
    "part": lambda np: np.arange(100_000.0)[3:9], "one": lambda np: np.arange(12.0).reshape(4, 3)[:, 1:2],
    "repeated": lambda np: np.broadcast_to(np.arange(3.0), (2, 3)),
    "records": lambda np: np.zeros(2, [("a", "f8")]),
}  # fmt: skip
COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "copy": lambda np, x: x.copy(), "array": lambda np, x: np.array(x),
    "asarray": lambda np, x: np.asarray(x), "asanyarray": lambda np, x: np.asanyarray(x),
    "contiguous": lambda np, x: np.ascontiguousarray(x),
    "in order": lambda np, x: x.copy("F"), "in order by name": lambda np, x: x.copy(order="F"),
    "typed": lambda np, x: np.array(x, x.dtype), "not copied": lambda np, x: np.array(x, copy=None),
    "more axes": lambda np, x: np.array(x, ndmin=3), "of a type": lambda np, x: np.asarray(x, dtype=object),
    "wrong": lambda np, x: x.copy(1, 2), "wrong name": lambda np, x: np.asarray(x, no=1),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_copies(name: str) -> None:
    for copy in COPIES.values():

        def program(np: Any, copy: Any = copy) -> Any:
            x = ARRAYS[name](np)
            y = copy(np, x)
            if x.dtype.kind in "if" and x.flags.writeable and x.size:
                x[...] += 1                         # who shares memory shows it
            return y, y is x, y.base is x, y.strides, y.flags.owndata

        assert outcome(program, np) == outcome(program, numpy)


def test_copies_run_no_python() -> None:
    for name in "line", "nothing", "no axes", "square", "cube", "bools", "complex", "halves":
        x, real = ARRAYS[name](np), ARRAYS[name](numpy)
        for copy in (lambda x: x.copy()), np.array:
            y, calls = python_calls(copy, x)
            assert not calls and same(y, numpy.array(real)) and y.base is None and y is not x
        for as_it_is in np.asarray, np.asanyarray:
            y, calls = python_calls(as_it_is, x)
            assert not calls and y is x


def test_references_stay_as_many() -> None:
    x, large = np.arange(5.0), both()[0]
    counted = [x, x.geo, numpy.dtype("d"), numpy.dtype("l"), large, float, int, 1000]

    def step() -> None:
        for function in np.empty, np.zeros, np.ones:
            function(3), function((2, 3), int), function(1000, dtype=float), function(3, "f4")
        x.copy(), np.array(x), np.asarray(x), np.asarray(large), large[3].copy()

    step()
    before = [*map(sys.getrefcount, counted)]
    for _ in range(100):
        step()
    assert all(abs(sys.getrefcount(y) - n) < 20 for y, n in zip(counted, before, strict=True))
