"""Machine code as functions of Python's, of the kind that C extensions offer (METH_FASTCALL).

In:  the address of ``PyObject *f(PyObject *, PyObject *const *, Py_ssize_t)``.   Out: what Python calls, in
40 ns; a call through ctypes takes ten times as long.  The GIL is held.
Always holds: the code stays in memory as long as the process runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

_FASTCALL, _KEYWORDS = 0x80, 0x02
"""METH_FASTCALL and METH_KEYWORDS, of CPython's method table."""


class _Method(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]  # fmt: skip


def forever(x: Any) -> None:
    """Let an object be there even when modules are gone: a program's `__del__` may still run."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))


_kept: list[_Method] = []
"""The interpreter refers to them for ever."""
forever(_kept)


def fastcall(name: str, address: int, first: Any = None, named: bool = False) -> Callable[..., Any]:
    """The function whose code is at an address; what it is given first, if anything; does it take names of
    arguments, in one argument more?"""
    _kept.append(_Method(name.encode(), address, _FASTCALL | named * _KEYWORDS, None))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = make(ctypes.addressof(_kept[-1]), first, None)
    return made
