"""Elements, rows and small parts of large arrays: NumPy's values and errors, at NumPy's own pace.

Nothing is evaluated or launched for them where the array exists already; nobody's memory counts as shared.
"""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np
from lazyarr import windows

N = 300


def pair(dtype="f8"):
    x = (numpy.arange(N * N) % 100).reshape(N, N).astype(dtype)
    a = np.array(x)
    np.evaluate(a)
    return a, x


def same(a, x):
    return numpy.asarray(a).tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16", "f2", "u1"])
def test_elements(dtype):
    a, x = pair(dtype)
    for b, y in ((a, x), (a[::-2, 1:], x[::-2, 1:]), (a.T, x.T), (a[7], x[7])):
        for k in (0, -1, 5):
            key = k if y.ndim == 1 else (k, 2)
            assert b[key] == y[key] and type(b[key]) is type(y[key])
            b[key] = y[key] = 1
    assert same(a, x)


def test_elements_of_no_axes():
    a, x = pair()
    b, y = a[3, 4, ...], x[3, 4, ...]
    b[()] = y[()] = 2.5
    assert b[()] == 2.5 and same(a, x)


@pytest.mark.parametrize("key", [N, (0, N), (-N - 1, 0)])
def test_errors_are_numpys(key):
    a, x = pair()
    for call in (lambda z: z[key], lambda z: z.__setitem__(key, 1)):
        with pytest.raises(IndexError) as want:
            call(x)
        with pytest.raises(IndexError) as found:
            call(a)
        assert str(found.value) == str(want.value)
    with pytest.raises(TypeError, match="complex"):
        a[0, 0] = 1j
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a[0, 0] = 1


def test_rows():
    a, x = pair()
    for z in (a, x):
        z[3] += 1
        z[4] = z[5]
        z[5] *= z[6]
        z[:, 1] = 2 * z[:, 2] - z[0]
        z[7:9, 3:5] = -z[8:10, 3:5]
        z[1:9, 0] = z[0:8, 0]           # overlapping
        z[2] **= 2
    assert same(a, x)


def test_what_waits_reads_the_value_of_the_call():
    a, x = pair()
    y = a * 2
    a[0, 0] = -1.5
    a[1] += 1
    assert same(y, x * 2)
    x[0, 0] = -1.5
    x[1] += 1
    assert same(a, x)


def test_windows_follow_the_memory():
    a, x = pair()
    assert a[1, 1] == x[1, 1]
    b = a + 0
    a += 1                              # perhaps in other memory
    assert a[1, 1] == x[1, 1] + 1 and b[1, 1] == x[1, 1]
    a[:] = 7
    assert a[1, 1] == 7
    a.shape = (N * N,)
    assert a[N + 1] == 7
    a[3] = 8
    assert a.reshape(N, N)[0, 3] == 8


def test_nothing_runs_and_nothing_is_shared():
    a, _ = pair()
    before = np.debug.counters()
    for k in range(5):
        a[k, k] = a[k + 1, 0] + 1
        a[k] = a[k + 1]
        a[k] += a[k + 2] * 2
    after = np.debug.counters()
    for name in ("nodes_built", "native_launches", "numpy_fallbacks", "nodes_run"):
        assert after[name] == before[name], name
    assert not a.storage.value.buf.shared()


def test_what_must_wait_is_not_counted_as_numpys():
    a, x = pair()
    y = a * 2                           # reads rows that the writes below change
    before = np.debug.counters()["numpy_eager"]
    a[1] += 1
    assert np.debug.counters()["numpy_eager"] == before
    assert not np.is_evaluated(a)       # (nothing held on to its memory meanwhile, so it may wait)
    assert same(y, x * 2)


def test_read_only_memory_is_not_written():
    z = np.array([1 + 2j] * 70_000)
    np.evaluate(z)
    x = np.frombuffer(bytes(8 * 70_000))
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    assert x[0] == 0 and z.real[3] == 1
    z.imag[3] = 5
    assert z[3] == 1 + 5j


def test_a_window_is_made_once():
    a, _ = pair()
    assert a[0, 1] == 1
    window = a.window
    a[0, 1] = 4
    assert a[0, 1] == 4 and a.window is window
    assert not windows.is_element((0, True), 2) and not windows.is_element(0, 2)
