"""Compiled functions among lazy operations: what waits, what fuses, what is counted, and warnings."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from contextlib import suppress

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT
from tests.crowd import numbered_at_once

PATIENCE = 120
"""Seconds for another process, also on a busy machine."""
N = 50_000
X = numpy.linspace(-3, 3, N)


def bent(x):
    """Can neither stop nor loop: lazy."""
    if x < -1:
        return -x - 0.5
    return math.atan(x) if x < 1 else x * x


def root(x):
    """May stop: runs at the call."""
    return math.sqrt(x + 3.5)


def python(fn, x):
    return numpy.vectorize(fn, otypes="d")(x)


def test_what_cannot_stop_is_lazy_and_fuses():
    v = lazyarr.vectorize(bent, otypes="d")
    x = lazyarr.asarray(X.copy()) + 0.0
    y = v(x * 0.5) + 1
    assert not lazyarr.is_evaluated(y) and not lazyarr.is_evaluated(x) and v.refusal is None
    before = COUNT.native_launches
    values = numpy.asarray(y)
    assert COUNT.native_launches == before + 1
    assert values.tobytes() == (python(bent, X * 0.5) + 1).tobytes()
    assert "scalar_" in lazyarr.debug.explain(v(x * 2.0))


def test_folds_of_results():
    x = lazyarr.asarray(X)
    total = lazyarr.vectorize(bent, otypes="d")(x).sum()
    assert total == python(bent, X).sum()


def test_what_may_stop_runs_at_the_call_in_one_kernel_with_its_operands():
    v = lazyarr.vectorize(root, otypes="d")
    x = lazyarr.asarray(X.copy()) + 0.0
    lazyarr.evaluate(x)
    before, fallbacks = COUNT.native_launches, COUNT.numpy_fallbacks
    y = v(x * 0.5)
    assert COUNT.native_launches == before + 1 and COUNT.numpy_fallbacks == fallbacks
    assert lazyarr.is_evaluated(y) and v.refusal is None
    assert numpy.asarray(y).tobytes() == python(root, X * 0.5).tobytes()


def test_a_stop_leaves_the_call_to_numpy():
    v = lazyarr.vectorize(root, otypes="d")
    x = lazyarr.asarray(X) - 1.0
    with pytest.raises(ValueError, match="math domain error"):
        v(x)
    assert v.refusal.why == "at this call: a math domain or range error"
    fallbacks = COUNT.numpy_fallbacks
    with pytest.raises(ValueError, match="math domain error"):
        v(x)
    v(x + 1)
    assert v.refusal is None and COUNT.numpy_fallbacks == fallbacks
    with pytest.raises(ValueError, match="math domain error"):
        v(x)
    assert v.refusal.line == root.__code__.co_firstlineno + 2
    assert numpy.asarray(v(x + 1)).tobytes() == python(root, X - 1.0 + 1).tobytes() and v.refusal is None


def test_a_write_after_the_call_does_not_show():
    x = lazyarr.asarray(X.copy()) * 1.0
    y = lazyarr.vectorize(bent, otypes="d")(x)
    x[:] = 0
    assert numpy.asarray(y).tobytes() == python(bent, X).tobytes()


def test_captured_numbers_are_those_of_the_call():
    k = 2.0
    v = lazyarr.vectorize(lambda x: x * k, otypes="d")
    y = v(lazyarr.asarray(X) * 1.0)
    k = 5.0
    assert numpy.array_equal(y, X * 2.0) and k == 5.0


def caught(compute):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        compute()
    return [str(w.message) for w in found]


def test_warnings_come_late_and_by_numpys_name():
    big = lazyarr.asarray(numpy.full(N, 1e200))
    v = lazyarr.vectorize(lambda x: x * x, otypes="d")
    y = []
    assert caught(lambda: y.append(v(big))) == []
    assert caught(lambda: numpy.asarray(y[0])) == ["overflow encountered in <lambda> (vectorized)"]
    z = v(big) + big / 0.0
    assert caught(lambda: lazyarr.evaluate(z)) == [
        "overflow encountered in <lambda> (vectorized)", "divide by zero encountered in divide"
    ]  # fmt: skip
    w = lazyarr.vectorize(lambda x: x * x / x, otypes="d")
    assert caught(lambda: w(big)) == ["overflow encountered in <lambda> (vectorized)"]


def test_the_reference_computes_the_same(monkeypatch):
    """What NumPy computes, node by node, is what kernels compute; also where there is no compiler."""
    from lazyarr.compiler import COMPILER
    from lazyarr.scalar.loop import Loop

    v = lazyarr.vectorize(bent, otypes="d")
    wanted = python(bent, X[::25])
    x = lazyarr.asarray(X[::25].copy())
    pending = [v(x * 1.0) for _ in range(2)]
    monkeypatch.setattr(COMPILER, "usable", False)
    assert numpy.asarray(pending[0]).tobytes() == wanted.tobytes()
    before = COUNT.scalar_interpreted
    monkeypatch.setattr(Loop, "_by_machine", lambda *args: (_ for _ in ()).throw(RuntimeError))
    assert numpy.asarray(pending[1]).tobytes() == wanted.tobytes()
    assert COUNT.scalar_interpreted == before + 1


def test_small_calls_are_pythons():
    with lazyarr.options(jit="auto"):
        before = COUNT.nodes_built
        v = lazyarr.vectorize(bent, otypes="d")
        v(lazyarr.asarray(X[:1000]))
        assert COUNT.nodes_built == before


def test_a_debugger_sees_each_call():
    seen = []

    def trace(frame, event, arg):
        if frame.f_code is bent.__code__ and event == "call":
            seen.append(frame.f_locals["x"])

    v = lazyarr.vectorize(bent, otypes="d")
    sys.settrace(trace)
    try:
        v(lazyarr.asarray(X[:100]))
    finally:
        sys.settrace(None)
    assert seen == X[:100].tolist() and "debugger" in v.refusal.why


class Monitoring:
    """A tool of `sys.monitoring`, as Python 3.12 knows them."""

    @staticmethod
    def get_tool(number):
        return "profiler" if number == 2 else None


def refused(v):
    with suppress(FloatingPointError):
        v(lazyarr.asarray(X[:100]))
    return v.refusal.why


def test_a_reason_of_each_cause(monkeypatch):
    v = lazyarr.vectorize(bent, otypes="d")
    with lazyarr.options(jit="never"):
        assert "`jit`" in refused(v)
    with numpy.errstate(over="raise"):
        assert "errors are to be raised" in refused(v)
    assert "`signature`" in refused(lazyarr.vectorize(bent, signature="()->()"))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "monitoring", Monitoring, raising=False)
        assert "sys.monitoring" in refused(v)
    with monkeypatch.context() as patched:
        patched.setattr("lazyarr.dispatch.image.here", lambda: False)
        assert "on this system" in refused(v)
    v(lazyarr.asarray(X[:100]))
    assert v.refusal is None


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="Python 3.12 has sys.monitoring")
def test_a_tool_of_sys_monitoring_sees_each_call():
    seen = []
    monitoring = sys.monitoring
    v = lazyarr.vectorize(bent, otypes="d")
    monitoring.use_tool_id(3, "test")
    try:
        monitoring.register_callback(3, monitoring.events.PY_START, lambda code, _: seen.append(code))
        monitoring.set_local_events(3, bent.__code__, monitoring.events.PY_START)
        v(lazyarr.asarray(X[:100]))
    finally:
        monitoring.set_local_events(3, bent.__code__, 0)
        monitoring.free_tool_id(3)
    assert seen == [bent.__code__] * 100


def test_threads_share_a_function():
    v = lazyarr.vectorize(root, otypes="d")
    results, errors = {}, []

    def work(k):
        x = lazyarr.asarray(X - 10 * (k % 2))
        for _ in range(10):
            try:
                results[k] = numpy.asarray(v(x))
            except ValueError as error:
                errors.append((k, str(error)))

    numbered_at_once(work)
    assert sorted(results) == [0, 2] and {k for k, _ in errors} == {1, 3} and len(errors) == 20
    assert all(r.tobytes() == python(root, X).tobytes() for r in results.values())


LONG = """
import signal, sys
import numpy, lazyarr
lazyarr.set_options(jit="always", num_threads={threads})

