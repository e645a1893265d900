"""Machine code for x86-64, instruction by instruction: as many kinds as the slots' functions need.

In:  calls of an `Assembler`'s methods, registers by number, labels by name.   Out: bytes, for any address,
and where words belong that each process knows for itself.
LLVM would write it as well, but takes longer to load than most programs run, and small arrays must be fast
from the first operation on.
"""

from __future__ import annotations

from struct import Struct, pack_into
from typing import Any

from lazyarr.records import NamedTuple
from lazyarr.slots.x86 import R8, RDX, RSP

CONDITIONS = {"below": 2, "equal": 4, "other": 5, "above": 7, "negative": 8}
"""Of conditional jumps: unsigned comparisons."""

_CMP, _MOV, _LOAD, _LEA, _TEST, _XOR, _INCREASE, _DECREASE = 0x39, 0x89, 0x8B, 0x8D, 0x85, 0x31, 0x03, 0x2B
_MOV_BYTE = 0x88
"""Opcodes of a register and a register, or memory."""
_INT, _CONSTANT = Struct("<i").pack, Struct("<BBQ").pack
_ADD, _AND, _SUB, _COMPARE = 0, 4, 5, 7
"""What 0x81 does to a register, or memory, with a constant."""


class At(NamedTuple):
    """A word in memory."""

    base: int
    offset: int = 0


class Scalars(NamedTuple):
    """Numbers of a type, in vectors."""

    size: int
    single: bytes
    """The prefix of instructions on one of them, and on all of a vector."""
    packed: bytes
    fill: bytes
    """The instruction of `fill_vector`."""


