"""Classes that stand for NumPy's have NumPy's names in the interpreter's own messages.

"unhashable type: 'numpy.ndarray'" takes the name from the type's memory (`tp_name`), which for a class
written in Python is its bare name.  Names that programs see (`__name__`, `__module__`, `repr`, pickles)
come from elsewhere.

In: a class, and NumPy's.   Out: the class.
Invariant: where the memory is not as expected, it is left alone.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_AT = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""Where CPython keeps `tp_name`: behind an object's header and its number of items (`PyVarObject`)."""
_NAMES: list[ctypes.Array[ctypes.c_char]] = []
"""Types refer to these for as long as the process runs, also when modules are gone."""


def named_as(numpys: type) -> Callable[[_Class], _Class]:
    """Decorate a class that stands for NumPy's `numpys`."""

    def name(cls: _Class) -> _Class:
        if sys.implementation.name != "cpython":
            return cls
        if ctypes.c_char_p.from_address(id(cls) + _AT).value == cls.__name__.encode():
            text = ctypes.create_string_buffer(f"{numpys.__module__}.{numpys.__name__}".encode())
            _NAMES.append(text)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(text))
            ctypes.c_void_p.from_address(id(cls) + _AT).value = ctypes.addressof(text)
        return cls

    return name
