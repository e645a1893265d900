"""How functions of machine code get into the slots, and in the place of methods and attributes.

In:  the array type and the ufunc type, with all their Python methods.   Out: the same, with functions of
machine code before those.
Always holds: what the slot did before stays reachable, since the function goes there with what is not its
business; nothing is freed, as types keep addresses for ever; memory is never written and executed at once.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from _thread import RLock
from collections.abc import Iterator
from typing import Any

import numpy

from lazyarr.arrays import ndarray, wrap
from lazyarr.config import DEFAULTS
from lazyarr.elementwise import SCALARS
from lazyarr.elision import ELIDED
from lazyarr.expr import LOCK, Expr
from lazyarr.fallback import finished
from lazyarr.gather import BASIC
from lazyarr.namespace import ADAPTED, MADE, Function, offered_as
from lazyarr.pairs import CROSS
from lazyarr.slot_words import ANSWERED, FORCED
from lazyarr.slots import fields
from lazyarr.slots.assembler import R10, R11, Assembler
from lazyarr.slots.attributes import Attributes
from lazyarr.slots.bodies import Bodies
from lazyarr.slots.calls import Calls
from lazyarr.slots.descriptors import KEPT, THEIRS, attributes, methods, record, words
from lazyarr.slots.firsts import Firsts
from lazyarr.slots.items import Items
from lazyarr.slots.part_calls import PartCalls, PartOperators
from lazyarr.slots.part_writes import PartWrites
from lazyarr.slots.parts import Parts
from lazyarr.slots.routines import Known, Routines
from lazyarr.slots.sizes import Sizes
from lazyarr.slots.tables import (
    COPIERS,
    HELPERS,
    INERT,
    LARGEST,
    METHODS,
    OF_PROPERTY,
    QUICK,
    READING,
    READING_METHODS,
    SLOTS,
    Slot,
)
from lazyarr.storage import Storage
from lazyarr.switches import is_off
from lazyarr.temporaries import through_slots
from lazyarr.ufuncs import ufunc
from lazyarr.values import Buffer

TOO_MANY = b"too many arguments"
CALL = b"__call__"
"""The method of a ufunc that NumPy names when an operator met an array."""

BYTES = 20480
"""For all code: it takes 16 KB."""
WRITERS = (
    Routines, Sizes, Parts, Bodies, PartOperators, Items, PartWrites, Calls, PartCalls, Firsts, Attributes,
)  # fmt: skip
"""Of the code."""


def attach() -> None:
    """Put functions into the slots, where this machine and this interpreter are known."""
    if KEPT:
        return                                      # once: a package may be loaded again
    if sys.platform != "linux" or platform.machine() != "x86_64" or is_off("slots") or not fields.are_known():
        return
    memory = mmap.mmap(-1, BYTES)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    asm = Assembler(address)
    known = _known()
    for writer in WRITERS:
        writer(asm, known)
    entries = [
        (place, _entry(asm, slot, place.value))
        for cls, slots in SLOTS
        for slot, place in _places(cls, slots)
    ]
    bodies = {**dict.fromkeys(METHODS.split(), "method"), "__array_ufunc__": "array ufunc"}
    read = {name: count for count, names in READING_METHODS.items() for name in names.split()}
    own = [(name, _call(asm, body, name, read.get(name, 0))) for name, body in bodies.items()]
    code = asm.finished()
    memory[: len(code)] = code
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if protect(address, BYTES, mmap.PROT_READ | mmap.PROT_EXEC):
        return                                      # memory may not be made executable here
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(KEPT))             # also when modules are gone
    KEPT.append(memory)
    for place, at in entries:
        place.value = address + at
    for name, descriptor in [*methods(own, address), *attributes(asm)]:
        setattr(ndarray, name, descriptor)
    firsts = {
        id(x): address + asm.labels[routine] for routine, names in QUICK.items() for x in _numpys(names)
    }
    reads = {id(x): count for count, names in READING.items() for x in _numpys(names)}
    never = address + asm.labels["of nothing"]

    def hear(made: Function, x: Any) -> None:
        first, read = firsts.get(id(x), never), reads.get(id(x), 0)
        made.record = words(x, made.__wrapped__, first, read, *_windows(x.__name__ if read else ""))

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


def _windows(name: str) -> tuple[int, int]:
    """Flags and most elements of the windows that a method or function is given."""
    eager = DEFAULTS["eager_elements"]
    return fields.WRITEABLE if name in COPIERS else 0, LARGEST.get(name, 1) * eager


def _call(asm: Assembler, body: str, name: str, read: int) -> int:
    """A method's own function: where it begins."""
    at = len(asm.code)
    asm.constant(R10, record(THEIRS[name], vars(ndarray)[name], 0, read, *_windows(name)))
    asm.jump(body)
    return at


