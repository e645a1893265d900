"""The shell of boxes: one launch for several kernels, which compute parts of one space.

In:  at run time, addresses of kernels and of their words.
Out: ``void boxes(words, chunk, tid)``, the same for all programs.
The chunks of the launch are those of the first kernel, then those of the second one, and so on.

Words: FLAGS, SCRATCH, CALLS as `abi` has them (of which the kernels use their own); then for each kernel
END (the first chunk behind its own), KERNEL (function) and WORDS_AT (of its words, in bytes from the first
word).
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.target import Target

FIRST = Layout.FIRST
END, KERNEL, WORDS_AT = range(3)
PER_BOX = 3

SYMBOL = "lazyarr_boxes"


def boxes_kernel(target: Target) -> str:
    """The text of its module."""
    b = Function(target, SYMBOL, CHUNK_PARAMS)
    b.public = True
    entry = b.place()
    search, found, on = b.place(), b.place(), b.place()
    b.jump(entry)
    b.label(entry)
    b.jump(search)
    b.label(search)
    at, begin, after, end = (b.fresh("v") for _ in range(4))
    b.do(f"{at} = phi i64 [ {8 * FIRST}, %{entry} ], [ {after}, %{on} ]")
    b.do(f"{begin} = phi i64 [ 0, %{entry} ], [ {end}, %{on} ]")
    box = b.at("%words", at)
    b.do(f"{end} = load i64, ptr {b.at(box, 8 * END)}, align 8")
    b.branch(b.op(f"icmp slt i64 %chunk, {end}"), found, on)
    b.label(on)
    b.do(f"{after} = add i64 {at}, {8 * PER_BOX}")
    b.jump(search)
    b.label(found)
    mine, kernel = b.at("%words", b.word(box, WORDS_AT)), b.word(box, KERNEL, "ptr")
    b.do(f"call void {kernel}(ptr {mine}, i64 {b.op(f'sub i64 %chunk, {begin}')}, i64 %tid)")
    return b.text()
