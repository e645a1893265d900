"""Values of a chain that lie where one of its results will be: memory, bytes moved, bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import debug, planning, row_blocks

SHAPE = 1000, 900


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


def centred(np: Any, x: Any) -> Any:
    y = x * x
    return y - y.mean(0)


def two_results(np: Any, x: Any) -> Any:
    y, z = x * 2, x + 3
    y, z = y - y.mean(0), z / z.std(0)
    return np.stack([y, z])


def standardised(np: Any, x: Any) -> Any:
    y = np.sqrt(abs(x))
    return (y - y.mean(0)) / y.std(0)


def by_rows(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def other_type(np: Any, x: Any) -> Any:
    y = (x * 8).astype("f4")
    return (y - y.max(0)).astype("f8") * 2


def turned(np: Any, x: Any) -> Any:
    y = x * 3
    return (y - y.mean(0)).T + y.sum(0)[:, None]


PROGRAMS = [softmax, centred, two_results, standardised, by_rows, other_type, turned]


@pytest.fixture(autouse=True, params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = lazyarr.get_num_threads()
    lazyarr.set_num_threads(request.param)
    with lazyarr.options(jit="always"):
        yield
    lazyarr.set_num_threads(before)


@pytest.fixture(params=[False, True], ids=["where it pays", "always"])
def always(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param:
        monkeypatch.setattr(row_blocks, "SLACK", -1)
    planning.forget()
    yield
    planning.forget()


def given(shape: tuple[int, int]) -> numpy.ndarray:
    return numpy.random.default_rng(5).random(shape) - 0.5


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("shape", [SHAPE, (33, 70), (900, 64)], ids=str)
def test_bits_of_numpy(program: Callable[..., Any], shape: tuple[int, int]) -> None:
    x = given(shape)
    wanted = program(numpy, x)
    y = lazyarr.array(x)
    for _ in range(2):
        assert numpy.asarray(program(lazyarr, y)).tobytes() == wanted.tobytes()
    assert numpy.asarray(program(lazyarr, lazyarr.array(x) + 0)).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("program", [softmax, centred], ids=lambda p: p.__name__)
def test_columns_are_read_once_and_written_once(program: Callable[..., Any]) -> None:
    planning.forget()
    x = lazyarr.asarray(given(SHAPE))
    seen = debug.explain(program(lazyarr, x))
    assert seen.bytes_moved == pytest.approx(seen.bytes_least, rel=0.02)
    assert seen.peak_bytes <= seen.eager_peak_bytes + (1 << 20)


@pytest.mark.usefixtures("always")
def test_an_input_that_ends_and_one_that_stays() -> None:
    def program(np: Any, x: Any) -> Any:
        y = x * 2                   # ends here, as NumPy's would
        e = np.exp(y - y.max(0))
        return e / e.sum(0)

    x = given(SHAPE)
    y = lazyarr.array(x)
    assert numpy.asarray(program(lazyarr, y)).tobytes() == program(numpy, x).tobytes()
    assert numpy.asarray(y).tobytes() == x.tobytes()


@pytest.mark.usefixtures("always")
def test_warnings_are_numpys() -> None:
    def told(np: Any, x: Any) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            result = numpy.asarray(softmax(np, x))
        return result, sorted(str(w.message) for w in found)

    x = given(SHAPE)
    x[7, 3] = numpy.inf
    x[9, 5] = -1e300
    result, mine = told(lazyarr, lazyarr.array(x))
    wanted, numpys = told(numpy, x)
    assert numpy.array_equal(result, wanted, equal_nan=True)
    assert mine == numpys
