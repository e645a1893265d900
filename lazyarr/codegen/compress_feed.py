"""Feeding: the kernel that packs what another kernel's chunks need, each just before it runs.

In:  at run time, addresses of a consumer's kernel and of packing kernels, with templates of their words.
Out: ``void feed(words, chunk, tid)``, the same for all programs; and `ranks`, which says where the elements
of each block begin.
The consumer's chunks, here called steps, are short stretches of ranks, one after the other; a chunk of
this kernel is many of them.  Each thread has memory of its own: copies of the words, in which the pointers
to packed elements are replaced, and one buffer for each feed, with room for a step.  So elements pass through
the first-level cache: what waits in the second-level one would compete with what comes from memory.  A step
begins at the buffer's beginning; what the last of its blocks has beyond it is moved there for the next one.

Blocks of which nothing is kept are packed, too: they may raise flags.  They go with what comes after them.
Chunks run from the last to the first one: whoever counted the elements has read these last.

Words: FLAGS, MEMORY, CALLS as `abi` has them, then MEMORY_BYTES (of one thread), the consumer's INNER
(function), INNER_WORDS (template) and INNER_COUNT, TOLD (flags that these kernels report themselves), CHUNKS,
GRAIN (steps of a chunk), STEPS, ELEMENTS (of all steps), RUN, DEPTH, COMPLEX (where steps begin, as
`reduce_plan` has it; 1: complex numbers are summed), FEEDS; then for each feed PACK (function), PACK_WORDS,
PACK_COUNT, RANKS (of the first element of each block, and the total), BLOCKS, SIZE (bytes of an element),
COPY_AT and BUFFER_AT (offsets in the thread's memory), OUT_WORD and IN_WORD (of the pointers, in bytes from
the words).  Before a buffer there is room for a block: a chunk's first step may begin within one.
Words of `ranks`: COUNTED (address of a slot for each block, as a fold leaves them), NUMBER (of blocks), SUMS
(address of the results: for each block the sum of the counts before it, then that of all).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.own_words import copy_words, report
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.codegen.reduce_tree import halve, subtree
from lazyarr.target import Target

MEMORY = Layout.SCRATCH
(
    MEMORY_BYTES, INNER, INNER_WORDS, INNER_COUNT, TOLD, CHUNKS, GRAIN, STEPS, ELEMENTS, RUN, DEPTH, COMPLEX,
    FEEDS, FIRST,
) = range(Layout.FIRST, Layout.FIRST + 14)  # fmt: skip
PACK, PACK_WORDS, PACK_COUNT, RANKS, BLOCKS, SIZE, COPY_AT, BUFFER_AT, OUT_WORD, IN_WORD = range(10)
PER_FEED = 10
STATE_BYTES = 8
"""Behind a copy of words: the number of the next block."""
MOVED = 64
"""Bytes that are moved together: as many may be read and written beyond those that are meant."""

COUNTED, NUMBER, SUMS = range(3)

SYMBOLS = FEED, RANKS_OF = "lazyarr_feed", "lazyarr_feed_ranks"


def feed_kernels(target: Target) -> str:
    """The text of their module."""
    feed, ranks = (Function(target, symbol, CHUNK_PARAMS) for symbol in SYMBOLS)
    feed.public = ranks.public = True
    Feeder(feed).write()
    _sum_up(ranks)
    return feed.text() + ranks.text()


def _sum_up(b: Function) -> None:
    """The ranks."""
    counted, sums = b.word("%words", COUNTED, "ptr"), b.word("%words", SUMS, "ptr")
    with b.loop("0", b.word("%words", NUMBER), "1", [("i64", "0")]) as (block, state):
        b.put(b.at(sums, b.mul(block, "8")), 0, "i64", state.now[0])
        count = b.word(b.at(counted, b.mul(block, str(SLOT))), 0)
        state.next = [b.add(state.now[0], count)]
    b.put(b.at(sums, b.mul(b.word("%words", NUMBER), "8")), 0, "i64", state.after[0])


class Feeder:
    """Writes the kernel."""

    def __init__(self, b: Function) -> None:
        self.b = b
        self.own = b.at(b.word("%words", MEMORY, "ptr"), b.mul("%tid", b.word("%words", MEMORY_BYTES)))

    def write(self) -> None:
        b, own = self.b, self.own
        steps, grain = b.word("%words", STEPS), b.word("%words", GRAIN)
        low = b.mul(b.op(f"sub i64 {b.add(b.word('%words', CHUNKS), '-1')}, %chunk"), grain)
        high = b.smaller(b.add(low, grain), steps)
        copy_words(b, b.word("%words", INNER_WORDS, "ptr"), own, b.word("%words", INNER_COUNT))
        start, _ = self.stretch(low)
        with self.feeds() as (feed, mine):
            copy_words(b, b.word(feed, PACK_WORDS, "ptr"), mine, b.word(feed, PACK_COUNT))
            b.put(self.state(feed, mine), 0, "i64", self.block_of(feed, start))
        with b.loop(low, high) as (step, _loop):
            start, count = self.stretch(step)
            is_last = b.op(f"icmp eq i64 {b.add(step, '1')}, {steps}")
            with self.feeds() as (feed, mine):
                self.pack(feed, mine, start, b.add(start, count), is_last)
            b.do(f"call void {b.word('%words', INNER, 'ptr')}(ptr {own}, i64 {step}, i64 %tid)")
            with self.feeds() as (feed, mine):
                self.keep(feed, mine, start, count)
        told = b.at("%words", 8 * TOLD)
        with self.feeds() as (_, mine):
            report(b, mine, told)
        report(b, own, told)

    @contextmanager
    def feeds(self) -> Iterator[tuple[str, str]]:
        """Each feed, and the thread's copy of its words."""
        b = self.b
        with b.loop("0", b.word("%words", FEEDS)) as (number, _):
            feed = b.at("%words", b.add(b.mul(number, str(8 * PER_FEED)), str(8 * FIRST)))
            yield feed, b.at(self.own, b.word(feed, COPY_AT))

    def state(self, feed: str, mine: str) -> str:
        return self.b.at(mine, self.b.mul(self.b.word(feed, PACK_COUNT), "8"))

    def stretch(self, step: str) -> tuple[str, str]:
        """A step's first rank, and how many it has, as the consumer finds them."""
        b = self.b
        depth, run = b.word("%words", DEPTH), b.word("%words", RUN)
        start = b.mul(b.op(f"lshr i64 {step}, {depth}"), run)
        n = b.smaller(run, b.op(f"sub i64 {b.word('%words', ELEMENTS)}, {start}"))
        complex_ = b.op(f"icmp ne i64 {b.word('%words', COMPLEX)}, 0")

        def cut(n: str) -> str:
            return b.op(f"select i1 {complex_}, i64 {halve(b, n, 2)}, i64 {halve(b, n, 1)}")

        return subtree(b, step, depth, start, n, cut)

    def block_of(self, feed: str, rank: str) -> str:
        """The first block that has to do with a rank: with elements from there on, or none before these."""
        b = self.b
        ranks = b.word(feed, RANKS, "ptr")
        with b.loop("0", "64", "1", [("i64", "0"), ("i64", b.word(feed, BLOCKS))]) as (_, state):
            low, high = state.now
            middle = b.op(f"lshr i64 {b.add(low, high)}, 1")
            less = b.op(f"icmp slt i64 {self.rank(ranks, middle)}, {rank}")
            low = b.op(f"select i1 {less}, i64 {b.add(middle, '1')}, i64 {low}")
            high = b.op(f"select i1 {less}, i64 {high}, i64 {middle}")
            state.next = [low, high]
            state.step = b.op(f"select i1 {b.op(f'icmp eq i64 {low}, {high}')}, i64 64, i64 1")
        found = state.after[0]
        within = b.op(f"icmp sgt i64 {self.rank(ranks, found)}, {rank}")
        return b.op(f"sub i64 {found}, {b.op(f'zext i1 {within} to i64')}")

    def rank(self, ranks: str, block: str) -> str:
        return self.b.word(self.b.at(ranks, self.b.mul(block, "8")), 0)

    def pack(self, feed: str, mine: str, start: str, end: str, is_last: str) -> None:
        """Pack the blocks up to a step's end that are not packed yet; tell everybody where they are."""
        b = self.b
        before = b.mul(start, b.word(feed, SIZE))
        rank0 = b.at(self.buffer(feed), b.op(f"sub i64 0, {before}"))
        b.put(b.at(mine, b.word(feed, OUT_WORD)), 0, "ptr", rank0)
        b.put(b.at(self.own, b.word(feed, IN_WORD)), 0, "ptr", rank0)
        ranks, kernel = b.word(feed, RANKS, "ptr"), b.word(feed, PACK, "ptr")
        end = b.op(f"select i1 {is_last}, i64 {(1 << 63) - 1}, i64 {end}")

        def enough(block: str) -> str:
            known = b.op(f"icmp sge i64 {self.rank(ranks, block)}, {end}")
            with b.otherwise(known):
                b.do(f"call void {kernel}(ptr {mine}, i64 {block}, i64 %tid)")
            return known

        state = self.state(feed, mine)
        b.put(state, 0, "i64", b.until(b.word(state, 0), b.word(feed, BLOCKS), "1", enough))

    def keep(self, feed: str, mine: str, start: str, count: str) -> None:
        """Move what was packed beyond a step's end to the buffer's beginning."""
        b = self.b
        size, to = b.word(feed, SIZE), self.buffer(feed)
        packed = self.rank(b.word(feed, RANKS, "ptr"), b.word(self.state(feed, mine), 0))
        left = b.mul(b.op(f"sub i64 {packed}, {b.add(start, count)}"), size)
        source, t = b.at(to, b.mul(count, size)), f"<{MOVED // 8} x i64>"
        with b.loop("0", left, str(MOVED)) as (at, _):
            line = b.op(f"load {t}, ptr {b.at(source, at)}, align 1")
            b.do(f"store {t} {line}, ptr {b.at(to, at)}, align 1")

    def buffer(self, feed: str) -> str:
        return self.b.at(self.own, self.b.word(feed, BUFFER_AT))
