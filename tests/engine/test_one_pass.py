"""Variances in one pass, under `fast_math` alone: half the bytes, and as exact as NumPy's two passes."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import moments, row_room
from lazyarr.debug import explain

N = 1 << 20
TOLERANCE = 1e-13
"""Of float64 where the mean is up to 1e4 standard deviations; of float32, 1e-6."""

PLACES: dict[str, tuple[tuple[int, ...], Any]] = {
    "sequence": ((N,), None), "a thousand": ((1_000_000,), 0), "whole": ((1000, 1024), None),
    "long rows": ((4, N // 2), 1), "both": ((3, 600, 512), (1, 2)), "all": ((2, 512, 1024), (0, 1, 2)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def always() -> Any:
    with lazyarr.options(jit="always", plan="always", verify=True):
        yield


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[moments.Cut]:
    """The blocks that were taken."""
    found: list[moments.Cut] = []
    variance = moments._variance

    def counted(x: Any, cut: moments.Cut, freedom: int) -> Any:
        found.append(cut)
        return variance(x, cut, freedom)

    monkeypatch.setattr(moments, "_variance", counted)
    return found


def exact(x: numpy.ndarray, axis: Any, ddof: int = 0) -> Any:
    """By numbers with more bits."""
    wide = x.astype(numpy.longdouble)
    return wide.var(axis=axis, ddof=ddof)


def values(shape: tuple[int, ...], mean: float = 0.0, dtype: str = "f8") -> numpy.ndarray:
    return (numpy.random.default_rng(3).normal(size=shape) + mean).astype(dtype)


def moved(x: Any) -> int:
    return int(explain(x).bytes_moved)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_one_pass_and_as_exact(place: str, dtype: str, taken: Any) -> None:
    shape, axis = PLACES[place]
    for mean in (0.0, -3.0, 1e4):
        a = values(shape, mean, dtype)
        for ddof in (0, 1):
            with lazyarr.options(fast_math=True):
                mine = lazyarr.array(a).var(axis=axis, ddof=ddof)
                square = lazyarr.std(lazyarr.array(a), axis=axis, ddof=ddof)
                kept = lazyarr.var(lazyarr.array(a), axis=axis, ddof=ddof, keepdims=True)
            wanted = a.var(axis=axis, ddof=ddof)
            assert type(mine) is type(wanted) or isinstance(mine, lazyarr.ndarray)
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape
            assert kept.shape == a.var(axis=axis, keepdims=True).shape
            most = TOLERANCE if dtype == "f8" else 1e-6
            truth = exact(a, axis, ddof)
            for found in (mine, numpy.asarray(kept).reshape(wanted.shape), numpy.asarray(square) ** 2):
                assert (abs(numpy.asarray(found) / truth - 1) <= 4 * most).all()
    assert len(taken) == 18


@pytest.mark.parametrize("place", ["sequence", "whole", "long rows", "both"])
def test_the_plan_changes(place: str, taken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is read once; NumPy's steps read it twice, where it does not stay in a cache."""
    monkeypatch.setattr(row_room, "share_bytes", lambda: 0)
    shape, axis = PLACES[place]
    a = values(shape)
    bytes_ = []
    for fast in (False, True):
        with lazyarr.options(fast_math=fast):
            x = lazyarr.array(a)
            y = x.var(axis=axis, keepdims=True)
            assert not lazyarr.is_evaluated(y)
            bytes_.append(moved(y))
            lazyarr.evaluate(y)
    assert bytes_[0] >= 2 * a.nbytes and a.nbytes <= bytes_[1] < 1.02 * a.nbytes
    assert len(taken) == 1


@pytest.mark.parametrize("mean", [1e6, 1e8, 1e12])
def test_large_means(mean: float, taken: Any) -> None:
    """Sums of squares would have no right digit left."""
    a = values((N,), mean)
    with lazyarr.options(fast_math=True):
        mine = lazyarr.array(a).var()
    spacing = mean * numpy.finfo(float).eps
    assert abs(mine / float(exact(a, None)) - 1) <= TOLERANCE + spacing**2 and taken


