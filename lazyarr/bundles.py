"""Kernels ahead of time: those of a function, for several CPU levels in one file (`bundled` loads it).

In:  a function, what it is called with, names of levels.   Out: a bundle (`dispatch.bundle`).

    run the function -> plan each of its evaluations for each level -> write and compile the kernels -> bundle

An entry of a bundle is what the cache would have after a run on a host of that level, so a process that loads
the bundle finds its kernels as if it had compiled them: no LLVM, and the level is the host's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy

from lazyarr import (
    compiler,
    config,
    kernel_index,
    kernels,
    shared_kernels,
)
from lazyarr.cpu_features import LEVELS
from lazyarr.dispatch import bundle, jit
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.levels import BY_NAME, usable_levels
from lazyarr.dispatch.llvm import version
from lazyarr.engine import groups_for
from lazyarr.expr import Expr
from lazyarr.fusion.parfor import Parfor
from lazyarr.fusion.program import Program
from lazyarr.kernels import Code, completed
from lazyarr.public import evaluate
from lazyarr.records import NamedTuple
from lazyarr.signatures import length_of
from lazyarr.signatures import signatures as read
from lazyarr.target import Target
from lazyarr.threading import loops_ir
from lazyarr.threading.system_ir import linux

MACHINES = {"x86_64": "x86", "aarch64": "arm"}
"""Those that the thread pool's code is written for, and its names for them."""


MANY, LEAST = 1 << 17, 32
"""Where any length will do: elements of the largest argument, more than what NumPy computes at the call; and
the least length, lest loops be taken for short ones."""


class Exported(NamedTuple):
    """What a bundle holds."""

    path: str
    levels: tuple[str, ...]
    kernels: int
    """Of all levels together."""
    entries: int
    nbytes: int


def export_kernels(
    fn: Callable[..., Any], signatures: str | Sequence[Any], targets: Sequence[str] | None, path: str
) -> Exported:
    """`lazyarr.export_kernels`."""
    known, chosen, place = read(signatures), _targets(targets), os.fspath(path)
    if not jit.available():
        raise RuntimeError("without LLVM nothing can be compiled")
    jit.use_all_machines()
    wanted = _Wanted(chosen)
    with wanted.watching():
        for signature in known:
            length = length_of(signature, MANY, LEAST)
            for mode, ask in product(("auto", "always"), (evaluate, _one_by_one)):
                with config.options(jit=mode):
                    ask(*_arrays(fn(*[item.example(length) for item in signature])))
    if not wanted.kernels:
        raise ValueError("with these arguments the function leaves nothing to kernels")
    entries = wanted.entries()
    about = {
        "levels": [target.name for target in chosen], "numpy": numpy.__version__, "llvmlite": version(),
        "source": kernel_index.writers(), "options": [str(x) for x in config.code_key()],
    }  # fmt: skip
    bundle.write(place, entries.items(), about)
    return Exported(
        place, tuple(about["levels"]), len(wanted.kernels), len(entries), os.stat(place).st_size
    )


def _targets(names: Sequence[str] | None) -> list[Target]:
    """Those that code is compiled for: all that can run here, if none is named."""
    if names is None:
        chosen = [level.target.name for level in usable_levels()]
    else:
        chosen = [name.upper() for name in names]
    known = [level.name for level in LEVELS if level.machine in MACHINES]
    for name in chosen:
        if name not in known:
            raise ValueError(f"there is no level {name} to export for; there are {', '.join(known)}")
    return [completed(BY_NAME[name].target) for name in dict.fromkeys(chosen)]


def _one_by_one(*arrays: Any) -> None:
    """What is asked for together may share kernels that it does not otherwise."""
    for x in arrays:
        evaluate(x)


def _arrays(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


class _Wanted:
    """The kernels that evaluations need on each target."""

    def __init__(self, targets: list[Target]) -> None:
        self.targets = targets
        self.kernels: dict[tuple[Parfor, bool, Target], None] = {}
        self.evaluations: dict[str, None] = {}
        self.thread = threading.get_ident()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """In this block each evaluation is planned for each target, before it runs."""
        from lazyarr.debug import watch

        config.OBSERVED.append("export")
        watch.PLANNERS.append(self.plan)
        try:
            yield
        finally:
            watch.PLANNERS.remove(self.plan)
            config.OBSERVED.remove("export")

    def plan(self, nodes: list[Expr], roots: list[Expr]) -> None:
        from lazyarr.debug import watch

        if threading.get_ident() != self.thread:
            return                      # the program's other threads export nothing
        self.evaluations[compiler.name_of(nodes)] = None
        for target in self.targets:
            with kernels.compiling_for(target):
                _, _, steps = groups_for(roots, nodes, True)
            for _, program in watch.programs_of(steps):
                for streams in (False, True) if _may_stream(program) else (False,):
                    self.kernels[program.parfor, streams, target] = None

    def entries(self) -> dict[bytes, bytes]:
        """What the cache would have of all that."""
        made = _Compiled()
        for name in self.evaluations:
            made.keep(compiler.evaluation_key(name), compiler.evaluation_about(name), b"")
        for target in self.targets:
            for code in _machinery(target):
                made.add(code)
        for parfor, streams, target in self.kernels:
            made.add_kernel(parfor, streams, target)
        return made.entries


def _may_stream(program: Program) -> bool:
    """May a launch of it, of whatever size, store past the caches?"""
    written = [o.access for o in program.parfor.operands if o.role != "in"]
    return program.parfor.dims == "p" and set(written) == {"u"}


def _machinery(target: Target) -> list[Code]:
    """What all kernels of a machine share."""
    least = BY_NAME[next(level.name for level in LEVELS if level.machine == target.machine)].target
    system = linux(MACHINES[target.machine])
    return [
        Code(loops_ir.serial(system), "lazyarr_serial_for", least),
        Code(loops_ir.pool(system), "lazyarr_parallel_for", least),
        *(shared.code(target)[0] for shared in shared_kernels.ALL),
    ]


class _Compiled:
    """Code that is compiled once, whoever needs it."""

    def __init__(self) -> None:
        self.bodies: dict[bytes, bytes] = {}
        self.entries: dict[bytes, bytes] = {}

    def add(self, code: Code) -> bytes:
        """What the cache would keep of it."""
        of = code.ir, code.target, code.opt
        key = jit.key_of(*of)
        if key not in self.bodies:
            body = self.bodies[key] = jit.body_for(*of)
            self.keep(key, jit.about_code(code.symbol, *of), body)
        return self.bodies[key]

    def add_kernel(self, parfor: Parfor, streams: bool, target: Target) -> None:
        """A kernel's entry in the index, and all code that it runs."""
        with kernels.compiling_for(target):
            found, codes = kernels.written(parfor, streams)
            main, *_ = [self.add(code) for code in codes]
            of = parfor, target, streams
            packed = kernel_index.packed(found._replace(body=main))
            self.keep(kernel_index.key(*of), kernel_index.about(*of), packed)

    def keep(self, key: bytes, about: disk.About, body: bytes) -> None:
        self.entries[key] = disk.packed(key, about, body)
