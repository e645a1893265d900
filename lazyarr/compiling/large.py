"""Large replays: launch by launch, on all threads, results and temporaries from the buffer cache.

In:  a `Trace`.   Out: a `Replay`.
"""

from __future__ import annotations

import ctypes
import functools
import operator
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy

from lazyarr.arrays import managed, part
from lazyarr.compiling.bound import Known, is_plain, known
from lazyarr.compiling.interpret import Link
from lazyarr.compiling.places import Cell, Launch, layout
from lazyarr.compiling.replay import Build, Misfit, Replay, builder, converted, maker, over, pieces
from lazyarr.compiling.trace import Result, Trace, parts
from lazyarr.config import current, plan_key
from lazyarr.expr import LOCK, Expr
from lazyarr.geometry import address
from lazyarr.interrupts import hold_signals, release_signals
from lazyarr.kernels import kernel_for
from lazyarr.launch import launch
from lazyarr.launch_boxes import launch_boxes
from lazyarr.launch_rows import launch_rows
from lazyarr.storage import Storage
from lazyarr.threading.limits import get_num_threads
from lazyarr.values import Buffer, Ring

MOST_KNOWN = 256
"""Launches of a replay; all are forgotten when there are more."""


class Large(Replay):
    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.placed = layout(trace, apart=False)
        self.launches = self.placed.launches
        arrays = {r.at for r in pieces(trace.recorded.result) if r.kind == "scalar" or r.foreign}
        least = 8 * current.eager_elements
        self.makes = [
            maker(cell.nbytes, k, trace.recorded.result) if k in arrays or cell.nbytes <= least else None
            for k, cell in enumerate(self.placed.results)
        ]
        self.sizes = [cell.nbytes for cell in self.placed.results]
        self.kernels = len(self.launches)
        self.build = builder(trace.recorded.result, self._array, self.places)
        self.streamed = {id(each): _streamed(each) for each in self.launches}
        """By launch, what it may store past the caches if pages are warm: identities of cells."""
        self.lying = {id(each): _lying(each) for each in self.launches}
        """By launch of row blocks, the cells of values that lie in memory, each with these values."""
        self.known: dict[tuple[Any, ...], Known] = {}
        """Launches that were met, by identity, warm pages and options."""
        self.alignments = [trace.layouts[k][0].alignment for k in self.arrays]

    def load(self) -> None:
        for each in self.launches:
            for step in parts(each.step):
                assert step.program is not None
                kernel_for(step.program.parfor)

    def _array(self, r: Result) -> Build:
        make = self.makes[r.at]
        return _managed(r) if make is None else over(r, make)

    def __call__(self, given: Sequence[Any], memory: list[Any], mask: int, looked: bool = True) -> Any:
        assert looked
        numbers = [] if self.numbers is None else self.numbers(given)
        scalars = [self._scalars(each, numbers) for each in self.launches]
        if any(address(x) % n for x, n in zip(memory, self.alignments, strict=True)):
            raise Misfit                # before anything is written: kernels want memory that is aligned
        with LOCK:                      # as all evaluations; a fork waits for it
            results, raised = self._run(dict(zip(self.arrays, memory, strict=True)), scalars)
        if raised & mask:
            raise Misfit
        return self.build(results, given, numbers)

    def _scalars(self, each: Launch, numbers: list[Any]) -> list[list[Any]]:
        """The constants of a launch's kernels: the same object, where the call gives none of them."""
        if not each.linked:
            return each.scalars
        return [
            [converted(s.type, numbers[self.places[s.ref]]) if isinstance(s, Link) else s for s in some]
            for some in each.scalars
        ]

    def _run(self, inputs: dict[int, Any], scalars: list[list[list[Any]]]) -> tuple[list[Any], int]:
        """Results' memory, and the floating-point flags that were raised."""
        homes: dict[int, Any] = {}
        results: list[Any] = []
        for cell, make in zip(self.placed.results, self.makes, strict=True):
            made = Buffer.new(cell.nbytes) if make is None else make[0](*make[1])
            results.append(made)
            homes[id(cell)] = made
        raised = 0
        for each, own in zip(self.launches, scalars, strict=True):
            for source, to in each.copies:
                _bytes(self._at(to, inputs, homes), to)[:] = _bytes(self._at(source, inputs, homes), source)
            for source, to, margins in each.margins:
                made, begun = (_bytes(self._at(cell, inputs, homes), cell) for cell in (to, source))
                for shape, char, offset, strides in margins:
                    part_of = [numpy.ndarray(shape, char, x, offset, strides) for x in (made, begun)]
                    part_of[0][...] = part_of[1]
            raised |= self._launch(each, inputs, homes, own)
            for cell in each.ends:
                homes.pop(id(cell), None)
        return results, raised

    def _launch(
        self, each: Launch, inputs: dict[int, Any], homes: dict[int, Any], scalars: list[list[Any]]
    ) -> int:
        at = functools.partial(self._at, inputs=inputs, homes=homes)
        warm = all(map(_is_warm, map(homes.get, self.streamed[id(each)])))
        key = id(each), warm, plan_key()
        if key in self.known:
            return self.known[key].run(at, scalars)
        held = hold_signals() if each.rings else None   # (a handler may fork, and children have no rings)
        try:
            threads = get_num_threads()
            for cell, ring in each.rings:
                assert each.step.rows is not None
                homes[id(cell)] = Ring.of(ring.pattern(each.step.rows.strips(threads)), cell.nbytes)
            raised = self._prepared(each, at, scalars, warm, threads)
        finally:
            release_signals(held)
        found = known(each, warm) if is_plain(each) else None
        if found is not None:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[key] = found
        return raised

    def _prepared(
        self, each: Launch, at: Callable[[Cell], int], scalars: list[list[Any]], warm: bool, threads: int
    ) -> int:  # fmt: skip
        """Run a launch by its step, which prepares what was not prepared yet."""
        step = each.step
        if step.boxes:
            addresses = {
                k: 0 if cell is None else at(cell)
                for box, cells in zip(step.boxes, each.cells, strict=True)
                for k, cell in zip(box.operands, cells, strict=True)
            }  # fmt: skip
            return launch_boxes(step.boxes, addresses, scalars, warm)
        if step.rows is None:
            assert step.program is not None
            bases = [0 if cell is None else at(cell) for cell in each.cells[0]]
            return launch(step.program, bases, scalars[0], warm)
        lying = dict[int, int]()
        for cell, values in self.lying[id(each)]:
            lying.update(dict.fromkeys(values, at(cell)))
        found = launch_rows(step.rows, lying, [*chain(*scalars)], warm, None, threads)
        return functools.reduce(operator.or_, found, 0)

    def _at(self, cell: Cell, inputs: dict[int, Any], homes: dict[int, Any]) -> int:
        """Where the memory of a cell begins, which it takes now if it has none yet."""
        if cell.kind == "input":
            return address(inputs[cell.at]) - self.offsets[cell.at]
        home = cell.constant if cell.constant is not None else homes.get(id(cell))
        if home is None:
            home = homes[id(cell)] = Buffer.new(cell.nbytes)
        return home.address if isinstance(home, Buffer) else address(home)


