"""Places: where each value of a trace lies at a call, decided once.

In:  a `Trace`.   Out: `Layout`: cells, and for each launch the cells of its operands.
What `bufferize` decides at run time, by who still holds what, is known here beforehand: a write goes in place
where no later launch reads the old value; else into a copy.  An argument that is written to is written in
place, or the function is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.compiling.interpret import Link
from lazyarr.compiling.trace import Trace, parts
from lazyarr.compiling.values import Refused, Slot
from lazyarr.expr import Expr, Read
from lazyarr.fusion.turns import Margin
from lazyarr.plan import Step, Walk
from lazyarr.records import dataclass, field
from lazyarr.row_rings import Ring
from lazyarr.values import Buffer, Unwritten


@dataclass(slots=True, eq=False)
class Cell:
    """The memory of one storage at a call: "input", "result", "temporary", or "constant"."""

    kind: str
    nbytes: int
    at: int = 0
    """Which input or result."""
    constant: Buffer | None = None


@dataclass(slots=True, eq=False)
class Launch:
    """One step."""

    step: Step
    cells: list[list[Cell | None]]
    """For each part of the step, the cell of each operand; None for what lies in a thread's own memory."""
    scalars: list[list[numpy.generic | Link]]
    copies: list[tuple[Cell, Cell]]
    """From where to where bytes go before: a write that goes to a copy of what it changes."""
    margins: list[tuple[Cell, Cell, tuple[Margin, ...]]]
    """The same for parts of them: what sweeps that take turns with another buffer do not write."""
    rings: list[tuple[Cell, Ring]]
    """Temporaries of which only the rows in use are there."""
    ends: list[Cell] = field(default_factory=list)
    """Temporaries that nobody needs any more after it."""
    linked: bool = False
    """Are there scalars that a call gives?"""

    def __post_init__(self) -> None:
        self.linked = any(isinstance(s, Link) for some in self.scalars for s in some)

    def used(self) -> list[Cell]:
        operands = [c for cells in self.cells for c in cells if c is not None]
        copied = [*self.copies, *[(source, to) for source, to, _ in self.margins]]
        return operands + [c for pair in copied for c in pair]


@dataclass(slots=True, eq=False)
class Layout:
    launches: list[Launch] = field(default_factory=list)
    results: list[Cell] = field(default_factory=list)


def layout(trace: Trace, apart: bool) -> Layout:
    """Where everything lies; `apart`: steps that could run together run one by one."""
    return _Placing(trace, apart).done()


