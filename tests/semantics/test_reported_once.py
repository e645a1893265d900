"""Values that are cast by an assignment report errors once, whoever computes it in the end."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarr as np

ASSIGNED = {
    "a row": lambda m, x: x.__setitem__(-1, 1e300),
    "a slice": lambda m, x: x.__setitem__(slice(1, 3), numpy.complex64(1j)),
    "all": lambda m, x: x.__setitem__(slice(None), numpy.float64(1e300)),
    "an element": lambda m, x: x.__setitem__((0, 0), 1e300),
    "a list": lambda m, x: x.__setitem__(slice(None), [1e300] * x.shape[1]),
    "not a number": lambda m, x: x.__setitem__(slice(None), numpy.float64("nan")),
    "fill": lambda m, x: x.fill(1e300),
    "flat": lambda m, x: x.flat.__setitem__(slice(None), 1e300),
    "full": lambda m, x: m.full(x.shape, 1e300, x.dtype),
    "full_like": lambda m, x: m.full_like(x, 1e300),
}


def reported(m: Any, run: Any, dtype: str, **state: Any) -> list[Any]:
    """Warnings, calls and errors."""
    x, heard = m.ones((300, 400), dtype), []
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        with m.errstate(**state, call=lambda *told: heard.append(told)):
            try:
                run(m, x)
            except (FloatingPointError, OverflowError, TypeError) as error:
                heard.append((type(error), str(error)))
    return [*heard, *[(w.category, str(w.message)) for w in met], numpy.asarray(x).tobytes()]


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("dtype", ["f4", "f2", "u1"])
def test_once(dtype: str, jit: str) -> None:
    for name, run in ASSIGNED.items():
        for state in ({"over": "call"}, {"all": "call"}, {"all": "raise"}, {"all": "warn"}):
            with np.options(jit=jit):
                found = reported(np, run, dtype, **state)
            assert found == reported(numpy, run, dtype, **state), (name, state)
