"""Row blocks: steps that run together on the rows of one block after the other.

In:  chains of groups (`fusion.rows`), their steps and programs.   Out: the steps of the plan, in which one
step stands for each chain.
A block is as many rows as stay in a core's second-level cache, while others pass through it.
What only the chain reads has no memory but a thread's own, of one block.  So a chain needs less memory than
its steps one by one, but that it lets go of what it reads at its end only: where that may matter, the
values are named, and each evaluation decides (`RowBlocks.early`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from lazyarr.cache_sizes import cache_bytes, share_bytes
from lazyarr.codegen.rows_shell import slots
from lazyarr.codegen.verify import InvalidKernel
from lazyarr.config import current
from lazyarr.expr import Expr, Map
from lazyarr.fusion.assemble import Frame, Inside
from lazyarr.fusion.assembler import Unlike
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import left
from lazyarr.fusion.partition import Partition
from lazyarr.fusion.program import Program
from lazyarr.fusion.rows import Found
from lazyarr.fusion.structure import Framed, Key, Numbering
from lazyarr.fusion.touches import Touch
from lazyarr.launch import NONTEMPORAL_BYTES, program_worth_threads
from lazyarr.launch_rows import may_stream
from lazyarr.ops import native
from lazyarr.plan import STRIP_BLOCKS, STRIPS_EACH, PlacedTurn, RowBlocks, RowPart, Step, Walk, block_rows
from lazyarr.records import NamedTuple
from lazyarr.row_reads import Reads, fits_in, reach, way_of
from lazyarr.row_values import Uses, inside_of
from lazyarr.schedule import LINE, scattered
from lazyarr.storage import SLACK
from lazyarr.switches import is_off
from lazyarr.threading.limits import get_num_threads
from lazyarr.tuning import SIDE_BY_SIDE

CACHE_PART = 4
"""Of the cache, one part in so many is for the rows of a block (2 to 16 were measured alike)."""

BLOCKS_EACH = 4
"""Blocks for each thread, at least, where the work is worth threads."""

ROOM = 2
"""Of the cache, one part in so many is for the rows between the first group of a chain and its last."""

STAYS = 1 << 13
"""Bytes of a block of each operand, where groups lag: what one of them makes the next one finds in the
first-level cache (8 to 16 KiB were the best for all numbers of sweeps)."""

MOST_STAYS = 1 << 15
"""The same where a kernel takes rows side by side, which makes up for it up to here: sweeps over rows of 3000
doubles take twice the time then."""

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


def sweeps(row: int, rows: int) -> int:
    """How many sweeps that take turns with two buffers, of so many rows, each so many bytes, run together."""
    beside, fits = 1, room() // (2 * row)
    if SIDE_BY_SIDE * row <= MOST_STAYS:        # (kernels that take rows side by side need as much for each)
        beside, fits = SIDE_BY_SIDE, min(fits, cache_bytes() // SIDE_BY_SIDE // (2 * row))
    blocks, threads = rows // max(-(-STAYS // row), beside), get_num_threads()
    apart = blocks // (STRIP_BLOCKS * threads) + 1
    return min(fits, apart) if threads > 1 and apart * row * rows >= WORTH_STRIPS else fits


def joined(
    w: Walk, parted: Partition, steps: Mapping[int, Step], framed: Sequence[Framed | None],
    tight: bool = False,
) -> tuple[list[Step], Found]:
    """The steps by group, each chain of groups as one step where that can be; and the chains that are.

    Where memory is `tight`, threads hold no more of what passes than there may be besides NumPy's."""
    apart = is_off("rows") or not {"fusion", "reduction"} <= current.parallel
    rows = Found() if apart else parted.rows
    found, kept = dict(steps), Found([], dict(rows.apart))
    uses = Uses.of(parted.groups if rows.chains else ())
    alike: dict[Key, Joint | str] = {}
    for chain in rows.chains:
        numbers = chain.numbers
        mine = [f for f in (framed[k] for k in numbers) if f is not None]
        step: Step | str = "NumPy runs one of them"
        shared = [k for number in numbers for k in steps[number].shared] if parted.again else []
        if len(shared) > len({*shared}):
            step = "they compute the same"
        elif len(mine) == len(numbers):
            step = _Joining(w, uses, chain, [steps[k] for k in numbers], mine, tight).step(alike)
        if isinstance(step, str):
            kept.apart.update(dict.fromkeys(numbers[1:], step))
            continue
        assert step.rows is not None
        kept.chains.append(chain.nested(len(step.rows.outer)).in_blocks(step.rows.rows))
        found[numbers[0]] = step
        for k in numbers[1:]:
            del found[k]
    return list(found.values()), kept


