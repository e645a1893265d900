"""np.empty: no memory until something is stored in it, arbitrary but stable bytes, NumPy's errors."""

from __future__ import annotations

import gc

import numpy
import pytest

import lazyarr as np
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT, reset
from lazyarr.values import LEDGER

N = 200_000


@pytest.fixture(autouse=True, params=["always", "auto"])
def ledger(request):
    """Each program leaves the ledger as it was."""
    COMPILER.load()                     # "auto" leaves the first work of a process to NumPy
    gc.collect()
    before = LEDGER.kept, LEDGER.unallocated
    with np.options(jit=request.param):
        yield
    gc.collect()
    assert (LEDGER.kept, LEDGER.unallocated) == before


def test_it_takes_no_memory_at_the_call():
    reset()
    before = LEDGER.unallocated
    a, b = np.empty(N), np.empty((4, N), order="F")
    assert LEDGER.unallocated == before + a.nbytes + b.nbytes
    assert COUNT.bytes_allocated == 0 and COUNT.bytes_numpy == a.nbytes + b.nbytes
    del a, b
    assert COUNT.bytes_allocated == 0 and LEDGER.unallocated == before


def test_writes_that_cover_it_share_one_buffer():
    x = np.arange(float(N))
    np.evaluate(x)
    reset()
    out = np.empty_like(x)
    out[1:-1] = x[1:-1] * 2
    out[0] = -1
    out[-1] = -2
    with np.options(plan="always"):
        np.evaluate(out)
    assert COUNT.bytes_allocated == out.nbytes
    expected = numpy.arange(float(N)) * 2
    expected[[0, -1]] = -1, -2
    assert numpy.array_equal(numpy.asarray(out), expected)


def test_halves_of_one_space_are_one_launch():
    x = np.arange(float(N))
    np.evaluate(x)
    with np.options(jit="always"):
        reset()
        out = np.empty_like(x)
        out[::2] = x[::2] + 1
        out[1::2] = x[1::2] * 2
        np.evaluate(out)
        assert COUNT.native_launches == 1 and COUNT.bytes_allocated == out.nbytes


def test_a_whole_write_needs_no_old_bytes():
    x = np.arange(float(N))
    np.evaluate(x)
    out = np.empty(N)
    np.add(x, 1, out=out)
    out *= 2
    assert numpy.array_equal(numpy.asarray(out), (numpy.arange(float(N)) + 1) * 2)


LOOKS = [lambda a: a[7:9].copy(), lambda a: a * 1, numpy.asarray, lambda a: a.tolist()]


@pytest.mark.parametrize("look", LOOKS)
def test_its_bytes_stay_what_they_are(look):
    a = np.empty(N)
    first = numpy.array(look(a)).tobytes()
    a[N // 2 :] = a[N // 2 :]
    again = numpy.array(look(a)).tobytes()
    assert first == again


def test_readers_before_a_write_see_what_was_there():
    a = np.empty(N, "i8")
    b = a + 0
    a[5:7] = 3
    c = a + 0
    np.evaluate(b, c)
    assert set(numpy.flatnonzero(numpy.asarray(b) != numpy.asarray(c))) <= {5, 6}
    assert numpy.asarray(c)[5:7].tolist() == [3, 3]


def test_exported_memory_is_the_array():
    a = np.empty(N)
    real = numpy.asarray(a)
    real[:] = 7
    assert a.sum() == 7 * N
    a[0] = 8
    assert real[0] == 8


def test_an_error_half_way_leaves_what_was_written():
    a = np.empty(N)
    a[:] = 1
    with pytest.raises(ValueError):
        a[: N // 2] = np.ones(3)
    assert a.sum() == N


def test_loops_over_elements_are_numpys():
    with np.options(jit="auto"):
        a = np.empty(N)
        reset()
        for k in range(1000):
            a[k] = k
        assert COUNT.nodes_built < 20
        a[1000:] = 0
        assert a.sum() == 999 * 500


@pytest.mark.parametrize("make", ["empty", "zeros", "ones"])
@pytest.mark.parametrize("shape", [(10**14,), (10**7, 10**7)])
def test_what_no_system_has(make, shape):
    with pytest.raises(MemoryError) as wanted:
        getattr(numpy, make)(shape)
    with pytest.raises(MemoryError) as found:
        getattr(np, make)(shape)
    assert str(found.value) == str(wanted.value)


def test_results_that_no_system_has():
    x = np.ones(10**7)
    with pytest.raises(MemoryError):
        x[:, None] * x
