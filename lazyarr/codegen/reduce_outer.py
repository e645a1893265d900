"""Folding across rows: the innermost loop is parallel, and each row is folded onto accumulators.

In:  a parfor ``p* r+ p``.   Out: its chunk function.
A chunk's accumulators lie side by side in scratch memory, one for each column.  Folding a row is a
map: ``acc = op(acc, value)``, so the body is lowered as one, whatever its stages are, and NumPy's own
loops fold where there is no native op.  Rows go in order, so every sequence is kept.  Hot kernels may fold
several rows in one such map (`Tuning.rows_at_once`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lazyarr.codegen import emit_calls
from lazyarr.codegen.builder import LINE, SECOND_LEVEL
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.loopir import Kernel
from lazyarr.codegen.lower import Lowering
from lazyarr.codegen.reduce_body import Body
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import chosen, load_scalar, neutral_value, store_scalar
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS, Reduce
from lazyarr.codegen.reduce_outputs import Chunk, decode, nested, outputs
from lazyarr.codegen.reduce_plan import COLUMNS, PARTIALS, RUN, SLOT, STEPS
from lazyarr.codegen.tile import tile
from lazyarr.codegen.vectorize import vectorize
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.tuning import tuning

LINE_TYPE = f"<{LINE // 8} x i64>"
"""A cache line of accumulators."""

NARROW = 1 << 10
"""Bytes of a row, at most, that is prefetched where several are folded at a time: what is longer the
processor follows by itself."""


def as_map(r: Reduce, first: bool, rows: int = 1) -> Parfor:
    """The folding of one row, or of some: accumulators are operands; the first row is moved there as it is
    where no value is neutral.  What further rows read is operands behind the others (`further`)."""
    p = r.parfor
    operands = list(p.operands)
    body: list[Inst] = []
    stores: list[Inst] = []
    for row in range(rows):
        stores = _row(r, first, row, operands, body, stores)
    operands += [p.operands[k] for _ in range(rows - 1) for k in r.rows]
    return p._replace(operands=tuple(operands), body=(*body, *stores))


def further(r: Reduce, row: int, k: int) -> int:
    """The operand of a map of several rows that is operand `k` in one of them."""
    return k if row == 0 else len(r.parfor.operands) + (row - 1) * len(r.rows) + r.rows.index(k)


def _row(
    r: Reduce, first: bool, row: int, operands: list[Operand], body: list[Inst], before: list[Inst]
) -> list[Inst]:
    """A row's instructions behind those of others, and what stores the accumulators then."""
    place: dict[int, int] = {}
    folds = iter(r.folds)
    stores: list[Inst] = []
    for v, inst in enumerate(r.parfor.body):
        if row and inst.op == "load":
            assert isinstance(inst.attr, int)
            inst = inst._replace(attr=further(r, row, inst.attr))
        if not isinstance(inst.attr, Reduction):
            place[v] = len(body)
            body.append(inst._replace(args=tuple(place[a] for a in inst.args)))
            continue
        fold, how = next(folds), inst.attr
        char = fold.char
        operands[how.out] = Operand(char, "u", "out" if first and begins_with_first(fold) else "inout")
        value = place[fold.value]
        if not (first and begins_with_first(fold)):
            if row:
                (acc,) = before[len(stores)].args
            else:
                body.append(Inst("load", char, (), how.out))
                acc = len(body) - 1
            body.append(Inst(how.ufunc, f"{char}{char}->{char}", (acc, value), 0))
            value = len(body) - 1
            if how.mask >= 0:
                body.append(Inst("where", f"?{char}{char}->{char}", (place[how.mask], value, acc)))
                value = len(body) - 1
        stores.append(Inst("store", char, (value,), how.out))
    return stores


