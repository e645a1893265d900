"""Folding along the innermost loop, block by block: where a body has several stages, rows do not
merge, or a fold needs its values in memory.

In:  a parfor ``p* r+``.   Out: its fold function, and the function that folds a block's slots.
The stages of the body leave the values to fold side by side in scratch memory, whatever rows they
came from; the same tree then runs over these.  Blocks are subtrees, so the cuts change no bit.
"""

from __future__ import annotations

from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.loopir import Blocks, Call, Kernel, Load, Loop, Once, Ref, Stmt, Store
from lazyarr.codegen.lower import Lowering
from lazyarr.codegen.natives import SCATTER
from lazyarr.codegen.reduce_body import Body, kernel_of, wanted
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_inner import Leaf
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_leaves import folded_by
from lazyarr.codegen.reduce_long import long_runs
from lazyarr.codegen.reduce_strict import called_fold, search_block
from lazyarr.codegen.reduce_tree import in_sequence, tree_function
from lazyarr.codegen.stages import CALL, LOAD, NATIVE, ONCE
from lazyarr.codegen.tile import tile
from lazyarr.codegen.vectorize import vectorize
from lazyarr.fusion.parfor import result_char
from lazyarr.records import dataclass, replace
from lazyarr.reduce_order import MASKED

SLOTS = "_slots"
"""Begins the ends of the names of the functions that fold what lies in slots."""

BLOCK = 2048
"""Elements of a block that has no slots."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A body that leaves the wanted values in slots."""

    kernel: Kernel
    stmts: tuple[Stmt, ...]
    slots: dict[int, Ref]
    """Wanted value -> where it lies afterwards: a slot, or the operand that it is read from."""
    block: int


def staged(r: Reduce) -> Staged:
    low = Lowering(r.parfor, r.target, keep=wanted(r))
    low.place_stores()
    low.place_values()
    stages: list[Stmt] = [low.stage(s) for s in range(len(low.calls))]
    slots: dict[int, Ref] = {}
    early: list[Stmt] = []
    late: list[Stmt] = []
    for v in wanted(r):
        home = low.homes.get(v)
        if home is not None and home.access == "u" and (home.space == "slot" or _stays(r, low.kinds[v])):
            slots[v] = home
            continue
        slots[v] = to = low.slot(result_char(r.parfor.body[v]), single=False)
        store = Store(to, v)
        if low.kinds[v] == ONCE:
            late.append(Loop("all", 0, (store,)))
        elif low.kinds[v] == LOAD:      # before anything overwrites it
            early.append(Loop("all", 0, (Load(v, low.source(v)), store)))
        else:
            assert home is not None
            late.append(Loop("all", 0, (Load(v, home), store)))
    stmts = [*early, *stages, *late]
    once = low.once(stmts)
    last = Call(-1, tuple(slots.values()), ())      # slots live until here
    whole = kernel_of(r.parfor, (Once(once), *stmts, last), tuple(low.slots), tuple(low.loops))
    cut = any(f.how.cut for f in r.folds)
    kernel = tile(whole, not r.target.without("tile"), MASKED if cut else 0)
    once_, *rest = kernel.body
    inside = rest[0].body if isinstance(rest[0], Blocks) else rest
    kernel = vectorize(replace(kernel, body=(once_, *inside[:-1])), r.target)
    return Staged(kernel, kernel.body, slots, kernel.block or (MASKED if cut else BLOCK))


def _stays(r: Reduce, kind: str) -> bool:
    """Is an operand as good as a slot: in one piece for each block, and not overwritten meanwhile?

    So is one that is stored, if nothing else is."""
    moved = any(f.called and f.how.mask >= 0 and not f.how.cut for f in r.folds)
    stores = sum(inst.op in ("store", SCATTER) for inst in r.parfor.body)
    return stores == (kind in (CALL, NATIVE)) and len(r.space) == 1 and not moved


