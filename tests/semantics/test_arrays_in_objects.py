"""Arrays of objects keep the very arrays and containers that a program puts into them, as NumPy's do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr

DTYPE = [("x", "i4"), ("o", object)]


def at(np: Any, a: Any) -> Any:
    c = np.full(3, None)
    c[0] = a
    c[np.int64(1)] = a
    c.flat[2] = a
    return c


def filled(np: Any, x: Any) -> Any:
    c = np.full(2, None)
    c.fill(x)
    return c


def put(np: Any, x: Any) -> Any:
    c = np.full(2, None)
    np.put(c, 0, x)
    return c


def record(np: Any, a: Any) -> Any:
    r = np.zeros(2, DTYPE)
    r[0] = (1, a)
    r["o"][1] = a
    return r


ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    "set": at, "filled": filled,
    "made": lambda np, a: np.array([a, None], object),
    "made, two axes": lambda np, a: np.array([[a, None], [None, None]], object)[0],
    "copied": lambda np, a: at(np, a).copy(),
    "joined": lambda np, a: np.concatenate([at(np, a), at(np, a)]),
    "chosen": lambda np, a: np.where([True, False, True], at(np, a), None),
    "field": lambda np, a: record(np, a)["o"],
}  # fmt: skip
"""Whose first element is a."""

CONTAINERS: dict[str, Callable[[Any, Any], Any]] = {
    "made": lambda np, x: np.array([x, None, 1, 2], object),
    "full": lambda np, x: np.full(2, x), "filled": filled, "put": put,
    "no axes": lambda np, x: np.array(x).reshape(1),
    "flat": lambda np, x: (c := np.full(3, None), c.flat.__setitem__(slice(0, 2), [x, 1]))[0],
    "copyto": lambda np, x: (c := np.full(2, None), np.copyto(c, x))[0],
}  # fmt: skip


@pytest.fixture(params=["auto", "always"], autouse=True)
def jit(request):
    with lazyarr.options(jit=request.param):
        yield


@pytest.fixture(params=[3, 70_000])
def a(request):
    return lazyarr.arange(float(request.param)) * 2


@pytest.mark.parametrize("how", ARRAYS)
def test_the_array_itself_is_kept(a, how):
    c = ARRAYS[how](lazyarr, a)
    assert c[0] is a and c[:1].tolist()[0] is a and c.item(0) is a and next(iter(c)) is a
    assert next(c.flat) is a and c.flat[0] is a and c[[0]][0] is a
    real = numpy.arange(3.0)
    assert ARRAYS[how](numpy, real)[0] is real


def test_records_keep_it(a):
    r = record(lazyarr, a)
    assert r[0]["o"] is a and r[0][1] is a and r.tolist()[1][1] is a and r[1].item()[1] is a
    made = lazyarr.array([(1, a), (2, None)], DTYPE)
    assert made[0]["o"] is a


@pytest.mark.parametrize("how", CONTAINERS)
def test_a_dict_itself_is_kept(a, how):
    d = {1: a}
    assert CONTAINERS[how](lazyarr, d)[0] is d and CONTAINERS[how](numpy, {1: 2})[0] == {1: 2}
    d["new"] = 1
    assert d[1] is a


def test_numpy_looks_into_arrays_without_axes():
    for np in (lazyarr, numpy):
        c = np.full(1, None)
        c[0] = np.array(1.25)
        assert np.array([c], "S").dtype == "S4" and c.astype(float).tolist() == [1.25]
        assert np.array([np.array(1.25), None], object)[:1].astype("U").tolist() == ["1.25"]


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_sequence_itself_is_kept(a, kind):
    x = kind((1, a))
    assert filled(lazyarr, x)[0] is x


def test_copies_are_one_object():
    c = at(lazyarr, lazyarr.arange(4.0)[::2])
    for other in (copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert other[0] is other[1] and other[0] is not c[0] and other[0].tolist() == [0, 2]


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda np, c: c.sum(), "product": lambda np, c: c * c, "compare": lambda np, c: c > 1,
    "concatenate": lambda np, c: np.concatenate(c), "stack": lambda np, c: np.stack(c),
    "vstack": lambda np, c: np.vstack(c), "list": lambda np, c: np.array(c.tolist()),
    "maximum": lambda np, c: np.maximum(c, c), "sqrt": lambda np, c: np.sqrt(c),
    "repr": lambda np, c: repr(c),
    "floats": lambda np, c: c.astype(float), "equal": lambda np, c: np.array_equal(c, c),
    "dot": lambda np, c: np.dot(c, c), "sort": lambda np, c: np.sort(c), "isnan": lambda np, c: np.isnan(c),
    "vectorize": lambda np, c: np.vectorize(lambda x: x.sum())(c), "mean": lambda np, c: c.mean(),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_calls_on_them(call):
    found = []
    for np in (lazyarr, numpy):
        try:
            result = repr(CALLS[call](np, at(np, np.arange(3.0) * 2)))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        found.append(result.replace("lazyarr.ndarray", "numpy.ndarray"))
    assert found[0] == found[1]


def test_flat_looks_at_no_memory_to_know_what_it_keeps():
    x = lazyarr.ones((300, 500)) * 2
    for part in (x.T, x[::2, ::-3]):
        part.flat[5] = 7
        assert part.flat[5] == 7
