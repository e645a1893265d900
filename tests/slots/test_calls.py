"""Methods, functions and attributes of small arrays run no Python code of ours, and give what NumPy gives."""

from __future__ import annotations

import gc
import inspect
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.fallback import finished
from tests.slots.operands import ONLY_HERE, VALUES, lazy, python_calls, python_functions, same

pytestmark = ONLY_HERE

M = VALUES.reshape(3, 4)
Call = Callable[[Any, Any], tuple[Any, tuple[Any, ...], dict[str, Any]]]

METHODS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "sum": ((), {}), "prod": ((0,), {}), "max": ((), {"axis": 1, "keepdims": True}), "min": ((), {}),
    "any": ((), {}), "all": ((1,), {}), "mean": ((), {}), "std": ((0,), {"ddof": 1}), "var": ((), {}),
    "clip": ((-1, 2.5), {}), "argmax": ((), {}), "argmin": ((1,), {}), "cumsum": ((), {}),
    "cumprod": ((1,), {}), "trace": ((), {}), "dot": ((M.T.copy(),), {}), "transpose": (((1, 0),), {}),
    "swapaxes": ((0, 1), {}), "squeeze": ((), {}), "diagonal": ((1,), {}), "reshape": ((2, 6), {}),
    "ravel": ((), {}), "flatten": (("F",), {}), "view": (("i8",), {}), "astype": ((numpy.float32,), {}),
    "copy": ((), {}), "conj": ((), {}), "round": ((1,), {}), "repeat": ((2, 0), {}),
    "take": ((numpy.array([2, 0]),), {"axis": 1}), "nonzero": ((), {}), "argsort": ((), {}),
    "item": ((5,), {}),
}  # fmt: skip

FUNCTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "sum": ((M,), {"axis": 0}), "mean": ((M, 1), {}), "clip": ((M, 0, 3), {}), "argmax": ((M,), {}),
    "reshape": ((M, (4, 3)), {}), "transpose": ((M,), {}), "expand_dims": ((M, 0), {}),
    "dot": ((M, M.T.copy()), {}), "where": ((M > 0, M, -1), {}), "outer": ((VALUES, VALUES), {}),
    "cross": ((VALUES[:3], VALUES[3:6]), {}), "diff": ((M,), {"axis": 1}), "roll": ((M, 2), {}),
    "tile": ((M, 2), {}), "nan_to_num": ((M,), {}), "zeros_like": ((M,), {}), "sort": ((-VALUES,), {}),
    "count_nonzero": ((M,), {}), "unique": ((M % 3,), {}), "isclose": ((M, M + 1e-12), {}),
    "median": ((M,), {}), "zeros": ((5,), {}), "ones": (((2, 3),), {"dtype": "i4"}), "full": ((3, 2.5), {}),
    "empty": (((0, 3),), {}), "arange": ((2, 9), {}), "linspace": ((0, 1, 5), {}), "array": ((M,), {}),
    "asarray": (([[1, 2], [3, 4.5]],), {}), "concatenate": (((M, M + 1),), {"axis": 1}),
    "stack": (([VALUES, VALUES],), {}), "hstack": (((VALUES, VALUES),), {}),
    "vstack": ([[VALUES, VALUES]], {}), "linalg.norm": ((VALUES,), {}),
    "ndim": ((M,), {}), "size": ((M, 1), {}), "append": ((M, VALUES), {}),
    "linalg.inv": ((numpy.eye(2) * 2,), {}), "broadcast_to": ((VALUES, (2, 12)), {}),
    "iterable": ((M,), {}), "delete": ((M, 1, 0), {}), "insert": ((VALUES, 2, 9), {}), "pad": ((M, 1), {}),
    "gradient": ((VALUES,), {}), "ediff1d": ((VALUES,), {}), "unwrap": ((VALUES,), {}),
    "polyval": ((VALUES[:3], VALUES), {}), "vander": ((VALUES[:4],), {}),
    "partition": ((-VALUES, 4), {}), "argpartition": ((-VALUES, 4), {}),
    "isin": ((VALUES, VALUES[:4]), {}), "union1d": ((VALUES, VALUES + 1), {}),
    "intersect1d": ((VALUES, VALUES + 1), {}), "setdiff1d": ((VALUES, VALUES[:4]), {}),
    "take_along_axis": ((M, numpy.array([[1, 0]]), 1), {}), "real_if_close": ((VALUES + 0j,), {}),
    "quantile": ((M, 0.25), {"axis": 1}), "cov": ((M,), {}), "corrcoef": ((VALUES, VALUES**2), {}),
    "packbits": ((M > 0,), {}), "unpackbits": ((VALUES.astype("u1"),), {}),
    "nansum": ((M, 0), {}), "nanmean": ((VALUES,), {}), "nanstd": ((M, 1), {}), "nanargmax": ((VALUES,), {}),
    "nanpercentile": ((VALUES, 30), {}), "lexsort": (((VALUES, -VALUES),), {}),
    "linalg.multi_dot": ([[M, M.T.copy()]], {}), "linalg.cholesky": ((numpy.eye(3) * 4,), {}),
    "linalg.eigvalsh": ((numpy.eye(3) * 4,), {}), "linalg.pinv": ((M,), {}),
    "linalg.matrix_rank": ((M,), {}), "linalg.cond": ((M,), {}),
    "fft.fft": ((VALUES,), {}), "fft.irfft": ((VALUES + 0j,), {}), "fft.fft2": ((M,), {"norm": "ortho"}),
    "fft.fftshift": ((M,), {}),
}  # fmt: skip

