"""Instructions of AVX-512 on whole registers, of which one or several hold the lanes.

In:  lanes that fill registers (`Lanes.full`).   Out: the name of the result of all lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Real

_BYTES = 64


def lanes(on: Lanes) -> int:
    """Of one register."""
    return _BYTES // on.p.size


def each(x: Real | Bits, operand: str, result: str, made: Callable[[str], str]) -> str:
    """What is written for one register, of operands and results of these types, side by side."""
    b, n, one = x.on.b, x.on.b.width, lanes(x.on)
    if n == one:
        return made(x.name)
    found = []
    for first in range(0, n, one):
        order = ", ".join(f"i32 {first + k}" for k in range(one))
        v = f"<{n} x {operand}>"
        piece = b.op(f"shufflevector {v} {x.name}, {v} poison, <{one} x i32> <{order}>")
        found.append(made(piece))
    while len(found) > 1:
        v, order = f"<{one} x {result}>", ", ".join(f"i32 {k}" for k in range(2 * one))
        found = [
            b.op(f"shufflevector {v} {x}, {v} {y}, <{2 * one} x i32> <{order}>")
            for x, y in zip(found[::2], found[1::2], strict=True)
        ]
        one *= 2
    return found[0]


def _suffix(on: Lanes) -> str:
    return f"p{'sd'[on.p.size == 8]}.512"


def part(name: str, x: Real, *orders: int) -> str:
    """A part of numbers, by an instruction that may be told more."""
    on, b, n = x.on, x.on.b, lanes(x.on)
    v = f"<{n} x {on.p.real}>"
    callee = f"{v} @llvm.x86.avx512.mask.{name}.{_suffix(on)}"
    rest = [("i32", str(order)) for order in orders]
    rest += [(v, "zeroinitializer"), (f"i{n}", "-1"), ("i32", "4")]     # all lanes, the usual rounding
    b.declare(f"declare {callee}({', '.join([v, *(t for t, _ in rest)])})")
    more = ", ".join(f"{t} {value}" for t, value in rest)
    return each(x, on.p.real, on.p.real, lambda one: b.op(f"call {callee}({v} {one}, {more})"))


_ALL, _NEGATIVE = 255, 64
"""Classes of numbers but positive normal ones; that of negative normal ones."""


def odd(x: Real, either: bool) -> str:
    """Which are no positive normal numbers, or, of either sign, no normal ones?"""
    classes = _ALL - _NEGATIVE if either else _ALL
    on, b, n = x.on, x.on.b, lanes(x.on)
    v = f"<{n} x {on.p.real}>"
    callee = f"<{n} x i1> @llvm.x86.avx512.fpclass.{_suffix(on)}"
    b.declare(f"declare {callee}({v}, i32)")
    return each(x, on.p.real, "i1", lambda one: b.op(f"call {callee}({v} {one}, i32 {classes})"))


def permuted(index: Bits, rows: list[str]) -> str:
    """The numbers at an index modulo their count, which is that of the lanes of one register or two; the
    text of one or both."""
    on, b, n = index.on, index.on.b, lanes(index.on)
    v, i, short = f"<{n} x {on.p.real}>", f"<{n} x {on.p.bits}>", "sd"[on.p.size == 8]
    if len(rows) == 1:
        callee = f"{v} @llvm.x86.avx512.permvar.{short}f.512"
        b.declare(f"declare {callee}({v}, {i})")
        return each(index, on.p.bits, on.p.real, lambda x: b.op(f"call {callee}({v} <{rows[0]}>, {i} {x})"))
    callee = f"{v} @llvm.x86.avx512.vpermi2var.p{short}.512"
    b.declare(f"declare {callee}({v}, {i}, {v})")
    one, two = (f"{v} <{row}>" for row in rows)
    return each(index, on.p.bits, on.p.real, lambda x: b.op(f"call {callee}({one}, {i} {x}, {two})"))
