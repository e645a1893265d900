"""Windows that are used again, in machine code.

In:  a geometry and where its elements are; objects of which a reference goes.   Out: a window that was made
before, with new contents, where there is one; the same as `Py_DecRef`.
To make a real array and to free it takes half of what a short call on a part takes.  So a few windows of one
axis and of two stay, held by a list (`Known.windows`) and, while nobody uses them, by nothing else; then they
refer to no memory.
Always holds: a window that somebody else might still refer to when its user lets it go is not in the list any
more; it ends as any object.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    ALIGNED,
    BASE,
    BUFFER_INFO,
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    F_CONTIGUOUS,
    FLAGS,
    NDIM,
    STRIDES,
    TYPE,
    WEAK,
)  # fmt: skip
from lazyarr.slots.assembler import At
from lazyarr.slots.tables import AXES, EACH
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

LASTING = C_CONTIGUOUS
"""What asks for a window that something else will let go, as a tuple does, by a flag that NumPy finds out."""

SHOWN = C_CONTIGUOUS | F_CONTIGUOUS | ALIGNED
"""Flags that a window has as its geometry."""


class Reused(Writer):
    """Writes steps of `parts`, and the routine."""

    def slots_of(self, array: int, to: int, scratch: int, leave: str) -> None:
        """Where the list has windows like an array; on to a label for those that it has none of."""
        a = self.asm
        a.load_int(scratch, At(array, NDIM))
        a.add(scratch, -1)
        a.compare_number(scratch, AXES - 1)
        a.jump_if("above", leave)
        a.constant(to, 8 * EACH)
        a.multiply(scratch, to)
        a.constant(to, self.known.windows)
        a.increase(to, scratch)

    def again(self) -> None:
        """rbx: a geometry; rbp: the buffer; on the stack: flags, a word, where the data is.   On to "window
        leave" with rax, if there is a window to be used again; else on."""
        a, flags, kept, data = self.asm, At(RSP), At(RSP, 8), At(RSP, 16)
        a.load(RAX, flags)
        a.keep(RAX, LASTING)
        a.jump_if("other", "window new")
        a.load(RAX, At(RBX, DATA))                  # flags tell of alignment
        a.decrease(RAX, data)
        a.keep(RAX, 15)
        a.jump_if("other", "window new")
        self.slots_of(RBX, RDI, RCX, "window new")
        for k in range(EACH):
            a.load(RAX, At(RDI, 8 * k))
            a.test(RAX)
            a.jump_if("equal", "window new")
            a.compare_number(At(RAX), 1, wide=False)
            a.jump_if("equal", "window again")
        a.jump("window new")

        a.label("window again")
        a.compare_number(At(RAX, BASE), 0)          # (somebody may have kept it for a while)
        a.jump_if("other", "window new")
        a.store(kept, RAX)
        self.on("Py_IncRef", kept, RBP)
        a.load(RAX, kept)
        a.load(RDI, At(RBX, DTYPE))
        a.compare(At(RAX, DTYPE), RDI)
        a.jump_if("equal", "window typed")
        self.call("Py_IncRef")
        a.load(RAX, kept)
        a.load(RDX, At(RBX, DTYPE))
        a.load(RDI, At(RAX, DTYPE))
        a.store(At(RAX, DTYPE), RDX)
        a.constant(RAX, "Py_DecRef")
        a.call_at(RAX)
        a.load(RAX, kept)
        a.label("window typed")
        a.load(RCX, data)
        a.store(At(RAX, DATA), RCX)
        a.store(At(RAX, BASE), RBP)
        a.load_int(RCX, At(RBX, FLAGS))
        a.keep(RCX, SHOWN)
        a.increase(RCX, flags)
        a.store(At(RAX, FLAGS), RCX)
        for at in DIMS, STRIDES:
            a.load(R8, At(RBX, at))
            a.load(R9, At(RAX, at))
            a.load(RCX, At(R8))
            a.store(At(R9), RCX)
            a.compare_number(At(RBX, NDIM), 1, wide=False)
            a.jump_if("equal", f"window line {at}")
            a.load(RCX, At(R8, 8))
            a.store(At(R9, 8), RCX)
            a.label(f"window line {at}")
        a.jump("window leave")
        a.label("window new")

    def stays(self) -> None:
        """rax: a new window, which goes on the list if there is room.   On the stack: a word, and flags."""
        a, kept, flags = self.asm, At(RSP, 8), At(RSP, 16)
        a.load(RCX, flags)
        a.keep(RCX, LASTING)
        a.jump_if("other", "window leave")
        self.slots_of(RAX, RDI, RCX, "window leave")
        for k in range(EACH):
            a.compare_number(At(RDI, 8 * k), 0)
            a.jump_if("equal", f"window stays {k}")
        a.jump("window leave")
        for k in range(EACH):
            a.label(f"window stays {k}")
            a.store(At(RDI, 8 * k), RAX)
            if k < EACH - 1:
                a.jump("window stays")
        a.label("window stays")
        a.store(kept, RAX)
        self.on("Py_IncRef", RAX)
        a.load(RAX, kept)

    def drop(self) -> None:
        """rdi: an object, of which the caller's reference goes."""
        a = self.asm
        a.label("drop")
        self.compare(At(RDI, TYPE), self.known.real, RAX)
        a.jump_if("other", "drop other")
        self.slots_of(RDI, RSI, RCX, "drop other")
        for _ in range(EACH):
            a.compare(At(RSI), RDI)
            a.jump_if("equal", "drop window")
            a.add(RSI, 8)
        a.label("drop other")
        a.constant(RAX, "Py_DecRef")
        a.jump_to(RAX)

        a.label("drop window")
        a.compare_number(At(RDI), 2, wide=False)
        a.jump_if("other", "drop held")
        for about in WEAK, BUFFER_INFO:
            a.compare_number(At(RDI, about), 0)
            a.jump_if("other", "drop held")
        a.load(RAX, At(RDI))
        a.add(RAX, -1)
        a.store(At(RDI), RAX)
        a.load(RAX, At(RDI, BASE))
        a.zero(RCX)
        a.store(At(RDI, BASE), RCX)
        a.copy(RDI, RAX)
        a.jump("drop other")
        a.label("drop held")
        a.zero(RAX)
        a.store(At(RSI), RAX)
        a.push(RDI)
        a.constant(RAX, "Py_DecRef")
        a.call_at(RAX)
        a.pop(RDI)
        a.jump("drop other")
