"""Kernels that are forgotten all the time: nobody runs the code that took their place.  That is: no plan,
function, thread, child of a fork, finalizer or signal handler.

Each program has a structure of its own, the bound is a few kernels, and results are NumPy's to the bit: pages
of code are written again hundreds of times while somebody else is about to run."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading

import numpy
import pytest

import lazyarr as np
from lazyarr import kernels, planning
from lazyarr.config import get_options, set_options
from lazyarr.dispatch import image, jit

pytestmark = pytest.mark.skipif(not jit.available() or not image.here(), reason="frees images")

OPS = (
    lambda m, x, y: x + y, lambda m, x, y: x - y, lambda m, x, y: x * y, lambda m, x, y: y - x,
    lambda m, x, y: m.maximum(x, y), lambda m, x, y: x * 0.5, lambda m, x, y: m.minimum(x, y) + 1,
)  # fmt: skip
A, B = numpy.linspace(0.5, 1.5, 60), numpy.linspace(2, 3, 60)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    before = get_options()
    set_options(jit="always", cache_bytes=0, pending_nodes=200)
    monkeypatch.setattr(kernels, "MOST", 6)
    monkeypatch.setattr(planning, "MAX_PLANS", 3)
    kernels._kernels.clear()
    planning._plans.clear()
    yield
    set_options(**before)


def program(m, seed: int):
    """Maps, folds, rows, compressions: a structure that no other seed gives."""
    pick = random.Random(seed)
    x, y = m.asarray(A.copy()), m.asarray(B.copy())
    for _ in range(10):
        x = pick.choice(OPS)(m, x, y)
    rows = x.reshape(6, 10)
    return (x, x - x.max(), rows - rows.sum(1, keepdims=True), x[y > 2.5] + x.sum())[seed % 4]


class Trial:
    """Programs run, and those whose results were not NumPy's."""

    def __init__(self) -> None:
        self.ran = 0
        self.wrong: list[int] = []

    def run(self, seed: int) -> None:
        self.ran += 1
        if numpy.asarray(program(np, seed)).tobytes() != program(numpy, seed).tobytes():
            self.wrong.append(seed)


def images() -> int:
    gc.collect()
    return len(jit._loaded) - len(jit._lasting)


def test_threads_and_finalizers():
    """Some threads run programs of long ago, others new ones; things that die run programs, too."""
    trial = Trial()

    class Ghost:
        def __init__(self, seed: int) -> None:
            self.seed, self.me = seed, self         # a cycle: the collector finds it, whatever it interrupts

        def __del__(self) -> None:
            trial.run(self.seed)

    def work(me: int) -> None:
        pick = random.Random(me)
        for k in range(60):
            trial.run(1000 * me + k)
            if k % 4 == 0:
                trial.run(1000 * me + max(0, k - pick.randrange(12)))
            if k % 9 == 0:
                Ghost(5000 + 100 * me + k)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(3)]
    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
    assert trial.ran > 220 and not trial.wrong
    assert images() < 60, "what nobody runs any more is free"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_handlers_of_signals():
    """They come in the middle of a launch, a load, a compilation."""
    trial, ticks = Trial(), [0]

    def tick(*_: object) -> None:
        ticks[0] += 1
        trial.run(20_000 + ticks[0] % 15)
        signal.setitimer(signal.ITIMER_REAL, 0.01)          # never two at a time, however slow the machine is

    for seed in range(8):               # what is imported late is there
        trial.run(29_000 + seed)
    before = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        for seed in range(60):
            trial.run(30_000 + seed)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ticks[0] and not trial.wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_run_their_own_code():
    """A child writes its copies of the pages, and its parent goes on with its own."""
    trial = Trial()
    for seed in range(8):
        trial.run(40_000 + seed)
    children = []
    for child in range(3):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                for seed in range(12):
                    trial.run(41_000 + 100 * child + seed)
                    trial.run(40_000 + seed % 8)
                status = len(trial.wrong)
            finally:
                os._exit(status)
        children.append(pid)
        for seed in range(8):
            trial.run(40_000 + seed)
            trial.run(42_000 + 100 * child + seed)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 3
    assert not trial.wrong


def _kept(functions) -> None:
    """Functions of old are called again after so many kernels that all pages were written again."""
    trial = Trial()
    for fn, expected in functions:
        assert numpy.asarray(fn()).tobytes() == expected.tobytes()
    for seed in range(50):
        trial.run(50_000 + seed)
    for fn, expected in functions:
        for _ in range(3):
            assert numpy.asarray(fn()).tobytes() == expected.tobytes()
    assert not trial.wrong


def test_vectorized_functions_stay():
    def f(x):
        s = 0.0
        for k in range(5):
            s = s * 0.5 + x * k
        return s

    fast = np.vectorize(f, otypes="d")
    _kept([(lambda: fast(np.asarray(A.copy())), numpy.vectorize(f, otypes="d")(A))])


def test_compiled_functions_stay():
    """Their replays hold addresses of kernels, so they must hold the kernels."""
    def f(x, y):
        return (x * 2 - y) / (x + y), (x - y).sum()

    fast = np.compile(f)
    for _ in range(3):
        fast(A, B)                  # looked at, then replayed
    _kept([(lambda: fast(A, B)[0], f(A, B)[0]), (lambda: fast(B, A)[0], f(B, A)[0])])


def test_plans_keep_what_they_run():
    """A plan outlives the kernel's entry, and the kernel's pages live with it."""
    def old(m):
        x = m.asarray(A.copy())
        return m.sqrt(x * 3.5 + 1) - x

    expected = old(numpy)
    assert numpy.asarray(old(np)).tobytes() == expected.tobytes()
    (plan,) = [p for p in planning._plans.values() if p.steps[0].program is not None]
    kernels._kernels.clear()
    with jit.loading:
        taken = [image.load(image.Image(b"\xcc" * 100, b"", 0, {}, (), ())) for _ in range(200)]
    assert plan.steps and numpy.asarray(old(np)).tobytes() == expected.tobytes()
    del taken
