"""A loop that computes vectors in stages, each beside the later ones of vectors before (software pipelining).

In:  a `Function` that says in how many registers and stages (`flow`); rows of at least eight vectors, whose
elements lie side by side, or one of several operands is a scalar.
Out: the loop's function, as `writer` has it.
Holds: the same operations as in the other loops, so the same bits.

Most functions are one chain of operations that wait for each other, of 50 to 100 cycles.  A CPU looks some
hundred instructions ahead, which is two vectors or three; the stages of this loop do not wait for each other.
Stages before the last one are of the next vectors, which are the last one again at the end of the row.
"""

from __future__ import annotations

import re
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib.in_stages import staged
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Real
from lazyarr.codegen.mathlib.lookup import joined
from lazyarr.codegen.mathlib.writer import Reals, Writer, several
from lazyarr.target import Target

if TYPE_CHECKING:
    from lazyarr.codegen.mathlib.loop import Function

_VALUE = re.compile(r"%(x?)(\d+)\b")
"""An operand, or the result of an instruction."""


class Flow(Writer):
    def __init__(self, function: Function, sig: str, target: Target) -> None:
        assert function.flow
        self.plan = function.flow
        registers, self.count = self.plan.registers, self.plan.number
        super().__init__(function, sig, target, "flow", False, registers)
        self.fixed = self.ins if self.ins > 1 else 0
        """How many arguments may have no step: of one operand it is seldom, and a test for each vector."""
        self.registers, self.one = range(registers), self.width // registers
        """Those that are computed side by side, each by instructions of its own; the elements of one."""

    def lines(self) -> list[str]:
        self.divide()
        self.entry()
        self.begin()
        self.head()
        self.last()
        self.again()
        self.finish()
        return self.b.lines

    def divide(self) -> None:
        """The function's instructions by stage."""
        inside = Builder(self.b.target, self.one)
        lanes = Lanes(inside, self.function.precision, self.fused)
        y, special = self.function.fast(lanes, *(Real(lanes, f"%x{k}") for k in range(self.ins)))
        for declaration in inside.declarations:
            self.b.declare(declaration)
        self.found = [r.name for r in several(y)]
        self.special = special.name if special else None
        results = [*self.found, self.special] if self.special else self.found
        self.stages = staged(inside.lines, results, self.plan)

    def begin(self) -> None:
        """All but the last stage of the first vector, all but two of the second one, and so on."""
        b = self.b
        b.label("begin")
        for k in self.args:
            self.places.begun(k)
            if self.fixed:
                b.do(f"%moves{k} = sext i1 {b.op(f'icmp ne i64 %s{k}, 0')} to i64")
        b.do(f"%end = sub i64 %n, {self.width}")
        for ahead in range(self.count - 1):
            at = self.held(str(ahead * self.width))
            for stage in range(self.count - 1 - ahead):
                self.compute_stage(stage, f"b{ahead}", f"b{ahead}", at)
        b.do("br label %head")

    def head(self) -> None:
        """The last stage of a vector, and those of the vectors behind it."""
        b = self.b
        b.label("head")
        b.do("%i = phi i64 [ 0, %begin ], [ %next, %latch ]")
        for stage, kept in enumerate(self.stages.kept):
            before = f"b{self.count - 2 - stage}"
            for step, r in product(kept, self.registers):
                first, later = _named(before, r, step.name), self.behind(step.name, r, stage)
                name = _named(f"c{stage}", r, step.name)
                b.do(f"{name} = phi {step.type} [ {first}, %begin ], [ {later}, %latch ]")
        for stage in range(self.count):
            ahead = self.count - 1 - stage
            at = self.held(b.op(f"add i64 %i, {ahead * self.width}")) if ahead else "%i"
            self.compute_stage(stage, "f", f"c{stage - 1}", at)

    def held(self, index: str) -> str:
        """An index, or that of the last vector."""
        return self.b.intrinsic("umin", "i64", ("i64", index), ("i64", "%end"))

    def behind(self, name: str, register: int, stage: int) -> str:
        """A value behind a stage, in the loop."""
        own = any(name == step.name for step in self.stages.steps[stage])
        return _named("f" if own else f"c{stage - 1}", register, name)

    def compute_stage(self, stage: int, own: str, before: str, at: str) -> None:
        """The instructions of a stage of the vector at an index; names of its results and of earlier ones."""
        b, steps = self.b, self.stages.steps[stage]
        names = {step.name for step in steps}
        operands = [k for k in range(self.ins) if any(f"%x{k}" in step.operands for step in steps)]
        vectors = {(k, r): self.taken(k, at, r) for k in operands for r in self.registers}
        for step, r in product(steps, self.registers):

            def renamed(match: re.Match[str], r: int = r) -> str:
                if match[1]:
                    return vectors[int(match[2]), r]
                return _named(own if match[0] in names else before, r, match[0])

            b.do(f"{_named(own, r, step.name)} = {_VALUE.sub(renamed, step.text)}")

    def taken(self, k: int, at: str, register: int) -> str:
        """A register of an operand's vector at an index: always of the same one if it has no step."""
        b = self.b
        if self.fixed:
            at = b.op(f"and i64 {at}, %moves{k}")
        place = b.op(f"getelementptr i8, ptr {self.place(k, at)}, i64 {register * self.one * self.sizes[k]}")
        return b.op(f"load <{self.one} x {self.t}>, ptr {place}, align {self.size}")

    def place(self, k: int, at: str) -> str:
        return self.b.op(f"getelementptr [{self.sizes[k]} x i8], ptr %from{k}, i64 {at}")

    def last(self) -> None:
        """The results of the vector at the index."""
        b, end = self.b, self.count - 1
        parts = [[self.behind(name, r, end) for r in self.registers] for name in self.found]
        lanes = Lanes(b, self.function.precision, self.fused)
        b.width = self.width
        ys = tuple(Real(lanes, joined(b, self.real, part, self.one)) for part in parts)
        for k in self.args[self.ins :]:
            b.do(f"%to{k} = getelementptr i8, ptr {self.place(k, '%i')}, i64 0")
        if self.special:
            odd = [self.behind(self.special, r, end) for r in self.registers]
            self.rarely(lanes, ys, odd)
        self.put([y.name for y in ys])
        b.width = 0
        b.do("br label %latch")

    def rarely(self, lanes: Lanes, ys: Reals, odd: list[str]) -> None:
        """The way of a vector of which some elements are odd, to `latch`; others go on in `done`."""
        b, v = self.b, f"<{self.one} x i1>"
        some = b.op(f"bitcast {v} {reduce(lambda x, y: b.op(f'or {v} {x}, {y}'), odd)} to i{self.one}")
        b.do(f"br i1 {b.op(f'icmp ne i{self.one} {some}, 0')}, label %rare, label %done, !prof !0")
        b.label("rare")
        b.do("%left = sub i64 %n, %i")
        special = Mask(lanes, joined(b, "i1", odd, self.one))
        self.put([y.name for y in self.redo(lanes, self.operands(lanes), ys, special)])
        b.width = 0
        b.do("br label %check")
        self.waiting.check()
        b.width = self.width
        b.label("done")

    def operands(self, lanes: Lanes) -> list[Real]:
        """Those of the vector at the index."""
        parts = ([self.taken(k, "%i", r) for r in self.registers] for k in range(self.ins))
        return [Real(lanes, joined(self.b, self.real, part, self.one)) for part in parts]

    def again(self) -> None:
        b = self.b
        b.label("latch")
        b.do(f"%next = add i64 %i, {self.width}")
        b.do(f"br i1 {b.op('icmp slt i64 %next, %n')}, label %head, label %finish")


def _named(tag: str, register: int, name: str) -> str:
    """Of an instruction's result."""
    return f"%{tag}.{register}.{name[1:]}"
