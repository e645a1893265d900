"""Objects of the program's own whose `__array__` returns a lazy array: NumPy takes only its own arrays there.

In: a call into NumPy that was refused for that.   Out: the same call with stand-ins, whose `__array__`
returns the real memory; all else, `__array_wrap__` and `__array_priority__` too, is the object's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.arrays import export, ndarray

REFUSED = "__array__ method not producing an array"
"""In the text of NumPy's ValueError."""


class ArrayLike:
    """Stands for one such object in one call."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._original.__array__(*args, **kwargs)
        return export(found) if found.__class__ is ndarray else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


_AS_NUMBER = ("__float__", "__index__", "__int__", "__complex__")
"""Asked of an object's class, not of the object, by code that takes numbers."""


@functools.lru_cache(maxsize=64)
def _like(name: str, numbers: tuple[str, ...]) -> type[ArrayLike]:
    """The class of what stands for objects of a class of this name, and is a number where they are."""

    def forward(method: str) -> Callable[[ArrayLike], Any]:
        return lambda self: getattr(type(self._original), method)(self._original)

    return type(name, (ArrayLike,), {method: forward(method) for method in numbers})


def stand_in(x: Any, depth: int = 0) -> Any:
    """x, or what stands for it, inside lists and tuples too."""
    c = x.__class__
    if (c is list or c is tuple) and depth < 64:
        return c([stand_in(y, depth + 1) for y in x])
    if isinstance(x, (numpy.ndarray, numpy.generic, type)) or not hasattr(x, "__array__"):
        return x
    cls = type(x)                               # (a proxy tells another one, whose methods refuse it)
    numbers = tuple([name for name in _AS_NUMBER if hasattr(cls, name)])
    return _like(cls.__name__, numbers)(x)


def _behind(x: Any) -> Any:
    """The original that something stands for, else None."""
    return x._original if isinstance(x, ArrayLike) else None


def put_back(x: Any, original: Callable[[Any], Any]) -> None:
    """Put the program's objects into an array of objects, in place of what stood for them in a call.

    `original`: an element -> the object that belongs there, or None where it is that one."""
    if x.__class__ is not numpy.ndarray or not x.dtype.hasobject or not x.flags.writeable:
        return
    for name in x.dtype.names or ():
        put_back(x[name], original)
    if x.dtype == object:
        found = [original(y) for y in x.ravel().tolist()]
        where = numpy.array([y is not None for y in found], bool).reshape(x.shape)
        if where.any():
            x[where] = numpy.fromiter((y for y in found if y is not None), object)


def accepted(refusal: ValueError, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """fn(*args, **kwargs) once more, with stand-ins, if that is what NumPy refused; else the refusal.

    NumPy has neither written nor kept anything when it refuses."""
    if REFUSED not in str(refusal):
        try:
            raise refusal
        finally:
            del refusal                 # which refers to this frame, and the frame to all arrays
    result = fn(*[stand_in(x) for x in args], **{k: stand_in(x) for k, x in kwargs.items()})
    for x in (result, *args, *kwargs.values()):
        put_back(x, _behind)
    return result


def accepting(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn, called once more with stand-ins where NumPy refused objects of the program."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except ValueError as error:
            return accepted(error, fn, *args, **kwargs)

    return call


def standing_in(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn of stand-ins, for an fn that takes NumPy's refusal for an answer."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*[x if x.__class__ is ndarray else stand_in(x) for x in args], **kwargs)

    return call
