"""Masked writes of all elements: what they leave comes from registers, and what they make stays there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain

N = 50_000


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest) -> Iterator[None]:
    with lazyarr.options(jit="always", plan="always", verify=True, num_threads=request.param):
        yield


def quotients(np: Any, a: Any, b: Any) -> Any:
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0) * 2


def chained(np: Any, a: Any, b: Any) -> Any:
    made = a + b
    np.sqrt(a, out=made, where=a > 0)
    np.subtract(made, b, out=made, where=b < 1)
    np.multiply(made, made, out=made, where=a < b)
    return made - a


def folded(np: Any, a: Any, b: Any) -> Any:
    made = a * 1
    np.log(a, out=made, where=a > 0)
    return made.sum()


def read_before_and_after(np: Any, a: Any, b: Any) -> Any:
    made = a * 2
    before = made - b
    np.add(made, b, out=made, where=a > b)
    return before * made


def written_in_part(np: Any, a: Any, b: Any) -> Any:
    made = a * 2
    np.add(a, b, out=made, where=b > 0)
    made[1:-1] = b[1:-1]
    return made + 1


def read_elsewhere(np: Any, a: Any, b: Any) -> Any:
    made = a * 2
    np.add(a, b, out=made, where=b > 0)
    return made[::-1] + made


def cast(np: Any, a: Any, b: Any) -> Any:
    made = np.zeros(a.shape, "f4")
    np.multiply(a, b, out=made, where=a > 0, casting="unsafe")
    return made * 2


def given(np: Any, a: Any, b: Any) -> Any:
    np.negative(a, out=a, where=b > 0)
    return a * 2


PROGRAMS = {
    # kernels
    quotients: 1, chained: 1, folded: 1, read_before_and_after: 1, written_in_part: 2, read_elsewhere: 2,
    cast: 1, given: 1,
}  # fmt: skip


def operands(char: str) -> tuple[Any, Any]:
    a, b = numpy.random.default_rng(8).integers(-2, 3, (2, N)).astype(char)
    return a, b


@pytest.mark.parametrize("char", ["f8", "f4", "f2", "i4", "c16"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_bits_and_warnings_are_numpys(program: Callable[..., Any], char: str) -> None:
    found = []
    for np in (numpy, lazyarr):
        a, b = map(np.array, operands(char))
        with warnings.catch_warnings(record=True) as seen, numpy.errstate(all="warn"):
            warnings.simplefilter("always")
            try:
                result = numpy.asarray(program(np, a, b))
            except (TypeError, ValueError) as error:
                found.append((type(error), str(error)))
                continue
        told = sorted({str(w.message) for w in seen if issubclass(w.category, RuntimeWarning)})
        found.append((told, result.dtype, numpy.isnan(result), numpy.nan_to_num(result).tobytes()))
    for one, other in zip(*found, strict=True):
        assert numpy.array_equal(one, other)


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p not in (folded, given)], ids=lambda p: p.__name__
)
def test_they_stay_in_registers(program: Callable[..., Any]) -> None:
    a, b = map(lazyarr.array, operands("f8"))
    told = explain(program(lazyarr, a, b))
    one = PROGRAMS[program] == 1
    assert (told.bytes_moved <= 1.01 * told.bytes_least) is one
    reset()
    numpy.asarray(program(lazyarr, a, b))
    assert COUNT.native_launches == PROGRAMS[program]


def test_what_is_held_is_stored() -> None:
    a, b = map(lazyarr.array, operands("f8"))
    made = lazyarr.zeros_like(a)
    result = lazyarr.add(a, b, out=made, where=b > 0) * 2
    lazyarr.evaluate(result)
    assert lazyarr.is_evaluated(made)
    x, y = operands("f8")
    assert numpy.array_equal(made, numpy.add(x, y, out=numpy.zeros_like(x), where=y > 0))
