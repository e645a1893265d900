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
Where whoever counted has kept the elements behind the ranks, the consumer reads them there.  Where that has
left the sums of all that may be leaves, and sums are all that the consumer makes, a step is to pick eight of
them (but the last one, whose last leaf has elements besides).
Chunks run from the last to the first one: whoever counted the elements has read these last.
What it is given: `feed_words`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lazyarr.codegen.block_call import BlockCall
from lazyarr.codegen.compress_ranks import data_of, head_of, sum_up
from lazyarr.codegen.compress_sums import fold_of_leaves
from lazyarr.codegen.feed_words import (
    BLOCKS,
    BUFFER_AT,
    CALL,
    CHUNKS,
    COMPLEX,
    COPY_AT,
    DEPTH,
    ELEMENTS,
    FEEDS,
    FIRST,
    GRAIN,
    IN_WORD,
    INNER,
    INNER_COUNT,
    INNER_WORDS,
    LEAF,
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
    RUN,
    SIZE,
    STEPS,
    SYMBOLS,
    TOLD,
)
from lazyarr.codegen.own_words import copy_words, report
from lazyarr.codegen.raised import forgotten
from lazyarr.codegen.ranks_words import ELEMENTS as KEPT
from lazyarr.codegen.ranks_words import LEAFS, ROOMY
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.codegen.reduce_tree import halve, subtree
from lazyarr.codegen.sum_leaves import OCTET, SUMMED
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target

OCTET_BITS = OCTET.bit_length() - 1

def feed_kernels(target: Target) -> str:
    """The text of their module."""
    feed, ranks = (Function(target, symbol, CHUNK_PARAMS) for symbol in SYMBOLS)
    feed.public = ranks.public = True
    Feeder(feed).write()
    sum_up(ranks, "%words")
    return "\n".join([feed.text(), ranks.text(), *feed.declarations, ""])


