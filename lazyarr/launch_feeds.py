"""Launch a kernel some of whose operands are made chunk by chunk, in each thread's own memory.

In:  a program, and what makes those operands (`Feeding`).   Out: memory written, flags raised.
A chunk of the consumer reads a range of elements; tables say which chunks of the other kernels make these.
What lies at either end of a chunk may be made twice, by the chunks that share it.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import Any, Protocol

import numpy

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.portion_words import SYMBOL, TOLD
from lazyarr.codegen.reduce_plan import SLOT, Cuts, by_rows, reductions
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.program import Program
from lazyarr.geometry import address
from lazyarr.hot import ran
from lazyarr.kernels import Kernel
from lazyarr.launch import Prepared, bind, count_launch, may_stream, memory, prepare
from lazyarr.records import dataclass
from lazyarr.schedule import LINE
from lazyarr.shared_kernels import PORTIONS
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for

CHUNK = 1 << 15
"""Elements of the source that a chunk reads, roughly: what they leave fits the second-level cache."""

FED = 1 << 16
"""The same of chunks that are fed: the more of them, the more often a fold starts anew (1 << 15 takes 1.04
to 1.14 of the time; longer ones take memory).  But each thread has `EACH` chunks at least, of no less than
`CHUNK` elements."""

EACH = 8
"""Chunks for each thread."""

SMALLEST = 256
"""Least elements of a subtree of a pairwise sum: NumPy splits all that are larger than 128."""


class Feeding(Protocol):
    """What an operand of a kernel is made by, chunk by chunk, in each thread's own memory."""

    @property
    def in_turn(self) -> bool:
        """Is each chunk made from what the one before left?  Then one thread makes all."""

    @property
    def size(self) -> int:
        """Elements of its loops."""

    def feeds(self, starts: numpy.ndarray, at: int) -> list[Fed]:
        """The kernels that make the elements that each chunk needs, with memory from the offset `at` on;
        `starts` are the chunks' first elements, and the end."""


@dataclass(slots=True, eq=False)
class Fed:
    """One kernel that makes a part of what chunks need, and all the memory that its words point to."""

    pack: Prepared
    words: array[int]
    table: numpy.ndarray
    """For each chunk: the first of the kernel's chunks that it needs, the end of these, bytes from where the
    thread's buffer begins back to where all of the kernel's result would, and all of the operand."""
    copy_at: int
    buffer_at: int
    end: int
    """Offset behind its memory."""
    out: int
    """The operand that is made."""
    keep: Any

    def told(self, in_word: int) -> list[int]:
        """What the feeding kernel reads of it."""
        return [
            self.pack.kernel.address, self.words.buffer_info()[0], len(self.words), address(self.table),
            self.copy_at, self.buffer_at, 8 * self.pack.pointers[self.out], in_word,
        ]  # fmt: skip


