"""How functions of machine code get into the slots, and in the place of methods and attributes.

In:  the types of arrays, ufuncs and functions, with all their Python methods.   Out: the same, with functions
of machine code before those.
Always holds: what the slot did before stays reachable, since the function goes there with what is not its
business; nothing is freed, as types keep addresses for ever; memory is never written and executed at once.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from struct import pack_into
from types import ModuleType
from typing import Any

import numpy

from lazyarr import object_fields as fields
from lazyarr import ufuncs
from lazyarr.arrays import ndarray
from lazyarr.config import DEFAULTS, current
from lazyarr.fastcalls import fastcall
from lazyarr.namespace import ADAPTED, MADE, BindingFunction, Function, offered_as
from lazyarr.resting import COLLECTING
from lazyarr.slots.descriptors import KEPT, THEIRS, attributes, methods, record, record_of_attribute, words
from lazyarr.slots.tables import (
    ALONE,
    COPIERS,
    DRAWS,
    ENTRIES,
    FOLDS,
    GENERATORS,
    LARGEST,
    METHODS,
    OF_NOTHING,
    OTHER_METHODS,
    QUICK,
    READING,
    READING_METHODS,
    SHAPES,
    SHAPING_METHODS,
    SLOTS,
    SPECIAL,
    SPECIAL_METHODS,
    TURNED,
    UFUNC_METHODS,
    UFUNC_READING,
    WRITING,
    WRITING_METHODS,
)
from lazyarr.slots.template import template
from lazyarr.slots.vectorcalls import HAS_PLACE, IS_METHOD, call_by, call_through
from lazyarr.slots.words import addresses, before, entry_of, fold_of, method_of, places, record_of
from lazyarr.stand_ins import GENERATOR
from lazyarr.temporaries import through_slots
from lazyarr.ufuncs import ufunc


def attach(writes: bool) -> bool:
    """Put functions into the slots, where this machine and this interpreter are known; False if their code
    has to be written before, and `writes` does not allow that."""
    if KEPT:
        return True                                 # once: a package may be loaded again
    if sys.platform != "linux" or platform.machine() != "x86_64" or _is_off() or not fields.are_known():
        return True
    found = template(places(), writes)
    if found is None:
        return False
    code, missing, labels = found
    known, slots = addresses(), _places()
    known.update({before(number): place.value for number, place in slots})
    known.update({record_of(name): _record(name) for name in _OWN})
    known.update({record_of(name): _record_of_ufunc(name) for name in _OF_UFUNCS})
    known[record_of(TURNED)] = record_of_attribute(TURNED)
    memory = _executable(code, known, missing)
    if memory is None:
        return True                                 # memory may not be made executable here
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(KEPT))             # also when modules are gone
    KEPT.append(memory)
    at = {name: address + offset for name, offset in labels.items()}
    for number, place in slots:
        place.value = at[entry_of(number)]
    _put_methods(at)
    for name in FOLDS:                              # what is called in the place of NumPy's
        fields.word(known[record_of(name)]).value = id(_folding(at, THEIRS[name]))
    with suppress(ValueError):                      # the program has cleared the list
        gc.callbacks[gc.callbacks.index(COLLECTING.hear)] = fastcall("hear", at["collector"])
    _put_functions(at)
    _put_draws(at)
    through_slots(lambda call: offered_as(call, call))
    return True


_OWN, _OF_UFUNCS = [*METHODS.split(), *OTHER_METHODS], UFUNC_METHODS.split()


def _put_methods(at: Mapping[str, int]) -> None:
    """Methods and attributes of arrays, and methods of ufuncs."""
    own = methods(ndarray, {name: at[method_of(name)] for name in _OWN})
    for name, descriptor in [*own, *attributes(at)]:
        setattr(ndarray, name, descriptor)
    for name, descriptor in methods(ufunc, {name: at[method_of(name)] for name in _OF_UFUNCS}):
        setattr(ufunc, name, descriptor)


def _put_functions(at: Mapping[str, int]) -> None:
    """By what functions and ufuncs are called, those that there are, and those that are made from now on."""
    firsts = _by_last_name({at[routine]: names for routine, names in QUICK.items()})
    entries = _by_last_name({at[body]: names for body, names in ENTRIES.items()})
    reads, shapes, special = map(_by_last_name, (_joined(READING, WRITING), SHAPES, SPECIAL))
    never, argument = at["of nothing"], at["argument"]
    for cls in Function, BindingFunction, ufunc:
        call_through(cls)

    def hear(made: Function, x: Any) -> None:
        first, read = _row_of(x, firsts) or never, _row_of(x, reads)
        flags, largest = _windows(x.__name__ if read else "")
        if _draws(x):
            first, flags = argument, OF_NOTHING if x.__name__ in _ALONE else 0
        others = _row_of(x, shapes), _row_of(x, special)
        numpys = _folding(at, x) if x in _FOLDING else x
        made.record = words(numpys, made.__wrapped__, first, read, flags, largest, *others)
        call_by(made, _row_of(x, entries) or at["function"])

    def hear_ufunc(made: ufunc) -> None:
        call_by(made, at["ufunc"])

    MADE.append(hear)
    ufuncs.MADE.append(hear_ufunc)
    for made in [*ufuncs.UFUNCS.values()]:
        hear_ufunc(made)
    for x, of_ours in list(ADAPTED.values()):
        if isinstance(of_ours, Function):
            hear(of_ours, x)


def _put_draws(at: Mapping[str, int]) -> None:
    """The methods of generators, when there is a class of them."""
    call_through(BindingFunction, HAS_PLACE | IS_METHOD)

    def hear(cls: Any) -> None:
        held = fields.offset_of(vars(cls)["_real"])
        for position, names in GENERATORS.items():
            for name in names.split():
                pythons, numpys = vars(cls)[name], getattr(cls.__base__, name)
                made = BindingFunction(pythons, numpys)
                made.record = words(numpys, pythons, 0, position, held, id(cls))
                call_by(made, at["draw"])
                setattr(cls, name, made)

    if generators := sys.modules.get("lazyarr.generator_type"):
        hear(generators.Generator)
    else:
        GENERATOR.append(hear)


_FOLDING = [getattr(numpy, name) for name in FOLDS]


def _folding(at: Mapping[str, int], numpys: Any) -> Any:
    """What is called in the place of a function or method of NumPy's that folds."""
    name = numpys.__name__
    found = fastcall(name, at[fold_of(name)], numpys, named=True)
    KEPT.append(found)
    return found


