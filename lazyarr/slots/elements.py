"""Elements of plain arrays, picked by integers, in machine code.

In:  an array and a key, an array, a key and a value.   Out: NumPy's scalar, or nothing; what is no element of
numbers, or out of bounds, is for `items`, and so for NumPy.
NumPy reads a key for all that it may be; loops over elements have one for each.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    ALIGNED,
    DATA,
    DIMS,
    DOUBLE_COMPLEX,
    DTYPE,
    FLAGS,
    INTEGERS,
    ITEMS,
    ITEMSIZE,
    LENGTH,
    NDIM,
    SCALARS,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
    VALUE,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import Framed
from lazyarr.slots.known import Known
from lazyarr.slots.loop_calls import EXACT
from lazyarr.slots.x86 import R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

NUMBERS = 16
"""The last type number whose scalars hold a number, and nothing else."""

PAIR = 16
"""Bytes of a complex number of two doubles."""

LEAST_SINGLE, MORE_SINGLES = 897 << 53, 253 << 53
"""The bits of the least double that is no subnormal number of single precision, but for the sign, and how
many more there are up to 2**127; all of them moved by one."""


class Elements(Framed):
    """Writes the bodies, which go on in those of `items`."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.get_item, self.set_item, self.element, self.integer:
            write()

    def get_item(self) -> None:
        """(a, key)"""
        a = self.asm
        a.label("get_item")
        self.enter()
        a.copy(RDI, RBX)
        self.call_or("plain", "get_item other")
        a.copy(R15, RAX)
        self.call_or("element", "get_item part")
        a.copy(RDI, RAX)
        a.load(RSI, At(R15, DTYPE))
        a.copy(RDX, R15)
        self.call("PyArray_Scalar")
        self.restore()
        a.leave()
        a.label("get_item part")
        self.call_or("part", "get_item other")
        a.copy(R13, RAX)
        a.jump("get_item viewed")

    def set_item(self) -> None:
        """(a, key, value): numbers that have the array's type, or can be told in it without NumPy's rules."""
        a, k, value, second = self.asm, self.known, At(RSP), At(RSP, 8)
        a.label("set_item")
        self.enter()
        a.test(R12)
        a.jump_if("equal", "back")
        a.copy(RDI, RBX)
        self.call_or("plain", "set_item other")
        a.copy(R15, RAX)
        a.load_int(RAX, At(R15, FLAGS))
        a.test_int(RAX)                             # NumPy has something to say first
        a.jump_if("negative", "set_item other")
        a.keep(RAX, ALIGNED | WRITEABLE)
        a.compare_number(RAX, ALIGNED | WRITEABLE)
        a.jump_if("other", "set_item other")
        a.load(RCX, At(R12, TYPE))
        a.load(RSI, At(R15, DTYPE))
        self.compare(RSI, k.doubles, RAX)
        a.jump_if("equal", "set_item double")
        self.compare(RSI, k.words, RAX)
        a.jump_if("other", "set_item typed")
        self.compare(RCX, k.word, RAX)
        a.jump_if("equal", "set_item given")
        self.compare(RCX, k.integers, RAX)
        a.jump_if("other", "set_item other")
        a.copy(RDI, R12)
        self.call_or("integer", "set_item other", RDX)
        a.store(value, RAX)
        a.jump("set_item value")

        a.label("set_item double")
        self.compare(RCX, k.double, RAX)
        a.jump_if("equal", "set_item given")
        self.compare(RCX, k.floats, RAX)
        a.jump_if("equal", "set_item given")
        self.compare(RCX, k.integers, RAX)
        a.jump_if("other", "set_item other")
        a.copy(RDI, R12)
        self.call_or("integer", "set_item other", RDX)
        a.place(RCX, At(RAX, EXACT))
        a.compare_number(RCX, 2 * EXACT)
        a.jump_if("above", "set_item other")
        a.to_double(value)
        a.jump("set_item value")
        a.label("set_item given")                   # (of another type it may end before, and memory with it)
        a.load(RAX, At(R12, VALUE))
        a.store(value, RAX)
        a.label("set_item value")
        self.call_or("element", "set_item other")
        a.load(RCX, value)
        a.load(RDX, At(R15, DTYPE))
        a.load(RDX, At(RDX, ITEMSIZE))
        for size in 8, 4, 1, 2:
            a.compare_number(RDX, size)
            a.jump_if("other", f"set_item not {size}")
            a.store_bytes(At(RAX), RCX, size)
            a.jump("set_item stored")
            a.label(f"set_item not {size}")
        a.store(At(RAX), RCX)
        a.load(RCX, second)
        a.store(At(RAX, 8), RCX)
        a.label("set_item stored")
        a.zero(RAX)
        self.restore()
        a.leave()

        self._typed(value, second)
        self._whole(value)
        self._floating(value, second)

    def _typed(self, value: At, second: At) -> None:
        """rsi: any other type.   rcx: that of a value.   A number is as long as its type says."""
        a, k = self.asm, self.known
        a.label("set_item typed")
        self._native("set_item other")
        a.compare(At(RSI, SCALARS), RCX)
        a.jump_if("equal", "set_item own")
        for of_value, then in (
            (k.integers, "integer"), (k.word, "word"), (k.floats, "float"), (k.double, "float"),
            (k.complex, "pair"),
        ):  # fmt: skip
            self.compare(RCX, of_value, RAX)
            a.jump_if("equal", f"set_item {then}")
        a.test(RDX)                                 # a truth
        a.jump_if("other", "set_item other")
        for truth, number in (k.true, 1), (k.false, 0):
            a.constant(RCX, number)
            self.compare(R12, truth, RAX)
            a.jump_if("equal", "set_item truth")
        a.jump("set_item other")
        a.label("set_item truth")
        a.store(value, RCX)
        a.jump("set_item value")

        a.label("set_item own")
        a.compare_number(At(RSI, ITEMSIZE), PAIR)
        a.jump_if("other", "set_item given")
        a.label("set_item two")
        a.load(RAX, At(R12, VALUE + 8))
        a.store(second, RAX)
        a.jump("set_item given")
        a.label("set_item pair")
        a.compare_number(RDX, 8 * DOUBLE_COMPLEX)
        a.jump_if("equal", "set_item two")
        a.jump("set_item other")

    def _whole(self, value: At) -> None:
        """An integer; where it is one of another type, it has to be within that."""
        a, k = self.asm, self.known
        a.label("set_item word")
        a.load(RAX, At(R12, VALUE))
        a.jump("set_item whole")
        a.label("set_item integer")
        a.copy(RDI, R12)
        self.call_or("integer", "set_item other", RDX)
        a.label("set_item whole")
        a.store(value, RAX)
        a.load(RSI, At(R15, DTYPE))
        self._native("set_item other")
        a.load(RAX, value)
        a.compare_number(RDX, 8 * INTEGERS)
        a.jump_if("above", "set_item whole float")
        a.test(RDX)
        a.jump_if("equal", "set_item other")        # a truth
        a.constant(RCX, k.ranges)
        a.increase(RCX, RDX)
        a.increase(RCX, RDX)
        a.decrease(RAX, At(RCX))
        a.compare(At(RCX, 8), RAX)
        a.jump_if("below", "set_item other")        # NumPy refuses it, or not
        a.jump("set_item value")
        a.label("set_item whole float")
        a.place(RCX, At(RAX, EXACT))
        a.compare_number(RCX, 2 * EXACT)
        a.jump_if("above", "set_item other")
        a.to_double(value)
        a.jump("set_item as float")

    def _floating(self, value: At, second: At) -> None:
        """A double, as a number of single precision, or a complex one."""
        a = self.asm
        a.label("set_item float")
        a.load(RAX, At(R12, VALUE))
        a.store(value, RAX)
        a.label("set_item as float")
        a.compare_number(RDX, 8 * DOUBLE_COMPLEX)
        a.jump_if("equal", "set_item real part")
        a.compare_number(RDX, 8 * (INTEGERS + 1))
        a.jump_if("other", "set_item other")
        a.load(RAX, value)
        a.increase(RAX, RAX)                        # without its sign
        a.test(RAX)
        a.jump_if("equal", "set_item single")
        a.constant(RCX, LEAST_SINGLE)
        a.decrease(RAX, RCX)
        a.constant(RCX, MORE_SINGLES)
        a.compare(RCX, RAX)
        a.jump_if("below", "set_item other")        # NumPy warns
        a.label("set_item single")
        a.to_single(value)
        a.jump("set_item value")
        a.label("set_item real part")
        a.zero(RAX)
        a.store(second, RAX)
        a.jump("set_item value")

    def _native(self, otherwise: str) -> None:
        """rsi: a type.   rdx: eight times its number; on if it is no plain number's; rax is lost."""
        a = self.asm
        a.load_int(RDX, At(RSI, TYPE_NUMBER))
        a.compare_number(RDX, DOUBLE_COMPLEX)
        a.jump_if("above", otherwise)
        a.times_word(RDX)
        a.constant(RAX, self.known.native)
        a.increase(RAX, RDX)
        a.compare(At(RAX), RSI)                     # nor is there metadata, or another order of bytes
        a.jump_if("other", otherwise)

    # ----------------------------------------------------------------------------- routines

    def element(self) -> None:
        """r15: a real array.   rbp: a key.   rax: where the element is that it picks, or zero, if there is
        none, or the key is anything but integers of Python's or of a word."""
        a, k = self.asm, self.known
        kept = RBX, R12, R13, R14                   # next part, parts left, bytes of axes passed, address
        a.label("element")
        self.reserve(8, *kept)
        a.load(RCX, At(RBP, TYPE))
        self.compare(RCX, k.tuples, RAX)
        a.jump_if("equal", "element tuple")
        a.store(At(RSP), RBP)                       # as if it were a tuple of one
        a.copy(RBX, RSP)
        a.constant(R12, 1)
        a.jump("element parts")
        a.label("element tuple")
        a.place(RBX, At(RBP, ITEMS))
        a.load(R12, At(RBP, LENGTH))
        a.test(R12)
        a.jump_if("equal", "element none")
        a.label("element parts")
        a.load_int(RAX, At(R15, NDIM))
        a.compare(RAX, R12)
        a.jump_if("other", "element none")
        self.if_type_above(R15, NUMBERS, "element none", RSI)
        a.zero(R13)
        a.load(R14, At(R15, DATA))
        a.label("element part")
        a.load(RDI, At(RBX))
        self.call_or("number", "element none", RDX)
        a.load(RCX, At(R15, DIMS))
        a.increase(RCX, R13)
        a.test(RAX)
        a.jump_if("negative", "element from the end")
        a.label("element counted")
        a.compare(At(RCX), RAX)
        a.jump_if("above", "element there")
        a.label("element none")
        a.zero(RAX)
        a.jump("element leave")
        a.label("element from the end")
        a.increase(RAX, At(RCX))                    # what is negative still is more than there are
        a.jump("element counted")
        a.label("element there")
        a.load(RCX, At(R15, STRIDES))
        a.increase(RCX, R13)
        a.multiply(RAX, At(RCX))
        a.increase(R14, RAX)
        a.add(RBX, 8)
        a.add(R13, 8)
        a.count_down(R12)
        a.jump_if("other", "element part")
        a.copy(RAX, R14)
        a.label("element leave")
        self.release(8, *kept)
        a.leave()

    def integer(self) -> None:
        """rdi: an integer of Python's.   rax: its value.   rdx: not zero if it fits a word.
        "number": the same of any object, or of NumPy's integers of a word; others fit none."""
        a, k = self.asm, self.known
        a.label("number")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.integers, RCX)
        a.jump_if("equal", "integer")
        a.zero(RDX)
        self.compare(RAX, k.word, RCX)
        a.jump_if("other", "number not")
        a.load(RAX, At(RDI, VALUE))
        a.constant(RDX, 1)
        a.label("number not")
        a.leave()
        a.label("integer")
        a.add(RSP, -24)
        self.call("PyLong_AsSsize_t")
        a.constant(RDX, 1)
        a.place(RCX, At(RAX, 1))
        a.test(RCX)
        a.jump_if("other", "integer leave")
        self.call("PyErr_Occurred")
        a.constant(RDX, 1)
        a.test(RAX)
        a.constant(RAX, (1 << 64) - 1)
        a.jump_if("equal", "integer leave")
        self.call("PyErr_Clear")
        a.zero(RDX)
        a.label("integer leave")
        a.add(RSP, 24)
        a.leave()
