"""The standard's arrays among lazyarr's and NumPy's: types, memory, protocols, DLPack."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy
import pytest

import lazyarr
import lazyarr.array_api as xp
from lazyarr.array_api.array_type import Array

N = 100_000
"""Large enough to be the engine's."""


@pytest.fixture(params=[4, N])
def n(request):
    return request.param


def test_an_array_is_a_lazyarr_ndarray():
    x = xp.ones(3)
    assert isinstance(x, lazyarr.ndarray) and issubclass(Array, lazyarr.ndarray)
    assert not isinstance(lazyarr.ones(3), Array) and not isinstance(numpy.ones(3), Array)
    assert not isinstance(x, numpy.ndarray)
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError, match="asarray"):
        Array((3,))


def test_conversions_share_memory(n):
    x = lazyarr.arange(float(n)) + 1
    y = xp.asarray(x)
    assert xp.asarray(y) is y and lazyarr.asarray(y) is x
    y[0] = 50
    x[1] = 60
    assert (float(x[0]), float(y[1])) == (50, 60)
    real = numpy.asarray(y)
    real[2] = 70
    assert float(y[2]) == float(x[2]) == 70
    z = xp.asarray(real)
    z[3] = 80
    assert real[3] == 80 and float(x[3]) == 80
    other = xp.asarray(y, copy=True)
    other[0] = -1
    assert float(y[0]) == 50
    with pytest.raises(ValueError):
        xp.asarray(y, dtype=xp.float32, copy=False)
    with pytest.raises(ValueError):
        xp.asarray([1, 2], copy=False)


def test_operators_with_others_give_the_standards_arrays(n):
    a = numpy.arange(float(n)) + 1
    x = xp.asarray(lazyarr.array(a))
    for other in (lazyarr.array(a), a, a[:1], numpy.float64(2), 2, 2.5):
        b = numpy.asarray(other) if isinstance(other, lazyarr.ndarray) else other
        for fn in (operator.add, operator.sub, operator.truediv, operator.floordiv, operator.lt, operator.eq):
            for got, want in ((fn(x, other), fn(a, b)), (fn(other, x), fn(b, a))):
                assert type(got) is Array
                numpy.testing.assert_array_equal(numpy.asarray(got), want)
    for other in (lazyarr.array(a), a):
        assert type(x @ other) is type(other @ x) is Array and float(x @ other) == a @ a
    y = lazyarr.array(a)
    y += x
    assert type(y) is lazyarr.ndarray and float(y[1]) == 4
    x += a
    assert type(x) is Array and float(x[1]) == 4
    x -= lazyarr.array(a)
    assert float(x[1]) == 2


def test_numpys_functions_and_methods(n):
    a = numpy.arange(float(n)) + 1
    x = xp.asarray(lazyarr.array(a))
    for space in (numpy, lazyarr):
        results = [
            space.sin(x), space.add(x, a), space.add(a, x), space.concatenate([x, a]),
            space.where(x > 2, x, 0), space.cumsum(x), space.stack([x, x]),
        ]  # fmt: skip
        assert {type(got) for got in results} == {Array}
        assert isinstance(space.sum(x), numpy.float64) and space.sum(x) == a.sum()
        out = xp.zeros(n)
        assert space.multiply(x, 2, out=out) is out and float(out[1]) == 4
    assert isinstance(x.sum(), numpy.float64) and x.mean() == a.mean() and x.tolist() == a.tolist()
    assert type(x.reshape(2, -1)) is type(x.astype("f")) is type(x.copy()) is Array
    assert x.strides == (8,) and x.flags.c_contiguous and x.nbytes == 8 * n and len(x) == n and 2.0 in x
    z = xp.asarray(lazyarr.array(a)) + 1j
    z.real[0] = 9
    z.imag = 3
    assert complex(z[0]) == 9 + 3j and bytes(memoryview(x)[:1]) == a[:1].tobytes()


def test_other_protocols(n):
    x = xp.asarray(lazyarr.arange(float(n)))
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is Array and bool(xp.all(x == y))
        y[0] = 9
        assert float(x[0]) == 0
    assert repr(xp.asarray([1.0, 2.5])) == "Array([1. , 2.5])" and str(xp.asarray([1, 2])) == "[1 2]"


# ---------------------------------------------------------------------------------------- DLPack


def test_dlpack_shares_memory_both_ways(n):
    x = xp.asarray(lazyarr.arange(float(n))) * 2
    theirs = numpy.from_dlpack(x)
    assert theirs[1] == 2
    x[1] = 7
    assert theirs[1] == 7
    if theirs.flags.writeable:
        theirs[1] = 8
        assert float(x[1]) == 8
    a = numpy.arange(float(n))
    for back in (xp.from_dlpack(a), lazyarr.from_dlpack(a)):
        assert numpy.shares_memory(numpy.asarray(back), a)
        later = back + 1
        a[2] += 1
        assert float(back[2]) == a[2] and float(later[2]) == a[2]     # read at the call: + 1 before the write
        assert back.__dlpack_device__() == (1, 0)
    assert xp.from_dlpack(x).face is x.face
    apart = xp.from_dlpack(a, copy=True)
    a[0] = 99
    assert float(apart[0]) == 0


versioned = pytest.mark.skipif(
    numpy.lib.NumpyVersion(numpy.__version__) < "2.1.0", reason="NumPy 2.0 makes unversioned capsules only"
)


@versioned
def test_dlpack_asks_and_answers():
    for x in (xp.ones(4), lazyarr.ones(4), xp.ones(N) + 1):
        assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
        assert '"dltensor"' in repr(x.__dlpack__(stream=None))
        before = numpy.asarray(x)[0]
        kept = numpy.from_dlpack(x, copy=True)
        x[0] = 5
        assert kept[0] == before
        with pytest.raises((BufferError, ValueError)):
            x.__dlpack__(dl_device=(2, 0))
        with pytest.raises((RuntimeError, ValueError)):
            x.__dlpack__(stream=3)


@versioned
def test_dlpack_of_what_is_read_only():
    x = lazyarr.arange(5.0)
    x.flags.writeable = False
    y = xp.asarray(x)
    assert not numpy.from_dlpack(y).flags.writeable
    assert "versioned" in repr(y.__dlpack__(max_version=(1, 0)))
    with pytest.raises(BufferError):
        y.__dlpack__()                      # the old capsule has no word for it
    a = numpy.arange(4.0)
    a.flags.writeable = False
    z = xp.from_dlpack(a)
    assert not z.flags.writeable
    with pytest.raises(ValueError):
        z[0] = 1
