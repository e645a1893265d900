"""Words that code of slots is given when it is put in place, by name.

In:  lazyarr's and NumPy's objects.   Out: addresses.
Names are those of `known.Known`, of functions of C, of Python's methods of operators, and those below.
Always holds: what has an address here is there for ever.
"""

from __future__ import annotations

import ctypes
import sys
from _thread import RLock
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr import object_fields as fields
from lazyarr.arrays import ndarray
from lazyarr.buffers import WARM, WARM_EACH, WARM_MOST, WARM_ROOM, Block, _allocator
from lazyarr.config import DEFAULTS, current
from lazyarr.direct import hear
from lazyarr.elementwise import FILLED, IN_PLACE, MOVED, SCALARS
from lazyarr.elision import ELIDED
from lazyarr.expr import LOCK, Expr
from lazyarr.fallback import finished, taken
from lazyarr.indexing import BASIC
from lazyarr.namespace import Function
from lazyarr.pages import FreeSpans
from lazyarr.pairs import CROSS
from lazyarr.resting import COLLECTING, Collecting
from lazyarr.slot_words import (
    ANSWERED,
    APART,
    FINDS,
    FORCED,
    LIMIT,
    MADE,
    MOST,
    PACKED,
    PACKERS,
    SPREADERS,
    UNPACKED,
    UNTIL,
)  # fmt: skip
from lazyarr.slots import has_room
from lazyarr.slots.descriptors import KEPT
from lazyarr.slots.loop_tables import LONE, ROOM, UFUNCS, tables
from lazyarr.slots.tables import (
    AXES,
    EACH,
    HELPERS,
    INERT,
    OF_ONE,
    OF_PROPERTY,
    OTHERS,
    ROW,
    SLOTS,
    SPARE_VIEWS,
    SPARES,
    VIEW_AXES,
)  # fmt: skip
from lazyarr.stack_operands import OPERATORS, hear_operator, variables_at
from lazyarr.storage import Storage
from lazyarr.ufuncs import ufunc
from lazyarr.values import LEDGER, OWED, Buffer, Ledger

OUT, WHERE, DTYPE, COPY = b"out", b"where", b"dtype", b"copy"
TOO_MANY = b"too many arguments"
START = b"start"
"""What the garbage collector calls its first phase."""
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


def fold_of(name: str) -> str:
    """The label of what is called in the place of a function or method that folds."""
    return f"fold {name}"


def places() -> dict[str, int]:
    """Where objects have their fields, and limits: the fields of `known.Known` that are numbers."""
    of, of_value, of_buffer = vars(ndarray), vars(Expr), vars(Buffer)
    return {
        **{name: fields.offset_of(of[name]) for name in ("geo", "storage", "origin", "window", "twin")},
        **{name: fields.offset_of(of_value[name]) for name in ("op", "buf", "readers", "home", "nbytes")},
        "value": fields.offset_of(vars(Storage)["value"]),
        **{name: fields.offset_of(of_buffer[name]) for name in ("address", "memory", "orphan", "bridge")},
        "extent": fields.offset_of(of_buffer["nbytes"]),
        "unallocated": fields.offset_of(vars(Ledger)["unallocated"]),
        **{name: fields.offset_of(vars(Collecting)[name]) for name in ("now", "ended")},
        "total": fields.offset_of(vars(FreeSpans)["total"]),
        "warm_most": WARM_MOST, "warm_each": WARM_EACH, "warm_room": WARM_ROOM,
        "fn": fields.offset_of(vars(ufunc)["fn"]), "record": fields.offset_of(vars(Function)["record"]),
        "owner": fields.owner_of(RLock()),
        "cross": CROSS, "elided": ELIDED, "elides": ELIDED if variables_at() else 0,
        "weak": ndarray.__weakrefoffset__,
        "eager": DEFAULTS["eager_elements"],
        "over": IN_PLACE * DEFAULTS["eager_elements"], "moved": MOVED * DEFAULTS["eager_elements"],
        "filled": FILLED * DEFAULTS["eager_elements"],
    }  # fmt: skip


