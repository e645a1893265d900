"""How often a kernel calls NumPy's inner loops, counted where it happens and told to the launcher.

In:  a Builder in code that calls loops, where the chunk's count lies.   Out: code around the calls.
A call runs over many elements, so counting costs nothing that could be measured.
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.builder import Builder
from lazyarr.own_loops import own

COUNT = "%calls"
"""Pointer to the chunk's count, in each function that calls a loop."""


def begin(b: Builder, place: str = "") -> None:
    """The count of a chunk: at `place`, or in stack memory of its own."""
    b.do(f"{COUNT} = getelementptr i8, ptr {place}, i64 0" if place else f"{COUNT} = alloca i64, align 8")
    b.do(f"store i64 0, ptr {COUNT}, align 8")


def count(b: Builder, name: str, sig: str) -> None:
    """One call; of our own functions none is counted."""
    if own(name, sig):
        return
    so_far = b.op(f"load i64, ptr {COUNT}, align 8")
    b.do(f"store i64 {b.op(f'add i64 {so_far}, 1')}, ptr {COUNT}, align 8")


def end(b: Builder) -> None:
    """Add the chunk's calls to those of the launch."""
    word = b.op(f"getelementptr i64, ptr %words, i64 {Layout.CALLS}")
    calls = b.op(f"load i64, ptr {COUNT}, align 8")
    b.op(f"atomicrmw add ptr {word}, i64 {calls} monotonic")
