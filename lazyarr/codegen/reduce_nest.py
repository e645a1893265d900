"""The chunk function of a reduction folded along its innermost loop.

In:  a `Reduce`; at run time the address of its fold function.
Out: ``void kernel(words, chunk, tid)``: for each step and output of the chunk, the fold of the step, taken
into the output, which is the accumulator, or kept as a partial result.
Steps are the outer loop: where runs of one output lie far apart, those of its neighbours lie between.

Blocks of rows are launches of one chunk and one step, as short as a row or two: for these a hot kernel has a
chunk function that looks for nothing (`whole_function`).
"""

from __future__ import annotations

from contextlib import nullcontext

from lazyarr.codegen import emit_calls
from lazyarr.codegen.emitters_types import Value, convert
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.reduce_beside import OUTPUTS
from lazyarr.codegen.reduce_compress import begin_packing, tell_end
from lazyarr.codegen.reduce_crossed import LEAST_ROWS
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import chosen, decided, load_scalar, move, neutral_value, store_scalar
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS, Reduce, accumulate
from lazyarr.codegen.reduce_outputs import Chunk, decode, outputs
from lazyarr.codegen.reduce_plan import CROSSED_RUN, DECIDED, DEPTH, FOLD, PARTIALS, RUN, RUNS, SLOT, STEPS
from lazyarr.codegen.reduce_strict import POSITION
from lazyarr.codegen.reduce_tree import LEAF, halve, subtree
from lazyarr.records import dataclass


def kernel_function(r: Reduce, name: str) -> Function:
    b = Function(r.target, name, CHUNK_PARAMS)
    status = r.status(b)
    status.begin()
    nest = Nest(r, b)
    nest.write()
    if status.active and r.loops:
        places = "%raised", b.at(nest.ctx, r.context.raised)
        raised, others = (b.op(f"load i32, ptr {p}, align 4") for p in places)
        b.do(f"store i32 {b.op(f'or i32 {raised}, {others}')}, ptr %raised, align 4")
    if r.loops:
        emit_calls.end(b)
    status.end()
    return b


def whole_function(r: Reduce, name: str, fold: str) -> Function:
    """The same where a launch is one chunk that folds all outputs in one step; `fold` is the function.

    What it raises stays in the CPU's status flags, for the kernel that runs it to take."""
    b = Function(r.target, name, CHUNK_PARAMS)
    Nest(r, b, f"@{fold}").write_whole()
    return b


@dataclass(slots=True)
class Step:
    """One step, as values: the elements of the group's index space, and how far the rows are moved."""

    number: str
    start: str
    count: str
    moved: dict[int, str]
    """Operand -> bytes from its first row, where there are 'r' loops outside the group."""
    first: str
    """Is it the first step (i1)?"""


