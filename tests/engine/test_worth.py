"""Who waits for a plan: structures that have not yet taken NumPy as long as their plans will."""

import signal
import warnings

import numpy
import pytest

import lazyarr as np
from lazyarr import cuts, materialize, worth
from lazyarr.compiler import COMPILER, LOAD_NS, START_NS, warm_ns
from lazyarr.counters import COUNT
from lazyarr.pace import NOW
from lazyarr.worth import Price

SIZE = 100_000
FREE, DEAR = Price(0, 0, 0, 0), Price(1e18, 0, 0, 0)
planned, bought = worth.Account.planned, worth.Account.bought


@pytest.fixture(autouse=True)
def auto(monkeypatch):
    """Plans are what they are by default, of structures that are new; time is a millisecond an evaluation."""
    COMPILER.load()
    if not COMPILER.usable:
        pytest.skip("no LLVM")
    took = worth.Account.took
    monkeypatch.setattr(worth.Account, "took", lambda account, ns: took(account, 1e6))
    monkeypatch.setattr(worth, "noted", lambda name: False)
    monkeypatch.setattr(worth.Account, "planned", lambda account, ns: None)
    monkeypatch.setattr(worth.Account, "bought", lambda account, plan, ns: None)
    with np.options(plan="auto"):
        yield


@pytest.fixture
def prices(monkeypatch):
    def set_to(plan=FREE, kernels=FREE, placed=FREE):
        for name, price in (("PLAN", plan), ("KERNELS", kernels), ("PLACED", placed)):
            monkeypatch.setattr(worth, name, price)

    return set_to


def counted(run):
    """The result, and what was planned, left to NumPy, and launched."""
    before = COUNT.plans, COUNT.unplanned, COUNT.native_launches
    result = numpy.asarray(run())
    return result, (COUNT.plans - before[0], COUNT.unplanned - before[1], COUNT.native_launches - before[2])


def operands(n=SIZE):
    values = numpy.random.default_rng(5).random((2, n))
    return [np.array(v) for v in values], list(values)


def chain(x, y):
    return (x * 3 + y) * (x - 2) + y * y


def test_what_is_new_waits_until_its_price_is_paid(prices):
    """At a millisecond each, and three for a plan, the third evaluation finds two paid: half as much again
    has to be there."""
    prices(Price(3e6, 0, 0, 0))
    (x, y), (a, b) = operands()
    seen = []
    for _ in range(8):
        result, counts = counted(lambda: chain(x, y))
        seen.append(counts)
        assert result.tobytes() == chain(a, b).tobytes()
    waited = [k for k, counts in enumerate(seen) if counts == (0, 1, 0)]
    assert waited == list(range(len(waited))) and 3 <= len(waited) <= 5
    assert seen[len(waited)] == (1, 0, 1)
    assert all(counts == (0, 0, 1) for counts in seen[len(waited) + 1 :])


