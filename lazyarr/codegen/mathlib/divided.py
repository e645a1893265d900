"""A loop in two parts: whole groups of registers side by side, and one register at a time for what is left
(two on CPUs without fused products).

In:  the names of both parts' functions; how many elements a group has; how many arguments the loop has.
Out: IR of the function that calls them.   Rows that are shorter than a group pay for no more than they have,
and, but for AVX-512, those of less than four groups not for two parts, whose beginnings cost more than they
gain.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.target import Target

PARAMETERS = "ptr %args, ptr %dims, ptr %steps, ptr %data"


def divided(target: Target, groups: str, rest: str, size: int, arguments: int) -> list[str]:
    """The lines of the function; `size` is a power of two."""
    b = Builder(target, 0)
    least = size if target.vector_bytes == 64 else 4 * size
    b.label("entry")
    b.do("%whole = alloca i64, align 8")
    b.do("%left = alloca i64, align 8")
    b.do(f"%beyond = alloca [{arguments} x ptr], align 8")
    b.do("%n = load i64, ptr %dims, align 8")
    b.do(f"br i1 {b.op(f'icmp slt i64 %n, {least}')}, label %short, label %long")
    b.label("short")
    b.do(f"call void @{rest}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
    b.do("ret void")
    b.label("long")
    b.do(f"%first = and i64 %n, -{size}")
    b.do("store i64 %first, ptr %whole, align 8")
    b.do(f"call void @{groups}(ptr %args, ptr %whole, ptr %steps, ptr %data)")
    b.do("%more = sub i64 %n, %first")
    b.do(f"br i1 {b.op('icmp eq i64 %more, 0')}, label %end, label %last")
    b.label("last")
    b.do("store i64 %more, ptr %left, align 8")
    for k in range(arguments):
        p = b.op(f"load ptr, ptr {b.op(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
        step = b.op(f"load i64, ptr {b.op(f'getelementptr i64, ptr %steps, i64 {k}')}, align 8")
        at = b.op(f"getelementptr i8, ptr {p}, i64 {b.op(f'mul i64 %first, {step}')}")
        b.do(f"store ptr {at}, ptr {b.op(f'getelementptr ptr, ptr %beyond, i64 {k}')}, align 8")
    b.do(f"call void @{rest}(ptr %beyond, ptr %left, ptr %steps, ptr %data)")
    b.do("br label %end")
    b.label("end")
    b.do("ret void")
    return [f"define void @math({PARAMETERS}) nounwind {{", *b.lines, "}"]
