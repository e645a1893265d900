"""Attributes that a compiled function may ask for.

In:  a tracer, a value, a name.   Out: a value; `Refused` for what is not in the tables here.
"""

from __future__ import annotations

import types
from typing import Any

import numpy

from lazyarr.compiling.arrays import attempted, traced
from lazyarr.compiling.interpret import ABSENT, NUMBERS, STATIC, Tracer
from lazyarr.compiling.values import Method, Number, Traced

LOOKS = frozenset(["shape", "ndim", "size", "dtype", "itemsize", "nbytes"])
"""They follow from an array's layout."""
VIEWS = frozenset(["T", "mT"])
LONE: dict[str, Any] = {"shape": (), "ndim": 0, "size": 1}
FOLDS = frozenset(["sum", "prod", "max", "min", "any", "all", "mean", "std", "var"])
METHODS = FOLDS | frozenset([
    "argmax", "argmin", "reshape", "ravel", "flatten", "transpose", "swapaxes", "squeeze", "astype", "copy",
    "clip", "round", "conj", "conjugate", "repeat", "fill", "trace", "diagonal", "cumsum", "cumprod", "dot",
])  # fmt: skip
"""Methods of arrays that have no effect but on arrays."""
OF_LISTS = frozenset(["append", "extend", "insert", "reverse", "copy", "pop"])
"""Methods of lists.  All that there are the function has made."""
CONSTANT = frozenset(["numpy", "lazyarr", "math"])
"""Modules whose numbers stay what they are."""
ABOUT = (numpy.dtype, numpy.finfo, numpy.iinfo)
"""Types of objects whose attributes never change."""


def attribute(t: Tracer, owner: Any, name: str) -> Any:
    """owner.name."""
    if isinstance(owner, Traced):
        return _of_array(t, owner, name)
    if isinstance(owner, types.ModuleType):
        return _of_module(t, owner, name)
    if isinstance(owner, list) and name in OF_LISTS:
        return Method(owner, name)
    if isinstance(owner, ABOUT) and name[0] != "_":
        found = getattr(owner, name, ABSENT)
        if type(found) in NUMBERS or isinstance(found, (*STATIC, type)):
            return found
    if isinstance(owner, Number):
        raise t.refuse(f"attribute `{name}` of a number")
    raise t.refuse(f"attribute `{name}` of an object of type {type(owner).__name__}")


def _of_array(t: Tracer, x: Traced, name: str) -> Any:
    if x.lone and name in LONE:
        return LONE[name]
    if name in LOOKS:
        return getattr(x.array.geo, name)
    if name in METHODS:
        return Method(x, name)
    if x.lone or name not in VIEWS:
        raise t.refuse(f"attribute `{name}` of an array")
    return traced(t, attempted(t, getattr, x.array, name), x.foreign)


def _of_module(t: Tracer, owner: types.ModuleType, name: str) -> Any:
    attempted(t, getattr, owner, name)          # some modules make attributes when they are first asked for
    found = vars(owner).get(name, ABSENT)
    if type(found) in NUMBERS and owner.__name__ in CONSTANT:
        t.guard(vars(owner), name, found)
        return found
    found = t.outer(vars(owner), name)
    if found is ABSENT:
        raise t.refuse(f"`{owner.__name__}.{name}` is made when it is asked for")
    return found
