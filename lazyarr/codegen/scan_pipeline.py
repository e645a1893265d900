"""Scans: a parfor with 'scan' instructions -> LLVM IR text of its kernel.

In:  a `Parfor` with one 's' loop, the innermost or the last but one, a `Target`.
Out: `Source`.  A chunk has some of the 'p' loops' positions and the whole sequence, so no cut changes a bit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from lazyarr.codegen.emit_status import fpe_bits
from lazyarr.codegen.native import OWN
from lazyarr.codegen.pipeline import Source
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.scan_along import along_function, row_bytes, staged
from lazyarr.codegen.scan_across import accumulator_bytes, across_function, row_kernel
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


def compile_scan(parfor: Parfor, target: Target, verify: bool = False) -> Source:
    """Write the kernel; with `verify`, the loop IR that it is written from is checked."""
    r: Reduce = Scans(parfor, target)
    if parfor.dims[-1] == "s":
        kernels = [staged(r)]
        r = replace(r, loops=kernels[0].loops, scratch_bytes=row_bytes(parfor, kernels[0]))
        b = along_function(r, kernels[0], PLACEHOLDER)
    else:
        kernels = [row_kernel(r, first) for first in (False, True)]
        loops = tuple(dict.fromkeys(loop for kernel in kernels for loop in kernel.loops))
        scratch = accumulator_bytes(parfor) + max(kernel.scratch_bytes for kernel in kernels)
        r = replace(r, loops=loops, scratch_bytes=-(-scratch // 64) * 64)
        b = across_function(r, *kernels, PLACEHOLDER)
    for kernel in kernels if verify else ():
        verify_kernel(kernel, "scan")
    b.public = True
    text = "\n".join([b.text(), *b.declarations, ""])
    digest = hashlib.blake2b(f"{target.name} {target.features}\n{text}".encode(), digest_size=16)
    symbol = f"lazyarr_{digest.hexdigest()}"
    return Source(
        ir=text.replace(PLACEHOLDER, symbol), symbol=symbol, layout=r.layout, loops=r.loops,
        scratch_bytes=r.scratch_bytes, block=0, flags=fpe_bits(r.categories),
    )  # fmt: skip
