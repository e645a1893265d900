"""The words that a launch is given whose chunks pack what a mask keeps, and the names of the kernels that
read them.

Words: FLAGS, MEMORY, CALLS as `abi` has them, then MEMORY_BYTES (of one thread), the consumer's INNER
(function), INNER_WORDS (template) and INNER_COUNT, TOLD (flags that these kernels report themselves), CHUNKS,
GRAIN (steps of a chunk), STEPS, ELEMENTS (of all steps), RUN, DEPTH, COMPLEX (where steps begin, as
`reduce_plan` has it; 1: complex numbers are summed), PARTIALS_WORD (of the consumer's words, in bytes),
PICKED (bytes, as a power of two, of what it sums and nothing else; 0: it does anything), LEAF (octets of the
shorter leaves of so many elements; 0: they are not alike), FEEDS; then for each feed PACK (function),
PACK_WORDS, PACK_COUNT, RANKS (of the first element of each block, and the total), BLOCKS, SIZE (bytes of an
element), COPY_AT and BUFFER_AT (offsets in the thread's memory), OUT_WORD and IN_WORD (of the pointers, in
bytes from the words), and from CALL on those of `call_words`. Before a buffer there is room for a block: a
chunk's first step may begin within one.
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.call_words import CALL_WORDS

MEMORY = Layout.SCRATCH
(
    MEMORY_BYTES, INNER, INNER_WORDS, INNER_COUNT, TOLD, CHUNKS, GRAIN, STEPS, ELEMENTS, RUN, DEPTH, LEAF,
    COMPLEX, PARTIALS_WORD, PICKED, FEEDS, FIRST,
) = range(Layout.FIRST, Layout.FIRST + 17)  # fmt: skip
PACK, PACK_WORDS, PACK_COUNT, RANKS, BLOCKS, SIZE, COPY_AT, BUFFER_AT, OUT_WORD, IN_WORD, CALL = range(11)
PER_FEED = CALL + CALL_WORDS
STATE_BYTES = 16
"""Behind a copy of words: the number of the next block, and where all elements are (0: nowhere)."""
MOVED = 64
"""Bytes that are moved together: as many may be read and written beyond those that are meant."""

SYMBOLS = FEED, RANKS_OF = "lazyarr_feed", "lazyarr_feed_ranks"
