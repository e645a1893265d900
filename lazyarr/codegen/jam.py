"""Jam: rows of a loop nest side by side, which share what they load.

In:  a vectorised kernel whose operands are one array, some rows or elements further on.   Out: the kernel
with its `Jam`s, where that pays: four rows, and two of those that are left, since blocks of wide rows have
no more.
A five-point stencil loads five vectors for one result; two rows side by side load four vectors of the array
and, for what lies an element further on, shuffle these: loads that cross cache lines cost twice.  Registers
of 64 bytes are shuffled across; those of 32 bytes in halves, so there are vectors half a register apart, too.
Whether there are as many rows depends on registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from lazyarr.codegen import emit_rows
from lazyarr.codegen.emitters_numpys import BRANCHING
from lazyarr.codegen.fused_sums import chosen
from lazyarr.codegen.loopir import PLACE, Apply, Jam, Kernel, Load, Loop, Once, Store
from lazyarr.dtypes import PLAIN
from lazyarr.records import NamedTuple, replace
from lazyarr.target import Target
from lazyarr.tuning import tuning

PACES = {64: 64, 32: 16}
"""By bytes of the registers that are shuffled: from one vector of a row that is loaded whole to the next one.
What lies between two of them takes one instruction.  (Narrower registers cross a cache line less often.)"""

SHUFFLED = 4, 8
"""Bytes of the elements in them: smaller ones take several instructions."""

REGISTERS = {16: 16, 32: 16, 64: 32}
"""Vector registers of a processor, by their bytes."""

ADDRESSES = 14
"""Of rows, which lie in registers of their own."""

MEMORY_OPERANDS = 3
"""Registers for what is taken from memory once and goes into an operation at once."""

Row = tuple[int, int]
"""A leading operand, and how many rows further on."""

Vector = tuple[Hashable, ...]
"""A row and how many elements, or vectors that are loaded whole, beside the results; or a value of a row."""


def jam(kernel: Kernel, target: Target) -> Kernel:
    """Let rows run side by side."""
    if not kernel.shifts or target.without("jam") or not can_jam(kernel):
        return kernel
    jams, rows = list[Jam](), tuning(target.name).beside
    while rows > 1:
        few = _addresses(kernel, rows) <= ADDRESSES
        if few and _registers(kernel, rows, target) <= REGISTERS[target.vector_bytes]:
            jams.append(_jam(kernel, rows, target))
        rows >>= 1
    return replace(kernel, jams=tuple(jams))


def can_jam(kernel: Kernel) -> bool:
    """May rows run side by side, if no result lies where something is read?"""
    return (
        emit_rows.overlapping(kernel) and len(kernel.shifts) == len(kernel.operands)
        and all(
            (isinstance(lane, Apply) and (lane.op, lane.sig) not in BRANCHING)
            or (isinstance(lane, Load | Store) and lane.ref.access == "u" and lane.ref.space != PLACE)
            for lane in main_of(kernel).body
        )
        and not kernel.loops
    )  # fmt: skip


def main_of(kernel: Kernel) -> Loop:
    """The loop over whole vectors."""
    return next(s for s in kernel.body if isinstance(s, Loop))


def once_of(kernel: Kernel) -> Once | None:
    return next((s for s in kernel.body if isinstance(s, Once)), None)


class Reads(NamedTuple):
    """What rows side by side read of one row of an array."""

    elements: frozenset[int]
    """How far beside each result."""
    least: int
    most: int
    """Of all that is read of the row by anybody: it may be read up to here."""


def rows_read(kernel: Kernel, rows: int) -> dict[Row, Reads]:
    """By row: what so many rows side by side, from row 0 on, read of it; of operands beside others only."""
    found: dict[Row, set[int]] = {}
    led = {shift.leader for k, shift in enumerate(kernel.shifts) if shift.leader != k}
    for lane in main_of(kernel).body:
        if isinstance(lane, Load):
            shift = kernel.shifts[lane.ref.index]
            for r in range(rows) if shift.leader in led else ():
                found.setdefault((shift.leader, shift.rows + r), set()).add(shift.elements)
    return {row: Reads(frozenset(e), min(e), max(e)) for row, e in found.items()}


class Across(NamedTuple):
    """Which vectors of a row are loaded whole, if what lies beside is shuffled: so many of `pace` elements
    beside the results, from `first` to `last`.  Those `on` further on are the next position's."""

    first: int
    last: int
    pace: int
    on: int

    @property
    def held(self) -> range:
        """Those that the position before has loaded."""
        return range(self.first, self.last + 1 - self.on)

    def between(self, elements: int) -> tuple[int, ...]:
        """Which of them what lies so many elements beside is made of: one, or two."""
        at, more = divmod(elements, self.pace)
        return (at, at + 1) if more else (at,)


