"""Keys with arrays among their parts: NumPy's elements, errors and order, without Python."""

from __future__ import annotations

import gc
import operator
import subprocess
import sys
import warnings
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, Garbage, W, both, collecting_early, lazy, python_calls, same

pytestmark = ONLY_HERE

ROWS, COLUMNS = numpy.array([3, 0, -1, 3]), numpy.array([5, 99, -100, 5], "i2")
KEYS: dict[str, Any] = {
    "row": (3, COLUMNS), "rows": (ROWS, 4), "pairs": (ROWS, COLUMNS), "from the end": (-1, COLUMNS),
    "columns": (slice(5), COLUMNS), "rows of a part": (ROWS, slice(2, 90, 7)),
    "lists": ([1, 2, 3], [4, 5, 5]),
    "list and number": ([1, 2], 7), "list and array": ([1, 2, 3, 4], COLUMNS), "axis": (None, ROWS, 3),
    "apart": (ROWS, None, COLUMNS), "NumPy's number": (numpy.int8(5), COLUMNS),
    "empty": (ROWS[:0], COLUMNS[:0]),
    "one": (ROWS[:1], COLUMNS[:1]), "one for all": (ROWS[:1], COLUMNS), "alone": ROWS, "list": [5, 6, 5],
    "alone in a tuple": (ROWS,), "truths": ([True, False, True] + [False] * 97, 3),
}  # fmt: skip
VALUES = numpy.arange(2000.0).reshape(40, 50)
WRONG: dict[str, Any] = {
    "out of bounds": (3, COLUMNS + 200), "too many": (1, 2, ROWS), "lengths": (ROWS, COLUMNS[:3]),
    "a fraction": (3.5, COLUMNS), "fractions": (3, COLUMNS + 0.5), "text": ("3", COLUMNS),
}  # fmt: skip
ELSEWHERE: dict[str, Any] = {
    "mask": (slice(None), W > 3), "square": (ROWS.reshape(2, 2), 3), "crossed": (ROWS[:, None], COLUMNS),
    "ellipsis": (..., COLUMNS), "truth": (True, ROWS, 3), "range": (range(4), COLUMNS),
    "deep": ([[1, 2], [3, 4]], 2),
}  # fmt: skip


def operands(large: bool) -> tuple[Any, numpy.ndarray]:
    if large:
        return both()
    real = both()[1][:100].copy()
    return np.array(real), real


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("given", ["lazy", "NumPy's"])
@pytest.mark.parametrize("name", KEYS)
def test_elements_are_picked_without_python(name: str, given: str, large: bool) -> None:
    x, real = operands(large)
    real_key: Any = KEYS[name] if not (large and name == "truths") else ([True] + [False] * 3999, 3)
    key = lazy(real_key) if given == "lazy" else real_key
    found, calls = python_calls(operator.getitem, x, key)
    assert calls == 0 and same(found, real[real_key])
    assert found.flags.writeable and found.strides == real[real_key].strides
    for value in 2.5, found * 2, W[:1]:
        _, calls = python_calls(operator.setitem, x, key, lazy(value))
        real[real_key] = numpy.asarray(value)
        assert calls == 0 and same(x[key], real[real_key])
    assert same(x.copy(), real)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", [*WRONG, *ELSEWHERE])
def test_what_is_none_of_these_is_numpys(name: str, large: bool) -> None:
    x, real = operands(large)
    real_key = {**WRONG, **ELSEWHERE}[name]
    key = lazy(real_key)
    acts = (
        operator.getitem, lambda x, key: operator.setitem(x, key, 7),
        lambda x, key: operator.setitem(x, key, W[:3]),
    )  # fmt: skip
    for act in acts:
        try:
            expected = act(real, real_key)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)) as raised:
                act(x, key)
            assert str(raised.value) == str(error)
        else:
            assert same(act(x, key), expected)
        assert same(x.copy(), real)


