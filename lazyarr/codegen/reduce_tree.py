"""NumPy's pairwise tree as a recursive function: fold a range of elements, or split it in two.

In:  the folds of a parfor, and code that folds a range small enough not to split.
Out: the function ``void fold(words, ctx, start, n, out)``, one 16-byte slot of `out` for each fold.
A range splits where NumPy's does: at half, rounded down to a multiple of eight reals.  Its left part
runs first, so strict sequences, which live in the context, see the elements in order.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import combine, decided, load_scalar, neutral_value, store_scalar
from lazyarr.codegen.reduce_kernel import FOLD_PARAMS, Reduce
from lazyarr.codegen.reduce_plan import SLOT

LEAF = 128
"""Reals in the longest range that NumPy does not split."""

BESIDE = "_beside"
"""Ends the name of the function that folds outputs side by side (`reduce_beside`)."""

CROSSED = "_crossed"
"""Ends the name of the function that folds rows crossed with columns (`reduce_crossed`)."""


def halve(b: Function, n: str, per: int) -> str:
    """Elements of the left part."""
    if per == 1:
        return b.op(f"and i64 {b.op(f'lshr i64 {n}, 1')}, -8")
    return b.op(f"lshr i64 {b.op(f'and i64 {n}, -8')}, 1")


def subtree(
    b: Function, number: str, depth: str, start: str, n: str, cut: Callable[[str], str]
) -> tuple[str, str]:
    """Start and elements of one of a range's ``2**depth`` subtrees; the last bits of `number` say which.

    `cut` says how many elements the left part of a range has."""
    with b.loop("0", depth, "1", [("i64", start), ("i64", n), ("i64", depth)]) as (_, state):
        start, n, left = state.now
        left = b.add(left, "-1")
        first = cut(n)
        right = b.op(f"trunc i64 {b.op(f'lshr i64 {number}, {left}')} to i1")
        further, others = b.add(start, first), b.op(f"sub i64 {n}, {first}")
        state.next = [
            b.op(f"select i1 {right}, i64 {further}, i64 {start}"),
            b.op(f"select i1 {right}, i64 {others}, i64 {first}"),
            left,
        ]
    return state.after[0], state.after[1]


def tree_function(
    r: Reduce, name: str, largest: int, leaf: Callable[[Function], None],
    some: Callable[[Function], str] | None = None,
) -> Function:
    """`leaf` writes the folding of ``%n <= largest`` elements into ``%out``; `some` that of more, where it
    can, and says whether it did (i1)."""
    b = Function(r.target, name, FOLD_PARAMS)
    if not r.beside:
        _tree(r, b, name, largest, leaf, some)
        return b
    several = b.op("icmp slt i64 %n, 0")
    with b.when(several):
        n = b.op("sub i64 0, %n")
        arguments = f"(ptr %words, ptr %ctx, i64 %start, i64 {n}, ptr %out)"
        if not r.lanes:
            b.do(f"call void @{name}{BESIDE}{arguments}")
        else:
            crossed = b.op(f"icmp ne i64 {b.word('%ctx', r.context.lines // 8)}, 0")
            with b.when(crossed):
                b.do(f"call void @{name}{CROSSED}{arguments}")
            with b.otherwise(crossed):
                b.do(f"call void @{name}{BESIDE}{arguments}")
    with b.otherwise(several):
        _tree(r, b, name, largest, leaf, some)
    return b


def _tree(
    r: Reduce, b: Function, name: str, largest: int, leaf: Callable[[Function], None],
    some: Callable[[Function], str] | None,
) -> None:
    if not r.pairwise:
        leaf(b)
        return
    small = b.op(f"icmp sle i64 %n, {largest}")
    with b.when(small):
        leaf(b)
    with b.otherwise(small):
        if some is None:
            _split(r, b, name)
            return
        with b.otherwise(some(b)):
            _split(r, b, name)


def _split(r: Reduce, b: Function, name: str) -> None:
    size = SLOT * len(r.folds)
    left, right = b.alloca(f"[{size} x i8]", 16), b.alloca(f"[{size} x i8]", 16)
    cut = halve(b, "%n", r.per_element)
    rest, middle = b.op(f"sub i64 %n, {cut}"), b.add("%start", cut)
    b.do(f"call void @{name}(ptr %words, ptr %ctx, i64 %start, i64 {cut}, ptr {left})")
    b.do(f"call void @{name}(ptr %words, ptr %ctx, i64 {middle}, i64 {rest}, ptr {right})")
    for fold in r.folds:
        if fold.carried:
            continue
        at = SLOT * fold.number
        x, y = (load_scalar(b, fold.acc, b.at(side, at)) for side in (left, right))
        store_scalar(b, fold.acc, combine(b, fold, x, y), b.at("%out", at))


def in_sequence(
    r: Reduce, name: str, size: int, write: Callable[[Function, str, str, str], None]
) -> Function:
    """Without a tree: blocks one after the other, until the end or until the result is known.

    `write` (function, first element, elements, out) folds a block."""
    b = Function(r.target, name, FOLD_PARAMS)
    part = b.alloca(f"[{SLOT * len(r.folds)} x i8]", 16)
    free = [f for f in r.folds if not f.carried]
    for fold in free:
        store_scalar(b, fold.acc, neutral_value(b, fold), b.at("%out", SLOT * fold.number))
    end = b.add("%start", "%n")

    def block(at: str) -> str:
        write(b, at, b.smaller(str(size), b.op(f"sub i64 {end}, {at}")), part)
        for fold in free:
            place = SLOT * fold.number
            x, y = (load_scalar(b, fold.acc, b.at(p, place)) for p in ("%out", part))
            store_scalar(b, fold.acc, combine(b, fold, x, y), b.at("%out", place))
        if not r.decidable:
            return "false"
        fold = r.folds[0]
        return decided(b, fold, b.at("%ctx", r.context.carry(fold.number)) if fold.search else "%out")

    b.until("%start", end, str(size), block)
    return b
