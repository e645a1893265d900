"""The pipeline: a parfor -> LLVM IR text of its kernel, as one list of named passes.

In:  a `Parfor` and a `Target`.   Out: `Source`: the text, and what a launch must know.
Equal input gives equal text, so the symbol, a hash of the text, names the same code in all processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.emit import Emitter
from lazyarr.codegen.loopir import Kernel
from lazyarr.codegen.lower import lower
from lazyarr.codegen.tile import tile
from lazyarr.codegen.vectorize import vectorize
from lazyarr.codegen.verify import verify_kernel
from lazyarr.fusion.parfor import Parfor
from lazyarr.target import Target


@dataclass(frozen=True, slots=True)
class Source:
    """One kernel as text."""

    ir: str
    symbol: str
    """Name of the kernel's function: unique to this text and target."""
    layout: Layout
    loops: tuple[tuple[str, str], ...]
    """Ufunc and signature of each of NumPy's inner loops that it calls, in the order of the words."""
    scratch_bytes: int
    """Per thread; see `abi`."""
    block: int
    """Elements that pass from stage to stage at once; 0 if there is one stage only."""
    combine: str = ""
    """Name of the function that folds partial results, in a reduction's module."""


PASSES: tuple[tuple[str, Callable[[Kernel, Target], Kernel]], ...] = (
    ("tile", lambda kernel, target: tile(kernel)),
    ("vectorize", vectorize),
)
"""Between `lower`, which makes the loop IR, and `emit`, which makes text of it."""


def stages(parfor: Parfor, target: Target, nontemporal: bool = False) -> list[tuple[str, Kernel]]:
    """The kernel after each pass, by the pass's name."""
    kernel = lower(parfor, target, nontemporal)
    found = [("lower", kernel)]
    for name, run in PASSES:
        kernel = run(kernel, target)
        found.append((name, kernel))
    return found


def compile_parfor(
    parfor: Parfor, target: Target, *, nontemporal: bool = False, verify: bool = False
) -> Source:
    """Write the kernel of a parfor.

    Parameters
    ----------
    parfor : Parfor
        A map, or with reductions in one of the forms of `reduce_plan`.
    target : Target
        The level to write code for.
    nontemporal : bool, optional
        Store contiguous outputs past the caches.  The launcher promises a single loop, outputs
        aligned to 64 bytes, and tiles of a multiple of 64 elements.
    verify : bool, optional
        Check the loop IR after each pass.

    Returns
    -------
    Source

    Raises
    ------
    ValueError
        If an op of the body can neither be emitted for the target nor be left to NumPy.
    InvalidKernel
        If `verify` finds a defect.
    """
    if any(inst.op == "reduce" for inst in parfor.body):
        from lazyarr.codegen.reduce_pipeline import compile_reduction

        return compile_reduction(parfor, target)
    passes = stages(parfor, target, nontemporal)
    if verify:
        for name, kernel in passes:
            verify_kernel(kernel, name)
    return source_of(passes[-1][1], target)


def source_of(kernel: Kernel, target: Target) -> Source:
    """The text of a vectorised kernel."""
    emitter = Emitter(kernel, target)
    text = emitter.text()
    rest = "\n".join([*emitter.b.declarations, "!0 = !{i32 1}", ""])
    digest = hashlib.blake2b(f"{target.name} {target.features}\n{text}{rest}".encode(), digest_size=16)
    symbol = f"lazyarr_{digest.hexdigest()}"
    return Source(
        ir=f"define void @{symbol}{text}{rest}", symbol=symbol, layout=emitter.layout, loops=kernel.loops,
        scratch_bytes=kernel.scratch_bytes, block=kernel.block,
    )  # fmt: skip
