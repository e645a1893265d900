"""Calls of compiled functions by the short way and by machine code: what the long way would have done."""

from __future__ import annotations

import gc
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.arrays import plain
from lazyarr.compiling import short, swift_replay
from lazyarr.compiling.short import Short, Way
from lazyarr.config import OBSERVED, plan_key
from lazyarr.counters import COUNT
from lazyarr.sight_rows import MOST_VALUES, Also
from lazyarr.values import LEDGER, Buffer
from tests.compiling.conftest import SHAPE, drawn, heard, met_by, same, same_and_warned
from tests.crowd import numbered_at_once

met = partial(met_by, Short)
pytestmark = pytest.mark.usefixtures("code", "compiled")


FACTOR = 1.5


@pytest.fixture
def compiled() -> Iterator[None]:
    with np.options(jit="always", plan="always", tier="2"):
        yield


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[Way]:
    return heard(Short, monkeypatch)


def norm(np: Any, x: Any, gain: Any) -> Any:
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * gain


def rows(np: Any, x: Any, gain: Any) -> Any:
    return (x * gain).sum(axis=1)


def several(np: Any, x: Any, gain: Any) -> Any:
    return x * gain, x.max(axis=1), (x * x).sum(), x - 1


def mean(np: Any, x: Any, gain: Any) -> Any:
    return (x * gain).mean()


def unit(np: Any, x: Any, gain: Any) -> Any:
    return x / np.sqrt((x * x).sum()) * gain


def softmax(np: Any, x: Any, gain: Any) -> Any:
    e = np.exp(x - x.max())
    return e / e.sum() * gain, e


def running(np: Any, x: Any, gain: Any) -> Any:
    return np.cumsum(x * gain, axis=1) / x.sum(), x.min() - x.max()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("program", [norm, rows, several, mean, unit, softmax, running])
def test_bits_of_numpy(
    program: Callable[..., Any], threads: int, dtype: str, by_python: list[Way], code: Any
) -> None:
    """Whatever arrays a call gives, whether results' pages are warm, or held elsewhere."""
    f, held = np.compile(lambda x, gain: program(np, x, gain)), list[Any]()
    with np.options(num_threads=threads):
        for seed in range(12):
            x, gain = drawn(seed, SHAPE, SHAPE[1], dtype=dtype)
            given = np.array(x), np.array(gain)
            np.evaluate(*given)
            before = COUNT.traced_calls, COUNT.native_launches, len(by_python)
            found = f(*given)
            if seed % 3:
                held.append(found)
            same(found, program(numpy, x, gain))
        way = f._known.last
        launches = len(way.launches)
        assert (COUNT.traced_calls, COUNT.native_launches) == (before[0] + 1, before[1] + launches)
    assert (len(by_python) == before[2]) == (code is not None)
    for seed, found in zip([s for s in range(12) if s % 3], held, strict=True):
        same(found, program(numpy, *drawn(seed, SHAPE, SHAPE[1], dtype=dtype)))


def test_results_are_arrays_as_others(code: Any) -> None:
    """Views, writes, pending readers and finalizers of results."""
    f = np.compile(lambda x: x * 2)
    (x,) = drawn(3)
    met(f, np.array(x))
    gc.collect()
    before = LEDGER.unallocated, LEDGER.kept
    y = f(np.array(x))
    part, later = y[3:, ::2], y + 1
    y[0] = 7
    wanted = x * 2
    after = wanted + 1
    wanted[0] = 7
    same(y, wanted)
    assert numpy.asarray(part).tobytes() == wanted[3:, ::2].tobytes()
    same(later, after)
    assert y.base is None and y.flags.owndata and y.flags.writeable and type(y) is np.ndarray
    del y, part, later
    gc.collect()
    assert (LEDGER.unallocated, LEDGER.kept) == before


def test_names_that_change(code: Any) -> None:
    """Globals, closures, functions that are called, their defaults, the function's own code."""
    space: dict[str, Any] = {"np": np}
    exec("def helper(x, k=2.0, *, j=1.0):\n    return x * k + j", space)
    exec("def f(x):\n    return helper(x) - np.pi", space)
    f, (x,) = np.compile(space["f"]), drawn(1)
    a = np.array(x)
    way = met(f, a)
    same(f(a), x * 2.0 + 1.0 - numpy.pi)
    assert f._known.last is way
    space["helper"].__defaults__ = (3.0,)
    for _ in range(6):
        same(f(a), x * 3.0 + 1.0 - numpy.pi)
    space["helper"].__kwdefaults__ = {"j": 4.0}
    for _ in range(6):
        same(f(a), x * 3.0 + 4.0 - numpy.pi)
    space["helper"] = lambda x: x + 5
    for _ in range(6):
        same(f(a), x + 5 - numpy.pi)
    space["f"].__code__ = (lambda x: x + 6).__code__
    for _ in range(6):
        same(f(a), x + 6)


