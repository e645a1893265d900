"""`x.flat`: elements and slices, read and written, are NumPy's, of plain arrays and of managed ones."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np

SCALARS = (
    True, 3, -1, 300, 2**40, 2**63, 2**70, 10**400, 1.5, float("nan"), float("inf"), 1e300, 2j,
    complex("nan"), numpy.float32(1.5), numpy.float64(1e300), numpy.float64("nan"), numpy.int64(-1),
    numpy.int8(-128), numpy.uint64(2**63), numpy.bool_(True), numpy.complex64(1j), "3", None, [1], [1, 2],
)  # fmt: skip
KEYS = (
    1, -1, 11, 12, -12, -13, slice(None), slice(1, None, 5), slice(3, 3), True, numpy.int64(2), [0, 5], ...,
    1.5,
)  # fmt: skip
SHAPES = (12,), (3, 4), (2, 3, 2)


def outcome(act: Callable[[], Any]) -> Any:
    """What comes of it: the result, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = act()
            if result is not None:
                result = numpy.asarray(result).tobytes(), result.dtype, result.shape
        except Exception as error:
            result = type(error), str(error)
    return result, sorted(str(each.message) for each in told)


def same(x: numpy.ndarray, real: numpy.ndarray) -> bool:
    """The same bits; extended precision has some between its elements that say nothing."""
    return repr(x) == repr(real) if real.dtype.char in "gGO" else x.tobytes() == real.tobytes()


def pairs(dtype: str, shape: tuple[int, ...], managed: bool, turned: bool) -> tuple[Any, numpy.ndarray]:
    real = numpy.arange(12).astype(dtype).reshape(shape)
    x = np.asarray(real.copy())
    if managed and dtype in "?bBhHiIlLefdFD":
        with np.options(jit="always"):
            x = x.copy()
        assert x.storage is not None
    return (x.T, real.T) if turned else (x, real)


@pytest.mark.parametrize("managed", [False, True])
@pytest.mark.parametrize("dtype", [*"?bBhHiIlLqQefdgFDG", "O", "S3", "M8[s]"])
def test_writes(dtype: str, managed: bool) -> None:
    with np.options(jit="always" if managed else "auto"):
        for value in SCALARS:
            for key in KEYS:
                x, real = pairs(dtype, (3, 4), managed, False)
                wanted = outcome(lambda real=real, key=key, value=value: real.flat.__setitem__(key, value))
                found = outcome(lambda x=x, key=key, value=value: x.flat.__setitem__(key, value))
                assert found == wanted, (key, value)
                assert same(numpy.asarray(x), real), (key, value)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("managed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["d", "i", "?", "O", "M8[s]"])
def test_reads(dtype: str, shape: tuple[int, ...], managed: bool, turned: bool) -> None:
    with np.options(jit="always" if managed else "auto"):
        for key in KEYS:
            x, real = pairs(dtype, shape, managed, turned)
            found, wanted = (outcome(lambda a=a, key=key: a.flat[key]) for a in (x, real))
            assert found == wanted, key
            if key.__class__ is int and -12 <= key < 12:
                assert type(x.flat[key]) is type(real.flat[key])


@pytest.mark.parametrize("managed", [False, True])
def test_one_iterator_for_all(managed: bool) -> None:
    """It begins anew where something is read or written through it, as NumPy's does."""
    x, real = pairs("d", (3, 4), managed, False)
    ours, theirs = x.flat, real.flat
    for k in range(4):
        assert next(ours) == next(theirs)
        for each in (ours, theirs):
            each[k + 5] = -1.0
            each[::6] = 9
        assert ours[k + 5] == theirs[k + 5] and ours.index == theirs.index and ours.coords == theirs.coords
    assert ours.base is x
    assert numpy.asarray(x).tobytes() == real.tobytes()


@pytest.mark.parametrize("managed", [False, True])
def test_nothing_to_go_through(managed: bool) -> None:
    with np.options(jit="always" if managed else "auto"):
        x, y = np.zeros((0, 3)), numpy.zeros((0, 3))
        for flat, real in ((x.flat, y.flat), (iter(x.flat), iter(y.flat))):
            assert outcome(lambda f=flat: f[0]) == outcome(lambda f=real: f[0])
            flat[:] = 5
            assert len(flat) == 0 and not [*flat]
            assert outcome(lambda f=flat: f[0]) == outcome(lambda f=real: f[0])


@pytest.mark.parametrize("managed", [False, True])
def test_what_waits_keeps_the_values_of_before(managed: bool) -> None:
    with np.options(jit="always" if managed else "auto"):
        x, real = pairs("d", (12,), managed, False)
        y, wanted = x * 2 + 1, real * 2 + 1
        x.flat[3], x.flat[4:6] = 100.0, 7
        z = x + y
        x.flat[3] = -5.0
        real[3], real[4:6] = 100.0, 7
        assert numpy.asarray(y).tolist() == wanted.tolist()
        assert numpy.asarray(z).tolist() == (real + wanted).tolist() and x[3] == -5


def test_arrays_in_arrays_come_as_ours() -> None:
    inner = np.arange(3.0)
    x = np.empty(2, object)
    x.flat[0] = inner
    x.flat[1] = 5
    assert x.flat[0] is inner and x.flat[1] == 5


def test_read_only() -> None:
    for managed in False, True:
        x, real = pairs("d", (3, 4), managed, False)
        x.flags.writeable = real.flags.writeable = False
        for key in (1, slice(2)):
            wanted = outcome(lambda real=real, key=key: real.flat.__setitem__(key, 1.0))
            assert outcome(lambda x=x, key=key: x.flat.__setitem__(key, 1.0)) == wanted


def test_it_is_not_copied_nor_pickled() -> None:
    for does in copy.copy, copy.deepcopy, pickle.dumps:
        wanted = outcome(lambda does=does: does(numpy.ones(3).flat))
        assert outcome(lambda does=does: does(np.ones(3).flat)) == wanted
