"""The code of a plan's kernels, stage by stage: loop IR, LLVM IR, assembly, and what it consists of.

In:  a program of a plan.   Out: texts and counts, written anew for the target of this process.
LLVM's passes run at no tier (`dispatch.jit`): what the pipeline writes is what LLVM's code generator gets.
It writes more for tier 2, so the text is that of the tier that runs.
"""

from __future__ import annotations

import re

from lazyarr.codegen.pipeline import Source, compile_parfor, results
from lazyarr.config import current
from lazyarr.dispatch import jit
from lazyarr.fusion.parfor import SCAN, Parfor
from lazyarr.fusion.program import Program
from lazyarr.kernels import TIERS, host, tier_of
from lazyarr.launch import may_stream
from lazyarr.records import NamedTuple


def streams(program: Program) -> bool:
    """May its launch store past the caches, if its memory is warm?"""
    return 0 not in program.loops.shape and may_stream(program, [0] * len(program.parfor.operands))


def loop_ir(parfor: Parfor, nontemporal: bool = False) -> str:
    """The loop IR that text is written from; of a fold that of its body, which runs on each range."""
    if any(inst.op == SCAN for inst in parfor.body):
        from lazyarr.codegen.scan_pipeline import Scans, kernels_of

        return str(kernels_of(Scans(parfor, host()))[0])
    if "r" not in parfor.dims:
        return str(results(parfor, host(), nontemporal=nontemporal, hot=_hot(parfor))["vectorize"])
    from lazyarr.codegen.reduce_blocks import staged
    from lazyarr.codegen.reduce_count import counted
    from lazyarr.codegen.reduce_inner import in_registers
    from lazyarr.codegen.reduce_kernel import Reduce
    from lazyarr.codegen.reduce_outer import row_kernel
    from lazyarr.codegen.reduce_plan import across

    if across(parfor):
        return str(row_kernel(Reduce(parfor, host(), hot=_hot(parfor)), first=False))
    r = Reduce(counted(parfor), host(), hot=_hot(parfor))
    kernel = in_registers(r)
    return str(staged(r).kernel if kernel is None else kernel)


def source(parfor: Parfor, nontemporal: bool = False) -> Source:
    return compile_parfor(parfor, host(), nontemporal=nontemporal, hot=_hot(parfor))


def modules(found: Source) -> dict[str, str]:
    """LLVM IR by what it is: the kernel, or of a fold also what all programs share."""
    parts = {"kernel": found.ir}
    if found.shell is not None:
        parts["shell"] = found.shell.ir
    if found.combine is not None:
        parts["combine"] = found.combine.ir
    return parts


def tiers(parfor: Parfor) -> dict[str, int]:
    """Of each of the `modules` of a kernel: that which runs, or that which it begins with."""
    first = 2 if current.tier == "2" else 1
    return {"kernel": tier_of(parfor) or first, "shell": 1, "combine": 1}


def _hot(parfor: Parfor) -> bool:
    return tiers(parfor)["kernel"] > 1


def optimised(ir: str) -> str:
    """What LLVM's code generator gets, as LLVM says it."""
    return jit.as_read(ir, host())


def assembly(ir: str, tier: int = 1) -> str:
    return jit.assembly(ir, host(), TIERS[tier])


class Statistics(NamedTuple):
    """What a module's machine code consists of."""

    functions: int
    instructions: int
    vector: int
    """Instructions on vector registers; on x86 also scalar ones of floating point."""
    calls: int
    stack: int
    """Instructions that load or store beside the stack pointer: spills, mostly."""
    jumps: int

    def __str__(self) -> str:
        words = zip(self._fields, self, strict=True)
        return ", ".join(f"{name}: {n}" for name, n in words)


_FUNCTION = re.compile(r"^[\w.$]+:", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s+([a-z][\w.]*)(.*)$", re.MULTILINE)
_VECTOR = re.compile(r"%[xyz]mm\d|\b[vq]\d+\b")
_STACK = re.compile(r"\(%rsp|\[sp[,\]]")


def statistics(text: str) -> Statistics:
    """Counts over assembly."""
    found = [(name, rest) for name, rest in _INSTRUCTION.findall(text) if name[0] != "."]
    return Statistics(
        sum(not name.startswith(".") for name in _FUNCTION.findall(text)),
        len(found),
        sum(bool(_VECTOR.search(rest)) for _, rest in found),
        sum(name.startswith(("call", "bl")) for name, _ in found),
        sum(bool(_STACK.search(rest)) for _, rest in found),
        sum(name.startswith(("j", "b.", "cb", "tb")) for name, _ in found),
    )
