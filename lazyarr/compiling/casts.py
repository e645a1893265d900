"""Numbers that are beyond the types of arrays: NumPy warns where it casts them.

In:  what goes into a call of the face while a function is traced, and what comes out.   Out: a verdict.
A trace warns of nothing, and a constant of its kernels is cast once and for all: so what would warn at each
call is Python's.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy

from lazyarr.arrays import ndarray

GREATEST = {numpy.dtype(c).type: float(numpy.finfo(c).max) for c in "efF"}
"""Of the types that a Python number may be too large for."""
LEAST = min(GREATEST.values())


def is_beyond(value: Any, type_: type) -> bool:
    """Is a number finite, and infinite as one of that type?"""
    greatest = GREATEST.get(type_)
    return greatest is not None and not (abs(value) <= greatest or abs(value) == inf or value != value)


def may_warn(given: Any, result: Any) -> bool:
    """Is one of the numbers beyond one of the types of the arrays, or of those that are asked for?"""
    numbers: list[Any] = [x for x in _leaves(given) if isinstance(x, (int, float, complex, numpy.inexact))]
    if all(abs(x) <= LEAST for x in numbers):
        return False
    types_: set[Any] = set()
    x: Any
    for x in _leaves((given, result)):
        if x.__class__ is ndarray:
            types_.add(x.geo.dtype.type)
        elif isinstance(x, numpy.ndarray):
            types_.add(x.dtype.type)
        elif isinstance(x, numpy.dtype):
            types_.add(x.type)
        elif isinstance(x, type):
            types_.add(x)
    return any(is_beyond(x, type_) for x in numbers for type_ in types_)


def _leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, (tuple, list)):
        for item in x:
            yield from _leaves(item)
    else:
        yield x
