"""Keeping the elements where a mask is True, side by side.

In:  a parfor ``r+`` whose only reduction is 'compress'.   Out: the instructions by which its kernel packs.
A launch gives the address of ranks in the place of partial results: the number of elements kept before
each step, and in all.  Every step writes the elements from its rank to the next one's.
While there is room for all elements of some vectors, whole registers are stored, of which the next ones
overwrite what was not kept.  There is room to the end of the chunk's last step, and `SLACK` bytes more.
Nothing is written beyond, even if the mask is not the one that was counted.
"""

from __future__ import annotations

from lazyarr.codegen.emitters_types import Value, lane
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.mask_bits import bits_of, ones
from lazyarr.codegen.reduce_context import LIMIT
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import extract, parts, store_scalar
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_plan import ENDED, GRAIN, SLACK, STEPS
from lazyarr.codegen.reduce_shuffle import packed_pieces, shuffle_for
from lazyarr.dtypes import PLAIN


def begin_packing(
    r: Reduce, b: Function, fold: Fold, step: str, out: str, offsets: str, ctx: str
) -> str:
    """Say where a step's first element goes, and where the chunk's room ends; does it keep any (i1)?"""
    table = b.op(f"inttoptr i64 {offsets} to ptr")
    size, grain = str(PLAIN[fold.char].itemsize), r.extra(b, GRAIN)
    last = b.smaller(b.mul(b.add(b.op(f"udiv i64 {step}, {grain}"), "1"), grain), r.extra(b, STEPS))
    first, after, end = (b.word(b.at(table, b.mul(k, "8")), 0) for k in (step, b.add(step, "1"), last))
    carry = r.context.carry(fold.number)
    b.put(ctx, carry, "ptr", b.at(out, b.mul(first, size)))
    b.put(ctx, carry + LIMIT, "ptr", b.at(out, b.add(b.mul(end, size), r.extra(b, SLACK))))
    return b.op(f"icmp ne i64 {first}, {after}")


def tell_end(r: Reduce, b: Function, fold: Fold, ctx: str) -> None:
    """Leave the address behind what a step has packed, where somebody wants to know."""
    where = r.extra(b, ENDED)
    with b.when(b.op(f"icmp ne i64 {where}, 0")):
        b.put(b.op(f"inttoptr i64 {where} to ptr"), 0, "i64", b.word(ctx, r.context.carry(fold.number) // 8))


def room(b: Function, fold: Fold, pointer: str, carry: int) -> str:
    """How many elements may be written from `pointer` on."""
    left = _left(b, pointer, carry)
    return b.op(f"udiv i64 {left}, {PLAIN[fold.char].itemsize}")


def _left(b: Function, pointer: str, carry: int) -> str:
    """The same in bytes."""
    end = b.word("%ctx", (carry + LIMIT) // 8)
    return b.op(f"sub i64 {end}, {b.op(f'ptrtoint ptr {pointer} to i64')}")


def pack(
    b: Function, fold: Fold, to: Value, batch: list[tuple[Value, str | None]], carry: int, roomy: bool
) -> Value:
    """Store the kept ones of some vectors (or scalars); where the next one goes.

    With `roomy` there is room for all of them."""
    pointer = parts(to)[0]
    size = PLAIN[fold.char].itemsize
    shuffle = shuffle_for(b.target, size, b.width) if roomy and PLAIN[fold.char].kind != "c" else None
    for value, mask in batch:
        assert mask is not None
        if b.width and _compresses(b, fold):
            pointer = _by_vector(b, fold, pointer, value, mask, None if roomy else carry)
        elif b.width and shuffle is not None:
            vector = _integers(b, fold.char, parts(value)[0], range(b.width), size)
            for t, piece, kept in packed_pieces(b, shuffle, size, vector, mask):
                b.do(f"store {t} {piece}, ptr {pointer}, align 1")
                pointer = b.at(pointer, b.mul(kept, str(size)))
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


def _by_vector(
    b: Function, fold: Fold, pointer: str, value: Value, mask: str, carry: int | None
) -> str:
    """Pack in registers, then store: packing into memory is slow on some CPUs.

    With a `carry` only the kept lanes are stored, as far as there is room."""
    row, width = PLAIN[fold.char], b.width
    most = 64 // max(4, min(8, row.itemsize))
    for first in range(0, width, most):
        lanes = range(first, min(first + most, width))
        flags = _lanes(b, "i1", mask, lanes)
        pieces = [_integers(b, fold.char, part, lanes) for part in parts(value)]
        with b.lanes(len(lanes)):
            pointer = _store_packed(b, row.itemsize, pointer, pieces, flags, carry)
    return pointer


def _lanes(b: Function, t: str, vector: str, lanes: range) -> str:
    """Some neighbouring lanes of a vector."""
    if len(lanes) == b.width:
        return vector
    mask = ", ".join(f"i32 {k}" for k in lanes)
    return b.op(f"shufflevector {b.ty(t)} {vector}, {b.ty(t)} poison, <{len(lanes)} x i32> <{mask}>")


def _integers(b: Function, char: str, vector: str, lanes: range, least: int = 4) -> str:
    """Lanes as the integers, of at least so many bytes, that they are packed as."""
    t, row = lane(char), PLAIN[char]
    some = _lanes(b, t, vector, lanes)
    bits = 8 * row.itemsize // (2 if row.kind == "c" else 1)
    with b.lanes(len(lanes)):
        if row.kind in "fc":
            some = b.op(f"bitcast {b.ty(t)} {some} to {b.ty(f'i{bits}')}")
        given = "i1" if row.kind == "b" else f"i{bits}"
        wanted = max(bits, 8 * least)
        return some if given == f"i{wanted}" else b.op(f"zext {b.ty(given)} {some} to {b.ty(f'i{wanted}')}")


def _store_packed(
    b: Function, size: int, pointer: str, pieces: list[str], mask: str, carry: int | None
) -> str:
    """Store the lanes under the mask side by side; complex numbers have two pieces."""
    w = b.width
    i1 = b.ty("i1")
    kept = b.mul(ones(b, bits_of(b, mask, w)), str(size))
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
    t = t if size >= 4 else f"i{8 * size}"
    with b.lanes(w * len(pieces)):
        if carry is None:
            b.do(f"store {b.ty(t)} {vector}, ptr {pointer}, align 1")
        else:
            kept = b.smaller(kept, _left(b, pointer, carry))
            _store_first(b, t, vector, pointer, b.op(f"udiv i64 {kept}, {size // len(pieces)}"))
    return b.at(pointer, kept)


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
