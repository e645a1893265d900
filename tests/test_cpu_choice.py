"""Baseline and dispatch sets: names, groups, signs; what is refused, and with which words."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from lazyarr import cpu_features
from lazyarr.cpu_choice import Choice, host_levels, lacking, resolve
from lazyarr.cpu_features import FEATURE, FEATURES, LEVEL, LEVELS, MACHINES, features_of, whole, with_implied

ROOT = Path(__file__).parents[1]
SPR = frozenset(features_of("AVX512_SPR"))
V4 = frozenset(features_of("X86_V4"))
V3 = frozenset(features_of("X86_V3"))


@pytest.fixture(autouse=True)
def on_x86(monkeypatch):
    monkeypatch.setattr("lazyarr.cpu_choice.here", lambda: "x86_64")
    resolve.cache_clear()
    yield
    resolve.cache_clear()


@pytest.mark.parametrize(
    ("baseline", "dispatch", "expected"),
    [
        ("min", "max", ("X86_V2", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR", "X86_V2 X86_V3 X86_V4")),
        ("min", "none", ("X86_V2", "", "X86_V2")),
        ("native", "max", ("X86_V2 X86_V3 X86_V4", "AVX512_ICL AVX512_SPR", "X86_V4")),
        ("x86_v3", "max", ("X86_V2 X86_V3", "X86_V4 AVX512_ICL AVX512_SPR", "X86_V3 X86_V4")),
        ("min", "X86_V4", ("X86_V2", "X86_V3 X86_V4", "X86_V2 X86_V3 X86_V4")),
        ("min", "max -X86_V4", ("X86_V2", "X86_V3", "X86_V2 X86_V3")),
        ("min", "max-X86_V4", ("X86_V2", "X86_V3", "X86_V2 X86_V3")),
        ("min", "max - X86_V4", ("X86_V2", "X86_V3", "X86_V2 X86_V3")),
        ("min", "none+X86_V3+X86_V4", ("X86_V2", "X86_V3 X86_V4", "X86_V2 X86_V3 X86_V4")),
        ("min", "-AVX512_ICL", ("X86_V2", "X86_V3 X86_V4", "X86_V2 X86_V3 X86_V4")),
        ("min", "none + avx512f", ("X86_V2", "X86_V3 X86_V4", "X86_V2 X86_V3 X86_V4")),
        ("+avx2", "native", ("X86_V2 X86_V3", "X86_V4", "X86_V3 X86_V4")),
        ("sse42,fma3", "max,-avx512_spr", ("X86_V2 X86_V3", "X86_V4 AVX512_ICL", "X86_V3 X86_V4")),
        ("min", "SVE ASIMD", ("X86_V2", "", "X86_V2")),
        ("X86_V3 SVE", "none", ("X86_V2 X86_V3", "", "X86_V3")),
        ("none", "X86_V3", ("", "X86_V2 X86_V3", "X86_V2 X86_V3")),
        ("X86_V3 -X86_V3", "X86_V4 -X86_V4", ("X86_V2", "X86_V3", "X86_V2 X86_V3")),
        ("min", "max -X86_V3 X86_V3", ("X86_V2", "X86_V3", "X86_V2 X86_V3")),
    ],
)
def test_sets(baseline, dispatch, expected):
    found = resolve(Choice(cpu_baseline=baseline, cpu_dispatch=dispatch), V4)
    assert tuple(map(" ".join, found)) == expected


@pytest.mark.parametrize(
    ("off", "on", "usable"),
    [
        ("", "", "X86_V2 X86_V3 X86_V4 AVX512_ICL AVX512_SPR"),
        ("AVX512VL", "", "X86_V2 X86_V3"),
        ("AVX512_ICL", "", "X86_V2 X86_V3 X86_V4"),
        ("x86_v3", "", "X86_V2"),
        ("AVX512FP16, GFNI", "", "X86_V2 X86_V3 X86_V4"),
        ("", "X86_V3", "X86_V2 X86_V3"),
        ("", "AVX2", "X86_V2 X86_V3"),
        ("GFNI", "X86_V4", "X86_V2 X86_V3 X86_V4"),
        ("SVE", "", "X86_V2 X86_V3 X86_V4 AVX512_ICL AVX512_SPR"),
    ],
)
def test_disabled_and_enabled(off, on, usable):
    choice = Choice(disable_cpu_features=off, enable_cpu_features=on)
    assert " ".join(resolve(choice, SPR).usable) == usable


def test_without_optimization_there_is_the_baseline():
    assert resolve(Choice(disable_optimization=True), SPR).usable == ("X86_V2",)
    found = resolve(Choice(cpu_baseline="X86_V3", disable_optimization=True), SPR)
    assert found == (("X86_V2", "X86_V3"), (), ("X86_V3",))


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"cpu_baseline": "AVX512_SPR"}, RuntimeError, "AVX512_ICL, but this host lacks AVX512IFMA"),
        ({"cpu_baseline": "max"}, RuntimeError, "it has X86_V2, X86_V3, X86_V4"),
        ({"cpu_baseline": "SVE"}, RuntimeError, "nothing of it for this machine"),
        ({"cpu_dispatch": "AVX9"}, ValueError, "names AVX9; there are min, max, native, none; levels X86_V2"),
        ({"disable_cpu_features": "SSE42"}, RuntimeError, "SSE42 cannot be disabled, being part"),
        ({"cpu_baseline": "X86_V3", "disable_cpu_features": "X86_V3"}, RuntimeError, "part of the baseline"),
        ({"enable_cpu_features": "AVX2", "disable_cpu_features": "F16C"}, RuntimeError, "both enabled"),
        ({"enable_cpu_features": "X86_V4", "disable_cpu_features": "X86_V3"}, RuntimeError, "both enabled"),
        ({"enable_cpu_features": "AVX512_SPR"}, RuntimeError, "this host lacks AVX512IFMA"),
        ({"enable_cpu_features": "X86_V4", "cpu_dispatch": "X86_V3"}, RuntimeError, "not in the dispatch"),
        ({"disable_cpu_features": "max"}, ValueError, "takes names of features and levels, not MAX"),
    ],
)
def test_what_is_refused(options, error, why):
    with pytest.raises(error, match=why):
        resolve(Choice(**options), V4)


def test_a_host_without_the_default_baseline_has_no_levels():
    assert resolve(Choice(), frozenset({"SSE", "SSE2"})).usable == ()


def test_a_feature_is_absent_where_one_that_it_implies_is_masked():
    assert whole(SPR - {"AVX512F"}) == V3 | {"GFNI", "VAES", "VPCLMULQDQ"}
    assert whole(SPR - {"SSE42"}).isdisjoint({"AVX", "AVX2", "FMA3", "AVX512F", "VAES"})
    assert host_levels(whole(SPR - {"AVX"})) == ("X86_V2",)


def test_the_table_is_whole():
    machines = {machine.name for machine in MACHINES}
    for feature in FEATURES:
        assert set(feature.implies.split()) <= set(FEATURE)
    for level in LEVELS:
        assert level.machine in machines
        assert whole(features_of(level.name)) == set(features_of(level.name)), "a level implies what it needs"
        assert with_implied(level.name)[-1] == level.name
    for machine in MACHINES:
        assert not machine.least or LEVEL[machine.least].machine == machine.name


def test_levels_of_other_machines_lack_the_machine():
    assert lacking("SVE", SPR) == ["a CPU of type aarch64"]


@pytest.mark.parametrize(
    ("machine", "words", "expected"),
    [
        ("aarch64", {16: 1 << 1}, "ASIMD"),
        ("aarch64", {16: 1 << 1 | 1 << 9 | 1 << 10 | 1 << 22}, "ASIMD ASIMDHP SVE"),
        ("aarch64", {16: 1 << 1 | 1 << 22}, "ASIMD"),
        ("ppc64le", {16: 1 << 7, 26: 1 << 31 | 1 << 23}, "VSX2 VSX3"),
        ("riscv64", {16: 1 << 21 | 1}, "RVV"),
        ("riscv64", {16: 1}, ""),
    ],
)
def test_the_auxiliary_vector(machine, words, expected, monkeypatch, tmp_path):
    place = tmp_path / "auxv"
    place.write_bytes(b"".join(struct.pack("=QQ", *pair) for pair in {**words, 0: 0}.items()))
    monkeypatch.setattr(cpu_features, "_AUXV", str(place))
    for name in ("lazyarr.cpu_features.here", "lazyarr.cpu_choice.here"):
        monkeypatch.setattr(name, lambda: machine)
    monkeypatch.setattr(cpu_features.sys, "platform", "linux")
    found = cpu_features.of_the_system.__wrapped__()
    assert found is not None and " ".join(host_levels(found)) == expected


def imported(**env: str) -> subprocess.CompletedProcess:
    code = """
