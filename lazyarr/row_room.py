"""Room: how many rows of a chain a block has.

In:  a chain of groups, their steps, what of their values a thread's own memory may hold.   Out: rows of a
block, or why there is no room for enough of them.
A block's rows stay in a core's second-level cache, while others pass through it; where rows are long, or
apart from each other, in its share of the third-level cache.  Sweeps that follow each other have room for
the rows between the first and the last of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from lazyarr.cache_sizes import cache_bytes, share_bytes
from lazyarr.codegen.rows_words import slots
from lazyarr.expr import Map
from lazyarr.fusion.assemble import Inside
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.touches import Touch
from lazyarr.kernels import host
from lazyarr.launch import program_worth_threads
from lazyarr.ops import native
from lazyarr.plan import STRIP_BLOCKS, STRIPS_EACH, Place, Step, Walk
from lazyarr.row_values import Uses, inside_of
from lazyarr.schedule import LINE
from lazyarr.storage import SLACK
from lazyarr.threading.limits import get_num_threads
from lazyarr.tuning import tuning

CACHE_PART = 4
"""Of the cache, one part in so many is for the rows of a block (2 to 16 were measured alike)."""

BLOCKS_EACH = 4
"""Blocks for each thread, at least, where the work is worth threads."""

ROOM = 2
"""Of the cache, one part in so many is for the rows between the first group of a chain and its last."""

STAYS = 1 << 13
"""Bytes of a block of each operand, where groups lag: what one of them makes the next one finds in the
first-level cache (8 to 16 KiB were the best for all numbers of sweeps)."""

MOST_STAYS = 1 << 17
"""The same where a kernel takes as many rows side by side as it may, which makes up for it up to here; blocks
of wider rows have two."""

CLOSE, MOST_CLOSE, NEAR_ROWS = 1 << 14, 8, 4
"""Bytes of a block of each operand where groups follow each other by rows: that of an operand and that of the
next one lie in the first-level cache.  And how many rows these are, at most."""

WORTH_STRIPS = 1 << 22
"""Bytes that sweeps of one launch go over, at least, where there are fewer of them than have room, so that
all threads have strips: below, a launch more takes as long as that saves."""

CALLING = 2
"""Of the room for columns in the third-level cache, one part in so many where NumPy's loops are called: these
take longer than memory does, and short rows cost them more (softmax of 2,000 rows, blocks of 3 MB: 1.4 to 1.5
of the time that it takes without them; of 1,000, 1.5 MB: 1.0)."""

STRETCH = 512
"""Bytes of what successive rows have side by side, at least, where rows are not contiguous (columns, say)."""


def room() -> int:
    """Bytes of the rows between the first group of a chain and the last that lags."""
    return cache_bytes() // ROOM


def beside() -> int:
    """Rows that kernels of stencils take side by side, at most."""
    return tuning(host().name).beside


def sweeps(row: int, rows: int, every: int, reach: int = 1, borders: bool = False) -> int:
    """How many sweeps that take turns with two buffers, of so many rows, run together, if each follows
    another by a row of so many bytes (or by as many rows that are), which in `every` array are so many.

    They may have borders, which are written by themselves."""
    fits = room() // max(every, 2 * row)
    each = beside() if beside() * row <= MOST_STAYS else 1
    threads = get_num_threads()
    if every <= 2 * row and reach <= (1 if borders else NEAR_ROWS):     # (by rows, as `Room` has it)
        block = max(each, 2 * reach, close_rows(row // reach, borders))
        apart = 2 * (rows // (block * STRIP_BLOCKS * threads)) + 1      # (half at either end of a strip)
    else:
        apart = rows // max(-(-STAYS // row), each) // (STRIP_BLOCKS * threads) + 1
    return min(fits, apart) if threads > 1 and apart * row * rows >= WORTH_STRIPS else fits


def close_rows(row: int, several: bool) -> int:
    """Rows of a block, each of so many bytes at most, where groups follow each other by rows; if a sweep is
    `several` of them, calls of kernels count for more."""
    return min(MOST_CLOSE, (CLOSE << several) // row)


class Room:
    """The rows of one chain in its cache, along one axis, or within one row of each of others."""

    def __init__(self, w: Walk, uses: Uses, chain: Chain, steps: Sequence[Step], tight: bool) -> None:
        self.w, self.chain, self.steps, self.tight = w, chain, steps, tight
        self.inside: dict[int, tuple[Inside, ...]] = inside_of(chain, uses, w)
        """Values that have a thread's own memory."""
        self.outer = tuple([level.extent for level in chain.outer])
        self.close = False
        """Do groups follow each other by rows, where they may, not by blocks?  `rows` decides."""
        self.made: dict[int, int] = {}
        """Which group makes one of these."""
        for at, group in enumerate(chain.groups):
            self.made.update((k, at) for k in [w.numbers[id(n)] for n in group.nodes] if k in self.inside)

    def rows(self, far: bool, parts: bool) -> int | str:
        """Rows of a block; where they stay in a cache `far` away, a row may have `parts` for several threads,
        of which each passes on less."""
        chain, self.close = self.chain, False
        row = again = still = 0
        for touch, axis, groups in self._largest():
            row += touch.row_bytes(axis)
            again += touch.row_bytes(axis) * (groups > 1)
            still += 0 if touch.strides[axis] else touch.itemsize * math.prod(
                n for n, s in zip(touch.shape, touch.strides, strict=True) if s
            )
        share = cache_bytes() // CACHE_PART
        rows = (share - min(still, share // 2)) // row
        if chain.lagging and rows >= chain.reach:
            largest = max(touch.row_bytes(axis) for touch, axis, _ in self._largest())
            most = min(rows, room() // chain.window(), -(-STAYS // largest))
            jams = beside() if rows >= beside() and self._jams(largest) else 0
            if jams * chain.window() <= cache_bytes():
                most = max(most, jams)
            if self._may_be_close():
                self.close = True
                near = max(jams, close_rows(largest, len(chain.lags) > max(chain.lags) + 1))
                most = max(2 * chain.reach, min(most, near) if self.inside else near)
            if self.inside:
                strips = STRIPS_EACH * get_num_threads() if self.worth_threads() else 1
                most = min(most, self.spare() // (slots(self.delay()) * strips * self.row_inside()))
            rows = max(chain.reach, most)
        spread = chain.spread
        least = max(-(-STRETCH // spread) if spread else 1, chain.reach)
        if far and rows < least and not chain.lagging:  # they come about as fast as others from memory
            most = share_bytes() // CACHE_PART
            if least > 1:               # (of long pieces only what is used again has to stay)
                again, most = row, most // CALLING if self._calls() else most
            rows = min(least, (most - still) // max(1, again))
        if rows < min(least, chain.extent):
            return f"a row is {row} bytes: too few of them stay in the cache"
        if self.worth_threads():
            each = self.all_rows() // (BLOCKS_EACH * get_num_threads())
            if far and parts and not each:
                return f"{self.all_rows()} rows are too few for all threads"
            rows = min(rows, max(least, each))
        if self.inside and not chain.lagging and (self.tight or (far and parts)):
            most = SLACK // (get_num_threads() * self.row_inside())
            if most < max(1, least // 2, chain.reach):
                return f"a thread would hold {self.row_inside()} bytes of each row besides what NumPy holds"
            rows = min(rows, most)
        if spread and rows > LINE:
            rows = max(rows // LINE * LINE, chain.reach)
        rows = min(chain.extent, rows)
        self.close = self.close and rows >= 2 * chain.reach
        return rows

    def _may_be_close(self) -> bool:
        """May groups follow each other by rows?

        What is in one block with rows outside must have those next to them; and who looks at a block asks
        by lags what has run on it, in the order of groups."""
        chain = self.chain
        outside = any(not 0 <= start < chain.extent for start in chain.starts[chain.leading :])
        in_order = all(lag <= later for lag, later in itertools.pairwise(chain.lags))
        near = not chain.spread and 0 < chain.reach <= (1 if outside else NEAR_ROWS)
        return in_order and near and len(self._whole()) < max(chain.lags)

    def _whole(self) -> set[int]:
        """The lags by which groups are a block behind those with less: they read what one of these left in a
        thread's own memory."""
        found, numbers = set[int](), self.w.numbers
        lags = self.chain.lags
        for at, touches in enumerate(self.chain.touches):
            for t in touches:
                found.update(range(lags[self.made.get(numbers[id(t.value)], at)] + 1, lags[at] + 1))
        return found

    def places(self, rows: int) -> list[Place]:
        """When each group has its turn, in blocks of so many rows.

        Where they follow by rows, they are as many rows behind as what they touch lies apart."""
        lags, fronts = self.chain.lags, self.chain.fronts
        if not self.close:
            return [Place(lag, lag + front) for lag, front in zip(lags, fronts, strict=True)]
        whole = self._whole()
        found, blocks, close = [Place()], 0, 0
        for lag in range(1, max(lags) + 1):
            blocks, close = blocks + (lag in whole), close + (lag not in whole)
            late, shift = divmod(blocks * rows + close * self.chain.reach, rows)
            found.append(Place(late, 2 * blocks + close - late, shift))
        placed = [(found[lag], front) for lag, front in zip(lags, fronts, strict=True)]
        return [place._replace(front=place.front + front) if front else place for place, front in placed]

    def columns(self) -> bool:
        """Are rows not contiguous, in any order of blocks, none of which must have rows nearby?"""
        return self.chain.spread > 0 and not (self.chain.lagging or self.chain.reach)

    def all_rows(self) -> int:
        """Rows, in all rows that they are within."""
        return self.chain.extent * math.prod(self.outer)

    def row_inside(self) -> int:
        """Bytes of a row of what only the chain reads."""
        return max(1, sum(self.w.value(v).nbytes for v in self.inside) // self.all_rows())

    def _largest(self) -> Iterator[tuple[Touch, int, int]]:
        """One access for each buffer or block in a thread's own memory, and how many groups have any."""
        found: dict[int, tuple[Touch, int]] = {}
        groups: dict[int, set[int]] = {}
        numbers = self.w.numbers
        for k, (axis, touches) in enumerate(zip(self.chain.axes, self.chain.touches, strict=True)):
            for t in touches:
                key = id(t.value if numbers[id(t.value)] in self.inside else t.key)
                groups.setdefault(key, set()).add(k)
                if key not in found or found[key][0].row_bytes(found[key][1]) < t.row_bytes(axis):
                    found[key] = t, axis
        return ((*each, len(groups[key])) for key, each in found.items())

    def _jams(self, row: int) -> bool:
        """Does a kernel take rows side by side, which stay in the caches as single rows would?"""
        if beside() * row > MOST_STAYS:
            return False
        return any(s.program is not None and s.program.parfor.shifts for s in self.steps)

    def _calls(self) -> bool:
        """Does it call NumPy's loops?"""
        ops = (node.op for group in self.chain.groups for node in group.nodes)
        target = host()
        return any(
            isinstance(op, Map) and not native(op.name, op.sig) and not target.whose(op.name, op.sig)
            for op in ops
        )

    def worth_threads(self) -> bool:
        programs = {id(s.program): s.program for s in self.steps}
        return any(program_worth_threads(p) for p in programs.values() if p is not None)

    def spare(self) -> int:
        """Bytes of the largest value that has memory of a thread's own."""
        return max((self.w.value(v).nbytes for v in self.inside), default=0)

    def delay(self) -> int:
        """How many blocks a group lags behind one whose values in a thread's own memory it reads, at most."""
        if not self.chain.lagging:
            return 0
        lags, fronts, numbers = self.chain.lags, self.chain.fronts, self.w.numbers
        reads = [(at, numbers[id(t.value)]) for at, ts in enumerate(self.chain.touches) for t in ts]
        each = [(at, self.made[v]) for at, v in reads if v in self.made]
        return max([1, *(lags[at] - lags[k] + max(0, fronts[at] - fronts[k]) for at, k in each)])


def widest(
    w: Walk, uses: Uses, chain: Chain, steps: Sequence[Step], tight: bool
) -> tuple[Room, int] | str:
    """The room for a chain and the rows of a block: in the second-level cache, or else in the next one; along
    one axis, or within one row along others.  Why there is none, if so."""
    why, depths = "", range(max(1, len(chain.levels)))
    for far in (False, True):
        for depth in depths:
            found = Room(w, uses, chain.nested(depth), steps, tight)
            rows = found.rows(far, depth < depths[-1])
            if isinstance(rows, int):
                return found, rows
            why = why or rows
    return why
