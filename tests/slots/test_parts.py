"""Small parts of large arrays: read and written by machine code, in program order, and never beyond memory."""

from __future__ import annotations

import operator
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.expr import LOCK
from lazyarr.geometry import geometry
from lazyarr.slots.parts import KEEPS_GIL
from lazyarr.slots.tables import READING, READING_METHODS
from tests.slots.operands import ONLY_HERE, lazy, python_calls, same
from tests.slots.part_programs import difference
from tests.slots.test_calls import named

pytestmark = ONLY_HERE

SHAPE = 4000, 100
W = numpy.arange(100) % 7 + 0.5
V = W[:5].copy()
SQUARE = (slice(7, 57), slice(0, 100, 2))
"""A part of 50 rows and columns."""


def both(dtype: Any = "f8") -> tuple[Any, numpy.ndarray]:
    real = ((numpy.arange(400_000) * 7919) % 1009).reshape(SHAPE).astype(dtype)
    x = np.array(real) * np.array(1, dtype)
    np.evaluate(x)
    return x, real


READS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "row * array": lambda np, m, w: m[3] * w,
    "array - row": lambda np, m, w: w - m[3],
    "scalar / row": lambda np, m, w: 2 / (m[3] + 1),
    "NumPy's scalar * row": lambda np, m, w: numpy.float32(2) * m[3],
    "row + column": lambda np, m, w: m[3] + m[:100, 4],
    "row @ array": lambda np, m, w: m[3] @ w,
    "square @ array": lambda np, m, w: m[:8, :8] @ w[:8],
    "comparison": lambda np, m, w: m[3] < m[4, ::-1],
    "equality": lambda np, m, w: m[3] == 4,
    "power": lambda np, m, w: m[3] ** 2,
    "negative": lambda np, m, w: -m[3, 5:8],
    "abs": lambda np, m, w: abs(m[3]),
    "ufunc": lambda np, m, w: np.sqrt(m[3]),
    "ufunc of two": lambda np, m, w: np.maximum(m[3], w),
    "ufunc of a scalar": lambda np, m, w: np.add(2, m[3]),
    "element of a row": lambda np, m, w: m[3][4],
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
    "item": (3, 4), "take": (2,), "dot": (W[:50],), "searchsorted": (3,), "argpartition": (3,), "astype": ("f4",),
    "clip": (1, 4), "round": (1,),
}  # fmt: skip
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "clip": (1, 4), "dot": (W[:50],), "inner": (W[:50],), "outer": (V,), "vdot": (numpy.ones((50, 50)),),
    "searchsorted": (3,), "allclose": (W[:50],),
    "array_equal": (numpy.ones((50, 50)),), "linalg.solve": (W[:50],), "where": (W[:50], V[0]),
}  # fmt: skip


def part_of(x: Any, name: str) -> Any:
    return x[3] if name == "searchsorted" else x[SQUARE]


@pytest.mark.parametrize("name", " ".join(READING_METHODS.values()).split())
def test_methods_only_read(name: str) -> None:
    x, real = both()
    args = METHODS.get(name, ())
    later = x + 1
    with numpy.errstate(all="ignore"):
        found, calls = python_calls(getattr(part_of(x, name), name), *lazy(args))
        assert calls == 0 and same(found, getattr(part_of(real, name), name)(*args))
    assert not np.is_evaluated(later)
    untouched(x, real, later)


@pytest.mark.parametrize("name", " ".join(READING.values()).split())
def test_functions_only_read(name: str) -> None:
    x, real = both()
    args = FUNCTIONS.get(name, ())
    later = x + 1
    with numpy.errstate(all="ignore"):
        found, calls = python_calls(named(np, name), part_of(x, name), *lazy(args))
        assert same(found, named(numpy, name)(part_of(real, name), *args))
    assert calls == 0 and not np.is_evaluated(later)
    untouched(x, real, later)


def untouched(x: Any, real: numpy.ndarray, later: Any) -> None:
    assert same(x[3] + 0, real[3]) and same(x[:60].copy(), real[:60]) and same(later[:60] + 0, real[:60] + 1)


