"""Slots where Python runs in between: finalizers, conversions that raise, arrays that are not whole."""

from __future__ import annotations

import copy
import gc
import io
import operator
import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, both, lazy, same

pytestmark = ONLY_HERE
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("change", ["extend", "clear"])
def test_lists_that_change_while_a_tuple_is_made_of_them(change: str) -> None:
    arrays, items = [np.arange(3.0) for _ in range(30)], []

    class Evil:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            items.extend(arrays * 100) if change == "extend" else items.clear()

    before = gc.get_threshold()
    gc.disable()
    gc.set_threshold(1, 1000, 1000)
    try:
        for _ in range(100):
            items[:] = arrays
            Evil()
            gc.enable()
            with suppress(ValueError):              # there may be nothing left
                np.concatenate(items)
            gc.disable()
    finally:
        gc.set_threshold(*before)
        gc.enable()


def once(error: type[Exception]) -> Any:
    """An object whose conversions fail the first time."""

    class Once:
        calls = 0

        def __float__(self) -> float:
            Once.calls += 1
            if Once.calls == 1:
                raise error("first")
            return 2.0

        __index__ = __int__ = lambda self: int(self.__float__())

    return Once()


@pytest.mark.parametrize("error", [ValueError, TypeError, IndexError])
def test_assignment_raises_what_a_conversion_raised(error: type[Exception]) -> None:
    for made in (
        lambda x: x.__setitem__(slice(once(error), None), 5),
        lambda x: x.__setitem__(slice(None), lazy(numpy.array([once(error), 1.0, 2.0], object))),
        lambda x: x.__setitem__(0, once(error)),
    ):
        with pytest.raises(error):
            made(np.zeros(3))


def test_assignment_calls_a_handler_once() -> None:
    calls = []

    def handler(kind: str, flag: int) -> None:
        calls.append(kind)
        raise ValueError(kind)

    for key, value in ((slice(None), np.array([1e30, 1, 1])), (0, numpy.float64(1e30))):
        x = np.zeros(3, "f2")
        calls.clear()
        with numpy.errstate(all="call", call=handler), pytest.raises(ValueError, match="overflow"):
            x[key] = value
        assert calls == ["overflow"]


class Acting:
    """An index that does something to an array first."""

    def __init__(self, act: Any, x: Any) -> None:
        self.act, self.x, self.found = act, x, None

    def __index__(self) -> int:
        self.found = self.act(self.x)
        return 1


@pytest.mark.parametrize("act", [lambda x: x + 1, lambda x: operator.iadd(x, 1), lambda x: x.sort(0)])
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("where", [0, 1])
def test_slices_that_change_what_they_pick_from(act: Any, write: bool, where: int) -> None:
    outcomes = []
    for m, x in zip((np, numpy), both(), strict=True):
        key: list[Any] = [m.array([1, 2, 3])] * 2
        key[where] = slice(acting := Acting(act, x), 5)
        found = operator.setitem(x, tuple(key), 5) if write else x[tuple(key)]
        outcomes.append((found, acting.found, x))
    for found, expected in zip(*outcomes, strict=True):
        assert found is expected is None or same(found.copy(), expected)


KEYS: dict[str, Any] = {
    "list": [1] * 200, "lists": ([1] * 200, [2] * 200), "beside a number": (1, [2] * 200),
}  # fmt: skip


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", KEYS)
def test_what_handlers_of_signals_raise_is_not_lost(name: str, large: bool) -> None:
    x, key = (both()[0] if large else np.ones((10, 10))), KEYS[name]
    called = False

    class Late(Exception):
        pass

    def handler(*_: Any) -> None:
        nonlocal called
        called = True
        raise Late

    def picks() -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 1e-3)
        while not called:
            x[key]

    before = signal.signal(signal.SIGVTALRM, handler)
    try:
        for _ in range(10):
            called = False
            with pytest.raises(Late):
                picks()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_very_many_arguments() -> None:
    assert np.broadcast_shapes(*[(3,)] * 5000) == (3,)
    assert len(np.broadcast_arrays(*[np.zeros(2)] * 5000)) == 5000
    np.savez(io.BytesIO(), *[1] * 5000)
    with pytest.raises(TypeError):
        np.sum(*range(5000))
    with pytest.raises(TypeError):
        np.zeros(3).sum(*range(5000))


def test_methods_pickle_and_are_copied() -> None:
    for method in (np.ndarray.sum, np.ndarray.reshape, numpy.ndarray.sum, str.upper):
        assert pickle.loads(pickle.dumps(method)) is copy.deepcopy(method) is method
    assert pickle.loads(pickle.dumps(np.arange(3).sum))() == 3


