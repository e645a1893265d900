"""Replay of blocks: which operations raised flags, found out before what they read is overwritten.

In:  steps that run in row blocks, some of them behind others (`fusion.rows`); blocks in which one of them
     raised what several of its operations can.
Out: what NumPy says, for those rows.
Their inputs still lie in these blocks and the rows nearby: the launch waits (`launch_rows.Watch`).  So
NumPy computes the operations again one by one, as in `replay`, on the rows of a block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import attrgetter

import numpy

from lazyarr.bufferize import Placement
from lazyarr.counters import COUNT
from lazyarr.expr import Expr, Read, Reduce
from lazyarr.flags import BITS, Listener, warns
from lazyarr.fusion import reference
from lazyarr.plan import RowBlocks
from lazyarr.replay import Suspects, Watched, spans_of, suspects_of
from lazyarr.values import Buffer

_ERRORS = attrgetter("errors")

LOOKS, LOOKED = 200, 1 << 14
"""In a launch, or as many as see so many rows; what raises flags in more blocks than that has been found by
then, most likely."""


class BlockWatch:
    """One launch (`launch_rows.Watch`)."""

    def __init__(self, rows: RowBlocks, members: Sequence[Expr], placement: Placement) -> None:
        self.rows, self.members, self.placement = rows, members, placement
        if rows.doubtful is None:
            rows.doubtful = tuple(_doubtful(self._suspects(k, [*BITS])) for k in range(len(rows.parts)))
        states = {*map(id, found := [*map(_ERRORS, members)])}
        some = found[:1] if len(states) == 1 else {id(errors): errors for errors in found}.values()
        self.told = [key for key in BITS if any(warns(errors, key) for errors in some)]
        """Categories that somebody asks to be told of: others stop nobody."""
        asked = _doubtful(self.told)
        self.masks = [mask & asked for mask in rows.doubtful]
        self.seen = Watched(set(), [])
        self.looks = 0
        self._found: dict[tuple[int, bool], tuple[Suspects, set[int]]] = {}
        """By part, and whether between strips: who is in question, and who can be computed again, which stays
        so during a launch."""

    def look(self, at: Sequence[tuple[int, int]], between: bool) -> Sequence[int]:
        """Find out who of these parts raised what on these blocks; what is still of interest."""
        if not self.seen.of:
            self.rows.watches -= 1
        for part in sorted({part for part, _ in at if self.masks[part]}):
            mask, self.masks[part] = self.masks[part], 0
            if (part, between) not in self._found:
                self._found[part, between] = self._suspects(part, self.told), self._able(part, between)
            found, able = self._found[part, between]
            wanted = {member for who in found.values() for member in who.values()} & able
            if not wanted:
                continue
            with suppress(MemoryError):
                for block in (block for other, block in at if other == part):
                    self._replay(wanted, able, self.rows.block(block, self.rows.parts[part]))
                watched = {(at, key) for key, who in found.items() for at in who.values() if at in wanted}
                self.seen.of.update(watched)
                quiet = watched - {(member, one.key) for member, one in self.seen.finding}
                self.masks[part] = mask & _doubtful({key for _, key in quiet})
        self.looks += 1
        if self.looks == max(LOOKS, LOOKED // self.rows.rows):
            self.seen.of.clear()
            self.masks = [0] * len(self.masks)
        return self.masks

    def _suspects(self, part: int, keys: Sequence[str]) -> Suspects:
        """For each category, who can raise it, where it is several of a part."""
        span = spans_of(self.rows)[part]
        found = {key: suspects_of(self.members, span, key) for key in keys}
        return {key: who for key, who in found.items() if len(who) > 1}

    def _axes(self) -> list[int]:
        """For each member."""
        return [axis for part in self.rows.parts for axis in part.axes]

    def _able(self, part: int, between: bool) -> set[int]:
        """Members that can be computed again on the rows of the block on which this part just ran, from
        what is there: what is overwritten by what has run on that block is not."""
        axes, lag, taken = self._axes(), self.rows.parts[part].lag, self.placement.taken
        spans = spans_of(self.rows)[: part + 1]
        mine = self.rows.parts[part]
        near = [
            at for span, p in zip(spans, self.rows.parts, strict=False)
            if (p.lag, p.start, p.rows) == (lag, mine.start, mine.rows) for at in span
        ]  # fmt: skip
        ran = [at for span, p in zip(spans, self.rows.parts, strict=False) if p.lag <= lag for at in span]
        gone = {taken[s].serial for s in (self.members[at].serial for at in ran) if s in taken}
        early, later = self._left_out(part) if between else (set[int](), set[int]())
        inside = {n.serial for n in self.members} - self.placement.buffers.keys()
        made, able = set[int](), set[int]()
        for at in sorted(near, key=lambda at: self.members[at].serial):
            node = self.members[at]
            fresh, moved = node.old is None or node.covers, self._moves(node)
            lost = inside | gone | later if at in early else inside | gone
            if axes[at] >= 0 and (fresh or moved) and all(
                v.serial in made or v.serial not in lost for v in node.needs() if moved or v is not node.old
            ):
                able.add(at)
                if fresh:
                    made.add(node.serial)
        return able

    def _left_out(self, part: int) -> tuple[set[int], set[int]]:
        """Members that leave out fewer blocks than this part where a strip begins; and the values that others
        have overwritten in blocks that this part left out, perhaps after those members had read them."""
        rows, spans, taken = self.rows.rows, spans_of(self.rows), self.placement.taken
        begins = [p.place.front * rows - p.place.shift for p in self.rows.parts]
        early = {at for span, row in zip(spans, begins, strict=True) if row < begins[part] for at in span}
        # (What must not overwrite what this part reads begins half a block after it, at least.)
        near = [span for span, row in zip(spans, begins, strict=True) if 2 * (row - begins[part]) < rows]
        serials = (self.members[at].serial for span in near for at in span)
        return early, {taken[serial].serial for serial in serials if serial in taken}

    def _moves(self, node: Expr) -> bool:
        """Does it leave the old value where that is?"""
        made = self.placement.buffers
        buffer, old = made.get(node.serial), node.old
        while old is not None and old.buf is None and old.serial not in made:   # (nobody stores it)
            old = old.old
        return old is not None and buffer is not None and buffer is not self.placement.of(old)

    def _replay(self, wanted: set[int], able: set[int], rows: slice) -> None:
        positions, needed = {self.members[at].serial: at for at in able}, set[int]()
        todo = list(wanted)
        while todo:
            at = todo.pop()
            if at not in needed:
                needed.add(at)
                reads = (i.expr.serial for i in self.members[at].inputs if isinstance(i, Read))
                todo += [positions[serial] for serial in reads if serial in positions]
        made: dict[int, Buffer] = {}
        axes = self._axes()
        COUNT.replays += 1
        for at in sorted(needed, key=lambda at: self.members[at].serial):
            listener = Listener()
            with numpy.errstate(all="log", call=listener):
                self._compute(self.members[at], axes[at], rows, made)
            if at in wanted:
                new = [(at, one) for one in listener.raised]
                self.seen.finding.extend(each for each in new if each not in self.seen.finding)

    def _compute(self, node: Expr, axis: int, rows: slice, made: dict[int, Buffer]) -> None:
        """Some rows of a node, by NumPy."""
        op, region = node.op, node.region
        assert op is not None and region is not None
        first = node.inputs[0]
        ndim = first.geo.ndim if isinstance(op, Reduce) and isinstance(first, Read) else region.ndim
        inputs = [
            _cut((made.get(i.expr.serial) or self.placement.of(i.expr)).real(i.geo), axis - ndim, rows)
            if isinstance(i, Read) else i for i in node.inputs
        ]  # fmt: skip
        mask = inputs.pop() if node.masked else True
        if isinstance(op, Reduce) and not op.keepdims:
            axis -= sum(d < axis for d in op.axes)
        to = Buffer.new(node.nbytes)
        reference.run(op, _cut(to.real(region), axis - region.ndim, rows), tuple(inputs), mask)
        if node.old is None or node.covers:
            made[node.serial] = to              # (of others it is a part)


def _doubtful(keys: Iterable[str]) -> int:
    return sum(BITS[key] for key in keys)


def _cut(x: numpy.ndarray, axis: int, rows: slice) -> numpy.ndarray:
    """Rows of an operand, which may be broadcast; `axis` counts from the last, which is -1."""
    if x.ndim < -axis or x.shape[axis] == 1:
        return x
    return x[(..., rows) + (slice(None),) * (-axis - 1)]