class Nest:
    """Writes the chunk function."""

    def __init__(self, r: Reduce, b: Function, fold: str = "") -> None:
        self.r, self.b = r, b
        self.fold = fold or b.word("%words", r.layout.extra(FOLD), "ptr")
        self.ctx = b.alloca(f"[{r.context.bytes} x i8]", 16)
        self.out = b.alloca(f"[{SLOT * len(r.folds)} x i8]", 16)
        b.put(self.ctx, r.context.raised, "i32", "0")
        if r.loops:
            emit_calls.begin(b, b.at(self.ctx, r.context.calls))
        self.starts = {f.number: r.start(b, f) for f in r.folds if not f.packs}

    def write(self) -> None:
        r, b = self.r, self.b
        self.steps = r.extra(b, STEPS)
        self.partials = r.extra(b, PARTIALS)
        self.whole = b.op(f"icmp eq i64 {self.partials}, 0")
        self.space = r.size(b, r.space)
        self.run = r.extra(b, RUN)
        chunk = decode(r, b, self.steps)
        b.put(self.ctx, r.context.thread, "i64", "%tid")
        with b.loop(chunk.first, chunk.last) as (number, _):
            self.step(self.locate(number), chunk)

    def write_whole(self) -> None:
        r, b = self.r, self.b
        self.steps, self.partials, self.whole = "1", "0", ""
        b.put(self.ctx, r.context.thread, "i64", "%tid")
        low, high = dict.fromkeys(r.outer, "0"), {d: r.extent(b, d) for d in r.outer}
        self.step(Step("0", "0", r.size(b, r.space), {}, "true"), Chunk(low, high, "0", "1"))

    def step(self, step: Step, chunk: Chunk) -> None:
        """One step of the chunk's outputs."""
        r, b = self.r, self.b
        operands = [*r.rows, *dict.fromkeys(f.how.out for f in r.folds)]
        if r.beside:
            self.lots(step, chunk, operands)
        else:
            with outputs(r, b, chunk, r.outer, operands) as (output, at):
                self.one(step, output, at)

    def locate(self, number: str) -> Step:
        """Which elements a step folds: its run, the subtree in it, the rows of the outer 'r' loops."""
        r, b = self.r, self.b
        depth, runs = r.extra(b, DEPTH), r.extra(b, RUNS)
        rest = b.op(f"lshr i64 {number}, {depth}")
        rest, place = b.divided(rest, runs)
        start = b.mul(place, self.run)
        n = b.smaller(self.run, b.op(f"sub i64 {self.space}, {start}"))
        start, n = subtree(b, number, depth, start, n, lambda n: halve(b, n, r.per_element))
        first = b.op(f"icmp eq i64 {number}, 0")
        return Step(number, start, n, self.rows(rest), first)

    def rows(self, rest: str) -> dict[int, str]:
        """Bytes by which the outer 'r' loops move each operand."""
        r, b = self.r, self.b
        moved: dict[int, str] = {}
        for d in reversed(r.sequence):
            extent = r.extent(b, d)
            rest, i = b.divided(rest, extent)
            for k in r.rows:
                bytes_ = b.mul(i, r.stride(b, k, d))
                moved[k] = b.add(moved[k], bytes_) if k in moved else bytes_
        return moved

    def lots(self, step: Step, chunk: Chunk, operands: list[int]) -> None:
        """One step of all outputs: side by side where it is short, as long as there are enough of them."""
        r, b = self.r, self.b
        *outer, inner = r.outer
        low, high = chunk.low[inner], chunk.high[inner]
        short = b.op(f"icmp ult i64 {b.add(step.count, '-1')}, {LEAF // r.per_element}")
        if self.whole:
            short = b.op(f"and i1 {short}, {self.whole}")
        if r.lanes:
            self.crossed(step, chunk, operands)
        many = b.op(f"and i64 {b.op(f'sub i64 {high}, {low}')}, {-OUTPUTS}")
        middle = b.add(low, b.op(f"select i1 {short}, i64 {many}, i64 0"))
        with outputs(r, b, chunk, outer, operands) as (flat, base):
            strides = {k: r.stride(b, k, inner) for k in operands}

            def at(i: str) -> dict[int, str]:
                return {k: b.at(p, b.mul(i, strides[k])) for k, p in base.items()}

            with b.when(b.op(f"icmp slt i64 {low}, {middle}")):
                self.several(step, at(low), b.op(f"sub i64 {middle}, {low}"))
            with b.loop(middle, high) as (i, _):
                self.one(step, i if flat == "0" else b.add(b.mul(flat, r.extent(b, inner)), i), at(i))

    def crossed(self, step: Step, chunk: Chunk, operands: list[int]) -> None:
        """All rows with all columns, where there are enough; the chunk has none of them left then."""
        r, b = self.r, self.b
        *outer, row, column = r.outer
        counts = {d: b.op(f"sub i64 {chunk.high[d]}, {chunk.low[d]}") for d in (row, column)}
        short = b.op(f"icmp ult i64 {b.add(step.count, '-1')}, {CROSSED_RUN}")
        if self.whole:
            short = b.op(f"and i1 {short}, {self.whole}")
        once = b.op(f"and i1 {b.op(f'icmp eq i64 {self.steps}, 1')}, {short}")
        enough = b.op(f"and i1 {once}, {b.op(f'icmp sge i64 {counts[row]}, {LEAST_ROWS}')}")
        enough = b.op(f"and i1 {enough}, {b.op(f'icmp sge i64 {counts[column]}, {r.lanes}')}")
        with b.when(enough), outputs(r, b, chunk, outer, operands) as (_, base):
            at = dict(base)
            for d in (row, column):
                at = {k: b.at(p, b.mul(chunk.low[d], r.stride(b, k, d))) for k, p in at.items()}
            self.several(step, at, counts[column], counts[row])
        chunk.high[row] = b.op(f"select i1 {enough}, i64 {chunk.low[row]}, i64 {chunk.high[row]}")

    def several(self, step: Step, at: dict[int, str], count: str, lines: str = "0") -> None:
        """One step of `count` neighbouring outputs, the first of which is `at`, results and all; of as many
        in each of some `lines`, where rows are crossed with columns."""
        r, b = self.r, self.b
        self.prepare(step, at)
        for fold in r.folds:
            b.put(self.ctx, r.context.row(fold.how.out), "ptr", at[fold.how.out])
        b.put(self.ctx, r.context.fresh, "i64", b.op(f"zext i1 {step.first} to i64"))
        b.put(self.ctx, r.context.outputs, "i64", count)
        if r.lanes:
            b.put(self.ctx, r.context.lines, "i64", lines)
        self.call(step, b.op(f"sub i64 0, {step.count}"))

    def prepare(self, step: Step, at: dict[int, str]) -> None:
        """The context of an output."""
        r, b = self.r, self.b
        for k in r.rows:
            b.put(self.ctx, r.context.row(k), "ptr", b.at(at[k], step.moved[k]) if step.moved else at[k])
        fresh = "1" if not r.sequential else b.op(f"zext i1 {step.first} to i64")
        b.put(self.ctx, r.context.fresh, "i64", fresh)

    def one(self, step: Step, output: str, at: dict[int, str]) -> None:
        """One step of one output."""
        r, b = self.r, self.b
        self.prepare(step, at)
        for fold in r.folds:
            if fold.packs:
                out = at[fold.how.out]
                some = begin_packing(r, b, fold, step.number, out, self.partials, self.ctx)
                if r.categories:        # what is not kept may raise flags, too
                    self.call(step)
                else:
                    with b.when(some):
                        self.call(step)
                tell_end(r, b, fold, self.ctx)
                return
            if fold.carried and not fold.search:
                self.lend(fold, self.so_far(fold, step, at))
        if r.decidable and not r.outer and not r.folds[0].search:
            self.unless_decided(r.folds[0], step)
        else:
            self.call(step)
        with b.when(self.whole) if self.whole else nullcontext():
            for fold in r.folds:
                self.take_in(fold, step, at)
        if self.whole and not r.sequential:
            with b.otherwise(self.whole):
                self.keep(output, step)

    def call(self, step: Step, count: str = "") -> None:
        arguments = f"ptr {self.ctx}, i64 {step.start}, i64 {count or step.count}, ptr {self.out}"
        self.b.do(f"call void {self.fold}(ptr %words, {arguments})")

    def unless_decided(self, fold: Fold, step: Step) -> None:
        """The lone result may be known from another chunk."""
        b = self.b
        flag = b.at("%words", 8 * self.r.layout.extra(DECIDED))
        store_scalar(b, fold.acc, neutral_value(b, fold), self.out)
        known = b.op(f"load atomic i64, ptr {flag} monotonic, align 8")
        with b.when(b.op(f"icmp eq i64 {known}, 0")):
            self.call(step)
            with b.when(decided(b, fold, self.out)):
                b.do(f"store atomic i64 1, ptr {flag} monotonic, align 8")

    def so_far(self, fold: Fold, step: Step, at: dict[int, str]) -> Value:
        """The accumulator before a step: the output, or what it starts from."""
        found = load_scalar(self.b, fold.char, at[fold.how.out])
        start = self.starts[fold.number]
        return found if start is None else chosen(self.b, fold, step.first, start, found)

    def lend(self, fold: Fold, acc: Value) -> None:
        """The accumulator of a strict sequence goes to the context, float16 as float32."""
        if fold.wide:
            assert isinstance(acc, str)
            acc = convert(self.b, "fpext", "half", acc, "float")
        store_scalar(self.b, fold.acc, acc, self.b.at(self.ctx, self.r.context.carry(fold.number)))

    def take_in(self, fold: Fold, step: Step, at: dict[int, str]) -> None:
        b, out = self.b, at[fold.how.out]
        carry = b.at(self.ctx, self.r.context.carry(fold.number))
        if fold.search:
            store_scalar(b, "l", load_scalar(b, "l", b.at(carry, POSITION)), out)
        elif fold.carried:
            acc = load_scalar(b, fold.acc, carry)
            if fold.wide:
                assert isinstance(acc, str)
                acc = convert(b, "fptrunc", "float", acc, "half")
            store_scalar(b, fold.char, acc, out)
        else:
            run = load_scalar(b, fold.acc, b.at(self.out, SLOT * fold.number))
            store_scalar(b, fold.char, accumulate(b, fold, self.so_far(fold, step, at), run), out)

    def keep(self, output: str, step: Step) -> None:
        """Partial results, side by side for one output."""
        r, b = self.r, self.b
        slot = b.add(b.mul(output, self.steps), step.number)
        base = b.add(self.partials, b.mul(slot, str(SLOT * len(r.folds))))
        to = b.op(f"inttoptr i64 {base} to ptr")
        for fold in r.folds:
            place = SLOT * fold.number
            made = b.at(self.ctx, r.context.carry(fold.number)) if fold.search else b.at(self.out, place)
            move(b, made, b.at(to, place))
