"""Views of plain arrays by integers, slices, `...` and None, in machine code.

In:  an array, and a key.   Out: a real array, as NumPy makes it, or nothing; what is another key, or wrong,
is for `items`, and so for NumPy.
"""

from __future__ import annotations

from lazyarr.object_fields import DATA, DIMS, DTYPE, FLAGS, ITEMS, LENGTH, NDIM, STRIDES, TYPE, VALUE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.elements import NUMBERS
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

AXES = 8
"""Of the array, at most."""
LOCAL = 64 + 16 * AXES
"""Bytes on the stack, a multiple of 16: two arguments of a function, and the following."""
START, STOP, STEP, COUNT, ONE = (At(RSP, 16 + 8 * k) for k in range(5))
"""Of a slice; how many axes there are to be; a key that is no tuple."""
LENGTHS, STEPS = 64, 64 + 8 * AXES
"""Where the view's dimensions and strides are."""
BOUNDS = VALUE, VALUE + 8, VALUE + 16
"""Where a slice has its three parts."""
KEPT = RBX, RBP, R12, R13, R14
"""The next part; bytes of the view's axes; parts that are left; bytes of axes passed; the address."""


class Views(Writer):
    """Writes the routine."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        self.view()

    def view(self) -> None:
        """r15: a real array.   rbp: a key.   rax: a new array, with axes; or zero."""
        a, k = self.asm, self.known
        a.label("part")
        self.reserve(LOCAL, *KEPT)
        a.load_int(RAX, At(R15, NDIM))
        a.compare_number(RAX, AXES)
        a.jump_if("above", "part none")
        self.if_type_above(R15, NUMBERS, "part none", RSI, RCX)
        a.load(RCX, At(RBP, TYPE))
        self.compare(RCX, k.tuples, RDX)
        a.jump_if("equal", "part tuple")
        a.store(ONE, RBP)
        a.place(RBX, ONE)
        a.constant(R12, 1)
        a.jump("part begins")
        a.label("part tuple")
        a.place(RBX, At(RBP, ITEMS))
        a.load(R12, At(RBP, LENGTH))
        a.test(R12)
        a.jump_if("equal", "part none")
        a.label("part begins")
        for register in R13, RBP, RAX:
            a.zero(register)
        a.store(COUNT, RAX)
        a.load(R14, At(R15, DATA))

        a.label("part part")
        a.load(RDI, At(RBX))
        a.load(RCX, At(RDI, TYPE))
        self.compare(RDI, k.none, RAX)
        a.jump_if("equal", "part new")
        self.compare(RDI, k.ellipsis, RAX)
        a.jump_if("equal", "part dots")
        self._axes_left(RAX)
        a.jump_if("equal", "part none")             # there are more parts than axes
        self.compare(RCX, k.slices, RAX)
        a.jump_if("equal", "part slice")
        self.call_or("number", "part none", RDX)
        a.load(RCX, At(R15, DIMS))
        a.increase(RCX, R13)
        a.test(RAX)
        a.jump_if("negative", "part from the end")
        a.label("part counted")
        a.compare(At(RCX), RAX)
        a.jump_if("above", "part there")
        a.jump("part none")
        a.label("part from the end")
        a.increase(RAX, At(RCX))
        a.jump("part counted")
        a.label("part there")
        a.load(RCX, At(R15, STRIDES))
        a.increase(RCX, R13)
        a.multiply(RAX, At(RCX))
        a.increase(R14, RAX)
        a.label("part next")
        a.add(R13, 8)
        a.label("part said")
        a.add(RBX, 8)
        a.count_down(R12)
        a.jump_if("other", "part part")
        self._axes_left(RDX)
        self._passes()
        self._made()
        self._slice()
        self._new()
        self._dots()

    def _axes_left(self, to: int) -> None:
        """Bytes of the array's axes that were not passed yet; are there any?"""
        a = self.asm
        a.load_int(to, At(R15, NDIM))
        a.times_word(to)
        a.decrease(to, R13)

    def _new(self) -> None:
        """None: an axis of length one.  The axes that may follow fit in any case."""
        a = self.asm
        a.label("part new")
        self._axes_left(RAX)
        a.increase(RAX, RBP)
        a.compare_number(RAX, 8 * AXES - 1)
        a.jump_if("above", "part none")
        a.copy(RCX, RSP)
        a.increase(RCX, RBP)
        for at, number in ((LENGTHS, 1), (STEPS, 0)):
            a.constant(RAX, number)
            a.store(At(RCX, at), RAX)
        a.add(RBP, 8)
        a.count(COUNT)
        a.jump("part said")

    def _dots(self) -> None:
        """`...`: all axes, but as many as the parts are that follow and have one."""
        a, k = self.asm, self.known
        a.label("part dots")
        self._axes_left(RDX)
        a.place(RCX, At(RBX, 8))
        a.place(R8, At(R12, -1))
        a.label("part dots next")
        a.test(R8)
        a.jump_if("equal", "part dots end")
        a.load(R9, At(RCX))
        a.add(RCX, 8)
        a.count_down(R8)
        self.compare(R9, k.none, RAX)
        a.jump_if("equal", "part dots next")
        self.compare(R9, k.ellipsis, RAX)
        a.jump_if("equal", "part none")
        a.add(RDX, -8)
        a.jump("part dots next")
        a.label("part dots end")
        a.test(RDX)
        a.jump_if("negative", "part none")
        self._passes()
        a.jump("part said")

    def _passes(self) -> None:
        """rdx: bytes of axes, of which the key says nothing."""
        a = self.asm
        again, passed = (f"part {what} {len(a.code)}" for what in ("axis", "passed"))
        a.label(again)
        a.test(RDX)
        a.jump_if("equal", passed)
        a.add(RDX, -8)
        for at, to in ((DIMS, LENGTHS), (STRIDES, STEPS)):
            a.load(RCX, At(R15, at))
            a.increase(RCX, R13)
            a.load(RAX, At(RCX))
            a.copy(RCX, RSP)
            a.increase(RCX, RBP)
            a.store(At(RCX, to), RAX)
        a.add(R13, 8)
        a.add(RBP, 8)
        a.count(COUNT)
        a.jump(again)
        a.label(passed)

    def _made(self) -> None:
        a, k = self.asm, self.known
        a.load(RDX, COUNT)
        a.test(RDX)
        a.jump_if("equal", "part none")
        a.copy(RDI, R15)
        a.copy(RSI, RDX)
        a.place(RDX, At(RSP, LENGTHS))
        a.place(RCX, At(RSP, STEPS))
        a.copy(R8, R14)
        a.call("view made")
        a.test(RAX)
        a.jump_if("other", "part leave")
        self.on("Py_IncRef", At(R15, DTYPE))        # the new array's reference
        a.load_int(RAX, At(R15, FLAGS))
        a.store(At(RSP), RAX)
        a.zero(RAX)
        a.store(At(RSP, 8), RAX)
        a.constant(RDI, k.real)
        a.load(RSI, At(R15, DTYPE))
        a.load(RDX, COUNT)
        a.place(RCX, At(RSP, LENGTHS))
        a.place(R8, At(RSP, STEPS))
        a.copy(R9, R14)
        self.call("PyArray_NewFromDescr")
        a.copy(RBX, RAX)
        a.test(RAX)
        a.jump_if("equal", "part refused")
        self.on("Py_IncRef", R15)
        a.copy(RDI, RBX)
        a.copy(RSI, R15)
        self.call("PyArray_SetBaseObject")
        a.copy(RCX, RAX)
        a.copy(RAX, RBX)
        a.test_int(RCX)
        a.jump_if("equal", "part leave")
        self.on("Py_DecRef", RBX)
        a.label("part refused")                     # nothing has happened: NumPy finds the words for it
        self.call("PyErr_Clear")
        a.label("part none")
        a.zero(RAX)
        a.label("part leave")
        self.release(LOCAL, *KEPT)
        a.leave()

    def _slice(self) -> None:
        """rdi: a slice, of integers and None: others run Python."""
        a, k = self.asm, self.known
        a.label("part slice")
        for at in BOUNDS:
            a.load(RCX, At(RDI, at))
            self.compare(RCX, k.none, RAX)
            a.jump_if("equal", f"part bound {at}")
            self.compare(At(RCX, TYPE), k.integers, RAX)
            a.jump_if("other", "part none")
            a.label(f"part bound {at}")
        for register, place in ((RSI, START), (RDX, STOP), (RCX, STEP)):
            a.place(register, place)
        self.call("PySlice_Unpack")
        a.test_int(RAX)
        a.jump_if("negative", "part refused")
        a.load(RDI, At(R15, DIMS))
        a.increase(RDI, R13)
        a.load(RDI, At(RDI))
        a.place(RSI, START)
        a.place(RDX, STOP)
        a.load(RCX, STEP)
        self.call("PySlice_AdjustIndices")
        a.load(R8, START)
        a.load(R9, STEP)
        a.test(RAX)
        a.jump_if("other", "part of some")
        a.zero(R8)                                  # as in NumPy
        a.constant(R9, 1)
        a.label("part of some")
        a.load(RDX, At(R15, STRIDES))
        a.increase(RDX, R13)
        a.load(RDX, At(RDX))
        a.multiply(R8, RDX)
        a.multiply(R9, RDX)
        a.increase(R14, R8)
        a.copy(RCX, RSP)
        a.increase(RCX, RBP)
        a.store(At(RCX, LENGTHS), RAX)
        a.store(At(RCX, STEPS), R9)
        a.add(RBP, 8)
        a.count(COUNT)
        a.jump("part next")
