"""Evaluations known at sight by machine code: what Python would have done, or nothing."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import at_sight, buffers, counters, engine, materialize, planning, swift_sight, values
from lazyarr.at_sight import SWIFT
from lazyarr.compiler import COMPILER
from lazyarr.config import OBSERVED
from lazyarr.counters import COUNT
from lazyarr.expr import Expr
from lazyarr.habits import WATCHED
from lazyarr.sight_rows import Also, Row
from lazyarr.values import LEDGER

N = 120_000
CODE: list[Any] = []


@pytest.fixture(autouse=True)
def code(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The code, which is there at once, and told of what comes round at once."""
    COMPILER.load()
    materialize._load()
    if not CODE:
        CODE.append(swift_sight.load(True))
    if CODE[0] is None:
        pytest.skip("objects lie otherwise here")
    for known in (at_sight._sights, at_sight._noted, WATCHED):
        known.clear()
    observed = OBSERVED.copy()
    OBSERVED.clear()
    monkeypatch.setattr(at_sight, "SETTLED", 1)
    monkeypatch.setattr(at_sight, "LOOKED", 2)
    monkeypatch.setattr(SWIFT, "code", CODE[0])
    monkeypatch.setattr(SWIFT, "evaluate", CODE[0].evaluate)
    with np.options(jit="always", plan="always", tier="2"):
        yield CODE[0]
    assert not CODE[0].words[Also.BUSY]
    OBSERVED[:] = observed


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """How many values Python was asked to look at, each time."""
    found: list[Any] = []
    look = at_sight.at_sight
    monkeypatch.setattr(materialize, "_at_sight", lambda roots: found.append(len(roots)) or look(roots))
    return found


def arrays(*dtypes: str, n: int = N) -> list[Any]:
    rng = numpy.random.default_rng(3)
    real = [rng.uniform(-4, 4, n).astype(dtype) for dtype in dtypes]
    return [*map(np.array, real), *real]


def done(results: Any) -> list[Any]:
    """Results, evaluated together."""
    found = [*results] if isinstance(results, tuple) else [results]
    np.evaluate(*[x for x in found if isinstance(x, np.ndarray)])
    return found


def met(program: Callable[..., Any], *args: Any) -> None:
    """Let a program be what comes round."""
    for _ in range(8):
        done(program(np, *args))


def squared(np: Any, a: Any, b: Any) -> Any:
    far = a - b
    far *= far
    return far


def weighed(np: Any, a: Any, b: Any) -> Any:
    e = np.exp(a)
    e /= b
    e += e
    return e, (e * b).sum()


def overtaken(np: Any, a: Any, b: Any) -> Any:
    """What was read before the write, and is yet to be computed."""
    x = a - b
    y = x * 3
    x *= x
    return x, y


