"""Plans of structures that were met with other extents: groups stay where they were, and each is checked."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import planning
from lazyarr.counters import COUNT

RNG = numpy.random.default_rng(3)


@pytest.fixture(autouse=True)
def forced() -> Any:
    with lazyarr.options(jit="always"):
        yield


def draw(*shape: int) -> Any:
    return RNG.uniform(0.5, 2.0, shape)


def sums(np: Any, x: Any) -> Any:
    return (x * x).sum(axis=1), (x + 1).mean(axis=0)


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def shrinking(np: Any, x: Any) -> Any:
    return x[: len(x) - 3, 1:] * 2 - x[3:, :-1]


def stencil(np: Any, x: Any) -> Any:
    for _ in range(3):
        x[1:-1, 1:-1] = (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]) * 0.25
    return x


def broadcasts(np: Any, x: Any) -> Any:
    return ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)


def turned(np: Any, x: Any) -> Any:
    return (x.T + 1) * 2 + x.T[:, ::-1], (x + 1).ravel() * 2


def running(np: Any, x: Any) -> Any:
    return np.cumsum(x * 2, axis=0) / (x + 1)


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    sums, softmax, shrinking, stencil, broadcasts, turned, running
]  # fmt: skip


def check(program: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> None:
    real = draw(*shape)
    x = lazyarr.array(real)
    lazyarr.evaluate(x)
    got, want = program(lazyarr, x), program(numpy, real)
    got, want = (found if isinstance(found, tuple) else (found,) for found in (got, want))
    lazyarr.evaluate(*got)
    for g, w in zip(got, want, strict=True):
        g = numpy.asarray(g)
        assert (g.shape, g.strides, g.tobytes()) == (w.shape, w.strides, w.tobytes())


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_partition_for_many_shapes(program: Any) -> None:
    for n in (40, 41):
        check(program, (n, n + 2))
    plans, compiles, again = COUNT.plans, COUNT.compiles + COUNT.disk_hits, COUNT.reshaped
    for n in range(42, 62):
        check(program, (n, n + int(RNG.integers(2, 9))))
    assert COUNT.compiles + COUNT.disk_hits == compiles
    assert COUNT.plans - plans <= 1             # (beyond a number of elements from which on more is asked)
    assert COUNT.reshaped - again >= 19


def test_bodies_are_shared_by_plans_of_other_extents() -> None:
    """Loads that are one in one shape are not so in all: such a body is another one."""

    def program(np: Any, x: Any, k: int) -> Any:
        return x[:9] * 2 + x[k : k + 9] * 3 + x[:9].sum()

    for k in (1, 2, 0, 3, 0, 4):
        real = draw(20)
        x = lazyarr.array(real)
        assert numpy.asarray(program(lazyarr, x, k)).tobytes() == program(numpy, real, k).tobytes()


def test_what_cannot_be_where_it_was_is_planned_anew(monkeypatch: Any) -> None:
    """An outline that does not hold is no outline."""

    def program(np: Any, x: Any) -> Any:
        return (x * 2).sum(axis=1), (x + 1) * 3

    check(program, (8, 9))
    key = next(reversed(planning._outlines))
    known = planning._outlines[key]
    wrong = known._replace(places=tuple(0 for _ in known.places), look_back=known.look_back)
    for places in (wrong.places, tuple(-1 - k for k, _ in enumerate(known.places)), known.places[::-1]):
        monkeypatch.setitem(planning._outlines, key, known._replace(places=places))
        check(program, (int(RNG.integers(20, 900)), 31))


def test_what_the_program_says_of_the_collector_meanwhile_stays(monkeypatch: Any) -> None:
    """Another thread may switch it off, or set its thresholds, while a plan is made."""
    real, threshold = planning._made, gc.get_threshold()
    found = []
    try:
        for k, says in enumerate((gc.disable, gc.enable, lambda: gc.set_threshold(123))):
            monkeypatch.setattr(planning, "_made", lambda *args, says=says: says() or real(*args))
            planning.forget()
            lazyarr.evaluate(lazyarr.array(draw(5, 47 + k)).sum(axis=1) * 2)
            found.append((gc.isenabled(), gc.get_threshold()[0]))
    finally:
        gc.enable()
        gc.set_threshold(*threshold)
    assert found == [(False, threshold[0]), (True, threshold[0]), (True, 123)]


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_rests_while_a_plan_is_made(on: bool, monkeypatch: Any) -> None:
    """And is as the program had it afterwards, even after an error."""
    seen = []
    real = planning._made
    monkeypatch.setattr(planning, "_made", lambda *args: seen.append(gc.get_threshold()[0]) or real(*args))
    before, threshold = gc.isenabled(), gc.get_threshold()
    (gc.enable if on else gc.disable)()
    try:
        check(sums, (40 + on, 41))
        assert seen == [0] * len(seen) and seen
        assert gc.isenabled() is on and gc.get_threshold() == threshold
        monkeypatch.setattr(planning, "_made", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            lazyarr.evaluate(lazyarr.array(draw(5, 43)).sum(axis=1) * 2)
        assert gc.isenabled() is on and gc.get_threshold() == threshold
    finally:
        (gc.enable if before else gc.disable)()
