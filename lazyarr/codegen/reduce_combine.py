"""The combining function of a reduction: partial results of all steps, folded in order.

In:  a `Reduce`.   Out: ``void combine(words, chunk, tid)``, whose chunks are tiles of outputs.
Subtrees of one run are combined as the tree has them; runs and what any order suits go one by one.
"""

from __future__ import annotations

from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import combine, load_scalar, move, store_scalar
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS, Reduce, accumulate
from lazyarr.codegen.reduce_outputs import Chunk, outputs, tiles
from lazyarr.codegen.reduce_plan import DEPTH, PARTIALS, SLOT, STEPS
from lazyarr.codegen.reduce_strict import POSITION, better


class Accumulators:
    """One slot of stack memory for each fold's accumulator, in the fold's own type."""

    def __init__(self, r: Reduce, b: Function) -> None:
        self.r, self.b = r, b
        self.slots = {f.number: b.alloca(f"[{SLOT} x i8]", 16) for f in r.folds}
        self.empty = b.alloca("i1", 1)

    def begin(self) -> None:
        self.b.do(f"store i1 true, ptr {self.empty}, align 1")
        for fold in self.r.folds:
            value = self.r.start(self.b, fold)
            if value is not None:
                self.put(fold, value)

    def get(self, fold: Fold) -> Value:
        return load_scalar(self.b, fold.char, self.slots[fold.number])

    def put(self, fold: Fold, value: Value) -> None:
        store_scalar(self.b, fold.char, value, self.slots[fold.number])

    def add(self, fold: Fold, pointer: str) -> None:
        """Take in the fold of a run."""
        run = load_scalar(self.b, fold.acc, pointer)
        if fold.search:
            self.replace(fold, run, pointer)
        else:
            self.put(fold, accumulate(self.b, fold, self.get(fold), run))

    def replace(self, fold: Fold, best: Value, pointer: str) -> None:
        """Keep the better of two places, the earlier one in a tie."""
        b, mine = self.b, self.get(fold)
        assert isinstance(best, str) and isinstance(mine, str)
        empty = b.op(f"load i1, ptr {self.empty}, align 1")
        with b.when(b.op(f"or i1 {empty}, {better(b, fold, best, mine)}")):
            move(b, pointer, self.slots[fold.number])
        b.do(f"store i1 false, ptr {self.empty}, align 1")


def combine_function(r: Reduce, name: str) -> Function:
    """Chunks go by tiles of outputs, as the kernel's do."""
    b = Function(r.target, name, CHUNK_PARAMS)
    status = r.status(b)
    status.begin()
    steps = r.extra(b, STEPS)
    depth = r.extra(b, DEPTH)
    partials = r.extra(b, PARTIALS)
    chunk = Chunk(*tiles(r, b, "%chunk"), "0", "0")
    accs = Accumulators(r, b)
    size = SLOT * len(r.folds)
    width = b.op(f"shl i64 1, {depth}")
    with outputs(r, b, chunk, r.outer, list(dict.fromkeys(f.how.out for f in r.folds))) as (number, at):
        accs.begin()
        base = b.op(f"inttoptr i64 {b.add(partials, b.mul(b.mul(number, steps), str(size)))} to ptr")
        with b.loop("0", steps, width) as (step, _):
            first = b.at(base, b.mul(step, str(size)))
            _fold_subtrees(r, b, first, depth)
            for fold in r.folds:
                accs.add(fold, b.at(first, SLOT * fold.number))
        for fold in r.folds:
            if fold.search:
                place = b.at(accs.slots[fold.number], POSITION)
                store_scalar(b, "l", load_scalar(b, "l", place), at[fold.how.out])
            else:
                store_scalar(b, fold.char, accs.get(fold), at[fold.how.out])
    status.end()
    return b


def _fold_subtrees(r: Reduce, b: Function, first: str, depth: str) -> None:
    """2**depth neighbouring partial results into the first one, level by level."""
    size = SLOT * len(r.folds)
    with b.loop("0", depth, "1", [("i64", b.op(f"shl i64 1, {depth}"))]) as (_, state):
        half = b.op(f"lshr i64 {state.now[0]}, 1")
        with b.loop("0", half) as (k, _inner):
            left = b.at(first, b.mul(k, str(2 * size)))
            to = b.at(first, b.mul(k, str(size)))
            for fold in (f for f in r.folds if not f.carried):      # those have no subtrees: depth is 0
                at = SLOT * fold.number
                x = load_scalar(b, fold.acc, b.at(left, at))
                y = load_scalar(b, fold.acc, b.at(left, at + size))
                store_scalar(b, fold.acc, combine(b, fold, x, y), b.at(to, at))
        state.next = [half]
