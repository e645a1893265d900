"""Launches of large replays met before (`compiling.bound`): NumPy's bits, flags and numbers of each call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.compiling.large import Large

SHAPE = (600, 1000)
Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with np.options(jit="always", plan="always"):
        yield


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Large]:
    """The replays that are made meanwhile."""
    found: list[Large] = []
    begin = Large.__init__

    def noted(self: Large, trace: Any) -> None:
        begin(self, trace)
        found.append(self)

    monkeypatch.setattr(Large, "__init__", noted)
    return found


def one(np: Any, x: Any, y: Any, k: float) -> Any:
    return x * k + y


def rows(np: Any, x: Any, y: Any, k: float) -> Any:
    z = x - x.max(axis=1, keepdims=True) * k
    return z / (1 + (z * z).sum(axis=1, keepdims=True)) + y


def folded(np: Any, x: Any, y: Any, k: float) -> Any:
    """Row blocks that store nothing but a number for each row."""
    return (x * k + y).std(axis=1)


def several(np: Any, x: Any, y: Any, k: float) -> Any:
    return x / k, (x - y).sum(axis=0), np.where(x > k, x, y)


def again(np: Any, x: Any, y: Any, k: float) -> Any:
    z = np.sqrt(abs(x) + k)
    return z.T.copy() + (z + y).T


def drawn(seed: int) -> list[numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    return [random.uniform(-2, 2, SHAPE) for _ in range(2)]


def same(found: Any, wanted: Any) -> None:
    each = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    assert all(numpy.asarray(x).tobytes() == numpy.asarray(y).tobytes() for x, y in each)


@pytest.mark.parametrize("program", [one, rows, folded, several, again])
@pytest.mark.parametrize("threads", [1, 2])
def test_bits_of_numpy(program: Program, threads: int, made: list[Large]) -> None:
    """Whatever arrays and numbers a call gives, whether results' pages are warm, or held elsewhere."""
    f, held = np.compile(lambda x, y, k: program(np, x, y, k)), list[Any]()
    with np.options(num_threads=threads):
        for seed in range(8):
            x, y = drawn(seed)
            found = f(np.array(x), np.array(y), 0.5 + seed)
            if seed % 3:
                held.append(found)
            same(found, program(numpy, x, y, 0.5 + seed))
    (replay,) = made
    assert replay.known and {key[0] for key in replay.known} == {id(each) for each in replay.launches}


def test_a_launch_met_before_raises_what_it_did(made: list[Large]) -> None:
    f = np.compile(lambda x, y, k: one(np, x, y, k))
    x, y = drawn(3)
    for _ in range(4):
        f(np.array(x), np.array(y), 2.0)
    assert made[0].known
    x[7, 7] = 1e308
    with pytest.warns(RuntimeWarning, match="overflow"):
        found = f(np.array(x), np.array(y), 3.0)
    with numpy.errstate(over="ignore"):
        same(found, one(numpy, x, y, 3.0))
    with warnings.catch_warnings(), numpy.errstate(over="ignore"):
        warnings.simplefilter("error")
        same(f(np.array(x), np.array(y), 3.0), one(numpy, x, y, 3.0))
