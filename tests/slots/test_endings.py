"""Arrays end without Python: what they count for, memory that stays warm, signals' handlers, exceptions."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import buffers
from lazyarr.resting import COLLECTING
from lazyarr.storage import Storage
from lazyarr.values import LEDGER, Buffer
from tests.slots.operands import ONLY_HERE, Garbage, collecting_early, python_functions

pytestmark = ONLY_HERE

ROOT = Path(__file__).resolve().parents[2]
N = 5000
BY_PYTHON = {"lazyarr.storage.__del__", "lazyarr.values.__del__", "lazyarr.resting.hear"}


@pytest.fixture(autouse=True)
def always() -> Iterator[None]:
    with np.options(jit="always"):
        yield


def pending(a: Any) -> None:
    (a * 2 + 1) * 3


def computed(a: Any) -> None:
    b = a * 2
    b[0] + 1


def read_before(a: Any) -> None:
    """Its readers are done, or gone."""
    b = a * 2
    float((b + 1)[0])
    b - 1


def step(a: Any) -> None:
    x = np.exp(np.sin(a) * np.cos(a)) - a
    float(x[0])


def collected(a: Any) -> None:
    gc.collect()


ENDINGS: list[Callable[[Any], None]] = [pending, computed, read_before, step, collected]


@pytest.mark.parametrize("program", ENDINGS)
def test_no_python_runs(program: Callable[[Any], None]) -> None:
    a = np.ones(N)
    program(a)
    before = LEDGER.unallocated, LEDGER.kept
    ran = {name for _ in range(3) for name in python_functions(program, a)[1]}
    assert not ran & BY_PYTHON
    assert (LEDGER.unallocated, LEDGER.kept) == before


def test_python_knows_more() -> None:
    """A value that pending nodes read keeps its bytes; it is Python who counts them."""
    a = np.ones(N)
    float(a[0])
    y, kept = a * 2, LEDGER.kept
    a += 1
    b = a * 3
    del a
    assert LEDGER.kept >= kept and float(y[1]) == 2 and float(b[1]) == 6
    del y, b
    assert LEDGER.kept == kept


@pytest.mark.parametrize(
    ("nbytes", "most"),
    [(80_000, 4), (buffers.WARM_MOST, 4), (buffers.WARM_MOST + 8, 1), (buffers.WARM_LARGEST + 8, 0)],
)
def test_memory_stays_warm(nbytes: int, most: int) -> None:
    buffers.let_go()
    made = [Buffer.new(nbytes) for _ in range(6)]
    held = made[0].memory
    with np.options(buffer_cache_bytes=1 << 40):        # (other tests may have left it full)
        while made:
            made.pop()
    warm = buffers.WARM.get(nbytes, [])
    assert len(warm) == most and all(memory is not held and memory.nbytes == nbytes for memory, _ in warm)
    assert all(at == memory.__array_interface__["data"][0] for memory, at in warm)
    buffers.let_go()


@pytest.mark.parametrize("limit", [0, buffers.WARM_ROOM - 1, buffers.WARM_ROOM, 1 << 62])
def test_memory_has_a_limit(limit: int) -> None:
    buffers.trim()
    with np.options(buffer_cache_bytes=limit):
        buffers.WARM[48_000] = []
        Buffer.new(48_000)
        stays = len(buffers.WARM[48_000])
    assert stays == (limit >= buffers.WARM_ROOM)
    buffers.let_go()


def test_half_made(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    for cls in Storage, Buffer, buffers.Block, buffers.Ring:
        cls.__new__(cls)
    assert not lost


class Foreign(Buffer):
    """Another type's finalizer is its own."""

    ended = 0

    def __del__(self, *_: Any) -> None:
        Foreign.ended += 1


def test_other_types_have_their_own() -> None:
    Foreign(numpy.zeros(3, numpy.uint8))
    assert Foreign.ended == 1


def test_errors_on_their_way() -> None:
    def fails() -> None:
        a = np.ones(N)
        b, c = a * 2, a * 3
        float(b[0])
        raise KeyError(c.shape)

    for _ in range(50):
        with pytest.raises(KeyError, match="5000"):
            fails()


class Cycle:
    """Garbage whose finalizer keeps an array."""

    def __init__(self, x: Any, kept: list[Any]) -> None:
        self.x, self.kept, self.me = x, kept, self

    def __del__(self) -> None:
        self.kept.append(self.x)
        assert COLLECTING.now == threading.get_ident()


def test_garbage() -> None:
    kept = list[Any]()
    before = LEDGER.unallocated
    assert COLLECTING.hear not in gc.callbacks
    for k in range(5):
        Cycle(np.full(N, 2.0) * k + 1, kept)
        gc.collect()
    assert not COLLECTING.now and [float(x[-1]) for x in kept] == [1, 3, 5, 7, 9]
    kept.clear()
    assert LEDGER.unallocated == before and not COLLECTING.ended


HEARD = """
import random, signal, sys
import lazyarr as np

class Tick(Exception):
    pass

raised, heard, lost, n = [0], 0, [], int(sys.argv[1])
by = random.Random(n)

def handler(*_):
    raised[0] += 1
    raise Tick

def advanced(x, a):
    x = np.exp(np.sin(x) * np.cos(a)) - x
    float(x[0])
    return x

np.slots.attach()
sys.unraisablehook = lost.append
with np.options(jit="always"):
    a = x = np.ones(n)
    for _ in range(60):
        x = advanced(x, a)
    signal.signal(signal.SIGALRM, handler)
    for _ in range(300):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.0008 * by.random())
            for _ in range(50):
                x = advanced(x, a)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Tick:
            heard += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
print(raised[0], heard, [repr(each) for each in lost])
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("n", [1000, 30_000])
def test_what_handlers_raise_is_heard(n: int) -> None:
    """One in thirty was not, when the finalizers were Python's.  (In a process of its own, which says where
    it was if it crashes.)"""
    command = [sys.executable, "-X", "faulthandler", "-c", HEARD, str(n)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    said = f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert (done.returncode, done.stderr) == (0, ""), said
    raised, heard, lost = done.stdout.split(maxsplit=2)
    assert raised == heard and int(heard) > 100 and lost.strip() == "[]"


def test_the_list_of_warm_memory_may_go_meanwhile() -> None:
    """A finalizer that runs as memory is kept takes the list away, and the next new list has its place."""
    size, gone, lists = 8 * 100_000, list[bool](), list[list[Any]]()

    def act() -> None:
        gone.append(buffers.WARM.pop(size, None) is not None)
        lists.append([])

    for _ in range(40):
        x = np.arange(100_000) * 2.0
        np.evaluate(x)
        buffers.WARM.setdefault(size, []).clear()
        Garbage(act)
        with collecting_early():
            del x
    assert any(gone) and not any(lists)