WRITES = """
    p[:]=w  p[2:5]=7  p+=w  p*=3  p.sort()  p.fill(3)  p.put([0,1],9)  p.partition(3)  p.byteswap(True)
    p.byteswap(inplace=True)  p.setfield(2,'i1')  p.flat[3]=4  p.flat=8  p.itemset(3,4)  p.clip(2,5,p)
    p.clip(2,5,out=p)  p.round(1,p)  p.cumsum(out=p)  p.cumsum(0,None,p)  p.sum(out=p[:1].reshape(()))
    p.argmax(out=k[:1].reshape(()))  s.dot(w[:50],p[:50])  s.dot(out=p[:50],b=w[:50])  s.dot(w[:50],out=p[:50])
    p.take([1,2],out=p[:2])  p.take([1,2],None,p[:2])  p.repeat(2).sort()  p.real.fill(2)  p.view('u8').fill(2)
    p.choose([w,w],p,'clip')  p.compress([1,0],None,p[:1])  s.diagonal().sum(out=p[:1].reshape(()))  s.T.sort()
    np.copyto(p,w)  np.copyto(p,2,where=w>1)  np.put(p,[1,2],4)  np.place(p,w>1,[7])  np.putmask(p,w>1,9)
    np.fill_diagonal(s,3)  np.random.default_rng(1).shuffle(p)  np.add.at(p,[1,1],2)  np.negative.at(p,1)
    np.add(p,w,p)  np.add(p,w,out=p)  np.sqrt(p,p)  np.sqrt(p,out=p)  np.multiply(p,w,where=w>1,out=p)
    np.add.reduce(s,0,None,p[:50])  np.add.accumulate(p,out=p)  np.sum(s,0,None,p[:50])  np.sum(s,0,out=p[:50])
    np.cumsum(p,out=p)  np.clip(p,1,3,p)  np.clip(p,1,3,out=p)  np.round(p,1,p)  np.dot(s,w[:50],p[:50])
    np.dot(s,w[:50],out=p[:50])  np.matmul(s,w[:50],out=p[:50])  np.nan_to_num(p,False)  np.nan_to_num(p,copy=False)
    np.median(p,overwrite_input=True)  np.percentile(p,3,overwrite_input=True)  np.take(p,[1],out=p[:1])
    np.put_along_axis(p,np.array([2]),5,0)  np.mean(s,0,None,p[:50])  np.std(s,0,out=p[:50])  np.outer(w[:50],w[:50],s)
    np.linalg.norm(p,out=p) np.max(s,0,p[:50])  np.any(s,0,p[:50])  np.diff(p).sort()  np.maximum(p,w,p)
    np.lib.stride_tricks.as_strided(p)[...].fill(2)  np.asarray(p).sort()  np.asarray(p)[1]=2
    np.ravel(p).sort()  p.ravel().fill(4)  p.reshape(10,10)[:]=3  p[None].fill(2)  p.squeeze()[1]=4
    np.ndarray.sort(p)  np.ndarray.fill(p,2)  np.ndarray.dot(s,w[:50],p[:50])  memoryview(p).cast('B')[0]=3
    p.__setitem__(2,5)  p.__iadd__(1)  operator.iadd(p,w)  p.resize(100)  p.setflags(write=True)
""".replace("\n", "  ").split("  ")


@pytest.mark.parametrize("statement", [w.strip() for w in WRITES if w.strip()])
@pytest.mark.parametrize("held", [False, True])
def test_writes_come_after_what_reads_the_old_value(statement: str, held: bool) -> None:
    """Among them all that writes, whatever its name and however it gets its operand."""
    seen = []
    for module in (numpy, np):
        x, real = both()
        array = real.copy() if module is numpy else x
        later = array + 1
        views = {"p": array[3], "s": array[SQUARE]}
        names = {"np": module, "operator": operator, "m": array, "w": module.array(W), "k": module.arange(5), **views}
        text = statement
        if not held:                                # the part ends with the statement
            names.update(p=None, s=None)
            text = text.replace("(p", "(m[3]").replace(",p", ",m[3]").replace("=p", "=m[3]").replace("(s", "(m[S]")
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
    "row = scalar": "m[3] = 2", "row = array": "m[3] = w", "row = row": "m[3] = m[4]", "reversed": "m[3] = m[3, ::-1]",
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
    assert calls == 0 and np.is_evaluated(x) and (x.storage.value.buf.address == address or "plain" not in name)


