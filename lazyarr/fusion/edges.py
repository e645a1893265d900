"""Edges: the borders that a program writes between sweeps, each a group by itself, which may run with these.

In:  the nodes of an evaluation.   Out: by serial of a node, the write for which alone it computes a little.
``u[0] = u[1]`` copies within an array.  What fills a border, or is computed there, may as well be a patch of
a new array (`patchwork`), or one of a few elements that one kernel sets.  So it is an edge only of an array
of which larger parts are written, too, and that the program comes back to: it writes the same few elements
again, or reads others of what was there before.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy

from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.group import region_of
from lazyarr.fusion.next_sweep import Sweep
from lazyarr.geometry import elements
from lazyarr.records import NamedTuple

THIN = 16
"""What an edge writes is one part in so many of the array, at most."""


def is_thin(node: Expr) -> bool:
    """Does it write a few elements of an array?"""
    region = node.region
    if node.old is None or node.masked or region is None or not isinstance(node.op, Map):
        return False
    return bool(region.size) and region.nbytes * THIN <= node.nbytes


def copies(node: Expr, memory: Memory) -> bool:
    """Does it copy a few elements within an array, in which something was written before?"""
    if node.old is None or node.old.op is None or not is_thin(node):
        return False
    key = memory.key(node)
    return all(isinstance(i, Read) and memory.key(i.expr) is key for i in node.inputs)


def edges(nodes: Sequence[Expr], sweeps: Mapping[int, Sweep]) -> dict[int, int]:
    """Writes that fill borders, or that these are computed for, and what is computed for them alone.

    `sweeps` says which writes nodes are computed for."""
    found = [n.serial for array in _arrays(nodes) for n in array.edges()] if sweeps else []
    if not found:
        return {}
    edge_of = {serial: serial for serial in found}
    for serial, sweep in sweeps.items():
        write = sweep.only()
        if write is not None and write.serial in edge_of:
            edge_of[serial] = write.serial
    first = _begin(nodes, edge_of)
    return edge_of | dict.fromkeys(first, first[0]) if first else edge_of


def _begin(nodes: Sequence[Expr], edge_of: Mapping[int, int]) -> list[int]:
    """Serials of the nodes before anything but edges is computed: these run before all sweeps, so they may
    share kernels."""
    before = itertools.takewhile(edge_of.__contains__, (n.serial for n in nodes))
    return [*before]


class _Array(NamedTuple):
    """An array that a program writes parts of."""

    begun: Expr
    """What it held at first."""
    wide: list[Expr]
    thin: list[Expr]
    """Writes to large parts, and to small ones."""
    reads: list[numpy.ndarray]
    """What is read of it."""

    def edges(self) -> Iterator[Expr]:
        """Which of the writes to small parts are to borders."""
        if not self.wide or not self.thin:
            return
        if self._stays() and self._is_read():
            yield from self.thin
            return
        places = [(n.op, elements(region_of(n))) for n in self.thin]
        times = Counter(places)
        yield from (n for n, place in zip(self.thin, places, strict=True) if times[place] > 1)

    def _stays(self) -> bool:
        """Was something there before?"""
        return self.begun.op is None and not self.begun.buf.unwritten

    def _is_read(self) -> bool:
        """Is it read at other elements than those where something large is written?"""
        wide = {elements(region_of(n)) for n in self.wide}
        return any(geo.nbytes * THIN > self.begun.nbytes and elements(geo) not in wide for geo in self.reads)


def _arrays(nodes: Sequence[Expr]) -> list[_Array]:
    """Those of several axes of which parts are written, some of them small."""
    of: dict[int, _Array] = {}
    arrays = list[_Array]()
    for node in nodes:
        old = node.old
        if old is None:
            continue
        array = of.get(id(old))
        if array is None:
            array = of[id(old)] = _Array(old, [], [], [])
            arrays.append(array)
        of[id(node)] = array
        if is_thin(node):
            array.thin.append(node)
        elif not node.covers and region_of(node).ndim > 1:
            array.wide.append(node)
    if any(array.wide and array.thin for array in arrays):
        for node in nodes:
            for i in node.inputs:
                if i.__class__ is Read and id(i.expr) in of:
                    of[id(i.expr)].reads.append(i.geo)
    return arrays
