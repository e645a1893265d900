"""A signal handler that raises while an evaluation runs: no update is lost, none is applied twice."""

import contextlib
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy
import pytest

import lazyarr as np
from lazyarr import interrupts
from lazyarr.expr import Expr
from tests.interrupted import interrupted

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import signal
import numpy
import lazyarr as np

signal.signal(signal.SIGALRM, signal.default_int_handler)
np.ones(1_000_000).sum()
came = 0
for step in range(14):
    a = np.ones(3_000_000)
    a[0]
    for _ in range(5):
        a += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0003 * (step + 1))
        a[0]
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        came += 1
    assert numpy.array_equal(numpy.unique(numpy.asarray(a)), [6.0]), (step, numpy.unique(numpy.asarray(a)))
print("interrupted" if came else "never")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs interval timers")
@pytest.mark.parametrize("jit", ["auto", "always", "never"])
def test_updates_in_place_happen_once(jit):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_JIT": jit}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("interrupted", "never")


class _Late:
    """The signal module; a signal comes just before its handler is put aside, so that it runs then."""

    def __init__(self, real):
        self.real, self.left = real, 1

    def __getattr__(self, name):
        return getattr(self.real, name)

    def signal(self, number, handler):
        if number == signal.SIGALRM and self.left:
            self.left = 0
            signal.raise_signal(number)
        return self.real.signal(number, handler)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs alarms")
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_handler_that_raises_while_it_is_put_aside(monkeypatch, error):
    """What it raises comes out, and all handlers are those of before."""

    def raises(*_):
        raise error("time is over")

    before = signal.signal(signal.SIGALRM, raises), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(interrupts, "signal", _Late(interrupts.signal))
    try:
        with pytest.raises(error, match="over"):
            interrupts.hold_signals()
        assert signal.getsignal(signal.SIGALRM) is raises
        assert signal.getsignal(signal.SIGINT) is before[1]
    finally:
        signal.signal(signal.SIGALRM, before[0])


NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)]


@pytest.fixture
def handlers():
    """What has come, and was told to raise, when handlers of three signals are in place."""
    came: list[int] = []
    raising: list[int] = []

    def handler(number, frame):
        came.append(number)
        if number in raising:
            raise KeyError(number)

    before = {number: signal.signal(number, handler) for number in NUMBERS}
    yield came, raising
    assert all(signal.getsignal(number) is handler for number in NUMBERS)
    for number, other in before.items():
        signal.signal(number, other)


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals of the program's own")
@pytest.mark.parametrize("many", [1, 2, 3])
@pytest.mark.parametrize("first", range(3))
def test_all_handlers_run_when_some_raise(handlers, first, many):
    came, raising = handlers
    order = NUMBERS[first:] + NUMBERS[:first]
    raising += order[:many]
    held = interrupts.hold_signals()
    for number in (*order, *order):
        signal.raise_signal(number)
    assert not came
    with pytest.raises(KeyError) as error:
        interrupts.release_signals(held)
    assert came == order                        # (each once, as Python has it)
    assert error.value.args == (order[many - 1],)
    assert [bool(error.value.__context__)] == [many > 1]


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals of the program's own")
@pytest.mark.parametrize("many", [1, 2, 3])
def test_what_is_left_when_one_raises_runs_at_the_end(handlers, many):
    came, raising = handlers
    raising += NUMBERS[:many]
    held = interrupts.hold_signals()
    for number in NUMBERS:
        signal.raise_signal(number)
    with pytest.raises(KeyError):
        interrupts.deliver(held)
    assert came == NUMBERS
    signal.raise_signal(NUMBERS[2])
    assert len(came) == 3
    raising.clear()
    interrupts.release_signals(held)
    assert came == [*NUMBERS, NUMBERS[2]]


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals of the program's own")
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("raises", [False, True])
def test_interrupts_while_handlers_are_put_back(handlers, number, raises):
    """Wherever that is: all are put back, and all run whose signals came."""
    came, raising = handlers
    raising += NUMBERS if raises else []

    def released():
        came.clear()
        held = interrupts.hold_signals()
        signal.raise_signal(NUMBERS[1])
        try:
            interrupts.release_signals(held)
        except KeyError:
            assert raises

    places = []
    within = interrupts.release_signals, interrupts.Held.put_back       # (not where handlers begin)
    comes = partial(signal.raise_signal, number)
    for place in interrupted(released, *within, then=comes):
        places.append(place)
        assert set(came) == {NUMBERS[1], number}
        handler = signal.getsignal(NUMBERS[0])
        assert all(signal.getsignal(number) is handler for number in NUMBERS)
    assert len(places) > 5