class Joint(NamedTuple):
    """What chains of one structure have in common; values go by the chain's own numbers."""

    outer: tuple[int, ...]
    rows: int
    blocks: int
    own_bytes: int
    spare: int
    delay: int
    parts: list[tuple[Any, ...]]
    """Of each part, all but the step."""
    reusable: list[tuple[int, tuple[int, ...]]]
    """What is stored, and for each: values in whose memory it may lie."""
    inside: list[int]
    """What has a thread's own memory."""
    lying: list[int]
    """What lies elsewhere."""


_NBYTES = attrgetter("nbytes")

_part: Any = partial(tuple.__new__, RowPart)
"""(The interpreter's own constructor: a class's takes three times as long.)"""


class _Joining:
    """One chain on its way to a step."""

    def __init__(
        self, w: Walk, uses: Uses, chain: Chain, steps: Sequence[Step], framed: Sequence[Framed], tight: bool
    ) -> None:
        self.w, self.steps, self.framed, self.uses = w, steps, framed, uses
        self.given = self.chain = chain
        self.tight = tight
        self.inside: dict[int, tuple[Inside, ...]] = {}
        """Values that have a thread's own memory."""
        self.made: dict[int, int] = {}
        """How far the step lags that makes one of these."""
        self.own = Numbering()
        """By number of a value: the chain's own number."""

    def step(self, alike: dict[Key, Joint | str]) -> Step | str:
        """The step, or why the groups run one by one after all."""
        key = self._structure()
        joint = alike.get(key)
        if joint is None:
            joint = alike[key] = self._joint()
        if isinstance(joint, str):
            return joint
        values, steps = list(self.own), self.steps
        self.chain = self.given.nested(len(joint.outer))
        parts = tuple([_part((step, *part)) for step, part in zip(steps, joint.parts, strict=True)])
        found = RowBlocks(
            parts, joint.rows, joint.blocks, joint.own_bytes, joint.spare, joint.delay,
            lying=tuple([values[v] for v in joint.lying]), outer=joint.outer,
        )  # fmt: skip
        turns = self._turns()
        if not turns:
            found.early = self._early(found, {values[v] for v in joint.inside})
        return Step(
            tuple([k for s in steps for k in s.members]), tuple([values[k] for k, _ in joint.reusable]),
            None, (), (), (), tuple([tuple([values[v] for v in r]) for _, r in joint.reusable]), "",
            tuple([k for s in steps for k in s.ends]), rows=found, turns=turns,
            shared=tuple([k for s in steps for k in s.shared]),
        )  # fmt: skip

    def _turns(self) -> tuple[PlacedTurn, ...]:
        """The nodes that take turns with another buffer."""
        turns, found = self.chain.groups[0].memory.turns, list[PlacedTurn]()
        for group in self.chain.groups if turns is not None else ():
            for node in group.nodes:
                turn = turns.first.get(node.serial) if turns is not None else None
                if turn is not None:
                    source = None if turn.source is None else self.w.numbers[id(turn.source)]
                    found.append(PlacedTurn(self.w.numbers[id(node)], source, turn.margins))
        return tuple(found)

    def _structure(self) -> Key:
        """All that a chain's rows go by: the groups' structures, which values are which, and what becomes of
        these.  (Which buffers are which says what the chain is like.)"""
        own, numbers, joining = self.own, self.w.numbers, self.chain
        touches = [t for each in joining.touches for t in each]
        values = [t[0] for t in touches]
        said = [k for step in self.steps for k in step.operands]
        said += map(numbers.__getitem__, map(id, values))
        passes, until, asked = self.uses.passes, joining.groups[-1].number, self.w.asked
        return (
            joining.like or joining, *map(id, self.framed),        # (what is planned keeps these alive)
            *map(own.__getitem__, said), *map(_NBYTES, values),
            *[t[1].op is None for t in touches], *[passes(t[0], until, asked) for t in touches if t[6]],
        )  # fmt: skip

    def _joint(self) -> Joint | str:
        numbers = self.w.numbers
        rows = self._wide()
        if isinstance(rows, str):
            return rows
        for group, lag in zip(self.chain.groups, self.chain.lags, strict=True):
            self.made.update((k, lag) for k in [numbers[id(n)] for n in group.nodes] if k in self.inside)
        # (Of columns the last block has fewer, not more: what they pass on is to take no more than it must.)
        blocks = (self.chain.extent + (rows - 1 if self._columns() else 0)) // rows
        last = self.chain.extent - (blocks - 1) * rows
        places, own_bytes = self._slots(max(rows, last))
        try:
            programs = [self._programs(k, rows, blocks) for k in range(len(self.steps))]
        except Unlike as unlike:
            return unlike.why
        if any(scattered(p) for each in programs for p in each):
            return "random numbers are drawn in the order of their stream, many at a time"
        parts, chain = list[tuple[Any, ...]](), self.chain
        for k, (step, each) in enumerate(zip(self.steps, programs, strict=True)):
            streams = self._streams(k) and all(map(may_stream, each))
            inside = tuple(places.get(v, -1) for v in step.operands)
            sources = tuple(self.made.get(v, 0) for v in step.operands)
            parts.append((
                *each, inside, streams, self._axes(k), chain.lags[k], sources, chain.starts[k], chain.rows(k),
            ))  # fmt: skip
        spare, delay = self._spare(), self._delay()
        if current.verify:
            made = tuple([RowPart(step, *part) for step, part in zip(self.steps, parts, strict=True)])
            self._verify(RowBlocks(made, rows, blocks, own_bytes, spare, delay, outer=self._outer()))
        lying = dict.fromkeys(self.own[k] for step in self.steps for k in step.operands if k not in places)
        return Joint(
            self._outer(), rows, blocks, own_bytes, spare, delay, parts, list(self._reusable()),
            [self.own[v] for v in self.inside], list(lying),
        )  # fmt: skip

    def _outer(self) -> tuple[int, ...]:
        return tuple([level.extent for level in self.chain.outer])

    def _wide(self) -> int | str:
        """Rows of a block that stay in the second-level cache, or else in the next one: along one axis, or
        within one row along others."""
        why, depths = "", range(max(1, len(self.given.levels)))
        for far in (False, True):
            for depth in depths:
                self.chain = self.given.nested(depth)
                self.inside = inside_of(self.chain, self.uses, self.w)
                rows = self._rows(far, depth < depths[-1])
                if isinstance(rows, int):
                    return rows
                why = why or rows
        return why

    def _rows(self, far: bool, parts: bool) -> int | str:
        """Rows of a block; where they stay in a cache `far` away, a row may have `parts` for several threads,
        of which each passes on less."""
        chain = self.chain
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
            if rows >= SIDE_BY_SIDE and self._jams(largest):
                most = max(most, SIDE_BY_SIDE)
            if self.inside:
                strips = STRIPS_EACH * get_num_threads() if self._worth_threads() else 1
                most = min(most, self._spare() // (slots(self._delay()) * strips * self._row_inside()))
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
        if self._worth_threads():
            each = self._all_rows() // (BLOCKS_EACH * get_num_threads())
            if far and parts and not each:
                return f"{self._all_rows()} rows are too few for all threads"
            rows = min(rows, max(least, each))
        if self.inside and not chain.lagging and (self.tight or (far and parts)):
            most = SLACK // (get_num_threads() * self._row_inside())
            if most < max(1, least // 2):
                return f"a thread would hold {self._row_inside()} bytes of each row besides what NumPy holds"
            rows = min(rows, most)
        if spread and rows > LINE:
            rows = max(rows // LINE * LINE, chain.reach)
        return min(chain.extent, rows)

    def _columns(self) -> bool:
        """Are rows not contiguous, in any order of blocks?"""
        return self.chain.spread > 0 and not self.chain.lagging

    def _all_rows(self) -> int:
        """Rows, in all rows that they are within."""
        return self.chain.extent * math.prod(self._outer())

    def _row_inside(self) -> int:
        """Bytes of a row of what only the chain reads."""
        return max(1, sum(self.w.value(v).nbytes for v in self.inside) // self._all_rows())

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
        near = SIDE_BY_SIDE * row <= MOST_STAYS and SIDE_BY_SIDE * self.chain.window() <= cache_bytes()
        return near and any(s.program is not None and s.program.parfor.shifts for s in self.steps)

    def _calls(self) -> bool:
        """Does it call NumPy's loops?"""
        ops = (node.op for group in self.chain.groups for node in group.nodes)
        return any(isinstance(op, Map) and not native(op.name, op.sig) for op in ops)

    def _worth_threads(self) -> bool:
        programs = {id(s.program): s.program for s in self.steps}
        return any(program_worth_threads(p) for p in programs.values() if p is not None)

    def _spare(self) -> int:
        """Bytes of the largest value that has memory of a thread's own."""
        return max((self.w.value(v).nbytes for v in self.inside), default=0)

    def _delay(self) -> int:
        """How many blocks a group lags behind one whose values in a thread's own memory it reads, at most."""
        if not self.chain.lagging:
            return 0
        reads, numbers = zip(self.chain.touches, self.chain.lags, strict=True), self.w.numbers
        return max(1, *(lag - self.made.get(numbers[id(t.value)], lag) for ts, lag in reads for t in ts))

    def _slots(self, rows: int) -> tuple[dict[int, int], int]:
        """Where in a thread's own memory the rows of each value lie, and how much that takes."""
        at: dict[int, int] = {}
        end = 0
        for number in self.inside:
            at[number] = end
            nbytes = self.w.value(number).nbytes // self._all_rows() * rows
            end += -(-nbytes // LINE) * LINE
        return at, end

    def _axes(self, k: int) -> tuple[int, ...]:
        """Along which of its own axes the rows of each member lie, if the loops see it as NumPy would."""
        group, axis = self.chain.groups[k], self.chain.axes[k]
        nodes = [self.w.nodes[m] for m in self.steps[k].members]
        own = group.shape == self.chain.space(k, self.chain.rows(k))
        return tuple(axis if own and group.plain(node) else -1 for node in nodes)

    def _streams(self, k: int) -> bool:
        """Does the chain neither read again what a step writes, nor write it before, and is that large?

        What lags writes what was read just before, and is in the cache."""
        if self.chain.lags[k]:
            return False
        written = [t for t in self.chain.touches[k] if t.writes]
        if sum(t.value.nbytes for t in written) < NONTEMPORAL_BYTES:
            return False
        touched, writing, _ = self.chain.buffers
        return not any(
            touched[id(t.key)][-1][0] > k or writing[id(t.key)][0][0] < k
            or self.w.numbers[id(t.value)] in self.inside for t in written
        )

    def _programs(self, k: int, rows: int, blocks: int) -> tuple[Program, Program, Program]:
        """Over the rows of a group's first block, of those between, and of its last one."""
        chain, own = self.chain, self.steps[k].program
        inside = tuple([self.inside.get(v, ()) for v in self.steps[k].operands])
        axes = tuple([level.axes[k] for level in (*chain.outer, chain)])
        assert own is not None

        def program(extent: int) -> Program:
            if chain.rows(k) == 1:
                return own
            return self.framed[k].over(Frame(axes, chain.space(k, extent), inside))

        count, start = chain.rows(k), chain.starts[k]
        begin, end = (min(max(0, row // rows), blocks - 1) for row in (start, start + count - 1))
        first, last = (block_rows(number, rows, blocks, start, count) for number in (begin, end))
        ends = program(first.stop - first.start), program(last.stop - last.start)
        return ends[0], program(rows) if end - begin > 1 else ends[0], ends[1]

    def _reusable(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """What is stored, and for each: values in whose memory it may lie, since the chain reads them no
        later, in time and not just in the order of steps, and in the same rows only."""
        reads: dict[int, Reads] = {}
        for at, (axis, touches) in enumerate(zip(self.chain.axes, self.chain.touches, strict=True)):
            for t in touches:
                if not t.writes:
                    reads.setdefault(self.w.numbers[id(t.value)], []).append((at, axis, t))
        self._left(reads)
        # (What a masked write leaves of an old value that nobody else reads is among the operands only.)
        last: dict[int, int] = {}
        for at, s in enumerate(self.steps):
            last.update((v, at) for k, v in enumerate(s.operands) if k not in s.written)
        lags, ways = self.chain.lags, dict[Any, int]()
        ending = [
            (self.own[v], max(found[-1][0], last.get(v, -1)), found, way_of(found, lags, ways))
            for v, found in reads.items() if v not in self.inside
        ]
        known: dict[tuple[int, ...], bool] = {}     # the answers for what is read in the same way before

        def fits(found: Reads, end: int, way: int, k: int, to: Touch, axis: int) -> bool:
            if end == k or not (way and to.like):
                return fits_in(found, k, to, axis, lags)
            key = way, to.like, axis, lags[k]
            if key not in known:
                known[key] = fits_in(found, k, to, axis, lags)
            return known[key]

        for k, (step, axis) in enumerate(zip(self.steps, self.chain.axes, strict=True)):
            mine = {id(t.value): t for t in self.chain.touches[k] if t.writes}
            for number in step.stored:
                if number not in self.inside:
                    node = self.w.nodes[number]
                    to = mine[id(node)] if isinstance(node.op, Map) else None
                    yield self.own[number], () if to is None else tuple([
                        v for v, end, found, way in ending if end <= k and fits(found, end, way, k, to, axis)
                    ])

    def _left(self, reads: dict[int, Reads]) -> None:
        """Masked writes read what they leave of old values, too, where they write."""
        groups, axes, touches = self.chain.groups, self.chain.axes, self.chain.touches
        for at, (group, axis, mine) in enumerate(zip(groups, axes, touches, strict=True)):
            for node, old in left(group):
                number = self.w.numbers.get(id(old))
                if number in reads:
                    where = [t for t in mine if t.writes and t.value is node]
                    if not where:               # (it stays in registers)
                        del reads[number]
                        continue
                    reads[number] = sorted([*reads[number], (at, axis, where[0])], key=itemgetter(0))

    def _verify(self, found: RowBlocks) -> None:
        """Does each operand stay within its value, or within the thread's memory, in every block?"""
        for part in found.parts:
            begin, end = found.span(part)
            visits = {begin: part.first, end - 1: part.last if end - begin > 1 else part.first}
            visits |= {block: part.program for block in (begin + 1, end - 2) if begin < block < end - 1}
            for block, program in visits.items():
                rows = found.block(block, part)
                for k, (number, inside) in enumerate(zip(part.step.operands, part.inside, strict=True)):
                    room = self.w.value(number).nbytes
                    if inside >= 0:
                        room = room // self._all_rows() * (rows.stop - rows.start)
                    low, high = reach(program, k)
                    *across, along = program.moves[k] or (0,)
                    apart = [move * (n - 1) for move, n in zip(across, found.outer, strict=False)]
                    low += rows.start * along + sum(min(0, most) for most in apart)
                    high += rows.start * along + sum(max(0, most) for most in apart)
                    if not 0 <= low <= high <= room:
                        raise InvalidKernel(f"operand {k} leaves its memory in block {block}")

    def _early(self, found: RowBlocks, inside: Collection[int]) -> tuple[int, ...]:
        """Values that would go before the last result has its memory, if NumPy might need less."""
        made = [self.w.nodes[k] for s in self.steps for k in s.stored if k not in inside]
        needed = sum([n.nbytes for n in made if n.old is None])
        needed += found.own_bytes * found.slots(get_num_threads())
        if needed <= SLACK:
            return ()
        makes = [any(k not in inside for k in s.stored) for s in self.steps]
        last = max((at for at, one in enumerate(makes) if one), default=0)
        members = {k for s in self.steps for k in s.members}
        early = tuple(k for s in self.steps[:last] for k in s.ends if k not in members)
        return early if early and needed > self._numpy_peak() + SLACK else ()

    def _numpy_peak(self) -> int:
        """Bytes that NumPy would have in use at a time besides what is there before, at the least: if all
        that the chain reads went after its last use, and temporaries were used again at once."""
        nodes = sorted((n for g in self.chain.groups for n in g.nodes), key=lambda n: n.serial)
        mine = {n.serial for n in nodes}
        ends = {k for s in self.steps for k in s.ends}
        gone = {self.w.value(k).serial: self.w.value(k) for k in ends}
        last = {v.serial: n.serial for n in nodes for v in n.needs() if v.serial in gone}
        leaving: dict[int, list[Expr]] = {}
        for v, at in last.items():
            leaving.setdefault(at, []).append(gone[v])
        live = peak = 0
        for node in nodes:
            going = leaving.get(node.serial, [])
            free = sum(v.nbytes for v in going if v.serial not in mine or not self.w.external(v))
            elided = isinstance(node.op, Map) and any(v.nbytes == node.nbytes for v in going)
            if node.old is None:
                live += node.nbytes
            peak = max(peak, live - node.nbytes if elided else live)
            live -= free
        return peak
