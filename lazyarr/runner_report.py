"""What `python -m lazyarr` prints about itself: `info`, and the table of ``--stats``.

In:  the counters, the options and the installation.   Out: text.
Each line of the table is a row of `_ROWS`; nothing here is needed unless it is asked for.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy

from lazyarr.config import current
from lazyarr.counters import STAGES, counters

_Numbers = dict[str, int | float]
_Row = tuple[str, Callable[[_Numbers], object]]


def size(nbytes: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB"):
        if abs(nbytes) < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.2f} GiB"


_ROWS: tuple[_Row, ...] = (
    ("kernel launches", lambda c: c["native_launches"]),
    ("  on several threads", lambda c: c["parallel_launches"]),
    ("ops fused into them", lambda c: c["fused_ops"]),
    ("blocks through NumPy's loops", lambda c: c["numpy_loop_blocks"]),
    ("small results by NumPy", lambda c: c["numpy_eager"]),
    ("calls and nodes run by NumPy", lambda c: c["numpy_fallbacks"]),
    ("kernels compiled", lambda c: c["compiles"]),
    ("  from the disk cache", lambda c: c["disk_hits"]),
    ("  found loaded", lambda c: c["memory_hits"]),
    ("bytes allocated", lambda c: size(c["bytes_allocated"])),
    ("  in recycled pages", lambda c: size(c["bytes_recycled"])),
    ("  by NumPy for the same calls", lambda c: size(c["bytes_numpy"])),
)


def stats(numbers: _Numbers, wall: float) -> str:
    """The table of ``--stats``.

    Parameters
    ----------
    numbers : dict
        What `lazyarr.counters.counters` returns.
    wall : float
        Seconds since the program started.
    """
    lines = [f"lazyarr: {wall:.3f} s in the program"]
    lines += [f"  {name:<32}{value(numbers)!s:>12}" for name, value in _ROWS]
    lines += [f"  {'seconds, ' + stage:<32}{numbers[f'seconds_{stage}']:>12.3f}" for stage in STAGES]
    return "\n".join(lines)


def at_exit() -> None:
    """Print the table on stderr when this process (not a fork of it) ends."""
    process, began = os.getpid(), time.perf_counter()

    def show() -> None:
        if os.getpid() == process:
            sys.stdout.flush()
            print(stats(counters(), time.perf_counter() - began), file=sys.stderr)

    atexit.register(show)


def rows() -> dict[str, Any]:
    """Versions, CPU level, SIMD extensions, the manifest, threads, cache place and size."""
    return {
        "lazyarr": _version("lazyarr"),
        "Python": f"{platform.python_version()} ({sys.executable})",
        "numpy": numpy.__version__,
        "llvmlite": _llvm(),
        "CPU level": _level(),
        "SIMD Extensions": _simd(),
        "manifest": _manifest(),
        "threads": _threads(),
        "cache": _cache(),
    }


def info() -> str:
    """The same for people."""
    from lazyarr.dispatch.manifest import lines as manifest_lines

    lines = []
    for name, value in rows().items():
        if name == "manifest":
            told = manifest_lines(value)
            lines += [f"{name if not k else '':<15} {line}" for k, line in enumerate(told)]
            continue
        if isinstance(value, dict):
            value = "; ".join(f"{key} {' '.join(names)}" for key, names in value.items())
        lines.append(f"{name:<15} {value}")
    return "\n".join(lines)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _llvm() -> str:
    from lazyarr.dispatch.manifest import manifest

    try:
        return f"{_version('llvmlite')} (LLVM {manifest().probed['LLVM']})"
    except ImportError:
        return "not installed: everything runs through NumPy"
    except (RuntimeError, ValueError) as error:
        return str(error)


def _manifest() -> dict[str, Any]:
    from lazyarr.dispatch.manifest import manifest

    try:
        return manifest()._asdict()
    except (ImportError, RuntimeError, ValueError) as error:
        return {"none": str(error)}


def _simd() -> dict[str, list[str]]:
    from lazyarr.dispatch.introspect import simd_extensions

    try:
        return simd_extensions()
    except (ImportError, RuntimeError, ValueError) as error:
        return {"none": [str(error)]}


def _level() -> str:
    from lazyarr.dispatch.levels import host_level, host_levels

    try:
        chosen = host_level().name
        return f"{chosen} (this host has {', '.join(level.target.name for level in host_levels())})"
    except (ImportError, RuntimeError, ValueError) as error:
        return f"none: {error}"


def _threads() -> str:
    from lazyarr.threading.limits import get_num_threads

    return f"{get_num_threads()} ({current.threading_layer} layer; {os.cpu_count()} CPUs in the machine)"


def _cache() -> str:
    from lazyarr.dispatch.cache import directory

    place = directory()
    if place is None:
        return "none"
    with os.scandir(place) as entries:
        sizes = [entry.stat().st_size for entry in entries if entry.is_file()]
    return f"{place}: {len(sizes)} files, {size(sum(sizes))} of at most {size(current.cache_bytes)}"
