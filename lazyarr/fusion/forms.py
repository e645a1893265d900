"""Forms: what partition asks of a node by itself, once for all that are alike.

In:  nodes.   Out: `Form`s.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr import switches
from lazyarr.expr import Expr
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
    """Forms of nodes: asked once for all that are alike."""

    __slots__ = ("refuse", "tokens", "memory", "single", "known")

    def __init__(self, refuse: Refuse, tokens: Tokens, memory: Memory) -> None:
        self.refuse, self.tokens, self.memory = refuse, tokens, memory
        self.single = tokens.odd or bool(switches.OFF)
        """Nodes that are alike may be refused for themselves."""
        self.known: dict[int, Form] = {}

    def of(self, node: Expr) -> Form:
        number = self.tokens.forms[node.serial]
        found = None if self.single else self.known.get(number)
        if found is None:
            why = self.refuse(node, self.memory)
            twice = node.old is not None and not injective(region_of(node))
            plain = Placed.plainly(node, self.tokens.one)
            found = self.known[number] = Form(why, space(node), plain, twice)
        return found