SEVERAL: dict[str, tuple[Any, ...]] = {
    "shape": (M,), "nonzero": (M,), "where": (M > 2,), "split": (M, 2, 1), "array_split": (VALUES, 5),
    "meshgrid": (VALUES, VALUES[:3]),
    "hsplit": (M, 2), "vsplit": (M, 3), "ix_": (numpy.arange(3), numpy.arange(2)),
    "unravel_index": (numpy.arange(6), (2, 3)), "histogram": (VALUES, 4),
    "linalg.slogdet": (numpy.eye(2) * 2,), "linalg.eigh": (numpy.eye(2) * 2,), "linalg.qr": (M,),
    "linalg.svd": (M,), "linalg.eig": (numpy.eye(2) * 2,), "linalg.lstsq": (M, VALUES[:3]),
    "unique": (M % 3, True, True, True),
}


def named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    args, kwargs = METHODS[name]
    x = lazy(M)
    found, calls = python_calls(getattr(x, name), *lazy(args), **kwargs)
    expected = getattr(M, name)(*args, **kwargs)
    assert same(found, expected)
    assert calls == 0 or type(expected) is tuple        # which Python takes apart
    if type(found) is np.ndarray and expected is not M:
        assert (found.base is x) == (expected.base is M or expected.base is VALUES)
        assert found.flags.owndata == expected.flags.owndata and found.strides == expected.strides
    unbound, calls = python_calls(getattr(np.ndarray, name), x, *lazy(args), **kwargs)
    assert same(unbound, expected)
    assert getattr(np.ndarray, name).__qualname__ == getattr(numpy.ndarray, name).__qualname__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    args, kwargs = FUNCTIONS[name]
    fn, theirs = named(np, name), named(numpy, name)
    found, calls = python_calls(fn, *lazy(args), **kwargs)
    expected = theirs(*args, **kwargs)
    assert same(found, expected)
    of = getattr(expected, "base", None)
    assert calls == 0 or of is not None                 # what it is a view of, Python finds out
    assert fn.__name__ == theirs.__name__ and fn.__doc__ == theirs.__doc__
    assert pickle.loads(pickle.dumps(fn)) is fn


@pytest.mark.parametrize(
    "numbers",
    [
        (9, -1, -1), (-3, 4), (0, 10, 3), (numpy.int64(6), -1, -2), (5, 5), (-5, -9), (2, numpy.uint8(9)),
        (0, 1, 0.1), (5.0,), (numpy.float64(2.5),), (0.5, 3), (1.0, numpy.float64(4), 0.5), (3, -1, -0.25),
        (1e300, 1.5e300, 1e299), (10**6, 10**6 + 1, 0.125), (-0.0, numpy.int8(2)),
        (0, 5e-324, 5e-324),
    ],
)  # fmt: skip
def test_ranges(numbers: tuple[Any, ...]) -> None:
    found, calls = python_calls(np.arange, *numbers)
    assert calls == 0 and same(found, numpy.arange(*numbers))


def test_ranges_of_other_numbers() -> None:
    for numbers in (
        (0, 2**62, 2**61), (2**70, 2**70 + 3), (-(2**63), 2**63, 2**62), (0.5, 3), (0, 1, 0.25), (True, 4),
        (-(10**6), 10**6), (2 * 10**6, 0, -3), (5.0, 1), (-4.0,), (0, 3e5, 1.0), (2**60, 2**60 + 9, 2.0),
        (numpy.float32(0.5), 3), (0, numpy.longdouble(1), 0.25), (1e18, 1e18 + 512, 64), (0.0, None, 2),
    ):  # fmt: skip
        assert same(np.arange(*numbers), numpy.arange(*numbers))


