"""What machine code is told of evaluations known at sight: the words of rows, and how Python writes them.

In:  an evaluation that was known at sight (`at_sight.Sight`), its values, its launches (`known_steps.Bound`).
Out: a row, and what it refers to; None of what is not of the kind that the code of `sight_text` does.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from lazyarr.at_sight import CONSTANT, Sight
from lazyarr.expr import Expr
from lazyarr.known_steps import Bound, KnownStep
from lazyarr.nodes_words import Word
from lazyarr.records import NamedTuple
from lazyarr.schedule import LINE


class Also:
    """What the function is given behind the words of `nodes_words`."""

    HEADS = Word.END
    """Where the address of the first row for each hash is."""
    BUSY = Word.END + 1
    """Is a call under way?  Then no row changes, and the memory that follows is in use."""
    VALUES = Word.END + 2
    """Memory for the time of a call: for values, results, what is to be let go, words, and what a launch
    needs beside these."""
    RESULTS = Word.END + 3
    DROPS = Word.END + 4
    AREA = Word.END + 5
    SCRATCH = Word.END + 6
    MARKS = Word.END + 21
    """For each value whether it is needed once more."""
    KEPT = Word.END + 22
    """Does an array that seems to be a temporary hold a node that is not stored?"""
    UNRAISED = Word.END + 23
    """`flags.UNRAISED`."""
    LISTS = Word.END + 7
    """The type of lists; an empty tuple; the name of a stage in `COUNT.seconds`."""
    NOTHING = Word.END + 8
    STAGE = Word.END + 9
    MEMORY = Word.END + 10
    """`Buffer.new`, `perf_counter`, `swift_sight.rest` and `warmed`."""
    CLOCK = Word.END + 11
    REST = Word.END + 12
    WARMED = Word.END + 13
    PARALLEL = Word.END + 14
    """Addresses of the native loops, and of more functions of C."""
    SERIAL = Word.END + 15
    SAVE = Word.END + 16
    RESTORE = Word.END + 17
    SUBTRACT = Word.END + 18
    SUM = Word.END + 19
    PUT = Word.END + 20
    FIRST = Word.END + 24
    """Of the last evaluation: the serial of its first node, and the number of its row."""
    ROW = Word.END + 25
    STIR = Word.END + 26
    """`pool.stir`."""
    SIGNALS = Word.END + 27
    """`PyErr_CheckSignals`."""
    NEW_ARRAY = Word.END + 28
    """NumPy's `PyArray_NewFromDescr`."""
    END = Word.END + 29


HASH = 9
"""Bits of a hash of an evaluation, which is one of its first value's op and region."""


class Row:
    """The words that a row begins with.  Of a list they say how many entries there are, and where, in bytes
    behind the row's begin."""

    NEXT = 0
    """The address of another row, or zero."""
    OFF = 1
    """Does it hold no more?  (Flags were raised, which Python tells of.)"""
    OPTIONS = 2
    """`config.plan_key`, and the size of NumPy's buffers."""
    BUFFERS = 3
    PLAN = 4
    """Weak references."""
    WAY = 5
    VALUES = 6
    """How many there are."""
    NODES = 7
    """Of `Node`s, the last one first."""
    NODES_AT = 8
    INPUTS = 9
    """Of `Input`s: those of the nodes, one after the other."""
    INPUTS_AT = 10
    ORDER = 11
    """Of the places of nodes, in program order."""
    ORDER_AT = 12
    STORED = 13
    """Of results: the node's place, and its bytes, as an int of Python's."""
    STORED_AT = 14
    OTHERS = 15
    """Of the places of nodes that are not stored, the last one first."""
    OTHERS_AT = 16
    HELD = 17
    """Of the places of values that have to be held."""
    HELD_AT = 18
    STREAMED = 19
    """Of the numbers of results that may be stored past the caches, if the pages of all are warm."""
    STREAMED_AT = 20
    COLD = 21
    """Where the `Launch`es begin, or zero."""
    WARM = 22
    MEMBERS = 23
    """How many nodes there are, those that calls stand for among them."""
    WARMING = 24
    """Is somebody to hear how long kernels run?"""
    NUMBER = 25
    """Of the row, as an int of Python's."""
    ROOTS = 26
    """How many values are asked for: these are the first ones."""
    THREADS = 27
    """Of the launch with the most."""
    OVER = 28
    """Of the places of nodes that write over others, and of these."""
    OVER_AT = 29
    END = 30


