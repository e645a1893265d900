"""Calls of NumPy's Python code met before make their nodes again, and still are what NumPy says."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy
import pytest

import lazyarr as np
from lazyarr import recalled, reductions, swift_nodes
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.recipes import NODES

METHODS = ("mean", "var", "std", "sum", "prod", "max", "min", "any", "all")
SHAPE = 600, 900


CODE = []


@pytest.fixture(autouse=True, params=["Python", "machine code"])
def by(request, monkeypatch) -> Iterator[str]:
    """Who makes nodes again.  LLVM is there, and no calls are known at first."""
    COMPILER.load()
    recalled._calls.clear()
    found = (None, None)
    if request.param == "machine code":
        if not CODE:
            CODE.append(swift_nodes.load(True))
        if CODE[0] is None:
            pytest.skip("objects lie otherwise here")
        found = CODE[0].recall, CODE[0].table
        found[1].forget()
    for name, value in zip(("recall", "table"), found, strict=True):
        monkeypatch.setattr(NODES, name, value)
    for name in ("make", "view", "assign", "update"):
        monkeypatch.setattr(NODES, name, None)
    monkeypatch.setattr(NODES, "left", -1)
    yield request.param
    recalled._calls.clear()


def arrays(dtype="f8", seed=0):
    rng = numpy.random.default_rng(seed)
    real = rng.uniform(-3, 3, SHAPE).astype(dtype)
    if dtype in "FD":
        real += rng.uniform(-3, 3, SHAPE) * 1j
    return np.array(real), real


def same(lazy, real):
    found = numpy.asarray(lazy)
    assert (found.dtype, found.shape, found.strides) == (real.dtype, real.shape, real.strides)
    assert found.tobytes() == real.tobytes()


def recalls(call):
    """How many calls of NumPy's code were left out, and the result."""
    before = COUNT.recalled
    result = call()
    return COUNT.recalled - before, result


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1", "?", "F", "D"])
@pytest.mark.parametrize("name", METHODS)
def test_results_are_numpys(name, dtype):
    for options in ({"axis": 1}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0,)}):
        for seed in range(3):
            x, real = arrays(dtype, seed)
            with numpy.errstate(all="ignore"):
                same(getattr(x, name)(**options), getattr(real, name)(**options))


@pytest.mark.parametrize("name", METHODS)
def test_the_code_runs_once(name):
    for k in range(3):
        x, real = arrays(seed=k)
        left_out, found = recalls(lambda x=x: getattr(x, name)(axis=1))
        assert left_out == (k > 0)
        same(found, getattr(real, name)(axis=1))


def test_nodes_are_those_of_the_code():
    (x, _), (y, _) = arrays(), arrays(seed=1)
    before = COUNT.nodes_built
    x.std(axis=1)
    built = COUNT.nodes_built - before
    left_out, found = recalls(lambda: y.std(axis=1))
    assert left_out == 1 and COUNT.nodes_built - before == 2 * built
    np.evaluate(found)
    plans = COUNT.plans
    recalled._calls.clear()
    if NODES.table is not None:
        NODES.table.forget()
    left_out, again = recalls(lambda: y.std(axis=1))
    np.evaluate(again)
    assert left_out == 0 and COUNT.plans == plans


def test_they_are_fused_with_others():
    x, real = arrays()
    launched = set()
    for _ in range(2):
        z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        launches = COUNT.native_launches
        np.evaluate(z)
        launched.add(COUNT.native_launches - launches)
        same(z, (real - real.mean(axis=1, keepdims=True)) / real.std(axis=1, keepdims=True))
    assert len(launched) == 1


def test_arguments_of_other_types_are_other_calls():
    x, real = arrays("i4")
    for keepdims in (1, True, 0, False):
        same(x.sum(axis=1, keepdims=keepdims), real.sum(axis=1, keepdims=keepdims))
    for dtype in (float, numpy.float32, complex):
        for _ in range(2):
            same(x.sum(axis=1, dtype=dtype), real.sum(axis=1, dtype=dtype))
    for ddof in (0, 1, 2.0, numpy.float32(1), True):
        for _ in range(2):
            same(x.var(axis=0, ddof=ddof), real.var(axis=0, ddof=ddof))


def test_arrays_as_arguments_are_not_recalled():
    x, real = arrays()
    mask = real > 0
    out = numpy.zeros(SHAPE[0])
    for _ in range(2):
        left_out, found = recalls(lambda: x.mean(axis=1, where=np.array(mask)))
        assert left_out == 0
        same(found, real.mean(axis=1, where=mask))
        assert recalls(lambda: x.mean(axis=1, out=out))[0] == 0
        same(out, real.mean(axis=1))


def test_pending_arrays_and_what_is_written_later():
    for k in range(3):
        x, real = arrays(seed=k)
        y, expected = x * 2, real * 2
        left_out, mean = recalls(lambda y=y: y.mean(axis=0))
        assert left_out == (k > 0)
        x[:] = 7
        y += 1
        same(mean, expected.mean(axis=0))
        same(y, expected + 1)


def test_a_write_to_the_result_leaves_the_next_one_alone():
    x, real = arrays()
    first = x.mean(axis=1)
    first[:] = 0
    second = x.mean(axis=1)
    second += 1
    same(x.mean(axis=1), real.mean(axis=1))
    same(second, real.mean(axis=1) + 1)
    assert not numpy.asarray(first).any()


