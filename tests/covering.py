"""A selection of a product of parameters in which every pair of values occurs.

In:  rows of a table.   Out: the numbers of some of them, in order, that hold every two values of two columns
that any row holds together.

What a test finds it finds by one value, or by two that meet, far more often than by three.  With
``LAZYARR_TEST_ALL=1`` nothing is left out.
"""

from __future__ import annotations

import heapq
import itertools
import os
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

ALL = bool(os.environ.get("LAZYARR_TEST_ALL"))


def covering(rows: Sequence[Sequence[Hashable]]) -> list[int]:
    """The row with most pairs that none before it has, again and again; the first of several."""
    if not all(rows):
        raise ValueError("a row without columns holds no pair")
    if ALL:
        return [*range(len(rows))]
    pairs = [{*itertools.combinations(enumerate(row), 2)} or {*enumerate(row)} for row in rows]
    left: set[Any] = set().union(*pairs)
    found = []
    queue = [(-len(each), k) for k, each in enumerate(pairs)]
    heapq.heapify(queue)
    while left:
        before, k = heapq.heappop(queue)
        new = len(pairs[k] & left)
        if new == -before:
            found.append(k)
            left -= pairs[k]
        elif new:                               # (it never grows)
            heapq.heappush(queue, (-new, k))
    return sorted(found)


def pairs_of(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Of a product of axes, for loops within a test."""
    rows = [*itertools.product(*map(enumerate, axes))]
    kept = covering([[number for number, _ in row] for row in rows])
    return [tuple(value for _, value in rows[k]) for k in kept]
