"""convolve and correlate with few weights: stencils with NumPy's bits.

In:  a sequence that waits, or is large, and weights, as NumPy takes them.   Out: a lazy sequence.
Where all weights meet elements, NumPy adds up to `MOST` products one after the other, from zero on; near the
ends, and of more weights, BLAS does, whose order is its own.  So both ends are NumPy's, computed when they
are needed from as many elements as there are weights.
Always holds: the running NumPy was seen to add up so (a build that fuses products and sums would not); no
floating-point flag is looked at, as in NumPy.
"""

from __future__ import annotations

import functools
from typing import Any, cast

import numpy

from lazyarr.arrays import Unsupported, capture, fresh_array, ndarray, now, part
from lazyarr.creation import unset
from lazyarr.expr import Opaque
from lazyarr.geometry import fresh
from lazyarr.indexing import write
from lazyarr.lazy_calls import is_worth
from lazyarr.movement import convert
from lazyarr.namespace import adapt

MOST = 11
"""Weights whose products NumPy adds up in a loop of its own."""

KINDS = "fd"
"""Types of results; integers that overflow, and complex numbers, are NumPy's."""

_add, _multiply = adapt(numpy.add), adapt(numpy.multiply)


def convolve(a: Any, v: Any, mode: Any = "full") -> ndarray:
    """numpy.convolve, of a long sequence by a short one."""
    return _sums(a, _weights(a, v)[::-1], mode)


def correlate(a: Any, v: Any, mode: Any = "valid") -> ndarray:
    """numpy.correlate, likewise."""
    return _sums(a, _weights(a, v), mode)


def _weights(a: Any, v: Any) -> numpy.ndarray:
    """The weights, as they are now, of the result's type."""
    if a.__class__ is not ndarray or a.geo.ndim != 1 or not is_worth(a):
        raise Unsupported
    if v.__class__ is ndarray or v.__class__ is numpy.ndarray:
        count = v.size
    else:
        count = len(v) if v.__class__ in (list, tuple) else 0
    if not 0 < count <= MOST:
        raise Unsupported
    if v.__class__ is ndarray:
        v = now(v)
    weights = numpy.asarray(v)
    if weights.ndim != 1 or weights.dtype.kind not in "bif" or weights.size > a.geo.size:
        raise Unsupported
    result = numpy.result_type(a.geo.dtype, weights.dtype)
    if result.char not in KINDS or a.geo.dtype.kind != "f" or not _is_proved(result.char):
        raise Unsupported
    return numpy.array(weights, result)


@functools.cache
def _is_proved(char: str) -> bool:
    """Does the running NumPy add up as is said above?"""
    x = numpy.sin(numpy.arange(64.0)).astype(char)
    for n in range(1, MOST + 1):
        m, weights = x.size - n + 1, x[-n:] * x.dtype.type(3)
        found = numpy.zeros(m, char)
        for k, weight in enumerate(weights):
            found += x[k : k + m] * weight
        if found.tobytes() != numpy.correlate(x, weights, "valid").tobytes():
            return False
    return True


def _sums(a: ndarray, weights: numpy.ndarray, mode: Any) -> ndarray:
    """Of each element and those behind it, times the weights."""
    n, m = weights.size, a.geo.size - weights.size + 1
    if mode.__class__ is not str or mode not in ("full", "same", "valid"):
        raise Unsupported
    with numpy.errstate(all="ignore"):
        x = convert(a, weights.dtype)
        found: Any = weights.dtype.type(0)
        for k, weight in enumerate(weights):
            found = _add(found, _multiply(part(x, x.geo[k : k + m]), weight))
        before = {"full": n - 1, "same": n // 2, "valid": 0}[mode]
        behind = {"full": n - 1, "same": n - 1 - n // 2, "valid": 0}[mode]
        if not before and not behind:
            return cast(ndarray, found)
        target = unset(fresh((before + m + behind,), weights.dtype))
        write(target, target.geo[before : before + m], found)
        ends = (target.geo[:before], x.geo[:n], n - 1 - before), (target.geo[before + m :], x.geo[-n:], n)
        for region, seen, first in ends:
            if region.size:
                write(target, region, _end(part(x, seen), weights, first, region.size))
    return target


def _end(x: ndarray, weights: numpy.ndarray, first: int, count: int) -> ndarray:
    """Some of the sums of as many elements as there are weights, from one on."""
    op = Opaque(_by_numpy, "correlate", (weights.tobytes(), first, count))
    return fresh_array(op, (capture(x),), fresh((count,), weights.dtype))


def _by_numpy(region: numpy.ndarray, x: numpy.ndarray, weights: bytes, first: int, count: int) -> None:
    found = numpy.correlate(x, numpy.frombuffer(weights, x.dtype), "full")
    region[...] = found[first : first + count]
