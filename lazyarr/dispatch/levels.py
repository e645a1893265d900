"""The CPU levels that code is generated for, and which of them this process uses.

In:  the table of levels, the host's features by the system's or LLVM's list, the options for CPUs.
Out: one `Target`, or all that can run here.
A level's feature string is exactly the level, never the host, so an object of one level runs on
every host that has it.
"""

from __future__ import annotations

import platform
from contextlib import suppress
from functools import cache

from lazyarr import cpu_choice, cpu_features
from lazyarr.config import cpu_key, current
from lazyarr.cpu_choice import Choice, Selection
from lazyarr.cpu_features import FEATURES, MACHINE, feature_string, of_the_system, whole
from lazyarr.dispatch.llvm import binding, within
from lazyarr.records import NamedTuple
from lazyarr.target import Target


class Level(NamedTuple):
    """A level as code generation and LLVM see it."""

    target: Target
    machines: tuple[str, ...]
    """Names of the machine."""
    cpu: str
    """LLVM's base CPU."""
    triple: str
    """To compile for it elsewhere."""


def _level(row: cpu_features.Level) -> Level:
    machine = MACHINE[row.machine]
    features = feature_string(row.name)
    target = Target(row.name, features, row.vector_bytes, row.fma, row.half, row.machine)
    return Level(target, (machine.name, *machine.aliases), machine.cpu, machine.triple)


LEVELS = tuple(map(_level, cpu_features.LEVELS))
BY_NAME = {level.target.name: level for level in LEVELS}


@cache
def host_features() -> frozenset[str]:
    """The features of the host's CPU that the operating system lets us use, by NumPy's names."""
    found = of_the_system()
    return llvm_features() if found is None else found


@cache
def llvm_features() -> frozenset[str]:
    """The same as LLVM finds them; empty where it does not look."""
    with within(), suppress(RuntimeError):
        features = binding().get_host_cpu_features()
        return whole(f.name for f in FEATURES if features.get(f.llvm))
    return frozenset()


@cache
def denied_by_llvm() -> frozenset[str]:
    """The features that LLVM looks for, and does not find here; on some machines it looks for few."""
    with within(), suppress(RuntimeError):
        features = binding().get_host_cpu_features()
        return frozenset(f.name for f in FEATURES if features.get(f.llvm) is False)
    return frozenset()


def missing(level: Level) -> list[str]:
    """What the host lacks for a level: empty if it can run the level's code."""
    return missing_from(level, host_features())


def missing_from(level: Level, features: frozenset[str]) -> list[str]:
    """What such features lack for a level."""
    return cpu_choice.lacking(level.target.name, features)


@cache
def host_levels() -> tuple[Level, ...]:
    """The levels that the host has, lowest first."""
    return tuple(BY_NAME[name] for name in cpu_choice.host_levels(host_features()))


def selection() -> Selection:
    """What the options make of the host's levels; RuntimeError where they cannot be had."""
    return cpu_choice.resolve(Choice(*cpu_key()), host_features())


def usable_levels() -> tuple[Level, ...]:
    """The levels that kernels can be compiled for and run here, lowest first: `host_level` is one of them."""
    return tuple(BY_NAME[name] for name in selection().usable)


def host_level() -> Target:
    """Return the target to generate code for.

    Returns
    -------
    Target
        The one that the option ``cpu_level`` names, else the highest that the host has and the options leave.

    Raises
    ------
    RuntimeError
        If the host lacks the level, the options leave it out, or there is none.
    """
    usable = usable_levels()
    if not usable:
        raise RuntimeError(f"no code can be generated for this CPU ({platform.machine()})")
    return BY_NAME[current.cpu_level or usable[-1].target.name].target
