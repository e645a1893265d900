"""Ufuncs of one small operand, by NumPy's inner loops: bits, layouts, warnings."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, VALUES, python_calls, same

pytestmark = ONLY_HERE

CALLS = {
    "-": lambda np, x: -x, "abs": lambda np, x: abs(x), "+": lambda np, x: +x, "~": lambda np, x: ~x,
    "absolute": lambda np, x: np.absolute(x), "negative": lambda np, x: np.negative(x),
    "sqrt": lambda np, x: np.sqrt(x), "exp": lambda np, x: np.exp(x),
}  # fmt: skip
LAYOUTS: dict[str, Any] = {
    "run": lambda x: x, "steps": lambda x: x[::2], "turned": lambda x: x[::-1], "apart": lambda x: x[::-3],
    "matrix": lambda x: x.reshape(6, -1), "columns": lambda x: x.reshape(6, -1).T,
    "part": lambda x: x.reshape(6, -1)[:, 1:3], "empty": lambda x: x[:0],
    "no axes": lambda x: x[3].reshape(()),
    "one": lambda x: x[5:6], "repeated": lambda x: numpy.broadcast_to(x[:4], (3, 4)),
    "not aligned": lambda x: numpy.frombuffer(b"x" + x.tobytes(), x.dtype, offset=1),
}
SPECIAL = [numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 5e-324, -1e308, 127, -128, 3, -3, 255]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", [*"?bBhHiIlLqQefdFD", ">f8"])
def test_bits(dtype: str, call: str, layout: str) -> None:
    with numpy.errstate(all="ignore"):
        x = LAYOUTS[layout](numpy.array(SPECIAL * 5).astype(dtype))
    outcomes = []
    for module, given in ((numpy, x), (np, np.asarray(x))):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                made = CALLS[call](module, given)
            except TypeError as error:
                outcomes.append((type(error), str(error).replace("lazyarr", "numpy")))
                continue
        real = numpy.asarray(made)
        said = [str(w.message) for w in found]
        outcomes.append((real.dtype, real.shape, real.strides, real.tobytes(), said))
    assert outcomes[0] == outcomes[1]


def test_results_are_new_and_run_no_python() -> None:
    x = np.array(VALUES)
    for fn, expected in ((operator.neg, -VALUES), (abs, abs(VALUES)), (np.absolute, abs(VALUES))):
        found, calls = python_calls(fn, x)
        assert same(found, expected) and not calls
        found += 1
        assert same(x, VALUES)


def test_they_are_counted() -> None:
    x = np.array(VALUES)
    before = np.debug.counters()["numpy_eager"]
    -x, abs(x), np.negative(x)
    assert np.debug.counters()["numpy_eager"] == before + 3


def test_sizes() -> None:
    for n in (8191, 8192, 8193, 65536, 70_000):
        real = numpy.arange(float(n)) - 9
        assert same(-np.array(real), -real) and same(abs(np.array(real)), abs(real))
