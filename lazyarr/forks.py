"""Locks that a fork waits for, so that a child finds nothing half done.

In:  re-entrant locks.   Out: nothing; the thread that forks holds them all while it does.
A fork takes them in the order of the calls, so a lock that is taken inside another comes later.
"""

from __future__ import annotations

import os
from _thread import RLock

_locks: list[RLock] = []
_held: list[RLock] = []


def hold_at_forks(lock: RLock) -> None:
    """Hold `lock` during forks, from now on."""
    _locks.append(lock)


def _before() -> None:
    for lock in _locks:         # it may grow meanwhile: somebody imports a module under the first lock
        lock.acquire()
        _held.append(lock)


def _after() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
