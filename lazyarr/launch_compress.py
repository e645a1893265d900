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
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.feed_words import (
    BLOCKS,
    BUFFER_AT,
    CALL,
    CHUNKS,
    COMPLEX,
    COPY_AT,
    FEED,
    FEEDS,
    FIRST,
    IN_WORD,
    INNER,
    INNER_COUNT,
    INNER_WORDS,
    MEMORY,
    MEMORY_BYTES,
    MOVED,
    OUT_WORD,
    PACK,
    PACK_COUNT,
    PACK_WORDS,
    PARTIALS_WORD,
    PER_FEED,
    PICKED,
    RANKS,
    RANKS_OF,
    SIZE,
    STATE_BYTES,
    TOLD,
)
from lazyarr.codegen.reduce_context import Context
from lazyarr.codegen.reduce_plan import RUN, SLACK, SLOT, Cuts, reductions
from lazyarr.codegen.sum_leaves import SUMMED, leaf_of
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.expr import BLOCK
from lazyarr.fusion.program import Program
from lazyarr.geometry import address
from lazyarr.kernels import Kernel
from lazyarr.launch import Prepared, bind, count_launch, may_stream, memory, prepare, put_scalars, work
from lazyarr.launch_feeds import CHUNK, EACH, FED, run_chunks, sums_complex
from lazyarr.records import NamedTuple, dataclass
from lazyarr.schedule import LINE, worth_threads
from lazyarr.shared_kernels import COMPRESS
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for

LEAST_BLOCKS = CHUNK // BLOCK
"""Blocks of a chunk that counts, or packs into memory, at least."""

MOST_EACH = 16
"""Chunks for each thread, at most: what they prefetch is theirs but for the ends, and where a chunk begins
prefetchers begin anew."""

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


def out_of(program: Program) -> int:
    """The operand of a packing program that receives what is kept."""
    ((_, how),) = reductions(program.parfor)
    return how.out


def itemsize_of(program: Program) -> int:
    """Of what is kept."""
    return PLAIN[program.parfor.operands[out_of(program)].dtype].itemsize


def launch_tally(
    program: Program, addresses: Sequence[int], scalars: Sequence[Any], tally: numpy.ndarray
) -> int:
    """Count block by block, and write the sums of the counts to `tally`."""
    p = by_blocks(program)
    words, keep = bind(p, addresses, scalars)
    blocks = blocks_of(program)
    partials, words[p.partials_word] = memory(SLOT * blocks)
    run_chunks(p.kernel.address, words, p.chunks, p.threads, (p.kernel,))
    count_launch(p, words)
    sums = array("q", [words[p.partials_word], blocks, address(tally)])
    parallel_for(COMPRESS.addresses()[RANKS_OF], sums.buffer_info()[0], 1, 1)
    del keep, partials
    return words[Layout.FLAGS]


def launch_pack(source: Source) -> int:
    """Write the kept elements to memory."""
    p = by_blocks(source.program)
    words, keep = bind(p, source.addresses, source.scalars)
    words[p.partials_word] = address(source.ranks)      # (in the place of partial results)
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
    packed = tuple([(operand, source.program) for operand, source in feeds])
    fed = fed_by(program, packed, streams and may_stream(program, addresses))
    ready = fed.counted(program.loops.shape[0])
    words, keep = ready.words[:], []
    at = words.buffer_info()[0]
    given = [(addresses, scalars), *[(source.addresses, source.scalars) for _, source in feeds]]
    for own, (homes, values) in zip(fed.own, given, strict=True):
        for word, operand in own.operands:
            words[word] = homes[operand]
        put_scalars(words, own.scalars, values)
    for places, (_, source) in zip(fed.ranks, feeds, strict=True):
        for word in places:
            words[word] = address(source.ranks)
    for word, offset in fed.inside:
        words[word] = at + offset
    for word, nbytes in ready.memory:
        block, words[word] = memory(nbytes)
        keep.append(block)
    run_chunks(COMPRESS.addresses()[FEED], words, ready.chunks, ready.threads, fed.kernels)
    if ready.combine:
        parallel_for(ready.combine, at + 8 * fed.inner, 1, 1)
    COUNT.native_launches += 1
    COUNT.fused_ops += fed.ops
    COUNT.numpy_loop_blocks += words[Layout.CALLS]
    del keep
    return fed.flags(words)


