"""How the slots' functions begin and end (`bodies`), and what lies on the stack in between."""

from __future__ import annotations

from lazyarr.slots.assembler import At
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

KEPT = RBX, RBP, R12, R13, R14, R15
PLACES = 40
"""Bytes on the stack for real arrays, `LOOPS`, and `NAMES`: with the six registers and the return address, a
multiple of 16."""
LOOPS, NAMES = At(RSP, 24), At(RSP, 32)
"""Where operators keep their table of loops (`loops`), or 0; where ufuncs keep the fourth word that they were
given, the names of arguments, or 0."""
COUNTED = (1 << 31) - 1
"""The bits of an argument that say how many there are (PEP 590)."""


class Framed(Writer):
    """Writes how the slots' functions begin and end (`bodies`)."""

    def enter(self, names: bool = False) -> None:
        """`names`: is there a fourth word?"""
        a = self.asm
        self.reserve(PLACES, *KEPT)
        for kept, given in ((RBX, RDI), (RBP, RSI), (R12, RDX), (R13, R10), (R14, R11)):
            a.copy(kept, given)
        if names:
            a.store(NAMES, RCX)
        self.if_forced("back")

    def call_ufunc(self) -> None:
        """rax: what the function in r13 gives for the ufunc and its rdx operands, on the stack."""
        a = self.asm
        a.load(RDI, At(RSP, 16))
        a.copy(RSI, RSP)
        a.zero(RCX)
        a.call_at(R13)

    def unless_passing(self, leave: str) -> None:
        """rbx: a managed array that has no window of elements.   On to a label if Python is to keep one with
        it, since it may last: it is no temporary, and no view, as rows are in loops."""
        a, label = self.asm, f"passing {len(self.asm.code)}"
        a.compare_number(At(RBX), 1, wide=False)
        a.jump_if("equal", label)
        self.compare(At(RBX, self.known.origin), self.known.none, RAX)
        a.jump_if("equal", leave)
        a.label(label)

    def most(self, least: int) -> None:
        """rdx: the elements of windows, that is what is NumPy's at the call now, and at least so many."""
        a, label = self.asm, f"most {len(self.asm.code)}"
        a.constant(RDX, self.known.limit)
        a.load(RDX, At(RDX))
        a.compare_number(RDX, least)
        a.jump_if("above", label)
        a.constant(RDX, least)
        a.label(label)

    def let_go(self, value: At) -> None:
        """A value that was assigned.   r15: its elements; 0 for a scalar."""
        self.asm.load(RDI, value)
        self.asm.call("elements of")
        self.asm.copy(R15, RAX)
        self.on("Py_DecRef", value)

    def assigned(self, label: str) -> None:
        """r13 is what an assignment of r15 elements gave: the end of it, for which nothing is held."""
        a = self.asm
        a.test_int(R13)
        a.jump_if("other", label)
        a.copy(RDI, R15)
        a.call("moved")
        a.test(RAX)
        a.jump_if("other", label)
        a.add(R13, -1)
        a.label(label)
        a.copy(RAX, R13)
        self.restore()
        a.leave()

    def restore(self) -> None:
        self.asm.add(RSP, PLACES)
        self.asm.pop(*reversed(KEPT))
