"""What the slots' functions do, in machine code: one body for each kind of slot.

In:  operands.   Out: the slot's result.
A slot's own function puts two words into registers, and jumps to the body of its kind:

    r10   the function of Python's C interface that does it, `PyNumber_Add` say
    r11   what finds the Python method: what was in the slot before, or a function of the kind `operator`

Each body asks whether the operands are NumPy's business; where one is managed, it goes on in `part_calls` or
`part_writes`; if none of it is, it goes to r11 with the arguments that it was given, as if it had not been
there.  Else it calls r10 with the real arrays, and wraps what comes back.

Registers that functions keep hold, in all bodies: rbx, rbp, r12 the arguments; r13 what is called, then its
result; r14 what was there before; r15 the first array.  Other real arrays are on the stack.
Invariants: the GIL is held throughout; while anything is called that may run Python, each array that is
passed has a reference of ours, so that it stays, and so that NumPy does not take it for a temporary; nothing
has been done when r11 is asked.
"""

from __future__ import annotations

from lazyarr.object_fields import BASE, DIMS, ITEMS, NDIM, NIN, NOUT, TYPE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import COUNTED, NAMES, PLACES, Framed
from lazyarr.slots.known import Known
from lazyarr.slots.parts import ANY_SIZE
from lazyarr.slots.x86 import R8, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP


class Bodies(Framed):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.binary, self.operator, self.in_place, self.unary, self.length, self.iterate,
            self.contains, self.ufunc, self.ufunc_by_python, self.answers, self.back, self.answer,
        ):  # fmt: skip
            write()

    # -------------------------------------------------------------------------------- parts

    def binary(self) -> None:
        """(a, b, c): c is what a comparison asks, or the modulus of a power; any other slot has none.

        What is entered begins in `loops`, as operators in place do."""
        a, y = self.asm, At(RSP)
        a.label("binary by NumPy")
        self.real(R15, RBX, "operand", "binary perhaps listed")
        self.real(y, RBP, "operand", "binary perhaps listed")
        self.compare(At(RAX, TYPE), self.known.real, RCX)
        a.jump_if("other", "binary two")            # an array and a scalar
        self.compare(At(R15, TYPE), self.known.real, RCX)
        a.jump_if("other", "binary turned")
        self._unless_passing(RBX, R15, "binary passing")
        self._unless_passing(RBP, y, "binary passing")
        self.small(R15, y, "fits apart")
        a.jump("binary two")
        a.label("binary passing")
        self.small(R15, y)
        a.jump("binary two")                        # in `elided`
        a.label("binary anew")
        self.on("Py_IncRef", R15, y)
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, y)
        a.jump("answer")
        a.label("binary turned")                    # a scalar and an array, which may be a temporary
        self._unless_passing(RBP, y, "binary turned passing")
        a.jump("binary two")
        a.label("binary turned passing")
        a.load(RDI, y)
        a.call("orderly")
        a.test(RAX)
        a.jump_if("other", "binary two")
        a.jump("back")

    def _unless_passing(self, given: int, real: int | At, to: str) -> None:
        """On to a label if an operand may be a temporary, in whose memory NumPy would compute: nobody else
        refers to it, and the memory is its own."""
        a, label = self.asm, f"lasts {len(self.asm.code)}"
        a.compare_number(At(given), 1, wide=False)
        a.jump_if("other", label)
        self.move(RCX, real)
        a.compare_number(At(RCX, BASE), 0)
        a.jump_if("equal", to)
        a.label(label)

    def operator(self) -> None:
        """(a, b, c): by Python's methods, `__add__` in r10, `__radd__` in r11; a power may have a modulus.

        As CPython's own function for the slot, which asks first whether the slot still holds itself."""
        a = self.asm
        a.label("power operator")
        self.compare(RDX, self.known.none, RAX)
        a.jump_if("equal", "operator")
        self.compare(At(RDI, TYPE), self.known.lazy, RAX)
        a.constant(R8, 3)
        a.jump_if("equal", "operator on")
        a.constant(RDI, self.known.not_implemented)
        a.add(RSP, -8)
        self.call("Py_IncRef")
        a.add(RSP, 8)
        a.constant(RAX, self.known.not_implemented)
        a.leave()
        a.label("operator")
        a.constant(R8, 2)
        self.compare(At(RDI, TYPE), self.known.lazy, RAX)
        a.jump_if("equal", "operator on")
        a.copy(R10, R11)
        a.copy(RAX, RDI)
        a.copy(RDI, RSI)
        a.copy(RSI, RAX)
        a.label("operator on")
        a.add(RSP, -PLACES)
        for k, given in enumerate((RDI, RSI, RDX)):
            a.store(At(RSP, 8 * k), given)
        a.copy(RDI, R10)
        a.copy(RSI, RSP)
        a.copy(RDX, R8)
        a.zero(RCX)
        self.call("PyObject_Vectorcall")
        a.add(RSP, PLACES)
        a.leave()

    def in_place(self) -> None:
        """(a, b, c): the same as `binary`, into a."""
        a, y = self.asm, At(RSP)
        a.label("in_place by NumPy")
        self.real(R15, RBX, otherwise="in_place parts")
        self.real(y, RBP, "operand", "in_place perhaps listed")
        self.on("Py_IncRef", R15, y)
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, y)
        self.count()
        a.test(R13)
        a.jump_if("equal", "in_place failed")
        self.on("Py_DecRef", R13)                  # it is a's real array
        a.label("in_place counts")
        a.load(RDI, At(RBX, self.known.geo))
        a.call("written")
        a.copy(R13, RAX)
        a.test(RAX)
        a.jump_if("equal", "in_place failed")
        self.on("Py_IncRef", RBX)
        a.copy(R13, RBX)
        a.label("in_place failed")
        a.copy(RAX, R13)
        self.restore()
        a.leave()

    def unary(self) -> None:
        a = self.asm
        a.label("unary by NumPy")                   # (it begins in `loops`)
        self.real(R15, RBX, otherwise="unary parts")
        a.jump("unary one")                         # in `elided`
        a.label("unary anew")
        self.on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        a.jump("answer")

    def length(self) -> None:
        """(a): any lazy array knows its own."""
        a = self.asm
        a.label("length")
        a.load(RAX, At(RDI, self.known.geo))
        a.test(RAX)
        a.jump_if("equal", "length before")
        a.load_int(RCX, At(RAX, NDIM))
        a.test_int(RCX)
        a.jump_if("equal", "length before")
        a.load(RAX, At(RAX, DIMS))
        a.load(RAX, At(RAX))
        a.leave()
        a.label("length before")
        a.jump_to(R11)

    def iterate(self) -> None:
        """(a): the elements of one axis; the rows of several, which "row" makes when it is asked."""
        a, k = self.asm, self.known
        a.label("iterate")
        a.load(RAX, At(RDI, k.geo))
        a.test(RAX)
        a.jump_if("equal", "iterate before")
        a.compare_number(At(RAX, NDIM), 1, wide=False)
        a.jump_if("other", "iterate rows")
        self.is_objects(RAX, RCX)
        a.jump_if("equal", "iterate before")
        self.compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("other", "iterate part")
        a.copy(RDI, RAX)
        a.jump_to(R10)
        a.label("iterate before")
        a.jump_to(R11)

        a.label("iterate rows")
        a.jump_if("below", "iterate before")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "iterate before")
        a.constant(RAX, "PySeqIter_New")
        a.jump_to(RAX)

        a.label("iterate part")                     # by a window that stays, so it refers to the memory
        a.push(RBX, R12, R13)
        for kept, given in ((RBX, RDI), (R12, R10), (R13, R11)):
            a.copy(kept, given)
        a.zero(RSI)
        a.constant(RDX, ANY_SIZE)
        self.call_or("window", "iterate no window")
        a.copy(RBX, RAX)
        a.load(R13, At(RBX, BASE))
        a.load(RDI, At(R13, k.memory))
        a.store(At(RBX, BASE), RDI)
        self.call("Py_IncRef")
        self.on("Py_DecRef", R13)
        a.copy(RDI, RBX)
        a.call_at(R12)
        a.copy(R12, RAX)
        self.on("Py_DecRef", RBX)
        a.copy(RAX, R12)
        a.pop(R13, R12, RBX)
        a.leave()
        a.label("iterate no window")
        a.copy(RDI, RBX)
        a.copy(RAX, R13)
        a.pop(R13, R12, RBX)
        a.jump_to(RAX)

    def contains(self) -> None:
        """(a, scalar): whether it is among the elements; an int."""
        a = self.asm
        a.label("contains")
        self.enter()
        a.load(RAX, At(RBP, TYPE))
        self.call_or("scalar type", "back")
        self.real(R15, RBX, "look")
        self.is_objects(R15, RAX)
        a.jump_if("equal", "contains not")
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        self.count()
        a.copy(RAX, R13)
        self.restore()
        a.leave()
        a.label("contains not")
        self.on("Py_DecRef", R15)
        a.jump("back")

    def ufunc(self) -> None:
        """(ufunc, args, count, names): of one or two operands and one result, or two where all are given as
        they are."""
        a, x, y, fn = self.asm, At(RSP), At(RSP, 8), At(RSP, 16)
        first, second = At(RBP), At(RBP, 8)
        a.label("ufunc")
        a.keep(RDX, COUNTED)
        a.constant(R10, "PyObject_Vectorcall")
        a.address(R11, "ufunc by Python")
        self.enter(names=True)
        a.load(RAX, At(RBX, self.known.fn))
        a.test(RAX)
        a.jump_if("equal", "back")
        a.store(fn, RAX)
        a.load_int(R15, At(RAX, NIN))
        a.compare_number(At(RAX, NOUT), 1, wide=False)
        a.jump_if("equal", "ufunc of one result")
        a.compare_number(At(RAX, NOUT), 2, wide=False)
        a.jump_if("other", "back")
        a.test(RCX)
        a.jump_if("other", "back")
        a.compare(R12, R15)
        a.jump_if("other", "back")
        a.label("ufunc of one result")
        a.test(RCX)
        a.jump_if("other", "ufunc named")
        a.compare(R12, R15)
        a.jump_if("other", "ufunc more")
        a.compare_number(R15, 1)
        a.jump_if("equal", "ufunc of one")          # in `loops`
        a.compare_number(R15, 2)
        a.jump_if("other", "back")
        a.load(RAX, fn)
        a.jump("ufunc named so")                    # in `loops`
        a.label("ufunc whole")
        self.real(x, first, "operand", "ufunc perhaps listed")
        self.real(y, second, "operand", "ufunc perhaps listed")
        a.load(RDI, x)                              # the only array, or the first
        a.compare(RDI, RAX)                         # (one array twice is as small as alone)
        a.jump_if("equal", "ufunc size")
        self.compare(At(RAX, TYPE), self.known.real, RCX)
        a.jump_if("other", "ufunc size")            # the second is a scalar
        self.compare(At(RDI, TYPE), self.known.real, RCX)
        a.jump_if("equal", "ufunc arrays")
        a.copy(RDI, RAX)
        a.jump("ufunc size")
        a.label("ufunc arrays")
        self.small(x, y, "fits apart")
        a.jump("ufunc two")
        a.label("ufunc size")
        self.compare(At(RDI, TYPE), self.known.real, RAX)
        a.jump_if("other", "ufunc scalars")
        a.call("words")
        self.above_limit(RAX, "back", RCX)
        a.compare_number(R15, 1)
        a.jump_if("equal", "ufunc call")
        a.label("ufunc two")
        self.on("Py_IncRef", y)
        a.label("ufunc call")
        self.on("Py_IncRef", x)
        self._call_ufunc()
        self.on("Py_DecRef", x)
        a.compare_number(R15, 1)
        a.jump_if("equal", "ufunc answer")
        self.on("Py_DecRef", y)
        a.label("ufunc answer")
        a.load(RAX, fn)
        a.compare_number(At(RAX, NOUT), 1, wide=False)
        a.jump_if("equal", "answer")
        a.jump("answers")
        a.label("ufunc scalars")                    # no array: nobody counts them
        self._call_ufunc()
        a.jump("give")
        a.label("ufunc one")
        self.real(x, first, "operand", "ufunc perhaps listed")
        a.copy(RDI, RAX)
        a.jump("ufunc size")

    def ufunc_by_python(self) -> None:
        """(ufunc, args, count, names)"""
        a = self.asm
        a.label("ufunc by Python")
        a.constant(R10, self.known.ufunc_method)
        a.jump("call of Python")

    def _call_ufunc(self) -> None:
        """r13: what it gives for r15 operands, which are on the stack, as the ufunc is."""
        self.asm.copy(RDX, R15)
        self.call_ufunc()
        self.asm.copy(R13, RAX)

    # ---------------------------------------------------------------------------- their ends

    def answers(self) -> None:
        """r13 is a tuple of two results, which NumPy has made, or zero."""
        a = self.asm
        a.label("answers")
        a.test(R13)
        a.jump_if("equal", "give")
        for place in (At(R13, ITEMS), At(R13, ITEMS + 8)):
            a.load(RDI, place)
            a.constant(RSI, self.known.none)
            a.call("wrap")
            a.store(place, RAX)
            a.test(RAX)
            a.jump_if("equal", "answers lost")
        a.copy(RAX, R13)
        self.restore()
        a.leave()
        a.label("answers lost")                     # (no memory: the array is gone)
        self.on("Py_DecRef", R13)
        a.zero(R13)
        a.jump("give")

    def back(self) -> None:
        """Not here: what was in the slot before."""
        a = self.asm
        a.label("back")
        a.load(RCX, NAMES)                          # (of ufuncs: others take no fourth word)
        for given, kept in ((RDI, RBX), (RSI, RBP), (RDX, R12), (R11, R14)):
            a.copy(given, kept)
        self.restore()
        a.jump_to(R11)

    def answer(self) -> None:
        """r13 is NumPy's result, which counts, or does not."""
        a = self.asm
        a.label("answer")
        self.count()
        a.label("give")
        a.copy(RDI, R13)
        a.constant(RSI, self.known.none)
        a.call("wrap")
        self.restore()
        a.leave()
