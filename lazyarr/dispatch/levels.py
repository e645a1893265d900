"""The CPU levels that code is generated for, and which of them this host has.

In:  LLVM's list of host features (never the CPU's name: hypervisors and new models lie), the
     option ``cpu_level``.
Out: one `Target`.
A level's feature string is exactly the level, never the host, so an object of one level runs on
every host that has it.  Levels of one machine imply the ones above them in the table.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache

from lazyarr.config import current
from lazyarr.dispatch.llvm import binding, lock
from lazyarr.target import Target


@dataclass(frozen=True, slots=True)
class Level:
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
BY_NAME = {level.target.name: level for level in LEVELS}


@cache
def host_features() -> frozenset[str]:
    """The features of the host's CPU that the operating system lets us use, by LLVM's names."""
    with lock:
        features = binding().get_host_cpu_features()
    return frozenset(name for name, present in features.items() if present)


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
