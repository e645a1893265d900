"""Row blocks: steps that run together on the rows of one block after the other.

In:  chains of groups (`fusion.rows`), their steps and programs.   Out: the steps of the plan, in which one
step stands for each chain.
A block is as many rows as stay in a core's cache (`row_room`), while others pass through it.
What only the chain reads has no memory but a thread's own, of one block.  So a chain needs less memory than
its steps one by one, but that it lets go of what it reads at its end only: where that may matter, the
values are named, and each evaluation decides (`RowBlocks.early`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.config import current
from lazyarr.expr import Expr, Map
from lazyarr.fusion.assemble import Frame, Inside
from lazyarr.fusion.assembler import Unlike
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import left
from lazyarr.fusion.kinds import Key
from lazyarr.fusion.leading import ANEW
from lazyarr.fusion.partition import Partition
from lazyarr.fusion.program import Program
from lazyarr.fusion.rows import Found
from lazyarr.fusion.structure import Framed, Numbering
from lazyarr.fusion.touches import Touch
from lazyarr.launch import NONTEMPORAL_BYTES
from lazyarr.launch_rows import may_stream
from lazyarr.plan import (
    RINGS_EACH,
    Place,
    PlacedRing,
    PlacedTurn,
    RowBlocks,
    RowPart,
    Step,
    Walk,
    block_rows,
)
from lazyarr.records import NamedTuple
from lazyarr.row_reads import Reads, fits_in, reach, way_of
from lazyarr.row_rings import Ring, rings_of
from lazyarr.row_room import widest
from lazyarr.row_values import Uses
from lazyarr.schedule import LINE, scattered
from lazyarr.storage import SLACK
from lazyarr.switches import is_off
from lazyarr.threading.limits import get_num_threads


def joined(
    w: Walk, parted: Partition, steps: Mapping[int, Step], framed: Sequence[Framed | None],
    tight: bool = False,
) -> tuple[list[Step], Found]:
    """The steps by group, each chain of groups as one step where that can be; and the chains that are.

    Where memory is `tight`, threads hold no more of what passes than there may be besides NumPy's."""
    apart = is_off("rows") or not {"fusion", "reduction"} <= current.parallel
    rows = Found() if apart else parted.rows
    found, kept, passing = dict(steps), Found(apart=dict(rows.apart)), set[int]()
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
            step = _Joining(w, uses, chain, [steps[k] for k in numbers], mine, tight).step(alike, passing)
        if isinstance(step, str):
            kept.apart.update(dict.fromkeys(numbers[1:], step))
            continue
        assert step.rows is not None
        kept.chains.append(chain.nested(len(step.rows.outer)).in_blocks(step.rows.rows))
        kept.buffers.append(_buffers(step, step.rows))
        found[numbers[0]] = step
        for k in numbers[1:]:
            del found[k]
    return list(found.values()), kept


