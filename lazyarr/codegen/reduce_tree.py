"""NumPy's pairwise tree as a recursive function: fold a range of elements, or split it in two.

In:  the folds of a parfor, and code that folds a range small enough not to split.
Out: the function ``void fold(words, ctx, start, n, out)``, one 16-byte slot of `out` for each fold.
A range splits where NumPy's does: at half, rounded down to a multiple of eight reals.  Its left part
runs first, so strict sequences, which live in the context, see the elements in order.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import SLOT, combine, load_scalar, store_scalar
from lazyarr.codegen.reduce_kernel import FOLD_PARAMS, Reduce

LEAF = 128
"""Reals in the longest range that NumPy does not split."""


def halve(b: Function, n: str, per: int) -> str:
    """Elements of the left part."""
    if per == 1:
        return b.op(f"and i64 {b.op(f'lshr i64 {n}, 1')}, -8")
    return b.op(f"lshr i64 {b.op(f'and i64 {n}, -8')}, 1")


def tree_function(r: Reduce, name: str, largest: int, leaf: Callable[[Function], None]) -> Function:
    """`leaf` writes the folding of ``%n <= largest`` elements into ``%out``."""
    b = Function(r.target, name, FOLD_PARAMS)
    if not r.pairwise:
        leaf(b)
        return b
    small = b.op(f"icmp sle i64 %n, {largest}")
    with b.when(small):
        leaf(b)
    with b.otherwise(small):
        _split(r, b, name)
    return b


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
