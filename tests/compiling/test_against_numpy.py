"""Replayed calls against NumPy: results, arguments afterwards, warnings, over dtypes, sizes and layouts."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import pytest
from covering import covering

import lazyarr
from tests.compiling.programs import PROGRAMS

DTYPES = ["f8", "f4", "i8", "i4", "u1", "c16", "c8", "b1", "f2"]
LAYOUTS = ["C", "F", "strided", "reversed"]
SHAPES = [(5,), (12,), (4, 3), (1, 7), (300,), (40, 1500)]


def bits(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [bits(item) for item in x]
    if isinstance(x, numpy.ndarray | lazyarr.ndarray):
        real = numpy.asarray(x)
        return real.dtype.char, real.shape, real.tobytes()
    return type(x), numpy.asarray(x).tobytes()


def laid_out(x: Any, layout: str) -> Any:
    if not isinstance(x, numpy.ndarray):
        return x
    if layout == "F":
        return x.copy(order="F")
    if layout == "strided":
        wide = numpy.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "reversed":
        return x[..., ::-1].copy()[..., ::-1]
    return x.copy()


def outcome(f: Any, args: list[Any]) -> Any:
    """What a call gives, and what it leaves behind."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = bits(f(*args))
        except Exception as error:
            result = type(error)
        left = bits(args)
    return result, left, sorted((w.category.__name__, str(w.message)) for w in seen)


def cases(name: str, layout: str) -> list[tuple[str, tuple[int, ...]]]:
    """The dtypes and shapes of a program that are tried with a layout."""
    rows = [
        (each, dtype, shape)
        for each, dtype, shape in itertools.product(LAYOUTS, DTYPES, SHAPES)
        if numpy.dtype(dtype).kind in PROGRAMS[name][2]
        and not (name == "slices" and shape[0] < 3)
        and not (dtype == "f2" and shape == SHAPES[-1])
    ]
    return [(dtype, shape) for each, dtype, shape in (rows[k] for k in covering(rows)) if each == layout]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_give_what_numpy_gives(name: str, layout: str) -> None:
    make, arguments, _ = PROGRAMS[name]
    ours = {own: lazyarr.compile(make(lazyarr)) for own in (False, True)}
    rng = numpy.random.default_rng(sum(map(ord, name + layout)))
    replayed = lazyarr.debug.counters()["traced_calls"]
    tried = cases(name, layout)
    for dtype, shape in tried:
        for _ in range(3):
            given = arguments(rng, shape, dtype)
            want = outcome(make(numpy), [laid_out(x, layout) for x in given])
            for own, f in ours.items():
                args = [laid_out(x, layout) for x in given]
                if own:
                    args = [lazyarr.asarray(x) if isinstance(x, numpy.ndarray) else x for x in args]
                got = outcome(f, args)
                assert got == want, (dtype, shape, f.explain())
    assert lazyarr.debug.counters()["traced_calls"] - replayed >= len(tried) > 5, ours[True].explain()