def spin(x):
    n = 0
    while x < {limit}:
        x += 1.0
        n += 1
        if n == 1000000:
            n = 0
            x -= 1000000.0
    return n

v = lazyarr.vectorize(spin, otypes="l")
print("compiled", v(lazyarr.asarray(numpy.full(64, 1e9))).sum(), v.refusal, flush=True)
signal.signal(signal.SIGALRM, {handler})
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    v(lazyarr.asarray(numpy.zeros(200_000)))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_an_endless_loop_can_be_interrupted(threads):
    code = LONG.format(threads=threads, limit="1e9", handler="signal.default_int_handler")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split("\n")[:2] == ["compiled 0 None", "interrupted"], done.stderr


COUNTING = """
import signal, numpy, lazyarr
lazyarr.set_options(jit="always")
def f(x):
    n = 0
    while n < 1000000:
        n += 1 + (x > 2)
    return n
v = lazyarr.vectorize(f, otypes="l")
v(lazyarr.asarray(numpy.arange(2)))
came = []
def handler(*args):
    {handler}
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05{again})
r = v(lazyarr.asarray(numpy.arange(300) % 5))
signal.setitimer(signal.ITIMER_REAL, 0)
print(sorted(set(r.tolist())), {shown})
"""


def counted(**words):
    """What a long call says, while signals come."""
    command = [sys.executable, "-c", COUNTING.format(**words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return done.stdout.strip(), done.stderr


def test_a_signal_whose_handler_returns_changes_nothing():
    said, errors = counted(handler="came.append(1)", again=", 0.05", shown="v.refusal, len(came) > 0")
    assert said == "[1000000] None True", errors


def test_a_handler_may_call_the_function_that_it_interrupts():
    handler = "came or came.append(v(lazyarr.asarray(numpy.array([1, 2]))).tolist())"
    said, errors = counted(handler=handler, again="", shown="came")
    assert said == "[1000000] [[1000000, 1000000]]", errors


def test_what_an_earlier_run_compiled_needs_no_llvm(tmp_path):
    code = """
import sys, numpy, lazyarr
def f(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
x = numpy.arange(1, 60_000)
r = lazyarr.vectorize(f)(lazyarr.asarray(x))
print(int(r.sum()), "llvmlite.binding" in sys.modules)
"""
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "LAZYARR_CACHE_DIR": str(tmp_path), "LAZYARR_JIT": "auto"},
        )
        for _ in range(2)
    )  # fmt: skip
    total = first.stdout.split()[0]
    assert first.stdout.split() == [total, "True"], first.stderr
    assert second.stdout.split() == [total, "False"], second.stderr


