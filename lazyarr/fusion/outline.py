"""Outlines: where the nodes of an evaluation were put, for others of the same structure and other extents.

In:  a partition, and which nodes were barred on the way.   Out: `Outline`, by numbers: it holds no node.
Partition tries these places first, and checks each as it checks any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.expr import Expr
from lazyarr.fusion.group import Group
from lazyarr.records import NamedTuple, dataclass, field


@dataclass(slots=True, eq=False)
class Barred:
    """Nodes, by serial, that cannot be where attempts so far have put them."""

    unlike: dict[int, str] = field(default_factory=dict)
    """They cannot have NumPy's bits in compiled loops, and why: NumPy runs them."""
    apart: set[int] = field(default_factory=set)
    """They join no group through a view."""
    alone: set[int] = field(default_factory=set)
    """They share no group."""
    edges: bool = False
    """What fills borders, or is computed for them, is like all else (`edges`)."""

    def __len__(self) -> int:
        return len(self.unlike) + len(self.apart) + len(self.alone)


class Elsewhere(Exception):
    """A node cannot be where it was put for other extents."""


class Outline(NamedTuple):
    """Where the nodes of an evaluation are, by number: for other extents that is tried first."""

    places: tuple[int, ...]
    """The group of each node; -1 - k: the group k, which NumPy runs."""
    look_back: int
    unlike: tuple[tuple[int, str], ...]
    apart: tuple[int, ...]
    alone: tuple[int, ...]
    """Which nodes were barred (`Barred`)."""
    edges: bool
    """Borders are like all else."""

    def barred(self, nodes: Sequence[Expr]) -> Barred:
        return Barred(
            {nodes[k].serial: why for k, why in self.unlike}, {nodes[k].serial for k in self.apart},
            {nodes[k].serial for k in self.alone}, self.edges,
        )  # fmt: skip


def outline(nodes: Sequence[Expr], groups: Sequence[Group], barred: Barred, look_back: int) -> Outline:
    """The outline of a partition."""
    number = {n.serial: k for k, n in enumerate(nodes)}
    places = {
        n.serial: -1 - g.number if g.opaque else g.number for g in reversed(groups) for n in g.nodes
    }       # (the first group of each: others compute it again)
    return Outline(
        tuple([places[n.serial] for n in nodes]), look_back,
        tuple([(number[serial], why) for serial, why in barred.unlike.items()]),
        tuple(map(number.__getitem__, barred.apart)), tuple(map(number.__getitem__, barred.alone)),
        barred.edges,
    )  # fmt: skip
