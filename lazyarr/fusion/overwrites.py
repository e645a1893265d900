"""Overwrites: what a group writes, and then writes again.

In:  a group.   Out: the nodes of which no element is left.
"""

from __future__ import annotations

import itertools

from lazyarr.expr import Expr
from lazyarr.fusion.group import Group
from lazyarr.geometry import same


def written_again(group: Group) -> list[Expr]:
    """Nodes whose elements a later node of the group writes again.

    Where nobody else asks for them they are not stored: so a group stores each element once, and its
    stores may happen in any order."""
    found: list[Expr] = []
    if all(node.old is None for node in group.nodes):
        return found
    regions = {serial: placed.region for serial, placed in group.placed.items()}
    for at, first in enumerate(group.nodes):
        region = regions[first.serial]
        for node in itertools.islice(group.nodes, at + 1, None):
            if node.old is not None and same(regions[node.serial], region) and _follows(node.old, first):
                found.append(first)
                break
    return found


def _follows(value: Expr | None, first: Expr) -> bool:
    """Is it `first`, or made from it by writes?"""
    while value is not None and value.serial > first.serial:
        value = value.old
    return value is first
