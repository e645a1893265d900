"""Constants of launches of row blocks, which come again, or are others."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np


def sweeps(u, factors):
    for c in factors:
        u[1:-1, 1:-1] = c * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def bits(x):
    """With one NaN for all."""
    parts = x.view(x.real.dtype)
    return numpy.where(numpy.isnan(parts), parts.dtype.type("nan"), parts).tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_each_launch_has_its_own(dtype: str) -> None:
    rng = numpy.random.default_rng(3)
    start = rng.uniform(-1, 1, (160, 130)).astype(dtype)
    start[5, 5] = numpy.inf
    turns = [[0.25] * 6, [0.25] * 6, [0.5, 0.25] * 3, [0.25] * 6, [0.0] * 6, [-0.0] * 6, [0.0] * 6]
    turns += [[float("nan")] * 6, [float("nan")] * 6, [0.25, 0.5] * 3, [0.5, 0.25] * 3]
    with np.options(jit="always", plan="always"), numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        mine, theirs = np.array(start), start.copy()
        for factors in turns:
            sweeps(mine, factors)
            np.evaluate(mine)
            sweeps(theirs, factors)
            assert bits(numpy.asarray(mine.copy())) == bits(theirs), factors
            mine[2:9] = 1.5
            theirs[2:9] = 1.5
