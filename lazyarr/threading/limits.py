"""How many threads a launch may use.

In:  the option ``num_threads``, the process's CPU affinity, the CPU quota of its control group.
Out: a number, at least 1; never more than the process may use at once.
"""

from __future__ import annotations

import operator
import os
from functools import cache
from pathlib import Path

from lazyarr.config import current, set_options


@cache
def available_threads() -> int:
    """CPUs that this process may use: by affinity, and by the quota of its control group."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
    return cpus if quota is None else max(1, min(cpus, quota))


def cpu_quota(membership: Path, mount: Path) -> int | None:
    """CPUs that the control groups of the process allow, rounded up; None if they do not say.

    Version 2 has lines ``0::/group`` and files ``cpu.max``; version 1 has ``4:cpu,cpuacct:/group``
    and ``cpu.cfs_quota_us``.  Limits of all ancestors hold; a container may see only the root."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return None
    found = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = mount / controllers
        here = root / group.lstrip("/")
        for directory in (here, *here.parents):
            if not directory.is_relative_to(root):
                break
            found.append(_quota_v1(directory) if controllers else _quota_v2(directory))
    limits = [quota for quota in found if quota is not None]
    return min(limits) if limits else None


def _quota_v2(directory: Path) -> int | None:
    return _ceil_ratio(_words(directory / "cpu.max"))


def _quota_v1(directory: Path) -> int | None:
    return _ceil_ratio(_words(directory / "cpu.cfs_quota_us") + _words(directory / "cpu.cfs_period_us"))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _ceil_ratio(words: list[str]) -> int | None:
    """Quota over period; unlimited is ``max`` in version 2 and -1 in version 1."""
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return -(-int(words[0]) // int(words[1]))


def get_num_threads() -> int:
    """`lazyarr.get_num_threads`: what launches of the calling thread may use."""
    if current.threading_layer == "serial":
        return 1
    asked = current.num_threads
    return min(asked, available_threads()) if asked else available_threads()


def set_num_threads(n: int) -> None:
    """`lazyarr.set_num_threads`: for all threads."""
    if isinstance(n, bool):
        raise TypeError("'bool' object cannot be interpreted as a number of threads")
    number = operator.index(n)
    if not 1 <= number <= available_threads():
        raise ValueError(f"number of threads must be between 1 and {available_threads()}, not {number}")
    set_options(num_threads=number)
