"""Where the vectors of a loop come from and go to: from any steps, and at its end.

In:  a loop's arguments, as NumPy's inner loops have them; the number of lanes.
Out: IR around the block `compute`, which has a vector of each operand, ``%x0`` and so on, and stores those of
results at ``%to1`` and so on.
Holds: lanes that have no element of their own have another one's operands, so that they raise no flag.

    head     all arguments side by side, or operands of step 0: vectors are taken, and put, in place
    gather   other steps: elements become a vector in registers, as what was stored in pieces is slow to load
             as one; `scatter` is the way back
    end      less than a vector: by masks where there are some (AVX-512), else (`pieces`) one by one

Operands of step 0 become a vector on the stack once, where all ways find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib.lookup import joined

_NAMES = {"float": "f32", "double": "f64", "i16": "i16"}
"""Types, as the names of intrinsics have them."""


class Places:
    def __init__(
        self, b: Builder, width: int, number: str, size: int, parts: Sequence[int], ins: int, ends: bool
    ) -> None:
        """The type of a number and its bytes; how many numbers an element of each argument is; how many
        arguments are operands, the first ones; may there be less than a vector of elements?"""
        self.b, self.width, self.size, self.ends = b, width, size, ends
        self.types = [f"[{n} x {number}]" for n in parts]
        self.sizes = [n * size for n in parts]
        self.args, self.ins, self.outs = range(len(parts)), range(ins), range(ins, len(parts))
        self.masks = b.target.x86 and b.target.vector_bytes == 64

    def arguments(self) -> None:
        """Addresses and steps."""
        b = self.b
        b.do("%n = load i64, ptr %dims, align 8")
        for k in self.args:
            b.do(f"%near{k} = alloca [{self.width} x {self.types[k]}], align 64")
            b.do(f"%p{k} = load ptr, ptr {b.op(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
            b.do(f"%s{k} = load i64, ptr {b.op(f'getelementptr i64, ptr %steps, i64 {k}')}, align 8")

    def before(self) -> None:
        """From `begin`, where some element is known to be, to `compute`."""
        b = self.b
        b.label("begin")
        dense = "true"
        for k in self.args:
            b.do(f"%dense{k} = {self.begun(k)}")
            dense = b.op(f"and i1 {dense}, %dense{k}")
        b.do(f"%dense = and i1 {dense}, true")
        for k in self.args:
            b.do(f"%far{k} = mul i64 %s{k}, {self.width}")
        b.do("br label %head")
        b.label("head")
        b.do("%i = phi i64 [ 0, %begin ], [ %next, %latch ]")
        for k in self.args:
            b.do(f"%d{k} = phi ptr [ %from{k}, %begin ], [ %next{k}, %latch ]")
        b.do("%left = sub i64 %n, %i")
        b.do(f"%whole = icmp uge i64 %left, {self.width}")
        b.do("%direct = and i1 %whole, %dense")
        b.do("br i1 %direct, label %beside, label %apart, !prof !1")
        b.label("beside")
        ways = {"beside": [self.taken(k, f"%d{k}") for k in self.ins]}
        b.do("br label %compute")
        b.label("apart")
        b.do("br i1 %whole, label %gather, label %end" if self.ends else "br label %gather")
        ways["gathered"] = self._gathered()
        if self.ends:
            ways |= self._ended()
        b.label("compute")
        for k in self.ins:
            found = ", ".join(f"[ {ways[block][k]}, %{block} ]" for block in ways)
            b.do(f"%x{k} = phi {self.vector(k)} {found}")
        places = {"beside": "%d", "gathered": "%via"}
        for k in self.outs:
            found = ", ".join(f"[ {places.get(block, '%near')}{k}, %{block} ]" for block in ways)
            b.do(f"%to{k} = phi ptr {found}")

    def begun(self, k: int) -> str:
        """Where an argument begins; whether vectors of it can be taken from there."""
        b = self.b
        beside = f"icmp eq i64 %s{k}, {self.sizes[k]}"
        if k in self.outs:
            b.do(f"%from{k} = getelementptr i8, ptr %p{k}, i64 0")
            return beside
        self._store(k, self._alike(k, f"%p{k}"))
        fixed = b.op(f"icmp eq i64 %s{k}, 0")
        b.do(f"%from{k} = select i1 {fixed}, ptr %near{k}, ptr %p{k}")
        return f"or i1 {fixed}, {b.op(beside)}"

    def _gathered(self) -> list[str]:
        b = self.b
        b.label("gather")
        for k in self.outs:
            b.do(f"%via{k} = select i1 %dense{k}, ptr %d{k}, ptr %near{k}")
        for k in self.ins:
            b.do(f"br i1 %dense{k}, label %whole{k}, label %pieces{k}")
            b.label(f"whole{k}")
            whole = self.taken(k, f"%d{k}")
            b.do(f"br label %gathered{k}")
            b.label(f"pieces{k}")
            made = self._vector(k, [self._load(k, at) for at in self._spread(k)])
            b.do(f"br label %gathered{k}")
            b.label(f"gathered{k}")
            b.do(f"%g{k} = phi {self.vector(k)} [ {whole}, %whole{k} ], [ {made}, %pieces{k} ]")
        b.do("br label %gathered")
        b.label("gathered")
        b.do("br label %compute")
        return [f"%g{k}" for k in self.ins]

    def _ended(self) -> dict[str, list[str]]:
        """Less than a vector, by the block that has it."""
        self.b.label("end")
        self.b.do("br i1 %dense, label %part, label %pieces" if self.masks else "br label %pieces")
        ways = {"part": self._part()} if self.masks else {}
        return {**ways, "collected": self._collected()}

    def _part(self) -> list[str]:
        """Less than a vector, side by side: its first element stands for those that are not there."""
        self.b.label("part")
        found = [self._masked_load(k) for k in self.ins]
        self.b.do("br label %compute")
        return found

    def _collected(self) -> list[str]:
        """The same of any steps."""
        b = self.b
        b.label("pieces")
        for k in self.ins:
            self._store(k, self._alike(k, f"%d{k}"))
        b.do("br label %collect")
        b.label("collect")
        b.do("%j = phi i64 [ 0, %pieces ], [ %j.next, %collect ]")
        for k in self.ins:
            self._copy(k, self._placed(k, "%j"), self._nearby(k, "%j"))
        b.do("%j.next = add i64 %j, 1")
        b.do(f"br i1 {b.op('icmp ult i64 %j.next, %left')}, label %collect, label %collected")
        b.label("collected")
        found = [self.taken(k, f"%near{k}") for k in self.ins]
        b.do("br label %compute")
        return found

    def after(self) -> None:
        """From `done`: results to their places, then `stored`."""
        b, before = self.b, "spread"
        b.do("br i1 %direct, label %stored, label %away, !prof !1")
        b.label("away")
        b.do("br i1 %whole, label %scatter, label %spread" if self.ends else "br label %scatter")
        b.label("scatter")
        for k in self.outs:
            b.do(f"br i1 %dense{k}, label %scattered{k}, label %scatter{k}")
            b.label(f"scatter{k}")
            for j, at in enumerate(self._spread(k)):
                self._copy(k, self._nearby(k, str(j)), at)
            b.do(f"br label %scattered{k}")
            b.label(f"scattered{k}")
        b.do("br label %stored")
        if not self.ends:
            return
        b.label("spread")
        if self.masks:
            b.do("br i1 %dense, label %store, label %each")
            b.label("store")
            for k in self.outs:
                self._masked_store(k)
            b.do("br label %stored")
            before = "each"
            b.label(before)
        b.do("br label %one")
        b.label("one")
        b.do(f"%m = phi i64 [ 0, %{before} ], [ %m.next, %one ]")
        for k in self.outs:
            self._copy(k, self._nearby(k, "%m"), self._placed(k, "%m"))
        b.do("%m.next = add i64 %m, 1")
        b.do(f"br i1 {b.op('icmp ult i64 %m.next, %left')}, label %one, label %stored")
    def again(self) -> None:
        """From `latch`: the next vector, or `finish`."""
        b = self.b
        b.label("latch")
        b.do(f"%next = add i64 %i, {self.width}")
        for k in self.args:
            b.do(f"%next{k} = getelementptr i8, ptr %d{k}, i64 %far{k}")
        b.do(f"br i1 {b.op('icmp slt i64 %next, %n')}, label %head, label %finish")

    def _spread(self, k: int) -> Iterable[str]:
        """The places of a vector's elements."""
        at = f"%d{k}"
        for j in range(self.width):
            at = self.b.op(f"getelementptr i8, ptr {at}, i64 %s{k}") if j else at
            yield at

    def _placed(self, k: int, j: str) -> str:
        """The place of one of them."""
        return self.b.op(f"getelementptr i8, ptr %d{k}, i64 {self.b.op(f'mul i64 {j}, %s{k}')}")

    def _nearby(self, k: int, j: str) -> str:
        """Its place on the stack."""
        return self.b.op(f"getelementptr {self.types[k]}, ptr %near{k}, i64 {j}")

    def _unit(self, k: int) -> tuple[str, int]:
        """What an element is moved as: so many of a type, aligned as its numbers are."""
        size = self.sizes[k]
        return {2: "i16", 4: "float"}.get(size, "double"), max(1, size // 8)

    def _moved(self, k: int) -> str:
        t, length = self._unit(k)
        return t if length == 1 else f"<{length} x {t}>"

    def vector(self, k: int) -> str:
        """The type of a vector of elements."""
        t, length = self._unit(k)
        return f"<{self.width * length} x {t}>"

    def taken(self, k: int, at: str) -> str:
        return self.b.op(f"load {self.vector(k)}, ptr {at}, align {self.size}")

    def _load(self, k: int, at: str) -> str:
        return self.b.op(f"load {self._moved(k)}, ptr {at}, align {self.size}")

    def _copy(self, k: int, source: str, target: str) -> None:
        self.b.do(f"store {self._moved(k)} {self._load(k, source)}, ptr {target}, align {self.size}")

    def _store(self, k: int, whole: str) -> None:
        self.b.do(f"store {self.vector(k)} {whole}, ptr %near{k}, align 64")

    def _vector(self, k: int, elements: list[str]) -> str:
        b, (t, length), v = self.b, self._unit(k), self.vector(k)
        if length > 1:
            return joined(b, t, elements, length)
        whole = "poison"
        for j, element in enumerate(elements):
            whole = b.op(f"insertelement {v} {whole}, {t} {element}, i64 {j}")
        return whole

    def _alike(self, k: int, at: str) -> str:
        """A vector of one element."""
        b, (t, length), element = self.b, self._unit(k), self._load(k, at)
        if length == 1:
            element = b.op(f"insertelement <1 x {t}> poison, {t} {element}, i64 0")
        order = ", ".join(f"i32 {j}" for _ in range(self.width) for j in range(length))
        v = f"<{length} x {t}>"
        return b.op(f"shufflevector {v} {element}, {v} poison, <{self.width * length} x i32> <{order}>")

    def _masked_load(self, k: int) -> str:
        v, mask, name = self._masked(k)
        callee = f"{v} @llvm.masked.load.{name}"
        self.b.declare(f"declare {callee}(ptr, i32, {mask.partition(' %')[0]}, {v})")
        others = self._alike(k, f"%d{k}")
        return self.b.op(f"call {callee}(ptr %d{k}, i32 {self.size}, {mask}, {v} {others})")

    def _masked_store(self, k: int) -> None:
        v, mask, name = self._masked(k)
        callee = f"void @llvm.masked.store.{name}"
        self.b.declare(f"declare {callee}({v}, ptr, i32, {mask.partition(' %')[0]})")
        found = self.taken(k, f"%near{k}")
        self.b.do(f"call {callee}({v} {found}, ptr %d{k}, i32 {self.size}, {mask})")

    def _masked(self, k: int) -> tuple[str, str, str]:
        """The type of a vector, a mask of the elements that are left, the end of intrinsics' names."""
        b, (t, length), v = self.b, self._unit(k), self.vector(k)
        n = self.width * length
        left = b.op(f"trunc i64 {b.op(f'mul i64 %left, {length}')} to i16")
        one = b.op(f"insertelement <{n} x i16> poison, i16 {left}, i64 0")
        most = b.op(f"shufflevector <{n} x i16> {one}, <{n} x i16> poison, <{n} x i32> zeroinitializer")
        places = ", ".join(f"i16 {place}" for place in range(n))
        mask = b.op(f"icmp ult <{n} x i16> <{places}>, {most}")
        return v, f"<{n} x i1> {mask}", f"v{n}{_NAMES[t]}.p0"
