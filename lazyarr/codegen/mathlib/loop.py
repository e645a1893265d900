"""A function over lanes -> the text of a loop that kernels call as they call NumPy's inner loops.

In:  a `Function`, dtype, `Target`.
Out: `Module`: ``void f(char **args, intp *dims, intp *steps, void *data)``.
Holds: every element goes through the same vector code.  Elements that are not side by side, and those
that do not fill a vector, pass through small arrays on the stack, so strides and ends change no bit.
The CPU's status flags of before are put back at the end, with those that the function says it raises.

Elements whose result the fast path cannot give are redone in a branch that is rarely taken; what the branch
gives for other elements is not used, so an element's result does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from lazyarr import mxcsr
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib import halves
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Precision, Raised, Real
from lazyarr.codegen.pipeline import Module
from lazyarr.codegen.symbols import symbol_of
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target

_SELDOM = '!0 = !{!"branch_weights", i32 1, i32 4000}'
_MOSTLY = '!1 = !{!"branch_weights", i32 4000, i32 1}'


@dataclass(frozen=True, slots=True)
class Function:
    """One function for one precision of its lanes; dtypes are converted to that and back."""

    operands: int
    precision: Precision
    fast: Callable[..., tuple[Real, Mask | None]]
    """The results, and for which elements they do not hold."""
    rare: Callable[..., tuple[Real, Raised]] | None
    """The results for these, and the flags that they raise; None: there are no such elements."""
    needs: Callable[[Target], str] | None = None
    """Scalar functions that `rare` calls."""


def write(function: Function, char: str, target: Target) -> Module:
    """The text of a function's loop over elements of a dtype."""
    text = _Writer(function, char, target).text()
    symbol = symbol_of("math_", text, target)
    return Module(text.replace("@math(", f"@{symbol}("), symbol)


