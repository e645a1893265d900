"""`np.empty`, `zeros` and `ones` of few numbers, copies, and arrays of arrays, in machine code.

In:  as `calls` has functions and methods.   Out: new plain arrays, as NumPy makes them; other types, orders,
other arrays, large ones, and what is wrong are for `calls`.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DOUBLE_COMPLEX,
    DTYPE,
    ITEMS,
    ITEMSIZE,
    LENGTH,
    NDIM,
    SCALARS,
    TYPE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import COUNTED, KEPT
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

AXES = 4
"""At most."""
LOCAL = 24 + 8 * AXES + 32
"""Bytes on the stack: with the registers and the return address, a multiple of 16."""
LENGTHS = 16
"""Where the dimensions are, behind two arguments of a function."""
GIVEN = tuple(At(RSP, LENGTHS + 8 * (AXES + k)) for k in range(4))
"""What the function was given."""
FILLS = {"empty": 0, "zeros": 1, "ones": 2}
"""Functions that make arrays of a shape, and with what these are filled."""


class Fresh(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.dtype, self.typed, self.typed_any, self.of_shape, self.filled, self.copied, self.copy,
            self.array, self.itself,
        ):  # fmt: skip
            write()

    def dtype(self) -> None:
        """rsi, rdx, rcx: arguments, and names, of a function of one argument and perhaps a type.
        rax: that type; None if it is not given; zero if there is anything else."""
        a, k = self.asm, self.known
        kept = RDI, RSI, RDX, RCX, R9
        a.label("dtype given")
        a.test(RCX)
        a.jump_if("other", "dtype named")
        a.constant(RAX, k.none)
        a.compare_number(RDX, 1)
        a.jump_if("equal", "dtype leave")
        a.compare_number(RDX, 2)
        a.jump_if("other", "dtype not")
        a.label("dtype there")
        a.load(RAX, At(RSI, 8))
        a.leave()
        a.label("dtype named")
        a.compare_number(RDX, 1)
        a.jump_if("other", "dtype not")
        a.compare_number(At(RCX, LENGTH), 1)
        a.jump_if("other", "dtype not")
        a.push(*kept)
        a.load(RDI, At(RCX, ITEMS))
        a.constant(RSI, k.dtype)
        self.call("PyUnicode_CompareWithASCIIString")
        a.pop(*reversed(kept))
        a.test_int(RAX)
        a.jump_if("equal", "dtype there")
        a.label("dtype not")
        a.zero(RAX)
        a.label("dtype leave")
        a.leave()

    def typed(self) -> None:
        """rax: None, or what is given as type.   r8: the type of double precision, or of integers of a word,
        that it stands for; or zero.  rcx is lost."""
        a, k = self.asm, self.known
        a.label("type of two")
        for types, found in (
            ((k.none, k.floats, k.double, k.doubles), k.doubles), ((k.integers, k.word, k.words), k.words),
        ):  # fmt: skip
            a.constant(R8, found)
            for one in types:
                self.compare(RAX, one, RCX)
                a.jump_if("equal", "type of two leave")
        a.zero(R8)
        a.label("type of two leave")
        a.leave()

    def typed_any(self) -> None:
        """The same of any numbers of at most a word, and of what describes such types; rdx is lost, too."""
        a, k = self.asm, self.known
        a.label("type of any")
        a.call("type of two")
        a.test(R8)
        a.jump_if("other", "type of any leave")
        a.constant(RDX, k.native)
        a.load(R8, At(RDX))
        a.constant(RCX, k.true)
        a.load(RCX, At(RCX, TYPE))
        a.compare(RAX, RCX)
        a.jump_if("equal", "type of any leave")     # Python's truth values, which are NumPy's first type
        a.constant(RCX, DOUBLE_COMPLEX)
        a.label("type of any next")
        a.load(R8, At(RDX))
        a.add(RDX, 8)
        a.test(R8)
        a.jump_if("equal", "type of any other")
        a.compare(R8, RAX)
        a.jump_if("equal", "type of any leave")
        a.compare(At(R8, SCALARS), RAX)
        a.jump_if("equal", "type of any leave")
        a.label("type of any other")
        a.count_down(RCX)
        a.jump_if("other", "type of any next")
        a.zero(R8)
        a.label("type of any leave")
        a.leave()

    def of_shape(self) -> None:
        """(function, args, count, names)"""
        a, k = self.asm, self.known
        for name, fill in FILLS.items():
            a.label(f"function {name}")
            a.constant(R9, fill)
            a.jump("fresh")
        a.label("fresh")
        a.keep(RDX, COUNTED)
        self.if_forced("function")
        a.add(RSP, -8)
        a.call("dtype given")
        self.call_keeping("type of any", RCX, RDX)
        a.add(RSP, 8)
        a.test(R8)
        a.jump_if("equal", "function")
        a.compare_number(R9, FILLS["ones"])
        a.jump_if("other", "fresh begins")
        for one in k.doubles, k.words:
            self.compare(R8, one, RAX)
            a.jump_if("equal", "fresh begins")
        a.jump("function")
        a.label("fresh begins")
        self.reserve(LOCAL, *KEPT)
        for place, given in zip(GIVEN, (RDI, RSI, RDX, RCX), strict=True):
            a.store(place, given)
        a.copy(R14, R8)
        a.copy(R15, R9)
        a.copy(RBX, RSI)                            # as if it were a tuple of one
        a.constant(R12, 1)
        a.load(RAX, At(RSI))
        self.compare(At(RAX, TYPE), k.tuples, RCX)
        a.jump_if("other", "fresh axes")
        a.place(RBX, At(RAX, ITEMS))
        a.load(R12, At(RAX, LENGTH))
        a.compare_number(R12, AXES)
        a.jump_if("above", "fresh not")
        a.label("fresh axes")
        a.constant(R13, 1)
        a.place(RBP, At(RSP, LENGTHS))
        a.label("fresh axis")
        a.test(R12)
        a.jump_if("equal", "fresh make")
        a.load(RDI, At(RBX))
        self.call_or("number", "fresh not", RDX)
        a.compare_number(RAX, k.eager)
        a.jump_if("above", "fresh not")             # what is negative, too
        a.store(At(RBP), RAX)
        a.multiply(R13, RAX)
        a.compare_number(R13, k.eager)
        a.jump_if("above", "fresh not")
        a.add(RBX, 8)
        a.add(RBP, 8)
        a.count_down(R12)
        a.jump("fresh axis")

    def filled(self) -> None:
        """rbp: behind the dimensions.   r13: elements.   r14: their type.   r15: what they are."""
        a, k = self.asm, self.known
        a.label("fresh make")
        self.begin_array(R14)
        a.place(RCX, At(RSP, LENGTHS))
        a.copy(RDX, RBP)
        a.decrease(RDX, RCX)
        a.whole_words(RDX)
        self.make_array()
        a.copy(RBX, RAX)
        a.test(RAX)
        a.jump_if("equal", "fresh no memory")
        a.load(RDI, At(RBX, DATA))
        a.test(R13)
        a.jump_if("equal", "fresh made")
        a.test(R15)
        a.jump_if("equal", "fresh made")
        a.compare_number(R15, FILLS["zeros"])
        a.jump_if("equal", "fresh zeros")
        a.constant(RAX, 1)
        self.compare(R14, k.words, RCX)
        a.jump_if("equal", "fresh fill")
        a.constant(RAX, 0x3FF0000000000000)         # 1.0
        a.label("fresh fill")
        a.store(At(RDI), RAX)
        a.add(RDI, 8)
        a.count_down(R13)
        a.jump_if("other", "fresh fill")
        a.label("fresh made")
        self.count()
        a.copy(RDI, RBX)
        a.constant(RSI, k.none)
        a.call("wrap")
        self.release(LOCAL, *KEPT)
        a.leave()
        a.label("fresh zeros")
        a.zero(RSI)
        a.load(RDX, At(R14, ITEMSIZE))
        a.multiply(RDX, R13)
        self.call("memset")
        a.jump("fresh made")
        a.label("fresh no memory")                  # NumPy says so
        self.call("PyErr_Clear")
        a.label("fresh not")
        for given, place in zip((RDI, RSI, RDX, RCX), GIVEN, strict=True):
            a.load(given, place)
        self.release(LOCAL, *KEPT)
        a.jump("function")

    # ------------------------------------------------------------------------------ copies

    def copied(self) -> None:
        """rdi: an object.   rax: a copy, if it is a plain array that lies in C order; or zero."""
        a, k = self.asm, self.known
        a.label("copied")
        self.reserve(16, RBX, R12, R13)
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "copied not")
        self.call_or("unwrap", "copied not")
        a.copy(RBX, RAX)
        self.unless_flagged(RBX, C_CONTIGUOUS, "copied not")
        self.numbers_type(RBX, "copied not")
        a.copy(RDI, RBX)
        a.call("nbytes")
        a.copy(R13, RAX)
        self.begin_array(At(RBX, DTYPE))
        a.load_int(RDX, At(RBX, NDIM))
        a.load(RCX, At(RBX, DIMS))
        self.make_array()
        a.copy(R12, RAX)
        a.test(RAX)
        a.jump_if("equal", "copied no memory")
        a.load(RDI, At(R12, DATA))
        a.load(RSI, At(RBX, DATA))
        a.copy(RDX, R13)
        self.call("memcpy")
        self.count()
        a.copy(RDI, R12)
        a.constant(RSI, k.none)
        a.call("wrap")
        a.jump("copied leave")
        a.label("copied no memory")
        self.call("PyErr_Clear")
        a.label("copied not")
        a.zero(RAX)
        a.label("copied leave")
        self.release(16, RBX, R12, R13)
        a.leave()

    def copy(self) -> None:
        """(array, args, count, names)"""
        a = self.asm
        kept = RDI, RSI, RDX, RCX, R10
        a.label("copy")
        a.copy(RAX, RDX)
        a.increase(RAX, RCX)
        a.test(RAX)
        a.jump_if("other", "method")
        self.if_forced("method")
        self.call_keeping("copied", *kept)
        a.test(RAX)
        a.jump_if("equal", "method")
        a.leave()

    def array(self) -> None:
        """(function, args, count, names): `numpy.array`, of one array, or of what `listed` knows."""
        a = self.asm
        kept = RDI, RSI, RDX, RCX, R10
        self._of_one("function array", RAX, R8)
        self.if_forced("function", R8)
        a.push(*kept)
        a.copy(RDI, RAX)
        a.call("copied")
        a.pop(*reversed(kept))
        a.test(RAX)
        a.jump_if("equal", "function")
        a.leave()

    def _of_one(self, label: str, first: int, scratch: int) -> None:
        """The body of a function of one array of ours, which is in a register; else it is of values."""
        a = self.asm
        a.label(label)
        a.keep(RDX, COUNTED)
        a.place(RAX, At(RDX, -1))
        a.increase(RAX, RCX)
        a.test(RAX)
        a.jump_if("other", "function of values")
        a.load(first, At(RSI))
        self.compare(At(first, TYPE), self.known.lazy, scratch)
        a.jump_if("other", "function of values")

    def itself(self) -> None:
        """(function, args, count, names): `numpy.asarray`: the array itself."""
        a, k = self.asm, self.known
        self._of_one("function asarray", R8, RAX)
        self.compare(At(R8, k.storage), k.none, RAX)
        a.jump_if("other", "function")
        a.compare_number(At(R8, k.geo), 0)
        a.jump_if("equal", "function")
        self.if_forced("function")
        self.count()
        a.push(R8)
        self.on("Py_IncRef", R8)
        a.pop(RAX)
        a.leave()
