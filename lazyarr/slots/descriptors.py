"""Descriptors of the array's methods and attributes, and records of what they stand for.

In:  addresses of machine code, NumPy's descriptors, lazyarr's Python methods and properties.
Out: descriptors of the kinds that C extensions have, with NumPy's names and documentation.
"""

from __future__ import annotations

import copyreg
import ctypes
import struct
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from lazyarr import object_fields as fields
from lazyarr.arrays import ndarray
from lazyarr.slots.tables import ATTRIBUTES

KEPT: list[Any] = []
"""What types and code refer to for ever."""


def record(numpys: Any, pythons: Any, *numbers: int) -> int:
    """The address of a record (`calls`)."""
    found = words(numpys, pythons, *numbers)
    KEPT.append(found)
    return id(found) + fields.BYTES


def words(
    numpys: Any,
    pythons: Any,
    first: int = 0,
    read: int = 0,
    flags: int = 0,
    largest: int = 0,
    shapes: int = 0,
    special: int = 0,
) -> bytes:
    """A record."""
    KEPT.extend((numpys, pythons))
    return struct.pack("8q", id(numpys), id(pythons), first, read, flags, largest, shapes, special)


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_void_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int),
        ("doc", ctypes.c_void_p),
    ]  # fmt: skip


class _Attribute(ctypes.Structure):
    """PyGetSetDef."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("name", "get", "set", "doc", "closure")]


FASTCALL = 0x80 | 0x02
"""METH_FASTCALL | METH_KEYWORDS"""
OF_DESCRIPTOR, QUALIFIED = 40, 32
"""Where a descriptor refers to its structure, and to its name, once that was asked for."""
THEIRS = vars(numpy.ndarray)


def _made(make: str, structure: ctypes.Structure, name: str) -> Any:
    """A descriptor, of any object: Python decides what to do for those that are none of ours."""
    KEPT.extend((structure, name))
    function = getattr(ctypes.pythonapi, make)
    function.restype, function.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    found = function(object, ctypes.addressof(structure))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(name))
    fields.word(id(found) + QUALIFIED).value = id(name)
    return found


_ours: dict[int, type] = {}
"""Identities of our descriptors of methods, which are there for ever -> whose they are."""


def _reduced(method: Any) -> tuple[Any, tuple[Any, str]]:
    """How descriptors of methods pickle, and are copied: ours are not of the type that they name."""
    return getattr, (_ours.get(id(method), method.__objclass__), method.__name__)


def methods(cls: type, entries: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    """Descriptors of the methods of a class of ours, as NumPy's of that name."""
    for name, at in entries.items():
        theirs = getattr(getattr(numpy, cls.__name__), name)
        of_numpy = _Method.from_address(fields.word(id(theirs) + OF_DESCRIPTOR).value)
        made = _Method(of_numpy.name, at, FASTCALL, of_numpy.doc)
        found = _made("PyDescr_NewMethod", made, theirs.__qualname__)
        KEPT.append(found)
        _ours[id(found)] = cls
        yield name, found
    copyreg.pickle(types.MethodDescriptorType, _reduced)


def _of_numpy(attribute: str) -> _Attribute:
    return _Attribute.from_address(fields.word(id(THEIRS[attribute]) + OF_DESCRIPTOR).value)


def record_of_attribute(name: str) -> int:
    of_numpy = _of_numpy(name)
    return record(sys.intern(name), vars(ndarray)[name], of_numpy.get, of_numpy.closure or 0)


def attributes(at: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    for body, names in ATTRIBUTES.items():
        for name in names.split():
            of_numpy, about = _of_numpy(name), record_of_attribute(name)
            made = _Attribute(of_numpy.name, at[body], at["setter"], of_numpy.doc, about)
            yield name, _made("PyDescr_NewGetSet", made, THEIRS[name].__qualname__)
