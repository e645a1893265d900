"""Segments: what is too much for one plan is planned, and run, a segment at a time.

In:  pending nodes in program order, many.   Out: the same, about a thousand at a time.
Nobody writes ten thousand operations down: they come of loops.  So segments are cut where the loop begins
anew, as far as anybody can see: where the fewest bytes pass from what is before to what is behind, which are
stored there.  The first segment is planned, and others of its structure find that plan.  Little is lost: a
kernel has no more than some hundred nodes.  What one segment alone needs is let go of before the next one is
planned.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Sized
from itertools import accumulate
from operator import attrgetter

from lazyarr.expr import Expr

MOST = 2048
"""Nodes that have one plan."""

LEAST = 768
"""Nodes of a segment, at least."""

SPREAD = 512
"""A segment has at most so many more: of loops with bodies no longer than that it has whole turns."""

_OP, _SERIAL = map(attrgetter, ("op", "serial"))


def is_much(nodes: Sized) -> bool:
    """Are these too many nodes for one plan?"""
    return len(nodes) > MOST


def segments(nodes: list[Expr]) -> Iterator[list[Expr]]:
    """Take nodes from a list, those of one plan at a time."""
    end, ops = 0, list[object]()
    while len(nodes) > LEAST + SPREAD:
        if not end or [*map(_OP, nodes[:end])] != ops:          # (else it is the same turn of the loop)
            end = _end(nodes)
            ops = [*map(_OP, nodes[:end])]
        segment = nodes[:end]
        del nodes[:end]                 # (nobody else is to hold what the plan lets go of)
        yield segment
    yield nodes


def _end(nodes: Sequence[Expr]) -> int:
    """After how many nodes a segment ends: where the fewest bytes pass, of what is made shortly before."""
    near = nodes[LEAST - SPREAD // 4 : LEAST + SPREAD]
    serials, most = [*map(_SERIAL, near)], len(near)
    passing = [0] * (most + 1)
    """Bytes that the node of that number needs, or one behind it; at first, by how much that differs from
    the node before."""
    place = dict(zip(serials, range(1, most + 1), strict=True))
    k = 0
    for node in near:                           # (no function for each: that takes as long as this does)
        k += 1
        readers = node.readers
        if not readers:
            continue
        reader = readers[-1]()
        if reader is None:                      # (the last of them is the latest, as a rule)
            reader = next(filter(None, [ref() for ref in reversed(readers)]), None)
            if reader is None:
                continue
        end = place.get(reader.serial)
        if end is None:
            end = min(bisect_left(serials, reader.serial) + 1, most)
        nbytes = node.nbytes
        passing[k] += nbytes
        passing[end] -= nbytes
    last = [*accumulate(passing)][most - SPREAD : most]
    return LEAST + last.index(min(last))
