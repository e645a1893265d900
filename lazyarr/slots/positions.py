"""Elements at positions of half a word, `x[i]`, along one axis, in machine code.

In:  as `picks` has them.   Out: a new array; what is out of bounds, or lies in another way, is for NumPy.
NumPy looks at all positions twice, after half a microsecond.
"""

from __future__ import annotations

import numpy

from lazyarr.object_fields import ALIGNED, C_CONTIGUOUS, DATA, DIMS, DTYPE, FLAGS, ITEMSIZE, NDIM, STRIDES
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.elements import NUMBERS
from lazyarr.slots.known import Known
from lazyarr.slots.picks import KEPT, LOCAL
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI

POSITIONS = {numpy.dtype("i").num: "load_signed_int", numpy.dtype("I").num: "load_int"}
"""Type numbers of positions, and how one is loaded: those of half a word, as sparse matrices have them.
(NumPy makes words of them in a long way, but has a short one for words.)"""

POSITION = 4
"""Bytes of one."""

MOVED = 4, 8, 16
"""Bytes of elements that are picked so."""


class Positions(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.at_positions, self.moved:
            write()

    def at_positions(self) -> None:
        """As "picked", if the key says where elements of one axis are; what is out of bounds is NumPy's."""
        a, k = self.asm, self.known
        a.label("at positions")
        self.both_real("by NumPy")
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
                self._loop(f"positions {number} of {size}", load, size)

    def _loop(self, label: str, load: str, size: int) -> None:
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
