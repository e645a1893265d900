"""What the functions of all draws share: their arguments, and numbers made of the stream's words.

In:  a `Draw`, a `Target`.   Out: lines of LLVM IR, for `draw_ir`.
A subclass writes two internal functions over its generator's state:

    void @run(state, at, step, n, out, base, range)   n numbers (pairs of float32), from words at `step` apart
    i64 @word(state, at)                              the word at a position
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.draws import Draw
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target

State = tuple[str, str]
"""Low and high word of 128 bits, one of each in every lane."""

STATE = {4: "i128 %s, i128 %inc", 6: "i128 %counter, i128 %upper, i128 %key"}
"""The state as functions take it, by its number of words."""

_RUN = "{state}, i64 %at, i64 %step, i64 %n, ptr %out, double %base, double %range"
_WORD = "{state}, i64 %at"


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
    for k, parameter in enumerate(STATE[draw.stream.words].split(", ")):
        name = parameter.removeprefix("i128 ")
        lines.append(f"  {name}.low = zext i64 %w{2 * k} to i128")
        lines.append(f"  {name}.up = zext i64 %w{2 * k + 1} to i128")
        lines.append(f"  {name}.high = shl i128 {name}.up, 64")
        lines.append(f"  {name} = or i128 {name}.low, {name}.high")
    return "\n".join(lines)


_DOUBLE = """
  call void @run($state, i64 %at, i64 %step, i64 %n, ptr %out, double %base, double %range)
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
  call void @halves($state, i64 %at, i64 1, i64 %head, ptr %out)
  %left = sub i64 %n, %head
  %words = lshr i64 %left, 1
  %from = add i64 %at, %head
  %first = ashr i64 %from, 1
  %body = getelementptr float, ptr %out, i64 %head
  call void @run($state, i64 %first, i64 1, i64 %words, ptr %body, double 0.0, double 0.0)
  %whole = shl i64 %words, 1
  %tail = sub i64 %left, %whole
  %end = add i64 %from, %whole
  %rest = getelementptr float, ptr %body, i64 %whole
  call void @halves($state, i64 %end, i64 1, i64 %tail, ptr %rest)
  ret void
across:
  call void @halves($state, i64 %at, i64 %step, i64 %n, ptr %out)
  ret void
}

define internal void @halves($state, i64 %at, i64 %step, i64 %n, ptr %out) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %p = phi i64 [ %at, %entry ], [ %p1, %next ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %next, label %done
next:
  %which = ashr i64 %p, 1
  %word = call i64 @word($state, i64 %which)
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


class Writer:
    """Writes one draw: words of the stream at equal distances, and around them what a call asks for."""

    width = 0

    def __init__(self, draw: Draw, target: Target) -> None:
        self.draw = draw
        self.b = Builder(target, 0)
        self.stream = draw.stream.name
        self.scale = "", ""

    def text(self) -> list[str]:
        state = STATE[self.draw.stream.words]
        self.run()
        lines = [self._head("internal void @run", _RUN.format(state=state)), *self.b.lines, "}"]
        self.b.lines = []
        self.one()
        lines += [self._head("internal i64 @word", _WORD.format(state=state)), *self.b.lines, "}"]
        entry = _DOUBLE if self.draw.dtype == "d" else _FLOAT
        return [*lines, _arguments(self.draw), entry.replace("$state", state), *self.b.declarations, ""]

    def _head(self, name: str, parameters: str) -> str:
        return f'define {name}({parameters}) nounwind "prefer-vector-width"="512" {{'

    def run(self) -> None:
        """Words at equal distances, and the numbers that come of them."""
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

    def halves(self, s: str) -> State:
        b = self.b
        high = b.op(f"lshr i128 {s}, 64")
        return b.op(f"trunc i128 {s} to i64"), b.op(f"trunc i128 {high} to i64")

    def whole(self, state: State) -> str:
        b = self.b
        low, high = (b.op(f"zext i64 {x} to i128") for x in state)
        high = b.op(f"shl i128 {high}, 64")
        return b.op(f"or i128 {low}, {high}")
