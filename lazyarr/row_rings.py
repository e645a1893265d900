"""Row rings: the second buffer of sweeps that take turns, with no more memory than the rows in use.

In:  which bytes of the buffer each part of a chain touches on each block, and when; what no sweep writes.
Out: which of its pages come round (`ring_pages.Pattern`), or why all have to be there.
The parts of a strip go through the buffer together: at one time all touch bytes within a window, which moves
on with the blocks.  So addresses that are no less than a window apart may have the same pages: who touches
one does so before anybody touches the other.  That holds for bytes that one strip alone touches, and for
blocks that are neither a part's first nor its last, which have other rows.  All else has pages of its own:
the ends, and what strips leave to be read in seams.

What no sweep writes (`turns.Margin`) has to be there as often as pages come round.  The part that writes to
the buffer first copies it, block by block (`codegen.rows_shell`), and no other may be ahead of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy

from lazyarr.buffers import has_rings
from lazyarr.fusion.turns import Margin
from lazyarr.pages import PAGE
from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.ring_pages import Pattern, pattern
from lazyarr.row_reads import reach
from lazyarr.switches import is_off

if TYPE_CHECKING:                   # (which have rings)
    from lazyarr.fusion.chain import Chain
    from lazyarr.fusion.program import Program
    from lazyarr.plan import RowBlocks, RowPart, Walk

MOST_PIECES = 16
"""Pieces of different kinds that margins may have."""

BEGIN = PAGE // 2
"""Bytes of a page before a ring's first row.  Large arrays begin with a page, so what a kernel writes there
lies half a page from what it reads in the array: in other sets of the first-level cache, and no load waits
for a store whose address differs from its own by whole pages only."""

Bounds = tuple[int, int]
"""First byte and end."""


class Piece(NamedTuple):
    """What some rows have in common of margins."""

    low: int
    high: int
    """The first of these rows, and the one after the last."""
    at: int
    """Bytes from where a row begins."""
    nbytes: int
    times: int
    """So many of them in a row."""
    step: int


class Going(NamedTuple):
    """How a part goes through the buffer."""

    late: int
    front: int
    """As of `plan.Place`."""
    begin: int
    end: int
    """Its blocks."""
    first: Bounds
    last: Bounds
    """What it touches on the first and on the last one."""
    middle: Bounds
    """The same on block 0, if that were as those in between."""

    def on(self, block: int, step: int) -> Bounds:
        """What it touches on a block."""
        if block == self.begin:
            return self.first
        if block == self.end - 1:
            return self.last
        return self.middle[0] + block * step, self.middle[1] + block * step

    def over(self, begin: int, end: int, step: int) -> list[Bounds]:
        """What it touches on some blocks, none if it has none of these."""
        begin, end = max(begin, self.begin), min(end, self.end)
        if begin >= end:
            return []
        ends = {begin, end - 1, *(b for b in (begin + 1, end - 2) if begin < b < end - 1)}
        found = [self.on(block, step) for block in ends]
        return [(min(low for low, _ in found), max(high for _, high in found))]


@dataclass(slots=True, eq=False)
class Ring:
    """The second buffer of a chain's sweeps."""

    part: int
    """The first that writes to it, which copies margins."""
    nbytes: int
    row: int
    """Bytes from row to row."""
    before: int
    """Which of the buffer's rows is the first one of that part's block 0."""
    rows: int
    """Of a block."""
    blocks: int
    pieces: tuple[Piece, ...]
    goings: tuple[Going, ...]
    """Of the parts that touch the buffer, in order."""
    patterns: dict[int, Pattern | None] = field(default_factory=dict)
    """By number of strips."""

    @property
    def step(self) -> int:
        """Bytes from block to block."""
        return self.rows * self.row

    @property
    def window(self) -> int:
        """Bytes within which all parts touch the buffer at a time."""
        going = [g for g in self.goings if g.end - g.begin > 2] or self.goings
        low = min(g.middle[0] - g.late * self.step for g in going)
        return max(g.middle[1] - g.late * self.step for g in going) - low

    def edges(self, strips: int) -> list[int]:
        """The first block of each strip, and the end."""
        return [k * self.blocks // strips for k in range(strips + 1)]

    def spans(self, strips: int) -> Iterator[list[Bounds]]:
        """For each strip what each part touches."""
        for k, (low, high) in enumerate(pairwise(self.edges(strips))):
            last = k == strips - 1
            yield [
                bounds for g in self.goings
                for bounds in g.over(low + g.front * (k > 0), high - g.late * (not last), self.step)
            ]

    def kept(self, strips: int) -> Iterator[Bounds]:
        """What has pages of its own."""
        for g in self.goings:
            yield from (g.first, g.last)
            for edge in self.edges(strips)[1:-1]:
                yield from g.over(edge - g.late, edge + g.front, self.step)
        extents = [(min(a for a, _ in some), max(b for _, b in some)) for some in self.spans(strips) if some]
        for k in range(1, len(extents)):        # (what several strips touch, or lies between them)
            high, low = max(b for _, b in extents[:k]), min(a for a, _ in extents[k:])
            yield min(low, high), max(low, high)
        yield from ((0, 0), (self.nbytes, self.nbytes))

    def pattern(self, strips: int) -> Pattern | None:
        """The buffer's pages where so many strips run side by side; None if that saves too little."""
        if strips not in self.patterns:
            length, gaps = self.rounds(strips)
            found = pattern(self.nbytes, [(a + BEGIN, b + BEGIN) for a, b in gaps], length, BEGIN)
            self.patterns[strips] = found if found.saves() else None
        return self.patterns[strips]

    def rounds(self, strips: int) -> tuple[int, list[Bounds]]:
        """After how many bytes pages come round, and between which bytes."""
        length = -(-self.window // PAGE) * PAGE
        return length, list(_gaps(sorted(self.kept(strips)), length))

    def prove(self, strips: int) -> str | None:
        """What is wrong, if anything: with strips and seams, block by block, or with what is copied."""
        return self._goes_wrong(strips) or self._leaves()

    def _goes_wrong(self, strips: int) -> str | None:
        length, rings = self.rounds(strips)
        if self.pattern(strips) is None:
            rings = []
        most, owners = [0] * len(rings), [-1] * len(rings)
        for k, (low, high) in enumerate(pairwise(edges := self.edges(strips))):
            last, ready = k == strips - 1, 0
            for time in range(low, high + max(g.late for g in self.goings) * last):
                for g in self.goings:
                    block = time - g.late
                    begin, end = low + g.front * (k > 0), high - g.late * (not last)
                    if not max(begin, g.begin) <= block < min(end, g.end):
                        continue
                    first, until = g.on(block, self.step)
                    ready = until if g is self.goings[0] else ready
                    if self.pieces and until > ready:
                        return "what no sweep writes is not there yet"
                    for ring, (start, stop) in enumerate(rings):
                        if first < stop and start < until:
                            if owners[ring] not in (-1, k):
                                return "two strips have the same pages"
                            if max(first, start) < most[ring] - length:
                                return "others have taken the place of a row that is read"
                            owners[ring], most[ring] = k, max(most[ring], min(until, stop))
        for edge in edges[1:-1]:
            for g in self.goings:
                for first, until in g.over(edge - g.late, edge + g.front, self.step):
                    if any(first < stop and start < until for start, stop in rings):
                        return "what strips leave to seams does not stay"
        return None

    def _leaves(self) -> str | None:
        """Does a piece leave the buffer, or its row?"""
        for p in self.pieces:
            inside = min(p.low, p.at, p.step) >= 0 and p.high * self.row <= self.nbytes
            if not inside or p.at + (p.times - 1) * p.step + p.nbytes > self.row:
                return "what is copied lies outside"
        return None


def _gaps(kept: Sequence[Bounds], length: int) -> Iterator[Bounds]:
    """What lies between these in whole pages, where it is longer than a ring."""
    end = 0
    for low, high in kept:
        begin, until = -(-(end + BEGIN) // PAGE) * PAGE - BEGIN, (low + BEGIN) // PAGE * PAGE - BEGIN
        if until - begin > length:
            yield begin, until
        end = max(end, high)


def pieces_of(margins: Sequence[Margin], row: int) -> tuple[Piece, ...] | None:
    """Margins row by row; None if they are in too many pieces."""
    found = list[Piece]()
    for (rows, *shape), char, offset, (_, *strides) in margins:
        low, at = divmod(offset, row)
        nbytes = numpy.dtype(char).itemsize
        while shape and (strides[-1] == nbytes or shape[-1] == 1):
            nbytes *= shape.pop()
            strides.pop()
        count, step = (shape.pop(), strides.pop()) if shape else (1, 0)
        if math.prod(shape) > MOST_PIECES:
            return None
        for place in itertools.product(*map(range, shape)):
            further = at + sum(k * stride for k, stride in zip(place, strides, strict=True))
            found.append(Piece(low, low + rows, further, nbytes, count, step))
    return tuple(found) if len(found) <= MOST_PIECES else None


def rings_of(
    chain: Chain, w: Walk, rows: RowBlocks, strips: int
) -> Iterator[tuple[int, Ring | str]]:  # fmt: skip
    """The second buffers of a chain that runs in so many strips, each by the value that lies there first, or
    why they have to be whole."""
    memory, numbers = chain.groups[0].memory, w.numbers
    turns = memory.turns
    if turns is None or is_off("rings") or not has_rings():
        return
    begin = [(k, n) for k, group in enumerate(chain.groups) for n in group.nodes if n.serial in turns.begin]
    keys = [memory.key(node) for _, node in begin]
    for (k, node), key in zip(begin, keys, strict=True):
        lying = {
            at: mine for at, part in enumerate(rows.parts)
            if (mine := [o for o, v in enumerate(part.step.operands) if memory.key(w.value(v)) is key])
        }
        assert node.old is not None and node.region is not None
        found: Ring | str
        if sum(key is other for other in keys) > 1:
            found = "its sweeps are several runs"
        elif not lying:
            found = "all of it is overwritten unread"
        elif next(iter(lying)) != k:
            found = "others are there before"
        elif not any(numbers[id(node.old)] in part.step.operands for part in rows.parts):
            found = "what no sweep writes lies elsewhere"
        else:
            margins = turns.first[node.serial].margins
            found = ring_of(rows, lying, node.nbytes, node.region.strides[0], margins)
            if isinstance(found, Ring) and found.pattern(strips) is None:
                found = "the rows in use are most of it"
        yield numbers[id(node)], found


def ring_of(
    rows: RowBlocks, lying: Mapping[int, Sequence[int]], nbytes: int, row: int, margins: Sequence[Margin]
) -> Ring | str:
    """The ring of a buffer of which each row takes so many bytes, or why there is none; `lying` says for each
    part that touches it which operands lie there, the part first that writes to it first."""
    if rows.outer or not rows.delay:
        return "sweeps do not follow one another along its rows"
    pieces = pieces_of(margins, row)
    if pieces is None:
        return "what no sweep writes lies in too many pieces"
    part = next(iter(lying))
    before = min(rows.parts[part].program.offsets[k] for k in lying[part]) // row - rows.parts[part].start
    goings = list[Going]()
    for k, operands in lying.items():
        mine = rows.parts[k]
        for program in (mine.first, mine.program, mine.last):
            if mine.rows > 1 and any(program.moves[o] != (row,) for o in operands):
                return "its rows lie another way"
        begin, end = rows.span(mine)

        def on(block: int, program: Program, k: int = k, mine: RowPart = mine) -> Bounds:
            there, bounds = rows.block(block, mine), list[Bounds]()
            for o in lying[k]:
                low, high = reach(program, o)
                along = there.start * (program.moves[o][-1] if program.moves[o] else 0)
                bounds.append((low + along, high + along))
            if k == part and pieces:
                first = 0 if block == 0 else (before + block * rows.rows) * row
                last = nbytes if block == rows.blocks - 1 else (before + (block + 1) * rows.rows) * row
                bounds.append((first, last))
            return min(low for low, _ in bounds), max(high for _, high in bounds)

        first, last = on(begin, mine.first), on(end - 1, mine.last if end - begin > 1 else mine.first)
        middle, at = first, begin
        if end - begin > 2:
            at = begin + 1
            middle = on(at, mine.program)
        step = at * rows.rows * row
        there = middle[0] - step, middle[1] - step
        goings.append(Going(mine.place.late, mine.place.front, begin, end, first, last, there))
    found = Ring(part, nbytes, row, before, rows.rows, rows.blocks, pieces, tuple(goings))
    return found if not pieces or _is_ahead(found) else "what no sweep writes is read before it is copied"


def _is_ahead(ring: Ring) -> bool:
    """Has the part that copies margins always done so where others are?"""
    first, step = ring.goings[0], ring.step
    if (first.begin, first.end) != (0, ring.blocks):
        return False
    for g in ring.goings[1:]:
        behind = g.late - first.late
        if behind < 0 or (
            g.end - g.begin > 2 and g.middle[1] > first.middle[1] + behind * step
        ) or any(
            g.on(block, step)[1] > first.on(min(block + behind, ring.blocks - 1), step)[1]
            for block in (g.begin, g.end - 1)
        ):  # fmt: skip
            return False
    return True
