"""The words by which a block is packed by one call (`block_call`), side by side among those of a launch.

FOLD (the function that packs a range of elements; 0: a block takes more than a call of it), EACH (elements
of a block), LENGTH (elements in all), CONTEXT (the function's, in bytes behind the packing kernel's first
word: `reduce_context`), CARRY (its slot, in bytes), and THREAD (the thread's number in it, in bytes behind
that first word).
"""

from __future__ import annotations

FOLD, EACH, LENGTH, CONTEXT, CARRY, THREAD, CALL_WORDS = range(7)
