"""Elementwise calls met before: their nodes are built again without asking NumPy about types and layouts.

In:  a ufunc and its operands.   Out: a new lazy array, or None where the call must be looked at.
A recipe goes by the operands' geometries, which `geometry.fresh` shares among arrays, and by the types of
scalars.  It holds on to its geometries, so no other object ever has their identity.  Of a large part of an
array it is shape, strides and dtype that count: where it lies, nothing depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy

from lazyarr.arrays import capture, managed, ndarray, now
from lazyarr.config import OBSERVED, current
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.error_state import look
from lazyarr.expr import Expr, Map, Read
from lazyarr.geometry import FRESH, is_fresh
from lazyarr.habits import MEDIUM, habit_of, watch
from lazyarr.ops import may_raise
from lazyarr.records import NamedTuple
from lazyarr.srcloc import Loc, here
from lazyarr.storage import DUE, Storage, catch_up, launch
from lazyarr.values import Buffer
from lazyarr.windows import element_of

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
    found: list[Any] = [fn]
    for x in args:
        if x.__class__ is not ndarray:
            found.append(x.__class__)
        elif x.storage is not None and id(x.geo) in FRESH:
            found.append(id(x.geo))             # (as `_seen`, at once)
        else:
            found.append(_seen(x))
    return tuple(found)


def _seen(x: ndarray) -> Any:
    """What a recipe knows an array by.  (For small parts there is none: NumPy computes at once.)"""
    geo = x.geo
    i = id(geo)
    if x.storage is None:
        return geo.shape, geo.strides, char_of(geo.dtype), None
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
    given = [x.geo for x in args if x.__class__ is ndarray]
    if len(args) > 2 or not pins or not is_fresh(geo) or not all(map(_is_known, pins)):
        return
    if not all(g.ndim for g in given):          # (a constant, if it is plain)
        return
    if len(_recipes) >= MAX_RECIPES:
        _recipes.clear()
    size = measure(geo.size, [g.itemsize for g in given])
    _recipes[_key(fn, args)] = Recipe(op, types, geo, size, may_raise(op), pins)


def again(fn: numpy.ufunc, args: tuple[Any, ...], depth: int) -> ndarray | None:
    """fn(*args) by its recipe, if there is one and the result is not NumPy's at the call.

    `depth`: callers above whoever is called here that are surely ours."""
    recipe = _recipes.get(_key(fn, args))
    if recipe is None:
        return None
    _, _, _, _, is_loud, errors, _ = look()
    if is_loud:
        return None
    jit, small = current.jit, current.eager_elements
    if recipe.measure <= MEDIUM * small and jit == "auto":
        for x in args:
            if x.__class__ is ndarray and x.storage is not None and x.storage.value.op is not None:
                break                           # an operand is yet to be computed
        else:
            return None if recipe.measure <= small else _by_habit(fn, recipe, args, errors, depth)
    if jit == "never":
        return None
    return _built(recipe, args, errors, here(depth) if recipe.flagged or OBSERVED else None)


def _built(recipe: Recipe, args: tuple[Any, ...], errors: Any, loc: Loc | None) -> ndarray | None:
    """The call as a node, made at a place of the program."""
    if DUE:
        catch_up()
    inputs = []
    for x, type_ in zip(args, recipe.types, strict=False):
        c = x.__class__
        if c is ndarray:
            x = capture(x) if x.storage is None else Read(x.storage.value, x.geo)
        elif c is not type_:                    # (NumPy may warn of that: it is surely a node by now)
            try:
                x = type_(x)
            except (OverflowError, TypeError):
                return None
        inputs.append(x)
    node = Expr(recipe.op, tuple(inputs), recipe.geo, None, False, errors, loc)
    x = managed(Storage(node), recipe.geo)
    launch(node)
    return x


def _by_habit(
    fn: numpy.ufunc, recipe: Recipe, args: tuple[Any, ...], errors: Any, depth: int
) -> ndarray | None:
    """A call whose result is of medium size: a node, or NumPy's where waiting gains nothing at this place."""
    loc = here(depth + 1)
    if loc is None or OBSERVED or current.math != "numpy" or current.fast_math:     # (the bits might differ)
        return _built(recipe, args, errors, loc if recipe.flagged or OBSERVED else None)
    habit, began = habit_of(loc, recipe), perf_counter()
    if habit.is_numpys():
        COUNT.eager += 1
        COUNT.bytes_numpy += recipe.geo.nbytes
        buf = Buffer.new(recipe.geo.nbytes)
        seen = [_seen_now(x) if x.__class__ is ndarray else (x, None) for x in args]
        fn(*[x for x, _ in seen], out=buf.real(recipe.geo))
        habit.took(perf_counter() - began)
        return managed(Storage(Expr.leaf(buf)), recipe.geo)
    result = _built(recipe, args, errors, loc if recipe.flagged else None)
    if result is not None:
        node: Expr = result.storage.value       # type: ignore[union-attr]
        spent = perf_counter() - began
        if node.op is None:                     # it must not wait here
            habit.ran_alone(spent)
        else:
            watch(node, habit, spent)
    return result


def _seen_now(x: ndarray) -> tuple[numpy.ndarray, Buffer | None]:
    """The values of an array that exist, for NumPy to read; and what to hold meanwhile, since another thread
    may give the array another value, and the memory back."""
    if x.storage is None:
        return x.geo, None
    buf = x.storage.value.buf
    return (now(x), None) if buf.__class__ is not Buffer else (element_of(x, buf), buf)