class Node:
    PLACE = 0
    OP = 1
    REGION = 2
    STORED = 3
    READERS = 4
    INPUTS = 5
    """How many."""
    IS_OVER = 6
    """Does it write over another one?"""
    END = 7


class Input:
    KIND = 0
    PLACE = 1
    SEEN = 2
    """A geometry, or the type of a constant."""
    END = 3


class Launch:
    """The words that a launch begins with; of lists as in `Row`."""

    WORDS = 0
    """The template."""
    WORDS_AT = 1
    READ = 2
    """Of three words: which one an address is for, the value's place, bytes behind its begin."""
    READ_AT = 3
    WRITTEN = 4
    """The same for results, which have numbers."""
    WRITTEN_AT = 5
    SCALARS = 6
    """Of four words: the first one, the node's place, the number of the input, bytes."""
    SCALARS_AT = 7
    MEMORY = 8
    """Of two words: which one, and bytes behind the begin of scratch memory."""
    MEMORY_AT = 9
    INSIDE = 10
    """The same behind the first word."""
    INSIDE_AT = 11
    RAISED = 12
    """Of two words: which one, and the flags that count."""
    RAISED_AT = 13
    ENTRY = 14
    CHUNKS = 15
    THREADS = 16
    COMBINE = 17
    COMBINE_CHUNKS = 18
    COMBINE_AT = 19
    KERNELS = 20
    OPS = 21
    REAL = 22
    """As `READ`, of values that are arrays of NumPy's."""
    REAL_AT = 23
    MADE = 24
    """As `WRITTEN`, of results that are."""
    MADE_AT = 25
    NUMBERS = 26
    """Of three words: the first one, the place of a number of Python's, and what it becomes (`Number`)."""
    NUMBERS_AT = 27
    END = 28


class Number(IntEnum):
    """A float or an int of Python's, and the type of a kernel's scalar."""

    DOUBLE = 0
    SINGLE = 1
    INT = 2
    INT_DOUBLE = 3
    INT_SINGLE = 4


PLAIN = "?bBhHiIlLqQefdFD"
"""Types of constants, by character: of at most two words, which lie where those of a float do."""

MOST_VALUES = 128
"""Of an evaluation, and of arguments or results of a call."""

DROPS = 7
"""Objects that a node lets go of once it is computed."""


class Places(NamedTuple):
    """Where nodes, reads, storages, buffers and counters have their attributes."""

    op: int
    inputs: int
    region: int
    old: int
    covers: int
    buf: int
    readers: int
    home: int
    spared: int
    errors: int
    serial: int
    depth: int
    weight: int
    read_expr: int
    read_geo: int
    storage_value: int
    storage_dying: int
    buffer_address: int
    buffer_bridge: int
    buffer_memory: int
    buffer_recycled: int
    count_nodes_run: int
    count_fused_ops: int
    count_native_launches: int
    count_parallel_launches: int
    count_memory_hits: int
    count_numpy_loop_blocks: int
    count_seconds: int
    ledger_unallocated: int


MOST_WORDS = 1 << 13
"""Of a launch."""

MOST_SCRATCH = 4 << 20
"""Bytes that a launch needs beside its words."""


class Rows:
    """A row as it grows, and what it refers to."""

    def __init__(self, head: int) -> None:
        self.words = array("q", bytes(8 * head))
        self.refers: list[Any] = []
        self.scratch = 0
        """Bytes that its launches need."""

    def refer(self, x: Any) -> int:
        self.refers.append(x)
        return id(x)

    def put(self, owner: int, word: int, entries: Sequence[Sequence[int]]) -> None:
        """Write a list of what begins at a word."""
        self.words[owner + word], self.words[owner + word + 1] = len(entries), 8 * (len(self.words) - owner)
        for entry in entries:
            self.words.extend(entry)


