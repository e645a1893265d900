"""Inputs that end in the middle of a program are not held together with all of its results."""

from __future__ import annotations

import numpy

import lazyarr as np
from lazyarr.lifetimes import SLACK


def test_what_ends_makes_room_for_results() -> None:
    with np.options(jit="always"):
        x = np.array(numpy.random.default_rng(0).random(1_000_000))
        masks = [x > k / 10 for k in range(1, 9)]
        del x
        results = []
        while masks:
            results.append(masks.pop() * numpy.float32(2 + len(masks)))
        told = np.debug.explain(*results)
        assert told.peak_bytes <= told.eager_peak_bytes + SLACK
