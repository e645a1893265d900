"""A loop in two parts: as many elements as one way of computing them takes, and what is left for another one.

In:  the names of both parts' functions (`Divided`); the bytes of the arguments' elements.
Out: IR of the function that calls them.   Whole groups of registers side by side are such a part, so that
rows that are shorter than a group pay for no more than they have; elements side by side are one, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.records import dataclass
from lazyarr.target import Target

PARAMETERS = "ptr %args, ptr %dims, ptr %steps, ptr %data"


@dataclass(frozen=True, slots=True)
class Divided:
    name: str
    """Of the function."""
    many: str
    rest: str
    size: int
    """How many elements the first part takes at a time, a power of two."""
    least: int
    """What is shorter takes the second part alone."""
    beside: int | None = None
    """The first part is for elements side by side; so many arguments, the first ones, may have no step."""

    def lines(self, target: Target, sizes: Sequence[int]) -> list[str]:
        """`sizes`: the bytes of elements."""
        b = Builder(target, 0)
        b.label("entry")
        b.do("%whole = alloca i64, align 8")
        b.do("%left = alloca i64, align 8")
        b.do(f"%beyond = alloca [{len(sizes)} x ptr], align 8")
        b.do("%n = load i64, ptr %dims, align 8")
        for k in range(len(sizes)):
            b.do(f"%s{k} = load i64, ptr {b.op(f'getelementptr i64, ptr %steps, i64 {k}')}, align 8")
        short = b.op(f"icmp slt i64 %n, {self.least}")
        if self.beside is not None:
            for k, size in enumerate(sizes):
                apart = b.op(f"icmp ne i64 %s{k}, {size}")
                if k < self.beside:
                    apart = b.op(f"and i1 {apart}, {b.op(f'icmp ne i64 %s{k}, 0')}")
                short = b.op(f"or i1 {short}, {apart}")
        b.do(f"br i1 {short}, label %short, label %long")
        b.label("short")
        b.do(f"call void @{self.rest}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
        b.do("ret void")
        b.label("long")
        b.do(f"%first = and i64 %n, -{self.size}")
        b.do("store i64 %first, ptr %whole, align 8")
        b.do(f"call void @{self.many}(ptr %args, ptr %whole, ptr %steps, ptr %data)")
        b.do("%more = sub i64 %n, %first")
        b.do(f"br i1 {b.op('icmp eq i64 %more, 0')}, label %end, label %last")
        b.label("last")
        b.do("store i64 %more, ptr %left, align 8")
        for k in range(len(sizes)):
            p = b.op(f"load ptr, ptr {b.op(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
            at = b.op(f"getelementptr i8, ptr {p}, i64 {b.op(f'mul i64 %first, %s{k}')}")
            b.do(f"store ptr {at}, ptr {b.op(f'getelementptr ptr, ptr %beyond, i64 {k}')}, align 8")
        b.do(f"call void @{self.rest}(ptr %beyond, ptr %left, ptr %steps, ptr %data)")
        b.do("br label %end")
        b.label("end")
        b.do("ret void")
        return [f"define internal void @{self.name}({PARAMETERS}) nounwind {{", *b.lines, "}"]
