"""What is assigned to the elements that a mask keeps, `x[mask] = y`, in machine code (`picks`).

In:  a real array, a mask, and a value: a scalar, or as many as there are elements.   Out: 0, once what
`packing` has compiled has written it; else what NumPy says.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMSIZE,
    NDIM,
    TYPE,
    TYPE_NUMBER,
    VALUE,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.elements import NUMBERS
from lazyarr.slots.known import Known
from lazyarr.slots.picks import ELEMENTS, KEPT, LOCAL
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP


class Placing(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.placed, self.number, self.one, self.scalar, self.arrays:
            write()

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
