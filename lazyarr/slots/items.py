"""Elements and parts of arrays, in machine code: the bodies of two slots.

In:  as `bodies`.   Out: elements, views, copies by small keys.
Of managed arrays, views are geometry, whatever the value; elements are read where the array's window still
shows the memory that holds its value.  Writes are for `part_writes`, what else is asked is for Python.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    BASE,
    BOOLS,
    DATA,
    DIMS,
    DTYPE,
    ITEMS,
    LENGTH,
    NDIM,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.elements import NUMBERS
from lazyarr.slots.framed import Framed
from lazyarr.slots.known import Known
from lazyarr.slots.parts import ANY_SIZE
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

VIEW, ELEMENT = 1, 2
"""What a key picks."""


class Items(Framed):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.get_item, self.managed_item, self.set_item, self.row, self.picks, self.elements,
        ):  # fmt: skip
            write()

    def get_item(self) -> None:
        """(a, key): elements and views; with small arrays as keys, copies.   (It begins in `elements`.)"""
        a, key = self.asm, At(RSP)
        a.label("get_item other")
        a.copy(RDI, RBX)
        self.call_or("unwrap", "managed item")
        a.copy(R15, RAX)
        self.is_objects(R15, RAX)                   # which may be arrays
        a.jump_if("equal", "back")
        self.compare(At(RBP, TYPE), self.known.lists, RAX)
        a.jump_if("equal", "get_item list")
        self.compare(At(RBP, TYPE), self.known.real, RAX)
        a.jump_if("equal", "get_item real")
        self.real(key, RBP, "index", "get_item gathered")
        a.compare(RAX, RBP)
        a.jump_if("other", "get_item copy")
        a.label("get_item plain")
        self.on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        a.label("get_item viewed")
        self.wrap_view()
        self.restore()
        a.leave()

        a.label("get_item list")
        self.real(key, RBP, "argument list")
        a.copy(RDI, R15)
        a.call("row size")                          # (each number picks one, or says of one whether)
        a.multiply(RAX, At(RBP, LENGTH))
        self.above_limit(RAX, "back", RCX)
        a.jump("get_item taken")
        a.label("get_item real")
        self.real(key, RBP, "operand")
        a.label("get_item copy")
        a.load(RCX, key)
        a.load(RCX, At(RCX, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), BOOLS, wide=False)
        a.jump_if("equal", "get_item taken")        # (a mask keeps no more than there is)
        self.small(R15, key, "fits apart")
        a.label("get_item taken")
        self.on("Py_IncRef", R15, key)
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.call("picked")
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
        a.call("refused")
        a.test_int(RAX)
        a.jump_if("other", "back")
        a.zero(RAX)
        self.restore()
        a.leave()

    def managed_item(self) -> None:
        """An integer, a slice, or a tuple of such: one that picks an element, or a view."""
        a, k = self.asm, self.known
        a.label("managed item")
        a.load(R15, At(RBX, k.geo))
        a.test(R15)
        a.jump_if("equal", "back")
        a.call("picks")
        a.compare_number(RAX, ELEMENT)
        a.jump_if("equal", "managed element")
        a.test(RAX)
        a.jump_if("equal", "item parts")

        self.on("Py_IncRef", R15)
        a.call("part")
        a.test(RAX)
        a.jump_if("other", "managed part")
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.label("managed part")
        a.copy(R13, RAX)
        a.compare(At(RBX, k.geo), R15)              # a key may have run Python, which may do anything
        a.jump_if("other", "managed changed")
        self.on("Py_DecRef", R15)
        a.test(R13)
        a.jump_if("equal", "get_item refused")
        a.load(R15, At(RBX, k.storage))
        self.on("Py_IncRef", R15)
        self.wrap_managed(R15)
        a.copy(RAX, R13)
        self.restore()
        a.leave()

        a.label("managed changed")
        self.on("Py_DecRef", R15, R13)
        self.call("PyErr_Clear")
        a.jump("back")

        a.label("managed element")
        self.call_or("elements", "managed temporary")
        a.copy(R15, RAX)
        self.on("Py_IncRef", R15)
        a.label("managed window")
        a.call("element")
        a.test(RAX)
        a.jump_if("other", "managed scalar")
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.label("managed given")
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        a.copy(RAX, R13)
        self.restore()
        a.leave()

        a.label("managed scalar")
        a.copy(RDI, RAX)
        a.load(RSI, At(R15, DTYPE))
        a.copy(RDX, R15)
        self.call("PyArray_Scalar")
        a.jump("managed given")

        a.label("managed temporary")
        self.unless_passing("back")
        a.copy(RDI, RBX)
        a.zero(RSI)
        a.constant(RDX, ANY_SIZE)
        self.call_or("look as", "back")
        a.copy(R15, RAX)
        a.jump("managed window")

    def row(self) -> None:
        """(a, n): what `for row in a` gives: NumPy's row of the geometry, or of the real array."""
        a, k = self.asm, self.known
        a.label("row")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "row before")
        a.load(RAX, At(RDI, k.geo))
        a.test(RAX)
        a.jump_if("equal", "row before")
        a.compare_number(At(RAX, NDIM), 2, wide=False)
        a.jump_if("below", "row before")            # an element
        self.if_type_above(RAX, NUMBERS, "row before", RCX, RCX)
        a.load(RDX, At(RDI, k.storage))
        a.test(RDX)
        a.jump_if("equal", "row before")
        a.push(RBX, R13, R15)
        a.copy(RBX, RDI)
        a.copy(R15, RDX)
        a.copy(R13, RSI)
        a.copy(RDI, RAX)
        a.load(RDX, At(RDI, DIMS))
        a.load(RCX, At(RDI, STRIDES))
        a.compare(At(RDX), RSI)
        a.jump_if("above", "row there")
        a.label("row by NumPy")
        a.load(RDI, At(RBX, k.geo))
        a.copy(RSI, R13)
        a.constant(RAX, k.numpys_row)
        a.call_at(RAX)
        a.jump("row made")
        a.label("row there")
        a.copy(R8, RSI)
        a.multiply(R8, At(RCX))
        a.increase(R8, At(RDI, DATA))
        a.add(RDX, 8)
        a.add(RCX, 8)
        a.load_int(RSI, At(RDI, NDIM))
        a.add(RSI, -1)
        self.call_or("view made", "row by NumPy")
        a.label("row made")
        a.copy(R13, RAX)
        a.test(RAX)
        a.jump_if("equal", "row leave")
        self.on("Py_IncRef", R15)
        self.wrap_managed(R15)
        a.label("row leave")
        a.copy(RAX, R13)
        a.pop(R15, R13, RBX)
        a.leave()
        a.label("row before")
        a.jump_to(R11)

    def picks(self) -> None:
        """rbp: a key.   r15: a geometry.   rax: whether it picks an element, or a view; zero if that is for
        Python to say."""
        a, k = self.asm, self.known
        a.label("picks")
        a.constant(R9, k.ellipsis)
        a.compare(RBP, R9)
        a.constant(RAX, VIEW)
        a.jump_if("equal", "picks one")
        self.compare(RBP, k.none, R9)
        a.jump_if("equal", "picks one")
        for register in R9, R10, R11:               # integers, parts for axes, other parts
            a.zero(register)
        a.constant(R8, 1)                           # parts that are left
        a.load(RAX, At(RBP, TYPE))
        self.compare(RAX, k.tuples, RCX)
        a.jump_if("other", "picks kind")
        a.load(R8, At(RBP, LENGTH))
        a.place(RSI, At(RBP, ITEMS))
        a.label("picks part")
        a.test(R8)
        a.jump_if("equal", "picks counted")
        a.load(RAX, At(RSI))
        a.add(RSI, 8)
        self.compare(RAX, k.none, RCX)
        a.jump_if("equal", "picks of no axis")
        self.compare(RAX, k.ellipsis, RCX)
        a.jump_if("equal", "picks of no axis")
        a.load(RAX, At(RAX, TYPE))
        a.label("picks kind")
        a.add(R10, 1)
        a.add(R8, -1)
        self.compare(RAX, k.slices, RCX)
        a.jump_if("equal", "picks next")
        a.add(R9, 1)
        self.compare(RAX, k.integers, RCX)
        a.jump_if("equal", "picks next")
        self.found_in(k.indices, "picks scalar")    # one of NumPy's integers
        a.label("picks next")
        a.test(R8)
        a.jump_if("other", "picks part")
        a.jump("picks counted")
        a.label("picks of no axis")
        a.constant(R11, 1)
        a.count_down(R8)
        a.jump_if("other", "picks part")
        a.label("picks counted")
        a.load_int(RCX, At(R15, NDIM))
        a.compare(R10, RCX)
        a.jump_if("above", "picks neither")         # too many
        a.test(R11)
        a.constant(RAX, VIEW)
        a.jump_if("other", "picks one")
        a.constant(RAX, ELEMENT)
        a.compare(R9, RCX)
        a.jump_if("equal", "picks one")
        a.constant(RAX, VIEW)
        a.label("picks one")
        a.leave()
        a.label("picks neither")
        a.zero(RAX)
        a.leave()

    def elements(self) -> None:
        """rbx: a managed array.   r15: its geometry.   rax: the real array of its window, if that still shows
        the memory of the array's value, and there is one; else zero."""
        a, k = self.asm, self.known
        a.label("elements")
        a.load(RAX, At(RBX, k.storage))
        a.test(RAX)
        a.jump_if("equal", "elements leave")
        self.compare(At(RAX, TYPE), k.storages, RCX)
        a.jump_if("other", "elements none")
        a.load(RAX, At(RAX, k.value))
        a.test(RAX)
        a.jump_if("equal", "elements leave")
        self.compare(At(RAX, k.op), k.none, RCX)
        a.jump_if("other", "elements none")         # still to be computed
        a.load(RAX, At(RAX, k.buf))
        a.test(RAX)
        a.jump_if("equal", "elements leave")
        self.compare(At(RAX, TYPE), k.buffers, RCX)
        a.jump_if("other", "elements none")
        a.load(RDX, At(RAX, k.address))
        a.load(RAX, At(RBX, k.window))
        a.test(RAX)
        a.jump_if("equal", "elements leave")
        a.compare(At(RAX, ITEMS), RDX)
        a.jump_if("other", "elements none")
        a.compare(At(RAX, ITEMS + 8), R15)
        a.jump_if("other", "elements none")
        a.load(RAX, At(RAX, ITEMS + 16))
        a.leave()
        a.label("elements none")
        a.zero(RAX)
        a.label("elements leave")
        a.leave()

    def set_item(self) -> None:
        """(a, key, value).   (It begins in `elements`.)"""
        a, key, value = self.asm, At(RSP), At(RSP, 8)
        a.label("set_item other")
        a.copy(RDI, RBX)
        self.call_or("unwrap", "managed store")
        a.copy(R15, RAX)
        self.is_objects(R15, RAX)
        a.jump_if("equal", "back")
        self.real(key, RBP, "index", "set_item gathered")
        self.real(value, R12, "value", "set_item parts")
        self.compare(At(RAX, TYPE), self.known.real, RCX)
        a.jump_if("other", "set_item of plain")
        self.is_objects(RAX, RCX)                   # NumPy may refuse what is among them
        a.jump_if("equal", "back")
        a.label("set_item of plain")
        self.on("Py_IncRef", key)
        a.label("set_item scattered")               # by a key that was made (`gathers`)
        self.on("Py_IncRef", R15, value)
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.load(RDX, value)
        a.call("placed")
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, key)
        self.let_go(value)
        self.assigned("set_item done")
