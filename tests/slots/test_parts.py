"""Small parts of large arrays: read and written by machine code, and in program order."""

from __future__ import annotations

import operator
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.counters import COUNT
from lazyarr.elementwise import FOLD
from lazyarr.habits import HABITS
from lazyarr.slots.tables import LARGEST, READING, READING_METHODS
from tests.slots.operands import ONLY_HERE, SHAPE, W, all_that_shows, both, lazy, python_calls, same
from tests.slots.part_programs import difference
from tests.slots.test_calls import named

pytestmark = ONLY_HERE

V = W[:5].copy()
SQUARE = (slice(7, 57), slice(0, 100, 2))
"""A part of 50 rows and columns."""

READS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "row * array": lambda np, m, w: m[3] * w,
    "array - row": lambda np, m, w: w - m[3],
    "scalar / row": lambda np, m, w: 2 / (m[3] + 1),
    "NumPy's scalar * row": lambda np, m, w: numpy.float32(2) * m[3],
    "row + column": lambda np, m, w: m[3] + m[:100, 4],
    "row @ array": lambda np, m, w: m[3] @ w,
    "square @ array": lambda np, m, w: m[:8, :8] @ w[:8],
    "row @ all": lambda np, m, w: m[3] @ m[:100],
    "all @ array": lambda np, m, w: m @ w,
    "all @ column": lambda np, m, w: m @ m[:100, :1],
    "column * row": lambda np, m, w: m[:600, 5:6] * m[3, :80],
    "columns - rows": lambda np, m, w: w - m[:300, :1],
    "comparison": lambda np, m, w: m[3] < m[4, ::-1],
    "equality": lambda np, m, w: m[3] == 4,
    "power": lambda np, m, w: m[3] ** 2,
    "negative": lambda np, m, w: -m[3, 5:8],
    "abs": lambda np, m, w: abs(m[3]),
    "ufunc": lambda np, m, w: np.sqrt(m[3]),
    "ufunc of two": lambda np, m, w: np.maximum(m[3], w),
    "ufunc of a scalar": lambda np, m, w: np.add(2, m[3]),
    "element of a row": lambda np, m, w: m[3][4],
    "elements": lambda np, m, w: m[3][np.argsort(w)],
    "ufunc of an element": lambda np, m, w: np.tan(m[3, 4]),
    "ufunc of scalars": lambda np, m, w: np.hypot(2.5, m[3, 4]),
    "elements by a mask": lambda np, m, w: m[3][w > 2],
    "joined": lambda np, m, w: np.concatenate((m[3], w, m[:5, 3])),
    "stacked": lambda np, m, w: np.stack([m[3], m[4]], 1),
    "copied": lambda np, m, w: np.array(m[3]),
}


@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "f4", "?"])
@pytest.mark.parametrize("name", READS)
def test_reads_run_no_python(name: str, dtype: str) -> None:
    x, real = both(dtype)
    read = READS[name]
    with suppress(TypeError), numpy.errstate(all="ignore"):
        expected = read(numpy, real, W)
        read(np, x, lazy(W))                        # the module finds its names
        found, calls = python_calls(read, np, x, lazy(W))
        assert calls == 0 and same(found, expected)
    assert same(x[...] + 0, real + 0)


METHODS: dict[str, tuple[Any, ...]] = {
    "item": (3, 4), "take": (2,), "dot": (W[:50],), "searchsorted": (3,), "argpartition": (3,),
    "astype": ("f4",),
    "clip": (1, 4), "round": (1,), "reshape": (2500,), "repeat": (2, 1), "compress": (W[:50] > 2,),
}  # fmt: skip
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "clip": (1, 4), "dot": (W[:50],), "inner": (W[:50],), "vdot": (numpy.ones((50, 50)),),
    "searchsorted": (3,), "allclose": (W[:50],),
    "array_equal": (numpy.ones((50, 50)),), "linalg.solve": (W[:50],),
    "bincount": (W,), "digitize": (numpy.arange(9.0),), "convolve": (W[:3],), "correlate": (W[:3],),
    "interp": (numpy.arange(9.0), V.repeat(2)[:9]),
    "where": (W[:50], 2.5), "roll": (2,), "tile": (2,), "pad": (1,), "full_like": (3,),
    "reshape": ((2500,),), "take": (2,), "outer": (W[:3],), "kron": (W[:3],), "linalg.outer": (W[:3],),
    "append": (W[:3],), "delete": (2,), "insert": (2, 3.5), "cross": (W[:3],), "isclose": (W[:50],),
    "isin": (W[:50],), "einsum": ([0, 1], [0]), "repeat": (2,), "partition": (3,), "argpartition": (3,),
    "percentile": (40,), "quantile": (0.4,), "compress": (W,), "extract": (W,), "cov": (W[:50],),
    "corrcoef": (W[:50],), "polyfit": (W, 1), "polyval": (W[:5],),
}  # fmt: skip


