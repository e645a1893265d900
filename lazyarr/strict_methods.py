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

from lazyarr.arrays import export, given_memory, ndarray
from lazyarr.object_fields import CALL, slot_of, word

HOLDING = ("Index.__new__", "Series.__init__")
"""What holds the elements of a list that it is given: these stay the program's."""


def extend(module: ModuleType, names: Sequence[str]) -> None:
    """Have functions of a module, and methods of its classes ("Class.method"), take lazy arrays."""
    for name in names:
        owner, _, last = name.rpartition(".")
        holder: Any = getattr(module, owner, None) if owner else module
        original = getattr(holder, "__dict__", {}).get(last)
        function = original.__func__ if type(original) is staticmethod else original
        if type(function) is FunctionType:
            call = _given_memory(function, _alone if name in HOLDING else given_memory)
            # Whoever looks for the first frame outside a library (pandas' warnings) takes it for one of that.
            theirs = function.__code__
            call.__code__ = call.__code__.replace(
                co_filename=theirs.co_filename, co_name=theirs.co_name, co_firstlineno=theirs.co_firstlineno
            )
            setattr(holder, last, call if function is original else staticmethod(call))
        elif type(original) is MethodDescriptorType and sys.implementation.name == "cpython":
            _put(holder, last, _given_memory(original))


def extend_calls(module: ModuleType) -> None:
    """Have what f2py has made of Fortran's routines take lazy arrays: it writes over an argument that it was
    to copy, if that is no real ndarray, in the belief that what `__array__` returned is nobody else's."""
    found = [type(x) for x in vars(module).values() if type(x).__name__ == "fortran"]
    original = vars(found[0]).get("__call__") if found else None
    if type(original) is not WrapperDescriptorType or sys.implementation.name != "cpython":
        return
    asks_namespace = slot_of(_Callable, TP_CALL)
    if asks_namespace and word(id(_Callable) + CALL).value == asks_namespace:
        word(id(found[0]) + CALL).value = asks_namespace
        _put(found[0], "__call__", _given_memory(original))


def _put(cls: type, name: str, method: FunctionType) -> None:
    """Into the namespace of a type in C, which programs cannot change: that which a proxy shows."""
    (namespace,) = gc.get_referents(vars(cls))
    namespace[name] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


TP_CALL = 50
"""CPython's number of the slot (Py_tp_call)."""


class _Callable:
    def __call__(self) -> None: ...


_TAKEN = frozenset((list, dict, ndarray))
"""Classes of arguments that are looked at."""


def _given_memory(
    function: Callable[..., Any], given: Callable[[Any], Any] = given_memory
) -> FunctionType:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not _TAKEN.isdisjoint(map(type, args)):
            return function(*map(given, args), **{name: given(x) for name, x in kwargs.items()})
        return function(*args, **kwargs)

    return cast(FunctionType, call)


def _alone(x: Any) -> Any:
    """An array's memory; nothing in lists."""
    return export(x) if x.__class__ is ndarray else x
