"""Small parts of large arrays, where threads, handlers, keys and what is no whole array come in between."""

from __future__ import annotations

import operator
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.expr import LOCK
from lazyarr.geometry import geometry
from lazyarr.slots.parts import KEEPS_GIL
from tests.slots.operands import ONLY_HERE, W, both, lazy, same

pytestmark = ONLY_HERE


@pytest.fixture
def patient() -> Iterator[None]:
    """No thread has to leave its turn to another."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "f2", "c16"])
def test_small_writes_keep_their_turn(dtype: str, patient: None) -> None:
    """As long as this holds, the lock may be left where it is (`parts.KEEPS_GIL`)."""
    x, _ = both(dtype)
    part, other = x.reshape(-1)[:KEEPS_GIL], x.reshape(-1)[-2 * KEEPS_GIL :: 2]
    value = np.array(numpy.arange(KEEPS_GIL) % 2, dtype)
    integers = np.array(numpy.arange(KEEPS_GIL) % 2, "i8")
    mask = integers == 1
    turns, ended = 0, False

    def count() -> None:
        nonlocal turns
        while not ended:
            turns += 1
            time.sleep(0)                           # gives its turn away, and waits for the next

    thread = threading.Thread(target=count)
    thread.start()
    while not turns:
        time.sleep(0.001)
    before = turns
    for _ in range(200):
        part[:] = value
        part[:] = integers
        part[:] = 1
        part[::-1] = other
        part[:2] = [1, 0]
        np.maximum(part, part, out=part, where=mask)
        x[0, 1] = 0
        if dtype != "?":
            part += value
            part *= other
        else:
            part |= value
    after = turns
    ended = True
    time.sleep(0.001)
    thread.join(10)
    assert after == before


def test_writes_wait_for_the_lock() -> None:
    for statement in ("x[3] = 7", "x[3] += w", "x[3, 2] = 7", "x[3:30] = w"):
        x, _ = both()
        thread = threading.Thread(target=exec, args=(statement, {"x": x, "w": lazy(W)}))
        before = float(x[3, 2])
        with LOCK:
            thread.start()
            thread.join(0.1)
            assert thread.is_alive() and x[3, 2] == before
            x[40] = 3                               # ours already
            x[40] += 1
        thread.join(5)
        assert not thread.is_alive() and x[3, 2] != before and (x[40] == 4).all()
    x, _ = both()
    for wrong in ("x[3:30] = w[:7]", "x[3:30] += w[:7]", "x[3:30] = 1j"):
        with pytest.raises((ValueError, TypeError)):
            exec(wrong, {"x": x, "w": lazy(W)})
    done = threading.Thread(target=lambda: LOCK.acquire() and LOCK.release())
    done.start()
    done.join(5)
    assert not done.is_alive()


def test_geometry_beyond_memory_is_not_read() -> None:
    """Between two fields of an array another thread may look."""
    x, _ = both()
    large = geometry((10_000, 100), numpy.dtype("f8"))
    for geo in (large[9000], large[3999:4001], large[4001, ::-1], large[3000:4001:1000].T):
        x.geo = geo
        for program in (
            lambda: x * 2, lambda: x.sum(), lambda: -x, lambda: operator.setitem(x, slice(1), 2),
            lambda: x.__iadd__(1),
            lambda: np.sqrt(x), lambda: x[0], lambda: np.sum(x),
        ):  # fmt: skip
            with suppress(Exception):
                program()
        assert sys.getrefcount(x.storage.value.buf) < 10


def test_arrays_that_are_not_whole() -> None:
    for missing in ("geo", "storage"):
        for program in (
            lambda y: y * 2, lambda y: y.sum(), lambda y: y.__iadd__(2),
            lambda y: operator.setitem(y, 3, 2), lambda y: np.sum(y),
            lambda y: operator.setitem(y, slice(3), 2), lambda y: np.sqrt(y), lambda y: y @ y,
            lambda y: numpy.float64(2) * y,
            lambda y: operator.setitem(both()[0], 3, y), lambda y: y[3],
        ):  # fmt: skip
            y = both()[0][3]
            delattr(y, missing)
            with pytest.raises((AttributeError, TypeError)):
                program(y)


class Evil:
    """An index that does something to an array while NumPy asks for its value."""

    def __init__(self, what: Callable[[], Any]) -> None:
        self.what = what

    def __index__(self) -> int:
        self.what()
        return 2


@pytest.mark.parametrize("deed", [
    "x.resize(10, refcheck=False)", "x.__imul__(2)", "later.append(x + 1)", "x.__setitem__(3, 9)",
    "del x.geo",
    "del x.storage", "x.__init__()", "later.append(memoryview(x))", "later.append(x.T * 2)",
    "np.evaluate(x * 2)",
])  # fmt: skip
@pytest.mark.parametrize("statement", [
    "x[3, e:] = 1", "x[3, e:] = w[2:]", "x[3, e:] += 1", "x[e:5] = x[7:10]", "r = x[3][e:] * 2",
    "w[e:] = x[3, 2:]",
    "x[3].sum(e)", "x[3] * e", "x[3] = e", "x[3, 2] = e", "x[e] = 1", "x[e, 3] = 2", "x[3].take(e)",
    "x[3].item(e)",
])  # fmt: skip
def test_keys_that_change_the_array(statement: str, deed: str) -> None:
    x, _ = both()
    later: list[Any] = []
    names = {"x": x, "later": later, "np": np}
    names.update(w=lazy(W), e=Evil(lambda: exec(deed, names)))
    with suppress(Exception), numpy.errstate(all="ignore"):
        exec(statement, names)
    for y in later:
        numpy.array(y).sum()
    with suppress(Exception):
        x[3] * 2


def test_handlers_that_change_the_array() -> None:
    x, real = both()
    later: list[Any] = []

    def handler(*_: Any) -> None:
        later.append(x + 1)
        x[3] = 8
        x[5] += 1
        later.append(x * 2)

    with numpy.errstate(all="call", call=handler):
        assert numpy.isinf((x[7] + 1) / 0).all()
        x[4] /= 0
    with warnings.catch_warnings():
        warnings.showwarning = handler
        warnings.simplefilter("always")
        np.sqrt(-x[3])
        x[6] = x[6] * 1j
    assert (x[3] == 8).all() and same(later[0][3] + 0, real[3] + 1) and len(later) >= 6
    for y in later:
        numpy.array(y).sum()


def test_who_keeps_a_window_keeps_its_memory() -> None:
    """A traceback, or a profiler, may hold what NumPy's Python code was given."""
    kept: list[Any] = []
    x, real = both()
    try:
        x[3].mean(axis=9)
    except Exception as error:
        kept.append(error)
    sys.setprofile(lambda frame, event, arg: kept.append(dict(frame.f_locals)))
    try:
        x[3].mean(), np.linalg.norm(x[4]), x[3].std()
    finally:
        sys.setprofile(None)
    arrays = [y for names in kept[1:] for y in names.values() if type(y) is numpy.ndarray]
    arrays = [y for y in arrays if y.base is not None]
    assert arrays and not any(y.flags.writeable for y in arrays if y.size == 100)
    expected = [y.copy() for y in arrays]
    x += 1
    np.evaluate(x)
    del x
    for _ in range(5):
        other = np.array(real) * 3
        np.evaluate(other)
    assert [y.shape for y in arrays] == [y.shape for y in expected]
    assert all(numpy.isfinite(y.astype(float)).all() for y in arrays)


def test_threads_that_read_write_and_compute() -> None:
    """Each has its own rows of one array; what is pending sees one state of each row."""
    x, _ = both()
    x[...] = 0
    np.evaluate(x)
    failures: list[Any] = []

    def work(mine: int) -> None:
        w = np.ones(100)
        try:
            for k in range(1, 300):
                x[mine] = k
                x[mine] += w
                if k % 7 == 0:
                    later = x[mine : mine + 1] * 2
                    x[mine] = -1
                    assert (later == 2 * (k + 1)).all(), (k, later)
                    x[mine] = k + 1
                if k % 11 == 0:
                    np.evaluate(x * 2)
                if k % 13 == 0:
                    x[1000 + 700 * mine : 1600 + 700 * mine] += 1
                assert x[mine].sum() == 100 * (k + 1) and x[mine] @ w == 100 * (k + 1) and x[mine, 7] == k + 1
                x[mine, 7] = k + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        sys.setswitchinterval(before)
    assert not failures and all((x[1000 + 700 * k] == 299 // 13).all() for k in range(4))
