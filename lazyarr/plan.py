"""Plans: what an evaluation does, independent of the arrays at hand, remembered by structure.

In:  the pending nodes of one evaluation, in program order.
Out: `Plan`: steps that speak of nodes and leaves by number, so that the same program on other
     arrays (a time step, an iteration) finds its plan by one walk and one hash (`planning`).

The key is the structure of all nodes (`fusion.structure`), with the options.  A reference is a number: k >= 0
is node k of the evaluation, k < 0 is leaf -1 - k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple

import numpy

from lazyarr import config
from lazyarr.codegen.rows_shell import SLOTS
from lazyarr.error_state import buffer_size
from lazyarr.expr import Expr
from lazyarr.flags import Late, Raised
from lazyarr.fusion.program import Program
from lazyarr.fusion.registry import Active
from lazyarr.fusion.rewrite import Keeps
from lazyarr.fusion.structure import Tokens
from lazyarr.values import is_kept

Finding = Sequence[tuple[int, Raised]]
"""Which members of a step raised what."""


class Known(NamedTuple):
    """What is known of a step that raised flags."""

    left: int
    """Times that it may yet be looked at closely."""
    finding: Finding | None


@dataclass(slots=True, eq=False)
class Step:
    """One fusion group: which nodes, which of them are stored, and the program that computes them."""

    members: tuple[int, ...]
    stored: tuple[int, ...]
    program: Program | None
    """Perhaps that of other steps, too.  None: NumPy runs the nodes one by one."""
    operands: tuple[int, ...]
    """For each of the program's operands, whose memory it is."""
    constants: tuple[tuple[int, int] | numpy.generic, ...]
    """For each runtime scalar: node and number of the input, or the value."""
    written: tuple[int, ...]
    """Which operands the program writes to."""
    reusable: tuple[tuple[int, ...], ...]
    """For each of the stored nodes: inputs that are read just where it writes.  One that ends here may be
    the destination."""
    why: str
    ends: tuple[int, ...] = ()
    """Values that no later step needs: the evaluation lets go of them after this one."""
    tallies: bool = False
    """The program counts, and the last member's value is the sums of the counts."""
    ranks: int | None = None
    """Of a program that packs: the value that says at which rank each block begins."""
    feeds: tuple[tuple[int, Step], ...] = ()
    """Compressions that are packed chunk by chunk, just before a chunk needs them: which operand of the
    program, and the step that it would be by itself."""
    rows: RowBlocks | None = None
    """Steps that run together, block by block: this one has no program of its own."""
    raised: dict[tuple[str | int, ...], Known] = field(default_factory=dict)
    """By the categories that were raised, and where that tells more by whom (`replay`)."""

    def renumbered(self, members: tuple[int, ...], others: Sequence[int], why: str) -> Step:
        """The step of a group like this one's, whose members and other values these are."""

        def at(numbers: Sequence[int]) -> tuple[int, ...]:
            return tuple([members[k] if k >= 0 else others[-1 - k] for k in numbers])

        scalars = tuple([(members[c[0]], c[1]) if isinstance(c, tuple) else c for c in self.constants])
        ranks = None if self.ranks is None else at((self.ranks,))[0]
        return Step(
            members, at(self.stored), self.program, at(self.operands), scalars, self.written,
            tuple(map(at, self.reusable)), why, tallies=self.tallies, ranks=ranks,
        )  # fmt: skip


STRIPS_EACH = 2
"""Strips for each thread."""

STRIP_BLOCKS = 8
"""Blocks of a strip, at least: the first and the last wait in memory of their own."""

assert STRIP_BLOCKS >= 2, "what runs on a strip's first block and on its last would run twice on its only one"


WATCHES = 4
"""Launches of row blocks that are stopped where something is raised, to see who did; later their finding is
assumed."""


class RowPart(NamedTuple):
    """One step of those that run together: its programs over the rows of a block."""

    step: Step
    program: Program
    last: Program
    """Over the last block, which has more rows."""
    inside: tuple[int, ...]
    """For each operand: where in a thread's own memory the rows of a block lie, or -1 if they lie in the
    value's buffer."""
    streams: bool
    """What it writes is large, and nobody reads it soon: it may be stored past the caches."""
    axes: tuple[int, ...]
    """For each of the step's members: along which of its own axes the rows lie, -1 where nobody knows."""


