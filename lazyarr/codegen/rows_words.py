"""The words that a launch of row blocks is given, and the names of the kernels that read them.

Words: FLAGS (unused), MEMORY and CALLS as `abi` has them, then MEMORY_BYTES (of one thread), SCRATCH_AT (in
it), LAST (number of the last block, in one row of each of those axes), ALL (blocks, in all rows of these),
RUN (blocks of a chunk), OUTER (how many of these there are),
OUTER_AT (their extents, the last one first), PARTS (number of kernels), STRIPS, MOST (the largest lag),
BEYOND (the most that LAG and FRONT of a part are together), DELAY, SLOTS_AT (in the memory), SLOT_BYTES,
STOP, DONE_AT (a cache line for each strip, then for each seam: threads write there all the time), BOUND_AT
and BOUND_BYTES (of a thread's memory: where each part's words lie that are bound once, and how far apart);
then a part for each of the kernels that take turns.
A part: LAG (which it leaves out at the end of a strip), FRONT (which it leaves out where one begins), BEGIN
and END (its blocks), RAISED (the word that collects floating-point status), CARE (what of that stops the
strips), its variants in the first block, in others, in the last one: HEAD, BODY, TAIL, and MARGINS, or 0.
A variant: KERNEL (function), CHUNKS (of a block), TEMPLATE and COUNT (its words, in lines of `WORDS`),
MOVES and MOVE_COUNT, and MOVING (how many of these, the first ones, have a STEP).
A move: WORD (of the operand's pointer), BASE (the word of its buffer's address; 0 for the slot), AT (where
it begins there in block 0), STEP (bytes from block to block), MADE and MADE_FRONT (LAG and FRONT of the
kernel that fills the slot), JUMPS (as many words as OUTER says: bytes from row to row along those axes).
Margins, which are copied where a kernel is about to run: the number of tables, then these.
A table: FROM and TO (the words of buffers' addresses), ROW (bytes), BEFORE (which row of the buffers is the
first one of block 0), ROWS_EACH (of a block), HEIGHT (all rows; the first and the last block have also those
before and behind), PIECES (number); then the pieces.
A piece: LOW and HIGH (rows), PLACE (in the row), BYTES, TIMES (in the row), APART.
Places of words are in bytes from the words that hold them.
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout

MEMORY = Layout.SCRATCH
(
    MEMORY_BYTES, SCRATCH_AT, LAST, ALL, RUN, OUTER, OUTER_AT, PARTS, STRIPS, MOST, BEYOND, DELAY, SLOTS_AT,
    SLOT_BYTES, STOP, DONE_AT, BOUND_AT, BOUND_BYTES, FIRST
) = range(Layout.FIRST, Layout.FIRST + 19)  # fmt: skip
LAG, FRONT, BEGIN, END, RAISED, CARE, HEAD, BODY, TAIL, MARGINS = range(10)
PER_PART = 10
KERNEL, CHUNKS, TEMPLATE, COUNT, MOVES, MOVE_COUNT, MOVING = range(7)
VARIANT = MOVING + 1
"""Words of a variant."""
WORD, BASE, AT, STEP, MADE, MADE_FRONT, JUMPS = range(7)
PER_MOVE = 7
FROM, TO, ROW, BEFORE, ROWS_EACH, HEIGHT, PIECES, FIRST_PIECE = range(8)
LOW, HIGH, PLACE, BYTES, TIMES, APART = range(6)
PER_PIECE = 6
WORDS = 8
"""Of a template, which are copied together; and of a cache line."""

SYMBOLS = ROWS, BOUND, STRIP, SEAM = (
    "lazyarr_rows", "lazyarr_rows_bound", "lazyarr_rows_strips", "lazyarr_rows_seams"
)


def slots(delay: int) -> int:
    """Of a strip: for the blocks at its head, at its tail, and those that others take turns with."""
    return 3 * delay + 1
