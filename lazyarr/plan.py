"""Plans: what an evaluation does, independent of the arrays at hand, remembered by structure.

In:  the pending nodes of one evaluation, in program order.
Out: `Plan`: steps that speak of nodes and leaves by number, so that the same program on other
     arrays (a time step, an iteration) finds its plan by one walk and one hash (`planning`).

The key is the structure of all nodes (`fusion.structure`), with the options.  A reference is a number: k >= 0
is node k of the evaluation, k < 0 is leaf -1 - k.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from itertools import compress
from typing import Any

import numpy

from lazyarr import config
from lazyarr.codegen.rows_words import slots
from lazyarr.error_state import buffer_size
from lazyarr.expr import Expr, Keep
from lazyarr.flags import Late, Raised
from lazyarr.fusion.program import Program
from lazyarr.fusion.registry import Active
from lazyarr.fusion.rewrite import Keeps
from lazyarr.fusion.structure import Numbers, Tokens
from lazyarr.fusion.turns import Margin
from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.row_rings import Ring

Finding = Sequence[tuple[int, Raised]]
"""Which members of a step raised what."""


class Known(NamedTuple):
    """What is known of a step that raised flags."""

    left: int
    """Times that it may yet be looked at closely."""
    finding: Finding | None


class PlacedTurn(NamedTuple):
    """The first write of a sweep that takes turns with another buffer (`fusion.turns.Turn`)."""

    node: int
    source: int | None
    margins: tuple[Margin, ...]
    ring: Ring | None = None
    """Of a new buffer which pages come round, while steps run together."""
    whole: str = ""
    """Why none do."""


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
    keeps: Keep | None = None
    """Of a program that packs to count: what it keeps, and the last member's value has the ranks, too."""
    feeds: tuple[tuple[int, Step], ...] = ()
    """Compressions that are packed chunk by chunk, just before a chunk needs them: which operand of the
    program, and the step that it would be by itself."""
    rows: RowBlocks | None = None
    """Steps that run together, block by block: this one has no program of its own."""
    turns: tuple[PlacedTurn, ...] = ()
    """Which of the stored nodes do not lie where the old value does."""
    boxes: tuple[Step, ...] = ()
    """Programs for boxes of one space, which together compute the members; nor has this one."""
    shared: tuple[int, ...] = ()
    """Members that other steps compute, too, and nobody stores: they stay pending until the last one has."""
    work: float | None = None
    """What NumPy would take for it (`compiler.numpy_ns`), once somebody asked."""
    raised: dict[tuple[str | int, ...], Known] = field(default_factory=dict)
    """By the categories that were raised, and where that tells more by whom (`replay`)."""

    @property
    def staying(self) -> set[int]:
        """Members that a later step computes again."""
        return {*self.shared}.difference(self.ends)

    def renumbered(self, members: tuple[int, ...], others: Sequence[int], why: str) -> Step:
        """The step of a group like this one's, whose members and other values these are."""

        at = [*members, *others[::-1]].__getitem__      # (-1 is the first of the others)
        constants: Any = self.constants
        if constants:
            constants = tuple([(members[c[0]], c[1]) if c.__class__ is tuple else c for c in constants])
        reusable = self.reusable
        if any(reusable):
            made = {each: tuple(map(at, each)) for each in {*reusable}}
            reusable = tuple(map(made.__getitem__, reusable))
        return Step(
            members, tuple(map(at, self.stored)), self.program, tuple(map(at, self.operands)), constants,
            self.written, reusable, why, (), self.tallies, None if self.ranks is None else at(self.ranks),
            self.keeps,
        )  # fmt: skip


RUNS_EACH = 16
"""Runs of successive blocks for each thread, about."""

STRIPS_EACH, RINGS_EACH = 2, 1
"""Strips for each thread; where second buffers are rings, of which each strip has one, and what it leaves to
seams besides."""

STRIP_BLOCKS = 8
"""Blocks of a strip, at least, for each block that steps lag: at its ends so many of them come later."""

assert STRIP_BLOCKS >= 2, "what is left out at a strip's one end would be left out at its other end, too"


WATCHES = 4
"""Launches of row blocks that are stopped where something is raised, to see who did; later their finding is
assumed."""