def blocks_of(program: Program) -> int:
    return -(-math.prod(program.loops.shape) // BLOCK)


def blocks_key(grain: int = 0) -> tuple[Any, ...]:
    """Where a program has what `by_blocks` gives."""
    return "blocks", grain, plan_key()


def by_blocks(program: Program, grain: int = 0) -> Prepared:
    """A kernel whose steps are blocks, `grain` of them a chunk, or as many as are best in a row; scratch
    memory is for all threads."""
    key = blocks_key(grain)
    found: Prepared | None = program.launches.get(key)
    if found is None:
        shape = program.loops.shape
        threads, runs = get_num_threads(), blocks_of(program)
        grain = grain or max(LEAST_BLOCKS, -(-runs // (MOST_EACH * threads)))
        cuts = Cuts(shape, (1,) * len(shape), -(-runs // grain), BLOCK, runs, 0, runs, grain, 0, 0)
        found = prepare(program, False, threads, cuts)
        found.scratch_bytes = found.kernel.scratch_bytes * threads
        program.launches[key] = found           # complete: from here on others run it
    else:
        COUNT.memory_hits += 1
    return found


class Own(NamedTuple):
    """The words of one kernel among those of a launch."""

    operands: tuple[tuple[int, int], ...]
    """The words for addresses, and of which operands; not of what is packed."""
    scalars: tuple[int, ...]
    """The first word of each runtime scalar."""


class Counted(NamedTuple):
    """A launch for a number of kept elements: it lacks addresses, scalars, and memory."""

    words: array[int]
    memory: tuple[tuple[int, int], ...]
    """The words for addresses of memory for the time of the launch, and its bytes."""
    chunks: int
    threads: int
    combine: int
    """Address of what combines partial results; 0 where nothing does."""


@dataclass(slots=True, eq=False)
class Fed:
    """A consumer and what packs for it, all of their words in one run, for any number of kept elements."""

    words: array[int]
    """A template: what depends on that number is yet to be written."""
    own: tuple[Own, ...]
    """Of the consumer, then of each compression."""
    ranks: tuple[tuple[int, ...], ...]
    """For each compression, the words for the address of its ranks."""
    inside: tuple[tuple[int, int], ...]
    """Words that say where others lie, and how many bytes behind the first one that is."""
    inner: int
    """The consumer's first word."""
    extents: tuple[int, int, int, int]
    """Its words for the loop's extent, tile and grid, and the first one that says how a fold runs."""
    consumer: Prepared
    packs: tuple[Prepared, ...]
    scratch: tuple[tuple[int, int], ...]
    """The words for scratch memory of kernels, and its bytes."""
    itemsizes: tuple[int, ...]
    """Of what each packs."""
    folds: int
    longest: int
    """Run of a fold; 0 where nothing cuts it."""
    sums: bool
    """Does it add up the elements, in NumPy's order, and nothing else?"""
    work: tuple[int, float]
    """The consumer's bytes and nanoseconds for each kept element."""
    want: int
    """Chunks, roughly."""
    most_threads: int
    keep: Any
    """Programs whose identities are part of a key."""
    last: dict[int, Counted]

    @property
    def kernels(self) -> list[Kernel]:
        return [each.kernel for each in (self.consumer, *self.packs)]

    @property
    def ops(self) -> int:
        return sum(kernel.ops for kernel in self.kernels)

    @property
    def raised(self) -> tuple[tuple[int, int], ...]:
        """Words that collect flags, and those that count.  (Packing kernels tell theirs in `TOLD`.)"""
        return (Layout.FLAGS, self.consumer.kernel.flags), (TOLD, -1), (self.inner + Layout.FLAGS, -1)

    def flags(self, words: array[int]) -> int:
        """Those of a launch that is over."""
        found = 0
        for word, mine in self.raised:
            found |= words[word] & mine
        return found

    def counted(self, n: int) -> Counted:
        """The launch for `n` kept elements."""
        found = self.last.get(n)
        if found is None:
            if len(self.last) >= MOST_COUNTS:
                self.last.clear()
            found = self.last[n] = self._counted(n)
        return found

    def _counted(self, n: int) -> Counted:
        cuts, p, words = self._cuts(n), self.consumer, self.words[:]
        shape, tile, grid, runs = self.extents
        words[shape] = n
        if self.folds:
            words[tile], words[grid] = n, 1
            words[runs : runs + 5] = array("q", [cuts.run, cuts.runs, cuts.depth, cuts.steps, cuts.grain])
        else:
            words[tile], words[grid] = cuts.run, cuts.chunks
        grain = -(-cuts.steps // self.want)
        chunks = -(-cuts.steps // grain)
        words[CHUNKS:COMPLEX] = array("q", [chunks, grain, cuts.steps, n, cuts.run, cuts.depth, leaf_of(n)])
        # (Elements of the longest step: right parts of a tree are longer, by less than that.  Rounded: most
        # numbers need as much memory then, which is warm.)
        most = -(-((cuts.run >> cuts.depth) + 16) // STEP) * STEP
        words[MEMORY_BYTES] = bytes_each = self._memory(words, most)
        threads = self.most_threads if worth_threads(n, *self.work) else 1
        threads = min(chunks, max(threads, *[pack.threads for pack in self.packs]))
        needed = (MEMORY, bytes_each * threads), (self.inner + p.partials_word, cuts.partial_bytes)
        return Counted(
            words, tuple([each for each in (*needed, *self.scratch) if each[1]]), chunks, threads,
            p.combine if cuts.partial_bytes else 0,
        )  # fmt: skip

    def _memory(self, words: array[int], most: int) -> int:
        """Lay out a thread's memory for steps of at most so many elements; its bytes."""
        at = -(-8 * len(self.consumer.words) // LINE) * LINE
        for k, size in enumerate(self.itemsizes):
            feed, beyond = FIRST + k * PER_FEED, BLOCK * size
            words[feed + COPY_AT] = at
            at += -(-(8 * words[feed + PACK_COUNT] + STATE_BYTES + beyond) // LINE) * LINE
            words[feed + BUFFER_AT] = at
            at += -(-(most * size + 2 * beyond + MOVED) // LINE) * LINE
        return at

    def _cuts(self, n: int) -> Cuts:
        return _step_cuts(n, self.longest, self.folds) if self.folds else _in_runs(n, min(STEP, n), 0, 0)


MOST_COUNTS = 8
"""Numbers of kept elements for which a launch is remembered."""


def fed_key(packed: Iterable[tuple[int, Program]], streams: bool) -> tuple[Any, ...]:
    """Where a program has what `fed_by` gives."""
    return "fed", streams, plan_key(), *[(operand, id(source)) for operand, source in packed]


def fed_by(program: Program, packed: tuple[tuple[int, Program], ...], streams: bool) -> Fed:
    """The launch of a program of one loop; each of some operands is what another one packs."""
    key = fed_key(packed, streams)
    found: Fed | None = program.launches.get(key)
    if found is None:
        found = _fed_by(program, packed, streams)
        if found.consumer.kernel.nontemporal == streams:    # not a stand-in for what is yet to be compiled
            program.launches[key] = found
    else:
        COUNT.memory_hits += 1 + len(packed)
    return found


def _fed_by(program: Program, packed: tuple[tuple[int, Program], ...], streams: bool) -> Fed:
    n, threads = program.loops.shape[0], get_num_threads()
    folds = reductions(program.parfor)
    longest = STEP
    if any(how.order == "pairwise" for _, how in folds):
        longest = program.run if program.run < n else 0
    cuts = _step_cuts(n, longest, len(folds)) if folds else None
    p = prepare(program, streams and not folds, threads, cuts, tile=[min(STEP, n)])
    layout = p.kernel.layout
    packs = [by_blocks(source, 1) for _, source in packed]
    outs = [out_of(source) for _, source in packed]
    first = FIRST + PER_FEED * len(packed)
    words = array("q", bytes(8 * first))
    words[INNER], words[INNER_COUNT], words[FEEDS] = p.kernel.address, len(p.words), len(packed)
    words[COMPLEX] = sums_complex(program)
    summed = summed_alone(program) if len(packed) == 1 and not longest else ""
    words[PARTIALS_WORD] = 8 * p.partials_word
    words[PICKED] = SUMMED.get(summed, 0)
    words.extend(p.words)
    inside, own, ranks = [(INNER_WORDS, 8 * first)], [own_of(p, first, [at for at, _ in packed])], []
    scratch = [(first + Layout.SCRATCH, p.kernel.scratch_bytes * threads)]
    for k, ((operand, source), pack, out) in enumerate(zip(packed, packs, outs, strict=True)):
        feed, at = FIRST + k * PER_FEED, len(words)
        mine, words[feed + CALL : feed + PER_FEED] = add_packing(words, source, pack)
        for word, value in {
            PACK: pack.kernel.address, PACK_COUNT: len(words) - at, SIZE: itemsize_of(source),
            BLOCKS: blocks_of(source),
            OUT_WORD: 8 * pack.pointers[out], IN_WORD: 8 * p.pointers[operand],
        }.items():  # fmt: skip
            words[feed + word] = value
        inside.append((feed + PACK_WORDS, 8 * at))
        own.append(mine)
        ranks.append((feed + RANKS, at + pack.partials_word))
        scratch.append((at + Layout.SCRATCH, pack.scratch_bytes))
    size = max(math.prod(source.loops.shape) for _, source in packed)
    want = max(1, min(size // FED, MOST_EACH * threads), min(EACH * threads, size // CHUNK))
    _, moved, ns = work(program)
    return Fed(
        words, tuple(own), tuple(ranks), tuple(inside), first,
        (first + layout.shape(0), first + layout.tile(0), first + layout.grid(0), first + layout.extra(RUN)),
        p, tuple(packs), tuple(scratch),
        tuple([itemsize_of(source) for _, source in packed]), len(folds), longest, summed in SUMMED,
        (moved, ns), want, threads, packed, {},
    )  # fmt: skip


def summed_alone(program: Program) -> str:
    """The type of an operand that a program adds up in NumPy's order, if it does nothing else; else ''."""
    body, folds = program.parfor.body, reductions(program.parfor)
    if len(folds) != 1 or any(inst.op not in ("load", "scalar", "reduce") for inst in body):
        return ""
    ((inst, how),) = folds
    added = how.ufunc == "add" and how.order == "pairwise" and how.mask < 0
    return inst.sig if added and body[inst.args[0]].op == "load" else ""


def own_of(p: Prepared, first: int, packed: Sequence[int]) -> Own:
    """A kernel's words, from number `first` on; `packed` are operands that are none of its launch's."""
    return Own(
        tuple([(first + word, k) for k, word in enumerate(p.pointers) if k not in packed]),
        tuple([first + word for word in p.scalars]),
    )  # fmt: skip


def add_packing(words: array[int], source: Program, pack: Prepared) -> tuple[Own, array[int]]:
    """Add a packing kernel's words, and the context of its function; what is written into both, and the words
    for calls (`call_words`)."""
    first, out = len(words), out_of(source)
    words.extend(pack.words)
    rows, context = len(words), Context(len(pack.pointers), 1)
    words.extend([0] * (context.bytes // 8))
    words[first + pack.kernel.layout.extra(SLACK)] = BLOCK * itemsize_of(source)
    words[rows + context.fresh // 8] = 1
    operands, scalars = own_of(pack, first, [out])
    behind = 8 * (rows - first)
    alone = len(source.loops.shape) == 1 and not pack.kernel.loops and not pack.kernel.flags
    return Own((*operands, *[(rows + k, k) for _, k in operands]), scalars), array("q", [
        pack.kernel.fold if alone else 0, BLOCK, math.prod(source.loops.shape), behind, context.carry(0),
        behind + context.thread,
    ])  # fmt: skip


def _step_cuts(n: int, longest: int, folds: int) -> Cuts:
    """Steps of a fold: runs, or subtrees of a pairwise sum whose runs nothing cuts."""
    run = min(longest or n, n)
    depth = 0 if longest else max(0, (n // STEP).bit_length() - 1)
    return _in_runs(n, run, depth, folds * SLOT)


def _in_runs(n: int, run: int, depth: int, each: int) -> Cuts:
    """Each step is a chunk; `each` is the bytes that it leaves."""
    runs = -(-n // run)
    steps = runs << depth
    size = steps * each if steps > 1 else 0
    return Cuts((n,), (1,), steps, run, runs, depth, steps, 1, size, 1 if size else 0)