def test_arrays_that_are_not_whole() -> None:
    x: Any = np.zeros(3)
    del x.geo
    y: Any = object.__new__(np.ndarray)
    z: Any = object.__new__(np.ndarray)
    z.storage = None
    for broken in (x, y, z):
        for program in (
            lambda a: a.real, lambda a: a.T, list, len, lambda a: a + 1, lambda a: a[0], lambda a: a.sum(),
            lambda a: a.shape, np.sum, lambda a: -a, lambda a: a == a, lambda a: np.sqrt(a), np.asarray,
            lambda a: a.__setitem__(0, 1), lambda a: np.concatenate([a, a]), lambda a: numpy.float64(2) * a,
            lambda a: a[[0, 1], [0, 1]], lambda a: a[numpy.array([1]), 0], lambda a: operator.iadd(a, 1),
            lambda a: a.__setitem__(([0], 0), 1), lambda a: np.where(a, a, a), lambda a: a[..., 0],
        ):  # fmt: skip
            with pytest.raises((AttributeError, TypeError)):
                program(broken)


def test_loading_lazyarr_again() -> None:
    """In a process of its own, whose types Python's methods have again from then on."""
    code = """
import importlib, lazyarr
lazyarr.slots.attach()
np = importlib.reload(lazyarr)
x = np.arange(5.0)
for name in ("size", "ndim", "itemsize"):
    try:
        setattr(x, name, 3)
    except AttributeError:
        pass
    else:
        raise AssertionError(name)
assert (x + x).sum() == 20 == np.sum(2 * x) and x.shape == x.T.shape == (5,) and x.size == 5 and len(x) == 5
assert (np.arange(1e6) * 2).sum() == 999999000000
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=100)


def test_code_outlives_its_modules() -> None:
    """At exit modules lose their names, one by one, while arrays are in use; freed memory is scribbled on."""
    code = """
import gc, numpy, lazyarr as np
from lazyarr.debug import counters
np.slots.attach()
x, large = np.arange(5.0), np.arange(1e6) * 2
large[3], np.concatenate((x, x))
counted = counters()["numpy_eager"]
for module in (np.slots.install, np.slots.descriptors, np.slots.tables, np.slot_words):
    vars(module).clear()
gc.collect()
filler = [bytes([221]) * n for n in range(1, 600)]
large[3] = 1
assert large[3] == 1 and (numpy.float64(2) * x).sum() == 20
assert np.concatenate((x, x)).size == 10 and x.nonzero()[0].shape == (4,)
try:
    x.sum(*range(5000))
except TypeError as error:
    assert str(error) == "too many arguments"
assert counters()["numpy_eager"] > counted
"""
    run = [sys.executable, "-X", "faulthandler", "-c", code]
    subprocess.run(run, cwd=ROOT, check=True, timeout=100, env={**os.environ, "PYTHONMALLOC": "debug"})


def test_other_dtypes_of_objects() -> None:
    inner = np.arange(3.0)
    for dtype in (numpy.dtype("O", metadata={"a": 1}), pickle.loads(pickle.dumps(numpy.dtype("O")))):
        x = np.empty(2, dtype)
        x[0] = inner
        assert x[0] is inner and x.item(0) is inner and next(iter(x)) is inner and x.copy()[0] is inner
    x = np.empty(2, object)
    x[0] = 5
    x = pickle.loads(pickle.dumps(x))
    x[1] = inner
    assert x[1] is inner and same(x[:1].astype(int), numpy.array([5]))


AT_THE_END = """
import ctypes, mmap
import lazyarr as np
from lazyarr.slots import attach
attach()
page = mmap.PAGESIZE
pages = mmap.mmap(-1, 2 * page)
at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(at + page), page, 0)
last = at + page - object.__basicsize__
ctypes.memmove(last, id(object()), object.__basicsize__)
ctypes.c_ssize_t.from_address(last).value = 1 << 20
x = np.arange(5.0)
thing = ctypes.cast(last, ctypes.py_object).value
calls = lambda: x + thing, lambda: thing * x, lambda: x.__iadd__(thing), lambda: x.__setitem__(0, thing)
for call in calls:
    try:
        call()
    except TypeError:
        print("refused", flush=True)
"""


def test_objects_may_end_where_memory_does() -> None:
    found = subprocess.run(
        [sys.executable, "-c", AT_THE_END], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert found.stdout.split() == ["refused"] * 4, (found.returncode, found.stderr)
