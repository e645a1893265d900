"""Launch compressions: into memory, or chunk by chunk into the kernel that reads them.

In:  the programs of a compression (`fusion.compress`), addresses.   Out: memory written, flags raised.
First the mask is counted, block by block; the sums of the counts say at which rank each block's elements
begin.  Then blocks are packed in parallel.  A consumer's chunk is a range of ranks, so the same sums say
which blocks it needs: at most one block at either end is packed twice, by the chunks that share it.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.reduce_plan import SLOT, Cuts, reductions
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.assemble import Program
from lazyarr.geometry import address
from lazyarr.kernels import host
from lazyarr.launch import Prepared, bind, count_launch, may_stream, memory, prepare
from lazyarr.schedule import LINE, worth_threads
from lazyarr.target import Target
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for

BLOCK = 1 << 11
"""Elements of the source whose kept ones are counted together."""

CHUNK = 1 << 15
"""Elements of the source that a chunk reads, roughly: what they leave fits the second-level cache."""

SMALLEST = 256
"""Least elements of a subtree of a pairwise sum: NumPy splits all that are larger than 128."""


@dataclass(slots=True, eq=False)
class Source:
    """A compression and its memory."""

    count: Program
    pack: Program
    addresses: Sequence[int]
    """Of the array and of the mask."""
    kept: int
    """Elements, as counted at the call."""

    @property
    def size(self) -> int:
        return math.prod(self.pack.loops.shape)

    @property
    def itemsize(self) -> int:
        return PLAIN[self.pack.parfor.operands[2].dtype].itemsize


def launch_pack(source: Source, out: int) -> int:
    """Write the kept elements to memory at `out`."""
    offsets = _offsets(source)
    p = _for_threads(prepare(source.pack, False, 1, _blocks(source, CHUNK // BLOCK)), _threads(source))
    words, keep = _bind(p, source, out, offsets)
    _run(p.kernel.address, words, p.chunks, p.threads)
    count_launch(p, words)
    del keep
    return 0


def launch_fed(
    program: Program, addresses: Sequence[int], scalars: Sequence[Any], streams: bool,
    feeds: Sequence[tuple[int, Source]],
) -> int:
    """Run a program of one loop some of whose operands are compressions that are never stored.

    Parameters
    ----------
    program : Program
    addresses : sequence of int
        Of each operand's first element; those of fed operands are not looked at.
    scalars : sequence of numpy.generic
    streams : bool
        Whether the outputs' pages are warm.
    feeds : sequence of (int, Source)
        Number of the operand, and what it is.

    Returns
    -------
    int
        NumPy's FPE flags of all chunks together.
    """
    sources = [source for _, source in feeds]
    threads = max(map(_threads, sources))
    p, starts = _consumer(program, addresses, streams, max(s.size for s in sources))
    p = _for_threads(p, threads)
    inner, keep = bind(p, addresses, scalars)
    at = -(-8 * len(inner) // LINE) * LINE
    head, kept = array("q"), list[Any](keep)
    for operand, source in feeds:
        fed = _feed(source, starts, at, threads)
        head.extend(fed.words(8 * p.pointers[operand]))
        at = fed.end
        kept.append(fed)
    block, base = memory(at * threads)
    words = array("q", [
        0, base, 0, at, p.kernel.address, inner.buffer_info()[0], len(inner), len(feeds), *head,
    ])  # fmt: skip
    _run(_feeder(host()), words, p.chunks, threads)
    flags = words[Layout.FLAGS]
    if p.partial_bytes:
        inner[Layout.FLAGS] = 0
        parallel_for(p.combine, inner.buffer_info()[0], p.combine_chunks, 1)
        flags |= inner[Layout.FLAGS]
    count_launch(p, words)
    COUNT.fused_ops += len(feeds)
    del kept, block
    return flags


@dataclass(slots=True, eq=False)
class _Fed:
    """One feed of a launch, and all the memory that its words point to."""

    pack: Prepared
    pack_words: array[int]
    offsets: numpy.ndarray
    table: numpy.ndarray
    copy_at: int
    buffer_at: int
    end: int
    keep: Any

    def words(self, in_word: int) -> list[int]:
        return [
            self.pack.kernel.address, self.pack_words.buffer_info()[0], len(self.pack_words),
            address(self.offsets), address(self.table), self.copy_at, self.buffer_at,
            8 * self.pack.pointers[2], in_word,
        ]  # fmt: skip


def _feed(source: Source, starts: numpy.ndarray, at: int, threads: int) -> _Fed:
    """Which blocks each chunk needs; `starts` are the chunks' first ranks, and the end."""
    offsets = _offsets(source)
    p = _for_threads(prepare(source.pack, False, 1, _blocks(source, 1)), threads)
    words, keep = _bind(p, source, 0, offsets)
    table = numpy.empty((len(starts) - 1, 3), numpy.int64)
    table[:, 0] = numpy.searchsorted(offsets, starts[:-1], "right") - 1
    table[:, 1] = numpy.searchsorted(offsets, starts[1:], "left")
    table[:, 2] = offsets[table[:, 0]] * source.itemsize
    # The last block ends at the offset after it, so the largest difference is room for every chunk.
    room = int((offsets[table[:, 1]] - offsets[table[:, 0]]).max()) * source.itemsize
    buffer_at = at + -(-8 * len(words) // LINE) * LINE
    return _Fed(p, words, offsets, table, at, buffer_at, buffer_at + -(-room // LINE) * LINE, keep)


def _bind(
    p: Prepared, source: Source, out: int, offsets: numpy.ndarray
) -> tuple[array[int], list[numpy.ndarray | None]]:
    """The words of a packing kernel: the offsets are in the place of partial results."""
    p.partial_bytes = 0
    words, keep = bind(p, [*source.addresses, out], ())
    words[p.partials_word] = address(offsets)
    return words, keep


def _offsets(source: Source) -> numpy.ndarray:
    """Rank of the first kept element of each block, and the total."""
    cuts = _blocks(source, CHUNK // BLOCK)
    p = _for_threads(prepare(source.count, False, 1, cuts), _threads(source))
    words, keep = bind(p, [*source.addresses, 0], ())
    _run(p.kernel.address, words, p.chunks, p.threads)
    count_launch(p, words)
    partials = keep[-1]
    assert partials is not None
    first = words[p.partials_word] - address(partials)
    counts = partials[first : first + cuts.partial_bytes].view(numpy.int64)[::2]
    offsets = numpy.zeros(cuts.steps + 1, numpy.int64)
    numpy.cumsum(counts, out=offsets[1:])
    if int(offsets[-1]) != source.kept:
        raise RuntimeError("the mask was changed while it was in use")
    return offsets


def _blocks(source: Source, grain: int) -> Cuts:
    """Steps of one block, which leave one partial result each."""
    runs = -(-source.size // BLOCK)
    shape = source.pack.loops.shape
    return Cuts(
        shape, (1,) * len(shape), -(-runs // grain), BLOCK, runs, 0, runs, grain, runs * SLOT, 1
    )  # fmt: skip


def _for_threads(p: Prepared, threads: int) -> Prepared:
    """The same, with scratch memory for so many threads."""
    p.threads, p.scratch_bytes = threads, p.kernel.scratch_bytes * threads
    return p


def _threads(source: Source) -> int:
    return get_num_threads() if worth_threads(source.size, source.itemsize + 1, 0.1) else 1


def _consumer(
    program: Program, addresses: Sequence[int], streams: bool, size: int
) -> tuple[Prepared, numpy.ndarray]:
    """The consumer, cut into ranges of ranks: each chunk's first, and the end."""
    n = program.loops.shape[0]
    want = max(1, size // CHUNK)
    if "r" in program.parfor.dims:
        cuts = _cuts(program, n, want)
        starts = ranks(cuts, n, _complex(program))[:: cuts.grain]
        return prepare(program, False, 1, cuts), numpy.append(starts, n)
    tile = -(-n // (LINE * want)) * LINE
    p = prepare(program, streams and may_stream(program, addresses), 1, tile=[min(tile, n)])
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


def _complex(program: Program) -> bool:
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


def _run(entry: int, words: array[int], chunks: int, threads: int) -> None:
    began = time.perf_counter()
    parallel_for(entry, words.buffer_info()[0], chunks, threads)
    COUNT.seconds["run"] += time.perf_counter() - began


@cache
def _feeder(target: Target) -> int:
    """The address of the feeding kernel."""
    from lazyarr.codegen.compress_feed import SYMBOL, feed_kernel
    from lazyarr.dispatch.jit import load

    symbol = f"{SYMBOL}_{target.name}"
    ir = feed_kernel(target).replace(f"@{SYMBOL}(", f"@{symbol}(")
    return load(ir, (symbol,), target)[symbol]
