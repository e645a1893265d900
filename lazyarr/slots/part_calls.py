"""Operators, ufuncs, methods and functions that read small parts of large arrays, in machine code.

In:  operands of which `bodies` found that not all are plain; calls of which `calls` did, and how many of the
first arguments are arrays that the callee only reads (`tables.READING`).
Out: what NumPy's loop (`loops`), or else NumPy, gives for windows (`parts`), where that is a scalar or an
array with memory of its own; what is not computed yet, or is large, is for Python, but for matrix products,
which only NumPy computes.
An array in any other place, and so all that is written to, is Python's business; so are arrays given by name,
whatever the name.
"""

from __future__ import annotations

from lazyarr.object_fields import BASE, TYPE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.calls import (
    AT,
    FIRST,
    FLAGS,
    GIVEN,
    LARGEST,
    LEFT,
    LOCKED,
    NUMPYS,
    READ,
    RESULT,
    SHAPES,
    SPECIAL,
    VALUES,
    Calls,
)
from lazyarr.slots.framed import LOOPS, Framed
from lazyarr.slots.known import Known
from lazyarr.slots.loop_tables import word_of
from lazyarr.slots.parts import ANY_SIZE
from lazyarr.slots.tables import FINDS, LOOKS, NO_OPTIONS, PICKS, WRITES
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP


