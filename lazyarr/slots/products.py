"""Scalar products of two short vectors, in machine code.

In:  as `loops`.   Out: NumPy's scalar, from the loop of `numpy.matmul`; else `part_calls` and `calls` go on.
What is around the loop takes ten times as long as a product of some hundred elements.  Where all of the
loop's dimensions but the common one are 1, it is one dot product of the elements as they lie.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    ALIGNED,
    BYTES,
    DATA,
    DIMS,
    DTYPE,
    ITEMSIZE,
    NDIM,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import COUNTED, LOOPS
from lazyarr.slots.known import Known
from lazyarr.slots.loop_calls import LOOP, MOST, NUMPYS, OTHER, SCALAR, SECOND, TURNED, WORDS, LoopCalls
from lazyarr.slots.loop_tables import ENTRY, TYPES, word_of
from lazyarr.slots.x86 import R9, R10, R13, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

FRAME = WORDS + 128
"""Bytes on the stack: those of `loop_calls`, and more dimensions and steps."""
ARGS, COUNTS, STEPS = WORDS, WORDS + 24, WORDS + 56
FEWEST = TURNED
OUTER, ROWS, COMMON, COLUMNS = (At(RSP, COUNTS + 8 * k) for k in range(4))
OF_FIRST, OF_SECOND = (At(RSP, STEPS + 8 * k) for k in (4, 5))
"""Steps of matmul along the common dimension; three before them are of the outer one."""


class Products(LoopCalls):
    """Writes the bodies, which go on in those of `part_calls` and `calls`, and the routine."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.product, self.function, self.dot:
            write()

    def product(self) -> None:
        """(a, b)"""
        a = self.asm
        a.label("product")
        self.enter()
        a.store(LOOPS, R9)
        a.constant(RDX, 1)
        self.call_or("dot", "product perhaps listed")
        a.copy(R13, RAX)
        self.count()
        a.copy(RAX, R13)
        self.restore()
        a.leave()

    def function(self) -> None:
        """(function, args, count, names): the body of functions (`calls`), of which one is here."""
        a, k = self.asm, self.known
        kept = RDI, RSI, RDX, RCX, R10
        a.label("function")
        a.load(R10, At(RDI, k.record))
        a.test(R10)
        a.jump_if("equal", "function without record")
        a.add(R10, BYTES)
        a.keep(RDX, COUNTED)
        self.compare(At(R10), k.dot, RAX)
        a.jump_if("other", "function with record")
        a.test(RCX)
        a.jump_if("other", "function with record")
        a.compare_number(RDX, 2)
        a.jump_if("other", "function with record")
        self.if_forced("function with record")
        a.push(*kept)
        a.load(RDI, At(RSI))
        a.load(RSI, At(RSI, 8))
        a.constant(RDX, 2)                          # (one alone it multiplies, which may give another zero)
        a.constant(R9, word_of("matmul"))
        a.call("dot of")
        a.pop(*reversed(kept))
        a.test(RAX)
        a.jump_if("equal", "function with record")
        a.constant(RCX, k.answered)
        a.count(At(RCX))
        a.leave()
        a.label("function without record")
        a.keep(RDX, COUNTED)
        a.constant(R10, k.function_method)
        a.jump("call of Python")

    def dot(self) -> None:
        """"dot of": rdi, rsi: operands.   "dot": rbx, rbp.   "dot of reals": rdi, rsi: real arrays, scalars.
        rdx: the fewest elements.   r9: the table.
        rax: a scalar, if the operands have one here; else zero."""
        a = self.asm
        leave = "dot not"
        a.label("dot")
        a.copy(RDI, RBX)
        a.copy(RSI, RBP)
        a.label("dot of")
        self.reserve(FRAME, R15)
        a.store(FEWEST, RDX)
        a.store(OTHER, RDI)
        a.copy(RDI, RSI)
        a.call("plain")
        a.store(SECOND, RAX)
        a.load(RDI, OTHER)
        a.call("plain")
        a.copy(R15, RAX)
        a.jump("dot begins")
        a.label("dot of reals")
        self.reserve(FRAME, R15)
        a.store(FEWEST, RDX)
        a.store(SECOND, RSI)
        a.copy(R15, RDI)
        for operand in RSI, RDI:                    # or scalars
            self.compare(At(operand, TYPE), self.known.real, RAX)
            a.jump_if("other", leave)
        a.label("dot begins")
        a.copy(RAX, R15)
        for k, step in ((0, OF_FIRST), (1, OF_SECOND)):
            if k:
                a.load(RAX, SECOND)
            a.test(RAX)
            a.jump_if("equal", leave)
            a.compare_number(At(RAX, NDIM), 1, wide=False)
            a.jump_if("other", leave)
            self.unless_flagged(RAX, ALIGNED, leave, RCX)
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
        a.compare(FEWEST, RDX)
        a.jump_if("above", leave)
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
        a.load(RAX, At(RSI, ITEMSIZE))              # others `numpy.dot` copies, and BLAS does not know
        for step in OF_FIRST, OF_SECOND:
            a.load(RCX, step)
            a.keep(RCX, 3)
            a.jump_if("other", leave)
            a.compare_number(RAX, 4)
            a.jump_if("equal", f"dot step {step.offset}")
            a.load(RCX, step)
            a.keep(RCX, 7)
            a.jump_if("other", leave)
            a.label(f"dot step {step.offset}")
        self.without_errors("dot")

        a.constant(RAX, 1)
        for place in OUTER, ROWS, COLUMNS:
            a.store(place, RAX)
        a.zero(RAX)
        for k in 0, 1, 2, 3, 6, 7, 8:
            a.store(At(RSP, STEPS + 8 * k), RAX)
        a.place(RAX, SCALAR)
        a.store(At(RSP, ARGS + 16), RAX)
        self.call_loop(given=(ARGS, COUNTS, STEPS))
        self.unless_errors(leave)
        a.place(RDI, SCALAR)
        a.load(RSI, At(R15, DTYPE))
        a.copy(RDX, R15)
        self.call("PyArray_Scalar")
        a.test(RAX)
        a.jump_if("other", "dot leave")
        self.call("PyErr_Clear")                    # no memory: Python says so
        a.label(leave)
        a.zero(RAX)
        a.label("dot leave")
        self.release(FRAME, R15)
        a.leave()