class Feeder:
    """Writes the kernel."""

    def __init__(self, b: Function) -> None:
        self.b = b
        self.own = b.at(b.word("%words", MEMORY, "ptr"), b.mul("%tid", b.word("%words", MEMORY_BYTES)))

    def write(self) -> None:
        b = self.b
        steps, grain = b.word("%words", STEPS), b.word("%words", GRAIN)
        low = b.mul(b.op(f"sub i64 {b.add(b.word('%words', CHUNKS), '-1')}, %chunk"), grain)
        high = b.smaller(b.add(low, grain), steps)
        low = self.pick(low, high)
        with b.when(b.op(f"icmp slt i64 {low}, {high}")):
            self.run(low, high)

    def run(self, low: str, high: str) -> None:
        """Steps by the consumer."""
        b, own, steps = self.b, self.own, self.b.word("%words", STEPS)
        copy_words(b, b.word("%words", INNER_WORDS, "ptr"), own, b.word("%words", INNER_COUNT))
        start, _ = self.stretch(low)
        with self.feeds() as (feed, mine):
            copy_words(b, b.word(feed, PACK_WORDS, "ptr"), mine, b.word(feed, PACK_COUNT))
            self.call(feed, mine).begin("%tid")
            b.put(self.state(feed, mine), 0, "i64", self.block_of(feed, start))
            b.put(self.state(feed, mine), 8, "ptr", self.kept(feed))
        with b.loop(low, high) as (step, _loop):
            start, count = self.stretch(step)
            is_last = b.op(f"icmp eq i64 {b.add(step, '1')}, {steps}")
            with self.feeds() as (feed, mine):
                kept = b.word(self.state(feed, mine), 1, "ptr")
                there = b.op(f"icmp ne ptr {kept}, null")
                with b.when(there):
                    b.put(b.at(own, b.word(feed, IN_WORD)), 0, "ptr", kept)
                with b.otherwise(there):
                    self.pack(feed, mine, start, b.add(start, count), is_last)
            b.do(f"call void {b.word('%words', INNER, 'ptr')}(ptr {own}, i64 {step}, i64 %tid)")
            with self.feeds() as (feed, mine):
                kept = b.word(self.state(feed, mine), 1, "ptr")
                with b.when(b.op(f"icmp eq ptr {kept}, null")):
                    self.keep(feed, mine, start, count)
        told = b.at("%words", 8 * TOLD)
        with self.feeds() as (_, mine):
            report(b, mine, told)
        report(b, own, told)

    def kept(self, feed: str) -> str:
        """Where all elements are, if behind the ranks."""
        b = self.b
        place = b.alloca("ptr", 8)
        b.put(place, 0, "ptr", "null")
        head = head_of(b, b.word(feed, RANKS, "ptr"), b.word(feed, BLOCKS))
        with b.when(b.op(f"icmp ne i64 {b.word(head, KEPT)}, 0")):
            b.put(place, 0, "ptr", data_of(b, head))
        return b.word(place, 0, "ptr")

    def pick(self, low: str, high: str) -> str:
        """Make steps of sums that are there; the first step that is left."""
        b = self.b
        place, feed = b.alloca("i64", 8), b.at("%words", 8 * FIRST)
        b.put(place, 0, "i64", low)
        picked, leaf = b.word("%words", PICKED), b.word("%words", LEAF)
        asked = b.op(f"and i1 {b.op(f'icmp ne i64 {picked}, 0')}, {b.op(f'icmp ne i64 {leaf}, 0')}")
        with b.when(asked):
            head = head_of(b, b.word(feed, RANKS, "ptr"), b.word(feed, BLOCKS))
            end = b.smaller(high, b.add(b.word("%words", STEPS), "-1"))
            alike = b.op(f"icmp eq i64 {b.word(head, LEAFS)}, {leaf}")
            with b.when(b.op(f"and i1 {alike}, {b.op(f'icmp slt i64 {low}, {end}')}")):
                for char, shift in SUMMED.items():
                    with b.when(b.op(f"icmp eq i64 {picked}, {shift}")):
                        self.picked(char, low, end, head, leaf)
                b.put(place, 0, "i64", end)
        return b.word(place, 0)

    def picked(self, char: str, low: str, high: str, head: str, leaf: str) -> None:
        """Fold steps of so many octets as NumPy's tree has there."""
        b, depth = self.b, self.b.word("%words", DEPTH)
        b.declare("declare i64 @llvm.bitreverse.i64(i64)")
        all_ = b.op(f"lshr i64 {b.word('%words', ELEMENTS)}, {OCTET_BITS}")
        data, room = data_of(b, head), b.word(head, ROOMY)
        inner = b.word("%words", INNER_WORDS, "ptr")
        slots = b.word(b.at(inner, b.word("%words", PARTIALS_WORD)), 0, "ptr")
        start, _ = self.stretch(low)
        first = b.op(f"lshr i64 {start}, {OCTET_BITS}")
        with b.loop(low, high, "1", [("i64", first)]) as (step, carried):
            reverse = b.op(f"call i64 @llvm.bitreverse.i64(i64 {step})")
            reverse = b.op(f"lshr i64 {reverse}, {b.op(f'sub i64 64, {depth}')}")
            octets = b.op(f"lshr i64 {b.add(all_, reverse)}, {depth}")
            total = fold_of_leaves(b, char, carried.now[0], octets, leaf, data, room)
            slot = b.at(slots, b.mul(step, str(SLOT)))
            b.do(f"store {PLAIN[char].llvm} {total}, ptr {slot}, align 8")
            carried.next = [b.add(carried.now[0], octets)]

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

    def call(self, feed: str, mine: str) -> BlockCall:
        return BlockCall(self.b, self.b.at(feed, 8 * CALL), mine)

    def pack(self, feed: str, mine: str, start: str, end: str, is_last: str) -> None:
        """Pack the blocks up to a step's end that are not packed yet; tell everybody where they are."""
        b = self.b
        size = b.word(feed, SIZE)
        before = b.mul(start, size)
        rank0 = b.at(self.buffer(feed), b.op(f"sub i64 0, {before}"))
        b.put(b.at(mine, b.word(feed, OUT_WORD)), 0, "ptr", rank0)
        b.put(b.at(self.own, b.word(feed, IN_WORD)), 0, "ptr", rank0)
        ranks, kernel = b.word(feed, RANKS, "ptr"), b.word(feed, PACK, "ptr")
        end = b.op(f"select i1 {is_last}, i64 {(1 << 63) - 1}, i64 {end}")
        call = self.call(feed, mine)

        def enough(block: str) -> str:
            known = b.op(f"icmp sge i64 {self.rank(ranks, block)}, {end}")
            with b.otherwise(known):
                with b.when(call.serves):
                    ends = (self.rank(ranks, k) for k in (block, b.add(block, "1")))
                    to, limit = (b.at(rank0, b.mul(rank, size)) for rank in ends)
                    with b.otherwise(b.op(f"icmp eq ptr {to}, {limit}")):
                        call.pack(block, to, b.at(limit, b.mul(call.each, size)))
                with b.otherwise(call.serves):
                    b.do(f"call void {kernel}(ptr {mine}, i64 {block}, i64 %tid)")
            return known

        state = self.state(feed, mine)
        with forgotten(b):              # (what the consumer raises may be in the same register)
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