def test_casts_and_errors_are_numpys() -> None:
    programs = """
        m[3] = 1j; m[3] = w * 1j; m[3] += 1j; m[3] = w[:7]; m[3] += w[:7]; m[5000] = 1; m[3, 200] = 1; m[3] = 'a'; m[3] = None
        m[3] = float('nan'); m[3, :2] = 10**30; m[3] /= 0; m[3] @ w[:7]; m[3] * w[:7]; m[3].sum(7); m[3].dot(w[:7])
        m[3].item(1000); np.sum(m[3], 4); np.dot(m[3], w[:7]); m[3].take(1000); m[3].astype('nothing'); m[3] << 2.5
        m[3] += 2.5; m[3] -= True; m[3] //= 0; m[3] **= -1; m[3] = 1e30; m[3].sum(what=1); m['a'] = 1; m[3] = object()
    """
    for dtype in "f8", "i8", "f2", "c8", "?", "u1":
        for text in programs.replace("\n", ";").split(";"):
            seen = []
            for module, array, w in zip((np, numpy), both(dtype), (lazy(W), W.copy()), strict=True):
                with warnings.catch_warnings(record=True) as given:
                    warnings.simplefilter("always")
                    try:
                        exec(compile(text.strip(), "the program's", "exec"), {"np": module, "m": array, "w": w})
                        error = None
                    except Exception as raised:
                        error = type(raised), str(raised)
                told = [(x.category, str(x.message), x.filename) for x in given]
                seen.append((error, told, numpy.array(array[:9]).tobytes()))
            assert seen[0] == seen[1], (dtype, text)


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
    fresh = [x[3] * 1, +x[3], x[3].copy(), x[3].astype("f8"), x[3].flatten(), np.sum(x[3:4], 0), np.where(True, x[3], 0)]
    views = [x[3][1:], x[3:5].T[1:, 0], x[3].reshape(10, 10).ravel()[1:], x[3].view()[1:], x[3].astype("f8", copy=False)[1:]]
    views += [x[3].conj()[1:], x[3].real[1:], np.asarray(x[3])[1:], np.ravel(x[3])[1:], x[3].squeeze()[1:], x[3].round(0)[1:]]
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
    for wrong in ("x[3] @ x[4, :3]", "x[3].sum(9)", "x[3] = x[4, :3]", "x[3] += x[4, :3]", "np.dot(x[3], x[4, :3])"):
        with suppress(Exception):
            exec(wrong, {"x": x, "np": np})
    assert sys.getrefcount(held) == counted and sys.getrefcount(buf) == references and len(kept) == 5
    del held
    assert not buf.shared()
    x *= 2
    np.evaluate(x)
    assert x.storage.value.buf is buf and same(x[5] + 0, real[5] * 2)


def test_nothing_leaks() -> None:
    x, _ = both()
    w, row = lazy(W), x[3]
    held = x, w, row, row.geo, w.geo, x.storage, x.storage.value, x.storage.value.buf, None, ..., row.geo.dtype, np.sum

    def work() -> None:
        row * w, w * row, 2 * row, row + row, -row, np.sqrt(row), np.maximum(row, w), row @ w, row.sum(), row.argmax()
        np.sum(row, 0), np.dot(row, w), numpy.float64(2) * row, row.astype("f8", copy=False), x[5][7], row < x[2]
        row.clip(w, w), row.sum(None, None, w[:1].reshape(())), np.where(row > 3, row, w), np.add(x, row), row * x
        x[3], x[4] = 1, w
        x[4] = row
        row.__iadd__(w), row.__iadd__(x[5]), w.__iadd__(row), w.__setitem__(slice(None), row)
        x[3:9] = w
        x[4] += 1
        for wrong in "row @ w[:3]", "row * w[:3]", "x[3] = w[:3]", "row.__iadd__(w[:3])", "row.sum(9)", "x[3] = 'a'", "x[9999] = 1":
            with suppress(Exception):
                exec(wrong, {"x": x, "w": w, "row": row})

    for _ in range(20):
        work()
    before = [sys.getrefcount(y) for y in held]
    for _ in range(100):
        work()
    now = [sys.getrefcount(y) for y in held]
    assert all(abs(a - b) < 20 for a, b in zip(now, before, strict=True)), (now, before)


