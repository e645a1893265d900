"""Methods of libraries' types in C that take none but NumPy's arrays: they get the memory of lazy ones.

Most code in C converts what it is given (`PyArray_FromAny`), and so asks `__array__`; what parses its
arguments as ``"O!", &PyArray_Type`` refuses everything else, before anybody can be asked.

In:  a module of `METHODS`, loaded.   Out: its types' methods take lazy arrays.
Invariant: where a type is not as expected, it is left alone.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
from collections.abc import Callable
from types import MethodDescriptorType, ModuleType
from typing import Any

METHODS = {
    "scipy.sparse.linalg._dsolve": (("SuperLU", "solve"),),     # of `splu`, `spilu`, `factorized`
}
"""module -> types and methods there."""


def extend(module: ModuleType) -> None:
    """Have the methods of a module take lazy arrays."""
    for name, method in METHODS[module.__name__]:
        cls = getattr(module, name, None)
        original = vars(cls).get(method) if type(cls) is type else None
        if type(original) is MethodDescriptorType and sys.implementation.name == "cpython":
            # The types are immutable to programs: what is set is the entry that a proxy shows.
            (namespace,) = gc.get_referents(vars(cls))
            namespace[method] = _given_memory(original)
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def _given_memory(method: Callable[..., Any]) -> Callable[..., Any]:
    from lazyarr.arrays import export, ndarray

    def given(x: Any) -> Any:
        return export(x) if x.__class__ is ndarray else x

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*map(given, args), **{name: given(x) for name, x in kwargs.items()})

    return call
