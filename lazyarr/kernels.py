"""From a parfor to a callable kernel: compile once, remember, and pack the words of a launch.

In:  `Parfor`s (the signature).   Out: `Kernel`s (an address and the layout of its words).
One parfor is compiled once per process, target level and store kind; objects are on disk by content.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

from lazyarr import config
from lazyarr.codegen.abi import Layout
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Parfor
from lazyarr.numpy_loops import inner_loop
from lazyarr.ops import row
from lazyarr.target import Target


@dataclass(frozen=True, slots=True)
class Kernel:
    address: int
    layout: Layout
    loops: tuple[tuple[int, int], ...]
    """Function and data address of each of NumPy's inner loops that it calls."""
    scratch_bytes: int
    block: int


@cache
def host() -> Target:
    from lazyarr.dispatch.levels import host_level

    return host_level()


_kernels: dict[tuple[Parfor, bool], Kernel] = {}


def kernel_for(parfor: Parfor, nontemporal: bool = False) -> Kernel:
    """The compiled kernel of a parfor."""
    key = parfor, nontemporal
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = _compile(parfor, nontemporal)
    else:
        COUNT.memory_hits += 1
    return found


def _compile(parfor: Parfor, nontemporal: bool) -> Kernel:
    from lazyarr.codegen.pipeline import compile_parfor
    from lazyarr.dispatch.jit import load

    began = time.perf_counter()
    source = compile_parfor(parfor, host(), nontemporal=nontemporal, verify=config.current.verify)
    address = load(source.ir, (source.symbol,), host())[source.symbol]
    loops = []
    for name, sig in source.loops:
        found = inner_loop(name, sig)
        assert found is not None, (name, sig)
        loops.append(found)
    COUNT.seconds["compile"] += time.perf_counter() - began
    return Kernel(address, source.layout, tuple(loops), source.scratch_bytes, source.block)


@cache
def lowerable(name: str, sig: str) -> bool:
    """Can a kernel contain this op: natively, or through NumPy's own inner loop?"""
    from lazyarr.codegen.emitters import emitter

    if any(c not in PLAIN for c in sig.replace("->", "")):
        return False
    if name == "copy":
        ins, _, outs = sig.partition("->")
        return ins == outs or emitter("cast", sig, host()) is not None
    return emitter(name, sig, host()) is not None or inner_loop(name, sig) is not None


@cache
def cost(name: str) -> float:
    """Nanoseconds for one element of an op, roughly."""
    if name in ("load", "store", "scalar", "cast"):
        return 0.05
    found = row(name)
    return 0.1 * found.cost if found is not None else 1.0
