"""Writes to positions that NumPy refuses are refused in its words, before anything is pending."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np

ONE = (numpy.array([0]),)

REFUSED = {
    "put into a list": lambda m: m.put([1, 2, 3], [0, 2], 5),
    "put_along_axis into a list": lambda m: m.put_along_axis([1, 2, 3], m.array([0]), 5, 0),
    "64 index arrays, read": lambda m: m.ones((1,) * 64)[ONE * 64],
    "64 index arrays": lambda m: m.ones((1,) * 64).__setitem__(ONE * 64, 1.0),
    "64 lazy index arrays": lambda m: m.ones((1,) * 64).__setitem__((m.array([0]) * 1,) * 64, 1.0),
}


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_numpy(name, jit):
    def refusal(m):
        with pytest.raises((TypeError, IndexError, AttributeError)) as caught:
            REFUSED[name](m)
        return type(caught.value), str(caught.value)

    with np.options(jit=jit):
        assert refusal(np) == refusal(numpy)


@pytest.mark.parametrize("jit", ["auto", "always"])
def test_more_axes_than_old_code_takes(jit):
    def written(m):
        x = m.array(numpy.arange(6.0).reshape((2, 3) + (1,) * 31))
        x[[1]] = m.array(numpy.ones((1, 3) + (1,) * 31)) * 5
        return x

    with np.options(jit=jit):
        found = written(np)
        assert numpy.array_equal(found.to_numpy(), written(numpy))