class Written(Rows):
    """The row of an evaluation."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(Row.END)
        self.way, self.share, self.work = sight.way, sight.share, sight.work


def written(sight: Sight, values: Sequence[Expr], step: KnownStep) -> Written | None:
    """The row of an evaluation, whose values are in the order in which they are met."""
    if step.step.shared or step.kept is not None or sight.ignored is not None or sight.band is not None:
        return None
    if len(values) > MOST_VALUES:
        return None
    row = Written(sight)
    words = row.words
    places = [*sight.order, *sight.leaves]

    def place(k: int) -> int:
        """Of a node or a leaf by the plan's number."""
        return sight.order[k] if k >= 0 else sight.leaves[-1 - k]

    words[Row.OPTIONS], words[Row.BUFFERS] = row.refer(sight.state), sight.buffers
    words[Row.PLAN], words[Row.WAY] = row.refer(sight.plan), row.refer(sight.way)
    words[Row.VALUES], words[Row.MEMBERS], words[Row.ROOTS] = len(places), len(step.step.members), sight.roots
    nodes, inputs = list[list[int]](), list[list[int]]()
    for at, op, region, given, stored, readers in sight.nodes:
        nodes.append([at, row.refer(op), row.refer(region), stored, readers, len(given), at in sight.over])
        for i, (kind, where, seen) in zip(values[at].inputs, given, strict=True):
            inputs.append([kind, where, row.refer(seen if kind == CONSTANT else i.geo)])  # type: ignore[union-attr]
    row.put(0, Row.NODES, nodes)
    row.put(0, Row.INPUTS, inputs)
    row.put(0, Row.ORDER, [[at] for at in sight.order])
    row.put(0, Row.OVER, [*sight.over.items()])
    results = {k: number for number, k in enumerate(step.stored)}
    nbytes = [values[place(k)].nbytes for k in step.stored]
    row.put(0, Row.STORED, [[place(k), row.refer(n)] for k, n in zip(step.stored, nbytes, strict=True)])
    row.put(0, Row.OTHERS, [[place(k)] for k in sorted(step.others, reverse=True)])
    row.put(0, Row.HELD, [[place(k)] for k in step.held])
    row.put(0, Row.STREAMED, [[results[k]] for k in step.streamed])
    words[Row.THREADS] = max(bound.threads for bound in step.bound if bound is not None)
    for word, bound in zip((Row.COLD, Row.WARM), step.bound, strict=True):
        if bound is not None:
            words[word] = 8 * len(words)
            if not _launch(row, bound, place, results, values):
                return None
    return row


def _launch(row: Written, b: Bound, place: Any, results: dict[int, int], values: Sequence[Expr]) -> bool:
    """Add a launch to a row; False if it is not of the kind that the code does."""
    read, stored, scalars = (list[list[int]]() for _ in range(3))
    for word, k, offset in b.addresses:
        if k >= 0 and k not in results:
            return False
        (stored if k in results else read).append([word, results[k] if k in results else place(k), offset])
    for firsts, (k, i) in b.scalars:
        scalar: Any = values[place(k)].inputs[i]
        if scalar.dtype.char not in PLAIN:
            return False
        scalars += [[word, place(k), i, scalar.dtype.itemsize] for word in firsts]
    begin = begun(row, b)
    if begin is None:
        return False
    row.put(begin, Launch.READ, read)
    row.put(begin, Launch.WRITTEN, stored)
    row.put(begin, Launch.SCALARS, scalars)
    return True


def begun(row: Rows, b: Bound) -> int | None:
    """Add a launch to a row, but for operands: where it begins; None if it is not of the kind that the code
    does.

    A row has addresses of kernels, and does not keep them: that does who remembers their launch, the plan of
    an evaluation (which is held during a call) or the short way of a replay (which the row refers to).  So
    their code goes with the last plan, though rows stay."""
    needed, memory = 0, list[list[int]]()
    for mine, nbytes in b.memory:
        memory += [[word, needed] for word in mine]
        needed += -(-nbytes // LINE) * LINE
    if b.counts is not None or len(b.words) > MOST_WORDS or needed > MOST_SCRATCH:
        return None
    row.scratch = max(row.scratch, needed)
    begin = len(row.words)
    row.words.extend([0] * Launch.END)
    row.put(begin, Launch.WORDS, [[word] for word in b.words])
    row.put(begin, Launch.MEMORY, memory)
    row.put(begin, Launch.INSIDE, b.inside)
    row.put(begin, Launch.RAISED, [*b.raised, *b.also])
    rest = {
        Launch.ENTRY: b.entry, Launch.CHUNKS: b.chunks, Launch.THREADS: b.threads, Launch.COMBINE: b.combine,
        Launch.COMBINE_CHUNKS: b.combine_chunks, Launch.COMBINE_AT: b.combine_at,
        Launch.KERNELS: len(b.kernels), Launch.OPS: b.ops,
    }  # fmt: skip
    for word, number in rest.items():
        row.words[begin + word] = number
    return begin