PROGRAMS: dict[str, Callable[..., Any]] = {
    "one": lambda np, a, b: a + b,
    "chain": lambda np, a, b: (a * b - 3) / 7 + a,
    "parts": lambda np, a, b: a[1:] * 2 - b[:-1],
    "reversed": lambda np, a, b: a[::-1] - b,
    "twice": lambda np, a, b: (a - b) * (a - b) + a,
    "same": lambda np, a, b: a * a,
    "choice": lambda np, a, b: np.where(a > b, a, 2 * b),
    "fold": lambda np, a, b: (a * b).sum(keepdims=True),
    "scalar": lambda np, a, b: (a * b + 1).sum(),
    "several": lambda np, a, b: (a + b, a - b, (a + b) * 2),
    "columns": lambda np, a, b: (a.reshape(600, 200) * 2).sum(axis=0),
    "rows": lambda np, a, b: np.exp(a.reshape(600, 200) - a.reshape(600, 200).max(1, keepdims=True)),
    "shares": lambda np, a, b: a.reshape(600, 200) / a.reshape(600, 200).sum(1, keepdims=True),
    "cast": lambda np, a, b: (a * 10).astype("i4"),
    "called": lambda np, a, b: np.arctan2(a, b) + np.sin(a),
    "squared": squared,
    "weighed": weighed,
    "overtaken": overtaken,
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_what_python_does(name: str, threads: int, seen: list[Any]) -> None:
    """Bits, and all that is counted."""
    x, y, a, b = arrays("f8", "f8")
    program = PROGRAMS[name]
    with np.options(num_threads=threads):
        met(program, x, y)
        counted: list[dict[str, Any]] = []
        for by in (SWIFT.evaluate, None):
            SWIFT.evaluate, before = by, counters.counters()
            seen.clear()
            found = done(program(np, x, y))
            assert bool(seen) is (by is None)
            after = counters.counters()
            # (It has memory of its own for what a launch needs in between.)
            names = [name for name in after if not name.startswith(("seconds", "bytes_"))]
            counted.append({name: after[name] - before[name] for name in names})
            assert after["seconds_run"] > before["seconds_run"]
            for ours, theirs in zip(found, done_by_numpy(program, a, b), strict=True):
                assert numpy.asarray(ours).tobytes() == numpy.asarray(theirs).tobytes()
        assert counted[0] == counted[1]


def test_calls_that_stand_for_several_nodes(seen: list[Any]) -> None:
    real = numpy.random.default_rng(1).uniform(-1, 1, (60, 2000))
    x = np.array(real)

    def program(np: Any, x: Any) -> Any:
        return x.mean(axis=1), x.std(axis=1)

    met(program, x)
    seen.clear()
    for ours, theirs in zip(done(program(np, x)), program(numpy, real), strict=True):
        assert numpy.asarray(ours).tobytes() == theirs.tobytes()
    assert not seen


def done_by_numpy(program: Callable[..., Any], *args: Any) -> list[Any]:
    found = program(numpy, *args)
    return [*found] if isinstance(found, tuple) else [found]


CONSTANTS = [
    (True, "?"), (numpy.int8(-3), "i1"), (numpy.uint16(40_000), "u2"), (numpy.int32(-7), "i4"),
    (numpy.uint64(2**64 - 5), "u8"), (numpy.float16(1.5), "f2"), (numpy.float32(-2.25), "f4"),
    (-0.0, "f8"), (numpy.complex64(1 - 2j), "c8"), (3 + 4j, "c16"),
]  # fmt: skip


@pytest.mark.parametrize(("constant", "dtype"), CONSTANTS)
def test_constants_are_those_of_the_call(constant: Any, dtype: str, seen: list[Any]) -> None:
    real = (numpy.arange(N) % 100).astype(dtype)
    x = np.array(real)

    def program(np: Any, x: Any, c: Any) -> Any:
        return np.add(np.multiply(x, c), c)

    met(program, x, constant)
    for other in (constant, type(constant)(1), type(constant)(0)):
        seen.clear()
        (found,) = done(program(np, x, other))
        assert numpy.asarray(found).tobytes() == program(numpy, real, other).tobytes()
        assert not seen


def test_large_results_are_stored_past_the_caches(seen: list[Any]) -> None:
    """Where pages are warm; another launch where they are not."""
    x, _ = arrays("f8", n=3_000_000)

    def program(np: Any, x: Any) -> Any:
        return x * 2 + 1

    kept = []
    for _ in range(8):
        kept.append(done(program(np, x))[0])
    kept.clear()
    for _ in range(4):
        done(program(np, x))
    seen.clear()
    (found,) = done(program(np, x))
    assert not seen
    assert (numpy.asarray(found) == numpy.asarray(x) * 2 + 1).all()
    buffers.trim()
    (found,) = done(program(np, x))             # (fresh pages)
    assert (numpy.asarray(found) == numpy.asarray(x) * 2 + 1).all()


# ------------------------------------------------------------------------------ what is left to Python


def chain(np: Any, a: Any, b: Any) -> Any:
    return (a * b - 3) / 7 + a


def test_other_operands_are_looked_at(seen: list[Any]) -> None:
    x, y, a, b = arrays("f8", "f8")
    met(chain, x, y)
    foreign = np.asarray(b)
    pending = y + 0
    empty = np.empty(N)
    for other, real in ((foreign, b), (pending, b), (x, a)):
        seen.clear()
        (found,) = done(chain(np, x, other))
        assert seen
        assert numpy.asarray(found).tobytes() == chain(numpy, a, real).tobytes()
    done(chain(np, x, empty))
    seen.clear()
    done(chain(np, x, y))
    assert not seen


def test_a_write_over_a_value_is_no_new_value(seen: list[Any]) -> None:
    """And the other way round: neither is known by the other, nor by one that writes over another value."""
    x, y, a, b = arrays("f8", "f8")

    def anew(np: Any, a: Any, b: Any) -> Any:
        far = a - b
        return far * far

    def part(np: Any, a: Any, b: Any) -> Any:
        far = a - b
        far[:-1] *= far[:-1]
        return far

    def other(np: Any, a: Any, b: Any) -> Any:
        far, near = a - b, a + b
        near[:] = far * far
        return near

    programs = squared, anew, part, other
    for program in (*programs, *reversed(programs)):
        met(program, x, y)
        for each in programs:
            (found,) = done(each(np, x, y))
            assert numpy.asarray(found).tobytes() == each(numpy, a, b).tobytes()
    met(squared, x, y)
    seen.clear()
    done(squared(np, x, y))
    assert not seen


def test_who_writes_over_a_value_that_others_need() -> None:
    x, y, a, b = arrays("f8", "f8")
    met(squared, x, y)
    for _ in range(4):
        far = x - y
        reader, part = far + 1, far[5:] * 2
        view = far[::2]
        far *= far
        np.evaluate(far)
        assert numpy.asarray(far).tobytes() == squared(numpy, a, b).tobytes()
        assert numpy.asarray(view).tobytes() == squared(numpy, a, b)[::2].tobytes()
        assert numpy.asarray(reader).tobytes() == (a - b + 1).tobytes()
        assert numpy.asarray(part).tobytes() == ((a - b)[5:] * 2).tobytes()


def test_who_else_needs_a_value_gets_it() -> None:
    x, y, a, b = arrays("f8", "f8")
    met(chain, x, y)
    product = x * y
    found = (product - 3) / 7 + x
    np.evaluate(found)
    assert numpy.asarray(found).tobytes() == chain(numpy, a, b).tobytes()
    assert numpy.asarray(product).tobytes() == (a * b).tobytes()
    product = x * y
    reader = product * 2
    found = (product - 3) / 7 + x
    del product
    np.evaluate(found)
    assert numpy.asarray(reader).tobytes() == (a * b * 2).tobytes()


def test_a_temporary_that_is_held_after_all(seen: list[Any]) -> None:
    """A fold's operand seems to be a temporary; whoever has it gets it."""
    x, y, a, b = arrays("f8", "f8")
    met(PROGRAMS["scalar"], x, y)
    held: list[Any] = []

    def program(x: Any, y: Any) -> Any:
        held.append(x * y + 1)
        return held[-1].sum()

    for _ in range(4):
        seen.clear()
        assert program(x, y) == (a * b + 1).sum()
    for z in held:
        assert numpy.asarray(z).tobytes() == (a * b + 1).tobytes()


def test_other_options_and_error_states(seen: list[Any]) -> None:
    x, y, a, b = arrays("f8", "f8")
    met(chain, x, y)
    for _ in range(2):
        for context in (np.options(num_threads=1), np.options(math="native"), np.errstate(all="raise")):
            with context:
                seen.clear()
                (found,) = done(chain(np, x, y))
                assert numpy.asarray(found).tobytes() == chain(numpy, a, b).tobytes()
    numpy.setbufsize(1 << 14)
    try:
        seen.clear()
        done(chain(np, x, y))
        assert seen
    finally:
        numpy.setbufsize(8192)


def test_what_raises_flags_is_told_by_python(seen: list[Any]) -> None:
    x, y, a, b = arrays("f8", "f8")

    def program(np: Any, x: Any, y: Any) -> Any:
        return np.log(np.abs(x)) / y

    np.evaluate(y)
    met(program, x, y)
    zero = b.copy()
    zero[7] = 0
    z = np.array(zero)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            (found,) = done(program(np, x, z))
        with warnings.catch_warnings(record=True) as theirs:
            warnings.simplefilter("always")
            want = program(numpy, a, zero)
        assert [str(w.message) for w in told] == [str(w.message) for w in theirs]
        assert [w.filename for w in told] == [w.filename for w in theirs]
        assert numpy.asarray(found).tobytes() == want.tobytes()
    for _ in range(4):                          # it is trusted again after a while
        done(program(np, x, y))
    seen.clear()
    done(program(np, x, y))
    assert not seen


def test_another_order_is_another_program() -> None:
    x, y, a, b = arrays("f8", "f8")

    def one(np: Any, x: Any, y: Any) -> Any:
        left = x * 2
        right = y * 3
        return left - right

    def other(np: Any, x: Any, y: Any) -> Any:
        right = y * 3
        left = x * 2
        return left - right

    for program in (one, other, one):
        met(program, x, y)
        (found,) = done(program(np, x, y))
        assert numpy.asarray(found).tobytes() == program(numpy, a, b).tobytes()


# ----------------------------------------------------------------------------------- memory and errors


def test_nothing_is_kept(code: Any) -> None:
    x, y, *_ = arrays("f8", "f8")
    met(chain, x, y)
    gc.collect()

    def alive() -> int:
        return sum(isinstance(each, Expr) for each in gc.get_objects())

    objects = (None, True, False, (), x.storage, y.storage, x.storage.value, x.geo)
    before, held = alive(), [sys.getrefcount(each) for each in objects]
    for _ in range(100):
        done(chain(np, x, y))
    gc.collect()
    assert alive() == before
    for each, count in zip(objects, held, strict=True):
        assert abs(sys.getrefcount(each) - count) < 50


def test_kernels_go_with_the_last_plan(code: Any) -> None:
    x, y, *_ = arrays("f8", "f8")
    program = PROGRAMS["shares"]
    met(program, x, y)
    number = len(code.rows) - 1
    plan = code.rows[number][1].way()
    assert plan is not None
    there = weakref.ref(plan)
    del plan
    planning.forget()
    at_sight._sights.clear()
    gc.collect()
    assert there() is None
    (found,) = done(program(np, x, y))
    assert numpy.isfinite(numpy.asarray(found)).all()


def test_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, a, b = arrays("f8", "f8")
    program = PROGRAMS["several"]
    met(program, x, y)
    calls: list[int] = []
    array = values.array

    def refuse(nbytes: int) -> Any:
        calls.append(nbytes)
        if len(calls) == 2:
            raise MemoryError
        return array(nbytes)

    results = program(np, x, y)
    with monkeypatch.context() as patch:
        patch.setattr(values, "array", refuse)
        with pytest.raises(MemoryError):
            np.evaluate(*results)
    for found, want in zip(done(results), program(numpy, a, b), strict=True):
        assert numpy.asarray(found).tobytes() == want.tobytes()


def test_python_that_runs_while_memory_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may compute the very nodes, or let the code know of others."""
    x, y, a, b = arrays("f8", "f8")
    met(chain, x, y)
    array, calls = values.array, list[int]()
    result = chain(np, x, y)

    def meanwhile(nbytes: int) -> Any:
        if not calls:
            calls.append(nbytes)
            for _ in range(4):
                done(PROGRAMS["one"](np, x, y))
            np.evaluate(result)
        return array(nbytes)

    with monkeypatch.context() as patch:
        patch.setattr(values, "array", meanwhile)
        np.evaluate(result)
    assert calls
    assert numpy.asarray(result).tobytes() == chain(numpy, a, b).tobytes()


class Stopped(BaseException):
    """What a handler raises."""


def slow(np: Any, x: Any) -> Any:
    for _ in range(12):
        x = np.arctan2(x, 3.0)
    return x


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_an_interrupt_leaves_what_waits(seen: list[Any]) -> None:
    x, real = arrays("f8", n=1_500_000)
    with np.options(num_threads=1):
        met(slow, x)
        result = slow(np, x)

        def handler(*_: Any) -> None:
            raise Stopped

        before = signal.signal(signal.SIGALRM, handler)
        seen.clear()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            began = time.perf_counter()
            with pytest.raises(Stopped):
                np.evaluate(result)
                while time.perf_counter() < began + 5:
                    pass                        # (a machine so fast that all was done)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert not seen
        assert numpy.asarray(result)[::1000].tobytes() == slow(numpy, real[::1000]).tobytes()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_a_handler_evaluates_meanwhile(seen: list[Any]) -> None:
    x, real = arrays("f8", n=1_500_000)
    u, v, a, b = arrays("f8", "f8")
    found: list[Any] = []
    with np.options(num_threads=1):
        met(slow, x)
        met(chain, u, v)
        result = slow(np, x)
        before = signal.signal(signal.SIGALRM, lambda *_: found.extend(done(chain(np, u, v))))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            np.evaluate(result)
            while not found:
                time.sleep(0.01)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert numpy.asarray(found[0]).tobytes() == chain(numpy, a, b).tobytes()
    assert numpy.asarray(result)[::1000].tobytes() == slow(numpy, real[::1000]).tobytes()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("by", ["code", "Python", "engine"])
def test_a_handler_asks_for_the_same_and_overwrites_what_it_reads(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """What the handler had computed stays: the launch under way has read what was written since."""
    real = arrays("f8", n=1_500_000)[1]
    x = np.array(real) + 0.0
    np.evaluate(x)
    with np.options(num_threads=1):
        met(slow, x)
        if by != "code":
            monkeypatch.setattr(SWIFT, "evaluate", None)
        if by == "engine":
            monkeypatch.setattr(engine, "launched", lambda *_: False)
        result, told = slow(np, x), []
        unallocated = LEDGER.unallocated

        def handler(*_: Any) -> None:
            if not told:
                told.append(result.storage.value.op is not None)
                x[...] = 0.0
                assert not numpy.asarray(x).any()

        before = signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            np.evaluate(result)
            while not told:
                time.sleep(0.01)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert numpy.asarray(result)[::1000].tobytes() == slow(numpy, real[::1000]).tobytes()
    assert LEDGER.unallocated == unallocated - result.nbytes
    if not told[0]:
        pytest.skip("all was done before the handler came")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_a_plan_that_is_forgotten_meanwhile_is_held(code: Any) -> None:
    """With it its kernels' code would go, which runs."""
    x, real = arrays("f8", n=4_000_000)
    held, done_by_then = list[bool](), list[bool]()
    with np.options(num_threads=1):
        met(slow, x)
        way = code.rows[-1][1].way
        result = slow(np, x)

        def handler(*_: Any) -> None:
            done_by_then.append(result.storage.value.op is None)
            planning.forget()
            gc.collect()
            held.append(way() is not None)

        before = signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            np.evaluate(result)
            while not held:
                time.sleep(0.01)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert numpy.asarray(result)[::1000].tobytes() == slow(numpy, real[::1000]).tobytes()
    if done_by_then[0]:
        pytest.skip("all was done before the handler came")
    assert held[0]
    gc.collect()
    assert way() is None


def test_threads() -> None:
    x, y, a, b = arrays("f8", "f8")
    names = "chain", "fold", "several", "shares"
    for name in names:
        met(PROGRAMS[name], x, y)
    wrong: list[str] = []

    def work(name: str) -> None:
        with np.options(jit="always", plan="always", tier="2"):
            want = [numpy.asarray(each).tobytes() for each in done_by_numpy(PROGRAMS[name], a, b)]
            for _ in range(40):
                found = done(PROGRAMS[name](np, x, y))
                if [numpy.asarray(each).tobytes() for each in found] != want:
                    wrong.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in names * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_rows_are_bounded(code: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swift_sight, "MOST_ROWS", 3)
    for n in range(40_000, 40_010):
        x, y, a, b = arrays("f8", "f8", n=n)
        met(chain, x, y)
        assert len(code.rows) <= max(3, len(code.rows) * (n == 40_000))
        (found,) = done(chain(np, x, y))
        assert numpy.asarray(found).tobytes() == chain(numpy, a, b).tobytes()


def test_kernels_get_warm(code: Any) -> None:
    """How long they run is heard until they are as good as can be."""
    x, y, *_ = arrays("f8", "f8")

    def program(np: Any, x: Any, y: Any) -> Any:
        return np.fabs(x) * y - np.floor(x / 3)

    with np.options(tier="auto"):
        met(program, x, y)
        words, row = code.rows[-1]
        (step,) = row.way()
        kernels = [kernel for bound in step.bound if bound is not None for kernel in bound.kernels]
        if all(kernel.heat.asked for kernel in kernels):
            pytest.skip("there is no second tier")
        assert words[Row.WARMING]
        saved = [kernel.heat.saving for kernel in kernels]
        done(program(np, x, y))
        assert [kernel.heat.saving for kernel in kernels] > saved


def test_it_is_loaded_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, *_ = arrays("f8", "f8")
    monkeypatch.setattr(SWIFT, "code", None)
    monkeypatch.setattr(SWIFT, "evaluate", None)
    monkeypatch.setattr(SWIFT, "compiles", True)
    monkeypatch.setattr(SWIFT, "left", 3)
    met(chain, x, y)
    met(chain, x, y)
    assert SWIFT.code is not None
    assert COUNT.native_launches
