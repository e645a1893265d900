"""Known calls of NumPy's Python code are one node each, and mean what their nodes mean."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import calls, engine, ready, recalled
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.expr import Expr
from tests.crowd import at_once
from tests.slots.operands import python_calls

SHAPE = 1200, 1000


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """LLVM is there, and nothing was met."""
    COMPILER.load()
    recalled._calls.clear()
    ready._known.clear()
    yield
    recalled._calls.clear()


def array(seed: int = 0, dtype: str = "f8") -> tuple[Any, Any]:
    real = numpy.random.default_rng(seed).uniform(-3, 3, SHAPE).astype(dtype)
    x = np.array(real)
    np.evaluate(x)
    return x, real


def same(lazy: Any, real: Any) -> None:
    found = numpy.asarray(lazy)
    assert (found.dtype, found.shape) == (real.dtype, real.shape)
    assert found.tobytes() == real.tobytes()


def moments(np: Any, x: Any) -> list[Any]:
    return [x.mean(axis=1), x.std(axis=1)]


def normed(np: Any, x: Any) -> list[Any]:
    z = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return [z * 2 + 1]


PROGRAMS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "moments": moments,
    "columns": lambda np, x: [x.mean(axis=0), x.std(axis=0)],
    "normed": normed,
    "below": lambda np, x: [(x * 2 + 1).std(axis=1), x.max(axis=1) - x.min(axis=1)],
    "nested": lambda np, x: [x.std(axis=1, keepdims=True).mean(axis=0)],
    "parts": lambda np, x: [x.std(axis=1)[10:50] * 2, x.mean(axis=0)[::-1]],
    "twice": lambda np, x: [x.var(axis=1) + x.var(axis=1)],
}


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_numpys_each_time(name: str, jit: Any) -> None:
    with np.options(jit=jit):
        for k in range(5):
            x, real = array(k % 2)
            found = PROGRAMS[name](np, x)
            np.evaluate(*found)
            for lazy, expected in zip(found, PROGRAMS[name](numpy, real), strict=True):
                same(lazy, expected)


def known_after(program: Callable[[Any, Any], list[Any]], times: int = 3) -> int:
    """How many of these evaluations did not write out their calls."""
    whole, write = 0, calls.written_out
    for k in range(times):
        x, _ = array(k)
        found = program(np, x)
        with pytest.MonkeyPatch.context() as patch:
            out: list[Any] = []
            patch.setattr(ready, "written_out", lambda node, out=out: out.append(node) or write(node))
            np.evaluate(*found)
        whole += not out
    return whole


@pytest.mark.parametrize("name", ["moments", "normed"])
def test_known_evaluations_make_no_nodes_of_calls(name: str) -> None:
    """The first one runs NumPy's code, the second one writes it out, all others know."""
    assert known_after(PROGRAMS[name], 5) >= 3


def test_few_functions_run() -> None:
    x, _ = array()
    for _ in range(4):
        np.evaluate(*moments(np, x))
    made: list[Any] = []
    assert python_calls(lambda: made.extend(moments(np, x)))[1] <= 50
    assert python_calls(np.evaluate, *made)[1] <= 40        # (31, where memory is warm)
    plans, launches = COUNT.plans, COUNT.native_launches
    np.evaluate(*moments(np, x))
    assert COUNT.plans == plans and COUNT.native_launches == launches + 1


def test_nodes_have_their_place_in_program_order() -> None:
    x, real = array()
    np.evaluate((x * 1).std(axis=1))
    y = x * 1
    first = y.std(axis=1)
    node = first.storage.value
    assert isinstance(node.op, calls.Call)
    y += 1
    serials = [each.serial for each in calls.written_out(node)]
    assert serials == list(range(node.serial - len(serials) + 1, node.serial + 1))
    assert serials[0] > x.storage.value.serial
    same(first, real.std(axis=1))
    same(y, real + 1)


def test_what_is_written_later_is_not_read() -> None:
    for k in range(4):
        x, real = array(k)
        found = x.std(axis=1)
        x[:] = 5
        x[3:9] += 1
        same(found, real.std(axis=1))
        assert float(x[4, 4]) == 6


def test_results_that_are_views_or_are_written_to() -> None:
    for k in range(4):
        x, real = array(k)
        found, expected = x.mean(axis=1), real.mean(axis=1)
        seen = found[5:10]
        found[6] = 99
        expected[6] = 99
        same(seen, expected[5:10])
        same(found, expected)


