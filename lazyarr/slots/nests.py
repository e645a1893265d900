"""Operators on small arrays that are broadcast, or do not lie in one run: a loop, row by row.

In:  as `loops` has found them: a real array, another one of its type, or a scalar, and the row of a table.
Out: a new array in C order, as NumPy's iterator would make it; what that may lay out in another way is for
NumPy.  Folds (`folds`) run along the same axes: their result is the first operand, too.
NumPy's iterator copies such operands to its buffers, element by element, and finds its way through axes in
functions; that takes three times as long as the loop on rows of ten.
"""

from __future__ import annotations

import numpy

from lazyarr.object_fields import ALIGNED, DATA, DIMS, ITEMSIZE, NDIM, STRIDES
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.loop_calls import ARGS, FUNCTION, LOOP, RESULT, SECOND, STEPS, TURNED, WORDS, LoopCalls, N
from lazyarr.slots.loop_tables import ENTRY, word_of
from lazyarr.slots.short_rows import ROWS, rows_of
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

AXES = 8
"""Of the result, at most."""

SHORT = 8
"""Rows of fewer elements are not run along where an axis is so many times as long."""
LONGER = 4
OWN = 64
"""Elements of rows, at most, for which there is code of ours (`short_rows`): NumPy's loops take as long to
find out how to run."""

SHAPE, EXTENTS, FIRST, OTHER, INTO, LEFT = (WORDS + 8 * AXES * k for k in range(6))
"""On the stack, above what `loop_calls` has there: the result's shape, and of each axis that is run along,
the innermost first, its extent, the steps of the two operands and the result, and how far it is still to
go."""
STRIDES_OF = FIRST, OTHER, INTO
LAST, LAST_OTHER, HERE, STEP, DIMENSIONS, RUN, _ = (At(RSP, LEFT + 8 * (AXES + k)) for k in range(7))
"""The last step of either operand that is not zero; an axis's extent; the result's next step; its axes; the
loop that is run."""
KEPT = RBX, RBP, R12, R13, R14
FRAME = LEFT + 8 * (AXES + 7)
assert (FRAME + 8 * len(KEPT)) % 16 == 0


class Along(LoopCalls):
    """Writes what nests and folds have in common."""

    def small_axis(self, scratch: int) -> None:
        """rax: an axis's length.   r14: elements, which are to stay few."""
        a = self.asm
        a.place(scratch, At(RAX, -1))
        a.compare_number(scratch, max(self.known.eager, 1) - 1)     # (nothing is below, too)
        a.jump_if("above", "nest not")
        a.multiply(R14, RAX)
        a.compare_number(R14, self.known.eager)
        a.jump_if("above", "nest not")

    def longest(self, nest: str = "nest", kept: bool = False) -> None:
        """Where rows are short, those along a longer axis; of folds, one that is kept."""
        a = self.asm
        a.load(RAX, At(RSP, EXTENTS))
        a.compare_number(RAX, SHORT - 1)
        a.jump_if("above", f"{nest} along")
        a.constant(RCX, LONGER)
        a.multiply(RAX, RCX)
        a.zero(RDX)
        a.constant(R8, 8)
        a.label(f"{nest} longer")
        a.compare(R8, R12)
        a.jump_if("equal", f"{nest} longest")
        a.copy(R9, RSP)
        a.increase(R9, R8)
        a.add(R8, 8)
        if kept:
            a.compare_number(At(R9, INTO), 0)
            a.jump_if("equal", f"{nest} longer")
        a.compare(At(R9, EXTENTS), RAX)
        a.jump_if("below", f"{nest} longer")
        a.load(RAX, At(R9, EXTENTS))
        a.copy(RDX, R9)
        a.jump(f"{nest} longer")
        a.label(f"{nest} longest")
        a.test(RDX)
        a.jump_if("equal", f"{nest} along")
        for at in EXTENTS, *STRIDES_OF:
            a.load(RAX, At(RDX, at))
            a.load(RCX, At(RSP, at))
            a.store(At(RDX, at), RCX)
            a.store(At(RSP, at), RAX)
        a.label(f"{nest} along")

    def made(self) -> None:
        """rbx: the new array."""
        a = self.asm
        self.begin_result()
        a.load(RDX, DIMENSIONS)
        a.place(RCX, At(RSP, SHAPE))
        self.make_array()
        a.copy(RBX, RAX)
        a.test(RAX)
        a.jump_if("equal", "nest no memory")


