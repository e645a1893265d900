"""Leaves next to each other, folded side by side: a range that splits into eight of them.

In:  a `Reduce` whose leaves fold in registers (`reduce_inner`).
Out: the functions that fold a range: `folded_by` has the tree's, with one for such ranges beside it.

One leaf is a chain of sums, each of which waits for the one before, then a sum over lanes; a call and the
branches around it take as long again.  So some leaves have their accumulators in registers at a time, and
these are combined together at the end, neighbours first, which is the order of their lanes and then of the
tree.  Where prefetchers lose track of neighbours that are read side by side (`Tuning.beside_bytes`), it is
one leaf at a time.

Halves are multiples of NumPy's accumulators but for the last one's end, so the leaves of a range have as
many whole vectors, or one more: of m vectors leaf number k has (m + k with its three bits in reverse) >> 3.
Only the last leaf has elements besides.

This is code for tier 2, and three times as much.  Ranges of four leaves took 1.0 to 1.3 of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lazyarr.codegen.emit_body import Registers
from lazyarr.codegen.emit_lanes import splat
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.loopir import Kernel, Scatter, Store
from lazyarr.codegen.reduce_beside import abreast, got, joined, plain, put, side_by_side
from lazyarr.codegen.reduce_body import Later
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import extract, load_scalar, parts, store_scalar
from lazyarr.codegen.reduce_inner import EXIT, LANES, Leaf, masked
from lazyarr.codegen.reduce_kernel import FOLD_PARAMS, Reduce
from lazyarr.codegen.reduce_tree import LEAF, in_sequence, tree_function
from lazyarr.dtypes import PLAIN

LEVELS = 3
LEAVES = 1 << LEVELS

ABREAST = 4
"""Leaves whose accumulators are in registers at a time, at most."""

VECTORS = 4
"""Vectors of a leaf that a round takes, where its neighbours are not read beside it: the next leaf does not
wait for its chain of sums, since processors look further ahead than that is long."""

MOST = 2
"""Registers of one accumulator, at most: with four (doubles in those of SSE), two leaves leave too few for
what is computed (1.0 to 1.2 of the time)."""

REVERSED = 0x73516240
"""The numbers of `LEVELS` bits, each with its bits in reverse: four bits for each, the first one lowest."""

SIDE = "_leaves"
"""Ends the name of the function that folds eight leaves."""

LeafOf = Callable[[Function], Leaf]
"""Makes what folds a leaf, in a function."""

Where = tuple[dict[int, str], str]
"""Operands' addresses, and where slots are."""


def fold_functions(r: Reduce, kernel: Kernel, name: str) -> list[Function]:
    """The function that folds a range whose body is in registers, last, and those that it calls."""
    if not r.decidable:
        return folded_by(r, name, lambda b: Leaf(r, kernel, b, alone=True))
    part = Function(r.target, f"{name}_part", FOLD_PARAMS)
    Leaf(r, kernel, part).write()

    def write(b: Function, at: str, count: str, out: str) -> None:
        b.do(f"call void @{name}_part(ptr %words, ptr %ctx, i64 {at}, i64 {count}, ptr {out})")

    return [part, in_sequence(r, name, EXIT, write)]