class Assembler:
    """Code that may begin at any address."""

    def __init__(self) -> None:
        self.code = bytearray()
        self.labels: dict[str, int] = {}
        self.words: dict[str, list[int]] = {}
        """Where each word belongs that has a name."""
        self._jumps: list[tuple[int, str]] = []

    def label(self, name: str) -> None:
        assert name not in self.labels, name
        self.labels[name] = len(self.code)

    def finished(self) -> bytes:
        """The code, its jumps led to their labels."""
        for at, name in self._jumps:
            pack_into("<i", self.code, at, self.labels[name] - (at + 4))
        return bytes(self.code)

    # ------------------------------------------------------------------------------ words

    def constant(self, to: int, word: int | str) -> None:
        """A number, or a word that has a name until the code is put in place."""
        number: Any = word
        if word.__class__ is str:
            self.words.setdefault(word, []).append(len(self.code) + 2)
            number = 0
        self.code += _CONSTANT(0x48 | to >> 3, 0xB8 | to & 7, number)

    def address(self, to: int, label: str) -> None:
        """Where a label is, once the code is in place."""
        self.code += bytes((0x48 | (to >> 3) << 2, _LEA, 0x05 | (to & 7) << 3))
        self._to(label)

    def copy(self, to: int, register: int) -> None:
        self._with(_MOV, register, to)

    def load(self, to: int, at: At) -> None:
        self._with(_LOAD, to, at)

    def load_int(self, to: int, at: At) -> None:
        """A 32-bit number, not negative."""
        self._with(_LOAD, to, at, wide=False)

    def load_signed_int(self, to: int, at: At) -> None:
        """A 32-bit number."""
        self._with(0x63, to, at)

    def store(self, at: At, register: int) -> None:
        self._with(_MOV, register, at)

    def store_int(self, at: At, register: int) -> None:
        """32 bits."""
        self._with(_MOV, register, at, wide=False)

    def store_bytes(self, at: At, register: int, size: int) -> None:
        """The lowest bytes, 1, 2, 4 or 8, of rax, rcx or rdx."""
        if size == 2:
            self.code.append(0x66)
        self._with(_MOV_BYTE if size == 1 else _MOV, register, at, wide=size == 8)

    def place(self, to: int, at: At) -> None:
        """The address of a word."""
        self._with(_LEA, to, at)

    def zero(self, register: int) -> None:
        self._with(_XOR, register, register, wide=False)

    def add(self, register: int, number: int) -> None:
        self._by(_ADD, register, number)

    def increase(self, register: int, by: int | At) -> None:
        self._with(_INCREASE, register, by)

    def decrease(self, register: int, by: int | At) -> None:
        self._with(_DECREASE, register, by)

    def round_down(self, register: int, multiple: int) -> None:
        """To a multiple of a power of two."""
        self._by(_AND, register, -multiple)

    def keep(self, register: int, bits: int) -> None:
        """Only these; sets the conditions."""
        self._by(_AND, register, bits)

    def times_word(self, register: int) -> None:
        """Words -> bytes."""
        self._with(0xC1, 4, register)
        self.code += b"\x03"

    def whole_words(self, register: int) -> None:
        """Bytes -> words."""
        self._with(0xC1, 5, register)
        self.code += b"\x03"

    def multiply(self, register: int, by: int | At) -> None:
        self._with(b"\x0f\xaf", register, by)

    def divide(self, by: int) -> None:
        """rax, not negative, by a register that is neither zero nor rdx.  rdx: what is left."""
        self.zero(RDX)
        self._with(0xF7, 6, by)

    def count(self, at: At) -> None:
        """One more in memory."""
        self._with(0xFF, 0, at)

    def count_down(self, register: int) -> None:
        """One less; sets the conditions."""
        self._by(_SUB, register, 1)

    # --------------------------------------------------------------------- floating point

    def status(self, at: At) -> None:
        """The CPU's status of floating point (MXCSR), 32 bits, into memory."""
        self._with(b"\x0f\xae", 3, at, wide=False)

    def x87_status(self) -> None:
        """That of the x87, 16 bits, to rax, whose others stay: C functions that raise flags leave some there,
        and their bits have the same places."""
        self.code += b"\xdf\xe0"

    def clear_status(self, at: At) -> None:
        """The CPU's status from memory, that of the x87 to zero."""
        self._with(b"\x0f\xae", 2, at, wide=False)
        self.code += b"\xdb\xe2"

    def to_double(self, at: At) -> None:
        """rax, an integer, as a double, into memory; xmm0 is lost."""
        self.code += b"\xf2\x48\x0f\x2a\xc0\xf2"
        self._with(b"\x0f\x11", 0, at, wide=False)

    def to_integer(self) -> None:
        """xmm0, a double, cut off, to rax; the least integer, if it is none that fits."""
        self.code += b"\xf2\x48\x0f\x2c\xc0"

    def to_single(self, at: At) -> None:
        """A double in memory, rounded to single precision; xmm0 is lost."""
        self.code += b"\xf2"
        self._with(b"\x0f\x10", 0, at, wide=False)
        self.code += b"\xf2\x0f\x5a\xc0\xf3"
        self._with(b"\x0f\x11", 0, at, wide=False)

    def vector(self, opcode: int, prefix: bytes, to: int, other: int) -> None:
        """An instruction on two vectors of the first eight."""
        self.code += prefix + bytes((0x0F, opcode, 0xC0 | to << 3 | other))

    def load_vector(self, prefix: bytes, to: int, at: At) -> None:
        """From memory that need not be aligned."""
        self.code += prefix
        self._with(b"\x0f\x10", to, at, wide=False)

    def store_vector(self, at: At, vector: int, prefix: bytes) -> None:
        self.code += prefix
        self._with(b"\x0f\x11", vector, at, wide=False)

    def fill_vector(self, of: Scalars) -> None:
        """The first vector with its first number."""
        self.code += of.fill

    # ------------------------------------------------------------------------ comparisons

    def compare(self, left: int | At, right: int) -> None:
        """With a register."""
        self._with(_CMP, right, left)

    def compare_number(self, left: int | At, number: int, wide: bool = True) -> None:
        self._by(_COMPARE, left, number, wide)

    def test(self, register: int) -> None:
        """Is it zero (equal) or negative?"""
        self._with(_TEST, register, register)

    def test_int(self, register: int) -> None:
        """The same of its lower half."""
        self._with(_TEST, register, register, wide=False)

    # ----------------------------------------------------------------------------- control

    def jump(self, to: str) -> None:
        self.code += b"\xe9"
        self._to(to)

    def jump_if(self, condition: str, to: str) -> None:
        self.code += bytes((0x0F, 0x80 | CONDITIONS[condition]))
        self._to(to)

    def jump_to(self, register: int) -> None:
        self._with(0xFF, 4, register, wide=False)

    def call(self, to: str) -> None:
        self.code += b"\xe8"
        self._to(to)

    def call_at(self, register: int) -> None:
        self._with(0xFF, 2, register, wide=False)

    def push(self, *registers: int) -> None:
        for r in registers:
            self.code += bytes((0x41, 0x50 | r & 7)) if r >= R8 else bytes((0x50 | r,))

    def pop(self, *registers: int) -> None:
        for r in registers:
            self.code += bytes((0x41, 0x58 | r & 7)) if r >= R8 else bytes((0x58 | r,))

    def leave(self) -> None:
        self.code += b"\xc3"

    # ---------------------------------------------------------------------------- encoding

    def _to(self, name: str) -> None:
        self._jumps.append((len(self.code), name))
        self.code += bytes(4)

    def _by(self, what: int, left: int | At, number: int, wide: bool = True) -> None:
        self._with(0x81, what, left, wide)
        self.code += _INT(number)

    def _with(self, opcode: int | bytes, register: int, other: int | At, wide: bool = True) -> None:
        """An instruction on a register (or what the opcode takes in its place) and a register or memory."""
        code = self.code
        base: int = other[0] if other.__class__ is At else other        # type: ignore[assignment]
        prefix = 0x40 | wide << 3 | (register >> 3) << 2 | base >> 3
        if prefix != 0x40:
            code.append(prefix)
        if opcode.__class__ is int:
            code.append(opcode)
        else:
            code += opcode                              # type: ignore[arg-type]
        low = (register & 7) << 3 | base & 7
        if other.__class__ is not At:
            code.append(0xC0 | low)
            return
        code.append(0x80 | low)
        if base & 7 == RSP:                             # these two need a second byte
            code.append(0x24)
        code += _INT(other[1])
