"""Elements that a mask keeps, in machine code: `x[mask]`, by what `packing` has compiled.

In:  a real array and its key.   Out: what NumPy gives for them, one way or the other.
NumPy asks of each element whether it is kept, which nobody can guess: that takes up to 5 ns, here 0.3, and
half a microsecond before that.  Positions are for `positions`, values that are assigned for `placing`.
Nothing runs in between, and nobody else has a turn, so the mask is what was counted.  The code is not there
before it pays: until then the elements of masks are counted, and Python hears of it when there were many.
"""

from __future__ import annotations

from lazyarr.object_fields import BOOLS, C_CONTIGUOUS, DATA, DIMS, DTYPE, ITEMSIZE, NDIM, TYPE_NUMBER
from lazyarr.slot_words import LONGEST_PACKED
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.elements import NUMBERS
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

CALL = 200
"""Elements that NumPy picks while it prepares to: for that it takes as long, however few there are."""

FIRST_DATE, OTHERS = 21, 3
"""The type numbers of dates, of spans of time, and of half precision: what lies between is text and records,
which may hold objects."""

KEPT = RBX, RBP, R12, R14, R15
LOCAL = 32
"""Bytes on the stack: with the registers and the return address, a multiple of 16."""
COUNTED, ELEMENTS = At(RSP, 16), At(RSP, 24)
"""How many elements there will be, and of how many; below them, two arguments."""


