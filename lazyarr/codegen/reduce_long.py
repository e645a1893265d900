"""Long sums under a mask: a run of more elements than a block has, of which each stretch is a tree.

In:  code that leaves a block's values and mask in memory.   Out: the fold function, and those that it calls.
A stretch that runs over a block's end is left to the next block, which begins with it, so its elements are
computed twice.  Where one is longer than a block its end is looked for first, since where a tree splits
depends on how many elements it has; then its leaves are computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lazyarr.codegen.reduce_body import Body
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import combine, load_scalar, neutral_value, store_scalar
from lazyarr.codegen.reduce_kernel import FOLD_PARAMS, Reduce
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.codegen.reduce_stretches import end_of, stretches
from lazyarr.codegen.reduce_tree import halve
from lazyarr.dtypes import PLAIN


class Evaluated(Protocol):
    """The body of the parfor in one function."""

    body: Body

    def begin(self) -> dict[int, str]: ...
    def evaluate(self, rows: dict[int, str], start: str, count: str) -> dict[int, str]: ...
    def place(self, value: int, rows: dict[int, str], start: str) -> str: ...


Within = Callable[[Function], Evaluated]


def long_runs(r: Reduce, name: str, size: int, within: Within) -> list[Function]:
    """The function that folds a run, last; `size` elements are a block."""
    return [_block(r, name, within), _tree(r, name, size, within), _run(r, name, size, within)]


def _block(r: Reduce, name: str, within: Within) -> Function:
    """Compute a block."""
    b = Function(r.target, f"{name}_block", FOLD_PARAMS)
    here = within(b)
    here.evaluate(here.begin(), "%start", "%n")
    return b


def _call(b: Function, name: str, start: str, count: str, out: str) -> None:
    b.do(f"call void @{name}(ptr %words, ptr %ctx, i64 {start}, i64 {count}, ptr {out})")


def _tree(r: Reduce, name: str, size: int, within: Within) -> Function:
    """Sum up a stretch, as NumPy's loop does, which splits where this does."""
    fold = r.folds[0]
    b = Function(r.target, f"{name}_tree", FOLD_PARAMS)
    here = within(b)
    rows = here.begin()
    small = b.op(f"icmp sle i64 %n, {size}")
    with b.when(small):
        _call(b, f"{name}_block", "%start", "%n", "%out")
        store_scalar(b, fold.char, neutral_value(b, fold), "%out")
        values, step = here.place(fold.value, rows, "%start"), str(PLAIN[fold.char].itemsize)
        loop = r.loops.index((fold.how.ufunc, fold.sig))
        here.body.call_on(loop, ("%out", values, "%out"), ("0", step, "0"), "%n")
    with b.otherwise(small):
        right = b.alloca(f"[{SLOT} x i8]", 16)
        first = halve(b, "%n", 2 if PLAIN[fold.char].kind == "c" else 1)
        _call(b, f"{name}_tree", "%start", first, "%out")
        _call(b, f"{name}_tree", b.add("%start", first), b.op(f"sub i64 %n, {first}"), right)
        x, y = load_scalar(b, fold.char, "%out"), load_scalar(b, fold.char, right)
        store_scalar(b, fold.char, combine(b, fold, x, y), "%out")
    return b


def _run(r: Reduce, name: str, size: int, within: Within) -> Function:
    fold = r.folds[0]
    b = Function(r.target, name, FOLD_PARAMS)
    here = within(b)
    rows = here.begin()
    place, step, part = b.alloca("i64", 8), b.alloca("i64", 8), b.alloca(f"[{SLOT} x i8]", 16)
    acc, end = b.at("%ctx", r.context.carry(fold.number)), b.add("%start", "%n")
    with b.loop("%start", end) as (at, state):
        left = b.op(f"sub i64 {end}, {at}")
        count = b.smaller(str(size), left)
        _call(b, f"{name}_block", at, count, part)
        values, mask = (here.place(v, rows, at) for v in (fold.value, fold.how.mask))
        last = b.op(f"icmp eq i64 {count}, {left}")
        closed = b.op(f"select i1 {last}, i64 {count}, i64 {_closed(b, mask, count)}")
        b.put(step, 0, "i64", closed)
        some = b.op(f"icmp ne i64 {closed}, 0")
        with b.when(some):
            stretches(r, here.body, fold, values, mask, closed)
        with b.otherwise(some):
            # All of the block takes part.
            with b.loop(b.add(at, count), end) as (far, further):
                n = b.smaller(str(size), b.op(f"sub i64 {end}, {far}"))
                _call(b, f"{name}_block", far, n, part)
                taken = end_of(b, here.place(fold.how.mask, rows, far), "0", n, place)
                b.put(step, 0, "i64", b.op(f"sub i64 {b.add(far, taken)}, {at}"))
                full = b.op(f"icmp eq i64 {taken}, {n}")
                further.step = b.op(f"select i1 {full}, i64 {n}, i64 {b.op(f'sub i64 {end}, {far}')}")
            _call(b, f"{name}_tree", at, b.word(step, 0), part)
            x, y = load_scalar(b, fold.char, acc), load_scalar(b, fold.char, part)
            store_scalar(b, fold.char, combine(b, fold, x, y), acc)
        state.step = b.word(step, 0)
    b.put("%ctx", r.context.fresh, "i64", "0")
    return b


def _closed(b: Function, mask: str, count: str) -> str:
    """Elements of a block up to the last one that does not take part."""
    last = b.add(count, "-1")

    def left_out(back: str) -> str:
        at = b.at(mask, b.op(f"sub i64 {last}, {back}"))
        return b.op(f"icmp eq i8 {b.op(f'load i8, ptr {at}, align 1')}, 0")

    return b.op(f"sub i64 {count}, {b.until('0', count, '1', left_out)}")
