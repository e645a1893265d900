"""Results of medium size that are always computed alone: NumPy's at the call, where that is sooner."""

from __future__ import annotations

import warnings

import numpy
import pytest

import lazyarr as np
from lazyarr import habits, recipes, worth
from lazyarr.counters import COUNT
from lazyarr.habits import AGAIN, ALONE, LASTING, LATER, MIXED, SURELY, TRIES, Habit

N = 100_000
FIRST = ALONE + 1
"""Calls that make nodes: the first one makes a recipe, too, and is not counted."""
CALLS = FIRST + TRIES + 3


@pytest.fixture(autouse=True)
def unobserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks on."""
    monkeypatch.setattr(recipes, "OBSERVED", [])


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy is always found to be sooner."""
    took = Habit.took
    monkeypatch.setattr(Habit, "took", lambda self, seconds: took(self, 0.0))


def arrays(n=N):
    rng = numpy.random.default_rng(7)
    real = rng.uniform(-2, 2, n), rng.uniform(-2, 2, n)
    return *map(np.array, real), *real


def built(call, times=CALLS):
    """For each time whether the call made a node."""
    found = []
    for _ in range(times):
        before = COUNT.nodes_built
        call()
        found.append(COUNT.nodes_built > before)
    return found


def alone(habit, seconds, times=ALONE):
    for _ in range(times):
        assert not habit.is_numpys()
        habit.ran_alone(seconds)


def test_the_sooner_way_stays():
    for at_call, sooner in ((1.0, True), (3.0, False)):
        habit = Habit()
        alone(habit, 2.0)
        for _ in range(TRIES):
            assert habit.is_numpys()
            habit.took(at_call)
        assert habit.is_numpys() is sooner


def test_the_least_times_decide():
    habit = Habit()
    alone(habit, 9.0, ALONE - 1)
    alone(habit, 2.0, 1)
    for seconds in (9.0, 9.0, 1.0, 9.0)[:TRIES]:
        assert habit.is_numpys()
        habit.took(seconds)
    assert habit.is_numpys()


