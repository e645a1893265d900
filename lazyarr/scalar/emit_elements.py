"""The machine code of what loops do to elements of arrays, and of NumPy scalars with fewer bits.

In:  a `Lines` that is being written, the names of an op's operands.   Out: the name of its result.
What a write overwrites is noted in a log (address, with the size in its highest byte, and old bits), so that
`emit_loop` can undo it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazyarr.dtypes import PLAIN
from lazyarr.scalar.emit_ops import Emit, strict, to_single
from lazyarr.scalar.results import INTEGERS

if TYPE_CHECKING:
    from lazyarr.scalar.emit import Lines

ENTRY = 16
"""Bytes of an entry of the log."""
SIZE_AT = 56
"""The bit of an entry's address word from which on it has the size."""


def _single(w: Lines, x: str) -> str:
    return w.op(f"fpext float {to_single(w, x)} to double")


def _fits(char: str) -> Emit:
    low, high = INTEGERS[char]

    def emit(w: Lines, x: str) -> str:
        below, above = w.op(f"icmp slt i64 {x}, {low}"), w.op(f"icmp sgt i64 {x}, {high}")
        w.stop_if(w.op(f"or i1 {below}, {above}"))
        return x

    return emit


def _index(w: Lines, k: str, length: str) -> str:
    """From the end, if it is negative; a stop where it is out of bounds."""
    turned = w.op(f"add i64 {k}, {length}")
    negative = w.op(f"icmp slt i64 {k}, 0")
    at = w.op(f"select i1 {negative}, i64 {turned}, i64 {k}")
    w.stop_if(w.op(f"icmp uge i64 {at}, {length}"))
    return at


def _offset(w: Lines, base: str, at: str, stride: str) -> str:
    return w.op(f"getelementptr i8, ptr {base}, i64 {w.op(f'mul i64 {at}, {stride}')}")


def _load(char: str) -> Emit:
    row = PLAIN[char]
    signed = char in "bhil"

    def emit(w: Lines, at: str) -> str:
        x = w.op(f"load {row.llvm}, ptr {at}, align {row.itemsize}")
        if char == "?":
            return w.op(f"icmp ne i8 {x}, 0")
        if char == "f":
            return w.op(f"fpext float {x} to double")
        if char == "L":
            w.stop_if(w.op(f"icmp slt i64 {x}, 0"))
        if char in "dlL":
            return x
        return w.op(f"{'sext' if signed else 'zext'} {row.llvm} {x} to i64")

    return emit


def _store(char: str) -> Emit:
    row = PLAIN[char]
    bits = f"i{8 * row.itemsize}"

    def emit(w: Lines, at: str, x: str) -> str:
        count = w.op("load i64, ptr %log.count, align 8")
        w.stop_if(w.op(f"icmp uge i64 {count}, %log.capacity"))
        old = w.op(f"load {bits}, ptr {at}, align {row.itemsize}")
        wide = old if row.itemsize == 8 else w.op(f"zext {bits} {old} to i64")
        address = w.op(f"ptrtoint ptr {at} to i64")
        entry = w.op(f"getelementptr i8, ptr %log, i64 {w.op(f'mul i64 {count}, {ENTRY}')}")
        w.do(f"store i64 {w.op(f'or i64 {address}, {row.itemsize << SIZE_AT}')}, ptr {entry}, align 8")
        w.do(f"store i64 {wide}, ptr {w.op(f'getelementptr i8, ptr {entry}, i64 8')}, align 8")
        w.do(f"store i64 {w.op(f'add i64 {count}, 1')}, ptr %log.count, align 8")
        w.do(f"store {row.llvm} {x}, ptr {at}, align {row.itemsize}")
        return "0"

    return emit


EMIT: dict[str, Emit] = {
    "single": _single, "float_sqrt": strict("sqrt"), **{f"fits_{c}": _fits(c) for c in "bhiBHIL"},
    "index": _index, "offset": _offset, **{f"load_{c}": _load(c) for c in "?bhilBHILfd"},
    **{f"store_{c}": _store(c) for c in "?bhilBHILfd"},
}  # fmt: skip


def undo(name: str) -> str:
    """A function that takes back what a log notes, the last first."""
    sizes = "".join(f" i64 {n}, label %w{n}" for n in (1, 2, 4))
    lines = [
        f"define internal void @{name}(ptr %log, i64 %count) nounwind {{", "entry:", "  br label %look",
        "look:", "  %n = phi i64 [ %count, %entry ], [ %left, %next ]", "  %more = icmp ne i64 %n, 0",
        "  br i1 %more, label %one, label %done", "one:", "  %left = sub i64 %n, 1",
        f"  %at = mul i64 %left, {ENTRY}", "  %entry.at = getelementptr i8, ptr %log, i64 %at",
        "  %word = load i64, ptr %entry.at, align 8",
        "  %old.at = getelementptr i8, ptr %entry.at, i64 8", "  %old = load i64, ptr %old.at, align 8",
        f"  %place = and i64 %word, {(1 << SIZE_AT) - 1}", "  %to = inttoptr i64 %place to ptr",
        f"  %size = lshr i64 %word, {SIZE_AT}", f"  switch i64 %size, label %w8 [{sizes} ]",
    ]  # fmt: skip
    for n in (1, 2, 4, 8):
        short = "%old" if n == 8 else f"%old{n}"
        lines += [f"w{n}:"] + ([] if n == 8 else [f"  {short} = trunc i64 %old to i{8 * n}"])
        lines += [f"  store i{8 * n} {short}, ptr %to, align {n}", "  br label %next"]
    return "\n".join([*lines, "next:", "  br label %look", "done:", "  ret void", "}", ""])



