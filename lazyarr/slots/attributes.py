"""Attributes of arrays, in machine code.

In:  an array, and a record (`calls`): the attribute's name, and the Python property.   Out: its value.
Shapes and types every array's geometry knows; views are NumPy's of plain arrays; else the property answers.
"""

from __future__ import annotations

from lazyarr.object_fields import TYPE
from lazyarr.slots.assembler import R10, R12, R13, RAX, RBX, RDI, RDX, RSI, Assembler, At
from lazyarr.slots.calls import PYTHONS
from lazyarr.slots.routines import Known, Writer


class Attributes(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.attribute, self.view, self.setter:
            write()

    def attribute(self) -> None:
        """(array, record): what every lazy array's geometry knows."""
        a, k = self.asm, self.known
        a.label("attribute")
        a.copy(R10, RSI)
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "attribute by Python")
        a.load(RAX, At(RDI, k.geo))
        a.test(RAX)
        a.jump_if("equal", "attribute by Python")
        a.copy(RDI, RAX)
        a.load(RSI, At(R10))
        a.constant(RAX, "PyObject_GetAttr")
        a.jump_to(RAX)
        a.label("attribute by Python")
        a.copy(RSI, RDI)
        a.load(RDI, At(R10, PYTHONS.offset))
        a.zero(RDX)
        a.constant(RAX, "property get")
        a.jump_to(RAX)

    def view(self) -> None:
        """(array, record): a view of a plain array."""
        a, k = self.asm, self.known
        a.label("view")
        a.copy(R10, RSI)
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "attribute by Python")
        self.compare(At(RDI, k.storage), k.none, RAX)
        a.jump_if("other", "attribute by Python")
        a.compare_number(At(RDI, k.geo), 0)
        a.jump_if("equal", "attribute by Python")
        a.push(RBX, R12, R13)
        a.copy(RBX, RDI)
        a.load(R12, At(RDI, k.geo))
        a.load(R13, At(R10))
        self.on("Py_IncRef", R12)
        a.copy(RDI, R12)
        a.copy(RSI, R13)
        self.call("PyObject_GetAttr")
        a.copy(R13, RAX)
        self.on("Py_DecRef", R12)
        a.compare(R13, R12)
        a.jump_if("equal", "view of nothing")
        a.copy(RDI, R13)
        a.load(RSI, At(RBX, k.origin))
        self.compare(RSI, k.none, RAX)
        a.jump_if("other", "view wrap")
        a.copy(RSI, RBX)
        a.label("view wrap")
        a.call("wrap")
        a.label("view leave")
        a.pop(R13, R12, RBX)
        a.leave()
        a.label("view of nothing")                  # the array itself: the real part of a real one
        self.on("Py_DecRef", R13)
        self.on("Py_IncRef", RBX)
        a.copy(RAX, RBX)
        a.jump("view leave")

    def setter(self) -> None:
        """(array, value, record): as the property says."""
        a = self.asm
        a.label("setter")
        a.copy(RAX, RDX)
        a.copy(RDX, RSI)
        a.copy(RSI, RDI)
        a.load(RDI, At(RAX, PYTHONS.offset))
        a.constant(RAX, "property set")
        a.jump_to(RAX)
