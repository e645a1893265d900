"""Reductions: a parfor with 'reduce' instructions -> LLVM IR text of its kernel.

In:  a `Parfor` in one of the forms of `reduce_plan`, a `Target`.
Out: `Source`.  Only the functions that depend on the body are compiled for each program; the chunk
function around them and the function that combines partial results are modules of their own, equal for
all programs with the same loops, operands and folds.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.abi import WHOLE
from lazyarr.codegen.emit_status import fpe_bits
from lazyarr.codegen.folds import refusal
from lazyarr.codegen.loopir import Blocks, Kernel
from lazyarr.codegen.pipeline import Module, Source
from lazyarr.codegen.reduce_beside import applies, beside
from lazyarr.codegen.reduce_blocks import SLOTS, block_functions, staged
from lazyarr.codegen.reduce_combine import combine_function
from lazyarr.codegen.reduce_count import counted
from lazyarr.codegen.reduce_crossed import crossed, lanes_across, panel_bytes
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_inner import in_registers
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_leaves import fold_functions
from lazyarr.codegen.reduce_nest import kernel_function, whole_function
from lazyarr.codegen.reduce_outer import (
    accumulator_bytes,
    begins_with_first,
    chunk_function,
    row_kernel,
    rows_at_once,
)
from lazyarr.codegen.reduce_plan import across
from lazyarr.codegen.reduce_tree import BESIDE, CROSSED
from lazyarr.codegen.symbols import symbol_of
from lazyarr.codegen.verify import verify_kernel
from lazyarr.codegen.verify_folds import verify_folds
from lazyarr.fusion.parfor import Parfor
from lazyarr.records import replace
from lazyarr.target import Target

PLACEHOLDER = "lazyarr_reduction"
SHARED = "shared_"
"""Prefix of the symbols of modules that programs share."""


def compile_reduction(parfor: Parfor, target: Target, verify: bool = False, hot: bool = False) -> Source:
    """Write the functions of a parfor with reductions; see `reduce_plan` for a launch.

    With `verify`, the loop IR of the body is checked as that of a map is; with `hot` the text is tier 2's."""
    why = refusal(parfor, target)
    if why is not None:
        raise ValueError(why)
    r = Reduce(parfor if across(parfor) else counted(parfor), target, hot=hot)
    r, functions = _across(r, verify) if across(parfor) else _along(r, verify)
    whole = hot and not (across(parfor) or r.loops or any(f.packs for f in r.folds))
    if whole:
        functions[-1].public = True
        functions.append(whole_function(r, PLACEHOLDER + WHOLE, PLACEHOLDER))
    main = _module(functions, target)
    shell = None if across(parfor) else _shared(r, kernel_function)
    combined = not r.sequential and not any(f.packs for f in r.folds)
    combine = _shared(r, combine_function) if combined else None
    return Source(
        ir=main.ir, symbol=main.symbol, layout=r.layout, loops=r.loops, scratch_bytes=r.scratch_bytes,
        block=0, flags=fpe_bits(r.categories), shell=shell, combine=combine, whole=whole,
    )  # fmt: skip


def _across(r: Reduce, verify: bool) -> tuple[Reduce, list[Function]]:
    """The kernel itself."""
    rows = row_kernel(r, first=False)
    first = row_kernel(r, first=True) if any(begins_with_first(f) for f in r.folds) else None
    at_once = rows_at_once(r)
    several = None if at_once == 1 or rows.loops else row_kernel(r, first=False, rows=at_once)
    for kernel in (rows, first, several):
        if verify and kernel is not None:
            verify_kernel(kernel, "rows")
    loops = tuple(dict.fromkeys((*rows.loops, *(first.loops if first else ()))))
    scratch = accumulator_bytes(r) + max(rows.scratch_bytes, first.scratch_bytes if first else 0)
    r = replace(r, loops=loops, scratch_bytes=-(-scratch // 64) * 64)
    return r, [chunk_function(r, rows, first, PLACEHOLDER, several)]


def _along(r: Reduce, verify: bool) -> tuple[Reduce, list[Function]]:
    """The function that folds a range, last, and those that it calls."""
    kernel = in_registers(r)
    if kernel is not None:
        if verify:
            verify_kernel(_without_results(r, kernel), "straight")
        r, functions = _straight(r, kernel)
        if verify:
            verify_folds(r, kernel, functions)
        return r, functions
    body = staged(r)
    if verify:
        once, *stages = body.kernel.body
        blocks = replace(body.kernel, block=body.block, body=(once, Blocks(body.block, tuple(stages))))
        verify_kernel(_without_results(r, blocks), "staged")
    called = ((f.how.ufunc, f.sig) for f in r.folds if f.called)
    loops = tuple(dict.fromkeys((*body.kernel.loops, *called)))
    r = replace(r, loops=loops, scratch_bytes=body.kernel.scratch_bytes)
    functions = block_functions(r, body, PLACEHOLDER)
    if verify:
        own = [b for b in functions if b.symbol.startswith(PLACEHOLDER + SLOTS)]
        verify_folds(r, body.kernel, own, body.block)
    return r, functions


def _straight(r: Reduce, kernel: Kernel) -> tuple[Reduce, list[Function]]:
    """A body in registers."""
    if not applies(r, kernel):
        return r, fold_functions(r, kernel, PLACEHOLDER)
    r = replace(r, beside=True, lanes=lanes_across(r, kernel))
    functions = [beside(r, kernel, PLACEHOLDER + BESIDE), *fold_functions(r, kernel, PLACEHOLDER)]
    if r.lanes:
        r = replace(r, scratch_bytes=panel_bytes(r))
        functions = [*crossed(r, kernel, PLACEHOLDER + CROSSED), *functions]
    return r, functions


def _without_results(r: Reduce, kernel: Kernel) -> Kernel:
    """The body alone stores no result of a fold."""
    results = {f.how.out for f in r.folds}
    operands = tuple(
        o._replace(role="in") if k in results else o for k, o in enumerate(kernel.operands)
    )
    return replace(kernel, operands=operands)


_texts: dict[tuple[object, ...], Module] = {}


def _shared(r: Reduce, write: Callable[[Reduce, str], Function]) -> Module:
    """A module that does not depend on the body: written once for all programs that are alike."""
    p = r.parfor
    folds = tuple(replace(f, value=0, how=f.how._replace(mask=0)) for f in r.folds)
    kinds = r.categories, r.floating, r.decidable, r.beside, r.lanes
    key = write, r.target, p.dims, len(p.operands), len(p.scalars), len(r.loops), folds, kinds
    found = _texts.get(key)
    if found is None:
        found = _texts[key] = _module([write(r, PLACEHOLDER)], r.target, SHARED)
    return found


def _module(functions: list[Function], target: Target, prefix: str = "") -> Module:
    """Text of functions, of which the last is for others to call, and those that are public."""
    functions[-1].public = True
    declarations = dict.fromkeys(line for b in functions for line in b.declarations)
    text = "\n".join([*(b.text() for b in functions), *declarations, ""])
    symbol = symbol_of(prefix, text, target)
    return Module(text.replace(PLACEHOLDER, symbol), symbol)
