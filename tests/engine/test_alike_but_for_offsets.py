"""Groups that differ in nothing but where they read and write: NumPy's bits; what is found once for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import planning
from lazyarr.counters import COUNT
from lazyarr.steps import MOULDS

PARTS = 400
"""Of an array; groups hold no more than some of them."""


@pytest.fixture(autouse=True)
def forced() -> Any:
    planning.forget()
    with lazyarr.options(jit="always", eager_elements=0, pending_nodes=1 << 30), numpy.errstate(all="ignore"):
        yield


def given(np: Any, *shape: int) -> Any:
    x = numpy.random.default_rng(3).standard_normal(shape)
    x.flat[::97], x.flat[5::89], x.flat[7::83] = numpy.inf, -0.0, 0.0
    found = np.array(x)
    if np is not numpy:
        np.evaluate(found)
    return found


def differences(np: Any, parts: int = PARTS) -> list[Any]:
    x = given(np, parts + 8, 3)
    return [(x[k : k + 4] - x[k + 1 : k + 5]) * 2 for k in range(parts)]


def backwards(np: Any) -> list[Any]:
    x = given(np, PARTS + 8, 3)
    return [np.hypot(x[k : k + 4], x[k + 4 : k : -1]) for k in range(PARTS)]


def columns(np: Any) -> list[Any]:
    x = given(np, 3, PARTS + 8)
    return [np.exp(x[:, k]) - x[:, k + 1] for k in range(PARTS)]


def sums(np: Any) -> list[Any]:
    x = given(np, PARTS + 8, 5)
    return [(x[k : k + 3] * 2).sum(axis=0) for k in range(PARTS)]


def running(np: Any) -> list[Any]:
    x = given(np, PARTS + 8, 5)
    return [np.cumsum(x[k : k + 3], axis=1) for k in range(PARTS)]


def taken(np: Any) -> list[Any]:
    x, at = given(np, PARTS + 8, 5), numpy.array([0, 2, 1])
    return [x[k : k + 4][at] + 1 for k in range(PARTS)]


def written(np: Any) -> list[Any]:
    """Parts that overlap, each read and written."""
    x = given(np, PARTS + 8, 3)
    for k in range(PARTS):
        x[k : k + 3] = x[k + 1 : k + 4] * 0.5 - x[k : k + 3]
    return [x]


def bounded(np: Any) -> list[Any]:
    """Ties go by strides: each row of another kind."""
    x = given(np, PARTS + 8, 4)
    return [np.clip(x[k : k + 2, :: 1 + k % 2], x[k, ::2][:1], 0.0) for k in range(PARTS)]


def thin(np: Any) -> list[Any]:
    """Axes of length 1."""
    x = given(np, PARTS + 8, 1, 3)
    return [x[k : k + 1] * x[k : k + 3] + x[k + 1 : k + 2] for k in range(PARTS)]


PROGRAMS: list[Callable[[Any], list[Any]]] = [
    differences, backwards, columns, sums, running, taken, written, bounded, thin,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_bits(program: Callable[[Any], list[Any]]) -> None:
    real, found = program(numpy), program(lazyarr)
    lazyarr.evaluate(*found)
    for x, y in zip(real, found, strict=True):
        assert numpy.array_equal(x, numpy.asarray(y), equal_nan=True)
        assert numpy.array_equal(numpy.signbit(x[x == x]), numpy.signbit(numpy.asarray(y)[x == x]))


def test_loops_are_arranged_once() -> None:
    bodies, assembled = COUNT.bodies, COUNT.assembled
    lazyarr.evaluate(*differences(lazyarr, 1000))
    assert 2 * (COUNT.bodies - bodies) < COUNT.assembled - assembled
    assert all(len(mould.arranged) == 1 for mould in MOULDS.values())


def test_few_arrangements_are_kept() -> None:
    x = given(lazyarr, 64, 64)
    for n in range(2, 30):
        lazyarr.evaluate(x[:n, 1:] * 2 + x[1 : n + 1, :-1])
    assert len(MOULDS) < 4
    assert max(len(mould.arranged) for mould in MOULDS.values()) <= 8
