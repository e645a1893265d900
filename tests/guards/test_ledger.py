"""The ledger of laziness: what computes nothing, what computes once, and what is never computed at all."""

from __future__ import annotations

import copy
import pickle

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain

WORK = ("nodes_run", "native_launches", "numpy_fallbacks", "numpy_eager", "bytes_allocated")

FREE = {
    "shape": lambda np, x: (x.shape, x.ndim, x.size, len(x)),
    "dtype": lambda np, x: (x.dtype, x.itemsize, x.nbytes, x.strides),
    "flags": lambda np, x: (x.flags.c_contiguous, x.flags["WRITEABLE"], str(x.flags)),
    "base": lambda np, x: x.base,
    "type": lambda np, x: isinstance(x, np.ndarray),
    "functions of the shape": lambda np, x: (np.shape(x), np.ndim(x), np.size(x), np.result_type(x, 1.0)),
    "is_evaluated": lambda np, x: np.is_evaluated(x),
    "explain": lambda np, x: explain(x),
    "transposes": lambda np, x: (x.T, x.mT, x.swapaxes(0, 1), np.moveaxis(x, 0, 1), np.transpose(x)),
    "reshapes": lambda np, x: (x.reshape(-1), x.ravel(), x.reshape(200, 600), x.squeeze(), x[None]),
    "slices": lambda np, x: (x[1:, ::2], x[::-1], x[5], x[..., 3], x.diagonal(), np.split(x, 3)),
    "parts": lambda np, x: (x.real, x.imag, x.view("i8")),
    "broadcasts": lambda np, x: np.broadcast_to(x, (3, 600, 200)),
    "iterator": lambda np, x: [row for row in x],  # noqa: C416
    "asarray": lambda np, x: (np.asarray(x), np.asanyarray(x), np.ascontiguousarray(x)),
    "arithmetic": lambda np, x: (x + 1, -x, x > 0, np.exp(x), np.where(x > 0, x, 0), np.clip(x, 0, 1)),
    "casts and copies": lambda np, x: (x.astype("f4"), x.copy(), copy.copy(x), x.flatten()),
    "reductions along an axis": lambda np, x: (x.sum(0), x.mean(1), x.std(0), np.argmax(x, 1), x.any(0)),
    "makers": lambda np, x: (np.zeros_like(x), np.full(x.shape, 7), np.ones(x.shape)),
    "writes": lambda np, x: (x.__setitem__(0, 5), x.__iadd__(1), np.add(x, 1, out=x)),
    "building and dropping": lambda np, x: [x * k for k in range(20)] and None,
}

ONCE = {
    "element": lambda np, x: x[7, 3],
    "float": lambda np, x: float(x[0, 0]),
    "bool": lambda np, x: bool(x[0, 0]),
    "format": lambda np, x: f"{x[0, 0]:.3f}",
    "str": lambda np, x: str(x),
    "repr": lambda np, x: repr(x),
    "item": lambda np, x: x.item(5),
    "tolist": lambda np, x: x.tolist(),
    "tobytes": lambda np, x: x.tobytes(),
    "numpy.asarray": lambda np, x: numpy.asarray(x),
    "memoryview": lambda np, x: memoryview(x),
    "pickle": lambda np, x: pickle.dumps(x),
    "evaluate": lambda np, x: np.evaluate(x),
}


@pytest.fixture(params=["always", "auto"])
def x(request):
    """A pending array of two operations."""
    with lazyarr.options(jit=request.param):
        a = lazyarr.array(numpy.random.default_rng(3).random((600, 200)))
        lazyarr.evaluate(a)
        yield a * 2 + 1


def work(call, x):
    """What a call made the engine do."""
    reset()
    call(lazyarr, x)
    return {name: getattr(COUNT, name) for name in WORK if getattr(COUNT, name)}


@pytest.mark.parametrize("name", FREE)
def test_free(x, name):
    assert work(FREE[name], x) == {}
    assert not lazyarr.is_evaluated(x)


@pytest.mark.parametrize("name", ONCE)
def test_once(x, name):
    first = work(ONCE[name], x)
    assert first["nodes_run"] == 2 and lazyarr.is_evaluated(x)
    assert work(ONCE[name], x) == {}


@pytest.mark.parametrize("name", ["sum", "max", "mean", "any"])
def test_scalars_compute_what_they_need(x, name):
    """The second time only the reduction, since x has a name and is kept."""
    first = work(lambda np, x: getattr(x, name)(), x)
    second = work(lambda np, x: getattr(x, name)(), x)
    assert first["nodes_run"] == 3
    assert second.get("nodes_run", 0) + second.get("numpy_eager", 0) == 1


def test_large_arrays_take_no_memory_until_they_are_computed():
    reset()
    x = lazyarr.zeros((1 << 15, 1 << 14)) + 1          # 4 GiB
    assert x.shape == x.T.shape[::-1] and x[::2].nbytes == 1 << 31 and x.reshape(-1).size == 1 << 29
    assert COUNT.bytes_allocated == COUNT.nodes_run == 0


def test_a_view_computes_the_whole_only_once(x):
    rows = [x[k] for k in range(4)]
    assert work(lambda np, x: [float(r[0]) for r in rows], x)["nodes_run"] == 2


def test_names_do_not_compute(x):
    y = x
    z = [x, y]
    assert z[0] is z[1] and not lazyarr.is_evaluated(y)