@pytest.fixture
def patient() -> Iterator[None]:
    """No thread has to leave its turn to another."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "f2", "c16"])
def test_small_writes_keep_their_turn(dtype: str, patient: None) -> None:
    """As long as this holds, the lock may be left where it is (`parts.KEEPS_GIL`)."""
    x, _ = both(dtype)
    part, other = x.reshape(-1)[:KEEPS_GIL], x.reshape(-1)[-2 * KEEPS_GIL :: 2]
    value = np.array(numpy.arange(KEEPS_GIL) % 2, dtype)
    integers = np.array(numpy.arange(KEEPS_GIL) % 2, "i8")
    turns, ended = 0, False

    def count() -> None:
        nonlocal turns
        while not ended:
            turns += 1
            time.sleep(0)                           # gives its turn away, and waits for the next

    thread = threading.Thread(target=count)
    thread.start()
    while not turns:
        time.sleep(0.001)
    before = turns
    for _ in range(200):
        part[:] = value
        part[:] = integers
        part[:] = 1
        part[::-1] = other
        x[0, 1] = 0
        if dtype != "?":
            part += value
            part *= other
        else:
            part |= value
    after = turns
    ended = True
    time.sleep(0.001)
    thread.join(10)
    assert after == before


def test_writes_wait_for_the_lock() -> None:
    for statement in ("x[3] = 7", "x[3] += w", "x[3, 2] = 7", "x[3:30] = w"):
        x, _ = both()
        thread = threading.Thread(target=exec, args=(statement, {"x": x, "w": lazy(W)}))
        before = float(x[3, 2])
        with LOCK:
            thread.start()
            thread.join(0.1)
            assert thread.is_alive() and x[3, 2] == before
            x[40] = 3                               # ours already
            x[40] += 1
        thread.join(5)
        assert not thread.is_alive() and x[3, 2] != before and (x[40] == 4).all()
    x, _ = both()
    for wrong in ("x[3:30] = w[:7]", "x[3:30] += w[:7]", "x[3:30] = 1j"):
        with pytest.raises((ValueError, TypeError)):
            exec(wrong, {"x": x, "w": lazy(W)})
    done = threading.Thread(target=lambda: LOCK.acquire() and LOCK.release())
    done.start()
    done.join(5)
    assert not done.is_alive()


def test_geometry_beyond_memory_is_not_read() -> None:
    """Between two fields of an array another thread may look."""
    x, _ = both()
    large = geometry((10_000, 100), numpy.dtype("f8"))
    for geo in (large[9000], large[3999:4001], large[4001, ::-1], large[3000:4001:1000].T):
        x.geo = geo
        for program in (
            lambda: x * 2, lambda: x.sum(), lambda: -x, lambda: operator.setitem(x, slice(1), 2), lambda: x.__iadd__(1),
            lambda: np.sqrt(x), lambda: x[0], lambda: np.sum(x),
        ):  # fmt: skip
            with suppress(Exception):
                program()
        assert sys.getrefcount(x.storage.value.buf) < 10


def test_arrays_that_are_not_whole() -> None:
    for missing in ("geo", "storage"):
        for program in (
            lambda y: y * 2, lambda y: y.sum(), lambda y: y.__iadd__(2), lambda y: operator.setitem(y, 3, 2), lambda y: np.sum(y),
            lambda y: operator.setitem(y, slice(3), 2), lambda y: np.sqrt(y), lambda y: y @ y, lambda y: numpy.float64(2) * y,
            lambda y: operator.setitem(both()[0], 3, y), lambda y: y[3],
        ):  # fmt: skip
            y = both()[0][3]
            delattr(y, missing)
            with pytest.raises((AttributeError, TypeError)):
                program(y)


class Evil:
    """An index that does something to an array while NumPy asks for its value."""

    def __init__(self, what: Callable[[], Any]) -> None:
        self.what = what

    def __index__(self) -> int:
        self.what()
        return 2


@pytest.mark.parametrize("deed", [
    "x.resize(10, refcheck=False)", "x.__imul__(2)", "later.append(x + 1)", "x.__setitem__(3, 9)", "del x.geo",
    "del x.storage", "x.__init__()", "later.append(memoryview(x))", "later.append(x.T * 2)", "np.evaluate(x * 2)",
])  # fmt: skip
@pytest.mark.parametrize("statement", [
    "x[3, e:] = 1", "x[3, e:] = w[2:]", "x[3, e:] += 1", "x[e:5] = x[7:10]", "r = x[3][e:] * 2", "w[e:] = x[3, 2:]",
    "x[3].sum(e)", "x[3] * e", "x[3] = e", "x[3, 2] = e", "x[e] = 1", "x[e, 3] = 2", "x[3].take(e)", "x[3].item(e)",
])  # fmt: skip
def test_keys_that_change_the_array(statement: str, deed: str) -> None:
    x, _ = both()
    later: list[Any] = []
    names = {"x": x, "later": later, "np": np}
    names.update(w=lazy(W), e=Evil(lambda: exec(deed, names)))
    with suppress(Exception), numpy.errstate(all="ignore"):
        exec(statement, names)
    for y in later:
        numpy.array(y).sum()
    with suppress(Exception):
        x[3] * 2


def test_handlers_that_change_the_array() -> None:
    x, real = both()
    later: list[Any] = []

    def handler(*_: Any) -> None:
        later.append(x + 1)
        x[3] = 8
        x[5] += 1
        later.append(x * 2)

    with numpy.errstate(all="call", call=handler):
        assert numpy.isinf((x[7] + 1) / 0).all()
        x[4] /= 0
    with warnings.catch_warnings():
        warnings.showwarning = handler
        warnings.simplefilter("always")
        np.sqrt(-x[3])
        x[6] = x[6] * 1j
    assert (x[3] == 8).all() and same(later[0][3] + 0, real[3] + 1) and len(later) >= 6
    for y in later:
        numpy.array(y).sum()


def test_who_keeps_a_window_keeps_its_memory() -> None:
    """A traceback, or a profiler, may hold what NumPy's Python code was given."""
    kept: list[Any] = []
    x, real = both()
    try:
        x[3].mean(axis=9)
    except Exception as error:
        kept.append(error)
    sys.setprofile(lambda frame, event, arg: kept.append(dict(frame.f_locals)))
    try:
        x[3].mean(), np.linalg.norm(x[4]), x[3].std()
    finally:
        sys.setprofile(None)
    arrays = [y for names in kept[1:] for y in names.values() if type(y) is numpy.ndarray and y.base is not None]
    assert arrays and not any(y.flags.writeable for y in arrays if y.size == 100)
    expected = [y.copy() for y in arrays]
    x += 1
    np.evaluate(x)
    del x
    for _ in range(5):
        other = np.array(real) * 3
        np.evaluate(other)
    assert [y.shape for y in arrays] == [y.shape for y in expected]
    assert all(numpy.isfinite(y.astype(float)).all() for y in arrays)


def test_threads_that_read_write_and_compute() -> None:
    """Each has its own rows of one array; what is pending sees one state of each row."""
    x, _ = both()
    x[...] = 0
    np.evaluate(x)
    failures: list[Any] = []

    def work(mine: int) -> None:
        w = np.ones(100)
        try:
            for k in range(1, 300):
                x[mine] = k
                x[mine] += w
                if k % 7 == 0:
                    later = x[mine : mine + 1] * 2
                    x[mine] = -1
                    assert (later == 2 * (k + 1)).all(), (k, later)
                    x[mine] = k + 1
                if k % 11 == 0:
                    np.evaluate(x * 2)
                if k % 13 == 0:
                    x[1000 + 700 * mine : 1600 + 700 * mine] += 1
                assert x[mine].sum() == 100 * (k + 1) and x[mine] @ w == 100 * (k + 1) and x[mine, 7] == k + 1
                x[mine, 7] = k + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        sys.setswitchinterval(before)
    assert not failures and all((x[1000 + 700 * k] == 299 // 13).all() for k in range(4))


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_programs(first: int) -> None:
    for seed in range(first, first + 20):
        found = difference(np, seed)
        assert not found, found
