"""Folds: reductions inside fusion groups.

In:  Reduce nodes, and what counts or keeps elements in C order.
Out: the order in which NumPy folds, whether two folds may share one loop nest, and the geometry of a
result over the axes of what is folded.
"""

from __future__ import annotations

from functools import lru_cache

from lazyarr.dtypes import char_of
from lazyarr.error_state import buffer_size
from lazyarr.expr import Expr, Read, Reduce
from lazyarr.fusion.pieces import whole_of
from lazyarr.ops import SEARCHES
from lazyarr.reduce_order import Order, Unproved, in_c_order, order_of


@lru_cache(maxsize=4096)
def _order_of(
    op: Reduce, char: str, shape: tuple[int, ...], strides: tuple[int, ...], mask: tuple[int, ...] | None,
    buffer: int,
) -> Order | Unproved:
    return order_of(
        op.name, signature(op), char, shape, strides, op.axes,
        initial_given=op.initial is not None, mask_strides=mask, buffer=buffer,
    )  # fmt: skip


def folded(node: Expr) -> Read:
    """What a node folds."""
    first = node.inputs[0]
    assert isinstance(first, Read)
    return first


def signature(op: Reduce) -> str:
    """The binary loop's signature; searches compare elements of one type."""
    return f"{op.sig[0]}{op.sig[0]}->{op.sig[-1]}" if op.name in SEARCHES else op.sig


def fold_order(node: Expr) -> Order | Unproved:
    """The order that gives NumPy's bits, for the input as it would lie in memory; a piece has the whole's."""
    node = whole_of(node)
    op = node.op
    geo = folded(node).geo
    if not isinstance(op, Reduce):
        return in_c_order(geo.shape, geo.strides)
    mask = node.inputs[1].geo.strides if op.masked and isinstance(node.inputs[1], Read) else None
    char = char_of(geo.dtype)
    if char is None:
        return Unproved(f"dtype {geo.dtype} is not compiled")
    if op.name in SEARCHES and all(geo.shape[axis] == 1 for axis in op.axes):
        return Unproved("a search among single elements")
    return _order_of(op, char, geo.shape, geo.strides, mask, buffer_size())


def across(order: Order | Unproved) -> bool:
    """Does NumPy fold rows onto rows, the elements of each side by side?"""
    return isinstance(order, Order) and bool(order.loops) and order.loops[-1].kind == "p"


def stricter(a: Order, b: Order, names: tuple[str, str]) -> Order | None:
    """The order in which both folds may run in one loop nest, or None."""
    if "long" in (a.fold, b.fold):
        return None                     # (these see some elements several times)
    if a == b or (_nest(a) == _nest(b) and a.fold == b.fold):
        return a
    free = [o.fold == "any" and name not in SEARCHES for o, name in zip((a, b), names, strict=True)]
    if free[1]:
        return a
    return b if free[0] else None


def _nest(order: Order) -> tuple[object, ...]:
    loops = tuple((loop.axis, loop.extent, loop.kind) for loop in order.loops)
    return loops, order.tree, order.run, order.wide, order.reals


def result_strides(node: Expr, ndim: int) -> tuple[int, ...]:
    """Strides of the result over the axes of what is folded: 0 along the folded ones."""
    op, region = node.op, node.region
    assert region is not None
    if not isinstance(op, Reduce):
        return (0,) * ndim
    if op.keepdims:
        return tuple(0 if d in op.axes else s for d, s in enumerate(region.strides))
    kept = iter(region.strides)
    return tuple(0 if d in op.axes else next(kept) for d in range(ndim))
