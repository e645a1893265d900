"""The words that a launch is given that counts a mask by packing, and the names of the kernels that read
them.

Words: FLAGS, MEMORY, CALLS as `abi` has them, then MEMORY_BYTES (of one thread), PACK (function), PACK_WORDS
(template), PACK_COUNT, TOLD (flags that these kernels report themselves), SHIFT (bytes of an element, as a
power of two), BLOCKS, GRAIN (blocks of a chunk), OUT_WORD, RANKS_WORD, ENDED_WORD (of the packing kernel's
words, in bytes), BUFFER_AT (offset in the thread's memory of the first of two buffers) and BUFFER_BYTES,
COUNTS (address of a word for each chunk: 0, then 1 more than it has kept), TAILS (address of the last `TAIL`
elements of each chunk), THREADS and MINE (address of `STATE` words for each thread), LEAF, ROOM (elements, or
octets), VOID (not 0: nothing is kept), SOURCE_WORD (of the packing kernel's words, in bytes: the address of
what is to be prefetched) and SOURCE_BYTES (of that, for a block; 0: it does not lie side by side), from CALL
on those of `call_words`, and from CLOSE on COUNTED, NUMBER and SUMS as `ranks_words` has them, which says
what is left, too.
Words of a thread, all 0 at first: PENDING (1 more than the chunk that it has packed last), BUFFER (which one
it has not), CHUNK and RANK (a chunk, and where it begins), RAISES (not 0: what a block raises is told from
what sums do).
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.call_words import CALL_WORDS
from lazyarr.codegen.sum_leaves import MOST_OCTETS, OCTET

MEMORY = Layout.SCRATCH
(
    MEMORY_BYTES, PACK, PACK_WORDS, PACK_COUNT, TOLD, SHIFT, BLOCKS, GRAIN, OUT_WORD, RANKS_WORD,
    ENDED_WORD, BUFFER_AT, BUFFER_BYTES, COUNTS, TAILS, THREADS, MINE, LEAF, ROOM, VOID, SOURCE_WORD,
    SOURCE_BYTES, CALL,
) = range(Layout.FIRST, Layout.FIRST + 23)  # fmt: skip
CLOSE = CALL + CALL_WORDS
FIRST = CLOSE + 3
"""From CLOSE on come `ranks_words`'."""

PENDING, BUFFER, CHUNK, RANK, RAISES = range(5)
STATE = 8
"""Words of a thread: a cache line."""

SCRATCH = 3
"""Words in a thread's memory behind its copy of the packing kernel's and of its context: that kernel's ranks
of a block and the next one, and where it ended."""

TAIL = (MOST_OCTETS + 1) * OCTET
"""Elements before a chunk that its first sums may need."""

BEYOND = (OCTET + 2) * OCTET
"""Elements behind a chunk that are read with its last octets, and count for nothing."""

SYMBOLS = KEEP, CLOSED = "lazyarr_keep", "lazyarr_keep_closed"