def test_names_whose_comparison_raises(code: Any) -> None:
    """A key of the program's own type, in the place of a name: the error is the program's."""

    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

    space: dict[str, Any] = {"np": np}
    exec("def helper(x): return x * 2\ndef f(x): return helper(x) + 1", space)
    f, (x,) = np.compile(space["f"]), drawn(1)
    a = np.array(x)
    met(f, a)
    helper = space.pop("helper")
    space[Key("helper")] = helper
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            f(a)
    space.clear()
    space |= {"np": np, "helper": helper, "f": f}
    for _ in range(6):
        same(f(a), x * 2 + 1)


@pytest.mark.parametrize("count", [MOST_VALUES - 1, MOST_VALUES, 2 * MOST_VALUES, 10 * MOST_VALUES])
def test_many_arguments(count: int, code: Any) -> None:
    """What the code notes of a call has so much room, and calls with more are Python's."""
    names = ",".join([f"k{i}" for i in range(count)])
    f, (x,) = np.compile(eval(f"lambda x, {names}: x * 2", {})), drawn(1)
    a, numbers = np.array(x), range(1000, 1000 + count)
    for _ in range(6):
        same(f(a, *numbers), x * 2)
    way = f._known.last
    assert (way.row is not None) == (code is not None and 1 + count <= MOST_VALUES)


def test_closures(code: Any) -> None:
    op = np.exp

    def inner(x: Any) -> Any:
        return op(x) * 2

    f, (x,) = np.compile(inner), drawn(1)
    a = np.array(x)
    met(f, a)
    same(f(a), numpy.exp(x) * 2)
    op = np.abs
    for _ in range(6):
        same(f(a), abs(x) * 2)


def test_rows_say_what_names_meant_when_the_function_was_traced(code: Any) -> None:
    """Whatever they mean when a row is written."""
    if code is None:
        pytest.skip("there are no rows")

    def twice(x: Any, k: float = 2.0) -> Any:
        return x * k

    op = np.exp
    f, (x,) = np.compile(lambda x: twice(op(x))), drawn(1)
    a = np.array(x)
    way = met(f, a)

    def goes(row: Any) -> bool:
        found = code.call(row, (a,), plan_key())
        return found is not None and found is not False

    assert goes(way.row)
    op, before = np.abs, op
    row, refers = swift_replay.row_of(way) or (None, None)
    assert refers is not None and not goes(row)
    op = before
    assert goes(row)
    twice.__defaults__ = (3.0,)
    row, refers = swift_replay.row_of(way) or (None, None)
    assert refers is not None and not goes(row)


def test_other_arguments(by_python: list[Way], code: Any) -> None:
    """Other layouts, types, pending, shared and foreign arrays: each as the function itself has it."""
    f = np.compile(lambda x, gain: x * gain - 1)
    x, gain = drawn(2, SHAPE, SHAPE[1])
    met(f, np.array(x), np.array(gain))
    wide = np.array(numpy.repeat(gain, 2))
    odd = numpy.frombuffer(b"\0" + gain.tobytes(), "f8", offset=1)
    shared = np.array(x)
    view = memoryview(shared)
    calls = [
        (np.array(x), wide[::2]), (np.array(x.T.copy()).T, np.array(gain)), (np.array(x) * 1, np.array(gain)),
        (x, np.array(gain)), (np.array(x), gain), (x, gain), (np.asarray(x), np.array(gain)),
        (np.array(x), np.asarray(odd)), (shared, np.array(gain)), (np.array(x)[::-1], np.array(gain)),
        (np.array(x, "f4"), np.array(gain)), (np.array(x), np.array(gain, "f4")), (np.array(x), 2.0),
        (np.array(x), np.array(gain)[None]), (np.array(x)[:, :1], np.array(gain)),
    ]  # fmt: skip
    for a, b in calls * 2:
        wanted = numpy.asarray(a) * (b if isinstance(b, float) else numpy.asarray(b)) - 1
        for _ in range(3):
            found = f(a, b)
            assert isinstance(found, numpy.ndarray) == (type(a) is type(b) is numpy.ndarray or (
                type(a) is numpy.ndarray and b.__class__ is float
            )) or type(found) is np.ndarray
            assert numpy.asarray(found).tobytes() == wanted.tobytes()
        same(f(np.array(x), np.array(gain)), x * gain - 1)
    with pytest.raises(TypeError):
        f(np.array(x))
    same(f(gain=np.array(gain), x=np.array(x)), x * gain - 1)
    view.release()


