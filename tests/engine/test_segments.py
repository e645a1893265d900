"""Evaluations of thousands of operations: planned and run segment by segment."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import engine, planning, segments
from lazyarr.bufferize import Placement
from lazyarr.counters import COUNT
from lazyarr.materialize import closure

MANY = 5000
"""Operations, at least, of each program."""


@pytest.fixture(autouse=True)
def forced() -> Any:
    planning.forget()
    with lazyarr.options(jit="always", eager_elements=0, pending_nodes=1 << 30):
        yield


def given(shape: tuple[int, ...], seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).uniform(0.5, 2.0, shape)


def softmaxes(np: Any) -> list[Any]:
    found = []
    for k in range(MANY // 5):
        x = np.array(given((3, 4), k))
        e = np.exp(x - x.max(axis=1, keepdims=True))
        found.append(e / e.sum(axis=1, keepdims=True))
    return found


def layers(np: Any) -> list[Any]:
    """Each from the one before: a value passes from segment to segment."""
    x = np.array(given((3, 4)))
    for _ in range(MANY // 8):
        m = x.mean(axis=1, keepdims=True)
        x = np.tanh((x - m) / np.sqrt(((x - m) ** 2).mean(axis=1, keepdims=True) + 1e-5)) + 0.5 * x
    return [x]


def in_place(np: Any) -> list[Any]:
    """What later segments write to, earlier ones have read."""
    u, seen = np.array(given((12,))), []
    for k in range(MANY // 5):
        if k % 100 == 0:
            seen.append(u[1:5] * 2)
        u[:6] *= 0.5
        u[6:] += u[:6]
        u[3:9] = u[3:9][::-1] + 1
    return [u, *seen]


def readers(np: Any) -> list[Any]:
    """Thousands of results of one array."""
    x = np.array(given((5,)))
    return [(x + k) * x - k for k in range(MANY // 3 + 1)]


def mixed(np: Any) -> list[Any]:
    """Nothing recurs, and anything may be read much later."""
    rng = numpy.random.default_rng(5)
    known = [np.array(given((4,), k)) for k in range(4)]
    for a, b, op in rng.integers(0, [40, 2000, 4], (MANY, 3)):
        x, y = known[-1 - a % len(known)], known[-1 - b % len(known)]
        known.append((np.maximum, np.minimum, np.copysign, np.hypot)[op](x, y))
    return known[4::7]


PROGRAMS: dict[str, tuple[Callable[[Any], list[Any]], int]] = {
    "softmaxes": (softmaxes, 2), "layers": (layers, 4), "in place": (in_place, MANY), "readers": (readers, 3),
    "mixed": (mixed, MANY),
}  # fmt: skip
"""And how many plans there are at most: where the loop's turns are alike, some few for all of it."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_numpys_and_segments_alike_have_one_plan(name: str) -> None:
    program, most = PROGRAMS[name]
    program(lazyarr)                            # (a call that was not met before is other nodes)
    results, expected = program(lazyarr), program(numpy)
    before, launches = COUNT.plans + COUNT.reshaped, COUNT.native_launches
    lazyarr.evaluate(*results)
    plans = COUNT.plans + COUNT.reshaped - before
    assert 1 < plans <= most
    assert COUNT.native_launches > launches
    for mine, numpys in zip(results, expected, strict=True):
        assert numpy.asarray(mine).tobytes() == numpys.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_segments_are_all_nodes_in_order(name: str) -> None:
    results = PROGRAMS[name][0](lazyarr)
    nodes = closure([x.storage.value for x in results])
    cut = [*segments.segments(nodes.copy())]
    assert [n for segment in cut for n in segment] == nodes
    assert all(segments.LEAST <= len(segment) <= segments.LEAST + segments.SPREAD for segment in cut[:-1])
    assert len(cut[-1]) <= segments.LEAST + segments.SPREAD


