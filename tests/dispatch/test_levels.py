"""CPU levels: table, choice, refusal.  Each level's code is checked by disassembling it."""

from __future__ import annotations

import platform
from itertools import pairwise

import pytest

from lazyarr.config import options
from lazyarr.dispatch import jit, levels
from lazyarr.dispatch.levels import BY_NAME, LEVELS, host_level, host_levels, missing
from lazyarr.dispatch.llvm import binding

X86 = platform.machine().lower() in ("x86_64", "amd64")

MULTIPLY_ADD = """
define <{n} x double> @muladd_{name}(<{n} x double> %a, <{n} x double> %b, <{n} x double> %c) {{
  %r = call <{n} x double> @llvm.fma.v{n}f64(<{n} x double> %a, <{n} x double> %b, <{n} x double> %c)
  ret <{n} x double> %r
}}
declare <{n} x double> @llvm.fma.v{n}f64(<{n} x double>, <{n} x double>, <{n} x double>)
"""


def test_levels_imply_the_ones_above():
    for machine in ("x86_64", "aarch64"):
        rows = [level.target for level in LEVELS if machine in level.machines]
        for low, high in pairwise(rows):
            assert set(low.features.split(",")) < set(high.features.split(","))
            assert low.vector_bytes <= high.vector_bytes
            assert low.fma <= high.fma
            assert low.half <= high.half


def test_the_highest_level_is_chosen_and_a_lower_one_can_be_asked_for():
    names = [level.target.name for level in host_levels()]
    assert names, "this host has none of the levels"
    assert host_level().name == names[-1]
    for name in names:
        with options(cpu_level=name):
            assert host_level() is BY_NAME[name].target


def test_the_feature_list_decides(monkeypatch):
    if not X86:
        pytest.skip("names x86 features")
    full = levels.host_features()
    if "avx512f" not in full:
        pytest.skip("the host's own highest level is lower")
    monkeypatch.setattr(levels, "host_features", lambda: full - {"avx512vl"})
    assert missing(BY_NAME["X86_V4"]) == ["avx512vl"]
    levels.host_levels.cache_clear()
    try:
        assert host_level().name == "X86_V3"
        with options(cpu_level="X86_V4"), pytest.raises(RuntimeError, match="lacks avx512vl"):
            host_level()
    finally:
        levels.host_levels.cache_clear()


def test_levels_of_other_machines_are_refused():
    other = "ASIMD" if X86 else "X86_V3"
    with options(cpu_level=other), pytest.raises(RuntimeError, match="lacks a CPU of type"):
        host_level()


def test_unknown_levels_are_refused_with_the_names():
    with options(cpu_level="AVX2"), pytest.raises(ValueError, match="X86_V2 or X86_V3"):
        host_level()


@pytest.mark.parametrize("name", [level.target.name for level in LEVELS])
def test_generated_code_uses_the_level_and_no_more(name):
    llvm = binding()
    level = BY_NAME[name]
    if ("x86_64" in level.machines) != X86:
        pytest.skip("cross-compiled in test_jit")
    text = MULTIPLY_ADD.format(n=level.target.vector_bytes // 8, name=name)
    asm = jit._machine(level.target, 0).generator.emit_assembly(llvm.parse_assembly(text))
    assert ("zmm" in asm) == (level.target.vector_bytes == 64)
    assert ("ymm" in asm) == (level.target.vector_bytes == 32)
    assert ("vfmadd" in asm or "fmla" in asm) == level.target.fma
