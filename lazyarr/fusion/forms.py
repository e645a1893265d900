"""Forms: what partition asks of a node by itself, once for all that are alike.

In:  nodes.   Out: `Form`s.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr import switches
from lazyarr.expr import Expr, Gather, Scatter
from lazyarr.fusion.alias import Memory, injective
from lazyarr.fusion.group import Placed, region_of, space
from lazyarr.fusion.structure import Tokens
from lazyarr.records import NamedTuple

Refuse = Callable[[Expr, Memory], str | None]
"""Why a node has no native lowering, or None if it has one."""


class Form(NamedTuple):
    """What does not depend on where a node's inputs come from."""

    why: str | None
    """Why it is not compiled."""
    shape: tuple[int, ...]
    """Its iteration space."""
    plain: Placed
    twice: bool
    """It writes some element of what there is twice, perhaps."""


class Forms:
    """Forms of nodes: asked once for all that are alike; once for all of a kind, but for where these read and
    write."""

    __slots__ = ("refuse", "kinds", "numbers", "memory", "single", "known", "of_kind")

    def __init__(self, refuse: Refuse, tokens: Tokens, memory: Memory) -> None:
        self.refuse, self.kinds, self.memory = refuse, tokens.kinds, memory
        self.single = tokens.odd or bool(switches.OFF)
        """Nodes that are alike may be refused for themselves."""
        self.numbers = tokens.kinds.forms
        """By serial of a node."""
        self.known: dict[int, Form] = {}
        """By number; of nodes that are alike."""
        self.of_kind: dict[int, tuple[str | None, tuple[int, ...], bool]] = {}
        """All of them but `plain`."""

    def of(self, node: Expr) -> Form:
        """The form of a node, which may be `known`."""
        number = self.numbers[node.serial]
        found = self.known.get(number)
        if found is None:
            kind = self.kinds[number]
            told = None if self.single else self.of_kind.get(kind)
            if told is None:
                twice = node.old is not None and not injective(region_of(node))
                told = self.of_kind[kind] = self.refuse(node, self.memory), space(node), twice
            why, shape, twice = told
            found = Form(why, shape, self.plain(node, number), twice)
            if not self.single:
                self.known[number] = found
        return found

    def plain(self, node: Expr, form: int) -> Placed:
        """A node's accesses over its own space, with one geometry for all that are alike."""
        kinds = self.kinds
        geos, key = kinds.geos, kinds.told[form]
        if node.op.__class__ in (Gather, Scatter):
            place = kinds.place
            return Placed.plainly(node, lambda geo: geos[place[id(geo)]])
        reads = tuple([geos[x] if x.__class__ is int else None for x in key[kinds.heads :]])
        return Placed(reads, geos[key[0]])
