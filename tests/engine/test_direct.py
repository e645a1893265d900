"""Arrays of medium size that are NumPy's at the call for a time: the same values, in program order."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import arrays
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.slot_words import WAITING
from tests.engine import medium
from tests.engine.medium import N, begin, both, in_slots, same

forgotten = medium.forgotten


def masked(np: Any, x: Any, y: Any) -> Any:
    z = x.copy()
    z[1:-1][(y > x)[1:-1]] = 1
    z[z > 2] = y[3]
    return z


CALLS: list[Callable[[Any, Any, Any], Any]] = [
    masked,
    lambda np, x, y: x + y,
    lambda np, x, y: x * 2 - y,
    lambda np, x, y: -x,
    lambda np, x, y: x > y,
    lambda np, x, y: np.maximum(x, y),
    lambda np, x, y: np.square(x),
    lambda np, x, y: x.copy(),
    lambda np, x, y: x.astype("f4"),
    lambda np, x, y: np.concatenate([x, y]),
    lambda np, x, y: np.stack([x, y + x]),
    lambda np, x, y: np.roll(x + y, 3),
    lambda np, x, y: x[1:] + y[:-1],
    lambda np, x, y: x[::-2] * y[::2],
    lambda np, x, y: (x + y).T.copy(),
    lambda np, x, y: np.where(x > y, x, y),
    lambda np, x, y: (x + y)[x > 0],
    lambda np, x, y: np.clip(x + x, 1, 5),
    lambda np, x, y: np.zeros_like(x + y),
    lambda np, x, y: np.zeros(N) + 1,
    lambda np, x, y: (x + y).reshape(-1, 10) + np.ones((N // 10, 1)),
    lambda np, x, y: np.diff(x + y),
    lambda np, x, y: np.full(N, 3, "i2"),
    lambda np, x, y: np.add.outer(x[:300], y[:300]),
    lambda np, x, y: np.asfortranarray((x + y).reshape(250, -1)) + 1,
]


@pytest.mark.parametrize("call", range(len(CALLS)))
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", "c16", "f2"])
def test_values_are_numpys(call: int, dtype: str) -> None:
    (x, real_x), (y, real_y) = both(dtype), both(dtype)
    y, real_y = y[::-1].copy(), real_y[::-1].copy()
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = CALLS[call](numpy, real_x, real_y)
        except TypeError as error:              # bools, of which there is no negative
            begin()
            with pytest.raises(type(error)):
                CALLS[call](np, x, y)
            return
        pending = CALLS[call](np, x, y)
        begin()
        for _ in range(3):
            assert same(CALLS[call](np, x, y), expected)
        chained = CALLS[call](np, x, y) * CALLS[call](np, x, y)
        DIRECT.forget()
        assert same(pending, expected) and same(CALLS[call](np, x, y), expected)
        assert same(chained, expected * expected)


@in_slots
def test_elements_under_a_mask_are_set_at_once() -> None:
    """Else what reads the array next would have to wait for a lone node."""
    x, real = both()
    begin()
    z, mask = x + 1, x > 3
    before = COUNT.nodes_built
    z[mask] = 5
    expected = real + 1
    expected[real > 3] = 5
    assert COUNT.nodes_built == before and same(z, expected)
    DIRECT._ends()
    z, mask = x * 2, x < 3
    np.evaluate(z, mask)
    z[mask] = 5
    assert COUNT.nodes_built > before and not np.is_evaluated(z)


def test_no_python_runs() -> None:
    x, y = np.array(numpy.arange(N) / 7), np.array(numpy.ones(N))
    calls: list[Any] = []

    def program() -> Any:
        z = x + y
        z = np.sqrt(abs(z * 2.0)) - y
        z += x
        x[2:] = z[:-2]
        return z, np.concatenate([z, x]).copy()

    ours = str(Path(np.__file__).parent)
    program()[1].sum()                              # (what has a name is found once)
    begin()
    program()
    sys.setprofile(lambda frame, event, _: event == "call" and calls.append(frame.f_code.co_filename))
    try:
        z, c = program()
    finally:
        sys.setprofile(None)
    calls = [name for name in calls if not name.endswith("resting.py")]     # (garbage may be collected)
    assert not [name for name in calls if name.startswith(ours)] and z.storage is None and c.size == 2 * N


# ------------------------------------------------------------------------- program order


def test_what_waits_is_computed_before_it_is_overwritten() -> None:
    x, real = both("i8")
    later = x * 2
    seen = x[5:]
    begin()
    x += 1
    x[3:] = x[:-3]
    assert same(later, real * 2)
    real = real + 1
    real[3:] = real[:-3].copy()
    assert same(x, real) and same(seen[:], real[5:])
    after = later + x
    DIRECT.forget()
    x[:] = 0
    assert not x.any() and same(after, 2 * both("i8")[1] + real)


def test_held_views_of_what_is_managed_again() -> None:
    x, real = both("i8")
    begin()
    z, expected = x + x, real + real
    view, real_view = z[10:-10], expected[10:-10]
    row, real_row = z.reshape(100, -1)[7], expected.reshape(100, -1)[7]
    row += 1
    real_row += 1
    DIRECT.forget()
    for _ in range(2):
        later, real_later = z * 3, expected * 3
        assert z.storage is not None or WAITING
        view -= 5
        real_view -= 5
        row *= 2
        real_row *= 2
        z[50:90] = 4
        expected[50:90] = 4
        assert same(later, real_later) and same(z, expected) and same(view[:], real_view)
        begin()
        w, real_w = z + view.sum(), expected + real_view.sum()
        z += 1
        expected += 1
        DIRECT.forget()
        assert same(w, real_w)


def test_turns_at_any_place_of_a_program() -> None:
    def program(np: Any, x: Any, change: Callable[[], None]) -> list[Any]:
        found = []
        for k in range(6):
            change()
            y = x + k
            half = y[::2]
            change()
            y[1:-1] += 0.5 * (y[2:] - y[:-2])
            half *= 2
            change()
            x = np.maximum(x, y) - np.roll(y, 1)
            found += [half, y, x * x]
            y = found[-1].copy()
            y[y > 3] = 0
            change()
            found.append(y)
        return found

    real = numpy.random.default_rng(2).uniform(-1, 1, N)
    expected = program(numpy, real, lambda: None)
    for seed in range(8):
        turns = [DIRECT.forget, begin, lambda: None]
        order = iter(numpy.random.default_rng(seed).integers(3, size=24))
        found = program(np, np.array(real), lambda turns=turns, order=order: turns[next(order)]())
        pairs = zip(found, expected, strict=True)
        assert all(same(numpy.asarray(x).copy(), y.copy()) for x, y in pairs)
        DIRECT.forget()


def test_warnings_and_errors_are_numpys() -> None:
    x, real = both()
    zero = np.zeros(N)
    begin()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = x / zero
        found = found + 1
    assert [w.category for w in given] == [RuntimeWarning] * 2 and {w.filename for w in given} == {__file__}
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        x / zero
    with pytest.raises(ValueError, match="broadcast"):
        x + x[1:]
    assert same(x, real)


def test_threads() -> None:
    x, real = both("i8")
    found: list[Any] = []

    def work(k: int) -> None:
        y = x + k
        for _ in range(20):
            y = y + x
            y -= 1
        found.append((k, y))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        begin()
        DIRECT.forget()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(same(y, real * 21 + k - 20) for k, y in found)


# --------------------------------------------------------------------------- bookkeeping


USES = {
    "operator": lambda x: x * 2, "pair": lambda x: x + x, "unary": abs, "ufunc": np.exp,
    "method": lambda x: x.sum(), "function": lambda x: np.clip(x, 0, 1), "in place": lambda x: x.__iadd__(1),
    "power": lambda x: x**2, "item": lambda x: x.__setitem__(slice(5), 7), "reflected": lambda x: 1 - x,
    "copyto": lambda x: np.copyto(x, 2.0), "out": lambda x: np.add(x, 1, out=x),
    "view": lambda x: x[1:-1] * 2,
}  # fmt: skip


@in_slots
@pytest.mark.parametrize("use", USES)
def test_what_was_made_directly_is_managed_by_who_uses_it(use: str) -> None:
    """Not by who ends it: another thread may be about to use the memory."""
    begin()
    x, real = np.zeros((300, 300)) + 1, numpy.ones((300, 300))
    view, row = x[1:], x[3]
    assert x.storage is None and view.storage is None
    DIRECT._ends()
    DIRECT.left = 1 << 40
    assert x.storage is None
    USES[use](x)
    _REAL.get(use, USES[use])(real)
    assert x.storage is not None
    assert same(x, real) and same(view, real[1:]) and same(row, real[3])
    view += 1
    row *= 3
    real[1:] += 1
    real[3] *= 3
    assert same(x, real) and same(view, real[1:]) and same(row, real[3])


_REAL: dict[str, Callable[[Any], Any]] = {
    "ufunc": numpy.exp, "function": lambda x: numpy.clip(x, 0, 1), "copyto": lambda x: numpy.copyto(x, 2.0),
    "out": lambda x: numpy.add(x, 1, out=x),
}  # fmt: skip


@in_slots
def test_a_view_manages_what_it_is_a_view_of() -> None:
    begin()
    x = np.zeros((300, 300)) + 1
    DIRECT._ends()
    DIRECT.left = 1 << 40
    with np.options(plan="always"):
        y = x[1:] + x[:-1]
        assert x.storage is not None
        y = x[1:] + x[:-1]
        assert not np.is_evaluated(y)
        x[:] = 5
    assert (y == 2).all() and (x == 5).all()


def test_what_another_thread_ends_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array that is just being given away."""
    begin()
    x = np.asarray(numpy.ones(N)) + 1.0
    twins = arrays.TWINS

    class Ending:
        data = twins.data

        def setdefault(self, *entry: Any) -> Any:
            found = twins.setdefault(*entry)
            DIRECT._ends()
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(twins, name)

        def __setitem__(self, key: Any, value: Any) -> None:
            twins[key] = value

    monkeypatch.setattr(arrays, "TWINS", Ending())
    given = arrays.export(x)
    assert (given == 2).all()
    given[0] = 7
    assert x[0] == 7