ALONG_ONE_AXIS = [
    "searchsorted", "bincount", "convolve", "correlate", "linalg.outer", "compress", "extract", "polyfit",
    "polyval", "diag",
]  # fmt: skip
_COPY = operator.methodcaller("copy")
LOOKS = {"empty_like": numpy.shape, **dict.fromkeys(("asarray", "asanyarray", "conj", "conjugate"), _COPY)}
"""What is to be the same, of those that give any elements; or that give the part itself, which a test that
takes its memory would share."""
FOLDS = [name for name, n in LARGEST.items() if n <= FOLD and name not in (*ALONG_ONE_AXIS, "reduce")]


OTHERS = {"cross": (3, slice(3)), "reshape": (slice(50), slice(1, 51))}
"""Parts in space, and such that no view has another shape."""


def part_of(x: Any, name: str) -> Any:
    return x[3 if name in ALONG_ONE_AXIS else OTHERS.get(name, SQUARE)]


def method_s(x: Any, name: str) -> Any:
    return x[SQUARE] if name == "compress" else part_of(x, name)


@pytest.mark.parametrize("name", " ".join(READING_METHODS.values()).split())
def test_methods_only_read(name: str) -> None:
    x, real = both()
    args = METHODS.get(name, ())
    later = x + 1
    with numpy.errstate(all="ignore"):
        found, calls = python_calls(getattr(method_s(x, name), name), *lazy(args))
        look = LOOKS.get(name, lambda x: x)
        assert calls == 0 and same(look(found), look(getattr(method_s(real, name), name)(*args)))
    assert not np.is_evaluated(later)
    untouched(x, real, later)


@pytest.mark.parametrize("name", " ".join(READING.values()).split())
def test_functions_only_read(name: str) -> None:
    HABITS.clear()                                  # else that line is found to gain nothing by waiting
    x, real = both("i8" if name == "bincount" else "f8")
    args = FUNCTIONS.get(name, ())
    later = x + 1
    with numpy.errstate(all="ignore"):
        found, calls = python_calls(named(np, name), part_of(x, name), *lazy(args))
        look = LOOKS.get(name, lambda x: x)
        assert same(look(found), look(named(numpy, name)(part_of(real, name), *args)))
    assert calls == 0 and not np.is_evaluated(later)
    untouched(x, real, later)


def untouched(x: Any, real: numpy.ndarray, later: Any) -> None:
    assert same(x[3] + 0, real[3]) and same(x[:60].copy(), real[:60]) and same(later[:60] + 0, real[:60] + 1)


@pytest.mark.parametrize("name", sorted(FOLDS))
def test_folds_of_all_elements(name: str) -> None:
    x, real = both("i8")
    most = LARGEST[name] * np.get_options()["eager_elements"] // SHAPE[1]
    for part in numpy.s_[:most], numpy.s_[: -most - 1 : -1], numpy.s_[1:most, 1:]:
        array, expected = x[part], real[part]
        for given in {}, {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}:
            found, calls = python_calls(named(np, name), array, **given)
            assert calls == 0 and same(found, named(numpy, name)(expected, **given))
            if hasattr(array, name):
                found, calls = python_calls(getattr(array, name), **given)
                assert calls == 0 and same(found, getattr(expected, name)(**given))
    later = x * 2
    assert same(named(np, name)(later), named(numpy, name)(real * 2))
    assert same(named(np, name)(x, axis=0), named(numpy, name)(real, axis=0))


