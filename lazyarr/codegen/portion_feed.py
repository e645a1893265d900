"""Feeding: the kernel that makes or packs what one chunk of another kernel needs, and then runs that chunk.

In:  at run time, addresses of a consumer's kernel and of packing kernels, with templates of their words.
Out: ``void feed(words, chunk, tid)``, the same for all programs.
Each thread has memory of its own: copies of the words, in which the pointers to packed elements are
replaced, and one buffer for each feed.  So elements pass through the second-level cache, not through memory.
What makes elements tells what it raises apart from the consumer, which may raise what none of its ops is to.
What it is given: `portion_words`.
"""

from __future__ import annotations

from lazyarr.codegen.emit_status import take
from lazyarr.codegen.own_words import copy_words, report
from lazyarr.codegen.portion_words import (
    BUFFER_AT,
    COPY_AT,
    FEEDS,
    FIRST,
    IN_WORD,
    INNER,
    INNER_COUNT,
    INNER_WORDS,
    MEMORY,
    MEMORY_BYTES,
    OUT_WORD,
    PACK,
    PACK_COUNT,
    PACK_WORDS,
    PER_FEED,
    SYMBOL,
    TABLE,
    TABLE_BYTES,
    TOLD,
)
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.target import Target


def feed_kernel(target: Target) -> str:
    """The text of its module."""
    b = Function(target, SYMBOL, CHUNK_PARAMS)
    b.public = True
    own = b.at(b.word("%words", MEMORY, "ptr"), b.mul("%tid", b.word("%words", MEMORY_BYTES)))
    copy_words(b, b.word("%words", INNER_WORDS, "ptr"), own, b.word("%words", INNER_COUNT))
    with b.loop("0", b.word("%words", FEEDS)) as (number, _):
        feed = b.at("%words", b.add(b.mul(number, str(8 * PER_FEED)), str(8 * FIRST)))
        _pack(b, feed, own)
    status = b.alloca("i32", 4)
    take(b, status, b.at("%words", 8 * TOLD))
    b.do(f"call void {b.word('%words', INNER, 'ptr')}(ptr {own}, i64 %chunk, i64 %tid)")
    take(b, status, "%words")
    report(b, own, "%words")
    return "\n".join([b.text(), *b.declarations, ""])


def _pack(b: Function, feed: str, own: str) -> None:
    """Pack the blocks that hold the chunk's elements, and tell the consumer where they are."""
    mine = b.at(own, b.word(feed, COPY_AT))
    copy_words(b, b.word(feed, PACK_WORDS, "ptr"), mine, b.word(feed, PACK_COUNT))
    entry = b.at(b.word(feed, TABLE, "ptr"), b.mul("%chunk", str(TABLE_BYTES)))
    first, end, *before = (b.word(entry, k) for k in range(4))
    buffer = b.at(own, b.word(feed, BUFFER_AT))
    for words, word, each in ((mine, OUT_WORD, before[0]), (own, IN_WORD, before[1])):
        b.put(b.at(words, b.word(feed, word)), 0, "ptr", b.at(buffer, b.op(f"sub i64 0, {each}")))
    pack = b.word(feed, PACK, "ptr")
    with b.loop(first, end) as (block, _):
        b.do(f"call void {pack}(ptr {mine}, i64 {block}, i64 %tid)")
    report(b, mine, b.at("%words", 8 * TOLD))
