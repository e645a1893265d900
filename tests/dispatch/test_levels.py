"""CPU levels: table, choice, refusal.  Each level's code is checked by disassembling it."""

from __future__ import annotations

import platform
import subprocess
import sys
from itertools import pairwise

import pytest

from lazyarr.config import options
from lazyarr.cpu_features import MACHINE
from lazyarr.dispatch import jit, levels
from lazyarr.dispatch.levels import BY_NAME, LEVELS, host_level, host_levels, missing, missing_from
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
    for machine in MACHINE:
        rows = [level.target for level in LEVELS if machine in level.machines]
        for low, high in pairwise(rows):
            assert set(low.features.split(",")) < set(high.features.split(","))
            assert high.features.startswith(low.features)
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


def test_levels_that_the_options_leave_out_cannot_be_asked_for():
    low, *_, high = [level.target.name for level in host_levels()]
    with options(cpu_dispatch="none"):
        assert host_level().name == low
        with pytest.raises(RuntimeError, match=f"leave {low}"), options(cpu_level=high):
            pass
    with options(cpu_level=high):
        assert host_level().name == high


def test_llvm_knows_each_feature_and_agrees_with_the_system():
    """What LLVM does not know it ignores, with a word on stderr: code would be of a lower level."""
    code = """
import llvmlite.binding as llvm
from lazyarr.dispatch.levels import LEVELS
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
for level in LEVELS:
    machine = llvm.Target.from_triple(level.triple).create_target_machine(
        cpu=level.cpu, features=level.target.features)
    head = f'target triple = "{level.triple}"\\ntarget datalayout = "{machine.target_data}"\\n'
    machine.emit_object(llvm.parse_assembly(head + "define void @f() {\\n  ret void\\n}\\n"))
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={"PYTHONPATH": ":".join(sys.path)})
    assert (done.stdout, done.stderr) == ("done\n", "")
    found = levels.llvm_features()
    assert not found or not missing_from(host_levels()[-1], found)


def test_a_cpu_of_which_llvm_knows_better_is_left_to_numpy(monkeypatch):
    monkeypatch.setattr(jit, "denied_by_llvm", lambda: frozenset({"SSE42", "NEON"}))
    assert "do not agree" in (jit._refusal() or "")
    monkeypatch.setattr(jit, "denied_by_llvm", lambda: frozenset({"VSX", "RVV"}))
    assert jit._refusal() is None


def test_the_feature_list_decides(monkeypatch):
    if not X86:
        pytest.skip("names x86 features")
    full = levels.host_features()
    if "AVX512F" not in full:
        pytest.skip("the host's own highest level is lower")
    monkeypatch.setattr(levels, "host_features", lambda: full - {"AVX512VL"})
    assert missing(BY_NAME["X86_V4"]) == ["AVX512VL"]
    levels.host_levels.cache_clear()
    try:
        assert host_level().name == "X86_V3"
        with options(cpu_level="X86_V4"), pytest.raises(RuntimeError, match="lacks AVX512VL"):
            host_level()
    finally:
        levels.host_levels.cache_clear()


def test_levels_of_other_machines_are_refused():
    other = "ASIMD" if X86 else "X86_V3"
    with pytest.raises(RuntimeError, match="lacks a CPU of type"), options(cpu_level=other):
        pass


def test_unknown_levels_are_refused_with_the_names():
    with pytest.raises(ValueError, match="X86_V2 or X86_V3" if X86 else " or "), options(cpu_level="AVX2"):
        pass


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
