"""Views by machine code are NumPy's: shape, strides, flags, what they are views of, what they write to."""

from __future__ import annotations

import operator
import random
import re
import sys
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, python_calls


class Index:
    """An integer that runs Python."""

    def __index__(self) -> int:
        return 1


BOUNDS = [None, None, 0, 1, 2, 3, 5, -1, -2, -7, 9, 100, -100, 1 << 62, -(1 << 63), 1 << 70, Index(), True]
STEPS = [None, 1, 2, -1, -2, 3, 0, -5, 1 << 62, -(1 << 63)]


def part(by: random.Random) -> Any:
    kind = by.random()
    if kind < 0.35:
        return by.randrange(-4, 4)
    if kind < 0.9:
        step = by.choice(STEPS) if by.random() < 0.5 else None
        return slice(by.choice(BOUNDS), by.choice(BOUNDS), step)
    return by.choice([..., None, numpy.int64(1), Index(), slice(numpy.int64(1), None)])


def looks(x: Any, key: Any) -> Any:
    """All that there is to see of a part, and of a part of that."""
    try:
        v = x[key]
    except (IndexError, ValueError, TypeError) as error:
        return type(error), str(error)
    if not hasattr(v, "flags") or isinstance(v, numpy.generic):
        return type(v), bytes(v)
    again = v[..., ::-1] if v.ndim else v
    flags = v.flags
    return (
        v.shape, v.strides, v.dtype is x.dtype, flags.writeable, flags.owndata, flags.c_contiguous,
        flags.f_contiguous, flags.aligned, v.base is x, numpy.asarray(v).tobytes(), again.strides,
        again.base is x,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_parts(seed: int) -> None:
    by = random.Random(seed)
    for _ in range(400):
        shape = [by.randrange(0, 5) for _ in range(by.randrange(0, 5))]
        real = numpy.arange(numpy.prod(shape, dtype=int)).astype(by.choice("dlf?De")).reshape(shape).copy()
        x = np.array(real)
        if by.random() < 0.2:
            real.flags.writeable = x.flags.writeable = False
        key = tuple(part(by) for _ in range(by.randrange(0, len(shape) + 2)))
        key = part(by) if by.random() < 0.4 else key
        assert looks(x, key) == looks(real, key), (shape, key)
        said = []
        for z in x, real:
            try:
                z[key] += 1
                said.append("")
            except (IndexError, ValueError, TypeError) as error:
                said.append(str(error))
        assert said[0] == said[1] and numpy.asarray(x).tobytes() == real.tobytes(), (shape, key)


@pytest.mark.parametrize("seed", range(6))
def test_axes_that_are_new_or_passed(seed: int) -> None:
    """Up to more axes than machine code has room for, and more parts than there are axes."""
    by = random.Random(100 + seed)
    for _ in range(500):
        shape = [by.choice((1, 1, 2, 3)) for _ in range(by.randrange(0, 9))]
        real = numpy.arange(numpy.prod(shape, dtype=int) * 1.0).reshape(shape).copy()
        pick = by.choice([
            [None, ..., 0, slice(None)], [None], [0, -1, slice(1), ...], [None, slice(None, None, -1)],
        ])  # fmt: skip
        key: Any = tuple(by.choice(pick) for _ in range(by.randrange(1, 12)))
        key = key[0] if len(key) == 1 and by.random() < 0.5 else key
        x = np.array(real)
        assert looks(x, key) == looks(real, key), (shape, key)
        try:
            real[key] = -7
        except IndexError as error:
            with pytest.raises(IndexError, match=re.escape(str(error))):
                x[key] = -7
        else:
            x[key] = -7
        assert numpy.asarray(x).tobytes() == real.tobytes(), (shape, key)


@ONLY_HERE
@pytest.mark.parametrize(
    "key",
    [..., None, (..., 0), (0, ...), (slice(None), None), (None, 1, ..., None), (1, ..., slice(2))],
)
def test_new_axes_run_no_python(key: Any) -> None:
    x = np.array(numpy.arange(60.0).reshape(3, 4, 5))
    found, calls = python_calls(operator.getitem, x, key)
    assert calls == 0 and found.shape == numpy.asarray(x)[key].shape and found.base is x


def test_other_arrays() -> None:
    for real in (
        numpy.arange(4).astype(">i4"), numpy.array(["a", "bc"]), numpy.array([1, None], object),
        numpy.zeros(3, "f8,i4"), numpy.arange(5).astype("M8[s]"), numpy.zeros((1,) * 12),
        numpy.frombuffer(bytearray(17), "<f8", 2, 1),
        numpy.arange(3.0).astype(numpy.dtype("f8", metadata={"a": 1})),
    ):  # fmt: skip
        x = np.asarray(real)
        for key in slice(1, None), slice(None, None, -1), (slice(1),), (0,) * 11:
            try:
                expected = real[key]
            except IndexError:
                continue
            found = x[key]
            assert found.strides == expected.strides and found.dtype == expected.dtype
            assert found.dtype.metadata == expected.dtype.metadata and repr(found) == repr(expected)


@ONLY_HERE
def test_no_python_runs_and_nothing_leaks() -> None:
    x = np.zeros((3, 4))
    keys = [1, -1, slice(1, None), (slice(None), 2), (slice(None, None, -1), slice(1, 3)), slice(9, 5, 1)]
    objects = x, numpy.asarray(x), x.dtype
    before = [sys.getrefcount(each) for each in objects]
    for _ in range(50):
        for key in keys:
            assert python_calls(operator.getitem, x, key)[1] == 0
    assert [sys.getrefcount(each) for each in objects] == before
    view = x[1:]
    del x
    assert view.base.shape == (3, 4) and view.sum() == 0
