"""Row loans: values of a chain that lie where one of its results will be, instead of in threads' own memory.

In:  a chain of groups, their steps, which values only the chain reads.   Out: for each of those that can: the
result in whose memory it lies.
A block of many short rows (columns) may take more memory than NumPy has to spare.  ``e / e.sum(0)`` is
written over `e`, row by row, as NumPy's operators do with a temporary.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lazyarr.expr import Map
from lazyarr.fusion.rows import Chain
from lazyarr.fusion.touches import Touch, in_step
from lazyarr.plan import Step, Walk


def loans(w: Walk, chain: Chain, steps: Sequence[Step], inside: Collection[int]) -> dict[int, int]:
    """By number of a value: the result in whose memory it lies."""
    found: dict[int, int] = {}
    touches: dict[int, list[tuple[int, int, Touch]]] = {}
    for at, (axis, mine) in enumerate(zip(chain.axes, chain.touches, strict=True)):
        for t in mine:
            touches.setdefault(w.numbers[id(t.value)], []).append((at, axis, t))
    for k, (step, axis) in enumerate(zip(steps, chain.axes, strict=True)):
        for number in step.stored:
            node = w.nodes[number]
            if number in inside or not isinstance(node.op, Map) or node.old is not None:
                continue
            to = next(t for _, _, t in touches[number] if t.writes)
            if chain.touched[id(to.key)][0][0] < k:
                continue
            lent = (
                v for v in inside
                if v not in found and w.value(v).nbytes == node.nbytes and touches[v][-1][0] <= k
                and isinstance(w.nodes[v].op, Map) and fits(touches[v], k, to, axis, chain.lags)
            )
            v = next(lent, None)
            if v is not None:
                found[v] = number
    return found


def fits(
    reads: Sequence[tuple[int, int, Touch]], k: int, mine: Touch, axis: int, lags: Sequence[int]
) -> bool:
    """Are these reads over where group `k` writes: at the same element, or before, in the same rows?"""
    return all(
        lags[at] <= lags[k] and in_step(t, a, mine, axis) if at < k else _alike(t, mine) for at, a, t in reads
    )


def _alike(a: Touch, b: Touch) -> bool:
    """Is it the same element in the same iteration?"""
    return (a.offset, a.strides, a.itemsize) == (b.offset, b.strides, b.itemsize)