def test_memory_and_places_in_turn(code: Any) -> None:
    """Arrays that are memory, and those in a storage, of one layout: calls of one kind."""
    f = np.compile(lambda x, k: x * k)
    for seed in range(6):
        (x,) = drawn(seed)
        for given in (plain(x), np.array(x)):
            same(f(given, 2.0), x * 2.0)
            same(f(given, 3), x * 3)


def test_types_of_results_go_by_those_of_arguments(code: Any) -> None:
    """The same kernel serves NumPy's arrays and ours; what is returned differs."""
    f = np.compile(lambda x, gain: x * gain)
    x, gain = drawn(2, SHAPE, SHAPE[1])
    for _ in range(6):
        assert type(f(x, gain)) is numpy.ndarray
        assert type(f(np.array(x), np.array(gain))) is np.ndarray


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_numbers(dtype: str, by_python: list[Way], code: Any) -> None:
    """Numbers of the call: of the type before, at the limits of kernels' types, and of other types."""
    f, (x,) = np.compile(lambda x, k: x * k + 1), drawn(4, dtype=dtype)
    a = np.array(x)
    floats = [2.0, -0.0, 0.1, numpy.inf, -numpy.inf, numpy.nan, 1e-46, 3.0, 3.4028234e38, -1e-320]
    ints = [2, 0, 1 << 40, -(1 << 53), (1 << 53) + 1, -1, 1 << 62, -7]
    for given in (floats, ints, floats[::-1], ints[::-1]):
        f(a, given[0] + 1)
        for k in given:
            same_and_warned(lambda k=k: f(a, k), lambda k=k: x * k + 1)
    others = (True, numpy.float32(0.1), 7.5, 1j, numpy.int8(3), 5)
    for k in others * 3:
        same(f(a, k), x * k + 1)
    met(f, a, 3.0)
    before = len(by_python)
    for k in (2.5, 4.0, -0.0):
        same(f(a, k), x * k + 1)
    assert (len(by_python) == before) == (code is not None)
    if dtype == "f4":
        with pytest.warns(RuntimeWarning, match="overflow"):
            f(a, 1e300)


def test_flags(code: Any) -> None:
    """NumPy's warnings, of the function's lines, and what error states ask for."""
    f, (x,) = np.compile(lambda x: x * 1e10), drawn(4)
    met(f, np.array(x))
    large = x.copy()
    large[5, 5] = 1e300
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
            found = f(np.array(large))
        with numpy.errstate(over="ignore"):
            same(found, large * 1e10)
            same(f(np.array(large)), large * 1e10)
        same(f(np.array(x)), x * 1e10)
    with numpy.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        f(np.array(large))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow"):
            f(np.array(large))


def test_flagged_calls_are_not_looked_at_again(code: Any) -> None:
    """The function itself follows at once; and calls in between show that the replay is right for others."""
    f, (x,) = np.compile(lambda x: x * 1e10), drawn(4)
    large, usual = x.copy(), np.array(x)
    large[5, 5] = 1e300
    flagged = np.array(large)
    np.evaluate(flagged, usual)
    way = met(f, usual)
    for _ in range(20):
        before = COUNT.native_launches, COUNT.misfits
        with pytest.warns(RuntimeWarning, match="overflow"):
            np.evaluate(f(flagged))
        assert (COUNT.native_launches - before[0], COUNT.misfits - before[1]) == (2, 1)
        f(usual)
        assert f._known.last is way


@pytest.mark.parametrize("count", [MOST_VALUES, MOST_VALUES + 1, 3 * MOST_VALUES])
def test_so_many_arguments(count: int, by_python: list[Way], code: Any) -> None:
    """There is room for some; calls with more are Python's."""
    space: dict[str, Any] = {}
    exec(f"def f({', '.join(f'a{k}' for k in range(count))}):\n    return a0 * 2 + a{count - 1}", space)
    f, given = np.compile(space["f"]), drawn(7, *[SHAPE] * 3)
    first, *others, last = [np.array(given[min(k, 1)]) for k in range(count - 1)] + [np.array(given[2])]
    for _ in range(8):
        same(f(first, *others, last), given[0] * 2 + given[2])
    before = len(by_python)
    same(f(first, *others, last), given[0] * 2 + given[2])
    assert (len(by_python) == before) == (code is not None and count <= MOST_VALUES)


