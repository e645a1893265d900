"""Code that builds nodes for as long as NumPy computes: its calls are NumPy's, as long as that holds."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Iterator
from threading import Thread
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import pace
from lazyarr.counters import COUNT
from lazyarr.pace import LASTING, LOOKS, MOST, NOW, PACES, QUIET, QUIETS, SETTLING, TIMED, WINDOW, Pace

SHAPE = 300, 300


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    with np.options(plan="auto"):
        yield


class Clock:
    """Time, as the calls take it."""

    def __init__(self) -> None:
        self.now = 0.0

    def pass_by(
        self, p: Pace, calls: int, seconds: float = 0.0, work: float = 0.0, known: bool = False,
        evaluating: float = 0.0,
    ) -> list[bool]:  # fmt: skip
        """What so many calls are told, which take so long all together, and their evaluations."""
        found = []
        for _ in range(calls):
            self.now += (seconds + evaluating) / calls
            NOW.work += work / calls
            NOW.evaluating += evaluating / calls
            NOW.unknown += not known
            found.append(p.counts())
        return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pace, "thread_time", lambda: made.now)
    return made


def looked(clock: Clock, p: Pace, built: float, work: float = 1.0, **more: Any) -> bool:
    """Does NumPy try after a look, or as many as it takes?"""
    clock.pass_by(p, SETTLING)
    for _ in range(LOOKS):
        assert NOW.looker is p
        told = clock.pass_by(p, WINDOW, built, work, **more)
        assert not any(told[:-1])
        if NOW.looker is None:
            return told[-1]
    raise AssertionError("and again")


def tried(clock: Clock, p: Pace, took: float) -> bool:
    assert all(clock.pass_by(p, SETTLING, 100.0))           # in which what was pending is computed
    told = clock.pass_by(p, WINDOW, took)
    assert all(told[:-1])
    return told[-1]


def test_numpy_stays_where_building_takes_nearly_as_long(clock):
    before, p = COUNT.hastened, Pace()
    assert looked(clock, p, built=0.8)
    assert tried(clock, p, took=1.1)
    assert COUNT.hastened == before + 1
    told = clock.pass_by(p, LASTING)
    assert all(told[:-1])
    assert not told[-1]                                     # and then somebody looks again
    assert looked(clock, p, built=0.8)
    assert tried(clock, p, took=1.1)
    told = clock.pass_by(p, 2 * LASTING)
    assert all(told[:-1])
    assert not told[-1]


def test_nodes_are_built_again_where_somebody_looks_anew(clock):
    p = Pace()
    assert looked(clock, p, built=0.8)
    assert tried(clock, p, took=1.1)
    assert p.counts()
    assert NOW.numpys
    pace.look_anew()
    assert not NOW.numpys
    assert not NOW.hasty
    assert looked(clock, p, built=0.8)


def test_nodes_are_built_where_kernels_can_save_more(clock):
    p = Pace()
    assert looked(clock, p, built=0.5)
    assert not tried(clock, p, took=1.2)
    assert not any(clock.pass_by(p, QUIETS * SETTLING, seconds=9.0))


def test_the_programs_own_time_drops_out(clock):
    p = Pace()
    assert looked(clock, p, built=0.2 + 1.0)
    assert not tried(clock, p, took=1.0 + 1.0)


@pytest.mark.parametrize("first", [True, False])
def test_what_the_program_does_now_and_then_counts_in_no_look(clock, first):
    p = Pace()
    clock.pass_by(p, SETTLING)
    clock.pass_by(p, WINDOW, 9.0 if first else 0.8, work=1.0)
    assert NOW.looker is p
    assert clock.pass_by(p, WINDOW, 0.8 if first else 9.0, work=1.0)[-1]
    assert not tried(clock, p, took=1.4)

    p = Pace()
    clock.pass_by(p, SETTLING)
    clock.pass_by(p, WINDOW, 9.0, work=1.0)
    assert not clock.pass_by(p, WINDOW, 0.2, work=1.0)[-1]
    assert NOW.looker is None


def test_numpy_does_not_try_where_building_is_cheap(clock):
    p = Pace()
    assert not looked(clock, p, built=0.2)
    assert not any(clock.pass_by(p, QUIETS * SETTLING, seconds=9.0))


def test_nothing_is_looked_at_before_machine_code_makes_nodes(clock, monkeypatch):
    coming = [True]
    monkeypatch.setattr(pace, "COMING", [lambda: coming[0]])
    p = Pace()
    for _ in range(8):
        assert not any(clock.pass_by(p, WINDOW, 100.0, 1.0)) and NOW.looker is None
    coming[0] = False
    while NOW.looker is None:
        clock.pass_by(p, 1)
    clock.pass_by(p, LOOKS * WINDOW, 100.0, 1.0)
    assert p.numpys


def test_a_look_that_saw_no_evaluation_is_none(clock):
    p = Pace()
    assert not looked(clock, p, built=0.8, work=0.0)
    clock.pass_by(p, WINDOW - SETTLING)
    assert looked(clock, p, built=0.8)


def test_evaluations_are_not_building(clock):
    assert not looked(clock, Pace(), built=0.1, evaluating=0.7)


@pytest.mark.parametrize(("evaluating", "stays"), [(0.2, False), (0.4, True)])
def test_times_are_compared_where_all_evaluations_had_plans(clock, evaluating, stays):
    """Though the most that kernels could save were little."""
    p = Pace()
    assert looked(clock, p, built=0.8, evaluating=evaluating, known=True)
    assert tried(clock, p, took=1.1) == stays


def test_a_look_at_code_that_comes_to_no_end_ends(clock):
    p = Pace()
    clock.pass_by(p, SETTLING + 1)
    for _ in range(TIMED):
        assert NOW.thread == get_ident()
        pace.begins(0.0, known=True)
        pace.ended(1.0)
    assert not NOW.thread
    assert not any(clock.pass_by(p, WINDOW, seconds=9.0, work=1.0))    # it has not seen all


def test_one_looks_at_a_time(clock):
    """The latest: of what was computed in another's look nobody knows a part."""
    one, other = Pace(), Pace()
    clock.pass_by(one, SETTLING)
    clock.pass_by(other, SETTLING)
    assert NOW.looker is other
    assert not any(clock.pass_by(one, WINDOW, seconds=9.0, work=1.0))
    assert NOW.looker is other
    clock.pass_by(other, (LOOKS - 1) * WINDOW, 0.8, 1.0)
    assert clock.pass_by(other, WINDOW, 0.8, 1.0)[-1]
    clock.pass_by(one, WINDOW - SETTLING)
    assert looked(clock, one, built=0.8)


