"""When compiling begins to pay, and when kernels of an earlier run are looked for.

LLVM takes 60 MB, and from a twentieth to a fifth of a second to load.  A short program never needs
it: the first work is NumPy's.  When there was enough of it, LLVM loads in a thread of its own, and NumPy
goes on until it is there.  Kernels that an earlier run compiled need no LLVM: an evaluation that is noted
in the cache is planned at once, and what is not found there after all is left to NumPy.

In: pending nodes, estimates of work.   Out: whether kernels are the way to do it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lazyarr import config
from lazyarr.calls import Call
from lazyarr.expr import FOLDS, Compress, Expr, Gather, Keep, Map, Op, Read, Reduce, Scan, Scatter
from lazyarr.ops import row

if TYPE_CHECKING:
    from threading import Thread

LOAD_NS = 250e6
"""After so much work LLVM is waited for: loading it and compiling the first kernels costs about half."""

LARGE_NS = 120e6
"""An evaluation of so much work waits for LLVM at once: such programs seldom have only one."""

START_NS = 150e6
"""After so much work in smaller pieces the loading starts: as much as it costs, so that a program which
ends just then has not lost more than it has used."""

LOOK_NS = 40e6
"""After so much work, kernels of earlier runs are looked for, for evaluations that were met before: importing
the engine, planning and loading the first ones cost about as much."""

ALONE = 2
"""And for one evaluation of so many times that: kernels save no more than a part of its own time."""

MAX_MET = 1024
"""Evaluations that are known to have been met; all are forgotten when there are more."""


GATHER_NS = 3.0
"""What NumPy takes for an element at any place."""

SCAN_NS = 2.5
"""What it takes for a running sum: each waits for the one before."""

SCATTER_NS = 5.0
"""What it takes to put one there."""

KEEP_NS = 10.0
"""What it takes, besides, for each element that a mask keeps or leaves out, whichever are fewer: where those
are it learns from branches that the processor guesses, and from one of two such elements on guesses fail."""

MASK_NS = 2.5
"""What it takes, besides, for each element under a mask that nobody has counted."""

BRANCHES = frozenset({"where"})
"""Ops that have such a mask among their inputs."""

ROW_NS = 15.0
"""What each row takes, besides its elements, that a fold along the last axis makes one element of."""


class _Compiler:
    """Loads LLVM once, in a thread; `usable` is None until that is over."""

    def __init__(self) -> None:
        self.usable: bool | None = None
        self.thread: Thread | None = None
        self.debt = 0.0
        self.work = 0.0
        self._met: set[str] = set()
        """Names of the evaluations so far."""

    def plans(self, nodes: Sequence[Expr]) -> bool:
        """Are kernels the way to compute these nodes, or some of them?"""
        if self.usable is not None:
            return self.usable and not sys.is_finalizing()
        if sys.is_finalizing():
            return False                # nothing can be imported any more
        name = name_of(nodes)
        again = name in self._met or KEEPS in name.split("\n")     # (which was met as what counts)
        if config.current.math != "native" and config.current.jit != "always" and again and self._finds(name):
            return True                 # (before anything is estimated: a loop comes here each time)
        work = sum(map(numpy_ns, nodes))
        self.work += work
        if not again:
            self._meet(name)
        if config.current.math == "native":
            return self.ready(work)     # whose bits a result has does not depend on how far the program is
        if config.current.jit == "always":
            return loads_cached() or self.ready(work)
        return ((again or work > ALONE * LOOK_NS) and self._finds(name)) or self.ready(work)

    def _meet(self, name: str) -> None:
        if len(self._met) >= MAX_MET:
            self._met.clear()
        self._met.add(name)

    def looks(self) -> bool:
        """Was there enough work to look for kernels of earlier runs?"""
        return self.usable is not None or self.work > LOOK_NS

    def _finds(self, name: str) -> bool:
        """Are the kernels of earlier runs there, and worth looking for?"""
        return self.looks() and noted(name)

    def ready(self, work_ns: float) -> bool:
        """May kernels be compiled for work that takes NumPy `work_ns`?"""
        if self.usable is None:
            self.debt += work_ns
            asked = config.current.jit == "always" or config.current.math == "native"
            if asked or work_ns > LARGE_NS or self.debt > LOAD_NS:
                self.load()
            elif self.thread is None and self.debt > START_NS:
                # Imported here: a fork during an import would leave the child without the module.
                from threading import Thread

                from lazyarr.dispatch import jit as _  # noqa: F401

                self.thread = Thread(target=self.load, name="lazyarr-compiler", daemon=True)
                self.thread.start()
        return bool(self.usable)

    def rented(self, ns: float) -> None:
        """So long NumPy has taken for what no nodes were made of: kernels may be looked for, and be loaded
        meanwhile, but nobody waits for that."""
        self.work += ns
        self.debt = max(self.debt, min(self.debt + ns, (START_NS + LOAD_NS) / 2))

    def load(self) -> None:
        from lazyarr.dispatch import jit

        self.usable = jit.available()


COMPILER = _Compiler()


KEEPS = Keep.__name__
"""What the names of evaluations that keep elements have in a line."""


def name_of(nodes: Sequence[Expr]) -> str:
    """What an evaluation does, for `note`: its ops, in order, whatever their shapes."""
    return _name_of(tuple([node.op for node in nodes]))


@lru_cache(64)
def _name_of(ops: tuple[Op | None, ...]) -> str:
    found = []
    for op in ops:
        named = isinstance(op, Map | Reduce | Scan)
        found.append(f"{op.name} {op.sig}" if named else type(op).__name__)  # type: ignore[union-attr]
    return "\n".join(found)


def note(name: str) -> None:
    """Remember, beyond this process, that the kernels of an evaluation are in the cache."""
    from lazyarr.dispatch import cache

    key = evaluation_key(name)
    if cache.fetch(key) is None:
        cache.store(key, b"", evaluation_about(name))


def evaluation_key(name: str) -> bytes:
    """The cache's key of the word that an evaluation's kernels are there."""
    from lazyarr.dispatch import cache

    return cache.digest("evaluation", name)


def evaluation_about(name: str) -> dict[str, str]:
    return {"kind": "evaluation", "ops": name.replace("\n", "; ")}


@lru_cache(1024)
def noted(name: str) -> bool:
    """Are the kernels of an evaluation in the cache, by all that is known, and can they be loaded?"""
    from lazyarr.dispatch import cache

    return cache.fetch(evaluation_key(name)) is not None and loads_cached()


def loads_cached() -> bool:
    from lazyarr.dispatch import jit

    return jit.loads_cached()


PAGES_NS = 0.15
"""What a byte of fresh pages takes."""


def numpy_ns(node: Expr) -> float:
    """What NumPy would take for a node, roughly: the op, and its result into fresh pages."""
    op: Any = node.op
    if op.__class__ is Call:
        return op.ns
    if isinstance(op, Scatter):
        return warm_ns(node)
    assert node.region is not None
    return warm_ns(node) + node.region.nbytes * PAGES_NS


def warm_ns(node: Expr) -> float:
    """The same, its result into memory that was used before."""
    op: Any = node.op
    region = node.region
    assert region is not None
    elements, per_element = region.size, 0.3
    if isinstance(op, Map):
        per_element = 0.1 * row(op.name).cost + (node.masked or op.name in BRANCHES) * MASK_NS
    elif isinstance(op, Scan):
        per_element = max(SCAN_NS, 0.1 * row(op.name).cost)
    elif isinstance(op, Gather):
        per_element = GATHER_NS
    elif isinstance(op, Scatter):
        return math.prod(op.shape) * SCATTER_NS
    elif isinstance(op, FOLDS) and isinstance(node.inputs[0], Read):
        folded = node.inputs[0].geo
        elements = folded.size
        if op.__class__ is Compress:
            return elements * (0.3 + per_element) + min(region.size, elements - region.size) * KEEP_NS
        if isinstance(op, Reduce) and op.masked:
            per_element += MASK_NS
        if isinstance(op, Reduce) and folded.ndim - 1 in op.axes and folded.shape[-1] > 1:
            return elements * (0.3 + per_element) + region.size * ROW_NS
    return elements * (0.3 + per_element)
