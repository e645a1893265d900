"""Sweeps: what a write to a part of an array is made of.

In:  a write.   Out: the pending results below it; whether it reads elements beside those that it writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion.alias import disjoint
from lazyarr.fusion.group import region_of
from lazyarr.geometry import same

LONGEST = 8
"""Writes of a sweep, at most."""


def shifts(write: Expr) -> bool:
    """Does it compute what it writes from elements beside these?"""
    region, old = region_of(write), write.old
    if not isinstance(write.op, Map) or write.covers or write.masked:
        return False
    return any(
        i.expr is old and not same(i.geo, region) and not disjoint(i.geo, region)
        for node in below(write) for i in node.inputs if isinstance(i, Read)
    )


def below(write: Expr) -> Iterator[Expr]:
    """The write, and pending results that it is made of."""
    seen, todo = {id(write)}, [write]
    while todo:
        node = todo.pop()
        yield node
        for i in node.inputs:
            value = i.expr if isinstance(i, Read) else None
            if value is not None and value.op is not None and value.old is None and id(value) not in seen:
                seen.add(id(value))
                todo.append(value)
