"""Elements that the fast path cannot give wait until they fill a vector, for the rare one.

In:  vectors of operands and a mask, in the loop; the rare path's results, in a function of its own.
Out: IR: `add` in the block of vectors that have such elements; `room` behind the results of these vectors,
of which the rare path's are some; `finish` behind the last vector.
Holds: the rare path runs once for as many of them as a vector has lanes, wherever they lie; lanes beyond
the last one have the first one's operands, so that they raise no other flag.

One missing number among fifty would have every second vector of AVX-512 take both paths.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Precision, Real

FUNCTION = "rarely"
"""Of the module's own, one for each number of lanes, which takes `PARAMETERS`: what all vectors keep takes no
registers from it."""
PARAMETERS = "ptr %args", "ptr %steps", "ptr %raised", "ptr %held", "ptr %which"


class Waiting:
    def __init__(self, b: Builder, width: int, p: Precision, operands: int) -> None:
        """Of so many numbers an element."""
        self.b, self.width, self.p = b, width, p
        self.numbers = range(operands)
        self.function = f"{FUNCTION}{width}"
        self.parameters = [*PARAMETERS, *(f"ptr %wait{k}" for k in self.numbers)]

    def begin(self) -> None:
        """Room for less than a vector, and another one."""
        b = self.b
        for k in self.numbers:
            b.do(f"%wait{k} = alloca [{2 * self.width} x {self.p.real}], align 64")
            b.do(f"%all{k} = alloca [{self.width} x {self.p.real}], align 64")
        b.do(f"%which = alloca [{2 * self.width} x i64], align 64")
        b.do("%held = alloca i64, align 8")
        b.do("store i64 0, ptr %held, align 8")

    def add(self, xs: Sequence[Real], where: Mask) -> None:
        """Ends the block: elements of the vector, and their indices; then `done`."""
        b, t, n = self.b, self.p.real, self.width
        width, b.width = b.width, 0
        for k in self.numbers:
            b.do(f"store <{n} x {t}> {xs[k].name}, ptr %all{k}, align 64")
        bits = b.op(f"bitcast <{n} x i1> {where.name} to i{n}")
        bits = bits if n == 64 else b.op(f"zext i{n} {bits} to i64")
        there = b.op("sub i64 64, %left")
        there = b.op(f"select i1 {b.op('icmp ult i64 %left, 64')}, i64 {there}, i64 0")
        bits = b.op(f"and i64 {bits}, {b.op(f'lshr i64 -1, {there}')}")
        first = b.op("load i64, ptr %held, align 8")
        before = b.block
        b.do(f"br i1 {b.op(f'icmp eq i64 {bits}, 0')}, label %waits, label %wait")
        b.label("wait")
        b.do(f"%bits = phi i64 [ {bits}, %{before} ], [ %others, %wait ]")
        b.do(f"%count = phi i64 [ {first}, %{before} ], [ %more.wait, %wait ]")
        b.declare("declare i64 @llvm.cttz.i64(i64, i1)")
        lane = b.op("call i64 @llvm.cttz.i64(i64 %bits, i1 true)")
        for k in self.numbers:
            x = b.op(f"load {t}, ptr {self._at(f'%all{k}', t, lane)}, align {self.p.size}")
            b.do(f"store {t} {x}, ptr {self._at(f'%wait{k}', t, '%count')}, align {self.p.size}")
        index = b.op(f"add i64 %i, {lane}")
        b.do(f"store i64 {index}, ptr {self._at('%which', 'i64', '%count')}, align 8")
        b.do("%more.wait = add i64 %count, 1")
        b.do(f"%others = and i64 %bits, {b.op('sub i64 %bits, 1')}")
        b.do(f"br i1 {b.op('icmp eq i64 %others, 0')}, label %waits, label %wait")
        b.label("waits")
        b.do(f"%held.next = phi i64 [ {first}, %{before} ], [ %more.wait, %wait ]")
        b.do("store i64 %held.next, ptr %held, align 8")
        b.width = width

    def _at(self, place: str, t: str, index: str) -> str:
        return self.b.op(f"getelementptr {t}, ptr {place}, i64 {index}")

    def room(self) -> None:
        """From `stored` to `latch`: behind a vector of which some wait, room for those of another one."""
        b = self.b
        b.do("br i1 %waited, label %check, label %latch, !prof !0")
        self.check()

    def check(self) -> None:
        """From `check`, behind a vector of which some wait, to `latch`."""
        b = self.b
        b.label("check")
        held = b.op("load i64, ptr %held, align 8")
        b.do(f"br i1 {b.op(f'icmp uge i64 {held}, {self.width}')}, label %redo, label %latch")
        b.label("redo")
        self._call()
        b.do("br label %latch")

    def finish(self) -> None:
        """From `finish`: those that still wait; then `exit`."""
        b = self.b
        b.label("finish")
        held = b.op("load i64, ptr %held, align 8")
        b.do(f"br i1 {b.op(f'icmp eq i64 {held}, 0')}, label %exit, label %last, !prof !1")
        b.label("last")
        self._call()
        b.do("br label %finish")

    def _call(self) -> None:
        self.b.do(f"call void @{self.function}({', '.join(self.parameters)})")


class Redone:
    """The function: its operands, and where its results go."""

    def __init__(self, waiting: Waiting) -> None:
        self.waiting, self.b = waiting, Builder(waiting.b.target, 0)

    def operands(self, on: Lanes) -> list[Real]:
        """A vector of them."""
        b, w = self.b, self.waiting
        n, t = w.width, w.p.real
        b.label("entry")
        b.do("%held.now = load i64, ptr %held, align 8")
        b.do(f"br i1 {b.op(f'icmp ult i64 %held.now, {n}')}, label %fill, label %compute")
        b.label("fill")
        b.do("%j = phi i64 [ %held.now, %entry ], [ %j.next, %fill ]")
        for k in w.numbers:
            x = b.op(f"load {t}, ptr %wait{k}, align {w.p.size}")
            b.do(f"store {t} {x}, ptr {b.op(f'getelementptr {t}, ptr %wait{k}, i64 %j')}, align {w.p.size}")
        b.do("%j.next = add i64 %j, 1")
        b.do(f"br i1 {b.op(f'icmp ult i64 %j.next, {n}')}, label %fill, label %compute")
        b.label("compute")
        return [Real(on, b.op(f"load <{n} x {t}>, ptr %wait{k}, align 64")) for k in w.numbers]

    def results(self, found: Sequence[tuple[int, int, str]], t: str, size: int) -> str:
        """The function's text, of vectors: the argument that they are of, which of its numbers, the name."""
        b, w = self.b, self.waiting
        n = w.width
        for k, (_, _, name) in enumerate(found):
            b.do(f"%y{k} = alloca <{n} x {t}>, align 64")
            b.do(f"store <{n} x {t}> {name}, ptr %y{k}, align 64")
        full = b.op(f"icmp ult i64 %held.now, {n}")
        b.do(f"%done = select i1 {full}, i64 %held.now, i64 {n}")
        for k in dict.fromkeys(argument for argument, _, _ in found):
            b.do(f"%p{k} = load ptr, ptr {b.op(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
            b.do(f"%s{k} = load i64, ptr {b.op(f'getelementptr i64, ptr %steps, i64 {k}')}, align 8")
        before = b.block
        b.do("br label %spread")
        b.label("spread")
        b.do(f"%m = phi i64 [ 0, %{before} ], [ %m.next, %spread ]")
        index = b.op(f"load i64, ptr {b.op('getelementptr i64, ptr %which, i64 %m')}, align 8")
        for k, (argument, part, _) in enumerate(found):
            y = b.op(f"load {t}, ptr {b.op(f'getelementptr {t}, ptr %y{k}, i64 %m')}, align {size}")
            offset = b.op(f"add i64 {b.op(f'mul i64 {index}, %s{argument}')}, {part * size}")
            place = b.op(f"getelementptr i8, ptr %p{argument}, i64 {offset}")
            b.do(f"store {t} {y}, ptr {place}, align {size}")
        b.do("%m.next = add i64 %m, 1")
        b.do(f"br i1 {b.op('icmp ult i64 %m.next, %done')}, label %spread, label %rest")
        b.label("rest")
        for place, kind in (*((f"%wait{k}", w.p.real) for k in w.numbers), ("%which", "i64")):
            v, second = f"<{n} x {kind}>", b.op(f"getelementptr {kind}, ptr {place}, i64 {n}")
            b.do(f"store {v} {b.op(f'load {v}, ptr {second}, align 8')}, ptr {place}, align 8")
        b.do(f"store i64 {b.op('sub i64 %held.now, %done')}, ptr %held, align 8")
        b.do("ret void")
        head = f"define internal void @{w.function}({', '.join(w.parameters)}) noinline cold nounwind {{"
        return "\n".join([head, *b.lines, "}"])
