"""Loops whose pending graph grows too large are cut in the same place again, so that few plans serve them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import cuts, engine, planning
from lazyarr.counters import COUNT


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    planning.forget()
    cuts.forget()
    with np.options(jit="always"):
        yield


def life(np: Any, x: Any) -> Any:
    """One generation: 42 nodes, which divide no bound."""
    around = [np.roll(np.roll(x, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    n = sum(around)
    return ((n == 3) | ((x == 1) & (n == 2))).astype(int)


def smooth(np: Any, x: Any) -> Any:
    """Seven nodes."""
    y = (x + numpy.float64(0.25)) * 0.5 - x * x * 0.125
    return np.minimum(np.maximum(y, -1.0), 1.0)


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], int, int]] = {
    "life": (life, 100, 4),
    "smooth": (smooth, 300, 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_plans_serve_a_loop(name: str) -> None:
    program, times, most = PROGRAMS[name]
    real = numpy.random.default_rng(1).integers(0, 2, (60, 70))
    real = real if name == "life" else real.astype(float) * 0.3
    x, before, bound = np.array(real), COUNT.plans, COUNT.node_bound
    for _ in range(times):
        x, real = program(np, x), program(numpy, real)
    numpy.testing.assert_array_equal(numpy.asarray(x), real)
    assert 2 * most < COUNT.node_bound - bound < times
    assert COUNT.plans - before <= most + 1             # (and the last, shorter one)


def test_places_are_bounded() -> None:
    with np.options(pending_nodes=cuts.SELDOM + 10):
        for n in range(2, 2 + 2 * cuts.MOST):
            x = np.ones(n)
            for _ in range(cuts.SELDOM + 20):
                x = np.sqrt(x)
        assert 0 < len(cuts._places) <= cuts.MOST


def test_calls_count_as_what_they_are_made_of() -> None:
    """`std` is one node until it is planned, of seven."""
    x, sizes = np.array(numpy.random.default_rng(2).random((300, 40))), list[int]()
    walk = engine.walk
    with pytest.MonkeyPatch.context() as patch, np.options(pending_nodes=100):
        patch.setattr(engine, "walk", lambda nodes, *a: sizes.append(len(nodes)) or walk(nodes, *a))
        y = x
        for _ in range(120):
            y = (y + 1).std(axis=1, keepdims=True) + x
        np.evaluate(y)
    assert sizes and max(sizes) < 150


def sweep(np: Any, x: Any, weight: float) -> None:
    x[1:-1, 1:-1] = weight * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])


def evaluations(x: Any, weight: float, sweeps: int) -> int:
    before = COUNT.node_bound
    for _ in range(sweeps):
        sweep(np, x, weight)
    return COUNT.node_bound - before


@pytest.mark.parametrize("jit", ["always", "auto"])
def test_a_loop_that_goes_on_is_cut_less_often(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "LASTING", 4)
    real = numpy.random.default_rng(3).random((600, 600))
    with np.options(jit=jit):
        x = np.array(real)
        first = evaluations(x, 0.25, 60)
        later = evaluations(x, 0.25, 240)
        assert cuts.SHARED.value == cuts.LASTING_DEPTH
        assert first >= 3 and later <= 240 * first / 60 / 2
        np.evaluate(x)
        y = np.array(real.astype("f"))          # (another loop goes on as this one began)
        assert evaluations(y, 0.25, 120) > 1
        assert cuts.SHARED.value == cuts.SHARED_DEPTH
    for _ in range(300):
        sweep(numpy, real, 0.25)
    assert numpy.asarray(x).tobytes() == real.tobytes()


def test_no_more_than_twice_as_many_wait_as_the_option_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "LASTING", 1)
    x = np.array(numpy.random.default_rng(3).random((60, 60)))
    with np.options(pending_nodes=120):
        evaluations(x, 0.25, 200)
        assert cuts.SHARED.value == cuts.LASTING_DEPTH
        assert x.storage.value.depth <= 240


def chain(x: Any, steps: int) -> int:
    """So many steps of two nodes, each of which reads the last one once."""
    before = COUNT.node_bound
    for _ in range(steps):
        x = x * 0.5 + 0.1
    return COUNT.node_bound - before


@pytest.mark.parametrize("pending", [cuts.SHARED_DEPTH, cuts.LASTING_DEPTH])
def test_chains_that_share_nothing_are_no_such_loops(pending: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many may wait."""
    monkeypatch.setattr(cuts, "LASTING", 2)
    with np.options(pending_nodes=pending):
        assert chain(np.ones((300, 300)), 4 * pending) > 3
    assert not cuts._loop.times and cuts.SHARED.value == cuts.SHARED_DEPTH


@pytest.mark.parametrize("pending", [7, cuts.SELDOM + 10, cuts.SHARED_DEPTH, 200])
def test_a_loop_goes_on_beside_chains_that_are_cut(pending: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside sweeps of which the option has fewer wait."""
    monkeypatch.setattr(cuts, "LASTING", 2)
    x, y = (np.array(numpy.random.default_rng(3).random((600, 600))) for _ in range(2))
    evaluations(x, 0.25, 120)
    assert cuts.SHARED.value == cuts.LASTING_DEPTH
    with np.options(pending_nodes=pending):
        assert chain(np.ones((300, 300)), 150)
        if pending < 200:
            assert evaluations(y, 0.5, 120)
    assert cuts.SHARED.value == cuts.LASTING_DEPTH
    # (Some 48 to 59 sweeps wait: whole launches, which are as long as the caches permit.  Else 15 would.)
    assert evaluations(x, 0.25, 120) <= 3


def test_a_loop_goes_on_where_two_threads_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number may never have been just that."""
    monkeypatch.setattr(cuts, "LASTING", 2)
    x = np.array(numpy.random.default_rng(3).random((600, 600)))
    monkeypatch.setattr(cuts._loop, "times", 2)
    evaluations(x, 0.25, 30)                # (the first cut is at a place that is new)
    cuts._loop.times = 2
    evaluations(x, 0.25, 30)
    assert cuts.SHARED.value == cuts.LASTING_DEPTH
