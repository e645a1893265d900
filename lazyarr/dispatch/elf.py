"""An object file of LLVM -> an image that is linked but for its place in memory.

In:  a relocatable ELF object for x86-64, of the small code model, position independent.
Out: an `Image`; `Unsupported` says why there is none, and LLVM's own loader takes the object then.

    code   = text sections, constants, global offset table, stubs

All that lies at a fixed distance is resolved here.  What depends on the place, or on the process, is an
8-byte word that the loader fills in: a function of the process that is called through a stub, or an address
inside the image.  Unwind tables are left out: kernels raise nothing, and nothing unwinds through them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from lazyarr.dispatch.image import PAGE, Image
from lazyarr.records import NamedTuple

_HEADER = struct.Struct("<4sBB10xHH20xQ10xHHH")   # ..., type, machine, sections: offset, size, count, names
_SECTION = struct.Struct("<IIQQQQIIQQ")   # name, type, flags, address, offset, size, link, info, align, entry
_SYMBOL = struct.Struct("<IBBHQQ")          # name, info, other, section, value, size
_RELOCATION = struct.Struct("<QQq")         # offset, symbol and kind, addend
_OFFSET, _LONG_OFFSET = struct.Struct("<i"), struct.Struct("<q")

_PROGBITS, _SYMBOLS, _RELA, _NOBITS, _REL, _UNWIND = 1, 2, 4, 8, 9, 0x70000001
_OBJECT, _X86_64 = 1, 62
_WRITE, _ALLOC, _EXECUTE, _THREAD_LOCAL = 1, 2, 4, 0x400
_SPECIAL = 0xFF00                           # section numbers from here on are no sections
_GLOBAL_FUNCTION = 1 << 4 | 2
_INDIRECT = 10                              # type of a symbol whose value a function computes
_JUMP = b"\xff\x25"                         # jmp *[rip + 32 bits]


class _Rule(NamedTuple):
    """One kind of relocation: what is written, and to which address it refers."""

    size: int
    relative: bool
    """To the place that is written."""
    through: str
    """``symbol``: to the symbol; ``slot``: to a word that holds its address; ``stub``: to the symbol, but
    of a function of the process, to a jump there."""


_RULES = {
    1: _Rule(8, False, "symbol"),           # R_X86_64_64
    2: _Rule(4, True, "symbol"),            # R_X86_64_PC32
    4: _Rule(4, True, "stub"),              # R_X86_64_PLT32
    9: _Rule(4, True, "slot"),              # R_X86_64_GOTPCREL
    24: _Rule(8, True, "symbol"),           # R_X86_64_PC64
    41: _Rule(4, True, "slot"),             # R_X86_64_GOTPCRELX
    42: _Rule(4, True, "slot"),             # R_X86_64_REX_GOTPCRELX
}
"""All others, such as absolute addresses of 32 bits, are not supported."""


class Unsupported(ValueError):
    """The object needs something that only LLVM's loader does."""


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    info: int
    other: int
    section: int
    value: int
    size: int


def is_elf(binary: bytes) -> bool:
    """Is it an ELF file of 64-bit words, little-endian?"""
    return binary[:6] == b"\x7fELF\x02\x01"


def undefined(binary: bytes) -> list[str]:
    """Names of the symbols that an object leaves to others; of other formats nothing is known."""
    if not is_elf(binary):
        return []
    sections = _sections(binary)
    tables = [s for s in sections if s.kind == _SYMBOLS]
    return [s.name for t in tables for s in _symbols(binary, sections, t) if s.name and s.section == 0]


def _sections(binary: bytes) -> list[_Section]:
    _, _, _, _, _, table, size, count, names = _HEADER.unpack_from(binary)
    rows = [_SECTION.unpack_from(binary, table + k * size) for k in range(count)]
    return [_Section(_text(binary, rows[names][4] + row[0]), *row[1:]) for row in rows]


def _symbols(binary: bytes, sections: list[_Section], table: _Section) -> list[_Symbol]:
    names = sections[table.link].offset
    rows = _SYMBOL.iter_unpack(binary[table.offset : table.offset + table.size])
    return [_Symbol(_text(binary, names + row[0]), *row[1:]) for row in rows]


def _text(binary: bytes, at: int) -> str:
    return binary[at : binary.index(b"\0", at)].decode()


class _Patch(NamedTuple):
    """One relocation."""

    section: int
    offset: int
    rule: _Rule
    symbol: int
    addend: int


def link(binary: bytes) -> Image:
    """Lay out an object and resolve what can be resolved.

    Raises
    ------
    Unsupported
        If it is no such object, or has a kind of section, symbol or relocation that no rule covers.
    """
    try:
        return _Linker(binary).image()
    except Unsupported:
        raise
    except (struct.error, ValueError, IndexError) as error:
        raise Unsupported(f"a damaged object: {error}") from None


