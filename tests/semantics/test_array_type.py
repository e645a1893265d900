"""The array type stands for NumPy's: types, attributes, subclasses, copies, protocols."""

from __future__ import annotations

import copy
import ctypes
import gc
import hashlib
import inspect
import io
import pickle
import sys
import warnings
import weakref

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
    theirs = {n for n in dir(numpy.ndarray) if not n.startswith("_") and hasattr(numpy.ones((2, 2)), n)}
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


@pytest.mark.parametrize("n", [5, 100_000])
@pytest.mark.parametrize("ask", [lambda x: x.ctypes.data, lambda x: x.__array_interface__["data"][0]])
def test_an_address_is_good_while_the_array_lives(ask, n):
    x = np.array(numpy.arange(float(n))) + 0
    at = ask(x)
    memory = (ctypes.c_double * n).from_address(at)
    later = x * 2
    x[:] = 7
    assert memory[3] == 7
    memory[3] = 8
    x += 1
    assert memory[3] == x[3] == 9 and ask(x) == at
    x[1:][:] = 3
    assert memory[3] == 3 and later[3] == 6


def test_flat(a):
    b = a + 0
    b.flat[1:3] = -1
    assert b.flat[2] == -1 and b.flat.base is b
    assert type(b.flat[[0, 1]]) is np.ndarray
    large = np.ones(300_000) * 2
    assert large.flat[-1] == 2 == large.flat[5]
    beyond = [(b, 2**40), (b, 2**70), (b[:0], 1), (np.arange(3.0), 3), (large, 300_000), (large, -300_001)]
    for a, key in beyond:
        with pytest.raises((IndexError, OverflowError)) as ours:
            a.flat[key]
        with pytest.raises((IndexError, OverflowError)) as theirs:
            numpy.array(a).flat[key]
        assert repr(ours.value) == repr(theirs.value)
    assert sum(1 for _ in b.flat) == b.size
    b.flat = 3
    assert (b == 3).all()


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("text", [
    "a.flat[1:] = a[:-1]", "a.flat[:-1] = a[1:]", "a.flat[::-1] = a", "a.flat[:] = a[::-1]", "a.flat[:] = a",
    "a.flat[:500] = a[500:1000]", "a.flat[::2] = a[1::2]", "a[::2].flat[1:] = a[:49_999]",
    "a.flat[1:] = a[:-1] * 2",
])  # fmt: skip
def test_flat_goes_one_by_one(text, jit):
    results = []
    for module in (numpy, np):
        with np.options(jit=jit):
            scope = {"a": module.arange(100_000.0) * 1}
            exec(text, scope)
            results.append(numpy.array(scope["a"]).tolist())
    assert results[0] == results[1]


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


def test_metadata_stays_with_its_dtype():
    import lazyarr.dtypes

    plain, told = numpy.dtype("f8", copy=True), numpy.dtype("f8", metadata={"a": 1})
    assert [lazyarr.dtypes.char_of(d) for d in (plain, told, plain)] == ["d", None, "d"]


@pytest.mark.parametrize("make", [
    lambda np: np.ones(3), lambda np: np.ones(400_000) + 1, lambda np: np.add,
    lambda np: np.ones(400_000).flags, lambda np: np.ones(400_000).flat,
], ids=["small", "lazy", "ufunc", "flags", "flat"])
def test_the_interpreter_speaks_of_numpys_types(make):
    def told(module):
        x, words = make(module), []
        for call in (hash, len, float, lambda x: [0][x], lambda x: x.no_such, lambda x: x()):
            try:
                call(x)
            except Exception as error:
                words.append(str(error))
        return words

    assert told(np) == told(numpy)
    assert type(make(np)).__module__.startswith("lazyarr")


def test_base_is_what_owns_the_memory(tmp_path):
    n = 60_000
    raw = bytes(8 * n)
    assert np.frombuffer(raw).base is raw
    assert np.frombuffer(raw[:16]).base is not None
    mapped = np.memmap(tmp_path / "map", mode="w+", shape=n)
    assert np.asarray(mapped).base is mapped
    records = np.zeros(n, "i4,f8")
    assert records["f0"].base is records and records[["f0", "f1"]].base is records
    mine = numpy.ones(n)
    assert np.asarray(mine).base is None


def test_view_as_an_array(a):
    b = a + 1
    assert b.view(np.ndarray).base is b and b.view(type=np.ndarray).shape == b.shape
    assert b.view(np.int64, np.ndarray).dtype == np.int64


