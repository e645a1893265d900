"""The dicts of our modules: all of NumPy's names, though most are adapted when somebody asks for them.

In:  a module, whose ``__getattr__`` adapts one name.   Out: a module whose ``vars`` is a `Names`.
CPython's fast way to an attribute is for modules that are of no other type; so the module stays one, and its
dict is of a type that answers for names that are not there yet (`eval(text, vars(np))`,
``np.__dict__["add"]``).
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType
from typing import Any


class Names(dict[str, Any]):
    """A module's names.  Whoever goes through them finds all that NumPy's module has."""

    __slots__ = ("__weakref__", "_find", "_known")

    def __init__(self, there: dict[str, Any], known: dict[str, Any]) -> None:
        super().__init__(there)
        self._find, self._known = there["__getattr__"], known

    def __missing__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._find(name)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (
            name in self._known and isinstance(name, str) and not name.startswith("__")
        )

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default      # noqa: SIM401  (that is this)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def _filled(self) -> dict[str, Any]:
        for name in list(self._known):
            if name in self:
                self[name]
        return self


def _of_all(name: str) -> Any:
    method = getattr(dict, name)

    def call(self: Names, *args: Any) -> Any:
        return method(self._filled(), *args)

    return call


WHOLE = ("__iter__", "__reversed__", "__len__", "__eq__", "__ne__", "__or__", "__ror__", "__repr__",
         "keys", "values", "items", "copy")  # fmt: skip
"""Methods that go through a dict."""
for _name in WHOLE:
    setattr(Names, _name, _of_all(_name))


def complete(module: ModuleType, original: ModuleType) -> dict[str, Any]:
    """The dict of our module for a module of NumPy's, from now on.

    Where an interpreter keeps it elsewhere than CPython does, it stays what it is."""
    there = vars(module)
    at = id(module) + ModuleType.__dictoffset__
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return there
    field = ctypes.c_void_p.from_address(at)
    if field.value != id(there):
        return there
    names = Names(there, vars(original))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(names))
    field.value = id(names)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(there))
    return names