def block_functions(r: Reduce, body: Staged, name: str) -> list[Function]:
    memory = name + SLOTS
    found = []
    if any(not f.called for f in r.folds):
        found += folded_by(r, memory, lambda b: _slots(r, body, b))
    def write(b: Function, start: str, count: str, out: str) -> None:
        Block(r, body, b, memory, out).write(start, count)

    if r.folds[0].how.long:
        return [*found, *long_runs(r, name, body.block, lambda b: Block(r, body, b, memory))]
    if r.pairwise:
        found.append(tree_function(r, name, body.block, lambda b: write(b, "%start", "%n", "%out")))
    else:
        found.append(in_sequence(r, name, body.block, write))
    return found


def _slots(r: Reduce, body: Staged, b: Function) -> Leaf:
    """The leaf of a tree over what a block left in memory."""
    lanes = tuple(Load(v, body.slots[v]) for v in wanted(r))
    kernel = replace(body.kernel, body=(Once(()), Loop("all", 0, lanes)))
    leaf = Leaf(r, kernel, b)
    leaf.body.use_scratch(b.op(f"sub i64 %start, {b.word('%ctx', r.context.block // 8)}"))
    return leaf


class Block:
    """Writes: evaluate the body for a block of the group's index space, and fold it."""

    def __init__(self, r: Reduce, body: Staged, b: Function, memory: str, out: str = "%out") -> None:
        self.r, self.staged, self.b, self.memory, self.out = r, body, b, memory, out
        self.body = Body(body.kernel, r, b)

    def begin(self) -> dict[int, str]:
        """What the function needs, once; the row pointers."""
        self.body.use_scratch("0")
        self.body.call_frame()
        return self.body.rows()

    def evaluate(self, rows: dict[int, str], start: str, count: str) -> dict[int, str]:
        """Leave the block's values in memory; its pointers."""
        r, body = self.r, self.body
        self.b.put("%ctx", r.context.block, "i64", start)
        if len(r.space) > 1:
            self.pieces(rows, start, count)
            body.shift = "0"
            return rows
        pointers = body.advance(rows, start)
        body.run(self.staged.stmts, Range(pointers, count))
        return pointers

    def write(self, start: str, count: str) -> None:
        r, b, body = self.r, self.b, self.body
        pointers = self.evaluate(self.begin(), start, count)
        if any(not f.called for f in r.folds):
            b.do(f"call void @{self.memory}(ptr %words, ptr %ctx, i64 {start}, i64 {count}, ptr {self.out})")
        for fold in r.folds:
            place = body.base(self.staged.slots[fold.value], pointers)
            if fold.called:
                mask = body.base(self.staged.slots[fold.how.mask], pointers) if fold.how.mask >= 0 else None
                called_fold(r, body, fold, place, mask, count)
            elif fold.search:
                search_block(r, b, fold, place, start, count, self.out)
        b.put("%ctx", r.context.fresh, "i64", "0")

    def place(self, value: int, rows: dict[int, str], start: str) -> str:
        """Where the values of the block that begins there lie."""
        pointers = rows if len(self.r.space) > 1 else self.body.advance(rows, start)
        return self.body.base(self.staged.slots[value], pointers)

    def pieces(self, rows: dict[int, str], start: str, count: str) -> None:
        """The rows that a block covers, each in part."""
        r, b, body = self.r, self.b, self.body
        inner = r.space[-1]
        columns = r.extent(b, inner)
        with b.loop("0", count) as (done, state):
            at = b.add(start, done)
            column, rest = b.op(f"urem i64 {at}, {columns}"), b.op(f"udiv i64 {at}, {columns}")
            pointers = dict(rows)
            for d in reversed(r.space[:-1]):
                extent = r.extent(b, d)
                i = b.op(f"urem i64 {rest}, {extent}")
                rest = b.op(f"udiv i64 {rest}, {extent}")
                pointers = {k: b.at(p, b.mul(i, r.stride(b, k, d))) for k, p in pointers.items()}
            left = b.op(f"sub i64 {columns}, {column}")
            state.step = b.smaller(left, b.op(f"sub i64 {count}, {done}"))
            body.shift = done
            body.run(self.staged.stmts, Range(body.advance(pointers, column), state.step))
