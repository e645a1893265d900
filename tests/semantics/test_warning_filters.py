"""Warning filters: those in force at the call decide about the warnings of a lazy operation."""

from __future__ import annotations

import warnings

import numpy
import pytest

import lazyarr as np
from lazyarr import error_state


@pytest.fixture
def arrays():
    a, zero = np.array(numpy.ones(100_000)), np.array(numpy.zeros(100_000))
    np.evaluate(a, zero)
    return a, zero


def shown(run):
    """The warnings that `run` gives, one by one."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(w.message) for w in found]


def test_ignored_at_the_call_is_ignored_later(arrays):
    a, zero = arrays
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = a / zero
    assert not np.is_evaluated(y)
    assert shown(lambda: np.evaluate(y)) == []


def test_some_categories_are_ignored(arrays):
    a, zero = arrays
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="divide by zero")
        y, z = a / zero, zero / zero
    assert not np.is_evaluated(y)
    assert shown(lambda: np.evaluate(y, z)) == ["invalid value encountered in divide"]


def test_a_block_that_records_has_them_at_its_end(arrays):
    a, zero = arrays
    assert shown(lambda: a / zero) == ["divide by zero encountered in divide"]
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.sqrt(-a)


def test_errors_are_raised_at_the_call(arrays):
    a, zero = arrays
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            a / zero


def test_a_write_that_raises_is_done_as_in_numpy(arrays):
    _, zero = arrays
    found = []
    for x, y in ((np.array(numpy.arange(100_000.0)), zero), (numpy.arange(100_000.0), numpy.zeros(100_000))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                x /= y
        found.append(numpy.asarray(x).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("take", [lambda a: (a[::-1], a), lambda a: (a[1:], a[:-1]), lambda a: (a, a)])
@pytest.mark.parametrize("name", ["floor_divide", "divide", "remainder"])
def test_a_raising_write_over_its_own_operand_is_done_as_in_numpy(name, take, pending):
    """NumPy computes in a copy where they overlap in another order, and an error discards the copy."""
    kept = []
    for mod in (numpy, np):
        a = mod.array(numpy.arange(200_000.0) % 101)
        if pending:
            a = a * 1
        out, x = take(a)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match=f"encountered in {name}"):
                getattr(mod, name)(out, x, out=out)
        kept.append(numpy.asarray(a))
    numpy.testing.assert_array_equal(kept[1], kept[0])


def test_what_was_called_before_does_not_raise(arrays):
    a, zero = arrays
    y = a / zero
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("error")
        assert y[3] == numpy.inf
    assert [str(w.message) for w in found] == ["divide by zero encountered in divide"]


@pytest.mark.parametrize("how", [{"message": ".* in divide"}, {"module": "here"}, {"lineno": 7}])
def test_filters_that_look_at_the_warning_are_asked_at_the_call(arrays, how):
    a, _ = arrays
    with warnings.catch_warnings():
        warnings.filterwarnings("error", **how)
        assert error_state.prompt() and np.is_evaluated(a + a)
    assert not error_state.prompt() and not np.is_evaluated(a + a)


@pytest.mark.parametrize("how", [{"message": "numpy.dtype size changed"}, {"category": DeprecationWarning}])
def test_filters_of_other_warnings_change_nothing(arrays, how):
    a, _ = arrays
    with warnings.catch_warnings():
        warnings.filterwarnings("error", **how)
        assert not error_state.prompt() and not np.is_evaluated(a + a)


def test_changes_in_place_are_seen(arrays):
    with warnings.catch_warnings():
        assert not error_state.prompt()
        warnings.simplefilter("error", append=True)
        warnings.simplefilter("error")
        assert error_state.prompt()
        warnings.resetwarnings()
        assert not error_state.prompt()


def test_one_sample_warns_of_nothing() -> None:
    with np.options(jit="always"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in 0, 2.5:
            assert np.linspace(start, 3, 1).tolist() == [start]