def launch_fed(
    program: Program, addresses: Sequence[int], scalars: Sequence[Any], streams: bool,
    feeds: Sequence[tuple[int, Feeding]],
) -> int:
    """Run a program some of whose operands are made for it chunk by chunk, and never stored.

    Parameters
    ----------
    program : Program
    addresses : sequence of int
        Of each operand's first element; those of fed operands are not looked at.
    scalars : sequence of numpy.generic
    streams : bool
        Whether the outputs' pages are warm.
    feeds : sequence of (int, Feeding)
        Number of the operand, and what it is.

    Returns
    -------
    int
        NumPy's FPE flags of all chunks together.
    """
    in_turn = any(source.in_turn for _, source in feeds)
    p, starts = _consumer(program, addresses, streams, max(s.size for _, s in feeds), in_turn)
    inner, keep = bind(p, addresses, scalars)
    at = -(-8 * len(inner) // LINE) * LINE
    head, kept = array("q"), list[Any](keep)
    packs: list[Fed] = []
    for operand, source in feeds:
        for fed in source.feeds(starts, at):
            head.extend(fed.told(8 * p.pointers[operand]))
            at = fed.end
            packs.append(fed)
    threads = 1 if in_turn else max(each.threads for each in (p, *(fed.pack for fed in packs)))
    block, base = memory(at * threads)
    words = array("q", [
        0, base, 0, at, p.kernel.address, inner.buffer_info()[0], len(inner), len(packs), 0, *head,
    ])  # fmt: skip
    kernels = [p.kernel, *(fed.pack.kernel for fed in packs)]
    run_chunks(PORTIONS.addresses()[SYMBOL], words, p.chunks, threads, kernels)
    made = 0
    for fed in packs:
        made |= fed.pack.kernel.flags
    flags = words[Layout.FLAGS] & p.kernel.flags | words[TOLD] & made
    if p.partial_bytes:
        inner[Layout.FLAGS] = 0
        parallel_for(p.combine, inner.buffer_info()[0], p.combine_chunks, 1)
        flags |= inner[Layout.FLAGS] & p.kernel.flags
    count_launch(p, words)
    COUNT.fused_ops += sum(fed.pack.kernel.ops for fed in packs)
    del kept, packs, block
    return flags


def _consumer(
    program: Program, addresses: Sequence[int], streams: bool, size: int, in_turn: bool
) -> tuple[Prepared, numpy.ndarray]:
    """The consumer, cut into ranges of ranks: each chunk's first, and the end."""
    streams = streams and may_stream(program, addresses)
    key = "fed", streams, plan_key(), size, in_turn
    found: tuple[Prepared, numpy.ndarray] | None = program.launches.get(key)
    if found is None:
        threads = 1 if in_turn else get_num_threads()
        found = _cut_consumer(program, streams, threads, size)
        found[0].scratch_bytes = found[0].kernel.scratch_bytes * threads
        if found[0].kernel.nontemporal == streams:      # not a stand-in for what is yet to be compiled
            program.launches[key] = found
    else:
        COUNT.memory_hits += 1
    return found


def _cut_consumer(
    program: Program, streams: bool, threads: int, size: int
) -> tuple[Prepared, numpy.ndarray]:
    n, *inside = program.loops.shape
    want = max(1, size // FED, min(EACH * threads, size // CHUNK))
    if inside:
        rows = -(-n // want)
        cuts = by_rows(program.parfor, program.loops.shape, program.run, rows)
        return prepare(program, False, threads, cuts), numpy.append(numpy.arange(0, n, rows), n)
    if "r" in program.parfor.dims:
        cuts = _cuts(program, n, want)
        starts = ranks(cuts, n, sums_complex(program))[:: cuts.grain]
        return prepare(program, False, threads, cuts), numpy.append(starts, n)
    tile = -(-n // (LINE * want)) * LINE
    p = prepare(program, streams, threads, tile=[min(tile, n)])
    return p, numpy.append(numpy.arange(0, n, tile), n)


def _cuts(program: Program, n: int, want: int) -> Cuts:
    """About `want` chunks: subtrees of a pairwise sum, runs, or anything where any order is right."""
    folds = reductions(program.parfor)
    run, depth, grain = -(-n // want), 0, 1
    if any(how.order == "pairwise" for _, how in folds):
        run = program.run
        if run >= n:
            depth = max(0, min(want.bit_length(), (n // SMALLEST).bit_length()) - 1)
        else:
            grain = max(1, -(-n // run) // want)
    runs = -(-n // run)
    steps = runs << depth
    size = steps * len(folds) * SLOT if steps > 1 else 0
    return Cuts((n,), (1,), -(-steps // grain), run, runs, depth, steps, grain, size, 1 if size else 0)


def sums_complex(program: Program) -> bool:
    return any(
        how.order == "pairwise" and PLAIN[inst.sig].kind == "c" for inst, how in reductions(program.parfor)
    )


def ranks(cuts: Cuts, n: int, complex_: bool) -> numpy.ndarray:
    """The first element of each step of a fold over `n` elements, as its kernel finds them."""
    steps = numpy.arange(cuts.steps)
    starts = (steps >> cuts.depth) * cuts.run
    counts = numpy.minimum(cuts.run, n - starts)
    for level in reversed(range(cuts.depth)):
        left = (counts & -8) >> 1 if complex_ else (counts >> 1) & -8
        right = (steps >> level & 1).astype(bool)
        starts = numpy.where(right, starts + left, starts)
        counts = numpy.where(right, counts - left, left)
    return starts


def run_chunks(entry: int, words: array[int], chunks: int, threads: int, kernels: Sequence[Kernel]) -> None:
    """`kernels` are what runs there, in equal parts as far as is known."""
    began = time.perf_counter()
    parallel_for(entry, words.buffer_info()[0], chunks, threads)
    spent = time.perf_counter() - began
    COUNT.seconds["run"] += spent
    for kernel in kernels:
        ran(kernel, spent / len(kernels))
