"""The shell of boxes: one launch for several kernels, which compute parts of one space.

In:  at run time, addresses of kernels and of their words.
Out: ``void boxes(words, chunk, tid)``, the same for all programs.
The chunks of the launch are those of the first kernel, then those of the second one, and so on.  A kernel
that goes on from another one's results runs its chunks after those of that one.  What it is given:
`boxes_words`.
"""

from __future__ import annotations

from lazyarr.codegen.boxes_words import END, FIRST, KERNEL, PER_BOX, RESUMED, SYMBOL, WORDS_AT
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.target import Target


def boxes_kernel(target: Target) -> str:
    """The text of its module."""
    b = Function(target, SYMBOL, CHUNK_PARAMS)
    b.public = True
    entry = b.place()
    search, found, on, run, done = (b.place() for _ in range(5))
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
    number = b.op(f"sub i64 %chunk, {begin}")
    b.jump(run)
    b.label(run)
    here, following = b.fresh("v"), b.fresh("v")
    b.do(f"{here} = phi ptr [ {box}, %{found} ], [ {following}, %{run} ]")
    mine, kernel = b.at("%words", b.word(here, WORDS_AT)), b.word(here, KERNEL, "ptr")
    b.do(f"call void {kernel}(ptr {mine}, i64 {number}, i64 %tid)")
    b.do(f"{following} = getelementptr i8, ptr {here}, i64 {8 * PER_BOX}")
    b.branch(b.op(f"icmp ne i64 {b.word(here, RESUMED)}, 0"), run, done)
    b.label(done)
    return b.text()
