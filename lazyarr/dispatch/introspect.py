"""What kernels are compiled for, in NumPy's words: `__cpu_baseline__` and its kind, `show_config`.

In:  the options for CPUs, the host.   Out: lists and dicts of names; the attributes of `lazyarr` and the
page of `python -m lazyarr info` are made of them.
"""

from __future__ import annotations

from lazyarr.config import cpu_key
from lazyarr.cpu_choice import Choice, disabled_features, host_levels
from lazyarr.cpu_features import FEATURES, LEVELS
from lazyarr.dispatch.levels import host_features, selection


def cpu_baseline() -> list[str]:
    """Levels that every kernel may rely on."""
    return list(selection().baseline)


def cpu_dispatch() -> list[str]:
    """Levels that kernels are compiled for besides, where the host has them."""
    return list(selection().dispatch)


def usable() -> list[str]:
    """Levels that kernels can be compiled for and run here, lowest first."""
    return list(selection().usable)


def cpu_features() -> dict[str, bool]:
    """Features and levels: does the host have them, and are they not disabled?"""
    left = host_features() - disabled_features(Choice(*cpu_key()))
    has = {feature.name: feature.name in left for feature in FEATURES}
    return has | {level.name: level.name in host_levels(left) for level in LEVELS}


ATTRIBUTES = {
    "__cpu_baseline__": cpu_baseline, "__cpu_dispatch__": cpu_dispatch, "__cpu_features__": cpu_features,
}  # fmt: skip
"""Of the module `lazyarr`."""


def simd_extensions() -> dict[str, list[str]]:
    """As in NumPy's `show_config`: the baseline, and what of the dispatch set is used here or not."""
    chosen = selection()
    found = [name for name in chosen.dispatch if name in chosen.usable]
    rows = {
        "baseline": list(chosen.baseline), "found": found,
        "not found": [name for name in chosen.dispatch if name not in found],
    }  # fmt: skip
    return {name: levels for name, levels in rows.items() if levels}


def available() -> str:
    """The levels that kernels can be compiled for here, highest first, as `opt_func_info` writes them."""
    chosen = selection()
    base = chosen.baseline[-1:]
    names = [name for name in reversed(chosen.usable) if name not in base]
    return " ".join([*names, *(f"baseline({' '.join(chosen.baseline)})" for _ in base)])