def test_what_stays_is_looked_at_again(clock):
    p, spans = Pace(), []
    for _ in range(6):
        assert looked(clock, p, built=0.8)
        assert tried(clock, p, took=1.1)
        spans.append(0)
        while p.counts():
            spans[-1] += 1
    assert spans[:2] == [LASTING - 1, 2 * LASTING - 1]
    assert spans[-1] == spans[-2] == MOST - 1


def test_a_look_is_one_threads(clock):
    """Whose time it is that passes."""
    for steps in (SETTLING + 1, SETTLING + WINDOW + SETTLING + 1):
        p = Pace()
        clock.pass_by(p, steps, 0.8, 1.0)
        thread = Thread(target=clock.pass_by, args=(p, WINDOW - 1))
        thread.start()
        thread.join()
        assert not p.numpys
        assert not any(clock.pass_by(p, WINDOW - 1, seconds=0.8, work=1.0))


@pytest.mark.parametrize("option", [{"plan": "always"}, {"jit": "always"}, {"math": "native"}])
def test_numpy_never_tries_where_options_ask_for_kernels(clock, option):
    with np.options(**option):
        assert not looked(clock, Pace(), built=0.8)


def test_twice_the_size_is_another_pace():
    x, y = np.array(numpy.ones(70_000)), np.array(numpy.ones(140_000))
    for _ in range(3):
        for z in (x, y, x[:69_999]):
            np.evaluate(z * 3)
            (lambda z=z: np.evaluate(z * 3))()
    code = test_twice_the_size_is_another_pace.__code__
    assert len([key for key in PACES if key[0] == id(code)]) == 2
    assert len(PACES) == 4


def test_calls_that_numpys_code_makes_are_not_counted():
    """They are a part of what the program calls."""
    x = np.array(numpy.random.default_rng(3).random(SHAPE))
    for _ in range(4):
        np.evaluate(np.linalg.norm(np.diff(x)))
    paces = {key: p for key, p in PACES.items() if p.__class__ is not Pace}
    assert paces
    NOW.numpys = True
    assert all(p.counts() for p in paces.values())


