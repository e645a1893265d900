"""What is made of small arrays and is large waits, whoever makes it: by operators or by functions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, lazy, python_calls, same

pytestmark = ONLY_HERE

N = 400
U = (numpy.arange(N) * 7919) % 101 - 50.0
V = (numpy.arange(N) * 104729) % 97 - 40.0
COLUMN = U[:, None]

GROWING: dict[str, tuple[str, tuple[Any, ...]]] = {
    "outer": ("outer", (U, V)),
    "of matrices": ("outer", (U.reshape(20, 20).T, V.reshape(40, 10))),
    "kron": ("kron", (U.reshape(20, 20), V.reshape(20, 20)[::-1])),
    "linalg": ("linalg.outer", (U, V)),
    "ufunc": ("subtract.outer", (U, V)),
    "columns": ("add", (COLUMN, V)),
    "condition": ("where", (COLUMN > 3, V, 0.0)),
    "choices": ("where", (U > 0, COLUMN, V)),
    "a choice": ("where", (U > 0, 1.5, V[:, None])),
}


def named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("name", GROWING)
def test_large_results_are_nodes(name: str) -> None:
    function, args = GROWING[name]
    given = lazy(args)
    before = np.debug.counters()["nodes_built"]
    found = named(np, function)(*given)
    assert np.debug.counters()["nodes_built"] == before + 1 and not np.is_evaluated(found)
    assert same(found, named(numpy, function)(*args))


def test_sums_of_outer_products_are_one_pass() -> None:
    n = 1000
    u, v = numpy.linspace(-1, 1, n), numpy.linspace(0, 3, n)
    base = numpy.add.outer(v, u)
    x, y, a = np.array(u), np.array(v), np.array(base) * 1.0
    np.evaluate(a)
    with np.options(jit="always"):
        before = np.debug.counters()["native_launches"]
        a += np.outer(x, y) + np.outer(y, x)
        np.evaluate(a)
        assert np.debug.counters()["native_launches"] == before + 1
    assert same(a, base + (numpy.outer(u, v) + numpy.outer(v, u)))


@pytest.mark.parametrize("function", ["outer", "kron", "where"])
def test_small_results_run_no_python(function: str) -> None:
    args = (U[:30], V[:30]) if function != "where" else (U[:30, None] > 0, V[:30], U[:30])
    given = lazy(args)
    found, calls = python_calls(named(np, function), *given)
    assert same(found, named(numpy, function)(*args)) and not calls


@pytest.mark.parametrize("function", ["outer", "kron", "linalg.outer", "multiply.outer"])
@pytest.mark.parametrize(("one", "other"), [*itertools.product(["?", "i1", "u8", "f2", "f4", "D"], repeat=2)])
def test_types(function: str, one: str, other: str) -> None:
    a, b = U.astype(one), V.astype(other)
    with numpy.errstate(all="ignore"):
        expected = named(numpy, function)(a, b)
    with np.errstate(all="ignore"):
        found = named(np, function)(np.array(a), np.array(b))
    assert same(found, expected) and numpy.asarray(found).tobytes() == expected.tobytes()


SPECIAL = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 5e-324, 1e308] * 50)


@pytest.mark.parametrize("args", [
    (SPECIAL, SPECIAL[::-1]), (U[::2], V[::-3]), (U[:0], V), (U, V[:0]), (numpy.array(2.5), V),
    (U, numpy.array(3)), (U, [1, 2.5] * 200), ([1, 2.5] * 200, U), ((1,) * 400, U), (U, 2.0), (2.0, V),
    (numpy.broadcast_to(U[3], 400), V), (U.astype(">f8"), V), (U.astype(object), V), (U.astype("S3"), V),
])  # fmt: skip
@pytest.mark.parametrize("function", ["outer", "kron", "where"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operands(function: str, args: tuple[Any, ...]) -> None:
    if function == "where":
        args = (numpy.asarray(args[0]).reshape(-1, 1) != 0, *args)
    try:
        expected = named(numpy, function)(*args)
    except Exception as error:
        with pytest.raises(type(error)) as found:
            named(np, function)(*lazy(args))
        assert str(found.value) == str(error)
    else:
        assert same(named(np, function)(*lazy(args)), expected)


def test_in_a_given_array() -> None:
    expected, found = numpy.ones((N, N), "f4"), np.ones((N, N), "f4")
    for module, out, given in ((numpy, expected, (U, V)), (np, found, lazy((U, V)))):
        assert module.outer(*given, out=out) is out
        out += 1
        assert module.outer(given[1], given[0], out) is out
    assert same(found, expected)
    with pytest.raises(ValueError, match="shape"):
        np.outer(*lazy((U, V)), out=np.ones(3))
    with pytest.raises(ValueError, match="one-dimensional"):
        np.linalg.outer(np.array(COLUMN), np.array(V))


def test_operands_that_change_later() -> None:
    u, v = np.array(U), np.array(V)
    found, chosen = np.outer(u, v), np.where(u[:, None] > 0, v, u)
    u += 1
    v[:] = 0
    assert same(found, numpy.outer(U, V)) and same(chosen, numpy.where(COLUMN > 0, V, U))


def test_real_arrays_and_their_subclasses() -> None:
    class Mine(numpy.ndarray):
        pass

    for other in (U, U.view(Mine), numpy.ma.array(U, mask=U > 3), numpy.rec.array(U)):
        found, expected = np.outer(np.array(V), other), numpy.outer(V, other)
        assert isinstance(found, type(expected)) or type(expected) is numpy.ndarray
        assert numpy.array_equal(numpy.asarray(found), numpy.asarray(expected))
