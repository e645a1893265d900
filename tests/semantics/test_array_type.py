"""The array type stands for NumPy's: types, attributes, subclasses, copies, protocols."""

from __future__ import annotations

import copy
import hashlib
import io
import pickle

import numpy
import pytest

import lazyarr as np


@pytest.fixture(params=["small", "large"])
def a(request):
    n = 6 if request.param == "small" else 60_000
    return np.arange(float(n)).reshape(2, -1)


def test_isinstance_accepts_numpys_arrays(a):
    assert isinstance(a, np.ndarray)
    assert isinstance(numpy.ones(2), np.ndarray)
    assert issubclass(numpy.ndarray, np.ndarray)
    assert isinstance(np.add, np.ufunc) and isinstance(numpy.add, np.ufunc)
    assert not isinstance([1], np.ndarray)


def test_every_public_attribute_exists():
    a = np.ones(3) * 2
    theirs = {n for n in dir(numpy.ndarray) if not n.startswith("__") and hasattr(numpy.ones((2, 2)), n)}
    missing = theirs - set(dir(a))
    assert not missing


def test_unknown_attributes_are_refused(a):
    with pytest.raises(AttributeError):
        a.colour = 3
    with pytest.raises(AttributeError):
        a.colour  # noqa: B018
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_base_and_flags(a):
    view = a[1:]
    b = a + 1
    assert view.base is a or view.base is a.base
    assert b.base is None and b.T.base is b and b[1:][:, 1:].base is b
    assert b.flags.owndata and not b.T.flags.owndata
    assert b.flags["C_CONTIGUOUS"] and b.T.flags.f_contiguous
    b.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        b[0] = 1
    b.setflags(write=True)
    b[0] = 1


def frozen(np, x):
    x.flags.writeable = False
    return x


READ_ONLY = {
    "own memory": lambda np, n: frozen(np, np.arange(n)),
    "a view of it": lambda np, n: frozen(np, np.arange(n))[1:],
    "a view of a view of it": lambda np, n: frozen(np, np.arange(n)[1:])[1:],
    "a view of writeable memory": lambda np, n: frozen(np, np.arange(n)[1:]),
    "a result": lambda np, n: frozen(np, np.arange(n) + 1),
    "a view of a result": lambda np, n: frozen(np, np.arange(n) + 1)[1:],
    "bytes": lambda np, n: np.frombuffer(bytes(8 * n)),
    "a view of bytes": lambda np, n: np.frombuffer(bytes(8 * n))[1:],
    "a foreign array": lambda np, n: np.asarray(frozen(numpy, numpy.arange(n))),
    "foreign bytes": lambda np, n: np.asarray(numpy.frombuffer(bytes(8 * n))),
}


@pytest.mark.parametrize("size", [10, 60_000])
@pytest.mark.parametrize("name", READ_ONLY)
@pytest.mark.parametrize("how", ["attribute", "item", "method"])
def test_read_only_memory_is_made_writeable_where_numpy_does(name, size, how):
    def made(np):
        x = READ_ONLY[name](np, size)
        assert not x.flags.writeable
        try:
            if how == "attribute":
                x.flags.writeable = True
            elif how == "item":
                x.flags["W"] = True
            else:
                x.setflags(write=True)
        except ValueError as error:
            return str(error), x.flags.writeable
        return x.flags.writeable

    assert made(np) == made(numpy)


def test_flags_reach_what_was_exported(a):
    b = a + 0
    real = numpy.asarray(b)
    b.flags.writeable = False
    assert not real.flags.writeable
    b.setflags(write=True)
    assert real.flags.writeable


def test_asarray_of_an_array_is_that_array(a):
    real = numpy.asarray(a)
    assert np.asarray(real) is a
    assert numpy.asarray(a) is real
    assert np.asarray(a) is a
    assert np.array(a) is not a


def test_copies_are_independent(a):
    copies = copy.copy(a), copy.deepcopy(a), a.copy(), pickle.loads(pickle.dumps(a)), np.array(a)
    a[0, 0] = 99
    for other in copies:
        assert other[0, 0] == 0 and type(other) is np.ndarray


def test_bytes_and_buffers(a):
    real = numpy.array(a)
    b = a + 0
    assert bytes(b) == real.tobytes()
    assert hashlib.sha256(b).digest() == hashlib.sha256(real).digest()
    assert memoryview(b).shape == real.shape
    assert bytearray(b) == real.tobytes()
    out = io.BytesIO()
    out.write(b)
    assert out.getvalue() == real.tobytes()


def test_python_code_may_ask_for_the_interface(a):
    b = a + 1
    interface = b.__array_interface__
    assert interface["shape"] == a.shape
    b[0, 0] = 7
    assert numpy.asarray(b)[0, 0] == 7


def test_flat(a):
    b = a + 0
    b.flat[1:3] = -1
    assert b.flat[2] == -1 and b.flat.base is b
    assert type(b.flat[[0, 1]]) is np.ndarray
    assert sum(1 for _ in b.flat) == b.size
    b.flat = 3
    assert (b == 3).all()


def test_subclasses_are_numpys():
    class Tagged(np.ndarray):
        def __new__(cls, data, tag):
            self = np.asarray(data).view(cls)
            self.tag = tag
            return self

        def __array_finalize__(self, other):
            self.tag = getattr(other, "tag", None)

        def __array_ufunc__(self, fn, method, *inputs, **kwargs):
            inputs = [x.view(np.ndarray) if isinstance(x, Tagged) else x for x in inputs]
            return Tagged(super().__array_ufunc__(fn, method, *inputs, **kwargs), self.tag)

    x = Tagged([1.0, 2.0], "t")
    y = np.sqrt(x + 1)
    assert type(y) is Tagged and y.tag == "t" and isinstance(y, np.ndarray)
    assert issubclass(Tagged, np.ndarray) and issubclass(Tagged, numpy.ndarray)
    assert np.sum(x) == 3


def test_resize_keeps_what_fits():
    a = np.arange(4)
    a.resize(2, 3)
    assert a.tolist() == [[0, 1, 2], [3, 0, 0]]
    with pytest.raises(ValueError, match="own its data"):
        a[0].resize(9)


def test_objects_may_answer_array_with_lazy_ones():
    class Column:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0) + 1

    assert np.sqrt(Column()).shape == (3,)
    assert (np.arange(3) + Column()).tolist() == [1, 3, 5]
    assert np.asarray(Column()).tolist() == [1, 2, 3]


def test_arrays_of_other_dtypes():
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
    assert (dates[1] - dates[0]).astype(int) == 366
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", int), ("b", float)])
    records["b"] *= 2
    assert records["b"].tolist() == [5.0, 9.0] and (records["a"] + 1).tolist() == [2, 4]
    words = np.array(["a", "bc"])
    assert (words == "a").tolist() == [True, False]
    assert np.strings.upper(words).tolist() == ["A", "BC"]
    things = np.array([1, "x", None], dtype=object)
    assert (things == None).tolist() == [False, False, True]  # noqa: E711


def test_foreign_operands_take_part(a):
    assert type(numpy.ones(a.shape) + a) is np.ndarray
    assert type(numpy.float64(2) * a) is np.ndarray
    masked = np.ma.array([1, 2], mask=[0, 1]) + np.arange(2)
    assert masked.tolist() == [1, None]
