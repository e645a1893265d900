"""Short runs: the outputs next to each other, folded side by side.

In:  a parfor ``p+ r+`` whose leaves fold in registers (`reduce_inner`).
Out: `beside`, which the fold function calls where it is asked for a negative number of elements.

Where a run is no longer than a leaf, a call for each output, and the sum over its lanes, would take longer
than the run itself.  So `OUTPUTS` neighbours along the innermost 'p' loop have their accumulators in
registers at a time, and these are combined together at the end: in each step neighbouring lanes of two
outputs, in one instruction.  The order of each output is that of its leaf.  Where prefetchers would lose
track of neighbours that are read side by side, longer runs go one after the other (`Tuning.beside_bytes`).
The context is the first output's, with the results' addresses among the operands'.
"""

from __future__ import annotations

from lazyarr.codegen.emit_lanes import from_raw, raw_type, splat_value, to_raw
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.emitters_types import Value, lane
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.loopir import Kernel, Load
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import combine, halves, load_scalar, parts, store_scalar, whole
from lazyarr.codegen.reduce_inner import Leaf
from lazyarr.codegen.reduce_kernel import FOLD_PARAMS, Reduce, accumulate
from lazyarr.codegen.reduce_tree import LEAF
from lazyarr.dtypes import PLAIN
from lazyarr.tuning import tuning

OUTPUTS = 8
"""Outputs that are taken at a time."""

ACCUMULATORS = 16
"""Registers of accumulators at a time, at most; half of them where there are no more."""


def plain(r: Reduce) -> bool:
    """Are all folds combined lane by lane?"""
    return not any(f.carried or f.packs or f.counts or f.called or f.acc == "?" for f in r.folds)


def abreast(r: Reduce, leaf: Leaf) -> int:
    """Leaves whose accumulators are in registers at a time: there are as many, and code stays short."""
    taken = sum(leaf.width * PLAIN[f.acc].itemsize for f in leaf.folds)
    registers = ACCUMULATORS if r.target.vector_bytes == 64 else ACCUMULATORS // 2
    most = min(
        OUTPUTS,
        registers * r.target.vector_bytes // taken,
        2 * tuning(r.target.name).fold_lanes // max(1, len(leaf.lanes)),
    )
    return 1 << max(1, most).bit_length() - 1


def side_by_side(r: Reduce, leaf: Leaf) -> int:
    """Elements of the longest run that is read beside its neighbours."""
    read = [x.ref for x in leaf.lanes if isinstance(x, Load) and x.ref.space == "operand"]
    return tuning(r.target.name).beside_bytes // max((PLAIN[ref.char].itemsize for ref in read), default=1)


def applies(r: Reduce, kernel: Kernel) -> bool:
    """Are there neighbours, and are all folds combined lane by lane?"""
    several = bool(r.outer) and not r.decidable and plain(r)
    return several and Leaf(r, kernel, Function(r.target, "", ())).width > 1


def beside(r: Reduce, kernel: Kernel, name: str) -> Function:
    """The function that folds %n elements from %start on of all the outputs that the context speaks of."""
    b = Function(r.target, name, FOLD_PARAMS)
    Beside(r, kernel, b).write()
    return b


