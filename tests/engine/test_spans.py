"""Which way of computing what is of medium size is found to be the sooner one: by what results take."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import direct, earlier_runs, habits, pace, spans, worth
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT, DIRECTLY, EAGER, LAG, LASTING, SETTLING, SPAN, SPANS
from lazyarr.habits import MEDIUM
from lazyarr.pace import Pace
from lazyarr.slot_words import LIMIT
from lazyarr.spans import CLEAR, GAIN, Spans
from tests.engine import medium
from tests.engine.medium import EVERY, N, begin, both, results, same

clock, forgotten = medium.clock, medium.forgotten

FIRST = SPAN + SPANS * SPAN


def test_a_process_begins_directly(clock: dict[Any, float]) -> None:
    """With results of the smaller sizes; then it is measured as ever."""
    clock[True] = 1e-6
    DIRECT.opens()
    assert LIMIT.value == direct.AT_FIRST * EAGER
    assert not DIRECT.counts(direct.AT_FIRST * EAGER + 1)
    assert results(direct.FIRST) == direct.FIRST - 1
    assert not DIRECT.on and LIMIT.value == EAGER
    clock[True] = 0.5
    results(SETTLING + 2 * SPANS * SPAN)
    assert DIRECT.on and DIRECT.reach == MEDIUM * EAGER


def test_slow_results_end_the_beginning(clock: dict[Any, float]) -> None:
    """It is to last as long as the compiler takes to be loaded."""
    DIRECT.opens()
    assert results(3 * direct.EARLY) == 2 * direct.EARLY and not DIRECT.on
    assert worth._rent[0] == COMPILER.work == 1e9 * direct.EARLY        # (counted from the first look on)


@pytest.mark.parametrize("paid", [True, False])
def test_it_ends_soon_where_nodes_paid_before(
    clock: dict[Any, float], paid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier_runs.RUNS, "_paid", paid)
    clock[True] = 2 * direct.SOON / direct.EARLY
    DIRECT.opens()
    results(3 * direct.EARLY)
    assert DIRECT.on != paid
    assert (worth._rent[0] > 1e9 * direct.SOON) == paid


@pytest.mark.parametrize(("takes", "pays"), [(1.0, True), (1.1 * CLEAR, True), (0.5, False)])
def test_what_is_found_is_told_to_later_runs(
    clock: dict[Any, float], takes: float, pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    monkeypatch.setattr(earlier_runs.RUNS, "note", told.append)
    clock[True] = takes
    results(FIRST + LAG + sum(DIRECTLY) + 2 * len(DIRECTLY))
    assert told == [pays]


@pytest.mark.parametrize("options", ["", "LAZYARR_JIT=always", "LAZYARR_PLAN=always", "LAZYARR_MATH=native"])
def test_it_does_not_where_options_bar_it(options: str) -> None:
    code = "import lazyarr as np; x = np.arange(1e5) + 1; print(np.is_evaluated(x * 2))"
    env = {k: v for k, v in os.environ.items() if k not in ("LAZYARR_PLAN", "LAZYARR_JIT")}
    env.update([options.split("=")] if options else [])
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == [str(not options)], done.stderr


def test_the_sooner_way_stays(clock: dict[Any, float]) -> None:
    clock[True] = 0.8 * GAIN
    assert results(FIRST - 1) == 0
    assert results(1 + LAG + sum(DIRECTLY) + len(DIRECTLY)) and DIRECT.on
    assert results(LASTING[True] - len(DIRECTLY) - 2) == LASTING[True] - len(DIRECTLY) - 2
    results(len(DIRECTLY) + 4)
    assert not DIRECT.on and LIMIT.value == EAGER


def test_nodes_stay_where_they_are_sooner(clock: dict[Any, float]) -> None:
    clock[True] = 1.0
    results(FIRST + LAG + sum(DIRECTLY) + 2 * len(DIRECTLY))
    assert not DIRECT.on and DIRECT.left > LASTING[False] - 9


def test_two_short_spans_tell_what_is_much_slower(clock: dict[Any, float]) -> None:
    clock[True] = 1.1 * CLEAR
    most = LAG + sum(DIRECTLY[:2]) + 5
    assert results(FIRST + most) <= most and not DIRECT.on
    assert len(DIRECT.spans.directly) == 2


@pytest.mark.parametrize(("takes", "sooner"), [(0.5, True), (1.4, False)])
def test_the_programs_own_time_now_and_then_tells_nothing(
    clock: dict[Any, float], takes: float, sooner: bool
) -> None:
    """Spans of nodes have it in them, short ones often have not."""
    clock.update({True: takes, "own": 60.0})
    for start in range(0, EVERY, 10):
        DIRECT.forget()
        results(start)
        DIRECT.forget()
        results(FIRST)
        while DIRECT._next in (DIRECT._looked, DIRECT._caught_up, DIRECT._tried):
            results(1)
        assert DIRECT.on == sooner


def test_it_looks_where_some_code_is_numpys(clock: dict[Any, float]) -> None:
    """Which is so by Python, call by call (`pace`)."""
    results(SPANS * SPAN)
    clock.update({False: 1.0, True: 2.0})
    while DIRECT._next != DIRECT._looks:
        results(1)
    assert DIRECT.left > SETTLING
    DIRECT.may_be_sooner()
    assert DIRECT.left == SETTLING
    results(SETTLING)
    assert DIRECT._next == DIRECT._looked
    DIRECT.may_be_sooner()
    assert DIRECT.left > SETTLING, "it looks already"


def test_it_looks_on_as_long_as_nodes_quicken(clock: dict[Any, float]) -> None:
    """The last spans count, not those in which code was loaded."""
    clock[True] = 1.0
    results(SPAN)
    for k in range(8):
        clock[False] = 9.0 * 0.8**k
        results(SPAN)
        assert DIRECT._next == DIRECT._looked
    clock[False] = 1.0
    results(SPAN * SPANS)
    assert len(DIRECT.spans.by_nodes) == SPANS and max(DIRECT.spans.by_nodes) < 9.0 * 0.8**4
    results(LAG + sum(DIRECTLY) + 2 * len(DIRECTLY))
    assert not DIRECT.on


def test_a_look_forgets_what_was_found_before(clock: dict[Any, float]) -> None:
    hasty, habit = Pace(), habits.habit_of((test_looks_grow_rare.__code__, 0), clock)
    hasty._hastens()
    habit.sooner = True
    results(SPAN - 1)
    assert hasty.numpys and habit.is_numpys()
    results(1)
    assert not hasty.numpys and not habit.is_numpys()


def test_looks_grow_rare(clock: dict[Any, float]) -> None:
    clock[True] = 2.0 * CLEAR
    most = LAG + sum(DIRECTLY[:2]) + 5
    tried = [results(LASTING[False] * 2 ** k + FIRST + most) for k in range(4)]
    assert all(0 < n <= most for n in tried)


def test_spans_without_plans_do_not_count(clock: dict[Any, float], monkeypatch: pytest.MonkeyPatch) -> None:
    clock[True] = 0.1
    monkeypatch.setattr(direct, "UNPLANNED", -1.0)
    assert results(FIRST) == 0 and not DIRECT.spans.by_nodes
    results(SPAN * spans.PATIENCE + 9)
    assert DIRECT.on


def test_nothing_is_tried_where_numpy_is_surely_later(
    clock: dict[Any, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the bytes of what is computed; where less is computed than results are counted, nobody is sure."""
    for share, at_first, tried in ((1, 0, False), (0.5, 0, True), (0.5, 2, False), (0.5, 1.5, True)):
        DIRECT.forget()
        DIRECT.spans.at_first = at_first
        clock.update({False: 1.0, True: 1.0})
        results(SPAN)
        assert pace.NOW.weighs
        for _ in range(SPANS * SPAN):
            pace.NOW.least += share * 1.2
            results(1)
        assert not pace.NOW.weighs
        assert (DIRECT._next == DIRECT._caught_up) == DIRECT.on == tried