_DRAWS, _ALONE = (frozenset(names.split()) for names in (DRAWS, ALONE))


def _draws(x: Any) -> bool:
    """Is it one of `numpy.random`'s functions that only draw?  (It is not imported for that.)"""
    return x.__name__ in _DRAWS and type(getattr(x, "__self__", None)).__name__ == "RandomState"


def _is_off() -> bool:
    if not current.disable:
        return False
    from lazyarr.switches import is_off  # here: its tables are for those who switch something off

    return is_off("slots")


def _executable(code: bytes, known: dict[str, int], missing: dict[str, list[int]]) -> mmap.mmap | None:
    """The code in memory of its own, with the words that it misses; None where that cannot be."""
    whole = bytearray(code)
    for name, where in missing.items():
        word = known.get(name, 0)                   # (that of a slot which is not where it is looked for)
        for at in where:
            pack_into("<Q", whole, at, word)
    memory = mmap.mmap(-1, len(whole))
    memory[:] = bytes(whole)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return None if protect(address, len(whole), mmap.PROT_READ | mmap.PROT_EXEC) else memory


def _by_last_name(rows: Mapping[int, str]) -> dict[str, list[tuple[str, int]]]:
    """Last part of a name -> the names that end so, each with the number under which it is listed."""
    found: dict[str, list[tuple[str, int]]] = {}
    for row, names in rows.items():
        for name in names.split():
            found.setdefault(name.rpartition(".")[2], []).append((name, row))
    return found


def _row_of(x: Any, listed: Mapping[str, list[tuple[str, int]]]) -> int:
    """The number under which a function of NumPy's is listed, else 0.

    (Whoever has a function has its module: `numpy.fft` is not imported to find out which functions are.)"""
    for name, row in listed.get(getattr(x, "__name__", ""), ()):
        found: Any = numpy
        for part in name.split("."):
            found = vars(found).get(part) if isinstance(found, ModuleType) else None
        if found is x:
            return row
    return 0


def _places() -> list[tuple[int, ctypes.c_ssize_t]]:
    """Rows of slots, and each one's word in a type, where CPython says that it lies there."""
    found = []
    for number, (cls, slot) in enumerate(SLOTS):
        table = fields.word(id(cls) + slot.table).value if slot.table else id(cls)
        place = fields.word(table + slot.offset)
        if place.value and place.value == fields.slot_of(cls, slot.number):
            found.append((number, place))
    return found


def _record(name: str) -> int:
    """A method's record."""
    read, shapes, special = (rows.get(name, 0) for rows in (_READ, _SHAPES, _SPECIAL))
    return record(THEIRS[name], vars(ndarray)[name], 0, read, *_windows(name), shapes, special)


def _record_of_ufunc(name: str) -> int:
    """That of a method of ufuncs."""
    read = _READ_BY_UFUNC.get(name, 0)
    return record(getattr(numpy.ufunc, name), vars(ufunc)[name], 0, read, *_windows(name))


def _joined(*tables: Mapping[int, str]) -> dict[int, str]:
    """The rows of several tables, those of one number as one."""
    return {number: " ".join(x.get(number, "") for x in tables) for rows in tables for number in rows}


_READ, _SHAPES, _SPECIAL, _READ_BY_UFUNC = (
    {name: number for number, names in rows.items() for name in names.split()}
    for rows in (_joined(READING_METHODS, WRITING_METHODS), SHAPING_METHODS, SPECIAL_METHODS, UFUNC_READING)
)


def _windows(name: str) -> tuple[int, int]:
    """Flags and most elements of the windows that a method or function is given."""
    eager = DEFAULTS["eager_elements"]
    return fields.WRITEABLE if name in COPIERS else 0, LARGEST.get(name, 1) * eager
