"""Lines of LLVM IR text with fresh names: the only place where instructions become text.

In: one call per instruction.   Out: the text of a function body and the declarations it needs.
Emitters (`emitters.py`) take a Builder and the names of their operands and return the name of
the result; `width` lanes are one vector, width 0 is a scalar (the peeled tail).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyarr.target import Target

LINE = 64
"""Bytes of a cache line."""

FIRST_LEVEL, SECOND_LEVEL = 3, 2
"""Caches that a line is prefetched into, as LLVM numbers them."""


class Builder:
    def __init__(self, target: Target, width: int) -> None:
        self.target = target
        self.width = width
        self.hot = False
        """There may be more code."""
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self.block = "entry"
        """Label of the basic block that is being written."""
        self._values = self._names = 0

    def ty(self, scalar: str) -> str:
        """The type of one value: a vector of `scalar`, or `scalar` itself at width 0."""
        return f"<{self.width} x {scalar}>" if self.width else scalar

    def fresh(self, stem: str) -> str:
        """A name for what is not the result of `op`."""
        self._names += 1
        return f"%{stem}{self._names}"

    def op(self, text: str) -> str:
        """Append ``%N = text``; return ``%N``.  LLVM reads numbers, in order, faster than names."""
        name = f"%{self._values}"
        self._values += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def rarely(
        self, where: str, t: str, usual: Sequence[str], other: Callable[[], Sequence[str]]
    ) -> list[str]:
        """What `other` makes, in a block that seldom runs, if `where` (i1) is True; else the usual values."""
        before, some, on = self.block, self.fresh("rare")[1:], self.fresh("on")[1:]
        self.do(f"br i1 {where}, label %{some}, label %{on}")
        self.label(some)
        made, after = other(), self.block
        self.do(f"br label %{on}")
        self.label(on)
        pairs = zip(usual, made, strict=True)
        return [self.op(f"phi {t} [ {x}, %{before} ], [ {y}, %{after} ]") for x, y in pairs]

    def declare(self, text: str) -> None:
        """A module-level declaration, kept once."""
        self.declarations[text] = None

    def prefetch(self, pointer: str, level: int) -> None:
        """Ask for a cache line to read; `level` is `FIRST_LEVEL` or `SECOND_LEVEL`."""
        self.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 {level}, i32 1)")

    def splat(self, scalar: str, literal: str) -> str:
        """A constant of one value's type: a literal in every lane."""
        if not self.width:
            return literal
        return f"<{', '.join([f'{scalar} {literal}'] * self.width)}>"

    def intrinsic(self, name: str, result: str, *operands: tuple[str, str]) -> str:
        """Call ``@llvm.<name>`` mangled for the builder's width; operands are (scalar type, name)."""
        mangled = "".join(f".{self._mangle(t)}" for t in [result])
        types = ", ".join(self.ty(t) for t, _ in operands)
        self.declare(f"declare {self.ty(result)} @llvm.{name}{mangled}({types})")
        args = ", ".join(f"{self.ty(t)} {v}" for t, v in operands)
        return self.op(f"call {self.ty(result)} @llvm.{name}{mangled}({args})")

    def wide_product(self, x: str, y: str) -> str:
        """All 128 bits of the product of two unsigned numbers of 64."""
        left, right = (self.op(f"zext i64 {factor} to i128") for factor in (x, y))
        return self.op(f"mul i128 {left}, {right}")

    def _mangle(self, scalar: str) -> str:
        short = {"half": "f16", "float": "f32", "double": "f64"}.get(scalar, scalar)
        return f"v{self.width}{short}" if self.width else short
