"""The native loops, loaded at the first launch, and what the pool needs when the process forks.

In:  nothing.   Out: `serial_for`, `parallel_for`: ctypes functions that run without the GIL.
The pool is compiled only when something first runs in parallel; both come from the disk cache.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache

from lazyarr.dispatch.jit import load
from lazyarr.dispatch.levels import host_levels
from lazyarr.dispatch.llvm import loading
from lazyarr.threading import loops_ir
from lazyarr.threading.system_ir import System, this_system

SerialFor = Callable[[int, int, int, int, int], int]
ParallelFor = Callable[[int, int, int, int, int, int], int]

_WORD, _POINTER = ctypes.c_int64, ctypes.c_void_p


@cache
def serial_for() -> SerialFor:
    """Function (kernel, words, first, chunks, nanoseconds) -> first chunk not run."""
    found = _load(loops_ir.serial(this_system()), "lazyarr_serial_for")
    signature = ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, _WORD, _WORD, _WORD)
    return signature(found["lazyarr_serial_for"])


def parallel_for() -> ParallelFor | None:
    """Function (kernel, words, first, chunks, threads, nanoseconds) -> first chunk not run, or -1
    when another thread is using the pool.  None on a system without POSIX threads."""
    if not _pool:
        with loading:
            if not _pool:       # resetting a pool that is in use would break it
                _pool.append(_start(this_system()))
    return _pool[0]


def stir() -> int:
    """Address of a function (threads): helpers that sleep wake up, for a launch that comes in a moment."""
    return _stirs[0] if parallel_for() is not None else 0


def trust() -> None:
    """Let helpers be called at once for all jobs, as in a new process."""
    if parallel_for() is not None:
        _trusts[0]()


_pool: list[ParallelFor | None] = []
_stirs: list[int] = []
_trusts: list[Callable[[], None]] = []
_NAMES = "parallel_for", "pool_reset", "pool_stir", "pool_trust"


def _start(system: System) -> ParallelFor | None:
    if system.parking == "none":
        return None
    found = _load(loops_ir.pool(system), *(f"lazyarr_{name}" for name in _NAMES))
    _stirs.append(found["lazyarr_pool_stir"])
    _trusts.append(ctypes.CFUNCTYPE(None)(found["lazyarr_pool_trust"]))
    reset = ctypes.CFUNCTYPE(None)(found["lazyarr_pool_reset"])
    reset()
    if hasattr(os, "register_at_fork"):
        # A child has no helpers, and its pool is not in use, whatever the parent's was doing.
        os.register_at_fork(after_in_child=reset)
    signature = ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, *[_WORD] * 4)
    return signature(found["lazyarr_parallel_for"])


def _load(text: str, *names: str) -> dict[str, int]:
    return load(text, names, host_levels()[0].target, kernel=False)