def _buffers(step: Step, rows: RowBlocks) -> tuple[str, ...]:
    """What becomes of second buffers."""
    strips, found = rows.strips(get_num_threads()), list[str]()
    for turn in step.turns:
        kind = None if turn.ring is None else turn.ring.pattern(strips)
        if kind is not None:
            found.append(f"sweeps' second buffer has {kind.own} of {kind.nbytes} bytes, which come round")
        elif turn.whole:
            found.append(f"sweeps' second buffer is whole: {turn.whole}")
    return tuple(found)


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
    rings: dict[int, Ring | str]
    """Second buffers of sweeps, by the value that lies there first; or why they are whole."""


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
        self.own = Numbering()
        """By number of a value: the chain's own number."""

    def step(self, alike: dict[Key, Joint | str], passing: set[int]) -> Step | str:
        """The step, or why the groups run one by one after all.

        Values (serials) that are `passing` are gone when the step that makes them has run."""
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
        turns = self._turns(joint.rings, passing)
        found.rings = tuple([self._placed(turn) for turn in turns if turn.ring is not None])
        if not turns:
            found.early = self._early(found, {values[v] for v in joint.inside})
        return Step(
            tuple([k for s in steps for k in s.members]), tuple([values[k] for k, _ in joint.reusable]),
            None, (), (), (), tuple([tuple([values[v] for v in r]) for _, r in joint.reusable]), "",
            tuple([k for s in steps for k in s.ends]), rows=found, turns=turns,
            shared=tuple([k for s in steps for k in s.shared]),
        )  # fmt: skip

    def _turns(self, rings: Mapping[int, Ring | str], passing: set[int]) -> tuple[PlacedTurn, ...]:
        """The nodes that take turns with another buffer."""
        turns, found = self.chain.groups[0].memory.turns, list[PlacedTurn]()
        if turns is None:
            return ()
        for group in self.chain.groups:
            for node in group.nodes:
                turn = turns.first.get(node.serial)
                if turn is None:
                    continue
                begins, source = node.serial in turns.begin, turn.source
                if begins and source is not None and source.serial in passing:
                    source = None
                at = self.w.numbers[id(node)]
                ring = rings.get(self.own[at], "") if begins else ""
                from_ = None if source is None else self.w.numbers[id(source)]
                if isinstance(ring, str):
                    found.append(PlacedTurn(at, from_, turn.margins, None, ring))
                    continue
                key, members = group.memory.key(node), [n for g in self.chain.groups for n in g.nodes]
                passing.update(n.serial for n in members if group.memory.key(n) is key)
                found.append(PlacedTurn(at, None, turn.margins, ring))
        return tuple(found)

    def _placed(self, turn: PlacedTurn) -> PlacedRing:
        """A ring among the chain's values."""
        assert turn.ring is not None
        old = self.w.nodes[turn.node].old
        return PlacedRing(turn.ring, self.w.numbers[id(old)], turn.node)

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
            *self._begins(),
        )  # fmt: skip

    def _begins(self) -> Iterator[Hashable]:
        """Where sweeps begin to take turns with another buffer, and what is copied there."""
        turns = self.given.groups[0].memory.turns
        for k, group in enumerate(self.given.groups if turns is not None else ()):
            for node in group.nodes:
                if turns is not None and node.serial in turns.begin:
                    yield k, turns.first[node.serial].margins

    def _joint(self) -> Joint | str:
        found = widest(self.w, self.uses, self.given, self.steps, self.tight)
        if isinstance(found, str):
            return found
        room, rows = found
        self.chain, self.inside = room.chain, room.inside
        # (Of columns the last block has fewer, not more: what they pass on is to take no more than it must.)
        blocks = (self.chain.extent + (rows - 1 if room.columns() else 0)) // rows
        turns = room.places(rows)
        starts = [start + turn.shift for start, turn in zip(self.chain.starts, turns, strict=True)]
        memory, own_bytes = self._slots(math.prod(room.outer), rows, blocks, starts)
        try:
            programs = [self._programs(k, rows, blocks, start) for k, start in enumerate(starts)]
        except Unlike as unlike:
            return unlike.why
        if any(scattered(p) for each in programs for p in each):
            return "random numbers are drawn in the order of their stream, many at a time"
        parts, chain = list[tuple[Any, ...]](), self.chain
        made = {v: turns[k] for v, k in room.made.items()}
        for k, (step, each) in enumerate(zip(self.steps, programs, strict=True)):
            streams = self._streams(k) and all(map(may_stream, each))
            inside = tuple(memory.get(v, -1) for v in step.operands)
            sources = tuple(made.get(v, Place()) for v in step.operands)
            parts.append((
                *each, inside, streams, self._axes(k), chain.lags[k], turns[k], sources, starts[k],
                chain.rows(k),
            ))  # fmt: skip
        spare, delay = room.spare(), room.delay()
        joined_parts = tuple([RowPart(step, *part) for step, part in zip(self.steps, parts, strict=True)])
        blocked = RowBlocks(joined_parts, rows, blocks, own_bytes, spare, delay, outer=room.outer)
        strips = blocked.strips(get_num_threads(), RINGS_EACH)
        rings = {self.own[v]: ring for v, ring in rings_of(self.chain, self.w, blocked, strips)}
        if self.chain.leading and any(isinstance(ring, str) for ring in rings.values()):
            return ANEW
        if current.verify:
            self._verify(blocked)
            for ring in rings.values():
                wrong = None if isinstance(ring, str) else ring.prove(strips)
                if wrong:
                    raise InvalidKernel(f"a second buffer of sweeps: {wrong}")
        lying = dict.fromkeys(self.own[k] for step in self.steps for k in step.operands if k not in memory)
        return Joint(
            room.outer, rows, blocks, own_bytes, spare, delay, parts, list(self._reusable()),
            [self.own[v] for v in self.inside], list(lying), rings,
        )  # fmt: skip

    def _slots(
        self, outer: int, rows: int, blocks: int, starts: Sequence[int]
    ) -> tuple[dict[int, int], int]:
        """Where in a thread's own memory each value lies that it has a block of, and how much all take; a
        value has rows in so many positions of `outer` axes."""
        at: dict[int, int] = {}
        end = 0
        placed = enumerate(self.chain.touches)
        makers = {self.w.numbers[id(t.value)]: k for k, touches in placed for t in touches if t.writes}
        for number in self.inside:
            k, at[number] = makers[number], end
            count, start = self.chain.rows(k), starts[k]
            # (The first block and the last one have also what is before them, and behind.)
            most = max(rows, rows - start, count + start - (blocks - 1) * rows)
            nbytes = self.w.value(number).nbytes // (outer * count) * most
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

    def _programs(self, k: int, rows: int, blocks: int, start: int) -> tuple[Program, Program, Program]:
        """Over the rows of a group's first block, of those between, and of its last one, if it begins at this
        row of the blocks."""
        chain, own = self.chain, self.steps[k].program
        inside = tuple([self.inside.get(v, ()) for v in self.steps[k].operands])
        axes = tuple([level.axes[k] for level in (*chain.outer, chain)])
        assert own is not None

        def program(extent: int) -> Program:
            if chain.rows(k) == 1:
                return own
            return self.framed[k].over(Frame(axes, chain.space(k, extent), inside))

        count = chain.rows(k)
        begin, end = (min(max(0, row // rows), blocks - 1) for row in (start, start + count - 1))
        first, last = (block_rows(number, rows, blocks, start, count) for number in (begin, end))
        ends = program(first.stop - first.start), program(last.stop - last.start)
        return ends[0], program(rows) if end - begin > 1 else ends[0], ends[1]

    def _reusable(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """What is stored, and for each: values in whose memory it may lie, since the chain reads them no
        later, in time and not just in the order of steps, and in the same rows only."""
        outer = self.chain.outer
        levels = [*(level.within(outer[:depth]) for depth, level in enumerate(outer)), self.chain]
        """Rows are the same if they are so at each level: one block of rows within one outer row."""
        reads, *nested = map(self._reads, levels[::-1])
        # (What a masked write leaves of an old value that nobody else reads is among the operands only.)
        last: dict[int, int] = {}
        for at, s in enumerate(self.steps):
            last.update((v, at) for k, v in enumerate(s.operands) if k not in s.written)
        lags, ways = [*zip(self.chain.lags, self.chain.fronts, strict=True)], dict[Any, int]()

        def read(v: int) -> list[tuple[Reads, int]]:
            return [(each[v], way_of(each[v], lags, ways)) for each in (reads, *nested)]

        ending = [
            (self.own[v], max(found[-1][0], last.get(v, -1)), read(v))
            for v, found in reads.items() if v not in self.inside
        ]
        known: dict[tuple[object, ...], bool] = {}     # the answers for what is read in the same way before

        def fits(found: Reads, way: int, end: int, k: int, to: Touch, axis: int) -> bool:
            if end == k or not (way and to.like):
                return fits_in(found, k, to, axis, lags)
            key = way, to.like, axis, lags[k]
            if key not in known:
                known[key] = fits_in(found, k, to, axis, lags)
            return known[key]

        for k, step in enumerate(self.steps):
            mine = [
                ({id(t.value): t for t in level.touches[k] if t.writes}, level.axes[k])
                for level in levels[::-1]
            ]
            for number in step.stored:
                if number not in self.inside:
                    node = self.w.nodes[number]
                    to = [(t[id(node)], axis) for t, axis in mine] if isinstance(node.op, Map) else None
                    yield self.own[number], () if to is None else tuple([
                        v for v, end, found in ending if end <= k and all(
                            fits(*each, end, k, *where) for each, where in zip(found, to, strict=True)
                        )
                    ])  # fmt: skip

    def _reads(self, chain: Chain) -> dict[int, Reads]:
        """What is read in the rows of one level, by number.

        Masked writes read what they leave of old values, too, where they write."""
        reads: dict[int, Reads] = {}
        for at, (axis, touches) in enumerate(zip(chain.axes, chain.touches, strict=True)):
            for t in touches:
                if not t.writes:
                    reads.setdefault(self.w.numbers[id(t.value)], []).append((at, axis, t))
        for at, (group, axis, mine) in enumerate(zip(chain.groups, chain.axes, chain.touches, strict=True)):
            for node, old in left(group):
                number = self.w.numbers.get(id(old))
                if number in reads:
                    where = [t for t in mine if t.writes and t.value is node]
                    if not where:               # (it stays in registers)
                        del reads[number]
                        continue
                    reads[number] = sorted([*reads[number], (at, axis, where[0])], key=itemgetter(0))
        return reads

    def _verify(self, found: RowBlocks) -> None:
        """Does each operand stay within its value, or within the thread's memory, in every block?"""
        for part in found.parts:
            every = part.rows * math.prod(found.outer)
            begin, end = found.span(part)
            visits = {begin: part.first, end - 1: part.last if end - begin > 1 else part.first}
            visits |= {block: part.program for block in (begin + 1, end - 2) if begin < block < end - 1}
            for block, program in visits.items():
                rows = found.block(block, part)
                for k, (number, inside) in enumerate(zip(part.step.operands, part.inside, strict=True)):
                    room = self.w.value(number).nbytes
                    if inside >= 0:
                        room = room // every * (rows.stop - rows.start)
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
