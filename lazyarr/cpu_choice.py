"""Which levels code is generated for: what the options say, held against the host.

In:  `Choice`, the options as words; the host's features.
Out: `Selection`, or an error that names the option.

    option = word (("," | " ")+ word)*           names in capitals or small letters, from left to right
    word   = ["+" | "-"] name                    "-" takes away; a first word with a sign changes the default
    name   = "min" | "max" | "native" | "none"   of this machine: the least level, all, the host's, none
           | level                               with all that it implies; taken away, with all that imply it
           | feature                             the lowest level that has it

The baseline is what code may rely on; the dispatch set is what it is compiled for besides, to be chosen by
what the host has.  Names of other machines are passed over, so one setting serves many.  As with NumPy's
build options of these names, the last word on a name counts: of "X86_V3 -X86_V3" nothing of X86_V3 is left.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lazyarr.cpu_features import FEATURE, LEVEL, LEVELS, MACHINE, features_of, here, with_implied
from lazyarr.records import NamedTuple


class Choice(NamedTuple):
    """The options that say for which CPUs code is generated: each is a field of `config.Options`."""

    cpu_level: str = ""
    cpu_baseline: str = "min"
    cpu_dispatch: str = "max"
    disable_cpu_features: str = ""
    enable_cpu_features: str = ""
    disable_optimization: bool = False


class Selection(NamedTuple):
    """What follows from a choice on a host."""

    baseline: tuple[str, ...]
    """Levels that code may rely on, lowest first."""
    dispatch: tuple[str, ...]
    """Levels that code is compiled for besides."""
    usable: tuple[str, ...]
    """Levels that code can be compiled for and run here, lowest first: the highest of the baseline, and those
    of the dispatch set that the host has and that are not disabled."""


GROUPS = ("MIN", "MAX", "NATIVE", "NONE")


def words(text: str) -> list[tuple[str, str]]:
    """Signs and names of an option, in capitals; as NumPy does, it takes signs without spaces, too.

    Raises
    ------
    ValueError
        For a name that is no group, level or feature.
    """
    found = []
    for sign, word in re.findall(r"([+-]?)\s*([^\s,+-]+)", text):
        name = word.upper()
        if name not in GROUPS and name not in LEVEL and name not in FEATURE:
            raise ValueError(f"names {name}; there are {known()}")
        found.append((sign, name))
    return found


def names(text: str) -> list[str]:
    """Features and levels of an option that takes neither signs nor groups; ValueError as for `words`."""
    found = words(text)
    for sign, name in found:
        if sign or name in GROUPS:
            raise ValueError(f"takes names of features and levels, not {sign}{name}")
    return [name for _, name in found]


def known_level(name: str) -> None:
    """Accept the name of a level, of any machine; ValueError, with those of this one, for any other name."""
    if name not in LEVEL:
        raise ValueError(f"must be {' or '.join(_mine())}")


def _mine() -> list[str]:
    return [level.name for level in LEVELS if level.machine == here()]


def known() -> str:
    """The names that the options take, for messages."""
    mine = _mine()
    own = dict.fromkeys(name for level in mine for name in features_of(level))
    return f"{', '.join(g.lower() for g in GROUPS)}; levels {', '.join(mine)}; features {', '.join(own)}"


def level_of(name: str) -> str | None:
    """The level of this machine that a name stands for: itself, or the lowest that has the feature."""
    return next((level for level in _mine() if name == level or name in LEVEL[level].adds.split()), None)


def lacking(level: str, host: frozenset[str]) -> list[str]:
    """The features of a level that the host does not have."""
    if LEVEL[level].machine != here():
        return [f"a CPU of type {LEVEL[level].machine}"]
    return [name for name in features_of(level) if name not in host]


def host_levels(host: frozenset[str]) -> tuple[str, ...]:
    """The levels that a host has, lowest first."""
    return tuple(level.name for level in LEVELS if not lacking(level.name, host))


def _set(text: str, default: str, host: frozenset[str]) -> frozenset[str]:
    """The levels that an option names, with what they imply."""
    given = words(text)
    kept = _set(default, default, host) if given and given[0][0] else frozenset()
    for sign, name in given:
        levels = _named(name, host)
        if sign != "-":
            kept |= {below for level in levels for below in with_implied(level)}
        else:
            kept = frozenset(level for level in kept if levels.isdisjoint(with_implied(level)))
    return kept


def _named(name: str, host: frozenset[str]) -> frozenset[str]:
    if name in GROUPS:
        least = MACHINE[here()].least if here() in MACHINE else ""
        groups = {"MIN": [least] if least else [], "MAX": _mine(), "NATIVE": host_levels(host), "NONE": []}
        return frozenset(groups[name])
    level = level_of(name)
    return frozenset([level] if level else [])


def _ordered(levels: frozenset[str]) -> tuple[str, ...]:
    return tuple(level.name for level in LEVELS if level.name in levels)


@lru_cache(256)
def resolve(choice: Choice, host: frozenset[str]) -> Selection:
    """What the options mean on a host.

    Raises
    ------
    ValueError
        For an unknown name.
    RuntimeError
        If the host lacks the baseline, something is both enabled and disabled, what is disabled is part
        of the baseline, what is enabled is not there to be enabled, or the level asked for not to be used.
    """
    baseline = _baseline(choice, host)
    wanted = "none" if choice.disable_optimization else choice.cpu_dispatch
    dispatch = _set(wanted, Choice().cpu_dispatch, host) - baseline
    disabled, enabled = _switched(choice, baseline, dispatch, host)
    on = frozenset(
        level for level in dispatch
        if disabled.isdisjoint(features_of(level)) and (enabled is None or level in enabled)
    )
    compiled = (*_ordered(baseline)[-1:], *_ordered(on))
    usable = tuple(level for level in compiled if not lacking(level, host))
    _hold(choice.cpu_level, usable, host)
    return Selection(_ordered(baseline), _ordered(dispatch), usable)


def _hold(level: str, usable: tuple[str, ...], host: frozenset[str]) -> None:
    """Is there the level that is asked for?"""
    if not level or level in usable:
        return
    known_level(level)
    lacks = lacking(level, host)
    if lacks:
        raise RuntimeError(f"cpu_level={level!r}: this host lacks {', '.join(lacks)}")
    raise RuntimeError(f"cpu_level={level!r}: the options for CPUs leave {', '.join(usable)} (`get_options`)")


def _baseline(choice: Choice, host: frozenset[str]) -> frozenset[str]:
    text = choice.cpu_baseline
    baseline = _set(text, Choice().cpu_baseline, host)
    if text.strip().lower() == Choice().cpu_baseline:
        return baseline             # a host without it has no levels, and NumPy does all work
    if not baseline and "NONE" not in {name for _, name in words(text)}:
        raise RuntimeError(f"cpu_baseline={text!r}: there is nothing of it for this machine ({here()})")
    for level in _ordered(baseline):
        lacks = lacking(level, host)
        if lacks:
            raise RuntimeError(
                f"cpu_baseline={text!r} has {level}, but this host lacks {', '.join(lacks)}; "
                f"it has {', '.join(host_levels(host)) or 'no level'}"
            )
    return baseline


def _switched(
    choice: Choice, baseline: frozenset[str], dispatch: frozenset[str], host: frozenset[str]
) -> tuple[frozenset[str], frozenset[str] | None]:
    """Features that are disabled; levels that alone are enabled, or None."""
    disabled, on = disabled_features(choice), names(choice.enable_cpu_features)
    relied = disabled & {f for level in baseline for f in features_of(level)}
    if relied:
        raise RuntimeError(
            f"disable_cpu_features={choice.disable_cpu_features!r}: {', '.join(sorted(relied))} cannot be "
            f"disabled, being part of the baseline ({' '.join(_ordered(baseline))})"
        )
    if not on:
        return disabled, None
    levels = {level: name for name in on if (level := level_of(name))}
    enabled = frozenset(below for level in levels for below in with_implied(level))
    both = [name for level, name in levels.items() if not disabled.isdisjoint(features_of(level))]
    if both:
        raise RuntimeError(
            f"{', '.join(both)} cannot be both enabled (enable_cpu_features={choice.enable_cpu_features!r}) "
            f"and disabled (disable_cpu_features={choice.disable_cpu_features!r})"
        )
    for level, name in levels.items():
        lacks = lacking(level, host)
        if lacks or level not in baseline | dispatch:
            why = f"this host lacks {', '.join(lacks)}" if lacks else "it is not in the dispatch set"
            raise RuntimeError(f"enable_cpu_features: {name} cannot be enabled: {why}")
    return disabled, enabled


def disabled_features(choice: Choice) -> frozenset[str]:
    """The features that the options switch off; a level stands for those that it adds."""
    off = names(choice.disable_cpu_features)
    return frozenset(f for name in off for f in (LEVEL[name].adds.split() if name in LEVEL else [name]))
