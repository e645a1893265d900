"""What a fork waits for, so that a child finds nothing half done: locks, and other threads' imports.

In:  re-entrant locks.   Out: nothing; the thread that forks holds them all while it does.
A fork takes them in the order of the calls, so a lock that is taken inside another comes later.
"""

from __future__ import annotations

import _frozen_importlib
import os
import time
from _thread import RLock, get_ident

_locks: list[RLock] = []
_held: list[RLock] = []

IMPORTED = frozenset(("lazyarr", "numpy", "llvmlite"))
"""Packages that programs import by calling functions.  In a child nobody ends what another thread has begun
to import, and who wants that module there would wait for ever."""

MOST = 5.0
"""Seconds; whoever takes longer may be waiting for the thread that forks."""

_module_locks = getattr(_frozen_importlib, "_module_locks", {})
"""CPython's: name -> weak reference to the lock of a module that is being imported."""


def hold_at_forks(lock: RLock) -> None:
    """Hold `lock` during forks, from now on."""
    _locks.append(lock)


def _before() -> None:
    end = time.monotonic() + MOST
    while True:
        for lock in _locks:     # it may grow meanwhile: somebody imports a module under the first lock
            lock.acquire()
            _held.append(lock)
        if not _are_importing() or time.monotonic() > end:
            return
        _after()                # an import may want these
        time.sleep(1e-3)


def _are_importing() -> bool:
    """Are other threads?"""
    locks = [ref() for name, ref in list(_module_locks.items()) if name.partition(".")[0] in IMPORTED]
    return not {getattr(lock, "owner", None) for lock in locks} <= {None, get_ident()}


def _after() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
