"""The first argument of a function, by which it is known whether the result is small: routines.

In:  the argument in rdi; the others as `calls` has them.   Out: in rax what NumPy is to be given, or zero,
where Python must look.
"""

from __future__ import annotations

import struct

from lazyarr.object_fields import BOOLS, DTYPE, ITEMS, LENGTH, LIST_ITEMS, NDIM, TYPE, TYPE_NUMBER, VALUE
from lazyarr.slot_words import LEAST, LEAST_TRUTHS
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.calls import GIVEN, LEFT, MOST, OWNED
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R9, R10, R11, R12, R13, R14, R15, RAX, RBX, RCX, RDI, RDX, RSI, RSP

DEEP = 16
"""Lists in lists that are looked at, one less: a list may be in itself."""

FARTHEST = 1 << 62
"""More elements than there can be; twice as many fit a word."""

ONE = int.from_bytes(struct.pack("<d", 1.0), "little")
"""As a double."""
DOUBLES, SUBTRACTED, DIVIDED = b"\xf2", 0x5C, 0x5E
"""Instructions on doubles: their prefix, and two of them."""


class Firsts(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.of_nothing, self.of_shape, self.of_square, self.of_numbers, self.of_steps, self.of_samples,
            self.of_values, self.of_arrays, self.of_labels, self.of_product, self.of_choices, self.of_places,
        ):  # fmt: skip
            write()

    def of_nothing(self) -> None:
        """Python's business, all of it."""
        a = self.asm
        a.label("of nothing")
        a.zero(RAX)
        a.leave()

    def of_shape(self) -> None:
        """rdi: a shape.   rax: itself, if it has few elements; else zero."""
        a, k = self.asm, self.known
        a.label("of shape")
        a.push(RBX, R12, R13, R14, R15)             # (R15 so that the stack is aligned)
        a.copy(RBX, RDI)
        a.constant(R14, 1)
        a.constant(R12, 1)
        a.add(RSP, -16)
        a.store(At(RSP), RDI)                       # as if it were a tuple of one
        a.copy(R13, RSP)
        self.compare(At(RDI, TYPE), k.tuples, RAX)
        a.jump_if("other", "of shape axis")
        a.load(R12, At(RDI, LENGTH))
        a.place(R13, At(RDI, ITEMS))
        a.label("of shape axis")
        a.test(R12)
        a.jump_if("equal", "of shape whole")
        a.load(RDI, At(R13))
        self.compare(At(RDI, TYPE), k.integers, RAX)
        a.jump_if("other", "of shape not")
        self.call("PyLong_AsSsize_t")
        a.test(RAX)
        a.jump_if("negative", "of shape negative")
        self.above_limit(RAX, "of shape not", RCX)
        a.multiply(R14, RAX)
        self.above_limit(R14, "of shape not", RCX)
        a.add(R13, 8)
        a.count_down(R12)
        a.jump("of shape axis")
        a.label("of shape negative")                # or too large for a word
        self.call("PyErr_Clear")
        a.label("of shape not")
        a.zero(RBX)
        a.label("of shape whole")
        a.copy(RAX, RBX)
        self.release(16, RBX, R12, R13, R14, R15)
        a.leave()

    def of_square(self) -> None:
        """The same of the one number of rows and columns."""
        a, k = self.asm, self.known
        a.label("of square")
        a.load(RAX, GIVEN)
        a.increase(RAX, R14)
        a.test(RAX)
        a.jump_if("other", "of nothing")
        self.compare(At(RDI, TYPE), k.integers, RAX)
        a.jump_if("other", "of nothing")
        self.call_keeping("of shape", RDI)
        a.test(RAX)
        a.jump_if("equal", "of nothing")
        a.push(RDI)
        self.call("PyLong_AsSsize_t")
        a.pop(RDI)
        a.multiply(RAX, RAX)
        self.above_limit(RAX, "of nothing", RCX)
        a.copy(RAX, RDI)
        a.leave()

    def of_product(self) -> None:
        """rdi, and one argument more.   rax: the first as "argument" gives it, if few elements are there for
        each of one together with each of the other; else zero."""
        a, k = self.asm, self.known
        a.label("of product")
        a.compare_number(GIVEN, 1)
        a.jump_if("other", "of nothing")
        a.push(RDI)
        self.call_or("argument", "of product not")
        a.call("of product size")
        a.copy(R9, RAX)
        a.load(RDI, At(R12))
        self.call_or("argument", "of product not")
        a.call("of product size")
        a.multiply(R9, RAX)
        self.above_limit(R9, "of product not", RCX)
        a.pop(RDI)
        a.jump("argument")
        a.label("of product not")
        a.pop(RDI)
        a.zero(RAX)
        a.leave()
        a.label("of product size")                  # rax: an argument, then its elements (and rdi is lost)
        a.copy(RDI, RAX)
        for sequence in (k.lists, k.tuples):
            self.compare(At(RDI, TYPE), sequence, RAX)
            a.jump_if("equal", "of product length")
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("equal", "size")
        a.constant(RAX, 1)
        a.leave()
        a.label("of product length")
        a.load(RAX, At(RDI, LENGTH))
        a.leave()

    def of_choices(self) -> None:
        """rdi: a condition, and perhaps two choices.   rax: the first as "argument" gives it, if any two of
        them are small together; else zero."""
        a = self.asm
        a.label("of choices")
        a.compare_number(GIVEN, 2)
        a.jump_if("other", "of places")
        given = RBX, R13, R14
        a.push(*given, R15)
        a.load(R15, At(R12))
        a.load(R14, At(R12, 8))
        a.call("argument")
        a.copy(RBX, RAX)
        for kept, one in ((R13, R15), (R14, R14)):
            a.copy(RDI, one)
            a.call("argument")
            a.copy(kept, RAX)
        for one in given:
            a.test(one)
            a.jump_if("equal", "of choices not")
        self.small_together(given, "of choices", "of choices not")
        a.copy(RAX, RBX)
        a.jump("of choices leave")
        a.label("of choices not")
        a.zero(RAX)
        a.label("of choices leave")
        a.pop(R15, *given[::-1])
        a.leave()

    def of_places(self) -> None:
        """rdi: what is asked where it is not zero.   rax: itself, as "argument" gives it; zero if it is an
        array so large that Python's code finds that sooner (`places`).

        "few places": the same of rax, an array, or anything else."""
        a, k = self.asm, self.known
        a.label("of places")
        self.call_or("argument", "of nothing")
        a.label("few places")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "few places so")
        a.constant(RCX, k.finds)
        a.compare_number(At(RCX), 0)
        a.jump_if("equal", "few places so")
        a.copy(R9, RAX)
        a.copy(RDI, RAX)
        a.call("size")
        a.copy(RDX, RAX)
        a.copy(RAX, R9)
        a.compare_number(RDX, LEAST - 1)
        a.jump_if("above", "few places look")
        a.label("few places so")
        a.leave()
        a.label("few places look")
        a.compare_number(RDX, LEAST_TRUTHS - 1)
        a.jump_if("above", "of nothing")
        a.compare_number(At(RAX, NDIM), 1, wide=False)
        a.jump_if("other", "of nothing")
        a.load(RCX, At(RAX, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), BOOLS, wide=False)
        a.jump_if("equal", "few places so")
        a.jump("of nothing")

    def of_labels(self) -> None:
        """rdi: the labels of a sum of products.   rax: itself, if any product of the operands is small."""
        a, k = self.asm, self.known
        a.label("of labels")
        self.compare(At(RDI, TYPE), k.text, RAX)
        a.jump_if("other", "of nothing")
        a.test(R14)
        a.jump_if("other", "of nothing")
        a.push(RDI, R12, R13)
        a.load(R13, GIVEN)
        a.constant(R9, 1)
        a.label("of labels next")
        a.test(R13)
        a.jump_if("equal", "of labels all")
        a.load(RDI, At(R12))
        self.call_or("argument", "of labels not")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "of labels not")
        a.copy(RDI, RAX)
        a.call("size")
        self.above_limit(RAX, "of labels not", RCX)
        a.multiply(R9, RAX)
        self.above_limit(R9, "of labels not", RCX)
        a.add(R12, 8)
        a.count_down(R13)
        a.jump("of labels next")
        a.label("of labels not")
        a.pop(R13, R12, RDI)
        a.zero(RAX)
        a.leave()
        a.label("of labels all")
        a.pop(R13, R12, RDI)
        a.copy(RAX, RDI)
        a.leave()

    def of_numbers(self) -> None:
        """The same of a range's numbers, one to three of them: of whole ones there are no more elements than
        it is from zero to its ends, of others about as many as steps."""
        a = self.asm
        a.label("of numbers")
        a.test(R13)
        a.jump_if("equal", "of numbers one")
        a.test(R14)
        a.jump_if("other", "of nothing")
        a.compare_number(R13, 2)
        a.jump_if("above", "of nothing")
        a.push(RBX, R13, R15)
        a.copy(RBX, RDI)
        a.call("of numbers far")
        a.copy(R13, RAX)
        a.load(RDI, At(R12))
        a.call("of numbers far")
        a.increase(R13, RAX)
        self.above_limit(R13, "of numbers steps", RCX)
        a.compare_number(GIVEN, 2)
        a.jump_if("other", "of numbers so")
        a.load(RAX, At(R12, 8))                     # a step: of at least one, or NumPy refuses it
        a.load(RAX, At(RAX, TYPE))
        a.call("index type")
        a.test(RAX)
        a.jump_if("equal", "of numbers steps")
        a.label("of numbers so")
        a.copy(RAX, RBX)
        a.pop(R15, R13, RBX)
        a.leave()

        a.label("of numbers far")                   # rdi: a number.   rax: how far it is from zero
        a.load(RAX, At(RDI, TYPE))
        self.call_or("index type", "of numbers farthest")
        a.add(RSP, -8)
        a.zero(RSI)                                 # what does not fit a word is the farthest that does
        self.call("PyNumber_AsSsize_t")
        a.add(RSP, 8)
        a.test(RAX)
        a.jump_if("negative", "of numbers below")
        a.label("of numbers within")
        self.above_limit(RAX, "of numbers farthest", RCX)
        a.leave()
        a.label("of numbers below")
        a.zero(RCX)
        a.decrease(RCX, RAX)
        a.push(RCX)
        self.call("PyErr_Clear")                    # it may be no number: NumPy has the words
        a.pop(RAX)
        a.jump("of numbers within")
        a.label("of numbers farthest")
        a.constant(RAX, FARTHEST)
        a.leave()

    def of_steps(self) -> None:
        """The same, where some of the numbers are floats."""
        a, stack = self.asm, 32
        start, stop, step = (At(RSP, 8 * k) for k in range(3))
        a.label("of numbers one")
        a.load(RAX, At(RDI, TYPE))
        a.call("index type")
        a.test(RAX)
        a.jump_if("other", "of shape")
        a.test(R14)
        a.jump_if("other", "of nothing")
        a.push(RBX, R13, R15)
        a.copy(RBX, RDI)
        a.label("of numbers steps")                 # rbx: the first.   The registers above are on the stack
        a.add(RSP, -stack)
        a.zero(RAX)
        a.store(start, RAX)
        a.constant(RAX, ONE)
        a.store(step, RAX)
        a.load(R13, GIVEN)
        a.copy(RDI, RBX)
        a.place(R15, stop)                          # it is the end if there is no other
        a.test(R13)
        a.jump_if("equal", "of numbers to double")
        a.copy(R15, RSP)
        a.label("of numbers to double")
        a.load(RAX, At(RDI, TYPE))
        for floats in self.known.floats, self.known.double:
            self.compare(RAX, floats, RCX)
            a.jump_if("equal", "of numbers double")
        a.call("index type")
        a.test(RAX)
        a.jump_if("equal", "of numbers not")
        a.zero(RSI)
        self.call("PyNumber_AsSsize_t")
        a.to_double(At(R15))
        a.test(RAX)
        a.jump_if("negative", "of numbers no number")
        a.jump("of numbers next")
        a.label("of numbers no number")             # perhaps: then this is -1, and NumPy has the words
        self.call("PyErr_Clear")
        a.jump("of numbers next")
        a.label("of numbers double")
        a.load(RAX, At(RDI, VALUE))
        a.store(At(R15), RAX)
        a.label("of numbers next")
        a.add(R15, 8)
        a.test(R13)
        a.jump_if("equal", "of numbers all")
        a.count_down(R13)
        a.load(RAX, GIVEN)
        a.decrease(RAX, R13)
        a.times_word(RAX)
        a.increase(RAX, R12)
        a.load(RDI, At(RAX, -8))
        a.jump("of numbers to double")
        a.label("of numbers all")
        a.load_vector(DOUBLES, 0, stop)
        for at, does in ((start, SUBTRACTED), (step, DIVIDED)):
            a.load_vector(DOUBLES, 1, at)
            a.vector(does, DOUBLES, 0, 1)
        a.to_integer()
        a.test(RAX)
        a.jump_if("negative", "of numbers not")     # what is no number, or does not fit, is the least
        self.above_limit(RAX, "of numbers not", RCX)
        a.add(RSP, stack)
        a.jump("of numbers so")
        a.label("of numbers not")
        a.add(RSP, stack)
        a.zero(RBX)
        a.jump("of numbers so")

    def of_samples(self) -> None:
        """As `argument`, where the third one is a small number, or not given."""
        a = self.asm
        a.label("of samples")
        a.test(R14)
        a.jump_if("other", "of nothing")
        a.compare_number(GIVEN, 2)
        a.jump_if("below", "argument")
        a.jump_if("above", "of nothing")
        a.push(RDI)
        a.load(RDI, At(R12, 8))
        a.call("of shape")
        a.pop(RDI)
        a.test(RAX)
        a.jump_if("other", "argument")
        a.leave()

    def of_values(self) -> None:
        """rdi: what an array is to be made of.   rax: as `argument`, or itself, if it is a list of scalars or
        of such lists; else zero."""
        a, k = self.asm, self.known
        a.label("of values")
        a.constant(RAX, DEEP)
        a.store(LEFT, RAX)
        self.compare(At(RDI, TYPE), k.lists, RAX)
        a.jump_if("other", "argument")
        a.label("of values inside")
        a.load(RAX, LEFT)
        a.count_down(RAX)
        a.jump_if("equal", "of values not")
        a.store(LEFT, RAX)
        a.load(R9, At(RDI, LENGTH))
        a.compare_number(R9, k.eager)
        a.jump_if("above", "of values not")
        a.load(R10, At(RDI, LIST_ITEMS))
        a.test(R9)
        a.jump_if("equal", "of values all")
        a.load(RAX, At(R10))
        self.compare(At(RAX, TYPE), k.lazy, RCX)
        a.jump_if("equal", "of values arrays")
        a.label("of values next")
        a.test(R9)
        a.jump_if("equal", "of values all")
        a.load(RAX, At(R10))
        a.load(RAX, At(RAX, TYPE))
        self.compare(RAX, k.lists, RCX)
        a.jump_if("equal", "of values list")
        self.call_or("scalar type", "of values not")
        a.label("of values on")
        a.add(R10, 8)
        a.count_down(R9)
        a.jump("of values next")
        a.label("of values list")
        a.push(RDI, R9, R10)
        a.load(RDI, At(R10))
        a.call("of values inside")
        a.pop(R10, R9, RDI)
        a.test(RAX)
        a.jump_if("other", "of values on")
        a.label("of values not")
        a.zero(RAX)
        a.leave()
        a.label("of values all")
        a.load(RAX, LEFT)
        a.add(RAX, 1)
        a.store(LEFT, RAX)
        a.copy(RAX, RDI)
        a.leave()
        a.label("of values arrays")                 # one array of several, if no option says how
        a.load(RAX, GIVEN)
        a.increase(RAX, R14)
        a.test(RAX)
        a.jump_if("other", "of values not")
        a.load(RAX, LEFT)
        a.compare_number(RAX, DEEP - 1)
        a.jump_if("equal", "of arrays")
        a.jump("of values not")

    def of_arrays(self) -> None:
        """rdi: arrays to be joined.   rax: a tuple of the real ones and windows, kept by `OWNED`; or zero."""
        a, k = self.asm, self.known
        a.label("of arrays")
        self.compare(At(RDI, TYPE), k.tuples, RAX)
        a.jump_if("equal", "of arrays begin")
        self.compare(At(RDI, TYPE), k.lists, RAX)
        a.jump_if("equal", "of arrays begin")
        a.zero(RAX)
        a.leave()
        a.label("of arrays begin")
        a.push(R12, R13, R14)                       # (R14 so that the stack is aligned)
        a.copy(R12, RDI)
        a.load(RDI, At(R12, LENGTH))
        a.compare_number(RDI, MOST)
        a.jump_if("above", "of arrays not")
        self.call("PyTuple_New")
        a.test(RAX)
        a.jump_if("equal", "of arrays no memory")
        a.store(OWNED, RAX)
        a.load(R11, At(R12, LENGTH))                # making a tuple may collect garbage, and run Python
        a.compare(At(RAX, LENGTH), R11)
        a.jump_if("other", "of arrays not")
        a.place(R13, At(RAX, ITEMS))
        a.place(R10, At(R12, ITEMS))
        self.compare(At(R12, TYPE), k.tuples, RAX)
        a.jump_if("equal", "of arrays next")
        a.load(R10, At(R12, LIST_ITEMS))
        a.label("of arrays next")
        a.test(R11)
        a.jump_if("equal", "of arrays all")
        a.load(RDI, At(R10))
        a.call("argument")
        a.push(R10, R11)
        a.test(RAX)
        a.jump_if("equal", "of arrays part")
        a.copy(R12, RAX)
        a.copy(RDI, RAX)
        self.call("Py_IncRef")
        a.label("of arrays found")
        a.store(At(R13), R12)
        a.pop(R11, R10)
        a.add(R13, 8)
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("of arrays next")
        a.label("of arrays part")                   # of a managed array, which all these only read
        a.load(RDI, At(R10))
        self.compare(At(RDI, TYPE), k.real, RCX)
        a.jump_if("equal", "of arrays real")
        self.compare(At(RDI, TYPE), k.lazy, RCX)
        a.jump_if("other", "of arrays unknown")
        self.compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("equal", "of arrays unknown")
        a.call("look lasting")
        a.copy(R12, RAX)
        a.test(RAX)
        a.jump_if("other", "of arrays found")
        a.jump("of arrays unknown")
        a.label("of arrays real")
        self.call_or("operand", "of arrays unknown")
        a.copy(R12, RAX)
        self.on("Py_IncRef", R12)
        a.jump("of arrays found")
        a.label("of arrays unknown")
        a.pop(R11, R10)
        a.jump("of arrays not")
        a.label("of arrays all")
        a.load(RAX, OWNED)
        a.jump("of arrays leave")
        a.label("of arrays no memory")
        self.call("PyErr_Clear")
        a.label("of arrays not")
        a.zero(RAX)
        a.label("of arrays leave")
        a.pop(R14, R13, R12)
        a.leave()
