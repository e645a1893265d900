"""Bufferize: where new values live, decided at run time in destination-passing style.

In:  the nodes of one step and which of them are stored.   Out: a buffer for each.
In the old value's buffer when nobody else needs the old value; in a copy of it when somebody does
and the write covers only a part; in a dying input of the same layout; else in fresh memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from weakref import ReferenceType

import numpy

from lazyarr.expr import Expr, Map, Read
from lazyarr.geometry import same
from lazyarr.resting import COLLECTING
from lazyarr.switches import is_off
from lazyarr.values import Buffer, Ring, is_held

if TYPE_CHECKING:                   # NumPy's evaluations need no plans
    from lazyarr.fusion.turns import Margin
    from lazyarr.ring_pages import Pattern

IN_PLACE = not is_off("inplace")

IN_PLACE_BYTES = 1 << 15
"""Bytes of a result that takes a dying input's memory, where NumPy computes it: to hold signals meanwhile
takes longer than what is smaller.  (NumPy's own operators do it for eight times as many.)"""


class Placement:
    """The buffers of one step: `buffers` by serial, and the value that each was `taken` from.

    Members `waiting` stay pending: they are held, and spared for now (`temporaries`), or `staying` for steps
    that compute them again."""

    __slots__ = ("buffers", "taken", "members", "waiting", "ended")

    def __init__(self, members: Sequence[Expr], stored: set[int], staying: Collection[int] = ()) -> None:
        self.buffers: dict[int, Buffer] = {}
        self.taken: dict[int, Expr] = {}
        self.ended: set[int] = set()            # what was taken from, by identity
        self.members = {n.serial for n in members}
        self.waiting: set[int] = {*staying}
        for node in reversed(members):
            if node.serial in stored:
                continue
            storage = None if node.home is None else node.home()        # (`is_held`, written out)
            if node.serial in self.waiting or (storage is not None and storage.value is node):
                self.waiting.add(node.serial)
                self.waiting.update(value.serial for value in node.needs())
        self.waiting -= stored

    def of(self, value: Expr) -> Buffer:
        """The buffer of a value, which this step may be about to make."""
        found = self.buffers.get(value.serial)
        if found is None:
            found = value.buf
            assert found is not None
        return found

    def place(self, node: Expr, reusable: Iterable[Expr]) -> None:
        """Choose the buffer of one stored node, which may be that of an input that is `reusable`."""
        old, covers = node.old, node.covers
        while old is not None and old.buf is None and old.serial not in self.buffers:
            # A value of this step that nobody stores: `node` stores all that it wrote.
            covers = covers or old.covers
            old = old.old
        # (A part of what this step itself makes is changed only where nobody else read it when the step
        # was planned; who has come since is about to read the newer value, see Expr.recapture.)
        if old is not None and (
            (old.serial in self.members and not covers) or self._free(old) or _stays(self.of(old))
        ):
            serial = old.serial         # (`of`, `take`, written out)
            self.buffers[node.serial] = self.buffers.get(serial, old.buf)
            self.taken[node.serial] = old
            self.ended.add(id(old))
        elif old is not None and not covers:
            self.buffers[node.serial] = copy_of(self.of(old))
        else:
            dying = self.dying(node, reusable)
            if dying is not None:
                self.take(node, dying)
            self.buffers[node.serial] = Buffer.new(node.nbytes) if dying is None else dying.buf

    def turn(self, node: Expr, source: Expr | None, margins: Iterable[Margin]) -> None:
        """Place a node that takes turns with another buffer (`fusion.turns`): that of `source`, or a new
        one."""
        old = node.old
        assert old is not None
        if source is None or (source.buf is None and source.serial not in self.buffers):
            found, begun = Buffer.new(node.nbytes), self.of(old)
            for shape, char, offset, strides in margins:
                to, of = (numpy.ndarray(shape, char, b.memory, offset, strides) for b in (found, begun))
                to[...] = of
            self.buffers[node.serial] = found
        elif (serial := source.serial) in self.members or self._free(source) or _stays(self.of(source)):
            self.buffers[node.serial] = self.buffers.get(serial, source.buf)    # (`of`, `take`, written out)
            self.taken[node.serial] = source
            self.ended.add(id(source))
        else:
            self.buffers[node.serial] = copy_of(self.of(source))

    def ring(self, node: Expr, kind: Pattern | None) -> None:
        """Place a node that takes turns with another buffer, which only the launch needs."""
        self.buffers[node.serial] = Ring.of(kind, node.nbytes)

    def passing(self) -> set[int]:
        """Serials of values that are gone when the step has run: their rows came round."""
        return {serial for serial, buffer in self.buffers.items() if buffer.comes_round}

    def take(self, node: Expr, value: Expr) -> None:
        """A node's buffer is that of a value, which ends."""
        self.taken[node.serial] = value
        self.ended.add(id(value))

    def _free(self, value: Expr) -> bool:
        """May the step overwrite this value's buffer?  (real.imag is read-only memory.)"""
        if id(value) in self.ended or not self.of(value).memory.flags.writeable:
            return False
        readers = value.readers
        if readers and (self._reads(readers[-1]) or any(map(self._reads, [*readers]))):
            return False                # (the newest first: of thousands, who run in order, it is the last)
        return IN_PLACE or self.of(value).shared()

    def _reads(self, ref: ReferenceType[Expr]) -> bool:
        """Is this a reader that is yet to run, and no part of the step that ends here?  (`Expr.waiting`)"""
        reader = ref()
        return reader is not None and reader.op is not None and (
            reader.serial not in self.members or reader.serial in self.waiting
        )

    def dying(self, node: Expr, reusable: Iterable[Expr]) -> Expr | None:
        """An input that ends in this step and is as large as the result: its buffer is the destination."""
        for value in reusable:
            if (
                not is_held(value)
                and value.buf is not None
                and value.nbytes == node.nbytes
                and not value.buf.shared()
                and self._free(value)
            ):
                return value
        return None


def _stays(buf: Buffer) -> bool:
    """Must the value stay where it is?  (Somebody outside may be writing there.  Its readers ran when it was
    lent; those that other threads are making will read the newer value.)"""
    return buf.shared() and bool(buf.memory.flags.writeable)


def copy_of(source: Buffer) -> Buffer:
    copy = Buffer.new(source.nbytes)
    copy.memory[:] = source.memory
    return copy


def place_single(node: Expr) -> tuple[Buffer, Expr | None]:
    """Where the value of a node that runs alone lives: (buffer, the value it was taken from or None)."""
    old, surely = node.old, not COLLECTING.is_unsure()
    if (
        old is not None
        and old.buf is not None
        and old.buf.memory.flags.writeable
        and ((surely and not old.waiting(node)) or _stays(old.buf))
    ):
        return old.buf, old
    if builds_on_old(node):
        assert old is not None
        return copy_of(old.buf), None
    if surely and isinstance(node.op, Map) and node.nbytes >= IN_PLACE_BYTES and not _single(node):
        for value in _ending(node):
            return value.buf, value
    return Buffer.new(node.nbytes), None


def builds_on_old(node: Expr) -> bool:
    """Must the old bytes be in the node's buffer when it runs?

    Also for a single element computed in place: where the result lies apart, NumPy's loop sees another
    stride (`inner_strides`)."""
    if not node.covers or not _single(node):
        return not node.covers
    return any(isinstance(i, Read) and i.expr is node.old for i in node.inputs)


def _single(node: Expr) -> bool:
    return node.region is not None and node.region.size == 1


def _ending(node: Expr) -> Iterator[Expr]:
    """Inputs of an elementwise node that end with it and lie as its result will: NumPy's elision."""
    region = node.region
    assert region is not None
    reads = [i for i in node.inputs if isinstance(i, Read)]
    for read in reads:
        value = read.expr
        if (
            value.nbytes == node.nbytes
            and same(read.geo, region)
            and all(other.expr is not value or same(other.geo, region) for other in reads)
            and not is_held(value)
            and value.buf.memory.flags.writeable
            and not value.buf.shared()
            and not value.waiting(node)
        ):
            yield value
