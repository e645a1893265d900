"""`x.reshape(n)`, `x.reshape(n, m)` and `x.ravel()` of arrays that lie in C order, in machine code.

In:  as `calls` has methods.   Out: views, made of what views have left (`spare_views`); other shapes, other
arrays, and what is wrong are for `calls`.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    ITEMS,
    ITEMSIZE,
    LENGTH,
    NDIM,
    STRIDES,
    TYPE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.sizes import HUGE
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R10, R12, R13, R14, R15, RAX, RBX, RCX, RDI, RDX, RSI, RSP

KEPT = RBX, R12, R13, R14, R15
"""The array; the lengths that are asked for, and how many; the geometry; its elements."""
LOCAL = 64
"""Bytes on the stack: with the registers and the return address, a multiple of 16."""
ARGS, COUNT, RECORD = (At(RSP, 8 * k) for k in range(3))
LENGTHS, STEPS = 32, 48
"""Where those of the view are."""


class Reshaping(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.reshape, self.lengths, self.steps, self.ends:
            write()

    def reshape(self) -> None:
        """(array, args, count, names)"""
        a, k = self.asm, self.known
        a.label("ravel")
        a.test(RDX)
        a.jump_if("other", "method")
        a.jump("reshape begins")
        a.label("reshape")
        a.place(RAX, At(RDX, -1))
        a.compare_number(RAX, 1)
        a.jump_if("above", "method")
        a.label("reshape begins")
        a.test(RCX)
        a.jump_if("other", "method")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "method")
        a.load(R8, At(RDI, k.geo))
        a.test(R8)
        a.jump_if("equal", "method")
        a.compare_number(At(RDI, k.storage), 0)
        a.jump_if("equal", "method")
        a.compare_number(At(R8, NDIM), 0, wide=False)
        a.jump_if("equal", "method")
        self.unless_flagged(R8, C_CONTIGUOUS, "method")
        self.if_forced("method")
        self.reserve(LOCAL, *KEPT)
        for place, given in (ARGS, RSI), (COUNT, RDX), (RECORD, R10):
            a.store(place, given)
        for kept, given in (RBX, RDI), (R12, RSI), (R13, RDX), (R14, R8):
            a.copy(kept, given)
        a.copy(RDI, R14)
        a.call("size")
        a.copy(R15, RAX)
        a.place(RAX, At(R15, -1))
        a.compare_number(RAX, HUGE - 1)             # (lengths of nothing are another matter)
        a.jump_if("above", "reshape not")
        a.test(R13)
        a.jump_if("equal", "reshape line")
        a.compare_number(R13, 1)
        a.jump_if("other", "reshape lengths")
        a.load(RAX, At(R12))
        self.compare(At(RAX, TYPE), k.tuples, RCX)
        a.jump_if("other", "reshape lengths")
        a.load(R13, At(RAX, LENGTH))
        a.place(R12, At(RAX, ITEMS))
        a.place(RAX, At(R13, -1))
        a.compare_number(RAX, 1)
        a.jump_if("above", "reshape not")

    def lengths(self) -> None:
        """Of one axis or two: as many elements as there are."""
        a = self.asm
        a.label("reshape lengths")
        a.load(RDI, At(R12))
        self.call_or("number", "reshape not", RDX)
        a.store(At(RSP, LENGTHS), RAX)
        a.compare_number(R13, 1)
        a.jump_if("other", "reshape second")
        a.compare_number(RAX, -1)
        a.jump_if("equal", "reshape line")
        a.compare(R15, RAX)
        a.jump_if("other", "reshape not")
        a.label("reshape line")
        a.constant(R13, 1)
        a.store(At(RSP, LENGTHS), R15)
        a.jump("reshape steps")

        a.label("reshape second")
        a.load(RDI, At(R12, 8))
        self.call_or("number", "reshape not", RDX)
        a.load(RCX, At(RSP, LENGTHS))
        a.compare_number(RCX, -1)                   # whatever is left
        a.jump_if("other", "reshape first known")
        a.copy(R8, RAX)
        self._left(R8)
        a.copy(RCX, RAX)
        a.copy(RAX, R8)
        a.label("reshape first known")
        a.compare_number(RAX, -1)
        a.jump_if("other", "reshape last known")
        self._left(RCX)
        a.label("reshape last known")
        for one in RAX, RCX:
            a.compare(one, R15)
            a.jump_if("above", "reshape not")
        a.store(At(RSP, LENGTHS), RCX)
        a.store(At(RSP, LENGTHS + 8), RAX)
        a.multiply(RCX, RAX)
        a.compare(RCX, R15)
        a.jump_if("other", "reshape not")

    def _left(self, other: int) -> None:
        """rax: the length that all elements have beside another one, if these are all."""
        a = self.asm
        a.place(RAX, At(other, -1))
        a.compare_number(RAX, HUGE)
        a.jump_if("above", "reshape not")
        a.copy(RAX, R15)
        a.divide(other)

    def steps(self) -> None:
        """Those of C order.  (Where lengths stay, but an axis of one has another step, NumPy says which.)"""
        a = self.asm
        a.label("reshape steps")
        a.load(RAX, At(R14, DTYPE))
        a.load(RAX, At(RAX, ITEMSIZE))
        a.store(At(RSP, STEPS), RAX)
        a.compare_number(R13, 1)
        a.jump_if("equal", "reshape changes")
        a.store(At(RSP, STEPS + 8), RAX)
        a.multiply(RAX, At(RSP, LENGTHS + 8))
        a.store(At(RSP, STEPS), RAX)
        a.label("reshape changes")
        a.load_int(RAX, At(R14, NDIM))
        a.compare(RAX, R13)
        a.jump_if("other", "reshape view")
        for own, asked, other in ((DIMS, LENGTHS, "view"), (STRIDES, STEPS, "not")):
            a.load(RDX, At(R14, own))
            for at in (0, 8):
                a.load(RAX, At(RDX, at))
                a.compare(At(RSP, asked + at), RAX)
                a.jump_if("other", f"reshape {other}")
                if not at:
                    a.compare_number(R13, 1)
                    a.jump_if("equal", f"reshape same {own}")
            a.label(f"reshape same {own}")

    def ends(self) -> None:
        a = self.asm
        a.label("reshape view")
        a.copy(RDI, R14)
        a.copy(RSI, R13)
        a.place(RDX, At(RSP, LENGTHS))
        a.place(RCX, At(RSP, STEPS))
        a.load(R8, At(R14, DATA))
        self.call_or("view made", "reshape not")
        a.copy(R13, RAX)
        self.wrap_either("reshape", counts=True)
        a.label("reshape leave")
        a.copy(RAX, R13)
        self.release(LOCAL, *KEPT)
        a.leave()
        a.label("reshape not")
        a.copy(RDI, RBX)
        a.load(RSI, ARGS)
        a.load(RDX, COUNT)
        a.load(R10, RECORD)
        a.zero(RCX)
        self.release(LOCAL, *KEPT)
        a.jump("method")
