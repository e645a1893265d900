"""Functions and ufuncs are called without tuples, whoever calls them, and however."""

from __future__ import annotations

import copy
import functools
import gc
import operator
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.namespace import BindingFunction, Function
from lazyarr.slot_words import CALLED_AT
from lazyarr.slots.vectorcalls import HAS_PLACE
from lazyarr.ufuncs import ufunc
from tests.crowd import numbered_at_once
from tests.slots.operands import ONLY_HERE, both, same

pytestmark = ONLY_HERE

NAMED, TYPED, UNNAMED = {"axis": 0}, {"dtype": "f8"}, dict[str, Any]()
X = np.arange(5.0)
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "bare": lambda f, x: f(x),
    "named": lambda f, x: f(x, axis=0),
    "all of it": lambda f, x: f(*(x,), **NAMED),
    "by no position": lambda f, x: f(a=x),
    "mapped": lambda f, x: [*map(f, [x, x])],
    "partial": lambda f, x: functools.partial(f, x)(axis=None),
    "partial of names": lambda f, x: functools.partial(f, axis=0)(x),
    "applied": lambda f, x: operator.call(f, x) if sys.version_info >= (3, 11) else f(x),
    "its method": lambda f, x: f.__call__(x),
    "its class's method": lambda f, x: type(f).__call__(f, x),
    "nothing": lambda f, x: f(),
    "too much": lambda f, x: f(x, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    "wrong name": lambda f, x: f(x, no=1),
    "twice": lambda f, x: f(x, a=x),
    "into": lambda f, x: f(x, out=None),
    "very many": lambda f, x: f(*[x] * 5000),
    "very many names": lambda f, x: f(x, **{f"n{k}": k for k in range(5000)}),
}  # fmt: skip


def shown(call: Callable[[], Any]) -> Any:
    try:
        found = call()
    except (TypeError, ValueError) as error:
        return type(error)
    return repr([numpy.asarray(x).tolist() for x in (found if isinstance(found, list) else [found])])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["sum", "argmax", "sort", "cumsum", "median", "ravel", "copy"])
def test_functions(name: str, call: str) -> None:
    mine, theirs = getattr(np, name), getattr(numpy, name)
    for x in X, both()[0][3]:
        real = numpy.asarray(x)
        assert shown(lambda: CALLS[call](mine, x)) == shown(lambda: CALLS[call](theirs, real))  # noqa: B023


UFUNC_CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "two": lambda f, x, y: f(x, y),
    "scalar": lambda f, x, y: f(x, 2),
    "into": lambda f, x, y: (f(x, y, out=y), y),
    "into by position": lambda f, x, y: (f(x, y, y), y),
    "into a tuple": lambda f, x, y: (f(x, y, out=(y,)), y),
    "where": lambda f, x, y: (f(x, y, out=y, where=x > 2), y),
    "where before": lambda f, x, y: (f(x, y, where=x > 2, out=y), y),
    "typed": lambda f, x, y: f(x, y, dtype="f4"),
    "three names": lambda f, x, y: (f(x, y, out=y, where=x > 1, casting="unsafe"), y),
    "unpacked": lambda f, x, y: f(*[x, y], **TYPED),
    "no names": lambda f, x, y: f(*[x, y], **UNNAMED),
    "one": lambda f, x, y: f(x),
    "nothing": lambda f, x, y: f(),
    "wrong": lambda f, x, y: f(x, y, no=1),
    "mapped": lambda f, x, y: [*map(f, [x, y], [y, x])],
    "partial": lambda f, x, y: functools.partial(f, x, out=y)(x),
    "its method": lambda f, x, y: f.__call__(x, y, out=y),
    "reduced": lambda f, x, y: functools.reduce(f, [x, y, x]),
    "very many": lambda f, x, y: f(*[x] * 5000),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Passing more than 2:DeprecationWarning")
@pytest.mark.parametrize("call", UFUNC_CALLS)
@pytest.mark.parametrize("name", ["add", "maximum", "hypot", "less", "sqrt", "divmod"])
def test_ufuncs(name: str, call: str) -> None:
    def program(np: Any, x: Any) -> Any:
        x = np.array(x)
        found = UFUNC_CALLS[call](getattr(np, name), x, x * 2)
        return [*found] if isinstance(found, tuple) else found

    for x in numpy.arange(5.0), numpy.arange(5.0)[::2], numpy.arange(90_000.0):
        assert shown(lambda: program(np, x)) == shown(lambda: program(numpy, x))  # noqa: B023


def test_whose_types_say_so() -> None:
    for cls in Function, BindingFunction, ufunc:
        assert cls.__flags__ & HAS_PLACE
    assert {*CALLED_AT} == {Function, ufunc}


def test_functions_without_a_record() -> None:
    made = BindingFunction(lambda x, *, y=1: (x, y))
    assert made(3, y=2) == (3, 2)
    from lazyarr.namespace import offered_as

    made = offered_as(lambda x, *, y=1: (x, y), numpy.sum)
    del made.record
    assert made(3, y=2) == (3, 2) and made(3) == (3, 1)
    with pytest.raises(TypeError):
        made()


def test_new_ufuncs() -> None:
    own = np.frompyfunc(lambda a, b: a + b, 2, 1)
    assert own(X, X).tolist() == (X * 2).tolist()
    assert np.vectorize(lambda a: a + 1)(X).tolist() == (X + 1).tolist()
    with pytest.raises(ZeroDivisionError):
        np.frompyfunc(lambda a: a // 0, 1, 1)(np.arange(3))


def test_they_stay_what_they_are() -> None:
    for x in np.sum, np.empty, np.add:
        assert pickle.loads(pickle.dumps(x)) is x and copy.deepcopy(x) is x
        assert x in {x} and gc.is_tracked(x)
    gc.collect()
    assert np.sum.__name__ == "sum" and same(np.sum(X), numpy.float64(10))


def test_references_stay_as_many() -> None:
    key, big = "dtype", 10**20
    kept: list[Any] = [X, X.geo, key, big, np.sum, np.add, np.frompyfunc(abs, 1, 1)]

    def step() -> None:
        np.sum(X), np.sum(X, **{key: float}), np.add(X, X, **{key: "f8"}), np.add(*[X, X])
        np.add(X, 1, out=X)
        for wrong in (
            lambda: np.add(X), lambda: np.sum(X, no=big), lambda: np.add(X, X, no=big), lambda: np.empty(),
        ):  # fmt: skip
            with pytest.raises(TypeError):
                wrong()
        np.maximum(big, X), kept[-1](X)

    step()
    before = [*map(sys.getrefcount, kept)]
    for _ in range(100):
        step()
    assert [*map(sys.getrefcount, kept)] == before


def test_threads() -> None:
    wrong: list[int] = []

    def work(k: int) -> None:
        x = np.arange(4.0) + k
        for n in range(1500):
            if np.add(x, n, dtype=float)[0] != k + n or np.sum(np.maximum(x, [1, 2, 3, 4])) < 10:
                wrong.append(n)

    numbered_at_once(work)
    assert not wrong