class _Linker:
    """One object on its way to an image."""

    def __init__(self, binary: bytes) -> None:
        if not is_elf(binary) or _HEADER.unpack_from(binary)[3:5] != (_OBJECT, _X86_64):
            raise Unsupported("no relocatable object for x86-64")
        self.binary = binary
        self.sections = _sections(binary)
        tables = [s for s in self.sections if s.kind == _SYMBOLS]
        self.symbols = _symbols(binary, self.sections, tables[0]) if tables else []
        self.code, self.data = bytearray(), bytearray()
        self.zeros = 0
        self.places: dict[int, tuple[bool, int]] = {}
        """Of each section in memory: is it written, and where it begins in its part."""
        self.slots: dict[int, int] = {}
        self.stubs: dict[int, int] = {}
        self.functions: list[tuple[int, str]] = []
        self.addresses: list[tuple[int, int]] = []

    def image(self) -> Image:
        self._lay_out()
        patches = [patch for k in self.places for patch in self._patches(k)]
        for patch in patches:
            self._reserve(patch)
        self.data_at = -(-len(self.code) // PAGE) * PAGE
        for patch in patches:
            self._apply(patch)
        for number, slot in self.slots.items():
            self._refer(slot, number, 0)
        for number, stub in self.stubs.items():
            distance = self.slots[number] - (stub + len(_JUMP) + _OFFSET.size)
            self.code[stub : stub + 6] = _JUMP + _OFFSET.pack(distance)
        found = {
            s.name: self._place(k)
            for k, s in enumerate(self.symbols)
            if s.section in self.places and s.info == _GLOBAL_FUNCTION
        }
        words = tuple(self.functions), tuple(self.addresses)
        return Image(bytes(self.code), bytes(self.data), self.zeros, found, *words)

    def _lay_out(self) -> None:
        """Give each section that is in memory its place; zeros come last."""
        rows = sorted(enumerate(self.sections), key=lambda row: row[1].kind == _NOBITS)
        for k, s in rows:
            if not s.flags & _ALLOC or not s.size or _unwinds(s):
                continue
            if s.kind not in (_PROGBITS, _NOBITS) or s.flags & _THREAD_LOCAL or s.align > PAGE:
                raise Unsupported(f"section {s.name} of type {s.kind:#x}, flags {s.flags:#x}")
            written = bool(s.flags & _WRITE)
            if written and s.flags & _EXECUTE:
                raise Unsupported(f"section {s.name} is written and executed")
            part = self.data if written else self.code
            size = len(part) + (self.zeros if written else 0)
            gap = -size % max(s.align, 1)
            self.places[k] = written, size + gap
            if written and s.kind == _NOBITS:
                self.zeros += gap + s.size
            else:
                raw = bytes(s.size) if s.kind == _NOBITS else self.binary[s.offset : s.offset + s.size]
                if len(raw) != s.size:
                    raise Unsupported(f"section {s.name} ends after the file")
                part += bytes(gap) + raw

    def _patches(self, section: int) -> Iterator[_Patch]:
        """The relocations of a section."""
        for table in self.sections:
            if table.info != section or table.kind not in (_RELA, _REL):
                continue
            if table.kind == _REL:
                raise Unsupported("relocations without addends")
            rows = self.binary[table.offset : table.offset + table.size]
            for offset, info, addend in _RELOCATION.iter_unpack(rows):
                kind = info & 0xFFFFFFFF
                if kind not in _RULES:
                    raise Unsupported(f"a relocation of kind {kind}")
                yield _Patch(section, offset, _RULES[kind], info >> 32, addend)

    def _reserve(self, patch: _Patch) -> None:
        """Room for the word and the stub that a relocation needs."""
        number, through = patch.symbol, patch.rule.through
        ours = self._defined(number)
        if through == "slot" or (through == "stub" and not ours):
            self._new(self.slots, number)
        if through == "stub" and not ours:
            self._new(self.stubs, number)

    def _new(self, found: dict[int, int], number: int) -> None:
        if number not in found:
            self.code += bytes(-len(self.code) % 8)
            found[number] = len(self.code)
            self.code += bytes(8)

    def _defined(self, number: int) -> bool:
        """Is this symbol in the image?  False: the process has to have it."""
        s = self.symbols[number]
        if s.section == 0 and s.name:
            return False
        if s.section not in self.places or s.section >= _SPECIAL or s.info & 15 == _INDIRECT:
            raise Unsupported(f"symbol {s.name!r} in section {s.section:#x}, of type {s.info:#x}")
        return True

    def _place(self, number: int) -> int:
        """Where a symbol lies in the image."""
        s = self.symbols[number]
        written, begin = self.places[s.section]
        return begin + s.value + (self.data_at if written else 0)

    def _apply(self, patch: _Patch) -> None:
        size, relative, through = patch.rule
        written, begin = self.places[patch.section]
        part = self.data if written else self.code
        at = begin + patch.offset
        if patch.offset < 0 or at + size > len(part):
            raise Unsupported("a relocation outside its section")
        where = at + (self.data_at if written else 0)
        if not relative:
            self._refer(where, patch.symbol, patch.addend)
            return
        if through == "slot":
            to = self.slots[patch.symbol]
        elif self._defined(patch.symbol):
            to = self._place(patch.symbol)
        elif through == "stub":
            to = self.stubs[patch.symbol]
        else:
            raise Unsupported(f"{self.symbols[patch.symbol].name} must not be far away")
        form = _OFFSET if size == _OFFSET.size else _LONG_OFFSET
        part[at : at + size] = form.pack(to + patch.addend - where)

    def _refer(self, where: int, number: int, addend: int) -> None:
        """Have the loader write an address."""
        if self._defined(number):
            self.addresses.append((where, self._place(number) + addend))
        elif addend:
            raise Unsupported(f"an address near {self.symbols[number].name}")
        else:
            self.functions.append((where, self.symbols[number].name))


def _unwinds(section: _Section) -> bool:
    return section.kind == _UNWIND or section.name == ".eh_frame"
