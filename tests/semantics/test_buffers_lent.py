"""Who asks for a buffer gets the array's own memory, or an exception that says why not."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys

import numpy
import pytest

import lazyarr as np

pytestmark = pytest.mark.parametrize("n", [4, 40_000])


@pytest.fixture(autouse=True)
def made_to_wait():
    with np.options(jit="always"):
        yield


def test_ctypes_see_writes_both_ways(n):
    x = np.zeros(n) + 1
    waiting = x * 2
    c = (ctypes.c_double * n).from_buffer(x)
    c[1] = 7
    assert waiting[1] == 2 and (x + 1)[1] == 8
    x[2] = 9
    assert c[2] == 9
    assert ctypes.c_double.from_buffer(x, 16).value == 9
    with pytest.raises(ValueError, match="Buffer size too small"):
        (ctypes.c_double * (n + 1)).from_buffer(x)
    del x
    gc.collect()
    spoiled = [np.full(n, 5.0) + 1 for _ in range(9)]
    np.evaluate(*spoiled)
    assert list(c[:4]) == [1, 7, 9, 1]


def test_pickle_buffers(n):
    x = np.arange(float(n)) * 2
    lent = pickle.PickleBuffer(x)
    assert lent.raw().nbytes == x.nbytes
    x[1] = 5
    assert memoryview(lent)[1] == 5
    lent.release()


@pytest.mark.parametrize("ask", ["read only", "dates"])
def test_exceptions_are_numpys(n, ask):
    x = np.zeros(n, "M8[s]" if ask == "dates" else float)
    x.flags.writeable = ask == "dates"
    real = numpy.zeros(n, x.dtype)
    real.flags.writeable = ask == "dates"
    errors = []
    for array in (real, x):
        with pytest.raises((ValueError, TypeError)) as caught:
            (ctypes.c_double * n).from_buffer(array)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_a_refusal_is_a_buffer_error(n):
    """NumPy asks as `memoryview` does, and must not get one: a call by another name is refused."""
    x = np.zeros(n) + 1
    real = numpy.asarray(x)
    assert numpy.asarray(x) is real
    counts = sys.getrefcount(real), sys.getrefcount(x)
    for _ in range(100):
        with pytest.raises(BufferError, match="called by its name"):
            view(x)
        assert bytes(numpy.asarray(x)[:1].data) == b"\0\0\0\0\0\0\xf0?"
    lend(x)
    assert (sys.getrefcount(real), sys.getrefcount(x)) == counts


def lend(x):
    for _ in range(100):
        memoryview(x).release()
        pickle.PickleBuffer(x).release()


view = vars(__import__("builtins"))["memory" + "view"]


@pytest.mark.parametrize("of", ["real", "waiting", "written"])
def test_frombuffer_sees_what_is_written(n, of):
    """It holds the array and an address, and gives the buffer back at once."""
    x = {
        "real": lambda: np.array(numpy.arange(float(n))), "waiting": lambda: np.arange(float(n)) * 1,
        "written": lambda: np.add(np.arange(float(n)), 0, out=np.zeros(n)),
    }[of]()
    h = numpy.frombuffer(x)
    assert h.tolist() == numpy.arange(float(n)).tolist()
    later = x + 1
    np.multiply(x, 0.5, x)
    np.add(x, x, out=x)
    np.add(np.ones(n) * 3, np.ones(n) * 3, out=x)
    assert (h == 6).all()
    h[1] = 7
    assert x[1] == 7 and later[1] == 2
    x += 1
    x[:2] = [4, 5]
    gc.collect()
    spoiled = [np.full(n, 5.0) + 1 for _ in range(9)]
    np.evaluate(*spoiled)
    assert h[:4].tolist() == [4, 5, 7, 7] == x[:4].tolist()
