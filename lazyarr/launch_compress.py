"""Launch compressions: into memory, or chunk by chunk into the kernel that reads them.

In:  programs that count or pack, addresses.   Out: memory written, flags raised.
At the call a mask is counted, block by block; the sums of the counts say at which rank each block's elements
begin.  Later blocks are packed in parallel.  A consumer's steps are stretches of ranks, so the same sums
say which blocks they need: at most one block at either end of a chunk is packed twice, by the chunks that
share it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.compress_feed import (
    FEED,
    MOVED,
    RANKS_OF,
    STATE_BYTES,
    TOLD,
)
from lazyarr.codegen.reduce_plan import SLACK, SLOT, Cuts, reductions
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.expr import BLOCK
from lazyarr.fusion.program import Program
from lazyarr.geometry import address
from lazyarr.launch import Prepared, bind, count_launch, may_stream, memory, prepare
from lazyarr.launch_feeds import CHUNK, EACH, FED, run_chunks, sums_complex
from lazyarr.records import dataclass
from lazyarr.schedule import LINE
from lazyarr.shared_kernels import COMPRESS
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for

STEP = 1 << 9
"""Kept elements that such a chunk packs, and hands on, at a time, roughly: they stay in the first-level
cache."""


@dataclass(slots=True, eq=False)
class Source:
    """A compression and its memory."""

    program: Program
    addresses: list[int]
    """Of each operand's first element."""
    scalars: Sequence[Any]
    ranks: numpy.ndarray
    """Of the first kept element of each block, and the total (`expr.Tally`)."""

    @property
    def size(self) -> int:
        return math.prod(self.program.loops.shape)

    @property
    def out(self) -> int:
        """The operand that receives what is kept."""
        return next(k for k, o in enumerate(self.program.parfor.operands) if o.role == "out")

    @property
    def itemsize(self) -> int:
        return PLAIN[self.program.parfor.operands[self.out].dtype].itemsize


