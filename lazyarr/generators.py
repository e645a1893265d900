"""Random generators' uniform draws, lazily: the state is captured at the call, the numbers come later.

In:  a NumPy Generator and the arguments of `random` or `uniform`.   Out: what NumPy returns, or a pending
array of the same numbers.
A large draw from a bit generator that can jump (`draws.STREAMS`) is a node that holds the state as of
now, and the bit generator is advanced at the call.  So the program's order of draws is kept, whoever else
draws from the same bit generator, and a draw that nobody looks at costs nothing.  All other draws are
NumPy's, at the call; those of RandomState and `numpy.random`'s functions too: MT19937 does not jump cheaply.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from lazyarr.arrays import fresh_array, ndarray, plain, wrap
from lazyarr.config import current
from lazyarr.creation import MOST
from lazyarr.direct import EAGER
from lazyarr.draws import DRAWS, conforms
from lazyarr.dtypes import char_of
from lazyarr.expr import Expr, Read, map_of
from lazyarr.fallback import fallback
from lazyarr.geometry import LEGACY_AXES, PROBED, fresh, probe
from lazyarr.slot_words import FORCED
from lazyarr.values import Positions

WORTH = 1 << 18
"""Elements up to which NumPy draws at the call: a node and its launch cost what so many numbers gain."""

SIZES = frozenset((type(None), int, tuple))
"""Types of a size that NumPy and these rules understand alike."""

STEP_BYTES = 8
"""Of a step's positions: one of a float64, two of float32."""

ZERO, ONE = numpy.float64(0), numpy.float64(1)
FLOATS = frozenset((int, float, numpy.float64))
"""Bounds that are exactly what NumPy takes them for."""


def random(self: Any, size: Any = None, dtype: Any = numpy.float64, out: Any = None) -> Any:
    """See `numpy.random.Generator.random`; large results are lazy."""
    real = getattr(self, "_real", self)     # Generator.random(x) takes NumPy's own, too
    if out is not None or size.__class__ not in SIZES:
        return fallback(real.random, size, dtype, out)
    if size is not None and is_large(size) and (shape := _shape(size)):
        found = _drawn(real, shape, _char(dtype), ZERO, ONE)
        if found is not None:
            return found
    return given(real.random(size, dtype))


def uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    """See `numpy.random.Generator.uniform`; large results are lazy."""
    real = getattr(self, "_real", self)
    if low.__class__ not in FLOATS or high.__class__ not in FLOATS or size.__class__ not in SIZES:
        return fallback(real.uniform, low, high, size)
    if size is not None and is_large(size) and (shape := _shape(size)) and (scale := _scale(low, high)):
        found = _drawn(real, shape, "d", *scale)
        if found is not None:
            return found
    return given(real.uniform(low, high, size))


def given(result: Any) -> Any:
    """What NumPy drew, as ours."""
    if result.__class__ is numpy.ndarray and result.nbytes <= EAGER and result.base is None:
        return plain(result) if not FORCED.value else wrap(result)
    return wrap(result)


def is_large(size: Any) -> bool:
    """Is a draw worth a node?  (What is no size is NumPy's to refuse.)"""
    n = size
    if size.__class__ is tuple:
        try:
            n = math.prod(size)
        except TypeError:
            return False
    jit = current.jit
    return MOST >= n > WORTH if jit == "auto" else jit == "always" and 0 < n <= MOST


def _shape(size: Any) -> tuple[int, ...] | None:
    """A large size as a shape; None where NumPy must see to it."""
    shape = size if size.__class__ is tuple else (size,)
    right = len(shape) <= LEGACY_AXES and all(n.__class__ is int and n >= 0 for n in shape)
    return shape if right else None


def _char(dtype: Any) -> str:
    """The character of a dtype; what cannot be drawn is NumPy's to refuse."""
    try:
        return char_of(numpy.dtype(dtype)) or ""
    except TypeError:
        return ""


def _scale(low: Any, high: Any) -> tuple[numpy.float64, numpy.float64] | None:
    """Low end and length of an interval, computed as NumPy does; None where NumPy refuses it."""
    try:
        begin, length = float(low), float(high) - float(low)
    except OverflowError:
        return None
    return (numpy.float64(begin), numpy.float64(length)) if 0 <= length < math.inf else None


def _drawn(
    real: numpy.random.Generator, shape: tuple[int, ...], char: str, low: numpy.float64, length: numpy.float64
) -> ndarray | None:
    """The next numbers of a generator, pending; None where NumPy must draw them."""
    bits = real.bit_generator
    name = type(bits).__name__
    draw = DRAWS.get(f"{name}_{char}")
    if draw is None or type(bits) is not getattr(numpy.random, name) or not conforms(name, char):
        return None
    region = fresh(shape, numpy.dtype(char))
    places = fresh(shape, numpy.dtype(draw.position))
    if region.nbytes >= PROBED:
        probe(region)                   # before the stream moves on
    with bits.lock:
        found = draw.after(bits.state, math.prod(shape))
        if found is None:
            return None
        (words, first), bits.state = found
    positions = Positions(places)
    origin = positions.address - STEP_BYTES * first
    constants = [numpy.uint64(x) for x in (origin, *words)]
    scale = (low, length) if char == "d" else ()
    inputs = (Read(Expr.leaf(positions), places), *constants, *scale)
    return fresh_array(map_of(draw.name, draw.sig), inputs, region)


LAZY = {"random": random, "uniform": uniform}
"""Methods of a Generator that are more than NumPy's."""
