"""Programs by X86_V4's text on any x86 with AVX2: digests of their results, one a line.

    PYTHONPATH=.:tests:tests/dispatch python tests/dispatch/v4_text.py text     # or: plain, by the host's own

In:  `level_programs`.   Out: lines on the standard output; the first tells how many texts named AVX-512.
Kernels are written for X86_V4, and compiled for X86_V3 as `avx512.portable` makes them.
"""

from __future__ import annotations

import hashlib
import sys
import warnings

import numpy
from avx512 import portable
from level_programs import CASES, PROGRAMS, inputs

import lazyarr
from lazyarr import kernels
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME

NAMED: list[str] = []


def by_text_of_v4() -> None:
    """From here on this process writes kernels for X86_V4."""
    v3, v4 = BY_NAME["X86_V3"].target, BY_NAME["X86_V4"].target
    compile_object = jit.compile_object

    def compiled(ir: str, target, opt: int = 0) -> bytes:
        if "llvm.x86.avx512" in ir:
            NAMED.append(ir)
        return compile_object(portable(ir), target._replace(features=v3.features), opt)

    jit.compile_object = compiled
    kernels._host = lambda cpu: v4
    kernels._target_of = lambda targets, target, cpu: v4


def digest(found) -> str:
    """NaNs are alike."""
    whole = hashlib.blake2b(digest_size=12)
    for x in found if isinstance(found, tuple) else (found,):
        x = numpy.ascontiguousarray(x)
        if x.dtype.kind in "fc":
            parts = x.view(x.real.dtype)
            x = numpy.where(numpy.isnan(parts), numpy.nan, parts)
        whole.update(str((x.dtype, x.shape)).encode() + x.tobytes())
    return whole.hexdigest()


def main() -> None:
    if sys.argv[1] == "text":
        by_text_of_v4()
    warnings.simplefilter("ignore")
    lines = []
    with lazyarr.options(jit="always", cache_bytes=0):
        for name, char in CASES:
            lines.append(f"{name} {char} {digest(PROGRAMS[name][0](*inputs(char)))}")
    print(len(NAMED), kernels.host().name)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
