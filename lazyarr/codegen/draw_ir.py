"""LLVM IR of draws: the numbers at given positions of a bit generator's stream.

In:  the name of a draw (`draws.DRAWS`), a `Target`.   Out: `Module`: one function, called by kernels as
they call NumPy's inner loops: ``void f(char **args, intp *dims, intp *steps, void *data)``.
PCG64 and PCG64DXSM are linear congruential: s -> m s + inc, modulo 2**128.  The state p steps on is
m**p s + (1 + m + ... + m**(p-1)) inc, by a table of powers in one step for each bit of p.  So a call
goes to its own position and runs several positions side by side, each by m**LANES.

With 512-bit vectors 128-bit products are put together from 32-bit pieces, 8 at a time: 0.8 ns a
number, where the scalar form takes 1.6 and NumPy 2.3.  These functions are compiled once for all
programs, so they are compiled at `OPT`: at level 0 they would take three times as long.
"""

from __future__ import annotations

import hashlib
from functools import cache

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.pipeline import Module
from lazyarr.draws import DRAWS, Draw
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target

OPT = 2
"""LLVM's code generation level."""

LANES = {0: 4, 8: 16}
"""Positions side by side, by the width of vectors (0: scalars)."""

MULTIPLIERS = {"PCG64": 0x2360ED051FC65DA44385DF649FCCF645, "PCG64DXSM": 0xDA942042E4DD58B5}
AFTER = {"PCG64": 1, "PCG64DXSM": 0}
"""Is a number made of the state after its step, or before?"""

BITS = 128

State = tuple[str, str]
"""Low and high word, one of each in every lane."""


@cache
def draw_module(name: str, target: Target) -> Module:
    """The text of a draw."""
    draw = DRAWS[name]
    width = 8 if target.vector_bytes == 64 else 0
    text = "\n".join([_powers(MULTIPLIERS[draw.stream.name]), _JUMP, *_Writer(draw, target, width).text()])
    digest = hashlib.blake2b(f"{target.name} {target.features}\n{text}".encode(), digest_size=16)
    symbol = f"lazyarr_draw_{digest.hexdigest()}"
    return Module(text.replace("@draw(", f"@{symbol}("), symbol)


def _powers(multiplier: int) -> str:
    """m**p and 1 + m + ... + m**(p-1) for each p that is a power of two."""
    rows, m, plus = [], multiplier, 1
    for _ in range(BITS):
        rows.append(f"[2 x i128] [i128 {m}, i128 {plus}]")
        m, plus = m * m % (1 << BITS), (m + 1) * plus % (1 << BITS)
    return f"@powers = internal constant [{BITS} x [2 x i128]] [{', '.join(rows)}], align 16"


_JUMP = """
define internal i128 @jump(i128 %s, i128 %inc, i128 %steps) nounwind {
entry:
  %some = icmp ne i128 %steps, 0
  br i1 %some, label %loop, label %done
loop:
  %left = phi i128 [ %steps, %entry ], [ %rest, %loop ]
  %at = phi i128 [ %s, %entry ], [ %next, %loop ]
  %bit = call i128 @llvm.cttz.i128(i128 %left, i1 true)
  %row = trunc i128 %bit to i64
  %powers = getelementptr [2 x i128], ptr @powers, i64 %row
  %pluses = getelementptr i128, ptr %powers, i64 1
  %power = load i128, ptr %powers, align 16
  %plus = load i128, ptr %pluses, align 16
  %times = mul i128 %power, %at
  %add = mul i128 %plus, %inc
  %next = add i128 %times, %add
  %less = sub i128 %left, 1
  %rest = and i128 %left, %less
  %more = icmp ne i128 %rest, 0
  br i1 %more, label %loop, label %done
done:
  %found = phi i128 [ %s, %entry ], [ %next, %loop ]
  ret i128 %found
}
declare i128 @llvm.cttz.i128(i128, i1)
"""


_RUN = "i128 %s, i128 %inc, i64 %at, i64 %step, i64 %n, ptr %out, double %base, double %range"
_WORD = "i128 %s, i128 %inc, i64 %at"


