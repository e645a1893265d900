"""The ledger by name: each attribute and method of NumPy's array evaluates nothing, or its array, once."""

from __future__ import annotations

import copy
import operator
import os
import pickle

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT, reset

ARITHMETIC = [
    "abs", "add", "divmod", "eq", "floordiv", "ge", "gt", "le", "lt", "mod", "mul", "ne", "neg", "pos", "pow",
    "sub", "truediv",
]  # fmt: skip
OF_INTEGERS = ["and", "invert", "lshift", "or", "rshift", "xor"]
UNARY = {"abs", "neg", "pos", "invert"}


def _operator(name, of_integers):
    """``x + x``, ``2.0 + x`` and ``x += x``, as far as there are such."""

    def call(x, k):
        x, other = (k, 3) if of_integers else (x, 2.0)
        if name in UNARY:
            getattr(x, f"__{name}__")()
            return
        for form, operand in (("", x), ("r", other), ("i", x)):
            method = getattr(x, f"__{form}{name}__", None)
            assert method is None or method(operand) is not NotImplemented

    return call


OPERATORS = {f"__{name}__": _operator(name, False) for name in ARITHMETIC}
OPERATORS |= {f"__{name}__": _operator(name, True) for name in OF_INTEGERS}

NOTHING = {
    # what it looks like
    "shape": lambda x, k: x.shape, "ndim": lambda x, k: x.ndim, "size": lambda x, k: x.size,
    "nbytes": lambda x, k: x.nbytes, "itemsize": lambda x, k: x.itemsize, "strides": lambda x, k: x.strides,
    "dtype": lambda x, k: x.dtype, "base": lambda x, k: (x.base, x[1:].base), "device": lambda x, k: x.device,
    "flags": lambda x, k: (x.flags.num, x.flags.owndata, x.flags["C"], str(x.flags), x.flags == x.flags),
    "to_device": lambda x, k: x.to_device("cpu"), "__len__": lambda x, k: len(x),
    "__array_priority__": lambda x, k: x.__array_priority__, "__sizeof__": lambda x, k: x.__sizeof__(),
    "__class_getitem__": lambda x, k: lazyarr.ndarray[int], "__hash__": lambda x, k: x.__hash__,
    "__array_namespace__": lambda x, k: x.__array_namespace__(),
    "__dlpack_device__": lambda x, k: x.__dlpack_device__(),
    # views, and changes of the array itself
    "T": lambda x, k: x.T, "mT": lambda x, k: x.mT, "real": lambda x, k: x.real, "imag": lambda x, k: x.imag,
    "transpose": lambda x, k: x.transpose(1, 0), "swapaxes": lambda x, k: x.swapaxes(0, 1),
    "ravel": lambda x, k: x.ravel(), "reshape": lambda x, k: (x.reshape(-1), x.T.reshape(-1)),
    "squeeze": lambda x, k: x.squeeze(), "diagonal": lambda x, k: x.diagonal(1),
    "view": lambda x, k: x.view("i8"), "flat": lambda x, k: x.flat,
    "setflags": lambda x, k: x.setflags(write=False),
    "__iter__": lambda x, k: list(x), "__getitem__": lambda x, k: (x[3], x[::2, 1:], x[..., None]),
    # results that wait
    "astype": lambda x, k: (x.astype("f4"), x.astype(x.dtype, copy=False)), "copy": lambda x, k: x.copy(),
    "flatten": lambda x, k: x.flatten(), "clip": lambda x, k: x.clip(0, 1), "round": lambda x, k: x.round(2),
    "conj": lambda x, k: x.conj(), "conjugate": lambda x, k: x.conjugate(),
    "repeat": lambda x, k: x.repeat(2, 0),
    "cumsum": lambda x, k: x.cumsum(0), "cumprod": lambda x, k: x.cumprod(1), "dot": lambda x, k: x.dot(x.T),
    "sum": lambda x, k: (x.sum(0), x.sum(keepdims=True)), "prod": lambda x, k: x.prod(0),
    "max": lambda x, k: x.max(1), "min": lambda x, k: x.min(0), "mean": lambda x, k: x.mean(1),
    "std": lambda x, k: x.std(0), "var": lambda x, k: x.var(1), "any": lambda x, k: x.any(0),
    "all": lambda x, k: x.all(1), "argmax": lambda x, k: x.argmax(0), "argmin": lambda x, k: x.argmin(1),
    "__copy__": lambda x, k: copy.copy(x), "__deepcopy__": lambda x, k: copy.deepcopy(x),
    "__array_ufunc__": lambda x, k: numpy.add(x, 1), "__array_function__": lambda x, k: numpy.mean(x, axis=0),
    "__matmul__": lambda x, k: x @ x.T, "__rmatmul__": lambda x, k: x.T.__rmatmul__(x),
    # writes that wait
    "fill": lambda x, k: x.fill(3.0), "__setitem__": lambda x, k: x.__setitem__(slice(0, 9), 1),
    **OPERATORS,
}  # fmt: skip

