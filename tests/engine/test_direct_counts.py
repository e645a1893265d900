"""What counts as one result of medium size, whoever computes it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT, EAGER
from lazyarr.slot_words import LIMIT, MADE, MOST, UNTIL
from tests.engine import medium
from tests.engine.medium import N, begin, both, in_slots, same

clock, forgotten = medium.clock, medium.forgotten

NARROW = 1000, 1000
"""Elements of one byte: many, but few words."""


def life(np: Any, x: Any) -> Any:
    n = np.zeros(x.shape, x.dtype)
    n[1:-1] = x[2:] + x[:-2]
    return ((n == 3) | ((x == 1) & (n == 2))).astype(x.dtype)


@in_slots
@pytest.mark.parametrize("shape", [(200, 300), NARROW])
def test_small_is_small_by_words(shape: tuple[int, ...]) -> None:
    """Nothing waits for what is small but for the count of its elements; what is of medium size is direct."""
    x, real = both("u1", shape)
    if shape == NARROW:
        begin()
    else:
        assert LIMIT.value == EAGER
    x = life(np, x)
    before, calls = COUNT.nodes_built, list[Any]()
    sys.setprofile(lambda frame, event, _: event == "call" and calls.append(frame.f_code.co_name))
    try:
        for _ in range(3):
            x = life(np, x)
    finally:
        sys.setprofile(None)
    for _ in range(4):
        real = life(numpy, real)
    assert same(x, real) and COUNT.nodes_built == before
    assert not {"again", "elementwise"}.intersection(calls)


LARGE = 300_000

RESULTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + y": lambda np, x, y: x + y,
    "x > y": lambda np, x, y: x > y,
    "x = -y": lambda np, x, y: -y,
    "x += y": lambda np, x, y: x.__iadd__(y),
    "out=": lambda np, x, y: np.multiply(x, y, out=x),
    "sqrt out": lambda np, x, y: np.sqrt(y, x),
    "x[...] = y": lambda np, x, y: x.__setitem__(..., y),
    "x[1:] = y[1:]": lambda np, x, y: x.__setitem__(slice(1, None), y[1:]),
    "round": lambda np, x, y: np.round(x, 2),
    "clip": lambda np, x, y: np.clip(x, 1, 2),
    "diff": lambda np, x, y: np.diff(x),
    "roll": lambda np, x, y: np.roll(x, 1),
    "roll 2": lambda np, x, y: np.roll(x.reshape(-1, 100), (1, 2), (0, 1)),
    "concatenate": lambda np, x, y: np.concatenate([x[:LARGE // 2], y[:LARGE // 2]]),
    "stack": lambda np, x, y: np.stack([x[:LARGE // 2], y[:LARGE // 2]]),
    "pad": lambda np, x, y: np.pad(x.reshape(-1, 100), 1),
    "tile": lambda np, x, y: np.tile(x[: LARGE // 2], 2),
    "repeat": lambda np, x, y: np.repeat(x[:LARGE // 2], 2),
    "outer": lambda np, x, y: np.outer(x[:500], y[:500]),
    "zeros": lambda np, x, y: np.zeros(LARGE),
    "empty": lambda np, x, y: np.empty(LARGE),
    "zeros_like": lambda np, x, y: np.zeros_like(x),
    "arange": lambda np, x, y: np.arange(LARGE),
    "linspace": lambda np, x, y: np.linspace(0, 1, LARGE),
    "copy": lambda np, x, y: x.copy(),
    "astype": lambda np, x, y: x.astype("f4"),
}  # fmt: skip
"""What is one result, whoever computes it: else times of results could not be compared."""

NONE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a scalar": lambda np, x, y: x.__setitem__(slice(None), 2.0),
    "fill": lambda np, x, y: x.fill(2.0),
    "small in place": lambda np, x, y: x[:N].__iadd__(1),
    "small out": lambda np, x, y: np.add(x[:N], y[:N], out=x[:N]),
    "small moved": lambda np, x, y: x[:N].__setitem__(slice(None), y[:N]),
    "fold": lambda np, x, y: y.sum(),
    "view": lambda np, x, y: x[::2].T,
}
"""What is NumPy's in any case, where it exists."""


@pytest.mark.parametrize("name", [*RESULTS, *NONE])
@pytest.mark.parametrize("plain", [False, True])
def test_one_result_is_one(name: str, plain: bool) -> None:
    real = numpy.linspace(1.0, 3.0, LARGE)
    expected, call = name in RESULTS, {**RESULTS, **NONE}[name]
    x, y = np.array(real), np.array(real)
    call(np, x, y)                                  # (what has a name is found once)
    numpy.asarray(x), numpy.asarray(y)
    DIRECT.left = left = 1 << 20
    call(np, x, y)
    assert left - DIRECT.left == expected
    x, y = np.array(real), np.array(real)
    begin()
    x, y = (x + 0, y + 0) if plain else (x, y)
    assert (x.storage is None) == plain
    made = MADE.value
    call(np, x, y)
    assert MADE.value - made == expected


def test_what_is_picked_counts(clock: dict[Any, float]) -> None:
    """By masks and by positions, both ways."""
    x, mask = np.array(numpy.ones(2 * N)), np.array(numpy.arange(2 * N) % 3 > 0)
    positions = np.array(numpy.arange(N))
    for pick in (lambda: x[mask], lambda: x[positions], lambda: np.nonzero(mask)):
        left = DIRECT.left
        for _ in range(3):
            pick()
        assert left - 3 >= DIRECT.left >= left - 6


@in_slots
def test_an_error_of_who_hears_is_the_operators() -> None:
    x, real = both("i8")
    begin()
    x + x

    def interrupted() -> None:
        raise KeyboardInterrupt

    UNTIL.value = MADE.value
    DIRECT._next = interrupted
    with pytest.raises(KeyboardInterrupt):
        x + x
    UNTIL.value = MADE.value + 100
    assert same(x + x, real + real)
    DIRECT.forget()
    assert (LIMIT.value, MOST.value) == (EAGER, 8 * EAGER)
