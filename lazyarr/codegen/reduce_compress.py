"""Keeping the elements where a mask is True, side by side.

In:  a parfor ``r+`` whose only reduction is 'compress'.   Out: the instructions by which its kernel packs.
A launch gives the address of ranks in the place of partial results: the number of elements kept before
each step, and in all.  Every step writes exactly the elements from its rank to the next one's.
"""

from __future__ import annotations

from lazyarr.codegen.emitters_types import Value, lane
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import Fold, extract, parts, store_scalar
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.dtypes import PLAIN

LIMIT = 8
"""Offset, in the carry slot, of the address where the step's elements end."""


def begin_packing(
    r: Reduce, b: Function, fold: Fold, step: str, out: str, offsets: str, ctx: str
) -> None:
    """Where a step's first element goes, and where its elements end."""
    table = b.op(f"inttoptr i64 {offsets} to ptr")
    size = str(PLAIN[fold.char].itemsize)
    for at, number in ((0, step), (LIMIT, b.add(step, "1"))):
        offset = b.op(f"load i64, ptr {b.at(table, b.mul(number, '8'))}, align 8")
        b.put(ctx, r.carry(fold) + at, "ptr", b.at(out, b.mul(offset, size)))


def pack(b: Function, fold: Fold, to: Value, batch: list[tuple[Value, str | None]], carry: int) -> Value:
    """Store the kept ones of some vectors (or scalars); where the next one goes."""
    pointer = parts(to)[0]
    for value, mask in batch:
        assert mask is not None
        if b.width and _compresses(b, fold):
            pointer = _by_vector(b, fold, pointer, value, mask)
        elif b.width:
            for k in range(b.width):
                one, flag = extract(b, fold.char, value, k), parts(extract(b, "?", mask, k))[0]
                with b.lanes(0):
                    pointer = _one(b, fold, pointer, one, flag, carry)
        else:
            pointer = _one(b, fold, pointer, value, mask, carry)
    return pointer


def _compresses(b: Function, fold: Fold) -> bool:
    """AVX-512 packs 32-bit and 64-bit lanes of at least 16 bytes; shorter elements travel in the former."""
    row = PLAIN[fold.char]
    lanes = b.width * max(4, min(8, row.itemsize))
    return "+avx512vl" in b.target.features and "+avx512bw" in b.target.features and lanes >= 16


def _by_vector(b: Function, fold: Fold, pointer: str, value: Value, mask: str) -> str:
    """Pack in registers, then store the kept lanes only: packing into memory is slow on some CPUs."""
    row, width = PLAIN[fold.char], b.width
    most = 64 // max(4, min(8, row.itemsize))
    for first in range(0, width, most):
        lanes = range(first, min(first + most, width))
        flags = _lanes(b, "i1", mask, lanes)
        pieces = [_integers(b, fold.char, part, lanes) for part in parts(value)]
        with b.lanes(len(lanes)):
            pointer = _store_packed(b, row.itemsize, pointer, pieces, flags)
    return pointer


def _lanes(b: Function, t: str, vector: str, lanes: range) -> str:
    """Some neighbouring lanes of a vector."""
    if len(lanes) == b.width:
        return vector
    mask = ", ".join(f"i32 {k}" for k in lanes)
    return b.op(f"shufflevector {b.ty(t)} {vector}, {b.ty(t)} poison, <{len(lanes)} x i32> <{mask}>")


def _integers(b: Function, char: str, vector: str, lanes: range) -> str:
    """Lanes as the integers of 32 or 64 bits that they are packed as."""
    t, row = lane(char), PLAIN[char]
    some = _lanes(b, t, vector, lanes)
    bits = 8 * row.itemsize // (2 if row.kind == "c" else 1)
    with b.lanes(len(lanes)):
        if row.kind in "fc":
            some = b.op(f"bitcast {b.ty(t)} {some} to {b.ty(f'i{bits}')}")
        given = "i1" if row.kind == "b" else f"i{bits}"
        return some if bits >= 32 else b.op(f"zext {b.ty(given)} {some} to {b.ty('i32')}")


def _store_packed(b: Function, size: int, pointer: str, pieces: list[str], mask: str) -> str:
    """Store the lanes under the mask side by side; complex numbers have two pieces."""
    w = b.width
    i1 = b.ty("i1")
    bits = b.op(f"zext i{w} {b.op(f'bitcast {i1} {mask} to i{w}')} to i64")
    b.declare("declare i64 @llvm.ctpop.i64(i64)")
    kept = b.op(f"call i64 @llvm.ctpop.i64(i64 {bits})")
    t = f"i{max(32, 8 * size // len(pieces))}"
    name = f"@llvm.x86.avx512.mask.compress.v{w}{t}"
    b.declare(f"declare {b.ty(t)} {name}({b.ty(t)}, {b.ty(t)}, {i1})")
    packed = [
        b.op(f"call {b.ty(t)} {name}({b.ty(t)} {piece}, {b.ty(t)} zeroinitializer, {i1} {mask})")
        for piece in pieces
    ]
    if len(pieces) == 2:
        order = ", ".join(f"i32 {k}, i32 {w + k}" for k in range(w))
        x, y = packed
        vector = b.op(f"shufflevector {b.ty(t)} {x}, {b.ty(t)} {y}, <{2 * w} x i32> <{order}>")
    elif size < 4:
        vector = b.op(f"trunc {b.ty(t)} {packed[0]} to {b.ty(f'i{8 * size}')}")
    else:
        vector = packed[0]
    with b.lanes(w * len(pieces)):
        t = t if size >= 4 else f"i{8 * size}"
        _store_first(b, t, vector, pointer, kept if len(pieces) == 1 else b.op(f"shl i64 {kept}, 1"))
    return b.at(pointer, b.mul(kept, str(size)))


def _store_first(b: Function, t: str, vector: str, pointer: str, count: str) -> None:
    """Store the first lanes of a vector."""
    w = b.width
    ones = b.op(f"lshr i64 {(1 << w) - 1}, {b.op(f'sub i64 {w}, {count}')}")
    flags = b.op(f"bitcast i{w} {b.op(f'trunc i64 {ones} to i{w}')} to {b.ty('i1')}")
    name = f"@llvm.masked.store.v{w}{t}.p0"
    b.declare(f"declare void {name}({b.ty(t)}, ptr, i32, {b.ty('i1')})")
    b.do(f"call void {name}({b.ty(t)} {vector}, ptr {pointer}, i32 1, {b.ty('i1')} {flags})")


def _one(b: Function, fold: Fold, pointer: str, value: Value, mask: str, carry: int) -> str:
    """Store without asking, and go on if it is kept; beyond the step's end, store aside."""
    limit = b.word("%ctx", carry // 8 + LIMIT // 8, "ptr")
    aside = b.alloca("[16 x i8]", 16)
    inside = b.op(f"icmp ult ptr {pointer}, {limit}")
    store_scalar(b, fold.char, value, b.op(f"select i1 {inside}, ptr {pointer}, ptr {aside}"))
    size = PLAIN[fold.char].itemsize
    return b.at(pointer, b.op(f"select i1 {mask}, i64 {size}, i64 0"))
