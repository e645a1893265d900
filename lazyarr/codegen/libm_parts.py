"""What functions with the bits of the C library are written in: instructions on registers, rows of tables.

In:  a Builder as wide as a register.   Out: names of values.
"""

from __future__ import annotations

from functools import cache

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_anatomy import joined
from lazyarr.codegen.emitters_registers import shuffled
from lazyarr.codegen.emitters_types import convert, literal

REAL, BITS = "double", "i64"
MANTISSA = 52
SIZE, INFINITE, SIGN = (1 << 63) - 1, 0x7FF << MANTISSA, 1 << 63
ROW = 4
"""Bytes of a table's row, as a power of two."""


def numbers(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(each) for each in text.split())


def real(b: Builder, x: float) -> str:
    return b.splat(REAL, literal(x))


def whole(b: Builder, x: int) -> str:
    return b.splat(BITS, str(_signed(x)))


def _signed(x: int) -> int:
    """The signed number with the last 64 bits of x."""
    return (x + SIGN) % (1 << 64) - SIGN


def number_bits(x: float) -> int:
    return int(literal(x), 16)


def bits_of_real(b: Builder, x: str) -> str:
    return convert(b, "bitcast", REAL, x, BITS)


def with_integer(b: Builder, name: str, x: str, y: int) -> str:
    return b.op(f"{name} {b.ty(BITS)} {x}, {whole(b, y)}")


def op(b: Builder, name: str, x: str, y: str, t: str = REAL) -> str:
    return b.op(f"{name} {b.ty(t)} {x}, {y}")


def fma(b: Builder, x: str, y: str, z: str) -> str:
    return b.intrinsic("fma", REAL, (REAL, x), (REAL, y), (REAL, z))


def look_up(b: Builder, name: str, table: tuple[int, ...], offset: str) -> tuple[str, str]:
    """Two numbers for each lane, from the row of a table at an offset in bytes, modulo the table's.

    A lane loads its row: that is sooner done than the CPU's gathers of each."""
    n, rows = b.width, []
    size = 8 * len(table)
    b.declare(f"@{name} = internal constant [{size} x i8] {_memory(table)}, align 64")
    offset = with_integer(b, "and", offset, size - (1 << ROW))
    for k in range(n):
        at = b.op(f"extractelement {b.ty(BITS)} {offset}, i64 {k}")
        at = b.op(f"getelementptr i8, ptr @{name}, i64 {at}")
        rows.append(b.op(f"load <2 x {REAL}>, ptr {at}, align {1 << ROW}"))
    even, odd = joined(b, REAL, rows[::2]), joined(b, REAL, rows[1::2])
    left, right = ([k + side for k in range(at, n, 2) for side in (0, n)] for at in (0, 1))
    return shuffled(b, b.ty(REAL), even, odd, left), shuffled(b, b.ty(REAL), even, odd, right)


@cache
def _memory(table: tuple[int, ...]) -> str:
    raw = "".join(f"\\{byte:02X}" for x in table for byte in x.to_bytes(8, "little"))
    return f'c"{raw}"'
