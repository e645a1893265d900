"""The table of CPU features and levels, and what the operating system says of this CPU.

In:  nothing.   Out: `FEATURES`, `MACHINES`, `LEVELS`, `of_the_system`.
Features have NumPy's names; a level is a set of features, and has those of the level that it implies.
Nothing here needs LLVM, which takes a tenth of a second to load: `dispatch.levels` compares the two.
A CPU is known by its features alone, never by its name: hypervisors and new models lie.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Iterable
from functools import cache

from lazyarr.records import NamedTuple


class Feature(NamedTuple):
    """One row: what it is called, what it cannot be without, and where the system tells of it."""

    name: str
    llvm: str
    implies: str
    seen: str | tuple[int, int]
    """Linux's flag on x86; else an entry of the auxiliary vector and a bit of it."""


HWCAP, HWCAP2 = 16, 26          # entries of the auxiliary vector (elf.h)

FEATURES = (
    Feature("SSE", "sse", "", "sse"),
    Feature("SSE2", "sse2", "SSE", "sse2"),
    Feature("SSE3", "sse3", "SSE2", "pni"),
    Feature("SSSE3", "ssse3", "SSE3", "ssse3"),
    Feature("SSE41", "sse4.1", "SSSE3", "sse4_1"),
    Feature("SSE42", "sse4.2", "SSE41", "sse4_2"),
    Feature("POPCNT", "popcnt", "", "popcnt"),
    Feature("CX16", "cx16", "", "cx16"),
    Feature("LAHF", "sahf", "", "lahf_lm"),
    Feature("AVX", "avx", "SSE42", "avx"),
    Feature("F16C", "f16c", "AVX", "f16c"),
    Feature("FMA3", "fma", "AVX", "fma"),
    Feature("AVX2", "avx2", "AVX", "avx2"),
    Feature("BMI", "bmi", "", "bmi1"),
    Feature("BMI2", "bmi2", "", "bmi2"),
    Feature("LZCNT", "lzcnt", "", "abm"),
    Feature("MOVBE", "movbe", "", "movbe"),
    Feature("AVX512F", "avx512f", "AVX2 FMA3 F16C", "avx512f"),
    Feature("AVX512CD", "avx512cd", "AVX512F", "avx512cd"),
    Feature("AVX512BW", "avx512bw", "AVX512F", "avx512bw"),
    Feature("AVX512DQ", "avx512dq", "AVX512F", "avx512dq"),
    Feature("AVX512VL", "avx512vl", "AVX512F", "avx512vl"),
    Feature("AVX512IFMA", "avx512ifma", "AVX512F", "avx512ifma"),
    Feature("AVX512VBMI", "avx512vbmi", "AVX512BW", "avx512vbmi"),
    Feature("AVX512VBMI2", "avx512vbmi2", "AVX512BW", "avx512_vbmi2"),
    Feature("AVX512VNNI", "avx512vnni", "AVX512F", "avx512_vnni"),
    Feature("AVX512BITALG", "avx512bitalg", "AVX512BW", "avx512_bitalg"),
    Feature("AVX512VPOPCNTDQ", "avx512vpopcntdq", "AVX512F", "avx512_vpopcntdq"),
    Feature("GFNI", "gfni", "", "gfni"),
    Feature("VAES", "vaes", "AVX2", "vaes"),
    Feature("VPCLMULQDQ", "vpclmulqdq", "AVX", "vpclmulqdq"),
    Feature("AVX512BF16", "avx512bf16", "AVX512BW", "avx512_bf16"),
    Feature("AVX512FP16", "avx512fp16", "AVX512BW AVX512VL", "avx512_fp16"),
    Feature("AVXVNNI", "avxvnni", "AVX2", "avx_vnni"),
    Feature("AVX512VP2INTERSECT", "avx512vp2intersect", "AVX512F", "avx512_vp2intersect"),
    Feature("CLZERO", "clzero", "", "clzero"),
    Feature("NEON", "neon", "", (HWCAP, 1)),
    Feature("FPHP", "fullfp16", "", (HWCAP, 9)),
    Feature("ASIMDHP", "fullfp16", "NEON FPHP", (HWCAP, 10)),
    Feature("ASIMDDP", "dotprod", "NEON", (HWCAP, 20)),
    Feature("ASIMDFHM", "fp16fml", "ASIMDHP", (HWCAP, 23)),
    Feature("SVE", "sve", "ASIMDHP", (HWCAP, 22)),
    Feature("VSX", "vsx", "", (HWCAP, 7)),
    Feature("VSX2", "power8-vector", "VSX", (HWCAP2, 31)),
    Feature("VSX3", "power9-vector", "VSX2", (HWCAP2, 23)),
    Feature("VSX4", "power10-vector", "VSX3", (HWCAP2, 18)),
    Feature("RVV", "v", "", (HWCAP, 21)),
)


class Machine(NamedTuple):
    """A kind of CPU: what it is called, LLVM's base for it, and the level that `min` stands for."""

    name: str
    aliases: tuple[str, ...]
    cpu: str
    triple: str
    always: str
    """LLVM's features that all of them have which a system runs on."""
    least: str


