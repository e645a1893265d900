"""Sums, differences and products of short rows, in machine code, with the arguments of NumPy's inner loops.

In:  rows that lie in one run, or one number in the place of one of them.   Out: a row, apart from both, or in
the place of one; each element as NumPy has it, but for the NaN that two NaNs give.
NumPy's loops look for overlaps, and which of their ways to go, for as long as a row of eight takes.
"""

from __future__ import annotations

from itertools import product

from lazyarr.slots.assembler import Assembler, At, Scalars
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI

OPCODES = {"add": 0x58, "subtract": 0x5C, "multiply": 0x59}
"""Ufunc -> what does it, behind 0x0f."""
TYPES = {
    "f": Scalars(4, b"\xf3", b"", b"\x0f\xc6\xc0\x00"),
    "d": Scalars(8, b"\xf2", b"\x66", b"\x66\x0f\x14\xc0"),
}
"""Type -> its instructions; the last one fills the first vector with its first element."""
ROWS = tuple(product(OPCODES, TYPES))
VECTOR = 16
"""Bytes."""
COPY = 0x28
"""The opcode for whole vectors."""


def rows_of(ufunc: str, char: str) -> str:
    """The label of the loop."""
    return f"rows of {ufunc} {char}"


class ShortRows(Writer):
    """Writes the loops."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for ufunc, char in ROWS:
            self.rows(rows_of(ufunc, char), OPCODES[ufunc], TYPES[char])

    def rows(self, name: str, opcode: int, of: Scalars) -> None:
        """(addresses, number, steps): at least one of the steps is not zero, and then an element's bytes."""
        a = self.asm
        a.label(name)
        a.load(R8, At(RSI))
        for register, base, at in (
            (R9, RDI, 0), (R10, RDI, 8), (R11, RDI, 16), (RAX, RDX, 0), (RCX, RDX, 8),
        ):  # fmt: skip
            a.load(register, At(base, at))
        a.test(RAX)
        a.jump_if("equal", f"{name} first one")
        a.test(RCX)
        a.jump_if("equal", f"{name} second one")
        self._pass(name, opcode, of, (R9, R10))
        for place, one, row in (("first", R9, R10), ("second", R10, R9)):
            a.label(f"{name} {place} one")
            a.load_vector(of.single, 0, At(one))
            a.fill_vector(of)
            a.vector(COPY, b"", 2, 0)
            self._pass(f"{name} {place}", opcode, of, (row,), one is R9)

    def _pass(self, name: str, opcode: int, of: Scalars, rows: tuple[int, ...], turned: bool = True) -> None:
        """r8 elements, of two rows, or of one and the number in the third vector, which is the first operand
        or the second."""
        a, lanes = self.asm, VECTOR // of.size
        for label, elements, prefix in ((name, lanes, of.packed), (f"{name} rest", 1, of.single)):
            a.label(f"{label} next")
            a.add(R8, -elements)
            a.jump_if("negative", f"{label} done")
            a.load_vector(prefix, 0, At(rows[0]))
            if len(rows) > 1:
                a.load_vector(prefix, 1, At(rows[1]))
            else:
                a.vector(COPY, b"", 1, 2)
                if turned:
                    a.vector(COPY, b"", 1, 0)
                    a.vector(COPY, b"", 0, 2)
            a.vector(opcode, prefix, 0, 1)
            a.store_vector(At(R11), 0, prefix)
            for register in (*rows, R11):
                a.add(register, elements * of.size)
            a.jump(f"{label} next")
            a.label(f"{label} done")
            if elements > 1:
                a.add(R8, lanes)
        a.leave()
