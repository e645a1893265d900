"""NumPy's own Python functions, run on lazy arrays.

mean, var, moveaxis and many others are Python code over ufuncs, reductions and views.  `rebound`
runs such a function with the NumPy names in its globals replaced by ours, so that it stays lazy and
does the running NumPy's steps: same order of operations, same intermediate types, same errors.

In: a Python function of NumPy's.   Out: the same code over lazyarr's names.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy

from lazyarr.converting import INSIDE
from lazyarr.moments import in_one_pass
from lazyarr.namespace import OVERRIDES, adapt
from lazyarr.temporaries import ends_function

_spaces: dict[str, dict[str, Any]] = {}


def rebound(fn: Any) -> types.FunctionType:
    """fn (or what its dispatcher wraps) over lazyarr's names."""
    fn = getattr(fn, "_implementation", fn)
    space = _space(fn.__globals__)
    found = types.FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, fn.__closure__)
    found.__kwdefaults__ = fn.__kwdefaults__
    found.__doc__ = fn.__doc__
    return found


class _Space(dict):
    """The globals of one NumPy module, adapted when first asked for."""

    def __init__(self, original: dict[str, Any]) -> None:
        super().__init__(__builtins__=original["__builtins__"], __name__=original["__name__"])
        self.original = original

    def __missing__(self, name: str) -> Any:
        x = self.original[name]
        if isinstance(x, types.ModuleType) and x.__name__ in WITHIN:
            self[name] = within = _Within(x)
            return within
        private = isinstance(x, types.FunctionType) and x.__globals__ is self.original and x not in OVERRIDES
        inside = INSIDE.get(x) if isinstance(x, type) else None
        self[name] = found = inside or (rebound(x) if private else adapt(x))
        return found


WITHIN = {"numpy.polynomial.polyutils"}
"""Modules of NumPy's whose functions are parts of other functions."""


class _Within:
    """The functions of such a module, over lazyarr's names."""

    def __init__(self, original: types.ModuleType) -> None:
        self._space = _space(vars(original))

    def __getattr__(self, name: str) -> Any:
        return self._space[name]


def _space(original: dict[str, Any]) -> dict[str, Any]:
    name = original["__name__"]
    found = _spaces.get(name)
    if found is None:
        found = _spaces[name] = _Space(original)
    return found


METHODS = sys.modules[numpy.ndarray.__module__ + "._core._methods"]
"""NumPy's Python code behind ndarray.mean, var, std, clip, ..."""
METHODS_SPACE = _space(vars(METHODS))
METHODS_SPACE["umr_sum"] = ends_function(METHODS_SPACE["umr_sum"], names=1)
"""The x of _var is not needed once it is summed."""
METHODS_SPACE["_var"] = in_one_pass(METHODS_SPACE["_var"])