def test_long_lists_pick_rows_of_small_arrays_without_python() -> None:
    """It is the elements picked that have to be few, not the array's times the list's."""
    real = numpy.arange(2400.0).reshape(1200, 2)
    x = np.array(real)
    for key in (list(range(0, 1200, 5)), [True, False] * 600, [-1] * 900, []):
        found, calls = python_calls(operator.getitem, x, key)
        assert calls == 0 and same(found, real[key])
    for key in ([0, 1200], [1.5], [True], [3, None]):
        with pytest.raises(IndexError):
            x[key]
    wide = np.array(numpy.ones((20, 1000)))
    many: Any = wide[[3] * 200]
    assert many.shape == (200, 1000) and many.storage is not None
    with pytest.raises(IndexError):
        np.array(5.0)[[0]]


def test_large_results_wait() -> None:
    x, real = both()
    columns = numpy.arange(90)
    found = x[:, np.array(columns)]
    assert found.storage is not None and same(found.copy(), real[:, columns])


def test_what_reads_the_old_value_is_computed_before() -> None:
    x, real = both()
    later = x + 1
    x[3, np.array(COLUMNS)] = 0
    x[np.array(ROWS), 7] += 1
    assert same(later.copy(), real + 1)
    real[3, COLUMNS] = 0
    real[ROWS, 7] += 1
    assert same(x.copy(), real)


def test_what_overlaps_is_read_first() -> None:
    for large in False, True:
        x, real = operands(large)
        for m, ii in (x, np.array(COLUMNS)), (real, COLUMNS):
            m[4, ii] = m[4, 7:11]
            m[5, 3:7] = m[5, ii]
            m[m[0, :4].astype(int) % 9, 2] = m[:4, 2]
        assert same(x.copy(), real)


def test_read_only_and_complex_values() -> None:
    for large in False, True:
        x, real = operands(large)
        x = x * 1
        x.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            x[3, np.array(COLUMNS)] = 2
        y = np.array(real)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(np.exceptions.ComplexWarning):
                y[3, np.array(COLUMNS)] = np.ones(4, complex)


def test_nothing_leaks() -> None:
    x, _ = both()
    ii, jj = np.array(ROWS), np.array(COLUMNS)
    kept = numpy.asarray(ii)
    objects = ii, jj, kept, kept.dtype, KEYS, None, 3

    def run() -> None:
        for _ in range(200):
            x[3, ii], x[ii, jj], x[ii, None, jj]
            x[3, ii] = 2.0
            x[ii, jj] += 1
            for wrong in ((3, ii * 1000), (3, ii, 3), (3.5, ii)):
                with pytest.raises(IndexError):
                    x[wrong]

    run()                                       # (what is loaded once it pays refers to them, too)
    gc.collect()                                # (garbage of others may refer to the last ones)
    before = [sys.getrefcount(each) for each in objects]
    run()
    after = [sys.getrefcount(each) for each in objects]
    assert all(abs(now - then) < 100 for now, then in zip(after, before, strict=True))


PICKS = """
import numpy, lazyarr as np
from lazyarr.slot_words import ANSWERED
x, ii = np.array(numpy.ones((20, 20))), np.array([1, 2])
for _ in range(6000):
    x[3, ii]
assert ANSWERED.value > 1000, ANSWERED.value
"""


def test_programs_that_only_pick_have_machine_code() -> None:
    subprocess.run([sys.executable, "-c", PICKS], check=True, timeout=120)


@pytest.mark.parametrize("is_large", [False, True])
def test_another_array_while_the_key_is_made(is_large: bool) -> None:
    """A new tuple may have garbage collected, whose finalizer gives the array other memory."""
    key, ran, kept = ([0, 1, 2], [0, 1, 2]), list[bool](), list[Any]()
    for _ in range(8):
        x, real = both() if is_large else (np.array(VALUES), VALUES.copy())
        expected = [numpy.resize(real, (30, 30))[key]]
        if sys.version_info >= (3, 12):                     # the collector may wait until the line is done
            expected.append(real[key])

        def act(x: Any = x) -> None:
            x.resize((30, 30), refcheck=False)
            kept.append(numpy.full((30, 30), -1.0))         # where the old one was, perhaps
            ran.append(True)

        for assigns in False, True:
            Garbage(act)
            with collecting_early():
                if assigns:
                    x[key] = 5.0
                else:
                    found = x[key]
            if not assigns and x.shape == (30, 30):
                assert any(same(found, each) for each in expected)
    assert ran and x.shape == (30, 30) and (numpy.array(x)[key] == 5).all()
