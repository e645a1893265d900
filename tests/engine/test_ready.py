"""Evaluations met before take the short way to their launches, and mean what the long way means."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import buffers, engine, materialize, planning, ready, recipes
from lazyarr.compiler import COMPILER
from lazyarr.config import OBSERVED
from lazyarr.counters import COUNT
from tests.slots.operands import python_functions

N = 120_000


@pytest.fixture(autouse=True)
def nodes_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many nodes there were in this process before."""
    for name in ("make", "view", "assign", "update", "recall", "table"):
        monkeypatch.setattr(recipes.NODES, name, None)
    monkeypatch.setattr(recipes.NODES, "left", 1 << 30)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """LLVM is there, nothing was met, nothing is NumPy's by habit, and nobody looks on."""
    COMPILER.load()
    observed = OBSERVED.copy()
    OBSERVED.clear()
    yield
    OBSERVED[:] = observed


def arrays(*dtypes: str, n: int = N) -> list[Any]:
    rng = numpy.random.default_rng(3)
    real = [rng.uniform(-4, 4, n).astype(dtype) for dtype in dtypes]
    return [*map(np.array, real), *real]


def twice(program: Callable[..., Any], *args: Any) -> tuple[Any, bool]:
    """What a program's second evaluation gives, and whether it was known."""
    np.evaluate(program(np, *args))
    with pytest.MonkeyPatch.context() as patch:
        looked: list[Any] = []
        planned = engine.planned
        patch.setattr(engine, "planned", lambda *given: looked.append(given) or planned(*given))
        found = program(np, *args)
        np.evaluate(found)
    return numpy.asarray(found), not looked


PROGRAMS: dict[str, Callable[..., Any]] = {
    "one": lambda np, a, b: a + b,
    "chain": lambda np, a, b: (a * b - 3) / 7 + a,
    "part": lambda np, a, b: a[::2] * 2 + 1,
    "reversed": lambda np, a, b: a[::-1] - b,
    "columns": lambda np, a, b: (a.reshape(600, 200) * 2).sum(axis=0),
    "rows": lambda np, a, b: (a.reshape(600, 200) * 2).sum(axis=1, keepdims=True, initial=-0.0),
    "norms": lambda np, a, b: a.reshape(600, 200) / np.sqrt((b * b).reshape(600, 200).sum(1, keepdims=True)),
    "cast": lambda np, a, b: (a * 10).astype("i4"),
    "choice": lambda np, a, b: np.where(a > b, a, 2 * b),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_second_time_is_numpys(name: str, dtype: str) -> None:
    x, y, a, b = arrays(dtype, dtype)
    with numpy.errstate(all="ignore"):
        found, _ = twice(PROGRAMS[name], x, y)
        expected = PROGRAMS[name](numpy, a, b)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["one", "chain", "part", "reversed", "cast", "choice"])
def test_nothing_is_planned_again(name: str) -> None:
    x, y, _, _ = arrays("f8", "f8")
    assert twice(PROGRAMS[name], x, y)[1]


def test_few_functions_run() -> None:
    x, y, a, b = arrays("f8", "f8")
    buffers.trim()                              # (so that there is room for warm arrays)
    for _ in range(3):
        np.evaluate(x + y)
    ways = []
    for _ in range(6):      # (between some, kernels of the second tier may be ready)
        made: list[Any] = []
        making = python_functions(lambda: made.append(x + y))[1]        # noqa: B023
        ways.append((making, python_functions(np.evaluate, made[0])[1]))
        assert numpy.asarray(made[0]).tobytes() == (a + b).tobytes()
    few = [max(map(len, way)) <= 24 for way in ways]
    assert sum(few) >= 3, ways[few.index(False)]


def test_constants_are_of_each_call() -> None:
    x, a = arrays("f8")
    for k in range(4):
        assert numpy.asarray(x * k - k).tobytes() == (a * k - k).tobytes()


def test_what_is_held_is_stored() -> None:
    x, y, a, b = arrays("f8", "f8")

    def alone(np: Any) -> Any:
        return (x * y) * 2 + x

    np.evaluate(alone(np))
    for _ in range(2):
        kept = x * y
        np.evaluate(kept * 2 + x)
        assert np.is_evaluated(kept)
        assert numpy.asarray(kept).tobytes() == (a * b).tobytes()
    kept = x * y
    later, first = kept - 1, kept * 2 + x
    np.evaluate(first)
    del kept
    assert numpy.asarray(later).tobytes() == (a * b - 1).tobytes()


def test_temporaries_of_folds_may_be_asked_for_after_all() -> None:
    x, y, a, b = arrays("f8", "f8")
    for _ in range(4):
        z = x * y
        assert (z * 2).sum() == (a * b * 2).sum()
        assert numpy.asarray(z).tobytes() == (a * b).tobytes()
        assert ((x - y) ** 2).sum() == ((a - b) ** 2).sum()


def test_what_dies_may_be_overwritten() -> None:
    x, a = arrays("f8")
    z, c = x * 1, a * 1
    np.evaluate(z)
    for _ in range(5):
        z = z * 2 + 1
        np.evaluate(z)
        c = c * 2 + 1
    assert numpy.asarray(z).tobytes() == c.tobytes() and numpy.asarray(x).tobytes() == a.tobytes()