class _Placing:
    def __init__(self, trace: Trace, apart: bool) -> None:
        self.trace, self.walk = trace, trace.walk
        self.turns = {turn.node: turn for step in trace.plan.steps for turn in step.turns}
        self.steps = [part for s in trace.plan.steps for part in (parts(s) if apart and not s.boxes else [s])]
        self.cells: dict[int, Cell] = {}
        for k, value in enumerate(trace.recorded.inputs):
            if value is not None:
                self.cells[id(value)] = Cell("input", value.nbytes, k)
        self.owners: dict[int, Expr] = {}
        """By cell, the last value that was placed there."""
        self.kept = {id(v) for v in (*trace.recorded.values, *trace.recorded.last.values())}
        self.last_read = _last_reads(self.steps, self.walk)

    def done(self) -> Layout:
        made = Layout([self.launch(at, step) for at, step in enumerate(self.steps)])
        for k, value in self.trace.recorded.last.items():
            cell = self.cell(value)
            if cell.kind != "input" or cell.at != k:
                raise Refused("an argument that is written to cannot be written in place")
        for value in self.trace.recorded.values:
            cell = self.cell(value)
            if cell.kind != "temporary":
                cell = self.returned(cell)
            cell.kind, cell.at = "result", len(made.results)
            made.results.append(cell)
        ended: set[int] = set()
        for each in reversed(made.launches):
            for cell in each.used():
                if cell.kind == "temporary" and id(cell) not in ended:
                    ended.add(id(cell))
                    each.ends.append(cell)
        return made

    def returned(self, cell: Cell) -> Cell:
        raise Refused("it returns an array that is the same at every call, or twice the same")

    def cell(self, value: Expr) -> Cell:
        found = self.cells.get(id(value))
        if found is None:
            buf = value.buf
            if buf is None or isinstance(buf, Slot):
                raise Refused("a value that has no place")
            found = self.cells[id(value)] = Cell("constant", value.nbytes, 0, buf)
        return found

    def launch(self, at: int, step: Step) -> Launch:
        copies: list[tuple[Cell, Cell]] = []
        margins: list[tuple[Cell, Cell, tuple[Margin, ...]]] = []
        rings: list[tuple[Cell, Ring]] = []
        for k, reusable in zip(step.stored, step.reusable, strict=True):
            node = self.walk.nodes[k]
            turn = self.turns.get(k)
            if turn is None:
                self.place(at, node, copies)
                if id(node) not in self.cells:
                    self.cells[id(node)] = self.ending(step, node, reusable) or Cell("temporary", node.nbytes)
            elif turn.source is None:
                assert node.old is not None
                made = self.cells[id(node)] = Cell("temporary", node.nbytes)
                if turn.ring is not None and step.rows is not None:
                    rings.append((made, turn.ring))
                else:
                    margins.append((self.cell(node.old), made, turn.margins))
            else:
                self.over(at, node, self.walk.value(turn.source), False, copies)
            self.owners[id(self.cells[id(node)])] = node
        if step.rows is None:
            own = parts(step)
            cells: list[list[Cell | None]] = [
                [self.cell(self.walk.value(k)) for k in part.operands] for part in own
            ]
            scalars = [self.scalars(part) for part in own]
        else:
            cells = [
                [self.cell(self.walk.value(k)) if at < 0 else None
                 for k, at in zip(part.step.operands, part.inside, strict=True)]
                for part in step.rows.parts
            ]  # fmt: skip
            scalars = [self.scalars(part.step) for part in step.rows.parts]
        return Launch(step, cells, scalars, copies, margins, rings)

    def scalars(self, step: Step) -> list[Any]:
        found: list[Any] = []
        for c in step.constants:
            link = self.trace.recorded.links.get(c) if isinstance(c, tuple) else None
            if link is not None:
                found.append(link._replace(node=None))
            else:
                found.append(self.walk.nodes[c[0]].inputs[c[1]] if isinstance(c, tuple) else c)
        return found

    def place(self, at: int, node: Expr, copies: list[tuple[Cell, Cell]]) -> None:
        """The cell of a stored node that changes an older value."""
        old, covers = node.old, node.covers
        while old is not None and id(old) not in self.cells and old.buf is None:
            covers = covers or old.covers
            old = old.old
        if old is not None:
            self.over(at, node, old, covers, copies)

    def ending(self, step: Step, node: Expr, reusable: Sequence[int]) -> Cell | None:
        """The cell of a temporary that this step reads where it stores the node, and nobody reads later."""
        for k in reusable:
            value = self.walk.value(k)
            cell = self.cells.get(id(value))
            if (
                cell is not None and cell.kind == "temporary" and cell.nbytes == node.nbytes
                and k in step.ends and k not in step.members and id(value) not in self.kept
                and self.owners.get(id(cell)) is value
            ):  # fmt: skip
                return cell
        return None

    def over(self, at: int, node: Expr, old: Expr, covers: bool, copies: list[tuple[Cell, Cell]]) -> None:
        """Place a node where an older value lies, or in a copy of that, unless it `covers` all of it."""
        before = self.cell(old)
        mine = self.owners.get(id(before), old) is old
        free = mine and before.kind != "constant" and self.last_read.get(id(old), -1) <= at
        if free:
            self.cells[id(node)] = before
            return
        if before.kind == "input":
            raise Refused("an argument is written to while what it was is still needed")
        made = self.cells[id(node)] = Cell("temporary", node.nbytes)
        if not covers and not isinstance(before.constant, Unwritten):
            copies.append((before, made))


def _last_reads(steps: list[Step], walk: Walk) -> dict[int, int]:
    """By value: the last step that reads it."""
    found: dict[int, int] = {}
    for at, step in enumerate(steps):
        for k in step.members:
            for i in walk.nodes[k].inputs:
                if isinstance(i, Read):
                    found[id(i.expr)] = at
    return found