class Nests(Along):
    """Writes where "loop" goes on."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.begin, self.axes, self.order, self.along, self.longest, self.made, self.rows, self.run,
            self.end,
        ):  # fmt: skip
            write()

    def begin(self) -> None:
        """r15: the first array; what is else known lies on the stack."""
        a = self.asm
        a.label("binary loop nest")
        a.load(RAX, LOOP)
        a.load(RDX, TURNED)
        a.constant(RCX, 8)                          # where a scalar is, if the second one is that
        a.decrease(RCX, RDX)
        a.increase(RCX, RSP)
        a.load(RCX, At(RCX, ARGS))
        a.load(R9, SECOND)
        self.reserve(FRAME, *KEPT)
        a.copy(R13, RCX)
        a.store(LOOP, RAX)
        a.store(TURNED, RDX)
        a.load(RAX, At(RAX, RESULT))
        a.load(RAX, At(RAX, ITEMSIZE))
        a.store(STEP, RAX)
        self.unless_flagged(R15, ALIGNED, "nest not")
        a.load_int(R8, At(R15, NDIM))
        a.load(RDI, At(R15, DIMS))
        a.load(RSI, At(R15, STRIDES))
        a.copy(R10, R8)
        a.test(R9)
        a.jump_if("equal", "nest known")            # a scalar
        a.copy(RBX, R9)
        self.unless_flagged(RBX, ALIGNED, "nest not")
        a.load_int(R9, At(RBX, NDIM))
        a.load(R11, At(RBX, DIMS))
        a.load(RBP, At(RBX, STRIDES))
        a.load(R13, At(RBX, DATA))
        a.compare(R9, R8)
        a.jump_if("below", "nest known")
        a.copy(R10, R9)
        a.label("nest known")
        a.store(DIMENSIONS, R10)
        a.add(R10, -1)
        a.compare_number(R10, AXES - 1)
        a.jump_if("above", "nest not")
        a.add(R10, 1)
        for array, pointers in ((R8, (RDI, RSI)), (R9, (R11, RBP))):
            a.copy(RAX, array)
            a.times_word(RAX)
            for pointer in pointers:
                a.increase(pointer, RAX)
        a.zero(RAX)
        a.store(LAST, RAX)
        a.store(LAST_OTHER, RAX)

    def axes(self) -> None:
        """From the last one on; r12: bytes of axes that are run along; r14: elements."""
        a = self.asm
        a.zero(R12)
        a.constant(R14, 1)
        a.label("nest axis")
        for name, left, dims, strides, extent, step in (
            ("first", R8, RDI, RSI, RAX, RCX), ("other", R9, R11, RBP, RBX, RDX),
        ):  # fmt: skip
            a.constant(extent, 1)
            a.test(left)
            a.jump_if("equal", f"nest {name} once")
            for pointer in dims, strides:
                a.add(pointer, -8)
            a.add(left, -1)
            a.load(extent, At(dims))
            a.load(step, At(strides))
            a.compare_number(extent, 1)
            a.jump_if("other", f"nest {name}")
            a.label(f"nest {name} once")
            a.zero(step)
            a.label(f"nest {name}")
        a.compare(RAX, RBX)
        a.jump_if("equal", "nest fits")
        a.compare_number(RBX, 1)
        a.jump_if("equal", "nest fits")
        a.compare_number(RAX, 1)
        a.jump_if("other", "nest not")
        a.copy(RAX, RBX)
        a.label("nest fits")
        a.store(HERE, RAX)
        a.copy(RBX, R10)
        a.times_word(RBX)
        a.increase(RBX, RSP)
        a.store(At(RBX, SHAPE - 8), RAX)
        self.small_axis(RBX)
        a.compare_number(RAX, 1)
        a.jump_if("equal", "nest next")

    def order(self) -> None:
        """rcx, rdx: the steps of both along an axis."""
        a = self.asm
        for name, step, last in (("first", RCX, LAST), ("other", RDX, LAST_OTHER)):
            a.test(step)
            a.jump_if("negative", "nest not")
            a.jump_if("equal", f"nest {name} orderly")
            a.compare(last, step)
            a.jump_if("above", "nest not")          # then the result may lie in another order
            a.store(last, step)
            a.label(f"nest {name} orderly")

    def along(self) -> None:
        """That axis, alone or as one with the axis before."""
        a = self.asm
        a.copy(RBX, RSP)
        a.increase(RBX, R12)
        a.test(R12)
        a.jump_if("equal", "nest new")
        for step, at in ((RCX, FIRST), (RDX, OTHER)):
            a.load(RAX, At(RBX, EXTENTS - 8))
            a.multiply(RAX, At(RBX, at - 8))
            a.compare(RAX, step)
            a.jump_if("other", "nest new")
        a.load(RAX, HERE)
        a.multiply(RAX, At(RBX, EXTENTS - 8))
        a.store(At(RBX, EXTENTS - 8), RAX)
        a.jump("nest stepped")
        a.label("nest new")
        a.load(RAX, STEP)
        a.store(At(RBX, FIRST), RCX)
        a.store(At(RBX, OTHER), RDX)
        a.store(At(RBX, INTO), RAX)
        a.load(RAX, HERE)
        a.store(At(RBX, EXTENTS), RAX)
        a.add(R12, 8)
        a.label("nest stepped")
        a.load(RAX, HERE)
        a.multiply(RAX, STEP)
        a.store(STEP, RAX)
        a.label("nest next")
        a.count_down(R10)
        a.jump_if("other", "nest axis")
        a.test(R12)
        a.jump_if("equal", "nest not")              # one element

    def rows(self) -> None:
        """rbp, r13, r14: where the first array, the other operand and the result are."""
        a, places = self.asm, (RBP, R13, R14)
        a.load(RBP, At(R15, DATA))
        a.load(R14, At(RBX, DATA))
        a.constant(R8, 8)
        a.label("nest begin")
        a.compare(R8, R12)
        a.jump_if("equal", "nest begun")
        a.copy(R9, RSP)
        a.increase(R9, R8)
        a.load(RAX, At(R9, EXTENTS))
        a.store(At(R9, LEFT), RAX)
        a.add(R8, 8)
        a.jump("nest begin")
        a.label("nest begun")
        a.load(RAX, At(RSP, EXTENTS))
        a.store(At(RSP, N), RAX)
        self._turned()
        for register, at in ((R8, FIRST), (R9, OTHER), (RSP, INTO)):
            a.load(RAX, At(RSP, at))
            a.store(At(register, STEPS + 16 * (register == RSP)), RAX)
        a.call("row loop")
        a.store(RUN, RAX)

        a.label("nest row")
        self._turned()
        for register, place in ((R8, RBP), (R9, R13), (RSP, R14)):
            a.store(At(register, ARGS + 16 * (register == RSP)), place)
        self.call_loop(run=RUN)
        a.constant(R8, 8)
        a.label("nest on")
        a.compare(R8, R12)
        a.jump_if("equal", "nest done")
        a.copy(R9, RSP)
        a.increase(R9, R8)
        for place, at in zip(places, STRIDES_OF, strict=True):
            a.increase(place, At(R9, at))
        a.load(RAX, At(R9, LEFT))
        a.count_down(RAX)
        a.store(At(R9, LEFT), RAX)
        a.jump_if("other", "nest row")
        a.load(RAX, At(R9, EXTENTS))
        a.store(At(R9, LEFT), RAX)
        for place, at in zip(places, STRIDES_OF, strict=True):
            a.load(RCX, At(R9, at))
            a.multiply(RCX, RAX)
            a.decrease(place, RCX)
        a.add(R8, 8)
        a.jump("nest on")

    def _turned(self) -> None:
        """r8, r9: where the words of the two operands are, less what is common."""
        a = self.asm
        a.load(RAX, TURNED)
        a.copy(R8, RSP)
        a.increase(R8, RAX)
        a.place(R9, At(RSP, 8))
        a.decrease(R9, RAX)

    def run(self) -> None:
        """rax: the loop for rows, ours or NumPy's.   (What is on the stack is 8 bytes further up.)"""
        a, up = self.asm, 8
        a.label("row loop")
        a.load(RDX, At(RSP, LOOP.offset + up))
        a.load(RAX, At(RDX, FUNCTION))
        a.compare_number(At(RSP, N + up), OWN)
        a.jump_if("above", "row loop leave")
        a.load(RCX, At(RDX, RESULT))
        a.load(RCX, At(RCX, ITEMSIZE))
        a.compare(At(RSP, STEPS + 16 + up), RCX)
        a.jump_if("other", "row loop leave")
        a.load(R8, At(RSP, STEPS + up))
        a.load(R9, At(RSP, STEPS + 8 + up))
        for step in R8, R9:
            a.compare(step, RCX)
            a.jump_if("equal", f"row loop {step}")
            a.test(step)
            a.jump_if("other", "row loop leave")
            a.label(f"row loop {step}")
        a.increase(R8, R9)
        a.test(R8)
        a.jump_if("equal", "row loop leave")
        for ufunc, char in ROWS:
            a.constant(RCX, word_of(ufunc))
            a.add(RCX, ENTRY * numpy.dtype(char).num)
            a.compare(RCX, RDX)
            a.jump_if("equal", f"row loop {ufunc} {char}")
        a.label("row loop leave")
        a.leave()
        for ufunc, char in ROWS:
            a.label(f"row loop {ufunc} {char}")
            a.address(RAX, rows_of(ufunc, char))
            a.leave()

    def end(self) -> None:
        a = self.asm
        a.label("nest done")
        self.checked("nest raised")
        a.copy(RAX, RBX)
        a.load(R8, LAST_OTHER)                      # what folds have counted
        a.label("nest leave")
        self.release(FRAME, *KEPT)
        a.jump("binary loop leave")
        a.label("nest raised")
        self.on("Py_DecRef", RBX)
        a.jump("nest not")
        a.label("nest no memory")                   # NumPy says so
        self.call("PyErr_Clear")
        a.label("nest not")
        a.zero(RAX)
        a.jump("nest leave")