def test_an_evaluation_weighs_what_it_stores_and_passes_on() -> None:
    x = np.array(numpy.ones(N))
    results(SPAN)
    assert pace.NOW.weighs
    before = pace.NOW.least
    np.evaluate((x * 2 + 1)[5:])
    assert before < pace.NOW.least <= before + 3 * 8 * N * pace.AT_LEAST


def test_who_makes_nodes_for_numpy_in_vain_is_directly_sooner(clock: dict[Any, float]) -> None:
    """Whatever they take: no plan will be met again."""
    clock.update({False: 1.0, True: 5.0})
    results(SPAN)
    for _ in range(SPAN):
        pace.NOW.in_vain += 1
        results(1)
    assert DIRECT.on and DIRECT._next == DIRECT._stayed and not DIRECT.spans.directly


@pytest.mark.parametrize(("takes", "directly"), [(1.3, False), (2.0, True)])
def test_what_waits_for_plans_does_so_directly_where_that_is_much_sooner(
    clock: dict[Any, float], takes: float, directly: bool
) -> None:
    """As the process began; and that pays for plans."""
    clock.update({True: 1e-6, False: 1e-6 * takes})
    DIRECT.opens()
    results(direct.FIRST + 1)
    assert not DIRECT.on
    results(SETTLING)
    before = worth._rent[0]
    for _ in range(spans.LATE * SPAN):
        COUNT.numpy_fallbacks += 1
        results(1)
    assert DIRECT.on == directly == (DIRECT._next == DIRECT._stayed)
    while directly and DIRECT.on:
        results(1)
    assert (worth._rent[0] >= before + 990 * LASTING[True]) == directly


