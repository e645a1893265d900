"""Kernels for aarch64, run under an emulator: objects linked into a program that needs Linux only.

In:  objects of LLVM, calls of their functions, memory.   Out: that memory after the calls.

    program = start | driver | functions and their constants | calls | memory

The program calls each function of a list, writes its memory to stdout, and ends.  It needs no C library.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

from lazyarr.dispatch import elf, jit
from lazyarr.kernels import Code
from lazyarr.target import Target

EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
BASE = 0x10_0000_0000
"""Where the program lies: addresses of more than 32 bits, as those of a process."""

DRIVER = """
define void @driver(ptr %calls, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %call, label %done
call:                                           ; {function, words, chunks}
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %at = getelementptr [3 x i64], ptr %calls, i64 %k
  %words.at = getelementptr i64, ptr %at, i64 1
  %chunks.at = getelementptr i64, ptr %at, i64 2
  %function = load ptr, ptr %at
  %words = load ptr, ptr %words.at
  %chunks = load i64, ptr %chunks.at
  br label %chunk
chunk:
  %c = phi i64 [ 0, %call ], [ %c1, %run ]
  %more = icmp slt i64 %c, %chunks
  br i1 %more, label %run, label %next
run:
  call void %function(ptr %words, i64 %c, i64 0)
  %c1 = add i64 %c, 1
  br label %chunk
next:
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %n
  br i1 %again, label %call, label %done
done:
  ret void
}
"""


def start(driver: int, calls: int, n: int, memory: int, nbytes: int) -> bytes:
    """driver(calls, n); write(1, memory, nbytes); exit(0)."""
    def load(register: int, slot: int, at: int) -> int:         # ldr Xregister, [pc + ...]
        return 0x58000000 | (CODE - 4 * at + 8 * slot) // 4 << 5 | register

    CODE = 4 * 12
    words = [
        load(0, 1, 0), load(1, 2, 1), load(9, 0, 2),
        0xD63F0120,                             # blr x9
        0xD2800020,                             # mov x0, 1
        load(1, 3, 5), load(2, 4, 6),
        0xD2800808, 0xD4000001,                 # mov x8, write; svc 0
        0xD2800000,                             # mov x0, 0
        0xD2800BA8, 0xD4000001,                 # mov x8, exit; svc 0
    ]
    return struct.pack("<12I5Q", *words, driver, calls, n, memory, nbytes)


def _page(value: int, place: int) -> int:
    pages = (value >> 12) - (place >> 12)
    assert -(1 << 20) <= pages < 1 << 20
    return (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5


def _branch(value: int, place: int) -> int:
    words = (value - place) >> 2
    assert -(1 << 25) <= words < 1 << 25
    return words & 0x3FFFFFF


RELOCATIONS = {
    264: lambda value, place: (value & 0xFFFF) << 5,            # MOVW_UABS_G0_NC
    266: lambda value, place: (value >> 16 & 0xFFFF) << 5,
    268: lambda value, place: (value >> 32 & 0xFFFF) << 5,
    269: lambda value, place: (value >> 48) << 5,               # MOVW_UABS_G3
    275: _page,                                                 # ADR_PREL_PG_HI21
    277: lambda value, place: (value & 0xFFF) << 10,            # ADD_ABS_LO12_NC
    282: _branch,                                               # JUMP26
    283: _branch,                                               # CALL26
    278: lambda value, place: (value & 0xFFF) << 10,            # LDST8_ABS_LO12_NC, and wider ones
    284: lambda value, place: (value >> 1 & 0x7FF) << 10,
    285: lambda value, place: (value >> 2 & 0x3FF) << 10,
    286: lambda value, place: (value >> 3 & 0x1FF) << 10,
    299: lambda value, place: (value >> 4 & 0xFF) << 10,
}
"""The bits of an instruction, by ELF's number of the relocation: "ELF for the Arm 64-bit Architecture"."""
ADDRESS = 257                                                   # ABS64: a word


