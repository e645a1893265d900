"""In the middle of an evaluation a signal's handler, or a finalizer, asks for the same values."""

from __future__ import annotations

import random
import signal
import sys

import numpy
import pytest

import lazyarr as np
from lazyarr import planning
from lazyarr.config import get_options, set_options
from tests.interrupted import CALLS

REAL = numpy.linspace(0.25, 1.0, 3000)


@pytest.fixture(autouse=True)
def planned():
    before = get_options()
    set_options(jit="always", plan="always")
    planning._plans.clear()
    yield
    set_options(**before)


def made(m, seed):
    """Some arrays, most of them pending."""
    pick = random.Random(seed)
    x, y = m.asarray(REAL.copy()), m.asarray(REAL[::-1].copy())
    rows = (x * 2 + y).reshape(50, 60)
    rows[1:-1] = rows[:-2] * 0.25 + rows[2:] * 0.5
    for _ in range(pick.randrange(3, 7)):
        x = pick.choice((m.maximum, m.subtract, m.add))(x, y * pick.random())
    x[1:] += y[:-1]
    return [x, y, rows, rows - rows.mean(axis=0), x * y]


class Handler:
    """Does something after each so many-th call that Python code of the library's makes."""

    def __init__(self, every, act):
        self.every, self.act, self.left = every, act, every
        self.acted = 0

    def __enter__(self):
        self.before = signal.signal(signal.SIGUSR1, self.hear)
        sys.settrace(self.enter)

    def __exit__(self, *_):
        sys.settrace(None)
        signal.signal(signal.SIGUSR1, self.before)

    def hear(self, *_):
        sys.settrace(None)              # (signals wait where the library says so: this comes later, then)
        try:
            self.act(self.acted)
            self.acted += 1
        finally:
            sys.settrace(self.enter)

    def enter(self, frame, event, arg):
        if "/lazyarr/" not in frame.f_code.co_filename or "/tests/" in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, last = frame.f_code.co_code, [0]

        def see(frame, event, arg):
            if event == "opcode":
                called, last[0] = last[0] in CALLS, code[frame.f_lasti]
                self.left -= called
                if not self.left:
                    self.left = self.every
                    signal.raise_signal(signal.SIGUSR1)
            return see

        return see


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals")
@pytest.mark.parametrize("act", ["reads", "writes"])
def test_handlers_that_ask_for_the_same_values(act):
    asked, wrong = [], []

    def reads(k):
        found, expected = asked[0][k % len(asked[0])], asked[1][k % len(asked[0])]
        if (found + 1).tobytes() != (expected + 1).tobytes():
            wrong.append(k)

    def writes(k):
        asked[0][k % len(asked[0])][1:] *= 1

    seeds = range(12)
    for seed in seeds:                  # what is imported late is there
        [numpy.asarray(x) for x in made(np, seed)]
    planning._plans.clear()
    for seed in seeds:
        asked[:] = made(np, seed), made(numpy, seed)
        with Handler(211 + seed, reads if act == "reads" else writes):
            found = [numpy.asarray(x) for x in asked[0]]
        assert not wrong
        for x, expected in zip(found, asked[1], strict=True):
            assert x.tobytes() == expected.tobytes()
        found = [numpy.asarray(x) for x in made(np, seed)]      # what was planned meanwhile is right, too
        for x, expected in zip(found, asked[1], strict=True):
            assert x.tobytes() == expected.tobytes()