@pytest.mark.parametrize(
    "numbers",
    [
        (0, 1, 0.0), (0.0, float("nan")), (float("inf"),), (0, float("inf"), 1.0), (0, 1, float("nan")),
        (1.0, [2]), (slice(3), 2.0), (1.0, ...), (None, 1.0), (0.0, 1e30), (0.0, 10**400), (10**400, 1.0),
        (1.0, 2.0, 0.5, "i8", 3, 4),
        (0.0, 1.0, 1e-320), (-1e308, 1e308, 1.0),
    ],
)  # fmt: skip
def test_ranges_that_are_none(numbers: tuple[Any, ...]) -> None:
    with pytest.raises(Exception) as theirs:
        numpy.arange(*numbers)
    with pytest.raises(theirs.type) as ours:
        np.arange(*numbers)
    assert str(ours.value) == str(theirs.value)


TAKING = {"finished", "_are_plain", "_small", "plain", "part", "__missing__"}
"""What takes results apart, and learns a type."""


@pytest.mark.parametrize("name", SEVERAL)
def test_functions_with_several_results(name: str) -> None:
    """Python takes them apart, and asks nobody about small new arrays and views of arguments."""
    args = [x.copy() if isinstance(x, numpy.ndarray) else x for x in SEVERAL[name]]
    ours = lazy(args)
    found, names = python_functions(named(np, name), *ours)
    expected = named(numpy, name)(*args)
    assert type(found).__name__ == type(expected).__name__ and same(tuple(found), tuple(expected))
    assert {n.rpartition(".")[2] for n in names} <= TAKING
    for x, y in zip(found, expected, strict=True):
        if type(y) is numpy.ndarray:
            assert (x.base is ours[0]) == (y.base is args[0])
            x[...] = y[...] = 7
    assert same(ours[0], args[0])


def test_the_array_type_is_an_argument_as_any() -> None:
    x = lazy(numpy.full(3, 7))
    found = finished(numpy.arange(6).reshape(2, 3), x, np.ndarray, like=[x, 1])
    assert same(found, numpy.arange(6).reshape(2, 3))


def test_views_among_several_results_are_of_their_arguments() -> None:
    x = lazy(VALUES)
    view = x[2:10]
    first, second = np.split(view, 2)
    assert first.base is x and second.base is x
    second[:] = 5
    assert x.tolist() == [*VALUES[:6], 5, 5, 5, 5, *VALUES[10:]]


