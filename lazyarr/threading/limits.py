"""How many threads a launch may use.

In:  the option ``num_threads``, the process's CPU affinity, the CPU quota of its control group.
Out: a number, at least 1; never more than the process may use at once.
"""

from __future__ import annotations

import operator
import os
from functools import cache

from lazyarr.config import current, set_options

_Path = str | os.PathLike[str]


@cache
def available_threads() -> int:
    """CPUs that this process may use: by affinity, and by the quota of its control group."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup")
    return cpus if quota is None else max(1, min(cpus, quota))


def cpu_quota(membership: _Path, mount: _Path) -> int | None:
    """CPUs that the control groups of the process allow, rounded up; None if they do not say.

    Version 2 has lines ``0::/group`` and files ``cpu.max``; version 1 has ``4:cpu,cpuacct:/group``
    and ``cpu.cfs_quota_us``.  Limits of all ancestors hold; a container may see only the root."""
    found = []
    for line in _text(membership).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        groups = group.strip("/").split("/")
        for depth in reversed(range(len(groups) + 1)):
            directory = os.path.join(mount, controllers, *groups[:depth])
            found.append(_quota_v1(directory) if controllers else _quota_v2(directory))
    limits = [quota for quota in found if quota is not None]
    return min(limits) if limits else None


def _quota_v2(directory: str) -> int | None:
    return _ceil_ratio(_text(f"{directory}/cpu.max").split())


def _quota_v1(directory: str) -> int | None:
    quota, period = _text(f"{directory}/cpu.cfs_quota_us"), _text(f"{directory}/cpu.cfs_period_us")
    return _ceil_ratio(quota.split() + period.split())


def _text(file: _Path) -> str:
    """What a file says; nothing if it cannot be read."""
    try:
        with open(file, encoding="utf-8") as lines:
            return lines.read()
    except OSError:
        return ""


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
