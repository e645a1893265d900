"""Small parts of large arrays, in machine code: windows, and what must hold before one is written to.

In:  arrays, storages, geometries, values, in registers.   Out: answers in rax.
A *window* is a real array over the memory in which a managed array lies.  It is read-only, unless it is made
for a write, refers to the buffer, and not to the buffer's memory (whose references tell who can see it:
`values.Buffer.shared`), and ends with the call: what NumPy answers is memory of its own, or the answer is
thrown away, and Python asked.

Values are written to under the lock of all values, since an evaluation by another thread may be moving this
one to other memory.  To take it takes longer than to store a row.  So where nobody holds it, and NumPy keeps
the GIL while it writes, nobody can come in between, and it is left where it is.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    BASE,
    COMPLEX,
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMSIZE,
    LENGTH,
    NDIM,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.reused import LASTING, Reused
from lazyarr.slots.x86 import R8, R9, R10, R11, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

ANY_SIZE = 1 << 40
"""Elements: as many as there are."""

KEEPS_GIL = 500
"""Elements up to which NumPy writes without giving other threads a turn (NPY_BEGIN_THREADS_THRESHOLDED)."""

TAKEN, NEEDLESS = 1, 2
"""How a write is locked."""


class Parts(Reused):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.window, self.look, self.lock, self.unlock, self.free, self.warns, self.alike, self.drop,
        ):  # fmt: skip
            write()

    def window(self) -> None:
        """rdi: a managed array; "window of": rdi: a storage, r9: a geometry in it.   rsi: the new array's
        flags.   rdx: the most elements, or words.   rax: a new array over the memory, or zero

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
        self.compare(At(RDI, TYPE), k.storages, RCX)        # what ran before may have made the array plain
        a.jump_if("other", "window none")
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
        a.store(At(RSP, 16), RDX)
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
        a.compare(At(RSP, 16), RAX)
        a.jump_if("below", "window narrow")
        a.label("window fits")
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
        self.again()
        self.on("Py_IncRef", RBP, At(RBX, DTYPE))   # the new array's references
        a.constant(RDI, k.real)
        a.load(RSI, At(RBX, DTYPE))
        a.load_int(RDX, At(RBX, NDIM))
        a.load(RCX, At(RBX, DIMS))
        a.load(R8, At(RBX, STRIDES))
        a.load(R9, At(RSP, 16))
        a.load(RAX, At(RSP))
        a.store(At(RSP, 16), RAX)                   # (arguments are the callee's)
        self.call("PyArray_NewFromDescr")
        a.test(RAX)
        a.jump_if("equal", "window no memory")
        a.store(At(RAX, BASE), RBP)
        self.stays()
        a.jump("window leave")
        a.label("window narrow")                    # many elements, but perhaps few words
        a.load(RDI, At(R9, DTYPE))
        a.multiply(RAX, At(RDI, ITEMSIZE))
        a.load(RDI, At(RSP, 16))
        a.times_word(RDI)
        a.compare(RDI, RAX)
        a.jump_if("below", "window not")
        a.jump("window fits")
        a.label("window no memory")
        self.on("Py_DecRef", RBP)
        self.call("PyErr_Clear")
        a.label("window not")
        a.zero(RAX)
        a.label("window leave")
        self.release(24, RBX, RBP)
        a.leave()

    def look(self) -> None:
        """rdi: an operand.   rax: what NumPy is to read: a plain array's real one, a window on a managed
        one, a scalar itself, with a reference that the caller owns; else zero.   "look as": rsi, rdx: the
        flags and the most elements of windows.   "look lasting": a window that may stay (`reused`)."""
        a, k = self.asm, self.known
        a.label("look lasting")
        a.constant(RSI, LASTING)
        a.jump("look usual")
        a.label("look")
        a.zero(RSI)
        a.label("look usual")
        a.constant(RDX, k.limit)
        a.load(RDX, At(RDX))
        a.label("look as")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.lazy, RCX)
        a.jump_if("other", "look scalar")
        self.compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("other", "window")
        a.load(RDI, At(RDI, k.geo))
        a.test(RDI)
        a.jump_if("equal", "look not")
        a.call("nbytes")
        self.above_limit(RAX, "look not", RCX, k.most)
        a.copy(RAX, RDI)
        a.jump("look hold")
        a.label("look not")
        a.zero(RAX)
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

    # ------------------------------------------------------------------------------- writes

    def lock(self) -> None:
        """rdi: not zero if others may get a turn meanwhile.   rax: how it is locked; zero if it is not."""
        a, k = self.asm, self.known
        a.label("lock")
        a.constant(RDX, 1)
        if k.owner:
            a.constant(RAX, k.lock)
            a.compare_number(At(RAX, k.owner), 0)
            a.jump_if("other", "lock take")
            a.zero(RDX)                             # there is nobody to wait for
            a.test(RDI)
            a.jump_if("other", "lock take")
            a.constant(RAX, NEEDLESS)
            a.leave()
        a.label("lock take")
        self.reserve(16, RBX)
        a.constant(RAX, k.false)
        a.store(At(RSP), RAX)                       # not to wait, if it is given
        a.constant(RDI, k.acquire)
        a.copy(RSI, RSP)
        a.zero(RCX)
        self.call("PyObject_Vectorcall")
        a.copy(RBX, RAX)
        a.test(RAX)
        a.jump_if("equal", "lock raised")
        self.on("Py_DecRef", RBX)
        a.constant(RAX, TAKEN)
        self.compare(RBX, k.true, RCX)
        a.jump_if("equal", "lock leave")
        a.zero(RAX)
        a.jump("lock leave")
        a.label("lock raised")
        self.call("PyErr_Clear")
        a.zero(RAX)
        a.label("lock leave")
        self.release(16, RBX)
        a.leave()

    def unlock(self) -> None:
        """rdi: how it is locked."""
        a = self.asm
        a.label("unlock")
        a.compare_number(RDI, TAKEN)
        a.jump_if("other", "unlock leave")
        a.add(RSP, -8)
        a.constant(RDI, self.known.release)
        for register in (RSI, RDX, RCX):
            a.zero(register)
        self.call("PyObject_Vectorcall")
        self.on("Py_DecRef", RAX)
        a.add(RSP, 8)
        a.label("unlock leave")
        a.leave()

    def free(self) -> None:
        """rdi: a storage on which a window was opened.   rax: not zero if nothing reads its value, and its
        memory may be written to."""
        a, k = self.asm, self.known
        a.label("free")
        a.load(RDI, At(RDI, k.value))
        a.load(RCX, At(RDI, k.readers))
        self.compare(RCX, k.none, RAX)
        a.jump_if("equal", "free memory")
        a.test(RCX)
        a.jump_if("equal", "free not")
        self.compare(At(RCX, TYPE), k.lists, RAX)
        a.jump_if("other", "free not")
        a.compare_number(At(RCX, LENGTH), 0)
        a.jump_if("other", "free not")
        a.label("free memory")
        a.load(RAX, At(RDI, k.buf))
        a.load(RAX, At(RAX, k.memory))
        a.load_int(RAX, At(RAX, FLAGS))
        a.keep(RAX, WRITEABLE)
        a.leave()
        a.label("free not")
        a.zero(RAX)
        a.leave()

    def warns(self) -> None:
        """rdi: a scalar or an array.   rsi: the geometry to hold it.   rax: not zero if NumPy may warn
        before it stores it, of complex numbers, since Python runs then; or if it is of another kind."""
        a, k = self.asm, self.known
        a.label("warns")
        a.load(RSI, At(RSI, DTYPE))
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.real, RCX)
        a.jump_if("other", "warns scalar")
        a.load(RAX, At(RDI, DTYPE))
        a.compare(RAX, RSI)
        a.jump_if("equal", "warns not")
        a.compare_number(At(RAX, TYPE_NUMBER), COMPLEX, wide=False)
        a.jump_if("below", "warns not")
        a.constant(RAX, 1)
        a.leave()
        a.label("warns not")
        a.zero(RAX)
        a.leave()
        a.label("warns scalar")
        self.found_in(k.complexes, "warns")
        a.compare_number(At(RSI, TYPE_NUMBER), COMPLEX, wide=False)
        a.jump_if("equal", "warns not")
        a.compare_number(At(RSI, TYPE_NUMBER), COMPLEX + 1, wide=False)
        a.jump_if("equal", "warns not")
        a.constant(RAX, 1)
        a.leave()

    def alike(self) -> None:
        """rdi, rsi: geometries.   rax: not zero if they are the same, as `geometry.same` says (or else it may
        be, and Python knows)."""
        a = self.asm
        a.label("alike")
        for at in (DATA, BASE, DTYPE):
            a.load(RAX, At(RDI, at))
            a.compare(At(RSI, at), RAX)
            a.jump_if("other", "alike not")
        a.load_int(RCX, At(RDI, NDIM))
        a.load_int(RAX, At(RSI, NDIM))
        a.compare(RAX, RCX)
        a.jump_if("other", "alike not")
        for to, at in ((R8, DIMS), (R9, STRIDES)):
            a.load(to, At(RDI, at))
            a.load(RDX, At(RSI, at))
            a.decrease(RDX, to)                     # from one's numbers to the other's
            a.push(RDX)
        a.pop(RSI, RDI)
        a.label("alike axis")
        a.test(RCX)
        a.jump_if("equal", "alike so")
        for numbers, further in ((R8, RDI), (R9, RSI)):
            a.load(RAX, At(numbers))
            a.copy(RDX, numbers)
            a.increase(RDX, further)
            a.compare(At(RDX), RAX)
            a.jump_if("other", "alike not")
            a.add(numbers, 8)
        a.add(RCX, -1)
        a.jump("alike axis")
        a.label("alike so")
        a.constant(RAX, 1)
        a.leave()
        a.label("alike not")
        a.zero(RAX)
        a.leave()
