"""What the functions of all draws share: their arguments, and numbers made of the stream's words.

In:  a `Draw`, a `Target`.   Out: lines of LLVM IR, for `draw_ir`.
A subclass writes two internal functions over its generator's state:

    void @run(state, at, n, out, base, range)     the numbers that come of n consecutive words
    i64 @word(state, at)                          the word at a position
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.builder import Builder
from lazyarr.draws import Draw
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target

UNIT_DOUBLE, UNIT_FLOAT = "0x3CA0000000000000", "0x3E70000000000000"
"""2**-53 and 2**-24: what 53 and 24 bits are multiplied by."""

State = tuple[str, str]
"""Low and high word of 128 bits, one of each in every lane."""

STATE = {4: "i128 %s, i128 %inc", 6: "i128 %counter, i128 %upper, i128 %key"}
"""The state as functions take it, by its number of words."""

_RUN = "{state}, i64 %at, i64 %n, ptr %out, double %base, double %range"
_WORD = "{state}, i64 %at"


def _arguments(draw: Draw) -> str:
    """A call's arguments: where it begins in the stream, and the state.  Positions are consecutive."""
    lines = [
        "define void @draw(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind {", "entry:",
        "  %n = load i64, ptr %dims, align 8", "  %position = load i64, ptr %args, align 8",
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
    for k, parameter in enumerate(STATE[draw.stream.words].split(", ")):
        name = parameter.removeprefix("i128 ")
        lines.append(f"  {name}.low = zext i64 %w{2 * k} to i128")
        lines.append(f"  {name}.up = zext i64 %w{2 * k + 1} to i128")
        lines.append(f"  {name}.high = shl i128 {name}.up, 64")
        lines.append(f"  {name} = or i128 {name}.low, {name}.high")
    return "\n".join(lines)


_DOUBLE = """
  call void @run($state, i64 %at, i64 %n, ptr %out, double %base, double %range)
  ret void
}
"""

_FLOAT = """
  %which = and i64 %at, 1               ; perhaps the second half of a word, whole words, a first half
  %some = icmp ne i64 %n, 0
  %any = zext i1 %some to i64
  %odd = and i64 %which, %any
  %begins = icmp ne i64 %odd, 0
  br i1 %begins, label %head, label %body
head:
  call void @half($state, i64 %at, ptr %out)
  br label %body
body:
  %left = sub i64 %n, %odd
  %words = lshr i64 %left, 1
  %from = add i64 %at, %odd
  %first = ashr i64 %from, 1
  %next = getelementptr float, ptr %out, i64 %odd
  call void @run($state, i64 %first, i64 %words, ptr %next, double 0.0, double 0.0)
  %whole = shl i64 %words, 1
  %ends = icmp ult i64 %whole, %left
  br i1 %ends, label %tail, label %done
tail:
  %end = add i64 %from, %whole
  %last = getelementptr float, ptr %next, i64 %whole
  call void @half($state, i64 %end, ptr %last)
  br label %done
done:
  ret void
}

define internal void @half($state, i64 %at, ptr %out) nounwind {
  %step = ashr i64 %at, 1
  %word = call i64 @word($state, i64 %step)
  %odd = and i64 %at, 1
  %shift = shl i64 %odd, 5
  %moved = lshr i64 %word, %shift
  %half = trunc i64 %moved to i32
  %bits = lshr i32 %half, 8
  %unit = uitofp i32 %bits to float
  %number = fmul float %unit, $unit
  store float %number, ptr %out, align 4
  ret void
}
"""


class Writer:
    """Writes one draw: consecutive words of the stream, and around them what a call asks for."""

    width = 0

    def __init__(self, draw: Draw, target: Target) -> None:
        self.draw = draw
        self.b = Builder(target, 0)
        self.stream = draw.stream.name
        self.scale = "", ""

    def text(self) -> list[str]:
        state = STATE[self.draw.stream.words]
        lines = self.function("void @run", _RUN.format(state=state), self.run)
        lines += self.function("i64 @word", _WORD.format(state=state), self.one)
        entry = _DOUBLE if self.draw.dtype == "d" else _FLOAT.replace("$unit", UNIT_FLOAT)
        return [*lines, _arguments(self.draw), entry.replace("$state", state), *self.b.declarations, ""]

    def function(self, name: str, parameters: str, write: Callable[[], None]) -> list[str]:
        self.b.lines = []
        write()
        head = f'define internal {name}({parameters}) nounwind "prefer-vector-width"="512" {{'
        return [head, *self.b.lines, "}"]

    def run(self) -> None:
        """Consecutive words, and the numbers that come of them."""
        raise NotImplementedError

    def one(self) -> None:
        """The word at a position."""
        raise NotImplementedError

    # Numbers

    def store(self, word: str, at: str) -> None:
        """The numbers that come of the words of all lanes, next to each other from number `at` on."""
        b, lanes = self.b, max(self.b.width, 1)
        if self.draw.dtype == "d":
            bits = b.op(f"lshr {b.ty('i64')} {word}, {b.splat('i64', '11')}")
            unit = b.op(f"uitofp {b.ty('i64')} {bits} to {b.ty('double')}")
            number = b.op(f"fmul {b.ty('double')} {unit}, {b.splat('double', UNIT_DOUBLE)}")
            number = b.op(f"fmul {b.ty('double')} {number}, {self.scale[1]}")
            number = b.op(f"fadd {b.ty('double')} {number}, {self.scale[0]}")
            place = b.op(f"getelementptr double, ptr %out, i64 {at}")
            b.do(f"store {b.ty('double')} {number}, ptr {place}, align 8")
            return
        ints, floats = f"<{2 * lanes} x i32>", f"<{2 * lanes} x float>"
        halves = b.op(f"bitcast {b.ty('i64')} {word} to {ints}")
        bits = b.op(f"lshr {ints} {halves}, <{', '.join(['i32 8'] * (2 * lanes))}>")
        unit = b.op(f"uitofp {ints} {bits} to {floats}")
        scale = ", ".join([f"float {UNIT_FLOAT}"] * (2 * lanes))
        number = b.op(f"fmul {floats} {unit}, <{scale}>")
        place = b.op(f"getelementptr i64, ptr %out, i64 {at}")
        b.do(f"store {floats} {number}, ptr {place}, align 4")

    def halves(self, s: str) -> State:
        b = self.b
        high = b.op(f"lshr i128 {s}, 64")
        return b.op(f"trunc i128 {s} to i64"), b.op(f"trunc i128 {high} to i64")

    def whole(self, state: State) -> str:
        b = self.b
        low, high = (b.op(f"zext i64 {x} to i128") for x in state)
        high = b.op(f"shl i128 {high}, 64")
        return b.op(f"or i128 {low}, {high}")