def folded_by(r: Reduce, name: str, leaf_of: LeafOf) -> list[Function]:
    """NumPy's tree over leaves."""
    together = Function(r.target, name + SIDE, FOLD_PARAMS)
    leaves = Leaves(r, leaf_of(together)) if r.hot and r.pairwise and plain(r) else None
    if leaves is None or leaves.narrow or leaves.crowded or r.lasting:
        return [tree_function(r, name, LEAF // r.per_element, lambda b: leaf_of(b).write())]
    leaves.write()

    def some(b: Function) -> str:
        found = eight(r, b)
        with b.when(found):
            b.do(f"call void @{name}{SIDE}(ptr %words, ptr %ctx, i64 %start, i64 %n, ptr %out)")
        return found

    return [together, tree_function(r, name, LEAF // r.per_element, lambda b: leaf_of(b).write(), some)]


def eight(r: Reduce, b: Function) -> str:
    """Does a range split into eight leaves, all as deep (i1)?"""
    width = LANES // r.per_element
    whole = b.op(f"lshr i64 %n, {width.bit_length() - 1}")
    rest = b.op(f"and i64 %n, {width - 1}")
    rest = b.op(f"zext i1 {b.op(f'icmp ne i64 {rest}, 0')} to i64")
    largest = b.add(b.op(f"lshr i64 {b.add(whole, str(LEAVES - 1))}, {LEVELS}"), rest)
    fits = b.op(f"icmp ule i64 {largest}, {LEAF // LANES}")
    smallest = b.op(f"lshr i64 {whole}, {LEVELS - 1}")          # (of those that are no leaves)
    return b.op(f"and i1 {fits}, {b.op(f'icmp ugt i64 {smallest}, {LEAF // LANES}')}")


class Leaves:
    """Writes the function that folds the leaves of a range."""

    def __init__(self, r: Reduce, leaf: Leaf) -> None:
        self.r, self.b, self.leaf = r, leaf.b, leaf
        self.width = leaf.width
        self.abreast = min(ABREAST, abreast(r, leaf))
        self.narrow = self.abreast < 2
        self.vectors_each = 1
        if side_by_side(r, leaf) < LEAF // r.per_element:
            self.abreast, self.vectors_each = 1, VECTORS
        self.once = any(isinstance(lane, Store | Scatter) for lane in leaf.lanes)
        """No element may be computed twice."""
        self.size = {f.number: self.width * PLAIN[f.acc].itemsize for f in leaf.folds}
        self.crowded = any(n > MOST * r.target.vector_bytes for n in self.size.values())

    def write(self) -> None:
        b, leaf = self.b, self.leaf
        self.whole = b.op(f"lshr i64 %n, {self.width.bit_length() - 1}")
        self.least = b.op(f"lshr i64 {self.whole}, {LEVELS}")
        leaf.pointers = leaf.body.advance(leaf.body.rows(), "%start")
        leaf.look_ahead()
        leaf.body.once(leaf.once, Range(leaf.pointers, "%n"))
        leaf.start = b.mul(self.whole, str(self.width))
        places = [b.alloca(f"[{LEAVES * PLAIN[f.acc].itemsize} x i8]") for f in leaf.folds]
        runs = [joined(b, f, accs, self.width) for f, accs in zip(leaf.folds, self.vectors(), strict=True)]
        each = LEAVES // len(runs[0])
        for fold, run, place in zip(leaf.folds, runs, places, strict=True):
            for k, vector in enumerate(run):
                put(b, fold.acc, vector, b.at(place, k * each * PLAIN[fold.acc].itemsize), each)
        with b.when(b.op(f"icmp ne i64 {leaf.start}, %n")):
            self.tail(places)
        for fold, run, place in zip(leaf.folds, runs, places, strict=True):
            size = each * PLAIN[fold.acc].itemsize
            vectors = [got(b, fold.acc, b.at(place, k * size), each) for k in range(len(run))]
            with b.lanes(1):
                (total,) = joined(b, fold, vectors, each, LEAVES)
                leaf.leave(fold, extract(b, fold.acc, total, 0))

    def tail(self, places: list[str]) -> None:
        """The elements that make no whole vector, one by one, into what the last leaf has."""
        b, leaf = self.b, self.leaf
        at = [
            b.at(place, (LEAVES - 1) * PLAIN[f.acc].itemsize)
            for f, place in zip(leaf.folds, places, strict=True)
        ]
        scalars = [load_scalar(b, f.acc, place) for f, place in zip(leaf.folds, at, strict=True)]
        for fold, value, place in zip(leaf.folds, leaf.tail(scalars), at, strict=True):
            store_scalar(b, fold.acc, value, place)

    def vectors(self) -> list[list[Value]]:
        """For each fold, the accumulators of all leaves after all whole vectors."""
        b, folds = self.b, self.leaf.folds
        kept = [b.alloca(f"[{LEAVES * self.size[f.number]} x i8]") for f in folds]
        with b.lanes(self.width):
            wide = self.leaf.body.fixed.spread(self.leaf.body.fixed.chars)
        with b.loop("0", str(LEAVES), str(self.abreast), [("i64", "0")]) as (first, state):
            (begin,) = state.now
            accs, end = self.some(first, begin, wide)
            state.next = [end]
            for u, one in enumerate(accs):
                for fold, acc, place in zip(folds, one, kept, strict=True):
                    at = b.mul(b.add(first, str(u)), str(self.size[fold.number]))
                    put(b, fold.acc, acc, b.at(place, at), self.width)
        return [
            [got(b, f.acc, b.at(place, k * self.size[f.number]), self.width) for k in range(LEAVES)]
            for f, place in zip(folds, kept, strict=True)
        ]

    def some(self, first: str, begin: str, wide: Registers) -> tuple[list[list[Value]], str]:
        """The accumulators of leaves from number `first` on, as many as are taken abreast, and where they
        end: whole vectors of the range."""
        b, leaf = self.b, self.leaf
        counts, places = [], []
        begun = b.mul(begin, str(self.width))
        later = {k: (b.at(there, b.mul(begun, pace)), pace) for k, (there, pace) in leaf.later.items()}
        for u in range(self.abreast):
            places.append(self.place(b.mul(begin, str(self.width))))
            counts.append(self.vectors_of(b.add(first, str(u))))
            begin = b.add(begin, counts[-1])
        with b.lanes(self.width):
            accs = [[leaf.first(fold) for fold in leaf.folds] for _ in places]
            start = "0"
            for vectors in dict.fromkeys((self.vectors_each, 1)):
                accs, start = self.rounds(accs, places, start, vectors, wide, later)
        return self.further(accs, places, counts, wide), begin

    def rounds(
        self, accs: list[list[Value]], places: list[Where], start: str, vectors: int, wide: Registers,
        later: Mapping[int, Later],
    ) -> tuple[list[list[Value]], str]:  # fmt: skip
        """What all leaves have, so many vectors of each at a time, and where that ended."""
        b, leaf = self.b, self.leaf
        types = [t for one in accs for t in leaf.types(one)]
        least = b.op(f"and i64 {self.least}, {-vectors}") if vectors > 1 else self.least
        end = b.mul(least, str(self.width))
        with b.loop(start, end, str(vectors * self.width), types) as (index, carried):
            far = b.mul(index, str(self.abreast))
            leaf.body.prefetch(leaf.lanes, places[0][0], far, self.abreast * vectors * self.width, later)
            now = self.apart(carried.now, accs)
            for v in range(vectors):
                at = b.add(index, str(v * self.width)) if v else index
                now = [self.added(one, place, at, wide) for one, place in zip(now, places, strict=True)]
            carried.next = [p for one in now for acc in one for p in parts(acc)]
        return self.apart(carried.after, accs), end

    def place(self, first: str) -> Where:
        """Where the elements from number `first` of the range on lie."""
        body = self.leaf.body
        return body.advance(self.leaf.pointers, first), self.b.add(body.shift, first)

    def apart(self, names: list[str], like: list[list[Value]]) -> list[list[Value]]:
        """Accumulators of each leaf out of carried values."""
        each = len(names) // len(like)
        return [self.leaf.regroup(names[u * each : (u + 1) * each], one) for u, one in enumerate(like)]

    def added(
        self, accs: list[Value], place: Where, index: str, wide: Registers
    ) -> list[Value]:
        """One more vector of a leaf in its accumulators."""
        leaf = self.leaf
        body, (pointers, shift) = leaf.body, place
        usual, body.shift = body.shift, shift
        values = leaf.values(body.evaluate(leaf.lanes, wide, pointers, index))
        body.shift = usual
        return [leaf.absorb(f, acc, [v]) for f, acc, v in zip(leaf.folds, accs, values, strict=True)]

    def further(
        self, accs: list[list[Value]], places: list[Where], counts: list[str], wide: Registers
    ) -> list[list[Value]]:
        """The vector more that some of the leaves have."""
        b, found = self.b, []
        for one, at, count in zip(accs, places, counts, strict=True):
            if self.once:
                low, high = (b.mul(n, str(self.width)) for n in (self.least, count))
                with b.lanes(self.width), b.loop(low, high, str(self.width), self.leaf.types(one)) as (
                    index, carried,
                ):  # fmt: skip
                    now = self.leaf.regroup(carried.now, one)
                    carried.next = [p for acc in self.added(now, at, index, wide) for p in parts(acc)]
                found.append(self.leaf.regroup(carried.after, one))
                continue
            last = b.mul(b.add(count, "-1"), str(self.width))
            with b.lanes(self.width):
                longer = [self.is_more(f, count) for f in self.leaf.folds]
                more = self.added(self.quietly(one, longer), at, last, wide)
                found.append([
                    masked(b, f, flag, x, y)
                    for f, flag, x, y in zip(self.leaf.folds, longer, more, one, strict=True)
                ])
        return found

    def quietly(self, accs: list[Value], longer: list[str]) -> list[Value]:
        """Accumulators to which a vector more is added: of a leaf that has none, whose last one is added
        again, what a fold starts with, since the sum may raise a flag.  (AVX-512 adds under the mask.)"""
        if "+avx512vl" in self.r.target.features:
            return accs
        leaf = self.leaf
        return [
            masked(self.b, f, flag, acc, leaf.first(f))
            for f, flag, acc in zip(leaf.folds, longer, accs, strict=True)
        ]

    def is_more(self, fold: Fold, count: str) -> str:
        """Is a leaf one of those that have a vector more, in each lane?  (Branches would be guesses.)"""
        b = self.b
        bits = 8 * PLAIN[fold.acc].itemsize // (2 if PLAIN[fold.acc].kind == "c" else 1)
        t = f"i{bits}"
        more = b.op(f"sub i64 {count}, {self.least}")
        more = more if bits == 64 else b.op(f"trunc i64 {more} to {t}")
        return b.op(f"icmp ne {b.ty(t)} {splat(b, t, more)}, zeroinitializer")

    def vectors_of(self, leaf: str) -> str:
        """Whole vectors of a leaf, by its number."""
        b = self.b
        number = b.op(f"lshr i64 {REVERSED}, {b.mul(leaf, '4')}")
        number = b.op(f"and i64 {number}, {LEAVES - 1}")
        return b.op(f"lshr i64 {b.add(self.whole, number)}, {LEVELS}")
