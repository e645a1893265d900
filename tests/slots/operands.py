"""What the tests of slots share: counting Python functions, comparing with NumPy."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import object_fields as fields
from lazyarr.resting import Collecting
from lazyarr.slots import attach
from lazyarr.subclass import looked_up

attach()                                    # else they wait until they pay

VALUES = numpy.arange(12.0) - 3

ONLY_HERE = pytest.mark.skipif(
    sys.platform != "linux" or not fields.are_known(), reason="slots are for Linux on x86-64"
)


APART = looked_up.__code__, Collecting.bring_back.__code__
"""Run since some test has made a subclass, and where garbage happens to be collected."""


def python_functions(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """What a C function gives, and which Python functions of ours ran meanwhile, in order."""
    names: list[str] = []

    def note(frame: Any, event: str, arg: Any) -> None:
        ours = event == "call" and "lazyarr" in frame.f_globals.get("__name__", "")
        if ours and frame.f_code not in APART:
            names.append(f"{frame.f_globals['__name__']}.{frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        result = fn(*args, **kwargs)
    finally:
        sys.setprofile(None)
    return result, names


def python_calls(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, int]:
    """What a C function gives, and how many Python functions of ours ran meanwhile."""
    result, names = python_functions(fn, *args, **kwargs)
    return result, len(names)


def same(found: Any, expected: Any) -> bool:
    """Equal, and of the types that they should have; tuples part by part."""
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if type(found) is not (np.ndarray if type(expected) is numpy.ndarray else type(expected)):
        return False
    x, y = numpy.asarray(found), numpy.asarray(expected)
    return x.dtype == y.dtype and numpy.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def lazy(x: Any) -> Any:
    """The same arguments with lazy arrays."""
    if isinstance(x, list | tuple):
        return type(x)(map(lazy, x))
    return np.array(x) if isinstance(x, numpy.ndarray) else x


SHAPE = 4000, 100
"""Of a large array, with small rows."""
W = numpy.arange(100) % 7 + 0.5


def both(dtype: Any = "f8") -> tuple[Any, numpy.ndarray]:
    """A large array that is computed, and NumPy's of the same values."""
    real = ((numpy.arange(400_000) * 7919) % 1009).reshape(SHAPE).astype(dtype)
    x = np.array(real) * np.array(1, dtype)
    np.evaluate(x)
    return x, real


def all_that_shows(text: str, names: dict[str, Any], array: Any) -> tuple[Any, ...]:
    """What a program raises, and warns of, and where, and what the first rows of an array hold afterwards."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            exec(compile(text.strip(), "the program's", "exec"), names)
            error = None
        except Exception as raised:
            error = type(raised), str(raised)
    told = [(x.category, str(x.message), x.filename) for x in given]
    return error, told, numpy.array(array[:9]).tobytes()


class Garbage:
    """Garbage that only the collector frees, which runs what it was given."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act, self.own = act, self

    def __del__(self) -> None:
        self.act()


@contextmanager
def collecting_early() -> Iterator[None]:
    """The next container, new tuples of few parts among them, has garbage collected."""
    enabled, before = gc.isenabled(), gc.get_threshold()
    gc.disable()
    taken = [tuple([0] * n) for n in (1, 2, 3) for _ in range(3000)]        # (else freed ones are used again)
    gc.set_threshold(1, 1000, 1000)
    gc.enable()
    try:
        yield
    finally:
        gc.disable()
        del taken
        gc.set_threshold(*before)
        if enabled:
            gc.enable()