@pytest.mark.parametrize("comes", [3, 1000])
def test_it_does_not_look_before_machine_code_makes_nodes(
    clock: dict[Any, float], comes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If that comes within some spans."""
    asked: list[int] = []
    monkeypatch.setattr(pace, "COMING", [lambda: asked.append(0) or len(asked) <= comes])
    results(SPAN)
    spans = 1
    while DIRECT._next == DIRECT._looks:
        results(SPAN)
        spans += 1
    assert spans == 1 + min(comes, direct.DELAYS)


def stayed_directly() -> None:
    """NumPy has been found to be sooner, and has stayed for as long as that holds: nodes are next."""
    for what in DIRECT._stayed, DIRECT._looks:
        for _ in range(2 * LASTING[True]):
            if DIRECT._next == what:
                break
            results(1)
        assert DIRECT._next == what
    assert not DIRECT.on and DIRECT.spans.stayed > 0


def test_two_spans_tell_where_nodes_are_clearly_later_than_before(clock: dict[Any, float]) -> None:
    clock.update({False: 1.0, True: 0.1})
    stayed_directly()
    clock[False] = 0.1 * (CLEAR + 0.1)                  # (which loses too little to be told by that)
    results(SETTLING + 2 * SPAN + 2)
    assert DIRECT.on and len(DIRECT.spans.by_nodes) == 2


@pytest.mark.parametrize("planned", [False, True])
def test_nodes_lose_no_more_than_a_share_of_what_was_spent_directly(
    clock: dict[Any, float], monkeypatch: pytest.MonkeyPatch, planned: bool
) -> None:
    """All spans but the first count; then NumPy tries, and stays if it is sooner."""
    clock.update({False: 1.0, True: 0.1})
    stayed_directly()
    if not planned:
        monkeypatch.setattr(direct, "UNPLANNED", -1.0)
        monkeypatch.setattr(direct.Direct, "_was_busy", lambda self: False)
    clock[False] = 10.0
    results(SETTLING + 2 * SPAN + 2)
    assert DIRECT.on and DIRECT._next == DIRECT._caught_up
    results(LAG + sum(DIRECTLY) + len(DIRECTLY) + 2)
    assert DIRECT.on and DIRECT._next == DIRECT._stayed


def test_spans_with_much_planning_do_not_count(
    clock: dict[Any, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is the clock's, and may be more than the thread had."""
    clock.update({False: 1.0, True: 0.5})
    monkeypatch.setattr(direct.Direct, "_was_busy", lambda self: True)
    results(FIRST)
    assert not DIRECT.spans.by_nodes and not DIRECT.spans.since and not DIRECT.on


@pytest.mark.parametrize("quiet", [0, 1])
def test_slow_spans_with_much_planning_are_compared_when_patience_is_over(quiet: int) -> None:
    """They count then, though nobody knows what they take without plans."""
    found = Spans(SPAN, SPANS)
    found.patience = 0
    found.stays(100, 10.0)
    found.looks_anew()
    for k in range(2):
        assert found.adds(10.0, 0.0, k >= quiet, False)
    assert found.is_enough()
    found.compares()
    found.directly += [1.0, 1.0]
    assert not found.numpy_is_clearly_later() and found.numpy_is_sooner()


def test_short_spans_do_not_end_what_was_sooner_before(clock: dict[Any, float]) -> None:
    """They may have the program's own time."""
    clock.update({False: 1.0, True: 0.1})
    stayed_directly()
    while not DIRECT.on:
        results(1)
    results(LAG)
    clock[True] = 5.0
    results(sum(DIRECTLY[:2]))
    clock[True] = 0.1
    assert DIRECT.on
    results(SPANS * SPAN + len(DIRECTLY) + 2)
    assert DIRECT.on and DIRECT._next == DIRECT._stayed


def test_a_thread_that_begins_has_to_end_it(clock: dict[Any, float]) -> None:
    clock[True] = 0.1
    results(FIRST - SPAN)
    other = threading.Thread(target=results, args=(SPAN + 9,))
    other.start()
    other.join()
    assert not DIRECT.on


def test_options_bar_it(clock: dict[Any, float]) -> None:
    clock[True] = 0.1
    for option in {"math": "native"}, {"plan": "always"}, {"jit": "always"}, {"fast_math": True}:
        DIRECT.forget()
        begin()
        with np.options(**option):
            assert not DIRECT.on and LIMIT.value == EAGER
            assert results(3 * FIRST) == 0
    DIRECT.forget()
    assert results(3 * FIRST)


def test_options_that_bar_it_come_in_while_somebody_hears() -> None:
    """By a signal's handler, say: nobody waits, and what was to begin does not."""
    begin()
    with DIRECT._lock, np.options(math="native"):
        assert not DIRECT.on
        DIRECT._starts(1 << 40)
        assert not DIRECT.on and LIMIT.value == EAGER


def test_a_program_finds_its_way() -> None:
    """Whatever is sooner on this machine: results are right through all turns."""
    x, real = both("i8", 70_000)
    for _ in range(6 * FIRST):
        y = x + 1
        y.item(0)
    assert same(y, real + 1)
