"""Launch what counts a mask by packing, and keeps what it has packed or sums of it (`codegen.compress_keep`).

In:  a program that packs, addresses.   Out: ranks and what is kept written behind them, flags raised.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from lazyarr import expr, launch
from lazyarr.codegen.abi import Layout
from lazyarr.codegen.feed_words import MOVED
from lazyarr.codegen.keep_words import (
    BLOCKS,
    BUFFER_AT,
    BUFFER_BYTES,
    CALL,
    CLOSE,
    CLOSED,
    COUNTS,
    ENDED_WORD,
    FIRST,
    GRAIN,
    KEEP,
    LEAF,
    MEMORY,
    MEMORY_BYTES,
    MINE,
    OUT_WORD,
    PACK,
    PACK_COUNT,
    PACK_WORDS,
    RANKS_WORD,
    ROOM,
    SCRATCH,
    SHIFT,
    SOURCE_BYTES,
    SOURCE_WORD,
    STATE,
    TAIL,
    TAILS,
    THREADS,
    TOLD,
)
from lazyarr.codegen.ranks_words import COUNTED, HEAD, NUMBER, SUMS
from lazyarr.codegen.reduce_plan import ENDED, SLOT
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.expr import BLOCK, Keep
from lazyarr.fusion.program import Program
from lazyarr.kernels import host
from lazyarr.launch import Prepared, put_scalars
from lazyarr.launch_compress import Own, add_packing, blocks_of, by_blocks, itemsize_of, out_of
from lazyarr.launch_feeds import EACH as EACH_THREAD
from lazyarr.launch_feeds import run_chunks
from lazyarr.records import dataclass
from lazyarr.schedule import LINE
from lazyarr.shared_kernels import KEEPING
from lazyarr.threading.run import parallel_for
from lazyarr.tuning import tuning


@dataclass(slots=True, eq=False)
class Keeping:
    """A launch that lacks addresses, scalars, and memory."""

    words: array[int]
    own: Own
    """Of the packing kernel's words."""
    inside: tuple[tuple[int, int], ...]
    """Words that say where others lie, and how many bytes behind the first one that is."""
    memory: tuple[tuple[tuple[int, ...], int], ...]
    """The words for addresses of memory for the time of the launch, and its bytes."""
    chunks: int
    threads: int
    pack: Prepared

    @property
    def raised(self) -> tuple[tuple[int, int], ...]:
        """Words that collect flags, and those that count."""
        return (Layout.FLAGS, self.pack.kernel.flags), (TOLD, -1)


PACKED, MOST_PACKED = 32, 128
"""Blocks of a chunk, at least, and where elements are kept, at most: what two chunks keep stays in the
second-level cache.  Where less is kept they are longer, as prefetchers begin anew with each."""

assert HEAD == expr.HEAD, "these are NumPy's to write, too, where it counts"

RESULT = CLOSE + SUMS
"""The word for the address of the ranks."""


def launch_keep(
    program: Program, op: Keep, addresses: Sequence[int], scalars: Sequence[Any], ranks: int
) -> int:
    """Count, and keep; `ranks` is the address of the node's region."""
    k = keeping(program, op)
    words, lent = k.words[:], []
    at = words.buffer_info()[0]
    for word, operand in k.own.operands:
        words[word] = addresses[operand]
    put_scalars(words, k.own.scalars, scalars)
    words[RESULT] = ranks
    for word, offset in k.inside:
        words[word] = at + offset
    for places, nbytes in k.memory:
        block, address = launch.memory(nbytes)
        lent.append(block)
        for word in places:
            words[word] = address
    entries = KEEPING.addresses()
    run_chunks(entries[KEEP], words, k.chunks, k.threads, (k.pack.kernel,))
    parallel_for(entries[CLOSED], at, 1, 1)
    COUNT.native_launches += 1
    COUNT.fused_ops += k.pack.kernel.ops
    COUNT.numpy_loop_blocks += words[Layout.CALLS]
    del lent
    found = 0
    for word, mine in k.raised:
        found |= words[word] & mine
    return found


def keeping_key(op: Keep) -> tuple[Any, ...]:
    """Where a program has what `keeping` gives."""
    return op, plan_key()


def keeping(program: Program, op: Keep) -> Keeping:
    """The launch of a program that packs."""
    key = keeping_key(op)
    found: Keeping | None = program.launches.get(key)
    if found is None:
        found = program.launches[key] = _keeping(program, op)
    else:
        COUNT.memory_hits += 1
    return found


def _keeping(program: Program, op: Keep) -> Keeping:
    pack, size, blocks, out = by_blocks(program, 1), itemsize_of(program), blocks_of(program), out_of(program)
    source, stream = _stream(program)
    grain = _grain(op, blocks, pack.threads)
    layout, chunks = pack.kernel.layout, -(-blocks // grain)
    threads = min(pack.threads, chunks)
    words = array("q", bytes(8 * FIRST))
    own, words[CALL:CLOSE] = add_packing(words, program, pack)
    count = len(words) - FIRST
    at = -(-8 * (count + SCRATCH) // LINE) * LINE
    buffer = -(-((TAIL + (grain + 1) * BLOCK) * size + MOVED) // LINE) * LINE
    for word, value in {
        MEMORY_BYTES: at + 2 * buffer, PACK: pack.kernel.address, PACK_COUNT: count,
        SHIFT: size.bit_length() - 1, BLOCKS: blocks, GRAIN: grain,
        OUT_WORD: 8 * pack.pointers[out], RANKS_WORD: 8 * pack.partials_word,
        ENDED_WORD: 8 * layout.extra(ENDED), BUFFER_AT: at, BUFFER_BYTES: buffer, THREADS: threads,
        LEAF: op.leaf, ROOM: op.room, CLOSE + NUMBER: blocks,
        SOURCE_WORD: 8 * pack.pointers[source], SOURCE_BYTES: BLOCK * stream,
    }.items():  # fmt: skip
        words[word] = value
    inside = (PACK_WORDS, 8 * FIRST), (MINE, 8 * len(words)), (COUNTS, 8 * (len(words) + STATE * threads))
    words.extend([0] * (STATE * threads + chunks))
    needed = (
        ((MEMORY,), (at + 2 * buffer) * threads), ((CLOSE + COUNTED,), SLOT * blocks),
        ((TAILS,), chunks * TAIL * size if op.leaf else 0), ((FIRST + Layout.SCRATCH,), pack.scratch_bytes),
    )  # fmt: skip
    memory = tuple([each for each in needed if each[1]])
    return Keeping(words, own, inside, memory, chunks, threads, pack)


def _grain(op: Keep, blocks: int, threads: int) -> int:
    """Blocks of a chunk."""
    if op.leaf:
        fit = tuning(host().name).sums_blocks
    else:
        fit = min(MOST_PACKED, PACKED * blocks * BLOCK // max(op.room, 1))
    return max(PACKED, min(fit, blocks // (EACH_THREAD * threads)))


def _stream(program: Program) -> tuple[int, int]:
    """The operand of which most is read, and the bytes of an element if that lies side by side; else 0."""
    operands = program.parfor.operands
    if len(program.loops.shape) > 1:
        return 0, 0
    sizes = [PLAIN[o.dtype].itemsize * (o.role == "in" and o.access == "u") for o in operands]
    return sizes.index(max(sizes)), max(sizes)