class Beside:
    """Writes the function."""

    def __init__(self, r: Reduce, kernel: Kernel, b: Function) -> None:
        self.r, self.kernel, self.b = r, kernel, b
        self.leaf = Leaf(r, kernel, b)
        self.width = self.leaf.width
        self.abreast = abreast(r, self.leaf)
        self.most = side_by_side(r, self.leaf)

    def write(self) -> None:
        r, b = self.r, self.b
        rows = self.leaf.body.advance(self.leaf.body.rows(), "%start")
        results = {f.how.out: b.word("%ctx", r.context.row(f.how.out) // 8, "ptr") for f in r.folds}
        self.apart = {k: r.stride(b, k, r.outer[-1]) for k in (*rows, *results)}
        self.even = b.op(f"and i64 %n, {-self.width}")
        self.runs = {f.number: b.alloca(f"[{OUTPUTS * PLAIN[f.acc].itemsize} x i8]") for f in r.folds}
        fresh = b.op(f"icmp ne i64 {b.word('%ctx', r.context.fresh // 8)}, 0")
        starts = {f.number: r.start(b, f) for f in r.folds}
        with b.loop("0", b.word("%ctx", r.context.outputs // 8), str(OUTPUTS)) as (first, _):
            self.rows = self.moved(rows, first)
            self.whole_vectors()
            with b.when(b.op(f"icmp ne i64 {self.even}, %n")), b.loop("0", str(OUTPUTS)) as (u, _):
                self.tail(u)
            there = self.moved(results, first)
            for fold in r.folds:
                start = starts[fold.number]
                assert start is not None
                self.take_in(fold, fresh, start, there[fold.how.out])

    def moved(self, pointers: dict[int, str], outputs: str) -> dict[int, str]:
        """Addresses so many outputs further on."""
        b = self.b
        return {k: b.at(p, b.mul(outputs, self.apart[k])) for k, p in pointers.items()}

    def whole_vectors(self) -> None:
        """The runs of all outputs, up to the last whole vector: short ones beside each other."""
        b = self.b
        if self.most >= LEAF // self.r.per_element or self.abreast == 1:
            self.leave(self.vectors(self.abreast))
            return
        short = b.op(f"icmp ule i64 %n, {self.most}")
        with b.when(short):
            self.leave(self.vectors(self.abreast))
        with b.otherwise(short):
            self.leave(self.vectors(1))

    def leave(self, vectors: list[list[Value]]) -> None:
        """The lanes of each output's accumulators as one, where its tail is added."""
        for fold, accs in zip(self.r.folds, vectors, strict=True):
            self.keep(fold, joined(self.b, fold, accs, self.width), self.runs[fold.number])

    def vectors(self, abreast: int) -> list[list[Value]]:
        """For each fold, the accumulators of all outputs after all whole vectors, so many outputs at a time:
        all at once never leave the registers."""
        b, size = self.b, {f.number: self.width * PLAIN[f.acc].itemsize for f in self.leaf.folds}
        if abreast == OUTPUTS:
            made = self.some("0", OUTPUTS)
            return [[one[k] for one in made] for k in range(len(self.leaf.folds))]
        kept = {f.number: b.alloca(f"[{OUTPUTS * size[f.number]} x i8]") for f in self.leaf.folds}
        self.each(kept, size, abreast)
        return [
            [got(b, f.acc, b.at(kept[f.number], u * size[f.number]), self.width) for u in range(OUTPUTS)]
            for f in self.leaf.folds
        ]

    def each(self, kept: dict[int, str], size: dict[int, int], abreast: int) -> None:
        """The accumulators of all outputs into memory, so many outputs at a time."""
        b = self.b
        with b.loop("0", str(OUTPUTS), str(abreast)) as (first, _):
            for u, one in enumerate(self.some(first, abreast)):
                for fold, acc in zip(self.leaf.folds, one, strict=True):
                    at = b.mul(b.add(first, str(u)), str(size[fold.number]))
                    put(b, fold.acc, acc, b.at(kept[fold.number], at), self.width)

    def some(self, first: str, abreast: int) -> list[list[Value]]:
        """The accumulators of so many outputs from number `first` on."""
        b = self.b
        leaves = []
        for u in range(abreast):
            leaves.append(self.leaf_of(b.add(first, str(u))))
        with b.lanes(self.width):
            accs = [[leaf.first(fold) for fold in leaf.folds] for leaf in leaves]
        start = "0"
        for apiece in dict.fromkeys((self.leaf.apiece, 1)):
            end = b.op(f"and i64 %n, {-apiece * self.width}") if apiece > 1 else self.even
            accs = self.rounds(leaves, accs, start, end, apiece)
            start = end
        return accs

    def rounds(
        self, leaves: list[Leaf], accs: list[list[Value]], start: str, end: str, apiece: int
    ) -> list[list[Value]]:
        """Some vectors of each output, `apiece` times as long as accumulators are."""
        b = self.b
        with b.lanes(apiece * self.width):
            wides = [leaf.body.fixed.spread(leaf.body.fixed.chars) for leaf in leaves]
        with b.lanes(self.width):
            types = [t for leaf, one in zip(leaves, accs, strict=True) for t in leaf.types(one)]
            each = len(types) // len(leaves)
            with b.loop(start, end, str(apiece * self.width), types) as (index, carried):
                carried.next = []
                for u, (leaf, wide) in enumerate(zip(leaves, wides, strict=True)):
                    now = leaf.regroup(carried.now[u * each : (u + 1) * each], accs[u])
                    with b.lanes(apiece * self.width):
                        found = leaf.values(leaf.body.evaluate(leaf.lanes, wide, leaf.pointers, index))
                    batches = leaf.pieces(found, apiece)
                    for k, (fold, acc) in enumerate(zip(leaf.folds, now, strict=True)):
                        carried.next += parts(leaf.absorb(fold, acc, [batch[k] for batch in batches]))
            after = [carried.after[u * each : (u + 1) * each] for u in range(len(leaves))]
            return [leaf.regroup(names, one) for leaf, names, one in zip(leaves, after, accs, strict=True)]

    def leaf_of(self, output: str) -> Leaf:
        """What folds one output, at its place."""
        leaf = Leaf(self.r, self.kernel, self.b)
        leaf.pointers = self.moved(self.rows, output)
        leaf.body.strides = self.leaf.body.strides
        leaf.body.once(leaf.once, Range(leaf.pointers, "%n"))
        leaf.start = self.even
        return leaf

    def keep(self, fold: Fold, vectors: list[Value], pointer: str) -> None:
        """Values of all outputs, side by side."""
        each = OUTPUTS // len(vectors)
        for k, vector in enumerate(vectors):
            put(self.b, fold.acc, vector, self.b.at(pointer, k * each * PLAIN[fold.acc].itemsize), each)

    def tail(self, output: str) -> None:
        """The elements that make no whole vector, one by one."""
        b, leaf = self.b, self.leaf_of(output)
        places = []
        for fold in leaf.folds:
            places.append(b.at(self.runs[fold.number], b.mul(output, str(PLAIN[fold.acc].itemsize))))
        accs = [load_scalar(b, fold.acc, at) for fold, at in zip(leaf.folds, places, strict=True)]
        for fold, acc, at in zip(leaf.folds, leaf.tail(accs), places, strict=True):
            store_scalar(b, fold.acc, acc, at)

    def take_in(self, fold: Fold, fresh: str, start: Value, out: str) -> None:
        """The runs into the outputs."""
        b, size, apart = self.b, PLAIN[fold.char].itemsize, self.apart[fold.how.out]
        made = b.alloca(f"[{OUTPUTS * size} x i8]")
        with b.when(fresh), b.lanes(OUTPUTS):
            put(b, fold.char, splat_value(b, fold.char, start), made, OUTPUTS)
        with b.otherwise(fresh), b.loop("0", str(OUTPUTS)) as (u, _):
            so_far = load_scalar(b, fold.char, b.at(out, b.mul(u, apart)))
            store_scalar(b, fold.char, so_far, b.at(made, b.mul(u, str(size))))
        acc, run = got(b, fold.char, made, OUTPUTS), got(b, fold.acc, self.runs[fold.number], OUTPUTS)
        with b.lanes(OUTPUTS):
            acc = accumulate(b, fold, acc, run)
        put_apart(b, fold.char, acc, out, OUTPUTS, apart, made)


def put(b: Function, char: str, vector: Value, pointer: str, width: int) -> None:
    """A vector into memory, complex numbers interleaved."""
    with b.lanes(width):
        b.do(f"store {raw_type(char, width)} {to_raw(b, char, vector)}, ptr {pointer}, align 1")


def got(b: Function, char: str, pointer: str, width: int) -> Value:
    """The same out of memory."""
    with b.lanes(width):
        return from_raw(b, char, b.op(f"load {raw_type(char, width)}, ptr {pointer}, align 1"))


def put_apart(
    b: Function, char: str, vector: Value, pointer: str, width: int, apart: str, made: str
) -> None:
    """Lanes into memory, so many bytes `apart`; `made` has room for them side by side."""
    size = PLAIN[char].itemsize
    packed = b.op(f"icmp eq i64 {apart}, {size}")
    with b.when(packed):
        put(b, char, vector, pointer, width)
    with b.otherwise(packed):
        put(b, char, vector, made, width)
        with b.loop("0", str(width)) as (u, _), b.lanes(0):
            one = load_scalar(b, char, b.at(made, b.mul(u, str(size))))
            store_scalar(b, char, one, b.at(pointer, b.mul(u, apart)))


def joined(b: Function, fold: Fold, accs: list[Value], width: int, lanes: int = 0) -> list[Value]:
    """The lanes of each accumulator as one, or so many neighbouring `lanes`: vectors of as many results, in
    order.

    Neighbours first, as NumPy's pairwise leaves end."""
    left = lanes or width
    while left > 1:
        with b.lanes(width):
            if len(accs) > 1:
                pairs = zip(accs[::2], accs[1::2], strict=True)
                accs = [combine(b, fold, *_neighbours(b, fold, x, y)) for x, y in pairs]
            else:
                low, high = halves(b, fold, accs[0], neighbours=True)
                width //= 2
                b.width = width
                accs = [combine(b, fold, low, high)]
        left //= 2
    return accs


def _neighbours(b: Function, fold: Fold, x: Value, y: Value) -> tuple[Value, Value]:
    """Even lanes of both, and odd ones."""
    t, w = b.ty(lane(fold.acc)), b.width

    def pick(first: int) -> Value:
        mask = ", ".join(f"i32 {k}" for k in range(first, 2 * w, 2))
        pairs = zip(parts(x), parts(y), strict=True)
        return whole([b.op(f"shufflevector {t} {u}, {t} {v}, <{w} x i32> <{mask}>") for u, v in pairs])

    return pick(0), pick(1)
