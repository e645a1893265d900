"""Memory traffic: what a plan moves, and the least that any plan would.

In:  steps of a plan, the walk that they were made for.   Out: bytes.
Counted are the elements that loops visit, each once where the loops stay on it; caches are not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy

from lazyarr.dtypes import PLAIN
from lazyarr.expr import Expr, Gather, Read, Scatter
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.group import region_of, space
from lazyarr.fusion.program import Program
from lazyarr.plan import PlacedTurn, RowBlocks, Step, Walk
from lazyarr.records import NamedTuple
from lazyarr.values import Positions


class Traffic(NamedTuple):
    """Bytes to and from memory."""

    read: int
    written: int

    def __add__(self, other: object) -> Traffic:
        assert isinstance(other, Traffic)
        return Traffic(self.read + other.read, self.written + other.written)


def moved(step: Step, w: Walk) -> Traffic:
    """What one step moves."""
    if step.rows is not None:
        return _by_rows(step.rows, step.turns, w)
    if step.boxes:
        return _by_boxes(step, w)
    if step.program is None:
        found = Traffic(0, 0)
        for k in step.members:
            found += _by_numpy(w.nodes[k])
        return found
    found = _by_kernel(step, step.program, w, {operand for operand, _ in step.feeds})
    for operand, source in step.feeds:          # what it makes is in the cache: neither stored nor read
        if source.boxes:
            found += _by_boxes(source, w, step.operands[operand])
            continue
        assert source.program is not None
        packed = {k for k, o in enumerate(source.program.parfor.operands) if o.role != "in"}
        found += _by_kernel(source, source.program, w, packed)
    return found


def _by_boxes(step: Step, w: Walk, without: int | None = None) -> Traffic:
    """Boxes of one space read what others do in their neighbours, too; `without` is no memory."""
    read: dict[int, int] = {}
    written = 0
    for box in step.boxes:
        assert box.program is not None
        for k, (operand, number) in enumerate(zip(box.program.parfor.operands, box.operands, strict=True)):
            if number == without:
                continue
            value = w.value(number)
            nbytes = min(_footprint(box.program, k), in_memory(value))
            if operand.role != "out":
                read[number] = min(read.get(number, 0) + nbytes, value.nbytes)
            written += nbytes * (operand.role != "in")
    return Traffic(sum(read.values()), written)


def _by_rows(rows: RowBlocks, turns: Sequence[PlacedTurn], w: Walk) -> Traffic:
    """Between the steps of a chain a block of rows stays in the cache: memory is read and written once, but
    for rows that come round in a ring, as those in a thread's own memory do."""
    read: dict[int, int] = {}
    written: dict[int, int] = {}
    memory = Memory(w.tokens.odd)
    for turn in turns:
        memory.turn(w.nodes[turn.node], None if turn.source is None else w.value(turn.source))
    passing = {id(memory.key(w.value(placed.to))) for placed in rows.rings}
    for part in rows.parts:
        program = part.step.program
        assert program is not None
        for k, (operand, number) in enumerate(zip(program.parfor.operands, part.step.operands, strict=True)):
            key = id(memory.key(w.value(number)))
            if key in passing:
                continue
            if part.inside[k] < 0 and (operand.role != "in" or key not in written):
                found = read if operand.role == "in" else written
                nbytes = min(_footprint(program, k), in_memory(w.value(number)))
                found[key] = max(found.get(key, 0), nbytes)
    return Traffic(sum(read.values()), sum(written.values()))


def _by_kernel(step: Step, program: Program, w: Walk, without: Collection[int] = ()) -> Traffic:
    """What is read in several places (a value and its neighbours) is in the cache the next time.

    Operands `without` memory count nothing."""
    read: dict[int, int] = {}
    written = 0
    for k, (operand, number) in enumerate(zip(program.parfor.operands, step.operands, strict=True)):
        if k in without:
            continue
        value = w.value(number)
        nbytes = min(_footprint(program, k), in_memory(value))
        if operand.role != "out":
            read[number] = min(read.get(number, 0) + nbytes, value.nbytes)
        written += nbytes * (operand.role != "in")
    return Traffic(sum(read.values()), written)


def _footprint(program: Program, operand: int) -> int:
    """Bytes of the different elements that the loops visit of an operand."""
    loops = program.loops
    anywhere = any(i.op in ("gather", "scatter") and i.attr == operand for i in program.parfor.body)
    steps = zip(loops.shape, loops.strides[operand], strict=True)
    elements = 0 if 0 in loops.shape else math.prod(n for n, stride in steps if stride or anywhere)
    return elements * PLAIN[program.parfor.operands[operand].dtype].itemsize


def in_memory(value: Expr) -> int:
    """Bytes of a value; positions are addresses at which nothing lies."""
    return 0 if value.buf.__class__ is Positions else value.nbytes


def _by_numpy(node: Expr) -> Traffic:
    return Traffic(sum(_read(node, k) for k in range(len(node.inputs))), _written(node))


def _read(node: Expr, k: int) -> int:
    """Bytes of an input; of a table what is picked, if that is less."""
    i = node.inputs[k]
    if not isinstance(i, Read) or not in_memory(i.expr):
        return 0
    picked = isinstance(node.op, Gather) and not k
    return min(_visited(i.geo), math.prod(space(node)) * i.geo.itemsize) if picked else _visited(i.geo)


def _written(node: Expr) -> int:
    region = region_of(node)
    if isinstance(node.op, Scatter):
        return min(_visited(region), math.prod(space(node)) * region.itemsize)
    return _visited(region)


def _visited(geo: numpy.ndarray) -> int:
    steps = zip(geo.shape, geo.strides, strict=True)
    return geo.itemsize * math.prod(n for n, stride in steps if stride) if geo.size else 0


def least(w: Walk) -> Traffic:
    """Every byte of what exists already read once, and every result that is asked for written once."""
    known = {id(node) for node in w.nodes}
    read: dict[int, int] = {}
    sizes: dict[int, int] = {}
    seen: set[tuple[object, ...]] = set()
    for node in w.nodes:
        for k, i in enumerate(node.inputs):
            if not isinstance(i, Read) or id(i.expr) in known:
                continue
            key = id(i.expr), i.geo.shape, i.geo.strides, i.geo.__array_interface__["data"]
            if key not in seen:
                seen.add(key)
                read[id(i.expr)] = read.get(id(i.expr), 0) + _read(node, k)
                sizes[id(i.expr)] = i.expr.nbytes
    written = sum(_left(node, known) for node in w.nodes if w.external(node))
    return Traffic(sum(min(n, sizes[key]) for key, n in read.items()), written)


def _left(node: Expr, known: set[int]) -> int:
    """Bytes written of what a value is at the end: by itself, and by those that it changes a part of."""
    total, nbytes = _written(node), node.nbytes
    while node.old is not None and not node.covers and id(node.old) in known:
        node = node.old
        total += _written(node)
    return min(total, nbytes)