class _Writer:
    def __init__(self, function: Function, char: str, target: Target) -> None:
        self.function = function
        self.t, self.size = PLAIN[char].llvm, PLAIN[char].itemsize
        self.real = function.precision.real
        registers = 1 if target.fma else 2      # so that emulated operations, which are slow, overlap
        self.width = registers * target.vector_bytes // function.precision.size
        self.b = Builder(target, 0)
        self.soft = char == "e" and not target.half
        self.x86 = target.x86

    def text(self) -> str:
        b = self.b
        self.entry()
        sources = self.sources()
        b.label("compute")
        b.width = self.width
        self.compute(sources)
        b.width = 0
        self.after()
        needs = self.function.needs(b.target) if self.function.needs else ""
        head = "define void @math(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind {"
        return "\n".join([*b.declarations, head, *b.lines, "}", needs, _SELDOM, _MOSTLY, ""])

    def entry(self) -> None:
        """Arguments, and whether all elements lie side by side."""
        b, n = self.b, self.function.operands
        b.label("entry")
        b.do("%n = load i64, ptr %dims, align 8")
        for k in range(n + 1):
            b.do(f"%near{k} = alloca [{self.width} x {self.t}], align 64")
            b.do(f"%p{k} = load ptr, ptr {b.op(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
            b.do(f"%s{k} = load i64, ptr {b.op(f'getelementptr i64, ptr %steps, i64 {k}')}, align 8")
        dense = "true"
        for k in range(n + 1):
            dense = b.op(f"and i1 {dense}, {b.op(f'icmp eq i64 %s{k}, {self.size}')}")
        b.do(f"%dense = and i1 {dense}, true")
        b.do("%raised = alloca i32, align 4")
        b.do("store i32 0, ptr %raised, align 4")
        if self.x86:
            for declaration in mxcsr.DECLARATIONS:
                b.declare(declaration)
            b.do("%saved = alloca i32, align 4")
            b.do(f"call void @{mxcsr.READ}(ptr %saved)")
        b.do(f"br i1 {b.op('icmp sgt i64 %n, 0')}, label %head, label %exit")

    def sources(self) -> list[str]:
        """Where the operands of the next vector are, and go: in place, or copied together."""
        b, n = self.b, self.function.operands
        b.label("head")
        b.do("%i = phi i64 [ 0, %entry ], [ %next, %latch ]")
        b.do("%left = sub i64 %n, %i")
        b.do("%last = sub i64 %n, 1")
        whole = b.op(f"icmp uge i64 %left, {self.width}")
        b.do(f"%direct = and i1 {whole}, %dense")
        for k in range(n + 1):
            b.do(f"%d{k} = getelementptr {self.t}, ptr %p{k}, i64 %i")
        b.do("br i1 %direct, label %compute, label %collect, !prof !1")
        b.label("collect")
        b.do("%j = phi i64 [ 0, %head ], [ %j.next, %collect ]")
        at = b.op("add i64 %i, %j")
        beyond = b.op(f"icmp ugt i64 {at}, %last")
        held = b.op(f"select i1 {beyond}, i64 %last, i64 {at}")
        for k in range(n):
            source = b.op(f"getelementptr i8, ptr %p{k}, i64 {b.op(f'mul i64 {held}, %s{k}')}")
            item = b.op(f"load {self.t}, ptr {source}, align {self.size}")
            near = b.op(f"getelementptr {self.t}, ptr %near{k}, i64 %j")
            b.do(f"store {self.t} {item}, ptr {near}, align {self.size}")
        b.do("%j.next = add i64 %j, 1")
        b.do(f"br i1 {b.op(f'icmp ult i64 %j.next, {self.width}')}, label %collect, label %compute")
        return [f"%d{k}" for k in range(n + 1)]

    def compute(self, sources: list[str]) -> None:
        b, lanes = self.b, Lanes(self.b, self.function.precision)
        places = []
        for k, source in enumerate(sources):
            b.do(f"%at{k} = phi ptr [ {source}, %head ], [ %near{k}, %collect ]")
            places.append(f"%at{k}")
        xs = [self.load(lanes, place) for place in places[:-1]]
        y, special = self.function.fast(lanes, *xs)
        self.store(self.redone(lanes, xs, y, special), places[-1])

    def redone(self, lanes: Lanes, xs: list[Real], y: Real, special: Mask | None) -> str:
        """The results, after a branch for those that the fast path does not give."""
        b = self.b
        if special is None or self.function.rare is None:
            b.do("br label %done")
            b.label("done")
            return y.name
        any_ = b.op(f"bitcast {b.ty('i1')} {special.name} to i{self.width}")
        b.do(f"br i1 {b.op(f'icmp ne i{self.width} {any_}, 0')}, label %rare, label %done, !prof !0")
        b.label("rare")
        redone, raised = self.function.rare(lanes, *xs)
        redone = special.real(redone, y)
        self.note({key: where & special for key, where in raised.items()})
        b.do("br label %done")
        b.label("done")
        return b.op(f"phi {b.ty(self.real)} [ {y.name}, %compute ], [ {redone.name}, %rare ]")

    def load(self, lanes: Lanes, place: str) -> Real:
        b = self.b
        if self.soft:
            bits = b.op(f"load {b.ty('i16')}, ptr {place}, align 2")
            types, x = self.conversions()[1:], halves.widened(b, bits)
        else:
            types, x = self.conversions(), b.op(f"load {b.ty(self.t)}, ptr {place}, align {self.size}")
        for narrow, wide in pairwise(types):
            x = b.op(f"fpext {b.ty(narrow)} {x} to {b.ty(wide)}")
        return Real(lanes, x)

    def store(self, y: str, place: str) -> None:
        b = self.b
        types, t = self.conversions(), self.t
        for wide, narrow in pairwise(reversed(types[1:] if self.soft else types)):
            y = b.op(f"fptrunc {b.ty(wide)} {y} to {b.ty(narrow)}")
        if self.soft:
            y, t = halves.narrowed(b, y), "i16"
        b.do(f"store {b.ty(t)} {y}, ptr {place}, align {self.size}")

    def conversions(self) -> list[str]:
        """From the dtype to the lanes' type, one step at a time: that is what processors do."""
        types = ["half", "float", "double"]
        return types[types.index(self.t) : types.index(self.real) + 1]

    def note(self, raised: Raised) -> None:
        """Remember the flags that elements raise."""
        b = self.b
        for key, where in raised.items():
            some = b.op(f"bitcast {b.ty('i1')} {where.name} to i{self.width}")
            bit = b.op(f"select i1 {b.op(f'icmp ne i{self.width} {some}, 0')}, i32 {mxcsr.BITS[key]}, i32 0")
            before = b.op("load i32, ptr %raised, align 4")
            b.do(f"store i32 {b.op(f'or i32 {before}, {bit}')}, ptr %raised, align 4")

    def after(self) -> None:
        """Results to their places; the next vector; at the end the flags."""
        b, k = self.b, self.function.operands
        b.do("br i1 %direct, label %latch, label %spread, !prof !1")
        b.label("spread")
        b.do("%m = phi i64 [ 0, %done ], [ %m.next, %spread ]")
        near = b.op(f"getelementptr {self.t}, ptr %near{k}, i64 %m")
        item = b.op(f"load {self.t}, ptr {near}, align {self.size}")
        offset = b.op(f"mul i64 {b.op('add i64 %i, %m')}, %s{k}")
        place = b.op(f"getelementptr i8, ptr %p{k}, i64 {offset}")
        b.do(f"store {self.t} {item}, ptr {place}, align {self.size}")
        b.do("%m.next = add i64 %m, 1")
        most = b.op(f"icmp ult i64 %left, {self.width}")
        count = b.op(f"select i1 {most}, i64 %left, i64 {self.width}")
        b.do(f"br i1 {b.op(f'icmp ult i64 %m.next, {count}')}, label %spread, label %latch")
        b.label("latch")
        b.do(f"%next = add i64 %i, {self.width}")
        b.do(f"br i1 {b.op('icmp slt i64 %next, %n')}, label %head, label %exit")
        b.label("exit")
        if self.x86:
            raised, saved = b.op("load i32, ptr %raised, align 4"), b.op("load i32, ptr %saved, align 4")
            b.do(f"store i32 {b.op(f'or i32 {raised}, {saved}')}, ptr %saved, align 4")
            b.do(f"call void @{mxcsr.WRITE}(ptr %saved)")
        b.do("ret void")