class Place(NamedTuple):
    """When a part that runs behind others has its turn."""

    late: int = 0
    """How many blocks after the first part; so many it leaves out where a strip ends before another one."""
    front: int = 0
    """How many it leaves out where a strip begins behind another one."""
    shift: int = 0
    """By how many rows its blocks begin before those of the first part."""


class RowPart(NamedTuple):
    """One step of those that run together: its programs over the rows of a block."""

    step: Step
    first: Program
    program: Program
    last: Program
    """Over the first block and the last one of its blocks, which may have other rows, and over all others."""
    inside: tuple[int, ...]
    """For each operand: where in a thread's own memory the rows of a block lie, or -1 if they lie in the
    value's buffer."""
    streams: bool
    """What it writes is large, and nobody reads it soon: it may be stored past the caches."""
    axes: tuple[int, ...]
    """For each of the step's members: along which of its own axes the rows lie, -1 where nobody knows."""
    lag: int
    """Behind how many others it runs, one behind the other, each by a block or by some rows."""
    place: Place
    sources: tuple[Place, ...]
    """For each operand in a thread's own memory that of the part that makes it; else the first part's."""
    start: int
    """Which row of the blocks, as they lie for this part, is its first row."""
    rows: int
    """How many it has."""


class PlacedRing(NamedTuple):
    """A second buffer of which only the rows in use are there: of the value `to`, which has the margins of
    `source`."""

    ring: Ring
    source: int
    to: int