MACHINES = (
    Machine("x86_64", ("amd64",), "x86-64", "x86_64-unknown-linux-gnu", "", "X86_V2"),
    Machine("aarch64", ("arm64",), "generic", "aarch64-unknown-linux-gnu", "", "ASIMD"),
    Machine("ppc64le", ("powerpc64le",), "ppc64le", "powerpc64le-unknown-linux-gnu", "", "VSX2"),
    Machine("riscv64", (), "generic-rv64", "riscv64-unknown-linux-gnu", "+m,+a,+f,+d,+c", ""),
)


class Level(NamedTuple):
    """One row: a set of features that code is generated for."""

    name: str
    machine: str
    implies: str
    adds: str
    """Its features, besides those of the level that it implies."""
    vector_bytes: int
    fma: bool
    half: bool


LEVELS = (
    Level("X86_V2", "x86_64", "", "CX16 POPCNT LAHF SSE SSE2 SSE3 SSSE3 SSE41 SSE42", 16, False, False),
    Level("X86_V3", "x86_64", "X86_V2", "AVX AVX2 BMI BMI2 F16C FMA3 LZCNT MOVBE", 32, True, True),
    Level("X86_V4", "x86_64", "X86_V3", "AVX512F AVX512BW AVX512CD AVX512DQ AVX512VL", 64, True, True),
    Level(
        "AVX512_ICL", "x86_64", "X86_V4", "AVX512IFMA AVX512VBMI AVX512VBMI2 AVX512VNNI AVX512BITALG "
        "AVX512VPOPCNTDQ GFNI VAES VPCLMULQDQ", 64, True, True
    ),
    Level("AVX512_SPR", "x86_64", "AVX512_ICL", "AVX512BF16 AVX512FP16", 64, True, True),
    Level("ASIMD", "aarch64", "", "NEON", 16, True, True),
    Level("ASIMDHP", "aarch64", "ASIMD", "FPHP ASIMDHP", 16, True, True),
    Level("SVE", "aarch64", "ASIMDHP", "SVE", 16, True, True),
    Level("VSX2", "ppc64le", "", "VSX VSX2", 16, True, False),
    Level("VSX3", "ppc64le", "VSX2", "VSX3", 16, True, False),
    Level("VSX4", "ppc64le", "VSX3", "VSX4", 16, True, False),
    Level("RVV", "riscv64", "", "RVV", 16, True, False),
)  # fmt: skip
"""The levels of a machine, each above those that it implies.  The x86-64 psABI's, then NumPy's."""

FEATURE = {feature.name: feature for feature in FEATURES}
MACHINE = {machine.name: machine for machine in MACHINES}
LEVEL = {level.name: level for level in LEVELS}


@cache
def here() -> str:
    """The machine that this process runs on, by its name in `MACHINES`; else the system's word for it."""
    found = platform.machine().lower()
    return next((m.name for m in MACHINES if found in (m.name, *m.aliases)), found)


@cache
def with_implied(level: str) -> tuple[str, ...]:
    """A level and all that it implies, lowest first."""
    below = LEVEL[level].implies
    return (*(with_implied(below) if below else ()), level)


@cache
def features_of(level: str) -> tuple[str, ...]:
    """All features of a level, those of the lowest level that it implies first."""
    return tuple(name for each in with_implied(level) for name in LEVEL[each].adds.split())


@cache
def feature_string(level: str) -> str:
    """LLVM's features of a level: exactly these, never the host's."""
    always = MACHINE[LEVEL[level].machine].always
    names = dict.fromkeys(f"+{FEATURE[name].llvm}" for name in features_of(level))
    return ",".join([*filter(None, [always]), *names])


def whole(found: Iterable[str]) -> frozenset[str]:
    """The features whose implied ones are there: a hypervisor may mask one, and forget what needs it."""
    kept = frozenset(found)
    while True:
        rest = frozenset(name for name in kept if kept.issuperset(FEATURE[name].implies.split()))
        if rest == kept:
            return kept
        kept = rest


_CPUINFO, _AUXV = "/proc/cpuinfo", "/proc/self/auxv"
_FIRST_CPU = 1 << 13
"""Bytes of the page that hold the first CPU, at least."""


@cache
def of_the_system() -> frozenset[str] | None:
    """The features that the system says programs may use; None where only LLVM can tell."""
    if sys.platform != "linux":
        return None
    try:
        seen = _flags() if here() == "x86_64" else _auxiliary()
    except OSError:
        return None
    return whole(f.name for f in FEATURES if f.seen in seen) if seen else None


def _flags() -> frozenset[str | tuple[int, int]]:
    """What Linux says of the first x86 CPU: it clears what the CPU has and the kernel does not save."""
    with open(_CPUINFO, "rb", buffering=0) as file:
        text = file.read(_FIRST_CPU).decode("ascii", "replace")
    lines = [line for line in text.splitlines(True) if line.startswith("flags") and line.endswith("\n")]
    return frozenset(lines[0].partition(":")[2].split()) if lines else frozenset()


def _auxiliary() -> frozenset[str | tuple[int, int]]:
    """The bits of the auxiliary vector's hardware capabilities, if it is of a machine in the table."""
    if here() not in MACHINE:
        return frozenset()
    with open(_AUXV, "rb") as file:
        raw = file.read()
    entries = dict(struct.iter_unpack("=QQ", raw[: len(raw) // 16 * 16]))
    words = [(kind, entries.get(kind, 0)) for kind in (HWCAP, HWCAP2)]
    return frozenset((kind, k) for kind, word in words for k in range(64) if word >> k & 1)
