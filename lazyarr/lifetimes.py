"""Lifetimes: how many bytes of values a plan holds at most at a time, told before it runs.

In:  the steps of a plan, the walk that they were made for.   Out: bytes.
Placement (`bufferize`) is gone through step by step, with sizes in the place of memory: a value lives from
the step that stores it to the last one that needs it, or on where the program holds it.  What exists already
counts from the start.  Rows in a thread's own memory count, scratch memory of kernels (some kB for each
thread) does not.
`eager_peak` is the same for the program as it was written, computed operation by operation, temporaries
reused where Python's operators can.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from lazyarr.expr import Expr, Map, Opaque, Read
from lazyarr.fusion.group import region_of
from lazyarr.geometry import same
from lazyarr.plan import RowBlocks, Step, Walk
from lazyarr.row_rings import Ring
from lazyarr.storage import SLACK
from lazyarr.threading.limits import get_num_threads
from lazyarr.values import Positions, Unwritten, is_held


class _Memory:
    """Buffers by number, who owns them, and how many bytes they are."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.owners: list[set[int]] = []
        self.home: dict[int, int] = {}
        """Serial of a value -> its buffer."""
        self.live = 0
        self.peak = 0

    def new(self, value: Expr, nbytes: int = -1) -> None:
        """Of as many bytes as the value has, or others."""
        nbytes = value.nbytes if nbytes < 0 else nbytes
        self.home[value.serial] = len(self.sizes)
        self.sizes.append(nbytes)
        self.owners.append({value.serial})
        self.live += nbytes
        self.peak = max(self.peak, self.live)

    def move(self, value: Expr, source: Expr) -> None:
        """`value` takes the buffer of another one."""
        at = self.home[value.serial] = self.home[source.serial]
        self.owners[at].discard(source.serial)
        self.owners[at].add(value.serial)

    def drop(self, value: Expr) -> None:
        """The buffer of a value goes, whoever owns it."""
        at = self.home[value.serial]
        self.owners[at].clear()
        self.live -= self.sizes[at]

    def end(self, value: Expr) -> None:
        at = self.home.get(value.serial)
        if at is not None and value.serial in self.owners[at]:
            self.owners[at].discard(value.serial)
            if not self.owners[at]:
                self.live -= self.sizes[at]


def _stays(value: Expr, serials: set[int]) -> bool:
    """Does somebody outside the evaluation keep it: the program, a pending reader, a foreign reference?"""
    shared = value.buf is not None and value.buf.shared()
    return is_held(value) or shared or any(r.serial not in serials for r in value.waiting())


def _unread(value: Expr) -> bool:
    """Is it no memory yet, or not any more, or never any?"""
    return value.buf is None or value.buf.__class__ in (Unwritten, Positions)


class _Placement:
    """One evaluation, gone through."""

    def __init__(self, w: Walk) -> None:
        self.w, self.memory = w, _Memory()
        self.serials = {node.serial for node in w.nodes}
        self.done: set[int] = set()
        self.waiting: dict[int, list[int]] = {}
        """By serial of a value, who reads it, the first one last, but for the first ones that are done."""
        values = (*w.nodes, *w.leaves)
        self.stays = {v.serial for v in values if _stays(v, self.serials) or w.external(v)}
        for leaf in w.leaves:
            if not _unread(leaf):
                self.memory.new(leaf)

    def run(self, steps: Iterable[Step]) -> int:
        for step in steps:
            if step.program is None and step.rows is None and not step.boxes:
                self.by_numpy(step)
            else:
                self.by_kernel(step)
        return self.memory.peak

    def by_kernel(self, step: Step) -> None:
        members = {self.w.nodes[k].serial for k in step.members}
        taken: set[int] = set()
        turns = {turn.node: turn for turn in step.turns}
        for k, reusable in zip(step.stored, step.reusable, strict=True):
            if k in turns and turns[k].ring is not None and step.rows is not None:
                self.ring(self.w.nodes[k], turns[k].ring, step.rows)
            elif k in turns:
                self.turn(self.w.nodes[k], turns[k].source, members, taken)
            else:
                self.place(self.w.nodes[k], list(map(self.w.value, reusable)), members, taken)
        if step.rows is not None:
            own = step.rows.own_bytes * step.rows.slots(get_num_threads())
            self.memory.peak = max(self.memory.peak, self.memory.live + own)
        for ring in step.rows.rings if step.rows is not None else ():
            self.memory.drop(self.w.value(ring.to))
        self.done |= members - {self.w.nodes[k].serial for k in step.staying}
        self.let_go(map(self.w.value, step.ends))

    def by_numpy(self, step: Step) -> None:
        ends = {self.w.value(k).serial for k in step.ends}
        last: dict[int, int] = {}
        for k in step.members:
            last.update((value.serial, k) for value in _used(self.w.nodes[k]))
        for k in step.members:
            node = self.w.nodes[k]
            made = isinstance(node.op, Opaque)
            inputs = [] if made else [i.expr for i in node.inputs if isinstance(i, Read)]
            self.place(node, inputs, {node.serial}, set())
            self.done.add(node.serial)
            over = [v for v in (*_used(node), node) if v.serial in ends and last.get(v.serial, k) == k]
            self.let_go(over)

    def let_go(self, values: Iterable[Expr]) -> None:
        for value in values:
            if value.serial not in self.stays:
                self.memory.end(value)

    def place(self, node: Expr, reusable: list[Expr], members: set[int], taken: set[int]) -> None:
        """As `bufferize.Placement.place` does it."""
        old, covers = node.old, node.covers
        while old is not None and old.serial not in self.memory.home and old.buf is None:
            covers = covers or old.covers
            old = old.old
        if old is not None and old.serial not in self.memory.home:
            self.memory.new(old)                # takes its memory now
        if old is not None and (
            self.free(old, members, taken) or (old.serial in members and not covers) or _lent(old)
        ):
            source: Expr | None = old
        elif old is not None and not covers:
            source = None
        else:
            source = next((v for v in reusable if self.dies(v, node, members, taken)), None)
        if source is None:
            self.memory.new(node)
        else:
            taken.add(source.serial)
            self.memory.move(node, source)

    def ring(self, node: Expr, ring: Ring | None, rows: RowBlocks) -> None:
        """As `bufferize.Placement.ring` does it."""
        kind = None if ring is None else ring.pattern(rows.strips(get_num_threads()))
        self.memory.new(node, node.nbytes if kind is None else kind.own)

    def turn(self, node: Expr, source: int | None, members: set[int], taken: set[int]) -> None:
        """As `bufferize.Placement.turn` does it."""
        of = None if source is None else self.w.value(source)
        if of is not None and (of.serial in members or self.free(of, members, taken) or _lent(of)):
            taken.add(of.serial)
            self.memory.move(node, of)
        else:
            self.memory.new(node)

    def free(self, value: Expr, members: set[int], taken: set[int]) -> bool:
        writeable = value.buf is None or _unread(value) or value.buf.writeable()
        return value.serial not in taken and writeable and self.over(value, members)

    def over(self, value: Expr, members: set[int]) -> bool:
        """Have all who read a value done so, but for some members?  (It may be asked after each of them.)"""
        left, done = self.waiting.get(value.serial), self.done
        if left is None:
            left = self.waiting[value.serial] = [r.serial for r in reversed(value.waiting())]
        while left and left[-1] in done:
            left.pop()
        return all(serial in members or serial in done for serial in reversed(left))

    def dies(self, value: Expr, node: Expr, members: set[int], taken: set[int]) -> bool:
        return (
            value.serial in self.memory.home
            and value.nbytes == node.nbytes
            and value.serial not in self.stays
            and self.free(value, members, taken)
        )