def test_a_forked_child_measures_anew() -> None:
    """Whatever another thread was at when the process forked."""
    code = """if True:
        import os, sys, lazyarr as np
        from lazyarr.direct import DIRECT
        DIRECT._starts(1 << 40)
        DIRECT._lock.acquire()                      # as another thread that hears
        child = os.fork()
        if not child:
            assert not DIRECT.on and DIRECT._lock.acquire(False)
            DIRECT._lock.release()
            with np.options(math="native"):
                assert float((np.ones(100_000) + 1).sum()) == 200_000
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["0"], done.stderr


def test_what_waits_for_a_fold_of_much_waits() -> None:
    """A fold's result is small, but its readers share the pass over what it folds."""
    x, real = both("f4", (1 << 11, 1 << 10))
    begin()
    assert DIRECT.on
    np.evaluate(x)

    def normed(np: Any, x: Any) -> Any:
        mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
        return (x - mean) / np.sqrt(var + numpy.float32(1e-5))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = normed(numpy, real)
        before = np.debug.counters()
        found = normed(np, x)
        after = np.debug.counters()
        assert after["nodes_run"] == before["nodes_run"]        # (nothing is computed before it is asked for)
        assert same(found, expected)
    assert np.debug.counters()["nodes_run"] > after["nodes_run"]
