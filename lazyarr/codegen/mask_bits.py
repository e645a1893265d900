"""What masks of registers say: their bits, and how many lanes of several are True.

In:  vectors of `i1`.   Out: 64-bit integers.
LLVM holds a mask of AVX2 between instructions in the narrowest lanes, and makes three instructions of its
bits that ``vmovmskpd`` has at once from the lanes that were compared.  To count it takes none of these: lanes
that are True are -1, and add up.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.codegen.reduce_flow import Function
from lazyarr.target import Target

REGISTER = 32
"""Bytes."""

_BITS = {4: ("double", "pd"), 8: ("float", "ps")}
"""By the lanes of a register: the type whose signs are its mask's bits, and how the instruction says it."""


def _as_lanes(target: Target, lanes: int) -> bool:
    """Are masks of so many lanes full registers, and not AVX-512's own?"""
    return lanes in _BITS and "+avx2" in target.features and "+avx512vl" not in target.features


def bits_of(b: Function, mask: str, lanes: int) -> str:
    """The bits of a mask."""
    if not _as_lanes(b.target, lanes):
        bits = b.op(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
        return bits if lanes == 64 else b.op(f"zext i{lanes} {bits} to i64")
    t, suffix = _BITS[lanes]
    wide = f"i{8 * REGISTER // lanes}"
    signs = b.op(f"sext <{lanes} x i1> {mask} to <{lanes} x {wide}>")
    signs = b.op(f"bitcast <{lanes} x {wide}> {signs} to <{lanes} x {t}>")
    name = f"@llvm.x86.avx.movmsk.{suffix}.256"
    b.declare(f"declare i32 {name}(<{lanes} x {t}>)")
    return b.op(f"zext i32 {b.op(f'call i32 {name}(<{lanes} x {t}> {signs})')} to i64")


def ones(b: Function, bits: str) -> str:
    """How many of 64 bits are set."""
    b.declare("declare i64 @llvm.ctpop.i64(i64)")
    return b.op(f"call i64 @llvm.ctpop.i64(i64 {bits})")


def true_lanes(b: Function, masks: Sequence[str], lanes: int) -> list[str]:
    """Numbers whose sum is how many lanes of some masks are True."""
    if len(masks) == 1 or not _as_lanes(b.target, lanes):
        return [ones(b, bits_of(b, mask, lanes)) for mask in masks]
    wide = f"i{8 * REGISTER // lanes}"
    vector = f"<{lanes} x {wide}>"
    total = "zeroinitializer"
    for mask in masks:
        total = b.op(f"sub {vector} {total}, {b.op(f'sext <{lanes} x i1> {mask} to {vector}')}")
    name = f"@llvm.vector.reduce.add.v{lanes}{wide}"
    b.declare(f"declare {wide} {name}({vector})")
    count = b.op(f"call {wide} {name}({vector} {total})")
    return [count if wide == "i64" else b.op(f"zext {wide} {count} to i64")]