def test_results_that_others_use_are_no_habit():
    habit = Habit()
    for _ in range(5 * ALONE):
        alone(habit, 2.0, ALONE - 1)
        for _ in range(3 + ALONE // MIXED):
            assert not habit.is_numpys()
        assert not habit.tries


def test_a_decision_is_made_anew():
    habit = Habit()
    alone(habit, 2.0)
    for _ in range(TRIES):
        assert habit.is_numpys()
        habit.took(1.0)
    assert all(habit.is_numpys() for _ in range(LASTING))
    alone(habit, 0.5, AGAIN)
    for _ in range(TRIES):
        assert habit.is_numpys()
        habit.took(1.0)
    assert not habit.is_numpys()


def waiting():
    """A habit of which waiting was found to be the sooner way."""
    habit = Habit()
    alone(habit, 2.0)
    for _ in range(TRIES):
        assert habit.is_numpys()
        habit.took(3.0)
    return habit


def test_where_waiting_is_sooner_nobody_looks():
    habit = waiting()
    assert habit.need_not_look()
    assert not habit.is_numpys()
    assert habit.need_not_look()


def test_numpy_tries_again_where_waiting_takes_longer_now():
    """Than NumPy did, by much, and several times in a row."""
    habit = waiting()
    for seconds in (0.99 * LATER * 3.0, 1.01 * LATER * 3.0):
        for _ in range(SURELY - 1):
            habit.ran_alone(seconds)
        assert habit.need_not_look()
        assert not habit.tries
    habit.ran_alone(2.0)
    for _ in range(SURELY):
        assert habit.need_not_look()
        habit.ran_alone(9.0)
    assert not habit.need_not_look()
    assert habit.is_numpys()


def test_what_was_numpys_waits_where_somebody_looks_anew(soon):
    x, y, _, _ = arrays()

    def call():
        np.evaluate(x + y)

    built(call)
    assert built(call, 2) == [False] * 2
    habits.look_anew()
    assert built(call, 2) == [True] * 2


def test_lone_results_become_numpys(soon):
    x, y, a, b = arrays()

    def call():
        z = x + y
        np.evaluate(z)
        assert numpy.asarray(z).tobytes() == (a + b).tobytes()

    assert built(call) == [True] * FIRST + [False] * (CALLS - FIRST)
    before = COUNT.eager
    call()
    assert COUNT.eager == before + 1


def test_with_a_fold_as_well(soon):
    x, _, a, _ = arrays()

    def call():
        assert (x > 1.999).any() == (a > 1.999).any()

    made = built(call)
    assert made == [True] * FIRST + [False] * (CALLS - FIRST)


def test_chains_wait(soon):
    x, y, a, b = arrays()

    def call():
        z = ((x * y + x) / 3 - y) * x
        np.evaluate(z)
        assert numpy.asarray(z).tobytes() == (((a * b + a) / 3 - b) * a).tobytes()

    before = COUNT.nodes_built
    built(call)
    assert COUNT.nodes_built - before == 5 * CALLS


def test_short_chains_go_one_by_one(soon):
    """Where the first is sooner by itself, what is left is a shorter chain, of which the same is asked."""
    x, y, a, b = arrays()

    def call():
        z = (x * y + x) / y
        np.evaluate(z)
        assert numpy.asarray(z).tobytes() == ((a * b + a) / b).tobytes()

    built(call, 3 * CALLS)
    assert built(call, 1) == [False]


def test_each_line_has_its_own_habit(soon):
    x, y, _, _ = arrays()
    built(lambda: np.evaluate(x + y))
    assert built(lambda: np.evaluate(x + y), 1) == [True]


def test_large_and_pending_operands_wait(soon):
    large = np.array(numpy.ones(habits.MEDIUM * np.get_options()["eager_elements"] + 1))
    assert all(built(lambda: np.evaluate(large + 1)))
    x, _, _, _ = arrays()

    def call():
        z = x * 2
        w = z + 1
        np.evaluate(z, w, x - z, z * z, w * z)

    before = COUNT.nodes_built
    built(call)
    assert COUNT.nodes_built - before == 5 * CALLS


@pytest.mark.parametrize(
    "options", [{"jit": "always"}, {"math": "native"}, {"fast_math": True}, {"eager_elements": 0}]
)
def test_options_that_ask_for_kernels(soon, options):
    x, y, _, _ = arrays()
    with np.options(**options):
        assert all(built(lambda: np.evaluate(x + y)))


def test_warnings_and_errors_are_numpys(soon):
    x, _, _, _ = arrays()
    zero = np.zeros(N) * x

    def call():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.evaluate(x / zero)
        return [(str(w.message), w.filename) for w in caught]

    np.evaluate(zero)
    told = {tuple(call()) for _ in range(CALLS)}
    assert told == {(("divide by zero encountered in divide", __file__),)}

    def raising():
        with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
            np.evaluate(x / zero)

    built(raising)


def test_what_numpy_made_is_an_array_like_others(soon):
    x, y, a, b = arrays()
    for _ in range(CALLS):
        z = x - y
        np.evaluate(z)
    z = x - y
    w = z[::2]
    w += 1
    expected = a - b
    expected[::2] += 1
    assert numpy.asarray(z).tobytes() == expected.tobytes()
    assert type(z) is np.ndarray and z.flags.owndata and z.base is None


def test_what_numpy_reads_is_held():
    """Another thread may give the array another value while NumPy reads the one before."""
    x, _, a, _ = arrays()
    np.evaluate(x)
    seen, held = recipes._seen_now(x)
    assert held is x.storage.value.buf
    x.storage.hold(np.zeros(N).storage.value)
    np.evaluate(np.ones(N) * 3, np.ones(N) * 5)
    assert seen.tobytes() == a.tobytes()


def test_temporaries_are_computed_over(soon):
    """As in NumPy: the second operation of a line takes the first one's memory."""
    x, y, a, b = arrays()

    def call():
        z = x * 2.0 + y
        np.evaluate(z)
        return z

    def named():
        t = x * 2.0
        z = t + y
        np.evaluate(z)
        return t, z

    for program, many in ((call, 1), (named, 2)):
        built(program, 6 * CALLS)
        assert built(program, 1) == [False]
        before = COUNT.bytes_allocated
        found = program()
        assert COUNT.bytes_allocated - before == many * x.nbytes
        *first, last = found if many == 2 else (found,)
        assert numpy.asarray(last).tobytes() == (a * 2 + b).tobytes()
        assert all(numpy.asarray(each).tobytes() == (a * 2).tobytes() for each in first)


def test_temporaries_that_somebody_sees_are_not(soon):
    x, y, a, b = arrays()
    seen = []

    class Keeping(list):
        def __call__(self, z):
            self.append(numpy.asarray(z))
            return z

    keep = Keeping()

    def call():
        z = keep(x * 2.0) + y
        part = (x * 2.0)[::1]
        w = part + y
        np.evaluate(z, w, part)
        seen.append((z, w, part))

    built(call, 6 * CALLS)
    for (z, w, part), kept in zip(seen, keep, strict=True):
        assert kept.tobytes() == numpy.asarray(part).tobytes() == (a * 2).tobytes()
        assert numpy.asarray(z).tobytes() == numpy.asarray(w).tobytes() == (a * 2 + b).tobytes()


def test_memory_is_moved_at_the_call():
    """Of what exists, up to a size; what is pending is computed into its place."""
    x, _, a, _ = arrays()
    d, e = np.zeros(N), numpy.zeros(N)
    np.evaluate(x, d)
    moves = [
        lambda np, x, d: x.copy(), lambda np, x, d: x.astype("f4"), lambda np, x, d: np.roll(x, 5),
        lambda np, x, d: np.roll(x.reshape(-1, 100), (1, 3), (0, 1)), lambda np, x, d: d.__setitem__(..., x),
        lambda np, x, d: d.__setitem__(slice(1, None), x[:-1]), lambda np, x, d: d.__setitem__(slice(3), 7),
        lambda np, x, d: x.reshape(-1, 100).T.copy(),
    ]  # fmt: skip
    for move in moves:
        before = COUNT.nodes_built
        found, expected = move(np, x, d), move(numpy, a, e)
        assert COUNT.nodes_built == before
        if expected is not None:
            assert found.dtype == expected.dtype and found.strides == expected.strides
            assert numpy.asarray(found).tobytes() == expected.tobytes()
        assert numpy.asarray(d).tobytes() == e.tobytes()
    before = COUNT.nodes_built
    t = x * 2
    for pending in (t.copy(), np.roll(t, 5)):
        assert not np.is_evaluated(pending)
    assert COUNT.nodes_built > before


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("fn", [numpy.maximum, numpy.minimum])
def test_numpy_at_the_call_warns_of_nothing_that_the_program_does_not_do(fn):
    """It deprecates results by position of some functions."""
    x, y, a, b = arrays()
    mine = getattr(np, fn.__name__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(CALLS):
            found = numpy.asarray(mine(x, y))
    assert found.tobytes() == fn(a, b).tobytes()


def test_what_waits_for_a_plan_does_not_tell_what_waiting_takes(monkeypatch):
    """NumPy computes node by node until there is a plan: calls at once would always be the sooner ones."""
    monkeypatch.setattr(worth, "PLAN", worth.Price(1e18, 0, 0, 0))
    x, y, *_ = arrays()
    with np.options(plan="auto"):
        calls = built(lambda: np.evaluate(x * y))
    assert all(calls), calls
