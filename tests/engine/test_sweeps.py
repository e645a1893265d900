"""Writing over what was read in rows nearby: NumPy's bits, one launch, no array in between.

The cache is taken to be small, so that small arrays have many blocks, in several strips.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import plan, planning, row_room
from lazyarr.counters import COUNT
from lazyarr.debug import explain

SHAPES = ((0, 5), (3, 3), (4, 40), (40, 4), (17, 33), (64, 100), (257, 65), (900, 9))


@pytest.fixture(autouse=True, params=[1, 2, 3])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 14)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 2)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def jacobi(np: Any, u: Any) -> Any:
    u[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) * u.dtype.type(2)
    return u


def upwards(np: Any, u: Any) -> Any:
    u[2:] = u[:-2] * 2 + u[1:-1]
    return u


def downwards(np: Any, u: Any) -> Any:
    u[:-3] = u[3:] * 2 + u[:-3]
    return u


def added(np: Any, u: Any) -> Any:
    u[1:-1, 1:-1] += u[2:, 1:-1] + u[:-2, 1:-1] - u[1:-1, 1:-1]
    return u


def two(np: Any, u: Any) -> Any:
    """Two arrays, both in place, of each other."""
    v = u * 2
    du, dv = v[2:, 1:-1] - v[:-2, 1:-1], u[1:-1, 2:] - u[1:-1, :-2]
    u[1:-1, 1:-1] += du * dv
    v[1:-1, 1:-1] -= du + dv
    return u, v


def whole(np: Any, u: Any) -> Any:
    """Columns are shifted, then all rows."""
    u[...] = np.where(u > 1, u[::1], u)[:, ::-1] + u
    return u


def masked(np: Any, u: Any) -> Any:
    around = u[2:, 1:-1] + u[:-2, 1:-1]
    np.copyto(u[1:-1, 1:-1], around, where=around > u[1:-1, 1:-1])
    return u


def held(np: Any, u: Any) -> Any:
    """Somebody else still wants the old value, or what comes between."""
    before = u + 0
    around = u[2:, 1:-1] + u[:-2, 1:-1]
    twice = u[:, 1:-1] * 2
    u[1:-1, 1:-1] = around * 2
    return before, around, twice, u


def folded(np: Any, u: Any) -> Any:
    u[1:] = u[:-1] - (u[:-1] * 2).sum(axis=1, keepdims=True)
    return u


def transposed(np: Any, u: Any) -> Any:
    t = u.T
    t[1:-1] = t[2:] + t[:-2]
    return u


def reversed_rows(np: Any, u: Any) -> Any:
    r = u[::-1]
    r[1:] = r[:-1] * 2 + r[1:]
    return u


PROGRAMS = (
    jacobi, upwards, downwards, added, two, whole, masked, held, folded, transposed, reversed_rows
)  # fmt: skip


def outcome(program: Callable[..., Any], np: Any, x: numpy.ndarray, times: int) -> list[numpy.ndarray]:
    u = np.array(x)
    with numpy.errstate(all="ignore"):
        for _ in range(times):
            found = program(np, u)
        found = found if isinstance(found, tuple) else (found,)
        if np is lazyarr:
            lazyarr.evaluate(*found)
        return [numpy.asarray(a) for a in found]


def alike(program: Callable[..., Any], x: numpy.ndarray, times: int = 3) -> None:
    for a, b in zip(outcome(program, lazyarr, x, times), outcome(program, numpy, x, times), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        nans = a != a
        assert (nans == (b != b)).all() and a[~nans].tobytes() == b[~nans].tobytes()


def values(shape: tuple[int, ...], char: str = "d") -> numpy.ndarray:
    return numpy.random.default_rng(7).uniform(0, 50, shape).astype(char)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits(program: Callable[..., Any], shape: tuple[int, int]) -> None:
    alike(program, values(shape))
    alike(program, values(shape, "i"))
    alike(program, numpy.asfortranarray(values(shape, "f")))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("char", "bBhHlefdFD")
def test_dtypes(char: str) -> None:
    for program in (jacobi, added, masked):
        alike(program, values((70, 33), char))


def line(np: Any, u: Any) -> Any:
    u[1:-1] = (u[:-2] + u[1:-1] + u[2:]) * 0.25
    return u


def space(np: Any, u: Any) -> Any:
    u[1:-1, 1:-1, 1:-1] = u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] - u[:-2, 1:-1, 2:]
    return u


@pytest.mark.parametrize("shape", [(2,), (3,), (50,), (9_999,)])
def test_one_axis(shape: tuple[int, ...]) -> None:
    alike(line, values(shape))


@pytest.mark.parametrize("shape", [(3, 3, 3), (40, 5, 6), (6, 40, 5), (5, 6, 70)])
def test_three_axes(shape: tuple[int, ...]) -> None:
    alike(space, values(shape))


def test_a_sweep_is_a_launch_and_needs_no_plan_and_no_array() -> None:
    u = lazyarr.array(values((300, 200)))
    lazyarr.evaluate(jacobi(lazyarr, u))
    before = COUNT.native_launches, COUNT.plans, COUNT.bytes_allocated
    for _ in range(5):
        lazyarr.evaluate(jacobi(lazyarr, u))
    after = COUNT.native_launches, COUNT.plans, COUNT.bytes_allocated
    assert after[0] - before[0] == 5 and after[1] == before[1]
    assert after[2] - before[2] < 5 * u.nbytes / 2
    found = explain(jacobi(lazyarr, u))
    assert "in row blocks with groups 0 to 1" in str(found)
    assert found.peak_bytes < 1.5 * u.nbytes


def test_several_sweeps_at_a_time() -> None:
    u = lazyarr.array(values((300, 200)))
    lazyarr.evaluate(u)
    before = COUNT.native_launches
    for _ in range(4):
        jacobi(lazyarr, u)
    lazyarr.evaluate(u)
    assert COUNT.native_launches - before == 2          # (of two sweeps each: more have no room)


def test_rows_read_from_afar_are_not_waited_for() -> None:
    u = lazyarr.array(values((300, 200)))
    u[:150] = u[150:] * 2 + u[149:-1]
    assert "in row blocks" not in str(explain(u))
    x = values((300, 200))
    x[:150] = x[150:] * 2 + x[149:-1]
    assert numpy.asarray(u).tobytes() == x.tobytes()


@pytest.mark.parametrize("errors", ["ignore", "warn"])
@pytest.mark.parametrize("n", [2, 4])
def test_the_first_of_two_writes_is_not_stored(errors: Any, n: int) -> None:
    """Then sweeps go in place; who looks at blocks in which flags were raised does not ask where it lies."""
    rng = numpy.random.default_rng(0)
    a, b = rng.uniform(size=(64, 40)), rng.uniform(size=(64, 40))
    a[10:20, 10:20] = 1e300

    def sweeps(u: Any, v: Any) -> Any:
        u, v = u.copy(), v.copy()
        t = u + 1
        for _ in range(n):
            u[1:-1, 1:-1] = 0.25 * (1.5 * u[:-2, 1:-1] * v[1:-1, 2:] * (u[2:, 2:] * v[2:, 1:-1]))
            u[1:-1, 1:-1] *= 0.1 * (v[:-2, 2:] + t[1:-1, 1:-1])
        return u

    with numpy.errstate(all=errors), warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        want = sweeps(a, b)
    with (
        lazyarr.options(jit="always", plan="always"), numpy.errstate(all=errors),
        warnings.catch_warnings(record=True) as found,
    ):  # fmt: skip
        warnings.simplefilter("always")
        got = numpy.asarray(sweeps(lazyarr.array(a), lazyarr.array(b)))
    numpy.testing.assert_array_equal(got, want, strict=True)
    assert {str(w.message) for w in found} == {str(w.message) for w in expected}
