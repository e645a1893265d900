"""Arrays in sequences that are no plain lists or tuples: deques, named tuples, a program's own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest

import lazyarr as np
from lazyarr import array_api as xp


class Pair(NamedTuple):
    low: Any
    high: Any


class Rows(list[Any]):
    pass


class Sequence:
    """What NumPy takes for one, too."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, k: int) -> Any:
        return self.items[k]


KINDS: dict[str, Callable[..., Any]] = {
    "deque": lambda *x: deque(x), "named tuple": Pair, "list's": lambda *x: Rows(x), "own": Sequence,
}  # fmt: skip
JOINS = ("stack", "concatenate", "vstack", "hstack", "dstack", "column_stack")
TAKES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "choose": lambda np, x, of: np.choose((x > 0.5) * 1, of(x, x + 1)),
    "select": lambda np, x, of: np.select(of(x > 0.5, x > 0.2), of(x, -x), 3),
    "lexsort": lambda np, x, of: np.lexsort(of(x, x % 0.1)),
    "multi_dot": lambda np, x, of: np.linalg.multi_dot(of(x.reshape(2, -1), x.reshape(-1, 2))),
    "array": lambda np, x, of: np.array(of(x, x + 1)),
    "sum": lambda np, x, of: np.sum(of(x, x + 1), axis=0),
    "reduce": lambda np, x, of: np.maximum.reduce(of(x, x[::-1])),
    "add": lambda np, x, of: x[:2] + of(1.0, 2.0),
    "by name": lambda np, x, of: np.stack(arrays=of(x, x), axis=-1),
}


def values(n: int) -> tuple[Any, numpy.ndarray]:
    a = numpy.random.default_rng(n).random(n)
    return np.array(a) * 2, a * 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("n", [4, 100_000])
def test_joins(join: str, kind: str, n: int) -> None:
    x, a = values(n)
    found, wanted = (getattr(m, join)(KINDS[kind](v, v + 1)) for m, v in ((np, x), (numpy, a)))
    assert type(found) is np.ndarray and found.shape == wanted.shape
    assert n < 1000 or not np.is_evaluated(found)
    assert numpy.asarray(found).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "own"])
@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("n", [4, 100_000])
def test_arguments(name: str, kind: str, n: int) -> None:
    x, a = values(n)
    found, wanted = (TAKES[name](m, v, KINDS[kind]) for m, v in ((np, x), (numpy, a)))
    assert numpy.asarray(found).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("join", ["stack", "concat"])
def test_of_the_standard(join: str, kind: str) -> None:
    x = xp.asarray([1.0, 2.0])
    found = getattr(xp, join)(KINDS[kind](x, x + 1))
    assert type(found) is type(x)
    assert numpy.asarray(found).tolist() == getattr(numpy, join)([[1.0, 2.0], [2.0, 3.0]]).tolist()


def test_numpys_refusals() -> None:
    x, _ = values(100_000)
    for refused in ({1: x}.values(), iter([x])):
        with pytest.raises(TypeError):
            np.stack(refused)
