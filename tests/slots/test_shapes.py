"""Views and shapes of large arrays, asked of their geometry by machine code: NumPy's, without Python.

(Geometries lie where nobody has memory while tests run: who reads one does not get away with it.)
"""

from __future__ import annotations

import gc
import operator
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.slots.tables import SHAPES, SHAPING_METHODS
from tests.slots.operands import ONLY_HERE, both, python_calls

pytestmark = ONLY_HERE

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "reshape": ((50, -1),), "swapaxes": (0, 1), "moveaxis": (0, 1), "rollaxis": (1,), "expand_dims": (0,),
    "broadcast_to": ((2, 50, 100),),
}  # fmt: skip
KEYS: dict[str, Any] = {
    "rows": slice(50), "row": (slice(3, 4),), "column": (slice(50), slice(3, 4)), "odd": slice(0, 100, 2),
}  # fmt: skip


def names_of(rows: dict[int, str]) -> list[str]:
    return [name for names in rows.values() for name in names.split()]


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        f"x.{name}": lambda np, x, name=name: getattr(x, name)(*ARGUMENTS.get(name, ()))
        for name in names_of(SHAPING_METHODS)
        if name != "astype"                         # (which a test of types has)
    },
    **{
        f"np.{name}": lambda np, x, name=name: operator.attrgetter(name)(np)(x, *ARGUMENTS.get(name, ()))
        for name in names_of(SHAPES)
    },
}


def told(x: Any, whole: Any) -> Any:
    """All that there is to see of an answer."""
    if not hasattr(x, "flags"):
        return type(x), x
    flags = x.flags
    return (
        type(x) in (np.ndarray, numpy.ndarray), x.shape, x.strides, x.dtype, x.base is whole, flags.writeable,
        flags.owndata, flags.c_contiguous, flags.f_contiguous, numpy.asarray(x).tobytes(),
    )  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_they_run_no_python(name: str) -> None:
    x, real = both()
    part, expected = x[:50], real[:50]
    CALLS[name](np, part)  # the module finds its names
    found, calls = python_calls(CALLS[name], np, part)
    assert calls == 0 and told(found, x) == told(CALLS[name](numpy, expected), real)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", CALLS)
def test_they_are_numpys(name: str, key: str) -> None:
    def tried(np: Any, x: Any) -> Any:
        try:
            return told(CALLS[name](np, x[KEYS[key]]), x)
        except ValueError as error:
            return type(error), str(error)

    x, real = both()
    assert tried(np, x) == tried(numpy, real)


@pytest.mark.parametrize("name", CALLS)
def test_what_waits_goes_on_waiting(name: str) -> None:
    """Views are geometry; what is written through them is seen in the base."""
    x, real = both()
    later, expected = x + 1, real + 1
    found, view = CALLS[name](np, later[:50]), CALLS[name](numpy, expected[:50])
    assert not np.is_evaluated(later)
    if isinstance(found, np.ndarray) and view.flags.writeable:
        found[0], view[0] = 7, 7
    assert numpy.array_equal(numpy.asarray(later), expected)


