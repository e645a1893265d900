"""A write by a mask that lies elsewhere in what is written: NumPy goes by what the mask is by then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "flipped": lambda np, x: (np.flip(x), x, 0),
    "turned": lambda np, x: (x.T, x, True),
    "moved": lambda np, x: (x[1:], x[:-1], 0),
    "itself": lambda np, x: (x, x, 0),
}


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("size", [6, 300])
@pytest.mark.parametrize("name", WRITES)
def test_values_are_numpys(name: str, size: int, jit: str) -> None:
    found = []
    with np.options(jit=jit):
        for library in (numpy, np):
            x = library.array(numpy.random.default_rng(5).integers(0, 2, (size, size)).astype(bool))
            target, mask, value = WRITES[name](library, x)
            target[mask] = value
            found.append(numpy.asarray(x))
    assert (found[0] == found[1]).all()
