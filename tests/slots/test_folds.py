"""Folds of small arrays along axes give what NumPy gives."""

from __future__ import annotations

import itertools
import random
import sys
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.slots.nests import AXES
from lazyarr.slots.tables import FOLDS
from tests.slots.operands import ONLY_HERE, python_calls
from tests.slots.test_loops import outcome
from tests.slots.test_nests import both


def same(x: Any, a: numpy.ndarray, name: str, *args: Any, **kwargs: Any) -> None:
    """The method and the function; the sign of a NaN, and of an extremum that is zero, is nobody's."""

    def seen(y: Any, module: Any) -> list[Any]:
        def once(fn: Any) -> Any:
            found = fn()
            real = numpy.asarray(found)
            if real.dtype.kind in "fc":
                real[numpy.isnan(real)] = numpy.nan
                if name in ("max", "min") and real.ndim:
                    real += 0.0
            return found

        calls = (
            lambda: getattr(y, name)(*args, **kwargs), lambda: getattr(module, name)(y, *args, **kwargs),
        )  # fmt: skip
        return [outcome(once, call) for call in calls]

    assert seen(x, np) == seen(a, numpy), (name, a.shape, a.strides, args, kwargs)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("char", "?bHlQfdFD")
def test_programs_by_chance(char: str, seed: int) -> None:
    rng = random.Random(f"{char}{seed}")
    for _ in range(30):
        a, x = both(rng, [rng.choice((1, 2, 3, 5, 17)) for _ in range(rng.randrange(1, 5))], char)
        axes: Any = tuple(rng.sample(range(a.ndim), rng.randrange(1, a.ndim + 1)))
        if rng.random() < 0.5:
            axes = axes[0] - a.ndim * (rng.random() < 0.3)
        for name in FOLDS:
            if char not in "FD" or name not in ("max", "min"):
                same(x, a, name)
                same(x, a, name, axis=axes)
                same(x, a, name, axes)
                same(x, a, name, axis=axes, keepdims=True)


@pytest.mark.parametrize("name", FOLDS)
def test_numbers_that_are_special(name: str) -> None:
    special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e308, -1.5])
    for pair in itertools.product(special, repeat=2):
        for a in numpy.array([pair, pair]), numpy.array(pair * 4).reshape(2, 2, 2):
            same(np.array(a), a, name, axis=0)
            same(np.array(a), a, name, axis=-1)
            same(np.array(a), a, name)
            same(np.array(a), a, name, axis=tuple(range(a.ndim - 1)))
    for low in numpy.iinfo("l").min, numpy.iinfo("l").max:
        a = numpy.array([[low, 1], [low, 2], [3, low]])
        same(np.array(a), a, name, axis=0)


@pytest.mark.parametrize(
    "axis", (None, (), 3, -4, (0, 0), (0, -3), 1 << 70, "x", 1.0, True, (True,), [0], numpy.int64(1))
)
def test_axes_that_are_others(axis: Any) -> None:
    a = numpy.arange(24.0).reshape(2, 3, 4)
    for name in FOLDS:
        calls = [lambda y, m, n=name: getattr(y, n)(axis=axis), lambda y, m, n=name: getattr(m, n)(y, axis)]
        for call in calls:
            found, expected = [], []
            for into, y, module in (found, np.array(a), np), (expected, a, numpy):
                try:
                    into.append(numpy.asarray(call(y, module)).tobytes())
                except Exception as error:
                    into.append((type(error), str(error)))
            assert found == expected


@pytest.mark.parametrize("axes", (AXES - 1, AXES, AXES + 1))
def test_many_axes(axes: int) -> None:
    a = numpy.arange(2.0**axes).reshape((2,) * axes)
    for axis in 0, (0, 1), tuple(range(axes - 1)), tuple(range(0, axes - 1, 2)):
        same(np.array(a), a, "sum", axis=axis)


@pytest.mark.parametrize("char", "fdl")
def test_rows_of_many_lengths(char: str) -> None:
    """Pairwise sums depend on it."""
    rng = numpy.random.default_rng(1)
    for extent in 2, 7, 8, 9, 127, 128, 129, 1000, 4096, 8191, 8192, 8193, 20_000:
        a = (rng.standard_normal(2 * extent) * 1000).astype(char)
        for real, x in (a[:extent], np.array(a)[:extent]), (a[::2], np.array(a)[::2]):
            same(x, real, "sum")
            same(x, real, "sum", axis=0)
            same(x, real, "max")
        a, x = a.reshape(2, extent), np.array(a).reshape(2, extent)
        for axis in 0, 1, (0, 1), None:
            same(x, a, "sum", axis=axis)
        same(x[:, 1:], a[:, 1:], "sum", axis=1)
        same(x[:, 1:], a[:, 1:], "sum")
        same(x.T, a.T, "sum")


def test_options_are_numpys() -> None:
    a = numpy.arange(12.0).reshape(3, 4)
    for options in (
        {"dtype": "f"}, {"initial": 2.0}, {"where": a > 3, "initial": 1.0}, {"out": numpy.zeros(4)},
    ):  # fmt: skip
        same(np.array(a), a, "sum", axis=0, **options)
    same(np.array(a), a, "sum", 0, None)


def test_warnings() -> None:
    a = numpy.full((3, 2, 9), 1e308)
    same(np.array(a), a, "sum", axis=(0, 1))
    same(np.array(a), a, "prod", axis=0)
    a[0, 0, 0], a[1, 1, 0] = numpy.inf, -numpy.inf
    same(np.array(a), a, "sum", axis=(0, 1))


def test_parts_of_what_is_large() -> None:
    a = numpy.arange(400_000.0).reshape(40, 10, 1000) / 7
    x = np.array(a) + 0
    np.evaluate(x)
    for key in numpy.s_[3:9, :, 5:30], numpy.s_[::4, ::5, ::50], numpy.s_[:, 3, :7]:
        same(x[key], a[key], "sum", axis=0)
        same(x[key], a[key], "max", axis=0)


@ONLY_HERE
def test_no_python_runs() -> None:
    x = np.ones((4, 5, 6))
    for name in FOLDS:
        assert python_calls(getattr(np, name), x, axis=(0, 1))[1] == 0
        assert python_calls(getattr(x, name), 1)[1] == 0


@ONLY_HERE
def test_numpys_python_does_not_run() -> None:
    x = np.ones((4, 5, 6))
    names = []
    sys.setprofile(lambda frame, event, arg: event == "call" and names.append(frame.f_code.co_name))
    try:
        np.sum(x, axis=(0, 1))
        x.max(axis=0)
        np.sum(x)
        x.min()
        x.sum(axis=-1)
    finally:
        sys.setprofile(None)
    assert not names


def test_nothing_leaks() -> None:
    x = np.ones((4, 5))
    kept = numpy.asarray(x)
    objects = x, kept, kept.dtype, numpy.ndarray
    before = [sys.getrefcount(each) for each in objects]
    for _ in range(100):
        x.sum(axis=0), np.max(x, axis=0), np.sum(x, 0), x.sum(axis=1), x.sum(), np.max(x)
    after = [sys.getrefcount(each) for each in objects]
    assert all(abs(now - then) < 50 for now, then in zip(after, before, strict=True))
