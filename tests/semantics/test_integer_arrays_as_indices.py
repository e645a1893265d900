"""Integer arrays without axes as indices: NumPy takes them for the integers, but what it reads is a copy."""

from __future__ import annotations

from operator import getitem, setitem

import numpy
import pytest

import lazyarr as np

SHAPE = 40, 30, 70
KEYS = {
    "last": lambda i: (slice(None), slice(1, -1), i),
    "first": lambda i: i,
    "dots": lambda i: (..., i),
    "two": lambda i: (i, slice(None, None, -2), i),
    "new": lambda i: (None, i, slice(2), ...),
    "beside": lambda i: (slice(None), i, 3),
    "alone": lambda i: (i, i),
    "element": lambda i: (i, 2, i),
    "picked": lambda i: (i, [0, 5, 0]),
}


def pair(order="C"):
    x = numpy.arange(numpy.prod(SHAPE)).reshape(SHAPE).astype("f8", order=order)
    return np.array(x) / 7, x / 7


def add(x, key, value):
    x[key] += value


def words(call, *args):
    try:
        got = numpy.asarray(call(*args))
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        return type(error), str(error)
    return got.tobytes(), got.dtype, got.shape, got.strides


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("name", KEYS)
def test_reads_and_writes(name, order, jit, pending):
    for value in 2, -1, 100:
        for dtype in "i8", "u1", "?", "f8", "u8":
            i = numpy.array(value).astype(dtype) if dtype != "u8" else numpy.array(2**63, "u8")
            with np.options(jit=jit):
                a, x = pair(order)
                if not pending:
                    np.evaluate(a)
                k, key = KEYS[name](np.array(i)), KEYS[name](i)
                assert words(getitem, a, k) == words(getitem, x, key)
                for new in 1.5, [2.5], numpy.arange(3.0):
                    assert words(setitem, a, k, new) == words(setitem, x, key, new)
                    assert words(add, a, k, new) == words(add, x, key, new)
                assert numpy.asarray(a).tobytes() == x.tobytes()


def test_what_is_read_is_a_copy():
    a, x = pair()
    i = numpy.array(1)
    for z, k in (a, np.array(i)), (x, i):
        b, c = z[..., k], z[..., 1]
        z[...] = 0
        assert numpy.asarray(b).any() and not numpy.asarray(c).any()


def test_what_waits_goes_on_waiting():
    x = np.array(numpy.random.default_rng(0).random((200, 300, 9)))
    y = x * 2
    part = y[1:, :, np.array(3)] + y[:-1, :, np.array(4)]
    y[..., np.array(0)] = 0
    assert not np.is_evaluated(y) and not np.is_evaluated(part)
    real = numpy.asarray(x) * 2
    assert numpy.asarray(part).tobytes() == (real[1:, :, 3] + real[:-1, :, 4]).tobytes()


def test_an_array_that_may_be_written_to_keeps_its_geometry_when_told_so():
    """Calls are recalled by geometries that arrays share."""
    x = np.array(numpy.ones(100_000))
    geo = x.geo
    x.flags.writeable = True
    assert x.geo is geo
    x.flags.writeable = False
    assert x.geo is not geo and not x.flags.writeable
    x.flags.writeable = True
    x[0] = 2
    assert x.flags.writeable and x.sum() == 100_001


def test_one_element_is_set_by_integers_of_numpys_as_by_pythons() -> None:
    """To one element NumPy gives one number: what it makes of other values, and says of them, is its own."""
    values = [numpy.ma.masked, [1.0, 2.0], numpy.arange(3.0), numpy.float32(0.1), numpy.array(2.5)]
    for key in (numpy.int64(1), 1, (numpy.int8(-1),)):
        for value in values:
            found = []
            for module in (numpy, np):
                x = module.ones(100_000) * 2
                try:
                    with numpy.testing.suppress_warnings() as quiet:
                        quiet.filter(UserWarning)
                        x[key] = value
                except ValueError as error:
                    found.append(str(error))
                else:
                    found.append(numpy.asarray(x)[[0, 1, -1]].tobytes())
            assert found[0] == found[1], (key, value)
