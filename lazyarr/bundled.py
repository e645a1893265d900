"""Kernels of a bundle that `bundles` made, taken into use: nothing that writes or runs kernels is imported.

In:  the path of a bundle.   Out: the option ``kernel_path`` has it, and ``cpu_level`` a level that it has.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

import numpy

from lazyarr import compiler, config, kernel_index
from lazyarr.dispatch import bundle
from lazyarr.dispatch.levels import host_level, usable_levels
from lazyarr.dispatch.llvm import version


def load_kernels(path: str) -> tuple[str, ...]:
    """`lazyarr.load_kernels`."""
    place = os.path.abspath(os.fspath(path))
    about = bundle.load(place).about
    mine = {"numpy": numpy.__version__, "llvmlite": version(), "source": kernel_index.writers()}
    differ = [name for name, value in mine.items() if about.get(name, value) != value]
    if differ:
        said = ", ".join(f"{'lazyarr' if name == 'source' else name}" for name in differ)
        warnings.warn(
            f"the kernels of {place} were made with another version of {said}, and are not used",
            RuntimeWarning, stacklevel=3,
        )  # fmt: skip
        return ()
    levels = tuple(about.get("levels", ()))
    _meet(levels, place)
    bundle.opened.cache_clear()
    compiler.noted.cache_clear()
    places = [p for p in config.current.kernel_path.split(os.pathsep) if p and p != place]
    config.set_options(kernel_path=os.pathsep.join([*places, place]))
    return levels


def _meet(levels: Sequence[str], place: str) -> None:
    """Have kernels compiled for the highest level that the bundle and the host have in common."""
    if not levels or host_level().name in levels:
        return
    common = [level.target.name for level in usable_levels() if level.target.name in levels]
    if not common:
        warnings.warn(
            f"the kernels of {place} are for {', '.join(levels)}, and this host has none of these",
            RuntimeWarning, stacklevel=4,
        )  # fmt: skip
    elif not config.current.cpu_level:
        config.set_options(cpu_level=common[-1])
