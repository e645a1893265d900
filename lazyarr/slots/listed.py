"""Lists and tuples of numbers as arrays, in machine code: operands, and what arrays are made of.

In:  a list or tuple of Python's integers and floats, or NumPy's of a word and of double precision, or of such
lists of one length.   Out: what `numpy.array` makes of it, of double precision, or of integers of a word;
other numbers, deeper lists, integers that do not fit, long and empty ones are left to NumPy, or Python.
NumPy looks at each part three times, for all that it may be, which takes as long as ten operations.
Always holds: between the looks at the parts and the end no Python runs; each part is looked at when it is
taken, too.
"""

from __future__ import annotations

from lazyarr.object_fields import DATA, ITEMS, LENGTH, LIST_ITEMS, TYPE, VALUE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import COUNTED, KEPT, LOOPS, Framed
from lazyarr.slots.known import Known
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

LOCAL = 56
"""Bytes on the stack: with the registers and the return address, a multiple of 16."""
LENGTHS, DOUBLES = 16, At(RSP, 32)
"""Where the dimensions are (before: two arguments of a function); are doubles asked for?"""


class Listed(Framed):
    """Writes the routines, and the bodies that go by them."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.listed, self.new, self.rows, self.filled, self.scan, self.fill, self.is_listed,
            self.operands, self.of_ufunc, self.made_for_ufunc, self.function, self.function_made,
        ):  # fmt: skip
            write()

    # ----------------------------------------------------------------------------- routines

    def listed(self) -> None:
        """rdi: an object.   rsi: not zero if it is to be of double precision.   rax: a new array, or zero."""
        a, k = self.asm, self.known
        a.label("listed")
        self.reserve(LOCAL, *KEPT)
        a.copy(RBX, RDI)
        a.store(DOUBLES, RSI)
        a.zero(R9)                                  # floats
        a.zero(R14)                                 # the length of rows; 0 if there are none
        self._items("listed", RBP, RBX, "listed none")
        a.load(R12, At(RBX, LENGTH))
        a.place(RAX, At(R12, -1))
        a.compare_number(RAX, k.eager - 1)
        a.jump_if("above", "listed none")
        a.load(RAX, At(RBP))
        a.load(RAX, At(RAX, TYPE))
        for sequence in k.lists, k.tuples:
            self.compare(RAX, sequence, RCX)
            a.jump_if("equal", "listed rows")
        self.call_or("listed scan", "listed none")
        a.store(At(RSP, LENGTHS), RAX)

    def new(self) -> None:
        """r9: how many of its parts are floats.   r14: the length of rows.   r15: a new array for them."""
        a, k = self.asm, self.known
        a.label("listed found")
        a.constant(R12, k.doubles)
        a.increase(R9, DOUBLES)
        a.test(R9)
        a.jump_if("other", "listed typed")
        a.constant(R12, k.words)
        a.label("listed typed")
        self.begin_array(R12)
        a.constant(RDX, 1)
        a.place(RCX, At(RSP, LENGTHS))
        a.test(R14)
        a.jump_if("equal", "listed of one axis")
        a.add(RDX, 1)
        a.label("listed of one axis")
        self.make_array()
        a.copy(R15, RAX)
        a.test(RAX)
        a.jump_if("other", "listed made")
        self.call("PyErr_Clear")                    # NumPy says so
        a.label("listed none")
        a.zero(RAX)
        a.label("listed leave")
        self.release(LOCAL, *KEPT)
        a.leave()

    def rows(self) -> None:
        """rbx: lists in a list, r12 of them, which begin at rbp."""
        a, k = self.asm, self.known
        a.label("listed rows")
        a.store(At(RSP, LENGTHS), R12)
        a.load(RDI, At(RBP))
        a.call("listed scan")
        a.copy(R14, RAX)
        a.label("listed row")
        a.test(RAX)
        a.jump_if("equal", "listed none")
        a.compare(R14, RAX)
        a.jump_if("other", "listed none")
        a.add(RBP, 8)
        a.count_down(R12)
        a.jump_if("equal", "listed rows whole")
        a.load(RDI, At(RBP))
        a.call("listed scan")
        a.jump("listed row")
        a.label("listed rows whole")
        a.store(At(RSP, LENGTHS + 8), R14)
        a.copy(RAX, R14)
        a.multiply(RAX, At(RSP, LENGTHS))
        a.compare_number(RAX, k.eager)
        a.jump_if("above", "listed none")
        a.jump("listed found")

    def filled(self) -> None:
        """r15: the new array.   r12: its type."""
        a = self.asm
        a.label("listed made")
        a.load(RDX, At(R15, DATA))
        a.copy(RDI, RBX)
        a.load(RSI, At(RSP, LENGTHS))
        a.test(R14)
        a.jump_if("other", "listed made of rows")
        a.call("listed fill")
        a.label("listed filled")
        a.test(RAX)
        a.jump_if("equal", "listed changed")
        a.copy(RAX, R15)
        a.jump("listed leave")
        a.label("listed changed")
        self.on("Py_DecRef", R15)
        a.jump("listed none")
        a.label("listed made of rows")
        self._items("listed made", RBP, RBX, "listed changed")
        a.compare(At(RBX, LENGTH), RSI)
        a.jump_if("other", "listed changed")
        a.copy(RAX, RDX)
        a.label("listed made row")
        a.copy(RDX, RAX)
        a.load(RDI, At(RBP))
        a.load(RSI, At(RSP, LENGTHS + 8))
        self.call_or("listed fill", "listed changed")
        a.add(RBP, 8)
        a.load(RCX, At(RSP, LENGTHS))
        a.count_down(RCX)
        a.store(At(RSP, LENGTHS), RCX)
        a.jump_if("other", "listed made row")
        a.jump("listed filled")

    def scan(self) -> None:
        """rdi: an object.   rax: how many numbers it has, if it is a list or tuple of them; else zero.
        r9: those that are floats are added; r8, r11 and what functions keep are not lost."""
        a, k = self.asm, self.known
        a.label("listed scan")
        self._items("listed scan", RSI, RDI, "listed scan not")
        a.load(RCX, At(RDI, LENGTH))
        a.copy(R10, RCX)
        a.place(RAX, At(RCX, -1))
        a.compare_number(RAX, k.eager - 1)
        a.jump_if("above", "listed scan not")
        a.label("listed scan part")
        a.load(RAX, At(RSI))
        a.load(RAX, At(RAX, TYPE))
        for types, to in (
            (k.floats, "float"), (k.integers, "next"), (k.double, "float"), (k.word, "next"),
        ):  # fmt: skip
            self.compare(RAX, types, RDX)
            a.jump_if("equal", f"listed scan {to}")
        a.label("listed scan not")
        a.zero(RAX)
        a.leave()
        a.label("listed scan float")
        a.add(R9, 1)
        a.label("listed scan next")
        a.add(RSI, 8)
        a.count_down(RCX)
        a.jump_if("other", "listed scan part")
        a.copy(RAX, R10)
        a.leave()

    def fill(self) -> None:
        """rdi: an object.   rsi: how many numbers it had.   rdx: where they go.   r12: as which type.
        rax: behind them; zero if it is not the same any more, or a number does not fit."""
        a, k = self.asm, self.known
        a.label("listed fill")
        a.push(RBX, RBP, R15)
        a.copy(RBX, RSI)
        a.copy(R15, RDX)
        self._items("listed fill", RBP, RDI, "listed fill not")
        a.compare(At(RDI, LENGTH), RBX)
        a.jump_if("other", "listed fill not")
        a.label("listed fill part")
        a.load(RDI, At(RBP))
        self.compare(R12, k.doubles, RAX)
        a.jump_if("equal", "listed fill double")
        self.call_or("number", "listed fill not", RDX)
        a.store(At(R15), RAX)
        a.label("listed fill next")
        a.add(RBP, 8)
        a.add(R15, 8)
        a.count_down(RBX)
        a.jump_if("other", "listed fill part")
        a.copy(RAX, R15)
        a.jump("listed fill leave")
        a.label("listed fill double")
        a.load(RCX, At(RDI, TYPE))
        for floats in k.floats, k.double:
            self.compare(RCX, floats, RAX)
            a.jump_if("equal", "listed fill given")
        self.call_or("number", "listed fill not", RDX)
        a.to_double(At(R15))
        a.jump("listed fill next")
        a.label("listed fill given")
        a.load(RAX, At(RDI, VALUE))
        a.store(At(R15), RAX)
        a.jump("listed fill next")
        a.label("listed fill not")
        a.zero(RAX)
        a.label("listed fill leave")
        a.pop(R15, RBP, RBX)
        a.leave()

    def is_listed(self) -> None:
        """rdi: an object.   rax: zero if it is neither a list nor a tuple; nothing else is lost."""
        a, k = self.asm, self.known
        a.label("is listed")
        for sequence in k.lists, k.tuples:
            self.compare(At(RDI, TYPE), sequence, RAX)
            a.jump_if("equal", "is listed leave")   # (rax is the type)
        a.zero(RAX)
        a.label("is listed leave")
        a.leave()

    def _items(self, label: str, to: int, sequence: int, leave: str) -> None:
        """To a register: where the items of a list or tuple are; on to `leave`, if it is none."""
        a, k = self.asm, self.known
        a.load(to, At(sequence, LIST_ITEMS))
        self.compare(At(sequence, TYPE), k.lists, RAX)
        a.jump_if("equal", f"{label} items")
        self.compare(At(sequence, TYPE), k.tuples, RAX)
        a.jump_if("other", leave)
        a.place(to, At(sequence, ITEMS))
        a.label(f"{label} items")

    # ------------------------------------------------------------------------------- bodies

    def operands(self) -> None:
        """As `bodies` and `part_calls` have operators: one operand is a list, and the other a plain array."""
        a = self.asm
        pairs = (RBP, RBX, "second"), (RBX, RBP, "first")
        for body, then, either in (
            ("binary", "binary parts", True), ("product", "product other", True),
            ("in_place", "in_place parts", False),
        ):  # fmt: skip
            a.label(f"{body} perhaps listed")
            for operand, other, name in pairs if either else pairs[:1]:
                a.copy(RDI, operand)
                self.call_or("is listed", f"{body} {name} no list")
                a.copy(RDI, other)
                self.call_or("unwrap", "back")
                a.copy(RDI, operand)
                a.zero(RSI)
                self.call_or("listed", "back")
                a.copy(R15, RAX)
                for register, given in ((RDI, RBX), (RSI, RBP)):
                    a.copy(register, R15 if given == operand else given)
                a.jump(f"{body} listed")
                a.label(f"{body} {name} no list")
            a.jump(then)
            a.label(f"{body} listed")
            for register, kept in ((RDX, R12), (R10, R13), (R11, R14)):
                a.copy(register, kept)
            a.load(R9, LOOPS)
            a.call(body)
            a.copy(R13, RAX)
            self.on("Py_DecRef", R15)
            a.copy(RAX, R13)
            self.restore()
            a.leave()

    def of_ufunc(self) -> None:
        """As `bodies` has it: rbp: r15 operands, one or two."""
        a, y = self.asm, At(RSP, 8)
        a.label("ufunc perhaps listed")
        a.zero(RAX)
        a.store(y, RAX)                             # whether there is a list
        for at in (0, 8):
            a.load(RDI, At(RBP, at))
            self.call_or("is listed", f"ufunc {at} no list")
            a.store(y, RAX)
            a.jump(f"ufunc {at} looked at")
            a.label(f"ufunc {at} no list")
            self.call_or("operand", "ufunc parts")
            a.label(f"ufunc {at} looked at")
            if not at:
                a.compare_number(R15, 1)
                a.jump_if("equal", "ufunc looked at")
        a.label("ufunc looked at")
        a.compare_number(y, 0)
        a.jump_if("equal", "ufunc parts")

    def made_for_ufunc(self) -> None:
        """The ufunc's function again, with arrays in the place of lists."""
        a, x, y = self.asm, At(RSP), At(RSP, 8)
        for at, place in ((0, x), (8, y)):
            a.load(RDI, At(RBP, at))
            a.call("is listed")
            a.test(RAX)
            a.copy(RAX, RDI)
            a.jump_if("equal", f"ufunc {at} as it is")
            a.zero(RSI)
            self.call_or("listed", "back" if not at else "ufunc one listed")
            a.jump(f"ufunc {at} found")
            a.label(f"ufunc {at} as it is")
            a.push(RAX, RAX)
            self.on("Py_IncRef", RAX)
            a.pop(RAX, RAX)
            a.label(f"ufunc {at} found")
            a.store(place, RAX)
            if not at:
                a.compare_number(R15, 1)
                a.jump_if("equal", "ufunc listed")
        a.label("ufunc listed")
        a.copy(RDI, RBX)
        a.copy(RSI, RSP)
        a.copy(RDX, R15)
        a.zero(RCX)
        a.call("ufunc")
        a.copy(R13, RAX)
        self.on("Py_DecRef", x)
        a.compare_number(R15, 1)
        a.jump_if("equal", "ufunc listed leave")
        self.on("Py_DecRef", y)
        a.label("ufunc listed leave")
        a.copy(RAX, R13)
        self.restore()
        a.leave()
        a.label("ufunc one listed")
        self.on("Py_DecRef", x)
        a.jump("back")

    def function(self) -> None:
        """(function, args, count, names): `numpy.array` and the like, of a list, perhaps with a type."""
        a, k = self.asm, self.known
        a.label("function of values")
        a.keep(RDX, COUNTED)
        a.jump_if("equal", "function")
        self.if_forced("function")
        a.load(R8, At(RSI))
        for sequence in k.lists, k.tuples:
            self.compare(At(R8, TYPE), sequence, RAX)
            a.jump_if("equal", "function of list")
        a.jump("function")
        a.label("function of list")
        a.add(RSP, -8)
        a.call("dtype given")                       # in `fresh`, as the next one
        a.add(RSP, 8)
        a.test(RAX)
        a.jump_if("equal", "function")
        a.copy(R11, RAX)
        a.zero(R9)                                  # doubles are asked for
        self.compare(R11, k.none, RAX)
        a.jump_if("equal", "function of list begins")
        a.copy(RAX, R11)
        self.call_keeping("type of two", RCX)
        a.test(R8)
        a.jump_if("equal", "function")
        self.compare(R8, k.doubles, RAX)
        a.jump_if("other", "function of list begins")
        a.constant(R9, 1)

    def function_made(self) -> None:
        """r9: are doubles asked for?   r11: the type, or None."""
        a, k = self.asm, self.known
        given = RDI, RSI, RDX, RCX, R11
        a.label("function of list begins")
        a.push(*given)
        a.load(RDI, At(RSI))
        a.copy(RSI, R9)
        a.call("listed")
        a.pop(*reversed(given))
        a.test(RAX)
        a.jump_if("equal", "function")
        self.compare(R11, k.none, R8)
        a.jump_if("equal", "function of list made")
        a.push(*given)                              # is it of that type?
        a.copy(RDI, R11)
        a.copy(RSI, RAX)
        a.copy(R8, RAX)
        a.call("own type")
        a.pop(*reversed(given))
        a.test(RAX)
        a.copy(RAX, R8)
        a.jump_if("other", "function of list made")
        a.push(*given)
        self.on("Py_DecRef", RAX)
        a.pop(*reversed(given))
        a.jump("function")
        a.label("function of list made")
        a.copy(RDI, RAX)
        self.count()
        a.constant(RSI, k.none)
        a.add(RSP, -8)
        a.call("wrap")
        a.add(RSP, 8)
        a.leave()
