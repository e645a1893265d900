"""LLVM's binding, imported at the first use, and the locks for all that happens in it.

In:  nothing.   Out: `binding()`, initialised for the host; `version()`; the locks.
llvmlite takes a tenth of a second and 60 MB to import, so nothing else imports it.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from lazyarr.forks import hold_at_forks

loading = threading.RLock()
"""Held by whoever makes, loads or sets up code that there is once per process; never while forking."""

lock = threading.RLock()
"""Held by whoever is in LLVM; taken inside `loading`, so that cached code need not wait for LLVM."""


def binding() -> Any:
    """The module ``llvmlite.binding``; ImportError without llvmlite."""
    with lock:
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
    with lock:
        import llvmlite

    return str(llvmlite.__version__)


# A child must not find LLVM, or the import of it, in the middle of another thread's work.
hold_at_forks(loading)
hold_at_forks(lock)