def _arguments(draw: Draw) -> str:
    """A call's arguments: where it begins in the stream, by which steps it goes, and the state."""
    lines = [
        "define void @draw(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind {", "entry:",
        "  %n = load i64, ptr %dims, align 8", "  %stride = load i64, ptr %steps, align 8",
        "  %position = load i64, ptr %args, align 8",
    ]  # fmt: skip
    types = {"base": "double", "range": "double", "out": "ptr"}
    words = [f"w{k}" for k in range(draw.stream.words)]
    scale = ["base", "range"] if draw.dtype == "d" else []
    for k, name in enumerate(["origin", *words, *scale], 1):
        t = types.get(name, "i64")
        lines.append(f"  %{name}.slot = getelementptr ptr, ptr %args, i64 {k}")
        lines.append(f"  %{name}.at = load ptr, ptr %{name}.slot, align 8")
        lines.append(f"  %{name} = load {t}, ptr %{name}.at, align 8")
    lines.append(f"  %out.slot = getelementptr ptr, ptr %args, i64 {draw.nin}")
    lines.append("  %out = load ptr, ptr %out.slot, align 8")
    shift = PLAIN[draw.position].itemsize.bit_length() - 1
    lines.append("  %distance = sub i64 %position, %origin")
    lines.append(f"  %at = ashr i64 %distance, {shift}")
    lines.append(f"  %step = ashr i64 %stride, {shift}")
    for name, low, high in (("s", "w0", "w1"), ("inc", "w2", "w3")):
        lines.append(f"  %{name}.low = zext i64 %{low} to i128")
        lines.append(f"  %{name}.up = zext i64 %{high} to i128")
        lines.append(f"  %{name}.high = shl i128 %{name}.up, 64")
        lines.append(f"  %{name} = or i128 %{name}.low, %{name}.high")
    return "\n".join(lines)


_DOUBLE = """
  call void @run(i128 %s, i128 %inc, i64 %at, i64 %step, i64 %n, ptr %out, double %base, double %range)
  ret void
}
"""

_FLOAT = """
  %next = icmp eq i64 %step, 1
  br i1 %next, label %along, label %across
along:                                  ; a half of a word, whole words, a half
  %odd = and i64 %at, 1
  %few = icmp ult i64 %n, %odd
  %head = select i1 %few, i64 0, i64 %odd
  call void @halves(i128 %s, i128 %inc, i64 %at, i64 1, i64 %head, ptr %out)
  %left = sub i64 %n, %head
  %words = lshr i64 %left, 1
  %from = add i64 %at, %head
  %first = ashr i64 %from, 1
  %body = getelementptr float, ptr %out, i64 %head
  call void @run(i128 %s, i128 %inc, i64 %first, i64 1, i64 %words, ptr %body, double 0.0, double 0.0)
  %whole = shl i64 %words, 1
  %tail = sub i64 %left, %whole
  %end = add i64 %from, %whole
  %rest = getelementptr float, ptr %body, i64 %whole
  call void @halves(i128 %s, i128 %inc, i64 %end, i64 1, i64 %tail, ptr %rest)
  ret void
across:
  call void @halves(i128 %s, i128 %inc, i64 %at, i64 %step, i64 %n, ptr %out)
  ret void
}

define internal void @halves(i128 %s, i128 %inc, i64 %at, i64 %step, i64 %n, ptr %out) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %p = phi i64 [ %at, %entry ], [ %p1, %next ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %next, label %done
next:
  %which = ashr i64 %p, 1
  %word = call i64 @word(i128 %s, i128 %inc, i64 %which)
  %odd = and i64 %p, 1
  %shift = shl i64 %odd, 5
  %moved = lshr i64 %word, %shift
  %half = trunc i64 %moved to i32
  %bits = lshr i32 %half, 8
  %unit = uitofp i32 %bits to float
  %number = fmul float %unit, 0x3E70000000000000
  %place = getelementptr float, ptr %out, i64 %i
  store float %number, ptr %place, align 4
  %i1 = add i64 %i, 1
  %p1 = add i64 %p, %step
  br label %look
done:
  ret void
}
"""


