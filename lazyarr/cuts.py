"""Where the pending graph was cut since it had grown too large: a loop is cut in the same place again.

In:  nodes, when they are made.   Out: whether what is pending is to be computed now.
A graph that is cut wherever its size happens to end differs from time to time, and each such graph needs a
plan of its own.  So a cut is remembered by what the node does; from three quarters of the size on, the
next node that does the same is the place.  A loop that was cut there many times goes on, as far as anybody
can tell: then plans of more sweeps pay, which are looked up, and launched, less often.
"""

from __future__ import annotations

from typing import Any

from lazyarr.config import current
from lazyarr.expr import Expr, Read
from lazyarr.geometry import offset_of
from lazyarr.slot_words import SHARED

MAX_WEIGHT = 4096
"""Pending nodes below one result, shared ones counted again."""

SHARED_DEPTH = 100
"""But up to this depth: sweeps read the one before several times, and many run in one launch."""

LASTING_DEPTH = 400
"""And up to this one where a loop goes on (`docs/tuning.md`), but no more than twice `pending_nodes`."""

LASTING = 512
"""So many times it was cut where it, or another, was before: less often would have saved what new plans take,
about (`docs/tuning.md`)."""

STRAYS = 8
"""But after so many evaluations of more than before, each met for the first time, a loop ends elsewhere each
time (it is read now and then): plans of more sweeps do not come round."""

RESTING = 8 * LASTING
"""So many cuts later it may go on again."""

MOST = 64
"""Places that are remembered; all are forgotten when there are more."""

SELDOM = SHARED_DEPTH >> 1
"""Nodes up to this depth, which most are, need no look unless fewer may be pending."""

UNBOUNDED = 1 << 30
"""`pending_nodes` from which on nothing is cut: all of it is planned together (`compiling.trace`)."""

_places: dict[Any, None] = {}
_kinds: set[Any] = set()
"""What of them can be asked at a glance: most nodes are of another op, or another shape."""


class _Loop:
    """The one that was cut last."""

    __slots__ = ("strays", "times")

    def __init__(self) -> None:
        self.times = 0
        """How often it was cut where it, or another, was before; below 0 it rests."""
        self.strays = 0
        """Evaluations of more than before, since it goes on, that nobody had met."""


_loop = _Loop()
SHARED.value = SHARED_DEPTH


def forget() -> None:
    """Nothing was cut so far."""
    _places.clear()
    _kinds.clear()
    _loop.times, _loop.strays, SHARED.value = 0, 0, SHARED_DEPTH


def strays() -> None:
    """An evaluation of a loop that `lasts` has no plan."""
    _loop.strays += 1
    if _loop.strays >= STRAYS:
        _loop.times, _loop.strays, SHARED.value = -RESTING, 0, SHARED_DEPTH


def lasts(node: Expr) -> bool:
    """Is it of a loop that goes on, and more of that than waited before?  (Then its kernels are there, as a
    rule.)"""
    return SHARED.value > SHARED_DEPTH and node.depth > SHARED_DEPTH and node.weight > MAX_WEIGHT


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
    most = _most(node)
    if depth > _least(most) and _kind(node) in _kinds and _likeness(node) in _places:
        if _is_shared(node):
            _loop.times += 1
            if _loop.times >= LASTING and SHARED.value != LASTING_DEPTH:
                SHARED.value, _loop.strays = LASTING_DEPTH, 0
        return True
    if depth > most:
        if len(_places) >= MOST:
            _places.clear()
            _kinds.clear()
        _places[_likeness(node)] = None
        _kinds.add(_kind(node))
        if _is_shared(node):
            _loop.times, SHARED.value = min(_loop.times, 0), SHARED_DEPTH
        return True
    return False


def _least(most: int) -> int:
    return most - (most >> 2)


def _most(node: Expr) -> int:
    most = current.pending_nodes
    return min(SHARED.value, 2 * most) if _is_shared(node) else most


def _is_shared(node: Expr) -> bool:
    """Do several nodes read what is below, again and again, so that `pending_nodes` is not the bound?"""
    return node.weight > MAX_WEIGHT and SHARED_DEPTH < current.pending_nodes < UNBOUNDED


def _kind(node: Expr) -> Any:
    return getattr(node.op, "name", None), node.region.shape       # type: ignore[union-attr]


def _likeness(node: Expr) -> Any:
    """What a node does: its op, and which elements it reads and writes."""
    assert node.region is not None
    geos = [node.region, *(i.geo for i in node.inputs if i.__class__ is Read)]
    places = [(offset_of(geo), geo.strides, geo.shape) for geo in geos]
    return node.op.__class__, getattr(node.op, "name", None), *places
