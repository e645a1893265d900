"""Next sweeps: what is computed to write an array anew runs with the rest of that, not with writes before.

In:  the nodes of an evaluation, who asks for values.   Out: by node, the buffers whose writers it is not to
join.
``v[1:-1] = 2 * u[1:-1] - v[1:-1] + near(u)`` after a write to ``u[1:-1]``: the loops of that one have the
first product's elements in registers, but all else that the write to `v` reads of `u` is beside them.  So
that has loops of its own, which load these elements as well; a product that ran with the sweep before would
be stored for it, and read again, for nothing.  Nor does what is computed for a write run with one before to
the same buffer: where sweeps take turns (`turns`) that is of the sweep before the last one, which has at hand
what ``0.1 * c`` is made of, say, and would store the product for the next one but one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.group import Access, Asked


class Sweep:
    """Writes, and what is computed for them alone, element by element."""

    __slots__ = ("into", "reads", "writes", "beside", "into_buffers")

    def __init__(self) -> None:
        self.into: Sweep | None = None
        """Another one that it has become a part of."""
        self.reads: list[Read] = []
        """What it reads of values that were written."""
        self.writes: dict[int, Expr] = {}
        """By serial."""
        self.beside: dict[int, numpy.ndarray | None] | None = None
        """By identity of a buffer, once somebody asked: what it reads of it; None for parts that overlap."""
        self.into_buffers = set[int]()
        """By identity, once somebody asked, where its writes go, if it reads such parts."""

    def join(self, other: Sweep) -> None:
        other.into = self
        self.reads += other.reads
        self.writes |= other.writes

    def only(self) -> Expr | None:
        """The write, if it is one."""
        sweep = self.whole()
        return next(iter(sweep.writes.values())) if len(sweep.writes) == 1 else None

    def whole(self) -> Sweep:
        """What it has become a part of."""
        sweep = self
        while sweep.into is not None:
            sweep = sweep.into
        return sweep

    def is_next(self, stores: Sequence[Access], memory: Memory) -> bool:
        """Does it read parts of a buffer that overlap, where one of these writes?  Or does one write to a
        buffer that this one writes to, as the sweep before the last one does where they take turns?"""
        sweep = self.whole()
        found = sweep.beside
        if found is None:
            found = sweep.beside = {}
            for read in sweep.reads:
                key = id(memory.key(read.expr))
                part = found.setdefault(key, read.geo)
                if part is not None and part is not read.geo and not memory.harmless(part, read.geo):
                    found[key] = None
            if any(part is None for part in found.values()):    # (nobody may compare geometries)
                sweep.into_buffers = {id(memory.key(write)) for write in sweep.writes.values()}
        for store in stores:
            key = id(store.key)
            if key in found and found[key] is None:
                return True
            if key in sweep.into_buffers and not sweep._goes_on(store.value):
                return True
        return False

    def _goes_on(self, value: Expr) -> bool:
        """Is that one of the writes, or what one of them changes?"""
        return value.serial in self.writes or any(write.old is value for write in self.writes.values())


def sweeps_of(nodes: Sequence[Expr], asked: Asked) -> dict[int, Sweep]:
    """By serial: writes, and what is computed for writes alone.

    (Few functions are called for each node: where nothing sweeps that is all in vain.)"""
    of: dict[int, Sweep] = {}
    apart: dict[int, bool] = {}
    writes = 0
    for node in reversed(nodes):
        serial, sweep = node.serial, None
        if node.old is not None:
            sweep = of[serial] = Sweep()
            sweep.writes[serial] = node
            writes += 1
        elif serial in of:
            if serial in apart or serial in asked or node.op.__class__ is not Map:
                del of[serial]
            else:
                sweep = of[serial]
                while sweep.into is not None:
                    sweep = sweep.into
        for i in node.inputs:
            if i.__class__ is not Read:
                continue
            value, geo = i.expr, i.geo
            if value.op is None:
                continue
            made = value.region
            if sweep is None or made is None:
                apart[value.serial] = True
            elif value.old is not None:
                sweep.reads += (i,)
            elif geo.shape != made.shape or geo.strides != made.strides:
                apart[value.serial] = True
            elif value.serial not in of:
                of[value.serial] = sweep
            else:
                other = of[value.serial]
                while other.into is not None:
                    other = other.into
                if other is not sweep:
                    sweep.join(other)
    return of if writes > 1 else {}
