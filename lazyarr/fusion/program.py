"""Programs: a parfor with its loops, which plans remember, steps share and launches read.

In:  what `assemble` found.   Out: `Program`.
Whose memory the operands are, and where runtime scalars come from, is for a step to say (`plan.Step`).
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.expr import Expr
from lazyarr.fusion.collapse import Loops
from lazyarr.fusion.parfor import Parfor
from lazyarr.records import NamedTuple, dataclass, field

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
    """A parfor with its loops: all that steps of one structure have in common.

    Nothing in it is of one evaluation: no node, no array, no address.  Steps, plans and threads may hold one
    program at the same time, so nobody changes it, but for what is added to `launches`: an entry is complete
    before it is put there, is what anybody would make for its key, and is never changed after."""

    parfor: Parfor
    loops: Loops
    offsets: tuple[int, ...]
    """Bytes from the start of each operand's storage to its first visited element."""
    run: int
    """Longest run of a fold (see reduce_order); 0 for a map."""
    moves: tuple[tuple[int, ...], ...]
    """For each operand of a program over some rows, bytes from a row to the next, and before that from a row
    to the next along other axes, one row of each of which these are in (`assemble.Frame`); else nothing."""
    rewrites: tuple[Rewritten, ...] = ()
    launches: dict[Any, Any] = field(default_factory=dict)
    """Launches prepared for this program, by kind of stores and options (`launch.Prepared`).  They hold the
    kernels, whose code is there as long as any step has the program."""
