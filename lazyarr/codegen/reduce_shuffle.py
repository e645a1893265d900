"""Packing without AVX-512: the lanes that a mask keeps, moved to the front by a shuffle out of a table.

In:  a vector of at most 64-bit elements, its mask.   Out: pieces, each a register with its kept lanes first.
The bits of a piece's mask are the row of the table: 4-byte lane numbers for ``vpermd`` (AVX2), byte
numbers for ``pshufb`` (SSSE3).
"""

from __future__ import annotations

from collections.abc import Iterator

from lazyarr.codegen.mask_bits import bits_of, ones
from lazyarr.codegen.reduce_flow import Function
from lazyarr.records import dataclass
from lazyarr.target import Target


@dataclass(frozen=True, slots=True)
class Shuffle:
    """How elements of one size are packed."""

    name: str
    lanes: int
    """Elements of a piece."""
    unit: int
    """Bytes that the instruction moves at a time."""
    units: int
    """Of a register."""


def shuffle_for(target: Target, size: int, width: int) -> Shuffle | None:
    """The shuffle for elements of `size` bytes in vectors of `width`; None: there is none."""
    if size in (4, 8) and width * size >= 32 and "+avx2" in target.features:
        return Shuffle("permd", 32 // size, 4, 8)
    lanes = min(8, 16 // size, width)
    if lanes > 1 and "+ssse3" in target.features:
        return Shuffle("pshufb", lanes, 1, 16)
    return None


def table_of(s: Shuffle, size: int) -> list[list[int]]:
    """For each mask of a piece, from which unit each unit comes."""
    each = size // s.unit
    rows = []
    for mask in range(1 << s.lanes):
        kept = [k for k in range(s.lanes) if mask >> k & 1]
        units = [k * each + u for k in kept for u in range(each)]
        rows.append(units + [0] * (s.units - len(units)))
    return rows


def packed_pieces(
    b: Function, s: Shuffle, size: int, vector: str, mask: str
) -> Iterator[tuple[str, str, str]]:
    """Type and name of each packed piece of a vector of integers, and how many lanes it keeps."""
    t, n = f"i{8 * size}", s.lanes
    for first in range(0, b.width, n):
        lanes = ", ".join(f"i32 {first + k}" for k in range(n))
        piece, flags = (
            b.op(f"shufflevector <{b.width} x {e}> {v}, <{b.width} x {e}> poison, <{n} x i32> <{lanes}>")
            for e, v in ((t, vector), ("i1", mask))
        )
        row = bits_of(b, flags, n)
        yield f"<{n} x {t}>", shuffled(b, s, size, piece, row), ones(b, row)


def shuffled(b: Function, s: Shuffle, size: int, piece: str, row: str) -> str:
    """A piece with its kept lanes first."""
    n, t = s.lanes, f"<{s.units} x i{8 * s.unit}>"
    given, used = f"<{n} x i{8 * size}>", n * size // s.unit
    x = b.op(f"bitcast {given} {piece} to <{used} x i{8 * s.unit}>") if size != s.unit else piece
    x = _resized(b, x, f"i{8 * s.unit}", used, s.units)
    order = b.op(f"load <{s.units} x i8>, ptr {b.at(_table(b, s, size), b.mul(row, str(s.units)))}, align 1")
    if s.name == "permd":
        b.declare("declare <8 x i32> @llvm.x86.avx2.permd(<8 x i32>, <8 x i32>)")
        order = b.op(f"zext <8 x i8> {order} to <8 x i32>")
        x = b.op(f"call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> {x}, <8 x i32> {order})")
    else:
        b.declare("declare <16 x i8> @llvm.x86.ssse3.pshuf.b.128(<16 x i8>, <16 x i8>)")
        x = b.op(f"call <16 x i8> @llvm.x86.ssse3.pshuf.b.128({t} {x}, {t} {order})")
    x = _resized(b, x, f"i{8 * s.unit}", s.units, used)
    return b.op(f"bitcast <{used} x i{8 * s.unit}> {x} to {given}") if size != s.unit else x


def _resized(b: Function, x: str, t: str, n: int, wanted: int) -> str:
    """The first lanes of a vector, or the vector and anything."""
    if n == wanted:
        return x
    lanes = ", ".join(f"i32 {k}" if k < n else "i32 poison" for k in range(wanted))
    return b.op(f"shufflevector <{n} x {t}> {x}, <{n} x {t}> poison, <{wanted} x i32> <{lanes}>")


def _table(b: Function, s: Shuffle, size: int) -> str:
    """The table, as a constant of the module."""
    rows = table_of(s, size)
    name = f"@{s.name}_{size}_{s.lanes}"
    text = ", ".join(f"i8 {k}" for row in rows for k in row)
    b.declare(f"{name} = private constant [{len(rows) * s.units} x i8] [{text}], align 64")
    return name
