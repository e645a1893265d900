"""Rows crossed with columns: short runs of all pairs, a register of columns at a time.

In:  a parfor ``p* p p r`` in which each operand moves along rows or along columns (`Parfor.crossed`).
Out: `crossed`, the functions of which the last one folds all outputs of a block.

Lanes are outputs, so NumPy's accumulators of an output are as many registers, which combine without a shuffle
and are followed by the tail for all outputs at once.  What belongs to columns is transposed for that: a
*tile* has one register for each element of the run, and a panel of tiles stays in the first-level cache while
all rows pass.  What belongs to a row is spread from one element.  Two rows at a time share what they load of
a tile; where registers are too few for the accumulators of both, a row passes two tiles at a time, which
share what is spread, with half of its accumulators, then with the others.  The last tile overlaps the one
before, whose outputs it computes again, and so do the last rows.  Runs that NumPy splits are split by a
function that calls itself.
"""

from __future__ import annotations

from lazyarr.codegen.builder import LINE
from lazyarr.codegen.emit_body import PlaceOf, Registers, apply, emit_body
from lazyarr.codegen.emit_lanes import Place, from_raw, load_raw, raw_type, splat_value, to_raw
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.fused_sums import SUMS, fused, one
from lazyarr.codegen.loopir import PLACE, Apply, Kernel, Lane, Load, Loop, Once
from lazyarr.codegen.reduce_beside import put_apart
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import combine, parts
from lazyarr.codegen.reduce_inner import Leaf, vector_lanes
from lazyarr.codegen.reduce_kernel import FOLD_PARAMS, Reduce, accumulate
from lazyarr.codegen.reduce_plan import CROSSED_RUN, SLOT
from lazyarr.codegen.reduce_tree import LEAF, halve
from lazyarr.dtypes import PLAIN
from lazyarr.tuning import tuning

LEAST_ROWS = 8
"""Rows for which columns are transposed."""

PANEL = 24 << 10
"""Bytes of transposed columns, which all rows pass."""

ACCUMULATORS = 4
"""Registers of a row's accumulators where any order is right."""

RUN = "_run"
"""Ends the name of the function that folds longer runs of some rows in one tile."""


def lanes_across(r: Reduce, kernel: Kernel) -> int:
    """Columns in a register; 0: they are not crossed with rows, or not all is computed for each pair."""
    once, loop = kernel.body
    assert isinstance(once, Once) and isinstance(loop, Loop)
    plain = all(
        isinstance(lane, Apply) or (isinstance(lane, Load) and lane.ref.space != PLACE)
        for lane in (*once.body, *loop.body)
    )
    still = all(lane.ref.space == "scalar" for lane in once.body if isinstance(lane, Load))
    width = vector_lanes(loop, r)
    return width if r.parfor.crossed and plain and still and width > 1 else 0


def panel_bytes(r: Reduce) -> int:
    """Scratch memory of a thread: a tile of the longest run has room."""
    return max(PANEL, CROSSED_RUN * r.lanes * sum(_sizes(r).values()))


def _sizes(r: Reduce) -> dict[int, int]:
    """The operands that belong to columns, and the sizes of their elements."""
    kinds = zip(r.parfor.operands, r.parfor.crossed, strict=True)
    return {k: PLAIN[operand.dtype].itemsize for k, (operand, kind) in enumerate(kinds) if kind == "c"}


def crossed(r: Reduce, kernel: Kernel, name: str) -> list[Function]:
    """What folds the %n elements of all the outputs that the context speaks of, after what it calls."""
    made = [Function(r.target, name + RUN, FOLD_PARAMS)] if r.pairwise else []
    for b in made:
        Runs(r, kernel, b).write_tree(name + RUN)
    b = Function(r.target, name, FOLD_PARAMS)
    Block(r, kernel, b).write(name + RUN)
    return [*made, b]


