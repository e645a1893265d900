"""Writes into values that wait are made again without a look at NumPy's types, and mean the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import indexing, recipes
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from tests.slots.operands import python_calls

N = 300


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    recipes._writes.clear()
    yield
    recipes._writes.clear()


def heat(u: Any) -> None:
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    u[1:-1, 1:-1] += 0.1 * (around - 4 * u[1:-1, 1:-1])
    u[0, :] = u[1, :]
    u[-1, :] = u[-2, :]
    u[:, 0] = u[:, 1]
    u[:, -1] = u[:, -2]


def values(dtype: str = "f8", shape: tuple[int, ...] = (N, N)) -> tuple[Any, Any]:
    real = numpy.random.default_rng(4).uniform(-9, 9, shape).astype(dtype)
    return np.array(real), real


def same(lazy: Any, real: Any) -> None:
    found = numpy.asarray(lazy)
    assert found.dtype == real.dtype and found.tobytes() == real.tobytes()


def test_few_functions_run_for_a_sweep() -> None:
    """Eleven nodes and ten views; a time step of many, with all that their evaluations take."""
    COMPILER.load()
    x, _ = values()
    with np.options(plan="always"):
        for _ in range(150):
            heat(x)
        float(x[5, 5])

        def more() -> None:
            for _ in range(48):
                heat(x)
            float(x[5, 5])

        counts = [python_calls(more)[1] / 48 for _ in range(3)]
    assert min(counts) <= 270, counts


def test_numpy_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x, real = values()
    with np.options(jit="always"):
        heat(x)
        heat(x)
        asked, write = list[str](), indexing.write
        monkeypatch.setattr(indexing, "write", lambda *given: asked.append("write") or write(*given))
        for _ in range(3):
            heat(x)
    for _ in range(5):
        heat(real)
    assert not asked
    same(x, real)


def set_to(value: Any) -> Callable[[Any, Any, Any], None]:
    def program(np: Any, x: Any, y: Any) -> None:
        x[1:-1] = value
        x[::3, 1] = value

    return program


def into_itself(np: Any, x: Any, y: Any) -> None:
    x[1:] = x[:-1]
    x[:-1] -= x[1:]
    x[::-1] += x


def with_out(np: Any, x: Any, y: Any) -> None:
    np.add(x, y, out=x)
    np.multiply(x[1:], y[1:], out=x[:-1])
    np.maximum(x, 0.5, out=x)


def operators(np: Any, x: Any, y: Any) -> None:
    x += y
    x -= 3
    x *= x
    x[2:] *= numpy.float32(0.5) if x.dtype.kind == "f" else 2
    x[:, 1] = y[:, 2]


def mixed(np: Any, x: Any, y: Any) -> None:
    x[1:] = y[:-1].astype("f4")
    x[:1] = y[:1].astype("i2")
    x[3] = (y > 0)[3]


def broadcast(np: Any, x: Any, y: Any) -> None:
    x[1:] = y[0]
    x[:, 2:3] = y[:, :1]
    x += y[0]


PROGRAMS = {
    "itself": into_itself, "out": with_out, "operators": operators, "mixed": mixed, "broadcast": broadcast,
    **{f"set to {v}": set_to(v) for v in (0, -0.0, 1e308, float("inf"), float("nan"), 2**62 + 1)},
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "c16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_time_is_numpys(name: str, dtype: str) -> None:
    with np.options(jit="always"), warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(3):
            real, other = numpy.random.default_rng(seed).uniform(0, 9, (2, 40, 7)).astype(dtype)
            real[0, :4] = 0, 1, 2, 3
            if dtype in ("f8", "f4"):
                other[0, :4] = numpy.nan, -0.0, numpy.inf, 5e-324
            x, y = np.array(real) + np.zeros((), dtype), np.array(other)
            real = real + numpy.zeros((), dtype)
            assert outcome(PROGRAMS[name], np, x, y) == outcome(PROGRAMS[name], numpy, real, other)
            same(x, real)


def outcome(program: Callable[[Any, Any, Any], None], np: Any, x: Any, y: Any) -> Any:
    try:
        program(np, x, y)
    except Exception as error:
        return type(error), str(error)
    return None


def waiting(dtype: str = "f8") -> Any:
    x, _ = values(dtype)
    y = x * 2
    y[1:] = x[:-1]                              # (met)
    y += x
    return y, x


def test_the_error_state_is_the_calls() -> None:
    y, x = waiting()
    with numpy.errstate(all="raise"):
        y[2:] = x[2:]
        with pytest.raises(FloatingPointError):
            y *= 1e308
    z, x = waiting()
    with pytest.warns(RuntimeWarning, match="overflow"):
        z *= 1e308
        np.evaluate(z)


def test_what_is_read_only_stays() -> None:
    y, x = waiting()
    part = np.broadcast_to(y, (2, N, N))
    with pytest.raises(ValueError, match="read-only"):
        part[0] = x
    with pytest.raises(ValueError, match="read-only"):
        part += x


def test_shapes_are_still_checked() -> None:
    y, x = waiting()
    with pytest.raises(ValueError, match="could not broadcast"):
        y[1:] = x
    with pytest.raises(ValueError, match="broadcast"):
        y += x[1:]
    with pytest.raises(OverflowError):
        y[1:] = 10**400
    y[1:] = 3
    with pytest.raises(OverflowError):
        y[1:] = 10**400


def test_imaginary_parts_are_not_lost_in_silence() -> None:
    for _ in range(3):
        z, y = values("c16")[0] * 1j, values()[0] * 2
        with pytest.warns(numpy.exceptions.ComplexWarning):
            y[1:] = z[1:]
        z[1:] = y[:-1]


def test_what_numpy_computed_is_set_at_once() -> None:
    """A recursive filter: each step is small, and reads what the ones before have set."""
    x, real = values("f8", (400, 300))
    np.evaluate(x)
    with np.options(eager_elements=1 << 14, jit="auto"):

        def smoothed(np: Any, x: Any) -> Any:
            y = np.empty_like(x)
            y[:, 0] = 0.0
            y[:, 1] = 0.5 * x[:, 1]
            for j in range(2, x.shape[1]):
                y[:, j] = 0.3 * x[:, j] + 0.5 * y[:, j - 1] - 0.1 * y[:, j - 2]
            return y

        before = COUNT.nodes_built
        found = smoothed(np, x)
        assert COUNT.nodes_built - before <= 2
        same(found, smoothed(numpy, real))


def test_what_waits_is_read_first() -> None:
    """Nobody may see the part that NumPy computed in what was captured before."""
    x, real = values("f8", (400, 300))
    y, theirs = np.empty_like(x), real.copy()
    y[:] = x
    captured, was = y * 2, theirs * 2
    z = np.empty_like(x)
    z[:, 0] = 1.0
    early = z[:, 0] * 2
    z[:, 0] = x[:, 3] * 1.0
    y[:, 1] = x[:, 3] * 1.0
    theirs[:, 1] = real[:, 3]
    same(captured, was)
    same(y, theirs)
    same(early, numpy.full(400, 2.0))
    same(z[:, 0], real[:, 3] * 1.0)


def test_borders_alone_take_no_memory() -> None:
    x, _ = values()
    y = np.empty_like(x)
    y[0, :] = 0.0
    y[:, 0] = x[:, 0]
    assert not np.is_evaluated(y)


@pytest.mark.parametrize("rows, nodes", [(4, 4), (40, 6)])
def test_a_loop_is_noticed_by_its_place(rows: int, nodes: int) -> None:
    x, real = values("f8", (300, 300))
    y, theirs = x * 2, real * 2
    before = COUNT.nodes_built
    for i in range(rows):
        y[i] = 7.0
        theirs[i] = 7.0
    assert COUNT.nodes_built - before <= nodes
    assert np.is_evaluated(y) == (rows == 40)
    same(y, theirs)


def test_borders_are_no_loop() -> None:
    x, real = values()
    y = x * 2
    for _ in range(3):
        heat(y)
    assert not np.is_evaluated(y)
    theirs = real * 2
    for _ in range(3):
        heat(theirs)
    same(y, theirs)