class Image:
    """Bytes from an address on."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.data = bytearray()

    def place(self, nbytes: int, align: int = 64) -> int:
        """Room; its address."""
        self.data += bytes(-len(self.data) % align)
        self.data += bytes(nbytes)
        return self.base + len(self.data) - nbytes

    def put(self, at: int, data: bytes) -> None:
        self.data[at - self.base : at - self.base + len(data)] = data

    def add(self, data: bytes, align: int = 64) -> int:
        at = self.place(len(data), align)
        self.put(at, data)
        return at

    def link(self, binary: bytes) -> dict[str, int]:
        """Put an object here; the addresses of its functions."""
        assert not elf.undefined(binary), "it needs functions that are not there"
        sections = elf._sections(binary)
        (table,) = [s for s in sections if s.kind == elf._SYMBOLS]
        symbols = elf._symbols(binary, sections, table)
        places = {
            k: self.add(binary[s.offset : s.offset + s.size], max(s.align, 1))
            for k, s in enumerate(sections) if s.flags & elf._ALLOC and s.name != ".eh_frame"
        }
        assert not [s for s in sections if s.kind == elf._NOBITS and s.size], "zeros are not made room for"
        where = [places.get(s.section, 0) + s.value for s in symbols]
        for s in sections:
            if s.kind == elf._RELA and s.info in places:
                for at in range(s.offset, s.offset + s.size, elf._RELOCATION.size):
                    offset, info, addend = elf._RELOCATION.unpack_from(binary, at)
                    self._resolve(places[s.info] + offset, info & 0xFFFFFFFF, where[info >> 32] + addend)
        found = zip(symbols, where, strict=True)
        return {s.name: at for s, at in found if s.info == elf._GLOBAL_FUNCTION and s.section}

    def _resolve(self, place: int, kind: int, value: int) -> None:
        if kind == ADDRESS:
            self.put(place, struct.pack("<Q", value))
            return
        at = place - self.base
        (word,) = struct.unpack_from("<I", self.data, at)
        struct.pack_into("<I", self.data, at, word | RELOCATIONS[kind](value, place))


class Call(NamedTuple):
    """One call for each of the chunks."""

    function: str
    words: int
    """Address of the argument words."""
    chunks: int


class Machine:
    """A program as it is made."""

    def __init__(self, target: Target) -> None:
        self.code = Image(BASE)
        self.code.place(4 * 12 + 8 * 5)
        self.functions = self.code.link(jit.compile_object(DRIVER, target))
        self.memory = Image(BASE + (1 << 32))
        self.calls: list[tuple[int, int, int]] = []

    def function(self, code: Code) -> int:
        """The address of a function, compiled if it is new."""
        if code.symbol not in self.functions:
            self.functions |= self.code.link(jit.compile_object(code.ir, code.target, code.opt))
        return self.functions[code.symbol]

    def run(self, place: Path, cpu: str) -> bytes:
        """Run all calls on a CPU; the memory after them."""
        assert EMULATOR is not None
        calls = self.code.add(b"".join(struct.pack("<QQQ", *call) for call in self.calls))
        memory = bytes(self.memory.data)
        self.code.put(BASE, start(
            self.functions["driver"], calls, len(self.calls), self.memory.base, len(memory),
        ))  # fmt: skip
        code = bytes(self.code.data)
        first = 0x1000
        second = -(-(first + len(code)) // 0x1000) * 0x1000
        head = struct.pack(
            "<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 2, 183, 1, BASE, 64, 0, 0, 64, 56, 2, 0, 0, 0
        )
        segments = (5, first, BASE, len(code)), (6, second, self.memory.base, len(memory))
        for flags, at, base, size in segments:
            head += struct.pack("<IIQQQQQQ", 1, flags, at, base, base, size, size, 0x1000)
        program = head.ljust(first, b"\0") + code
        (place / "program").write_bytes(program.ljust(second, b"\0") + memory)
        (place / "program").chmod(0o700)
        with (place / "out").open("wb") as out:
            done = subprocess.run([EMULATOR, "-cpu", cpu, str(place / "program")], stdout=out,
                                  stderr=subprocess.PIPE, timeout=240)
        assert done.returncode == 0, (done.returncode, done.stderr[-500:])
        found = (place / "out").read_bytes()
        assert len(found) == len(memory)
        return found
