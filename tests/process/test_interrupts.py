"""A signal handler that raises while an evaluation runs: no update is lost, none is applied twice."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import lazyarr as np
from lazyarr import interrupts
from lazyarr.expr import Expr

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
        if name == "lazyarr.launch":
            signal.raise_signal(signal.SIGINT)

found = []
signal.signal(signal.SIGINT, lambda *_: found.append(float((np.ones(60_000) * 2 + 1).sum())))
sys.meta_path.insert(0, Finder())
np.set_options(plan="always", jit="always")
u = np.ones(60_000) * 3 + 1
assert float((u - u.mean()).sum()) == 0 and "lazyarr.engine" in sys.modules
print(found)
"""


def test_handlers_that_evaluate_wait_while_the_engine_is_loaded():
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOADED]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[180000.0]", "")
