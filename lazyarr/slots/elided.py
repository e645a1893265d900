"""Operators that NumPy computes in a temporary's memory, in machine code.

In:  operands of an operator whose result is NumPy's at the call (`bodies`).   Out: the same operator in
place, where one of them is an array that ends with it.
NumPy does so itself, from `elision.ELIDED` bytes on, where the interpreter asks it; but it is code here that
asks it, and each array has a wrapper.  Where a few arrays fill a cache, that takes half of a chain's time.
What only the interpreter's stack refers to has one reference; so may have what a function of C keeps: a
partial's argument, an element of an array of objects.  So the instruction under way has to be an operator's,
and its operands these: a table says where they are.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    ALIGNED,
    BASE,
    C_CONTIGUOUS,
    COMPLEX,
    DIMS,
    DOUBLE_COMPLEX,
    DTYPE,
    FLAGS,
    FLOATS,
    NDIM,
    OWNS,
    TYPE,
    TYPE_NUMBER,
    WEAK,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import Framed
from lazyarr.slots.known import Known
from lazyarr.slots.tables import OF_ONE
from lazyarr.slots.x86 import R12, R13, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP
from lazyarr.stack_operands import PLACES, RUNS

OF_TWO = {"Add": True, "Subtract": False, "Multiply": True, "TrueDivide": False, "Power": False}
"""Those that are computed so -> may it be in the second operand's memory, too?"""

OWN = C_CONTIGUOUS | ALIGNED | WRITEABLE | OWNS
"""Flags of memory of an array's own, in which its elements lie in order."""


