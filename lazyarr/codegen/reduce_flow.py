"""Control flow in LLVM IR text: counted loops with carried values, conditions, stack memory.

In:  Python context managers that bracket emitted instructions.   Out: the text of one function.
A loop is rotated (tested before its first and after each iteration), so that a body without
conditions is one basic block, in which carried values stay in registers at every codegen level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from lazyarr.codegen.builder import Builder
from lazyarr.target import Target


class Carried:
    """Values that pass from iteration to iteration: read `now`, assign `next`, afterwards read `after`.

    `step` may be replaced inside the loop, where it depends on the iteration."""

    def __init__(self, now: list[str], step: str) -> None:
        self.step = step
        self.now = now
        self.next = now
        self.after: list[str] = []


class Function(Builder):
    """The text of one function; `width` may change while it is written."""

    def __init__(self, target: Target, name: str, params: Sequence[str]) -> None:
        super().__init__(target, 0)
        self.symbol = name
        self.signature = f"void @{name}({', '.join(params)})"
        self.public = False
        self.stack: list[str] = []
        self._labels = 0

    def text(self) -> str:
        body = "\n".join([*self.stack, *self.lines])
        linkage = "" if self.public else "internal "
        return f"define {linkage}{self.signature} {{\nentry:\n{body}\n  ret void\n}}\n"

    def alloca(self, what: str, align: int = 64) -> str:
        """Stack memory of the whole function, wherever it is asked for."""
        name = self.fresh("s")
        self.stack.append(f"  {name} = alloca {what}, align {align}")
        return name

    def place(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def next_block(self) -> None:
        """End the basic block.  LLVM's lowest level cannot schedule strict floating-point compares and
        stores of what they compress in one ("cannot emit physreg copy instruction")."""
        label = self.place()
        self.jump(label)
        self.label(label)

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        yes, done = self.place(), self.place()
        self.branch(condition, yes, done)
        self.label(yes)
        yield
        self.jump(done)
        self.label(done)

    @contextmanager
    def otherwise(self, condition: str) -> Iterator[None]:
        """`when` the condition is false."""
        with self.when(self.op(f"xor i1 {condition}, true")):
            yield

    @contextmanager
    def loop(
        self, low: str, high: str, step: str = "1", carried: Sequence[tuple[str, str]] = ()
    ) -> Iterator[tuple[str, Carried]]:
        """``for i in range(low, high, step)``; `carried` are (LLVM type, value at first)."""
        body, done = self.place(), self.place()
        before = self.block
        self.branch(self.op(f"icmp slt i64 {low}, {high}"), body, done)
        self.label(body)
        index = self.fresh("i")
        types = ["i64", *(t for t, _ in carried)]
        first = [low, *(v for _, v in carried)]
        now = [index, *(self.fresh("c") for _ in carried)]
        at = len(self.lines)
        self.lines += [""] * len(now)
        state = Carried(now[1:], step)
        yield index, state
        following = [self.op(f"add i64 {index}, {state.step}"), *state.next]
        latch = self.block
        for k, (t, name, v0, v1) in enumerate(zip(types, now, first, following, strict=True)):
            self.lines[at + k] = f"  {name} = phi {t} [{v0}, %{before}], [{v1}, %{latch}]"
        self.branch(self.op(f"icmp slt i64 {following[0]}, {high}"), body, done)
        self.label(done)
        for t, v0, v1 in zip(types[1:], first[1:], following[1:], strict=True):
            state.after.append(self.op(f"phi {t} [{v0}, %{before}], [{v1}, %{latch}]"))

    def until(self, low: str, high: str, step: str, hit: Callable[[str], str]) -> str:
        """The first of low, low + step, ... below `high` where `hit` is True; not below it if none is."""
        look, more, done = self.place(), self.place(), self.place()
        before = self.block
        self.branch(self.op(f"icmp slt i64 {low}, {high}"), look, done)
        self.label(look)
        index = self.fresh("j")
        at = len(self.lines)
        self.lines.append("")
        found = hit(index)
        tested = self.block
        self.branch(found, done, more)
        self.label(more)
        following = self.add(index, step)
        self.lines[at] = f"  {index} = phi i64 [{low}, %{before}], [{following}, %{more}]"
        self.branch(self.op(f"icmp slt i64 {following}, {high}"), look, done)
        self.label(done)
        return self.op(f"phi i64 [{low}, %{before}], [{index}, %{tested}], [{following}, %{more}]")

    @contextmanager
    def lanes(self, width: int) -> Iterator[None]:
        """Emit at another width."""
        usual, self.width = self.width, width
        yield
        self.width = usual

    # Integers and addresses

    def add(self, x: str, y: str) -> str:
        return self.op(f"add i64 {x}, {y}")

    def mul(self, x: str, y: str) -> str:
        return self.op(f"mul i64 {x}, {y}")

    def divided(self, x: str, by: str) -> tuple[str, str]:
        """Quotient and remainder, both unsigned.

        A number below its divisor, as most are here, takes a branch: dividing takes longer."""
        divide, done, before = self.place(), self.place(), self.block
        self.branch(self.op(f"icmp ult i64 {x}, {by}"), done, divide)
        self.label(divide)
        found = [self.op(f"{op} i64 {x}, {by}") for op in ("udiv", "urem")]
        self.jump(done)
        self.label(done)
        quotient, rest = (
            self.op(f"phi i64 [{small}, %{before}], [{value}, %{divide}]")
            for small, value in zip(("0", x), found, strict=True)
        )
        return quotient, rest

    def at(self, pointer: str, offset: str | int) -> str:
        """Pointer plus bytes."""
        return self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def word(self, words: str, k: int, as_: str = "i64") -> str:
        return self.op(f"load {as_}, ptr {self.at(words, 8 * k)}, align 8")

    def put(self, pointer: str, offset: int, t: str, value: str) -> None:
        self.do(f"store {t} {value}, ptr {self.at(pointer, offset)}, align 8")

    def smaller(self, x: str, y: str) -> str:
        return self.op(f"select i1 {self.op(f'icmp slt i64 {x}, {y}')}, i64 {x}, i64 {y}")
