"""Keeping the elements where a mask is True: counts, then positions, then the elements side by side.

In:  a parfor ``r+`` whose only reduction is 'compress'.   Out: `counting`, a parfor of the same loops that
counts; and the instructions by which its own kernel keeps elements.

A launch, in full::

    cuts = cut(parfor, shape, 0)                # the same for both
    launch the kernel of counting(parfor) with cuts and partials, without combining
    counts = the first 8 bytes of each of the cuts.steps partial results
    offsets = [0, *cumsum(counts)], as 64-bit words; the result has offsets[-1] elements
    launch the kernel of parfor with cuts, and the address of offsets in place of partials

Every step writes exactly the elements from its offset to the next one's.
"""

from __future__ import annotations

from dataclasses import replace

from lazyarr.codegen.emitters_types import Value, lane
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import Fold, extract, parts, store_scalar
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction

LIMIT = 8
"""Offset, in the carry slot, of the address where the step's elements end."""


def counting(parfor: Parfor) -> Parfor:
    """How many elements a 'compress' will keep, step by step."""
    *body, last = parfor.body
    how = last.attr
    assert isinstance(how, Reduction) and how.ufunc == "compress"
    body.append(Inst("cast", "?->l", (how.mask,)))
    count = Reduction("add", "any", how.out, group=how.group)
    body.append(Inst("reduce", "l", (len(body) - 1,), count))
    operands = list(parfor.operands)
    operands[how.out] = Operand("l", "z", "out")
    return replace(parfor, operands=tuple(operands), body=_needed(body))


def _needed(body: list[Inst]) -> tuple[Inst, ...]:
    """Without the instructions that only the kept elements need."""
    used = {len(body) - 1}
    for v in reversed(range(len(body))):
        if v in used:
            used.update(body[v].args)
    place = {v: k for k, v in enumerate(sorted(used))}
    return tuple(body[v]._replace(args=tuple(place[a] for a in body[v].args)) for v in sorted(used))


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
    """AVX-512 packs elements of 4 and 8 bytes."""
    row = PLAIN[fold.char]
    return "+avx512vl" in b.target.features and row.kind != "c" and row.itemsize >= 4


def _by_vector(b: Function, fold: Fold, pointer: str, value: Value, mask: str) -> str:
    t, row, w = b.ty(lane(fold.char)), PLAIN[fold.char], b.width
    suffix = {"float": "f32", "double": "f64"}.get(row.llvm, row.llvm)
    name = f"@llvm.masked.compressstore.v{w}{suffix}"
    b.declare(f"declare void {name}({t}, ptr, {b.ty('i1')})")
    b.do(f"call void {name}({t} {value}, ptr align {row.itemsize} {pointer}, {b.ty('i1')} {mask})")
    bits = b.op(f"zext i{w} {b.op(f'bitcast <{w} x i1> {mask} to i{w}')} to i64")
    b.declare("declare i64 @llvm.ctpop.i64(i64)")
    kept = b.op(f"call i64 @llvm.ctpop.i64(i64 {bits})")
    return b.at(pointer, b.mul(kept, str(row.itemsize)))


def _one(b: Function, fold: Fold, pointer: str, value: Value, mask: str, carry: int) -> str:
    """Store without asking, and go on if it is kept; beyond the step's end, store aside."""
    limit = b.word("%ctx", carry // 8 + LIMIT // 8, "ptr")
    aside = b.alloca("[16 x i8]", 16)
    inside = b.op(f"icmp ult ptr {pointer}, {limit}")
    store_scalar(b, fold.char, value, b.op(f"select i1 {inside}, ptr {pointer}, ptr {aside}"))
    size = PLAIN[fold.char].itemsize
    return b.at(pointer, b.op(f"select i1 {mask}, i64 {size}, i64 0"))

