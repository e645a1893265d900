"""Which evaluation is under way, and whether another one came in the middle of it.

In: nothing.   Out: `EVALUATIONS`, `Overtaken`.
A signal's handler or a finalizer may ask for values in the middle of an evaluation, for those that it is at
among others.  What this one knows of its nodes is not so any more then: it begins anew, with what is left
to be computed, before it writes over anything and before it remembers a plan.  Whoever uses this has
`expr.LOCK`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Overtaken(Exception):
    """Another evaluation came in between."""


class Evaluations:
    """How many have begun, and which one of them is under way."""

    __slots__ = ("begun", "mine")

    def __init__(self) -> None:
        self.begun = self.mine = 0

    def are_overtaken(self) -> bool:
        """Has another one begun since the one under way did, if there is one?"""
        return self.mine != 0 and self.mine != self.begun

    def go_on(self, nodes: Iterable[Any], leaves: Iterable[Any] = ()) -> None:
        """Raise `Overtaken` if another one has computed some of these nodes, or written over a leaf."""
        if self.are_overtaken() and (
            any(node is not None and node.op is None for node in nodes) or any(x.buf is None for x in leaves)
        ):
            raise Overtaken


BROKEN = Overtaken, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError
"""What comes of it where nodes have been computed meanwhile."""

EVALUATIONS = Evaluations()