def test_what_dies_with_the_call_is_spared_and_may_be_asked_for() -> None:
    for k in range(5):
        x, real = array(k)
        y, expected = x.std(axis=1), real.std(axis=1)
        assert y.sum() == expected.sum()
        assert (x.mean(axis=1) * 2).sum() == (real.mean(axis=1) * 2).sum()
        same(y, expected)


def test_an_interrupt_leaves_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    x, real = array()
    for _ in range(4):
        np.evaluate(*moments(np, x))
    found = moments(np, x)

    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ready, "parallel_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            np.evaluate(*found)
    assert not any(map(np.is_evaluated, found))
    for lazy, expected in zip(found, moments(numpy, real), strict=True):
        same(lazy, expected)


def test_warnings_are_those_of_the_operations() -> None:
    """Where flags are raised calls are written out, this time and from then on."""
    for _ in range(3):
        np.evaluate(*moments(np, array()[0]))
    told = []
    for k in range(4):
        x = np.array(numpy.full(SHAPE, 1e300) * (1 + array(k)[1]))
        np.evaluate(x)
        found = moments(np, x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.evaluate(*found)
        told.append([(str(w.message), w.filename) for w in caught])
    real = numpy.full(SHAPE, 1e300) * (1 + array()[1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        moments(numpy, real)
    expected = [str(w.message) for w in caught]
    assert expected and [sorted(text for text, _ in each) for each in told] == [sorted(expected)] * 4
    assert {file for each in told for _, file in each} == {__file__}
    looked: list[Any] = []
    x, _ = array()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "launched", lambda *given: looked.append(given))
        np.evaluate(*moments(np, x))
    assert not looked


def test_each_calls_error_state_is_its_own() -> None:
    x = np.array(numpy.full(SHAPE, 1e308))
    for k in range(6):
        with numpy.errstate(over="ignore" if k % 2 else "warn"):
            found = x.sum(axis=1), x.std(axis=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.evaluate(*found)
        assert bool(caught) is (k % 2 == 0)


def test_threads_that_write_and_read() -> None:
    x, real = array()
    expected = real.std(axis=1)
    for _ in range(3):
        same(x.std(axis=1), expected)
    wrong: list[Any] = []

    def read() -> None:
        for _ in range(20):
            y = x * 1
            found = y.std(axis=1)
            y[:] = 0
            if numpy.asarray(found).tobytes() != expected.tobytes():
                wrong.append(found)

    at_once(read)
    assert not wrong


def test_large_results_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyarr import geometry

    asked: list[int] = []
    large, larger = (geometry.fresh((n,), numpy.dtype("f8")) for n in (1 << 24, 1 << 25))
    monkeypatch.setattr(geometry, "_granted", 0)
    monkeypatch.setattr(geometry, "_refuses_by_size", lambda: True)
    monkeypatch.setattr(geometry, "_is_limited", lambda: False)
    monkeypatch.setattr(geometry.numpy, "empty", lambda shape, dtype=None: asked.append(1))
    for geo in (large, large, larger, large, larger):
        geometry.probe(geo)
    assert len(asked) == 2
    monkeypatch.setattr(geometry, "_is_limited", lambda: True)
    geometry.probe(large)
    assert len(asked) == 3


def test_an_interrupt_while_it_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x, real = array()
    np.evaluate(x.std(axis=1))
    y = x.std(axis=1)
    before = Expr.before

    def interrupted(*args: Any) -> Any:
        monkeypatch.setattr(Expr, "before", before)
        raise KeyboardInterrupt

    monkeypatch.setattr(Expr, "before", interrupted)
    with pytest.raises(KeyboardInterrupt):
        np.evaluate(y * 2)
    assert Expr.before is before
    x[:] = 0
    numpy.testing.assert_array_equal(numpy.asarray(y), real.std(axis=1))


def test_ways_are_bounded() -> None:
    """Within options a call is noted anew each time."""
    x, _ = array()
    for _ in range(3 * ready.MOST_WAYS):
        with np.options(num_threads=1):
            for _ in range(3):
                np.evaluate(x.std(axis=1))
    plans = {id(plan): plan for known in ready._known.values() if (plan := known[0]()) is not None}
    assert plans and all(len(plan.ways) <= ready.MOST_WAYS for plan in plans.values())
