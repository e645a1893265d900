"""Verify the functions that fold ranges: every address lies in what its caller says there is.

In:  a `Reduce`, the kernel of its body, the functions (`reduce_leaves`, `reduce_beside`, `reduce_crossed`).
Out: nothing, or `InvalidKernel`.

A function's *promise* is what its callers see to, which is checked where one of these functions calls
another; the outermost caller is `reduce_nest`, which cuts the ABI's spaces.  An operand's address is its
row's, steps along the folded loop, and steps along loops over outputs: each lies within its loop.
Only gathers and scatters go elsewhere in their table, for which `verify` has the proof.  What packs
(`reduce_compress`) goes by how much there was to keep, and is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lazyarr.codegen.linear import ZERO, Facts, Poly, poly
from lazyarr.codegen.loopir import Gather, Kernel, Loop, Once, Scatter
from lazyarr.codegen.reduce_beside import OUTPUTS
from lazyarr.codegen.reduce_crossed import LEAST_ROWS, RUN, Runs
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_inner import LANES
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_leaves import LEAVES, SIDE
from lazyarr.codegen.reduce_plan import CROSSED_RUN, SLOT, extras
from lazyarr.codegen.reduce_tree import BESIDE, CROSSED, LEAF
from lazyarr.codegen.verify_text import Pointer, Text, Value
from lazyarr.dtypes import PLAIN
from lazyarr.records import NamedTuple

EIGHT = 4 * (LEAF // LANES + 1)
"""Fewest whole vectors in a range of eight leaves."""


class Promise(NamedTuple):
    """What a caller sees to."""

    least: int
    """Fewest elements, and most (0: any number)."""
    most: int
    out: int
    """Bytes of results; 0: they go to the outputs."""
    outer: tuple[int, ...] = ()
    """Loops over outputs that the function has itself."""
    abreast: int = 0
    """So many rows are folded in one tile, or one in so many; the context is of these
    (`reduce_crossed.Runs`)."""
    tiles: int = 1
    """How many of these are tiles."""
    cases: int = 1
    """Remainders of the whole vectors that are looked at one by one."""
    either: bool = False
    """A negative number of elements asks for outputs side by side."""


def verify_folds(r: Reduce, kernel: Kernel, functions: Sequence[Function], block: int = 0) -> None:
    """Check functions that call each other and nothing else; with `block` they fold what so large a block has
    left in slots."""
    if any(f.packs for f in r.folds):
        return
    promises = {b.symbol: promise(r, kernel, b) for b in functions}
    for b in functions:
        for case in range(promises[b.symbol].cases):
            Checker(r, kernel, promises, b.symbol, case, block).run(b.text(), b.declarations)


def promise(r: Reduce, kernel: Kernel, b: Function) -> Promise:
    slots = SLOT * len(r.folds)
    if b.symbol.endswith(CROSSED + RUN):
        runs = Runs(r, kernel, b)
        out = runs.slot * runs.abreast * len(runs.folds)
        return Promise(1, CROSSED_RUN, out, abreast=runs.abreast, tiles=runs.tiles)
    if b.symbol.endswith(CROSSED):
        return Promise(1, CROSSED_RUN, 0, tuple(r.outer[-2:]))
    if b.symbol.endswith(BESIDE):
        return Promise(1, LEAF // r.per_element, 0, tuple(r.outer[-1:]))
    if b.symbol.endswith(SIDE):
        return Promise(EIGHT * LANES // r.per_element, 0, slots, cases=LEAVES)
    return Promise(0, 0, slots, either=r.beside)


class Checker:
    """Checks one function."""

    def __init__(
        self, r: Reduce, kernel: Kernel, promises: Mapping[str, Promise], name: str, case: int = 0,
        block: int = 0,
    ) -> None:
        self.r, self.promises, self.case = r, promises, case
        self.promise = promises[name]
        self.facts = facts = Facts()
        self.memo: dict[tuple[str, int], Poly] = {}
        self.strides: dict[int, dict[int, Poly]] = {}
        """Operand -> loop -> its stride, once it was loaded."""
        self.far = {
            lane.ref.index for stmt in kernel.body if isinstance(stmt, Loop | Once) for lane in stmt.body
            if isinstance(lane, Gather | Scatter)
        }  # fmt: skip
        first = self.word("context", r.context.block)
        self.begin = ZERO if len(self.promise.outer) > 1 else first + facts.symbol(0)
        self.count = self.elements()
        facts.holds(first)
        if any(r.parfor.operands[k].role != "in" and r.parfor.operands[k].access == "z" for k in r.rows):
            facts.holds(poly(1) - self.count)       # (what is stored for each element lies in one place)
        if block:
            facts.holds(first + block - self.begin - self.count)
        self.counts = self.outputs()

    def elements(self) -> Poly:
        """How many there are."""
        p, facts = self.promise, self.facts
        if p.either:
            return facts.symbol()
        if p.cases == 1:
            return facts.symbol(p.least, p.most or None)
        width = LANES // self.r.per_element
        vectors = facts.symbol()
        vectors = vectors * p.cases + self.case
        facts.holds(vectors - EIGHT)
        return vectors * width + facts.symbol(0, width - 1)

    def outputs(self) -> dict[int, Poly]:
        """How many there are, along each loop over them."""
        facts, outer = self.facts, self.promise.outer
        if len(outer) == 1:
            return {outer[0]: facts.symbol(1) * OUTPUTS}
        if outer:
            return {outer[0]: facts.symbol(LEAST_ROWS), outer[1]: facts.symbol(self.r.lanes)}
        return {}

    def run(self, function: str, declarations: Iterable[str] = ()) -> None:
        text = Text(function, self.access, self.loaded, self.called, self.facts)
        text.given(declarations)
        text.values.update({
            "%words": Pointer("words", ZERO), "%ctx": Pointer("context", ZERO), "%start": self.begin,
            "%n": self.count, "%out": Pointer("out", ZERO),
        })  # fmt: skip
        text.run()

    # What there is

    def word(self, of: str, at: int) -> Poly:
        """The same number whenever it is asked for."""
        found = self.memo.get((of, at))
        if found is None:
            found = self.memo[of, at] = self.facts.symbol()
        return found

    def loaded(self, text: Text, facts: Facts, pointer: Pointer) -> Value:
        at, r = pointer.at.number, self.r
        if at is None or at % 8:
            return None
        place = int(at)
        if pointer.to == "words":
            return self.of_words(place // 8)
        if pointer.to != "context":
            return None
        if self.promise.abreast:
            k = place // 8 // self.promise.abreast
            return Pointer(f"tile {k}" if self.crossed_by(k) == "c" else f"row {k}", ZERO)
        if place // 8 < len(r.parfor.operands):
            return Pointer(f"row {place // 8}", ZERO)
        if self.promise.outer:
            lone = len(self.promise.outer) == 1
            if place == r.context.outputs:
                return self.counts[self.promise.outer[-1]]
            if place == r.context.lines and not lone:
                return self.counts[self.promise.outer[0]]
        return self.word("context", place)

    def crossed_by(self, k: int) -> str:
        return self.r.parfor.crossed[k]

    def of_words(self, word: int) -> Value:
        layout = self.r.layout
        if word == layout.SCRATCH:
            return Pointer("scratch", ZERO)
        for k in range(layout.operands):
            d = word - layout.stride(k, 0)
            if 0 <= d < layout.rank:
                return self.strides.setdefault(k, {}).setdefault(d, self.word("words", word))
        return self.word("words", word)

    # What is touched

    def access(self, text: Text, facts: Facts, pointer: Pointer, size: Poly | int, stores: bool) -> None:
        kind, _, rest = pointer.to.partition(" ")
        r = self.r
        if kind == "words":
            text.within(facts, pointer.at, size, 8 * r.layout.extra(extras(r.layout)))
        elif kind == "context":
            frame = 8 * len(r.parfor.operands) * self.promise.abreast
            text.within(facts, pointer.at, size, frame or r.context.bytes)
        elif kind == "out":
            text.within(facts, pointer.at, size, self.promise.out)
        elif kind == "scratch":
            self.of_scratch(text, facts, pointer.at, size)
        elif kind == "tile":
            self.of_tile(text, facts, int(rest), pointer.at, size)
        else:
            self.of_operand(text, facts, int(rest), pointer.at, size, stores)

    def of_scratch(self, text: Text, facts: Facts, at: Poly, size: Poly | int) -> None:
        """A thread's own."""
        r = self.r
        mine = at - self.word("context", r.context.thread) * r.scratch_bytes
        text.within(facts, mine, size, r.scratch_bytes)

    def of_tile(self, text: Text, facts: Facts, k: int, at: Poly, size: Poly | int) -> None:
        """What a caller has transposed: a register for each element."""
        each = self.r.lanes * PLAIN[self.r.parfor.operands[k].dtype].itemsize
        text.within(facts, at - self.begin * each, size, self.count * each)

    def of_operand(
        self, text: Text, facts: Facts, k: int, at: Poly, size: Poly | int, stores: bool
    ) -> None:
        r = self.r
        operand = r.parfor.operands[k]
        if stores and operand.role == "in":
            text.fail("an input is stored")
        itemsize, inner = PLAIN[operand.dtype].itemsize, r.space[-1]
        along = {inner: (self.begin, self.count), **{d: (ZERO, n) for d, n in self.counts.items()}}
        strides = dict(self.strides.get(k, {}))
        strides.pop(inner, None) if operand.access != "s" else None
        dense = [inner] if operand.access == "u" else []
        for d, stride in strides.items():
            known = facts.plain(stride).number
            if known is not None and known == itemsize:
                dense.append(d)
                continue
            parts = at.split(next(iter(stride.symbols)))
            if parts is None or (parts[0].terms and d not in along):
                text.fail(f"moves along a loop that is not its own ({k}, {d})")
                return
            steps, at = parts
            if steps.terms:
                first, count = along[d]
                text.within(facts, steps - first, 1, count)
        if k in self.far and at.symbols:
            return
        if len(dense) > 1:
            text.fail("moves along two loops at once")
        first, count = along[dense[0]] if dense else (ZERO, poly(1))
        text.within(facts, at - first * itemsize, size, count * itemsize)

    # Who is called

    def called(self, text: Text, facts: Facts, name: str, given: list[Value]) -> None:
        """Is what another function's callers see to, seen to?"""
        other = self.promises.get(name[1:])
        if other is None:
            if "masked.gather" not in name and "masked.scatter" not in name:
                text.fail("a call of what nobody knows")
            tables = [g for g in given if isinstance(g, Pointer)]
            if not tables or any(int(t.to.partition(" ")[2] or -1) not in self.far for t in tables):
                text.fail("a gather from what is no table")
            return
        words, context, start, count, out = given
        if words != Pointer("words", ZERO) or not isinstance(context, Pointer):
            text.fail("a call with another context")
            return
        if not isinstance(start, Poly) or not isinstance(count, Poly) or not isinstance(out, Pointer):
            text.fail("a call for elements that nobody knows")
            return
        if other.out:
            text.touch(facts, out, other.out, True)
        if other.outer:
            self.for_outputs(text, facts, context, start, count)
            return
        if not facts.never_negative(count - max(other.least, 1 if other.either else 0)):
            text.fail("a call for too few elements")
        if other.most and not facts.never_negative(poly(other.most) - count):
            text.fail("a call for too many elements")
        if other.abreast and not self.promise.abreast:
            self.frame(text, facts, other, context, start, count)
            return
        if context.to != "context":
            text.fail("a call with another context")
        text.within(facts, start - self.begin, count, self.count)

    def for_outputs(self, text: Text, facts: Facts, context: Pointer, start: Poly, count: Poly) -> None:
        """What is asked for by a negative number: who asks sees to the rest."""
        same = facts.zero(count + self.count) and facts.zero(start - self.begin) and context.to == "context"
        if not same or not facts.never_negative(count - 1):
            text.fail("a call for other outputs than asked for")

    def frame(
        self, text: Text, facts: Facts, other: Promise, context: Pointer, start: Poly, count: Poly
    ) -> None:
        """The context of a longer run: is what it speaks of there?"""
        r = self.r
        for k in r.rows:
            column, each = self.crossed_by(k) == "c", PLAIN[r.parfor.operands[k].dtype].itemsize
            for u in range(other.tiles if column else other.abreast // other.tiles):
                found = text.held.get((context.to, 8 * (k * other.abreast + u)))
                if not isinstance(found, Pointer):
                    text.fail(f"nothing was put into the context for operand {k}")
                elif column:
                    begin = found.at + start * r.lanes * each
                    text.access(text, facts, Pointer(found.to, begin), count * r.lanes * each, True)
                else:
                    self.row_of(text, facts, k, found, start, count)

    def row_of(self, text: Text, facts: Facts, k: int, at: Pointer, start: Poly, count: Poly) -> None:
        """The row of an operand that a run reads."""
        operand, inner = self.r.parfor.operands[k], self.r.space[-1]
        itemsize = PLAIN[operand.dtype].itemsize
        steps = {"u": poly(itemsize), "z": ZERO}.get(operand.access)
        if steps is None:
            steps = self.strides[k][inner]
        for where in (start, start + count - 1):
            self.of_operand(text, facts, k, at.at + where * steps, itemsize, False)
