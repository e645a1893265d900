"""From a parfor to a callable kernel: compile once, remember.

In:  `Parfor`s (the signature).   Out: `Kernel`s (an address and the layout of its words).
One parfor is compiled once per process, target level and store kind; objects are on disk by content.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lazyarr import config
from lazyarr.codegen.abi import Layout
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Parfor
from lazyarr.numpy_loops import InnerLoop, inner_loop
from lazyarr.ops import OPS, function, row
from lazyarr.reduce_order import SEARCHES
from lazyarr.target import Target

if TYPE_CHECKING:
    from lazyarr.codegen.pipeline import Module


@dataclass(frozen=True, slots=True)
class Kernel:
    address: int
    layout: Layout
    loops: tuple[InnerLoop, ...]
    """NumPy's inner loops that it calls."""
    scratch_bytes: int
    ops: int
    """Operations of NumPy that one run stands for."""
    combine: Module | None
    """The step that joins partial results, see `loaded`; None for a map."""
    fold: int
    """Address of what a reduction's kernel calls to fold a range; 0 if it calls nothing."""


def host() -> Target:
    """The target of this process, or the one that the options ask for."""
    return _host(config.current.cpu_level)


@cache
def _host(level: str) -> Target:
    """`level` is the option that `host_level` goes by: the key of what is remembered."""
    from lazyarr.dispatch.levels import host_level

    return host_level()


_kernels: dict[tuple[Parfor, bool, tuple[object, ...]], Kernel] = {}


def kernel_for(parfor: Parfor, nontemporal: bool = False) -> Kernel:
    """The compiled kernel of a parfor."""
    key = parfor, nontemporal, config.code_key()
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
    address, fold = load(source.ir, (source.symbol,), host())[source.symbol], 0
    if source.shell is not None:
        address, fold = loaded(source.shell), address
    loops = []
    for name, sig in source.loops:
        loop = inner_loop(function(name), sig)
        assert loop is not None, (name, sig)
        loops.append(loop)
    COUNT.seconds["compile"] += time.perf_counter() - began
    ops = sum(i.op not in BOOKKEEPING for i in parfor.body)
    return Kernel(
        address, source.layout, tuple(loops), source.scratch_bytes, ops, source.combine, fold
    )


def loaded(module: Module) -> int:
    """The address of a function that kernels share; it is not counted as one."""
    from lazyarr.dispatch.jit import load

    return load(module.ir, (module.symbol,), host(), kernel=False)[module.symbol]


BOOKKEEPING = frozenset({"load", "store", "scalar", "cast", "dense"})


def lowerable(name: str, sig: str) -> bool:
    """Can a kernel contain this op: natively, or through NumPy's own inner loop?"""
    return _lowerable(name, sig, host())


@cache
def _lowerable(name: str, sig: str, target: Target) -> bool:
    from lazyarr.codegen.emitters import emitter

    ins, _, outs = sig.partition("->")
    if any(c not in PLAIN for c in ins + outs):
        return False
    if name == "copy":
        return ins == outs or emitter("cast", sig, target) is not None
    if emitter(name, sig, target) is not None:
        return True
    if name not in OPS or not row(name).is_ufunc:
        return False
    loop = inner_loop(function(name), sig)
    return loop is not None and not loop.needs_gil


@cache
def cost(name: str) -> float:
    """Nanoseconds for one element of an op, roughly."""
    if name in BOOKKEEPING or name == "reduce":
        return 0.05
    return 0.1 * row(name).cost


def foldable(name: str, sig: str) -> bool:
    """Can a kernel fold by this op: natively, or through NumPy's own inner loop?"""
    return name in SEARCHES or lowerable(name, sig)


def not_together(parfor: Parfor) -> str | None:
    """Why the folds of a parfor cannot be one kernel, or None."""
    from lazyarr.codegen.reduce_pipeline import refusal

    return refusal(parfor, host())
