"""The slots, as a table, and how functions get there.

In:  the array type and the ufunc type, with all their Python methods.   Out: the same, with functions of
machine code before those.
Always holds: what the slot did before stays reachable, since the function goes there with what is not its
business; nothing is freed, as types keep addresses for ever; memory is never written and executed at once.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from lazyarr.arrays import ndarray
from lazyarr.config import Options
from lazyarr.dtypes import ELEMENTS
from lazyarr.elementwise import SCALARS
from lazyarr.elision import ELIDED
from lazyarr.fallback import lend, take_back
from lazyarr.gather import BASIC
from lazyarr.namespace import ADAPTED, MADE, BindingFunction, Function, offered_as
from lazyarr.operators import CROSS
from lazyarr.slot_words import ANSWERED, FORCED
from lazyarr.slots import fields
from lazyarr.slots.assembler import R10, R11, Assembler
from lazyarr.slots.bodies import Bodies
from lazyarr.slots.calls import Calls
from lazyarr.slots.routines import Known, Routines
from lazyarr.switches import is_off
from lazyarr.temporaries import through_slots
from lazyarr.ufuncs import ufunc

INERT = {type(None), type(...), str, type, slice, *map(type, ELEMENTS.values())}
"""Types of arguments that hold no arrays, besides scalars."""


class Slot(NamedTuple):
    """One row."""

    number: int
    """CPython's number of the slot (typeslots.h), which never changes."""
    table: int
    """Where a type refers to the table that it is in; 0: it is in the type."""
    offset: int
    body: str
    function: str
    """Of CPython's C interface: what the slot's operation is on any objects."""
    method: str = ""
    """Operators of two operands: the Python method without its underscores."""


def _numbers(body: str, prefix: str, rows: str) -> list[Slot]:
    """Slots of the table of numbers: name of the function, number, place, method."""
    split = (row.split() for row in rows.strip().splitlines())
    return [
        Slot(int(number), fields.NUMBERS, 8 * int(place), body, prefix + name, *method)
        for name, number, place, *method in split
    ]


ARRAYS = [
    *_numbers("binary", "PyNumber_", """
        Add 7 0 add
        Subtract 36 1 sub
        Multiply 29 2 mul
        Remainder 34 3 mod
        Power 33 5 pow
        Lshift 28 11 lshift
        Rshift 35 12 rshift
        And 8 13 and
        Xor 38 14 xor
        Or 31 15 or
        FloorDivide 12 29 floordiv
        TrueDivide 37 30 truediv
        MatrixMultiply 75 34 matmul
    """),
    *_numbers("in_place", "PyNumber_InPlace", """
        Add 14 19
        Subtract 23 20
        Multiply 18 21
        Remainder 21 22
        Power 20 23
        Lshift 17 24
        Rshift 22 25
        And 15 26
        Xor 25 27
        Or 19 28
        FloorDivide 16 31
        TrueDivide 24 32
    """),
    *_numbers("unary", "PyNumber_", """
        Negative 30 6
        Positive 32 7
        Absolute 6 8
        Invert 27 10
    """),
    Slot(67, 0, fields.COMPARISON, "binary", "PyObject_RichCompare"),
    Slot(5, fields.MAPPING, 8, "get_item", "PyObject_GetItem"),
    Slot(3, fields.MAPPING, 16, "set_item", "PyObject_SetItem"),
    Slot(4, fields.MAPPING, 0, "length", ""),
    Slot(45, fields.SEQUENCE, 0, "length", ""),
]  # fmt: skip
UFUNCS = [Slot(50, 0, fields.CALL, "ufunc", "PyObject_Vectorcall")]
FUNCTIONS = [Slot(50, 0, fields.CALL, "called", "")]

SLOTS = [(ndarray, ARRAYS), (ufunc, UFUNCS), (Function, FUNCTIONS), (BindingFunction, FUNCTIONS)]

