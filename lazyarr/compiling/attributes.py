"""Attributes that a compiled function may ask for.

In:  a tracer, a value, a name.   Out: a value; `Refused` for what is not in the tables here.
"""

from __future__ import annotations

import inspect
import types
from functools import cache
from typing import Any

import numpy

from lazyarr.compiling.arrays import attempted, traced
from lazyarr.compiling.interpret import ABSENT, NUMBERS, Tracer, is_plain
from lazyarr.compiling.values import Method, Near, Number, Traced
from lazyarr.methods import PYTHON
from lazyarr.rebind import METHODS as METHODS_OF_NUMPY

LOOKS = frozenset(["shape", "ndim", "size", "dtype", "itemsize", "nbytes"])
"""They follow from an array's layout."""
OF_NEAR = frozenset(["shape", "ndim", "dtype"])
"""What a stencil's kernel may ask of its arrays."""
VIEWS = frozenset(["T", "mT"])
LONE: dict[str, Any] = {"shape": (), "ndim": 0, "size": 1}
FOLDS = frozenset(["sum", "prod", "max", "min", "amax", "amin", "any", "all", "mean", "std", "var"])
OUT_AT = {
    "argmax": 2, "argmin": 2, "round": 2, "around": 2, "ptp": 2, "dot": 2, "outer": 2,
    "concatenate": 2, "concat": 2, "stack": 2, "matmul": 2, "vecdot": 2, "clip": 3, "cumsum": 3,
    "cumprod": 3, "trace": 5,
}  # fmt: skip
"""Which argument of other functions, and of methods with their array, is `out`."""
METHODS = (FOLDS - {"amax", "amin"}) | frozenset([
    "argmax", "argmin", "reshape", "ravel", "flatten", "transpose", "swapaxes", "squeeze", "astype", "copy",
    "clip", "round", "conj", "conjugate", "repeat", "fill", "trace", "diagonal", "cumsum", "cumprod", "dot",
])  # fmt: skip
"""Methods of arrays that have no effect but on arrays."""
GENERIC = FOLDS | frozenset([
    "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "matrix_transpose", "permute_dims",
    "where", "clip", "astype", "copy", "reshape", "ravel", "flatten", "conj", "conjugate", "round", "around",
    "cumsum", "cumprod", "argmax", "argmin", "zeros_like", "ones_like", "empty_like", "full_like", "zeros",
    "ones", "full", "empty", "broadcast_to", "ptp", "fill", "copyto", "ndim", "result_type",
])  # fmt: skip
"""Functions and methods of which nothing depends on lengths but lengths."""
OF_LISTS = frozenset(["append", "extend", "insert", "reverse", "copy", "pop"])
"""Methods of lists.  All that there are the function has made."""
CONSTANT = frozenset(["numpy", "lazyarr", "math"])
"""Modules whose numbers stay what they are."""
ABOUT = (numpy.dtype, numpy.finfo, numpy.iinfo)
"""Types of objects whose attributes never change."""


@cache
def parameters(name: str, method: bool) -> tuple[str, ...]:
    """The parameters of a fold in NumPy's order, after the array: methods may have another than functions."""
    fn = getattr(METHODS_OF_NUMPY, PYTHON[name]) if method else getattr(numpy, name)
    found = inspect.signature(fn).parameters.values()
    return tuple([p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD])[1:]


def attribute(t: Tracer, owner: Any, name: str) -> Any:
    """owner.name."""
    if isinstance(owner, Traced):
        return _of_array(t, owner, name)
    if isinstance(owner, Near) and name in OF_NEAR:
        return getattr(owner.array.array.geo, name)
    if type(owner) is types.ModuleType:
        return _of_module(t, owner, name)
    if isinstance(owner, list) and name in OF_LISTS:
        return Method(owner, name)
    if isinstance(owner, ABOUT) and name[0] != "_":
        found = getattr(owner, name, ABSENT)
        if is_plain(found) or isinstance(found, type):
            return found
    if isinstance(owner, Number):
        raise t.refuse(f"attribute `{name}` of a number")
    raise t.refuse(f"attribute `{name}` of an object of type {type(owner).__name__}")


def _of_array(t: Tracer, x: Traced, name: str) -> Any:
    if x.lone and name in LONE:
        return LONE[name]
    if name in LOOKS:
        found = getattr(x.array.geo, name)
        return found if t.asked is None or name in ("ndim", "itemsize") else t.asked.told(found)
    if name in METHODS:
        return Method(x, name)
    if x.lone or name not in VIEWS:
        raise t.refuse(f"attribute `{name}` of an array")
    return traced(t, attempted(t, getattr, x.array, name), x.foreign)


def _of_module(t: Tracer, owner: types.ModuleType, name: str) -> Any:
    if owner.__name__.partition(".")[0] in CONSTANT:    # they make some attributes when first asked for them
        attempted(t, getattr, owner, name)
    found = vars(owner).get(name, ABSENT)
    if type(found) in NUMBERS and owner.__name__ in CONSTANT:
        t.guard(vars(owner), name, found)
        return found
    found = t.outer(vars(owner), name)
    if found is ABSENT:
        raise t.refuse(f"`{owner.__name__}.{name}` is made when it is asked for")
    return found
