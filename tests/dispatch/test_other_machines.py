"""Kernels of elementwise and reduction programs for machines that this one is not.

LLVM verifies their text and makes objects of the right kind, which call nothing but what every C library has.
Nothing is run here."""

from __future__ import annotations

from functools import cache

import pytest
from level_programs import CASES, PROGRAMS, inputs

import lazyarr
from lazyarr import config, kernels
from lazyarr.cpu_features import LEVELS, here
from lazyarr.debug import watch
from lazyarr.dispatch import elf, jit
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.engine import groups_for
from lazyarr.fusion.parfor import Parfor

pytestmark = pytest.mark.skipif(not jit.available(), reason="emits code")

ELF_MACHINE = {"x86_64": 62, "aarch64": 183, "ppc64le": 21, "riscv64": 243}
OTHERS = [level.name for level in LEVELS if level.machine != here()]
C_LIBRARY = {                             # and the name of a table that PowerPC linkers make
    "memcpy", "memset", "memmove", "fmod", "fmodf", "floor", "floorf", "ceil", "ceilf", "trunc", "truncf",
    "rint", "rintf", ".TOC.", "nearbyint", "nearbyintf", "roundeven", "roundevenf", "fma", "fmaf",
}  # fmt: skip
WORDS = {"aarch64": r"v0.2d", "ppc64le": "xv", "riscv64": "vsetivli"}


@cache
def wanted() -> dict[str, set[Parfor]]:
    """The parfors of the programs, planned for each level."""
    found: dict[str, set[Parfor]] = {name: set() for name in OTHERS}

    def plan(nodes, roots):
        for name, parfors in found.items():
            with kernels.compiling_for(BY_NAME[name].target):
                _, _, steps = groups_for(roots, nodes, True)
            parfors.update(program.parfor for _, program in watch.programs_of(steps))

    config.OBSERVED.append("test")
    watch.PLANNERS.append(plan)
    try:
        with lazyarr.options(jit="always"), lazyarr.errstate(all="ignore"):
            for name, char in CASES:
                result = PROGRAMS[name][0](*inputs(char))
                lazyarr.evaluate(*(result if isinstance(result, tuple) else (result,)))
    finally:
        watch.PLANNERS.remove(plan)
        config.OBSERVED.remove("test")
    return found


@pytest.mark.parametrize("name", OTHERS)
def test_objects_of_other_machines(name):
    jit.use_all_machines()
    level = BY_NAME[name]
    target = level.target._replace(triple=level.triple)
    parfors = wanted()[name]
    assert len(parfors) > 150
    needed: set[str] = set()
    for parfor in sorted(parfors, key=str):
        with kernels.compiling_for(target):
            _, codes = kernels.written(parfor, False)
        for code in codes:
            binary = jit.compile_object(code.ir, code.target, code.opt)
            assert elf.is_elf(binary)
            assert int.from_bytes(binary[18:20], "little") == ELF_MACHINE[level.target.machine]
            assert code.symbol.endswith(f"_{code.target.name}") and code.symbol.encode() in binary
            needed.update(elf.undefined(binary))
    assert needed <= C_LIBRARY


@pytest.mark.parametrize("name", OTHERS)
def test_vectors_are_vectors(name):
    """Of what `x * y + x` becomes on doubles."""
    jit.use_all_machines()
    level = BY_NAME[name]
    target = level.target._replace(triple=level.triple)
    of_doubles = [p for p in wanted()[name] if p.dims == "p" and len(p.body) == 6]
    (parfor,) = [p for p in of_doubles if "multiply[dd->d]" in str(p)]
    with kernels.compiling_for(target):
        _, codes = kernels.written(parfor, False)
    assert WORDS[level.target.machine] in jit.assembly(codes[0].ir, target)
