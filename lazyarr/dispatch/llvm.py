"""LLVM's binding, imported at the first use, and the lock for all that happens in it.

In:  nothing.   Out: `binding()`, initialised for the host; `lock`.
llvmlite takes a tenth of a second to import, so nothing else imports it.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from lazyarr.forks import hold_at_forks

lock = threading.RLock()
"""Held by whoever is in LLVM, or sets up what is there once per process; never while forking."""


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
    """LLVM's and llvmlite's versions: an object that others made is not loaded."""
    import llvmlite

    return f"{binding().llvm_version_info} {llvmlite.__version__}"


# A child must not find LLVM, or the import of it, in the middle of another thread's work.
hold_at_forks(lock)