class _Writer:
    """Writes one draw: consecutive words of the stream, and around them what a call asks for."""

    def __init__(self, draw: Draw, target: Target, width: int) -> None:
        self.draw, self.width = draw, width
        self.b = Builder(target, 0)
        self.stream = draw.stream.name
        self.scale = "", ""

    def text(self) -> list[str]:
        self.run()
        lines = [self._head("internal void @run", _RUN), *self.b.lines, "}"]
        self.b.lines = []
        self.one()
        lines += [self._head("internal i64 @word", _WORD), *self.b.lines, "}"]
        lines += [_arguments(self.draw), _DOUBLE if self.draw.dtype == "d" else _FLOAT]
        return lines + [*self.b.declarations, ""]

    def _head(self, name: str, parameters: str) -> str:
        return f'define {name}({parameters}) nounwind "prefer-vector-width"="512" {{'

    # The stream

    def jump(self, s: str, inc: str, steps: str) -> str:
        return self.b.op(f"call i128 @jump(i128 {s}, i128 {inc}, i128 {steps})")

    def halves(self, s: str) -> State:
        b = self.b
        high = b.op(f"lshr i128 {s}, 64")
        return b.op(f"trunc i128 {s} to i64"), b.op(f"trunc i128 {high} to i64")

    def whole(self, state: State) -> str:
        b = self.b
        low, high = (b.op(f"zext i64 {x} to i128") for x in state)
        high = b.op(f"shl i128 {high}, 64")
        return b.op(f"or i128 {low}, {high}")

    def word(self, state: State) -> str:
        """The 64 bits that come of a state."""
        return self.xsl_rr(*state) if self.stream == "PCG64" else self.dxsm(*state)

    def xsl_rr(self, low: str, high: str) -> str:
        b, t = self.b, self.b.ty("i64")
        mixed = b.op(f"xor {t} {high}, {low}")
        turn = b.op(f"lshr {t} {high}, {b.splat('i64', '58')}")
        return b.intrinsic("fshr", "i64", ("i64", mixed), ("i64", mixed), ("i64", turn))

    def dxsm(self, low: str, high: str) -> str:
        b, t = self.b, self.b.ty("i64")
        odd = b.op(f"or {t} {low}, {b.splat('i64', '1')}")
        shifted = b.op(f"lshr {t} {high}, {b.splat('i64', '32')}")
        mixed = b.op(f"xor {t} {high}, {shifted}")
        product = b.op(f"mul {t} {mixed}, {b.splat('i64', str(MULTIPLIERS['PCG64DXSM']))}")
        again = b.op(f"lshr {t} {product}, {b.splat('i64', '48')}")
        mixed = b.op(f"xor {t} {product}, {again}")
        return b.op(f"mul {t} {mixed}, {odd}")

    def step(self, state: State, times: State, plus: State) -> State:
        """times * state + plus, modulo 2**128."""
        if not self.b.width:
            b = self.b
            product = b.op(f"mul i128 {self.whole(state)}, {self.whole(times)}")
            return self.halves(b.op(f"add i128 {product}, {self.whole(plus)}"))
        return self._wide_step(state, times, plus)

    def _wide_step(self, state: State, times: State, plus: State) -> State:
        b, t = self.b, self.b.ty("i64")
        half, ones = b.splat("i64", "32"), b.splat("i64", str((1 << 32) - 1))

        def op(name: str, x: str, y: str) -> str:
            return b.op(f"{name} {t} {x}, {y}")

        (x, high), (y, times_high) = state, times
        x0, x1, y0, y1 = op("and", x, ones), op("lshr", x, half), op("and", y, ones), op("lshr", y, half)
        least = op("mul", x0, y0)
        middle = op("add", op("mul", x0, y1), op("lshr", least, half))
        second = op("add", op("mul", x1, y0), op("and", middle, ones))
        top = op("add", op("mul", x1, y1), op("lshr", middle, half))
        top = op("add", top, op("lshr", second, half))
        low = op("or", op("shl", second, half), op("and", least, ones))
        top = op("add", top, op("mul", x, times_high))
        top = op("add", top, op("mul", high, y))
        new = op("add", low, plus[0])
        carry = b.op(f"icmp ult {t} {new}, {low}")
        top = op("add", op("add", top, plus[1]), b.op(f"zext {b.ty('i1')} {carry} to {t}"))
        return new, top

    # Numbers

    def store(self, word: str, at: str) -> None:
        """The numbers that come of the words of all lanes, next to each other from number `at` on."""
        b, lanes = self.b, max(self.b.width, 1)
        if self.draw.dtype == "d":
            bits = b.op(f"lshr {b.ty('i64')} {word}, {b.splat('i64', '11')}")
            unit = b.op(f"uitofp {b.ty('i64')} {bits} to {b.ty('double')}")
            number = b.op(f"fmul {b.ty('double')} {unit}, {b.splat('double', '0x3CA0000000000000')}")
            number = b.op(f"fmul {b.ty('double')} {number}, {self.scale[1]}")
            number = b.op(f"fadd {b.ty('double')} {number}, {self.scale[0]}")
            place = b.op(f"getelementptr double, ptr %out, i64 {at}")
            b.do(f"store {b.ty('double')} {number}, ptr {place}, align 8")
            return
        ints, floats = f"<{2 * lanes} x i32>", f"<{2 * lanes} x float>"
        halves = b.op(f"bitcast {b.ty('i64')} {word} to {ints}")
        bits = b.op(f"lshr {ints} {halves}, <{', '.join(['i32 8'] * (2 * lanes))}>")
        unit = b.op(f"uitofp {ints} {bits} to {floats}")
        scale = ", ".join(["float 0x3E70000000000000"] * (2 * lanes))
        number = b.op(f"fmul {floats} {unit}, <{scale}>")
        place = b.op(f"getelementptr i64, ptr %out, i64 {at}")
        b.do(f"store {floats} {number}, ptr {place}, align 4")

    def one(self) -> None:
        """The word at a position."""
        b, after = self.b, AFTER[self.stream]
        b.label("entry")
        at = b.op(f"add i64 %at, {after}")
        state = self.halves(self.jump("%s", "%inc", b.op(f"sext i64 {at} to i128")))
        b.do(f"ret i64 {self.word(state)}")

    def run(self) -> None:
        """Words at equal distances, and the numbers that come of them."""
        b, lanes = self.b, LANES[self.width]
        b.label("entry")
        first = b.op(f"add i64 %at, {AFTER[self.stream]}")
        stride = b.op("sext i64 %step to i128")
        far = b.op(f"mul i128 {stride}, {lanes}")
        start = self.jump("%s", "%inc", b.op(f"sext i64 {first} to i128"))
        near = self.halves(self.jump("1", "0", stride)), self.halves(self.jump("0", "%inc", stride))
        distant = self.halves(self.jump("1", "0", far)), self.halves(self.jump("0", "%inc", far))
        states = [self.halves(start)]
        for _ in range(lanes - 1):
            states.append(self.step(states[-1], *near))
        whole = b.op(f"and i64 %n, {-lanes}")
        state = self.main(states, distant, whole)
        self.rest(state, near, whole)
        b.do("ret void")

    def main(self, states: list[State], distant: tuple[State, State], end: str) -> State:
        """Words in groups of `lanes`; the state at the first position after them."""
        b, lanes = self.b, max(self.width, 1)
        b.width = self.width
        times, plus = (self.spread(x) for x in distant)
        self.scale = self.splat("double", "%base"), self.splat("double", "%range")
        starts = [self.packed(states[k : k + lanes]) for k in range(0, len(states), lanes)]
        b.do("br label %look")
        b.label("look")
        phis = len(b.lines)
        b.do(f"%more = icmp ult i64 %i, {end}")
        b.do("br i1 %more, label %main, label %tail")
        b.label("main")
        incoming = [("i64", "%i", "0", "%i.next")]
        for g, start in enumerate(starts):
            now = f"%low{g}", f"%high{g}"
            self.store(self.word(now), b.op(f"add i64 %i, {g * lanes}"))
            then = self.step(now, times, plus)
            incoming += zip([b.ty("i64")] * 2, now, start, then, strict=True)
        b.do(f"%i.next = add i64 %i, {len(states)}")
        b.do("br label %look")
        b.lines[phis:phis] = [
            f"  {name} = phi {t} [ {first}, %entry ], [ {then}, %main ]" for t, name, first, then in incoming
        ]
        b.label("tail")
        t = b.ty("i64")
        b.width = 0
        if not self.width:
            return "%low0", "%high0"
        low, high = (b.op(f"extractelement {t} {x}, i64 0") for x in ("%low0", "%high0"))
        return low, high

    def rest(self, state: State, near: tuple[State, State], begin: str) -> None:
        """The words after the last whole group, one by one."""
        b = self.b
        self.scale = "%base", "%range"
        b.do("br label %peek")
        b.label("peek")
        phis = len(b.lines)
        b.do("%again = icmp ult i64 %j, %n")
        b.do("br i1 %again, label %single, label %done")
        b.label("single")
        self.store(self.word(("%low", "%high")), "%j")
        low, high = self.step(("%low", "%high"), *near)
        b.do("%j.next = add i64 %j, 1")
        b.do("br label %peek")
        b.lines[phis:phis] = [
            f"  %j = phi i64 [ {begin}, %tail ], [ %j.next, %single ]",
            f"  %low = phi i64 [ {state[0]}, %tail ], [ {low}, %single ]",
            f"  %high = phi i64 [ {state[1]}, %tail ], [ {high}, %single ]",
        ]
        b.label("done")

    # Scalars in lanes

    def splat(self, t: str, x: str) -> str:
        if not self.b.width:
            return x
        b = self.b
        one = b.op(f"insertelement {b.ty(t)} poison, {t} {x}, i64 0")
        return b.op(f"shufflevector {b.ty(t)} {one}, {b.ty(t)} poison, <{b.width} x i32> zeroinitializer")

    def spread(self, state: State) -> State:
        return self.splat("i64", state[0]), self.splat("i64", state[1])

    def packed(self, states: list[State]) -> State:
        """One state in each lane."""
        if not self.b.width:
            return states[0]
        b, found = self.b, ["poison", "poison"]
        for k, state in enumerate(states):
            for half, x in enumerate(state):
                found[half] = b.op(f"insertelement {b.ty('i64')} {found[half]}, i64 {x}, i64 {k}")
        return found[0], found[1]
