"""Arrays of medium size that are NumPy's at the call for a time: the same values, in program order; and who
decides that."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import arrays, direct, earlier_runs, habits, pace, worth
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.direct import CLEAR, DIRECT, DIRECTLY, EAGER, GAIN, LAG, LASTING, SETTLING, SPAN, SPANS
from lazyarr.earlier_runs import Runs
from lazyarr.habits import MEDIUM
from lazyarr.pace import Pace
from lazyarr.slot_words import LIMIT, MADE, MOST, UNTIL, WAITING
from lazyarr.slots import hasten

N = 100_000


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is measured yet, nobody asks for plans at once, and the slots are there."""
    before = np.get_options()["plan"]
    np.set_options(plan="auto")
    hasten()
    monkeypatch.setattr(earlier_runs, "RUNS", Runs())
    DIRECT.forget()
    yield
    DIRECT.forget()
    np.set_options(plan=before)


def begin() -> None:
    DIRECT._starts(1 << 40)


in_slots = pytest.mark.skipif(
    not sys.platform.startswith("linux") or np.get_options()["disable"] != "", reason="no slots here"
)


def both(dtype: Any = "f8", shape: Any = N) -> tuple[Any, numpy.ndarray]:
    rng = numpy.random.default_rng(5)
    real = (rng.uniform(-9, 9, shape)).astype(dtype)
    if real.dtype.kind in "fc":
        real.flat[3::1000], real.flat[5::1000], real.flat[7::1000] = numpy.nan, -0.0, numpy.inf
    return np.array(real), real


def same(found: Any, expected: numpy.ndarray) -> bool:
    real = numpy.asarray(found)
    assert (real.dtype, real.shape, real.strides) == (expected.dtype, expected.shape, expected.strides)
    return real.tobytes() == expected.tobytes()


# ----------------------------------------------------------------------------------- values



def masked(np: Any, x: Any, y: Any) -> Any:
    z = x.copy()
    z[1:-1][(y > x)[1:-1]] = 1
    z[z > 2] = y[3]
    return z


