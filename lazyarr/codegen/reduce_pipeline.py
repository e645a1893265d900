"""Reductions: a parfor with 'reduce' instructions -> LLVM IR text of its kernel.

In:  a `Parfor` in one of the forms of `reduce_plan`, a `Target`.
Out: `Source`, with the name of the function that combines partial results.
The module has the chunk function, the combining function, and the functions that they call.
"""

from __future__ import annotations

import hashlib

from lazyarr.codegen.pipeline import Source
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_inner import fold_function, in_registers
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_nest import combine_function, kernel_function
from lazyarr.fusion.parfor import Parfor
from lazyarr.target import Target

PLACEHOLDER = "lazyarr_reduction"


def compile_reduction(parfor: Parfor, target: Target) -> Source:
    r = Reduce(parfor, target, PLACEHOLDER)
    kernel = in_registers(r)
    assert kernel is not None
    functions = [
        fold_function(r, kernel, f"{PLACEHOLDER}_fold"),
        kernel_function(r, PLACEHOLDER, f"{PLACEHOLDER}_fold"),
        combine_function(r, f"{PLACEHOLDER}_combine"),
    ]
    return _source(r, functions, target)


def _source(r: Reduce, functions: list[Function], target: Target) -> Source:
    declarations = dict.fromkeys(line for b in functions for line in b.declarations)
    text = "\n".join([*(b.text() for b in functions), *declarations, ""])
    digest = hashlib.blake2b(f"{target.name} {target.features}\n{text}".encode(), digest_size=16)
    symbol = f"lazyarr_{digest.hexdigest()}"
    return Source(
        ir=text.replace(PLACEHOLDER, symbol), symbol=symbol, layout=r.layout, loops=r.loops,
        scratch_bytes=r.scratch_bytes, block=0, combine=f"{symbol}_combine",
    )  # fmt: skip
