"""nonzero, flatnonzero, argwhere and where(condition): how many positions there are is known at the call.

In:  an array.   Out: lazy arrays of positions, as NumPy makes them.
Of many elements the positions are `places`'s, of all others NumPy's.
"""

from __future__ import annotations

from typing import Any

from lazyarr import places
from lazyarr.arrays import ndarray, now, plain
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.elementwise import made
from lazyarr.fallback import fallback, take_back

BY_NAME = {
    "nonzero": places.nonzero, "where": places.nonzero, "flatnonzero": places.flatnonzero,
    "argwhere": places.argwhere,
}  # fmt: skip
"""NumPy's functions -> ours, of a real array."""


def found(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """fn(x), for one of these functions, or the method of that name."""
    if len(args) != 1 or kwargs:
        return fallback(fn, *args, **kwargs)
    (x,) = args
    if x.__class__ is not ndarray or not places.are_many(x.geo) or x.geo.dtype.kind not in places.FOUND:
        return fallback(fn, x)
    COUNT.eager += 1
    return _ours(BY_NAME[fn.__name__](now(x)))


def _ours(result: Any) -> Any:
    """New arrays: a tuple of those that are columns of one, or one alone."""
    parts = result if result.__class__ is tuple else (result,)
    one = parts[0]
    memory = one if one.base is None else one.base
    small = memory.nbytes <= 8 * current.eager_elements
    if small or (DIRECT.on and one.size <= DIRECT.reach):
        kept = tuple(map(plain, parts)) if parts is result else plain(one)
    else:
        kept = take_back(result, {})
    for part in parts:
        made(part.size)
    return kept