def addresses() -> dict[str, int]:
    """The words that are the same for all slots."""
    objects = {
        "lazy": ndarray, "real": numpy.ndarray, "ufunc": numpy.ufunc, "buffers": Buffer, "storages": Storage,
        "tuples": tuple, "lists": list, "integers": int, "floats": float, "complex": complex,
        "double": numpy.float64, "doubles": numpy.dtype("d"), "word": numpy.dtype("l").type,
        "words": numpy.dtype("l"),
        "dot": numpy.dot, "slices": slice, "text": str, "none": None, "true": True, "false": False,
        "ellipsis": ..., "not_implemented": NotImplemented, "type_error": TypeError, "finish": finished,
        "refusals": (IndexError, TypeError, ValueError, MemoryError), "too_deep": RecursionError,
        "bytes": bytes, "dtypes": type(numpy.dtype), "ufuncs": ufunc,
        "function_method": vars(Function)["__call__"],
        "ufunc_method": vars(ufunc)["__call__"], "managing": taken, "hear": hear, "hear_masks": hear_masks,
        "hear_operator": hear_operator,
        "lock": LOCK, "acquire": LOCK.acquire, "release": LOCK.release,
        "blocks": Block, "ledger": LEDGER, "collecting": COLLECTING, "owed": OWED, "warm": WARM, "zero": 0,
        "bring back": COLLECTING.bring_back, "allocator": _allocator, "free": "_free", "options": current,
        "cache bytes": "buffer_cache_bytes", "outs": ("out",), "masked": ("out", "where"),
        "axis": sys.intern("axis"),
        **{f"ufunc {name}": getattr(numpy, name) for name in (*UFUNCS, *LONE, *OF_ONE.values())},
        **_operators(),
    }  # fmt: skip
    KEPT.extend(objects.values())                   # modules lose their names at exit, before the last call
    functions = {*HELPERS.split(), *[slot.function for _, slot in SLOTS if slot.function]}
    return {
        **{name: id(x) for name, x in objects.items()},
        "too_many": _bytes(TOO_MANY), "call": _bytes(CALL), "out": _bytes(OUT), "start": _bytes(START),
        "where": _bytes(WHERE), "dtype": _bytes(DTYPE), "copy": _bytes(COPY),
        "scalars": _types(SCALARS), "operands": _types((*SCALARS, *OTHERS)),
        "complexes": _types(filter(_may_be_complex, SCALARS)),
        "numpys_row": fields.slot_of(numpy.ndarray, ROW) or 0,
        "indices": _types(BASIC), "inert": _types((*SCALARS, *INERT)),
        "forced": _word(FORCED), "answered": _word(ANSWERED), "limit": _word(LIMIT), "most": _word(MOST),
        "made": _word(MADE), "until": _word(UNTIL), "apart": _word(APART), "packers": _word(PACKERS),
        "spreaders": _word(SPREADERS), "unpacked": _word(UNPACKED), "packed": _word(PACKED),
        "finds": _word(FINDS),
        "operators": _word(OPERATORS),
        "native": _by_number("?bBhHiIlLqQfdFD"), "ranges": _ranges(),
        "room": _word((ctypes.c_double * (ROOM // 8))()),
        "spares": _word((ctypes.c_ssize_t * (1 + SPARES))()),
        "spare_views": _word((ctypes.c_ssize_t * (VIEW_AXES * (1 + SPARE_VIEWS)))()),
        "windows": _word((ctypes.c_ssize_t * (AXES * EACH))()), **tables(KEPT),
        **{name: fields.function(name) for name in functions},
        "PyArray_NewFromDescr": fields.numpys_function(fields.NEW_ARRAY),
        "PyArray_CountNonzero": fields.numpys_function(fields.COUNT_NONZERO),
        "PyArray_CastToType": fields.numpys_function(fields.CAST),
        "PyArray_Scalar": fields.numpys_function(fields.NEW_SCALAR),
        "PyArray_SetBaseObject": fields.numpys_function(fields.SET_BASE),
        **{name: fields.slot_of(property, number) or 0 for name, number in OF_PROPERTY.items()},
    }  # fmt: skip


def hear_masks(at_exit: Callable[[], bool] = sys.is_finalizing) -> None:
    """NumPy has picked among many elements by masks (`picks`)."""
    if not at_exit() and has_room():
        from lazyarr.packing import PACKING  # here: most programs have no masks

        PACKING.hear_slots()


def _by_number(chars: str) -> int:
    """The address of the addresses of types' descriptors, by number.  (There is one of each type that is not
    somebody's own.)"""
    found = (ctypes.c_ssize_t * (fields.DOUBLE_COMPLEX + 1))()
    for dtype in map(numpy.dtype, chars):
        KEPT.append(dtype)
        found[dtype.num] = id(dtype)
    return _word(found)


def _ranges() -> int:
    """The address of the least integer of each type, by number, and of how many more it has, as far as words
    hold these."""
    found = (ctypes.c_ulonglong * (2 * (fields.INTEGERS + 1)))()
    for dtype in map(numpy.dtype, "bBhHiIlLqQ"):
        info = numpy.iinfo(dtype)
        low, high = int(info.min), min(int(info.max), sys.maxsize)
        found[2 * dtype.num], found[2 * dtype.num + 1] = low & (1 << 64) - 1, high - low
    return _word(found)


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