class PartOperators(Framed):
    """Writes the bodies of operators and ufuncs (`bodies`)."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.binary, self.product, self.item, self.unary, self.ufunc, self.answer:
            write()

    def pair(self, first: int | At, second: int | At, leave: str, look: str = "look") -> None:
        """What to read of two operands: to r15, and to the stack; on to `leave` if it is not NumPy's."""
        a, y = self.asm, At(RSP)
        self.real(R15, first, look, leave)
        self.real(y, second, look, f"{leave} one")
        for real in (R15, y):                               # a scalar fits whatever the array
            self.move(RCX, real)
            self.compare(At(RCX, TYPE), self.known.real, RAX)
            a.jump_if("other", f"{leave} not")
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.call("fits")
        a.test(RAX)
        a.jump_if("other", f"{leave} not")
        self.on("Py_DecRef", y)
        a.label(f"{leave} one")
        self.on("Py_DecRef", R15)
        a.jump(leave)
        a.label(f"{leave} not")

    def binary(self) -> None:
        """(a, b, c)"""
        a, y = self.asm, At(RSP)
        a.label("binary back")
        a.jump("back")
        a.label("binary parts")
        self.pair(RBX, RBP, "binary back", "look of any")
        a.load(R9, LOOPS)
        a.load(RAX, y)
        a.call("loop of reals")
        a.test(RAX)
        a.jump_if("other", "binary made")
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.label("binary made")
        a.store(At(RSP, 8), RAX)
        self.on("Py_DecRef", R15, y)
        a.jump("parts answer")

    def product(self) -> None:
        """(a, b): a matrix product, which only NumPy computes, of all that exists, however large.

        (It begins in `products`.)"""
        a, k, y, result = self.asm, self.known, At(RSP), At(RSP, 8)
        a.label("product other")
        for place, given, leave, of_numpys in (
            (R15, RBX, "back", "product real first"), (y, RBP, "product one", "product real"),
        ):  # fmt: skip
            a.copy(RDI, given)
            self.compare(At(RDI, TYPE), k.real, RAX)
            a.jump_if("equal", of_numpys)
            a.zero(RSI)
            a.constant(RDX, ANY_SIZE)
            self.call_or("look as", leave)
            self.move(place, RAX)
            if place is R15:
                a.label("product and second")
        a.label("product looked")
        for operand, given, real in (("first", RBX, R15), ("second", RBP, y)):
            self.compare(At(given, TYPE), k.lazy, RAX)
            a.jump_if("other", f"product {operand}")
            self.move(RDI, real)
            self.is_objects(RDI, RCX)                   # their products run Python
            a.jump_if("equal", "product two")
            a.label(f"product {operand}")
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.constant(RDX, 1)
        a.constant(R9, word_of("matmul"))
        a.call("dot of reals")                      # of parts, too, if they are short
        a.test(RAX)
        a.jump_if("other", "product made")
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.call_at(R13)
        a.label("product made")
        a.store(result, RAX)
        self.on("Py_DecRef", R15, y)
        a.load(RDI, result)
        a.test(RDI)
        a.jump_if("equal", "parts given")
        self.compare(At(RDI, TYPE), k.real, RCX)
        a.jump_if("other", "parts given")
        a.call("nbytes")
        self.above_limit(RAX, "product large", RCX, k.most)
        a.jump("parts answer")
        a.label("product large")
        self.manage(result)
        a.copy(R13, RAX)
        self.on("Py_DecRef", result)
        a.jump("answer")
        a.label("product real first")               # of a list (`listed`)
        self.on("Py_IncRef", RBX)
        a.copy(R15, RBX)
        a.jump("product and second")
        a.label("product real")
        self.is_objects(RDI, RCX)
        a.jump_if("equal", "product one")
        self.on("Py_IncRef", RBP)
        a.store(y, RBP)
        a.jump("product looked")
        a.label("product two")
        self.on("Py_DecRef", y)
        a.label("product one")
        self.on("Py_DecRef", R15)
        a.jump("back")

    def item(self) -> None:
        """(a, key): copies by an array as key, a mask say, or by a part."""
        a, y = self.asm, At(RSP)
        a.label("item back")
        a.load(R15, At(RBX, self.known.geo))        # (it has been a window, which has ended)
        a.jump("item gathered")
        a.label("item parts")
        self.compare(At(RBP, TYPE), self.known.lazy, RAX)
        a.jump_if("other", "item gathered")
        self.pair(RBX, RBP, "item back")
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.call("picked")
        a.store(At(RSP, 8), RAX)
        self.on("Py_DecRef", R15, y)
        a.load(RAX, At(RSP, 8))
        a.test(RAX)
        a.jump_if("equal", "get_item refused")
        a.jump("parts answer")

    def unary(self) -> None:
        """(a)"""
        a = self.asm
        a.label("unary parts")
        self.real(R15, RBX, "look")
        a.load(R9, LOOPS)
        a.call("lone loop of real")
        a.test(RAX)
        a.jump_if("other", "unary made")
        a.copy(RDI, R15)
        a.call_at(R13)
        a.label("unary made")
        a.store(At(RSP, 8), RAX)
        self.on("Py_DecRef", R15)
        a.jump("parts answer")

    def ufunc(self) -> None:
        """(ufunc, args, count, names): r15 is how many operands there are; fn, on the stack, NumPy's."""
        a, x, y, fn = self.asm, At(RSP), At(RSP, 8), At(RSP, 16)
        first, second = At(RBP), At(RBP, 8)
        a.label("ufunc back")
        a.jump("back")
        a.label("ufunc parts")
        a.compare_number(R15, 2)
        a.jump_if("equal", "ufunc parts two")
        self.real(x, first, "look of any")
        a.copy(R15, RAX)
        a.load(RAX, fn)
        a.call("loops of one")
        a.call("lone loop of real")
        a.test(RAX)
        a.jump_if("other", "ufunc made one")
        a.constant(RDX, 1)
        self.call_ufunc()
        a.label("ufunc made one")
        a.store(y, RAX)
        self.on("Py_DecRef", x)
        a.jump("parts answer")

        a.label("ufunc parts two")
        self.pair(first, second, "ufunc back", "look of any")
        a.load(RAX, x)
        a.store(y, RAX)
        a.store(x, R15)
        a.load(RAX, fn)
        a.call("loops of two")
        a.load(RAX, y)
        a.call("loop of reals")
        a.test(RAX)
        a.jump_if("other", "ufunc made")
        a.constant(RDX, 2)
        self.call_ufunc()
        a.label("ufunc made")
        a.store(fn, RAX)
        self.on("Py_DecRef", x, y)
        a.load(RAX, fn)
        a.store(y, RAX)
        a.jump("parts answer")

    def answer(self) -> None:
        """NumPy's result is on the stack: ours, unless it is a view, which nothing here makes."""
        a, k, result = self.asm, self.known, At(RSP, 8)
        a.label("parts answer")
        a.load(RAX, result)
        a.test(RAX)
        a.jump_if("equal", "parts given")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "parts given")
        a.compare_number(At(RAX, BASE), 0)
        a.jump_if("equal", "parts given")
        self.on("Py_DecRef", RAX)
        a.jump("back")
        a.label("parts given")
        a.load(R13, result)
        a.jump("answer")


