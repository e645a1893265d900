"""Attributes of arrays, in machine code.

In:  an array, and a record.   Out: the attribute's value.
The record has, where calls have FIRST and READ (`calls`), a function and a word that goes with it, by which
NumPy answers for arrays of its own class without a look at that (PyGetSetDef); the name of the attribute
and the Python property, for others, are where calls have theirs.
Shapes and types every array's geometry knows, and turned ones; other views are NumPy's of plain arrays; else
the property answers.
"""

from __future__ import annotations

from lazyarr.object_fields import COMPLEX, DATA, DIMS, DTYPE, NDIM, STRIDES, TYPE, TYPE_NUMBER
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.calls import FIRST, NUMPYS, PYTHONS, READ
from lazyarr.slots.known import Known
from lazyarr.slots.tables import TURNED
from lazyarr.slots.words import record_of
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R10, R12, R13, RAX, RBX, RCX, RDI, RDX, RSI, RSP

GETTER, WORD = FIRST.offset, READ.offset
NAME, PROPERTY = NUMPYS.offset, PYTHONS.offset


class Attributes(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.attribute, self.transposed, self.turned, self.square, self.view, self.of_complex,
            self.setter,
        ):  # fmt: skip
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
        a.label("attribute of geometry")            # rdi: a real array.   r10: the record
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "attribute by name")
        a.load(RSI, At(R10, WORD))
        a.load(RAX, At(R10, GETTER))
        a.jump_to(RAX)
        a.label("attribute by name")
        a.load(RSI, At(R10, NAME))
        a.constant(RAX, "PyObject_GetAttr")
        a.jump_to(RAX)
        a.label("attribute by Python")
        a.copy(RSI, RDI)
        a.load(RDI, At(R10, PROPERTY))
        a.zero(RDX)
        a.constant(RAX, "property get")
        a.jump_to(RAX)

    def transposed(self) -> None:
        """(array, args, count, names): a method, which is an attribute where nothing is given."""
        a = self.asm
        a.label("transposed")
        for given in RDX, RCX:
            a.test(given)
            a.jump_if("other", "method")
        a.constant(RSI, record_of(TURNED))
        a.jump("turned")

    def turned(self) -> None:
        """(array, record): a view of any array, with axes in another order."""
        a, k = self.asm, self.known
        a.label("turned")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "view")
        for place in (At(RDI, k.geo), At(RDI, k.storage)):
            a.compare_number(place, 0)              # it is not whole yet
            a.jump_if("equal", "view")
        a.load(RCX, At(RDI, k.geo))
        a.compare_number(At(RCX, NDIM), 2, wide=False)
        a.jump_if("equal", "turned square")
        a.label("turned by NumPy")
        self.compare(At(RDI, k.storage), k.none, RAX)
        a.jump_if("equal", "view")
        a.label("turned managed")
        a.push(RBX, R12, R13)
        self._of_geometry()
        a.test(R13)
        a.jump_if("equal", "turned leave")
        a.load(R12, At(RBX, k.storage))
        self.on("Py_IncRef", R12)
        self.wrap_managed(R12)
        a.label("turned leave")
        a.copy(RAX, R13)
        a.pop(R13, R12, RBX)
        a.leave()

    def square(self) -> None:
        """The same of two axes, by what views have left (`spare_views`); rcx: the geometry."""
        a, kept, record = self.asm, (RBX, R12, R13), At(RSP, 32)
        a.label("turned square")
        self.reserve(48, *kept)
        a.store(record, RSI)
        a.copy(RBX, RDI)
        for at, to in ((DIMS, 0), (STRIDES, 16)):
            a.load(RAX, At(RCX, at))
            for one, other in ((0, 8), (8, 0)):
                a.load(RDX, At(RAX, one))
                a.store(At(RSP, to + other), RDX)
        a.copy(RDI, RCX)
        a.constant(RSI, 2)
        a.copy(RDX, RSP)
        a.load(R8, At(RCX, DATA))
        a.place(RCX, At(RSP, 16))
        a.call("view made")
        a.copy(R13, RAX)
        a.copy(RDI, RBX)
        a.load(RSI, record)
        a.add(RSP, 48)
        a.test(R13)
        a.jump_if("other", "square made")
        a.pop(*reversed(kept))
        a.jump("turned by NumPy")
        a.label("square made")
        self.wrap_either("turned")
        a.jump("turned leave")

    def view(self) -> None:
        """(array, record): a view of a plain array."""
        a, k = self.asm, self.known
        a.label("view")
        a.copy(R10, RSI)
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "attribute by Python")
        a.load(RCX, At(RDI, k.geo))
        a.test(RCX)
        a.jump_if("equal", "attribute by Python")
        self.compare(At(RDI, k.storage), k.none, RAX)
        a.jump_if("other", "view of managed")
        a.push(RBX, R12, R13)
        self._of_geometry()
        a.compare(R13, R12)
        a.jump_if("equal", "view of nothing")
        self.wrap_view()
        a.label("view leave")
        a.pop(R13, R12, RBX)
        a.leave()
        a.label("view of nothing")                  # the array itself: the real part of a real one
        self.on("Py_DecRef", R13)
        self.on("Py_IncRef", RBX)
        a.copy(RAX, RBX)
        a.jump("view leave")
        a.label("view of managed")
        a.compare_number(At(RDI, k.storage), 0)
        a.jump_if("equal", "attribute by Python")
        a.load(RCX, At(RCX, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), COMPLEX + 1, wide=False)
        a.jump_if("above", "attribute by Python")
        a.compare_number(At(RCX, TYPE_NUMBER), COMPLEX, wide=False)
        a.jump_if("below", "view is itself")
        a.jump("turned managed")
        a.label("view is itself")                   # the real part of real numbers
        a.push(RBX)
        a.copy(RBX, RDI)
        self.call("Py_IncRef")
        a.copy(RAX, RBX)
        a.pop(RBX)
        a.leave()

    def of_complex(self) -> None:
        """(array, record): a view, if the array is one of complex numbers; of others it is a new array."""
        a, k = self.asm, self.known
        a.label("view of complex")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "view")
        a.load(RCX, At(RDI, k.geo))
        a.test(RCX)
        a.jump_if("equal", "view")
        a.load(RCX, At(RCX, DTYPE))
        a.load_int(RCX, At(RCX, TYPE_NUMBER))
        a.add(RCX, -COMPLEX)
        a.compare_number(RCX, 1)
        a.copy(R10, RSI)
        a.jump_if("above", "attribute by Python")
        a.jump("view")

    def _of_geometry(self) -> None:
        """rdi, rsi: an array, a record.   rbx: the array; r12: its geometry; r13: the attribute of that, or
        zero."""
        a = self.asm
        a.copy(RBX, RDI)
        a.load(R12, At(RBX, self.known.geo))
        a.copy(R13, RSI)
        self.on("Py_IncRef", R12)
        a.copy(RDI, R12)
        a.copy(R10, R13)
        a.call("attribute of geometry")
        a.copy(R13, RAX)
        self.on("Py_DecRef", R12)

    def setter(self) -> None:
        """(array, value, record): as the property says."""
        a = self.asm
        a.label("setter")
        a.copy(RAX, RDX)
        a.copy(RDX, RSI)
        a.copy(RSI, RDI)
        a.load(RDI, At(RAX, PROPERTY))
        a.constant(RAX, "property set")
        a.jump_to(RAX)
