"""The words that say how many elements of each block are kept, and those behind the ranks.

Words: COUNTED (address of a slot for each block, as a fold leaves them), NUMBER (of blocks), SUMS (address of
the results).

Behind the ranks there come words that say what was kept where elements were counted by packing
(`compress_keep`), and are 0 elsewhere: LEAFS (octets of the shorter leaves; 0: no sums), ELEMENTS (how many
are kept there; 0: none), ROOMY (for how many elements or octets there is room); then, from the next cache
line on, elements, or the sums of leaves, the shorter ones and then those of one octet more, ROOMY of each.
"""

from __future__ import annotations

COUNTED, NUMBER, SUMS = range(3)

LEAFS, ELEMENTS, ROOMY, HEAD = range(4)
"""Words behind the ranks, and how many there are."""

LINE = 64


def words_for(blocks: int, nbytes: int) -> int:
    """Words of the ranks with so many bytes behind them."""
    return blocks + 1 + HEAD + -(-(nbytes + LINE) // 8)