def test_strides_stay_in_memory(a):
    b = a + 1
    with warnings.catch_warnings(), pytest.raises(ValueError, match="not compatible"):
        warnings.simplefilter("ignore", DeprecationWarning)     # of any setting, since NumPy 2.4
        b.strides = (b.nbytes, 8)


def test_pickles_share_memory(a):
    b = a + 1
    buffers = []
    text = pickle.dumps(b, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1 and len(text) < 400
    assert (pickle.loads(text, buffers=buffers) == b).all()
    text = pickle.dumps(b[:, ::2], 5, buffer_callback=buffers.append)       # not contiguous: in band
    assert len(buffers) == 1 and (pickle.loads(text) == b[:, ::2]).all()
    assert pickle.loads(pickle.dumps(np.zeros(2, "S0"))).dtype == numpy.zeros(2, "S0").dtype


def test_pointers_keep_the_array(a):
    b = a + 1
    pointer = b.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    alive = weakref.ref(b)
    del b
    assert alive() is not None and pointer[0] == 1
    del pointer
    gc.collect()
    assert alive() is None


def test_sizes(a):
    b = a + 1
    assert sys.getsizeof(b) > b.nbytes > sys.getsizeof(b[...]) or b.nbytes < 100
    assert sys.getsizeof(b[...]) < sys.getsizeof(b)


def test_array_namespace(a):
    assert a.__array_namespace__() is np.array_api
    with pytest.raises(ValueError, match="not supported"):
        a.__array_namespace__(api_version="1.0")


@pytest.mark.parametrize("name", [
    "__array__", "__array_function__", "__array_ufunc__", "__complex__", "__copy__", "__dlpack__", "fill",
    "resize", "setflags", "sum", "view", "__array_finalize__",
])  # fmt: skip
def test_signatures_of_methods(name):
    assert told(getattr(numpy.ndarray, name)) == inspect.signature(getattr(np.ndarray, name))


@pytest.mark.parametrize("name", ["where", "dot", "copyto", "arange", "frombuffer", "sum", "concatenate"])
def test_signatures_of_functions(name):
    assert told(getattr(numpy, name)) == inspect.signature(getattr(np, name))


def told(fn):
    try:
        return inspect.signature(fn)
    except ValueError:
        pytest.skip("before 2.4 NumPy tells few signatures of functions in C")


def test_elements_of_flat_stay():
    with pytest.raises(TypeError, match="delete"):
        del np.arange(3).flat[1]


def test_objects_may_answer_array_with_lazy_ones():
    class Column:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0) + 1

    assert np.sqrt(Column()).shape == (3,)
    assert (np.arange(3) + Column()).tolist() == [1, 3, 5]
    assert np.asarray(Column()).tolist() == [1, 2, 3]


def test_functions_that_swallow_errors_take_such_objects():
    class Column:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    x = Column()
    assert np.array_equal(x, Column()) and np.array_equiv(x, [0, 1, 2])
    assert np.shape(x) == (3,) and np.ndim(x) == 1 and np.size(x) == 3 and not np.iscomplexobj(x)
    a = np.ones(3)
    assert a.dot(x) == 3 and a.clip(x, 5).tolist() == [1, 1, 2] and np.full_like(a, x).tolist() == [0, 1, 2]
    assert np.linspace(x, a, 2).tolist() == [[0, 1, 2], [1, 1, 1]]


@pytest.mark.parametrize("call", [numpy.float16, numpy.float64, lambda x: numpy.array(x, "i4")])
def test_what_numpy_copies_lies_in_the_order_of_strides(call):
    ours, real = [call(xp.arange(6.0).reshape(2, 3).T) for xp in (np, numpy)]
    assert ours.strides == real.strides and ours.tolist() == real.tolist()


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


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (1000, 700)])
def test_means_of_halves_are_our_arrays(shape, keepdims):
    real = numpy.random.default_rng(1).uniform(-4, 4, shape).astype("e")
    for x, expected in ((np.array(real), real), (np.array(real) * 2, real * 2)):
        for axis in (0, 1):
            found, mean = x.mean(axis, keepdims=keepdims), expected.mean(axis, keepdims=keepdims)
            assert type(found) is np.ndarray
            assert found.dtype == mean.dtype and found.tobytes() == mean.tobytes()
            assert type(np.mean(x, axis=axis)) is np.ndarray
    out = numpy.zeros(shape[1], "e")
    assert np.array(real).mean(0, out=out) is out
    assert out.tobytes() == real.mean(0, out=out.copy()).tobytes()
