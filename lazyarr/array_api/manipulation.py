"""The standard's functions that move, search, sort and multiply: NumPy's, for the most part.

In: `Array`s.   Out: `Array`s, lazy where the face is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lazyarr
from lazyarr import movement
from lazyarr.array_api.array_type import Array, made, plain, standard

SAME = """
    broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip matmul matrix_transpose meshgrid
    moveaxis permute_dims repeat roll squeeze stack tensordot tile tril triu vecdot
    isin nonzero searchsorted unique_all unique_counts unique_inverse
    diff take where
"""
"""NumPy's: the standard's parameters are among theirs, under the same names."""


def same(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the NumPy face as one of the namespace."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return standard(fn(*plain(args), **plain(kwargs)))

    call.__module__ = "lazyarr.array_api"
    return call


def reshape(x: Any, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """x in another shape: a view, if one will do and `copy` allows it."""
    return made(movement.reshape(lazyarr.asarray(plain(x)), shape, copy=copy))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Array:
    """The elements of x at positions along an axis, which broadcast with the other axes."""
    return made(lazyarr.take_along_axis(plain(x), plain(indices), axis=axis))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of x along an axis, which they lose."""
    face = plain(x)
    if not face.ndim:
        raise ValueError("unstack takes arrays with axes")
    parts = lazyarr.moveaxis(face, axis, 0)
    return tuple([made(parts[i, ...]) for i in range(len(parts))])


def unique_values(x: Any, /) -> Array:
    """The distinct elements of x, sorted: the standard leaves the order open, its users do not."""
    return made(lazyarr.unique(plain(x), equal_nan=False))


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """x sorted along an axis; equal elements keep their order if `stable`."""
    face = plain(x)
    if not descending:
        return made(lazyarr.sort(face, axis=axis, stable=stable))
    return made(_flipped(lazyarr.sort(_flipped(face, axis), axis=axis, stable=stable), axis))


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The indices that sort x along an axis; of equal elements in their order if `stable`."""
    face = plain(x)
    if not descending:
        return made(lazyarr.argsort(face, axis=axis, stable=stable))
    order = lazyarr.argsort(_flipped(face, axis), axis=axis, stable=stable)
    return made(face.shape[axis] - 1 - _flipped(order, axis))


def _flipped(x: Any, axis: int) -> Any:
    """Backwards: a stable sort of it puts equal elements backwards, too."""
    return lazyarr.flip(x, axis=axis)


OWN = (argsort, reshape, sort, take_along_axis, unique_values, unstack)


def functions() -> dict[str, Callable[..., Any]]:
    found = {name: same(getattr(lazyarr, name)) for name in SAME.split()}
    found.update((fn.__name__, fn) for fn in OWN)
    return found
