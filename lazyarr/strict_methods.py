"""Functions of libraries that take none but NumPy's arrays, or take others for something else: they get the
memory of lazy ones.

Most code in C converts what it is given (`PyArray_FromAny`), and so asks `__array__`; what parses its
arguments as ``"O!", &PyArray_Type`` refuses everything else, before anybody can be asked.  Code in Python
that asks ``isinstance(x, numpy.ndarray)`` takes a lazy array for a sequence, or for one key.

In:  a module, loaded, and the names there.   Out: these take lazy arrays.
Invariant: what is not there, or not as expected, is left alone.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any, cast


def extend(module: ModuleType, names: Sequence[str]) -> None:
    """Have functions of a module, and methods of its classes ("Class.method"), take lazy arrays."""
    for name in names:
        owner, _, last = name.rpartition(".")
        holder: Any = getattr(module, owner, None) if owner else module
        original = getattr(holder, "__dict__", {}).get(last)
        function = original.__func__ if type(original) is staticmethod else original
        if type(function) is FunctionType:
            call = _given_memory(function)
            # Whoever looks for the first frame outside a library (pandas' warnings) takes it for one of that.
            theirs = function.__code__
            call.__code__ = call.__code__.replace(
                co_filename=theirs.co_filename, co_name=theirs.co_name, co_firstlineno=theirs.co_firstlineno
            )
            setattr(holder, last, call if function is original else staticmethod(call))
        elif type(original) is MethodDescriptorType and sys.implementation.name == "cpython":
            # Types in C are immutable to programs: what is set is the entry that a proxy shows.
            (namespace,) = gc.get_referents(vars(holder))
            namespace[last] = _given_memory(original)
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(holder))


CALL_AT = 128
"""Where a type's `tp_call` lies, in bytes, in CPython on 64 bits."""


def extend_calls(module: ModuleType) -> None:
    """Have what f2py has made of Fortran's routines take lazy arrays: it writes over an argument that it was
    to copy, if that is no real ndarray, in the belief that what `__array__` returned is nobody else's."""
    found = [type(x) for x in vars(module).values() if type(x).__name__ == "fortran"]
    original = vars(found[0]).get("__call__") if found else None
    if type(original) is not WrapperDescriptorType or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    theirs, pythons = (ctypes.c_void_p.from_address(id(c) + CALL_AT) for c in (found[0], _Callable))
    (namespace,) = gc.get_referents(vars(found[0]))
    namespace["__call__"] = _given_memory(original)
    theirs.value = pythons.value        # what asks a type's namespace
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(found[0]))


class _Callable:
    def __call__(self) -> None: ...


_TAKEN: set[type] = set()
"""Classes of arguments that are looked at; empty while nobody has made an array."""


def _are_there_arrays() -> bool:
    arrays: Any = sys.modules.get("lazyarr.arrays")
    if hasattr(arrays, "given_memory"):
        _TAKEN.update((list, dict, arrays.ndarray))
    return bool(_TAKEN)


def _given_memory(function: Callable[..., Any]) -> FunctionType:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if (_TAKEN or _are_there_arrays()) and (kwargs or not _TAKEN.isdisjoint(map(type, args))):
            given = sys.modules["lazyarr.arrays"].given_memory
            return function(*map(given, args), **{name: given(x) for name, x in kwargs.items()})
        return function(*args, **kwargs)

    return cast(FunctionType, call)
