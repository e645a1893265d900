"""What the parts of a reduction kernel share: operands, folds, and the context of one output.

In:  a parfor with reductions, a target.   Out: `Reduce`, read by `reduce_inner`, `reduce_outer`, ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.emit_status import Status
from lazyarr.codegen.emitters_types import Value, convert
from lazyarr.codegen.folds import Fold, folds_of
from lazyarr.codegen.natives import OWN
from lazyarr.codegen.reduce_context import Context
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import combine, deciding, load_scalar, neutral_value
from lazyarr.codegen.reduce_plan import PASSES, lasting
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Parfor
from lazyarr.ops import flags
from lazyarr.target import Target
from lazyarr.tuning import tuning

FOLD_PARAMS = ("ptr %words", "ptr %ctx", "i64 %start", "i64 %n", "ptr %out")
"""Of the function that folds elements [start, start + n) of the group's index space into `out` slots.

A negative n asks for as many elements of several outputs, to the end (`reduce_beside`, `reduce_crossed`)."""

CHUNK_PARAMS = ("ptr %words", "i64 %chunk", "i64 %tid")


@dataclass(frozen=True)
class Reduce:
    """One parfor with reductions, as its kernels see it."""

    parfor: Parfor
    target: Target
    loops: tuple[tuple[str, str], ...] = ()
    """NumPy's inner loops that are called."""
    scratch_bytes: int = 0
    beside: bool = False
    """Outputs next to each other can be folded side by side."""
    hot: bool = False
    """It is for tier 2: there may be more code."""
    lanes: int = 0
    """Columns that are folded at once, in the lanes of a register, where rows are crossed with columns; 0:
    they are not."""

    @cached_property
    def folds(self) -> list[Fold]:
        return folds_of(self.parfor, self.target)

    @cached_property
    def context(self) -> Context:
        return Context(len(self.parfor.operands), len(self.folds))

    @cached_property
    def layout(self) -> Layout:
        p = self.parfor
        return Layout(len(p.dims), len(p.operands), len(p.scalars), len(self.loops))

    @property
    def outer(self) -> list[int]:
        """Loops over outputs."""
        return [d for d, kind in enumerate(self.parfor.dims) if kind == "p"]

    @property
    def folded(self) -> list[int]:
        return [d for d, kind in enumerate(self.parfor.dims) if kind == "r"]

    @property
    def group(self) -> int:
        return self.folds[0].how.group

    @property
    def sequence(self) -> list[int]:
        """'r' loops outside the group."""
        return self.folded[: len(self.folded) - self.group]

    @property
    def space(self) -> list[int]:
        """'r' loops of the group."""
        return self.folded[len(self.folded) - self.group :]

    @property
    def rows(self) -> list[int]:
        """Operands that the body reads or writes (all but the results)."""
        results = {f.how.out for f in self.folds}
        return [k for k in range(len(self.parfor.operands)) if k not in results]

    @property
    def pairwise(self) -> bool:
        return any(f.how.order == "pairwise" for f in self.folds)

    @property
    def sequential(self) -> bool:
        return any(f.how.order == "sequential" and not f.packs for f in self.folds)

    @cached_property
    def per_element(self) -> int:
        """Reals in an element of the tree: complex numbers are summed as two."""
        complex_ = {PLAIN[f.char].kind == "c" for f in self.folds if f.how.order == "pairwise"}
        return 2 if complex_ == {True} else 1

    # Code that several functions contain

    @cached_property
    def categories(self) -> frozenset[str]:
        """errstate categories that the kernel can set."""
        return frozenset(c for op, sig in self._called for c in flags(op, sig))

    @property
    def _called(self) -> list[tuple[str, str]]:
        bodies = [(i.op, i.sig) for i in self.parfor.body if "->" in i.sig and i.op not in OWN]
        called = [("copy" if op == "cast" else op, sig) for op, sig in bodies]
        return called + [(f.op, f.sig) for f in self.folds if not f.packs]

    @cached_property
    def floating(self) -> bool:
        """Can the kernel touch the floating-point status at all?"""
        return bool(self.categories) or any(set(sig) & set("efdFD") for _, sig in self._called)

    @cached_property
    def lasting(self) -> bool:
        """Does an element take longer to compute than memory does to give it?"""
        return lasting(self.parfor, self.target)

    @property
    def passes(self) -> int:
        """How many passes share the fetching of what a later launch will read; 0: none does here."""
        if self.lasting:
            return 1
        ahead = self.hot and tuning(self.target.name).next_rows
        return PASSES if ahead and not any(f.packs for f in self.folds) else 0

    def status(self, b: Function) -> Status:
        return Status(b, self.categories, self.floating, bool(self.loops))

    @cached_property
    def decidable(self) -> bool:
        """Can the result be known before the last element, and is nothing lost with the others?"""
        lone = len(self.folds) == 1 and not any(inst.op == "store" for inst in self.parfor.body)
        quiet = not self.categories or (lone and self.folds[0].how.quiet)
        return lone and quiet and deciding(self.folds[0]) is not None

    def stride(self, b: Function, k: int, d: int) -> str:
        return b.word("%words", self.layout.stride(k, d))

    def extent(self, b: Function, d: int) -> str:
        return b.word("%words", self.layout.shape(d))

    def extra(self, b: Function, k: int) -> str:
        return b.word("%words", self.layout.extra(k))

    def start(self, b: Function, fold: Fold) -> Value | None:
        """What the accumulator starts from; None: from the first element."""
        if fold.how.start >= 0:
            return load_scalar(b, fold.char, b.at("%words", 8 * self.layout.scalar(fold.how.start)))
        if fold.carried:
            return None
        return neutral_of(b, fold)

    def size(self, b: Function, dims: list[int]) -> str:
        """Positions of some loops."""
        found = "1"
        for d in dims:
            found = self.extent(b, d) if found == "1" else b.mul(found, self.extent(b, d))
        return found


def neutral_of(b: Function, fold: Fold) -> Value:
    """The scalar that changes nothing, in the fold's own type."""
    return neutral_value(b, replace(fold, wide=False))


def accumulate(b: Function, fold: Fold, acc: Value, run: Value) -> Value:
    """acc op run, where `run` is the fold of a run; float16 is rounded here, once."""
    if not fold.wide:
        return combine(b, fold, acc, run)
    assert isinstance(acc, str)
    sum_ = combine(b, fold, convert(b, "fpext", "half", acc, "float"), run)
    assert isinstance(sum_, str)
    return convert(b, "fptrunc", "float", sum_, "half")
