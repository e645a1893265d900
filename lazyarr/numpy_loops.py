"""NumPy's own inner loops as machine addresses, read from its ufunc objects.

In:  a ufunc and a loop signature in canonical characters.
Out: `InnerLoop`: ``void f(char **args, intp *dims, intp *steps, void *data)`` and its `data`.
Holds: the object's layout (PyUFuncObject, NumPy's public ufuncobject.h) is compared with what the
ufunc says of itself in Python before a pointer is used; where they differ there is no loop (None).

A loop touches no Python object unless `needs_gil` says so, reports errors through the CPU's
floating-point status only, and may be called from any thread on memory that the caller owns.

The bits that a loop gives may depend on the strides that it is given: NumPy takes other paths for
stride 0 (power), for reversed operands (most transcendental functions, complex multiply, square and
absolute), and in float16 for any that is not contiguous.  So a caller passes the strides that NumPy would.
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from typing import Any

import numpy

from lazyarr.dtypes import PLAIN, canonical
from lazyarr.ops import OPS, kind, row
from lazyarr.records import NamedTuple


class InnerLoop(NamedTuple):
    address: int
    data: int
    """Value of the last argument; often 0."""
    needs_gil: bool
    """Raises Python errors on some data: only under the GIL, and the error state is to be checked."""


class _UFuncFields(ctypes.Structure):
    """PyUFuncObject after the object header, as far as it is read here."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),
        ("name", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
    )


@cache
def inner_loop(ufunc: Any, sig: str) -> InnerLoop | None:
    """NumPy's loop of `ufunc` for a canonical signature, or None where it cannot be had."""
    fields = _fields(ufunc)
    if fields is None or ufunc.__name__ not in OPS or not set(sig) <= _PLAIN_CHARS:
        return None
    for k, types in enumerate(ufunc.types):
        if canonical(types) == sig:
            address = fields.functions[k]
            data = fields.data[k] if fields.data else None
            needs_gil = "raises" in row(ufunc.__name__).traits and kind(sig[0]) == "i"
            return InnerLoop(address, data or 0, needs_gil) if address else None
    return None


_SYMBOL = "lazyarr.numpy."


def symbol_of_loop(name: str, sig: str) -> str:
    """What code calls a ufunc's loop that it calls by itself, without the loop's last argument."""
    return f"{_SYMBOL}{name}.{sig.replace('->', '.')}"


@cache
def loop_at(symbol: str) -> int | None:
    """The address of the loop that a symbol is of; None if it is of none that the running NumPy has."""
    if not symbol.startswith(_SYMBOL):
        return None
    name, ins, outs = symbol.removeprefix(_SYMBOL).split(".")
    found = inner_loop(getattr(numpy, name), f"{ins}->{outs}")
    return found and found.address


def loops_of(ufunc: Any) -> dict[str, tuple[int, int]]:
    """All of a ufunc's loops: types as NumPy writes them -> address, and value of the last argument."""
    fields = _fields(ufunc)
    if fields is None:
        return {}
    count = fields.ntypes
    data = fields.data[:count] if fields.data else [None] * count
    found = zip(ufunc.types, fields.functions[:count], data, strict=True)
    return {types: (address, given or 0) for types, address, given in found if address}


_PLAIN_CHARS = set(PLAIN) | set("->")


@cache
def _fields(ufunc: Any) -> _UFuncFields | None:
    """The C fields of a ufunc, checked against what it says of itself; None where they differ."""
    if platform.python_implementation() != "CPython" or not isinstance(ufunc, numpy.ufunc):
        return None
    fields = _UFuncFields.from_address(id(ufunc) + object.__basicsize__)
    counts = (fields.nin, fields.nout, fields.nargs, fields.ntypes)
    if counts != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) or not fields.functions:
        return None
    numbers = _type_numbers(ufunc)
    if not fields.types or ctypes.string_at(fields.types, len(numbers)) != numbers:
        return None
    return fields


def _type_numbers(ufunc: Any) -> bytes:
    """What PyUFuncObject.types must hold: the type numbers of all loops, one byte each."""
    return bytes([_number(c) for types in ufunc.types for c in types if c not in "->"])


@cache
def _number(char: str) -> int:
    return numpy.dtype(char).num
