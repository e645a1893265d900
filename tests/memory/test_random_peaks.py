"""Random programs of what joins, moves and writes arrays: an evaluation holds no more than NumPy would.

Of each evaluation three figures, besides what existed before it: what was predicted, what the allocator said,
and what NumPy would hold computing operation by operation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import buffers, config, engine
from lazyarr.debug import Explanation, watch

SHAPE = (500, 1000)
SLACK = 1 << 20
SEEDS = 60

Tree = Callable[[], Any]


def _joined(np: Any, rng: random.Random, tree: Tree) -> Any:
    axis, n = rng.choice([0, 1]), rng.choice([1, 200, 499])
    a, b = tree(), tree()
    return np.concatenate([a[:n], b[n:]]) if axis == 0 else np.concatenate([a[:, :n], b[:, n:]], 1)


def _padded(np: Any, rng: random.Random, tree: Tree) -> Any:
    return np.pad(tree()[1:-1, 1:-1], 1, mode=rng.choice(["constant", "edge"]))


def _in_place(np: Any, rng: random.Random, tree: Tree) -> Any:
    a = tree() * 1.0
    a += tree()
    return a


def _part(np: Any, rng: random.Random, tree: Tree) -> Any:
    a = tree() * 1.0
    a[1:-1] = tree()[:-2]
    return a


def _masked(np: Any, rng: random.Random, tree: Tree) -> Any:
    a = tree() * 1.0
    a[a > 0] = 0.5
    return a


def _turned(np: Any, rng: random.Random, tree: Tree) -> Any:
    a = tree()
    return a[::-1] + a


KINDS: tuple[Callable[[Any, random.Random, Tree], Any], ...] = (
    lambda np, rng, tree: tree() + tree(),
    lambda np, rng, tree: tree() + tree(),
    lambda np, rng, tree: tree() * tree() * 0.5,
    lambda np, rng, tree: np.roll(tree(), rng.choice([1, -1, 300]), 0),
    lambda np, rng, tree: np.roll(tree(), rng.choice([1, -1, 300]), 1),
    lambda np, rng, tree: np.where(tree() > 0, tree(), tree()),
    lambda np, rng, tree: np.clip(tree(), -1, 1),
    _joined, _padded, _in_place, _part, _masked, _turned,
)  # fmt: skip


def program(np: Any, seed: int, x: Any, y: Any) -> Any:
    """A tree of operations, perhaps some steps of them, each on the result of the one before."""
    rng = random.Random(seed)

    def grown(depth: int) -> Any:
        if not depth:
            return rng.choice([x, y])
        return rng.choice(KINDS)(np, rng, lambda: grown(depth - 1))

    depth = rng.choice([2, 3, 3, 4])
    for _ in range(rng.choice([1, 1, 2, 3])):
        x = grown(depth)
        depth = max(1, depth - 1)
    return x


Held = list[tuple[int, int, int, Explanation]]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """For each evaluation the bytes that it held more than before: predicted, measured, NumPy's."""
    found: Held = []
    told: list[Explanation] = []
    monkeypatch.setattr(watch, "LISTENERS", [told.append])
    monkeypatch.setattr(config, "OBSERVED", config.OBSERVED)
    config.OBSERVED.append("test")
    run = engine.run
    allocator: Any = buffers._allocator

    def measured(*args: Any) -> None:
        before = buffers.usage().live
        allocator.peak = before
        run(*args)
        last = told[-1]
        predicted, eager = (n - last.input_bytes for n in (last.peak_bytes, last.eager_peak_bytes))
        found.append((predicted, allocator.peak - before, eager, last))

    monkeypatch.setattr(engine, "run", measured)
    yield found
    config.OBSERVED.remove("test")


@pytest.mark.skipif(buffers._allocator is None, reason="no allocator of its own")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_an_evaluation_holds_no_more_than_numpy(seed: int, held: Held) -> None:
    rng = numpy.random.default_rng(seed)
    given = [rng.standard_normal(SHAPE) for _ in range(2)]
    expected = program(numpy, seed, *(a.copy() for a in given))
    with lazyarr.options(jit="always"):
        x, y = map(lazyarr.array, given)
        lazyarr.evaluate(x, y)
        held.clear()
        result = program(lazyarr, seed, x, y)
        lazyarr.evaluate(result)
    assert held or result is x or result is y
    for predicted, measured, eager, told in held:
        assert predicted <= eager + SLACK, told
        assert measured <= predicted + SLACK, told
    assert numpy.array_equal(numpy.asarray(result), expected)