WRONG = """
    x.reshape(7)  x.reshape((7,-1))  x.reshape(-1,-1)  x.reshape((50,'C'))  x.reshape(1<<70)
    x.reshape(())  x.reshape([50,-1])  x.reshape(50,None)  x.reshape('C')  x.reshape(-1,order='Q')
    x.reshape(-1,order='F')  x.reshape(-1,copy=3)  x.ravel(3)  x.ravel((1,))  x.ravel('Q')  x.ravel('F')
    x.ravel(None)  x.ravel('K')  x.swapaxes(0)  x.swapaxes(0,9)  x.swapaxes(0,'1')  x.transpose(0)
    x.transpose(1,1)  x.transpose((1,0))  x.transpose([1,0])  x.transpose(None)  x.squeeze(0)
    x.squeeze(axis=(0,1))  x.diagonal(9999)  x.diagonal(1<<70)  x.diagonal(0,1,1)  x.view('i4')  x.view(3)
    x.view((3,))  x.view(())  x.view(np.ndarray)  x.view(type=1)  np.asarray(x,(float,3))  np.asarray(x,3)
    np.asarray(x,'f4')  np.asarray(x,('f4',(2,)))  np.ascontiguousarray(x,'f4')  np.asanyarray(x,'f8','F')
    np.asanyarray(x,order='F')  np.flip(x,9)  np.flip(x[0,0])  np.flip(x[0,:1].reshape(()))
    np.asarray(x[0,:1].reshape(())).shape  np.size(x,9)  np.moveaxis(x,0,9)  np.expand_dims(x,5)
    np.broadcast_to(x,3)  np.broadcast_to(x,(2,-1))  np.atleast_1d(x,x)  np.atleast_2d(x,w)
    np.atleast_2d(w,x)  np.atleast_1d()  np.shape()  np.ndim(x,x)  np.reshape(x,-1,'F')  np.reshape(x,x)
    np.reshape(x,w)  np.reshape(x,shape=(50,-1))  np.ravel(x,order='F')  np.rot90(x,w)  np.transpose(x,w)
    np.linalg.diagonal(x[0])  np.diagonal(x[0])  x[:0].reshape(-1,3)  x[:0].ravel()
    x[:,:0].T.reshape(0,5)  x.T.ravel()[:9]  x.T.reshape(-1)[:9]  x[::2,::-1].ravel()[:9]  np.iterable(x)
    np.iterable(x[0,0])  np.iscomplexobj(x,x)  x.real.real  x.T.real  [*x[3]]  [*x[:,3]][:9]  [*x[3:1,3]]
    [*x[0,:1].reshape(())]  iter(x[0,0])  x[3].tolist()  x[:2].tolist()  x.tolist(3)  x[3].nonzero()
    x.nonzero(3)  np.nonzero(x[3:5])  np.outer(x[3],x[4])[:2]  np.outer(x[3],w,w)  np.outer(x[3],x[4],x)
    np.kron(x[3],x[:2,:2])[0]  np.outer(x[3],out=w)  np.cross(x[3],x[4])  np.append(x[3],x[4])
    np.take(x[3],[1,2],0,w[:2])  np.take(x[3],999)  np.unique(x[3],True)  np.histogram(x[3],x[4,:3])
    np.histogram(x[3],w)  x.item(3,4)  x.item(9999)  x.item((3,4))  x.item(x)  x.item()
"""


@pytest.mark.parametrize("wrong", WRONG.split())
def test_what_is_wrong_is_wrong_as_in_numpy(wrong: str) -> None:
    def outcome(np: Any, x: Any) -> Any:
        w = np.arange(2.0)
        try:
            found = eval(wrong, {"np": np, "x": x, "w": w})
        except Exception as error:
            return type(error), str(error)
        parts = found if isinstance(found, list | tuple) else [found]
        return type(found), [numpy.asarray(y).tobytes() if hasattr(y, "shape") else y for y in parts]

    x, real = both()
    found, expected = outcome(np, x), outcome(numpy, real)
    if expected[0] is numpy.ndarray:
        expected = np.ndarray, expected[1]
    assert found == expected


FILLS: list[Any] = [
    3, 2.5, True, numpy.float32(1.5), numpy.int64(-1), 300, float("nan"), 2j, "4", "x", None, [1],
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "u1", "c16"])
def test_fill(dtype: str) -> None:
    def outcome(x: Any, value: Any) -> Any:
        try:
            return x[3:5].fill(value)
        except Exception as error:
            return type(error), str(error)

    x, real = both(dtype)
    for value in FILLS:
        assert outcome(x, value) == outcome(real, value)
        assert numpy.array_equal(numpy.asarray(x[:9]), real[:9], equal_nan=dtype != "u1")
    later, before = x * 2, x[3, 0]
    for row in x, real:
        row[3].fill(1)
        for args in (), (1, 2):
            with pytest.raises(TypeError):
                row[3].fill(*args)
        with pytest.raises(TypeError):
            row[4].fill(value=7)
    assert numpy.array_equal(numpy.asarray(x[:9]), real[:9], equal_nan=dtype != "u1")
    assert numpy.array_equal(later[3, 0], before * 2, equal_nan=True)


def test_fill_runs_no_python() -> None:
    x, real = both()
    row = x[3]
    _, calls = python_calls(row.fill, 2)
    real[3].fill(2)
    assert calls == 0 and numpy.array_equal(numpy.asarray(x), real)