def test_nobody_counts_for_some_time_where_laziness_pays(clock):
    """But after that other code may have begun."""
    p = Pace()
    assert not looked(clock, p, built=0.2)
    x = np.array(numpy.random.default_rng(3).random(SHAPE))
    x * 2
    x * 2
    PACES.clear()
    for _ in range(QUIETS):
        assert NOW.quiet > QUIET - 3
        assert NOW.looker is None
        x * 2
        assert not PACES
        NOW.quiet = 0
        clock.pass_by(p, SETTLING)
    assert not NOW.quiet
    assert NOW.looker is p
    NOW.looker = None
    x * 2
    assert len(PACES) == 1


def test_all_count_while_code_is_numpys(clock):
    p, other = Pace(), Pace()
    assert looked(clock, p, built=0.8)
    assert not looked(clock, other, built=0.2)
    assert not NOW.quiet
    assert tried(clock, p, took=1.1)
    clock.pass_by(other, SETTLING)
    assert not NOW.quiet
    while p.counts():
        pass
    NOW.looker = None
    clock.pass_by(other, SETTLING)
    assert NOW.quiet


def test_a_program_is_looked_at(monkeypatch):
    """Its calls are counted, and what its evaluations would take NumPy is known."""
    work = []
    looked = Pace._looked
    monkeypatch.setattr(Pace, "_looked", lambda p: (work.append(NOW.work), looked(p)))
    x = np.array(numpy.random.default_rng(3).random(SHAPE))
    for _ in range(SETTLING + WINDOW + 8):
        float((x * 2).sum())
    assert work
    assert work[0] > 0


# ------------------------------------------------------------------------- NumPy at the call


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pace is NumPy's."""
    counts = Pace.counts

    def always(p: Pace) -> bool:
        counts(p)
        p.numpys = NOW.numpys = True
        return True

    monkeypatch.setattr(Pace, "counts", always)


def life(xp, g):
    n = sum(xp.roll(xp.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((n == 3) | ((g == 1) & (n == 2))).astype(int)


def heat(xp, u):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
    u[0] = u[1]
    return u + 0.0


def chosen(xp, x):
    y = xp.where(x > 0.5, x, -x)
    y[y < -0.25] = 2.0
    return (y - y.mean(0)) * xp.maximum(y, 0.0).sum(1, keepdims=True)


def written(xp, x):
    y = x * 2
    xp.multiply(y, 3, out=y)
    z = xp.concatenate([y, x]).T.copy()
    y += 1
    return xp.cumsum(z[:, 100:400] + y[:, :1], 1)


PROGRAMS = [(life, "l"), (heat, "d"), (chosen, "d"), (written, "f")]


@pytest.mark.parametrize(("program", "dtype"), PROGRAMS, ids=lambda x: getattr(x, "__name__", x))
@pytest.mark.usefixtures("hurried")
def test_results_are_the_same(program, dtype):
    given = (numpy.random.default_rng(4).random(SHAPE) * 2).astype(dtype)
    mine, theirs = np.array(given), given.copy()
    for _ in range(4):
        mine, theirs = program(np, mine), program(numpy, theirs)
    assert numpy.asarray(mine).tobytes() == theirs.tobytes()
    assert mine.dtype == theirs.dtype


@pytest.mark.usefixtures("hurried")
def test_nothing_is_built():
    """But what is met for the first time."""
    g = np.array(numpy.random.default_rng(4).integers(0, 2, SHAPE))
    for _ in range(3):
        g = life(np, g)
    before = COUNT.nodes_built
    for _ in range(5):
        g = life(np, g)
    assert COUNT.nodes_built == before
    with np.options(plan="always"):
        life(np, g)
        assert COUNT.nodes_built > before


@pytest.mark.usefixtures("hurried")
def test_large_results_wait_as_before():
    x = np.array(numpy.ones((1000, 1000)))
    for _ in range(3):
        y = x * 2 + 1
    assert not np.is_evaluated(y)
    assert not np.is_evaluated(np.roll(y, 1, 0))


@pytest.mark.usefixtures("hurried")
def test_errors_and_warnings_are_those_of_the_call():
    x = np.array(numpy.zeros(SHAPE))
    for _ in range(3):
        with np.errstate(all="ignore"):
            x / x
    with pytest.warns(RuntimeWarning, match="invalid value") as seen:
        x / x
    assert {w.filename for w in seen} == {__file__}
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        x / x