def test_views_and_memory_that_others_hold_are_run():
    x, real = arrays()
    same(x.mean(axis=1), real.mean(axis=1))
    left_out, found = recalls(lambda: x.T.mean(axis=1))
    assert left_out == 0
    same(found, real.T.mean(axis=1))
    outside = numpy.asarray(x)
    left_out, found = recalls(lambda: x.mean(axis=1))
    outside[:] = 1
    assert left_out == 0
    same(found, real.mean(axis=1))


def test_options_and_error_states_of_the_call():
    x, real = arrays()
    same(x.mean(axis=1), real.mean(axis=1))
    with np.options(jit="never"):
        left_out, _ = recalls(lambda: x.mean(axis=1))
        assert left_out == 0
    big = np.array(numpy.full(SHAPE, 1e308))
    for _ in range(2):
        with numpy.errstate(over="raise"), pytest.raises(FloatingPointError):
            big.sum(axis=1)
        with numpy.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            np.evaluate(big.sum(axis=1))


def test_warnings_name_the_line_of_the_call():
    with numpy.errstate(all="ignore"):
        np.evaluate(arrays()[0].std(axis=1))
    x, _ = arrays()
    y = x * 1e200
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.evaluate(y.var(axis=1))
    assert caught and {w.filename for w in caught} == {__file__}
    assert len({w.lineno for w in caught}) == 1


def test_known_calls_are_bounded(monkeypatch):
    monkeypatch.setattr(recalled, "MAX_CALLS", 3)
    x, real = arrays()
    for axis in (0, 1, -1, -2):
        same(x.sum(axis=axis), real.sum(axis=axis))
        same(x.sum(axis=axis), real.sum(axis=axis))
        assert len(recalled._calls) <= 3


def test_a_geometry_that_is_forgotten_is_another_one(forget_geometries):
    x, real = arrays()
    same(x.mean(axis=1), real.mean(axis=1))
    forget_geometries()
    y, _ = arrays()
    same(y.mean(axis=1), real.mean(axis=1))


def test_bad_arguments_are_numpys_to_refuse():
    x, real = arrays()
    for _ in range(2):
        x.mean(axis=1)
        for call in (lambda a: a.mean(axis=2), lambda a: a.mean(axis=(0, 0)), lambda a: a.mean(nothing=1)):
            with pytest.raises((ValueError, TypeError)) as ours:
                call(x)
            with pytest.raises((ValueError, TypeError)) as theirs:
                call(real)
            assert type(ours.value) is type(theirs.value) and str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.var(axis=1, ddof=x.shape[1]),
        lambda x: x.std(1, None, None, x.shape[1] + 1),
        lambda x: x.var(axis=(), ddof=1),
        lambda x: x[:, :0].mean(axis=1),
    ],
)
def test_warnings_of_the_code_are_given_each_time(call):
    told = []
    for make in (lambda k: arrays(seed=k)[1], lambda k: arrays(seed=k)[0]):
        given = []
        for k in range(3):
            x = make(k) + 1                 # (pending)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                numpy.asarray(call(x))
            given.append([str(w.message) for w in caught])
        told.append([[text for text in each if "encountered" not in text] for each in given])
    assert told[1] == told[0] and all(told[0])


FOLDS = ("sum", "prod", "max", "min", "any", "all")


@pytest.mark.parametrize("name", FOLDS)
def test_folds_of_everything(name):
    """They end at the call: what is recalled is the node, and a scalar is given."""
    for k in range(3):
        x, real = arrays(seed=k)
        with numpy.errstate(all="ignore"):
            left_out, found = recalls(lambda x=x: getattr(x, name)())
            expected = getattr(real, name)()
        assert left_out == (k > 0)
        assert type(found) is type(expected) and found.tobytes() == expected.tobytes()


def test_folds_of_sequences_of_any_length():
    rng = numpy.random.default_rng(1)
    for n in (600_000, 700_001, 650_000, 600_000):
        for dtype in ("f8", "f4"):
            real = rng.uniform(-1, 1, 2 * n).astype(dtype)
            x = np.array(real)
            for call in (lambda a: a.sum(), lambda a: a.max(), lambda a: (a * 2).sum()):
                found, expected = call(x), call(real)
                assert type(found) is type(expected) and found.tobytes() == expected.tobytes()
    assert recalls(lambda: x.sum())[0] == 1
    assert recalls(lambda: np.array(real[:-100_000]).sum())[0] == 1
    assert recalls(lambda: x[::-2].sum())[0] == 0               # (another order)
    assert x[::-2].sum() == real[::-2].sum()


def test_what_computes_more_than_a_fold_is_run():
    for k in range(3):
        x, real = arrays(seed=k)
        for name in ("mean", "var", "std"):
            left_out, found = recalls(lambda x=x, name=name: getattr(x, name)())
            assert left_out == 0 and found.tobytes() == getattr(real, name)().tobytes()


def test_folds_of_medium_sizes_are_not_recalled():
    """NumPy is tried for these."""
    real = numpy.random.default_rng(1).uniform(-1, 1, 100_000)
    for _ in range(3):
        x = np.array(real) * 2
        left_out, found = recalls(lambda x=x: x.sum())
        assert left_out == 0 and found == (real * 2).sum()


def test_folds_by_a_handler_within_the_call_are_not_taken_for_it(monkeypatch):
    real = reductions._folded

    def folded(*args):
        result = real(*args)
        monkeypatch.undo()
        np.logical_and.reduce(x, axis=None)     # its result is the same object: True
        return result

    with np.options(jit="always"):
        x = np.array(numpy.ones(SHAPE, bool))
        monkeypatch.setattr(reductions, "_folded", folded)
        assert x.any()
        y = numpy.ones(SHAPE, bool)
        y[3] = False
        for _ in range(3):
            assert np.array(y).any()
