"""Elements and parts of arrays, in machine code: the bodies of two slots.

In:  as `bodies`.   Out: elements, views, copies by small keys.
Of managed arrays, views are geometry, whatever the value; elements are taken where the array's window still
shows the memory that holds its value.  What else is asked of those is for Python.
"""

from __future__ import annotations

from lazyarr.slots.assembler import (
    R8,
    R9,
    R10,
    R12,
    R13,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    Assembler,
    At,
)  # fmt: skip
from lazyarr.slots.fields import BASE, ITEMS, LENGTH, NDIM, TYPE
from lazyarr.slots.routines import Framed, Known


class Items(Framed):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.get_item, self.managed_item, self.set_item:
            write()

    def get_item(self) -> None:
        """(a, key): elements and views; with small arrays as keys, copies."""
        a, key = self.asm, At(RSP)
        a.label("get_item")
        self.enter()
        a.copy(RDI, RBX)
        a.call("unwrap")
        a.test(RAX)
        a.jump_if("equal", "managed item")
        a.copy(R15, RAX)
        self.is_objects(R15, RAX)                   # which may be arrays
        a.jump_if("equal", "back")
        self.real(key, RBP, "index")
        a.compare(RAX, RBP)
        a.jump_if("other", "get_item copy")
        self.on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        self._wrap_view("get_item view")
        self.restore()
        a.leave()

        a.label("get_item copy")
        self.small(R15, key)
        self.on("Py_IncRef", R15, key)
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, key)
        a.test(R13)
        a.jump_if("equal", "get_item refused")
        self.compare(At(R13, TYPE), self.known.real, RAX)
        a.jump_if("other", "give")
        a.compare_number(At(R13, BASE), 0)          # not a copy: Python knows of what it is a view
        a.jump_if("equal", "give")
        self.on("Py_DecRef", R13)
        a.jump("back")
        a.label("get_item refused")                 # nothing has happened: Python finds the words for it
        self.call("PyErr_Clear")
        a.jump("back")

    def _wrap_view(self, label: str) -> None:
        """r13, as a view of what the array is a view of, if it is one; else of the array."""
        a = self.asm
        a.copy(RDI, R13)
        a.load(RSI, At(RBX, self.known.origin))
        self.compare(RSI, self.known.none, RAX)
        a.jump_if("other", label)
        a.copy(RSI, RBX)
        a.label(label)
        a.call("wrap")

    def managed_item(self) -> None:
        """An integer, a slice, or a tuple of such: one that picks an element, or a view."""
        a, k = self.asm, self.known
        a.label("managed item")
        a.load(R15, At(RBX, k.geo))
        a.test(R15)
        a.jump_if("equal", "back")
        a.zero(R9)                                  # integers among the parts
        a.constant(R10, 1)                          # parts
        a.load(RCX, At(RBP, TYPE))
        self.compare(RCX, k.slices, RAX)
        a.jump_if("equal", "managed counted")
        self.compare(RCX, k.integers, RAX)
        a.jump_if("equal", "managed integer")
        self.compare(RCX, k.tuples, RAX)
        a.jump_if("other", "back")
        a.load(R10, At(RBP, LENGTH))
        a.place(RSI, At(RBP, ITEMS))
        a.copy(R8, R10)
        a.label("managed part")
        a.test(R8)
        a.jump_if("equal", "managed counted")
        a.load(RCX, At(RSI))
        a.load(RCX, At(RCX, TYPE))
        a.add(RSI, 8)
        a.add(R8, -1)
        self.compare(RCX, k.slices, RAX)
        a.jump_if("equal", "managed part")
        self.compare(RCX, k.integers, RAX)
        a.jump_if("other", "back")
        a.add(R9, 1)
        a.jump("managed part")
        a.label("managed integer")
        a.constant(R9, 1)
        a.label("managed counted")
        a.load_int(RAX, At(R15, NDIM))
        a.compare(R10, RAX)
        a.jump_if("above", "back")                  # too many: for Python to say
        a.compare(R9, RAX)
        a.jump_if("equal", "managed element")

        self.on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        a.test(R13)
        a.jump_if("equal", "get_item refused")
        self._wrap_view("managed view")
        a.copy(R13, RAX)
        a.test(RAX)
        a.jump_if("equal", "managed leave")
        a.load(RDI, At(RBX, k.storage))
        a.store(At(R13, k.storage), RDI)
        self.call("Py_IncRef")
        a.constant(RDI, k.none)                     # which was there
        self.call("Py_DecRef")
        a.label("managed leave")
        a.copy(RAX, R13)
        self.restore()
        a.leave()

        a.label("managed element")
        a.load(RAX, At(RBX, k.storage))
        a.test(RAX)
        a.jump_if("equal", "back")
        a.load(RCX, At(RAX, k.value))
        a.test(RCX)
        a.jump_if("equal", "back")
        self.compare(At(RCX, k.op), k.none, RAX)    # still to be computed
        a.jump_if("other", "back")
        a.load(RDX, At(RCX, k.buf))
        a.test(RDX)
        a.jump_if("equal", "back")
        self.compare(At(RDX, TYPE), k.buffers, RAX)
        a.jump_if("other", "back")
        a.load(R8, At(RBX, k.window))
        a.test(R8)
        a.jump_if("equal", "back")
        a.load(RAX, At(RDX, k.address))
        a.compare(At(R8, ITEMS), RAX)
        a.jump_if("other", "back")
        a.compare(At(R8, ITEMS + 8), R15)
        a.jump_if("other", "back")
        a.load(R15, At(R8, ITEMS + 16))
        self.on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        a.copy(RAX, R13)
        self.restore()
        a.leave()

    def set_item(self) -> None:
        """(a, key, value); no value where an element is to be deleted."""
        a, key, value = self.asm, At(RSP), At(RSP, 8)
        a.label("set_item")
        self.enter()
        a.test(R12)
        a.jump_if("equal", "back")
        self.real(R15, RBX)
        self.is_objects(R15, RAX)
        a.jump_if("equal", "back")
        self.real(key, RBP, "index")
        self.real(value, R12)
        self.compare(At(RAX, TYPE), self.known.real, RCX)
        a.jump_if("other", "set_item of plain")
        self.is_objects(RAX, RCX)                   # NumPy may refuse what is among them
        a.jump_if("equal", "back")
        a.label("set_item of plain")
        self.on("Py_IncRef", R15, key, value)
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.load(RDX, value)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, key, value)
        a.copy(RAX, R13)
        self.restore()
        a.leave()
