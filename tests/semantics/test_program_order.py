"""A lazy read sees the value at the time of the call: each program gives NumPy's result.

Every program is run with NumPy and with lazyarr, with all sizes lazy and with the default options;
what it returns (arrays, scalars, or the exception's type) must be the same.
"""

from __future__ import annotations

import warnings

import numpy
import pytest

import lazyarr

PROGRAMS = {}


def program(fn):
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def read_before_write(np):
    a = np.arange(6.0)
    b = a * 2
    a += 1
    return a, b


@program
def views_see_writes(np):
    a = np.arange(12.0).reshape(3, 4)
    row, column, back = a[1], a[:, 2], a[::-1]
    a[1:] = a[:-1] + 0.5
    column *= 2
    return a, row, column, back


@program
def overlapping_slices(np):
    a = np.arange(10)
    a[1:] += a[:-1]
    a[::-1] -= a
    return a


@program
def shifted_assignment(np):
    a = np.arange(8)
    b = a * 1.0
    a[::2] = a[:4]
    return a, b


@program
def a_view_replaced_by_strides(np):
    a = np.arange(4.0)
    b = np.lib.stride_tricks.as_strided(a, (2, 2), (8, 8))
    a += 1
    b[...] = 5
    return a


@program
def masked_writes_keep_the_rest(np):
    a = np.arange(6.0)
    b = a + 1
    np.add(a, 10, out=a, where=b > 3)
    np.copyto(a[:3], -1, where=b[:3] > 1)
    a[a > 13] = 0
    return a, b


@program
def masks_are_captured(np):
    a = np.arange(6.0)
    m = a > 2
    kept = a[m]
    m[:] = False
    a += 1
    return kept, a, m


@program
def indices_are_captured(np):
    a = np.array([1, 2, 3, 0])
    b = a + 0.5
    a[a] = a[::-1]
    return a, b


@program
def lists_are_read_at_the_call(np):
    a = np.arange(3)
    key = [0, 1]
    b = a[key]
    key[0] = 2
    value = [7, 8, 9]
    a[...] = value
    value[0] = 0
    return a, b


@program
def foreign_memory_is_read_at_the_call(np):
    e = numpy.arange(6)
    a = np.asarray(e)
    b = a[::2]
    c = b + 1
    e += 5
    b *= 2
    return a, b, c, e


@program
def two_wrappers_of_one_memory(np):
    e = numpy.arange(6)
    a, b = np.asarray(e), np.asarray(e[1:])
    del e
    c = a * 1
    b += 10
    a[2:] -= b[1:]
    return a, b, c


@program
def exported_memory_is_written_at_once(np):
    a = np.arange(5.0)
    b = a + 1
    out = numpy.asarray(a)
    a += 1
    out *= 2
    return a, b, out


@program
def memoryviews_see_writes(np):
    a = np.arange(5.0)
    b = a + 1
    m = memoryview(a)
    a += 1
    return b, numpy.frombuffer(m)


@program
def dlpack_shares_memory(np):
    a = np.arange(5.0)
    b = a + 1
    d = numpy.from_dlpack(a)
    a += 1
    return a, b, d


@program
def scalars_are_values(np):
    s = np.arange(3).sum()
    t = s
    s += 1
    return s, t, {t: 7}[3], type(t).__name__


@program
def the_last_step_of_an_item_update(np):
    a = np.arange(6.0)
    a[1:4] += a[2:5]
    a[:, None][2] *= 3
    return a


@program
def dead_stores(np):
    a = np.zeros(5)
    a[...] = 3
    a[...] = a + 1
    return a


@program
def real_and_imaginary_parts(np):
    z = np.arange(4) * (1 + 2j)
    z.imag += z.real
    z.real[::2] = 0
    return z, np.arange(3.0).real


@program
def reinterpreted_memory(np):
    a = np.arange(4.0)
    b = a.view("int64")
    a += 1
    b[0] = 0
    return a, b


@program
def shapes_change_in_place(np):
    a = np.arange(6)
    b = a + 1
    a.shape = (2, 3)
    a[0] = 0
    return a, b


@program
def outputs_that_are_inputs(np):
    a = np.arange(5.0)
    np.multiply(a[1:], a[:-1], out=a[1:])
    np.add.reduce(a.reshape(1, 5), axis=0, out=a)
    np.sqrt(a, a)
    return a


