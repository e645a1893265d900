"""Jam: rows of a loop nest side by side, which share what they load.

In:  a vectorised kernel whose operands are one array, some rows or elements further on.   Out: the kernel
with a `Jam`, where that pays.
A five-point stencil loads five vectors for one result; two rows side by side load four vectors of the array
and, for what lies an element further on, shuffle these: loads that cross cache lines cost twice.  Whether
there are as many rows depends on registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lazyarr.codegen import emit_rows
from lazyarr.codegen.emitters_numpys import BRANCHING
from lazyarr.codegen.loopir import PLACE, Apply, Jam, Kernel, Load, Loop, Once, Store
from lazyarr.dtypes import PLAIN
from lazyarr.records import NamedTuple
from lazyarr.target import Target
from lazyarr.tuning import SIDE_BY_SIDE

WIDE, SHUFFLED = 64, (4, 8)
"""Bytes of registers, and of the elements in them, that are shuffled: a load of narrower registers crosses a
cache line less often, and smaller elements take several instructions."""

REGISTERS = {16: 16, 32: 16, 64: 32}
"""Vector registers of a processor, by their bytes."""

ADDRESSES = 14
"""Of rows, which lie in registers of their own."""

MEMORY_OPERANDS = 3
"""Registers for what is taken from memory once and goes into an operation at once."""

Row = tuple[int, int]
"""A leading operand, and how many rows further on."""


def jam(kernel: Kernel, target: Target) -> Kernel:
    """Let rows run side by side."""
    if not kernel.shifts or target.without("jam") or not can_jam(kernel):
        return kernel
    for rows in range(SIDE_BY_SIDE, 1, -1):
        if _addresses(kernel, rows) > ADDRESSES:
            continue
        if _registers(kernel, rows, target) <= REGISTERS[target.vector_bytes]:
            return replace(kernel, jam=_jam(kernel, rows, target))
    return kernel


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


def columns(reads: Reads, char: str, lanes: int, target: Target) -> range:
    """Which vectors of a row are loaded whole, from the one before (-1) to the one after (1), if what lies
    beside is shuffled; empty if it is not."""
    plain = PLAIN[char]
    if target.vector_bytes != WIDE or plain.itemsize not in SHUFFLED or lanes * plain.itemsize != WIDE:
        return range(0)
    near = [e for e in reads.elements if abs(e) < lanes]
    least, most = min(near, default=0), max(near, default=0)
    return range(-(least < 0), (most > 0) + 1) if least or most else range(0)


def _jam(kernel: Kernel, rows: int, target: Target) -> Jam:
    """Which rows' vectors are loaded whole, and at which positions they may be."""
    lanes, begin, end = main_of(kernel).lanes, 0, 0
    whole: list[tuple[int, int, int, int]] = []
    for row, reads in rows_read(kernel, rows).items():
        across = columns(reads, kernel.operands[row[0]].dtype, lanes, target)
        if across:
            whole.append((*row, across[0], across[-1]))
            begin = max(begin, reads.least - lanes * across[0])
            end = min(end, reads.most - lanes * (across[-1] + 1))
    return Jam(rows, tuple(whole), begin, end)


def _registers(kernel: Kernel, rows: int, target: Target) -> int:
    """How many vectors exist at a time, roughly."""
    loop = main_of(kernel)
    lanes, loads = loop.lanes, [kernel.shifts[x.ref.index] for x in loop.body if isinstance(x, Load)]
    found = MEMORY_OPERANDS
    for (leader, at), reads in rows_read(kernel, rows).items():
        char = kernel.operands[leader].dtype
        across = columns(reads, char, lanes, target)
        uses = sum(s.leader == leader and 0 <= at - s.rows < rows for s in loads)
        each = -(-lanes * PLAIN[char].itemsize // target.vector_bytes)
        found += each * (len(across) or (len(reads.elements) if uses > len(reads.elements) else 0))
    return found + sum(_taken_once(kernel)) + _deepest(loop)


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


def _deepest(loop: Loop) -> int:
    """Results that exist at a time, at most."""
    last = {a: k for k, lane in enumerate(loop.body) for a in _arguments(lane)}
    alive = most = 0
    made: set[int] = set()
    for k, lane in enumerate(loop.body):
        alive -= sum(last[a] == k for a in set(_arguments(lane)) & made)
        if isinstance(lane, Apply):
            made.update(lane.values)
            alive += len(lane.values)
        most = max(most, alive)
    return most


def _arguments(lane: object) -> tuple[int, ...]:
    return lane.args if isinstance(lane, Apply) else (lane.value,) if isinstance(lane, Store) else ()
