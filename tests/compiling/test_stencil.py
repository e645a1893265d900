"""Stencils against loops over elements and against NumPy's arithmetic on slices."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.compiler import COMPILER
from tests.compiling.test_against_numpy import laid_out


def five(a: Any) -> Any:
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0]) - a[0, 0]


def upwind(a: Any, c: Any) -> Any:
    return c * (a[0] - a[-1]) + a[2]


def windowed(a: Any, n: int) -> Any:
    total = a[0]
    for k in range(1, n + 1):
        total = total + a[-k]
    return total / (n + 1)


def two(a: Any, b: Any) -> Any:
    return np.maximum(a[-1, 0], b[1, 1]) * np.where(a[0, 0] > b[0, 0], a[0, 0], 2)


def weighted(a: Any, w: Any) -> Any:
    return sum(a[k - 1] * w[k] for k in range(3))


class At:
    """An array as a kernel has it that runs for one element."""

    def __init__(self, x: Any, at: tuple[int, ...]) -> None:
        self.x, self.at = x, at

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        index = tuple(i + k for i, k in zip(self.at, key, strict=True))
        if any(i < 0 for i in index):
            raise IndexError
        return self.x[index]


def by_elements(kernel: Callable[..., Any], arrays: list[Any], rest: list[Any], reach: Any, cval: Any) -> Any:
    first = arrays[0]
    inside = [range(-low, n - high) for n, (low, high) in zip(first.shape, reach, strict=True)]
    values = {at: kernel(*[At(x, at) for x in arrays], *rest) for at in itertools.product(*inside)}
    dtype = numpy.result_type(*values.values()) if values else float
    out = numpy.full(first.shape, cval, dtype)
    for at, x in values.items():
        out[at] = x
    return out


CASES = [
    (five, (7, 9), 1, [], ((-1, 1), (-1, 1))), (five, (3, 3), 1, [], ((-1, 1), (-1, 1))),
    (five, (2, 9), 1, [], ((-1, 1), (-1, 1))), (upwind, (20,), 1, [0.3], ((-1, 2),)),
    (windowed, (30,), 1, [4], ((-4, 0),)), (two, (6, 8), 2, [], ((-1, 1), (0, 1))),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize(("kernel", "shape", "count", "rest", "reach"), CASES)
def test_stencils_compute_what_loops_compute(
    kernel: Any, shape: Any, count: int, rest: Any, reach: Any, dtype: str
) -> None:
    rng = numpy.random.default_rng(len(shape))
    f = np.stencil(kernel)
    for layout in ("C", "F", "strided", "reversed"):
        arrays = [laid_out((rng.standard_normal(shape) * 9).astype(dtype), layout) for _ in range(count)]
        want = by_elements(kernel, arrays, rest, reach, 0)
        for given in (arrays, [np.asarray(x) for x in arrays], [np.array(x) for x in arrays]):
            got = f(*given, *rest)
            assert isinstance(got, np.ndarray) and got.shape == shape and f.neighborhood == reach
            if want.size and any(n > h - w for n, (w, h) in zip(shape, reach, strict=True)):
                numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=2e-6)


@pytest.mark.parametrize("n", [10, 1000])
def test_stencils_have_the_bits_of_slices(n: int) -> None:
    x = numpy.random.default_rng(0).standard_normal((n, n))
    want = numpy.zeros((n, n))
    want[1:-1, 1:-1] = 0.25 * (x[1:-1, 2:] + x[2:, 1:-1] + x[1:-1, :-2] + x[:-2, 1:-1]) - x[1:-1, 1:-1]
    assert numpy.asarray(np.stencil(five)(x)).tobytes() == want.tobytes()


def test_borders() -> None:
    x = np.arange(6.0)
    f = np.stencil(cval=-1.5)(lambda a: a[-1] + a[2])
    assert f(x).tolist() == [-1.5, 3, 5, 7, -1.5, -1.5]
    assert f(np.arange(2.0)).tolist() == [-1.5, -1.5]
    with pytest.raises(ValueError, match="cval"):
        f(np.arange(6))
    assert np.stencil(lambda a: a[1] > a[0])(x).tolist() == [True] * 5 + [False]
    assert np.stencil(lambda a: a[0] * 2)(x).tolist() == [0, 2, 4, 6, 8, 10]


def test_out() -> None:
    x, out = np.arange(5.0), np.full(5, 9.0)
    f = np.stencil(lambda a: a[-1] + a[1])
    assert f(x, out=out) is out and out.tolist() == [9, 2, 4, 6, 9]
    f = np.stencil(lambda a: a[-1] + a[1], cval=7)
    real = numpy.zeros(5)
    assert f(x, out=real) is real and real.tolist() == [7, 2, 4, 6, 7]
    with pytest.raises(ValueError, match="shape"):
        f(x, out=np.zeros(4))


def test_writing_to_what_is_read_reads_first() -> None:
    x = np.arange(6.0)
    np.stencil(lambda a: a[-1] + a[1])(x, out=x)
    assert x.tolist() == [0, 2, 4, 6, 8, 5]


def test_neighborhoods() -> None:
    f = np.stencil(lambda a, n: sum(a[k] for k in range(-n, 1)), neighborhood=((-3, 0),))
    x = np.arange(6.0)
    assert f(x, 3).tolist() == [0, 0, 0, 6, 10, 14]
    assert f(x, 1).tolist() == [0, 0, 0, 5, 7, 9]
    with pytest.raises(IndexError, match="outside of the neighborhood"):
        f(x, 4)
    g = np.stencil(windowed)
    for n in (1, 3, 2, 0, 5):
        assert g(x, n)[5] == numpy.arange(6.0)[5 - n :].mean() and g(x, n)[n] == numpy.arange(n + 1).mean()


def test_standard_indexing() -> None:
    f = np.stencil(weighted, standard_indexing=("w",))
    assert f(np.arange(5.0), np.array([1.0, 2.0, 3.0])).tolist() == [0, 8, 14, 20, 0]
    with pytest.raises(ValueError, match="standard_indexing"):
        np.stencil(weighted, standard_indexing=("a",))
    with pytest.raises(ValueError, match="standard_indexing"):
        np.stencil(weighted, standard_indexing=("z",))


def test_what_a_kernel_cannot_do() -> None:
    x = np.arange(5.0)
    with pytest.raises(ValueError, match="ambiguous"):
        np.stencil(lambda a: a[1] if a[0] > 0 else a[0])(x)
    with pytest.raises(TypeError, match="integers"):
        np.stencil(lambda a: a[0:1])(x)
    with pytest.raises(IndexError, match="2 relative indices"):
        np.stencil(lambda a: a[0, 1])(x)
    with pytest.raises(TypeError, match="first argument"):
        np.stencil(lambda a: a[0])(3.0)
    with pytest.raises(ValueError, match="smaller"):
        np.stencil(lambda a, b: a[0] + b[0])(x, np.arange(4.0))
    with pytest.raises(ValueError, match="axes"):
        np.stencil(lambda a, b: a[0] + b[0, 0])(x, np.ones((5, 5)))


def test_warnings_are_those_of_the_elements() -> None:
    f = np.stencil(lambda a: 1 / (a[1] - a[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numpy.asarray(f(np.array([1.0, 2, 4]))).tolist() == [1, 0.5, 0]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.asarray(f(np.array([1.0, 1, 4])))


def test_a_stencil_waits_and_is_one_plan() -> None:
    x = np.array(numpy.random.default_rng(0).random((600, 700)))
    f = np.stencil(five)
    y = f(x * 2)
    assert not np.is_evaluated(y)
    before = np.debug.counters()["native_launches"] + np.debug.counters()["numpy_fallbacks"]
    np.evaluate(y)
    assert np.debug.counters()["native_launches"] + np.debug.counters()["numpy_fallbacks"] - before <= 20


@pytest.fixture
def loaded() -> None:
    COMPILER.load()


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(("kernel", "shape", "count", "rest", "reach"), CASES)
def test_replays_give_what_the_kernel_gives(
    kernel: Any, shape: Any, count: int, rest: Any, reach: Any, monkeypatch: Any
) -> None:
    rng = numpy.random.default_rng(0)
    f, plain = np.stencil(kernel, cval=3), np.stencil(kernel, cval=3)
    monkeypatch.setattr(plain, "_replayed", lambda args: None)
    before = np.debug.counters()["traced_calls"]
    for layout in ("C", "F", "strided", "reversed"):
        arrays = [laid_out(rng.standard_normal(shape), layout) for _ in range(count)]
        for given in (arrays, [np.asarray(x) for x in arrays]):
            for _ in range(3):
                want, got = plain(*given, *rest), f(*given, *rest)
                assert type(got) is type(want) and got.strides == want.strides
                assert numpy.asarray(got).tobytes() == numpy.asarray(want).tobytes()
                assert f.neighborhood == plain.neighborhood == reach
    replays = np.debug.counters()["traced_calls"] - before
    assert replays > 8 or shape == (2, 9)               # which has no inside


@pytest.mark.usefixtures("loaded")
def test_small_stencils_are_one_call_and_no_array_between() -> None:
    f, x = np.stencil(five), numpy.random.default_rng(0).standard_normal((100, 100))
    f(x), f(x)
    before = np.debug.counters()
    f(x)
    after = np.debug.counters()
    assert after["native_launches"] - before["native_launches"] == 2            # the border, the inside
    assert after["bytes_allocated"] == before["bytes_allocated"]


def test_stencils_within_compiled_functions() -> None:
    f, g = np.stencil(five), np.stencil(upwind, cval=1.5)

    def step(x: Any, c: float) -> Any:
        y = f(x)
        return y + g(x[0] * 2, c), g(y[1], c)

    compiled = np.compile(step)
    x = numpy.random.default_rng(0).standard_normal((7, 9))
    before = np.debug.counters()["traced_calls"]
    for c in (0.5, 0.5, 2.0):
        for given in (x, np.asarray(x)):
            for got, want in zip(compiled(given, c), step(given, c), strict=True):
                assert type(got) is type(want)
                assert numpy.asarray(got).tobytes() == numpy.asarray(want).tobytes()
    assert np.debug.counters()["traced_calls"] > before, compiled.explain()


def test_a_border_is_written_after_the_kernel_has_read() -> None:
    f = np.stencil(five, cval=7)
    compiled = np.compile(lambda x: f(x, out=x))
    for _ in range(3):
        x, y = np.array(numpy.arange(42.0).reshape(6, 7)), np.array(numpy.arange(42.0).reshape(6, 7))
        assert compiled(x) is x
        f(y, out=y)
        assert x.tolist() == y.tolist()
