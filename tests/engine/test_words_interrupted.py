"""What machine code is given is whole wherever a signal's handler may run: it may raise, or compute more."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import at_sight, swift_nodes
from lazyarr.awaited import TRIES, Awaited
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.geometry import address
from lazyarr.nodes_words import WRITES, Write
from lazyarr.recall_words import Row as Recalled
from lazyarr.recipes import NODES
from lazyarr.schedule import LINE
from lazyarr.sight_rows import Also, Row
from lazyarr.swift_nodes import Table
from lazyarr.swift_sight import Given, Swift
from tests.engine.test_swift_nodes import nodes  # noqa: F401
from tests.engine.test_swift_sight import arrays, code  # noqa: F401
from tests.interrupted import interrupted


def holds(given: Given, nbytes: int) -> bool:
    """Does the word for memory lead to so many bytes that are there?"""
    at, begin = int(given.words[Also.SCRATCH]), address(given.scratch)
    return begin <= at and at + nbytes <= begin + given.scratch.nbytes and not at % LINE


@pytest.mark.parametrize("acts", [False, True])
def test_memory_of_launches(acts: bool) -> None:
    given, sizes = Given({}), count(1000, 1000)
    given.widen(500)
    had = 500
    act = (lambda: given.widen(next(sizes))) if acts else None
    for _ in interrupted(lambda: given.widen(next(sizes)), Given.widen, then=act):
        assert holds(given, had)
    assert holds(given, next(sizes) - 1000)


def test_memory_stays_while_a_launch_runs() -> None:
    given = Given({})
    given.widen(500)
    before = int(given.words[Also.SCRATCH])

    def begins() -> None:
        given.words[Also.BUSY] = 1

    for _ in interrupted(lambda: given.widen(5000), Given.widen, then=begins):
        assert int(given.words[Also.SCRATCH]) == before and holds(given, 500)
        given.words[Also.BUSY] = 0
        break


def linked(heads: numpy.ndarray, rows: dict[int, numpy.ndarray], following: int) -> int:
    """How many rows there are, from all heads on; each has to be there."""
    found = 0
    for head in heads:
        at = int(head)
        while at:
            found, at = found + 1, int(rows[at][following])
            assert found <= len(rows)
    return found


def program(x: Any) -> float:
    y = np.sin(x * 2 + 1) - x
    np.evaluate(y)
    return float(y[7])


@pytest.mark.parametrize("acts", [False, True])
@pytest.mark.parametrize("most", [3, 2048])
def test_rows_of_evaluations(
    code: Swift, monkeypatch: pytest.MonkeyPatch, acts: bool, most: int  # noqa: F811
) -> None:
    monkeypatch.setattr("lazyarr.swift_sight.MOST_ROWS", most)
    x, real = arrays("f8")
    expected = float((numpy.sin(real * 2 + 1) - real)[7])
    shapes = count(1)

    def runs() -> None:
        y = x[: 100_000 + next(shapes)]
        for _ in range(3):
            assert program(y) == expected

    runs()                                      # (other tests' rows may be more than there is room for now)
    for _ in interrupted(runs, Swift.know, then=runs if acts else None):
        rows = {address(words): words for words, _ in code.rows}
        assert linked(code.heads, rows, Row.NEXT) == len(rows) <= most + acts
        assert not rows or holds(code.given, max(row.scratch for _, row in code.rows))


@pytest.mark.parametrize("within", [at_sight.note, at_sight.at_sight, Swift.know])
def test_evaluations_are_known_in_the_end(code: Swift, within: Any) -> None:  # noqa: F811
    """Wherever Python was interrupted that notes one, or tells the code."""
    shapes = count(80_000)

    def made() -> Any:
        y = np.array(numpy.linspace(0.0, 1.0, next(shapes)))
        np.evaluate(y)
        return y

    def whole() -> Any:
        z = np.sin(y * 2 + 1) - y
        np.evaluate(z)
        return z

    y = made()
    for _ in interrupted(lambda: [whole(), whole(), whole()], within):
        for _ in range(6):
            whole()
        z = np.sin(y * 2 + 1) - y
        before = COUNT.native_launches
        assert code.evaluate([z.storage.value], plan_key()) is True
        assert COUNT.native_launches == before + 1
        real = numpy.asarray(y)
        assert numpy.array_equal(z, numpy.sin(real * 2 + 1) - real)
        y = made()


@pytest.mark.parametrize("acts", [False, True])
def test_rows_of_writes(acts: bool) -> None:
    table, keys = Table(), count()
    dtype, known = numpy.dtype("f8"), _Known()

    def knows() -> None:
        table.know((numpy.add, next(keys)), dtype, (), known)

    for _ in interrupted(knows, Table.know, then=knows if acts else None):
        rows = table.writes[:, Write.UFUNC] != 0
        assert rows[: table._written].all() and not rows[table._written :].any()
    for _ in range(2 * WRITES):
        knows()
    for _ in interrupted(knows, Table.know, then=knows):
        pass
    assert table._written == WRITES - 1 and not table.writes[-1].any()


class _Known:
    """A write."""

    op, quiet, types = object(), False, ()


@pytest.mark.parametrize("acts", [False, True])
@pytest.mark.parametrize("most", [3, 1024])
def test_rows_of_calls(nodes: Any, monkeypatch: pytest.MonkeyPatch, acts: bool, most: int) -> None:  # noqa: F811
    monkeypatch.setattr(swift_nodes, "MOST_RECALLS", most)
    table, shapes, places = Table(), count(200), list[int]()
    monkeypatch.setattr(NODES, "table", table)

    def calls() -> None:
        x = np.array(numpy.ones((next(shapes), 300)))
        for _ in range(3):
            x.mean(axis=1)

    for place in interrupted(calls, Table.recalls, then=calls if acts else None):
        places.append(place)
        rows = {address(held[0]): held[0] for held in table._recalls.values()}
        assert linked(table.heads, rows, Recalled.NEXT) == len(rows) <= most + acts
    assert places


class Loading(Awaited):
    """Code whose loading takes some calls, and fails so many times."""

    def __init__(self, fails: int = 0) -> None:
        super().__init__(2, 3)
        self.times, self.fails, self.there = 0, fails, False

    def load(self, compiles: bool) -> bool:
        self.times += 1
        [*map(abs, range(3))]
        if self.times <= self.fails:
            raise RuntimeError
        self.there = max(True, False)
        return True


def hear(awaited: Loading, times: int) -> int:
    """How often it raises."""
    raised = 0
    for _ in range(times):
        try:
            awaited.hear()
        except RuntimeError:
            raised += 1
    return raised


def test_code_comes_in_the_end() -> None:
    loading: list[Loading] = []

    def loads() -> None:
        loading.append(Loading())
        loading[-1].hear()
        loading[-1].hear()

    for _ in interrupted(loads, Loading.load, Awaited.hear):
        loading[-1].tries = min(loading[-1].tries, TRIES)
        hear(loading[-1], 10)
        assert loading[-1].there
    assert len(loading) > 3


def test_code_that_cannot_be_loaded() -> None:
    failing = Loading(fails=1000)
    assert hear(failing, 1000) == failing.times == 1 + TRIES
