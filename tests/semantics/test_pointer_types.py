"""`ctypeslib`'s types take lazy arrays, for C code that may keep the address."""

from __future__ import annotations

import ctypes
import gc

import numpy
import pytest

import lazyarr as np

pytestmark = pytest.mark.parametrize("n", [4, 40_000])

libc = ctypes.CDLL(None)


@pytest.fixture(autouse=True)
def made_to_wait():
    with np.options(jit="always"):
        yield


def function(name, result, *arguments):
    made = ctypes.CFUNCTYPE(result, *arguments)((name, libc))
    return made


VECTOR = np.ctypeslib.ndpointer(float, 1, flags="C")


def test_c_code_reads_and_writes_in_program_order(n):
    move = libc.memmove
    move.argtypes, move.restype = [VECTOR, VECTOR, ctypes.c_size_t], None
    x, y = np.arange(float(n)) * 2, np.zeros(n) + 1
    before = y * 3
    move(y, x, x.nbytes)
    x += 1
    y[0] = 7
    assert before.tolist() == [3.0] * n
    assert y.tolist() == [7.0, *(numpy.arange(n) * 2.0)[1:]]
    assert x.tolist() == (numpy.arange(n) * 2 + 1.0).tolist()


def test_the_address_holds(n):
    x = np.arange(float(n)) + 1
    kept = VECTOR.from_param(x)
    address = ctypes.cast(kept, ctypes.POINTER(ctypes.c_double))
    y = x * 1
    address[1] = 50.0
    assert y[1] == 2 and x[1] == 50 and (x + 1)[1] == 51
    x *= 2
    assert address[1] == 100
    del x, y
    gc.collect()
    spoiled = [np.full(n, 9.0) + 1 for _ in range(9)]
    np.evaluate(*spoiled)
    assert address[0] == 2 and address[1] == 100


REFUSED = {
    "dtype": ({"dtype": int}, "array must have data type int64"),
    "ndim": ({"ndim": 2}, r"array must have 2 dimension\(s\)"),
    "shape": ({"shape": (3,)}, r"array must have shape \(3,\)"),
    "flags": ({"flags": "C,W"}, "array must have flags"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_refusals_are_numpys(n, which):
    asked, words = REFUSED[which]
    x = np.arange(float(n)) + 1
    x = x[::2] if which == "flags" else x
    for array, lib in ((x, np), (numpy.asarray(x), numpy), (numpy.asarray(x), np)):
        with pytest.raises(TypeError, match=words):
            lib.ctypeslib.ndpointer(**asked).from_param(array)
    with pytest.raises(TypeError, match="argument must be an ndarray"):
        np.ctypeslib.ndpointer(**asked).from_param([1.0])


def test_flags_are_the_arrays(n):
    x = np.arange(float(n)) + 1
    owner = np.ctypeslib.ndpointer(flags="OWNDATA")
    owner.from_param(x)
    with pytest.raises(TypeError, match="OWNDATA"):
        owner.from_param(x[1:])
    x.flags.writeable = False
    with pytest.raises(TypeError, match="WRITEABLE"):
        np.ctypeslib.ndpointer(flags="W").from_param(x)
    like = np.ctypeslib.ndpointer(flags=(np.ones(n) + 1).flags)
    like.from_param(np.ones(n) + 1)
    with pytest.raises(TypeError):
        like.from_param(x)


def test_types_are_made_once(n):
    assert np.ctypeslib.ndpointer(float, shape=n) is np.ctypeslib.ndpointer(np.float64, shape=(n,))
    assert issubclass(VECTOR, numpy.ctypeslib.ndpointer(float, 1, flags="C"))
    assert VECTOR.__name__ == "ndpointer_<f8_1d_C"


def test_results_are_ours(n):
    x = np.arange(float(n)) + 1
    same = function("memmove", np.ctypeslib.ndpointer(float, shape=(n,)), VECTOR, VECTOR, ctypes.c_size_t)
    y = same(x, x, 0)
    assert type(y) is np.ndarray and y.tolist() == x.tolist()
    x[1] = 20
    assert y[1] == 20
    y[0] = 5
    assert (x * 2)[0] == 10


def test_arrays_of_ctypes(n):
    x = np.arange(float(n)) + 1
    c = np.ctypeslib.as_ctypes(x)
    waiting = x * 2
    c[1] = 7.0
    assert waiting[1] == 4 and x[1] == 7
    x[2] = 8
    assert c[2] == 8
    y = np.ctypeslib.as_array(c)
    assert type(y) is np.ndarray
    y[0] = 3
    assert (x + 0)[0] == c[0] == 3
    with pytest.raises(TypeError, match="strided arrays not supported"):
        np.ctypeslib.as_ctypes(x[::2])