def _streamed(each: Launch) -> list[int]:
    step = each.step
    if step.boxes:
        return [id(cells[k]) for box, cells in zip(step.boxes, each.cells, strict=True) for k in box.written]
    if step.rows is None:
        return [id(each.cells[0][k]) for k in step.written]
    return [
        id(cells[k]) for part_, cells in zip(step.rows.parts, each.cells, strict=True) if part_.streams
        for k in part_.step.written
    ]  # fmt: skip


def _lying(each: Launch) -> list[tuple[Cell, list[int]]]:
    if each.step.rows is None:
        return []
    found = dict[int, tuple[Cell, dict[int, None]]]()
    for part_, cells in zip(each.step.rows.parts, each.cells, strict=True):
        for k, cell in zip(part_.step.operands, cells, strict=True):
            if cell is not None:                # (None is what lies inside: `places.Launch`)
                found.setdefault(id(cell), (cell, {}))[1][k] = None
    return [(cell, [*values]) for cell, values in found.values()]


def _is_warm(home: Any) -> bool:
    return isinstance(home, Buffer) and home.recycled


def _bytes(at: int, cell: Cell) -> numpy.ndarray:
    """The memory of a cell, which lies there."""
    memory: Any = (ctypes.c_ubyte * cell.nbytes).from_address(at)
    return numpy.ndarray(cell.nbytes, numpy.uint8, memory)


def _managed(r: Result) -> Build:
    """A lazy array in a storage."""
    at, geo, origin = r.at, r.geo, r.origin
    assert geo is not None

    def make(results: list[Any], *_: Any) -> Any:
        home = Storage(Expr.leaf(results[at]))
        return managed(home, geo) if origin is None else part(managed(home, origin), geo)

    return make
