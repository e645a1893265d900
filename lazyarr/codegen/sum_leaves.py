"""Leaves of NumPy's tree of a sum that are all as deep: of which sums may be made before anybody knows where
they begin (`compress_sums`).

In:  how many elements there are.   Out: octets (eight elements) of the shorter leaves.
NumPy cuts a range at half, rounded down to octets, until 128 elements are left.  So of `w` octets in ``2**d``
leaves each has ``w >> d``, or one more, if none is left whole before or cut once more (`leaf_of`): leaf
number k has ``(w + k with its bits in reverse) >> d``.  Only the last one has elements besides: it is added
up elsewhere.
"""

from __future__ import annotations

OCTET = 8
"""NumPy's accumulators."""

LEAST_OCTETS, MOST_OCTETS = 8, 15
"""Of the shorter leaves; the longer ones have at most 128 elements."""

SUMMED = {"f": 2, "d": 3}
"""Types whose sums are made, and their bytes, as a power of two."""

LEVELS = 3
"""A step of a fold that is fed has eight leaves."""


def leaf_of(elements: int) -> int:
    """Octets of the shorter leaves of so many elements; 0 if not all are as deep."""
    octets, depth = elements // OCTET, 0
    while octets >> depth > MOST_OCTETS:
        depth += 1
    # (Nothing above a leaf may be one: 16 octets are.)
    return octets >> depth if depth > LEVELS and octets >> depth - 1 > MOST_OCTETS + 1 else 0
