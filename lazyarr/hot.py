"""Kernels that have run for long are compiled once more, better, in the background: tier 2.

In:  how long kernels ran.   Out: nothing; where a hot kernel is called, better code runs from some time on.
Tier 1 is there in a millisecond or two.  Tier 2 is LLVM's better code generation, on the same text or a
longer one, with the same bits; no passes run, which were measured not to help.  A thread compiles one
kernel after the other, and ends when there is none left; while it compiles, others wait who want LLVM, but
not for what is in the cache.
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import RLock
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lazyarr import config
from lazyarr.dispatch import jit
from lazyarr.forks import hold_at_forks
from lazyarr.interrupts import hold_signals, release_signals
from lazyarr.kernels import Kernel, improve

if TYPE_CHECKING:
    from threading import Thread

GAIN = {False: 0.15, True: 0.03}
"""What tier 2 saves of the time of a kernel, and of one that streams: medians of `asv_bench/tiers.py`."""

STENCIL_GAIN = 0.6
"""The same where rows run side by side, which they do at tier 2 only (`codegen.jam`; 0.5 to 0.75)."""

COST = 0.012
"""Seconds that tier 2 of a kernel takes: from then on it has paid."""

LOADING = 0.2
"""Seconds more where LLVM is not loaded yet."""

_lock = RLock()
"""Held for moments, by whoever looks at what follows."""
_queue: deque[tuple[Kernel, dict[str, Any]]] = deque()
"""Kernels that are hot, with the options of the threads that ran them."""
_thread: list[Thread] = []
"""The one that compiles, if there is one."""
_closing = False


def ran(kernel: Kernel, seconds: float) -> None:
    """A kernel has run for so long."""
    heat = kernel.heat
    if heat.asked:
        return
    if heat.saving is None:
        heat.saving = 0.0
        return
    heat.saving += seconds * (STENCIL_GAIN if heat.made_for[0].shifts else GAIN[kernel.nontemporal])
    if heat.saving > COST and (heat.saving > COST + LOADING or jit.has_llvm()):
        _ask(kernel)


def _ask(kernel: Kernel) -> None:
    held = hold_signals()               # (what is asked for comes, even if a handler raises)
    try:
        with _lock:
            if kernel.heat.asked or _closing or sys.is_finalizing():
                return
            kernel.heat.asked = True
            _queue.append((kernel, config.own_options()))
            if not _thread:
                from threading import Thread  # here: few processes have one

                thread = Thread(target=_work, name="lazyarr-tier-2", daemon=True)
                with suppress(RuntimeError):        # no more threads: the next kernel tries again
                    thread.start()
                    _thread.append(thread)
    finally:
        release_signals(held)


def _work() -> None:
    done = False
    while True:
        with _lock:
            if done:
                _queue.popleft()
            if not _queue or _closing:
                _thread.clear()
                return
            kernel, options = _queue[0]
        try:
            with config.options(**options):
                if jit.available():
                    improve(kernel)
        except Exception as error:      # whatever it is: tier 1 does
            if config.current.debug:
                print(f"lazyarr: a kernel stays at tier 1: {error!r}", file=sys.stderr)
        done = True


def wait() -> None:
    """Until all that is hot by now is compiled."""
    for thread in list(_thread):
        thread.join()


def _close() -> None:
    """LLVM must not be at work while the process ends: the kernel in hand is finished, no other begun."""
    global _closing
    _closing = True
    wait()


def _forget() -> None:
    """A child has no such thread: what is hot there may be asked for again."""
    for kernel, _ in _queue:
        kernel.heat.asked = kernel.heat.tier == 2
    _queue.clear()
    _thread.clear()


hold_at_forks(_lock)
atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
