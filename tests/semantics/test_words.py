"""What NumPy says, lazyarr says: results, types and errors of unusual or wrong calls, in NumPy's words."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy
import pytest

import lazyarr

UFUNCS = """
np.add(a, a, subok=3)
np.add(a, a, subok=False)
np.add(a, a, order="Q")
np.add(a, a, order="F").strides
np.add(a, a, signature="dd->d")
np.add(a, a, signature="dd->d", dtype="d")
np.add(i, i, signature=(np.float64, None, None))
np.add(a, a, a, out=a)
np.add(a, a, where=1, out=np.zeros(a.shape))
np.add(a, a, axis=0)
np.add(a, a, bogus=1)
np.vecdot(a, a, axes=[(0,), (0,), ()])
np.matmul(a[:6], a[:6].T, axes=[(-2, -1), (-2, -1), (-1, -2)])
np.divmod(i, 7, out=(None, i.copy()))
np.add.reduce(a, bogus=1)
np.add.reduce(a, axis=(0, 0))
np.add.reduce(a, 1, None, np.zeros(a.shape[0]), True)
np.maximum.reduce(a[:0], axis=0)
np.matmul.reduce(a)
np.add.accumulate(a, axis=None)
np.add.reduceat(a, [0, 2, 4], 1, "f4", None)
np.add.outer(a[:3], i[:4])
np.add.outer(a, a, a)
np.exp.outer(a, a)
np.matmul.outer(a, a)
np.add.at([1, 2], [0], 1)
np.add.resolve_dtypes((np.dtype("f4"), int, None))
(np.add.nin, np.add.nargs, np.add.types, np.add.identity, np.matmul.signature, np.exp.__name__)
(repr(np.add), np.add.__class__.__name__, type(np.add).__name__)
(isinstance(np.add, np.ufunc), isinstance(np.add, numpy.ufunc), isinstance(np.sum, numpy.ufunc))
setattr(np.add, "nin", 5)
setattr(np.add, "__name__", "x")
np.add.colour
sorted(n for n in dir(np.add) if n[0] != "_")
[str(inspect.signature(f)) for f in (np.add, np.add.reduce, np.add.at, np.matmul, np.add.outer)]
(copy.copy(np.add) is np.add, copy.deepcopy(np.add) is np.add, pickle.loads(pickle.dumps(np.add)) is np.add)
np.vectorize(np.add)(i[:3], 2)
np.frompyfunc(np.add, 2, 1)(i[:3], 2).tolist()
"""

ARRAYS = """
a.flags.num
(a.flags.num, a[1:].flags.num, a.T.flags.num, np.broadcast_to(a, (2, *a.shape)).flags.num)
isinstance(a.flat, np.flatiter)
(a.flat < 1, a.flat >= a[0, 0], a.flat == a.ravel(), a.flat != 0)
setattr(c, "imag", 5j) or c
setattr(c, "real", "3") or c
setattr(c, "imag", [[1.0]]) or c
setattr(c, "imag", a) or c
setattr(c, "real", 2) or c
setattr(a, "imag", 1)
setattr(a, "T", 3)
setattr(a, "ndim", 3)
setattr(a, "flags", 3)
delattr(a, "shape")
delattr(a, "flags")
delattr(a, "real")
delattr(a, "data")
a.fill([1, 2])
a.fill(np.array(2)) or a
a.fill("x")
a.__array_priority__
i.choose(choices=[i, i])
i.choose([i, i], bogus=1)
a.astype()
a.reshape(shape=(-1,))
a.repeat()
a.round(1, 2, 3, 4)
a.take()
a.argmax(bogus=1)
a.copy("C", "C")
a.cumsum(bogus=1)
np.reshape(a)
np.astype(a)
np.cumsum(a, bogus=1)
np.may_share_memory(a, a, bogus=1)
np.atleast_1d(a, bogus=1)
np.float
np.who
"""


def case(expression, np, jit):
    n = 60_000 if jit == "auto" else 60
    a = numpy.random.default_rng(0).random((n // 10, 10)) - 0.5
    with lazyarr.options(jit=jit):
        names = {"a": np.array(a) + 0, "c": np.array(a * 1j) + 0, "i": np.array(numpy.arange(n)) % 2}
        modules = {"np": np, "numpy": numpy, "inspect": inspect, "copy": copy, "pickle": pickle}
        try:
            return plain(eval(expression, names | modules))
        except Exception as error:
            return type(error), str(error).replace("'lazyarr'", "'numpy'")


def plain(x):
    if isinstance(x, tuple | list):
        return [plain(y) for y in x]
    if isinstance(x, lazyarr.ndarray):
        x = numpy.asarray(x)
        return x.dtype, x.shape, x.tobytes()
    return x


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("expression", (UFUNCS + ARRAYS).strip().replace("\n\n", "\n").split("\n"))
def test_expression(expression, jit):
    assert case(expression, lazyarr, jit) == case(expression, numpy, jit)


@pytest.mark.parametrize("n", [4, 60_000])
def test_converters_of_other_libraries_give_them_real_arrays(n):
    """A library gives its C code what NumPy's converters return; one of the program's names stays lazy."""
    a = lazyarr.arange(float(n)) * 2
    for convert in (numpy.asarray, numpy.atleast_1d, numpy.atleast_2d, numpy.atleast_3d, numpy.copy):
        assert type(convert(a)) is numpy.ndarray
        assert type(getattr(lazyarr, convert.__name__)(a)) is lazyarr.ndarray
    first, second = numpy.atleast_1d(a, 5.0)
    first[0] = 7
    assert a[0] == 7 and second.shape == (1,)
    numpy.copy(a)[0] = 8
    assert a[0] == 7


@pytest.mark.parametrize("n", [4, 60_000])
def test_to_numpy(n):
    a = lazyarr.arange(float(n)) + 1
    real = a.to_numpy()
    assert type(real) is numpy.ndarray and real.sum() == a.sum()
    real[0] = 9
    assert a[0] == 9