CALLS: list[Callable[[Any, Any, Any], Any]] = [
    masked,
    lambda np, x, y: x + y,
    lambda np, x, y: x * 2 - y,
    lambda np, x, y: -x,
    lambda np, x, y: x > y,
    lambda np, x, y: np.maximum(x, y),
    lambda np, x, y: np.square(x),
    lambda np, x, y: x.copy(),
    lambda np, x, y: x.astype("f4"),
    lambda np, x, y: np.concatenate([x, y]),
    lambda np, x, y: np.stack([x, y + x]),
    lambda np, x, y: np.roll(x + y, 3),
    lambda np, x, y: x[1:] + y[:-1],
    lambda np, x, y: x[::-2] * y[::2],
    lambda np, x, y: (x + y).T.copy(),
    lambda np, x, y: np.where(x > y, x, y),
    lambda np, x, y: (x + y)[x > 0],
    lambda np, x, y: np.clip(x + x, 1, 5),
    lambda np, x, y: np.zeros_like(x + y),
    lambda np, x, y: np.zeros(N) + 1,
    lambda np, x, y: (x + y).reshape(-1, 10) + np.ones((N // 10, 1)),
    lambda np, x, y: np.diff(x + y),
    lambda np, x, y: np.full(N, 3, "i2"),
    lambda np, x, y: np.add.outer(x[:300], y[:300]),
    lambda np, x, y: np.asfortranarray((x + y).reshape(250, -1)) + 1,
]


@pytest.mark.parametrize("call", range(len(CALLS)))
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", "c16", "f2"])
def test_values_are_numpys(call: int, dtype: str) -> None:
    (x, real_x), (y, real_y) = both(dtype), both(dtype)
    y, real_y = y[::-1].copy(), real_y[::-1].copy()
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = CALLS[call](numpy, real_x, real_y)
        except TypeError as error:              # bools, of which there is no negative
            begin()
            with pytest.raises(type(error)):
                CALLS[call](np, x, y)
            return
        pending = CALLS[call](np, x, y)
        begin()
        for _ in range(3):
            assert same(CALLS[call](np, x, y), expected)
        chained = CALLS[call](np, x, y) * CALLS[call](np, x, y)
        DIRECT.forget()
        assert same(pending, expected) and same(CALLS[call](np, x, y), expected)
        assert same(chained, expected * expected)


@in_slots
def test_elements_under_a_mask_are_set_at_once() -> None:
    """Else what reads the array next would have to wait for a lone node."""
    x, real = both()
    begin()
    z, mask = x + 1, x > 3
    before = COUNT.nodes_built
    z[mask] = 5
    expected = real + 1
    expected[real > 3] = 5
    assert COUNT.nodes_built == before and same(z, expected)
    DIRECT._ends()
    z, mask = x * 2, x < 3
    np.evaluate(z, mask)
    z[mask] = 5
    assert COUNT.nodes_built > before and not np.is_evaluated(z)


def test_no_python_runs() -> None:
    x, y = np.array(numpy.arange(N) / 7), np.array(numpy.ones(N))
    calls: list[Any] = []

    def program() -> Any:
        z = x + y
        z = np.sqrt(abs(z * 2.0)) - y
        z += x
        x[2:] = z[:-2]
        return z, np.concatenate([z, x]).copy()

    ours = str(Path(np.__file__).parent)
    program()[1].sum()                              # (what has a name is found once)
    begin()
    program()
    sys.setprofile(lambda frame, event, _: event == "call" and calls.append(frame.f_code.co_filename))
    try:
        z, c = program()
    finally:
        sys.setprofile(None)
    calls = [name for name in calls if not name.endswith("resting.py")]     # (garbage may be collected)
    assert not [name for name in calls if name.startswith(ours)] and z.storage is None and c.size == 2 * N


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


# --------------------------------------------------------------------------------- counting

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


# ---------------------------------------------------------------------------- program order


def test_what_waits_is_computed_before_it_is_overwritten() -> None:
    x, real = both("i8")
    later = x * 2
    seen = x[5:]
    begin()
    x += 1
    x[3:] = x[:-3]
    assert same(later, real * 2)
    real = real + 1
    real[3:] = real[:-3].copy()
    assert same(x, real) and same(seen[:], real[5:])
    after = later + x
    DIRECT.forget()
    x[:] = 0
    assert not x.any() and same(after, 2 * both("i8")[1] + real)


def test_held_views_of_what_is_managed_again() -> None:
    x, real = both("i8")
    begin()
    z, expected = x + x, real + real
    view, real_view = z[10:-10], expected[10:-10]
    row, real_row = z.reshape(100, -1)[7], expected.reshape(100, -1)[7]
    row += 1
    real_row += 1
    DIRECT.forget()
    for _ in range(2):
        later, real_later = z * 3, expected * 3
        assert z.storage is not None or WAITING
        view -= 5
        real_view -= 5
        row *= 2
        real_row *= 2
        z[50:90] = 4
        expected[50:90] = 4
        assert same(later, real_later) and same(z, expected) and same(view[:], real_view)
        begin()
        w, real_w = z + view.sum(), expected + real_view.sum()
        z += 1
        expected += 1
        DIRECT.forget()
        assert same(w, real_w)


def test_turns_at_any_place_of_a_program() -> None:
    def program(np: Any, x: Any, change: Callable[[], None]) -> list[Any]:
        found = []
        for k in range(6):
            change()
            y = x + k
            half = y[::2]
            change()
            y[1:-1] += 0.5 * (y[2:] - y[:-2])
            half *= 2
            change()
            x = np.maximum(x, y) - np.roll(y, 1)
            found += [half, y, x * x]
            y = found[-1].copy()
            y[y > 3] = 0
            change()
            found.append(y)
        return found

    real = numpy.random.default_rng(2).uniform(-1, 1, N)
    expected = program(numpy, real, lambda: None)
    for seed in range(8):
        turns = [DIRECT.forget, begin, lambda: None]
        order = iter(numpy.random.default_rng(seed).integers(3, size=24))
        found = program(np, np.array(real), lambda turns=turns, order=order: turns[next(order)]())
        pairs = zip(found, expected, strict=True)
        assert all(same(numpy.asarray(x).copy(), y.copy()) for x, y in pairs)
        DIRECT.forget()


def test_warnings_and_errors_are_numpys() -> None:
    x, real = both()
    zero = np.zeros(N)
    begin()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = x / zero
        found = found + 1
    assert [w.category for w in given] == [RuntimeWarning] * 2 and {w.filename for w in given} == {__file__}
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        x / zero
    with pytest.raises(ValueError, match="broadcast"):
        x + x[1:]
    assert same(x, real)


def test_threads() -> None:
    x, real = both("i8")
    found: list[Any] = []

    def work(k: int) -> None:
        y = x + k
        for _ in range(20):
            y = y + x
            y -= 1
        found.append((k, y))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        begin()
        DIRECT.forget()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(same(y, real * 21 + k - 20) for k, y in found)


# -------------------------------------------------------------------------------- decisions


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[Any, float]:
    """Seconds that each result takes by nodes (False) and directly; those that the program takes after each
    `EVERY` results."""
    takes, now = {False: 1.0, True: 1.0, "own": 0.0}, [0.0, 0]

    def time() -> float:
        return now[0]

    for told in "work", "debt":                     # (by `worth.rented`)
        monkeypatch.setattr(COMPILER, told, 0.0)
    monkeypatch.setattr(direct, "thread_time", time)
    monkeypatch.setattr(direct, "_busy", lambda: 0.0)
    counts = DIRECT.counts

    def passes(measure: float) -> bool:
        now[1] += 1
        now[0] += takes[DIRECT.on] + takes["own"] * (now[1] % EVERY == 0)
        return counts(measure)

    monkeypatch.setattr(direct.Direct, "counts", lambda self, measure: passes(measure))
    return takes


EVERY = 180


def results(count: int) -> int:
    """How many of so many results are NumPy's."""
    return sum(DIRECT.counts(N) for _ in range(count))


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
    assert len(DIRECT.directly) == 2


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
    assert len(DIRECT.by_nodes) == SPANS and max(DIRECT.by_nodes) < 9.0 * 0.8**4
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
    assert results(FIRST) == 0 and not DIRECT.by_nodes
    results(SPAN * direct.PATIENCE + 9)
    assert DIRECT.on


def test_nothing_is_tried_where_numpy_is_surely_later(
    clock: dict[Any, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the bytes of what is computed; where less is computed than results are counted, nobody is sure."""
    for share, at_first, tried in ((1, 0, False), (0.5, 0, True), (0.5, 2, False), (0.5, 1.5, True)):
        DIRECT.forget()
        DIRECT._at_first = at_first
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
    assert DIRECT.on and DIRECT._next == DIRECT._stayed and not DIRECT.directly


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
    for _ in range(direct.LATE * SPAN):
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
    assert not DIRECT.on and DIRECT._usual > 0


def test_two_spans_tell_where_nodes_are_clearly_later_than_before(clock: dict[Any, float]) -> None:
    clock.update({False: 1.0, True: 0.1})
    stayed_directly()
    clock[False] = 0.1 * (CLEAR + 0.1)                  # (which loses too little to be told by that)
    results(SETTLING + 2 * SPAN + 2)
    assert DIRECT.on and len(DIRECT.by_nodes) == 2


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
    assert not DIRECT.by_nodes and not DIRECT._since and not DIRECT.on


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


def test_what_is_picked_counts(clock: dict[Any, float]) -> None:
    """By masks and by positions, both ways."""
    x, mask = np.array(numpy.ones(2 * N)), np.array(numpy.arange(2 * N) % 3 > 0)
    positions = np.array(numpy.arange(N))
    for pick in (lambda: x[mask], lambda: x[positions], lambda: np.nonzero(mask)):
        left = DIRECT.left
        for _ in range(3):
            pick()
        assert left - 3 >= DIRECT.left >= left - 6


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


# ------------------------------------------------------------------------------ bookkeeping


USES = {
    "operator": lambda x: x * 2, "pair": lambda x: x + x, "unary": abs, "ufunc": np.exp,
    "method": lambda x: x.sum(), "function": lambda x: np.clip(x, 0, 1), "in place": lambda x: x.__iadd__(1),
    "power": lambda x: x**2, "item": lambda x: x.__setitem__(slice(5), 7), "reflected": lambda x: 1 - x,
    "copyto": lambda x: np.copyto(x, 2.0), "out": lambda x: np.add(x, 1, out=x),
    "view": lambda x: x[1:-1] * 2,
}  # fmt: skip


@in_slots
@pytest.mark.parametrize("use", USES)
def test_what_was_made_directly_is_managed_by_who_uses_it(use: str) -> None:
    """Not by who ends it: another thread may be about to use the memory."""
    begin()
    x, real = np.zeros((300, 300)) + 1, numpy.ones((300, 300))
    view, row = x[1:], x[3]
    assert x.storage is None and view.storage is None
    DIRECT._ends()
    DIRECT.left = 1 << 40
    assert x.storage is None
    USES[use](x)
    _REAL.get(use, USES[use])(real)
    assert x.storage is not None
    assert same(x, real) and same(view, real[1:]) and same(row, real[3])
    view += 1
    row *= 3
    real[1:] += 1
    real[3] *= 3
    assert same(x, real) and same(view, real[1:]) and same(row, real[3])


_REAL: dict[str, Callable[[Any], Any]] = {
    "ufunc": numpy.exp, "function": lambda x: numpy.clip(x, 0, 1), "copyto": lambda x: numpy.copyto(x, 2.0),
    "out": lambda x: numpy.add(x, 1, out=x),
}  # fmt: skip


@in_slots
def test_a_view_manages_what_it_is_a_view_of() -> None:
    begin()
    x = np.zeros((300, 300)) + 1
    DIRECT._ends()
    DIRECT.left = 1 << 40
    with np.options(plan="always"):
        y = x[1:] + x[:-1]
        assert x.storage is not None
        y = x[1:] + x[:-1]
        assert not np.is_evaluated(y)
        x[:] = 5
    assert (y == 2).all() and (x == 5).all()


def test_what_another_thread_ends_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array that is just being given away."""
    begin()
    x = np.asarray(numpy.ones(N)) + 1.0
    twins = arrays.TWINS

    class Ending:
        data = twins.data

        def setdefault(self, *entry: Any) -> Any:
            found = twins.setdefault(*entry)
            DIRECT._ends()
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(twins, name)

        def __setitem__(self, key: Any, value: Any) -> None:
            twins[key] = value

    monkeypatch.setattr(arrays, "TWINS", Ending())
    given = arrays.export(x)
    assert (given == 2).all()
    given[0] = 7
    assert x[0] == 7


def test_a_forked_child_measures_anew() -> None:
    """Whatever another thread was at when the process forked."""
    code = """if True:
        import os, sys, lazyarr as np
        from lazyarr.direct import DIRECT
        DIRECT._starts(1 << 40)
        DIRECT._lock.acquire()                      # as another thread that hears
        child = os.fork()
        if not child:
            assert not DIRECT.on and DIRECT._lock.acquire(False)
            DIRECT._lock.release()
            with np.options(math="native"):
                assert float((np.ones(100_000) + 1).sum()) == 200_000
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["0"], done.stderr


def test_options_that_bar_it_come_in_while_somebody_hears() -> None:
    """By a signal's handler, say: nobody waits, and what was to begin does not."""
    begin()
    with DIRECT._lock, np.options(math="native"):
        assert not DIRECT.on
        DIRECT._starts(1 << 40)
        assert not DIRECT.on and LIMIT.value == EAGER


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


def test_a_program_finds_its_way() -> None:
    """Whatever is sooner on this machine: results are right through all turns."""
    x, real = both("i8", 70_000)
    for _ in range(6 * FIRST):
        y = x + 1
        y.item(0)
    assert same(y, real + 1)


def test_what_waits_for_a_fold_of_much_waits() -> None:
    """A fold's result is small, but its readers share the pass over what it folds."""
    x, real = both("f4", (1 << 11, 1 << 10))
    begin()
    assert DIRECT.on
    np.evaluate(x)

    def normed(np: Any, x: Any) -> Any:
        mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
        return (x - mean) / np.sqrt(var + numpy.float32(1e-5))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = normed(numpy, real)
        before = np.debug.counters()
        found = normed(np, x)
        after = np.debug.counters()
        assert after["nodes_run"] == before["nodes_run"]        # (nothing is computed before it is asked for)
        assert same(found, expected)
    assert np.debug.counters()["nodes_run"] > after["nodes_run"]
