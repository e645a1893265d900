"""LLVM's binding, imported at the first use, and the locks for all that happens in it.

In:  nothing.   Out: `binding()`, initialised for the host; `version()`; the locks.
llvmlite takes a tenth of a second and 60 MB to import, so nothing else imports it.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from lazyarr.forks import hold_at_forks
from lazyarr.interrupts import hold_signals, release_signals

loading = RLock()
"""Held by whoever makes, loads or sets up code that there is once per process; never while forking."""

_lock = RLock()


@contextmanager
def within() -> Iterator[None]:
    """In LLVM: other threads wait, and so do handlers of signals; taken inside `loading`, so that cached code
    need not wait for LLVM.

    llvmlite disposes of an object, then notes it: what a handler raises in between would have it disposed of
    once more, which ends the process.  What is raised in here by other means (for a thread, by ctypes; by
    handlers that do not wait) lets go of the lock all the same, since a generator ends with whoever has it.
    Handlers run as long as another thread is in LLVM."""
    with _lock:
        held = hold_signals()
        try:
            yield
        finally:
            release_signals(held)


def binding() -> Any:
    """The module ``llvmlite.binding``; ImportError without llvmlite."""
    with within():
        return _binding()


@cache
def _binding() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def version() -> str:
    """llvmlite's version, and so LLVM's: an object that others made is not loaded.

    ImportError without llvmlite.  LLVM itself is not loaded."""
    with within():
        import llvmlite

    return str(llvmlite.__version__)


# A child must not find LLVM, or the import of it, in the middle of another thread's work.
hold_at_forks(loading)
hold_at_forks(_lock)
