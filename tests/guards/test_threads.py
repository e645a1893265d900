"""Several Python threads on lazy arrays, shared and separate: NumPy's results, whoever comes first."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from children import output

import lazyarr
from lazyarr.counters import COUNT, reset

THREADS = 8
X = numpy.random.default_rng(2).random((300, 400))


def together(work):
    """work(k) in all threads at once; the results by k."""
    start = threading.Barrier(THREADS)

    def run(k):
        start.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def program(np, a, k):
    b = np.sqrt(a * (k + 1)) - a[::-1]
    b[k::7] += 1
    np.multiply(b, 0.5, out=b)
    return b, b.sum(axis=0), b.T + a.T


def bits(results):
    return [numpy.asarray(r).tobytes() for r in results]


@pytest.fixture(params=["always", "auto"])
def shared(request):
    """One pending array for all threads."""
    before = lazyarr.get_options()["jit"]
    lazyarr.set_options(jit=request.param)
    a = lazyarr.array(X)
    lazyarr.evaluate(a)
    yield a * 2 + 1
    lazyarr.set_options(jit=before)


SHARED = X * 2 + 1


@pytest.fixture
def switching():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_separate_arrays(shared):
    found = together(lambda k: bits(program(lazyarr, lazyarr.array(X), k)))
    assert found == [bits(program(numpy, X, k)) for k in range(THREADS)]


def test_one_array_for_all(shared):
    found = together(lambda k: bits(program(lazyarr, shared, k)))
    assert found == [bits(program(numpy, SHARED, k)) for k in range(THREADS)]


def test_a_shared_array_is_computed_once(shared):
    reset()
    assert together(lambda k: float(shared[k, k])) == [SHARED[k, k] for k in range(THREADS)]
    assert COUNT.nodes_run == 2


def test_results_made_in_one_thread_and_read_in_others(shared):
    made = together(lambda k: shared * k)
    read = together(lambda k: numpy.asarray(made[(k + 1) % THREADS]).tobytes())
    assert read == [(SHARED * ((k + 1) % THREADS)).tobytes() for k in range(THREADS)]


def test_writes_to_parts_of_one_array(shared, switching):
    """Rows of one array, without a lock, as NumPy allows: none is lost."""

    def write(k):
        for row in range(k, len(SHARED), THREADS):
            target[row] = float(row)
            assert float(target[row, k]) == row

    for _ in range(3):
        target = lazyarr.zeros(X.shape)
        together(write)
        assert (numpy.asarray(target) == numpy.arange(300.0)[:, None]).all()


RACE = """
import sys, threading
import numpy
import lazyarr as np

PARTS, N, ROUNDS = 6, {n}, 12
sys.setswitchinterval(1e-6)

def work(np, x, k):
    part = slice(k * N, (k + 1) * N)
    x[part] = numpy.arange(N) * 1.0 + k
    seen = []
    for r in range(ROUNDS):
        y = x[part] * 2 + 1
        x[part] += 1
        z = y - x[part]
        x[part] = x[part] * 0.5 + z
        np.multiply(x[part], 1.5, out=x[part], where=y > 3)
        x[k * N + r] = r
        if r % 3 == k % 3:
            seen += [float(x[k * N + r]), numpy.asarray(z + y).tobytes()]
    return seen + [numpy.asarray(x[part]).tobytes()]

for trial in range(4):
    x, found, start = np.zeros(N * PARTS), [None] * PARTS, threading.Barrier(PARTS)

    def run(k):
        start.wait()
        found[k] = work(np, x, k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(PARTS)]
    for t in threads: t.start()
    for t in threads: t.join()
    want = numpy.zeros(N * PARTS)
    for k in range(PARTS):
        assert found[k] == work(numpy, want, k), k
    assert numpy.asarray(x).tobytes() == want.tobytes()
print("right")
"""


EXPORTS = """
import gc, random, sys, threading, traceback
import numpy
import lazyarr

THREADS, N = 8, {n}
sys.setswitchinterval(1e-6)

def work(np, rows, base, k, seed):
    row, rnd, seen = rows[k], random.Random(seed * THREADS + k), []
    for r in range(12):
        op = rnd.randrange(9)
        if op == 0: row += base
        elif op == 1: row[...] = base * k
        elif op == 2: seen.append(float((row - base).sum()))
        elif op == 3:
            y = numpy.asarray(row)
            y += 1
            del y
        elif op == 4:
            x = base + row
            del x
            gc.collect(0)
        elif op == 5:
            try: row[:] = numpy.ones(N + 1)
            except ValueError: seen.append("refused")
        elif op == 6: seen.append(bytes(memoryview(row[:5])))
        elif op == 7:
            row *= 0.5
            seen.append(float(row[3]))
        else: seen.append(numpy.asarray(base[::2] + r).tobytes())
    return seen + [numpy.asarray(rows[k]).tobytes()]

def made(np):
    return np.zeros((THREADS, N)), np.arange(float(N)) * 2 + 1

for seed in range({trials}):
    given, found, start = made(lazyarr), [None] * THREADS, threading.Barrier(THREADS)

    def run(k):
        start.wait()
        try: found[k] = work(lazyarr, *given, k, seed)
        except BaseException: found[k] = traceback.format_exc()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for t in threads: t.start()
    for t in threads: t.join()
    theirs = made(numpy)
    for k in range(THREADS):
        assert found[k] == work(numpy, *theirs, k, seed), (seed, k, found[k])
print("right")
"""


@pytest.mark.parametrize("jit, n", [("always", 700), ("always", 40_000), ("auto", 40_000), ("never", 700)])
def test_threads_that_read_one_array_and_export_parts_of_another(jit, n):
    """Temporaries, exports and refusals among it: whatever comes between two steps of a call."""
    assert output(EXPORTS.format(n=n, trials=40), LAZYARR_JIT=jit) == "right\n"


@pytest.mark.parametrize("jit, n", [("always", 4000), ("auto", 40_000), ("never", 4000)])
def test_threads_that_compute_on_parts_of_one_array(jit, n):
    """Between the look at a value and the node that reads it, another thread may write elsewhere."""
    assert output(RACE.format(n=n), LAZYARR_JIT=jit) == "right\n"


def test_options_of_one_thread_are_its_own(shared):
    def work(k):
        with lazyarr.options(jit="never" if k % 2 else "always"):
            return bits(program(lazyarr, lazyarr.array(X), k))

    assert together(work) == [bits(program(numpy, X, k)) for k in range(THREADS)]