@pytest.mark.parametrize("bytes_", [1 << 19, 1 << 20])
def test_several_results_are_managed_where_they_are_large(bytes_: int) -> None:
    """As any array that NumPy makes: small ones stay plain."""
    x = lazy(numpy.ones(bytes_ // 8, bool))
    (found,) = np.nonzero(x)
    assert (found.storage is None) == (bytes_ <= 1 << 19) and same(found, numpy.arange(bytes_ // 8))


ATTRIBUTES = "shape", "strides", "dtype", "ndim", "size", "nbytes", "itemsize", "T", "mT", "real"


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    x = lazy(M)
    found, calls = python_calls(getattr, x, name)
    expected = getattr(M, name)
    assert calls == 0 and same(found, expected)
    if name in ("T", "mT"):
        assert found.base is x
    values = numpy.arange(10**6).reshape(1000, 1000)
    assert same(getattr(np.array(values) * 2, name), getattr(values * 2, name))
    assert getattr(np.ndarray, name).__doc__ == getattr(numpy.ndarray, name).__doc__


def test_attributes_are_set_and_deleted_as_numpys() -> None:
    x = lazy(M)
    x.shape = 4, 3
    assert x.shape == (4, 3)
    x.shape = -1
    assert len(x) == 12
    for module in (numpy, np):
        y = module.zeros(3)
        with pytest.raises(ValueError, match="cannot reshape"):
            y.shape = 2
        with pytest.raises(AttributeError):
            y.size = 2
        with pytest.raises(AttributeError, match="Cannot delete"):
            del y.shape


def test_arguments_come_back() -> None:
    x, out = lazy(VALUES), np.empty(())
    assert np.asarray(x) is x and x.conj() is x and x.real is x and np.asanyarray(x) is x
    assert x.sum(None, None, out) is out and out == VALUES.sum()
    assert np.sum(x, out=out) is out and np.clip(x, 0, 1, x) is x
    assert x.reshape(3, 4).T.base is x and x[2:].reshape(5, 2).base is x


def test_large_results_are_managed() -> None:
    for made in (lazy(VALUES).repeat(10**5), np.zeros(10**6), np.linspace(0, 1, 10**6), np.arange(10**6)):
        assert made.storage is not None
    assert np.eye(300).storage is not None and np.ones((300, 300)).storage is not None


def test_large_arguments_are_lazy() -> None:
    column, x = np.arange(1e5) * 2, lazy(VALUES)
    before = np.debug.counters()["numpy_eager"]
    pending = np.where(column > 3, column, x[0]) + column.clip(0, 3) + np.maximum(column, 2)
    assert np.debug.counters()["numpy_eager"] == before and not np.is_evaluated(pending)


def test_errors_are_numpys() -> None:
    programs: list[Callable[[Any, Any], Any]] = [
        lambda m, x: x.reshape(5, 5), lambda m, x: x.sum(axis=9), lambda m, x: x.sum(what=1),
        lambda m, x: m.sum(), lambda m, x: m.zeros(-1), lambda m, x: m.zeros("a"),
        lambda m, x: m.dot(x, x[:2]), lambda m, x: m.array([1, [2]]), lambda m, x: m.arange(),
        lambda m, x: m.arange(0, 9, 0), lambda m, x: m.arange(0, slice(3)), lambda m, x: m.arange(..., 3, 1),
        lambda m, x: m.concatenate((x, x.reshape(2, 6))), lambda m, x: m.concatenate(()),
        lambda m, x: x.item(99), lambda m, x: m.ndarray.sum(3), lambda m, x: x.astype("nothing"),
        lambda m, x: m.linspace(0, 1, -1), lambda m, x: x.copy(1, 2, 3), lambda m, x: m.zeros(2**62),
        lambda m, x: m.zeros(2**70), lambda m, x: m.zeros((2**40, 2**40)),
    ]  # fmt: skip

    def raised(program: Callable[[Any, Any], Any], module: Any, x: Any) -> tuple[type, str]:
        with pytest.raises(Exception) as found:
            program(module, x)
        return found.type, str(found.value)

    for program in programs:
        assert raised(program, np, lazy(VALUES)) == raised(program, numpy, VALUES)


def test_lists_in_themselves() -> None:
    nested: list[Any] = [1]
    nested.append(nested)
    for fn in (np.array, np.asarray, np.concatenate, np.sum):
        with pytest.raises((ValueError, TypeError, RecursionError)):
            fn(nested)
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    assert np.array(deep).shape == (1,) * 40


def test_many_arguments() -> None:
    axes = tuple(range(32))
    x = np.zeros((1,) * 32)
    assert x.transpose(*axes).shape == x.shape
    for count in (100, 5000):
        with pytest.raises((TypeError, ValueError, MemoryError)):
            x.reshape(*range(1, count))
        with pytest.raises((TypeError, ValueError, MemoryError)):
            np.sum(*range(count))


def test_methods_of_numpys_own_arrays_and_subclasses() -> None:
    class Mine(np.ndarray):
        def sum(self, *args: Any, **kwargs: Any) -> Any:
            return "mine", np.ndarray.sum(self, *args, **kwargs)

    assert same(np.ndarray.sum(M), M.sum()) and same(np.ndarray.reshape(VALUES, 3, 4), M)
    assert M.view(Mine).sum() == ("mine", M.sum()) and np.sum(M.view(Mine))[0] == "mine"


def test_functions_bind_as_numpys_do() -> None:
    class Holder:
        total, made = np.sum, np.zeros

    x = Holder()
    assert inspect.ismethod(x.total) and x.made(2).shape == (2,)
    assert inspect.signature(np.sum) == inspect.signature(numpy.sum)
    assert partial(np.sum, lazy(M))(axis=0).shape == (4,)


def test_objects_are_pythons_business() -> None:
    inner = lazy(VALUES)
    x = np.empty(2, object)
    x[0], x[1] = inner, 3
    assert x.copy()[0] is inner and x.item(0) is inner and x.take([0])[0] is inner
    assert np.concatenate((x, x))[2] is inner


def test_nothing_leaks() -> None:
    x, m, out = lazy(VALUES), lazy(M), np.empty(())
    held = x, m, x.geo, m.geo, None, out, out.geo, "i8", numpy.float32, np.sum, np.zeros

    def work() -> None:
        x.sum(), m.sum(0, None, None, False), m.T, m.shape, x.reshape(3, 4), x.copy(), x.astype(numpy.float32)
        np.sum(x), np.sum(m, axis=0), np.zeros(3), np.array([1, [2, 3]][1]), np.asarray(x), np.nonzero(x)
        np.concatenate((x, x)), np.stack([x, x]), np.dot(m, m.T), np.where(m > 0, m, 0), x.sum(out=out)
        np.unique(x, True), m.view("i8"), x.real, np.arange(4), np.linspace(0, 1, 3)
        for wrong in (
            lambda: x.reshape(7), lambda: x.sum(9), lambda: np.concatenate((x, m)), lambda: np.zeros(-2),
            lambda: np.concatenate((x, object())), lambda: np.array([1, [x, 2]]), lambda: np.sum(x, what=3),
        ):  # fmt: skip
            with suppress(Exception):
                wrong()

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(h) for h in held]

    for _ in range(20):
        work()
    before = counts()
    for _ in range(100):
        work()
    assert all(abs(now - then) < 20 for now, then in zip(counts(), before, strict=True))