def test_handlers_that_others_set_meanwhile_stay():
    before = signal.getsignal(signal.SIGINT)

    def handler(number, frame):
        signal.signal(number, signal.SIG_IGN)

    signal.signal(signal.SIGINT, handler)
    try:
        held = interrupts.hold_signals()
        signal.raise_signal(signal.SIGINT)
        interrupts.deliver(held)
        interrupts.release_signals(held)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("nth", range(8))
def test_an_interrupt_while_results_are_handed_out(monkeypatch, nth):
    """Values that the kernel did not store can be computed again as long as anything needs them."""
    done, calls = Expr.done, iter(range(100))

    def interrupted(node, buf):
        if next(calls) == nth:
            raise KeyboardInterrupt
        done(node, buf)

    with np.options(jit="always"):
        x = np.array(numpy.linspace(0.0, 1.0, 5000))
        np.evaluate(x)
        a = x * 2 + 1
        b = np.sqrt(a) - a
        c = b.reshape(50, -1).sum(axis=1)               # (steps in place hold signals back)
        monkeypatch.setattr(Expr, "done", interrupted)
        with contextlib.suppress(KeyboardInterrupt):
            np.evaluate(a, b, c)
        monkeypatch.undo()
        plain = numpy.linspace(0.0, 1.0, 5000) * 2 + 1
        assert numpy.array_equal(a, plain)
        assert numpy.array_equal(b, numpy.sqrt(plain) - plain)
        assert numpy.array_equal(c, (numpy.sqrt(plain) - plain).reshape(50, -1).sum(axis=1))

FIRST_CALL = """
import os, signal, sys, time
import numpy
import lazyarr as np
from lazyarr import own_ufuncs

number = getattr(signal, sys.argv[1])
if number != signal.SIGINT:
    signal.signal(number, signal.default_int_handler)
load, = own_ufuncs.MACHINE

def interrupted(*loop):
    os.kill(os.getpid(), number)
    time.sleep(0.05)
    if sys.argv[2] == "no compiler":
        raise RuntimeError
    return load(*loop)

own_ufuncs.MACHINE[0] = interrupted
x = numpy.linspace(-1, 1, 100)
came = False
try:
    found = np.special.erf(np.array(x))
    time.sleep(1)
except KeyboardInterrupt:
    came = True
own_ufuncs.MACHINE[0] = load
assert numpy.allclose(np.special.erf(np.array(x)), np.special.erf(x)) and np.special.erf(x)[-1] > 0.84
print(came)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.parametrize("loaded", ["compiler", "no compiler"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_while_a_function_is_loaded_is_heard(name, loaded):
    """The loop that loads it is called by C code, out of which no exception gets."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FIRST_CALL, name, loaded]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")


LOADED = """
import signal, sys
import lazyarr as np

class Finder:
    def find_spec(self, name, path, target=None):
        if name == f"lazyarr.{sys.argv[1]}":
            signal.raise_signal(signal.SIGINT)

found = []
signal.signal(signal.SIGINT, lambda *_: found.append(float((np.ones(60_000) * 2 + 1).sum())))
sys.meta_path.insert(0, Finder())
np.set_options(plan="always", jit="always")
u = np.ones(60_000) * 3 + 1
assert float((u - u.mean()).sum()) == 0 and "lazyarr.engine" in sys.modules
v = np.arange(60_000.0)
assert float((v * 2)[v > 5].sum()) == 60_000 * 59_999 - 30
print(found)
"""


MODULES = "launch", "launch_feeds", "known_kept", "codegen.stages", "codegen.emitters_cast"


@pytest.mark.parametrize("module", MODULES)
def test_handlers_that_evaluate_wait_while_the_engine_is_loaded(module, tmp_path):
    """And what it imports later: launchers of seldom kinds, and what writes code."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LOADED, module]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[180000.0]", "")