class PartCalls(Calls):
    """Writes the bodies of methods and functions."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        Writer.__init__(self, asm, known)
        for write in (
            self.arguments, self.answer, self.refused, self.choices, self.product, self.special,
            self.numpy_asks,
        ):  # fmt: skip
            write()

    def arguments(self) -> None:
        """What NumPy is given, with references of ours: as many as `LEFT` says."""
        a, k = self.asm, self.known
        a.label("parts read")
        a.compare_number(READ, 0)
        a.jump_if("equal", "call back")
        a.compare_number(SPECIAL, WRITES)
        a.jump_if("equal", "changes")
        a.label("parts next")
        a.load(RCX, LEFT)
        a.copy(RDI, RBX)
        a.test(RCX)
        a.jump_if("equal", "parts operand")
        a.copy(RDX, RCX)
        a.times_word(RDX)
        a.increase(RDX, R12)
        a.load(RDI, At(RDX, -8))
        a.compare(READ, RCX)
        a.jump_if("below", "parts other")
        a.jump_if("equal", "parts other")
        a.compare(R13, RCX)
        a.jump_if("below", "parts other")           # given by name
        a.label("parts operand")
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("equal", "parts real")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "parts other")
        a.load(RSI, FLAGS)
        a.load(RDX, LARGEST)
        a.constant(RAX, k.limit)
        a.load(RAX, At(RAX))
        a.compare(RDX, RAX)
        a.jump_if("above", "parts window")
        a.copy(RDX, RAX)
        a.label("parts window")
        self.call_or("look as", "parts refused")
        self.placed()
        self.is_objects(RAX, RCX)
        a.jump_if("other", "parts placed")
        a.jump("parts refused")
        a.label("parts other")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("equal", "parts refused")
        self.compare(At(RDI, TYPE), k.ufuncs, RAX)
        a.jump_if("equal", "parts ufunc")
        a.call("argument")
        a.label("parts found")
        a.test(RAX)
        a.jump_if("equal", "parts refused")
        self.placed()
        self.on("Py_IncRef", RAX)
        a.label("parts placed")
        a.load(RCX, LEFT)
        a.compare(GIVEN, RCX)
        a.jump_if("below", "parts run")             # the first is not among those
        a.jump("parts next")

        a.label("parts real")
        a.call("operand")
        a.jump("parts found")
        a.label("parts ufunc")                      # whose method it is
        a.load(RAX, At(RDI, k.fn))
        a.jump("parts found")

        a.label("parts run")
        a.compare_number(SPECIAL, 0)
        a.jump_if("other", "parts special")
        for routine, then in ("choices", "choices"), ("product", "product"), ("labels", "product"):
            a.address(RAX, f"of {routine}")
            a.compare(FIRST, RAX)
            a.jump_if("equal", f"parts {then}")
        a.label("parts call")
        self._run(NUMPYS, VALUES, 1)
        a.store(RESULT, RAX)

    def choices(self) -> None:
        """A condition and two choices: any two of the three are small together."""
        a = self.asm
        a.label("parts choices")
        a.compare_number(GIVEN, 0)
        a.jump_if("equal", "parts places")          # where it is true
        a.compare_number(GIVEN, 2)
        a.jump_if("other", "parts refused")
        given = [At(RSP, VALUES + 8 * k) for k in range(3)]
        self.small_together(given, "parts choices", "parts refused")
        a.jump("parts call")

    def product(self) -> None:
        """Few elements are there for each of one array together with each of all others."""
        a = self.asm
        a.label("parts product")
        a.place(R10, At(RSP, VALUES))
        a.load(R11, GIVEN)
        a.constant(R9, 1)
        a.label("parts factor")
        a.load(RAX, At(R10))
        a.call("of product size")
        a.multiply(R9, RAX)
        self.above_limit(R9, "parts refused", RCX)
        a.test(R11)
        a.jump_if("equal", "parts call")
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("parts factor")

    def special(self) -> None:
        """What else must hold, of arrays that are only read (`tables.SPECIAL`)."""
        a, k, x, y = self.asm, self.known, At(RSP, VALUES), At(RSP, VALUES + 8)
        a.label("parts special")
        a.compare_number(SPECIAL, WRITES)
        a.jump_if("equal", "changes calm")
        a.compare_number(SPECIAL, NO_OPTIONS)
        a.jump_if("equal", "parts bare")
        a.compare_number(SPECIAL, PICKS)
        a.jump_if("equal", "parts picked")
        a.compare_number(SPECIAL, FINDS)
        a.jump_if("equal", "parts places")
        a.compare_number(SPECIAL, LOOKS)
        a.jump_if("equal", "parts call")
        a.compare_number(R13, 0)                    # how often is not given by position
        a.jump_if("equal", "parts refused")
        a.load(RDI, y)
        self.call_or("number", "parts refused", RDX)
        self.above_limit(RAX, "parts refused", RCX)     # (what is negative, too)
        a.copy(R9, RAX)
        a.load(RDI, x)
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "parts refused")
        a.call("size")
        a.multiply(RAX, R9)
        self.above_limit(RAX, "parts refused", RCX)
        a.jump("parts call")

        a.label("parts bare")
        a.test(R14)
        a.jump_if("other", "parts refused")
        a.load(RAX, GIVEN)
        a.compare(READ, RAX)
        a.jump_if("above", "parts call")
        a.jump("parts refused")

        a.label("parts places")
        a.load(RAX, x)
        self.call_or("few places", "parts refused")
        a.jump("parts call")

        a.label("parts picked")                     # no axis: as many as there are indices
        a.load(RAX, GIVEN)
        a.test(RAX)
        a.jump_if("equal", "parts refused")
        a.load(RDI, y)
        self.compare(At(RDI, TYPE), k.real, RCX)
        a.jump_if("other", "parts picked few")
        a.call("size")
        self.above_limit(RAX, "parts refused", RCX)
        a.label("parts picked few")
        a.load(RAX, GIVEN)
        a.add(RAX, -1)
        a.increase(RAX, R14)
        a.test(RAX)
        a.jump_if("equal", "parts call")
        a.load(RDI, x)
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "parts refused")
        a.call("size")
        self.above_limit(RAX, "parts refused", RCX)
        a.jump("parts call")

    def answer(self) -> None:
        a, k = self.asm, self.known
        a.compare_number(LOCKED, 0)
        a.jump_if("other", "changed")
        a.load(RAX, RESULT)
        a.test(RAX)
        a.jump_if("equal", "parts answered")
        a.compare_number(SHAPES, 0)
        a.jump_if("other", "shapes answer")
        a.label("parts answer read")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("equal", "parts array")
        self.compare(At(RBX, TYPE), k.ufuncs, RCX)  # (any object, which nobody makes twice)
        a.jump_if("equal", "parts answered")
        self.compare(At(RAX, TYPE), k.lists, RCX)   # of numbers
        a.jump_if("equal", "parts answered")
        self.compare(At(RAX, TYPE), k.bytes, RCX)
        a.jump_if("equal", "parts answered")
        self.compare(At(RAX, TYPE), k.tuples, RCX)  # of new arrays
        a.jump_if("equal", "parts container")
        a.copy(RDI, RAX)
        a.call("unwrap")
        a.test(RAX)
        a.jump_if("other", "parts answered")
        a.jump("parts thrown away")
        a.label("parts array")
        a.copy(RDI, RAX)
        a.compare(At(RSP, VALUES), RDI)
        a.jump_if("equal", "parts same")
        a.load(RAX, At(RDI, BASE))
        a.test(RAX)
        a.jump_if("equal", "parts new")
        a.compare(At(RSP, VALUES), RAX)
        a.jump_if("equal", "shapes of window")
        a.copy(RDI, RAX)
        self.unless_alone(RDI, "parts thrown away")
        a.label("parts new")
        a.call("nbytes")
        self.above_limit(RAX, "parts large", RCX, k.most)
        self.count()
        a.constant(RSI, k.none)
        a.jump("take wrap")
        a.label("parts large")                      # of a fold along a short axis
        self.count()
        self.manage(RESULT)
        a.store(AT, RAX)
        self.on("Py_DecRef", RESULT)
        a.load(RAX, AT)
        a.store(RESULT, RAX)
        a.jump("take done")
        a.label("parts container")
        self.count()
        a.jump("take container")
        a.label("parts same")                       # the array itself, as it would be
        self.compare(At(RBX, TYPE), k.lazy, RAX)
        a.jump_if("other", "parts thrown away")     # (one of NumPy's, as it was given)
        self.on("Py_IncRef", RBX)
        a.load(RDI, RESULT)
        a.constant(RAX, "Py_DecRef")                # (the window is not let go yet)
        a.call_at(RAX)
        a.store(RESULT, RBX)
        a.label("parts answered")
        a.compare_number(SPECIAL, LOOKS)
        a.jump_if("equal", "take done")
        self.count()
        a.jump("take done")
        a.label("parts thrown away")                # nothing was written to, so Python may do it again
        self.on("Py_DecRef", RESULT)

    def refused(self) -> None:
        """Back, without those that were placed."""
        a = self.asm
        a.label("parts refused")
        a.load(RCX, LEFT)
        a.test(RCX)
        a.jump_if("equal", "changes not")
        a.add(RCX, -1)
        a.store(LEFT, RCX)
        a.times_word(RCX)
        a.increase(RCX, RSP)
        self.on("Py_DecRef", At(RCX, VALUES))
        a.jump("parts refused")

    def numpy_asks(self) -> None:
        """As `array_ufunc`, where an operand is managed."""
        a, k = self.asm, self.known
        x, y = At(RSP, VALUES), At(RSP, VALUES + 8)
        a.label("array ufunc parts")
        for at, place, leave in ((16, x, "call back"), (24, y, "array ufunc one")):
            a.load(RDI, At(R12, at))
            self.call_or("look of any", leave)
            a.store(place, RAX)
        for place in (x, y):
            a.load(RDI, place)
            self.compare(At(RDI, TYPE), k.real, RAX)
            a.jump_if("other", "array ufunc run")
        a.load(RDI, x)
        a.load(RSI, y)
        a.call("fits")
        a.test(RAX)
        a.jump_if("other", "array ufunc run")
        self.on("Py_DecRef", y)
        a.label("array ufunc one")
        self.on("Py_DecRef", x)
        a.jump("call back")
        a.label("look of any lasting")
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "look lasting")
        a.jump("look real")
        a.label("look of any")
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "look")
        a.label("look real")
        a.call("operand")
        a.test(RAX)
        a.jump_if("other", "look hold")
        a.leave()
