"""For which CPU levels there is code of an op: statements, as those of NumPy's sources.

In:  a statement of the op table, a level, the levels of the baseline.   Out: the level that is chosen.

    statement = word (" " word)*
    word      = level                  there is code for it, which the levels above it run, too
              | "#" group              a name of `GROUPS`: several levels
              | "baseline"             there is code for the baseline, where no level that is named fits
              | "$" policy             a row of `POLICIES`

An op that a kernel writes into itself is written for the kernel's own level, if the statement has one that
this level implies; else the kernel calls NumPy's loop.  A function of ours that kernels call (draws,
elementary and scalar functions) is compiled for the level that is chosen: those that would give the same
code share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from lazyarr.cpu_features import LEVEL, LEVELS, MACHINE, with_implied
from lazyarr.records import NamedTuple

GROUPS = {
    "each": tuple(level.name for level in LEVELS),
    "widths": ("X86_V2", "X86_V3", "X86_V4", "ASIMD", "SVE", "VSX2", "RVV"),
    "x86": tuple(level.name for level in LEVELS if level.machine == "x86_64"),
}
"""Levels that statements name together: all; those that differ in what arithmetic of floats and 64-bit
integers has: registers, fused products; those with x86's status flags."""

POLICIES = {
    "maxopt": "LLVM's code generation at level 2, not 0: for what is compiled once for all programs",
    "keep_sort": "levels are tried as they are written; else the highest first",
    "keep_baseline": "levels that the baseline has stay levels of their own; else they are the baseline",
}

OPTIMISED = 2
"""LLVM's code generation level under ``$maxopt``."""

class Statement(NamedTuple):
    """A statement, read."""

    levels: tuple[str, ...]
    """As they are written."""
    baseline: bool
    opt: int
    """LLVM's code generation level."""
    keep_sort: bool
    keep_baseline: bool


@cache
def read(statement: str) -> Statement:
    """Read a statement.

    Raises
    ------
    ValueError
        For a word that is no level, group or policy.
    """
    levels: dict[str, None] = {}
    policies = set()
    for word in statement.split():
        if word[0] == "$" and word[1:] in POLICIES:
            policies.add(word[1:])
        elif word[0] == "#" and word[1:] in GROUPS:
            levels.update(dict.fromkeys(GROUPS[word[1:]]))
        elif word == "baseline" or word in LEVEL:
            levels[word] = None
        else:
            raise ValueError(f"targets {statement!r}: there is no {word}")
    return Statement(
        tuple(level for level in levels if level != "baseline"), "baseline" in levels,
        OPTIMISED if "maxopt" in policies else 0, "keep_sort" in policies, "keep_baseline" in policies,
    )  # fmt: skip


@cache
def has(statement: str, level: str) -> bool:
    """Is there code of ours for a level, or for one that it implies?"""
    found = read(statement)
    return found.baseline or not set(found.levels).isdisjoint(with_implied(level))


@cache
def built(statement: str, machine: str, baseline: tuple[str, ...]) -> tuple[str, ...]:
    """The levels of a machine that code is compiled for, in the order in which they are tried.

    `baseline` are the levels that the baseline has, lowest first."""
    found = read(statement)
    order = [level.name for level in reversed(LEVELS)]
    named = [level for level in found.levels if LEVEL[level].machine == machine]
    named = named if found.keep_sort else sorted(named, key=order.index)
    own = [level for level in named if found.keep_baseline or level not in baseline]
    last = baseline[-1:] if found.baseline or len(own) < len(named) else ()
    return tuple(dict.fromkeys([*own, *last]))


@cache
def chosen(statement: str, level: str, baseline: Sequence[str]) -> str:
    """The level whose code a kernel of `level` calls.

    Raises
    ------
    ValueError
        If there is none (`has`)."""
    if not has(statement, level):
        raise ValueError(f"targets {statement!r}: nothing for {level}")
    mine = with_implied(level)
    fits = [name for name in built(statement, LEVEL[level].machine, tuple(baseline)) if name in mine]
    return fits[0] if fits else level


def baseline_of(machine: str) -> tuple[str, ...]:
    """The levels that every CPU of a machine is taken to have: of those that are not this one."""
    least = MACHINE[machine].least
    return with_implied(least) if least else ()
