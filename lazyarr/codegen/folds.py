"""Folds: what each reduction of a parfor accumulates, in which type; and which can be one kernel.

In:  the 'reduce' instructions of a parfor, the target.   Out: `Fold`s, `refusal`.
For float16 sums the accumulator is a float32: NumPy rounds to float16 only at the end of a run.
"""

from __future__ import annotations

from lazyarr.codegen.natives import has_emitter
from lazyarr.codegen.reduce_plan import across
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Inst, Parfor, Reduction, result_char
from lazyarr.records import dataclass
from lazyarr.reduce_order import HALF_RUNS
from lazyarr.target import Target

BEST = {"argmax": "maximum", "argmin": "minimum"}
"""Searches -> what combines the best of their blocks."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One reduction of a parfor."""

    number: int
    value: int
    """The body's value that is folded."""
    char: str
    how: Reduction
    wide: bool
    """float16 that is accumulated in float32 within a run."""
    called: bool
    """NumPy's loop folds it, a block at a time."""
    counts: bool = False
    """An integer sum of bools.  Within a run the accumulator is one 64-bit integer."""

    @property
    def acc(self) -> str:
        """Type character of the accumulator within a run."""
        return "f" if self.wide else self.char

    @property
    def sig(self) -> str:
        return f"{self.acc}{self.acc}->{self.acc}"

    @property
    def search(self) -> bool:
        return self.how.ufunc in BEST

    @property
    def packs(self) -> bool:
        """Keeps elements instead of combining them: the accumulator is where the next one goes."""
        return self.how.ufunc == "compress"

    @property
    def op(self) -> str:
        """The ufunc that combines accumulators."""
        return BEST.get(self.how.ufunc, self.how.ufunc)

    @property
    def carried(self) -> bool:
        """Kept in the context from block to block: elements are taken in order."""
        return self.search or self.how.order == "sequential"


def folds_of(parfor: Parfor, target: Target) -> list[Fold]:
    inner = parfor.dims[-1] == "r"
    found: list[Fold] = []
    for inst in parfor.body:
        if isinstance(inst.attr, Reduction):
            how, char = inst.attr, inst.sig
            wide = inner and char == "e" and how.order != "any" and how.ufunc in HALF_RUNS
            native = how.start >= 0 and has_emitter(how.ufunc, f"{char}{char}->{char}", target)
            called = how.cut or (how.order == "sequential" and not native and how.ufunc != "compress")
            counting = inner and counts(inst, parfor)
            found.append(Fold(len(found), inst.args[0], char, how, wide, called, counting))
    return found


def counts(inst: Inst, parfor: Parfor) -> bool:
    """Does a 'reduce' count bools?"""
    return inst.sig != "?" and result_char(parfor.body[inst.args[0]]) == "?"


def refusal(parfor: Parfor, target: Target) -> str | None:
    """Why a parfor's reductions cannot share a kernel, or one of them has none; None: they can."""
    folds = folds_of(parfor, target)
    strict = [f for f in folds if f.how.order == "pairwise"]
    if len({PLAIN[f.char].kind == "c" for f in strict}) > 1:
        return "complex and real sums have different trees"
    if len({f.how.group for f in folds}) > 1:
        return "reductions with different runs"
    if any(f.search and (f.how.mask >= 0 or across(parfor)) for f in folds):
        return "a search with a mask, or across rows"
    if any(f.packs for f in folds) and (len(folds) > 1 or set(parfor.dims) != {"r"}):
        return "elements are kept in one sequence, and alone"
    if any(f.how.long for f in folds) and (len(folds) > 1 or any(i.op == "store" for i in parfor.body)):
        return "a long run under a mask is gone through several times"
    if any(f.how.mask >= 0 and f.how.start < 0 and not (f.how.resumes or f.packs) for f in folds):
        return "a mask needs something to start from"
    if not across(parfor) and any(f.called and f.wide for f in folds):
        return "NumPy's loop cannot be cut like this fold"
    if any(f.how.order == "any" and not has_emitter(f.op, f.sig, target) for f in folds):
        return "a fold without native combination"
    return None
