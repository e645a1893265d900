"""Scalar products of two short vectors, in machine code.

In:  as `loops`.   Out: NumPy's scalar, from the loop of `numpy.matmul`; all else is for `part_calls`.
What is around the loop takes ten times as long as a product of some hundred elements.  Where all of the
loop's dimensions but the common one are 1, it is one dot product of the elements as they lie.
"""

from __future__ import annotations

from lazyarr.object_fields import ALIGNED, DATA, DIMS, DTYPE, FLAGS, NDIM, STRIDES, TYPE_NUMBER
from lazyarr.slots.assembler import (
    R9,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    Assembler,
    At,
)  # fmt: skip
from lazyarr.slots.loop_tables import ENTRY, TYPES
from lazyarr.slots.loops import FUNCTION, GIVEN, LOOP, MOST, NUMPYS, SCALAR, SECOND, WORDS, Errors
from lazyarr.slots.routines import Known

FRAME = WORDS + 128
"""Bytes on the stack: those of `loops`, and more dimensions and steps."""
ARGS, COUNTS, STEPS = WORDS, WORDS + 24, WORDS + 56
OUTER, ROWS, COMMON, COLUMNS = (At(RSP, COUNTS + 8 * k) for k in range(4))
OF_FIRST, OF_SECOND = (At(RSP, STEPS + 8 * k) for k in (4, 5))
"""Steps of matmul along the common dimension; three before them are of the outer one."""


class Products(Errors):
    """Writes the body."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        self.product()

    def product(self) -> None:
        """(a, b)"""
        a = self.asm
        leave = "dot not"
        a.label("product")
        self.enter()
        a.add(RSP, -FRAME)
        a.copy(RDI, RBP)
        a.call("plain")
        a.store(SECOND, RAX)
        a.copy(RDI, RBX)
        a.call("plain")
        a.copy(R15, RAX)
        for k, step in ((0, OF_FIRST), (1, OF_SECOND)):
            if k:
                a.load(RAX, SECOND)
            a.test(RAX)
            a.jump_if("equal", leave)
            a.compare_number(At(RAX, NDIM), 1, wide=False)
            a.jump_if("other", leave)
            a.load_int(RCX, At(RAX, FLAGS))
            a.keep(RCX, ALIGNED)
            a.jump_if("equal", leave)
            a.load(RCX, At(RAX, STRIDES))
            a.load(RCX, At(RCX))
            a.place(RDX, At(RCX, -1))
            a.test(RDX)
            a.jump_if("negative", leave)
            a.store(step, RCX)
            a.load(RCX, At(RAX, DATA))
            a.store(At(RSP, ARGS + 8 * k), RCX)
        a.load(RDX, At(RAX, DIMS))
        a.load(RDX, At(RDX))
        a.load(RCX, At(R15, DIMS))
        a.compare(At(RCX), RDX)
        a.jump_if("other", leave)
        a.store(COMMON, RDX)
        a.add(RDX, -1)
        a.compare_number(RDX, min(MOST, max(self.known.eager, 1)) - 1)
        a.jump_if("above", leave)
        a.load(RSI, At(R15, DTYPE))
        a.compare(At(RAX, DTYPE), RSI)
        a.jump_if("other", leave)
        a.load_int(RAX, At(RSI, TYPE_NUMBER))
        a.compare_number(RAX, TYPES - 1)
        a.jump_if("above", leave)
        a.constant(RCX, ENTRY)
        a.multiply(RAX, RCX)
        a.increase(RAX, R9)
        a.compare(At(RAX, NUMPYS), RSI)
        a.jump_if("other", leave)
        a.store(LOOP, RAX)
        self.without_errors("dot")

        a.constant(RAX, 1)
        for place in OUTER, ROWS, COLUMNS:
            a.store(place, RAX)
        a.zero(RAX)
        for k in 0, 1, 2, 3, 6, 7, 8:
            a.store(At(RSP, STEPS + 8 * k), RAX)
        a.place(RAX, SCALAR)
        a.store(At(RSP, ARGS + 16), RAX)
        a.load(RAX, LOOP)
        a.load(RCX, At(RAX, GIVEN))
        for register, at in ((RDI, ARGS), (RSI, COUNTS), (RDX, STEPS)):
            a.place(register, At(RSP, at))
        a.load(RAX, At(RAX, FUNCTION))
        a.call_at(RAX)
        self.unless_errors(leave)
        self.count()
        a.place(RDI, SCALAR)
        a.load(RSI, At(R15, DTYPE))
        a.copy(RDX, R15)
        self.call("PyArray_Scalar")
        a.add(RSP, FRAME)
        self.restore()
        a.leave()
        a.label(leave)
        a.add(RSP, FRAME)
        a.jump("product other")
