"""The pipeline: a parfor -> LLVM IR text of its kernel, as one list of named passes.

In:  a `Parfor` and a `Target`.   Out: `Source`: the text, and what a launch must know.
Equal input gives equal text, so the symbol, a hash of the text, names the same code in all processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.emit import Emitter
from lazyarr.codegen.emitters_numpys import BRANCHING
from lazyarr.codegen.jam import jam
from lazyarr.codegen.loopir import Kernel
from lazyarr.codegen.lower import lower
from lazyarr.codegen.symbols import symbol_of
from lazyarr.codegen.tile import tile
from lazyarr.codegen.vectorize import LONG, vectorize
from lazyarr.codegen.verify import verify_kernel
from lazyarr.fusion.parfor import SCAN, Parfor
from lazyarr.records import NamedTuple, dataclass
from lazyarr.target import Target


class Module(NamedTuple):
    """Text that defines one function for others to call."""

    ir: str
    symbol: str


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
    flags: int
    """NumPy's FPE bits that its ops can raise: what else a launch finds raised is none of theirs."""
    shell: Module | None = None
    """Where `symbol` folds a range of elements only: the kernel, which finds that function's address in
    word ``layout.extra(reduce_plan.FOLD)``.  Shells do not depend on the body: programs share them."""
    combine: Module | None = None
    """The function that folds partial results."""
    whole: bool = False
    """Does the text have a kernel for launches that are one chunk, named ``symbol + abi.WHOLE``?"""


class Pass(NamedTuple):
    name: str
    run: Callable[[Any, Target], Any]
    verify: Callable[[Any, str], None] | None
    """Raises on a defect of the result; LLVM itself verifies text."""


PASSES = (
    Pass("lower", lambda job, target: lower(job[0], target, job[1], job[2]), verify_kernel),
    Pass("tile", lambda kernel, target: tile(kernel, not target.without("tile")), verify_kernel),
    Pass("vectorize", vectorize, verify_kernel),
    Pass("jam", jam, verify_kernel),
    Pass("emit", lambda kernel, target: source_of(kernel, target), None),
)
"""From a parfor, whether its kernel streams, and whether it is hot, through `Kernel`s, to `Source`."""


def results(
    parfor: Parfor, target: Target, *, nontemporal: bool = False, verify: bool = False, hot: bool = False
) -> dict[str, Any]:
    """What each pass makes, by the pass's name, in order."""
    found: dict[str, Any] = {}
    result: Any = parfor, nontemporal, hot
    for step in PASSES:
        result = found[step.name] = step.run(result, target)
        if verify and step.verify is not None:
            step.verify(result, step.name)
    return found


def compile_parfor(
    parfor: Parfor, target: Target, *, nontemporal: bool = False, verify: bool = False, hot: bool = False
) -> Source:
    """Write the kernel of a parfor.

    Parameters
    ----------
    parfor : Parfor
        A map, or with scans, or with reductions in one of the forms of `reduce_plan`.
    target : Target
        The level to write code for.
    nontemporal : bool, optional
        Store contiguous outputs past the caches.  The launcher promises a single loop, outputs
        aligned to 64 bytes, and tiles of a multiple of 64 elements.
    verify : bool, optional
        Check the loop IR after each pass.
    hot : bool, optional
        There is time to compile more code than one loop over a row.

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
    own = compiler_of(parfor)
    if own is not None:
        return own(parfor, target, verify, hot)
    source = results(parfor, target, nontemporal=nontemporal, verify=verify, hot=hot)["emit"]
    assert isinstance(source, Source)
    return source


def compiler_of(parfor: Parfor) -> Callable[[Parfor, Target, bool, bool], Source] | None:
    """What compiles folds and scans; None for all else.  It is imported here: callers have signals wait."""
    if any(inst.op == "reduce" for inst in parfor.body):
        from lazyarr.codegen.reduce_pipeline import compile_reduction

        return compile_reduction
    if any(inst.op == SCAN for inst in parfor.body):
        from lazyarr.codegen.scan_pipeline import compile_scan

        return lambda parfor, target, verify, _: compile_scan(parfor, target, verify)
    return None


def has_two_texts(parfor: Parfor) -> bool:
    """May the text of a hot kernel be another one?"""
    body = parfor.body
    return (
        bool(parfor.shifts) or "r" in parfor.dims or len(body) >= LONG
        or any((inst.op, inst.sig) in BRANCHING for inst in body)
    )  # fmt: skip


def source_of(kernel: Kernel, target: Target) -> Source:
    """The text of a vectorised kernel."""
    emitter = Emitter(kernel, target)
    text = emitter.text()
    rest = "\n".join([*emitter.b.declarations, "!0 = !{i32 1}", ""])
    symbol = symbol_of("", text + rest, target)
    return Source(
        ir=f"define void @{symbol}{text}{rest}", symbol=symbol, layout=emitter.layout, loops=kernel.loops,
        scratch_bytes=kernel.scratch_bytes, block=kernel.block, flags=emitter.status.mask,
    )  # fmt: skip
