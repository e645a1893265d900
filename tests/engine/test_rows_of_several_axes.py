"""Rows of arrays with three axes and more: rows lie along several axes as along one, or side by side.

The cache is taken to be small: positions along the first axis alone would not stay in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import plan, planning, row_room
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain
from lazyarr.fusion.touches import Flat, flats

RNG = numpy.random.default_rng(41)
BATCH, HEADS = RNG.standard_normal((6, 50, 90)), RNG.standard_normal((3, 4, 20, 90))


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 17)
    monkeypatch.setattr(plan, "RUNS_EACH", 3)           # (runs have several blocks, the last one fewer)
    monkeypatch.setattr(row_room, "share_bytes", lambda: 0)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(np: Any, x: Any) -> Any:
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def normalised(np: Any, x: Any) -> Any:
    return x / (x * x).sum(-1)[..., None]


def entropy(np: Any, x: Any) -> Any:
    z = x - x.max(-1, keepdims=True)
    return np.log(np.exp(z).sum(-1)) - z[..., 0]


def shares(np: Any, x: Any) -> Any:
    return np.cumsum(x / np.abs(x).sum(-1, keepdims=True), axis=-1)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": softmax, "layer norm": layer_norm, "normalised": normalised, "entropy": entropy,
    "shares": shares,
}  # fmt: skip


def told(program: Callable[[Any, Any], Any], x: numpy.ndarray) -> Any:
    """What is said of the plan, after its one launch gave NumPy's bits."""
    lazy = lazyarr.array(x)
    lazyarr.evaluate(lazy)
    found = program(lazyarr, lazy)
    said = explain(found)
    reset()
    lazyarr.evaluate(found)
    assert COUNT.native_launches == 1 and COUNT.numpy_fallbacks == 0
    want = program(numpy, x)
    assert numpy.asarray(found).tobytes() == want.tobytes() and found.strides == want.strides
    return said


ARRAYS = {"batch": BATCH, "heads": HEADS, "single": BATCH.astype("f"), "turned round": BATCH[:, :, ::-1]}


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_read_once(name: str, x: numpy.ndarray) -> None:
    said = told(PROGRAMS[name], x)
    assert said.bytes_moved < 1.02 * said.bytes_least
    assert f"of {x[..., 0].size} along axes 0 to {x.ndim - 2}" in said


SIDE_BY_SIDE: dict[str, Callable[[Any, Any], Any]] = {
    "masked": lambda np, x: softmax(np, np.where(x[0] > -1, x, -1e9)),
    "positions": lambda np, x: layer_norm(np, x + x[0] * 2),
    "transposed": lambda np, x: softmax(np, x.transpose(1, 0, 2)),
    "a part": lambda np, x: softmax(np, x[:, 2:-3]),
    "turned round": lambda np, x: softmax(np, x[::-1]),
}


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_rows_that_are_no_axis_of_all(name: str) -> None:
    """Where some operands lie otherwise, rows lie along an inner axis: pieces side by side, not elements."""
    said = told(SIDE_BY_SIDE[name], BATCH)
    assert said.bytes_moved < 1.1 * said.bytes_least and "in row blocks" in said


def random_program(np: Any, inputs: list[Any], seed: int) -> list[Any]:
    rng = numpy.random.default_rng(seed)
    big, small, ndim = list(inputs), list[Any](), inputs[0].ndim

    def pick(some: list[Any]) -> Any:
        return some[int(rng.integers(len(some)))]

    for _ in range(int(rng.integers(3, 9))):
        x, kind = pick(big), int(rng.integers(7))
        axes = tuple(int(d) for d in numpy.flatnonzero(rng.random(ndim) < 0.4)) or (ndim - 1,)
        if kind < 3:
            small.append([x.sum, x.max, x.mean][kind](axis=axes, keepdims=True))
        elif kind == 3 and small:
            big.append([x - pick(small), np.abs(x) * pick(small)][int(rng.integers(2))])
        elif kind == 4:
            big.append(pick([x[::-1], x[..., ::-1], x.copy(), x + pick(big)]) * 2)
        elif kind == 5:
            big.append(pick([x * x[:1], x + x[:, :1]]))
        elif kind == 6 and small:
            x *= 1.5
            x -= pick(small)
        if rng.random() < 0.3 and len(big) > 1:
            del big[int(rng.integers(len(big)))]
    return [*big, *small]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, [9, 12, 30, 30][: int(rng.integers(3, 5))]))
    arrays = [rng.standard_normal(shape), rng.standard_normal(shape[1::-1] + shape[2:]).swapaxes(0, 1)]
    with numpy.errstate(all="ignore"):
        lazy = [lazyarr.array(x) for x in arrays]
        lazyarr.evaluate(*lazy)
        mine = random_program(lazyarr, lazy, seed)
        theirs = random_program(numpy, [x.copy("K") for x in arrays], seed)
        lazyarr.evaluate(*mine)
    for a, b in zip(mine, theirs, strict=True):
        assert numpy.nan_to_num(numpy.asarray(a)).tobytes() == numpy.nan_to_num(b).tobytes()


def test_axes_as_one() -> None:
    shape, dense = (4, 5, 1, 6), (240, 48, 48, 8)
    assert flats(shape, [0, 1], [dense]) == [Flat(1, (1, 20, 1, 6))]
    found = [f.shape for f in flats(shape, [0, 1, 3], [dense])]
    assert found == [(1, 20, 1, 6), (1, 1, 1, 120), (4, 1, 1, 30)]
    assert flats(shape, [0, 1], [dense, (0, 0, 0, 8)]) == [Flat(1, (1, 20, 1, 6))]
    assert not flats(shape, [0, 1], [dense, (0, 8, 0, 0)])      # one of them repeats it
    assert not flats(shape, [0, 3], [dense])                    # what is between is folded
    assert not flats(shape, [0, 1], [(-240, 48, 48, 8)])
