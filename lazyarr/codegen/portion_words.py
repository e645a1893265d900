"""The words that a launch is given whose chunks make or pack what they need, and the name of the kernel that
reads them.

Words: FLAGS, MEMORY, CALLS as `abi` has them, then MEMORY_BYTES (of one thread), the consumer's INNER
(function), INNER_WORDS (template) and INNER_COUNT, FEEDS, TOLD (flags of what makes
elements; FLAGS: the consumer's);
then for each feed PACK (function), PACK_WORDS, PACK_COUNT, TABLE (for each chunk: its first block, the end of
its blocks, and bytes from where all of the packing kernel's result would begin, and all of what the
consumer reads, to the thread's buffer), COPY_AT and BUFFER_AT (offsets in the thread's memory), OUT_WORD and
IN_WORD (of the pointers, in bytes from the words).
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout

MEMORY = Layout.SCRATCH
MEMORY_BYTES, INNER, INNER_WORDS, INNER_COUNT, FEEDS, TOLD, FIRST = range(Layout.FIRST, Layout.FIRST + 7)
PACK, PACK_WORDS, PACK_COUNT, TABLE, COPY_AT, BUFFER_AT, OUT_WORD, IN_WORD = range(8)
PER_FEED = 8
TABLE_BYTES = 32

SYMBOL = "lazyarr_portions"
