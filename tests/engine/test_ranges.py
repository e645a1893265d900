"""`arange` and `linspace` inside kernels: NumPy's bits, one launch, no memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT, reset
from lazyarr.dispatch import jit
from lazyarr.ranges import RANGES, conforms

N = 10_007
ASKED = (
    (N,), (3, N), (N, 2, -3), (0.0, N, 1), (0.1, 1000.0, 0.1), (-0.7, 999.0, 1 / 3), (5.5, -1000.0, -0.11),
    (-0.0, 3000.0, 0.3), (1e10, 1e10 + 2000, 0.3), (0, N, 1.5), (1e-9, 1e-5, 1e-9),
)  # fmt: skip
LINES = ((0, 1), (1.0, -3.5), (0.1, 1e9), (-0.0, 7), (1e-300, 3e-300), (3, 2e15))


def alone(np: Any, x: Any) -> Any:
    return x


def computed(np: Any, x: Any) -> Any:
    return x * 2 + 1


def summed(np: Any, x: Any) -> Any:
    return np.stack([(x * 3).sum(), (x - 1).max()])


def views(np: Any, x: Any) -> Any:
    return np.concatenate([x[::-1] * 2, x[5::3] + 1, (x[: len(x) // 2 * 2].reshape(2, -1).T + 1).ravel()])


def beside_itself(np: Any, x: Any) -> Any:
    return np.diff(x) + x[1:]


def crossed(np: Any, x: Any) -> Any:
    return x[:60, None] * x[None, :70] + (x[60:120, None] - x[:70])


def running(np: Any, x: Any) -> Any:
    return np.cumsum(x) / (x + 1)


def padded(np: Any, x: Any) -> Any:
    return np.pad(x * 2, 3, mode="edge")[2:] + 1


def written(np: Any, x: Any) -> Any:
    x[3:9] = 7
    x += 1
    return x


def distances(np: Any, x: Any) -> Any:
    a = x[:120].reshape(10, 12)
    return (abs(a[:, None, :] - (a + 1)[None, :, :])).sum(axis=-1)


def rows(np: Any, x: Any) -> Any:
    a = x[:9000].reshape(90, 100)
    return a * 2 - a.sum(axis=1, keepdims=True)


PROGRAMS = (
    alone, computed, summed, views, beside_itself, crossed, running, padded, written, distances, rows,
)  # fmt: skip


def same(mine: Any, theirs: Any) -> None:
    mine = numpy.asarray(mine)
    assert mine.dtype == theirs.dtype and mine.tobytes() == numpy.asarray(theirs).tobytes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dtype", [None, "l", "i", "d", "f", "e", "h", "D"])
@pytest.mark.parametrize("how", ["always", "auto", "never"])
def test_bits_of_numpy(program: Callable[..., Any], dtype: str | None, how: str) -> None:
    with numpy.errstate(all="ignore"), lazyarr.options(jit=how, verify=True):
        for asked in ASKED if dtype is None else ASKED[::3]:
            theirs = numpy.arange(*asked, dtype=dtype)
            if theirs.size < 9000 and program is rows:
                continue
            mine = lazyarr.arange(*asked, dtype=dtype)
            same(program(lazyarr, mine), program(numpy, theirs))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("how", ["always", "auto", "never"])
def test_lines(program: Callable[..., Any], how: str) -> None:
    with numpy.errstate(all="ignore"), lazyarr.options(jit=how, verify=True):
        for start, stop in LINES:
            for given in ({}, {"endpoint": False}, {"dtype": "f"}, {"dtype": "l"}):
                theirs = numpy.linspace(start, stop, N, **given)
                same(program(lazyarr, lazyarr.linspace(start, stop, N, **given)), program(numpy, theirs))


def test_what_a_line_is_asked_for() -> None:
    with lazyarr.options(jit="always"):
        mine, step = lazyarr.linspace(2, 3, N, retstep=True)
        theirs, wanted = numpy.linspace(2, 3, N, retstep=True)
        same(mine, theirs)
        assert step == wanted and type(step) is type(wanted)
        for args in ((1, 1, N), (0, numpy.inf, N), (numpy.zeros(3), 1, N), (0, 1j, 70), (0, 1, 1), (0, 1, 0)):
            with numpy.errstate(all="ignore"):
                same(lazyarr.linspace(*args), numpy.linspace(*args))
        same(lazyarr.linspace(0, [1, 2], N, axis=1), numpy.linspace(0, [1, 2], N, axis=1))
        with pytest.raises(TypeError):
            lazyarr.linspace(0, 1, N, nothing=3)


@pytest.mark.parametrize("level", ["X86_V2", "X86_V3", ""])
@pytest.mark.parametrize("tier", ["1", "2"])
def test_levels_and_tiers(level: str, tier: str) -> None:
    if not jit.available():
        pytest.skip("emits code")
    with lazyarr.options(jit="always", cpu_level=level, tier=tier, verify=True):
        for dtype in "lidf":
            x = numpy.random.default_rng(1).standard_normal((37, 53)).astype(dtype)
            k, m = lazyarr.arange(53, dtype=dtype), lazyarr.arange(37, dtype=dtype)[:, None]
            wanted = x + numpy.arange(53, dtype=dtype) * numpy.arange(37, dtype=dtype)[:, None]
            same(lazyarr.array(x) + k * m, wanted)
            same((lazyarr.array(x) * lazyarr.arange(53)).sum(axis=1), (x * numpy.arange(53)).sum(axis=1))
            same((lazyarr.array(x) * lazyarr.arange(53)).sum(axis=0), (x * numpy.arange(53)).sum(axis=0))


USES: tuple[tuple[Callable[..., Any], int], ...] = (
    (lambda np, x: x * np.arange(x.size), 1),
    (lambda np, x: (x + 1) * np.arange(0.0, x.size), 1),
    (lambda np, x: np.cumsum(x) / np.arange(1, x.size + 1), 1),
    (lambda np, x: x + np.linspace(0, 1, x.size), 1),
    (lambda np, x: np.sin(np.linspace(0, 1, x.size)), 0),
)
"""What is computed, and how many arrays it reads."""


@pytest.mark.parametrize(("program", "arrays"), USES)
def test_one_launch_moves_least(program: Callable[..., Any], arrays: int) -> None:
    x = numpy.random.default_rng(1).standard_normal(1 << 18)
    lazy = lazyarr.array(x)
    lazyarr.evaluate(lazy)
    with lazyarr.options(jit="always", plan="always", verify=True):
        found = lazyarr.debug.explain(program(lazyarr, lazy))
        assert found.bytes_moved == found.bytes_least == x.nbytes * (arrays + 1)
        made = program(lazyarr, lazy)
        reset()
        lazyarr.evaluate(made)
        assert COUNT.native_launches == 1 and COUNT.bytes_allocated <= 1.1 * x.nbytes
        same(made, program(numpy, x))


def test_numbers_that_are_held_are_stored_on_the_way() -> None:
    x = numpy.ones(1 << 18)
    with lazyarr.options(jit="always", plan="always"):
        k = lazyarr.arange(x.size)
        y = lazyarr.array(x) * k
        reset()
        lazyarr.evaluate(y)
        same(k, numpy.arange(x.size))
        assert COUNT.native_launches == 1


def test_other_numbers_are_the_same_kernel() -> None:
    x = lazyarr.array(numpy.ones(N))
    lazyarr.evaluate(x)
    with lazyarr.options(jit="always", plan="always"):
        for first in (0.5, 1.5):
            lazyarr.evaluate(x * lazyarr.arange(first, N + first))
        reset()
        same(x * lazyarr.arange(7.25, N + 7.25), numpy.arange(7.25, N + 7.25))
        assert COUNT.compiles == 0


def test_the_running_numpy_makes_such_numbers() -> None:
    """(Else they are NumPy's at the call; on a machine where compilers join roundings, this test says so.)"""
    assert all(map(conforms, RANGES))
