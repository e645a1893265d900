"""Programs: a parfor with its loops, and where its operands and runtime scalars come from.

In:  what `assemble` found.   Out: `Program`, which plans remember and launches read.
A remembered program holds no nodes, and so no arrays (`Program.forget`): a plan speaks of them by number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy

from lazyarr.expr import Expr
from lazyarr.fusion.collapse import Loops
from lazyarr.fusion.parfor import Parfor


@dataclass(slots=True, eq=False)
class Binding:
    """Memory of one operand: the value (its buffer, at launch) and the geometry in it, over the group's
    space."""

    value: Expr
    geo: numpy.ndarray
    role: str


Constant = tuple[Expr, int] | numpy.generic
"""A runtime scalar: a node and which of its inputs it is, or a value that belongs to the op."""


class Rewritten(NamedTuple):
    """An operation that the body need not compute, since it has the value already, or computes otherwise."""

    rule: str
    """The rule that says so, or `NUMBERING`."""
    op: str
    member: int
    """Which of the group's nodes asked for it."""
    instead: str = ""
    """Ops that are computed in its place."""


NUMBERING = "value numbering"


@dataclass(slots=True, eq=False)
class Program:
    """A parfor with its loops; `bindings` and `constants` say where operands and scalars come from."""

    parfor: Parfor
    loops: Loops
    offsets: tuple[int, ...]
    """Bytes from the start of each operand's storage to its first visited element."""
    bindings: list[Binding]
    constants: list[Constant]
    run: int
    """Longest run of a fold (see reduce_order); 0 for a map."""
    moves: tuple[int, ...]
    """Bytes from a row to the next, for each operand of a program over some rows; else all 0."""
    launches: dict[Any, Any] = field(default_factory=dict)
    """Launches prepared for this program, by kind of stores and options (launch.Prepared)."""
    rewrites: tuple[Rewritten, ...] = ()

    def forget(self) -> None:
        """Let go of the nodes: a remembered plan must not keep arrays alive."""
        self.bindings = []
        self.constants = []