class Runs:
    """Writes the folding of a run, of `abreast` rows in one tile."""

    def __init__(self, r: Reduce, kernel: Kernel, b: Function) -> None:
        self.r, self.b, self.lanes = r, b, r.lanes
        self.leaf = Leaf(r, kernel, b)
        self.folds = self.leaf.folds
        self.body = self.leaf.body
        self.accumulators = self.leaf.width if r.pairwise else ACCUMULATORS
        self.sizes = _sizes(r)
        self.common, self.own = self._split()
        registers = sum(2 if PLAIN[f.acc].kind == "c" else 1 for f in self.folds) * self.accumulators
        room = 8 if r.target.x86 and r.target.vector_bytes < 64 else 16
        self.passes = 2 if r.pairwise and room < 2 * registers <= 2 * room else 1
        """Times that a run is gone through, each for as many of the accumulators."""
        self.abreast = 2 if 2 * registers <= room * self.passes else 1
        """Rows or tiles at a time: half of the registers are accumulators, as long as there are so many."""
        self.tiles = self.abreast if self.passes > 1 else 1
        """How many of them are tiles."""

    def _split(self) -> tuple[list[Lane], list[Lane]]:
        """What is computed of columns alone, and what for each row."""
        common: list[Lane] = []
        own: list[Lane] = []
        differ: set[int] = set()
        for lane in self.leaf.lanes:
            if isinstance(lane, Load) and lane.ref.index not in self.sizes:
                differ.add(lane.value)
                own.append(lane)
            elif isinstance(lane, Apply) and differ & set(lane.args):
                differ.update(lane.values)
                own.append(lane)
            else:
                common.append(lane)
        return common, own

    def once(self, at: dict[int, str]) -> None:
        """What does not vary at all."""
        self.body.once(self.leaf.once, Range(at, "%n"))
        with self.b.lanes(self.lanes):
            self.fixed = self.body.fixed.spread(self.body.fixed.chars)
            self.ones = self.unknown_ones()

    # The tree

    def place(self, k: int, u: int) -> int:
        """Where the context of a longer run has the address of an operand in one of the rows or tiles."""
        return 8 * (k * self.abreast + u)

    @property
    def frame(self) -> int:
        return self.place(len(self.r.parfor.operands), 0)

    @property
    def slot(self) -> int:
        """Bytes of an accumulator of any fold, whole lines: they are stored as aligned vectors."""
        return max(LINE, self.lanes * SLOT)

    def slots(self) -> list[tuple[int, Fold, int]]:
        """Row or tile, fold, place of each accumulator among the results."""
        pairs = [(u, fold) for u in range(self.abreast) for fold in self.folds]
        return [(u, fold, self.slot * k) for k, (u, fold) in enumerate(pairs)]

    def write_tree(self, name: str) -> None:
        """The function that folds elements of rows in a tile, and splits them as NumPy does."""
        b, per = self.b, self.r.per_element
        others = [k for k in self.r.rows if k not in self.sizes]
        tiles, rows = (
            [{k: b.word("%ctx", self.place(k, u) // 8, "ptr") for k in mine} for u in range(count)]
            for mine, count in ((self.sizes, self.tiles), (others, self.abreast // self.tiles))
        )
        for k in self.r.rows:
            self.body.inner_stride(k)       # here, where it dominates every loop
        small = b.op(f"icmp sle i64 %n, {LEAF // per}")
        with b.when(small):
            self.once({})
            self.keep(self.run(tiles, rows), "%out")
        with b.otherwise(small):
            size = self.slot * self.abreast * len(self.folds)
            left, right = b.alloca(f"[{size} x i8]"), b.alloca(f"[{size} x i8]")
            cut = halve(b, "%n", per)
            rest, middle = b.op(f"sub i64 %n, {cut}"), b.add("%start", cut)
            b.do(f"call void @{name}(ptr %words, ptr %ctx, i64 %start, i64 {cut}, ptr {left})")
            b.do(f"call void @{name}(ptr %words, ptr %ctx, i64 {middle}, i64 {rest}, ptr {right})")
            with b.lanes(self.lanes):
                sides = zip(self.kept(left), self.kept(right), strict=True)
                made = [self.both(*side) for side in sides]
            self.keep(made, "%out")

    def keep(self, runs: list[list[Value]], to: str) -> None:
        b = self.b
        with b.lanes(self.lanes):
            for u, f, at in self.slots():
                raw = to_raw(b, f.acc, runs[u][self.folds.index(f)])
                b.do(f"store {raw_type(f.acc, self.lanes)} {raw}, ptr {b.at(to, at)}, align {LINE}")

    def kept(self, source: str) -> list[list[Value]]:
        b = self.b
        found: list[list[Value]] = [[] for _ in range(self.abreast)]
        for u, f, at in self.slots():
            raw = b.op(f"load {raw_type(f.acc, self.lanes)}, ptr {b.at(source, at)}, align {LINE}")
            found[u].append(from_raw(b, f.acc, raw))
        return found

    # A leaf

    def run(self, tiles: list[dict[int, str]], rows: list[dict[int, str]]) -> list[list[Value]]:
        """For each row in each tile, its folds over %n elements from %start on."""
        b, leaf, each = self.b, self.leaf, self.accumulators // self.passes
        even = b.add("%start", b.op(f"and i64 %n, {-self.accumulators}"))
        end, made = b.add("%start", "%n"), list[list[list[Value]]]()
        with b.lanes(self.lanes):
            fresh = [leaf.first(fold) for fold in self.folds]
            for k in range(self.passes):
                accs = [fresh] * each * self.abreast
                accs = self.rounds("%start", even, self.accumulators, accs, tiles, rows, k * each)
                made.append([self.combined(accs[u * each : (u + 1) * each]) for u in range(self.abreast)])
            runs = [self.combined(list(parts)) for parts in zip(*made, strict=True)]
            return self.rounds(even, end, 1, runs, tiles, rows)

    def rounds(
        self, low: str, high: str, step: int, accs: list[list[Value]], tiles: list[dict[int, str]],
        rows: list[dict[int, str]], first: int = 0,
    ) -> list[list[Value]]:
        """Elements onto accumulators: of each `step` those from the `first` on, as many as a row has."""
        b, leaf, each = self.b, self.leaf, len(accs) // self.abreast
        types = [t for acc in accs for t in leaf.types(acc)]
        firsts = [name for acc in accs for value in acc for name in parts(value)]
        size = len(types) // len(accs)
        # (`Leaf.types` says what a carried value is of, and at first.)
        carry = [(t, name) for (t, _), name in zip(types, firsts, strict=True)]
        with b.loop(low, high, str(step), carry) as (index, carried):
            now = [leaf.regroup(carried.now[k * size : (k + 1) * size], accs[k]) for k in range(len(accs))]
            for u in range(each):
                at = b.add(index, str(first + u)) if first + u else index
                values = self.values(at, tiles, rows)
                for line, value in enumerate(values):
                    k = line * each + u
                    taken = zip(self.folds, now[k], value, strict=True)
                    now[k] = [leaf.absorb(fold, acc, [one]) for fold, acc, one in taken]
            carried.next = [name for acc in now for value in acc for name in parts(value)]
        return [leaf.regroup(carried.after[k * size : (k + 1) * size], accs[k]) for k in range(len(accs))]

    def values(
        self, index: str, tiles: list[dict[int, str]], rows: list[dict[int, str]]
    ) -> list[list[tuple[Value, str | None]]]:
        """For each row in each tile what its folds take of an element.

        In every other row or tile differences are left to the units for products."""
        b, found = self.b, []
        at, commons = b.mul(index, str(self.lanes)), list[Registers]()
        for tile in tiles:
            commons.append(self.fixed.copy())
            emit_body(self.common, commons[-1], self.places(tile, at))
        for line, row in enumerate(rows):
            spread = dict[int, Value]()
            for k, common in enumerate(commons):
                mine = common.copy()
                for lane in self.own:
                    if isinstance(lane, Load):
                        if not k:
                            spread[lane.value] = self.spread(lane, row[lane.ref.index], index)
                        mine.chars[lane.value], mine.values[lane.value] = lane.ref.char, spread[lane.value]
                    else:
                        assert isinstance(lane, Apply)
                        if not ((line + k) % 2 and self.fused(lane, mine)):
                            apply(b, lane, mine)
                found.append(self.leaf.values(mine))
        return found

    def fused(self, lane: Apply, registers: Registers) -> bool:
        """A difference as a product with one and a difference, rounded once, to the same: units for sums are
        what there is too little of, those for products have time."""
        if lane.op != "subtract" or (lane.op, lane.sig) not in SUMS or lane.sig[0] not in self.ones:
            return False
        fused(self.b, lane, registers, self.ones[lane.sig[0]])
        return True

    def unknown_ones(self) -> dict[str, str]:
        """A one in all lanes for each type of differences."""
        if self.abreast == 1 or not self.r.hot or not tuning(self.r.target.name).fused_folds:
            return {}
        own = [x for x in self.own if isinstance(x, Apply) and x.op == "subtract" and (x.op, x.sig) in SUMS]
        return {char: one(self.b, char, "%n") for char in dict.fromkeys(lane.sig[0] for lane in own)}

    def places(self, tile: dict[int, str], at: str) -> PlaceOf:
        return lambda ref: Place(ref.char, "u", tile[ref.index], at, "")

    def spread(self, lane: Load, row: str, index: str) -> Value:
        """An element of a row in all lanes."""
        b, ref = self.b, lane.ref
        place = b.at(row, b.mul(index, self.body.inner_stride(ref.index)))
        with b.lanes(0):
            value = from_raw(b, ref.char, load_raw(b, Place(ref.char, "u", place, "0", "")))
        return splat_value(b, ref.char, value)

    def combined(self, accs: list[list[Value]]) -> list[Value]:
        """Accumulators as one, neighbours first, as NumPy's pairwise leaves end."""
        while len(accs) > 1:
            accs = [self.both(x, y) for x, y in zip(accs[::2], accs[1::2], strict=True)]
        return accs[0]

    def both(self, one: list[Value], other: list[Value]) -> list[Value]:
        """The accumulators of two parts of a row as one, for each fold."""
        return [combine(self.b, f, x, y) for f, x, y in zip(self.folds, one, other, strict=True)]


class Block(Runs):
    """Writes the function that folds rows crossed with columns."""

    def write(self, run: str) -> None:
        """`run` is the function for longer runs."""
        r, b = self.r, self.b
        row, column = r.outer[-2:]
        self.at = self.body.rows()
        self.results = {f.how.out: b.word("%ctx", r.context.row(f.how.out) // 8, "ptr") for f in r.folds}
        self.down, self.beside = (
            {k: r.stride(b, k, d) for k in (*self.at, *self.results)} for d in (row, column)
        )
        for k in self.at:
            self.body.inner_stride(k)       # here, where it dominates every loop
        self.once(self.at)
        self.starts = self.firsts()
        thread = b.word("%ctx", r.context.thread // 8)
        self.panel = b.at(b.word("%words", r.layout.SCRATCH, "ptr"), b.mul(thread, str(panel_bytes(r))))
        self.columns, self.lines = (b.word("%ctx", at // 8) for at in (r.context.outputs, r.context.lines))
        self.tile_bytes = b.mul("%n", str(self.lanes * sum(self.sizes.values())))
        if r.pairwise:
            self.context = b.alloca(f"[{self.frame} x i8]")
            self.made = b.alloca(f"[{self.slot * self.abreast * len(self.folds)} x i8]")
        tiles = b.op(f"udiv i64 {b.add(self.columns, str(self.lanes - 1))}, {self.lanes}")
        room = b.op(f"udiv i64 {panel_bytes(r)}, {self.tile_bytes}")
        with b.loop("0", tiles, room) as (first, _):
            last = b.smaller(b.add(first, room), tiles)
            with b.loop(first, last) as (tile, _):
                self.pack(self.column(tile), self.tiled(tile, first))
            self.blocks(first, last, run)

    def firsts(self) -> list[Value]:
        """What each fold starts from, in all lanes."""
        b, found = self.b, []
        for fold in self.folds:
            start = self.r.start(b, fold)
            assert start is not None
            with b.lanes(self.lanes):
                found.append(splat_value(b, fold.char, start))
        return found

    def column(self, tile: str) -> str:
        """The first column of a tile."""
        b = self.b
        return b.smaller(b.mul(tile, str(self.lanes)), b.op(f"sub i64 {self.columns}, {self.lanes}"))

    def tiled(self, tile: str, first: str) -> dict[int, str]:
        """Operands' elements in a tile of the panel that begins with tile `first`: one after the other."""
        b, found, before = self.b, {}, 0
        at = b.at(self.panel, b.mul(b.op(f"sub i64 {tile}, {first}"), self.tile_bytes))
        for k, size in self.sizes.items():
            found[k] = b.at(at, b.mul("%n", str(self.lanes * before)))
            before += size
        return found

    def pack(self, column: str, to: dict[int, str]) -> None:
        """The elements of a tile's columns, transposed."""
        b = self.b
        for k, size in self.sizes.items():
            stride, t = self.body.inner_stride(k), f"i{8 * size}"
            first = b.at(self.at[k], b.mul(column, self.beside[k]))
            sources = [b.at(first, b.mul(str(lane), self.beside[k])) for lane in range(self.lanes)]
            with b.loop("0", "%n") as (index, _):
                moved, place = b.mul(index, stride), b.at(to[k], b.mul(index, str(self.lanes * size)))
                for lane, source in enumerate(sources):
                    raw = b.op(f"load {t}, ptr {b.at(source, moved)}, align 1")
                    b.do(f"store {t} {raw}, ptr {b.at(place, lane * size)}, align 1")

    def blocks(self, first: str, last: str, run: str) -> None:
        """All rows in the tiles of a panel."""
        b, side = self.b, self.abreast // self.tiles
        final, end = b.add(self.lines, "-1"), b.add(last, "-1")
        with b.loop("0", self.lines, str(side)) as (line, _):
            lines = [line, *[b.smaller(b.add(line, str(u)), final) for u in range(1, side)]]
            rows = [
                {k: b.at(p, b.mul(i, self.down[k])) for k, p in self.at.items() if k not in self.sizes}
                for i in lines
            ]
            outs = [{k: b.at(p, b.mul(i, self.down[k])) for k, p in self.results.items()} for i in lines]
            with b.loop(first, last, str(self.tiles)) as (tile, _):
                beside = [tile, *[b.smaller(b.add(tile, str(u)), end) for u in range(1, self.tiles)]]
                tiles = [self.tiled(each, first) for each in beside]
                places = [(out, self.column(each)) for out in outs for each in beside]
                small = "true"
                if self.r.pairwise:
                    small = b.op(f"icmp sle i64 %n, {LEAF // self.r.per_element}")
                with b.when(small):
                    self.finish(self.run(tiles, rows), places)
                if self.r.pairwise:
                    with b.otherwise(small):
                        self.finish(self.split(run, tiles, rows), places)

    def split(self, run: str, tiles: list[dict[int, str]], rows: list[dict[int, str]]) -> list[list[Value]]:
        """A run that is longer than a leaf."""
        b = self.b
        for u, pointers in (*enumerate(tiles), *enumerate(rows)):
            for k, pointer in pointers.items():
                b.put(self.context, self.place(k, u), "ptr", pointer)
        b.do(f"call void @{run}(ptr %words, ptr {self.context}, i64 %start, i64 %n, ptr {self.made})")
        with b.lanes(self.lanes):
            return self.kept(self.made)

    def finish(self, runs: list[list[Value]], places: list[tuple[dict[int, str], str]]) -> None:
        """Runs into the outputs: where results of a row lie, and the first column of a tile."""
        b = self.b
        with b.lanes(self.lanes):
            for made, (out, column) in zip(runs, places, strict=True):
                for fold, start, value in zip(self.folds, self.starts, made, strict=True):
                    to = b.at(out[fold.how.out], b.mul(column, self.beside[fold.how.out]))
                    acc, apart = accumulate(b, fold, start, value), self.beside[fold.how.out]
                    room = b.alloca(f"[{self.lanes * PLAIN[fold.char].itemsize} x i8]")
                    put_apart(b, fold.char, acc, to, self.lanes, apart, room)
