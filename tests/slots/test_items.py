"""Elements and parts of large arrays, by machine code where that is all there is to do."""

from __future__ import annotations

import operator
import random
import threading
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.expr import LOCK
from tests.slots.operands import ONLY_HERE, python_calls, same

pytestmark = ONLY_HERE

SHAPES = (300_000,), (600, 500), (60, 50, 100)


def computed(shape: tuple[int, ...]) -> Any:
    x = np.arange(numpy.prod(shape)).reshape(shape) * 1
    np.evaluate(x)
    return x


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elements_run_no_python(shape: tuple[int, ...]) -> None:
    x, real = computed(shape), numpy.arange(numpy.prod(shape)).reshape(shape)
    key: Any = tuple(n // 3 for n in shape)
    key = key if len(shape) > 1 else key[0]
    assert same(x[key], real[key])                      # finds the window
    typed = [tuple(map(numpy.dtype(c).type, numpy.atleast_1d(key) % 100)) for c in "bhilqBHILQ"]
    for k in (key, tuple(-1 for _ in shape), *typed, *[t[0] for t in typed if len(shape) == 1]):
        found, calls = python_calls(operator.getitem, x, k)
        assert calls == 0 and same(found, real[k])


@pytest.mark.parametrize("pending", [True, False])
def test_views_run_no_python(pending: bool) -> None:
    for key in (
        3, slice(2, 500, 7), (slice(None), 4), (2, slice(1)), (slice(None), slice(3)), numpy.int64(-3),
        numpy.uint8(7), (numpy.int32(4), slice(None, None, -1)), None, (None, 3), (..., 5), (7, ..., None),
        (slice(3), None, 4), (numpy.int16(2), 3, ...), (..., None, 2, 4),
    ):  # fmt: skip
        x = np.arange(300_000).reshape(600, 500) * 1
        if not pending:
            np.evaluate(x)
        found, calls = python_calls(operator.getitem, x, key)
        assert calls == 0 and found.base is x and found.storage is x.storage
        assert np.is_evaluated(x) == (not pending)
        assert same(found.copy(), numpy.arange(300_000).reshape(600, 500)[key])
        found[...] = 7
        assert (x[key] == 7).all()


@pytest.mark.parametrize("pending", [True, False])
def test_turned_views_run_no_python(pending: bool) -> None:
    real = numpy.arange(300_000).reshape(600, 5, 100)
    for get in map(operator.attrgetter, ("T", "mT")):
        for cut in (slice(None), 3, (slice(9), 2), (slice(5), slice(2), slice(7, None, -1)), (..., 4)):
            x = np.array(real) * 1
            if not pending:
                np.evaluate(x)
            part = x[cut]
            found, calls = python_calls(get, part)
            assert calls == 0 and found.base is x and found.storage is x.storage and found is not part
            assert np.is_evaluated(x) == (not pending) and same(found.copy(), get(real[cut]).copy())
            found[...] = 7
            assert (part == 7).all()
    with pytest.raises(ValueError, match="ndim"):
        x[0, 0].mT  # noqa: B018
    with pytest.raises(AttributeError):
        x.T = x


def test_small_arrays_are_indexed_by_all_integers() -> None:
    real = numpy.arange(24.0).reshape(2, 3, 4)
    x = np.array(real)
    for c in "bhilqBHILQ":
        for numbers in (1, 2, 3), (0, 0, 0), (1, 2, 4), (2, 0, 0), (-1, -3, -4), (-1, -3, -5):
            if c.isupper() and min(numbers) < 0:
                continue
            key = tuple(map(numpy.dtype(c).type, numbers))
            for k in key, key[:2], key[0], (*key, 0), (key[0], slice(2), key[2]):
                try:
                    expected = real[k]
                except IndexError as error:
                    with pytest.raises(IndexError) as raised:
                        x[k]
                    assert str(raised.value) == str(error)
                else:
                    assert same(x[k], expected)
                    x[k] = real[k] = x[k] + 1
    assert same(x, real)


def test_elements_after_writes() -> None:
    """Memory changes hands, and with it the window."""
    x, real = computed((300_000,)), numpy.arange(300_000)
    for step in range(1, 6):
        assert x[17] == real[17] and x[-1] == real[-1]
        held = x + 0 if step % 2 else None              # the old value is still wanted: no write in place
        x *= step
        real *= step
        assert x[17] == real[17]
        x[17] = step
        real[17] = step
        assert x[17] == real[17] and (held is None or same(held[:3] + 0, real[:3] // step))
        x = np.concatenate((x[:17], x[17:]))
        assert x[17] == real[17]


def test_errors_are_numpys() -> None:
    for shape in SHAPES:
        x, real = computed(shape), numpy.zeros(shape)
        beyond = 10**7, (10**7,) * len(shape), (slice(None), 10**7), 2**70
        for key in (*beyond, (0,) * (len(shape) + 1), "a", 1.5):
            messages = []
            for array in (x, real):
                with pytest.raises(Exception) as raised:
                    array[key]
                messages.append((raised.type, str(raised.value)))
            assert messages[0] == messages[1]


def test_random_keys() -> None:
    rng = random.Random(5)
    slices = slice(None), slice(5, None, 3), slice(40, 2, -4)
    parts: list[Any] = [0, -1, 3, 49, *slices, None, ..., True, numpy.int8(2)]
    for _ in range(400):
        shape = rng.choice(SHAPES)
        x, real = np.arange(300_000).reshape(shape) * 1, numpy.arange(300_000).reshape(shape)
        key: Any = tuple(rng.choice(parts) for _ in range(rng.randint(0, 4)))
        key = key[0] if len(key) == 1 and rng.random() < 0.5 else key
        try:
            expected = real[key]
        except IndexError:
            with pytest.raises(IndexError):
                x[key]
            continue
        found = x[key]
        if type(found) is np.ndarray:
            found, expected = found + 0, expected + 0
        assert same(found, expected)


def test_elements_are_set_without_python() -> None:
    x, real = computed((600, 500)), numpy.arange(300_000).reshape(600, 500)
    x[1, 2] = 0                                         # makes the window
    real[1, 2] = 0
    for key, value in (((3, 4), 7), ((-1, -2), numpy.int8(5)), ((0, 0), True), ((1, 1), 2.75)):
        _, calls = python_calls(operator.setitem, x, key, value)
        real[key] = value
        assert calls == 0 and x[key] == real[key]
    assert same(x + 0, real)
    view = x[:, 3]
    view[5] = 1
    _, calls = python_calls(operator.setitem, view, 5, 99)
    assert calls == 0 and x[5, 3] == 99


def test_what_is_read_by_something_pending_is_not_set() -> None:
    x = computed((300_000,))
    x[0] = 1
    later = x * 2
    x[0] = 5
    assert later[0] == 2 and x[0] == 5
    pending = computed((300_000,)) * 3
    pending[0] = 4
    assert pending[0] == 4 and pending[1] == 3


def test_what_numpy_refuses_is_raised_with_the_lock_released() -> None:
    x = computed((300_000,))
    x[0] = 1
    programs: list[tuple[Any, Any, Any]] = [
        (300_000, 1, IndexError), (0, 2j, TypeError), (0, float("nan"), ValueError), (0, "a", ValueError),
        (0, 10**30, OverflowError),
    ]  # fmt: skip
    for key, value, error in programs:
        with pytest.raises(error) as ours:
            x[key] = value
        with pytest.raises(error) as theirs:
            numpy.arange(300_000)[key] = value
        assert str(ours.value) == str(theirs.value)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    done = threading.Thread(target=lambda: LOCK.acquire() and LOCK.release())
    done.start()
    done.join(5)
    assert not done.is_alive()


def test_elements_wait_for_the_lock() -> None:
    """Somebody else may be computing with the memory."""
    x = computed((300_000,))
    x[0] = 1
    thread = threading.Thread(target=operator.setitem, args=(x, 0, 7))
    with LOCK:
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and x[0] == 1
        x[1] = 3                                        # ours already
    thread.join(5)
    assert x[0] == 7 and x[1] == 3