def _function(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _may_be_complex(cls: type) -> bool:
    return issubclass(cls, complex | numpy.complexfloating)


def _types(types: Any) -> int:
    """The address of a list of types, those of Python first, ended by a zero."""
    found = sorted(types, key=lambda cls: (issubclass(cls, numpy.generic), cls is complex, cls is bool))
    return _word((ctypes.c_ssize_t * (len(found) + 1))(*map(_kept, found), 0))


def _kept(x: Any) -> int:
    """The address of an object, which stays there: modules lose their names at exit, before the last call."""
    KEPT.append(x)
    return id(x)


def _word(x: Any) -> int:
    """The address of a ctypes object's memory."""
    KEPT.append(x)
    return ctypes.addressof(x)


def _bytes(x: bytes) -> int:
    """The address of bytes, which a zero ends."""
    return _kept(x) + fields.BYTES


def _known() -> Known:
    of, of_value = vars(ndarray), vars(Expr)
    KEPT.extend(of.values())                        # the methods that operators go on to
    return Known(
        lazy=_kept(ndarray), real=_kept(numpy.ndarray), ufunc=_kept(numpy.ufunc), buffers=_kept(Buffer),
        storages=_kept(Storage),
        tuples=_kept(tuple), lists=_kept(list), integers=_kept(int), slices=_kept(slice), text=_kept(str),
        none=_kept(None), true=_kept(True), false=_kept(False), ellipsis=_kept(...),
        not_implemented=_kept(NotImplemented),
        type_error=_kept(TypeError), too_many=_bytes(TOO_MANY), call=_bytes(CALL), finish=_kept(finished),
        managing=_kept(wrap), acquire=_kept(LOCK.acquire), release=_kept(LOCK.release),
        lock=_kept(LOCK), owner=fields.owner_of(RLock()),
        scalars=_types(SCALARS), complexes=_types(filter(_may_be_complex, SCALARS)), indices=_types(BASIC),
        inert=_types((*SCALARS, *INERT)),
        forced=_word(FORCED), answered=_word(ANSWERED),
        **{name: fields.offset_of(of[name]) for name in ("geo", "storage", "origin", "window")},
        **{name: fields.offset_of(of_value[name]) for name in ("op", "buf", "readers")},
        value=fields.offset_of(vars(Storage)["value"]),
        **{name: fields.offset_of(vars(Buffer)[name]) for name in ("address", "memory")},
        fn=fields.offset_of(vars(ufunc)["fn"]), record=fields.offset_of(vars(Function)["record"]),
        cross=CROSS, elided=ELIDED, eager=DEFAULTS["eager_elements"], plain=8 * DEFAULTS["eager_elements"],
        functions={
            **{name: _function(name) for name in HELPERS.split()},
            "PyArray_NewFromDescr": fields.numpys_function(fields.NEW_ARRAY),
            **{name: fields.slot_of(property, number) or 0 for name, number in OF_PROPERTY.items()},
        },
    )  # fmt: skip
