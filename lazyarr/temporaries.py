"""Temporaries: arrays that end with the call that folds them, as in ``((x - y) ** 2).sum()``.

While a full reduction evaluates at the call, the interpreter still holds its argument.  If nobody
else does, storing the argument would be a waste: it is marked as dying for the time of the call.
Reference counts tell, as in NumPy's own elision of temporaries.  A wrong guess costs one more
computation (`values.is_kept`), never a wrong result.

In: a function that folds its first argument once.   Out: the same function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.expr import Expr, Map, Read
from lazyarr.geometry import fresh
from lazyarr.storage import evaluate


class _Items:
    def __getitem__(self, key: Any, _: Any = None) -> int:
        return getrefcount(self)


class _Probe:
    def count(self, *args: Any, **kwargs: Any) -> int:
        return getrefcount(self)

    def __getitem__(self, key: Any, _: Any = None) -> int:
        return getrefcount(key)

    def __neg__(self) -> int:
        return getrefcount(self)


def _count(*args: Any, **kwargs: Any) -> int:
    x = args[0]
    return getrefcount(x)


METHOD_REFS = _Probe().count()
"""References to an argument that only the interpreter's stack holds, as a method sees them."""
DIRECT_REFS = _count(_Probe())
"""The same, as a function of ``*args`` sees them after naming its first argument."""
FUNCTION_REFS = DIRECT_REFS
"""The same, of the functions that a program calls: as `namespace` offers them (`offering`)."""
KEY_REFS: int = _Probe()[_Probe()]
"""The same, of an index as ``__getitem__(self, key, _=None)`` sees it.  Without the third parameter the
interpreter would call the method in one of two ways, of which one holds the index twice."""
ITEM_REFS: int = _Items()[0]
"""The same, of the array as that method sees it."""
NAMED_REFS = 3
"""To what one attribute refers to: the attribute, a local name, and getrefcount's own."""


Offer = Callable[[Callable[..., int]], Callable[..., int]]
"""Offers a function as those that a program calls are offered."""


def offering(function: Offer) -> None:
    """Functions are called through what `function` gives, which holds their arguments, too."""
    global FUNCTION_REFS
    FUNCTION_REFS = function(_count)(_Probe())


def through_slots(function: Offer) -> None:
    """From now on methods and functions are called by C code, while the interpreter's stack holds their
    arguments."""
    global METHOD_REFS
    METHOD_REFS = -_Probe()
    offering(function)


def _dying(x: Any) -> bool:
    """Is a pending value reached through this array alone, or through it and the array it is a view of,
    which nobody else holds?"""
    storage, origin = x.storage, x.origin
    if storage is None or storage.value.op is None:
        return False
    if origin is None or origin.storage is not storage:
        return getrefcount(storage) <= NAMED_REFS
    return getrefcount(origin) <= NAMED_REFS and getrefcount(storage) <= NAMED_REFS + 1


def with_last(fn: Callable[[ndarray, ndarray], Any], x: ndarray, last: ndarray) -> Any:
    """fn(x, last), where nobody but the caller's expression holds the array `last`."""
    if not _dying(last):
        return fn(x, last)
    storage: Any = last.storage
    storage.dying = True
    try:
        return fn(x, last)
    finally:
        storage.dying = False


def element(x: ndarray, geo: numpy.ndarray, refs: int) -> Any:
    """An element of an array to which there are so many references, as in ``(x > 0)[3]``: no more of a value
    that nobody else holds is computed than it takes (`sinking`)."""
    dies = refs <= ITEM_REFS and _dying(x)
    storage: Any = x.storage
    if not dies:
        return storage.real(geo)[()]
    char, region = char_of(geo.dtype), fresh((), geo.dtype)
    node = Expr(Map("copy", f"{char}->{char}"), (Read(storage.value, geo),), region)
    COUNT.bytes_numpy -= node.nbytes            # a result that NumPy does not have
    storage.dying = True
    try:
        evaluate([node])
    finally:
        storage.dying = False
    return node.buf.real(region)[()]


def ends_method(fn: Any) -> Any:
    """A method after which its array is not needed if only the caller's expression holds it."""

    @functools.wraps(fn, updated=())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.__class__ is not ndarray or getrefcount(self) > METHOD_REFS or not _dying(self):
            return fn(self, *args, **kwargs)
        storage: Any = self.storage
        storage.dying = True
        try:
            return fn(self, *args, **kwargs)
        finally:
            storage.dying = False

    return call


def ends_function(fn: Any, names: int = 0) -> Any:
    """The same for a function's first argument, which `names` variables of the caller may hold; without any,
    the function is offered to programs."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        x = args[0] if args else None
        most = DIRECT_REFS + names if names else FUNCTION_REFS
        if x.__class__ is not ndarray or getrefcount(x) > most or not _dying(x):
            return fn(*args, **kwargs)
        storage: Any = x.storage
        storage.dying = True
        try:
            return fn(*args, **kwargs)
        finally:
            storage.dying = False

    return call
