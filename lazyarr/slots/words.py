"""Words that code of slots is given when it is put in place, by name.

In:  lazyarr's and NumPy's objects.   Out: addresses.
Names are those of `routines.Known`, of functions of C, of Python's methods of operators, and those below.
Always holds: what has an address here is there for ever.
"""

from __future__ import annotations

import ctypes
from _thread import RLock
from typing import Any

import numpy

from lazyarr import object_fields as fields
from lazyarr.arrays import ndarray
from lazyarr.config import DEFAULTS
from lazyarr.direct import hear
from lazyarr.elementwise import FILLED, IN_PLACE, MOVED, SCALARS
from lazyarr.elision import ELIDED
from lazyarr.expr import LOCK, Expr
from lazyarr.fallback import finished, taken
from lazyarr.indexing import BASIC
from lazyarr.namespace import Function
from lazyarr.pairs import CROSS
from lazyarr.slot_words import ANSWERED, FORCED, LIMIT, MADE, MOST, UNTIL
from lazyarr.slots.descriptors import KEPT
from lazyarr.slots.loop_tables import LONE, ROOM, UFUNCS, tables
from lazyarr.slots.tables import HELPERS, INERT, OF_PROPERTY, SLOTS
from lazyarr.storage import Storage
from lazyarr.ufuncs import ufunc
from lazyarr.values import Buffer

OUT = b"out"
TOO_MANY = b"too many arguments"
CALL = b"__call__"
"""The method of a ufunc that NumPy names when an operator met an array."""


def entry_of(slot: int) -> str:
    """The label of a slot's own function, by its row of `tables.SLOTS`."""
    return f"slot {slot}"


def before(slot: int) -> str:
    """The word that says what was in a slot."""
    return f"before slot {slot}"


def method_of(name: str) -> str:
    """The label of a method's own function."""
    return f"method {name}"


def record_of(name: str) -> str:
    """The word that says where a method's record is (`calls`)."""
    return f"record of {name}"


def places() -> dict[str, int]:
    """Where objects have their fields, and limits: the fields of `routines.Known` that are numbers."""
    of, of_value = vars(ndarray), vars(Expr)
    return {
        **{name: fields.offset_of(of[name]) for name in ("geo", "storage", "origin", "window")},
        **{name: fields.offset_of(of_value[name]) for name in ("op", "buf", "readers")},
        "value": fields.offset_of(vars(Storage)["value"]),
        **{name: fields.offset_of(vars(Buffer)[name]) for name in ("address", "memory")},
        "fn": fields.offset_of(vars(ufunc)["fn"]), "record": fields.offset_of(vars(Function)["record"]),
        "owner": fields.owner_of(RLock()),
        "cross": CROSS, "elided": ELIDED,
        "eager": DEFAULTS["eager_elements"],
        "over": IN_PLACE * DEFAULTS["eager_elements"], "moved": MOVED * DEFAULTS["eager_elements"],
        "filled": FILLED * DEFAULTS["eager_elements"],
    }  # fmt: skip


def addresses() -> dict[str, int]:
    """The words that are the same for all slots."""
    objects = {
        "lazy": ndarray, "real": numpy.ndarray, "ufunc": numpy.ufunc, "buffers": Buffer, "storages": Storage,
        "tuples": tuple, "lists": list, "integers": int, "floats": float, "double": numpy.float64,
        "doubles": numpy.dtype("d"), "word": numpy.dtype("l").type, "words": numpy.dtype("l"),
        "dot": numpy.dot, "slices": slice, "text": str, "none": None, "true": True, "false": False,
        "ellipsis": ..., "not_implemented": NotImplemented, "type_error": TypeError, "finish": finished,
        "managing": taken, "lock": LOCK, "acquire": LOCK.acquire, "release": LOCK.release, "hear": hear,
        "outs": ("out",), **{f"ufunc {name}": getattr(numpy, name) for name in (*UFUNCS, *LONE)},
        **_operators(),
    }  # fmt: skip
    KEPT.extend(objects.values())                   # modules lose their names at exit, before the last call
    functions = {*HELPERS.split(), *[slot.function for _, slot in SLOTS if slot.function]}
    return {
        **{name: id(x) for name, x in objects.items()},
        "too_many": _bytes(TOO_MANY), "call": _bytes(CALL), "out": _bytes(OUT),
        "scalars": _types(SCALARS), "complexes": _types(filter(_may_be_complex, SCALARS)),
        "indices": _types(BASIC), "inert": _types((*SCALARS, *INERT)),
        "forced": _word(FORCED), "answered": _word(ANSWERED), "limit": _word(LIMIT), "most": _word(MOST),
        "made": _word(MADE), "until": _word(UNTIL), "room": _word((ctypes.c_double * (ROOM // 8))()),
        **tables(KEPT),
        **{name: fields.function(name) for name in functions},
        "PyArray_NewFromDescr": fields.numpys_function(fields.NEW_ARRAY),
        "PyArray_Scalar": fields.numpys_function(fields.NEW_SCALAR),
        "PyArray_SetBaseObject": fields.numpys_function(fields.SET_BASE),
        **{name: fields.slot_of(property, number) or 0 for name, number in OF_PROPERTY.items()},
    }  # fmt: skip


def _operators() -> dict[str, Any]:
    """Python's methods, by name."""
    names = [f"__{side}{slot.method}__" for _, slot in SLOTS if slot.method for side in ("", "r")]
    return {name: vars(ndarray)[name] for name in names}


def _may_be_complex(cls: type) -> bool:
    return issubclass(cls, complex | numpy.complexfloating)


def _types(types: Any) -> int:
    """The address of a list of types, those of Python first, ended by a zero."""
    found = sorted(types, key=lambda cls: (issubclass(cls, numpy.generic), cls is complex, cls is bool))
    KEPT.extend(found)
    return _word((ctypes.c_ssize_t * (len(found) + 1))(*map(id, found), 0))


def _word(x: Any) -> int:
    """The address of a ctypes object's memory."""
    KEPT.append(x)
    return ctypes.addressof(x)


def _bytes(x: bytes) -> int:
    """The address of bytes, which a zero ends."""
    KEPT.append(x)
    return id(x) + fields.BYTES
