"""The CPU levels that code is generated for, and which of them this host has.

In:  the host's features, by the kernel's or LLVM's list (never the CPU's name: hypervisors and new
     models lie), the option ``cpu_level``.
Out: one `Target`.
A level's feature string is exactly the level, never the host, so an object of one level runs on
every host that has it.  Levels of one machine imply the ones above them in the table.
"""

from __future__ import annotations

import platform
import sys
from functools import cache
from typing import NamedTuple

from lazyarr.config import current
from lazyarr.dispatch.llvm import binding, lock
from lazyarr.target import Target


class Level(NamedTuple):
    """One row: the target, the machines that can have it, and LLVM's name of its base CPU."""

    target: Target
    machines: tuple[str, ...]
    cpu: str


_X86 = ("x86_64", "amd64")
_ARM = ("aarch64", "arm64")
# The x86-64 psABI's micro-architecture levels, as NumPy's.
_V2 = "+cx16,+popcnt,+sahf,+sse3,+ssse3,+sse4.1,+sse4.2"
_V3 = _V2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
_V4 = _V3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"

LEVELS = (
    Level(Target("X86_V2", _V2, vector_bytes=16, fma=False, half=False), _X86, "x86-64"),
    Level(Target("X86_V3", _V3, vector_bytes=32, fma=True, half=True), _X86, "x86-64"),
    Level(Target("X86_V4", _V4, vector_bytes=64, fma=True, half=True), _X86, "x86-64"),
    Level(Target("ASIMD", "+neon", vector_bytes=16, fma=True, half=True), _ARM, "generic"),
)
_NAMES = frozenset(f.lstrip("+") for level in LEVELS for f in level.target.features.split(","))
BY_NAME = {level.target.name: level for level in LEVELS}


_CPUINFO = "/proc/cpuinfo"
_FIRST_CPU = 1 << 13
"""Bytes of the page that hold the first CPU, at least."""
_LINUX = {
    "sahf": "lahf_lm", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1", "lzcnt": "abm"
}  # fmt: skip
"""Linux's names of features, where they are not LLVM's."""


@cache
def host_features() -> frozenset[str]:
    """The features of the host's CPU that the operating system lets us use, by LLVM's names."""
    flags = _linux_flags()
    if flags:
        return frozenset(name for name in _NAMES if _LINUX.get(name, name) in flags)
    with lock:
        features = binding().get_host_cpu_features()
    return frozenset(name for name, present in features.items() if present)


def _linux_flags() -> frozenset[str]:
    """What Linux says of the first x86 CPU: it clears what the CPU has and the kernel does not save.

    Read because LLVM takes a tenth of a second to load, which cached code does not need."""
    if sys.platform != "linux":
        return frozenset()
    try:
        with open(_CPUINFO, "rb", buffering=0) as file:
            text = file.read(_FIRST_CPU).decode("ascii", "replace")
    except OSError:
        return frozenset()
    lines = [line for line in text.splitlines(True) if line.startswith("flags") and line.endswith("\n")]
    return frozenset(lines[0].partition(":")[2].split()) if lines else frozenset()


def missing(level: Level) -> list[str]:
    """What the host lacks for a level: empty if it can run the level's code."""
    if platform.machine().lower() not in level.machines:
        return [f"a CPU of type {level.machines[0]}"]
    wanted = [feature.lstrip("+") for feature in level.target.features.split(",")]
    return [feature for feature in wanted if feature not in host_features()]


@cache
def host_levels() -> tuple[Level, ...]:
    """The levels that the host has, lowest first."""
    return tuple(level for level in LEVELS if not missing(level))


def host_level() -> Target:
    """Return the target to generate code for.

    Returns
    -------
    Target
        The one that the option ``cpu_level`` names, else the highest of the host.

    Raises
    ------
    ValueError
        If the option names no level.
    RuntimeError
        If the host lacks the level, or has none.
    """
    name = current.cpu_level
    if name:
        if name not in BY_NAME:
            raise ValueError(f"cpu_level={name!r} must be {' or '.join(BY_NAME)}")
        lacks = missing(BY_NAME[name])
        if lacks:
            raise RuntimeError(f"cpu_level={name!r}: this host lacks {', '.join(lacks)}")
        return BY_NAME[name].target
    if not host_levels():
        raise RuntimeError(f"no code can be generated for this CPU ({platform.machine()})")
    return host_levels()[-1].target
