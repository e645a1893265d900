"""Cache sizes: how much a core keeps near itself, as the system says.

In:  Linux's description of the first CPU's caches.   Out: bytes; by them blocks of rows are cut.
"""

from __future__ import annotations

from functools import cache


def _kilobytes(path: str) -> int:
    """What a file says, in bytes.  (Its own are ASCII; to decode them as that a module would be imported.)"""
    with open(path, "rb") as file:
        return int(file.read().strip().removesuffix(b"K")) << 10


@cache
def cache_bytes() -> int:
    """What a core's second-level cache holds, as the system says, or as most do."""
    try:
        return _kilobytes("/sys/devices/system/cpu/cpu0/cache/index2/size")
    except (OSError, ValueError):
        return 1 << 20


@cache
def share_bytes() -> int:
    """A core's share of the third-level cache, as far as the system says."""
    at = "/sys/devices/system/cpu/cpu0/cache/index3"
    try:
        with open(f"{at}/shared_cpu_map", "rb") as file:
            return _kilobytes(f"{at}/size") // int(file.read().replace(b",", b""), 16).bit_count()
    except (OSError, ValueError, ZeroDivisionError):
        return 0
