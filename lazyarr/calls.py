"""Calls as one node: what a known call of NumPy's Python code makes is written out when somebody plans it.

In:  a pending node whose op is a `Call`.   Out: the same node, which computes the last of the call's nodes
from the others, and these read what it has read.
`x.std(axis=1)` is seven nodes, of which the program can ask for one.  An evaluation that was met before needs
none of the others, so they are not made (`recalled`, `ready`); all else meets nodes as the code would have
made them, since whoever looks for what is to be computed writes them out first (`materialize.closure`).
The numbers in program order between a node and the one before are its own, so its nodes have their places.
"""

from __future__ import annotations

import weakref
from _thread import _local
from typing import Any

import numpy

from lazyarr.expr import LOCK, Expr, Op, Read
from lazyarr.records import NamedTuple, dataclass

ITSELF = -1
"""Stands for the value that a call reads, among its nodes' inputs."""


class Made(NamedTuple):
    """A node of a call."""

    op: Op
    inputs: tuple[tuple[int, numpy.ndarray] | numpy.generic, ...]
    """What it reads, by number among the nodes; constants."""
    region: numpy.ndarray
    old: int | None
    """The node whose bytes it overwrites."""
    located: bool
    """Does it know the place of the call?"""


@dataclass(slots=True, eq=False, repr=False)
class Call:
    """The op of a node that stands for several.  (Equal by identity: it is remembered with its call.)"""

    nodes: tuple[Made, ...]
    inner: int
    """How many of these come before the last one."""
    depth: int
    """By how much deeper than one node it is."""
    nbytes: int
    """Of the results of all but the last one that take memory of their own."""
    probed: tuple[numpy.ndarray, ...]
    """Those of them that are so large that the system is asked for them."""
    ns: float
    """What NumPy would take (`compiler.numpy_ns`)."""
    early: bool
    """Does it fold by what may be decided early?"""


class _Gone:
    """A storage that nothing refers to any more: the home of what a call overwrites or only passes on."""


_home: Any = weakref.ref(_Gone())


def written_out(node: Expr) -> list[Expr]:
    """Let a node compute the last step of its call; the nodes for the others, in order, and itself."""
    with LOCK:
        call: Any = node.op
        if call.__class__ is not Call:          # another thread has done it
            return [node]
        read: Any = node.inputs[0]
        value, loc = read.expr, node.loc
        made: list[Expr] = []
        first = node.serial - call.inner
        for k, (op, inputs, region, old, located) in enumerate(call.nodes):
            reads: Any = [
                Read(value if i[0] == ITSELF else made[i[0]], i[1]) if isinstance(i, tuple) else i
                for i in inputs
            ]
            below = None if old is None else made[old]
            if k < call.inner:
                each = node.before(op, tuple(reads), region, below, first + k)
                each.home = _home
            else:
                each = node
                node.become(op, tuple(reads), region, below)
            each.loc = loc if located else None
            made.append(each)
        value.readers.remove(weakref.ref(node))     # (last: an interrupt before leaves the call as it was)
        return made


class Asked(_local):
    """What a call made that folded everything: its result is a scalar, which tells nothing of its node."""

    of: Expr | None = None
    """The value of the array, while the call runs."""
    found: tuple[Any, Op, numpy.ndarray, numpy.ndarray] | None = None
    """Result, op, how the value was read, and the result's geometry."""
    folds: int = 0
    """Of the value in the call: by a signal's handler, perhaps, whose result may be the same object."""


ASKED = Asked()