class Elided(Framed):
    """Writes the beginning of a step of `bodies`, and the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.two, self.one, self.takes, self.operates:
            write()

    def two(self) -> None:
        """rbx, rbp: operands, of which r15 and the stack have the real arrays, or scalars."""
        a, y = self.asm, At(RSP)
        a.label("binary two")
        if not self.known.elides:
            a.jump("binary anew")
            return
        a.copy(RDI, RBX)
        a.load(RSI, y)
        a.call("takes")
        a.test(RAX)
        a.jump_if("other", "elided first")
        a.copy(RDI, RBP)
        a.copy(RSI, R15)
        self.call_or("takes", "binary anew")           # (so it is where they are complex: see "orderly")
        for name, commutes in OF_TWO.items():
            if commutes:
                self._operator(name, "elided second")
        a.jump("binary anew")
        a.label("elided first")
        for name in OF_TWO:
            self._operator(name, "elided so")
        a.jump("binary anew")

        a.label("elided second")
        a.copy(RAX, RBX)
        a.copy(RBX, RBP)
        a.copy(RBP, RAX)
        a.label("elided so")
        a.copy(R13, RDX)
        a.jump("in_place by NumPy")
        a.label("elided raised")
        a.zero(R13)
        a.jump("in_place failed")

    def one(self) -> None:
        """rbx: an operand, of which r15 has the real array."""
        a = self.asm
        a.label("unary one")
        if not self.known.elides:
            a.jump("unary anew")
            return
        a.copy(RDI, RBX)
        a.copy(RSI, R15)
        self.call_or("takes", "unary anew")
        for name, ufunc in OF_ONE.items():
            self.compare(R13, f"PyNumber_{name}", RAX)
            a.jump_if("other", f"elided no {name}")
            a.constant(R12, f"ufunc {ufunc}")
            a.jump("elided lone")
            a.label(f"elided no {name}")
        a.jump("unary anew")

        a.label("elided lone")
        self.call_or("operates", "unary anew")
        a.jump_if("negative", "elided raised")
        a.compare(At(RAX), RBX)
        a.jump_if("other", "unary anew")
        self.on("Py_IncRef", R15)
        a.push(R15, R15)                            # operand and result
        a.copy(RDI, R12)
        a.copy(RSI, RSP)
        a.constant(RDX, 2)
        a.zero(RCX)
        self.call("PyObject_Vectorcall")
        a.add(RSP, 16)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        self.count()
        a.test(R13)
        a.jump_if("equal", "in_place failed")
        self.on("Py_DecRef", R13)
        a.jump("in_place counts")

    def _operator(self, name: str, to: str) -> None:
        """On to a label, rdx the operator in place, if it has this name and the interpreter asks."""
        a, label = self.asm, f"{to} but {name}"
        self.compare(R13, f"PyNumber_{name}", RAX)
        a.jump_if("other", label)
        if name == "TrueDivide":                    # (integers have other types of results)
            a.load(RAX, At(R15, DTYPE))
            a.compare_number(At(RAX, TYPE_NUMBER), FLOATS, wide=False)
            a.jump_if("below", "binary anew")
        self.call_or("operates", "binary anew")
        a.jump_if("negative", "elided raised")
        for k, operand in enumerate((RBX, RBP)):
            a.compare(At(RAX, 8 * k), operand)
            a.jump_if("other", "binary anew")
        a.constant(RDX, f"PyNumber_InPlace{name}")
        a.jump(to)
        a.label(label)

    def takes(self) -> None:
        """rdi: an operand.   rsi: the real array of the other one, or a scalar.   rax: not zero if the first
        one seems to be a temporary that is large, and of the result's type and shape; rcx, rdx, rsi, rdi are
        lost."""
        a, k = self.asm, self.known
        a.label("takes")
        a.compare_number(At(RDI), 1, wide=False)
        a.jump_if("other", "takes not")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "takes not")
        self.compare(At(RDI, k.storage), k.none, RAX)
        a.jump_if("other", "takes not")
        a.compare_number(At(RDI, k.weak), 0)        # (who holds it weakly would find the result)
        a.jump_if("other", "takes not")
        a.load(RDI, At(RDI, k.geo))
        a.compare_number(At(RDI), 1, wide=False)
        a.jump_if("other", "takes not")
        for field in BASE, WEAK:
            a.compare_number(At(RDI, field), 0)
            a.jump_if("other", "takes not")
        a.load_int(RAX, At(RDI, FLAGS))
        a.keep(RAX, OWN)
        a.compare_number(RAX, OWN)
        a.jump_if("other", "takes not")
        a.call("nbytes")
        a.compare_number(RAX, k.elides)
        a.jump_if("below", "takes not")
        a.load(RCX, At(RDI, DTYPE))
        a.load_int(RDX, At(RCX, TYPE_NUMBER))
        a.place(RAX, At(RDX, -1))                   # (bools have other types of results)
        a.compare_number(RAX, DOUBLE_COMPLEX - 1)
        a.jump_if("above", "takes not")
        a.times_word(RDX)
        a.constant(RAX, k.native)
        a.increase(RAX, RDX)
        a.compare(At(RAX), RCX)                     # nor is there metadata, or another order of bytes
        a.jump_if("other", "takes not")
        self.compare(At(RSI, TYPE), k.real, RAX)
        a.jump_if("equal", "takes array")
        self.compare(At(RSI, TYPE), k.integers, RAX)
        a.jump_if("equal", "takes so")
        a.compare_number(RDX, 8 * FLOATS)
        a.jump_if("below", "takes not")
        self.compare(At(RSI, TYPE), k.floats, RAX)
        a.jump_if("equal", "takes so")
        a.compare_number(RDX, 8 * COMPLEX)
        a.jump_if("below", "takes not")
        self.compare(At(RSI, TYPE), k.complex, RAX)
        a.jump_if("equal", "takes so")
        a.label("takes not")
        a.zero(RAX)
        a.leave()

        a.label("takes array")
        a.compare(At(RSI, DTYPE), RCX)
        a.jump_if("other", "takes not")
        a.load_int(RAX, At(RSI, NDIM))
        a.load_int(RCX, At(RDI, NDIM))
        a.compare(RAX, RCX)
        a.jump_if("other", "takes not")
        a.load(RSI, At(RSI, DIMS))
        a.load(RDI, At(RDI, DIMS))
        a.label("takes axis")
        a.test(RAX)
        a.jump_if("equal", "takes so")
        a.load(RCX, At(RSI))
        a.compare(At(RDI), RCX)
        a.jump_if("other", "takes not")
        a.add(RSI, 8)
        a.add(RDI, 8)
        a.count_down(RAX)
        a.jump("takes axis")
        a.label("takes so")
        a.constant(RAX, 1)
        a.leave()

    def operates(self) -> None:
        """rax: where the instruction under way has its operands, if it is an operator's; else zero.  Negative
        where that raised something.

        The table is `stack_operands.OPERATORS`; of places that are not in it Python is asked, which enters
        them."""
        a, k, frame, at, code = self.asm, self.known, RBX, RBP, R12
        a.label("operates")
        a.push(frame, at, code)
        self.call("PyEval_GetFrame")
        a.test(RAX)
        a.jump_if("equal", "operates leave")        # code of C's, and no other
        a.copy(frame, RAX)
        a.copy(RDI, frame)
        self.call("PyFrame_GetLasti")
        a.copy(at, RAX)
        a.keep(at, (1 << 31) - 1)
        a.copy(RDI, frame)
        self.call("PyFrame_GetCode")
        a.copy(code, RAX)
        self.on("Py_DecRef", code)                  # (the frame has it)
        a.copy(RAX, code)
        a.whole_words(RAX)
        a.increase(RAX, at)
        a.keep(RAX, PLACES - 1)
        a.constant(RCX, 24)
        a.multiply(RAX, RCX)
        a.constant(RCX, k.operators)
        a.increase(RCX, RAX)
        a.compare(At(RCX), code)
        a.jump_if("other", "operates perhaps")
        a.compare(At(RCX, 8), at)
        a.jump_if("other", "operates perhaps")
        a.load(RAX, At(RCX, 16))
        a.label("operates found")
        a.test(RAX)
        a.jump_if("equal", "operates leave")
        a.load(RCX, At(frame, RUNS))
        a.increase(RAX, RCX)
        a.jump("operates leave")

        a.label("operates perhaps")
        a.push(frame, frame)
        a.constant(RDI, k.hear_operator)
        a.copy(RSI, RSP)
        a.constant(RDX, 1)
        a.zero(RCX)
        self.call("PyObject_Vectorcall")
        a.add(RSP, 16)
        a.test(RAX)
        a.jump_if("equal", "operates raised")
        a.copy(at, RAX)
        a.copy(RDI, at)
        self.call("PyLong_AsSsize_t")
        a.copy(code, RAX)
        self.on("Py_DecRef", at)
        a.copy(RAX, code)
        a.jump("operates found")
        a.label("operates raised")
        a.add(RAX, -1)
        a.label("operates leave")
        a.pop(code, at, frame)
        a.leave()
