"""Folding along the innermost loop, in registers: the leaf of the tree when all ops are native.

In:  a parfor ``p* r+`` whose group is one loop.   Out: its fold function.
Lanes are NumPy's accumulators: eight for a real sum, four for a complex one, which end combined by
neighbours and are followed by the tail one by one.  Where any order is right they are a register's.
"""

from __future__ import annotations

from collections.abc import Iterator

from lazyarr.codegen.emit_body import Registers
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.emitters_types import Value, lane
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.loopir import Apply, Kernel, Loop, Once
from lazyarr.codegen.reduce_body import Body, Later, straight
from lazyarr.codegen.reduce_compress import pack, room
from lazyarr.codegen.reduce_count import add_counts
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import (
    combine,
    extract,
    horizontal,
    load_scalar,
    neutral_value,
    parts,
    store_scalar,
    whole,
    widened,
)
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.codegen.vectorize import component_bytes, lanes_of
from lazyarr.tuning import tuning

LANES = 8
"""NumPy's accumulators in a real sum."""

EXIT = 4096
"""Elements after which it is asked whether the result is known already."""


def in_registers(r: Reduce) -> Kernel | None:
    """The body as a straight line, if the folds can run in registers; else it goes through scratch."""
    if len(r.space) > 1 or any(f.search or f.called for f in r.folds):
        return None
    return straight(r)


