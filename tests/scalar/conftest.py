"""Calls of one function through `numpy.vectorize` and `lazyarr.vectorize`, and how they are compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.scalar import compiled as known

FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-310, -5e-324, 1e308, -1.7976931348623157e308,
    2.0**53, 2.0**63, -(2.0**63), 1e19, 709.0, 710.0, -745.2, 0.1, 7.3, numpy.inf, -numpy.inf, numpy.nan,
]  # fmt: skip
INTS = [
    0, 1, -1, 2, -2, 3, 7, -7, 62, 63, 64, 2**31 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1,
    -(2**63),
]  # fmt: skip


def special(char: str) -> numpy.ndarray:
    """The values of a dtype at which functions change."""
    kind = numpy.dtype(char).kind
    if kind == "b":
        return numpy.array([False, True])
    if kind == "f":
        with numpy.errstate(all="ignore"):
            return numpy.array(FLOATS).astype(char)
    limits = numpy.iinfo(char)
    found = sorted({*INTS, limits.min, limits.max})
    return numpy.array([x for x in found if limits.min <= x <= limits.max], char)


def outcome(vectorize: Any, fn: Any, args: tuple[Any, ...], options: Any, kwargs: Any) -> tuple[Any, Any]:
    """What a program sees of a call: results, or the exception, and warnings; and the vectorized function."""
    v = vectorize(fn, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = v(*args, **kwargs)
            several = found if isinstance(found, tuple) else (found,)
            arrays = [numpy.asarray(x) for x in several]
            seen: Any = [(type(found) is tuple, x.dtype, x.shape, x.strides, bits(x)) for x in arrays]
        except Exception as error:
            seen = type(error), str(error)
    return (seen, [str(w.message) for w in caught]), v


def bits(x: numpy.ndarray) -> Any:
    """The elements; NaNs are alike, whatever their sign."""
    if x.dtype.kind == "f":
        return numpy.where(numpy.isnan(x), x.dtype.type(numpy.nan), x).tobytes()
    return repr(x.tolist()) if x.dtype == object else x.tobytes()


def check(fn: Any, *args: Any, options: Any = None, **kwargs: Any) -> Any:
    """Both calls see the same; the lazy one's vectorized function."""
    wanted, _ = outcome(numpy.vectorize, fn, args, options or {}, kwargs)
    given = [lazyarr.asarray(x) if type(x) is numpy.ndarray else x for x in args]
    named = {k: lazyarr.asarray(x) if type(x) is numpy.ndarray else x for k, x in kwargs.items()}
    seen, v = outcome(lazyarr.vectorize, fn, tuple(given), options or {}, named)
    assert seen == wanted, v.refusal
    return v


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Every size is compiled, every IR verified, and nothing known of other tests."""
    monkeypatch.setattr(known, "_known", {})
    with lazyarr.options(jit="always", verify=True):
        yield
