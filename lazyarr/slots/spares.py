"""Arrays that end are kept for the next ones, in machine code (the type's tp_dealloc and tp_alloc).

In:  an array to which nobody refers; the type of one that is wanted.   Out: nothing; an array of no fields.
An object of a class of Python's takes 50 ns to be made and to end, half of what NumPy takes to look at a row:
memory, the collector's account, a walk through the class's bases.  Here it is one of a few that have ended.
Always holds: an array that waits refers to nothing, nobody refers to it, and the collector does not see it.
Whatever ends may run a program's code, which makes and drops arrays: one waits when all that is done.
"""

from __future__ import annotations

from lazyarr.object_fields import TYPE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.tables import SPARES
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R11, RAX, RBX, RCX, RDI, RDX


class Spares(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        self.begins()
        self.ends()

    def begins(self) -> None:
        """(type, 0).   r11: what makes others, and arrays of which none is there."""
        a, k = self.asm, self.known
        a.label("array begins")
        self.compare(RDI, k.lazy, RAX)
        a.jump_if("other", "array new")             # (a class of theirs)
        a.constant(RCX, k.spares)
        a.load(RDX, At(RCX))
        a.test(RDX)
        a.jump_if("equal", "array new")
        a.add(RDX, -1)
        a.store(At(RCX), RDX)
        a.times_word(RDX)
        a.increase(RDX, RCX)
        a.push(RBX)
        a.load(RBX, At(RDX, 8))
        self.on("_Py_NewReference", RBX)
        self.on("PyObject_GC_Track", RBX)
        a.copy(RAX, RBX)
        a.pop(RBX)
        a.leave()
        a.label("array new")
        a.jump_to(R11)

    def ends(self) -> None:
        """(array)."""
        a, k = self.asm, self.known
        a.label("array ends")
        a.push(RBX)
        a.copy(RBX, RDI)
        self.call("PyObject_GC_UnTrack")
        a.compare_number(At(RBX, k.weak), 0)
        a.jump_if("equal", "array fields")
        self.on("PyObject_ClearWeakRefs", RBX)
        a.label("array fields")
        for place in k.geo, k.storage, k.origin, k.twin, k.window:
            a.load(RDI, At(RBX, place))
            a.test(RDI)
            a.jump_if("equal", f"array field {place}")
            a.zero(RAX)
            a.store(At(RBX, place), RAX)
            if place == k.geo:
                a.call("view ends")
            else:
                a.constant(RAX, "Py_DecRef")
                a.call_at(RAX)
            a.label(f"array field {place}")
        a.copy(RDI, RBX)
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "array gone")
        a.constant(RCX, k.spares)
        a.load(RDX, At(RCX))
        a.compare_number(RDX, SPARES - 1)
        a.jump_if("above", "array gone")
        a.count(At(RCX))
        a.times_word(RDX)
        a.increase(RDX, RCX)
        a.store(At(RDX, 8), RDI)
        a.pop(RBX)
        a.leave()
        a.label("array gone")
        a.load(RBX, At(RDI, TYPE))                  # which its objects keep
        self.call("PyObject_GC_Del")
        a.copy(RDI, RBX)
        a.pop(RBX)
        a.constant(RAX, "Py_DecRef")
        a.jump_to(RAX)