@dataclass(slots=True, eq=False)
class RowBlocks:
    """Steps that run together on blocks of rows (`fusion.rows`)."""

    parts: tuple[RowPart, ...]
    rows: int
    """Of a block; the last has more where their number is no multiple."""
    blocks: int
    """In one row of each axis in `outer`."""
    own_bytes: int
    """Memory for a block's values that only these steps read."""
    spare: int = 0
    """Bytes that NumPy would take for one of these values, and so they may take together."""
    delay: int = 0
    """How many blocks a part may lag behind one whose values in a thread's own memory it reads, one at least;
    0 where no part lags."""
    watches: int = WATCHES
    """In how many launches blocks may yet be looked at before parts that lag overwrite what they read."""
    doubtful: tuple[int, ...] | None = None
    """For each part the flags that several of its operations can raise; None: not asked yet."""
    early: tuple[int, ...] = ()
    """Values that the steps one by one would let go of before all results have their memory; none where
    memory suffices all the same."""
    launches: dict[Any, Any] = field(default_factory=dict)
    """Launches prepared, by `launch_rows.rows_key`."""
    lying: tuple[int, ...] = ()
    """The values that the parts read and write where these lie, each once."""
    outer: tuple[int, ...] = ()
    """Extents of axes along which a block is in one position."""
    rings: tuple[PlacedRing, ...] = ()
    constants: tuple[Any, ...] = ()
    """Of all parts, one after the other (`Step.constants`)."""
    streamed: tuple[int, ...] = ()
    """Values that may be stored past the caches."""
    most: int = 0
    """How many blocks parts leave out at an end of a strip, half of those at both ends, at most."""

    def __post_init__(self) -> None:
        parts = self.parts
        self.constants = tuple([c for part in parts for c in part.step.constants])
        self.streamed = tuple(
            [part.step.operands[k] for part in parts if part.streams for k in part.step.written]
        )
        self.most = -(-max([part.place.late + part.place.front for part in parts], default=0) // 2)
        if self.lying:
            return
        operands = [zip(part.step.operands, part.inside, strict=True) for part in self.parts]
        self.lying = tuple(dict.fromkeys(k for each in operands for k, at in each if at < 0))

    @property
    def chunks(self) -> int:
        """All blocks."""
        return self.blocks * math.prod(self.outer)

    def run(self, threads: int) -> int:
        """How many successive blocks a thread takes at a time: what it prefetches is its own."""
        return max(1, self.chunks // (RUNS_EACH * threads))

    def strips(self, threads: int, each: int = 0) -> int:
        """Where parts lag: how many pieces, each of successive blocks, run side by side."""
        if threads == 1:
            return 1
        each = each or (RINGS_EACH if self.rings else STRIPS_EACH)
        most = min(each * threads, self.blocks // (STRIP_BLOCKS * max(1, self.most)))
        if self.own_bytes:
            most = min(most, self.spare // (slots(self.delay) * self.own_bytes))
        return max(1, most // threads * threads if most > threads else most)    # (so that all end together)

    def block(self, number: int, part: RowPart) -> slice:
        """Its rows, in the axis of rows of a part's programs; the first and the last block have also those
        before and behind."""
        return block_rows(number, self.rows, self.blocks, part.start, part.rows)

    def span(self, part: RowPart) -> tuple[int, int]:
        """The first block in which a part has rows, and the one after the last."""
        ends = part.start, part.start + part.rows - 1
        first, last = (min(max(0, row // self.rows), self.blocks - 1) for row in ends)
        return first, last + 1

    def slots(self, threads: int) -> int:
        """How many blocks' values that only these steps read exist at a time."""
        return slots(self.delay) * self.strips(threads) if self.delay else min(threads, self.chunks)


def block_rows(number: int, rows: int, blocks: int, start: int, count: int) -> slice:
    """The rows in a block of a part that has so many, of which the first is the row `start`."""
    first = max(0, number * rows - start) if number else 0
    return slice(first, min(count, (number + 1) * rows - start) if number < blocks - 1 else count)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Plan:
    steps: list[Step]
    pins: list[Any]
    """Objects whose identity is part of the key."""
    noted: bool = False
    """Its kernels exist, and the cache says so (`compiler.note`)."""
    ways: list[list[Any]] = field(default_factory=list)
    """For each step what is ready of it (`known_steps.KnownStep`), or None; once for evaluations in which
    some nodes stand for several (`calls`), and once for others."""
    for_any_count: bool = False
    """Does nothing but launches depend on how many elements a mask keeps?"""
    met: bool = False
    """Was it found again?"""


@dataclass(slots=True, eq=False)
class Walk:
    """One evaluation: its nodes, leaves, and the key of its structure."""

    nodes: list[Expr]
    leaves: list[Expr]
    key: tuple[Any, ...]
    stored: list[bool]
    """For each node: does somebody outside ask for its value, now or later?  Part of the key.  What other
    threads do may change that while the plan is made; so nobody asks again."""
    asked: set[int]
    """Serials of those."""
    tokens: Tokens
    """By which the key was made, and the rules by which bodies are rewritten."""
    late: list[Late] = field(default_factory=list)
    """Warnings to give when all is done."""
    through: bool = True
    """May groups read through what is written piece by piece?"""
    _numbers: dict[int, int] | None = None

    @property
    def numbers(self) -> dict[int, int]:
        """Of nodes and leaves, by identity; for who plans, before any of them is let go of."""
        if self._numbers is None:
            self._numbers = {id(n): k for k, n in enumerate(self.nodes)}
            self._numbers |= {id(leaf): -1 - k for k, leaf in enumerate(self.leaves)}
        return self._numbers

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


def walk(
    nodes: list[Expr], wanted: Sequence[Expr], literal: bool = True, through: bool = True
) -> Walk:  # fmt: skip
    """Number the nodes and leaves, and say in one key what the plan depends on.

    Unless it is `literal`, constants and error states stand for others, and no rule goes by them.  Groups may
    read `through` what is written piece by piece."""
    numbers = Numbers.of(nodes)
    stored = _stored(nodes, numbers)
    for root in wanted:
        k = numbers.get(root)
        if k is not None:
            stored[k] = True
    options = config.plan_key()
    rules: Active = options[-1].at(Keeps.APPROX if config.current.fast_math else Keeps.BITWISE)
    tokens = Tokens(rules, literal)
    if not (literal and through):       # (other plans: they are looked for by such a key as well)
        options = (*options, literal, through)
    key = (options, buffer_size(), *tokens.of(nodes, stored, numbers))
    asked = {n.serial for n in compress(nodes, stored)}
    return Walk(nodes, numbers.leaves, key, stored, asked, tokens, through=through)


def _stored(nodes: list[Expr], numbers: Container[Expr]) -> list[bool]:
    """For each node: is it worth its memory (`values.is_kept`, written out), or does a pending node of no
    number read it?"""
    found: list[bool] = []
    add = found.append
    for node in nodes:                  # (no function for each: that takes as long as this does)
        home, asked = node.home, False
        storage = None if home is None else home()
        if storage is not None and storage.value is node and (not storage.dying or node.spared):
            add(True)
            continue
        for ref in node.readers or ():
            reader = ref()
            if reader is not None and reader not in numbers and reader.op is not None:
                asked = True
                break
        add(asked)
    return found
