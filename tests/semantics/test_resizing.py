"""`resize`: what NumPy keeps, refuses and says, and how it counts references."""

from __future__ import annotations

import weakref

import numpy
import pytest

import lazyarr as np


@pytest.fixture(params=["small", "large"])
def a(request):
    n = 6 if request.param == "small" else 60_000
    return np.arange(float(n)).reshape(2, -1)


def test_resize_keeps_what_fits():
    a = np.arange(4)
    a.resize(2, 3)
    assert a.tolist() == [[0, 1, 2], [3, 0, 0]]
    with pytest.raises(ValueError, match="own its data"):
        a[0].resize(9)
    view = a[...]
    view.resize(3, 2)                           # as many elements: the shape alone
    assert view.shape == (3, 2) and a.shape == (2, 3)
    words = np.zeros(3, [("x", "S0")])["x"]
    words.resize(5)
    words.resize(2, 4)
    assert words.shape == (2, 4) and words.dtype == numpy.dtype("S0")


@pytest.mark.parametrize("refer", [weakref.ref, lambda x: x, lambda x: x[1:]])
def test_resize_refuses_what_others_see(a, refer):
    b = a.ravel() + 1
    other = refer(b)
    with pytest.raises(ValueError, match="referenced"):
        b.resize(3)
    del other
    b.resize(3)
    assert b.tolist() == [1, 2, 3]
    for error, bad in ((ValueError, -1), (TypeError, "no")):
        with pytest.raises(error):
            b.resize(bad)


def test_resize_called_in_any_way_counts_one_name(a):
    b = a.ravel() + 1
    shape = (2, b.size)
    b.resize(*shape)
    b.resize(*shape[:1], refcheck=True)
    np.ndarray.resize(b, (3, 4))
    assert b.shape == (3, 4) and b.resize.__name__ == "resize"
    assert b.resize.__doc__ == numpy.ndarray.resize.__doc__
    assert b.resize == b.resize != (b + 1).resize and hash(b.resize) == hash(b.resize)


def test_resize_keeps_what_is_known_of_the_array(a):
    b = a.ravel() + 1
    b.flags.writeable = False
    b.resize(np.array([2, 2]), refcheck=False)
    with pytest.raises(ValueError, match="read-only"):
        b[0] = 5


def _transposed(x):
    view = x.reshape(2, -1).T
    view.resize(x.size)                         # one segment of memory, in its order
    return view


@pytest.mark.parametrize("call", [
    lambda np, x: x.resize(-1), lambda np, x: x.resize("a"), lambda np, x: x.resize(2, None),
    lambda np, x: x.resize(3, refcheck=None), lambda np, x: x.resize(3, foo=1),
    lambda np, x: x[::2].resize(4), lambda np, x: x[1:].resize(3), lambda np, x: [x, x.resize(3)],
    lambda np, x: x.resize(order=1), lambda np, x: x.resize(refcheck="hi"),
    lambda np, x: x.resize(), lambda np, x: x.resize(None), lambda np, x: _transposed(x),
    lambda np, x: np.ndarray.resize(3, 3), lambda np, x: np.ndarray.resize(),
])
def test_resize_answers_as_numpy(call, a):
    def told(module, x):
        try:
            return numpy.asarray(call(module, x)).tolist(), x.shape
        except Exception as error:
            return type(error), str(error)

    x = numpy.arange(float(a.size))
    assert told(np, np.arange(float(a.size))) == told(numpy, x)
