"""Where objects of CPython's and NumPy's have their fields, in bytes; tested before anything relies on it."""

from __future__ import annotations

import ctypes
import sys
import weakref
from _thread import get_ident
from types import MemberDescriptorType
from typing import Any

import numpy

from lazyarr.geometry import DATA_FIELD

TYPE = 8
"""Of any object."""
LENGTH, ITEMS = 16, 24
"""Of a tuple: how many, and the first."""
LIST_ITEMS = 24
"""Of a list: where its items are; how many there are, it says where a tuple does."""
VALUE = 16
"""Of a float, and of NumPy's scalars that are as long."""
BYTES = 32
"""Of bytes: the first."""
USED = 16
"""Of a dict: how many entries."""
REFERENT = 16
"""Of a weak reference: what it refers to, or None."""

DATA, NDIM, DIMS, STRIDES, BASE, DTYPE, FLAGS = DATA_FIELD, 24, 32, 40, 48, 56, 64
"""Of an array (PyArrayObject); its flags are an int of 32 bits."""
WEAK, BUFFER_INFO = 72, 80
"""Of an array: its weak references, and what NumPy remembers for its buffers' shapes; or 0."""
C_CONTIGUOUS, F_CONTIGUOUS, OWNS, ALIGNED, WRITEABLE = 1, 2, 4, 0x100, 0x400
"""Five of them (NPY_ARRAY_C_CONTIGUOUS and so on)."""
SCALARS, TYPE_NUMBER, ITEMSIZE = 16, 28, 40
"""Of a dtype: the class of its scalars, an int of 32 bits, and a word."""
BOOLS, INTEGERS, FLOATS, COMPLEX, DOUBLE_COMPLEX, OBJECTS, RECORDS = (numpy.dtype(c).num for c in "?QfFDOV")
"""Type numbers: of bools, of the last type of integers, of the first types of floating-point and of complex
numbers (all below the one are bools and integers), of the latter's second one, of objects, and of records."""
NIN, NOUT = 16, 20
"""Of a ufunc: two ints of 32 bits."""

TYPE_FLAGS, TUPLES = 168, 1 << 26
"""Of a type: its flags, and the one of tuples and named tuples (Py_TPFLAGS_TUPLE_SUBCLASS)."""
NUMBERS, SEQUENCE, MAPPING, CALL, COMPARISON, ITERATOR, FINALIZE = 96, 104, 112, 128, 200, 216, 392
END, ALLOCATE = 48, 304
"""Of a type: three tables of slots, and six slots."""

_MEMBER, _OFFSET = 40, 16
"""Of the descriptor of an attribute in ``__slots__``: what describes it, and of that, where it is."""


def word(address: int) -> ctypes.c_ssize_t:
    return ctypes.c_ssize_t.from_address(address)


def number(address: int) -> int:
    return ctypes.c_int.from_address(address).value


def offset_of(member: MemberDescriptorType) -> int:
    """Where objects have an attribute that is in their type's ``__slots__``."""
    return word(word(id(member) + _MEMBER).value + _OFFSET).value