@dataclass(slots=True, eq=False)
class RowBlocks:
    """Steps that run together on blocks of rows (`fusion.rows`)."""

    parts: tuple[RowPart, ...]
    rows: int
    """Of a block; the last has more where their number is no multiple."""
    blocks: int
    own_bytes: int
    """Memory for a block's values that only these steps read."""
    behind: int = 0
    """How many of the parts, the last ones, run one block behind the others."""
    watches: int = WATCHES
    """In how many launches blocks may yet be looked at before the parts behind overwrite what they read."""
    doubtful: tuple[int, ...] | None = None
    """For each of the other parts the flags that several of its operations can raise; None: not asked yet."""
    early: tuple[int, ...] = ()
    """Values that the steps one by one would let go of before all results have their memory; none where
    memory suffices all the same."""
    launches: dict[Any, Any] = field(default_factory=dict)
    """Launches prepared (`launch_rows`), by options and whether they store past the caches."""

    def strips(self, threads: int) -> int:
        """Where parts run behind: how many pieces, each of successive blocks, run side by side."""
        return max(1, min(STRIPS_EACH * threads, self.blocks // STRIP_BLOCKS)) if threads > 1 else 1

    def block(self, number: int) -> slice:
        """Its rows, in the programs' axis of rows."""
        end = (number + 1) * self.rows if number < self.blocks - 1 else None
        return slice(number * self.rows, end)

    def slots(self, threads: int) -> int:
        """How many blocks' values that only these steps read exist at a time."""
        return SLOTS * self.strips(threads) if self.behind else min(threads, self.blocks)


@dataclass(slots=True, eq=False)
class Plan:
    steps: list[Step]
    pins: list[Any]
    """Objects whose identity is part of the key."""
    noted: bool = False
    """Its kernels exist, and the cache says so (`compiler.note`)."""


@dataclass(slots=True, eq=False)
class Walk:
    """One evaluation: its nodes, leaves, and the key of its structure."""

    nodes: list[Expr]
    leaves: list[Expr]
    key: tuple[Any, ...]
    numbers: dict[int, int]
    """Of nodes and leaves, by identity, until they are let go of."""
    asked: set[int]
    """Serials of the nodes whose values somebody outside asks for, now or later: part of the key.  What
    other threads do may change that while the plan is made; so nobody asks again."""
    tokens: Tokens
    """By which the key was made, and the rules by which bodies are rewritten."""
    late: list[Late] = field(default_factory=list)
    """Warnings to give when all is done."""

    def external(self, node: Expr) -> bool:
        return node.serial in self.asked

    def value(self, k: int) -> Expr:
        return self.nodes[k] if k >= 0 else self.leaves[-1 - k]

    def let_go(self, numbers: Sequence[int]) -> None:
        """Drop the references to values that are not needed any more, and so, perhaps, their memory."""
        nodes: list[Any] = self.nodes
        leaves: list[Any] = self.leaves
        for k in numbers:
            if k >= 0:
                nodes[k] = None
            else:
                leaves[-1 - k] = None


def walk(nodes: list[Expr], wanted: Sequence[Expr], literal: bool = True) -> Walk:
    """Number the nodes and leaves, and say in one key what the plan depends on.

    Unless it is `literal`, constants and error states stand for others, and no rule goes by them."""
    numbers = {id(n): k for k, n in enumerate(nodes)}
    roots = {id(n) for n in wanted}
    outside = [id(n) in roots or is_kept(n) or _read_elsewhere(n, numbers) for n in nodes]
    options = config.plan_key()
    rules: Active = options[-1].at(Keeps.APPROX if config.current.fast_math else Keeps.BITWISE)
    tokens = Tokens(rules, literal)
    parts, leaves = tokens.of(nodes, outside, numbers, numbers)
    asked = {n.serial for n in compress(nodes, outside)}
    return Walk(nodes, leaves, (options, buffer_size(), *parts), numbers, asked, tokens)


def _read_elsewhere(node: Expr, numbers: dict[int, int]) -> bool:
    """Does a pending node of no number read it?"""
    for ref in node.readers or ():
        reader = ref()
        if reader is not None and id(reader) not in numbers and reader.op is not None:
            return True
    return False
