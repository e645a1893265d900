"""How large arrays are, and whether NumPy computes on two of them at the call.

In:  arrays in registers.   Out: answers in rax, as routines give them (`routines`).
"""

from __future__ import annotations

from lazyarr.object_fields import (
    C_CONTIGUOUS,
    COMPLEX,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMSIZE,
    NDIM,
    STRIDES,
    TYPE_NUMBER,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI

HUGE = (1 << 31) - 1
"""Sizes whose product might not fit a word."""

LONGEST = (1 << 63) - 1
"""Bytes from one element of an axis to the next one, at most."""


class Sizes(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.fits, self.fits_across, self.orderly, self.nbytes, self.words, self.size:
            write()

    def fits(self) -> None:
        """rdi, rsi: arrays.   rax: not zero if they are small together, as `pairs.plain_pair` says.

        "fits apart": the same where no operand may be a temporary, in whose memory NumPy would compute."""
        a, k = self.asm, self.known
        a.label("fits apart")
        a.constant(R11, 1)
        a.jump("fits of any kind")
        a.label("fits")
        a.zero(R11)
        a.label("fits of any kind")
        a.call("size")
        a.copy(R8, RAX)
        a.copy(R9, RDI)
        a.copy(RDI, RSI)
        a.call("size")
        for one in (R8, RAX):
            a.compare_number(one, HUGE)
            a.jump_if("above", "fits not")
        a.multiply(R8, RAX)
        a.compare_number(R8, k.cross)
        a.jump_if("above", "fits if alike")
        a.label("fits so")
        a.constant(RAX, 1)
        a.leave()

        a.label("fits if alike")
        a.load_int(RCX, At(R9, NDIM))
        a.load_int(R10, At(RDI, NDIM))
        a.load(R8, At(R9, DIMS))
        a.load(RDX, At(RDI, DIMS))
        a.compare(RCX, R10)
        a.jump_if("other", "fits across")
        a.label("fits axis")
        a.test(R10)
        a.jump_if("equal", "fits alike")
        a.load(RAX, At(R8))
        a.compare(At(RDX), RAX)
        a.jump_if("other", "fits across")
        a.add(R8, 8)
        a.add(RDX, 8)
        a.count_down(R10)
        a.jump("fits axis")
        a.label("fits alike")
        a.test(R11)
        a.jump_if("other", "fits so")
        self.call_or("orderly", "fits not")
        a.copy(RDI, R9)
        a.call("orderly")
        a.test(RAX)
        a.jump_if("other", "fits so")
        a.label("fits not")
        a.zero(RAX)
        a.leave()

    def fits_across(self) -> None:
        """r9, rdi: arrays of several shapes.   Is the result small that these make together?

        From the last axes on; what does not go together NumPy refuses, however large."""
        a = self.asm
        a.label("fits across")
        a.load_int(RCX, At(R9, NDIM))
        a.load_int(R10, At(RDI, NDIM))
        for end, array, ndim in ((R8, R9, RCX), (RDX, RDI, R10)):
            a.copy(end, ndim)
            a.times_word(end)
            a.increase(end, At(array, DIMS))
        a.constant(RAX, 1)
        a.label("fits across axis")
        a.constant(RSI, 1)
        a.test(RCX)
        a.jump_if("equal", "fits across other")
        a.count_down(RCX)
        a.add(R8, -8)
        a.load(RSI, At(R8))
        a.label("fits across other")
        a.test(R10)
        a.jump_if("equal", "fits across longer")
        a.count_down(R10)
        a.add(RDX, -8)
        a.compare(At(RDX), RSI)
        a.jump_if("below", "fits across longer")
        a.load(RSI, At(RDX))
        a.label("fits across longer")
        a.multiply(RAX, RSI)
        a.test(RCX)
        a.jump_if("other", "fits across axis")
        a.test(R10)
        a.jump_if("other", "fits across axis")
        self.above_limit(RAX, "fits not", RCX)
        a.jump("fits alike")                        # NumPy computes in a temporary's memory, too, beside
                                                    # what has no axes

    def orderly(self) -> None:
        """rdi: an operand.   rax: not zero if nothing depends on whether NumPy computes in its memory
        (`elision`): it is too small for that, or real, with axes in C's order, as a slice has them; rcx and
        rdx are lost."""
        a, k = self.asm, self.known
        a.label("orderly")
        a.call("nbytes")
        a.compare_number(RAX, k.elided)
        a.jump_if("below", "orderly so")
        a.load(RCX, At(RDI, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), COMPLEX - 1, wide=False)
        a.jump_if("above", "orderly not")           # (complex, objects, half precision)
        a.load_int(RAX, At(RDI, FLAGS))
        a.keep(RAX, C_CONTIGUOUS)
        a.test(RAX)
        a.jump_if("other", "orderly so")            # (axes of one element may have any strides)
        a.load_int(RCX, At(RDI, NDIM))
        a.load(RDX, At(RDI, STRIDES))
        a.constant(RAX, LONGEST)
        a.label("orderly axis")
        a.compare(At(RDX), RAX)
        a.jump_if("above", "orderly not")           # (negative ones count as longer than all others)
        a.load(RAX, At(RDX))
        a.add(RDX, 8)
        a.count_down(RCX)
        a.jump_if("other", "orderly axis")
        a.test(RAX)                                 # zero: an axis along which it repeats
        a.leave()
        a.label("orderly so")
        a.constant(RAX, 1)
        a.leave()
        a.label("orderly not")
        a.zero(RAX)
        a.leave()

    def nbytes(self) -> None:
        """rdi: an array.   rax: its bytes."""
        a = self.asm
        a.label("nbytes")
        a.call("size")
        a.load(RCX, At(RDI, DTYPE))
        a.multiply(RAX, At(RCX, ITEMSIZE))
        a.leave()

    def words(self) -> None:
        """rdi: an array.   rax: its elements, or its words if these are fewer, one for a part of one
        (`recipes.measure`); rcx and rdx are lost."""
        a = self.asm
        a.label("words")
        a.call("size")
        a.copy(RDX, RAX)
        a.load(RCX, At(RDI, DTYPE))
        a.multiply(RAX, At(RCX, ITEMSIZE))
        a.add(RAX, 7)
        a.whole_words(RAX)
        a.compare(RAX, RDX)
        a.jump_if("below", "words fewer")
        a.copy(RAX, RDX)
        a.label("words fewer")
        a.leave()

    def size(self) -> None:
        """rdi: an array.   rax: its elements; rcx and rdx are lost.

        "row size": those of what one number picks."""
        a = self.asm
        a.label("row size")
        a.constant(RAX, 1)
        a.load_int(RCX, At(RDI, NDIM))
        a.test(RCX)
        a.jump_if("equal", "size whole")
        a.count_down(RCX)
        a.load(RDX, At(RDI, DIMS))
        a.add(RDX, 8)
        a.jump("size axis")
        a.label("size")
        a.load_int(RCX, At(RDI, NDIM))
        a.load(RDX, At(RDI, DIMS))
        a.constant(RAX, 1)
        a.label("size axis")
        a.test(RCX)
        a.jump_if("equal", "size whole")
        a.multiply(RAX, At(RDX))
        a.add(RDX, 8)
        a.count_down(RCX)
        a.jump("size axis")
        a.label("size whole")
        a.leave()