QUICK = {
    "argument": """
        sum prod max min amax amin any all mean std var ptp clip argmax argmin cumsum cumprod trace diff
        reshape ravel transpose swapaxes moveaxis expand_dims squeeze flip fliplr flipud rot90 roll
        broadcast_to repeat tile atleast_1d atleast_2d
        dot inner outer vdot cross kron tensordot where take compress choose round around nan_to_num
        copy astype zeros_like ones_like empty_like full_like diag tril triu diagonal real imag angle
        sort argsort searchsorted nonzero flatnonzero argwhere count_nonzero bincount unique digitize
        isclose allclose array_equal iscomplexobj isrealobj median average percentile interp trapezoid
        linalg.norm linalg.solve linalg.inv linalg.det linalg.matrix_power
        copyto put putmask fill_diagonal
    """,
    "of shape": "zeros ones empty full",
    "of numbers": "arange",
    "of samples": "linspace",
    "of values": "array asarray asanyarray ascontiguousarray asfortranarray",
    "of arrays": "concatenate stack hstack vstack column_stack dstack",
}
"""Routine for the first argument -> functions.  Where all arguments are plain arrays or hold none, NumPy
computes them at the call, whoever asks."""

METHODS = """
    sum prod max min any all mean std var clip argmax argmin cumsum cumprod trace dot
    transpose swapaxes squeeze diagonal reshape ravel flatten view astype copy conj conjugate round
    repeat take choose put compress searchsorted argsort sort argpartition partition nonzero fill item
"""
"""What NumPy does for a plain array at the call; its result is an argument, a view, an array or a scalar."""
ATTRIBUTES = {"attribute": "shape strides dtype ndim size nbytes itemsize", "view": "T mT real"}
"""Body -> attributes; those of the first kind ask the geometry, whatever the array."""

HELPERS = """
    Py_IncRef Py_DecRef PyType_GenericAlloc PyErr_Clear PyErr_ExceptionMatches PyErr_NoMemory
    PyObject_Vectorcall PyObject_VectorcallDict PyObject_Call PyObject_GetAttr PyLong_AsSsize_t PyDict_Next
    PyTuple_New
"""
"""What bodies call besides."""
OF_PROPERTY = {"property get": 54, "property set": 55}
"""Slots of Python's `property`, and their numbers."""

BYTES = 16384
"""For all code; what it takes is less than half."""

_kept: list[Any] = []
"""Memory that the code is in, or reads."""


def attach() -> None:
    """Put functions into the slots, where this machine and this interpreter are known."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or is_off("slots") or not fields.are_known():
        return
    memory = mmap.mmap(-1, BYTES)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    asm = Assembler(address)
    known = _known()
    Routines(asm, known)
    Bodies(asm, known)
    Calls(asm, known)
    entries = [
        (place, _entry(asm, slot, place.value))
        for cls, slots in SLOTS
        for slot, place in _places(cls, slots)
    ]
    methods = [(name, _call(asm, "method", THEIRS[name], vars(ndarray)[name])) for name in METHODS.split()]
    code = asm.finished()
    memory[: len(code)] = code
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if protect(address, BYTES, mmap.PROT_READ | mmap.PROT_EXEC):
        return                                      # memory may not be made executable here
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))             # also when modules are gone
    _kept.append(memory)
    for place, at in entries:
        place.value = address + at
    for name, descriptor in [*_methods(methods, address), *_attributes(asm)]:
        setattr(ndarray, name, descriptor)
    firsts = {
        id(x): address + asm.labels[routine] for routine, names in QUICK.items() for x in _numpys(names)
    }
    never = address + asm.labels["of nothing"]

    def hear(made: Function, x: Any) -> None:
        made.record = _words(x, made.__wrapped__, firsts.get(id(x), never))

    MADE.append(hear)
    for x, made in list(ADAPTED.values()):
        if isinstance(made, Function):
            hear(made, x)
    through_slots(lambda call: offered_as(call, call))


def _numpys(names: str) -> Iterator[Any]:
    """NumPy's functions of these names, as far as this version has them."""
    for name in names.split():
        found: Any = numpy
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            yield found


def _places(cls: type, slots: list[Slot]) -> list[tuple[Slot, ctypes.c_ssize_t]]:
    """Each slot and its word in a type, where CPython says that it lies there."""
    found = []
    for slot in slots:
        table = fields.word(id(cls) + slot.table).value if slot.table else id(cls)
        place = fields.word(table + slot.offset)
        if place.value and place.value == fields.slot_of(cls, slot.number):
            found.append((slot, place))
    return found


