"""General traces: the trace of a kind of calls whatever the lengths of its arrays.

In:  what is `Known`, the inputs of a call.   Out: its `Trace`, without a look at the function's code where
arrays of such a kind were met; None where lengths decide.
A kind has the arrays' dtypes, ranks and orders of axes, the lengths that have been the same in all calls,
which of the others are one, and which are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.compiling.extents import Asked, Lengths, samples
from lazyarr.compiling.formulas import Reader
from lazyarr.compiling.interpret import Outside
from lazyarr.compiling.replay import pieces
from lazyarr.compiling.templates import Recording, Template, written
from lazyarr.compiling.trace import Kind, Recorded, Result, Root, Trace, planned, record, tracing
from lazyarr.compiling.values import Refused, argument
from lazyarr.counters import COUNT
from lazyarr.expr import Expr
from lazyarr.geometry import fresh
from lazyarr.records import NamedTuple


class Lengthless(NamedTuple):
    """A call without its lengths."""

    key: tuple[Any, ...]
    lengths: Lengths
    """Those that are above 1, each once, in the order in which they are met."""
    orders: dict[int, str]
    """For each array among the inputs: in which order its axes lie, "C" or "F"."""
    shapes: dict[int, tuple[int, ...]]
    """Of these: k < 0 is length -1 - k, others are what they are."""


class Varied:
    """Which lengths of a structure of calls have differed from call to call."""

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.first = _lengths(inputs)
        self.varied = [False] * len(self.first)

    def met(self, inputs: Sequence[Any]) -> list[bool]:
        """For each axis of all arrays, after one more call."""
        for k, pair in enumerate(zip(self.first, _lengths(inputs), strict=True)):
            self.varied[k] = self.varied[k] or pair[0] != pair[1]
        return self.varied


def _lengths(inputs: Sequence[Any]) -> list[int]:
    return [n for x in inputs if isinstance(x, ndarray | numpy.ndarray) for n in _layout(x).shape]


def _layout(x: Any) -> numpy.ndarray:
    return x.geo if x.__class__ is ndarray else x


def lengthless(kinds: Sequence[Kind], known: Sequence[Any], varied: Sequence[bool]) -> Lengthless | None:
    """A call without the lengths that vary; None where an array is no whole one.

    `known` is what its key says of each input."""
    axis = iter(varied)
    found: dict[int, int] = {}
    key: list[Any] = []
    orders: dict[int, str] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    for k, kind in enumerate(kinds):
        if kind.kind != "array":
            key.append((kind.kind, known[k]))
            continue
        x = kind.value
        order = next((o for o in "CF" if fresh(x.shape, x.dtype, o).strides == x.strides), None)
        if order is None:
            return None
        orders[k] = order
        axes = tuple([-1 - found.setdefault(n, len(found)) if next(axis) and n > 1 else n for n in x.shape])
        key.append((order, x.dtype, x.dtype.char, kind.foreign, axes))
        shapes[k] = axes
    return Lengthless(tuple(key), list(found), orders, shapes)


class General:
    """The traces of a kind of calls."""

    def __init__(
        self, fn: Any, kinds: Sequence[Kind], outside: Outside, root: Root | None, like: Lengthless
    ) -> None:
        one, other = samples(len(like.lengths))
        asked = Asked(), Asked()
        self.orders = like.orders
        shown = [_shown(kinds, like, some) for some in (one, other)]
        first, second = (
            record(fn, some, outside, a, root) for some, a in zip(shown, asked, strict=True)
        )
        wholes = {k: (shown[0][k].value, shown[1][k].value) for k in like.orders}
        _check_alike(first, second)
        mine, others = ([_geo(r) for r in _arrays(f.result)] for f in (first, second))
        made = written(
            Recording(first.nodes, first.inputs, mine, asked[0]),
            Recording(second.nodes, second.inputs, others, asked[1]), wholes, Reader(one, other),
        )  # fmt: skip
        self.template: Template = made.template
        self.places = made.places
        at = made.numbers
        if not all(id(x) in at for x in first.values):
            raise Refused("it returns an array that is the same at every call")
        # (Nodes are let go of: what is pending counts.)
        self.roots, self.values = ([at[id(x)] for x in some] for some in (first.roots, first.values))
        self.last = {k: at[id(x)] for k, x in first.last.items()}
        self.result, self.numbers, self.offsets = first.result, first.numbers, first.offsets
        self.links = {k: link._replace(node=None) for k, link in first.links.items()}
        COUNT.traces += 1

    def trace(self, kinds: Sequence[Kind], lengths: Lengths) -> Trace | None:
        """The trace for some lengths; None where these do not go the way of the others."""
        if not self.template.holds(lengths):
            return None
        known = {k: (x.dtype, x.shape, x.strides) for k in self.orders for x in (kinds[k].value,)}
        with tracing():
            arrays = {k: argument(shape, strides, dtype) for k, (dtype, shape, strides) in known.items()}
            given = {k: array.storage.value for k, array in arrays.items() if array.storage is not None}
            made = self.template.values(lengths, given)
            if made is None:
                return None
            nodes, leaves, geos = made

            def value(k: int) -> Expr:
                return nodes[k] if k >= 0 else leaves[-1 - k]

            result = _moved(self.result, lambda geo: geos[self.places[id(geo)]])
            found = Recorded(
                nodes, list(map(value, self.roots)), [given.get(k) for k in range(len(self.offsets))],
                self.offsets, {k: value(x) for k, x in self.last.items()}, result,
                list(map(value, self.values)), self.numbers, self.links, None,
            )  # fmt: skip
            trace = planned(found, known)
            del arrays                  # (what somebody holds is not written over)
            return trace


def _shown(kinds: Sequence[Kind], like: Lengthless, lengths: Lengths) -> list[Kind]:
    """The kinds with other lengths."""
    found = list(kinds)
    for k, order in like.orders.items():
        shape = tuple([lengths[-1 - n] if n < 0 else n for n in like.shapes[k]])
        found[k] = kinds[k]._replace(value=fresh(shape, kinds[k].value.dtype, order))
    return found


def _arrays(r: Result) -> list[Result]:
    return [x for x in pieces(r) if x.geo is not None]


def _geo(r: Result) -> numpy.ndarray:
    if r.origin is not None:
        raise Refused("it returns views")
    assert r.geo is not None
    return r.geo


def _moved(r: Result, place: Any) -> Result:
    if r.kind in ("tuple", "list"):
        return r._replace(at=tuple([_moved(item, place) for item in r.at]))
    return r if r.geo is None else r._replace(geo=place(r.geo))


def _check_alike(one: Recorded, other: Recorded) -> None:
    """Are results, numbers and what is written the same, whatever the lengths?"""
    shapes = [_outline(r.result) for r in (one, other)]
    links = [{k: (link.place, link.ref, link.type) for k, link in r.links.items()} for r in (one, other)]
    alike = (
        shapes[0] == shapes[1] and links[0] == links[1] and one.numbers == other.numbers
        and list(one.last) == list(other.last) and not any(one.offsets) and one.reach is None
    )
    if not alike:
        raise Refused("what it gives depends on lengths")


def _outline(r: Result) -> Any:
    if r.kind in ("tuple", "list"):
        return r.kind, [_outline(item) for item in r.at]
    return r.kind, r.at, type(r.at), r.foreign
