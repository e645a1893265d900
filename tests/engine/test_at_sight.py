"""What comes round again is known at sight, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import at_sight, materialize, ready
from lazyarr.compiler import COMPILER

N = 120_000


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """LLVM is there, and nothing is known at sight."""
    COMPILER.load()
    for known in (at_sight._sights, at_sight._noted):
        known.clear()


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Evaluations for which a key is made."""
    found: list[Any] = []
    materialize._load()
    monkeypatch.setattr(materialize, "_look", lambda roots: found.append(roots) or ready.look(roots))
    return found


def arrays(*dtypes: str) -> list[Any]:
    rng = numpy.random.default_rng(3)
    real = [rng.uniform(-4, 4, N).astype(dtype) for dtype in dtypes]
    return [*map(np.array, real), *real]


def squared(np: Any, a: Any, b: Any) -> Any:
    far = a - b
    far *= far
    return far


PROGRAMS: dict[str, Callable[..., Any]] = {
    "one": lambda np, a, b: a + b,
    "chain": lambda np, a, b: (a * b - 3) / 7 + a,
    "parts": lambda np, a, b: a[1:] * 2 - b[:-1],
    "twice": lambda np, a, b: (a - b) * (a - b) + a,
    "choice": lambda np, a, b: np.where(a > b, a, 2 * b),
    "fold": lambda np, a, b: (a * b).sum(keepdims=True),
    "rows": lambda np, a, b: np.exp(a.reshape(600, 200) - a.reshape(600, 200).max(1, keepdims=True)),
    "decided": lambda np, a, b: (a + b > 100).any(keepdims=True),
    "squared": squared,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_key_is_made_of_what_comes_round(name: str, looked: list[Any]) -> None:
    x, y, a, b = arrays("f8", "f8")
    program = PROGRAMS[name]
    for _ in range(3):
        np.evaluate(program(np, x, y))
    looked.clear()
    found = program(np, x, y)
    np.evaluate(found)
    assert not looked
    assert numpy.asarray(found).tobytes() == program(numpy, a, b).tobytes()


def known(program: Callable[..., Any], *args: Any) -> None:
    for _ in range(3):
        np.evaluate(program(*args))


def test_one_operand_twice_is_not_two() -> None:
    x, y, a, b = arrays("f8", "f8")

    def program(u: Any, v: Any, w: Any) -> Any:
        return (u * v + w) * 2

    for left in (x, y), (x, x), (y, y):
        for w in (x, y):
            known(program, *left, w)
    real = {id(x): a, id(y): b}
    for u in (x, y):
        for v in (x, y):
            for w in (x, y):
                found = program(u, v, w)
                np.evaluate(found)
                expected = program(*[real[id(each)] for each in (u, v, w)])
                assert numpy.asarray(found).tobytes() == expected.tobytes()


def test_one_value_twice_is_not_two_values() -> None:
    x, y, a, b = arrays("f8", "f8")
    known(lambda: (x + y) * (x + y))
    t = x + y
    found = t * t
    np.evaluate(found)
    assert numpy.asarray(found).tobytes() == ((a + b) * (a + b)).tobytes()
    assert numpy.asarray(t).tobytes() == (a + b).tobytes()


def test_what_is_held_is_stored() -> None:
    x, y, a, b = arrays("f8", "f8")
    known(lambda: (x * y) * 2 + x)
    t = x * y
    found = t * 2 + x
    np.evaluate(found)
    assert np.is_evaluated(t)
    assert numpy.asarray(t).tobytes() == (a * b).tobytes()
    assert numpy.asarray(found).tobytes() == (a * b * 2 + a).tobytes()


def test_what_others_read_is_stored() -> None:
    x, y, a, b = arrays("f8", "f8")
    known(lambda: (x * y) * 2 + x)
    t = x * y
    other = t - 1
    found = t * 2 + x
    del t
    np.evaluate(found)
    assert numpy.asarray(found).tobytes() == (a * b * 2 + a).tobytes()
    assert numpy.asarray(other).tobytes() == (a * b - 1).tobytes()


def test_constants_are_of_each_call() -> None:
    x, a = arrays("f8")
    for k in (1, 2.5, 3, -0.0, True):
        found = (x * k - k) * 2
        np.evaluate(found)
        assert numpy.asarray(found).tobytes() == ((a * k - k) * 2).tobytes()


def test_parts_that_lie_elsewhere() -> None:
    x, a = arrays("f8")
    known(lambda: x[1:] * 2 - x[:-1])
    for first, second in ((5, 2), (9, 1)):
        found = x[first:-1] * 2 - x[second : second + N - 1 - first]
        np.evaluate(found)
        expected = a[first:-1] * 2 - a[second : second + N - 1 - first]
        assert numpy.asarray(found).tobytes() == expected.tobytes()


def test_error_states_decide_what_ends_early() -> None:
    x, _ = arrays("f8")
    zero = np.zeros(N)
    np.evaluate(zero)

    def program() -> bool:
        return bool((x / zero > 1).any())

    with numpy.errstate(all="ignore"):
        for _ in range(3):
            assert program()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        program()


def test_other_options_are_other_evaluations() -> None:
    x, y, a, b = arrays("f8", "f8")
    known(lambda: x * y + 1)
    with np.options(math="native"):
        found = x * y + 1
        np.evaluate(found)
    assert numpy.asarray(found).tobytes() == (a * b + 1).tobytes()


def test_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_sight, "MOST", 2)
    x, a = arrays("f8")
    for n in range(4):
        part, real = x[: N - 1000 * n], a[: N - 1000 * n]
        for _ in range(3):
            found = part * 2 + 1
            np.evaluate(found)
            assert numpy.asarray(found).tobytes() == (real * 2 + 1).tobytes()
        assert len(at_sight._sights) <= 2 and len(at_sight._noted) <= 2