def test_what_a_plan_took_is_paid_before_the_next_one_of_such_ops(prices, monkeypatch):
    """Rolled by another number each time it is another structure; NumPy takes a millisecond for each."""
    prices()
    x = np.arange(4.0 * SIZE).reshape(400, -1) * 1
    np.evaluate(x)

    def rolled(k):
        return lambda: np.roll(x, k + 1, 0) * 2 + np.roll(x, 3 * k + 1, 1)

    assert [counted(rolled(k))[1][0] for k in range(3)] == [1, 1, 1]
    monkeypatch.setattr(worth.Account, "planned", lambda account, ns: planned(account, 4.5e6))
    assert [counted(rolled(k))[1][0] for k in range(3, 15)] == [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert counted(rolled(3))[1] == (0, 0, 1)         # what has a plan owes nothing


def test_plans_that_are_not_met_again_grow_dear(prices, monkeypatch):
    """Rolled by another number each time: two are made in vain, then NumPy does all others, till the last one
    is met again; but where an evaluation takes NumPy longer than a plan, it has one."""
    prices()
    monkeypatch.setattr(worth.Account, "bought", lambda account, plan, ns: bought(account, plan, 4.5e6))
    x, a = np.arange(4.0 * SIZE).reshape(400, -1) * 1, numpy.arange(4.0 * SIZE).reshape(400, -1)
    np.evaluate(x)

    def rolled(k):
        result, counts = counted(lambda: np.roll(x, k + 1, 0) * 2 + np.roll(x, 3 * k + 1, 1))
        assert result.tobytes() == (numpy.roll(a, k + 1, 0) * 2 + numpy.roll(a, 3 * k + 1, 1)).tobytes()
        return counts[:2]

    vain = NOW.in_vain
    assert [rolled(k) for k in range(9)] == [(1, 0), (1, 0)] + [(0, 1)] * 7
    assert NOW.in_vain >= vain + 7
    assert rolled(0) == (0, 0) and rolled(9) == (0, 1)
    assert rolled(1) == (0, 0) and [rolled(k) for k in range(9, 12)] == [(1, 0), (1, 0), (0, 1)]
    monkeypatch.setattr(worth, "warm_ns", lambda node: 1e7)
    assert [rolled(k) for k in range(12, 20)] == [(1, 0)] * 8


def test_who_pays_in_vain_has_less_for_others(prices, monkeypatch):
    prices(Price(0, 1, 0, 0), placed=Price(0, 1, 0, 0))
    monkeypatch.setattr(worth.Account, "bought", lambda account, plan, ns: bought(account, plan, 1e6))
    monkeypatch.setattr(worth, "_rent", [1e9])
    x = np.arange(4.0 * SIZE).reshape(400, -1) * 1
    np.evaluate(x)
    seen = [counted(lambda k=k: np.roll(x, k + 1, 0) * 2 + np.roll(x, 3 * k + 1, 1))[1] for k in range(30)]
    assert worth._rent[0] < 1e8 and sum(plans for plans, _, _ in seen) < 16


def test_kernels_are_part_of_the_price(prices, monkeypatch):
    prices(kernels=DEAR)
    (x, y), _ = operands()
    assert counted(lambda: chain(x, y))[1] == (0, 1, 0)
    monkeypatch.setattr(worth, "noted", lambda name: True)      # an earlier process has compiled them
    assert counted(lambda: chain(x, y))[1] == (1, 0, 1)


def test_what_numpy_took_before_there_were_nodes_pays_for_plans(prices, monkeypatch):
    """At once, as long as it lasts; and for the compiler to be loaded, but nobody waits for that."""
    monkeypatch.setattr(COMPILER, "work", 0.0)
    monkeypatch.setattr(COMPILER, "debt", 0.0)
    prices(Price(3e6, 0, 0, 0))
    (x, y), _ = operands()
    worth.rented(1e9)
    assert COMPILER.looks()
    assert START_NS < COMPILER.debt < LOAD_NS
    monkeypatch.setattr(worth, "_rent", [worth.SURE * 3e6])
    assert counted(lambda: chain(x, y))[1] == (1, 0, 1)
    assert 0 < worth._rent[0] < worth.SURE * 3e6        # (its own time has paid for the rest)
    assert counted(lambda: x * 2 - y)[1] == (0, 1, 0)


def test_what_does_not_suffice_for_kernels_pays_for_none(prices, monkeypatch):
    prices(kernels=DEAR)
    (x, y), _ = operands()
    monkeypatch.setattr(worth, "_rent", [1e9])
    assert counted(lambda: chain(x, y))[1] == (0, 1, 0)
    assert worth._rent == [1e9]


def test_structures_that_never_come_again_are_numpys(prices):
    prices(Price(1.9e6, 0, 0, 0))
    x, a = np.array(numpy.arange(SIZE) + 0.5), numpy.arange(SIZE) + 0.5
    before = COUNT.plans
    for k in range(1, 20):
        got, want = x, a
        for _ in range(k):
            got, want = got * 1.5 - x, want * 1.5 - a
        assert numpy.asarray(got).tobytes() == want.tobytes()
    assert COUNT.plans == before


def test_a_loop_that_goes_on_pays_for_its_plan_alone(prices):
    """Where several read what is below, and more waits than did before."""
    prices(kernels=DEAR)

    def swept(times):
        def run():
            for _ in range(times):
                x[1:-1, 1:-1] = 0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
            return x

        return run

    def plain():
        y = x
        for _ in range(150):
            y = y * 0.5 + 0.1
        return y

    x = np.array(numpy.random.default_rng(7).random((400, 400)))
    bound = COUNT.node_bound
    with np.options(pending_nodes=cuts.LASTING_DEPTH):
        assert counted(swept(30))[1][0] == 0 and COUNT.node_bound > bound
        cuts.SHARED.value = cuts.LASTING_DEPTH
        assert counted(swept(10))[1][0] == 0            # no more than waited before
        assert counted(plain)[1][0] == 0                # (300 nodes)
        assert counted(swept(30))[1][0] == 1


def test_large_work_is_planned_at_once():
    """By what the tables say."""
    values = numpy.random.default_rng(6).random(7_500_000)
    x = np.array(values)
    result, counts = counted(lambda: chain(x, x))
    assert counts[:2] == (1, 0) and result.tobytes() == chain(values, values).tobytes()


@pytest.mark.parametrize(
    "options", [{"plan": "always"}, {"jit": "always"}, {"math": "native"}, {"fast_math": True}], ids=str
)
def test_who_asks_for_compiled_code_does_not_wait(prices, options):
    prices(DEAR)
    (x, y), _ = operands()
    with np.options(**options):
        assert counted(lambda: chain(x, y))[1][:2] == (1, 0)
    assert counted(lambda: chain(x, y) + 1)[1][:2] == (0, 1)


def test_what_is_looked_at_is_planned(prices, capsys):
    prices(DEAR)
    (x, y), _ = operands()
    assert len(chain(x, y).explain().groups) == 1
    with np.options(debug=1):
        assert counted(lambda: chain(x, y))[1][:2] == (1, 0)
    assert capsys.readouterr().err


def test_other_extents_pay_for_themselves(prices):
    """Where the plan of some extents is known, that of others costs less."""
    prices(placed=DEAR)

    def program(n):
        x = np.array(numpy.arange(n * 300.0).reshape(n, 300))
        return counted(lambda: (x[1:] - x[:-1]) * x[1:].sum(1, keepdims=True))[1][:2]

    assert program(400) == (1, 0)
    assert program(401) == (0, 1)
    prices()
    assert program(402) == (0, 0)


def test_writes_views_and_what_is_held(prices):
    """The same program, its evaluations NumPy's at first and planned in the middle."""
    prices(Price(2.5e6, 0, 0, 0))

    def program(np, x):
        seen = []
        for k in range(6):
            held = x * 2 + k
            view = held[10:-10]
            x[5:] = x[:-5] + held[5:]
            held += view.mean()
            np.multiply(x, 0.5, out=x, where=held > 1)
            seen += [held.copy(), view[::2] + 1, x[3:9].copy(), np.cumsum(x) / 4]
        return [numpy.asarray(s) for s in seen]

    start = numpy.random.default_rng(9).random(SIZE)
    before = COUNT.plans, COUNT.unplanned
    got = program(np, np.array(start))
    assert COUNT.plans > before[0] and COUNT.unplanned > before[1]
    for mine, its in zip(got, program(numpy, start.copy()), strict=True):
        assert mine.tobytes() == its.tobytes() and mine.dtype == its.dtype


def test_warnings_are_those_of_the_call(prices):
    prices(DEAR)
    x = np.array(numpy.linspace(-1, 1, SIZE + 1))

    def told(make):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            numpy.asarray(make())
        return [(str(w.message), w.filename) for w in found]

    def two():
        root = np.sqrt(x)
        with np.errstate(divide="ignore"):
            return root + 1 / (x - x)

    expected = [("invalid value encountered in sqrt", __file__)]
    waited = told(two)
    prices()
    assert waited == told(two) == expected


def test_values_go_with_their_last_readers(prices):
    """A chain takes the memory of two results, however long it is."""
    prices(DEAR)
    x = np.array(numpy.ones(SIZE))
    before, y = COUNT.bytes_allocated, x
    for _ in range(12):
        y = np.sqrt(y) + x
    assert counted(lambda: y)[1] == (0, 1, 0)
    assert COUNT.bytes_allocated - before <= 2 * y.nbytes


def test_an_interrupt_in_the_middle_leaves_what_can_be_asked_again(prices, monkeypatch):
    prices(DEAR)
    (x, y), (a, b) = operands()
    run, left = materialize._through_numpy, [3]

    def through(*rest):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return run(*rest)

    z = chain(x, y)
    z[:50] = z[50:100] + 1
    monkeypatch.setattr(materialize, "_through_numpy", through)
    with pytest.raises(KeyboardInterrupt):
        numpy.asarray(z)
    monkeypatch.undo()
    want = chain(a, b)
    want[:50] = want[50:100] + 1
    assert numpy.asarray(z).tobytes() == want.tobytes()


def test_accounts_are_bounded(prices):
    prices(DEAR)
    for k in range(3 * worth.MAX_ACCOUNTS):
        worth._enter(worth._spent, k, 1.0)
    assert len(worth._spent) <= worth.MAX_ACCOUNTS


def test_a_handler_between_nodes_has_the_programs_error_state(prices, monkeypatch):
    """And may ask for what is yet to be computed."""
    prices(DEAR)
    (x, y), (a, b) = operands()
    run, states = materialize._through_numpy, []

    def through(*rest):
        if not states:
            signal.raise_signal(signal.SIGUSR1)
        return run(*rest)

    def handler(*_):
        states.append(numpy.geterr()["divide"])
        numpy.asarray(z)

    z = chain(x, y)
    before = signal.signal(signal.SIGUSR1, handler)
    monkeypatch.setattr(materialize, "_through_numpy", through)
    try:
        with numpy.errstate(divide="raise"):
            assert numpy.asarray(z).tobytes() == chain(a, b).tobytes()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert states == ["raise"]


def test_numpy_takes_longer_for_short_rows():
    """Each is a loop of its own: programs whose rows have three elements come to their plans the sooner."""
    with np.options(plan="always"):
        rows = [np.array(numpy.ones((SIZE // n, n))) * 2 for n in (SIZE, 100, 3, 1)]
        long, middle, short, lone = (warm_ns(x.sum(-1).storage.value) for x in rows)
    assert long < middle < short / 4 and lone < short / 4


def test_numpy_takes_longest_where_half_is_kept():
    """What it picks by a mask it learns from branches: of those with as many of either kind most fail."""
    rng = numpy.random.default_rng(1)
    x, u = np.array(numpy.ones(SIZE)), rng.random(SIZE)
    with np.options(plan="always", jit="always"):
        few, half, most = (
            warm_ns(x[np.array(u < share)].storage.value) for share in (0.02, 0.5, 0.98)
        )  # fmt: skip
        assert max(few, most) < half / 4
        y, whole = x * 2, np.multiply(x, 2)
        y[np.array(u < 0.5)] = 1
        written = y.storage.value
    assert warm_ns(whole.storage.value) < warm_ns(written) / 2


def test_before_there_was_much_work_nobody_looks_into_the_cache(monkeypatch, prices):
    """No kernel would run; to look takes a part of a millisecond."""
    asked = []
    monkeypatch.setattr(worth, "noted", lambda name: asked.append(name) or True)
    monkeypatch.setattr(COMPILER, "usable", None)
    prices(kernels=DEAR)
    x, y = operands()[0]
    nodes = [(x + y).storage.value]
    for work, waits, looks in ((0.0, True, 0), (1e12, False, 1)):
        monkeypatch.setattr(COMPILER, "work", work)
        assert (worth.Account(nodes).waits(), len(asked)) == (waits, looks)


def test_a_loop_that_ends_elsewhere_each_time_waits_for_less():
    """Whoever reads it now and then has other graphs each time; one that comes round has few."""

    def sweeps(times):
        for _ in range(times):
            x[1:-1, 1:-1] = 0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
        return float(x[3, 3])

    x = np.array(numpy.random.default_rng(7).random((400, 400)))
    with np.options(pending_nodes=cuts.LASTING_DEPTH):
        cuts.SHARED.value = cuts.LASTING_DEPTH
        for _ in range(3 * cuts.STRAYS):
            sweeps(40)
        assert cuts.SHARED.value == cuts.LASTING_DEPTH
        for k in range(cuts.STRAYS):
            sweeps(30 + k)
        assert cuts.SHARED.value == cuts.SHARED_DEPTH and cuts._loop.times < -cuts.LASTING
