"""LLVM IR of the draws of PCG64 and PCG64DXSM, which are linear congruential: s -> m s + inc modulo 2**128.

In:  a `Draw`, a `Target`.   Out: see `draw_writer`.
The state p steps on is m**p s + (1 + m + ... + m**(p-1)) inc, by a table of powers in one step for each
bit of p.  So a call goes to its own position and runs several positions side by side, each by m**LANES.

With 512-bit vectors 128-bit products are put together from 32-bit pieces, 8 at a time: 0.8 ns a
number, where the scalar form takes 1.6 and NumPy 2.3.
"""

from __future__ import annotations

from lazyarr.codegen.draw_writer import State, Writer
from lazyarr.draws import Draw
from lazyarr.target import Target

LANES = {0: 4, 8: 16}
"""Positions side by side, by the width of vectors (0: scalars)."""

BITS = 128

MULTIPLIERS = {"PCG64": 0x2360ED051FC65DA44385DF649FCCF645, "PCG64DXSM": 0xDA942042E4DD58B5}
AFTER = {"PCG64": 1, "PCG64DXSM": 0}
"""Is a number made of the state after its step, or before?"""


def power(multiplier: int, steps: int) -> tuple[int, int]:
    """m**p and 1 + m + ... + m**(p-1), for a p that is a power of two."""
    times, plus = multiplier, 1
    while steps > 1:
        times, plus, steps = times * times % (1 << BITS), (times + 1) * plus % (1 << BITS), steps // 2
    return times, plus


def _powers(multiplier: int) -> str:
    rows = [power(multiplier, 1 << bit) for bit in range(BITS)]
    numbers = ", ".join(f"[2 x i128] [i128 {times}, i128 {plus}]" for times, plus in rows)
    return f"@powers = internal constant [{BITS} x [2 x i128]] [{numbers}], align 16"


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


class Congruential(Writer):
    """PCG64, PCG64DXSM."""

    def __init__(self, draw: Draw, target: Target) -> None:
        super().__init__(draw, target)
        self.width = 8 if target.vector_bytes == 64 else 0

    def text(self) -> list[str]:
        return [_powers(MULTIPLIERS[self.stream]), _JUMP, *super().text()]

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

    def begin(self) -> State:
        """The state from which the first word is made."""
        b = self.b
        first = b.op(f"add i64 %at, {AFTER[self.stream]}")
        steps = b.op(f"sext i64 {first} to i128")
        return self.halves(b.op(f"call i128 @jump(i128 %s, i128 %inc, i128 {steps})"))

    def ahead(self, steps: int) -> tuple[State, State]:
        """What a state is multiplied by, and what is added, to take it so many steps on."""
        times, plus = power(MULTIPLIERS[self.stream], steps)
        low, high = (str(times >> shift & (1 << 64) - 1) for shift in (0, 64))
        return (low, high), self.halves(self.b.op(f"mul i128 %inc, {plus}"))

    def one(self) -> None:
        self.b.label("entry")
        self.b.do(f"ret i64 {self.word(self.begin())}")

    def run(self) -> None:
        b, lanes = self.b, LANES[self.width]
        b.label("entry")
        near = self.ahead(1)
        states = [self.begin()]
        for _ in range(lanes - 1):
            states.append(self.step(states[-1], *near))
        whole = b.op(f"and i64 %n, {-lanes}")
        state = self.main(states, self.ahead(lanes), whole)
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