class Picks(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.mask, self.picked, self.rows, self.packed, self.waits:
            write()

    def mask(self) -> None:
        """rdi: a real array.   rsi: a key, of any type.   rax: eight times the bytes of an element, if
        compiled code may move some by that key; else zero.   r10: how many there are."""
        a, k = self.asm, self.known
        a.label("mask")
        self.both_real("mask not")
        a.load(RCX, At(RSI, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), BOOLS, wide=False)
        a.jump_if("other", "mask not")
        a.load_int(RCX, At(RDI, NDIM))
        a.load_int(R8, At(RSI, NDIM))
        a.compare(RCX, R8)
        a.jump_if("other", "mask not")
        a.test(RCX)                                 # (no axes: the result has one)
        a.jump_if("equal", "mask not")
        a.load(R8, At(RDI, DIMS))
        a.load(R9, At(RSI, DIMS))
        a.constant(R10, 1)
        a.label("mask axis")
        a.test(RCX)
        a.jump_if("equal", "mask whole")
        a.load(RAX, At(R8))
        a.compare(At(R9), RAX)
        a.jump_if("other", "mask not")
        a.multiply(R10, RAX)
        a.add(R8, 8)
        a.add(R9, 8)
        a.count_down(RCX)
        a.jump("mask axis")
        a.label("mask whole")
        for one in RDI, RSI:
            self.unless_flagged(one, C_CONTIGUOUS, "mask not")
        a.load(RCX, At(RDI, DTYPE))
        a.load_int(RAX, At(RCX, TYPE_NUMBER))
        a.compare_number(RAX, NUMBERS + 1)
        a.jump_if("below", "mask of bytes")
        a.add(RAX, -FIRST_DATE)
        a.compare_number(RAX, OTHERS - 1)
        a.jump_if("above", "mask not")
        a.label("mask of bytes")
        a.load(RAX, At(RCX, ITEMSIZE))
        a.compare_number(RAX, LONGEST_PACKED)
        a.jump_if("above", "mask not")
        a.constant(RCX, k.apart)
        a.compare_number(At(RCX), 0)
        a.jump_if("other", "mask not")
        a.times_word(RAX)
        a.leave()
        a.label("mask not")
        a.zero(RAX)
        a.leave()

    def picked(self) -> None:
        """rdi: a real array.   rsi: a key, of any type.   r13: NumPy's function for them.   rax: the result;
        or zero, with an error.   The caller holds both."""
        a, k = self.asm, self.known
        a.label("picked")
        self.call_or("mask", "picked rows")
        a.constant(RCX, k.packers)
        a.increase(RCX, RAX)
        a.load(RAX, At(RCX))
        a.test(RAX)
        a.jump_if("other", "packed")
        a.zero(RDX)                                 # no value
        a.label("without code")
        a.constant(RCX, k.unpacked)
        a.load(RAX, At(RCX))
        a.increase(RAX, R10)
        a.add(RAX, CALL)
        a.store(At(RCX), RAX)
        a.test(RAX)
        a.jump_if("negative", "by NumPy")
        a.jump("waits")
        a.label("by NumPy")
        a.jump_to(R13)

    def rows(self) -> None:
        """As "picked", of rows of two axes."""
        a, k = self.asm, self.known
        a.label("picked rows")
        self.both_real("by NumPy")
        a.load(RCX, At(RSI, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), BOOLS, wide=False)
        a.jump_if("other", "at positions")
        for one, axes in (RSI, 1), (RDI, 2):
            a.compare_number(At(one, NDIM), axes, wide=False)
            a.jump_if("other", "by NumPy")
            self.unless_flagged(one, C_CONTIGUOUS, "by NumPy")
        self.if_type_above(RDI, NUMBERS, "by NumPy", RCX)
        a.load(R8, At(RDI, DIMS))
        a.load(R10, At(RSI, DIMS))
        a.load(R10, At(R10))
        a.compare(At(R8), R10)
        a.jump_if("other", "by NumPy")
        a.load(RAX, At(R8, 8))
        a.compare_number(RAX, LONGEST_PACKED)
        a.jump_if("above", "by NumPy")
        a.multiply(RAX, At(RCX, ITEMSIZE))
        a.compare_number(RAX, LONGEST_PACKED)
        a.jump_if("above", "by NumPy")
        a.constant(RCX, k.apart)
        a.compare_number(At(RCX), 0)
        a.jump_if("other", "by NumPy")
        a.zero(RDX)
        a.constant(RCX, k.packers)
        a.compare_number(At(RCX, 8), 0)
        a.jump_if("equal", "without code")
        a.times_word(RAX)
        a.increase(RCX, RAX)
        a.load(RAX, At(RCX))
        a.test(RAX)
        a.jump_if("other", "packed rows")
        a.jump("by NumPy")

    def packed(self) -> None:
        """rax: what packs r10 elements, or rows."""
        self._packed("packed", 1)
        self._packed("packed rows", 2)

    def _packed(self, label: str, axes: int) -> None:
        a, k = self.asm, self.known
        a.label(label)
        self.reserve(LOCAL, *KEPT)
        for kept, given in (RBX, RDI), (RBP, RSI), (R12, R10), (R14, RAX):
            a.copy(kept, given)
        a.copy(RDI, RBP)
        self.call("PyArray_CountNonzero")
        a.store(COUNTED, RAX)
        if axes == 2:
            a.load(RAX, At(RBX, DIMS))
            a.load(RAX, At(RAX, 8))
            a.store(ELEMENTS, RAX)                  # its place is behind
        self.begin_array(At(RBX, DTYPE))
        a.constant(RDX, axes)
        a.place(RCX, COUNTED)
        self.make_array()
        a.test(RAX)
        a.jump_if("equal", f"{label} leave")        # no memory
        a.copy(RCX, R14)
        a.copy(R14, RAX)
        a.load(RAX, COUNTED)
        a.test(RAX)
        a.jump_if("equal", f"{label} done")
        a.load(RDX, At(RBX, DTYPE))
        a.load(RDX, At(RDX, ITEMSIZE))
        a.multiply(RDX, RAX)
        if axes == 2:
            a.multiply(RDX, ELEMENTS)
        a.load(RSI, At(RBX, DATA))
        a.load(RDI, At(R14, DATA))
        a.compare(RAX, R12)
        a.jump_if("equal", f"{label} all")
        a.copy(RAX, RCX)
        a.copy(RCX, RDX)
        a.increase(RCX, RDI)                        # the end
        a.copy(RDX, RDI)
        a.load(RDI, At(RBP, DATA))
        a.copy(R8, R12)
        a.call_at(RAX)
        a.label(f"{label} done")
        a.constant(RAX, k.packed)
        a.count(At(RAX))
        a.copy(RAX, R14)
        a.label(f"{label} leave")
        self.release(LOCAL, *KEPT)
        a.leave()
        a.label(f"{label} all")
        self.call("memcpy")
        a.jump(f"{label} done")

    def waits(self) -> None:
        """NumPy does it, once more; but before, Python looks for the code."""
        a, k = self.asm, self.known
        a.label("waits")
        a.push(RBX, RBP, R12)
        for kept, given in (RBX, RDI), (RBP, RSI), (R12, RDX):
            a.copy(kept, given)
        a.constant(RDI, k.hear_masks)
        for register in RSI, RDX, RCX:
            a.zero(register)
        self.call("PyObject_Vectorcall")
        a.test(RAX)
        a.jump_if("equal", "waits no more")
        self.on("Py_DecRef", RAX)
        a.label("waits on")
        for kept, given in (RBX, RDI), (RBP, RSI), (R12, RDX):
            a.copy(given, kept)
        a.pop(R12, RBP, RBX)
        a.jump_to(R13)
        a.label("waits no more")
        a.constant(RDI, k.too_deep)
        self.call("PyErr_ExceptionMatches")
        a.test_int(RAX)
        a.jump_if("equal", "waits error")           # by a signal's handler, say
        self.call("PyErr_Clear")
        a.jump("waits on")
        a.label("waits error")
        a.zero(RAX)
        a.test(R12)
        a.jump_if("equal", "waits leave")
        a.add(RAX, -1)
        a.label("waits leave")
        a.pop(R12, RBP, RBX)
        a.leave()
