"""Methods, functions and loops on small parts of large arrays run no Python code: tables of programs."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import warnings
import weakref
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.counters import COUNT
from tests.slots.operands import ONLY_HERE, W, all_that_shows, both, lazy, python_calls, same

pytestmark = ONLY_HERE

CHANGES = """
    m[3].sort()  m[3].sort(0)  m[3, ::-1].sort()  m[:9, 3].sort(kind='stable')  m[3:6].sort(axis=0)
    m[3].partition(5)  m[3].put([1, 2], 9)  m[3].put(k, w[:3])  m[3].put([0], [7])  np.copyto(m[3], w)
    np.copyto(m[3], m[4])  np.copyto(m[3], m[3, ::-1])  np.copyto(m[3], 2)
    np.copyto(w, m[3])  np.copyto(m[3, :5], 3, casting='unsafe')  np.put(m[3], [1, 2], 0)
    np.fill_diagonal(m[:9, :9], 4)  np.fill_diagonal(m[:9, :9], m[3, :9])  np.putmask(m[3], w > 2, 9)
    np.putmask(m[3], m[4] > 500, m[5])  m[3].fill(3)  m[3, 1:4] = [1, 2, 3]  m[3, 1:4] = 7, 8, 9
    m[3, :1] = [True]  m[:3, :2] = [5, 6]  m[3, :2] = [numpy.float32(2), numpy.int8(3)]
    m[3, :3] = [1.5, 2, float('inf')]  m[3][w > 2] = 0  m[3][m[4] > 500] = 1  m[3][w > 2] = w[w > 2]
    np.divide(m[3], w, out=w, where=w > 2)  np.divide(w, m[4], out=m[3], where=m[4] > 500)
    np.add(w, w, out=w, where=w > 2)  np.sqrt(m[4], out=m[3], where=w > 2)
    np.log(m[3], where=m[3] > 0, out=w)  np.add(m[3], 1, out=m[3], where=True)
    np.divide(w, w, out=np.zeros_like(w), where=w != 2)  np.abs(m[3], out=m[3], where=w[:1] > 2)
    np.multiply(m[3], m[4], where=m[5] > 3, out=m[3])  np.add(w, w, out=w)  np.add(m[3], w, out=m[3])
    m[:4][m[:4] > 500] = 2  m[:60, 1][w[:60] > 2] = 7  m[:30, :30][w[:30] > 2] = 5
"""
READS = """
    np.add.reduce(m[3])  np.add.reduce(m[3:7], axis=0)  np.maximum.reduce(m[3:7], 1)  np.add.accumulate(m[3])
    np.multiply.reduce(m[3, :4])  np.add.reduceat(m[3], [0, 50])  np.logical_or.reduce(m[3] > 2)
    m[3].item(4)  m.item(5)  m.item(3, 4)  m.item((3, 4))  m.item(-1)  m[3].tobytes()  m[3].tobytes('F')
    m[3].repeat(2)  m[3].repeat(2, 0)  np.repeat(m[3], 3)  m.take([1, 2])  m.take(k)  np.take(m, k)
    np.take(m[:9], [1, 2], axis=0)  m[:9].take(k, 1)  m[3].take(i[3] % 9)  np.where(m[3] > 500)
    np.where(w > 2)  5 in m[3]  -1 in m[3]  5.0 in m[3]  numpy.float64(7) in m[:5]  w[0] in w
    np.median(m[3])  np.percentile(m[3], 40)  np.quantile(m[3], [0.2, 0.7])  np.nan_to_num(m[3])
    m[:9, 3].reshape(-1, 3)  m[:9, 3].reshape(3, 3)[1:]  m[:, 3].reshape(-1, 8)[:4]  m[:8, 3].ravel()
    m[3].astype(float, copy=False)  np.asarray(m[3], dtype=float)  m[3].conj()  np.asanyarray(m[3])
    np.asfortranarray(m[3])  np.array(m[3], copy=None)  np.ascontiguousarray(m[3, ::2])  m[:, 1][3]
    np.real(m[3])  m[3].compress(w > 2)  np.compress(w > 2, m[3])  np.extract(w > 2, m[3])
    m.astype(float, copy=False)  m.astype(np.float64, copy=False)  m.astype(m.dtype, copy=False)  m.conj()
    np.asarray(m, dtype=float)  np.asarray(m, float)  i.astype(int, copy=False)
    np.ascontiguousarray(m, dtype=np.float64)  np.asanyarray(z, dtype=np.complex128)  i.conjugate()
    m.view('i8')  m.view(np.uint32)  m[3].view('c16')  m.view()  m[3].view('u1')[8:16]
    z[3].real  z[3].imag  z[3].real[2:]  z[3].imag[2:]  np.real(z[3])  z[3].conj()  z[3].conj() * 2
    np.angle(z[3])  np.fft.fft(m[3])  np.nansum(m[3])  np.gradient(m[3])  np.gradient(m[:5, :5])
    [row.sum() for row in m[:20]]  [row[1] for row in m[:20]]  [row + 1 for row in w.reshape(10, 10)]
    [a + b for a, b in m[:9, :2]]  [x.sum() for x in m[:40].reshape(4, 10, 100)]  list(zip(m[:2], m[2:4]))