def test_options(code: Any) -> None:
    f, (x,) = np.compile(lambda x: np.exp(x)), drawn(4)
    a = np.array(x)
    met(f, a)
    with np.options(math="native"):
        native = [numpy.asarray(f(a)).tobytes() for _ in range(6)]
    assert len({*native}) == 1 and native[0] != numpy.exp(x).tobytes()
    same(f(a), numpy.exp(x))
    with np.options(jit="never"):
        launches = COUNT.native_launches
        same(f(a), numpy.exp(x))
        assert COUNT.native_launches == launches
    same(f(a), numpy.exp(x))


def test_who_looks_on_sees_lines(code: Any, told: list[Any]) -> None:
    """Debuggers step into the function, and listeners hear of evaluations."""
    f, (x,) = np.compile(lambda x: x * 2 + 1), drawn(4)
    a = np.array(x)
    OBSERVED.clear()
    met(f, a)
    lines = list[str]()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        lines.append(frame.f_code.co_name)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        same(f(a), x * 2 + 1)
    finally:
        sys.settrace(before)
    assert "<lambda>" in lines
    OBSERVED.append("test")
    y = f(a)
    np.evaluate(y)
    assert told
    same(y, x * 2 + 1)


def test_who_looked_on_once_is_forgotten(code: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that looks at evaluations, which is off again, does not make calls long for ever."""
    f, (x,) = np.compile(lambda x: x * 2 + 1), drawn(4)
    a = np.array(x)
    met(f, a)
    OBSERVED.append("debug")
    monkeypatch.setattr(f, "_looked", None)
    for _ in range(3):
        same(f(a), x * 2 + 1)


def test_nothing_is_kept(code: Any) -> None:
    """Thousands of calls leave as many objects as some; and arguments and results can go."""
    f = np.compile(lambda x, gain: (x * gain, x.max(axis=1)))
    a, gain = map(np.array, drawn(5, SHAPE, SHAPE[1]))
    way = met(f, a, gain, calls=20)

    def counted() -> list[int]:
        gc.collect()
        watched = (None, True, False, 0, (), a.geo, a.storage, gain.geo, way.options, Buffer, np.ndarray)
        return [len(gc.get_objects()), *map(sys.getrefcount, watched)]

    counted()
    before = counted()
    for _ in range(500):
        f(a, gain)
    assert max(y - x for x, y in zip(before, counted(), strict=True)) < 40
    more = np.compile(lambda x, gain: softmax(np, x, gain))
    assert len(met(more, a, gain, calls=20).launches) > 1
    counted()
    before = counted()
    for _ in range(500):
        more(a, gain)
    assert max(y - x for x, y in zip(before, counted(), strict=True)) < 40
    refs = sys.getrefcount(a.storage.value.buf)
    f(a, gain)
    after = sys.getrefcount(a.storage.value.buf)
    assert after == refs


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_interrupts(code: Any) -> None:
    """A handler that raises ends a call; one that calls the same function has its result."""
    f = np.compile(lambda x: np.sin(np.cos(np.sin(np.cos(x)))).sum(axis=1))
    (x,) = drawn(6, (3000, 1000))
    a = np.array(x)
    met(f, a)
    wanted = numpy.asarray(f(a)).tobytes()
    inner = list[bytes]()

    def raising(*_: Any) -> None:
        raise KeyboardInterrupt

    def calling(*_: Any) -> None:
        inner.append(numpy.asarray(f(a)).tobytes())

    before = signal.getsignal(signal.SIGALRM)
    try:
        with np.options(num_threads=1):
            met(f, a)
            for handler in (raising, calling) * 3:
                signal.signal(signal.SIGALRM, handler)
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                ended = time.perf_counter() + 5
                try:
                    while time.perf_counter() < ended and not inner:
                        assert numpy.asarray(f(a)).tobytes() == wanted
                except KeyboardInterrupt:
                    assert handler is raising
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert {*inner} <= {wanted} and bool(inner) == (handler is calling)
                inner.clear()
                assert numpy.asarray(f(a)).tobytes() == wanted
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_row_stays_while_a_call_goes_by_it(code: Any) -> None:
    """A handler within the launch may call the function, too, in a way that is not met yet."""
    if code is None:
        return
    f, (x,) = np.compile(lambda x: np.exp(x)), drawn(4)
    way = met(f, np.array(x))
    row, refers, way._filled = way.row, way._refers, -1
    code.given.words[Also.BUSY] = 1
    try:
        for _ in range(4):
            way._hear()
    finally:
        code.given.words[Also.BUSY] = 0
    assert way.row is row and way._refers is refers
    way._hear()
    assert way.row is not None and way.row is not row and way._refers is not refers
    same(f(np.array(x)), numpy.exp(x))


def test_threads(code: Any) -> None:
    """Several threads of the program, each with its own arrays."""
    f = np.compile(lambda x: (x * 2, x.sum(axis=1)))
    failed = list[BaseException]()
    met(f, np.array(drawn(0)[0]))

    def calls(seed: int) -> None:
        try:
            with np.options(jit="always", plan="always", tier="2"):
                (x,) = drawn(seed)
                a = np.array(x)
                for _ in range(60):
                    same(f(a), (x * 2, x.sum(axis=1)))
        except BaseException as error:
            failed.append(error)

    numbered_at_once(calls)
    assert not failed


def test_the_code_is_loaded_once_it_pays(monkeypatch: pytest.MonkeyPatch, code: Any) -> None:
    """Looked for in the cache after some calls, compiled after more."""
    if code is None:
        pytest.skip("once is enough")
    asked = list[bool]()
    monkeypatch.setattr(swift_replay, "load", lambda compiles: asked.append(compiles))
    swift = short.Swift()
    for _ in range(short.PAYS):
        swift.hear()
    assert asked == [False]
    for _ in range(short.WRITING_PAYS):
        swift.hear()
    assert asked == [False, True] and swift.left == -1


def laid(real: numpy.ndarray) -> dict[str, Callable[[], Any]]:
    """Arrays with such elements, made anew each time, as loops do."""
    one = np.array(real.reshape(-1))
    longer = np.array(numpy.concatenate([real[:3], real, real[:2]]))
    turned, back = np.array(real.T), np.array(real[::-1])
    several = np.array(numpy.stack([real, real]))
    theirs, below = np.asarray(real.copy()), np.asarray(numpy.concatenate([real[:1], real]))
    return {
        "backwards": lambda: back[::-1], "reshaped": lambda: one.reshape(real.shape),
        "rows": lambda: longer[3:-2], "turned": lambda: turned.T, "one of several": lambda: several[1],
        "NumPy's": lambda: theirs, "part of NumPy's": lambda: below[1:],
    }  # fmt: skip


@pytest.mark.parametrize("name", [*laid(numpy.ones((3, 2)))][1:])     # (the first one takes several launches)
def test_views_and_memory_of_others(name: str, by_python: list[Way], code: Any) -> None:
    """They are known by where they lie, whichever object says so."""
    f, (x, gain) = np.compile(lambda x, gain: norm(np, x, gain)), drawn(6, SHAPE, SHAPE[1])
    make, k = laid(x)[name], np.array(gain)
    np.evaluate(k)
    met(f, make(), k)
    before = len(by_python)
    for _ in range(3):
        same(f(make(), k), numpy.asarray(norm(numpy, numpy.asarray(make()), gain)))
    assert (len(by_python) == before) == (code is not None)
    for other in laid(x).values():              # in turn: each is another kind of calls, or lies elsewhere
        same(f(other(), k), numpy.asarray(norm(numpy, numpy.asarray(other()), gain)))


def test_what_is_found_outside(by_python: list[Way], code: Any) -> None:
    """Arrays and numbers that the function finds by name are inputs as others."""
    x, gain = drawn(6, SHAPE, SHAPE[1])
    outside = {"gain": np.array(gain), "k": 2.0, "norm": norm, "np": np}
    np.evaluate(outside["gain"])
    made: dict[str, Any] = {}
    exec("def f(x, y=1.0): return norm(np, x, gain) * k + y", outside, made)
    f, a = np.compile(made["f"]), np.array(x)
    met(f, a)
    for k, y in ((2.0, 1.0), (3.5, 1.0), (-1.0, 4.0)):
        outside["k"] = k
        outside["gain"] = np.array(gain * k)
        np.evaluate(outside["gain"])
        before = len(by_python)
        same(f(a, y), norm(numpy, x, gain * k) * k + y)
        assert (len(by_python) == before) == (code is not None)
    with pytest.raises(TypeError, match="positional argument"):
        f(a, 1.0, 2.0)
    with pytest.raises(TypeError, match="positional argument"):
        f(a, 1.0, 2.0, outside["gain"])
    del outside["k"]
    with pytest.raises(NameError, match="k"):
        f(a)
