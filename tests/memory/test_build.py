"""Building an expression takes no memory, whatever the size of its arrays (times: asv_bench/)."""

from __future__ import annotations

import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy
import pytest

import lazyarr
from lazyarr import buffers
from lazyarr.counters import COUNT, reset

N = 10_000_000

EXPRESSIONS = {
    "arithmetic": lambda np, a, m: ((a * 2 + 1) * a - 3) / 7 + a,
    "functions": lambda np, a, m: np.sqrt(np.exp(a) + np.sin(a) ** 2),
    "views": lambda np, a, m: a[1:-1] + a[:-2] + a[2:][::-1],
    "transposes": lambda np, a, m: m.T * 2 + m.T,
    "mixed layouts": lambda np, a, m: m[:2000, :2000] + m[:2000, :2000].T,
    "rows": lambda np, a, m: (m - m.sum(axis=1, keepdims=True)).max(axis=0),
    "mean and std": lambda np, a, m: (m - m.mean(axis=0)) / m.std(axis=0),
    "choices": lambda np, a, m: np.where(a > 0.5, a, -a).clip(0, 1),
    "casts": lambda np, a, m: a.astype(np.float32) * 2 + a.astype(np.int64),
    "copies": lambda np, a, m: m.T.copy() + m.copy().T,
    "strided copies": lambda np, a, m: a[::2].copy() + a[::2].astype("f4"),
    "padded": lambda np, a, m: np.pad(m, 1) + 1,
    "makers": lambda np, a, m: np.zeros(N) + np.ones(N) * np.full(N, 3.0) + np.zeros_like(a),
}


@pytest.fixture(scope="module")
def arrays():
    a = lazyarr.array(numpy.zeros(N))
    lazyarr.evaluate(a)
    return a, a.reshape(2500, -1)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_memory(arrays, name):
    build = EXPRESSIONS[name]
    build(lazyarr, *arrays)             # what is cached by shape and type is cached now
    reset()
    live = buffers.usage().live
    tracemalloc.start()
    result = build(lazyarr, *arrays)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert not lazyarr.is_evaluated(result)
    assert COUNT.bytes_allocated == COUNT.nodes_run == 0 and buffers.usage().live == live
    assert kept < 64 << 10


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_page_is_touched(arrays, name):
    """NumPy, asked about layouts, may reserve memory for a moment, but nobody writes to it."""
    build = EXPRESSIONS[name]
    build(lazyarr, *arrays)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    build(lazyarr, *arrays)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux")
def test_no_address_space_where_it_is_limited():
    """`ulimit -v` counts what is reserved: expressions of any size leave it to the arrays."""
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))
import lazyarr as np
def reserved():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()
row, column = np.ones(2**17), np.ones((2**17, 1))
np.evaluate(row, column)
before = reserved()
views = [np.broadcast_to(row, (2**20, 2**17)), row[None] + column[:1000]]
assert np.may_share_memory(views[0], row) and not np.shares_memory(views[1], row)
assert reserved() - before < 2**24, (before, reserved())
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux")
@pytest.mark.parametrize("limit", [None, 1500 << 20])
def test_the_frames_of_a_memory_error_can_be_shown(limit):
    """Whoever reports errors prints the variables of all frames: no geometry among them lies nowhere."""
    code = f"""
import resource, traceback
import lazyarr as np
if {limit}:
    resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
p = np.ones(200_000)
for make in (
    lambda: np.zeros(10**12), lambda: np.ones(10**12) + 1, lambda: np.arange(10**12), lambda: np.eye(10**6),
    lambda: np.linspace(0, 1, 10**12), lambda: np.outer(p, p), lambda: p[:, None, None] * p[:, None] * p,
    lambda: np.random.default_rng(0).uniform(0, 1, 10**12), lambda: np.zeros((10**9, 10**5)),
    lambda: np.repeat(p, 10**7), lambda: np.tile(p, (10**7, 1)),
):
    try:
        make()
    except MemoryError as error:
        traceback.TracebackException.from_exception(error, capture_locals=True)
    else:
        raise AssertionError("there is no such memory")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
