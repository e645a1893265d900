"""When compiling begins to pay.

LLVM takes about 0.15 s and 70 MB to load.  A short program never needs it: the first work is NumPy's.
When there was enough of it, LLVM loads in a thread of its own, and NumPy goes on until it is there.

In: estimates of work.   Out: whether kernels are the way to do it.
"""

from __future__ import annotations

import sys
import threading

from lazyarr import config
from lazyarr.expr import Compress, Expr, Map, Read, Reduce
from lazyarr.ops import row

LOAD_NS = 250e6
"""After so much work LLVM is waited for: loading it and compiling the first kernels costs about half."""

LARGE_NS = 120e6
"""An evaluation of so much work waits for LLVM at once: such programs seldom have only one."""

START_NS = 100e6
"""After so much work in smaller pieces the loading starts: by then the program is no short one."""


class _Compiler:
    """Loads LLVM once, in a thread; `usable` is None until that is over."""

    def __init__(self) -> None:
        self.usable: bool | None = None
        self.thread: threading.Thread | None = None
        self.debt = 0.0

    def ready(self, work_ns: float) -> bool:
        """May kernels be used for work that takes NumPy `work_ns`?"""
        if sys.is_finalizing():
            return False                # nothing can be imported any more
        if self.usable is None:
            self.debt += work_ns
            if config.current.jit == "always" or work_ns > LARGE_NS or self.debt > LOAD_NS:
                self.load()
            elif self.thread is None and self.debt > START_NS:
                # Imported here: a fork during an import would leave the child without the module.
                from lazyarr.dispatch import jit as _  # noqa: F401

                self.thread = threading.Thread(target=self.load, name="lazyarr-compiler", daemon=True)
                self.thread.start()
        return bool(self.usable)

    def load(self) -> None:
        from lazyarr.dispatch import jit

        self.usable = jit.available()


COMPILER = _Compiler()


def numpy_ns(node: Expr) -> float:
    """What NumPy would take for a node, roughly: the op, and its result into fresh pages."""
    op, region = node.op, node.region
    assert region is not None
    elements, per_element = region.size, 0.3
    if isinstance(op, Map):
        per_element = 0.1 * row(op.name).cost
    elif isinstance(op, Reduce | Compress) and isinstance(node.inputs[0], Read):
        elements = node.inputs[0].geo.size
    return elements * (0.3 + per_element) + region.nbytes * 0.15
