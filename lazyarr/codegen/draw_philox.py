"""LLVM IR of the draws of Philox 4x64, 10 rounds: four words of each value of a counter.

In:  a `Draw`, a `Target`.   Out: see `draw_writer`.
Nothing passes from one value to the next, so the CPU computes several at once by itself.
"""

from __future__ import annotations

from lazyarr.codegen.draw_writer import Writer

PHILOX = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
"""What the first and third word of the counter are multiplied by, in each round."""
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
"""What the key grows by from round to round."""
ROUNDS = 10


class Philox(Writer):
    """Philox 4x64, 10 rounds: four words of each value of a counter."""

    def one(self) -> None:
        self.b.label("entry")
        self.b.do(f"ret i64 {self.word('%at')}")

    def word(self, at: str) -> str:
        b = self.b
        found, *others = self.block(at)
        which = b.op(f"and i64 {at}, 3")
        for k, word in enumerate(others, 1):
            here = b.op(f"icmp eq i64 {which}, {k}")
            found = b.op(f"select i1 {here}, i64 {word}, i64 {found}")
        return found

    def block(self, at: str) -> list[str]:
        """The words of the counter's value at a position."""
        b = self.b
        ahead = b.op(f"sext i64 {b.op(f'ashr i64 {at}, 2')} to i256")
        low, high = b.op("zext i128 %counter to i256"), b.op("zext i128 %upper to i256")
        counter = b.op(f"or i256 {low}, {b.op(f'shl i256 {high}, 128')}")
        counter = b.op(f"add i256 {counter}, {ahead}")
        c = [b.op(f"trunc i256 {b.op(f'lshr i256 {counter}, {64 * k}')} to i64") for k in range(4)]
        key = list(self.halves("%key"))
        for turn in range(ROUNDS):
            if turn:
                key = [b.op(f"add i64 {k}, {w}") for k, w in zip(key, WEYL, strict=True)]
            (low0, high0), (low1, high1) = (
                self.halves(b.wide_product(x, str(m - (1 << 64))))
                for x, m in zip(c[::2], PHILOX, strict=True)
            )
            first = b.op(f"xor i64 {b.op(f'xor i64 {high1}, {c[1]}')}, {key[0]}")
            third = b.op(f"xor i64 {b.op(f'xor i64 {high0}, {c[3]}')}, {key[1]}")
            c = [first, low1, third, low0]
        return c

    def run(self) -> None:
        """Single words up to a multiple of four, whole values, single words."""
        b = self.b
        self.scale = "%base", "%range"
        b.label("entry")
        before = b.op(f"and i64 {b.op('sub i64 0, %at')}, 3")
        few = b.op(f"icmp ult i64 %n, {before}")
        head = b.op(f"select i1 {few}, i64 %n, i64 {before}")
        left = b.op(f"sub i64 %n, {head}")
        whole = b.op(f"add i64 {head}, {b.op(f'and i64 {left}, -4')}")
        self.loop("head", "entry", "0", head, 1)
        self.loop("main", "head.done", head, whole, 4)
        self.loop("tail", "main.done", whole, "%n", 1)
        b.do("ret void")

    def loop(self, name: str, before: str, first: str, end: str, words: int) -> None:
        b, i = self.b, f"%{name}.i"
        b.do(f"br label %{name}.look")
        b.label(f"{name}.look")
        b.do(f"{i} = phi i64 [ {first}, %{before} ], [ {i}.next, %{name} ]")
        more = b.op(f"icmp ult i64 {i}, {end}")
        b.do(f"br i1 {more}, label %{name}, label %{name}.done")
        b.label(name)
        at = b.op(f"add i64 %at, {i}")
        if words == 1:
            self.store(self.word(at), i)
        else:
            for k, word in enumerate(self.block(at)):
                self.store(word, b.op(f"add i64 {i}, {k}"))
        b.do(f"{i}.next = add i64 {i}, {words}")
        b.do(f"br label %{name}.look")
        b.label(f"{name}.done")
