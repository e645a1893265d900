"""convolve and correlate with few weights: NumPy's bits, errors and silence, and a stencil's launches."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import convolution
from lazyarr.convolution import MOST
from lazyarr.counters import COUNT, reset

FUNCTIONS = ["convolve", "correlate"]
MODES = ["full", "same", "valid"]


@pytest.fixture(autouse=True)
def compiled() -> Any:
    with np.options(jit="always"):
        yield


def sequence(n: int, dtype: str) -> Any:
    rng = numpy.random.default_rng(n)
    return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)


def same(fn: str, a: Any, v: Any, *mode: Any) -> None:
    """What NumPy gives, of a sequence that is there, and of one that waits."""
    want = getattr(numpy, fn)(a, v, *mode)
    lazy = np.array(a)
    for x in (lazy, lazy + lazy.dtype.type(0), lazy[::-1][::-1]):
        got = getattr(np, fn)(x, v, *mode)
        assert type(got) is np.ndarray
        assert (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
        assert got.to_numpy().tobytes() == want.tobytes()


@pytest.mark.parametrize(("fn", "mode"), [*itertools.product(FUNCTIONS, MODES)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bits(fn: str, mode: str, dtype: str) -> None:
    for n, count in itertools.product((1, 2, 11, 12, 300), range(1, MOST + 3)):
        if count <= n:
            same(fn, sequence(n, dtype), sequence(count, dtype), mode)


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize(
    "v",
    [
        [1, 2, 1], (0.5, -0.5), [True, False, True], numpy.array([1, -2], "i2"), numpy.array([0.5, 3], "f2"),
        numpy.array([1.5, 2], "f4"), numpy.array([1.0, numpy.inf, -1]), [1j, 2], [[1.0, 2.0]], 2.0, [],
        numpy.array(2.0), numpy.array([[1.0, 2.0]]), numpy.array([]), ["a"], [None], [[1], [2, 3]],
        numpy.arange(6.0)[::-2], numpy.array([1.0, 2], ">f8"),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "c16", ">f8"])
def test_kinds_of_weights(fn: str, v: Any, dtype: str) -> None:
    a = numpy.arange(-20, 30).astype(dtype)
    try:
        want = getattr(numpy, fn)(a, v)
    except Exception as error:
        with pytest.raises(type(error)) as found:
            getattr(np, fn)(np.array(a), v)
        assert str(found.value) == str(error)
    else:
        got = getattr(np, fn)(np.array(a), v)
        assert got.dtype == want.dtype
        numpy.testing.assert_array_equal(got.to_numpy(), want)


@pytest.mark.parametrize("mode", ["half", 1, None, b"full"])
def test_other_modes_are_numpys(mode: Any) -> None:
    a = sequence(50, "f8")
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            want = numpy.convolve(a, [1.0, 2.0], mode)
        except Exception as error:
            with pytest.raises(type(error)) as found:
                np.convolve(np.array(a), [1.0, 2.0], mode)
            assert str(found.value) == str(error)
        else:
            assert np.convolve(np.array(a), [1.0, 2.0], mode).to_numpy().tobytes() == want.tobytes()


def test_zeros_have_numpys_signs() -> None:
    for fn, mode in itertools.product(FUNCTIONS, MODES):
        same(fn, -numpy.zeros(40), numpy.array([1.0, 2.0, 0.0]), mode)
        same(fn, numpy.zeros(40), numpy.array([-1.0]), mode)


def test_no_error_is_reported() -> None:
    a = numpy.full(50, 1e308)
    with numpy.errstate(all="raise"):
        same("convolve", a, [10.0, -10.0, 1e-308])


def test_what_is_written_later_is_not_seen() -> None:
    a, weights = sequence(100, "f8"), np.array([1.0, 2.0, 3.0])
    x = np.array(a) * 2
    found = np.convolve(x, weights, "same")
    x[:] = 0
    weights[:] = 0
    assert found.to_numpy().tobytes() == numpy.convolve(a * 2, [1.0, 2.0, 3.0], "same").tobytes()


def test_it_waits_and_is_one_kernel_with_what_comes_before_and_after() -> None:
    x = np.array(sequence(100_000, "f8"))
    with numpy.errstate(all="ignore"):
        for _ in range(2):
            reset()
            found = np.convolve(x * 2, [1.0, 2.0, 1.0], "valid") + 1
            assert not COUNT.native_launches and not np.is_evaluated(found)
            np.evaluate(found)
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated < 1.1 * x.nbytes
    reset()
    np.evaluate(np.correlate(x, [1.0, 2.0, 1.0], "full") * 3)
    assert COUNT.native_launches == 1


def test_another_order_of_the_running_numpys_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution, "_is_proved", lambda char: False)
    x = np.array(sequence(1000, "f8"))
    reset()
    np.evaluate(np.convolve(x, [1.0, 2.0]))
    assert not COUNT.native_launches


def test_more_weights_are_numpys() -> None:
    x = np.array(sequence(100_000, "f8"))
    reset()
    np.evaluate(np.convolve(x, numpy.ones(MOST + 1)))
    assert not COUNT.native_launches
