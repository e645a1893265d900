"""Where the pending graph was cut since it had grown too large: a loop is cut in the same place again.

In:  nodes, when they are made.   Out: whether what is pending is to be computed now.
A graph that is cut wherever its size happens to end differs from time to time, and each such graph needs a
plan of its own.  So a cut is remembered by what the node does; from three quarters of the size on, the
next node that does the same is the place.
"""

from __future__ import annotations

from typing import Any

from lazyarr.config import current
from lazyarr.expr import Expr, Read
from lazyarr.geometry import offset_of

MAX_WEIGHT = 4096
"""Pending nodes below one result, shared ones counted again."""

SHARED_DEPTH = 100
"""But up to this depth: sweeps read the one before several times, and many run in one launch.  (Of 72, 100
and 144, two threads of a Zen 5: Jacobi 12.7, 9.7, 10.8 ms, heat 15.8, 12.4, 16.3, waves 15.3, 16.7, 19.6;
since sweeps are cut in pairs, 144 over 100 on one thread: `docs/tuning.md`.)"""

MOST = 64
"""Places that are remembered; all are forgotten when there are more."""

SELDOM = SHARED_DEPTH >> 1
"""Nodes up to this depth, which most are, need no look unless fewer may be pending."""

UNBOUNDED = 1 << 30
"""`pending_nodes` from which on nothing is cut: all of it is planned together (`compiling.trace`)."""

_places: dict[Any, None] = {}
_kinds: set[Any] = set()
"""What of them can be asked at a glance: most nodes are of another op, or another shape."""


def is_still_due(node: Expr) -> bool:
    """Is it large enough to be cut, now that some of what is below may have been computed for others?"""
    if not _is_as_deep(node):
        node.weigh()
    return node.depth > _least(_most(node))


def _is_as_deep(node: Expr) -> bool:
    """Do as many nodes still wait, one below the other, as were below when it was made?

    (There are no more than then: so the depth is right, and the count of all of them hardly wrong.)"""
    for below in range(node.depth - 1, 0, -1):
        for i in node.inputs:
            if i.__class__ is Read and i.expr.op is not None and i.expr.depth == below:
                node = i.expr
                break
        else:
            old = node.old
            if old is None or node.covers or old.op is None or old.depth != below:
                return False
            node = old
    return True


def is_due(node: Expr) -> bool:
    """Is it too large, or large enough to be cut where it was before?"""
    depth = node.depth
    if depth <= SELDOM:
        return depth > current.pending_nodes
    most = current.pending_nodes                # (`_most`, written out)
    if node.weight > MAX_WEIGHT and SHARED_DEPTH < most < UNBOUNDED:
        most = SHARED_DEPTH
    if depth > most:
        if len(_places) >= MOST:
            _places.clear()
            _kinds.clear()
        _places[_likeness(node)] = None
        _kinds.add(_kind(node))
        return True
    return depth > most - (most >> 2) and _kind(node) in _kinds and _likeness(node) in _places


def _least(most: int) -> int:
    return most - (most >> 2)


def _most(node: Expr) -> int:
    most = current.pending_nodes
    return SHARED_DEPTH if node.weight > MAX_WEIGHT and SHARED_DEPTH < most < UNBOUNDED else most


def _kind(node: Expr) -> Any:
    return getattr(node.op, "name", None), node.region.shape       # type: ignore[union-attr]


def _likeness(node: Expr) -> Any:
    """What a node does: its op, and which elements it reads and writes."""
    assert node.region is not None
    geos = [node.region, *(i.geo for i in node.inputs if i.__class__ is Read)]
    places = [(offset_of(geo), geo.strides, geo.shape) for geo in geos]
    return node.op.__class__, getattr(node.op, "name", None), *places
