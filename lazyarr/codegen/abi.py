"""The argument block of a kernel: one array of 64-bit words, the same view for both sides.

Every kernel is ``void kernel(ptr words, i64 chunk, i64 thread)``.  `Layout` says in which word a
value lies; codegen reads words by it, the launcher writes them by it.  A chunk is one tile of the
iteration space: chunk number -> mixed radix over `grid` -> [lo, hi) per loop, by `tile` and `shape`.

Word 0 collects floating-point status flags of all chunks (atomic or): NumPy's FPE bits
(1 divide, 2 overflow, 4 underflow, 8 invalid).  Scratch memory is `scratch_bytes` per thread,
64-byte aligned, at word 1.  Word 2 counts the calls of NumPy's inner loops (atomic add).
Innermost strides of 'u' operands are not read.
"""

from __future__ import annotations

from lazyarr.records import NamedTuple

WHOLE = "_whole"
"""Ends the name of a hot fold's kernel for launches that are one chunk, and fold all outputs in one step."""

SCALAR_WORDS = 8
SCALAR_BYTES = 8 * SCALAR_WORDS


class _Counts(NamedTuple):
    rank: int
    operands: int
    scalars: int
    loops: int
    """Number of distinct (ufunc, signature) inner loops of NumPy that the kernel calls."""


class Layout(_Counts):
    """Where a kernel with so many of each has what."""

    __slots__ = ()
    FLAGS = 0
    SCRATCH = 1
    CALLS = 2
    FIRST = 3

    def shape(self, dim: int) -> int:
        return self.FIRST + dim

    def tile(self, dim: int) -> int:
        return self.FIRST + self.rank + dim

    def grid(self, dim: int) -> int:
        return self.FIRST + 2 * self.rank + dim

    def pointer(self, operand: int) -> int:
        return self.FIRST + 3 * self.rank + operand * (1 + self.rank)

    def stride(self, operand: int, dim: int) -> int:
        """In bytes."""
        return self.pointer(operand) + 1 + dim

    def scalar(self, k: int) -> int:
        """The value, repeated until it fills the widest vector: `SCALAR_WORDS` words each."""
        return self.FIRST + 3 * self.rank + self.operands * (1 + self.rank) + SCALAR_WORDS * k

    def loop(self, k: int) -> int:
        """Function pointer, then the loop's data pointer."""
        return self.scalar(self.scalars) + 2 * k

    def extra(self, k: int) -> int:
        """Words that only some kinds of kernel have (reduction trees)."""
        return self.loop(self.loops) + k