WHOLE: dict[str, tuple[Any, ...]] = {
    "dot": (W,), "inner": (W,), "sort": (), "argsort": (), "trace": (),
    "digitize": (numpy.arange(9.0),), "interp": (numpy.arange(9.0), V.repeat(2)[:9]),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_always_numpys_needs_no_python(name: str) -> None:
    """Of arrays of any size that exist; what is still to be computed waits for Python."""
    x, real = both()
    args = WHOLE[name]
    later = x + 1
    fallbacks = COUNT.numpy_fallbacks
    found, calls = python_calls(named(np, name), x, *lazy(args))
    assert same(found, named(numpy, name)(real, *args)) and not np.is_evaluated(later)
    assert COUNT.numpy_fallbacks == fallbacks and (found.nbytes > 1 << 18 or not calls)
    assert same(named(np, name)(x * 2, *lazy(args)), named(numpy, name)(real * 2, *args))
    x[:] = 7
    assert same(later, real + 1)


def test_large_products_and_their_errors_are_numpys() -> None:
    x, real = both()
    y = lazy(real[:100])
    later = x + 1
    built = COUNT.nodes_built
    found = x @ y
    assert COUNT.nodes_built == built and same(found, real @ real[:100])
    assert not np.is_evaluated(found * 2)           # it is as large as what waits
    small, pair = found[:3] @ y, numpy.array([[1, "a"], [2, "b"]], object)
    assert same(small, (real @ real[:100])[:3] @ real[:100])
    with pytest.raises(TypeError):
        lazy(pair) @ lazy(pair)
    for refused in x, later, 3:
        with pytest.raises(ValueError, match="matmul"):
            x @ refused
    assert not np.is_evaluated(x * 2 @ y)


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_products_in_a_temporary_s_memory(dtype: str) -> None:
    """NumPy swaps the operands of a complex product, where the second one is a large temporary."""
    random = numpy.random.default_rng(4)
    n = (1 << 18) // numpy.dtype(dtype).itemsize
    real = (random.normal(size=(2, n)) + 1j * random.normal(size=(2, n))).astype(dtype)
    a, b = lazy(real[0, :1].reshape(())), lazy(real[1])
    assert numpy.asarray(a * (-b)).tobytes() == (real[0, :1].reshape(()) * (-real[1])).tobytes()
    assert numpy.asarray((-b) * a).tobytes() == ((-real[1]) * real[0, :1].reshape(())).tobytes()


def test_operands_whose_result_is_large_wait() -> None:
    x, real = both()
    column, row = lazy(real[:1000, :1]), lazy(real[:1, :])
    assert np.is_evaluated(column[:600] * row) and not np.is_evaluated(column * row)
    assert same(column * row, real[:1000, :1] * real[:1, :])
    for a, b in (column, row[:, :0]), (column[:, :, None], row), (column[:7], row[0, :6]):
        assert same(a + b, numpy.asarray(a) + numpy.asarray(b))
    with pytest.raises(ValueError, match="broadcast"):
        column + x[:999, :50]
    for parts in (x[:90, :1], x[3]), (x[:1000, :1], x[3]), (x[3], x[:1000, :1]), (x[:1000, :1], 0.0):
        for where in (parts[0] > 3, *parts), (*parts, True), (2.0, *parts):
            chosen = np.where(*where)
            assert np.is_evaluated(chosen) == (chosen.size <= 9000)
            assert same(chosen, numpy.where(*map(numpy.asarray, where)))


def test_large_results_of_folds_are_arrays_like_others() -> None:
    x = np.array(numpy.arange(400_000.0)).reshape(4, 100_000) * 1
    np.evaluate(x)
    real = numpy.arange(400_000.0).reshape(4, 100_000)
    built = COUNT.nodes_built
    found = x.sum(axis=0)
    assert COUNT.nodes_built == built and same(found, real.sum(axis=0))
    later = found * 2
    assert not np.is_evaluated(later) and same(later, real.sum(axis=0) * 2)


WRITES = """
    np.concatenate((w[:50],w[50:]),out=p)  np.concatenate((w[:50],w[50:]),0,p)  np.stack([w[:50]],out=s[:1])
    p[:]=w  p[2:5]=7  p+=w  p*=3  p.sort()  p.fill(3)  p.put([0,1],9)  p.partition(3)  p.byteswap(True)
    p.byteswap(inplace=True)  p.setfield(2,'i1')  p.flat[3]=4  p.flat=8  p.itemset(3,4)  p.clip(2,5,p)
    p.clip(2,5,out=p)  p.round(1,p)  p.cumsum(out=p)  p.cumsum(0,None,p)  p.sum(out=p[:1].reshape(()))
    p.argmax(out=k[:1].reshape(()))  s.dot(w[:50],p[:50])  s.dot(out=p[:50],b=w[:50])
    s.dot(w[:50],out=p[:50])  p.take([1,2],out=p[:2])  p.take([1,2],None,p[:2])  p.repeat(2).sort()
    p.real.fill(2)  p.view('u8').fill(2)  p.choose([w,w],p,'clip')  p.compress([1,0],None,p[:1])
    s.diagonal().sum(out=p[:1].reshape(()))  s.T.sort()  np.copyto(p,w)  np.copyto(p,2,where=w>1)
    np.put(p,[1,2],4)  np.place(p,w>1,[7])  np.putmask(p,w>1,9)  np.fill_diagonal(s,3)
    np.random.default_rng(1).shuffle(p)  np.add.at(p,[1,1],2)  np.negative.at(p,1)  np.add(p,w,p)
    np.add(p,w,out=p)  np.sqrt(p,p)  np.sqrt(p,out=p)  np.multiply(p,w,where=w>1,out=p)
    np.add.reduce(s,0,None,p[:50])  np.add.accumulate(p,out=p)  np.sum(s,0,None,p[:50])
    np.sum(s,0,out=p[:50])  np.cumsum(p,out=p)  np.clip(p,1,3,p)  np.clip(p,1,3,out=p)  np.round(p,1,p)
    np.dot(s,w[:50],p[:50])  np.dot(s,w[:50],out=p[:50])  np.matmul(s,w[:50],out=p[:50])
    np.nan_to_num(p,False)  np.nan_to_num(p,copy=False)  np.median(p,overwrite_input=True)
    np.percentile(p,3,overwrite_input=True)  np.take(p,[1],out=p[:1])
    np.put_along_axis(p,np.array([2]),5,0)  np.mean(s,0,None,p[:50])  np.std(s,0,out=p[:50])
    np.outer(w[:50],w[:50],s)  np.linalg.norm(p,out=p) np.max(s,0,p[:50])  np.any(s,0,p[:50])
    np.diff(p).sort()  np.maximum(p,w,p)  np.lib.stride_tricks.as_strided(p)[...].fill(2)
    np.asarray(p).sort()  np.asarray(p)[1]=2  np.ravel(p).sort()  p.ravel().fill(4)  p.reshape(10,10)[:]=3
    p[None].fill(2)  p.squeeze()[1]=4  np.ndarray.sort(p)  np.ndarray.fill(p,2)
    np.ndarray.dot(s,w[:50],p[:50])  memoryview(p).cast('B')[0]=3  p.__setitem__(2,5)  p.__iadd__(1)
    operator.iadd(p,w)  p.resize(100)  p.setflags(write=True)
"""


@pytest.mark.parametrize("statement",
    [w for line in WRITES.splitlines() for w in line.strip().split("  ") if w])
@pytest.mark.parametrize("held", [False, True])
def test_writes_come_after_what_reads_the_old_value(statement: str, held: bool) -> None:
    """Among them all that writes, whatever its name and however it gets its operand."""
    seen = []
    for module in (numpy, np):
        x, real = both()
        array = real.copy() if module is numpy else x
        later = array + 1
        views = {"p": array[3], "s": array[SQUARE]}
        names = {"np": module, "operator": operator, "m": array, "w": module.array(W),
            "k": module.arange(5), **views}
        text = statement
        if not held:                                # the part ends with the statement
            names.update(p=None, s=None)
            text = text.replace("(p", "(m[3]").replace(",p", ",m[3]").replace("=p", "=m[3]").replace("(s",
                "(m[S]")
            text = "m[3]" + text[1:] if text[:2] in ("p.", "p[", "p+", "p*") else text
            text = "m[S]" + text[1:] if text[:2] == "s." else text
            names["S"] = SQUARE
        try:
            with numpy.errstate(all="ignore"):
                exec(text, names)
            error = None
        except Exception as raised:
            error = type(raised)
        assert numpy.array_equal(later[:100], real[:100] + 1)
        seen.append((error, numpy.array(array[:100]).tobytes()))
    assert seen[0] == seen[1]


STORES: dict[str, str] = {
    "row = scalar": "m[3] = 2", "row = array": "m[3] = w", "row = row": "m[3] = m[4]",
    "reversed": "m[3] = m[3, ::-1]",
    "slice": "m[3, 4:9] = v", "rows": "m[3:5] = w", "column": "m[:5, 3] = v", "row += array": "m[3] += w",
    "row -= scalar": "m[3] -= 2", "column *= row": "m[:50, 3] *= m[9, :50]", "plain = row": "w[:] = m[3]",
    "plain += row": "w += m[3]", "long": "m[3:33] = w", "long in place": "m[3:33] += 1",
}  # fmt: skip


@pytest.mark.parametrize("name", STORES)
def test_writes_run_no_python(name: str) -> None:
    x, real = both()
    address = x.storage.value.buf.address
    ours = {"m": x, "w": lazy(W), "v": lazy(V)}
    theirs = {"m": real, "w": W.copy(), "v": V.copy()}
    code = compile(STORES[name], "", "exec")
    _, calls = python_calls(exec, code, ours)
    exec(code, theirs)
    assert calls == 0 and same(x[:100].copy(), real[:100]) and same(ours["w"], theirs["w"])
    later = x * 2                                   # a reader: from now on not at once
    exec(code, ours)
    before = real.copy()
    exec(code, theirs)
    assert same(later[:100] + 0, before[:100] * 2) and same(x[:100].copy(), real[:100])
    del later
    exec(code, ours)                                # Python takes it off the list of readers
    _, calls = python_calls(exec, code, ours)
    assert calls == 0 and np.is_evaluated(x)
    assert x.storage.value.buf.address == address or "plain" not in name


def test_casts_and_errors_are_numpys() -> None:
    programs = """
        m[3] = 1j; m[3] = w * 1j; m[3] += 1j; m[3] = w[:7]; m[3] += w[:7]; m[5000] = 1; m[3, 200] = 1;
        m[3] = 'a'; m[3] = None; m[3] = float('nan'); m[3, :2] = 10**30; m[3] /= 0; m[3] @ w[:7];
        m[3] * w[:7]; m[3].sum(7); m[3].dot(w[:7]); m[3].item(1000); np.sum(m[3], 4);
        np.dot(m[3], w[:7]); m[3].take(1000); m[3].astype('nothing'); m[3] << 2.5; m[3] += 2.5;
        m[3] -= True; m[3] //= 0; m[3] **= -1; m[3] = 1e30; m[3].sum(what=1); m['a'] = 1;
        m[3] = object()
    """
    for dtype in "f8", "i8", "f2", "c8", "?", "u1":
        for text in programs.replace(";\n", ";").split(";"):
            seen = [
                all_that_shows(text, {"np": module, "m": array, "w": w}, array)
                for module, array, w in zip((np, numpy), both(dtype), (lazy(W), W.copy()), strict=True)
            ]
            assert seen[0] == seen[1], (dtype, text)


@pytest.mark.parametrize("call", [
    lambda np, x, y: np.bincount(x, minlength=9), lambda np, x, y: np.interp(y[:2], y, y),
    lambda np, x, y: np.convolve(y, y[:2])[:9], lambda np, x, y: np.correlate(y, y[:2])[:9],
])  # fmt: skip
def test_what_copies_what_it_must_not_write_is_given_what_it_might(call: Any) -> None:
    real = numpy.arange(200_000) // 2
    peaks = []
    for module, given in ((numpy, (real, real * 1.0)), (np, (np.array(real), np.array(real * 1.0)))):
        call(module, *given)
        tracemalloc.start()
        found = call(module, *given)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        numpy.testing.assert_array_equal(found, call(numpy, real, real * 1.0))
    assert peaks[1] < peaks[0] + real.nbytes // 2


def test_what_is_read_only_stays() -> None:
    x, _ = both()
    row = x[3]
    row.flags.writeable = False
    for write in (lambda: row.__iadd__(1), lambda: operator.setitem(row, slice(3), 1), lambda: row.sort()):
        with pytest.raises(ValueError, match="read-only"):
            write()
    foreign = numpy.arange(400_000.0).reshape(SHAPE)
    foreign.flags.writeable = False
    y = np.asarray(foreign)
    for statement in ("y[3] = 1", "y[3] += 1", "y[3, 4:5] = 2", "y[3].fill(1)"):
        with pytest.raises(ValueError, match="read-only"):
            exec(statement, {"y": y})
    assert same(y[3] * 1, foreign[3])


def test_results_have_memory_of_their_own_and_views_do_not() -> None:
    x, _ = both()
    fresh = [x[3] * 1, +x[3], x[3].copy(), x[3].astype("f8"), x[3].flatten(), np.sum(x[3:4], 0),
        np.where(True, x[3], 0)]
    views = [x[3][1:], x[3:5].T[1:, 0], x[3].reshape(10, 10).ravel()[1:], x[3].view()[1:],
        x[3].astype("f8", copy=False)[1:]]
    views += [np.array(x[3], copy=False)[1:], np.array(x[3], copy=None)[1:]]
    fresh += [np.array(x[3]), np.concatenate((x[3],)), np.stack([x[3]]), np.hstack((x[3],))]
    fresh += [x[3][np.arange(2)], x[3][x[3] > 2]]
    views += [x[3].conj()[1:], x[3].real[1:], np.asarray(x[3])[1:], np.ravel(x[3])[1:], x[3].squeeze()[1:],
        x[3].round(0)[1:]]
    before = [numpy.array(y) for y in fresh]
    x[3] = -5
    assert all(map(same, fresh, before))
    assert all((y == -5).all() for y in views[:-1]) and (views[-1] != -5).any()
    views[0][...] = 6
    assert x[3, 1] == 6 and x[3, 0] == -5
    integers, _ = both("i8")
    rounded = integers[3].round()                   # which is the array itself, as in NumPy
    integers[3] = 4
    assert (rounded == (4 if numpy.arange(3).round().base is not None else rounded)).all()


def test_windows_do_not_count_as_references_to_memory() -> None:
    x, real = both()
    buf = x.storage.value.buf
    held, references = buf.memory, sys.getrefcount(buf)
    counted = sys.getrefcount(held)
    kept = [x[3] * 1, x[3].sum(), np.sqrt(x[3]), x[3] @ x[4], np.dot(x[3], x[4])]
    x[3] += 1
    x[4] = x[3]
    for wrong in ("x[3] @ x[4, :3]", "x[3].sum(9)", "x[3] = x[4, :3]", "x[3] += x[4, :3]",
        "np.dot(x[3], x[4, :3])"):
        with suppress(Exception):
            exec(wrong, {"x": x, "np": np})
    assert sys.getrefcount(held) == counted and sys.getrefcount(buf) == references and len(kept) == 5
    del held
    assert not buf.shared()
    x *= 2
    np.evaluate(x)
    assert x.storage.value.buf is buf and same(x[5] + 0, real[5] * 2)


WRONG = [
    "row @ w[:3]", "row * w[:3]", "x[3] = w[:3]", "row.__iadd__(w[:3])", "row.sum(9)", "x[3] = 'a'",
    "x[9999] = 1",
]  # fmt: skip


def test_nothing_leaks() -> None:
    x, _ = both()
    w, row = lazy(W), x[3]
    value = x.storage.value
    held = x, w, row, row.geo, w.geo, x.storage, value, value.buf, None, ..., row.geo.dtype, np.sum

    def work() -> None:
        row * w, w * row, 2 * row, row + row, -row, np.sqrt(row), np.maximum(row,
            w), row @ w, row.sum(), row.argmax()
        np.sum(row, 0), np.dot(row, w), numpy.float64(2) * row, row.astype("f8",
            copy=False), x[5][7], row < x[2]
        row.clip(w, w), row.sum(None, None, w[:1].reshape(())), np.where(row > 3, row, w), np.add(x,
            row), row * x
        x[3], x[4] = 1, w
        x[4] = row
        row.__iadd__(w), row.__iadd__(x[5]), w.__iadd__(row), w.__setitem__(slice(None), row)
        x[3:9] = w
        x[4] += 1
        for wrong in WRONG:
            with suppress(Exception):
                exec(wrong, {"x": x, "w": w, "row": row})

    for _ in range(1000):                       # (what is met so often has records by then)
        work()
    before = [sys.getrefcount(y) for y in held]
    for _ in range(100):
        work()
    now = [sys.getrefcount(y) for y in held]
    assert all(abs(a - b) < 20 for a, b in zip(now, before, strict=True)), (now, before)


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_programs(first: int) -> None:
    for seed in range(first, first + 20):
        found = difference(np, seed)
        assert not found, found


# ------------------------------------------------------------------------------------- `out`

OUTS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda np, x, y, z: np.add(x, y, out=z),
    lambda np, x, y, z: np.add(x, y, z),
    lambda np, x, y, z: np.sqrt(y, out=z),
    lambda np, x, y, z: np.negative(x, z),
    lambda np, x, y, z: np.multiply(x, 2, out=z),
    lambda np, x, y, z: np.subtract(1.5, x, out=z),
    lambda np, x, y, z: np.maximum(x, y, out=z),
    lambda np, x, y, z: np.add(z[:-1], z[1:], out=z[1:]),
    lambda np, x, y, z: np.add(x, x[0], out=z),
    lambda np, x, y, z: np.multiply(z, z[:, :1], out=z),
    lambda np, x, y, z: np.greater(x, y, out=z),
    lambda np, x, y, z: np.add(x, y, out=z[::-2, ::-1][: len(x)]),
    lambda np, x, y, z: np.add(x, y, out=z[:, :3]),
    lambda np, x, y, z: np.add(x, y, out=None),
    lambda np, x, y, z: np.add(x, y, out=(z,)),
    lambda np, x, y, z: np.add(x, y, out=z[0].tolist()),
    lambda np, x, y, z: np.add(x, y, outs=z),
    lambda np, x, y, z: np.add(x, y, z, z),
    lambda np, x, y, z: np.add(x, y, out=z, where=True),
    lambda np, x, y, z: np.modf(x, z, y),
    lambda np, x, y, z: np.add(x, out=z),
    lambda np, x, y, z: np.clip(x, 0, 1, z),
]


