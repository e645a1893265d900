"""Scans: a parfor with 'scan' instructions -> LLVM IR text of its kernel.

In:  a `Parfor` with one 's' loop, the innermost or the last but one, a `Target`.
Out: `Source`.  A chunk has some of the 'p' loops' positions and the whole sequence, so no cut changes a bit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from lazyarr.codegen.emit_status import fpe_bits
from lazyarr.codegen.loopir import Kernel
from lazyarr.codegen.natives import OWN
from lazyarr.codegen.pipeline import Source
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.scan_across import accumulator_bytes, across_function, row_kernel
from lazyarr.codegen.scan_along import along_function, row_bytes, staged
from lazyarr.codegen.verify import verify_kernel
from lazyarr.fusion.parfor import SCAN, Parfor
from lazyarr.target import Target

PLACEHOLDER = "lazyarr_scan"


@dataclass(frozen=True)
class Scans(Reduce):
    """One parfor with scans, as its kernels see it: no operand is a result of a fold."""

    @property
    def _called(self) -> list[tuple[str, str]]:
        """Ops and their loops, scans by what they repeat."""
        found = []
        for inst in self.parfor.body:
            if inst.op == SCAN:
                assert isinstance(inst.attr, str)
                found.append((inst.attr, f"{inst.sig[0]}{inst.sig}"))
            elif "->" in inst.sig and inst.op not in OWN:
                found.append(("copy" if inst.op == "cast" else inst.op, inst.sig))
        return found


def kernels_of(r: Reduce) -> tuple[Kernel, ...]:
    """The loop IR: of a row as stages, or of any row and of the first one as maps."""
    if r.parfor.dims[-1] == "s":
        return (staged(r),)
    return row_kernel(r, first=False), row_kernel(r, first=True)


def compile_scan(parfor: Parfor, target: Target, verify: bool = False) -> Source:
    """Write the kernel; with `verify`, the loop IR that it is written from is checked."""
    r: Reduce = Scans(parfor, target)
    kernels = kernels_of(r)
    for kernel in kernels if verify else ():
        verify_kernel(kernel, "scan")
    along = len(kernels) == 1
    loops = tuple(dict.fromkeys(loop for kernel in kernels for loop in kernel.loops))
    scratch = max(kernel.scratch_bytes for kernel in kernels)
    scratch = row_bytes(parfor, scratch) if along else accumulator_bytes(parfor) + scratch
    r = replace(r, loops=loops, scratch_bytes=-(-scratch // 64) * 64)
    b = (along_function if along else across_function)(r, kernels, PLACEHOLDER)
    b.public = True
    text = "\n".join([b.text(), *b.declarations, ""])
    digest = hashlib.blake2b(f"{target.name} {target.features}\n{text}".encode(), digest_size=16)
    symbol = f"lazyarr_{digest.hexdigest()}"
    return Source(
        ir=text.replace(PLACEHOLDER, symbol), symbol=symbol, layout=r.layout, loops=r.loops,
        scratch_bytes=r.scratch_bytes, block=0, flags=fpe_bits(r.categories),
    )  # fmt: skip
