"""Row blocks: steps that run together on the rows of one block after the other.

In:  chains of groups (`fusion.rows`), their steps and bodies.   Out: the steps of the plan, in which one
step stands for each chain.
A block is as many rows as stay in a core's second-level cache, while others pass through it.
What only the chain reads has no memory but a thread's own, of one block.  So a chain needs less memory than
its steps one by one, but that it lets go of what it reads at its end only: where that may matter, the
values are named, and each evaluation decides (`RowBlocks.early`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from lazyarr.codegen.reduce_plan import arrange
from lazyarr.codegen.verify import InvalidKernel
from lazyarr.config import current
from lazyarr.dtypes import PLAIN
from lazyarr.expr import Expr, Map
from lazyarr.fusion.assemble import Assembler, Frame, Inside, Unlike, assemble
from lazyarr.fusion.partition import Partition
from lazyarr.fusion.program import Program
from lazyarr.fusion.rows import Chain, Found, Touch, in_step
from lazyarr.launch import NONTEMPORAL_BYTES, program_worth_threads
from lazyarr.launch_rows import may_stream
from lazyarr.plan import RowBlocks, RowPart, Step, Walk
from lazyarr.schedule import LINE, scattered
from lazyarr.storage import SLACK
from lazyarr.switches import is_off
from lazyarr.threading.limits import get_num_threads

CACHE_PART = 4
"""Of the cache, one part in so many is for the rows of a block (2 to 16 were measured alike)."""

BLOCKS_EACH = 4
"""Blocks for each thread, at least, where the work is worth threads."""

SHORTER = 4
"""Where groups run behind, blocks are so many times shorter: at a time there are two, and edges of strips."""

STRETCH = 512
"""Bytes of what successive rows have side by side, at least, where rows are not contiguous (columns, say)."""


@cache
def cache_bytes() -> int:
    """What a core's second-level cache holds, as the system says, or as most do."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index2/size", encoding="ascii") as file:
            return int(file.read().strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        return 1 << 20


def joined(
    w: Walk, parted: Partition, steps: Mapping[int, Step], bodies: Sequence[Assembler | None]
) -> tuple[list[Step], Found]:
    """The steps by group, each chain of groups as one step where that can be; and the chains that are."""
    apart = is_off("rows") or not {"fusion", "reduction"} <= current.parallel
    rows = Found() if apart else parted.rows
    found, kept = dict(steps), Found([], dict(rows.apart))
    for chain in rows.chains:
        numbers = chain.numbers
        mine = [b for b in (bodies[k] for k in numbers) if b is not None]
        step: Step | str = "NumPy runs one of them"
        if len(mine) == len(numbers):
            step = _Joining(w, parted, chain, [steps[k] for k in numbers], mine).step()
        if isinstance(step, str):
            kept.apart.update(dict.fromkeys(numbers[1:], step))
            continue
        assert step.rows is not None
        kept.chains.append(replace(chain, block=step.rows.rows))
        found[numbers[0]] = step
        for k in numbers[1:]:
            del found[k]
    return list(found.values()), kept


class _Joining:
    """One chain on its way to a step."""

    def __init__(
        self, w: Walk, parted: Partition, chain: Chain, steps: Sequence[Step], bodies: Sequence[Assembler]
    ) -> None:
        self.w, self.chain, self.steps, self.bodies = w, chain, steps, bodies
        self.inside = _inside(chain, parted, w)
        self.numbers = {n.serial: k for k, n in enumerate(w.nodes)} | {
            v.serial: -1 - k for k, v in enumerate(w.leaves)
        }

    def step(self) -> Step | str:
        """The step, or why the groups run one by one after all."""
        rows = self._rows()
        if isinstance(rows, str):
            return rows
        blocks = self.chain.extent // rows
        last = self.chain.extent - (blocks - 1) * rows
        slots, own_bytes = self._slots(last)
        try:
            full = [self._program(k, rows) for k in range(len(self.steps))]
            rest = full if last == rows else [self._program(k, last) for k in range(len(self.steps))]
        except Unlike as unlike:
            return unlike.why
        programs = list(zip(full, rest, strict=True))
        if any(scattered(p) for pair in programs for p in pair):
            return "random numbers are drawn in the order of their stream, many at a time"
        parts = []
        for k, (step, pair) in enumerate(zip(self.steps, programs, strict=True)):
            values = [b.value.serial for b in pair[0].bindings]
            streams = self._streams(k) and all(map(may_stream, pair))
            inside = tuple(slots.get(v, -1) for v in values)
            parts.append(RowPart(step, *pair, inside, streams, self._axes(k)))
        for program in (*full, *rest):
            program.forget()
        found = RowBlocks(tuple(parts), rows, blocks, own_bytes, self.chain.behind)
        if current.verify:
            self._verify(found)
        found.early = self._early(own_bytes * found.slots(get_num_threads()))
        stored = [(k, r) for s in self.steps for k, r in zip(s.stored, self._reusable(s), strict=True)]
        stored = [(k, r) for k, r in stored if self.w.nodes[k].serial not in self.inside]
        return Step(
            tuple(k for s in self.steps for k in s.members), tuple(k for k, _ in stored), None, (), (), (),
            tuple(r for _, r in stored), "", tuple(k for s in self.steps for k in s.ends), rows=found,
        )  # fmt: skip

    def _rows(self) -> int | str:
        """Rows of a block."""
        row = still = 0
        for touch, axis in self._largest():
            row += touch.row_bytes(axis)
            still += 0 if touch.strides[axis] else touch.itemsize * math.prod(
                n for n, s in zip(touch.shape, touch.strides, strict=True) if s
            )
        room = cache_bytes() // CACHE_PART
        rows = (room - min(still, room // 2)) // row
        if self.chain.behind and rows >= self.chain.reach:
            rows = max(self.chain.reach, rows // SHORTER)
        spread = self.chain.spread
        least = max(-(-STRETCH // spread) if spread else 1, self.chain.reach)
        if spread and rows < least:     # they come from the next cache about as fast as others from memory
            rows = min(least, (share_bytes() // CACHE_PART - still) // row)
        if rows < min(least, self.chain.extent):
            return f"a row is {row} bytes: too few of them stay in the cache"
        if self._worth_threads():
            rows = min(rows, max(least, self.chain.extent // (BLOCKS_EACH * get_num_threads())))
        if spread and rows > LINE:
            rows = max(rows // LINE * LINE, self.chain.reach)
        return min(self.chain.extent, rows)

    def _largest(self) -> Iterator[tuple[Touch, int]]:
        """One access for each buffer or block in a thread's own memory."""
        found: dict[int, tuple[Touch, int]] = {}
        for axis, touches in zip(self.chain.axes, self.chain.touches, strict=True):
            for t in touches:
                key = id(t.value if t.value.serial in self.inside else t.key)
                if key not in found or found[key][0].row_bytes(found[key][1]) < t.row_bytes(axis):
                    found[key] = t, axis
        return iter(found.values())

    def _worth_threads(self) -> bool:
        return any(program_worth_threads(s.program) for s in self.steps if s.program is not None)

    def _slots(self, rows: int) -> tuple[dict[int, int], int]:
        """Where in a thread's own memory the rows of each value lie, and how much that takes."""
        at: dict[int, int] = {}
        end = 0
        for serial in self.inside:
            at[serial] = end
            nbytes = self.w.nodes[self.numbers[serial]].nbytes // self.chain.extent * rows
            end += -(-nbytes // LINE) * LINE
        return at, end

    def _axes(self, k: int) -> tuple[int, ...]:
        """Along which of its own axes the rows of each member lie, if the loops see it as NumPy would."""
        group, axis = self.chain.groups[k], self.chain.axes[k]
        nodes = [self.w.nodes[m] for m in self.steps[k].members]
        return tuple(axis if group.plain(node) else -1 for node in nodes)

    def _streams(self, k: int) -> bool:
        """Does the chain neither read again what a step writes, nor write it before, and is that large?

        What runs behind writes what was read just before, and is in the cache."""
        if k >= len(self.steps) - self.chain.behind:
            return False
        touches = self.chain.touches
        written = [t for t in touches[k] if t.writes]
        again = {id(t.key) for ts in touches[k + 1 :] for t in ts}
        again |= {id(t.key) for ts in touches[:k] for t in ts if t.writes}
        if any(id(t.key) in again or t.value.serial in self.inside for t in written):
            return False
        return sum(t.value.nbytes for t in written) >= NONTEMPORAL_BYTES

    def _program(self, k: int, rows: int) -> Program:
        return assemble(self.bodies[k], arrange, Frame(self.chain.axes[k], rows, self.inside))

    def _reusable(self, step: Step) -> Iterator[tuple[int, ...]]:
        """For each stored node of a step: values in whose memory it may lie, since the chain reads them
        no later, and in the same rows only."""
        k = self.steps.index(step)
        for node in self.chain.groups[k].nodes:
            if self.numbers[node.serial] in step.stored:
                yield self._fitting(k, node)

    def _fitting(self, k: int, node: Expr) -> tuple[int, ...]:
        if not isinstance(node.op, Map):
            return ()
        mine = next(t for t in self.chain.touches[k] if t.value is node)
        # (What a masked write leaves of an old value is among the operands only.)
        later = {v for s in self.steps[k + 1 :] for at, v in enumerate(s.operands) if at not in s.written}
        fits: dict[int, bool] = {}
        for at, (axis, touches) in enumerate(zip(self.chain.axes, self.chain.touches, strict=True)):
            for t in touches:
                if not t.writes:
                    before = at < k and in_step(t, axis, mine, self.chain.axes[k])
                    fit = before or (at == k and _alike(t, mine))
                    fits[t.value.serial] = fits.get(t.value.serial, True) and fit
        fitting = [self.numbers[v] for v, fit in fits.items() if fit and v not in self.inside]
        return tuple(v for v in fitting if v not in later)

    def _verify(self, found: RowBlocks) -> None:
        """Does each operand stay within its value, or within the thread's memory, in every block?"""
        last, extent = found.blocks - 1, self.chain.extent
        for part in found.parts:
            visits = [(part.program, block) for block in {0, last - 1} if 0 <= block < last]
            for program, block in (*visits, (part.last, last)):
                for k, (number, inside) in enumerate(zip(part.step.operands, part.inside, strict=True)):
                    end = self.w.value(number).nbytes
                    if inside >= 0:
                        rows = found.rows if program is part.program else extent - last * found.rows
                        end = end // extent * rows
                    low, high = reach(program, k)
                    moved = block * found.rows * program.moves[k]
                    if not 0 <= moved + low <= moved + high <= end:
                        raise InvalidKernel(f"operand {k} leaves its memory in block {block}")

    def _early(self, own_bytes: int) -> tuple[int, ...]:
        """Values that would go before the last result has its memory, if NumPy might need less."""
        makes = [any(self.w.nodes[k].serial not in self.inside for k in s.stored) for s in self.steps]
        last = max((at for at, one in enumerate(makes) if one), default=0)
        members = {k for s in self.steps for k in s.members}
        early = tuple(k for s in self.steps[:last] for k in s.ends if k not in members)
        made = [n for s in self.steps for n in (self.w.nodes[k] for k in s.stored)]
        fresh = sum(n.nbytes for n in made if n.old is None and n.serial not in self.inside)
        needed = fresh + own_bytes
        return early if needed > self._numpy_peak() + SLACK else ()

    def _numpy_peak(self) -> int:
        """Bytes that NumPy would have in use at a time besides what is there before, at the least: if all
        that the chain reads went after its last use, and temporaries were used again at once."""
        nodes = sorted((n for g in self.chain.groups for n in g.nodes), key=lambda n: n.serial)
        mine = {n.serial for n in nodes}
        ends = {k for s in self.steps for k in s.ends}
        gone = {self.w.value(k).serial: self.w.value(k) for k in ends}
        last = {v.serial: n.serial for n in nodes for v in n.needs() if v.serial in gone}
        live = peak = 0
        for node in nodes:
            going = [gone[v] for v, at in last.items() if at == node.serial]
            free = sum(v.nbytes for v in going if v.serial not in mine or not self.w.external(v))
            elided = isinstance(node.op, Map) and any(v.nbytes == node.nbytes for v in going)
            if node.old is None:
                live += node.nbytes
            peak = max(peak, live - node.nbytes if elided else live)
            live -= free
        return peak


@cache
def share_bytes() -> int:
    """A core's share of the third-level cache, as far as the system says."""
    at = "/sys/devices/system/cpu/cpu0/cache/index3"
    try:
        with open(f"{at}/size", encoding="ascii") as file:
            size = int(file.read().strip().removesuffix("K")) << 10
        with open(f"{at}/shared_cpu_map", encoding="ascii") as file:
            return size // int(file.read().replace(",", ""), 16).bit_count()
    except (OSError, ValueError, ZeroDivisionError):
        return 0


def _inside(chain: Chain, parted: Partition, w: Walk) -> dict[int, Inside]:
    """Values that only the chain reads, and whole: a thread's memory has room for a block of them."""
    mine = {id(g) for g in chain.groups}
    elsewhere = {a.value.serial for g in parted.groups if id(g) not in mine for a in g.loads}
    for group in parted.groups:
        elsewhere.update(n.old.serial for n in group.nodes if n.old is not None and not n.covers)
    writes = [(t, axis) for axis, ts in zip(chain.axes, chain.touches, strict=True) for t in ts if t.writes]
    passing = {
        t.value.serial for t, _ in writes
        if t.value.covers and not w.external(t.value) and t.value.serial not in elsewhere
    }
    # Values that come to lie in an array that exists, or is made, need no memory: it is in the cache, too.
    lasting = {id(t.key) for t, _ in writes if t.value.serial not in passing or t.key.op is None}
    return {
        t.value.serial: Inside(t.strides[axis], abs(t.strides[axis]) * chain.extent)
        for t, axis in writes if id(t.key) not in lasting
    }


def reach(program: Program, k: int) -> tuple[int, int]:
    """First byte and end of what an operand visits, from its value's first byte on."""
    low = high = program.offsets[k]
    for n, s in zip(program.loops.shape, program.loops.strides[k], strict=True):
        low, high = low + min(0, s * (n - 1)), high + max(0, s * (n - 1))
    return low, high + PLAIN[program.parfor.operands[k].dtype].itemsize


def _alike(a: Touch, b: Touch) -> bool:
    """Is it the same element in the same iteration?"""
    return (a.offset, a.strides, a.itemsize) == (b.offset, b.strides, b.itemsize)