@program
def broadcast_arrays_repeat(np):
    a = np.arange(3.0)
    wide = np.broadcast_to(a, (4, 3))
    b = wide + 1
    a[0] = 9
    return wide, b, wide.flags.writeable


@program
def errors_of_integer_powers(np):
    return np.array([1, 2, 3]) ** np.array([1, -1, 2])


@program
def errors_under_errstate(np):
    with np.errstate(divide="raise"):
        return 1 / np.array([1.0, 0.0])


@program
def errors_of_ranges(np):
    a = np.array([1, 2], dtype="int8")
    a[0] = np.int64(500)
    return a


@program
def ranges_wrap_in_fancy_writes(np):
    a = np.array([1, 2], dtype="int8")
    a[[0]] = np.int64(500)
    return a


@program
def errors_of_nan_to_integer(np):
    a = np.array([1, 2])
    a[0] = float("nan")
    return a


@program
def read_only_first(np):
    a = np.broadcast_to(np.arange(2.0), (2, 2))
    a[99] = 0
    return a


@program
def empty_arrays(np):
    a = np.zeros((0, 3))
    return a + 1, a.sum(), a.sum(axis=0), a.reshape(3, 0), a[:, ::2]


def outcome(fn, np):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = fn(np)
        except Exception as error:
            return type(error).__name__, str(error)
    result = result if isinstance(result, tuple) else (result,)
    return [
        (str(x.dtype), x.shape, x.tobytes()) if hasattr(x, "dtype") else x
        for x in (numpy.asarray(x) if isinstance(x, lazyarr.ndarray) else x for x in result)
    ]


@program
def one_part_written_twice(np):
    y, z, x = np.arange(10.0) / 3, np.arange(10.0) + 1, np.ones(12)
    np.exp(y * 2, out=x[2:])
    np.multiply(z, 2, out=x[2:])
    return x


@program
def masked_write_then_a_write_over_all(np):
    x, c = np.array([[-4.0, 1.0], [2.0, -3.0]]) + 0.0, np.array([-5.51])
    np.multiply(x, x, out=x, where=x > 0)
    x %= c
    return x


@program
def masked_write_after_writes_to_two_parts(np):
    u, x = np.arange(3.0) + 1, np.zeros(10)
    x[:3] = u * 2
    x[5:8] = u * 3
    np.add(u * 5, 1, out=x[:3], where=u > 1)
    return x


@program
def masked_writes_that_build_on_each_other_then_folds(np):
    y = np.arange(1200.0).reshape(30, 40) % 7
    x = y * 1.5
    x[0, 0] = 2
    np.add(y, 1, out=x, where=y > 2)
    np.multiply(x, y, out=x, where=y < 5)
    return x.argmax(axis=0), x.var(axis=1), x


@program
def overwritten_and_then_masked_while_the_old_value_waits(np):
    x = np.arange(-6.0, 6)
    t = x * -2.0
    later = t - x
    u = t.reshape(4, 3)
    np.add(u, 1.0, out=u)
    np.minimum(u, 3, out=u, where=u > 0)
    return np.copy(u), later, t


def _two_owners(np, n):
    """One memory in two arrays, neither of which is a view of the other."""
    memory = bytearray(8 * n)
    x, y = np.frombuffer(memory), np.frombuffer(memory)
    x[:] = np.arange(float(n))
    return x, y


@program
def one_memory_of_two_owners(np):
    found = []
    for n in (8, 70_000):
        x, y = _two_owners(np, n)
        np.add(y[:-1], 1, out=x[1:])
        found.append(x.copy())
        x[1:] = y[:-1]
        found.append(x.copy())
        x[2:] += y[:-2]
        found.append(y.copy())
        np.multiply(y[:-1], 2, out=x[1:], where=y[:-1].astype("i8") % 2 == 0)
        found.append(x.copy())
        x[::-1] = y
        found.append(y + 0)
    return tuple(found)


@pytest.mark.parametrize("options", [{}, {"jit": "always"}, {"eager_elements": 0}, {"jit": "never"}], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, options):
    want = outcome(PROGRAMS[name], numpy)
    with lazyarr.options(**options):
        assert outcome(PROGRAMS[name], lazyarr) == want
