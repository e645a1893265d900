"""Emit: loop IR -> LLVM IR text of one function, the last step and the only one that writes text.

In:  a vectorised `Kernel`, a `Target`.   Out: the text after the function's name, and the
declarations that it needs.  The function is ``void (ptr words, i64 chunk, i64 tid)``, see `abi`.
Holds: the body of every loop over elements is one basic block (the fast register allocator spills
at the ends of blocks).
"""

from __future__ import annotations

from lazyarr.codegen import emit_calls, emit_rows
from lazyarr.codegen.abi import Layout
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emit_body import Registers, emit_body
from lazyarr.codegen.emit_jam import Jammed, compared
from lazyarr.codegen.emit_lanes import Place
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.emit_status import Status
from lazyarr.codegen.loopir import (
    AFTER_MAIN,
    PLACE,
    Blocks,
    Call,
    Gather,
    Kernel,
    Load,
    Loop,
    Once,
    Ref,
    Scatter,
    Stmt,
    Store,
    applies,
    arguments,
)
from lazyarr.codegen.natives import OWN
from lazyarr.dtypes import PLAIN
from lazyarr.ops import flags
from lazyarr.target import Target
from lazyarr.tuning import tuning

STREAM_BYTES = 16
"""Narrower vectors are stored through the caches even when the kernel streams."""


