"""Objects of the program's own whose `__array__` returns a lazy array: NumPy takes only its own arrays there.

In: a call into NumPy that was refused for that.   Out: the same call with stand-ins, whose `__array__`
returns the real memory; all else, `__array_wrap__` and `__array_priority__` too, is the object's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.arrays import export, ndarray

REFUSED = "__array__ method not producing an array"
"""In the text of NumPy's ValueError."""


class ArrayLike:
    """Stands for one such object in one call."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._original.__array__(*args, **kwargs)
        return export(found) if found.__class__ is ndarray else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def stand_in(x: Any, depth: int = 0) -> Any:
    """x, or what stands for it, inside lists and tuples too."""
    c = x.__class__
    if (c is list or c is tuple) and depth < 64:
        return c([stand_in(y, depth + 1) for y in x])
    if isinstance(x, (numpy.ndarray, numpy.generic, type)) or not hasattr(x, "__array__"):
        return x
    return ArrayLike(x)


def _give_back(x: Any) -> None:
    """Put the originals into an array of objects, in place of what stands for them."""
    if x.__class__ is numpy.ndarray and x.dtype == object:
        held = [y.__class__ is ArrayLike for y in x.ravel().tolist()]
        if any(held):
            where = numpy.array(held).reshape(x.shape)
            x[where] = numpy.fromiter((y._original for y in x[where]), object)


def accepted(refusal: ValueError, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """fn(*args, **kwargs) once more, with stand-ins, if that is what NumPy refused; else the refusal.

    NumPy has neither written nor kept anything when it refuses."""
    if REFUSED not in str(refusal):
        try:
            raise refusal
        finally:
            del refusal                 # which refers to this frame, and the frame to all arrays
    result = fn(*[stand_in(x) for x in args], **{k: stand_in(x) for k, x in kwargs.items()})
    for x in (result, *args, *kwargs.values()):
        _give_back(x)
    return result