@pytest.mark.parametrize("jit", ["auto", "always"])
def test_in_place_where_a_flag_is_raised(jit: str) -> None:
    """The vectors' results are in their inputs' place when a flag asks for the elements one by one."""
    x = numpy.linspace(-3, 3, 200_001)
    x[77], x[99] = numpy.nan, 1e300
    with lazyarr.options(jit=jit), numpy.errstate(all="ignore"):
        for scalar in (lambda v: v if v > 0 else v * 0.5, lambda v: v * v + 1):
            expected = numpy.vectorize(scalar, otypes=[float])(x)
            compiled = lazyarr.vectorize(scalar, otypes=[float])
            a, b = lazyarr.array(x), lazyarr.array(x)
            lazyarr.evaluate(a, b)
            a[...] = compiled(a)
            b = compiled(b * 1)
            for got in (a, b):
                assert numpy.asarray(got).tobytes() == expected.tobytes()


def test_elements_of_float32_tell_no_underflow() -> None:
    """NumPy converts them when the flags have been read; the rounding is the same, to the last subnormal."""
    rng = numpy.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], N) * 2.0 ** rng.uniform(-152, -124, N)
    x[:4] = 0.0, -0.0, 2.0**-150, 1.5 * 2.0**-149
    def run(np):
        with warnings.catch_warnings(record=True) as caught, numpy.errstate(all="warn"):
            warnings.simplefilter("always")
            v = np.vectorize(lambda a: a * 1.0, otypes="f")
            return numpy.asarray(v(np.array(x))).tobytes(), [str(w.message) for w in caught]

    with lazyarr.options(jit="always"):
        assert run(lazyarr) == run(numpy)
