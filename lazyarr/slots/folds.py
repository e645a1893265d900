"""Sums, products, means and extrema of small arrays, in machine code.

In:  NumPy's function or method, and what it is called with.   Out: its answer: from a loop, row by row
(`nests`), where one array of numbers of full length is folded, along all axes or some, and nothing else is
asked; else NumPy is called.
Where the last axis is kept NumPy adds up rows one after the other, too; where it is folded, a row is one call
of its loop (`reduce_order`).  So bits are the same; but it finds its way through axes in functions, which
take three times as long as adding up a row of eight, and what is around them a microsecond.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy

from lazyarr.object_fields import (
    ALIGNED,
    DATA,
    DIMS,
    DTYPE,
    FLOATS,
    ITEMS,
    ITEMSIZE,
    LENGTH,
    NDIM,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.loop_calls import ARGS, CAST, KINDS, LOOP, NUMPYS, RESULT, STEPS, TURNED, WORDS, N
from lazyarr.slots.loop_tables import ENTRY, word_of
from lazyarr.slots.nests import (
    AXES,
    DIMENSIONS,
    EXTENTS,
    FIRST,
    FRAME,
    HERE,
    INTO,
    KEPT,
    LAST,
    LAST_OTHER,
    LEFT,
    OTHER,
    SHAPE,
    STEP,
    Along,
)  # fmt: skip
from lazyarr.slots.tables import FOLDS
from lazyarr.slots.words import fold_of
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

START: dict[str, tuple[float, int]] = {
    "add": (0.0, 0), "multiply": (1.0, 1),
    "maximum": (-numpy.inf, -(1 << 63)), "minimum": (numpy.inf, (1 << 63) - 1),
}  # fmt: skip
"""What a fold begins with, of floating-point numbers and of integers of a word: of NumPy's own that is
another one here and there, with the same results."""
CHARS = "f", "d", "l"
LONGEST = 8192
"""Elements, where rows are folded: some versions of NumPy cut them where a buffer ends."""
FOLDED_EACH = LAST_OTHER
"""On the stack: how many elements are in each of the result."""
FOLDED = LEFT
"""Which axes are folded, in words; these are free until rows are run along."""


def _bits(char: str, ufunc: str) -> int:
    number: Any = START[ufunc][char == "l"]
    raw = struct.pack({"f": "2f", "d": "d", "l": "q"}[char], *[number] * (1 + (char == "f")))
    return int.from_bytes(raw, "little")


class Folds(Along):
    """Writes the functions."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for name, ufunc in FOLDS.items():
            self.function(name, ufunc)
        for write in (
            self.asked, self.called, self.ends, self.divided, self.fold, self.which, self.parts, self.step,
            self.shape, self.filled,
        ):  # fmt: skip
            write()

    def function(self, name: str, ufunc: str) -> None:
        """(NumPy's function, args, count, names)"""
        a = self.asm
        a.label(fold_of(name))
        a.constant(R9, word_of(ufunc))
        if name == "mean":
            a.constant(R10, word_of("divide"))
        else:
            a.zero(R10)
        a.jump("fold asked")

    def asked(self) -> None:
        """r9: the table.   r10: that of divisions, if the sum is to be divided by the number of elements."""
        a = self.asm
        a.label("fold asked")
        a.test(RDX)
        a.jump_if("equal", "fold by NumPy")
        a.load(RAX, At(RSI))
        self.compare(At(RAX, TYPE), self.known.real, R8)
        a.jump_if("other", "fold by NumPy")
        a.copy(RAX, RDX)
        a.test(RCX)
        a.jump_if("equal", "fold unnamed")
        a.compare_number(At(RCX, LENGTH), 1)
        a.jump_if("other", "fold by NumPy")
        self.compare(At(RCX, ITEMS), "axis", R8)
        a.jump_if("other", "fold by NumPy")
        a.add(RAX, 1)
        a.label("fold unnamed")
        a.constant(R8, self.known.none)
        a.compare_number(RAX, 1)
        a.jump_if("equal", "fold begins")
        a.load(R8, At(RSI, 8))
        a.compare_number(RAX, 2)
        a.jump_if("other", "fold by NumPy")

    def called(self) -> None:
        """r8: the axis, or axes, or None."""
        a, given = self.asm, (RDI, RSI, RDX, RCX)
        a.label("fold begins")
        a.test(R10)
        a.jump_if("equal", "fold of any type")
        a.load(RAX, At(RSI))                        # NumPy adds up integers as other numbers
        a.load(RAX, At(RAX, DTYPE))
        a.load_int(RAX, At(RAX, TYPE_NUMBER))
        a.place(RAX, At(RAX, -FLOATS))
        a.compare_number(RAX, 1)
        a.jump_if("above", "fold by NumPy")
        a.label("fold of any type")
        self.call_keeping("fold", *given, R10)
        a.test(RAX)
        a.jump_if("equal", "fold by NumPy")
        a.test(R10)
        a.jump_if("equal", "fold made")
        self.reserve(8, *given)
        a.call("fold divided")
        self.release(8, *given)
        a.test(RAX)
        a.jump_if("equal", "fold by NumPy")

    def ends(self) -> None:
        """rax: the result."""
        a = self.asm
        a.label("fold made")
        a.compare_number(At(RAX, NDIM), 0, wide=False)
        a.jump_if("equal", "fold of all")
        a.leave()
        a.label("fold by NumPy")
        a.constant(RAX, "PyObject_Vectorcall")
        a.jump_to(RAX)
        a.label("fold of all")                      # a scalar
        self.reserve(16, RBX)
        a.copy(RBX, RAX)
        a.load(RDI, At(RBX, DATA))
        a.load(RSI, At(RBX, DTYPE))
        a.copy(RDX, RBX)
        self.call("PyArray_Scalar")
        a.store(At(RSP), RAX)
        self.on("Py_DecRef", RBX)
        a.load(RAX, At(RSP))
        self.release(16, RBX)
        a.leave()

    def divided(self) -> None:
        """rax: sums.   r8: how many elements are in each.   r10: the table.   rax: means, in their place; or
        zero."""
        a, one = self.asm, HERE
        a.label("fold divided")
        self.reserve(FRAME + 8, RBX)
        a.copy(RBX, RAX)
        a.load(RCX, At(RBX, DTYPE))
        a.load_int(RDX, At(RCX, TYPE_NUMBER))
        a.constant(RAX, ENTRY)
        a.multiply(RDX, RAX)
        a.increase(RDX, R10)
        a.store(LOOP, RDX)
        a.copy(RAX, R8)
        a.to_double(one)
        a.load(RCX, At(RCX, ITEMSIZE))
        a.compare_number(RCX, 8)
        a.jump_if("equal", "fold counted")
        a.to_single(one)
        a.label("fold counted")
        a.store(At(RSP, STEPS), RCX)
        a.store(At(RSP, STEPS + 16), RCX)
        a.zero(RAX)
        a.store(At(RSP, STEPS + 8), RAX)
        a.load(RAX, At(RBX, DATA))
        a.store(At(RSP, ARGS), RAX)
        a.store(At(RSP, ARGS + 16), RAX)
        a.place(RAX, one)
        a.store(At(RSP, ARGS + 8), RAX)
        a.copy(RDI, RBX)
        a.call("size")
        a.store(At(RSP, N), RAX)
        self.call_loop()
        self.checked("fold divided badly")
        a.copy(RAX, RBX)
        a.label("fold divided leave")
        self.release(FRAME + 8, RBX)
        a.leave()
        a.label("fold divided badly")
        self.on("Py_DecRef", RBX)
        a.zero(RAX)
        a.jump("fold divided leave")

    def fold(self) -> None:
        """rsi: an array.   r8: an axis, several, or None.   r9: the table.   rax: the result, or zero; r8:
        how many elements are in each of it.

        The frame is the one of `nests` in that of `loops` (`loop_calls`), which end it."""
        a = self.asm
        a.label("fold")
        self.reserve(WORDS, R15)
        a.zero(RAX)
        a.store(CAST, RAX)
        self.reserve(FRAME, *KEPT)
        a.load(R15, At(RSI))
        a.copy(R14, R8)
        self.find_loop("nest not", NUMPYS, RESULT)
        a.load(RAX, At(RAX, KINDS))
        a.keep(RAX, 3)
        a.jump_if("equal", "nest not")              # NumPy adds up smaller numbers as larger ones
        self.unless_flagged(R15, ALIGNED, "nest not")
        a.load_int(RBP, At(R15, NDIM))
        a.place(RAX, At(RBP, -1))
        a.compare_number(RAX, AXES - 1)
        a.jump_if("above", "nest not")
        a.zero(RAX)
        for word in TURNED, LAST:
            a.store(word, RAX)
        self.compare(R14, self.known.none, RCX)
        a.jump_if("other", "fold some")
        a.constant(RAX, 1)
        a.label("fold some")
        for k in range(AXES):
            a.store(At(RSP, FOLDED + 8 * k), RAX)
        a.test(RAX)
        a.jump_if("other", "fold parts")

    def which(self) -> None:
        """r14: an axis, or several, of the rbp that there are: which are folded, in words."""
        a = self.asm
        a.store(HERE, R14)                          # as if it were a tuple of one
        a.place(RBX, HERE)
        a.constant(R12, 1)
        self.compare(At(R14, TYPE), self.known.tuples, RCX)
        a.jump_if("other", "fold axis")
        a.place(RBX, At(R14, ITEMS))
        a.load(R12, At(R14, LENGTH))
        a.test(R12)
        a.jump_if("equal", "nest not")
        a.label("fold axis")
        a.load(RDI, At(RBX))
        self.compare(At(RDI, TYPE), self.known.integers, RCX)
        a.jump_if("other", "nest not")
        self.call_or("integer", "nest not", RDX)
        a.test(RAX)
        a.jump_if("negative", "fold from the end")
        a.label("fold known")
        a.compare(RAX, RBP)
        a.jump_if("below", "fold there")
        a.jump("nest not")
        a.label("fold from the end")
        a.increase(RAX, RBP)
        a.jump("fold known")
        a.label("fold there")
        a.times_word(RAX)
        a.increase(RAX, RSP)
        a.compare_number(At(RAX, FOLDED), 0)
        a.jump_if("other", "nest not")              # twice the same
        a.constant(RCX, 1)
        a.store(At(RAX, FOLDED), RCX)
        a.add(RBX, 8)
        a.count_down(R12)
        a.jump_if("other", "fold axis")

    def parts(self) -> None:
        """From the last axis on.   rbp: axes left; r12: bytes of axes that are run along; r14:
        elements; r13: axes of the result."""
        a = self.asm
        a.label("fold parts")
        a.load(RDI, At(R15, DIMS))
        a.load(RSI, At(R15, STRIDES))
        a.load(RAX, At(R15, DTYPE))
        a.load(RAX, At(RAX, ITEMSIZE))
        a.store(STEP, RAX)
        a.zero(R12)
        a.zero(R13)
        a.constant(R14, 1)
        a.store(FOLDED_EACH, R14)
        a.copy(RAX, RBP)
        a.times_word(RAX)
        for pointer in RDI, RSI:
            a.increase(pointer, RAX)
        a.label("fold part")
        for pointer in RDI, RSI:
            a.add(pointer, -8)
        a.load(RAX, At(RDI))
        a.load(RCX, At(RSI))
        a.copy(R10, RBP)
        a.times_word(R10)
        a.increase(R10, RSP)
        a.load(R10, At(R10, FOLDED - 8))
        self.small_axis(RDX)
        a.zero(RDX)
        a.test(R10)
        a.jump_if("equal", "fold kept")
        a.load(R11, FOLDED_EACH)
        a.multiply(R11, RAX)
        a.store(FOLDED_EACH, R11)
        a.jump("fold step")
        a.label("fold kept")
        a.load(RDX, STEP)
        a.copy(R11, RDX)
        a.multiply(R11, RAX)
        a.store(STEP, R11)
        a.copy(R11, R13)                            # turned at the end
        a.times_word(R11)
        a.increase(R11, RSP)
        a.store(At(R11, OTHER), RAX)
        a.add(R13, 1)

    def step(self) -> None:
        """rax, rcx, rdx: an axis's extent, and the steps of array and result; r10: is it folded?  It is run
        along, alone or as one with the axis before."""
        a = self.asm
        a.label("fold step")
        a.compare_number(RAX, 1)
        a.jump_if("other", "fold many")
        a.test(R12)
        a.jump_if("equal", "nest not")              # rows of one element NumPy may fold in another order
        a.jump("fold next")
        a.label("fold many")
        a.test(RCX)
        a.jump_if("negative", "nest not")
        a.jump_if("equal", "nest not")
        a.compare(LAST, RCX)
        a.jump_if("above", "nest not")
        a.store(LAST, RCX)
        a.copy(RBX, RSP)
        a.increase(RBX, R12)
        a.test(R12)
        a.jump_if("equal", "fold new")
        for step, at in ((RCX, FIRST), (RDX, INTO)):
            a.load(R11, At(RBX, EXTENTS - 8))
            a.multiply(R11, At(RBX, at - 8))
            a.compare(R11, step)
            a.jump_if("other", "fold apart")
        a.multiply(RAX, At(RBX, EXTENTS - 8))
        a.store(At(RBX, EXTENTS - 8), RAX)
        a.jump("fold next")
        a.label("fold apart")
        a.test(R10)
        a.jump_if("equal", "fold new")
        a.compare_number(At(RSP, INTO), 0)          # rows, and rows of these, which NumPy may take at once
        a.jump_if("equal", "nest not")
        a.label("fold new")
        for at, given in ((EXTENTS, RAX), (FIRST, RCX), (INTO, RDX)):
            a.store(At(RBX, at), given)
        a.add(R12, 8)
        a.label("fold next")
        a.count_down(RBP)
        a.jump_if("other", "fold part")

    def shape(self) -> None:
        """The result, which is the first operand, too."""
        a = self.asm
        a.compare_number(At(RSP, INTO), 0)
        a.jump_if("other", "fold ordered")
        a.compare_number(R14, LONGEST)
        a.jump_if("above", "nest not")
        a.label("fold ordered")
        a.store(DIMENSIONS, R13)
        a.zero(RAX)
        a.test(R13)
        a.jump_if("equal", "fold shaped")
        a.label("fold shape")
        a.copy(RCX, R13)
        a.times_word(RCX)
        a.increase(RCX, RSP)
        a.copy(RDX, RAX)
        a.times_word(RDX)
        a.increase(RDX, RSP)
        a.load(RCX, At(RCX, OTHER - 8))
        a.store(At(RDX, SHAPE), RCX)
        a.add(RAX, 1)
        a.count_down(R13)
        a.jump_if("other", "fold shape")
        a.label("fold shaped")
        a.zero(R8)
        a.label("fold turn")                        # the array is the second operand
        a.copy(R9, RSP)
        a.increase(R9, R8)
        a.load(RAX, At(R9, FIRST))
        a.store(At(R9, OTHER), RAX)
        a.load(RAX, At(R9, INTO))
        a.store(At(R9, FIRST), RAX)
        a.add(R8, 8)
        a.compare(R8, R12)
        a.jump_if("other", "fold turn")
        a.compare_number(At(RSP, INTO), 0)
        a.jump_if("equal", "fold along")
        self.longest("fold", kept=True)
        self.made()

    def filled(self) -> None:
        """rbx: the result, filled with what the fold begins with."""
        a = self.asm
        a.load(RDI, At(RBX, DATA))
        a.copy(RDX, RDI)
        a.increase(RDX, STEP)
        a.load(RCX, LOOP)
        for ufunc in START:
            for char in CHARS:
                a.constant(RAX, word_of(ufunc))
                a.add(RAX, ENTRY * numpy.dtype(char).num)
                a.compare(RAX, RCX)
                a.constant(RAX, _bits(char, ufunc))
                a.jump_if("equal", "fold wide" if char != "f" else "fold narrow")
        for label, size in (("fold narrow", 4), ("fold wide", 8)):
            a.label(label)
            a.store_bytes(At(RDI), RAX, size)
            a.add(RDI, size)
            a.compare(RDI, RDX)
            a.jump_if("other", label)
            if size < 8:
                a.jump("fold filled")
        a.label("fold filled")
        self.quiet("fold")
        a.load(RBP, At(RBX, DATA))
        a.load(R13, At(R15, DATA))
        a.copy(R14, RBP)
        a.constant(R8, 8)
        a.jump("nest begin")
