"""Short folds: one along an axis of few elements is so many elementwise operations, in NumPy's order.

In:  fold nodes.   Out: what is folded layer by layer, and the operation.
So what is stacked and folded, as in ``np.stack([a, b]).sum(0)``, need not be stored (`regions`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy

from lazyarr.dtypes import char_of
from lazyarr.expr import Expr, Map, Reduce
from lazyarr.fusion.fold import fold_order, folded
from lazyarr.fusion.group import region_of
from lazyarr.fusion.loop_strides import is_call
from lazyarr.ops import OPS, SEARCHES, function
from lazyarr.reduce_order import Order, Unproved

FEW = 8
"""Elements along the axis, at most."""


def is_short(node: Expr) -> bool:
    """Does NumPy fold it element by element, along one axis of a few?"""
    op = node.op
    if not isinstance(op, Reduce) or len(op.axes) != 1:
        return False
    geo = folded(node).geo
    if geo.shape[op.axes[0]] > FEW or not geo.size:
        return False
    if not _is_simple(op, char_of(region_of(node).dtype)) or is_call(op.name, op.sig):    # (goes by options)
        return False
    return _in_turn(fold_order(node))


@lru_cache(maxsize=1024)
def _is_simple(op: Reduce, char: str | None) -> bool:
    return (
        not op.masked and op.name not in SEARCHES and op.name in OPS
        and op.sig == f"{char}{char}->{char}"
    )  # fmt: skip


def _in_turn(order: Order | Unproved) -> bool:
    return isinstance(order, Order) and order.fold != "pairwise" and not order.wide


def layers(node: Expr) -> list[numpy.ndarray]:
    """What is folded, each over the result's space."""
    op, geo = node.op, folded(node).geo
    assert isinstance(op, Reduce)
    axis = op.axes[0] % geo.ndim
    before = (slice(None),) * axis
    each = (slice(k, k + 1) if op.keepdims else k for k in range(geo.shape[axis]))
    return [geo[(*before, key, ...)] for key in each]


def unrolled(node: Expr) -> tuple[Any, Map]:
    """What the fold starts from, None for its first element; and the operation."""
    op, order = node.op, fold_order(node)
    assert isinstance(op, Reduce) and isinstance(order, Order)
    start: Any = op.initial
    if start is None and order.start == "identity":
        identity: Any = numpy.array(function(op.name).identity)
        start = identity.astype(region_of(node).dtype)[()]
    return start, Map(op.name, op.sig)