class Emitter:
    """Writes one kernel."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.kernel, self.target = kernel, target
        self.b = Builder(target, 0)
        self.b.hot = kernel.hot
        self.layout = Layout(kernel.rank, len(kernel.operands), len(kernel.scalars), len(kernel.loops))
        self.fixed = Registers(self.b)
        """What does not vary along the range."""
        self.strides: dict[tuple[int, int], str] = {}
        """Operand and loop -> its stride in bytes."""
        self.status = _status(self.b, kernel)
        self.apart: str | None = None
        """Whether results lie where nothing is read; None where it does not matter."""
        self.jammed: list[Jammed] = []

    def text(self) -> str:
        """The function from its parameter list on."""
        b = self.b
        b.label("entry")
        self.allocate()
        self.status.begin()
        if self.kernel.loops:
            emit_calls.begin(b)
        low, counts = self.chunk()
        pointers = self.bases(low)
        self.apart = emit_rows.apart(b, self.kernel, pointers) if emit_rows.overlapping(self.kernel) else None
        if self.kernel.jams and self.apart is not None:
            as_said = compared(self, self.apart, pointers)
            self.jammed = [Jammed(self, how, as_said) for how in self.kernel.jams]
        b.do("br label %start")
        self.label("start")
        self.nest(pointers, counts)
        b.do("br label %exit")
        self.label("exit")
        if self.kernel.nontemporal and self.target.x86:
            b.declare("declare void @llvm.x86.sse.sfence()")
            b.do("call void @llvm.x86.sse.sfence()")
        if self.kernel.loops:
            emit_calls.end(b)
        self.status.end()
        b.do("ret void")
        head = '(ptr %words, i64 %chunk, i64 %tid) nounwind "prefer-vector-width"="512" {'
        return "\n".join([head, *b.lines, "}", ""])

    # Words, and the chunk's place in the iteration space

    def word(self, k: int, ty: str = "i64") -> str:
        return self.b.op(f"load {ty}, ptr {self.word_at(k)}, align 8")

    def word_at(self, k: int) -> str:
        return self.b.op(f"getelementptr i64, ptr %words, i64 {k}")

    def label(self, name: str) -> None:
        self.b.label(name)

    def allocate(self) -> None:
        """Argument arrays for NumPy's loops, scratch memory, and the loops' addresses."""
        b, kernel = self.b, self.kernel
        if kernel.loops:
            most = max(len(sig) - 2 for _, sig in kernel.loops)
            b.do(f"%args = alloca [{most} x ptr], align 8")
            b.do(f"%steps = alloca [{most} x i64], align 8")
            b.do("%count = alloca i64, align 8")
        if kernel.scratch_bytes:
            offset = b.op(f"mul i64 %tid, {kernel.scratch_bytes}")
            self.scratch = b.op(f"getelementptr i8, ptr {self.word(Layout.SCRATCH, 'ptr')}, i64 {offset}")
        self.functions = [
            (self.word(self.layout.loop(k), "ptr"), self.word(self.layout.loop(k) + 1, "ptr"))
            for k in range(len(kernel.loops))
        ]

    def chunk(self) -> tuple[list[str], list[str]]:
        """First index and number of iterations of each loop: the chunk's number, mixed radix."""
        b, layout = self.b, self.layout
        rest = "%chunk"
        low: list[str] = []
        counts: list[str] = []
        for d in reversed(range(self.kernel.rank)):
            at = rest
            if d:
                grid = self.word(layout.grid(d))
                at, rest = b.op(f"urem i64 {rest}, {grid}"), b.op(f"udiv i64 {rest}, {grid}")
            tile = self.word(layout.tile(d))
            first = b.op(f"mul i64 {at}, {tile}")
            left = b.op(f"sub i64 {self.word(layout.shape(d))}, {first}")
            short = b.op(f"icmp ult i64 {left}, {tile}")
            low.insert(0, first)
            counts.insert(0, b.op(f"select i1 {short}, i64 {left}, i64 {tile}"))
        return low, counts

    def bases(self, low: list[str]) -> dict[int, str]:
        """Operand -> address of the chunk's first element."""
        b, pointers = self.b, {}
        for k, operand in enumerate(self.kernel.operands):
            pointer = self.word(self.layout.pointer(k), "ptr")
            *outer, inner = low
            for d, first in enumerate(outer):
                stride = self.strides[k, d] = self.word(self.layout.stride(k, d))
                pointer = b.op(f"getelementptr i8, ptr {pointer}, i64 {b.op(f'mul i64 {first}, {stride}')}")
            stride = self.inner_stride(k)
            if operand.access != "z":
                pointer = b.op(f"getelementptr i8, ptr {pointer}, i64 {b.op(f'mul i64 {inner}, {stride}')}")
            pointers[k] = pointer
        return pointers

    def inner_stride(self, k: int) -> str:
        """Stride of an operand along the innermost loop: a constant, except for access 's'."""
        inner, operand = self.kernel.rank - 1, self.kernel.operands[k]
        if (k, inner) not in self.strides:
            constant = {"u": str(PLAIN[operand.dtype].itemsize), "z": "0"}
            found = constant.get(operand.access) or self.word(self.layout.stride(k, inner))
            self.strides[k, inner] = found
        return self.strides[k, inner]

    def nest(self, pointers: dict[int, str], counts: list[str]) -> None:
        """The outer loops, then the body at each of their positions."""
        opened = []
        for d, count in enumerate(counts[:-1]):
            head, latch, done = (self.b.fresh(stem)[1:] for stem in ("row", "next", "done"))
            enter = f"label %{head}"
            if self.jammed and d == self.kernel.rank - 2:
                for jammed in self.jammed:
                    pointers, count = jammed.nest(pointers, count, counts[-1])
                enter = f"i1 {self.b.op(f'icmp ne i64 {count}, 0')}, {enter}, label %{done}"
            pointers = self.open_row(head, latch, pointers, enter)
            opened.append((head, latch, done, d, count, pointers))
        self.statements(self.kernel.body, Range(pointers, counts[-1]))
        for row in reversed(opened):
            self.close_row(*row)

    def open_row(self, head: str, latch: str, pointers: dict[int, str], enter: str) -> dict[int, str]:
        """Begin a loop, which a branch enters: operands' addresses at its position."""
        b, before = self.b, self.b.block
        b.do(f"br {enter}")
        self.label(head)
        b.do(f"%i.{head} = phi i64 [ 0, %{before} ], [ %i.{latch}, %{latch} ]")
        inside = {}
        for k, pointer in pointers.items():
            inside[k] = f"%p{k}.{head}"
            b.do(f"{inside[k]} = phi ptr [ {pointer}, %{before} ], [ %p{k}.{latch}, %{latch} ]")
        return inside

    def close_row(
        self, head: str, latch: str, done: str, d: int, count: str, pointers: dict[int, str]
    ) -> None:
        b = self.b
        b.do(f"br label %{latch}")
        self.label(latch)
        b.do(f"%i.{latch} = add i64 %i.{head}, 1")
        for k, pointer in pointers.items():
            b.do(f"%p{k}.{latch} = getelementptr i8, ptr {pointer}, i64 {self.strides[k, d]}")
        more = b.op(f"icmp ult i64 %i.{latch}, {count}")
        b.do(f"br i1 {more}, label %{head}, label %{done}")
        self.label(done)

    # Statements on a range

    def statements(self, stmts: tuple[Stmt, ...], at: Range) -> None:
        main = "0"
        for stmt in stmts:
            if isinstance(stmt, Once):
                self.once(stmt, at)
            elif isinstance(stmt, Blocks):
                self.blocks(stmt, at)
            elif isinstance(stmt, Call):
                self.call(stmt, at.pointers, at.count, [self.step(ref) for ref in refs_of(stmt)])
            else:
                assert isinstance(stmt, Loop)           # scans are `scan_along`'s
                main = self.loop(stmt, at, main if stmt.part in AFTER_MAIN else "0")

    def once(self, stmt: Once, at: Range) -> None:
        """Straight-line scalar code, once for a range."""
        self.b.width = 0
        self.fixed = Registers(self.b)
        for lane in stmt.body:
            if isinstance(lane, Call):
                self.call(lane, at.pointers, "1", self.single_steps(lane))
            else:
                emit_body((lane,), self.fixed, lambda ref: self.place(ref, self.base(ref, at.pointers), "0"))
                if isinstance(lane, Load) and lane.ref.space == "scalar":
                    self.fixed.repeated[lane.value] = self.base(lane.ref, at.pointers)
        for v in self.fixed.chars:
            self.fixed.value(v)         # here, where it dominates every loop

    def blocks(self, stmt: Blocks, at: Range) -> None:
        """The range in pieces that the slots have room for."""
        b, before = self.b, self.b.block
        head, latch, done = (b.fresh(stem)[1:] for stem in ("block", "next", "done"))
        b.do(f"br label %{head}")
        self.label(head)
        start = f"%i.{head}"
        b.do(f"{start} = phi i64 [ 0, %{before} ], [ %i.{latch}, %{latch} ]")
        left = b.op(f"sub i64 {at.count}, {start}")
        short = b.op(f"icmp ult i64 {left}, {stmt.size}")
        count = b.op(f"select i1 {short}, i64 {left}, i64 {stmt.size}")
        self.statements(stmt.body, Range(self.advance(at.pointers, start), count))
        b.do(f"br label %{latch}")
        self.label(latch)
        b.do(f"%i.{latch} = add i64 {start}, {stmt.size}")
        more = b.op(f"icmp ult i64 %i.{latch}, {at.count}")
        b.do(f"br i1 {more}, label %{head}, label %{done}")
        self.label(done)

    def advance(self, pointers: dict[int, str], start: str) -> dict[int, str]:
        """Addresses of element number `start`."""
        b, found = self.b, {}
        for k, pointer in pointers.items():
            if self.kernel.operands[k].access == "z":
                found[k] = pointer
            else:
                offset = b.op(f"mul i64 {start}, {self.inner_stride(k)}")
                found[k] = b.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return found

    def call(self, call: Call, pointers: dict[int, str], count: str, steps: list[str]) -> None:
        """NumPy's inner loop; it may change its argument arrays, so they are filled anew."""
        b = self.b
        b.width = 0
        self.status.collect()
        emit_calls.count(b, *self.kernel.loops[call.loop])
        for k, (ref, step) in enumerate(zip(refs_of(call), steps, strict=True)):
            at = self.base(ref, pointers)
            b.do(f"store ptr {at}, ptr {b.op(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
            b.do(f"store i64 {step}, ptr {b.op(f'getelementptr i64, ptr %steps, i64 {k}')}, align 8")
        b.do(f"store i64 {count}, ptr %count, align 8")
        function, data = self.functions[call.loop]
        b.do(f"call void {function}(ptr %args, ptr %count, ptr %steps, ptr {data})")

    def loop(self, loop: Loop, at: Range, start: str) -> str:
        """One loop over elements from `start` on; where it ends."""
        b = self.b
        end = at.count
        if loop.part in ("main", "more"):
            end = b.op(f"and i64 {at.count}, {-loop.lanes}")
            if self.apart is not None:
                return self.row(loop, at, end, self.apart)
        head, pre, done = (b.fresh(stem)[1:] for stem in ("loop", "pre", "done"))
        b.do(f"br i1 {b.op(f'icmp ult i64 {start}, {end}')}, label %{pre}, label %{done}")
        self.label(pre)
        wide, bases = self.entered(loop, at)
        b.do(f"br label %{head}")
        self.label(head)
        place = len(b.lines)
        emit_body(loop.body, wide, lambda ref: self.place(ref, bases[ref], f"%i.{head}"))
        b.width = 0
        b.lines.insert(place, f"  %i.{head} = phi i64 [ {start}, %{pre} ], [ %n.{head}, %{b.block} ]")
        b.do(f"%n.{head} = add i64 %i.{head}, {max(loop.lanes, 1)}")
        more = b.op(f"icmp ult i64 %n.{head}, {end}")
        b.do(f"br i1 {more}, label %{head}, label %{done}")
        self.label(done)
        return end

    def entered(self, loop: Loop, at: Range) -> tuple[Registers, dict[Ref, str]]:
        """Before a loop: in all lanes what its body takes, and where its operands' rows begin."""
        self.b.width = loop.lanes
        wide = self.fixed.spread(dict.fromkeys(a for lane in loop.body for a in arguments(lane)))
        refs = (lane.ref for lane in loop.body if isinstance(lane, Load | Gather | Store | Scatter))
        return wide, {ref: self.base(ref, at.pointers) for ref in refs}

    def row(self, loop: Loop, at: Range, whole: str, apart: str) -> str:
        """A loop whose vectors may overlap; where it ends."""
        b = self.b
        head, pre, done = (b.fresh(stem)[1:] for stem in ("loop", "pre", "done"))
        b.do(f"br i1 {b.op(f'icmp ne i64 {whole}, 0')}, label %{pre}, label %{done}")
        before = b.block
        self.label(pre)
        wide, bases = self.entered(loop, at)
        walk, leader = emit_rows.Walk(b, apart, at.count, whole, loop.lanes), emit_rows.leader(loop)
        assert leader is not None
        second = walk.second(bases[leader], PLAIN[leader.char].itemsize)
        end = b.op(f"select i1 {apart}, i64 {at.count}, i64 {whole}")
        b.do(f"br label %{head}")
        self.label(head)
        place = len(b.lines)
        emit_body(loop.body, wide, lambda ref: self.place(ref, bases[ref], f"%i.{head}"))
        b.width, last = 0, b.block
        b.lines[place:place] = [
            f"  %i.{head} = phi i64 [ 0, %{pre} ], [ %n.{head}, %{last} ]",
            f"  %n.{head} = phi i64 [ {second}, %{pre} ], [ %m.{head}, %{last} ]",
        ]
        b.do(f"%m.{head} = add i64 {walk.after(f'%n.{head}')}, 0")
        more = b.op(f"icmp ult i64 %i.{head}, {walk.last}")
        b.do(f"br i1 {more}, label %{head}, label %{done}")
        self.label(done)
        return b.op(f"phi i64 [ 0, %{before} ], [ {end}, %{last} ]")

    # Where a Ref lies

    def place(self, ref: Ref, base: str, index: str) -> Place:
        stride = self.inner_stride(ref.index) if ref.space in ("operand", PLACE) else ""
        whole = ref.space == "operand" and ref.access == "u"
        streams = (
            whole and self.kernel.nontemporal and self.b.width * PLAIN[ref.char].itemsize >= STREAM_BYTES
        )
        # (Longer blocks are streams to the processor's prefetchers, and prefetching gets in their way.)
        reach = tuning(self.target.name).stream_ahead // PLAIN[ref.char].itemsize
        ahead = whole and bool(self.kernel.loops) and 0 < self.kernel.block <= reach
        return Place(ref.char, ref.access, base, index, stride, streams, ahead)

    def base(self, ref: Ref, pointers: dict[int, str]) -> str:
        """Address of a range's first element."""
        if ref.space in ("operand", PLACE):
            return pointers[ref.index]
        if ref.space == "scalar":
            return self.word_at(self.layout.scalar(ref.index))
        offset = self.kernel.slots[ref.index].offset
        return self.b.op(f"getelementptr i8, ptr {self.scratch}, i64 {offset}") if offset else self.scratch

    def step(self, ref: Ref) -> str:
        if ref.space == "operand":
            return self.inner_stride(ref.index)
        return str(PLAIN[ref.char].itemsize) if ref.access == "u" else "0"

    def single_steps(self, call: Call) -> list[str]:
        """Steps that NumPy gives a loop over what does not vary along the range.

        An array that is broadcast along it is contiguous for NumPy, which broadcasts the result; a
        scalar has step 0, and so has every input when all arrays have one element.  A result never has."""
        lone = all(operand.access == "z" for operand in self.kernel.operands)
        ins = ["0" if lone or ref.space == "scalar" else str(PLAIN[ref.char].itemsize) for ref in call.ins]
        return ins + [str(PLAIN[ref.char].itemsize) for ref in call.outs]


def refs_of(call: Call) -> tuple[Ref, ...]:
    return (*call.ins, *call.outs)


def _status(b: Builder, kernel: Kernel) -> Status:
    signatures = {(a.op, a.sig) for a in applies(kernel.body)} | set(kernel.loops)
    names = {("copy" if op == "cast" else op, sig) for op, sig in signatures if op not in OWN}
    categories = frozenset(c for op, sig in names for c in flags(op, sig))
    calls = bool(kernel.loops)
    return Status(b, categories, calls, calls)
