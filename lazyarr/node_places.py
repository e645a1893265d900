"""What machine code that deals with nodes is given: objects, functions of C, and where attributes are.

In:  the words of such code (`nodes_words.Word`), the attributes that it asks for.   Out: addresses; offsets,
each held against an object before anything relies on it.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy

from lazyarr import error_state, expr, srcloc
from lazyarr import object_fields as fields
from lazyarr.config import OBSERVED
from lazyarr.counters import COUNT
from lazyarr.expr import Expr, Read
from lazyarr.fastcalls import forever
from lazyarr.nodes_words import Word
from lazyarr.storage import DUE, Storage
from lazyarr.values import LEDGER, Bridge, Buffer

FUNCTIONS = {
    Word.ALLOC: "PyType_GenericAlloc", Word.INCREF: "Py_IncRef", Word.DECREF: "Py_DecRef",
    Word.NEW_TUPLE: "PyTuple_New", Word.LIST: "PyList_New", Word.APPEND: "PyList_Append",
    Word.WEAKREF: "PyWeakref_NewRef", Word.NUMBER: "PyLong_AsSsize_t", Word.INT: "PyLong_FromSsize_t",
    Word.NEXT: "PyIter_Next", Word.STATE: "PyContextVar_Get", Word.ITEM: "PyObject_GetItem",
    Word.LOOKUP: "PyDict_GetItemWithError", Word.CALL: "PyObject_Vectorcall", Word.CLEAR: "PyErr_Clear",
    Word.CODE: "PyFrame_GetCode", Word.LASTI: "PyFrame_GetLasti", Word.ABOVE: "PyFrame_GetBack",
    Word.BYTES: "PyBytes_FromStringAndSize",
}  # fmt: skip
_states: Any = numpy._core.umath._extobj_contextvar     # type: ignore[attr-defined]
OBJECTS: dict[int, Any] = {
    Word.NONE: None, Word.FALSE: False, Word.TRUE: True, Word.ZERO: 0, Word.LESS: -1,
    Word.TUPLE: tuple, Word.SLICE: slice, Word.INTEGER: int, Word.ELLIPSIS: type(...),
    Word.NOTHING: type(None), Word.REAL: numpy.ndarray, Word.READ: Read, Word.EXPR: Expr,
    Word.STORAGE: Storage, Word.BUFFER: Buffer, Word.SERIALS: expr._serials, Word.COUNT: COUNT,
    Word.LEDGER: LEDGER, Word.DUE: DUE, Word.OBSERVED: OBSERVED, Word.STATES: _states,
    Word.WARNINGS: vars(warnings), Word.FILTERS: "filters", Word.SEEN_IN: vars(error_state),
    Word.SEEN: "_seen", Word.GETFRAME: sys._getframe, Word.THEIRS: srcloc.THEIRS, Word.OURS: srcloc.OURS,
    Word.FLAT: numpy.frombuffer, Word.OCTET: numpy.uint8, Word.EMPTY: (),
}  # fmt: skip
forever(OBJECTS)


def fill(words: numpy.ndarray) -> None:
    """Write the addresses of what is the same for all such code."""
    for at, x in OBJECTS.items():
        words[at] = id(x)
    for at, name in FUNCTIONS.items():
        words[at] = fields.function(name)


def places(kind: Any, **more: Any) -> Any:
    """Where objects have the attributes that are the fields of a class; None if one is not there.

    A field is called by what has the attribute, and the attribute: `more` such things may be given.  Those
    of nodes go by the attribute alone."""
    value = Expr.leaf(Buffer.new(8))
    samples: dict[str, Any] = {
        "node": value, "read": Read(value, numpy.empty(0)), "storage": Storage(value), "buffer": value.buf,
        "bridge": Bridge(numpy.empty(8)), "count": COUNT, "ledger": LEDGER, **more,
    }  # fmt: skip
    found = []
    for field in kind._fields:
        owner, _, name = field.partition("_")
        x, name = (samples[owner], name) if name else (value, owner)
        found.append(fields.offset_of(vars(type(x))[name]))
        if fields.word(id(x) + found[-1]).value != id(getattr(x, name)):
            return None
    return kind._make(found)
