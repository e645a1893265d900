"""Tables of constants that every lane reads at an index of its own.

In:  tables of one length, a power of two, and an index, which counts modulo that length.
Out: the tables' numbers: permutes of registers that hold the tables, where the CPU has them; else one load
for a lane, of a row with a number from each table, and a transposition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib import registers
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Real

Table = Sequence[float]


def look_up(index: Bits, *tables: Table) -> list[Real]:
    """The element of each table."""
    on, n = index.on, len(tables[0])
    if on.full and n in (registers.lanes(on), 2 * registers.lanes(on)):
        return [_permuted(index, table) for table in tables]
    return _rows(index, tables)


def _permuted(index: Bits, table: Table) -> Real:
    on, n = index.on, registers.lanes(index.on)
    rows = [table[k : k + n] for k in range(0, len(table), n)]
    texts = [", ".join(f"{on.p.real} {on.constant(x)}" for x in row) for row in rows]
    return Real(on, registers.permuted(index, texts))


def _rows(index: Bits, tables: Sequence[Table]) -> list[Real]:
    """A row of the tables lies side by side; lanes load theirs, in pieces as long as there are lanes."""
    on = index.on
    b, t, i = on.b, on.p.real, on.p.bits
    lanes = max(b.width, 1)
    pitch = 1 << (len(tables) - 1).bit_length()
    rows = [[table[k] for table in tables] + [0.0] * (pitch - len(tables)) for k in range(len(tables[0]))]
    cells = [x for row in rows for x in row]
    name = f"@table{_hash(cells):x}{on.p.suffix}"
    whole = f"[{len(cells)} x {t}] [{', '.join(f'{t} {on.constant(x)}' for x in cells)}]"
    b.declare(f"{name} = private unnamed_addr constant {whole}, align 64")
    first = (index & (len(rows) - 1)) * pitch
    places = [first.name]
    if b.width:
        places = [b.op(f"extractelement {b.ty(i)} {first.name}, i64 {k}") for k in range(lanes)]
    starts = [b.op(f"getelementptr {t}, ptr {name}, {i} {place}") for place in places]
    found: list[str] = []
    step = min(pitch, lanes, 16 // on.p.size)
    for column in range(0, len(tables), step):
        pieces = [_piece(on, start, column, step) for start in starts]
        found += _transposed(on, pieces, step) if b.width else pieces
    return [Real(on, x) for x in found[: len(tables)]]


def _piece(on: Lanes, start: str, column: int, length: int) -> str:
    """So many numbers of a row."""
    b, t = on.b, on.p.real
    at = b.op(f"getelementptr {t}, ptr {start}, i64 {column}") if column else start
    return b.op(f"load {_vector(t, length) if b.width else t}, ptr {at}, align {on.p.size * length}")


def _transposed(on: Lanes, rows: list[str], length: int) -> list[str]:
    """Rows of so many numbers, one for each lane -> so many vectors.

    A vector takes every `length`-th row.  What is left are squares, side by side, which are transposed in
    steps that interleave halves: instructions that do not cross 16 bytes."""
    b, t = on.b, on.p.real
    found = [joined(on.b, on.p.real, rows[k::length], length) for k in range(length)]
    half, v = length // 2, b.ty(t)
    orders = [_interleaved(b.width, length, half, first) for first in (0, half)]
    for _ in range(length.bit_length() - 1):
        found = [
            b.op(f"shufflevector {v} {x}, {v} {y}, {order}")
            for x, y in zip(found[:half], found[half:], strict=True) for order in orders
        ]
    return found


def _interleaved(width: int, length: int, half: int, first: int) -> str:
    """Numbers of two vectors in turn, of one half of each square."""
    places = [square + first + k for square in range(0, width, length) for k in range(half)]
    return f"<{width} x i32> <{', '.join(f'i32 {k + side}' for k in places for side in (0, width))}>"


def joined(b: Builder, t: str, rows: list[str], length: int) -> str:
    """One after the other."""
    while len(rows) > 1:
        v, order = _vector(t, length), ", ".join(f"i32 {k}" for k in range(2 * length))
        rows = [
            b.op(f"shufflevector {v} {x}, {v} {y}, <{2 * length} x i32> <{order}>")
            for x, y in zip(rows[::2], rows[1::2], strict=True)
        ]
        length *= 2
    return rows[0]


def _vector(t: str, length: int) -> str:
    return f"<{length} x {t}>"


def _hash(cells: Sequence[float]) -> int:
    """The same in every process: numbers hash by value, but for NaNs, which do by where they are."""
    return hash(tuple(_NONE if math.isnan(x) else x for x in cells)) & 0xFFFFFFFFFFFFFFFF


_NONE = -1.5e300
"""In no table."""