def test_blocks_that_differ(taken: Any) -> None:
    """Outliers, steps, and blocks that are constant."""
    ramp = numpy.linspace(0, 1e9, N)
    step = numpy.where(numpy.arange(N) < N // 3, 1e8, -1.0)
    outlier = values((N,))
    outlier[0] = 1e9
    first = values((N,))
    first[:8192] += 1e9
    for a in (ramp, step, outlier, first):
        with lazyarr.options(fast_math=True):
            mine = lazyarr.array(a).var()
        assert abs(mine / float(exact(a, None)) - 1) <= 10 * TOLERANCE
    assert len(taken) == 4


def test_what_is_constant_has_no_variance(taken: Any) -> None:
    for value in (0.0, 0.1, -1e100, 1e-310, 3.0):
        for dtype in ("f8", "f4"):
            a = numpy.full(N, value).astype(dtype)
            if not numpy.isfinite(a[0]):
                continue
            with lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
                mine = lazyarr.array(a).std()
            assert 0 <= mine <= abs(value) * 1e-7
    assert taken


@pytest.mark.parametrize("bad", [numpy.nan, numpy.inf, -numpy.inf])
def test_what_is_no_number(bad: float, taken: Any) -> None:
    a = values((2, N // 2))
    a[1, 77] = bad
    with lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
        mine = numpy.asarray(lazyarr.array(a).var(axis=1))
        wanted = a.var(axis=1)
    assert numpy.array_equal(numpy.isnan(mine), numpy.isnan(wanted))
    assert numpy.array_equal(numpy.isinf(mine), numpy.isinf(wanted))
    assert abs(mine[0] / wanted[0] - 1) < 1e-12 and taken


def test_again_on_other_arrays(taken: Any) -> None:
    for seed in range(4):
        a = numpy.random.default_rng(seed).random((4, N // 2)) + seed
        with lazyarr.options(fast_math=True):
            mine, whole = lazyarr.array(a).std(axis=1), lazyarr.array(a).std()
        assert numpy.allclose(numpy.asarray(mine), a.std(axis=1), rtol=1e-12, atol=0)
        assert math.isclose(whole, a.std(), rel_tol=1e-12)


def test_never_without_fast_math(taken: Any) -> None:
    """NumPy's bits, also right after."""
    for shape, axis in PLACES.values():
        a = values(shape, 5.0)
        with lazyarr.options(fast_math=True):
            lazyarr.evaluate(lazyarr.array(a).var(axis=axis, keepdims=True))
        before = len(taken)
        for name in ("var", "std"):
            mine = getattr(lazyarr.array(a), name)(axis=axis, keepdims=True)
            with lazyarr.options(fast_math=True):       # what was asked for before stays as it was
                assert numpy.asarray(mine).tobytes() == getattr(a, name)(axis=axis, keepdims=True).tobytes()
        assert len(taken) == before > 0


OTHERS: dict[str, Any] = {
    "pending": lambda np, x: (x * 2 + 1).var(keepdims=True),
    "columns": lambda np, x: x.reshape(-1, 64).var(axis=0),
    "short rows": lambda np, x: x.reshape(-1, 1024).var(axis=1),
    "strided": lambda np, x: x[::2].var(keepdims=True),
    "few": lambda np, x: x[:4096].var(keepdims=True), "ints": lambda np, x: np.arange(N).var(keepdims=True),
    "masked": lambda np, x: x.var(where=x > 0, keepdims=True),
    "in float64": lambda np, x: x.astype("f4").var(dtype="f8"),
    "mean given": lambda np, x: x.var(mean=np.zeros(1), keepdims=True),
    "prime": lambda np, x: x[:1048573].var(keepdims=True),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_stays_numpys_steps(name: str, taken: Any) -> None:
    a = values((N,), 1.0)
    with lazyarr.options(fast_math=True):
        mine = numpy.asarray(OTHERS[name](lazyarr, lazyarr.array(a)))
    assert numpy.allclose(mine, OTHERS[name](numpy, a), rtol=1e-6, atol=0)
    assert not taken


def test_too_many_degrees_of_freedom(taken: Any) -> None:
    a = values((N,))
    with lazyarr.options(fast_math=True), pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        lazyarr.array(a).var(ddof=N)
    assert not taken