def launch_tally(
    program: Program, addresses: Sequence[int], scalars: Sequence[Any], tally: numpy.ndarray
) -> int:
    """Count block by block, and write the sums of the counts to `tally`."""
    p = _by_blocks(program, CHUNK // BLOCK)
    words, keep = bind(p, addresses, scalars)
    partials, words[p.partials_word] = memory(SLOT * (len(tally) - 1))
    run_chunks(p.kernel.address, words, p.chunks, p.threads, (p.kernel,))
    count_launch(p, words)
    sums = array("q", [words[p.partials_word], len(tally) - 1, address(tally)])
    parallel_for(COMPRESS.addresses()[RANKS_OF], sums.buffer_info()[0], 1, 1)
    del keep, partials
    return words[Layout.FLAGS]


def launch_pack(source: Source) -> int:
    """Write the kept elements to memory."""
    p = _by_blocks(source.program, CHUNK // BLOCK)
    words, keep = _bind(p, source, source.addresses)
    run_chunks(p.kernel.address, words, p.chunks, p.threads, (p.kernel,))
    count_launch(p, words)
    del keep
    return words[Layout.FLAGS]


def launch_kept(
    program: Program, addresses: Sequence[int], scalars: Sequence[Any], streams: bool,
    feeds: Sequence[tuple[int, Source]],
) -> int:
    """Run a program of one loop some of whose operands are compressions that are never stored: what
    `launch_feeds.launch_fed` takes and returns."""
    sources = [source for _, source in feeds]
    fed = _in_steps(program, addresses, streams, max(s.size for s in sources))
    p, packs = fed.consumer, [_by_blocks(source.program, 1) for source in sources]
    threads = min(fed.chunks, max(each.threads for each in (p, *packs)))
    inner, keep = bind(p, addresses, scalars)
    at = -(-8 * len(inner) // LINE) * LINE
    head, kept = array("q"), list[Any](keep)
    for (operand, source), pack in zip(feeds, packs, strict=True):
        words, memories = _bind(pack, source, source.addresses)
        beyond = words[pack.kernel.layout.extra(SLACK)] = BLOCK * source.itemsize
        buffer = at + -(-(8 * len(words) + STATE_BYTES + beyond) // LINE) * LINE
        head.extend((
            pack.kernel.address, words.buffer_info()[0], len(words), address(source.ranks),
            len(source.ranks) - 1, source.itemsize, at, buffer, 8 * pack.pointers[source.out],
            8 * p.pointers[operand],
        ))  # fmt: skip
        at = buffer + -(-(fed.most * source.itemsize + 2 * beyond + MOVED) // LINE) * LINE
        kept += words, memories
    block, base = memory(at * threads)
    words = array("q", [
        0, base, 0, at, p.kernel.address, inner.buffer_info()[0], len(inner), 0, *fed.words, len(feeds),
        *head,
    ])  # fmt: skip
    run_chunks(COMPRESS.addresses()[FEED], words, fed.chunks, threads, [each.kernel for each in (p, *packs)])
    flags = words[Layout.FLAGS] & p.kernel.flags | words[TOLD]      # (packing kernels tell theirs there)
    if p.partial_bytes:
        inner[Layout.FLAGS] = 0
        parallel_for(p.combine, inner.buffer_info()[0], p.combine_chunks, 1)
        flags |= inner[Layout.FLAGS]
    count_launch(p, words)
    COUNT.fused_ops += sum(each.kernel.ops for each in packs)
    del kept, block
    return flags


def _bind(
    p: Prepared, source: Source, addresses: Sequence[int]
) -> tuple[array[int], list[numpy.ndarray | None]]:
    """The words of a packing kernel: the ranks are in the place of partial results."""
    words, keep = bind(p, addresses, source.scalars)
    words[p.partials_word] = address(source.ranks)
    return words, keep


def _by_blocks(program: Program, grain: int) -> Prepared:
    """A kernel whose steps are blocks, `grain` of them a chunk; scratch memory is for all threads."""
    key = "blocks", grain, plan_key()
    found: Prepared | None = program.launches.get(key)
    if found is None:
        shape = program.loops.shape
        threads, runs = get_num_threads(), -(-math.prod(shape) // BLOCK)
        cuts = Cuts(shape, (1,) * len(shape), -(-runs // grain), BLOCK, runs, 0, runs, grain, 0, 0)
        found = prepare(program, False, threads, cuts)
        found.scratch_bytes = found.kernel.scratch_bytes * threads
        program.launches[key] = found           # complete: from here on others run it
    else:
        COUNT.memory_hits += 1
    return found


@dataclass(slots=True, eq=False)
class _Steps:
    """A consumer, cut into steps, and how many of these are a chunk."""

    consumer: Prepared
    cuts: Cuts
    complex_: bool
    """Are complex numbers summed?"""
    elements: int
    want: int
    """Chunks, roughly."""

    @property
    def grain(self) -> int:
        return -(-self.consumer.chunks // self.want)

    @property
    def chunks(self) -> int:
        return -(-self.consumer.chunks // self.grain)

    @property
    def words(self) -> tuple[int, ...]:
        """Of the feeding kernel: from CHUNKS on."""
        cuts = self.cuts
        return (
            self.chunks, self.grain, self.consumer.chunks, self.elements, cuts.run, cuts.depth, self.complex_,
        )

    @property
    def most(self) -> int:
        """Elements of the longest step: right parts of a tree are longer, by less than that."""
        return (self.cuts.run >> self.cuts.depth) + 16


def _in_steps(program: Program, addresses: Sequence[int], streams: bool, size: int) -> _Steps:
    """A program of one loop, cut into ranges of ranks; `size` elements are there to be kept."""
    streams = streams and may_stream(program, addresses)
    key = "fed", streams, plan_key(), size
    found: _Steps | None = program.launches.get(key)
    if found is None:
        threads = get_num_threads()
        found = _cut_in_steps(program, streams, threads, size)
        p = found.consumer
        p.scratch_bytes = p.kernel.scratch_bytes * threads
        if p.kernel.nontemporal == streams:      # not a stand-in for what is yet to be compiled
            program.launches[key] = found
    else:
        COUNT.memory_hits += 1
    return found


def _cut_in_steps(program: Program, streams: bool, threads: int, size: int) -> _Steps:
    n = program.loops.shape[0]
    want = max(1, size // FED, min(EACH * threads, size // CHUNK))
    folds = "r" in program.parfor.dims
    cuts = _step_cuts(program, n) if folds else _in_runs(n, min(STEP, n), 0, 0)
    p = prepare(program, streams and not folds, threads, cuts if folds else None, tile=[cuts.run])
    return _Steps(p, cuts, folds and sums_complex(program), n, want)


def _step_cuts(program: Program, n: int) -> Cuts:
    """Subtrees of a pairwise sum, runs, or anything where any order is right."""
    folds = reductions(program.parfor)
    run, depth = min(STEP, n), 0
    if any(how.order == "pairwise" for _, how in folds):
        run = min(program.run, n)
        if run == n:
            depth = max(0, (n // STEP).bit_length() - 1)
    return _in_runs(n, run, depth, len(folds) * SLOT)


def _in_runs(n: int, run: int, depth: int, each: int) -> Cuts:
    """Each step is a chunk; `each` is the bytes that it leaves."""
    runs = -(-n // run)
    steps = runs << depth
    size = steps * each if steps > 1 else 0
    return Cuts((n,), (1,), steps, run, runs, depth, steps, 1, size, 1 if size else 0)
