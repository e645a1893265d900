"""Random programs: a compiled function does, step by step, what a table says; NumPy does the same."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.debug import counters
from tests.compiling.test_against_numpy import bits, laid_out

Step = tuple[Callable[..., Any], int, int]


def machine(steps: tuple[Step, ...]) -> Callable[..., Any]:
    """A function of two arrays and a number that runs the steps on a list of values."""

    def run(x: Any, y: Any, a: float) -> Any:
        values = [x, y, x * a, y + a]
        for fn, i, j in steps:
            values.append(fn(values[i], values[j]))
        return values[-1], values[-2] + 1, values[2] * 1

    return run


def tables(np: Any) -> list[Callable[..., Any]]:
    """Steps that keep the shape."""

    def assign(x: Any, y: Any) -> Any:
        x[1:-1] = y[2:]
        return x

    def add_row(x: Any, y: Any) -> Any:
        x[0] += y[-1]
        return x * 1

    def into(x: Any, y: Any) -> Any:
        np.subtract(x, y, out=x[::-1])
        return x

    def update(x: Any, y: Any) -> Any:
        x -= y
        return x

    return [
        operator.add, operator.sub, operator.mul, np.maximum, np.arctan2, lambda x, y: np.where(x > y, x, y),
        lambda x, y: x - y.mean(axis=0), lambda x, y: x / (abs(y) + 1), lambda x, y: x[::-1] + y,
        lambda x, y: np.exp(-abs(x)) + y, lambda x, y: x + y.sum(), lambda x, y: np.sqrt(abs(x)) * y.max(),
        lambda x, y: np.concatenate([x[:2], y[2:]]), lambda x, y: np.clip(x, -1, 1) + y.astype(np.float32),
        lambda x, y: (x * y).cumsum(axis=0) * 0 + x, assign, add_row, into, update,
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [(9,), (5, 6), (64, 700)])
@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int, shape: tuple[int, ...]) -> None:
    rng = numpy.random.default_rng([seed, *shape])
    ours, theirs = tables(lazyarr), tables(numpy)
    length = int(rng.integers(2, 12))
    picks = [
        (int(rng.integers(len(ours))), int(rng.integers(4 + k)), int(rng.integers(4 + k)))
        for k in range(length)
    ]
    picks = [(op if op < len(ours) - 5 or rng.random() < 0.5 else 0, i, j) for op, i, j in picks]
    compiled = lazyarr.compile(machine(tuple([(ours[op], i, j) for op, i, j in picks])))
    plain = machine(tuple([(theirs[op], i, j) for op, i, j in picks]))
    layouts = ["C", "F", "strided", "reversed"]
    for k in range(6):
        layout = layouts[k // 3 + seed % 2]
        given = [rng.standard_normal(shape), rng.standard_normal(shape), float(rng.standard_normal())]
        want_args, args = ([laid_out(x, layout) for x in given] for _ in range(2))
        if seed % 3:
            args = [*map(lazyarr.asarray, args[:2]), args[2]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want, got = plain(*want_args), compiled(*args)
        assert bits(got) == bits(want), (picks, layout, compiled.explain())
        assert bits(args) == bits(want_args), (picks, layout, compiled.explain())


def test_most_random_programs_are_replayed() -> None:
    before = counters()["traced_calls"]
    for seed in range(8):
        test_random_programs(seed, (5, 6))
    assert counters()["traced_calls"] - before > 12
