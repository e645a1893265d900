"""Threads that let go of values while their evaluation is prepared, simulated: at each step, at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import engine

N = 40_000
"""Large enough that a value may pay to be computed again."""

LINES: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda np, a, b, row: a * 2 + b,
    lambda np, a, b, row: a - a.mean(),
    lambda np, a, b, row: (a - row) ** 2,
    lambda np, a, b, row: np.where(a > b, a, b * 0.25),
    lambda np, a, b, row: np.cumsum(a) * 1e-3,
    lambda np, a, b, row: np.concatenate([a[: N // 2], b[N // 2 :]]) * 0.5,
    lambda np, a, b, row: row.__iadd__(a),
    lambda np, a, b, row: row.__setitem__(..., a * 1.5),
    lambda np, a, b, row: row.__setitem__(slice(1, None), a[:-1] + row[:-1]),
    lambda np, a, b, row: float((row - b).sum()),
]


def program(np: Any, seed: int, passing: list[Any]) -> list[Any]:
    """What stays of some lines; other values are `passing`, and may go at any time."""
    chance = random.Random(seed)
    base, rows = np.arange(float(N)) * 2 + 1, np.zeros((3, N))
    values, told = [base, base[::-1] * 0.5], []
    for _ in range(chance.randrange(4, 24)):
        a, b, row = chance.choice(values), chance.choice(values), rows[chance.randrange(3)]
        made = chance.choice(LINES)(np, a, b, row)
        if isinstance(made, float):
            told.append(made)
        elif made is not None:
            (values if chance.random() < 0.4 else passing).append(made)
    return [told, *(numpy.asarray(x).tobytes() for x in (rows, *values))]


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Values that nobody holds but this list, which loses some of them between any two steps."""
    held: list[Any] = []
    chance = random.Random(3)

    def losing(step: Callable[..., Any]) -> Callable[..., Any]:
        def late(*args: Any) -> Any:
            held[:] = [x for x in held if chance.random() < 0.6]
            return step(*args)

        return late

    for step in ("walk", "plan_if", "_run"):
        monkeypatch.setattr(engine, step, losing(getattr(engine, step)))
    with lazyarr.options(jit="always"):
        yield held


@pytest.mark.parametrize("seed", range(48))
def test_results(seed: int, passing: list[Any]) -> None:
    assert program(lazyarr, seed, passing) == program(numpy, seed, [])
