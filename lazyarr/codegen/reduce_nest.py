"""The chunk and the combining function of a reduction folded along its innermost loop.

In:  a `Reduce` and the name of its fold function.
Out: ``void kernel(words, chunk, tid)``: for each output of the chunk, the steps of the chunk, folded to
the end or kept as partial results; and ``void combine(words, chunk, tid)``, which folds partial results
in the order of the steps.  Both run the loops over outputs that `Outputs` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import SLOT, Fold, combine, load_scalar, move, store_scalar
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS, Reduce, accumulate
from lazyarr.codegen.reduce_plan import DEPTH, GRAIN, PARTIALS, RUN, RUNS, STEPS
from lazyarr.codegen.reduce_strict import POSITION, better
from lazyarr.codegen.reduce_tree import halve


@dataclass(slots=True)
class Chunk:
    """Which outputs and steps a chunk has."""

    low: dict[int, str]
    high: dict[int, str]
    first: str
    last: str


def decode(r: Reduce, b: Function, steps: str) -> Chunk:
    grain = r.extra(b, GRAIN)
    groups = b.op(f"sdiv i64 {b.add(steps, b.add(grain, '-1'))}, {grain}")
    rest, number = b.op(f"udiv i64 %chunk, {groups}"), b.op(f"urem i64 %chunk, {groups}")
    first = b.mul(number, grain)
    last = b.smaller(b.add(first, grain), steps)
    low, high = {}, {}
    for d in reversed(r.outer):
        grid, tile = (b.word("%words", w(d)) for w in (r.layout.grid, r.layout.tile))
        low[d] = b.mul(b.op(f"urem i64 {rest}, {grid}"), tile)
        rest = b.op(f"udiv i64 {rest}, {grid}")
        high[d] = b.smaller(b.add(low[d], tile), r.extent(b, d))
    return Chunk(low, high, first, last)


@contextmanager
def outputs(
    r: Reduce, b: Function, chunk: Chunk, dims: Sequence[int], operands: Sequence[int]
) -> Iterator[tuple[str, dict[int, str]]]:
    """Loops over outputs: (number of the output, operand -> address at its position)."""
    bases = {k: b.word("%words", r.layout.pointer(k), "ptr") for k in operands}
    strides = {(k, d): r.stride(b, k, d) for k in operands for d in dims}
    extents = {d: r.extent(b, d) for d in dims}
    with nested(b, list(dims), chunk, "0", bases, strides, extents) as found:
        yield found


@contextmanager
def nested(
    b: Function, dims: list[int], chunk: Chunk, flat: str, at: dict[int, str],
    strides: dict[tuple[int, int], str], extents: dict[int, str],
) -> Iterator[tuple[str, dict[int, str]]]:
    if not dims:
        yield flat, at
        return
    d = dims[0]
    with b.loop(chunk.low[d], chunk.high[d]) as (i, _):
        inside = {k: b.at(p, b.mul(i, strides[k, d])) for k, p in at.items()}
        number = i if flat == "0" else b.add(b.mul(flat, extents[d]), i)
        with nested(b, dims[1:], chunk, number, inside, strides, extents) as found:
            yield found


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


def kernel_function(r: Reduce, name: str, fold: str) -> Function:
    b = Function(r.target, name, CHUNK_PARAMS, public=True)
    status = r.status(b)
    status.begin()
    nest = Nest(r, b, fold)
    nest.write()
    if status.active and r.loops:
        raised, others = (b.op(f"load i32, ptr {p}, align 4") for p in ("%raised", b.at(nest.ctx, r.raised)))
        b.do(f"store i32 {b.op(f'or i32 {raised}, {others}')}, ptr %raised, align 4")
    status.end()
    return b


class Nest:
    """Writes the chunk function."""

    def __init__(self, r: Reduce, b: Function, fold: str) -> None:
        self.r, self.b, self.fold = r, b, fold
        self.ctx = b.alloca(f"[{r.context_bytes} x i8]", 16)
        self.out = b.alloca(f"[{SLOT * len(r.folds)} x i8]", 16)
        self.accs = Accumulators(r, b)
        b.put(self.ctx, r.raised, "i32", "0")

    def write(self) -> None:
        r, b = self.r, self.b
        self.steps = r.extra(b, STEPS)
        self.partials = r.extra(b, PARTIALS)
        self.whole = b.op(f"icmp eq i64 {self.partials}, 0")
        self.several = b.op(f"icmp sgt i64 {self.steps}, 1")
        self.space = r.size(b, r.space)
        self.run = r.extra(b, RUN)
        chunk = decode(r, b, self.steps)
        results = [f.how.out for f in r.folds]
        if r.scratch_bytes:
            scratch = b.at(b.word("%words", r.layout.SCRATCH, "ptr"), b.mul("%tid", str(r.scratch_bytes)))
            b.put(self.ctx, r.scratch, "ptr", scratch)
        with outputs(r, b, chunk, r.outer, [*r.rows, *dict.fromkeys(results)]) as (number, at):
            for k in r.rows:
                b.put(self.ctx, r.row(k), "ptr", at[k])
            self.begin()
            with b.loop(chunk.first, chunk.last) as (step, _):
                self.step(step, number, at)
            with b.when(self.whole):
                for fold in r.folds:
                    self.finish(fold, at[fold.how.out])

    def begin(self) -> None:
        r, b = self.r, self.b
        self.accs.begin()
        b.put(self.ctx, r.fresh, "i64", "1")
        for fold in r.folds:
            if fold.how.order == "sequential" and fold.how.start >= 0:
                store_scalar(b, fold.char, self.accs.get(fold), b.at(self.ctx, r.carry(fold)))

    def step(self, step: str, number: str, at: dict[int, str]) -> None:
        """Fold one step, and keep or take in what comes out."""
        r, b = self.r, self.b
        low, count = b.alloca("i64", 8), b.alloca("i64", 8)
        b.do(f"store i64 0, ptr {low}, align 8")
        b.do(f"store i64 {b.smaller(self.run, self.space)}, ptr {count}, align 8")
        with b.when(self.several):
            self.locate(step, at, low, count)
        start, n = (b.op(f"load i64, ptr {cell}, align 8") for cell in (low, count))
        if not r.sequential:
            b.put(self.ctx, r.fresh, "i64", "1")
        self.widen()
        b.do(f"call void @{self.fold}(ptr %words, ptr {self.ctx}, i64 {start}, i64 {n}, ptr {self.out})")
        self.narrow()
        with b.when(self.whole):
            for fold in r.folds:
                if not fold.carried:
                    self.accs.add(fold, b.at(self.out, SLOT * fold.number))
        with b.otherwise(self.whole):
            slot = b.add(b.mul(number, self.steps), step)
            base = b.add(self.partials, b.mul(slot, str(SLOT * len(r.folds))))
            to = b.op(f"inttoptr i64 {base} to ptr")
            for fold in r.folds:
                place = SLOT * fold.number
                made = b.at(self.ctx, r.carry(fold)) if fold.search else b.at(self.out, place)
                move(b, made, b.at(to, place))

    def locate(self, step: str, at: dict[int, str], low: str, count: str) -> None:
        """Which elements a step folds: its run, the subtree in it, the rows of the outer 'r' loops."""
        r, b = self.r, self.b
        depth, runs = r.extra(b, DEPTH), r.extra(b, RUNS)
        rest = b.op(f"lshr i64 {step}, {depth}")
        start = b.mul(b.op(f"urem i64 {rest}, {runs}"), self.run)
        n = b.smaller(self.run, b.op(f"sub i64 {self.space}, {start}"))
        rest = b.op(f"udiv i64 {rest}, {runs}")
        carried = [("i64", start), ("i64", n), ("i64", depth)]
        with b.loop("0", depth, "1", carried) as (_, state):
            start, n, left = state.now
            left = b.add(left, "-1")
            cut = halve(b, n, r.per_element)
            bit = b.op(f"and i64 {b.op(f'lshr i64 {step}, {left}')}, 1")
            right = b.op(f"icmp ne i64 {bit}, 0")
            further, others = b.add(start, cut), b.op(f"sub i64 {n}, {cut}")
            start = b.op(f"select i1 {right}, i64 {further}, i64 {start}")
            n = b.op(f"select i1 {right}, i64 {others}, i64 {cut}")
            state.next = [start, n, left]
        b.do(f"store i64 {state.after[0]}, ptr {low}, align 8")
        b.do(f"store i64 {state.after[1]}, ptr {count}, align 8")
        if r.sequence:
            self.move_rows(rest, at)

    def move_rows(self, rest: str, at: dict[int, str]) -> None:
        r, b = self.r, self.b
        moved = {k: at[k] for k in r.rows}
        for d in reversed(r.sequence):
            extent = r.extent(b, d)
            i = b.op(f"urem i64 {rest}, {extent}")
            rest = b.op(f"udiv i64 {rest}, {extent}")
            moved = {k: b.at(p, b.mul(i, r.stride(b, k, d))) for k, p in moved.items()}
        for k, pointer in moved.items():
            b.put(self.ctx, r.row(k), "ptr", pointer)

    def widen(self) -> None:
        """float16 sequences go on in float32 for the length of a run."""
        self._between(lambda fold: fold.char, lambda fold: fold.acc, "fpext half {0} to float")

    def narrow(self) -> None:
        self._between(lambda fold: fold.acc, lambda fold: fold.char, "fptrunc float {0} to half")

    def _between(self, source: Callable[[Fold], str], target: Callable[[Fold], str], conversion: str) -> None:
        for fold in self.r.folds:
            if fold.wide and fold.how.order == "sequential":
                cell = self.b.at(self.ctx, self.r.carry(fold))
                found = self.b.op(conversion.format(load_scalar(self.b, source(fold), cell)))
                store_scalar(self.b, target(fold), found, cell)

    def finish(self, fold: Fold, out: str) -> None:
        carry = self.b.at(self.ctx, self.r.carry(fold))
        if fold.search:
            store_scalar(self.b, "l", load_scalar(self.b, "l", self.b.at(carry, POSITION)), out)
        elif fold.carried:
            store_scalar(self.b, fold.char, load_scalar(self.b, fold.char, carry), out)
        else:
            store_scalar(self.b, fold.char, self.accs.get(fold), out)


def combine_function(r: Reduce, name: str) -> Function:
    """Chunks go by tiles of outputs, as the kernel's do."""
    b = Function(r.target, name, CHUNK_PARAMS, public=True)
    status = r.status(b)
    status.begin()
    steps = r.extra(b, STEPS)
    depth = r.extra(b, DEPTH)
    partials = r.extra(b, PARTIALS)
    tiles = Chunk({}, {}, "0", "0")
    rest = "%chunk"
    for d in reversed(r.outer):
        grid, tile = (b.word("%words", w(d)) for w in (r.layout.grid, r.layout.tile))
        tiles.low[d] = b.mul(b.op(f"urem i64 {rest}, {grid}"), tile)
        rest = b.op(f"udiv i64 {rest}, {grid}")
        tiles.high[d] = b.smaller(b.add(tiles.low[d], tile), r.extent(b, d))
    accs = Accumulators(r, b)
    size = SLOT * len(r.folds)
    width = b.op(f"shl i64 1, {depth}")
    with outputs(r, b, tiles, r.outer, list(dict.fromkeys(f.how.out for f in r.folds))) as (number, at):
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
            for fold in r.folds:
                if fold.carried:
                    continue            # its steps are no subtrees: depth is 0
                at = SLOT * fold.number
                x = load_scalar(b, fold.acc, b.at(left, at))
                y = load_scalar(b, fold.acc, b.at(left, at + size))
                store_scalar(b, fold.acc, combine(b, fold, x, y), b.at(to, at))
        state.next = [half]