class Leaf:
    """Writes the folding of one short range."""

    def __init__(self, r: Reduce, kernel: Kernel, b: Function, alone: bool = False) -> None:
        """`alone`: nobody else asks for its accumulators, so folds that are alike have one."""
        self.r, self.b = r, b
        folds = [f for f in r.folds if not f.called]
        self.alike = _alike(folds) if alone and r.pairwise else {f.number: [f] for f in folds}
        """By the number of a fold with an accumulator: those whose results that is."""
        self.folds = [f for f in folds if f.number in self.alike]
        self.body = Body(kernel, r, b)
        once, loop = kernel.body
        assert isinstance(once, Once) and isinstance(loop, Loop)
        self.once, self.lanes = once, loop.body
        self.width = LANES // r.per_element if r.pairwise else vector_lanes(loop, r)
        self.apiece = _apiece(loop, r, self.width)
        rounds = max(1, min(LANES, tuning(r.target.name).fold_lanes // max(1, len(self.lanes))))
        self.later: dict[int, Later] = {}
        """What a later launch will read."""
        self.unroll = 1 << rounds.bit_length() - 1

    def write(self) -> None:
        b, body = self.b, self.body
        rows = body.rows()
        self.pointers = body.advance(rows, "%start")
        self.look_ahead()
        body.once(self.once, Range(self.pointers, "%n"))
        accs = self.vectors()
        scalars = [self.finish(fold, acc) for fold, acc in zip(self.folds, accs, strict=True)]
        scalars = self.tail(scalars)
        for fold, value in zip(self.folds, scalars, strict=True):
            if fold.counts:
                value = in_own_type(b, fold, value)
            if fold.packs:
                b.put("%ctx", self.r.context.carry(fold.number), "ptr", parts(value)[0])
            elif fold.how.order == "sequential":
                store_scalar(b, fold.acc, value, b.at("%ctx", self.r.context.carry(fold.number)))
            else:
                self.leave(fold, value)

    def leave(self, fold: Fold, value: Value) -> None:
        """A result, for all that ask for it."""
        for each in self.alike[fold.number]:
            store_scalar(self.b, fold.acc, value, self.b.at("%out", SLOT * each.number))

    def look_ahead(self) -> None:
        """Fetch meanwhile what a later launch will read: while memory gives nothing, or what is computed
        takes longer than it does."""
        if self.r.passes:
            self.later = self.body.later(self.lanes, self.pointers)

    def vectors(self) -> list[Value]:
        """Whole vectors, several at a time, then one by one."""
        b = self.b
        with b.lanes(self.width):
            accs = [self.first(fold) for fold in self.folds]
            wide = self.body.fixed.spread(self.body.fixed.chars)
            start = "0"
            roomy = any(fold.packs for fold in self.folds)
            if roomy:
                start, accs[0] = self.while_roomy(accs[0], wide)
            several = [(self.unroll, self.apiece), (1, self.apiece)]
            for unroll, apiece in dict.fromkeys(((1, 1), ) if roomy else (*several, (1, 1))):
                end = b.op(f"and i64 %n, {-unroll * apiece * self.width}")
                accs = self.rounds(accs, wide, start, end, unroll, apiece=apiece)
                start = end
        self.start = start
        return accs

    def while_roomy(self, pointer: Value, wide: Registers) -> tuple[str, Value]:
        """Pack as long as there is room for all elements; where it ended, in the source and in the result.

        What is kept of some vectors leaves room for more."""
        b, fold, step = self.b, self.folds[0], self.unroll * self.width
        stopped = b.alloca("i64", 8)
        b.put(stopped, 0, "i64", "0")
        whole = b.op(f"and i64 %n, {-step}")
        with b.loop("0", whole, str(step), [("ptr", parts(pointer)[0])]) as (index, carried):
            most = room(b, fold, carried.now[0], self.r.context.carry(fold.number))
            most = b.op(f"and i64 {b.smaller(most, b.op(f'sub i64 {whole}, {index}'))}, {-step}")
            end = b.add(index, most)
            made = self.rounds([carried.now[0]], wide, index, end, self.unroll, roomy=True)
            b.put(stopped, 0, "i64", end)
            carried.next = [parts(made[0])[0]]
            carried.step = b.op(f"select i1 {b.op(f'icmp eq i64 {most}, 0')}, i64 {whole}, i64 {most}")
        return b.word(stopped, 0), carried.after[0]

    def first(self, fold: Fold) -> Value:
        b = self.b
        if fold.counts:
            return "0"
        if fold.packs:
            return b.word("%ctx", self.r.context.carry(fold.number) // 8, "ptr")
        if fold.how.order == "sequential":
            with b.lanes(0):
                return load_scalar(b, fold.acc, b.at("%ctx", self.r.context.carry(fold.number)))
        return neutral_value(b, fold)

    def types(self, accs: list[Value]) -> list[tuple[str, str]]:
        """Accumulators as carried values."""
        found = []
        for fold, acc in zip(self.folds, accs, strict=True):
            t = "ptr" if fold.packs else "i64" if fold.counts else lane(fold.acc)
            ty = t if fold.counts or fold.how.order == "sequential" else self.b.ty(t)
            found += [(ty, part) for part in parts(acc)]
        return found

    def regroup(self, names: list[str], accs: list[Value]) -> list[Value]:
        rest = iter(names)
        return [whole([next(rest) for _ in parts(acc)]) for acc in accs]

    def rounds(
        self, accs: list[Value], wide: Registers, start: str, end: str, unroll: int, roomy: bool = False,
        apiece: int = 1,
    ) -> list[Value]:  # fmt: skip
        """`apiece`: so many times as many elements are computed at once as accumulators take."""
        b, width = self.b, self.b.width
        step = unroll * apiece * max(width, 1)
        if apiece > 1:
            with b.lanes(apiece * width):
                wide = self.body.fixed.spread(self.body.fixed.chars)
        with b.loop(start, end, str(step), self.types(accs)) as (index, carried):
            now = self.regroup(carried.now, accs)
            if unroll > 1:
                self.body.prefetch(self.lanes, self.pointers, index, step, self.later)
            batches = []
            for u in range(unroll):
                at = b.add(index, str(u * apiece * max(width, 1))) if u else index
                with b.lanes(apiece * width):
                    found = self.values(self.body.evaluate(self.lanes, wide, self.pointers, at))
                batches += self.pieces(found, apiece)
            if roomy:
                b.next_block()
            now = [
                self.absorb(fold, acc, [batch[k] for batch in batches], roomy)
                for k, (fold, acc) in enumerate(zip(self.folds, now, strict=True))
            ]
            carried.next = [part for acc in now for part in parts(acc)]
        return self.regroup(carried.after, accs)

    def values(self, found: Registers) -> list[tuple[Value, str | None]]:
        """For each fold: its value as accumulators take it, and its mask."""
        result = []
        for fold in self.folds:
            mask = found.value(fold.how.mask) if fold.how.mask >= 0 else None
            assert mask is None or isinstance(mask, str)
            result.append((widened(self.b, fold, found.value(fold.value)), mask))
        return result

    def pieces(
        self, found: list[tuple[Value, str | None]], apiece: int
    ) -> list[list[tuple[Value, str | None]]]:
        """What was computed at once, as accumulators take it."""
        if apiece == 1:
            return [found]
        b, cut = self.b, list[list[tuple[Value, str | None]]]()
        for u in range(apiece):
            order = ", ".join(f"i32 {k}" for k in range(u * b.width, (u + 1) * b.width))

            def part(x: str, t: str, order: str = order) -> str:
                v = f"<{apiece * b.width} x {t}>"
                return b.op(f"shufflevector {v} {x}, {v} poison, <{b.width} x i32> <{order}>")

            cut.append([
                (whole([part(x, lane(fold.acc)) for x in parts(value)]), mask and part(mask, "i1"))
                for fold, (value, mask) in zip(self.folds, found, strict=True)
            ])
        return cut

    def absorb(
        self, fold: Fold, acc: Value, batch: list[tuple[Value, str | None]], roomy: bool = False
    ) -> Value:
        """Fold some vectors (or scalars) of values into an accumulator."""
        b = self.b
        if fold.packs:
            return pack(b, fold, acc, batch, self.r.context.carry(fold.number), roomy)
        if fold.counts:
            return add_counts(b, parts(acc)[0], batch)
        if fold.how.order == "sequential":
            for item, flag in self.one_by_one(fold, batch):
                with b.lanes(0):
                    acc = masked(b, fold, flag, combine(b, fold, acc, item), acc)
            return acc
        values = [masked(b, fold, mask, v, neutral_value(b, fold)) for v, mask in batch]
        while fold.how.order == "any" and len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [combine(b, fold, x, y) for x, y in pairs] + values[len(values) & ~1 :]
        for v in values:
            acc = combine(b, fold, acc, v)
        return acc

    def one_by_one(
        self, fold: Fold, batch: list[tuple[Value, str | None]]
    ) -> Iterator[tuple[Value, str | None]]:
        """The lanes of vectors as scalars, each extracted when it is its turn."""
        b = self.b
        for vector, mask in batch:
            if not b.width:
                yield vector, mask
            for k in range(b.width):
                item = extract(b, fold.acc, vector, k)
                yield item, None if mask is None else parts(extract(b, "?", mask, k))[0]

    def finish(self, fold: Fold, acc: Value) -> Value:
        if fold.counts or fold.how.order == "sequential":
            return acc
        with self.b.lanes(self.width):
            return horizontal(self.b, fold, acc)

    def tail(self, scalars: list[Value]) -> list[Value]:
        wide = self.body.fixed
        return self.rounds(scalars, wide, self.start, "%n", 1)


def _alike(folds: list[Fold]) -> dict[int, list[Fold]]:
    """Trees over the same elements, by the number of the first one: `mean` and `std` begin with one sum."""
    found = dict[object, list[Fold]]()
    for f in folds:
        same = (f.value, f.char, f.how._replace(out=0, start=0)) if f.how.order == "pairwise" else f.number
        found.setdefault(same, []).append(f)
    return {each[0].number: each for each in found.values()}


def vector_lanes(loop: Loop, r: Reduce) -> int:
    """Lanes of a register where any order is right."""
    own = [r.target.vector_bytes // component_bytes("?" if f.counts else f.acc) for f in r.folds]
    return min([*own, lanes_of(loop, r.target)] if loop.body else own)


def _apiece(loop: Loop, r: Reduce, width: int) -> int:
    """How many times the lanes of accumulators fit into a register, for bodies that compute.

    (The accumulators are NumPy's, whatever the register.)"""
    if not r.pairwise or not any(isinstance(each, Apply) for each in loop.body):
        return 1
    if any(fold.counts for fold in r.folds):    # (what is True is counted without lanes)
        return 1
    return max(1, lanes_of(loop, r.target) // width)


def in_own_type(b: Function, fold: Fold, total: Value) -> Value:
    """A count in the fold's own type."""
    t = lane(fold.acc)
    return total if t == "i64" else b.op(f"trunc i64 {parts(total)[0]} to {t}")


def masked(b: Function, fold: Fold, mask: str | None, yes: Value, no: Value) -> Value:
    """`yes` where the mask is True."""
    if mask is None:
        return yes
    t, m = b.ty(lane(fold.acc)), b.ty("i1")
    return whole([
        b.op(f"select {m} {mask}, {t} {x}, {t} {y}") for x, y in zip(parts(yes), parts(no), strict=True)
    ])
