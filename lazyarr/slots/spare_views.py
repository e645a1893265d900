"""Real arrays that were views, and end with the array of ours that held them, are kept for the next views.

In:  a real array of which the only reference goes; what a view shows.   Out: nothing; a real array, as NumPy
makes it (`PyArray_NewFromDescr`, `PyArray_SetBaseObject`), or zero, if there is none that has ended.
To make a real array and to free it takes NumPy as long as all else that it does for a row.
Always holds: one that waits owns no memory, refers to nothing but its type, and nobody knows it; it was, and
is to be, an array of NumPy's own class, of one axis or two, of a type that is one of NumPy's own.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    ALIGNED,
    BASE,
    BUFFER_INFO,
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    F_CONTIGUOUS,
    FLAGS,
    ITEMSIZE,
    NDIM,
    OWNS,
    STRIDES,
    TYPE,
    WEAK,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.tables import SPARE_VIEWS, VIEW_AXES
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP

BORROWS = 0x2000
"""A flag: what is written is copied to another array (NPY_ARRAY_WRITEBACKIFCOPY)."""
LIST = 8 * (1 + SPARE_VIEWS)
"""Bytes of the list for a number of axes: how many there are, and these."""


class SpareViews(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.ends, self.made, self.based, self.flags:
            write()

    def ends(self) -> None:
        """rdi: an object, of which the caller's reference goes."""
        a = self.asm
        other = "view other"
        a.label("view ends")
        a.compare_number(At(RDI), 1, wide=False)
        a.jump_if("other", other)
        self.compare(At(RDI, TYPE), self.known.real, RAX)
        a.jump_if("other", other)
        a.load_int(RAX, At(RDI, FLAGS))
        a.test_int(RAX)                             # (NumPy has something to say when it is written to)
        a.jump_if("negative", other)
        a.keep(RAX, OWNS | BORROWS)
        a.jump_if("other", other)
        a.load(RSI, At(RDI, BASE))
        a.test(RSI)
        a.jump_if("equal", other)
        for about in WEAK, BUFFER_INFO:
            a.compare_number(At(RDI, about), 0)
            a.jump_if("other", other)
        self.numbers_type(RDI, other)
        a.load_int(RAX, At(RDI, NDIM))
        self._list(RAX, other)
        a.load(RDX, At(RCX))
        a.compare_number(RDX, SPARE_VIEWS - 1)
        a.jump_if("above", other)
        a.count(At(RCX))
        a.times_word(RDX)
        a.increase(RDX, RCX)
        a.store(At(RDX, 8), RDI)
        a.zero(RAX)
        a.store(At(RDI, BASE), RAX)
        a.copy(RDI, RSI)
        a.label(other)
        a.constant(RAX, "Py_DecRef")
        a.jump_to(RAX)

    def made(self) -> None:
        """rdi: a real array.   rsi: a number of axes.   rdx, rcx: their lengths, and bytes from each element
        to the next.   r8: where the first one is.   rax: a view of the array; or zero."""
        a = self.asm
        none = "view none"
        a.label("view made")
        a.load_int(RAX, At(RDI, FLAGS))
        a.test_int(RAX)
        a.jump_if("negative", none)
        a.keep(RAX, ALIGNED)
        a.jump_if("equal", none)
        a.copy(R10, RCX)
        a.copy(R11, RDX)
        self.numbers_type(RDI, none)                   # r9
        a.copy(RAX, RSI)
        self._list(RAX, none)
        a.load(RAX, At(RCX))
        a.test(RAX)
        a.jump_if("equal", none)
        a.add(RAX, -1)
        a.store(At(RCX), RAX)
        a.times_word(RAX)
        a.increase(RAX, RCX)
        a.load(RAX, At(RAX, 8))
        a.store(At(RAX, DATA), R8)
        a.load(RDX, At(RAX, DIMS))
        a.load(RCX, At(RAX, STRIDES))
        for given, to in (R11, RDX), (R10, RCX):
            a.load(R8, At(given))
            a.store(At(to), R8)
        a.load_int(R8, At(RDI, FLAGS))
        a.keep(R8, WRITEABLE)
        a.add(R8, ALIGNED)                          # parts of what is aligned are
        a.compare_number(RSI, 1)
        a.jump_if("equal", "view line")
        for given, to in (R11, RDX), (R10, RCX):
            a.load(RSI, At(given, 8))
            a.store(At(to, 8), RSI)
        a.jump("view square")
        a.label(none)
        a.zero(RAX)
        a.leave()

    def based(self) -> None:
        """rax: the new view, of the array in rdi.   r8: its flags.   r9: its type.

        It refers to what owns memory, or is no array."""
        a = self.asm
        a.label("view flagged")
        a.store(At(RAX, FLAGS), R8)
        a.copy(R10, RDI)
        a.label("view base")
        a.load_int(RCX, At(R10, FLAGS))
        a.keep(RCX, OWNS)
        a.jump_if("other", "view based")
        a.load(RDX, At(R10, BASE))
        a.test(RDX)
        a.jump_if("equal", "view based")
        self.compare(At(RDX, TYPE), self.known.real, RCX)
        a.jump_if("other", "view based")
        a.copy(R10, RDX)
        a.jump("view base")
        a.label("view based")
        a.store(At(RAX, BASE), R10)
        a.push(RAX)
        a.load(RCX, At(RAX, DTYPE))
        a.compare(R9, RCX)
        a.jump_if("equal", "view typed")
        a.store(At(RAX, DTYPE), R9)
        a.push(RCX, R10)
        self.on("Py_IncRef", R9)
        a.load(RDI, At(RSP, 8))
        self.call("Py_DecRef")
        a.pop(R10, RCX)
        a.label("view typed")
        self.on("Py_IncRef", R10)
        a.pop(RAX)
        a.leave()

    def flags(self) -> None:
        """rdx, rcx: lengths and steps of the new array.   r8: its flags, of which those are missing that say
        in which order elements lie.   r9: its type.   (rsi, r10, r11 are lost.)"""
        a = self.asm
        a.label("view line")
        a.load(RSI, At(R9, ITEMSIZE))
        a.compare_number(At(RDX), 2)
        a.jump_if("below", "view in both")
        a.compare(At(RCX), RSI)
        a.jump_if("equal", "view in both")
        a.jump("view flagged")

        a.label("view square")
        for at in (0, 8):
            a.compare_number(At(RDX, at), 0)
            a.jump_if("equal", "view in both")
        for inner, outer, flag in ((8, 0, C_CONTIGUOUS), (0, 8, F_CONTIGUOUS)):
            a.load(RSI, At(R9, ITEMSIZE))
            a.load(R10, At(RDX, inner))
            a.compare_number(R10, 1)
            a.jump_if("equal", f"view inner {inner}")
            a.compare(At(RCX, inner), RSI)
            a.jump_if("other", f"view not so {inner}")
            a.label(f"view inner {inner}")
            a.compare_number(At(RDX, outer), 1)
            a.jump_if("equal", f"view so {inner}")
            a.multiply(R10, RSI)
            a.compare(At(RCX, outer), R10)
            a.jump_if("other", f"view not so {inner}")
            a.label(f"view so {inner}")
            a.add(R8, flag)
            a.label(f"view not so {inner}")
        a.jump("view flagged")
        a.label("view in both")
        a.add(R8, C_CONTIGUOUS | F_CONTIGUOUS)
        a.jump("view flagged")

    # ----------------------------------------------------------------------------- parts

    def _list(self, axes: int, leave: str) -> None:
        """rcx: the list for a number of axes, which is lost; on to a label if there is none."""
        a = self.asm
        a.add(axes, -1)
        a.compare_number(axes, VIEW_AXES - 1)
        a.jump_if("above", leave)
        a.constant(RCX, LIST)
        a.multiply(axes, RCX)
        a.constant(RCX, self.known.spare_views)
        a.increase(RCX, axes)