def test_warnings_come_each_time_at_their_line() -> None:
    x, a = arrays("f8")
    zero = np.array(a * 0)

    def call() -> list[tuple[str, str, int]]:
        z = x / zero
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.evaluate(z)
        return [(str(w.message), w.filename, w.lineno) for w in caught]

    found = [call() for _ in range(3)]
    assert found[0] == found[1] == found[2]
    assert [told[:2] for told in found[0]] == [("divide by zero encountered in divide", __file__)]


@pytest.mark.parametrize("first", ["ignore", "warn"])
def test_folds_that_end_early_go_by_the_error_states(first: Any) -> None:
    """Where flags are ignored the plan leaves out elements; another one asks for the flags of these."""
    x = np.array(numpy.append(numpy.ones(10 * N), -1))

    def warned(errors: Any) -> int:
        with numpy.errstate(all=errors):
            z = np.any(np.sqrt(x * 1.5) > 0.5, keepdims=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.evaluate(z)
        return len(caught)

    with np.options(num_threads=1):
        for errors in (first, first, "ignore", "warn", "ignore", "warn"):
            assert warned(errors) == (errors == "warn")


def test_what_is_let_go_of_meanwhile_is_no_plan_for_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, a, b = arrays("f8", "f8")
    np.evaluate(x - y)
    kept = [x * y]
    look = materialize._look

    def letting_go(roots: Any) -> Any:
        met = look(roots)
        kept.clear()                    # as another thread may do, or the collection of garbage
        return met

    with monkeypatch.context() as patch:
        z = kept[0] * 2 + x
        patch.setattr(materialize, "_look", letting_go)
        np.evaluate(z)
    held = x * y
    np.evaluate(held * 2 + x)
    assert numpy.asarray(held).tobytes() == (a * b).tobytes()


def test_the_first_time_lets_go_of_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = arrays("f8")
    np.evaluate(x + 1)
    given = x * 2
    np.evaluate(given)
    assert given.storage is not None
    value = weakref.ref(given.storage.value)
    with np.options(jit="always"):
        first, other = given * 3, x[: N // 2] - 5
    del given
    alive: list[bool] = []
    run = engine._run

    def noting(*args: Any) -> bool:
        alive.append(value() is not None)
        return run(*args)

    monkeypatch.setattr(engine, "_run", noting)
    np.evaluate(first, other)
    assert alive == [True, False]


def test_an_interrupt_leaves_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, a, b = arrays("f8", "f8")
    np.evaluate(x - y)
    z = x - y

    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ready, "parallel_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            np.evaluate(z)
    assert not np.is_evaluated(z)
    assert numpy.asarray(z).tobytes() == (a - b).tobytes()


def test_options_and_forgetting_plan_anew() -> None:
    x, y, a, b = arrays("f8", "f8")
    program = PROGRAMS["chain"]
    assert twice(program, x, y)[1]
    before = COUNT.plans
    planning.forget()
    np.evaluate(program(np, x, y))
    assert COUNT.plans == before + 1
    with np.options(num_threads=1):
        launches = COUNT.parallel_launches
        for _ in range(2):
            assert numpy.asarray(program(np, x, y)).tobytes() == program(numpy, a, b).tobytes()
        assert COUNT.parallel_launches == launches
    later = program(np, x, y)
    with np.options(jit="never"):
        native = COUNT.native_launches
        np.evaluate(later)
        assert COUNT.native_launches == native
    assert numpy.asarray(later).tobytes() == program(numpy, a, b).tobytes()


def test_foreign_memory_goes_by_its_alignment() -> None:
    raw = numpy.zeros(8 * N + 64, numpy.uint8)
    for start in (0, 8, 3, 16, 0):
        start += -raw.ctypes.data % 64
        theirs = raw[start : start + 8 * N].view("f8")
        theirs[:] = numpy.arange(N)
        for _ in range(2):
            assert numpy.asarray(np.asarray(theirs) * 3 + 1).tobytes() == (theirs * 3 + 1).tobytes()


def test_writes_and_parts_go_the_long_way() -> None:
    x, y, a, b = arrays("f8", "f8")
    np.evaluate(x - y)
    looked: list[bool] = []
    look = materialize._look

    def noting(roots: Any) -> Any:
        met = look(roots)
        looked.append(met is None)
        return met

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(materialize, "_look", noting)
        for _ in range(2):
            z = x * y
            z[1:-1] = x[2:] - y[2:]
            np.evaluate(z)
            w = abs(x)[10:-10] + y[10:-10]
            np.evaluate(w)
    assert looked and all(looked)
    expected = a * b
    expected[1:-1] = a[2:] - b[2:]
    assert numpy.asarray(z).tobytes() == expected.tobytes()
    assert numpy.asarray(w).tobytes() == (abs(a) + b)[10:-10].tobytes()


def test_recipes_and_plans_of_other_arrays() -> None:
    for seed in range(3):
        rng = numpy.random.default_rng(seed)
        a, b = rng.uniform(-2, 2, (2, N))
        x, y = np.array(a), np.array(b)
        assert numpy.asarray(x * y + 1).tobytes() == (a * b + 1).tobytes()
    assert recipes._recipes