ONCE = {
    # elements and bytes
    "item": lambda x, k: x.item(3), "tolist": lambda x, k: x.tolist(), "tobytes": lambda x, k: x.tobytes(),
    "tofile": lambda x, k: x.tofile(os.devnull), "dump": lambda x, k: x.dump(os.devnull),
    "dumps": lambda x, k: x.dumps(), "data": lambda x, k: x.data, "ctypes": lambda x, k: x.ctypes.data,
    "__array_interface__": lambda x, k: x.__array_interface__, "__array__": lambda x, k: x.__array__(),
    "__array_struct__": lambda x, k: x.__array_struct__, "__dlpack__": lambda x, k: x.__dlpack__(),
    "__reduce__": lambda x, k: x.__reduce__(), "__reduce_ex__": lambda x, k: pickle.dumps(x),
    "__str__": lambda x, k: str(x), "__repr__": lambda x, k: repr(x), "__format__": lambda x, k: f"{x}",
    "__contains__": lambda x, k: 0.5 in x, "__float__": lambda x, k: float(x[0, 0]),
    "__int__": lambda x, k: int(x[0, 0]), "__bool__": lambda x, k: bool(x[0, 0]),
    "__complex__": lambda x, k: complex(x[0, 0]), "__index__": lambda x, k: operator.index(int(x[0, 0])),
    # lengths that depend on values
    "nonzero": lambda x, k: x.nonzero(), "compress": lambda x, k: x.compress(x[:, 0] > 1, axis=0),
    # positions; and what NumPy does
    "take": lambda x, k: x[:, 0].astype(int).take(x[0].astype(int)),
    "choose": lambda x, k: (x > 9).astype(int).choose([x, x]), "sort": lambda x, k: x.sort(),
    "argsort": lambda x, k: x.argsort(), "partition": lambda x, k: x.partition(3),
    "argpartition": lambda x, k: x.argpartition(3), "searchsorted": lambda x, k: x[0].searchsorted(0.5),
    "byteswap": lambda x, k: x.byteswap(), "getfield": lambda x, k: x.getfield("i4"),
    "setfield": lambda x, k: x.setfield(1, "i4"), "resize": lambda x, k: x.resize(300, 100, refcheck=False),
    "trace": lambda x, k: x.trace(),
}  # fmt: skip

POSITIONS = {"put": lambda x, k: x.put(k.ravel()[:9_999], 1)}
"""Where positions are looked through at the call, since NumPy refuses there what is out of bounds."""

OBJECTS = set(dir(object)) | {
    "__array_finalize__", "__array_wrap__", "__setstate__", "__delitem__", "_set_shape", "_set_dtype",
    "__buffer__",
}  # fmt: skip
"""What every Python object has; what takes other things than the array's values; what only some NumPys and
Pythons name (tests of the buffer protocol have a file of their own: test_buffers_lent.py)."""


@pytest.fixture(params=["always", "auto"])
def pending(request):
    """Arrays of two pending operations each: numbers, and integers."""
    with lazyarr.options(jit=request.param):
        a = lazyarr.array(numpy.random.default_rng(3).random((600, 200)))
        i = lazyarr.array(numpy.arange(120_000).reshape(600, 200) % 5)
        lazyarr.evaluate(a, i)
        yield a * 2 + 1, (i + 1) * 2


def test_every_name_has_a_line():
    names = set(dir(numpy.ndarray)) - OBJECTS
    forms = {f"__{form}{name[2:]}" for name in OPERATORS for form in ("r", "i")} | {"__imatmul__"}
    named = NOTHING.keys() | ONCE.keys() | POSITIONS.keys()
    assert not NOTHING.keys() & ONCE.keys()
    assert names - named - forms == set()


@pytest.mark.parametrize("name", NOTHING)
def test_nothing(name, pending):
    reset()
    NOTHING[name](*pending)
    assert COUNT.nodes_run == COUNT.native_launches == COUNT.bytes_allocated == 0
    assert not any(map(lazyarr.is_evaluated, pending))


@pytest.mark.parametrize("name", ONCE)
def test_once(name, pending):
    """The second time its two operations do not run again."""
    reset()
    ONCE[name](*pending)
    first = COUNT.nodes_run
    reset()
    ONCE[name](*pending)
    assert first - COUNT.nodes_run >= 2 and lazyarr.is_evaluated(pending[0])
    assert not lazyarr.is_evaluated(pending[1])


@pytest.mark.parametrize("name", POSITIONS)
def test_positions(name, pending):
    POSITIONS[name](*pending)
    assert [lazyarr.is_evaluated(x) for x in pending] == [False, True]
