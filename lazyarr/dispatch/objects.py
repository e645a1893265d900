"""What an object file needs from the process, read before LLVM links it.

In:  an object file.   Out: names of its undefined symbols.
LLVM ends the process when a symbol cannot be resolved, such as a conversion that the CPU level
lacks and that a compiler's run-time library would have.  ELF only; other formats say nothing.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache

_SECTION = struct.Struct("<IIQQQQIIQQ")     # name, type, flags, address, offset, size, link, ...
_SYMBOL = struct.Struct("<IBBHQQ")          # name, info, other, section, value, size
_SYMBOL_TABLE = 2


def undefined(binary: bytes) -> list[str]:
    """Names of the symbols that a 64-bit little-endian ELF object leaves to others."""
    if binary[:6] != b"\x7fELF\x02\x01":
        return []
    (table,) = struct.unpack_from("<Q", binary, 0x28)
    (count,) = struct.unpack_from("<H", binary, 0x3C)
    sections = [_SECTION.unpack_from(binary, table + k * _SECTION.size) for k in range(count)]
    found = []
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for name, _, _, section, _, _ in _SYMBOL.iter_unpack(binary[offset : offset + size]):
            if name and section == 0:
                start = names + name
                found.append(binary[start : binary.index(b"\0", start)].decode())
    return found


@cache
def in_process(name: str) -> bool:
    """Does the process have a C function of this name?"""
    return hasattr(ctypes.CDLL(None), name)


def unresolvable(binary: bytes) -> list[str]:
    """The undefined symbols of an object that the process does not have."""
    return [name for name in undefined(binary) if not in_process(name)]
