"""Results that are tuples and lists, lists as arguments and indices, draws, methods of ufuncs: no Python."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, VALUES, lazy, python_calls, python_functions, same

pytestmark = ONLY_HERE

M = VALUES.reshape(3, 4)
S = numpy.eye(3) * 4 + 1


def named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


SEVERAL: dict[str, tuple[Any, ...]] = {
    "nonzero": (M,), "where": (M > 2,), "split": (M, 3), "array_split": (VALUES, 5), "hsplit": (M, 2),
    "ix_": (numpy.arange(3), numpy.arange(2)), "unravel_index": (numpy.arange(6), (2, 3)),
    "histogram": (VALUES, 4), "linalg.slogdet": (S,), "linalg.eig": (S,), "linalg.qr": (M,),
    "linalg.svd": (M,), "linalg.lstsq": (M, VALUES[:3]), "unique": (M % 3, True, True, True),
    "tril_indices": (4,), "triu_indices": (3,), "diag_indices": (3,),
}  # fmt: skip


SHARED = {"ix_", "diag_indices"}
"""Views of later arguments, and one array several times."""


@pytest.mark.parametrize("name", SEVERAL)
def test_several_results(name: str) -> None:
    args = SEVERAL[name]
    ours = lazy(args)
    found, calls = python_calls(named(np, name), *ours)
    expected = named(numpy, name)(*args)
    assert type(found) is type(expected) and gc.is_tracked(found)
    assert same(tuple(found), tuple(expected))
    assert calls == 0 or name in SHARED
    first = ours[0]
    for x, y in zip(found, expected, strict=True):
        if type(y) is numpy.ndarray and type(first) is np.ndarray:
            assert (x.base is first) == (numpy.shares_memory(y, args[0]))
            assert x.flags.owndata == y.flags.owndata
            if x.base is first:
                x[...] = 5
                assert (x == 5).all()


def test_views_of_views_in_lists_have_the_base_that_numpy_says() -> None:
    whole = lazy(VALUES)
    for x in np.split(whole[2:8], 2):
        assert x.base is whole
        x[0] = 99
    assert [float(v) for v in whole[[2, 5]]] == [99, 99]


@pytest.mark.parametrize("x", [VALUES, M, M > 0, M.astype("c8"), M[:, :0], numpy.array(3), M.T.copy()])
def test_tolist(x: Any) -> None:
    found, calls = python_calls(lazy(x).tolist)
    assert found == x.tolist() and calls == 0
    assert repr(found) == repr(x.tolist())


def test_lists_of_what_is_no_scalar_are_pythons() -> None:
    dates = numpy.arange("2026-01", "2026-04", dtype="datetime64[M]")
    assert lazy(dates).tolist() == dates.tolist()
    objects = numpy.array([[1], "a", None], object)
    assert lazy(objects).tolist() == objects.tolist()
    deep = numpy.zeros((1,) * 20)
    assert lazy(deep).tolist() == deep.tolist()


def test_a_result_among_the_arguments_is_the_argument() -> None:
    x, y = lazy(VALUES), lazy(VALUES + 1)
    found = np.atleast_1d(x, y)
    assert found[0] is x and found[1] is y
    found = np.broadcast_arrays(x, y)
    assert found[0].base is x or found[0] is x


def test_large_results_in_containers_are_managed() -> None:
    x = np.array(numpy.ones((90, 90)))
    for q in np.linalg.svd(x):
        assert same(q * 1, numpy.asarray(q) * 1)
    parts = np.histogram(np.array(VALUES), np.arange(20_001) - 3.0)
    expected = numpy.histogram(VALUES, numpy.arange(20_001) - 3.0)
    assert same(tuple(parts), tuple(expected))


def test_cycles_through_results_are_collected() -> None:
    class Held:
        pass

    x = np.where(lazy(M > 2))
    held = Held()
    held.tuple, x[0][...], gone = x, 0, weakref.ref(held)
    del x, held
    gc.collect()
    assert gone() is None


LISTS = {
    "take": (VALUES, [0, 2]), "searchsorted": (VALUES, [0.5, 3]), "isin": (VALUES, [1, 2]),
    "percentile": (VALUES, [10, 90]), "bincount": ([1, 2, 2],), "sum": ([1, 2.5],), "mean": ([1, 2, 3],),
    "interp": ([1.5, 2.5], VALUES, VALUES), "polyval": ([1, 2, 3], VALUES), "convolve": ([1, 1], VALUES),
    "cross": ([1, 2, 3], [3, 2, 1]), "dot": ([1.0, 2], [2, 3]), "linalg.norm": ([3.0, 4],),
    "reshape": (M, [4, 3]), "transpose": (M, [1, 0]), "append": (VALUES, [1, 2]), "clip": ([1, 5, 9], 2, 6),
    "where": (M > 0, M, [1, 2, 3, 4]), "diag": ([1, 2, 3],), "unique": ([3, 1, 3],),
    "hstack": ([[1, 2], [3]],),
    "roots": ([1, -3, 2],), "poly": ([1, 2],), "polyadd": ([1, 2], [3]), "isscalar": (3.0,),
    "eye": (4,), "identity": (3,), "tri": (3,), "hanning": (5,), "fft.fftfreq": (6, 0.5),
    "array": ([VALUES, VALUES + 1],), "asarray": ([M, M],), "einsum": ("ij,kj->ik", M, M),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_lists_and_numbers_as_arguments(name: str) -> None:
    args = LISTS[name]
    found, calls = python_calls(named(np, name), *lazy(args))
    assert same(found, named(numpy, name)(*args))
    assert calls == 0


def test_arrays_of_arrays_with_options_and_odd_parts() -> None:
    x = lazy(VALUES)
    assert same(np.array([x, x], dtype="f4"), numpy.array([VALUES, VALUES], dtype="f4"))
    assert same(np.array([x, [1] * 12]), numpy.array([VALUES, [1] * 12]))
    assert same(np.array([x[0:1], [2.0]]), numpy.array([VALUES[:1], [2.0]]))
    assert same(np.array([[x, x]]), numpy.array([[VALUES, VALUES]]))
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([x, x[:3]])
    ragged = np.array([x, x[:3]], dtype=object)
    assert ragged[0] is x


INDICES = [[0, 2], [], [True, False, True], [-1], [[0, 1], [1, 0]], [0, 7], [0.5], ["a"], [None], [2**70]]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_lists_as_indices(index: Any) -> None:
    answers = []
    for x in (M.copy(), lazy(M)):
        answer: list[Any] = []
        for act in (lambda x: x[index], lambda x: x.__setitem__(index, 8.5)):
            try:
                answer.append(act(x))
            except Exception as error:
                answer.append((type(error), str(error)))
        answers.append((*answer, x))
    for found, expected in zip(answers[1], answers[0], strict=True):
        if type(expected) is tuple:
            assert found == expected
        else:
            assert same(found, expected)


def test_index_lists_and_listed_values_run_no_python() -> None:
    x = lazy(VALUES)
    assert python_functions(lambda: x[[0, 2]])[1] == []

    def write() -> None:
        x[[0, 2]] = 4
        x[3:5] = [1, 2]

    assert python_functions(write)[1] == []
    assert x.tolist()[:5] == [4, -2, 4, 1, 2]
    with pytest.raises(ValueError, match="could not broadcast"):
        x[:2] = [1, 2, 3]


def test_large_picks_are_not_plain() -> None:
    x = np.array(numpy.arange(8000.0).reshape(1, -1))
    assert same(x[[0] * 40], numpy.arange(8000.0).reshape(1, -1)[[0] * 40])


DRAWN = {
    "rand": [(), (3,), (2, 2)], "randn": [(), (4,)], "random": [(), ((2, 3),)],
    "uniform": [(), (0, 5), (0, 1, 3)],
    "normal": [(), (0, 2), (1, 2, 4)], "randint": [(10,), (1, 7, 3)], "choice": [(5,), ([1, 2, 3],)],
    "permutation": [(6,), ([1, 2, 3],)], "exponential": [(), (2.0,)], "standard_normal": [(), (2,)],
    "poisson": [(), (3,)], "binomial": [(5, 0.5), (5, 0.5, 3)],
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_draws(name: str) -> None:
    for args in DRAWN[name]:
        state = numpy.random.get_state()
        expected = getattr(numpy.random, name)(*args)
        numpy.random.set_state(state)
        found, calls = python_calls(getattr(np.random, name), *args)
        assert same(found, expected) and calls == 0
    with pytest.raises(TypeError):
        getattr(np.random, name)(nothing=1)


def test_draws_from_our_arrays() -> None:
    x = lazy(VALUES)
    np.random.seed(3)
    found = np.random.choice(x, 4), np.random.permutation(x), np.random.normal(x)
    numpy.random.seed(3)
    expected = numpy.random.choice(VALUES, 4), numpy.random.permutation(VALUES), numpy.random.normal(VALUES)
    assert same(found, expected)
    np.random.shuffle(x)
    assert sorted(x.tolist()) == VALUES.tolist()


def test_ufuncs_methods() -> None:
    x, y = lazy(M), lazy(VALUES)
    checks = [
        (np.add.reduce, (x,), numpy.add.reduce(M)), (np.maximum.reduce, (x, 1), numpy.maximum.reduce(M, 1)),
        (np.multiply.accumulate, (y,), numpy.multiply.accumulate(VALUES)),
        (np.add.reduceat, (y, [0, 3, 7]), numpy.add.reduceat(VALUES, [0, 3, 7])),
    ]
    for fn, args, expected in checks:
        found, calls = python_calls(fn, *args)
        assert same(found, expected) and calls == 0
    counts, index = np.zeros(4), np.array([0, 1, 1, 3])
    assert python_calls(np.add.at, counts, index, 1) == (None, 0)
    assert counts.tolist() == [1, 2, 0, 1]
    out = np.zeros(4)
    assert np.add.reduce(x, out=out) is out and same(out, M.sum(0))
    assert np.add.reduce(x, axis=None, keepdims=True).shape == (1, 1)
    with pytest.raises(numpy.exceptions.AxisError):
        np.add.reduce(x, 5)
    assert pickle.loads(pickle.dumps(np.add.reduce))([1, 2]) == 3
    assert np.ufunc.reduce(np.add, y) == VALUES.sum()
    assert np.add.reduce.__name__ == "reduce" and np.add.reduce.__doc__ == numpy.add.reduce.__doc__
    large = np.ones(100_000) * 2
    assert np.add.reduce(large) == 200_000
    object_sum = np.add.reduce(np.array([1, 2.5, "a"][:2], dtype=object))
    assert object_sum == 3.5


def test_deep_copies() -> None:
    x = lazy(M)
    found, calls = python_calls(x.__deepcopy__, {})
    assert same(found, M) and calls == 0 and found.base is None
    held = copy.deepcopy({"a": x, "b": [x, x]})
    assert held["b"][0] is held["b"][1] is held["a"] and held["a"] is not x
    inner = [1]
    objects = np.array([inner, None], dtype=object)
    assert copy.deepcopy(objects)[0] is not inner
    with pytest.raises(TypeError):
        x.__deepcopy__()
