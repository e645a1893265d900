"""Ranks: where the elements of each block begin among those that a mask keeps; and what may lie behind.

In:  how many elements of each block are kept.   Out: for each block the sum of the counts before it, then
that of all; the words are `ranks_words`'.
"""

from __future__ import annotations

from lazyarr.codegen.ranks_words import COUNTED, HEAD, LINE, NUMBER, SUMS
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_plan import SLOT


def sum_up(b: Function, words: str) -> str:
    """Write the ranks, with nothing behind them; how many elements are kept."""
    counted, sums = b.word(words, COUNTED, "ptr"), b.word(words, SUMS, "ptr")
    with b.loop("0", b.word(words, NUMBER), "1", [("i64", "0")]) as (block, state):
        b.put(b.at(sums, b.mul(block, "8")), 0, "i64", state.now[0])
        count = b.word(b.at(counted, b.mul(block, str(SLOT))), 0)
        state.next = [b.add(state.now[0], count)]
    (total,) = state.after
    b.put(b.at(sums, b.mul(b.word(words, NUMBER), "8")), 0, "i64", total)
    head = head_of(b, sums, b.word(words, NUMBER))
    for word in range(HEAD):
        b.put(head, 8 * word, "i64", "0")
    return total


def head_of(b: Function, ranks: str, blocks: str) -> str:
    """The words behind the ranks."""
    return b.at(ranks, b.mul(b.add(blocks, "1"), "8"))


def data_of(b: Function, head: str) -> str:
    """What comes behind these."""
    at = b.op(f"ptrtoint ptr {head} to i64")
    at = b.op(f"and i64 {b.add(at, str(8 * HEAD + LINE - 1))}, {-LINE}")
    return b.op(f"inttoptr i64 {at} to ptr")
