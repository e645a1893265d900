"""Writes to pending arrays that are computed at the call: others see the memory, or warnings are recorded."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr

N = 3_000
OPS = ("floor_divide", "power", "remainder", "arctan2", "fmod", "hypot", "logaddexp", "add", "copysign")
"""Most run NumPy's loops, which write to memory by themselves."""


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest) -> Iterator[None]:
    with lazyarr.options(jit="always", plan="always", verify=True, num_threads=request.param):
        yield


def over_the_first(np: Any, op: str, c: Any, b: Any) -> Any:
    getattr(np, op)(c, b, out=c)
    return c


def over_the_second(np: Any, op: str, c: Any, b: Any) -> Any:
    getattr(np, op)(b, c, out=c)
    return c


def over_a_part(np: Any, op: str, c: Any, b: Any) -> Any:
    getattr(np, op)(c[5:], b[5:], out=c[5:])
    return c


def over_what_is_read_later(np: Any, op: str, c: Any, b: Any) -> Any:
    before = c * 2
    getattr(np, op)(c, b, out=c)
    return before + c


def over_what_is_masked(np: Any, op: str, c: Any, b: Any) -> Any:
    getattr(np, op)(c, b, out=c, where=b > 20)
    return c


FORMS = (over_the_first, over_the_second, over_a_part, over_what_is_read_later, over_what_is_masked)


def exported(b: numpy.ndarray) -> Any:
    found = lazyarr.array(b)
    exported.seen = numpy.asarray(found)        # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("action", ["always", "error", None])
@pytest.mark.parametrize("given", [numpy.copy, exported, lazyarr.array], ids=["numpy", "exported", "own"])
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_the_last_value_is_the_one_that_stays(
    form: Callable[..., Any], given: Callable[..., Any], action: Any
) -> None:
    numbers = numpy.arange(N)
    b = given(numbers % 50 + 0.5)
    with warnings.catch_warnings():
        if action is not None:
            warnings.simplefilter(action)
        for op in OPS:
            for _ in range(3):
                mine = form(lazyarr, op, lazyarr.arange(N) % 49 + 0.25, b)
                real = form(numpy, op, numbers % 49 + 0.25, numpy.asarray(b))
                assert numpy.asarray(mine).tobytes() == real.tobytes(), op


def test_readers_of_the_value_before_in_another_thread() -> None:
    """What the evaluation before left behind must not look like somebody who holds the memory."""
    given = [numpy.random.default_rng(k).uniform(size=500) for k in range(3)]

    def program(np: Any) -> list[numpy.ndarray]:
        x, y, z = [np.array(a) for a in given]
        x[1:] = x[:-1]
        np.add(z, x, out=y)
        np.add(x, z, out=x)
        return [numpy.asarray(a) for a in (x, y, z)]

    found: list[list[numpy.ndarray]] = []

    def run() -> None:
        with lazyarr.options(jit="always", plan="always"):
            found.extend(program(lazyarr) for _ in range(3))

    gc.disable()
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        gc.enable()
    expected = program(numpy)
    assert len(found) == 3
    assert all(numpy.array_equal(a, b) for each in found for a, b in zip(each, expected, strict=True))