def rows_at_once(r: Reduce) -> int:
    """Rows that hot kernels fold at a time: where folding one is arithmetic on what its elements are."""
    p = r.parfor
    plain = all(p.operands[k].role == "in" and p.operands[k].access in "uz" for k in r.rows) and not any(
        inst.op in ("gather", "scatter", "store") for inst in p.body
    )
    if not r.hot or not plain or any(begins_with_first(f) for f in r.folds):
        return 1
    t = tuning(r.target.name)
    most = min(t.rows_at_once, t.fold_lanes // len(p.body))
    return 1 << max(1, most).bit_length() - 1


def begins_with_first(fold: Fold) -> bool:
    return fold.how.start < 0 and fold.how.order == "sequential" and not fold.how.resumes


def row_kernel(r: Reduce, first: bool, rows: int = 1) -> Kernel:
    kernel = Lowering(as_map(r, first, rows), r.target).kernel()
    return vectorize(tile(kernel, not r.target.without("tile")), r.target)


def call_frame(r: Reduce, b: Function) -> None:
    """Stack memory for the arguments of NumPy's loops."""
    if r.loops:
        most = max(len(sig) - 2 for _, sig in r.loops)
        b.stack += [
            f"  %args = alloca [{most} x ptr], align 8",
            f"  %steps = alloca [{most} x i64], align 8",
            "  %count = alloca i64, align 8",
        ]


def chunk_function(
    r: Reduce, rows: Kernel, first: Kernel | None, name: str, several: Kernel | None = None
) -> Function:
    """`several` folds `rows_at_once` rows."""
    b = Function(r.target, name, CHUNK_PARAMS)
    status = r.status(b)
    status.begin()
    if r.loops:
        emit_calls.begin(b)
    Rows(r, b, rows, first, several).write()
    if r.loops:
        emit_calls.end(b)
    status.end()
    return b


class Rows:
    """Writes the chunk function."""

    def __init__(
        self, r: Reduce, b: Function, rows: Kernel, first: Kernel | None, several: Kernel | None
    ) -> None:
        self.r, self.b, self.first = r, b, first
        self.body = Body(rows, r, b)
        self.several = None if several is None else Body(several, r, b)
        self.other = None if first is None else Body(first, r, b)
        self.scratch = b.at(b.word("%words", r.layout.SCRATCH, "ptr"), b.mul("%tid", str(r.scratch_bytes)))
        for body in (self.body, self.other):
            if body is not None:
                body.scratch = b.at(self.scratch, accumulator_bytes(r))
                body.use_loops()
        call_frame(r, b)

    def accumulators(self) -> dict[int, str]:
        """Result operand -> address of its accumulators."""
        found, at = {}, 0
        for fold in self.r.folds:
            found[fold.how.out] = self.b.at(self.scratch, at)
            at += COLUMNS * PLAIN[fold.char].itemsize
        return found

    def write(self) -> None:
        r, b = self.r, self.b
        steps, run = r.extra(b, STEPS), r.extra(b, RUN)
        partials = r.extra(b, PARTIALS)
        whole = b.op(f"icmp eq i64 {partials}, 0")
        chunk = decode(r, b, steps)
        inner = r.outer[-1]
        low, high = chunk.low.pop(inner), chunk.high.pop(inner)
        count = b.op(f"sub i64 {high}, {low}")
        accs = self.accumulators()
        for body in (self.body, self.other):
            if body is not None:
                for k in r.rows:
                    body.inner_stride(k)
        rows = r.extent(b, r.folded[0])
        results = list(dict.fromkeys(f.how.out for f in r.folds))
        with outputs(r, b, chunk, r.outer[:-1], [*r.rows, *results]) as (number, at):
            flat = b.add(b.mul(number, r.extent(b, inner)), low) if number != "0" else low
            at = {k: b.at(p, b.mul(low, r.stride(b, k, inner))) for k, p in at.items()}
            with b.loop(chunk.first, chunk.last) as (step, _):
                begin = b.mul(step, run)
                self.begin(accs, at, count, whole)
                self.fold_rows(begin, b.smaller(b.add(begin, run), rows), at, accs, count)
                with b.when(whole):
                    for fold in r.folds:
                        out = fold.how.out
                        self.move(fold, accs[out], None, at[out], r.stride(b, out, inner), count)
                with b.otherwise(whole):
                    self.keep(flat, step, steps, partials, accs, count)

    def begin(self, accs: dict[int, str], at: dict[int, str], count: str, whole: str) -> None:
        """What accumulators start from: partial results from what is neutral."""
        r, b = self.r, self.b
        for fold in r.folds:
            if fold.how.resumes:                # (such kernels leave no partial results)
                out = fold.how.out
                self.move(fold, at[out], r.stride(b, out, r.outer[-1]), accs[out], None, count)
                continue
            if begins_with_first(fold):
                continue
            start = r.start(b, fold)
            assert start is not None
            if not r.sequential:
                start = chosen(b, fold, whole, start, neutral_value(b, fold))
            self.fill(fold, start, accs[fold.how.out], count)

    def fill(self, fold: Fold, start: Value, to: str, count: str) -> None:
        """One line of accumulators, then all others like it: there is room for whole lines."""
        b, size = self.b, PLAIN[fold.char].itemsize
        for place in range(0, LINE, size):
            store_scalar(b, fold.char, start, b.at(to, place))
        line = b.op(f"load {LINE_TYPE}, ptr {to}, align 1")
        with b.loop(str(LINE), b.mul(count, str(size)), str(LINE)) as (at, _):
            b.do(f"store {LINE_TYPE} {line}, ptr {b.at(to, at)}, align 1")

    def fold_rows(self, low: str, high: str, at: dict[int, str], accs: dict[int, str], count: str) -> None:
        r, b = self.r, self.b
        bounds = {d: ("0", r.extent(b, d)) for d in r.folded}
        bounds[r.folded[0]] = low, high
        chunk = Chunk({d: x for d, (x, _) in bounds.items()}, {d: y for d, (_, y) in bounds.items()}, "", "")
        strides = {(k, d): r.stride(b, k, d) for k in r.rows for d in r.folded}
        rows = {k: at[k] for k in r.rows}
        end = high
        for d in r.folded[1:]:
            end = b.mul(end, bounds[d][1])
        if self.several is not None:
            self.fold_several(self.several, chunk, rows, accs, strides, bounds, count)
            return
        with _rows(b, r.folded, chunk, "0", rows, strides, bounds) as (number, inside):
            pointers = Range({**inside, **accs}, count)
            ahead = tuning(r.target.name).rows_ahead
            if ahead:
                with b.when(b.op(f"icmp slt i64 {b.add(number, str(ahead))}, {end}")):
                    prefetch_rows(r, b, inside, {k: strides[k, r.folded[-1]] for k in r.rows}, count)
            if self.other is None:
                self.body.run(self.body.kernel.body, pointers)
                return
            fresh = b.op(f"icmp eq i64 {number}, 0")
            with b.when(fresh):
                self.other.run(self.other.kernel.body, pointers)
            with b.otherwise(fresh):
                self.body.run(self.body.kernel.body, pointers)

    def fold_several(
        self, several: Body, chunk: Chunk, at: dict[int, str], accs: dict[int, str],
        strides: dict[tuple[int, int], str], bounds: dict[int, tuple[str, str]], count: str,
    ) -> None:  # fmt: skip
        """Some rows at a time along the innermost of the folded loops, then one by one.

        Whole rows that follow each other in memory are one stream, which is best read as it lies."""
        r, b, rows = self.r, self.b, rows_at_once(self.r)
        *outer, inner = r.folded
        low, high = bounds[inner]
        whole = b.add(low, b.op(f"and i64 {b.op(f'sub i64 {high}, {low}')}, {-rows}"))
        apart = {k: strides[k, inner] for k in r.rows}
        for k in r.rows:
            size = b.mul(count, several.inner_stride(k))
            whole = b.op(f"select i1 {b.op(f'icmp eq i64 {apart[k]}, {size}')}, i64 {low}, i64 {whole}")
        with _rows(b, outer, chunk, "0", at, strides, bounds) as (_, begin):
            with b.loop(low, whole, str(rows)) as (i, _):
                self.look_ahead(i, whole, rows, begin, apart, count)
                pointers = dict(accs)
                for k in r.rows:
                    for row in range(rows):
                        number = b.add(i, str(row)) if row else i
                        pointers[further(r, row, k)] = b.at(begin[k], b.mul(number, apart[k]))
                several.run(several.kernel.body, Range(pointers, count))
            with b.loop(whole, high) as (i, _):
                inside = {k: b.at(begin[k], b.mul(i, apart[k])) for k in r.rows}
                self.body.run(self.body.kernel.body, Range({**inside, **accs}, count))

    def look_ahead(
        self, number: str, end: str, rows: int, begin: dict[int, str], apart: dict[int, str], count: str
    ) -> None:
        """Prefetch the rows that are folded next, so many at a time, where these are short stretches."""
        r, b = self.r, self.b
        if not r.rows:                          # (what is folded is the same in all of them)
            return
        following = b.add(number, str(rows))
        most = NARROW // max(PLAIN[r.parfor.operands[k].dtype].itemsize for k in r.rows)
        narrow, more = b.op(f"icmp sle i64 {count}, {most}"), b.op(f"icmp slt i64 {following}, {end}")
        with b.when(b.op(f"and i1 {narrow}, {more}")):
            for row in range(rows):
                one = b.add(following, str(row))
                fetch(r, b, {k: b.at(begin[k], b.mul(one, apart[k])) for k in r.rows}, count)

    def move(
        self, fold: Fold, source: str, step: str | None, to: str, stride: str | None, count: str
    ) -> None:
        """Accumulators to their results, or back: by lines, where these are neighbours.  Of the two strides
        that of the accumulators is None."""
        b, size = self.b, str(PLAIN[fold.char].itemsize)
        lines = b.op(f"and i64 {b.mul(count, size)}, {-LINE}")
        lines = b.op(f"select i1 {b.op(f'icmp eq i64 {step or stride}, {size}')}, i64 {lines}, i64 0")
        with b.loop("0", lines, str(LINE)) as (at, _):
            line = b.op(f"load {LINE_TYPE}, ptr {b.at(source, at)}, align 1")
            b.do(f"store {LINE_TYPE} {line}, ptr {b.at(to, at)}, align 1")
        with b.loop(b.op(f"udiv i64 {lines}, {size}"), count) as (i, _):
            value = load_scalar(b, fold.char, b.at(source, b.mul(i, step or size)))
            store_scalar(b, fold.char, value, b.at(to, b.mul(i, stride or size)))

    def keep(
        self, flat: str, step: str, steps: str, partials: str, accs: dict[int, str], count: str
    ) -> None:
        """Partial results of all columns, `steps` slots apart."""
        r, b = self.r, self.b
        size = SLOT * len(r.folds)
        slot = b.add(b.mul(flat, steps), step)
        base = b.op(f"inttoptr i64 {b.add(partials, b.mul(slot, str(size)))} to ptr")
        apart = b.mul(steps, str(size))
        for fold in r.folds:
            self.move(fold, accs[fold.how.out], None, b.at(base, SLOT * fold.number), apart, count)


def prefetch_rows(r: Reduce, b: Function, at: dict[int, str], strides: dict[int, str], count: str) -> None:
    """Some rows further on: they are short stretches, too short for the processor to guess."""
    ahead = tuning(r.target.name).rows_ahead
    if ahead:
        fetch(r, b, {k: b.at(at[k], b.mul(strides[k], str(ahead))) for k in r.rows}, count)


def fetch(r: Reduce, b: Function, at: dict[int, str], count: str) -> None:
    """Prefetch so many elements of each operand."""
    for k in r.rows:
        operand = r.parfor.operands[k]
        if operand.role == "in" and operand.access == "u":
            length = b.mul(count, str(PLAIN[operand.dtype].itemsize))
            with b.loop("0", length, str(LINE)) as (offset, _):
                b.prefetch(b.at(at[k], offset), SECOND_LEVEL)


@contextmanager
def _rows(
    b: Function, dims: list[int], chunk: Chunk, flat: str, at: dict[int, str],
    strides: dict[tuple[int, int], str], bounds: dict[int, tuple[str, str]],
) -> Iterator[tuple[str, dict[int, str]]]:
    """Loops over rows, in order."""
    extents = {d: high for d, (_, high) in bounds.items()}
    with nested(b, dims, chunk, flat, at, strides, extents) as found:
        yield found


def accumulator_bytes(r: Reduce) -> int:
    return COLUMNS * sum(PLAIN[f.char].itemsize for f in r.folds)
