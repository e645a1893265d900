"""Reductions over dtypes, axes, layouts and options: NumPy's bits."""

from __future__ import annotations

import itertools

import numpy
import pytest

import lazyarr

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

METHODS = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax", "ptp"]
UFUNCS = [
    "add", "multiply", "maximum", "fmin", "logical_or", "bitwise_and", "bitwise_xor", "hypot", "logaddexp",
]  # fmt: skip
CHARS = list("?bHlLefdFD")
AXES = [None, 0, 1, -1, (0, 2), (1, 2), (0, 1, 2)]
LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "strided": lambda x: x[:, ::2, ::-1],
    "broadcast": lambda x: x[:, :1] + 0 * x[:1, :1, :1],
}
ZERO_SIGN_IS_FREE = {"min", "max", "maximum", "fmin", "ptp"}


def outcome(call, array, options):
    try:
        return call(array, **options)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def check(same, ours, theirs, zero_sign=True):
    """Each is (function, array, options)."""
    want = outcome(*theirs)
    got = outcome(*ours)
    if isinstance(want, tuple):
        assert got == want
    else:
        same(got, want, zero_sign)


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("name", METHODS)
def test_functions(name, char, jit, values, same):
    x = values(char, 4 * 6 * 8, domain=(0, 7) if char in "?bHlL" else (-3, 3)).reshape(4, 6, 8)
    for axis, (of, layout) in itertools.product(AXES, LAYOUTS.items()):
        for options in ({"axis": axis}, {"axis": axis, "keepdims": True})[: 2 if of == "C" else 1]:
            check(
                same,
                (getattr(lazyarr, name), layout(lazyarr.array(x)), options),
                (getattr(numpy, name), layout(numpy.array(x)), options),
                name not in ZERO_SIGN_IS_FREE,
            )


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name, char, jit, values, same):
    x = values(char, 4 * 6 * 8, domain=(0, 7)).reshape(4, 6, 8)
    mask = values("?", 8, 5)
    fn, ours = getattr(numpy, name), getattr(lazyarr, name)
    for axis in AXES:
        for options in ({}, {"initial": 3}, {"where": mask}, {"where": mask, "initial": 1}):
            mine = {k: lazyarr.array(v) if k == "where" else v for k, v in options.items()}
            check(
                same,
                (ours.reduce, lazyarr.array(x), {"axis": axis, **mine}),
                (fn.reduce, x, {"axis": axis, **options}),
                name not in ZERO_SIGN_IS_FREE,
            )


@pytest.mark.parametrize("source", list("?bleF"))
@pytest.mark.parametrize("target", list("lefdD"))
def test_dtypes(source, target, jit, values, same):
    x = values(source, 300, domain=(0, 5)).reshape(15, 20)
    for name in ("sum", "prod", "mean", "var"):
        for axis in (None, 0, 1):
            options = {"axis": axis, "dtype": target}
            check(
                same,
                (getattr(lazyarr, name), lazyarr.array(x), options),
                (getattr(numpy, name), x, options),
            )


@pytest.mark.parametrize("n", [1, 7, 8, 127, 128, 129, 1000, 8191, 8192, 8193, 40_000])
@pytest.mark.parametrize("char", list("efdFD"))
def test_lengths(n, char, jit, values, same):
    x = values(char, n, domain=(-1, 1))
    a = lazyarr.array(x)
    same(a.sum(), x.sum())
    same((a * a).sum(), (x * x).sum())
    same(a[::-1].mean(), x[::-1].mean())
    same(a[a.real > 0].sum(), x[x.real > 0].sum())
    same(lazyarr.std(a, ddof=1) if n > 1 else a.sum(), numpy.std(x, ddof=1) if n > 1 else x.sum())


def test_outputs(jit, values, same):
    x = values("d", 60, domain=(-3, 3)).reshape(6, 10)

    def run(np):
        a, row, column = np.array(x), np.zeros(10), np.zeros((6, 1))
        np.sum(a, axis=0, out=row)
        np.mean(a, axis=1, keepdims=True, out=column)
        a.max(axis=0, out=a[0])
        np.var(a, axis=0, correction=1) if np.__version__ >= "2" else None
        return a, row, column, np.count_nonzero(a > 0), np.count_nonzero(a > 0, axis=1)

    same(run(lazyarr)[:3], run(numpy)[:3])
    assert run(lazyarr)[3] == run(numpy)[3]
    assert type(run(lazyarr)[3]) is type(run(numpy)[3])


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanstd", "nanmax", "nanmin", "nanvar", "nanprod"])
def test_nan_variants(name, jit, values, same):
    x = values("d", 200).reshape(10, 20)
    for axis in (None, 0, 1):
        same(getattr(lazyarr, name)(lazyarr.array(x), axis=axis), getattr(numpy, name)(x, axis=axis), False)


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("axis", [0, -1, (0, 2)])
def test_a_given_result_has_a_say_in_the_order(jit: str, axis: int | tuple[int, ...]) -> None:
    """By its strides: of sums of what lies otherwise, last bits depend on it."""
    base = numpy.random.default_rng(0).random((20, 30, 40))
    with lazyarr.options(jit=jit):
        for axes in itertools.permutations(range(3)):
            x = base.transpose(axes)
            folds = (lambda m, o, x: m.add.reduce(x, axis, out=o)), (lambda m, o, x: x.mean(axis, out=o))
            for order, ours in itertools.product("CF", folds):
                want = numpy.zeros(x.sum(axis).shape, order=order)
                got = lazyarr.array(want)
                ours(numpy, want, x)
                ours(lazyarr, got, lazyarr.asarray(x))
                assert numpy.asarray(got).tobytes() == want.tobytes()
