"""The context of a fold: what the function that folds a range is told beside the range.

In:  how many operands and folds a reduction has.   Out: where in the context is what, in bytes.
The context is memory of the chunk: a row pointer for each operand (its element at the first position of
the group's index space), one carry slot for each fold (the accumulator of strict sequences; where what is
packed goes, and where its room ends), whether nothing has been folded yet, and what else is said here.
"""

from __future__ import annotations

from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.records import NamedTuple

LIMIT = 8
"""Offset, in the carry slot, of the address where a packing chunk's room ends."""


class Context(NamedTuple):
    operands: int
    folds: int

    def row(self, operand: int) -> int:
        return 8 * operand

    def carry(self, fold: int) -> int:
        return 16 * (self.operands // 2 + 1) + SLOT * fold

    @property
    def fresh(self) -> int:
        return self.carry(self.folds)

    @property
    def thread(self) -> int:
        """Number of the thread, for its scratch memory."""
        return self.fresh + 8

    @property
    def raised(self) -> int:
        """Floating-point status that NumPy's loops may have cleared."""
        return self.thread + 8

    @property
    def calls(self) -> int:
        """How often NumPy's loops were called."""
        return self.raised + 8

    @property
    def block(self) -> int:
        """First element of the block that is being folded."""
        return self.calls + 8

    @property
    def outputs(self) -> int:
        """How many outputs are folded side by side."""
        return self.block + 8

    @property
    def lines(self) -> int:
        """In how many rows there are as many outputs; 0: in one, to be folded side by side."""
        return self.outputs + 8

    @property
    def bytes(self) -> int:
        return self.lines + 8