def test_sums_of_products() -> None:
    x, real = both()

    def products(np: Any, x: Any) -> Any:
        return np.einsum("i,i->", x[3], x[4]), np.einsum("i,j->ij", x[3, :5], x[4]), np.einsum("ij->i", x[:3])

    products(np, x)
    found, calls = python_calls(products, np, x)
    assert calls == 0
    for one, other in zip(found, products(numpy, real), strict=True):
        assert numpy.array_equal(numpy.asarray(one), other)
    view, expected = np.einsum("ii->i", x[:50, :50]), numpy.einsum("ii->i", real[:50, :50])
    view[...], expected[...] = 0, 0
    assert numpy.array_equal(numpy.asarray(x), real)
    assert np.einsum("ij,kl->ijkl", x[:20], x[:20]).shape == (20, 100, 20, 100)


def test_references() -> None:
    x, _ = both()
    value = x.storage.value
    held = [x, x.geo, x.geo.base, x.geo.dtype, x.storage, value, value.buf, value.buf.memory, None]

    def work() -> None:
        for call in CALLS.values():
            call(np, x[:50])
        for wrong in WRONG.split():
            with suppress(Exception):
                eval(wrong, {"np": np, "x": x, "w": x[3]})
        for _ in x[3]:
            break
        x[3][5] = 1.0
        x[3][5] = 2
        assert x.real is x

    for _ in range(40):                             # caches fill
        work()
    gc.collect()
    before = [sys.getrefcount(y) for y in held]
    for _ in range(30):
        work()
    gc.collect()
    after = [sys.getrefcount(y) for y in held]
    assert all(abs(a - b) < 20 for a, b in zip(after, before, strict=True)), (after, before)


STARVED = "x.reshape(-1) x.T x.real np.flip(x) x[3].fill(2) list(x[3]) x[3][1] x[:3].ravel()"


@pytest.mark.parametrize("call", STARVED.split())
def test_memory_runs_out(call: str) -> None:
    """At any allocation on the way: an exception, and nothing is kept."""
    interpreter = pytest.importorskip("_testcapi")
    x, _ = both()
    code, names, failed = compile(call, "call", "eval"), {"np": np, "x": x}, 0
    eval(code, names)  # the module finds its names
    count = sys.getrefcount(x)
    for number in range(40):
        try:
            interpreter.set_nomemory(number, number + 1)
            eval(code, names)
        except MemoryError:
            failed += 1
        finally:
            interpreter.remove_mem_hooks()
    gc.collect()
    assert failed and sys.getrefcount(x) == count


def test_iterating_sees_what_is_written() -> None:
    x, real = both()
    seen: list[list[Any]] = []
    for array in x, real:
        row, found = array[3], []
        for value in row:
            array[3, 50:] = value
            found.append(float(value))
        seen.append(found)
    assert seen[0] == seen[1] and numpy.array_equal(numpy.asarray(x), real)


def test_an_iterator_outlives_its_array() -> None:
    x, real = both()
    elements, calls = python_calls(iter, x[3])
    assert calls == 0
    x[...] = x + 1
    row = next(elements)
    del x
    gc.collect()
    junk = np.zeros(400_000) + 5
    np.evaluate(junk)
    assert row == real[3, 0] + 1 and [*elements] == [*(real[3, 1:] + 1)]


def test_elements_of_temporaries() -> None:
    x, real = both()

    def store(x: Any) -> None:
        x[3][5] = 2.5
        x[3:5][1, 2] = 7

    _, calls = python_calls(store, x)
    store(real)
    assert calls == 0 and numpy.array_equal(numpy.asarray(x), real)
    later = x * 2
    x[3][6] = 1  # which `later` does not see
    assert later[3, 6] == real[3, 6] * 2 and x[3, 6] == 1
    locked = x[4]
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        locked[...][1] = 3
    with pytest.raises(ValueError, match="read-only"):
        numpy.broadcast_to(real[3], (2, 100))[0][1] = 3
    with pytest.raises(ValueError, match="read-only"):
        np.broadcast_to(x[3], (2, 100))[0][1] = 3


def test_threads_change_what_is_asked() -> None:
    x, real = both()
    ended = False

    def change() -> None:
        while not ended:
            x.shape = (100, 4000)
            x.shape = real.shape
            x[...] = x

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3000):
            assert np.flip(x, 0).size == np.rot90(x).size == x.ravel().size == real.size
            assert len(np.shape(x)) == 2 and len([*x[0, :3]]) == 3
    finally:
        ended = True
        thread.join()
