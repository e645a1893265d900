"""The standard's reductions.

In: `Array`s.   Out: lazy `Array`s.
The face computes a full reduction at the call, since NumPy gives a scalar.  With `keepdims` it waits: so
a result without axes is the one element of one that kept them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazyarr
from lazyarr.array_api.array_type import Array, made, plain, standard
from lazyarr.array_api.elementwise import named
from lazyarr.arrays import ndarray
from lazyarr.config import current


def _without_axes(x: ndarray, axis: Any) -> bool:
    """Does a reduction along `axis` leave no axes?"""
    if axis is None:
        return True
    return x.ndim == (len(axis) if isinstance(axis, tuple) else 1)


def _waits(x: Any) -> bool:
    """May a result for x be computed later?  What is small NumPy computes at the call."""
    return x.__class__ is ndarray and x.size > 0 and (x.storage is not None or current.jit == "always")


def _one(x: Any) -> Array:
    """The element of an array with one."""
    return made(x[(*(0,) * x.ndim, ...)])


def reduced(fn: Callable[..., Any], x: Any, axis: Any, keepdims: bool, **options: Any) -> Any:
    x = plain(x)
    if keepdims or not _waits(x) or not _without_axes(x, axis):
        found = fn(x, axis=axis, keepdims=keepdims, **options)
        return standard(numpy.intp(found) if found.__class__ is int else found)     # NumPy 2.0 counts so
    if not x.ndim:
        x = lazyarr.expand_dims(x, 0)
    return _one(fn(x, axis=axis, keepdims=True, **options))


def _plain_fold(name: str) -> Callable[..., Any]:
    fn = getattr(lazyarr, name)

    def call(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return reduced(fn, x, axis, keepdims)

    return named(call, name, fn)


def _typed_fold(name: str) -> Callable[..., Any]:
    fn = getattr(lazyarr, name)

    def call(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return reduced(fn, x, axis, keepdims, dtype=dtype)

    return named(call, name, fn)


def _spread(name: str) -> Callable[..., Any]:
    fn = getattr(lazyarr, name)

    def call(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        return reduced(fn, x, axis, keepdims, correction=correction)

    return named(call, name, fn)


def _position(name: str) -> Callable[..., Any]:
    fn = getattr(lazyarr, name)

    def call(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
        face = plain(x)
        if not face.size or (axis is not None and not -face.ndim <= axis < face.ndim):
            return standard(fn(face, axis=axis, keepdims=keepdims))     # NumPy says what is wrong
        shape = face.shape
        if axis is None or face.ndim == 1:
            found = fn(face.reshape((1, -1)), axis=1)                   # has an axis, so it waits
            return made(found.reshape((1,) * len(shape) if keepdims else ()))
        found = fn(face, axis=axis)
        return made(lazyarr.expand_dims(found, axis % face.ndim) if keepdims else found)

    return named(call, name, fn)


KINDS: dict[Callable[[str], Callable[..., Any]], str] = {
    _plain_fold: "all any count_nonzero max mean min",
    _typed_fold: "prod sum",
    _spread: "std var",
    _position: "argmax argmin",
}


# ------------------------------------------------------------------------------------- running


def _running(name: str, fold: str) -> Callable[..., Any]:
    """cumulative_sum and cumulative_prod, over NumPy's older functions."""
    fn = getattr(lazyarr, fold)
    start = {"cumsum": 0, "cumprod": 1}[fold]

    def call(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        face = plain(x)
        if not face.ndim or (axis is None and face.ndim > 1):
            raise ValueError(f"{name} takes arrays with one axis, or an axis")
        axis = 0 if axis is None else axis
        result = fn(face, axis=axis, dtype=dtype)
        if include_initial:
            shape = tuple(1 if i == axis % face.ndim else n for i, n in enumerate(face.shape))
            result = lazyarr.concatenate((lazyarr.full(shape, start, result.dtype), result), axis=axis)
        return standard(result)

    return named(call, name, fn)


RUNNING = {"cumulative_sum": "cumsum", "cumulative_prod": "cumprod"}


def functions() -> dict[str, Callable[..., Any]]:
    found = {name: make(name) for make, names in KINDS.items() for name in names.split()}
    found.update((name, _running(name, fold)) for name, fold in RUNNING.items())
    return found