def _lent(value: Expr) -> bool:
    """Must it stay where it is, since somebody outside may be writing there?"""
    buf = value.buf
    return buf is not None and buf.shared() and buf.writeable()


def _used(node: Expr) -> Iterator[Expr]:
    yield from (i.expr for i in node.inputs if isinstance(i, Read))
    if node.old is not None:
        yield node.old


def input_bytes(w: Walk) -> int:
    """What exists before."""
    return sum(leaf.nbytes for leaf in w.leaves if not _unread(leaf))


def peak_bytes(w: Walk, steps: Iterable[Step]) -> int:
    """The most bytes of values that exist at a time while the steps run, the inputs' included."""
    return _Placement(w).run(steps)


def eager_peak(w: Walk) -> int:
    """The same where each operation is computed when it is called, on what exists already."""
    memory, serials = _Memory(), {node.serial for node in w.nodes}
    last = {value.serial: node.serial for node in w.nodes for value in _used(node)}
    stays = {v.serial for v in (*w.nodes, *w.leaves) if _stays(v, serials) or w.external(v)}
    for leaf in w.leaves:
        if not _unread(leaf):
            memory.new(leaf)
    for value in sorted((*w.nodes, *w.leaves), key=lambda v: v.serial):
        if value.op is None:
            if value.buf is not None and value.buf.__class__ is Unwritten:
                memory.new(value)
            continue
        ending = [v for v in _used(value) if last[v.serial] == value.serial and v.serial not in stays]
        old = value.old
        while old is not None and old.serial not in memory.home:
            old = old.old
        again = next((v for v in ending if _is_reused(v, value, memory)), None) if old is None else old
        if again is None:
            memory.new(value)
        else:
            memory.move(value, again)
        for over in ending:
            memory.end(over)
    return memory.peak


def _is_reused(value: Expr, node: Expr, memory: _Memory) -> bool:
    """Can an operator store its result over a temporary?"""
    region = region_of(node)
    return (
        isinstance(node.op, Map) and value.serial in memory.home and value.nbytes == node.nbytes
        and all(same(i.geo, region) for i in node.inputs if isinstance(i, Read) and i.expr is value)
    )  # fmt: skip


def _besides(w: Walk, steps: Iterable[Step]) -> int:
    """No less than what steps hold at a time more than NumPy at its most: all besides what exists before and
    stays, and what is asked for, which NumPy has in memory at the end, too."""
    nodes, asked = w.nodes, w.asked
    if any(n.old is not None and n.old.serial in asked for n in nodes):
        return sys.maxsize                      # (NumPy has written over it by then)
    found = own = 0
    for step in steps:
        numpys = step.program is None and step.rows is None and not step.boxes
        for k in step.members if numpys else step.stored:
            node = nodes[k]
            if node.old is not None or node.serial not in asked:
                found += node.nbytes
        if step.rows is not None:
            own = max(own, step.rows.own_bytes * step.rows.slots(get_num_threads()))
    serials = {n.serial for n in nodes}
    ending = [v.nbytes for v in w.leaves if _unread(v) or not (_stays(v, serials) or w.external(v))]
    return found + own + sum(ending)


def excess(w: Walk, steps: Sequence[Step]) -> int:
    """How many bytes more than NumPy, as the program was written, steps hold at a time, if that is worth
    another plan."""
    if sum([n.nbytes for n in w.nodes if n.old is None or n.old.op is None]) <= SLACK:
        return 0            # (others write to memory that is there by then)
    if _besides(w, steps) <= SLACK:
        return 0            # (so nearly always: nothing is gone through for that)
    return max(0, peak_bytes(w, steps) - eager_peak(w) - SLACK)
