"""The body of a reduction's parfor, evaluated for a range of elements inside one of its functions.

In:  a parfor with reductions, a target.
Out: `straight`: the body as one straight line per element, all ops native; and `Body`, an `Emitter`
that writes statements on a range into a `Function` whose caller gives it row pointers.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyarr.codegen import emit_calls
from lazyarr.codegen.builder import FIRST_LEVEL, LINE, SECOND_LEVEL
from lazyarr.codegen.emit import Emitter
from lazyarr.codegen.emit_body import Registers, emit_body
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.loopir import Apply, Call, Gather, Kernel, Lane, Load, Loop, Once, Ref, Slot, Stmt, Store
from lazyarr.codegen.lower import Lowering
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_plan import AHEAD
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Parfor
from lazyarr.tuning import tuning

Later = tuple[str, str]
"""An address, and how many bytes from there for each element that is read."""


def wanted(r: Reduce) -> tuple[int, ...]:
    """Values of the body that folds take: what is folded, and masks."""
    found = [f.value for f in r.folds] + [f.how.mask for f in r.folds if f.how.mask >= 0]
    return tuple(dict.fromkeys(found))


def straight(r: Reduce) -> Kernel | None:
    """A Once and one loop over elements that leaves the wanted values in registers; None: not all native."""
    low = Lowering(r.parfor, r.target)
    low.place_stores()
    low.place_values()
    if len(low.calls) > 1 or any(call >= 0 for call in low.calls):
        return None
    lanes = list(low.native(0).body) if low.calls else []
    stores = [lane for lane in lanes if isinstance(lane, Store)]
    lanes = [lane for lane in lanes if not isinstance(lane, Store)]
    known = {lane.value for lane in lanes if isinstance(lane, Load | Gather)}
    known.update(v for lane in lanes if isinstance(lane, Apply) for v in lane.values)
    low.load(wanted(r), known, lanes)
    nowhere = Ref("slot", 0, "d", "u")
    uses: list[Stmt] = [Loop("all", 0, (*lanes, *stores, *(Store(nowhere, v) for v in wanted(r))))]
    once = low.once(uses)
    if any(isinstance(lane, Call) for lane in once):
        return None
    return kernel_of(r.parfor, (Once(once), Loop("all", 0, (*lanes, *stores))), ())


def kernel_of(
    parfor: Parfor, body: tuple[Stmt, ...], slots: tuple[Slot, ...], loops: tuple[tuple[str, str], ...] = ()
) -> Kernel:
    return Kernel(
        rank=len(parfor.dims), operands=parfor.operands, scalars=parfor.scalars, loops=loops,
        slots=slots, block=0, scratch_bytes=0, body=body,
    )  # fmt: skip


class Body(Emitter):
    """Writes statements into a function of a reduction."""

    def __init__(self, kernel: Kernel, r: Reduce, b: Function) -> None:
        super().__init__(kernel, r.target)
        self.r, self.b = r, b
        b.hot = r.hot
        self.layout = r.layout
        self.fixed = Registers(b)
        self.status = r.status(b)
        self.shift = "0"
        """Elements by which slots are addressed further on: a block may come from several rows."""

    @property
    def f(self) -> Function:
        assert isinstance(self.b, Function)
        return self.b

    def rows(self, ctx: str = "%ctx") -> dict[int, str]:
        """Operands' row pointers, from the context."""
        return {k: self.f.word(ctx, self.r.context.row(k) // 8, "ptr") for k in self.r.rows}

    def use_scratch(self, shift: str) -> None:
        b, r = self.f, self.r
        thread = b.word("%ctx", r.context.thread // 8)
        scratch = b.word("%words", r.layout.SCRATCH, "ptr")
        self.scratch = b.at(scratch, b.mul(thread, str(self.kernel.scratch_bytes)))
        self.shift = shift

    def base(self, ref: Ref, pointers: dict[int, str]) -> str:
        found = super().base(ref, pointers)
        if ref.space != "slot" or ref.access != "u" or self.shift == "0":
            return found
        return self.f.at(found, self.f.mul(self.shift, str(PLAIN[ref.char].itemsize)))

    def call_frame(self) -> None:
        """What calls of NumPy's loops need in the function."""
        r, b = self.r, self.f
        if r.loops:
            most = max(len(sig) - 2 for _, sig in r.loops)
            b.stack.append(f"  %args = alloca [{most} x ptr], align 8")
            b.stack.append(f"  %steps = alloca [{most} x i64], align 8")
            b.stack.append("  %count = alloca i64, align 8")
            b.stack.append(f"  %raised = getelementptr i8, ptr %ctx, i64 {r.context.raised}")
            b.stack.append(f"  {emit_calls.COUNT} = getelementptr i8, ptr %ctx, i64 {r.context.calls}")
            self.functions = [
                (self.word(self.layout.loop(k), "ptr"), self.word(self.layout.loop(k) + 1, "ptr"))
                for k in range(len(r.loops))
            ]

    def use_loops(self) -> None:
        """Addresses of the loops that its kernel calls, which are some of the function's."""
        at = self.r.layout.loop
        index = [self.r.loops.index(loop) for loop in self.kernel.loops]
        self.functions = [(self.word(at(k), "ptr"), self.word(at(k) + 1, "ptr")) for k in index]

    def call_on(self, loop: int, pointers: tuple[str, ...], steps: tuple[str, ...], count: str) -> None:
        """One of NumPy's loops on given addresses."""
        b = self.f
        self.status.collect()
        emit_calls.count(b, *self.r.loops[loop])
        for k, (pointer, step) in enumerate(zip(pointers, steps, strict=True)):
            b.put("%args", 8 * k, "ptr", pointer)
            b.put("%steps", 8 * k, "i64", step)
        b.put("%count", 0, "i64", count)
        function, data = self.functions[loop]
        b.do(f"call void {function}(ptr %args, ptr %count, ptr %steps, ptr {data})")

    def run(self, stmts: tuple[Stmt, ...], at: Range) -> None:
        self.statements(stmts, at)

    def evaluate(
        self, lanes: tuple[Lane, ...], wide: Registers, pointers: dict[int, str], index: str
    ) -> Registers:
        """The values of the elements from `index` on, at the builder's width."""
        found = wide.copy()
        emit_body(lanes, found, lambda ref: self.place(ref, self.base(ref, pointers), index))
        return found

    def prefetch(
        self, lanes: tuple[Lane, ...], pointers: dict[int, str], index: str, elements: int,
        later: Mapping[int, Later],
    ) -> None:  # fmt: skip
        """Ask for what the loads of `elements` elements will touch later, and for what another launch will
        (into a cache where it stays until then)."""
        b, numbers = self.f, tuning(self.r.target.name)
        near = numbers.pack_ahead if any(f.packs for f in self.r.folds) else numbers.fold_ahead
        for k, size in self.streams(lanes):
            place = b.mul(index, str(size))
            lines = max(1, elements * size // LINE)
            if near:
                there = b.at(b.at(pointers[k], place), str(near))
                for line in range(lines):
                    b.prefetch(b.at(there, LINE * line), FIRST_LEVEL)
            if k in later:
                first, pace = later[k]
                there = b.at(first, b.mul(index, pace))
                for line in range(-(-lines // self.r.passes)):
                    b.prefetch(b.at(there, LINE * line), SECOND_LEVEL)

    def later(self, lanes: tuple[Lane, ...], pointers: dict[int, str]) -> dict[int, Later]:
        """Where to ask for what will be read in another launch, for each operand: a share of that lies there
        (`reduce_plan.AHEAD`) as far from its beginning, by the share, as this range does."""
        b, r, found = self.f, self.r, dict[int, Later]()
        for k, size in self.streams(lanes):
            if size % r.passes:
                continue
            ahead, base = r.extra(b, AHEAD + k), self.word(self.layout.pointer(k), "ptr")
            here, begin = (b.op(f"ptrtoint ptr {p} to i64") for p in (pointers[k], base))
            apart = b.op(f"sdiv i64 {b.op(f'sub i64 {here}, {begin}')}, {r.passes}")
            there = b.at(base, b.add(ahead, apart))
            asked = b.op(f"icmp ne i64 {ahead}, 0")
            found[k] = (
                b.op(f"select i1 {asked}, ptr {there}, ptr %words"),
                b.op(f"select i1 {asked}, i64 {size // r.passes}, i64 0"),
            )
        return found

    def streams(self, lanes: tuple[Lane, ...]) -> list[tuple[int, int]]:
        """The operands whose elements are loaded one after the other, and how large these are."""
        refs = {lane.ref for lane in lanes if isinstance(lane, Load)}
        return sorted(
            (ref.index, PLAIN[ref.char].itemsize) for ref in refs
            if ref.space == "operand" and ref.access == "u"
        )  # fmt: skip