def are_known() -> bool:
    """Are the fields of this interpreter's and this NumPy's objects where they are looked for?

    (Where there is no GIL, they are not.)"""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    x = numpy.arange(12, dtype="<f4").reshape(3, 4)[1:]
    locked, turned = numpy.broadcast_to(x, (2, 2, 4)), x.T
    odd = numpy.frombuffer(bytearray(9), "<f8", 1, 1)
    pair, items, names = (x, x.dtype), [x, x.dtype], {"a": 1, "b": 2, "c": 3}
    held, gone = weakref.ref(x), weakref.ref(numpy.empty(0))
    part, turn = slice(x, None, held), 2 - 3j
    samples = (x, x.dtype, numpy.modf, pair, items, names, held)
    return bool(
        all(word(id(sample) + TYPE).value == id(type(sample)) for sample in samples)
        and word(id(x) + DATA_FIELD).value == x.__array_interface__["data"][0]
        and number(id(x) + NDIM) == 2
        and [word(word(id(x) + DIMS).value + 8 * k).value for k in range(2)] == [2, 4]
        and [word(word(id(x) + STRIDES).value + 8 * k).value for k in range(2)] == [16, 4]
        and word(id(x) + BASE).value == id(x.base)
        and numpy.ndarray.__weakrefoffset__ == WEAK and word(id(x) + WEAK).value == id(held)
        and not any(word(id(locked) + at).value for at in (WEAK, BUFFER_INFO))
        and x.data and word(id(x) + BUFFER_INFO).value
        and all(word(id(cls) + TYPE_FLAGS).value == cls.__flags__ for cls in (tuple, list, int))
        and tuple.__flags__ & TUPLES and not list.__flags__ & TUPLES
        and number(id(x) + FLAGS) & WRITEABLE
        and not number(id(locked) + FLAGS) & WRITEABLE
        and number(id(x) + FLAGS) & C_CONTIGUOUS
        and not number(id(locked) + FLAGS) & C_CONTIGUOUS
        and not number(id(x) + FLAGS) & F_CONTIGUOUS
        and number(id(turned) + FLAGS) & (F_CONTIGUOUS | C_CONTIGUOUS) == F_CONTIGUOUS
        and number(id(x) + FLAGS) & ALIGNED
        and not number(id(odd) + FLAGS) & ALIGNED
        and all(_value(cls(0.25)) == 0.25 for cls in (float, numpy.float64))
        and all(
            ctypes.string_at(id(held) + VALUE, held.itemsize) == held.tobytes()
            for held in [numpy.dtype(c).type(1) for c in "?bBhHiIlLqQfdFD"]
        )
        and ctypes.string_at(id(turn) + VALUE, 16) == numpy.complex128(turn).tobytes()
        and [word(id(held) + VALUE).value for held in [numpy.int64(-7), numpy.longlong(-7)]] == [-7, -7]
        and [word(id(part) + VALUE + 8 * k).value for k in range(3)] == [*map(id, (x, None, held))]
        and _makes_arrays(x)
        and _counts_truths() and _casts()
        and word(id(x) + DTYPE).value == id(x.dtype)
        and all(number(id(numpy.dtype(c)) + TYPE_NUMBER) == numpy.dtype(c).num for c in "bfdgDO")
        and all(word(id(numpy.dtype(c)) + SCALARS).value == id(numpy.dtype(c).type) for c in "bfdgDO")
        and all(word(id(numpy.dtype(c)) + ITEMSIZE).value == numpy.dtype(c).itemsize for c in "bfdgD")
        and [number(id(numpy.modf) + at) for at in (NIN, NOUT)] == [1, 2]
        and [word(id(pair) + at).value for at in (LENGTH, ITEMS, ITEMS + 8)] == [2, id(x), id(x.dtype)]
        and word(id(names) + USED).value == 3
        and [word(id(ref) + REFERENT).value for ref in (held, gone)] == [id(x), id(None)]
        and word(id(items) + LENGTH).value == 2
        and word(word(id(items) + LIST_ITEMS).value + 8).value == id(x.dtype)
        and ctypes.string_at(id(b"four") + BYTES, 5) == b"four\0"
    )


NEW_ARRAY, NEW_SCALAR, SET_BASE, COUNT_NONZERO, CAST = 94, 60, 282, 270, 49
"""In the table of NumPy's C interface: PyArray_NewFromDescr, PyArray_Scalar, PyArray_SetBaseObject,
PyArray_CountNonzero, which never change places."""


def function(name: str) -> int:
    """A function of Python's C interface."""
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))      # (no function is made for it)


def numpys_function(number: int) -> int:
    """A function of NumPy's C interface."""
    of_capsule = ctypes.pythonapi.PyCapsule_GetPointer
    of_capsule.restype, of_capsule.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table: int = of_capsule(numpy._core._multiarray_umath._ARRAY_API, None)     # type: ignore[attr-defined]
    return word(table + 8 * number).value


def _value(x: float) -> float:
    return ctypes.c_double.from_address(id(x) + VALUE).value


def _makes_arrays(x: numpy.ndarray) -> bool:
    """Does that function make an array like x, which refers to nothing, where x's data are?"""
    pointers = [ctypes.c_void_p] * 3
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, *pointers, ctypes.c_int,
        ctypes.c_void_p,
    )(numpys_function(NEW_ARRAY))  # fmt: skip
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x.dtype))
    given = [word(id(x) + at).value for at in (DIMS, STRIDES, DATA)]
    made = make(numpy.ndarray, x.dtype, x.ndim, *given, 0, None)
    bare: bool = made.base is None and not made.flags.writeable
    return bare and made.strides == x.strides and bool((made == x).all())


def _counts_truths() -> bool:
    """Does that function count what is True in an array?"""
    count = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.py_object)(numpys_function(COUNT_NONZERO))
    return [count(numpy.arange(n) % 3 == 1) for n in (0, 70, 71)] == [0, 23, 24]


def _casts() -> bool:
    """Does that function make an array of another type?"""
    cast = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int)(
        numpys_function(CAST)
    )
    double = numpy.dtype("d")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(double))
    made = cast(numpy.arange(3), double, 0)
    return bool(made.dtype is double and made.base is None and (made == numpy.arange(3)).all())


def owner_of(lock: Any) -> int:
    """Where a lock (RLock) names the thread that holds it, in a word that else is zero; 0 if nowhere."""
    for at in range(TYPE + 8, type(lock).__basicsize__, 8):
        free = word(id(lock) + at).value
        with lock:
            held = word(id(lock) + at).value
        if not free and held == get_ident():
            return at
    return 0


def slot_of(cls: Any, number: int) -> int | None:
    """What CPython says is in a slot of a type, by the slot's number."""
    ask = ctypes.pythonapi.PyType_GetSlot
    ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    found: int | None = ask(cls, number)
    return found
