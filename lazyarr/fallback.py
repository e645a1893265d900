"""NumPy does the rest: calls on evaluated arrays, whose results are lazy arrays again.

In:  a NumPy callable and arguments with lazy arrays anywhere inside.
Out: its result, real ndarrays wrapped; a view of lent memory is a view of the array that lent it.
NumPy may write into what it is lent, so pending readers of that memory run first.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, manage, ndarray, now, wrap
from lazyarr.config import current
from lazyarr.counters import COUNT

CONTAINERS = {list, tuple, dict}
TAKE: dict[type, Any] = {}
"""Type of a result of NumPy -> what turns it into ours (open npz files, random generators, ...)."""


def lend(x: Any, lent: dict[int, Any]) -> Any:
    """x for NumPy code: arrays become real views of their memory, inside containers too."""
    c = x.__class__
    if c is ndarray:
        real = x.geo if x.storage is None else x.storage.lend(x.geo)
        lent[id(real)] = real, x
        return real
    if c is list or c is tuple:
        if any(y.__class__ is ndarray or y.__class__ in CONTAINERS for y in x):
            return c([lend(y, lent) for y in x])
    elif c is dict:
        return {k: lend(v, lent) for k, v in x.items()}
    elif x is ndarray:
        return numpy.ndarray
    return x


def take_back(x: Any, lent: dict[int, Any]) -> Any:
    """A result of NumPy code as ours."""
    c = x.__class__
    if c is numpy.ndarray:
        found = lent.get(id(x))
        return found[1] if found is not None else wrap(x)
    if c is tuple or c is list or isinstance(x, tuple):
        if any(isinstance(y, (numpy.ndarray, tuple, list)) for y in x):
            items = [take_back(y, lent) for y in x]
            return c._make(items) if hasattr(c, "_make") else c(items)
        return x
    take = TAKE.get(c)
    return x if take is None else take(x)


def fallback(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """fn on evaluated arrays."""
    COUNT.numpy_fallbacks += 1
    return through(fn, args, kwargs)


def through(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same, for calls that count as something else."""
    lent: dict[int, Any] = {}
    args = [lend(x, lent) for x in args]
    if kwargs:
        kwargs = {k: lend(v, lent) for k, v in kwargs.items()}
    return take_back(fn(*args, **kwargs), lent)


def looking(fn: Any, x: ndarray, *args: Any, **kwargs: Any) -> Any:
    """fn on the values of x, for an fn that neither keeps nor writes what it gets."""
    return fn(now(x), *args, **kwargs)


def lazily(fn: Any, rule: Any, by_first: bool = True) -> Any:
    """fn by its lazy rule; where that does not apply, by NumPy.

    `by_first`: a plain first argument makes the call NumPy's, since the result is as small."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and by_first:
            x = args[0]
            if x.__class__ is numpy.ndarray:
                x = wrap(x)
                args = (x, *args[1:])
            if x.__class__ is ndarray and x.storage is None and not (current.jit == "always" and manage(x)):
                COUNT.numpy_eager += 1
                return through(fn, args, kwargs)
        try:
            return rule(*args, **kwargs)
        except Unsupported:
            return fallback(fn, *args, **kwargs)

    return call
