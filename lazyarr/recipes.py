"""Elementwise calls met before: their nodes are built again without asking NumPy about types and layouts.

In:  a ufunc and its operands.   Out: a new lazy array, or None where the call must be looked at.
A recipe goes by the operands' geometries, which `geometry.fresh` shares among arrays, and by the types of
scalars.  It holds on to its geometries, so no other object ever has their identity.  Of a large part of an
array it is shape, strides and dtype that count: where it lies, nothing depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from lazyarr.arrays import fresh_array, ndarray
from lazyarr.config import current
from lazyarr.dtypes import char_of
from lazyarr.error_state import loud
from lazyarr.expr import Map, Read
from lazyarr.geometry import FRESH, is_fresh
from lazyarr.ops import may_raise

MAX_RECIPES = 4096
"""All are forgotten when there are more."""

WORD = 8
"""The option `eager_elements` counts elements of this size; of smaller ones NumPy does more in a time."""


class Recipe(NamedTuple):
    op: Map
    types: tuple[type, ...]
    """Of the loop's inputs."""
    geo: numpy.ndarray
    """Of the result."""
    measure: float
    """What `eager_elements` is compared with."""
    flagged: bool
    """Can it raise floating-point flags?"""
    pins: tuple[numpy.ndarray, ...]


_recipes: dict[tuple[Any, ...], Recipe] = {}


def measure(size: int, itemsizes: Sequence[int]) -> float:
    """How large a result is for the option `eager_elements`: in elements, or in words if that is less."""
    return min(size, size * max(itemsizes, default=WORD) / WORD)


def _key(fn: numpy.ufunc, args: tuple[Any, ...]) -> tuple[Any, ...]:
    x = args[0]
    first = _seen(x.geo) if x.__class__ is ndarray else x.__class__
    if len(args) == 1:
        return fn, first
    x = args[1]
    return fn, first, _seen(x.geo) if x.__class__ is ndarray else x.__class__


def _seen(geo: numpy.ndarray) -> Any:
    """What a recipe knows a geometry by.  (For small parts there is none: NumPy computes at once.)"""
    i = id(geo)
    if i in FRESH or geo.size <= current.eager_elements:
        return i
    return geo.shape, geo.strides, char_of(geo.dtype) or geo.dtype


def _is_known(geo: numpy.ndarray) -> bool:
    """Is what it is known by the same whenever it is met?"""
    return id(geo) in FRESH or geo.size > current.eager_elements


def remember(
    fn: numpy.ufunc, args: tuple[Any, ...], op: Map, types: tuple[type, ...], geo: numpy.ndarray
) -> None:
    """Keep a recipe for what was looked at, where geometries tell everything about it."""
    pins = tuple([x.geo for x in args if x.__class__ is ndarray and x.storage is not None])
    given = [x for x in args if x.__class__ is ndarray]
    if len(args) > 2 or len(pins) < len(given) or not is_fresh(geo) or not all(map(_is_known, pins)):
        return
    if len(_recipes) >= MAX_RECIPES:
        _recipes.clear()
    size = measure(geo.size, [g.itemsize for g in pins])
    _recipes[_key(fn, args)] = Recipe(op, types, geo, size, may_raise(op), pins)


def again(fn: numpy.ufunc, args: tuple[Any, ...], depth: int) -> ndarray | None:
    """fn(*args) by its recipe, if there is one and the result is not NumPy's at the call."""
    recipe = _recipes.get(_key(fn, args))
    if recipe is None or loud():
        return None
    pending = False
    inputs = []
    scalar = -1
    for k, x in enumerate(args):
        c = x.__class__
        if c is ndarray:
            if x.storage is None:               # (as large as a part of an array that was met)
                return None
            value = x.storage.value
            pending = pending or value.op is not None
            x = Read(value, x.geo)
        elif c is not recipe.types[k]:
            scalar = k
        inputs.append(x)
    jit = current.jit
    if jit != "always" and (jit == "never" or (not pending and recipe.measure <= current.eager_elements)):
        return None
    if scalar >= 0:                             # (NumPy may warn, so only now)
        try:
            inputs[scalar] = recipe.types[scalar](args[scalar])
        except (OverflowError, TypeError):
            return None
    return fresh_array(recipe.op, tuple(inputs), recipe.geo, None, depth if recipe.flagged else 0)