def across(reads: Reads, char: str, lanes: int, pace: int) -> Across | None:
    """Which vectors of a row are loaded whole; None where that saves nothing."""
    itemsize = PLAIN[char].itemsize
    if not pace or itemsize not in SHUFFLED or PACES.get(lanes * itemsize) != pace:
        return None
    each = pace // itemsize
    found = Across(0, 0, each, lanes // each)
    near = [k for e in reads.elements if abs(e) < lanes for k in found.between(e)]
    found = found._replace(first=min(near, default=0), last=max(near, default=0))
    if found.first == found.last:
        return None
    loaded = {k * each for k in range(found.first, found.last + 1) if k not in found.held}
    width = lanes * itemsize
    saves = _costs(reads.elements, lanes, width) > _costs(loaded, lanes, width)
    return found if saves else None


def _costs(places: Iterable[int], lanes: int, width: int) -> float:
    """Loads of vectors so many elements beside multiples: in two cache lines they cost twice."""
    return sum(1 + (e % lanes > 0) * width / 64 for e in places)


def _jam(kernel: Kernel, rows: int, target: Target) -> Jam:
    """Which rows' vectors are loaded whole, and at which positions they may be."""
    lanes, begin, end = main_of(kernel).lanes, 0, 0
    pace = pace_of(target)
    whole: list[tuple[int, int, int, int]] = []
    for row, reads in rows_read(kernel, rows).items():
        found = across(reads, kernel.operands[row[0]].dtype, lanes, pace)
        if found:
            whole.append((*row, found.first, found.last))
            begin = max(begin, reads.least - found.pace * found.first)
            end = min(end, reads.most - found.pace * found.last - lanes)
    return Jam(rows, tuple(whole), begin, end, pace)


def pace_of(target: Target) -> int:
    """Bytes from one vector that is loaded whole to the next; 0: what lies beside is loaded."""
    return PACES.get(target.vector_bytes, 0)


def _registers(kernel: Kernel, rows: int, target: Target) -> int:
    """How many vectors exist at a time, roughly.

    (What is shuffled for several rows may be put aside in between: to load it again is as much as a load.)"""
    spans, sizes = _spans(kernel, rows, target)
    alive = [0] * (1 + max(last for _, last in spans.values()))
    for key, (first, last) in spans.items():
        for t in range(first, last):
            alive[t] += sizes.get(key[0], 1)
    ones = {*chosen(main_of(kernel).body).values()} if tuning(target.name).fused_sums else ()
    return max(alive) + MEMORY_OPERANDS + sum(_taken_once(kernel)) + len(ones)


def _spans(kernel: Kernel, rows: int, target: Target) -> tuple[dict[Vector, list[int]], dict[Hashable, int]]:
    """From when to when each vector exists, in the order in which `emit_jam` writes code; and how many
    registers those of each row of an array take."""
    loop, read, pace = main_of(kernel), rows_read(kernel, rows), pace_of(target)
    chars = {row: kernel.operands[row[0]].dtype for row in read}
    wholes = {row: across(reads, chars[row], loop.lanes, pace) for row, reads in read.items()}
    held = [(row, found, k) for row, found in wholes.items() if found is not None for k in found.held]
    uses = Counter(place for r in range(rows) for _, place in _places(kernel, r))
    spans: dict[Vector, list[int]] = {}
    time = 0

    def use(*key: Hashable) -> None:
        spans.setdefault(key, [time, time])[1] = time

    for row, _, k in held:
        use(row, k, "whole")
    for r in range(rows):
        places = dict(_places(kernel, r))
        for lane in loop.body:
            time += 1
            if isinstance(lane, Load):
                row, elements = places[lane.value]
                found = wholes.get(row)
                for k in found.between(elements) if found is not None and abs(elements) < loop.lanes else ():
                    use(row, k, "whole")
            for value in _arguments(lane) + _made(lane):
                place = places.get(value)
                if place is None or wholes.get(place[0]) is not None:
                    use(r, value)
                elif place[0] in read and uses[place] > 1:
                    use(*place)
    time += 1
    for row, found, k in held:
        use(row, k + found.on, "whole")
    return spans, {row: -(-loop.lanes * PLAIN[c].itemsize // target.vector_bytes) for row, c in chars.items()}


def _places(kernel: Kernel, r: int) -> Iterator[tuple[int, tuple[Row, int]]]:
    """Values that are loaded for a row, and where they lie."""
    for lane in main_of(kernel).body:
        if isinstance(lane, Load):
            shift = kernel.shifts[lane.ref.index]
            yield lane.value, ((shift.leader, shift.rows + r), shift.elements)


def _addresses(kernel: Kernel, rows: int) -> int:
    """Rows of all operands that are touched."""
    shared = rows_read(kernel, rows)
    led = {leader for leader, _ in shared}
    return len(shared) + rows * sum(s.leader not in led for s in kernel.shifts)


def _taken_once(kernel: Kernel) -> Iterator[bool]:
    """Values of a Once that the loop takes."""
    once, args = once_of(kernel), {a for x in main_of(kernel).body if isinstance(x, Apply) for a in x.args}
    for lane in once.body if once is not None else ():
        if isinstance(lane, Load | Apply):
            yield bool(args.intersection(lane.values if isinstance(lane, Apply) else (lane.value,)))


def _arguments(lane: object) -> tuple[int, ...]:
    return lane.args if isinstance(lane, Apply) else (lane.value,) if isinstance(lane, Store) else ()


def _made(lane: object) -> tuple[int, ...]:
    return lane.values if isinstance(lane, Apply) else (lane.value,) if isinstance(lane, Load) else ()