import sys, lazyarr as np
print('llvmlite' in sys.modules, *np.__cpu_baseline__, '|', *np.__cpu_dispatch__)
"""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT), **{f"LAZYARR_{k.upper()}": v for k, v in env.items()}},
    )  # fmt: skip


@pytest.mark.skipif(cpu_features.here() != "x86_64", reason="names x86 levels")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only LLVM knows the host")
def test_the_environment_is_held_against_the_host_at_import():
    done = imported(cpu_baseline="x86_v2", cpu_dispatch="x86_v3")
    assert done.stdout == "False X86_V2 | X86_V3\n", done.stderr
    for env, error in (
        ({"cpu_baseline": "SVE"}, "RuntimeError: cpu_baseline='SVE': there is nothing of it"),
        ({"disable_cpu_features": "SSE42"}, "RuntimeError: disable_cpu_features='SSE42': SSE42 cannot"),
        ({"cpu_dispatch": "sse9"}, "ValueError: LAZYARR_CPU_DISPATCH='sse9' names SSE9"),
        ({"disable_cpu_features": "AVX2", "enable_cpu_features": "X86_V3"}, "RuntimeError: X86_V3 cannot be"),
    ):
        failed = imported(**env)
        assert failed.returncode == 1
        assert failed.stderr.strip().splitlines()[-1].startswith(error)
