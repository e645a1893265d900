"""Elements that a mask keeps, in machine code: `x[mask]` and `x[mask] = y` by what `packing` has compiled;
and those at positions of half a word, `x[i]`, along one axis.

In:  a real array and its key, perhaps a value.   Out: what NumPy gives for them, one way or the other.
NumPy asks of each element whether it is kept, which nobody can guess: that takes up to 5 ns, here 0.3, and
half a microsecond before that.  Of positions it looks at all twice, after half a microsecond, too.
Nothing runs in between, and nobody else has a turn, so the mask is what was counted.  The code is not there
before it pays: until then the elements of masks are counted, and Python hears of it when there were many.
"""

from __future__ import annotations

import numpy

from lazyarr.object_fields import (
    ALIGNED,
    BOOLS,
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMSIZE,
    NDIM,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
    VALUE,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slot_words import LONGEST_PACKED
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.elements import NUMBERS
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

CALL = 200
"""Elements that NumPy picks while it prepares to: for that it takes as long, however few there are."""

FIRST_DATE, OTHERS = 21, 3
"""The type numbers of dates, of spans of time, and of half precision: what lies between is text and records,
which may hold objects."""

POSITIONS = {numpy.dtype("i").num: "load_signed_int", numpy.dtype("I").num: "load_int"}
"""Type numbers of positions, and how one is loaded: those of half a word, as sparse matrices have them.
(NumPy makes words of them in a long way, but has a short one for words.)"""

POSITION = 4
"""Bytes of one."""

MOVED = 4, 8, 16
"""Bytes of elements that are picked so."""

KEPT = RBX, RBP, R12, R14, R15
LOCAL = 32
"""Bytes on the stack: with the registers and the return address, a multiple of 16."""
COUNTED, ELEMENTS = At(RSP, 16), At(RSP, 24)
"""How many elements there will be, and of how many; below them, two arguments."""


class Picks(Writer):
    """Writes the routine."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.mask, self.picked, self.rows, self.at_positions, self.moved, self.packed, self.placed,
            self.number, self.one, self.scalar, self.arrays, self.waits,
        ):  # fmt: skip
            write()

    def _both_real(self, leave: str) -> None:
        """rsi, rdi: on to a label, unless they are real arrays."""
        for one in RSI, RDI:
            self.compare(At(one, TYPE), self.known.real, RAX)
            self.asm.jump_if("other", leave)

    def mask(self) -> None:
        """rdi: a real array.   rsi: a key, of any type.   rax: eight times the bytes of an element, if
        compiled code may move some by that key; else zero.   r10: how many there are."""
        a, k = self.asm, self.known
        a.label("mask")
        self._both_real("mask not")
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
        self._both_real("by NumPy")
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

    def at_positions(self) -> None:
        """As "picked", if the key says where elements of one axis are; what is out of bounds is NumPy's."""
        a, k = self.asm, self.known
        a.label("at positions")
        self._both_real("by NumPy")
        a.compare_number(At(RDI, NDIM), 1, wide=False)
        a.jump_if("other", "by NumPy")
        self.if_type_above(RDI, NUMBERS, "by NumPy", RCX)
        a.load(R9, At(RCX, ITEMSIZE))
        a.load_int(RAX, At(RSI, FLAGS))
        a.keep(RAX, C_CONTIGUOUS | ALIGNED)
        a.compare_number(RAX, C_CONTIGUOUS | ALIGNED)
        a.jump_if("other", "by NumPy")
        a.compare_number(At(RSI, NDIM), 0, wide=False)
        a.jump_if("equal", "by NumPy")
        a.load(RDX, At(RSI, DTYPE))
        for number in POSITIONS:
            a.constant(RCX, k.native)
            a.load(RAX, At(RCX, 8 * number))
            a.compare(RAX, RDX)
            a.jump_if("equal", f"positions {number}")
        a.jump("by NumPy")
        for number in POSITIONS:
            a.label(f"positions {number}")
            for size in MOVED:
                a.constant(RAX, 100 * number + size)
                a.compare_number(R9, size)
                a.jump_if("equal", "positions ready")
            a.jump("by NumPy")

    def moved(self) -> None:
        """rax: by which loop elements are moved to a new array."""
        a = self.asm
        a.label("positions ready")
        self.reserve(LOCAL, *KEPT)
        for kept, given in (RBX, RDI), (RBP, RSI), (R15, RAX):
            a.copy(kept, given)
        a.copy(RDI, RBP)
        a.call("size")
        a.copy(R12, RAX)
        a.test(RAX)
        a.jump_if("equal", "positions none")
        self.begin_array(At(RBX, DTYPE))
        a.load_int(RDX, At(RBP, NDIM))
        a.load(RCX, At(RBP, DIMS))
        self.make_array()
        a.copy(R14, RAX)
        a.test(RAX)
        a.jump_if("equal", "positions leave")       # no memory
        for register, place in (RSI, At(RBP, DATA)), (RDI, At(R14, DATA)), (R8, At(RBX, DATA)):
            a.load(register, place)
        for register, place in (R9, At(RBX, DIMS)), (R10, At(RBX, STRIDES)):
            a.load(register, place)
            a.load(register, At(register))
        a.copy(R11, R12)
        for number in POSITIONS:
            for size in MOVED:
                a.compare_number(R15, 100 * number + size)
                a.jump_if("other", f"positions not {number} of {size}")
                self.call_or(f"positions {number} of {size}", "positions refused")
                a.label(f"positions not {number} of {size}")
        a.label("positions leave")
        a.copy(RAX, R14)
        self.release(LOCAL, *KEPT)
        a.leave()
        a.label("positions refused")
        self.on("Py_DecRef", R14)
        a.label("positions none")
        a.copy(RDI, RBX)
        a.copy(RSI, RBP)
        self.release(LOCAL, *KEPT)
        a.jump_to(R13)
        a.label("positions beyond")
        a.zero(RAX)
        a.leave()
        for number, load in POSITIONS.items():
            for size in MOVED:
                self._moved(f"positions {number} of {size}", load, size)

    def _moved(self, label: str, load: str, size: int) -> None:
        """r11: how many positions there are, at rsi; r8, r9, r10: where elements are, how many, how far
        apart; rdi: where they go.   rax: zero, if one is out of bounds."""
        a = self.asm
        a.label(label)
        getattr(a, load)(RAX, At(RSI))
        a.test(RAX)
        a.jump_if("negative", f"{label} from the end")
        a.label(f"{label} counted")
        a.compare(R9, RAX)
        a.jump_if("below", "positions beyond")
        a.jump_if("equal", "positions beyond")
        a.multiply(RAX, R10)
        a.increase(RAX, R8)
        for at in range(0, size, 8):
            a.load_int(RCX, At(RAX, at)) if size < 8 else a.load(RCX, At(RAX, at))
            a.store_bytes(At(RDI, at), RCX, min(size, 8))
        a.add(RSI, POSITION)
        a.add(RDI, size)
        a.count_down(R11)
        a.jump_if("other", label)
        a.constant(RAX, 1)
        a.leave()
        a.label(f"{label} from the end")
        a.increase(RAX, R9)                         # what is negative still is more than there are
        a.jump(f"{label} counted")

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

    def placed(self) -> None:
        """rdi, rsi: as of "picked".   rdx: a value, a real array or a scalar.   r13: NumPy's function for the
        three.   rax: what that gives, 0 or -1, with an error.   The caller holds all."""
        a, k = self.asm, self.known
        a.label("placed")
        self.call_or("mask", "by NumPy")
        a.load_int(RCX, At(RDI, FLAGS))
        a.test_int(RCX)                             # NumPy has something to say first
        a.jump_if("negative", "by NumPy")
        a.keep(RCX, WRITEABLE)
        a.jump_if("equal", "by NumPy")
        a.constant(RCX, k.spreaders)
        a.increase(RCX, RAX)
        a.load(R11, At(RCX))
        a.test(R11)
        a.jump_if("equal", "without code")
        a.load(RCX, At(RDI, DTYPE))
        a.load(R8, At(RCX, ITEMSIZE))
        a.multiply(R8, R10)
        a.load(RCX, At(RDI, DATA))
        a.increase(R8, RCX)                         # rcx, r8: from where to where elements are written to
        self._unless_shared(At(RSI, DATA), R10, "mask", "by NumPy")
        a.load(RAX, At(RDX, TYPE))
        self.compare(RAX, k.real, R9)
        a.jump_if("equal", "placed array")

    def number(self) -> None:
        """rax: the type of the value, a scalar."""
        a, k = self.asm, self.known
        self.reserve(LOCAL, *KEPT)
        self._keep()
        a.load(R15, At(RBX, DTYPE))
        for dtype, types in (k.doubles, (k.floats, k.double)), (k.words, (k.word,)):
            self.compare(R15, dtype, RCX)
            a.jump_if("other", f"placed no {dtype}")
            for of_scalars in types:
                self.compare(RAX, of_scalars, RCX)
                a.jump_if("equal", "placed number")
            a.label(f"placed no {dtype}")
        a.load_int(RCX, At(R15, TYPE_NUMBER))
        a.compare_number(RCX, NUMBERS)
        a.jump_if("above", "placed not")
        self.call_or("real scalar", "placed not")
        self.begin_array(R15)
        a.zero(RDX)
        a.zero(RCX)
        self.make_array()
        a.test(RAX)
        a.jump_if("equal", "placed failed")
        a.copy(R15, RAX)                            # one element, to which NumPy casts the value
        a.copy(RDI, R15)
        a.constant(RSI, k.ellipsis)
        a.copy(RDX, R14)
        a.call_at(R13)
        a.test_int(RAX)
        a.jump_if("other", "placed refused")
        a.load(RSI, At(R15, DATA))
        a.call("placed one")
        a.constant(RAX, "Py_DecRef")
        a.copy(RDI, R15)
        a.call_at(RAX)
        a.jump("placed done")
        a.label("placed refused")
        self.on("Py_DecRef", R15)
        a.label("placed failed")                    # nothing has happened: NumPy finds the words for it
        self.call("PyErr_Clear")
        a.label("placed not")
        a.copy(RDI, RBX)
        a.copy(RSI, RBP)
        a.copy(RDX, R14)
        self.release(LOCAL, *KEPT)
        a.jump_to(R13)
        a.label("placed number")
        a.place(RSI, At(R14, VALUE))
        a.call("placed one")
        a.label("placed done")
        a.constant(RAX, k.packed)
        a.count(At(RAX))
        a.zero(RAX)
        self.release(LOCAL, *KEPT)
        a.leave()

    def one(self) -> None:
        """rsi: where the value is."""
        a = self.asm
        a.label("placed one")
        a.push(RSI)
        a.copy(RDI, RBP)
        self.call("PyArray_CountNonzero")
        a.pop(RSI)
        a.test(RAX)
        a.jump_if("equal", "placed none")
        a.load(RDX, At(RBX, DTYPE))
        a.load(RDX, At(RDX, ITEMSIZE))
        a.increase(RDX, RSI)
        a.zero(RCX)
        a.label("placed by code")                   # rdx, rcx: where values end, how far apart they are
        a.load(RDI, At(RBP, DATA))
        a.load(R8, At(RBX, DATA))
        a.load(R9, At(RSP, ELEMENTS.offset + 8))
        a.add(RSP, -8)
        a.call_at(R12)
        a.add(RSP, 8)
        a.label("placed none")
        a.leave()

    def scalar(self) -> None:
        """rax: a type.   rax: itself, if it is one of scalars that assignments never warn of; else zero."""
        a = self.asm
        a.label("real scalar")
        a.copy(R9, RAX)
        a.call("complex type")
        a.test(RAX)
        a.jump_if("other", "real scalar not")
        a.copy(RAX, R9)
        a.jump("scalar type")
        a.label("real scalar not")
        a.zero(RAX)
        a.leave()

    def arrays(self) -> None:
        """As many values as there are elements, side by side, in memory of their own."""
        a = self.asm
        a.label("placed array")
        a.load(RAX, At(RDI, DTYPE))
        a.compare(At(RDX, DTYPE), RAX)
        a.jump_if("other", "by NumPy")
        a.compare_number(At(RDX, NDIM), 1, wide=False)
        a.jump_if("other", "by NumPy")
        self.unless_flagged(RDX, C_CONTIGUOUS, "by NumPy", R9)
        a.load(R9, At(RDX, DIMS))
        a.load(R9, At(R9))
        a.multiply(R9, At(RAX, ITEMSIZE))
        self._unless_shared(At(RDX, DATA), R9, "values", "by NumPy")
        self.reserve(LOCAL, *KEPT)
        self._keep()
        a.copy(RDI, RBP)
        self.call("PyArray_CountNonzero")
        a.load(RCX, At(R14, DIMS))
        a.compare(At(RCX), RAX)
        a.jump_if("other", "placed not")
        a.test(RAX)
        a.jump_if("equal", "placed done")
        a.load(RCX, At(RBX, DTYPE))
        a.load(RCX, At(RCX, ITEMSIZE))
        a.load(RSI, At(R14, DATA))
        a.copy(RDX, RCX)
        a.multiply(RDX, RAX)
        a.increase(RDX, RSI)
        a.call("placed by code")
        a.jump("placed done")

    def _keep(self) -> None:
        """What "placed" has found out."""
        for kept, given in (RBX, RDI), (RBP, RSI), (R12, R11), (R14, RDX):
            self.asm.copy(kept, given)
        self.asm.store(ELEMENTS, R10)

    def _unless_shared(self, start: At, length: int, what: str, otherwise: str) -> None:
        """Go on if so many bytes from a word's address on have none with those from rcx to r8; r9, which may
        be the length, is lost."""
        a = self.asm
        a.copy(R9, length)
        a.increase(R9, start)
        a.compare(R9, RCX)
        a.jump_if("above", f"{what} behind")
        a.jump(f"{what} apart")
        a.label(f"{what} behind")
        a.load(R9, start)
        a.compare(R8, R9)
        a.jump_if("above", otherwise)
        a.label(f"{what} apart")

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