def _entry(asm: Assembler, slot: Slot, before: int) -> int:
    """A slot's own function: where it begins."""
    at = len(asm.code)
    if slot.method:                                 # else the slot's own function would miss itself
        asm.constant(R10, id(vars(ndarray)[f"__{slot.method}__"]))
        asm.constant(R11, id(vars(ndarray)[f"__r{slot.method}__"]))
        asm.jump("power operator" if slot.method == "pow" else "operator")
        before, at = asm.address + at, len(asm.code)
    asm.constant(R10, _function(slot.function) if slot.function else 0)
    asm.constant(R11, before)
    asm.jump(slot.body)
    return at


def _record(numpys: Any, pythons: Any, first: int = 0) -> int:
    """The address of a record (`calls`)."""
    words = _words(numpys, pythons, first)
    _kept.append(words)
    return id(words) + fields.BYTES


def _words(numpys: Any, pythons: Any, first: int) -> bytes:
    """A record."""
    _kept.extend((numpys, pythons))
    return struct.pack("3q", id(numpys), id(pythons), first)


def _call(asm: Assembler, body: str, numpys: Any, pythons: Any, first: int = 0) -> int:
    """The own function of a method or function: where it begins."""
    at = len(asm.code)
    asm.constant(R10, _record(numpys, pythons, first))
    asm.jump(body)
    return at


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
    _kept.extend((structure, name))
    function = getattr(ctypes.pythonapi, make)
    function.restype, function.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    found = function(object, ctypes.addressof(structure))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(name))
    fields.word(id(found) + QUALIFIED).value = id(name)
    return found


def _methods(entries: list[tuple[str, int]], address: int) -> Iterator[tuple[str, Any]]:
    for name, at in entries:
        of_numpy = _Method.from_address(fields.word(id(THEIRS[name]) + OF_DESCRIPTOR).value)
        made = _Method(of_numpy.name, address + at, FASTCALL, of_numpy.doc)
        yield name, _made("PyDescr_NewMethod", made, THEIRS[name].__qualname__)


def _attributes(asm: Assembler) -> Iterator[tuple[str, Any]]:
    for body, names in ATTRIBUTES.items():
        for name in names.split():
            of_numpy = _Attribute.from_address(fields.word(id(THEIRS[name]) + OF_DESCRIPTOR).value)
            get, change = (asm.address + asm.labels[label] for label in (body, "setter"))
            record = _record(sys.intern(name), vars(ndarray)[name])
            made = _Attribute(of_numpy.name, get, change, of_numpy.doc, record)
            yield name, _made("PyDescr_NewGetSet", made, THEIRS[name].__qualname__)


def finished(result: Any, *args: Any, **kwargs: Any) -> Any:
    """What NumPy answered to a call with these arguments, which hold no arrays but themselves."""
    lent: dict[int, Any] = {}
    for x in (*args, *kwargs.values()):
        lend(x, lent)
    return take_back(result, lent)


def _function(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _types(types: Any) -> int:
    """The address of a list of types, those of Python first, ended by a zero."""
    found = sorted(types, key=lambda cls: (issubclass(cls, numpy.generic), cls is complex, cls is bool))
    words = (ctypes.c_ssize_t * (len(found) + 1))(*map(id, found), 0)
    _kept.append(words)
    return ctypes.addressof(words)


def _known() -> Known:
    of = vars(ndarray)
    _kept.extend((ndarray, numpy.ndarray, numpy.dtype(object), ufunc, *of.values()))
    return Known(
        lazy=id(ndarray), real=id(numpy.ndarray), none=id(None), tuples=id(tuple),
        objects=id(numpy.dtype(object)), value_error=id(ValueError), not_implemented=id(NotImplemented),
        scalars=_types(SCALARS), indices=_types(BASIC),
        forced=ctypes.addressof(FORCED), answered=ctypes.addressof(ANSWERED),
        geo=fields.offset_of(of["geo"]), storage=fields.offset_of(of["storage"]),
        origin=fields.offset_of(of["origin"]), fn=fields.offset_of(vars(ufunc)["fn"]),
        record=fields.offset_of(vars(Function)["record"]),
        cross=CROSS, elided=ELIDED, eager=Options().eager_elements,
        inert=_types((*SCALARS, *INERT)), finish=id(finished), lists=id(list), integers=id(int),
        plain=8 * Options().eager_elements,
        functions={
            **{name: _function(name) for name in HELPERS.split()},
            **{name: fields.slot_of(property, number) or 0 for name, number in OF_PROPERTY.items()},
        },
    )  # fmt: skip
