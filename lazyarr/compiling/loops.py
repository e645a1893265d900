"""The loops of a function that is lifted: blocks of iterations by machine code, the rest by Python.

In:  a loop's body as a function, and at each run the range and the variables that the body reads.
Out: the variables that it leaves; which iterations Python's own statements have to do.

    first iterations by Python, timed -> worth it? -> block by block (`chunks`) -> one that stops is undone,
    and begun again with fewer iterations, until Python does the few that machine code cannot
"""

from __future__ import annotations

import time
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lazyarr.compiler import COMPILER
from lazyarr.compiling.chunks import SOONER, Chunks, Unfit, fits, kind_of
from lazyarr.config import current
from lazyarr.error_state import remembered
from lazyarr.scalar.body import UNSETTLED, Body, Given, body_of
from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.compiled import Refusal, Refusing
from lazyarr.scalar.ir import Place
from lazyarr.vectorizing import why_not

FEW = 16
"""Iterations by which a loop is timed, and that Python does at least where a block has stopped."""
FIRST = 4096
"""Iterations of the first block."""
NESTED = 64
"""The same, where loops are within."""
BLOCK_NS = 10e6
"""What a block may take: Ctrl-C waits for it."""
SMALL_NS = 50e3
"""What the rest of a loop takes in Python, if a block costs as much."""
WORTH_NS, LOAD_NS = 2e6, 50e6
"""What a loop takes in Python, all its runs together, from which on it is compiled; and LLVM is loaded."""
VARIANTS = 16
"""Kinds of variables for which one loop is compiled."""
SETTLING = 6
"""How often Python may go on, each time eight times as long, until variables keep their types."""


class Variant:
    """A body for one choice of kinds."""

    def __init__(self, loop: Loop, body: Body) -> None:
        self.captured = body.captured
        self.chunks = Chunks(body, loop.params[1:], loop.carried, loop.results)


class Loop:
    """A loop that is lifted.

    Attributes
    ----------
    report : str
        What became of its last run.
    """

    def __init__(
        self, body: types.FunctionType, params: list[str], results: list[str], carried: tuple[str, ...],
        place: Place,
    ) -> None:
        self.body, self.params, self.results, self.carried = body, params, results, carried
        self.place = place
        self.variants: dict[tuple[Given, ...], Variant | Refusing] = {}
        self.rate: float | None = None
        """Nanoseconds that an iteration takes in Python."""
        self.spent = 0.0
        self.report = "it has not run yet"

    def __call__(self, values: Any) -> Run:
        return Run(self, values)

    def prepare(self, known: Mapping[str, Given | None]) -> None:
        """Compile it for variables of these kinds, if they are all that it takes."""
        kinds = [known.get(name) for name in self.params[1:]]
        if all(kind is not None for kind in kinds):
            self.variant(tuple([kind for kind in kinds if kind is not None]))

    def variant(self, kinds: tuple[Given, ...]) -> tuple[Variant, list[Any]] | Refusal:
        """The body for variables of these kinds, and the numbers that it captures now."""
        found = self.variants.get(kinds)
        captured = None if found is None else found.captured
        numbers = None if captured is None else captured.values(self.body)
        if found is not None and numbers is not None:
            return found.refusal if isinstance(found, Refusing) else (found, numbers)
        if len(self.variants) >= VARIANTS:
            self.variants.clear()
        given = dict(zip(self.params, (Given("number", "i"), *kinds), strict=True))
        try:
            made = body_of(self.body, given)
        except Refused as refused:
            refusal = Refusal(refused.why, refused.place if refused.place.line else self.place)
            self.variants[kinds] = Refusing(refused.captured, refusal)
            return refusal
        if any(made.results[self.results.index(name)] != given[name] for name in self.carried):
            refusal = Refusal(UNSETTLED, self.place)
            self.variants[kinds] = Refusing(made.captured, refusal)
            return refusal
        variant = self.variants[kinds] = Variant(self, made)
        numbers = made.captured.values(self.body)
        assert numbers is not None
        return variant, numbers