def test_a_segment_ends_where_the_loop_begins_anew() -> None:
    for turn in (7, 100, 481):
        found = []
        for k in range(MANY // turn + 1):
            x = lazyarr.array(given((4,), k))
            for _ in range(turn):
                x = x + 1
            found.append(x)
        cut = [*segments.segments(closure([x.storage.value for x in found]))]
        assert all(len(segment) % turn == 0 for segment in cut)


def fewest(nodes: list[Any]) -> int:
    """After how many nodes the fewest bytes pass, looked at one by one."""
    near = nodes[segments.LEAST - segments.SPREAD // 4 : segments.LEAST + segments.SPREAD]
    passing = [0] * len(near)
    for k, node in enumerate(near):
        readers = [reader for ref in node.readers or () if (reader := ref()) is not None]
        if readers:
            for at in range(k + 1, len(near)):
                passing[at] += node.nbytes * (near[at].serial <= readers[-1].serial)
    last = len(near) - segments.SPREAD
    return segments.LEAST + min(range(segments.SPREAD), key=lambda k: passing[last + k])


def test_a_segment_ends_where_the_fewest_bytes_pass() -> None:
    rng, known = numpy.random.default_rng(4), [lazyarr.array(given((4,), k)) for k in range(8)]
    for first, second, size in rng.integers(1, 9, (3000, 3)):
        x = known[-first][:size] * 2 if size < 4 else known[-first] + known[-second]
        known.append(known[-second] - x.sum(keepdims=True) if size < 4 else x)
        if size == 6:
            known[-first] + 1                           # (a reader that is gone)
    nodes = closure([x.storage.value for x in known])
    most = len(nodes) - segments.LEAST - segments.SPREAD
    assert most > 1000
    for begin in range(0, most, 500):
        assert segments._end(nodes[begin:]) == fewest(nodes[begin:])


def test_who_asks_in_any_order_and_twice_has_the_same_plans() -> None:
    softmaxes(lazyarr)
    expected = softmaxes(numpy)
    for order in (1, -1):
        results = softmaxes(lazyarr)
        before = COUNT.plans
        lazyarr.evaluate(*results[::order], *results[::2])
        assert COUNT.plans - before <= (2 if order > 0 else 0)
        for mine, numpys in zip(results, expected, strict=True):
            assert numpy.asarray(mine).tobytes() == numpys.tobytes()


def test_two_thousand_nodes_have_one_plan() -> None:
    x = lazyarr.array(given((4,)))
    for _ in range(segments.MOST):
        x = x + 1
    before = COUNT.plans
    lazyarr.evaluate(x)
    assert COUNT.plans == before + 1


def each_segment(monkeypatch: pytest.MonkeyPatch, sees: Callable[[list[Any]], None]) -> None:
    """Let somebody see each segment before it runs."""
    by_plan = engine._by_plan

    def seen(nodes: list[Any], *rest: Any) -> None:
        sees(nodes)
        by_plan(nodes, *rest)

    monkeypatch.setattr(engine, "_by_plan", seen)


def test_values_go_with_the_segment_that_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs the next segment holds nothing of the one before but what is asked for."""
    before: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def sees(nodes: list[Any]) -> None:
        alive.append(sum(ref() is not None for ref in before))
        before[:] = [weakref.ref(n) for n in nodes if n.home is None or n.home() is None]

    results = softmaxes(lazyarr)
    each_segment(monkeypatch, sees)
    lazyarr.evaluate(*results)
    assert len(alive) == 6 and not any(alive)


def test_an_error_leaves_later_segments_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    left = 2

    def sees(nodes: list[Any]) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise MemoryError("no room")

    results, expected = layers(lazyarr) + softmaxes(lazyarr), layers(numpy) + softmaxes(numpy)
    each_segment(monkeypatch, sees)
    with pytest.raises(MemoryError, match="no room"):
        lazyarr.evaluate(*results)
    assert all(x.storage.value.op is not None for x in results)
    lazyarr.evaluate(*results)
    for mine, numpys in zip(results, expected, strict=True):
        assert numpy.asarray(mine).tobytes() == numpys.tobytes()


def test_what_a_handler_asks_for_in_between_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    results, expected = softmaxes(lazyarr), softmaxes(numpy)
    seen = 0

    def sees(nodes: list[Any]) -> None:
        nonlocal seen
        assert all(n.op is not None for n in nodes)
        seen += 1
        if seen == 1:
            lazyarr.evaluate(*results[-7:])     # (as a signal's handler might)

    each_segment(monkeypatch, sees)
    lazyarr.evaluate(*results)
    assert seen > 3
    for mine, numpys in zip(results, expected, strict=True):
        assert numpy.asarray(mine).tobytes() == numpys.tobytes()


def test_explain_describes_the_first_plan(told: list[Any]) -> None:
    results = softmaxes(lazyarr)
    explained = lazyarr.debug.explain(*results)
    assert explained.later == MANY - len(explained.operations) > 0
    assert f"then {explained.later} operations more" in explained
    told.clear()
    lazyarr.evaluate(*results)
    assert sum(len(each.operations) for each in told) == MANY
    assert [o.serial for o in told[0].operations] == [o.serial for o in explained.operations]


def test_who_else_reads_is_asked_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array that thousands read: where results lie takes no look at all of them."""
    asked, reads = 0, Placement._reads

    def counted(self: Placement, ref: Any) -> bool:
        nonlocal asked
        asked += 1
        return reads(self, ref)

    monkeypatch.setattr(Placement, "_reads", counted)
    results = readers(lazyarr)
    lazyarr.evaluate(*results)
    assert 0 < asked < 40 * len(results)
