"""One loop of a function, over vectors of so many registers.

In:  a `Function`, a loop signature, `Target`.   Out: the texts of the loop's function and of those it calls.
Holds: every element goes through the same vector code (`places`), so strides and ends change no bit.
The CPU's status flags of before are put back at the end, with those that the function says it raises.

Elements whose result the fast path cannot give are redone by another one, many at once (`waiting`), so an
element's result does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING

from lazyarr import mxcsr
from lazyarr.codegen import halves
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib import registers
from lazyarr.codegen.mathlib.arithmetic import doubtful
from lazyarr.codegen.mathlib.divided import PARAMETERS
from lazyarr.codegen.mathlib.lanes import Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.places import Places
from lazyarr.codegen.mathlib.waiting import Redone, Waiting
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target

if TYPE_CHECKING:
    from lazyarr.codegen.mathlib.loop import Function, Short

Reals = tuple[Real, ...]
"""Of functions with several results, and with complex ones."""
Way = tuple[Reals, str]
"""Results, and the block that they come from."""

SELDOM = '!0 = !{!"branch_weights", i32 1, i32 4000}'
MOSTLY = '!1 = !{!"branch_weights", i32 4000, i32 1}'


class Writer:
    def __init__(
        self, function: Function, sig: str, target: Target, name: str, ends: bool = True, registers: int = 0
    ) -> None:
        """By the name of its function; are there less than a vector of elements?  How many registers are
        computed side by side, unless it is as many as the function says."""
        self.function, self.name = function, name
        ins, outs = sig.split("->")
        self.ins, self.args = len(ins), range(len(ins + outs))
        """How many of the arguments are operands; all arguments."""
        self.parts = [2 if PLAIN[char].kind == "c" else 1 for char in ins + outs]
        """How many numbers an element of each argument is."""
        first = PLAIN[sig[0]]
        self.sizes = [PLAIN[char].itemsize for char in ins + outs]
        """The bytes of one."""
        self.t, self.size = first.llvm, first.itemsize // self.parts[0]
        self.real = function.precision.real
        registers = registers or function.side_by_side(target)
        self.width = registers * target.vector_bytes // function.precision.size
        self.b = Builder(target, 0)
        self.soft = sig[0] == "e" and not target.half
        self.x86 = target.x86
        self.places = Places(self.b, self.width, self.t, self.size, self.parts, self.ins, ends)
        self.waiting = Waiting(self.b, self.width, function.precision, sum(self.parts[: self.ins]))
        fused = function.fused
        self.fused = target.fma if fused is None else fused

    def functions(self) -> list[str]:
        """The texts of the loop's function and of those of the module that it calls."""
        lines = self.lines()
        rare = [self.rare(self.function.rare)] if self.function.rare else []
        head = f"define internal void @{self.name}({PARAMETERS}) nounwind {{"
        return ["\n".join([head, *lines, "}"]), *rare]

    def lines(self) -> list[str]:
        b = self.b
        self.entry()
        self.places.before()
        b.width = self.width
        self.compute()
        b.width = 0
        self.places.after()
        self.stored()
        self.finish()
        return b.lines

    def stored(self) -> None:
        """Behind the results of a vector."""
        b = self.b
        b.label("stored")
        if self.function.rare:
            self.waiting.room()
        else:
            b.do("br label %latch")
        self.again()

    def again(self) -> None:
        """From `latch`: the next vector, or `finish`."""
        self.places.again()

    def entry(self) -> None:
        """Arguments, and the flags of before."""
        b = self.b
        b.label("entry")
        self.places.arguments()
        if self.function.rare:
            self.waiting.begin()
        b.do("%raised = alloca i32, align 4")
        b.do("store i32 0, ptr %raised, align 4")
        if self.x86:
            for declaration in mxcsr.DECLARATIONS:
                b.declare(declaration)
            b.do("%saved = alloca i32, align 4")
            b.do(f"call void @{mxcsr.READ}(ptr %saved)")
        b.do(f"br i1 {b.op('icmp sgt i64 %n, 0')}, label %begin, label %exit")

    def compute(self) -> None:
        b, p = self.b, self.function.precision
        lanes, quick = Lanes(b, p, self.fused), Lanes(b, p, self.fused, [])
        xs = [x for k in self.args[: self.ins] for x in self.load(lanes, k)]
        ways = [self.shortened(lanes, xs, k, short) for k, short in enumerate(self.function.shorts)]
        y, special = self.function.fast(quick, *(Real(quick, x.name) for x in xs))
        self.put(self.redone(lanes, xs, several(y), special, doubtful(quick), ways))

    def put(self, found: list[str]) -> None:
        """Results to their places."""
        for k in self.args[self.ins :]:
            self.store([found.pop(0) for _ in range(self.parts[k])], k)

    def some(self, where: Mask) -> str:
        """Is there such an element?  Of registers side by side AVX-512 tests masks together."""
        b, n, found = self.b, self.width, where.name
        while where.on.full and n > registers.lanes(where.on):
            halves = [b.op(f"shufflevector <{n} x i1> {found}, <{n} x i1> poison, {_order(half)}")
                      for half in (range(n // 2), range(n // 2, n))]
            n //= 2
            found = b.op(f"or <{n} x i1> {halves[0]}, {halves[1]}")
        any_ = b.op(f"bitcast <{n} x i1> {found} to i{n}")
        return b.op(f"icmp ne i{n} {any_}, 0")

    def shortened(self, lanes: Lanes, xs: list[Real], k: int, short: Short) -> Way:
        """The results of a short way, which ends where all others do."""
        b = self.b
        b.do(f"br i1 {self.some(~short.where(lanes, *xs))}, label %usual{k}, label %short{k}")
        b.label(f"short{k}")
        ys, special = short.found(lanes, *xs)
        way = several(ys), b.block
        b.do(f"br i1 {self.some(special)}, label %usual{k}, label %done, !prof !0")
        b.label(f"usual{k}")
        return way

    def redone(
        self, lanes: Lanes, xs: list[Real], ys: Reals, special: Mask | None, doubt: Mask | None,
        ways: list[Way],
    ) -> list[str]:  # fmt: skip
        """The results, after a branch for those that the fast path does not give, or not for certain."""
        b = self.b
        reasons = [where for where in (special, doubt) if where is not None]
        if not reasons:
            b.do("br label %done")
            b.label("done")
            return [y.name for y in ys]
        b.do(f"br i1 {self.some(reduce(or_, reasons))}, label %rare, label %done, !prof !0")
        ways.append((ys, b.block))
        b.label("rare")
        if doubt is not None:
            ys, special = self.certain(lanes, xs, ys, special, doubt)
        return self.done(ys if special is None else self.redo(lanes, xs, ys, special), ways)

    def redo(self, lanes: Lanes, xs: list[Real], ys: Reals, special: Mask) -> Reals:
        """Results that are known after all; the other elements wait."""
        ys, special = self.settled(lanes, xs, ys, special)
        self.waiting.add(xs, special)
        return ys

    def done(self, ys: Reals, ways: list[Way]) -> list[str]:
        """Where all ways meet; the results come from the last one otherwise."""
        b = self.b
        b.do("br label %done")
        ways.append((ys, b.block))
        b.label("done")
        if self.function.rare:
            *others, (_, rare) = ways
            some = "".join(f", [ false, %{block} ]" for _, block in others)
            b.do(f"%waited = phi i1 [ true, %{rare} ]{some}")
        t = b.ty(self.real)
        return [
            b.op(f"phi {t} {', '.join(f'[ {found[k].name}, %{block} ]' for found, block in ways)}")
            for k in range(len(ys))
        ]

    def settled(self, lanes: Lanes, xs: list[Real], ys: Reals, special: Mask) -> tuple[Reals, Mask]:
        """Results that are known at once, or soon; the elements that still have none."""
        if self.function.nans:
            nan = xs[0].nan()
            ys, special = tuple(nan.real(xs[0] + xs[0], y) for y in ys), special & ~nan
        if self.function.known:
            (y,) = ys
            y, held, raised = self.function.known(lanes, Real(lanes, y.name), *xs)
            self.note(raised)
            ys, special = (y,), special & ~held
        return ys, special

    def certain(
        self, lanes: Lanes, xs: list[Real], ys: Reals, special: Mask | None, doubt: Mask
    ) -> tuple[Reals, Mask | None]:
        """The same, computed again without quick operations if some are in doubt."""
        b, before = self.b, self.b.block
        b.do(f"br i1 {self.some(doubt)}, label %again, label %certain")
        b.label("again")
        y, odd = self.function.fast(lanes, *xs)
        after = b.block
        b.do("br label %certain")
        b.label("certain")
        t = b.ty(self.real)
        ys = tuple(
            Real(lanes, b.op(f"phi {t} [ {old.name}, %{before} ], [ {new.name}, %{after} ]"))
            for old, new in zip(ys, several(y), strict=True)
        )
        if special is None or odd is None:
            return ys, special
        mask = b.op(f"phi {b.ty('i1')} [ {special.name}, %{before} ], [ {odd.name}, %{after} ]")
        return ys, Mask(lanes, mask)

    def rare(self, redo: Callable[..., tuple[Real | Reals, Raised]]) -> str:
        """The function for elements that waited."""
        redone, kept = Redone(self.waiting), self.b
        self.b = b = redone.b
        b.width = self.width
        xs = redone.operands(Lanes(b, self.function.precision, self.fused))
        found, raised = redo(xs[0].on, *xs)
        self.note(raised)
        numbers = [(k, part) for k in self.args[self.ins :] for part in range(self.parts[k])]
        results = [
            (*number, self.rounded(y.name)) for number, y in zip(numbers, several(found), strict=True)
        ]
        b.width, self.b = 0, kept
        for declaration in b.declarations:
            kept.declare(declaration)
        return redone.results(results, "i16" if self.soft else self.t, self.size)

    def load(self, lanes: Lanes, k: int) -> list[Real]:
        """The numbers of an operand's elements: all first ones, then all second ones."""
        b, t = self.b, "i16" if self.soft else self.t
        n = self.parts[k] * self.width
        raw = b.op(f"bitcast {self.places.vector(k)} %x{k} to <{n} x {t}>")
        return [Real(lanes, self.converted(x)) for x in self.apart(raw, t, self.parts[k])]

    def apart(self, raw: str, t: str, parts: int) -> list[str]:
        if parts == 1:
            return [raw]
        b, v = self.b, f"<{parts * self.width} x {t}>"
        orders = [range(part, parts * self.width, parts) for part in range(parts)]
        return [b.op(f"shufflevector {v} {raw}, {v} poison, {_order(order)}") for order in orders]

    def converted(self, x: str) -> str:
        """To the lanes' type."""
        b, types = self.b, self.conversions()
        if self.soft:
            types, x = types[1:], halves.widened(b, x)
        for narrow, wide in pairwise(types):
            x = b.op(f"fpext {b.ty(narrow)} {x} to {b.ty(wide)}")
        return x

    def store(self, ys: list[str], k: int) -> None:
        """The numbers of a result's elements, side by side."""
        b, t = self.b, "i16" if self.soft else self.t
        parts = [self.rounded(y) for y in ys]
        whole = parts[0]
        if len(parts) == 2:
            v = b.ty(t)
            order = _order(lane + side * self.width for lane in range(self.width) for side in (0, 1))
            whole = b.op(f"shufflevector {v} {parts[0]}, {v} {parts[1]}, {order}")
        b.do(f"store <{len(parts) * self.width} x {t}> {whole}, ptr %to{k}, align {self.size}")

    def rounded(self, y: str) -> str:
        """To the dtype."""
        b, types = self.b, self.conversions()
        for wide, narrow in pairwise(reversed(types[1:] if self.soft else types)):
            y = b.op(f"fptrunc {b.ty(wide)} {y} to {b.ty(narrow)}")
        return halves.narrowed(b, y) if self.soft else y

    def conversions(self) -> list[str]:
        """From the dtype to the lanes' type, one step at a time: that is what processors do."""
        types = ["half", "float", "double"]
        return types[types.index(self.t) : types.index(self.real) + 1]

    def note(self, raised: Raised) -> None:
        """Remember the flags that elements raise."""
        b = self.b
        for key, where in raised.items():
            bit = b.op(f"select i1 {self.some(where)}, i32 {mxcsr.BITS[key]}, i32 0")
            before = b.op("load i32, ptr %raised, align 4")
            b.do(f"store i32 {b.op(f'or i32 {before}, {bit}')}, ptr %raised, align 4")

    def finish(self) -> None:
        """Elements that still wait, and the flags."""
        b = self.b
        if self.function.rare:
            self.waiting.finish()
        else:
            b.label("finish")
            b.do("br label %exit")
        b.label("exit")
        if self.x86:
            raised, saved = b.op("load i32, ptr %raised, align 4"), b.op("load i32, ptr %saved, align 4")
            b.do(f"store i32 {b.op(f'or i32 {raised}, {saved}')}, ptr %saved, align 4")
            b.do(f"call void @{mxcsr.WRITE}(ptr %saved)")
        b.do("ret void")


def several(ys: Real | Reals) -> Reals:
    return ys if isinstance(ys, tuple) else (ys,)


def _order(lanes: Iterable[int]) -> str:
    """Of a shuffle."""
    numbers = list(lanes)
    return f"<{len(numbers)} x i32> <{', '.join(f'i32 {k}' for k in numbers)}>"