class Run:
    """One run of a loop."""

    def __init__(self, loop: Loop, values: Any) -> None:
        self.loop, self.values_of = loop, values
        self.moved = False
        """Have variables other values than Python's statements gave them?"""
        self.values: tuple[Any, ...] = ()
        self.rest: Iterable[Any] = ()
        """The iterations that Python does next."""
        self.done, self.began = 0, 0
        self.block, self.most, self.settling = FIRST, 1 << 40, 0
        self.counted, self.share, self.failed = 0, FEW, False
        why = _unlike(values)
        self.native = not why
        if why:
            loop.report = f"Python's: {why}"

    def runs(self, *inputs: Any) -> bool:
        """Go on as far as machine code can; are there iterations for Python?"""
        self._count()
        self.moved = False
        if not self.native:
            self.rest, self.values_of = self.values_of, ()
            self.done += 1
            return self.done == 1
        total = len(self.values_of)
        few = self._few(total - self.done, list(inputs)) if self.done < total else 0
        if self.done + few > total or self.done == total:
            few = total - self.done
        self.rest = self.values_of[self.done : self.done + few]
        self.done += few
        self.counted, self.began = few, time.perf_counter_ns()
        return few > 0

    def take(self) -> Iterable[Any]:
        """What Python goes through next, which is not kept."""
        rest, self.rest = self.rest, ()
        return rest

    def _count(self) -> None:
        """What Python's last iterations took."""
        if self.counted:
            spent = time.perf_counter_ns() - self.began
            self.loop.spent += spent
            self.loop.rate = spent / self.counted
            self.counted = 0

    def _few(self, left: int, inputs: list[Any]) -> int:
        """How many iterations Python has to do next."""
        loop = self.loop
        why = why_not()
        state = remembered()
        if why or (state is not None and state["under"] == "warn"):
            loop.report = f"Python's: {why or 'underflows are to be warned of'}"
            return left
        if current.jit != "always":
            if loop.rate is None:
                return FEW
            if not _worth(loop, left):
                loop.report = "Python's: it takes little time"
                return left
        if COMPILER.usable is None:
            COMPILER.load()
        if not COMPILER.usable:
            loop.report = "Python's: nothing can be compiled here"
            return left
        kinds = []
        for name, x in zip(loop.params[1:], inputs, strict=True):
            kind = kind_of(x)
            if kind is None:
                loop.report = f"Python's: `{name}` is of type {type(x).__name__}, or of such a dtype or size"
                return left
            kinds.append(kind)
        found = loop.variant(tuple(kinds))
        if isinstance(found, Refusal):
            self.settling += 1
            if found.why == UNSETTLED and self.settling <= SETTLING:
                return int(8 ** (self.settling - 1))
            loop.report = f"Python's: {found}"
            return left
        return self._native(*found, inputs)

    def _native(self, variant: Variant, numbers: Sequence[Any], inputs: list[Any]) -> int:
        """Run blocks; how many iterations Python has to do next."""
        loop, chunks = self.loop, variant.chunks
        total = len(self.values_of)
        if chunks.timed:
            self.block = max(int(BLOCK_NS / 4 / chunks.ns), 1)
        elif chunks.ticks:
            self.block = NESTED
        if self.failed:
            self.block = min(self.block, FEW * 8)
        while self.done < total:
            count = min(self.block, self.most, chunks.most if not chunks.ticks else total, total - self.done)
            began = time.perf_counter_ns()
            try:
                ran = chunks.run(inputs, numbers, self.values_of[self.done : self.done + count])
            except Unfit as unfit:
                loop.report = f"Python's: {unfit}"
                return total - self.done
            if ran.why:
                few = self._fewer(ran.why, count)
                if few:
                    loop.report = f"{chunks.order}; Python did some iterations: {ran.why}"
                    return few
                continue
            self.done += count
            self.moved, self.values = True, ran.values
            for name, value in zip(loop.results, ran.values, strict=True):
                if name in loop.carried:
                    inputs[loop.params.index(name) - 1] = value
            spent = time.perf_counter_ns() - began
            if spent < BLOCK_NS / 8:
                self.block = 8 * count
            else:
                self.block = count if spent < BLOCK_NS else max(count // 2, 1)
            if count >= 2 * self.share:
                self.share, self.failed = FEW, False
            loop.report = chunks.order
        return 0

    def _fewer(self, why: str, count: int) -> int:
        """After a block that stopped: 0, to try fewer iterations, or what Python has to do."""
        least = 1 if why in SOONER else FEW
        if count <= least:
            self.block = FEW
            self.share *= 2             # where each block stops, Python is left alone
            self.failed = True
            return 1 if least == 1 else self.share // 2
        self.block = max(count // 16, least)
        if why in SOONER:
            self.most = self.block
        return 0


def _unlike(values: Any) -> str:
    """Why a loop is Python's, as far as what it goes through says; "" if it is not."""
    if type(values) is not range:
        return "it goes through no range"
    if not fits(values):
        return "its range goes beyond 64 bits"
    return "" if "prange" in current.parallel else "loops are switched off"


def _worth(loop: Loop, left: int) -> bool:
    """Does machine code pay for what is left?"""
    ns = (loop.rate or 0.0) * left
    if ns < SMALL_NS:
        return False
    if COMPILER.usable is None:
        return loop.spent + ns > LOAD_NS
    return bool(loop.variants) or loop.spent + ns > WORTH_NS
