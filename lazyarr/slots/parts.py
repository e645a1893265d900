"""Small parts of large arrays, in machine code: windows, and the operators and ufuncs that read them.

In:  what the bodies of operators and ufuncs found no plain array (`bodies`).
Out: NumPy's result, as for plain arrays; what is not computed yet, or is large, is for Python.
A *window* is a real array over the memory in which a managed array lies.  It is read-only, refers to the
buffer, and not to the buffer's memory (whose references tell who can see it: `values.Buffer.shared`), and
ends with the call: what NumPy answers is memory of its own, or the answer is thrown away, and Python asked.
So a window is for what only reads.  Who reads a value that is to be overwritten, `part_writes` asks.
"""

from __future__ import annotations

from lazyarr.slots.assembler import (
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    Assembler,
    At,
)  # fmt: skip
from lazyarr.slots.fields import (
    BASE, DATA, DIMS, DTYPE, ITEMS, ITEMSIZE, NDIM, STRIDES, TYPE,
)  # fmt: skip
from lazyarr.slots.routines import Framed, Known


class Parts(Framed):
    """Writes the routines, and the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.window, self.look, self.binary, self.unary, self.ufunc, self.answer:
            write()

    # ----------------------------------------------------------------------------- routines

    def window(self) -> None:
        """rdi: a managed array; "window of": rdi: a storage, r9: a geometry in it.   rsi: the new array's
        flags.   rax: a new array over the memory, if that exists and the array is small; else zero.

        As `windows.small_part`, and like NumPy's own constructor it looks whether all lies in that memory."""
        a, k = self.asm, self.known
        a.label("window")
        a.load(R9, At(RDI, k.geo))
        a.load(RDI, At(RDI, k.storage))
        a.test(R9)
        a.jump_if("equal", "window none")
        a.label("window of")
        a.test(RDI)
        a.jump_if("equal", "window none")
        a.load(RAX, At(RDI, k.value))
        a.test(RAX)
        a.jump_if("equal", "window none")
        self.compare(At(RAX, k.op), k.none, RCX)
        a.jump_if("other", "window none")           # still to be computed
        a.load(R8, At(RAX, k.buf))
        a.test(R8)
        a.jump_if("equal", "window none")
        self.compare(At(R8, TYPE), k.buffers, RCX)
        a.jump_if("other", "window none")
        a.load(R11, At(R8, k.memory))
        a.test(R11)
        a.jump_if("equal", "window none")
        a.load(R10, At(R9, BASE))
        a.test(R10)
        a.jump_if("equal", "window none")
        self.compare(At(R10, TYPE), k.real, RCX)
        a.jump_if("equal", "window sizes")
        a.label("window none")
        a.zero(RAX)
        a.leave()

        a.label("window sizes")
        a.push(RBX, RBP)
        a.add(RSP, -24)                             # two arguments, and the data
        a.store(At(RSP), RSI)
        a.zero(RCX)
        a.store(At(RSP, 8), RCX)
        a.copy(RBP, R8)
        a.load(RDX, At(R9, DATA))
        a.decrease(RDX, At(R10, DATA))
        a.copy(RBX, RDX)                            # rdx, rbx: first and last of the elements, in bytes
        a.load_int(RCX, At(R9, NDIM))
        a.load(R10, At(R9, DIMS))
        a.load(RDI, At(R9, STRIDES))
        a.constant(RAX, 1)
        a.label("window axis")
        a.test(RCX)
        a.jump_if("equal", "window whole")
        a.load(R8, At(R10))
        a.multiply(RAX, R8)
        a.add(R8, -1)
        a.multiply(R8, At(RDI))
        a.add(R10, 8)
        a.add(RDI, 8)
        a.add(RCX, -1)
        a.test(R8)
        a.jump_if("negative", "window backwards")
        a.increase(RBX, R8)
        a.jump("window axis")
        a.label("window backwards")
        a.increase(RDX, R8)
        a.jump("window axis")
        a.label("window whole")
        a.test(RAX)
        a.jump_if("equal", "window leave")
        a.compare_number(RAX, k.eager)
        a.jump_if("above", "window not")
        a.test(RDX)
        a.jump_if("negative", "window not")
        a.load(RDI, At(R9, DTYPE))
        a.increase(RBX, At(RDI, ITEMSIZE))
        a.load(R10, At(R11, DIMS))
        a.compare(At(R10), RBX)
        a.jump_if("below", "window not")

        a.load(RAX, At(R9, DATA))
        a.load(R10, At(R9, BASE))
        a.decrease(RAX, At(R10, DATA))
        a.increase(RAX, At(R11, DATA))
        a.store(At(RSP, 16), RAX)
        a.copy(RBX, R9)
        self.on("Py_IncRef", RBP, At(RBX, DTYPE))   # the new array's references
        a.constant(RDI, k.real)
        a.load(RSI, At(RBX, DTYPE))
        a.load_int(RDX, At(RBX, NDIM))
        a.load(RCX, At(RBX, DIMS))
        a.load(R8, At(RBX, STRIDES))
        a.load(R9, At(RSP, 16))
        self.call("PyArray_NewFromDescr")
        a.test(RAX)
        a.jump_if("equal", "window no memory")
        a.store(At(RAX, BASE), RBP)
        a.jump("window leave")
        a.label("window no memory")
        self.on("Py_DecRef", RBP)
        self.call("PyErr_Clear")
        a.label("window not")
        a.zero(RAX)
        a.label("window leave")
        a.add(RSP, 24)
        a.pop(RBP, RBX)
        a.leave()

    def look(self) -> None:
        """rdi: an operand.   rax: what NumPy is to read: a plain array's real one, a window on a managed
        one, a scalar itself, with a reference that the caller owns; else zero."""
        a, k = self.asm, self.known
        a.label("look")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.lazy, RCX)
        a.jump_if("other", "look scalar")
        a.zero(RSI)
        self.compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("other", "window")
        a.load(RAX, At(RDI, k.geo))
        a.test(RAX)
        a.jump_if("other", "look hold")
        a.leave()
        a.label("look scalar")
        self.found_in(k.scalars, "look")
        a.copy(RAX, RDI)
        a.label("look hold")
        a.push(RBX)
        a.copy(RBX, RAX)
        self.on("Py_IncRef", RBX)
        a.copy(RAX, RBX)
        a.pop(RBX)
        a.leave()

    # -------------------------------------------------------------------------------- bodies

    def pair(self, first: int | At, second: int | At, leave: str) -> None:
        """What to read of two operands: to r15, and to the stack; on to `leave` if it is not NumPy's."""
        a, y = self.asm, At(RSP)
        self.real(R15, first, "look", leave)
        self.real(y, second, "look", f"{leave} one")
        for real, given in ((R15, first), (y, second)):     # a scalar fits whatever the array
            self.move(RCX, given)
            self.move(RAX, real)
            a.compare(RAX, RCX)
            a.jump_if("equal", f"{leave} not")
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
        self.pair(RBX, RBP, "binary back")
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.store(At(RSP, 8), RAX)
        self.on("Py_DecRef", R15, y)
        a.jump("parts answer")

    def unary(self) -> None:
        """(a)"""
        a = self.asm
        a.label("unary parts")
        self.real(R15, RBX, "look")
        a.copy(RDI, R15)
        a.call_at(R13)
        a.store(At(RSP, 8), RAX)
        self.on("Py_DecRef", R15)
        a.jump("parts answer")

    def ufunc(self) -> None:
        """(ufunc, args, kwargs): r15 is how many operands there are, fn, on the stack, NumPy's ufunc."""
        a, x, y, fn = self.asm, At(RSP), At(RSP, 8), At(RSP, 16)
        first, second = At(RBP, ITEMS), At(RBP, ITEMS + 8)
        a.label("ufunc back")
        a.jump("back")
        a.label("ufunc parts")
        a.compare_number(R15, 2)
        a.jump_if("equal", "ufunc parts two")
        self.real(x, first, "look")
        self._call_ufunc(1)
        a.store(y, RAX)
        self.on("Py_DecRef", x)
        a.jump("parts answer")

        a.label("ufunc parts two")
        self.pair(first, second, "ufunc back")
        a.load(RAX, x)
        a.store(y, RAX)
        a.store(x, R15)
        self._call_ufunc(2)
        a.store(fn, RAX)
        self.on("Py_DecRef", x, y)
        a.load(RAX, fn)
        a.store(y, RAX)
        a.jump("parts answer")

    def _call_ufunc(self, operands: int) -> None:
        a = self.asm
        a.load(RDI, At(RSP, 16))
        a.copy(RSI, RSP)
        a.constant(RDX, operands)
        a.zero(RCX)
        a.call_at(R13)

    def answer(self) -> None:
        """NumPy's result is on the stack: ours, unless it is a view of something, which nothing here makes."""
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
