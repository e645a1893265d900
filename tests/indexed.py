"""Programs that index with integers, against NumPy.

Extents lie round the boundaries of vectors and chunks; positions count from both ends, and repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazyarr

RNG = numpy.random.default_rng(31)
CHARS = "?bhilBHILefdFD"
POSITIONS = "bhilBHI"

Program = Callable[[Any, Callable[[Any], Any]], Any]

def values(char: str, shape: Any) -> numpy.ndarray:
    found = RNG.integers(0, 100, shape)
    return (found > 50) if char == "?" else found.astype(char)


def positions(n: int, shape: Any, char: str = "l") -> numpy.ndarray:
    low = 0 if char in "BHI" else -n
    return RNG.integers(low, n, shape).astype(char)


def alike(program: Program) -> None:
    """The same elements, dtype and memory order."""
    theirs = program(numpy, numpy.copy)
    mine = numpy.asarray(program(lazyarr, lazyarr.array))
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    assert mine.tobytes() == theirs.tobytes()
    if theirs.ndim and 1 not in theirs.shape:
        assert mine.strides == theirs.strides
