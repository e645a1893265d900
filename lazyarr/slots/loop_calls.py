"""Calls of NumPy's inner loops: what lies on the stack for them, what is in rows of tables, errors that they
leave (`loops`, `mixed`, `nests`, `folds`, `products`)."""

from __future__ import annotations

from lazyarr.slots.assembler import At
from lazyarr.slots.framed import Framed
from lazyarr.slots.loop_tables import FLAGGED
from lazyarr.slots.x86 import R9, R15, RAX, RCX, RDI, RDX, RSI, RSP

MOST = 8192
"""Elements; beyond, what NumPy does around a loop takes little of the time."""
EXACT = 1 << 24
"""Integers up to this are numbers of all floating types that have loops here."""

ERRORS = 0x1D
"""Bits of the CPU's status: invalid, division by zero, overflow, underflow."""
NO_ERRORS = 0xFFC0
"""All others, but for the one that says that something was rounded."""

WORDS = 128
"""Bytes on the stack, a multiple of 16."""
ARGS, N, STEPS = 16, 40, 48
"""Where it has the addresses of operands and result, the number of elements, and the steps.  (Before: two
arguments of a function that makes arrays.)"""
LOOP, SCALAR, STATUS, SECOND, TURNED, OTHER, CAST = (At(RSP, 72 + 8 * k) for k in range(7))
"""The row of the table; a scalar's value; the CPU's status; the second array, or 0; where the first one is
among the operands, in bytes; the object that is no array; an array that one of them was cast to, or 0."""
NUMPYS, FUNCTION, GIVEN, RESULT, OF, KINDS = (8 * k for k in range(6))
"""Of a row: the type's descriptor, the loop, its last argument, the result's descriptor, the class of
scalars, and kinds."""


class LoopCalls(Framed):
    """Writes what finds loops, calls them, and looks at the errors of floating point that they leave."""

    def unless_errors(self, leave: str) -> None:
        """On to a label, if there are any."""
        a = self.asm
        a.status(STATUS)
        a.x87_status()
        a.keep(RAX, ERRORS)
        a.jump_if("other", leave)
        a.load_int(RAX, STATUS)
        a.keep(RAX, ERRORS)
        a.jump_if("other", leave)

    def without_errors(self, body: str) -> None:
        """What others left there goes, as it would in NumPy."""
        a = self.asm
        self.unless_errors(f"{body} clear")
        a.jump(f"{body} ready")
        a.label(f"{body} clear")
        a.load_int(RAX, STATUS)
        a.keep(RAX, NO_ERRORS)
        a.store(STATUS, RAX)
        a.clear_status(STATUS)
        a.label(f"{body} ready")

    def quiet(self, body: str) -> None:
        """No errors are left from before, where they count."""
        a = self.asm
        a.load(RAX, LOOP)
        a.load(RAX, At(RAX, KINDS))
        a.keep(RAX, FLAGGED)
        a.jump_if("equal", f"{body} loop quiet")
        self.without_errors(f"{body} loop")
        a.label(f"{body} loop quiet")

    def checked(self, leave: str) -> None:
        """On to a label, if the loop met an error."""
        a, label = self.asm, f"checked {len(self.asm.code)}"
        a.load(RAX, LOOP)
        a.load(RAX, At(RAX, KINDS))
        a.keep(RAX, FLAGGED)
        a.jump_if("equal", label)
        self.unless_errors(leave)
        a.label(label)

    def find_loop(self, leave: str, *places: int) -> None:
        """r9: a table.   `LOOP`: its row for the real array in r15, whose type is in those places of the row;
        on to a label, if there is none."""
        a = self.asm
        self.row_of(R15, RSI, leave)
        a.increase(RAX, R9)
        for place in places:
            a.compare(At(RAX, place), RSI)
            a.jump_if("other", leave)
        a.store(LOOP, RAX)

    def begin_result(self) -> None:
        """As `begin_array`, of the type that the loop's results have."""
        a = self.asm
        a.load(RAX, LOOP)
        self.on("Py_IncRef", At(RAX, RESULT))
        a.zero(RAX)
        a.store(At(RSP), RAX)
        a.store(At(RSP, 8), RAX)
        a.load(RSI, LOOP)
        a.load(RSI, At(RSI, RESULT))
        a.constant(RDI, self.known.real)

    def call_loop(self, run: At | None = None, given: tuple[int, int, int] = (ARGS, N, STEPS)) -> None:
        """The loop of the row, or another one, on what lies on the stack."""
        a = self.asm
        a.load(RAX, LOOP)
        a.load(RCX, At(RAX, GIVEN))
        for register, at in zip((RDI, RSI, RDX), given, strict=True):
            a.place(register, At(RSP, at))
        a.load(RAX, run or At(RAX, FUNCTION))
        a.call_at(RAX)