@pytest.mark.parametrize("call", range(len(OUTS)))
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", "c16"])
@pytest.mark.parametrize("rows", [0, 1, 4, 3000])
def test_out_is_numpys(call: int, dtype: str, rows: int) -> None:
    """The same values in the same memory, the same object back, the same errors; nothing held."""
    rng = numpy.random.default_rng(rows)
    reals = [(rng.random((rows, 40)) * 9).astype(dtype) for _ in range(3)]
    arrays = [np.array(real) for real in reals]
    for _ in range(3):
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            told = [outcome(OUTS[call], module, given) for module, given in ((numpy, reals), (np, arrays))]
        assert told[0] == told[1]
        for array, real in zip(arrays, reals, strict=True):
            assert same(array, real)


def outcome(call: Callable[..., Any], module: Any, given: list[Any]) -> Any:
    try:
        result = call(module, *given)
    except (IndexError, TypeError, ValueError) as error:
        return type(error), str(error)
    return [x is result for x in given], numpy.asarray(result).tobytes()


def test_out_runs_no_python() -> None:
    """Also into twice the usual size, and past what is read of other parts later."""
    n = 2 * np.get_options()["eager_elements"]
    x, y, z = (np.array(numpy.arange(n + 2.0)) for _ in range(3))
    for add in (lambda: np.add(x[:n], y[1 : n + 1], out=z[:n]), lambda: np.add(x[:n], y[:n], z[:n])):
        add()
        _, calls = python_calls(add)
        assert calls == 0
    assert same(z[:n], numpy.arange(n) * 2.0)
    x, z = x[:n], z[:n]
    objects = x, z, x.geo, z.geo, x.storage.value.buf, z.storage.value.buf
    references = [sys.getrefcount(a) for a in objects]
    for _ in range(100):
        np.add(x[:9], 1, out=z[:9])
        np.negative(x, z)
        z += x
        with suppress(TypeError, ValueError):
            np.add(x, y[:3], out=z)
        with suppress(TypeError):
            np.add(x, "a", out=z)
    assert references == [sys.getrefcount(a) for a in objects]


def test_what_waits_is_computed_before_out() -> None:
    x, real = both()
    later, z = x * 2, np.array(real)
    np.add(x, 1, out=x)
    waits = z + 1
    np.add(x[:50], waits[:50], out=z[:50])
    assert same(later, real * 2) and same(waits, real + 1) and same(z[:50], (real + 1 + real + 1)[:50])
    z = np.array(real)
    z.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        np.add(x[:50], 1, out=z[:50])
    with pytest.raises(ValueError, match="read-only"):
        np.add(x[:50], 1, z[:50])
    assert same(z, real)