"""


def rows(table: str) -> list[str]:
    return [text for line in table.splitlines() for text in line.strip().split("  ") if text]


def names(module: Any, x: Any, i: Any, z: Any) -> dict[str, Any]:
    found = {"np": module, "numpy": numpy, "m": x, "i": i, "z": z}
    return {**found, "w": module.array(W), "k": module.array([2, 0, 5])}


@pytest.fixture(scope="module")
def arrays() -> list[tuple[Any, Any]]:
    return [both("f8"), both("i8"), both("c16")]


@pytest.mark.parametrize("text", rows(READS))
def test_what_reads(text: str, arrays: list[tuple[Any, Any]]) -> None:
    ours, theirs = (names(np, *(x for x, _ in arrays)), names(numpy, *(x for _, x in arrays)))
    code = compile(text, "", "eval")
    list(map(eval, [code] * 3, [ours] * 3))         # modules find their names; windows stay
    found, calls = python_calls(eval, code, ours)
    expected = eval(code, theirs)
    assert calls == 0
    for x, y in zip(*([r] if type(r) not in (list, tuple) else r for r in (found, expected)), strict=True):
        x, y = (np.stack(x), numpy.stack(y)) if type(y) is tuple else (x, y)
        x = x + 0 if type(x) is np.ndarray else x   # (a view's memory is not to be shared)
        assert type(x) is (np.ndarray if type(y) is numpy.ndarray else type(y))
        assert same(x, y) if type(x) is np.ndarray else x == y


@pytest.mark.parametrize("text", rows(CHANGES))
@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_what_writes(text: str, dtype: str) -> None:
    """At once where nobody reads the value, and after its readers else."""
    x, real = both(dtype)
    ours, theirs = names(np, x, None, None), names(numpy, real, None, None)
    code = compile(text, "", "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(OverflowError, TypeError):
            exec(code, names(np, both(dtype)[0], None, None))       # the module finds its names
        for _ in range(2):
            error, errors = None, None
            try:
                exec(code, theirs)
            except Exception as raised:
                errors = type(raised), str(raised)
            try:
                _, calls = python_calls(exec, code, ours)
            except Exception as raised:
                error = type(raised), str(raised)
            assert error == errors and (error or not calls)
            assert same(x[:100].copy(), real[:100]) and same(ours["w"] + 0, theirs["w"])
        later, before = x * 2, real[:100] * 2
        for values in ours, theirs:
            with suppress(OverflowError, TypeError):
                exec(code, values)
    assert same(later[:100] + 0, before) and same(x[:100].copy(), real[:100])


def test_what_waits_waits() -> None:
    """Parts of what is not computed yet, larger ones, and results that would be large."""
    x, real = both()
    later = x * 2
    views = [later[3].real, later[3:5].T, *later[:2], np.real(later), later[:9, 3].reshape(9, 1)]
    assert not np.is_evaluated(later) and same(views[0] + 0, real[3] * 2)
    pending = x[3].repeat(10**5), np.repeat(x[3], 10**5), np.repeat(x[3], 10**4)
    assert not any(map(np.is_evaluated, pending)) and same(pending[2][::10000] + 0, real[3])
    assert same(x.take(np.arange(300_000) + 1)[:9] + 0, real.reshape(-1)[1:10])


def test_options_that_say_write_are_pythons() -> None:
    """A window would refuse; and what is given by name is not looked at."""
    x, real = both()
    for call in (
        lambda np, m: np.nan_to_num(m[3], False), lambda np, m: np.nan_to_num(m[3], copy=False),
        lambda np, m: np.median(m[3], None, None, True),
        lambda np, m: np.percentile(m[4], 3, None, None, True),
        lambda np, m: np.nan_to_num(m[5], nan=0), lambda np, m: np.median(m[3:5], axis=1),
    ):  # fmt: skip
        assert same(call(np, x), call(numpy, real))
    assert same(x[:9].copy(), real[:9])


def test_an_array_that_numpy_gives_back_is_the_part() -> None:
    x, _ = both()
    row, z = x[3], np.array(numpy.ones(200_000) + 1j)
    assert row.astype("f8", copy=False) is row and np.asarray(row, dtype="f8") is row and row.conj() is row
    assert np.array(row, copy=None) is row and z.imag.base is z and z[:9].real.base is z
    assert row.reshape(10, 10).base is x and x[:9, 3].reshape(3, 3).base is x
    x[:9, 3].reshape(3, 3)[1] = 5
    z[:9].imag[2:4] = 7
    assert x[3, 3] == 5 and x[2, 3] != 5 and z[3] == 1 + 7j and z[4] == 1 + 1j
    row.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        row.sort()
    assert not row.reshape(10, 10).flags.writeable and not x[3].reshape(10, 10).T.flags.owndata


def test_types_are_looked_at_before_numpy_is_given_a_geometry() -> None:
    """What it must not read: all else is for Python, or reads a window."""
    x, real = both()
    line = numpy.arange(300_000.0)
    for y, theirs in (np.array(line), line), (x * 2, real * 2), (x[:, ::2], real[:, ::2]), (x[3], real[3]):
        for call in (
            lambda np, a: a.astype("f4", copy=False), lambda np, a: a.astype(">f8", copy=False),
            lambda np, a: a.astype(float, copy=True), lambda np, a: a.astype(float),
            lambda np, a: a.astype(float, order="F", copy=False), lambda np, a: a.astype(float, subok=False),
            lambda np, a: np.asarray(a, dtype="f4"), lambda np, a: np.asarray(a, int),
            lambda np, a: np.asarray(a, order="F"), lambda np, a: np.ascontiguousarray(a, dtype=float),
            lambda np, a: (a + 0j).conj(), lambda np, a: a.view(np.ndarray),
            lambda np, a: a.copy().view(">i8"), lambda np, a: a.copy().view("f2"),
            lambda np, a: a.copy().view("g"), lambda np, a: a.copy().view("V8"),
        ):  # fmt: skip
            found, expected = call(np, y), call(numpy, theirs)
            assert found.dtype == expected.dtype and found.strides == expected.strides
            assert numpy.asarray(found).tobytes() == expected.tobytes()
    pending = x * 3
    same_array = [
        pending.astype(float, copy=False), np.asarray(pending, dtype=float), pending.conj(), pending.real,
        np.ascontiguousarray(pending, np.float64), np.asarray(pending, dtype=pending.dtype),
    ]  # fmt: skip
    assert all(y is pending for y in same_array)
    assert pending.view("i8").base is pending and not np.is_evaluated(pending)
    for refused in lambda np, a: a.view("O"), lambda np, a: a[:, :5].view("c16"), lambda np, a: a.view("x"):
        errors = []
        for module, array in (np, pending), (numpy, real):
            with pytest.raises((TypeError, ValueError)) as raised:
                refused(module, array)
            errors.append((raised.type, str(raised.value)))
        assert errors[0] == errors[1]


def test_casts_and_errors_are_numpys() -> None:
    programs = """
        m[3, :2] = [1j, 2]; m[3, :2] = [numpy.complex64(1j), 2]; m[3, :2] = [1, 2, 3]; m[3, :2] = ['a', 'b'];
        m[3, :2] = [10**30, 1]; m[3, :2] = [None, 1]; m[3, :2] = []; m[3, :2] = (3,);
        np.copyto(m[3], w * 1j); np.copyto(m[3], 1j); np.put(m[3], [500], 1); m[3].put([1], [1j]);
        m[3].put(1);
        m[3].sort(7); m[3].sort(kind='x'); m[3].partition(700); np.copyto(m[3], w[:7]); np.copyto(m[3]);
        np.fill_diagonal(m[3], 1); m[3][w[:7] > 1] = 1; m[3][w > 2] = w[:3]; m[3][w > 2] = 1j; m.item(10**9);
        m[3].repeat(-1); m[3].repeat('a'); m[3].repeat(); m.take([10**9]); np.add.reduce(m[3], 5);
        np.add.reduce(m[3], out=w[:3]); [1] in m[3]; 'a' in m[3]; None in m[3]; m[3].tobytes('Q');
        np.add(m[3], w, out=m[3], where=w); np.add(m[3], w, out=m[3], where=w[:7] > 1);
        np.sqrt(m[3], where=w > 2, dtype='f4', out=w); np.add(m[3], w, out=m[3], where='a');
        np.add(m[3], out=m[3], where=w > 2); np.add(m[3], w, out=3, where=w > 2);
        np.add(m[3], w[:7], out=m[3], where=w > 2); np.add(m[3], w, out=m[3], were=w > 2);
        np.add(m[3], 1j, out=m[3], where=w > 2); np.floor_divide(m[3], 0, out=m[3], where=w > 2);
        np.divide(m[3], 0, where=w > 2, out=w); np.add(m[3], w, out=m[3], where=None);
        m[3].compress(w > 2, 4); np.percentile(m[3], 400); m[:9, 3].reshape(2, 2); for a, b in m[:5]: pass
    """
    for dtype in "f8", "i8", "c8", "?":
        for text in programs.replace(";\n", ";").split(";"):
            seen = [
                all_that_shows(text, names(module, array, None, None), array)
                for module, array in zip((np, numpy), both(dtype), strict=True)
            ]
            assert seen[0] == seen[1], (dtype, text)


def test_masks_of_what_waits_choose() -> None:
    """As before: no memory is taken for `y`."""
    x, real = both()
    y = x * 2
    y[y > 500] = 0
    assert not np.is_evaluated(y)
    assert same(y[:50] + 0, numpy.where(real[:50] * 2 > 500, 0, real[:50] * 2))


def test_rows_are_views_and_iterators_numpys() -> None:
    x, real = both()
    small = lazy(real[:9])
    for array, numpys in ((x, real), (small, real[:9])):
        assert type(iter(array)) is type(iter(numpys))
        for k, row in enumerate(array):
            if k == 4:
                break
            assert row.base is array
            row[1] = -k
        assert array[:4, 1].tolist() == [0, -1, -2, -3]
        assert len(list(reversed(array[:7]))) == 7 and [*array[:0]] == []
    for shape in (3, 0), (0, 3), (2, 1, 1):
        assert [r.shape for r in np.zeros(shape)] == [r.shape for r in numpy.zeros(shape)]
    objects = np.array([[1, [2]], [3, None]], object)
    assert [row.tolist() for row in objects] == [[1, [2]], [3, None]]
    growing = np.zeros((2, 3))
    with pytest.raises(TypeError):
        iter(np.array(3.0))
    seen = 0
    for row in growing:
        seen += 1
        growing.shape = (3, 2)
        assert row.shape == ((3,) if seen == 1 else (2,))
    assert seen == 3


def test_what_a_ufunc_of_pythons_gives_is_made_once() -> None:
    x, real = both()
    made = []

    class Pair:
        def __init__(self, *both: float) -> None:
            made.append(both)

    folded = np.frompyfunc(Pair, 2, 1)
    assert type(folded.reduce(x[3, :2])) is Pair and made == [(real[3, 0], real[3, 1])]


# --------------------------------------------------------------------------- windows again


def test_memory_goes_with_its_array() -> None:
    """Windows stay, but refer to nothing while nobody uses them."""
    x, _ = both()
    buf = weakref.ref(x.storage.value.buf)
    row = x[3]
    for _ in range(4):
        row.sum(), row.sort(), row + row, row.item(2), np.concatenate([row, row]), x[np.array([1, 2]), 3]
        np.add(row, row, out=row)
        row[row > 3] = 2
        np.fill_diagonal(x[:3, :3], 2)
        with pytest.raises(ValueError, match="cannot reshape"):
            row.reshape(3, 7)
        with pytest.raises(ValueError, match="out of bounds"):
            np.sum(row, 9)
    del x, row
    gc.collect()
    assert buf() is None


def test_a_window_that_somebody_keeps_is_theirs() -> None:
    """Frames of an error hold what NumPy's functions were given."""
    x, real = both()
    kept = []
    for _ in range(6):
        try:
            np.pad(x[3], 1, mode="nothing")
        except ValueError as error:
            kept.append([frame.f_locals.get("array") for frame, _ in traceback.walk_tb(error.__traceback__)])
    held = [a for frames in kept for a in frames if type(a) is numpy.ndarray]
    sums = [x[k].sum() for k in range(50)]
    assert sums == [real[k].sum() for k in range(50)]
    assert all(numpy.array_equal(a, real[3]) for a in held)
    y = np.array(numpy.arange(300_000.0))
    assert [y[k : k + 2].max() for k in range(20)] == [*range(1, 21)]
    assert all(numpy.array_equal(a, real[3]) for a in held)


def test_windows_of_several_types_and_threads() -> None:
    parts = [both(c) for c in ("f8", "f4", "i8", "i1", "?", "c16", "f2")]
    wrong: list[Any] = []

    def run(seed: int) -> None:
        for k in range(400):
            x, real = parts[(k + seed) % len(parts)]
            part = numpy.s_[k], numpy.s_[:9, k % 100], numpy.s_[k : k + 3, ::7]
            for key in part:
                found, expected = x[key].max(), real[key].max()
                if found != expected or type(found) is not type(expected):
                    wrong.append((seed, k, key))
                if not same(x[key].argsort(), real[key].argsort()):
                    wrong.append((seed, k, key, "argsort"))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_no_node_is_made() -> None:
    x, _ = both()
    built = COUNT.nodes_built
    for row in x[:30]:
        row.sort()
        row[row > 3] = [row.item(3)] * 0 or 1
        np.copyto(row[:4], [1, 2, 3, 4])
    assert COUNT.nodes_built == built
