"""Which calls of NumPy's functions the lazy rules take: those with a lazy array among the arguments.

In: a rule, and where arrays may be.   Out: the rule behind that test; all else is NumPy's, or `Unsupported`.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, is_pending, ndarray
from lazyarr.config import current
from lazyarr.direct import DIRECT
from lazyarr.elementwise import FOLD, SCALARS
from lazyarr.fallback import fallback
from lazyarr.late import Late
from lazyarr.overrides import overrides
from lazyarr.recipes import WORD


def of_arrays(rule: Any) -> Any:
    """A rule for arrays; lists and the like are NumPy's to convert."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        if a.__class__ is not ndarray or (kwargs and overriding(kwargs.values())):
            raise Unsupported
        return rule(a, *args, **kwargs)

    return call


def overriding(args: Iterable[Any]) -> bool:
    """Is one of a class that answers for functions in its own way?  NumPy asks it."""
    return any(overrides(c, "__array_function__") for c in {*map(type, args)} - HARMLESS)


HARMLESS = frozenset((ndarray, numpy.ndarray, list, tuple, str, slice, type(None), *SCALARS))
"""Classes that have no say in NumPy's functions: no need to look for one."""


def _is_lazy(x: ndarray) -> bool:
    return x.storage is not None or current.jit == "always"


def is_worth(x: ndarray) -> bool:
    if current.jit == "always":
        return True
    return x.storage is not None and (is_pending(x) or x.geo.nbytes > WORD * FOLD * current.eager_elements)


def _among(items: Collection[Any], lazy: Any = _is_lazy, depth: int = 0) -> bool:
    """Is a lazy array among the arguments, or in lists of them?

    Unsupported where a class has a say in NumPy's functions: it is asked about the function called."""
    found = False
    classes = set(map(type, items))
    for c in classes - HARMLESS:
        if getattr(c, "__array_function__", None) is not None:
            raise Unsupported
    if ndarray in classes:
        found = any(x.__class__ is ndarray and lazy(x) for x in items)
    if depth < NESTED and not classes.isdisjoint((list, tuple)):
        for x in items:
            if x.__class__ is list or x.__class__ is tuple:
                found = _among(x, lazy, depth + 1) or found
    return found


def all_plain(items: Iterable[Any]) -> bool:
    """Is this NumPy's business, by the shortest look there is?  Small calls are made of little else."""
    for x in items:
        c = x.__class__
        if c is ndarray:
            if x.storage is not None:
                return False
        elif (c is list or c is tuple) and not CONTAINERS.isdisjoint(map(type, x)) and not all_plain(x):
            return False
    return current.jit != "always"


CONTAINERS = {ndarray, list, tuple}

NESTED = 8
"""Lists in lists that are looked at: `block` takes some."""


def of_any(rule: Any) -> Any:
    """A rule for calls with lazy arrays anywhere."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not _among((*args, *kwargs.values())):
            raise Unsupported
        return rule(*args, **kwargs)

    return call


def anywhere(fn: Any, rule: Any, lazy: Any = _is_lazy) -> Any:
    """fn by its rule where a lazy array is among the arguments, in whatever place."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal rule
        if all_plain(args) and not (kwargs and not all_plain(kwargs.values())):
            return fallback(fn, *args, **kwargs)
        try:
            if _among((*args, *kwargs.values()), lazy):
                if rule.__class__ is Late:
                    rule = rule.found()
                mark = DIRECT.mark()
                made = rule(*args, **kwargs)
                DIRECT.once(mark)
                return made
        except Unsupported:
            pass
        return fallback(fn, *args, **kwargs)

    return call
