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

    def folded(x: Any, y: Any) -> Any:
        out = np.zeros((1, *x.shape[1:]), x.dtype)
        np.sum(y, 0, None, out, True)
        return x - out

    return [
        operator.add, operator.sub, operator.mul, np.maximum, np.arctan2, lambda x, y: np.where(x > y, x, y),
        lambda x, y: x - y.mean(axis=0), lambda x, y: x / (abs(y) + 1), lambda x, y: x[::-1] + y,
        lambda x, y: np.exp(-abs(x)) + y, lambda x, y: x + y.sum(), lambda x, y: np.sqrt(abs(x)) * y.max(),
        lambda x, y: np.concatenate([x[:2], y[2:]]), lambda x, y: np.clip(x, -1, 1) + y.astype(np.float32),
        lambda x, y: (x * y).cumsum(axis=0) * 0 + x, lambda x, y: x * (y > 1).any(-1, None, None, True),
        lambda x, y: x * (x > y).all() + y.max(0), lambda x, y: x + y.std(0, None, None, 1),
        lambda x, y: (x + np.any(x > 2.5)) * (y > -9).all(), folded, assign, add_row, into, update,
    ]  # fmt: skip


def arguments(rng: numpy.random.Generator, shape: tuple[int, ...], how: str) -> list[Any]:
    """Two arrays that lie apart, or share memory."""
    base = rng.standard_normal((shape[0] + 1, *shape[1:]))
    if how == "overlap":
        return [base[1:], base[:-1]]
    return [base[1:], base[1:] if how == "same" else rng.standard_normal(shape)]


def picked(rng: numpy.random.Generator, steps: int, length: int) -> list[tuple[int, int, int]]:
    """Which steps, of which values; few of those that write."""
    picks = [
        (int(rng.integers(steps)), int(rng.integers(4 + k)), int(rng.integers(4 + k))) for k in range(length)
    ]
    return [(op if op < steps - 5 or rng.random() < 0.5 else 0, i, j) for op, i, j in picks]


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_of_changing_lengths(seed: int) -> None:
    """Lengths that vary, one of several, that are one by accident; short ones and long ones."""
    rng = numpy.random.default_rng([seed, 77])
    ours, theirs = tables(lazyarr), tables(numpy)
    picks = picked(rng, len(ours), int(rng.integers(1, 8)))
    compiled = lazyarr.compile(machine(tuple([(ours[op], i, j) for op, i, j in picks])))
    plain = machine(tuple([(theirs[op], i, j) for op, i, j in picks]))
    shapes: list[tuple[int, ...]]
    if seed % 3 == 0:
        shapes = [(int(n),) for n in rng.integers(3, 60, 12)]
    elif seed % 3 == 1:
        shapes = [(int(n), 6) for n in rng.integers(3, 12, 12)]
    else:
        shapes = [(int(n), int(m)) for n, m in rng.integers(3, 9, (12, 2))]
    for shape in shapes:
        a, given = float(rng.standard_normal()), arguments(rng, shape, "apart")
        for _ in range(2):
            args, want_args = ([x.copy() for x in given] for _ in range(2))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want, got = plain(*want_args, a), compiled(*args, a)
                assert bits(got) == bits(want), (picks, shape, compiled.explain())
                assert bits(args) == bits(want_args), (picks, shape, compiled.explain())


def test_most_random_programs_have_one_trace_for_all_lengths() -> None:
    before = counters()["instances"]
    for seed in range(9):
        test_random_programs_of_changing_lengths(seed)
    assert counters()["instances"] - before > 30


@pytest.mark.parametrize("shape", [(9,), (5, 6), (64, 700)])
@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int, shape: tuple[int, ...]) -> None:
    rng = numpy.random.default_rng([seed, *shape])
    ours, theirs = tables(lazyarr), tables(numpy)
    length = int(rng.integers(2, 12))
    picks = picked(rng, len(ours), length)
    compiled = lazyarr.compile(machine(tuple([(ours[op], i, j) for op, i, j in picks])))
    plain = machine(tuple([(theirs[op], i, j) for op, i, j in picks]))
    layouts = ["C", "F", "strided", "reversed"]
    for k, how in enumerate(["apart"] * 6 + ["overlap", "same", "apart"]):
        layout = layouts[k % 6 // 3 + seed % 2]
        a, state = float(rng.standard_normal()), rng.bit_generator.state
        want_args = arguments(rng, shape, how)
        rng.bit_generator.state = state
        args = arguments(rng, shape, how)
        if how == "apart":
            want_args, args = ([laid_out(x, layout) for x in each] for each in (want_args, args))
        if seed % 3:
            args = [lazyarr.asarray(args[0]), lazyarr.asarray(args[1] if how != "same" else args[0])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            readers = [args[0] * 2 + 1, args[1][::-1].copy(), args[0] - args[1]]
            before = [want_args[0] * 2 + 1, want_args[1][::-1].copy(), want_args[0] - want_args[1]]
            want, got = plain(*want_args, a), compiled(*args, a)
            assert bits(got) == bits(want), (picks, layout, how, compiled.explain())
            assert bits(args) == bits(want_args), (picks, layout, how, compiled.explain())
            assert bits(readers) == bits(before), (picks, layout, how, compiled.explain())


def test_most_random_programs_are_replayed() -> None:
    before = counters()["traced_calls"]
    for seed in range(8):
        test_random_programs(seed, (5, 6))
    assert counters()["traced_calls"] - before > 12
