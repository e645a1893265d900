"""Turns: sweeps over one array that take turns with two buffers, so that none overwrites what it reads.

In:  the nodes of an evaluation, who asks for values.   Out: `Turns`.
``u[1:-1] = f(u[2:], u[:-2])`` in place is two groups: one that computes, one that copies the results where
they belong.  Where such sweeps follow each other, every other one writes to another buffer instead, which
takes the place of NumPy's temporary: then each is one group.  An even number of them ends where it began.
A sweep may be several writes, of which the first computes and others copy borders, say; all sweeps make the
same writes.  So what none of them writes is the same in both buffers, once it was copied to the new one
(`margins`), and all else must be written anew by each sweep before somebody reads it.  Whether it is, a
small array with the same borders tells, on which one sweep is gone through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy

from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion.following import NEAR
from lazyarr.fusion.group import Asked, region_of
from lazyarr.fusion.sweeps import LONGEST, below, shifts
from lazyarr.fusion.whole_launches import note
from lazyarr.geometry import elements, offset_of
from lazyarr.records import NamedTuple, dataclass, field

BORDER = 8
"""A border is at most so wide, and the small array has as much besides two of them."""

SLACK = 1 << 20
"""Bytes by which the other buffer may be larger than NumPy's temporary."""

Fits = Callable[[int, int, int, int, bool], int]
"""How many sweeps run together, given the bytes by which one has to follow another, how many rows there are,
the bytes of those by which it follows in all arrays, how many these are, and whether others write borders."""

Margin = tuple[tuple[int, ...], str, int, tuple[int, ...]]
"""What is copied to a new buffer: shape, type, offset, strides."""


class Turn(NamedTuple):
    """The first write of a sweep, and where its value lives."""

    source: Expr | None
    """The value whose buffer it takes: the one before the last sweep's.  None: a new buffer."""
    margins: tuple[Margin, ...] = ()
    """What a new one has in common with the old value's: of the first sweep of a run, for which there may be
    none if NumPy ran the sweeps before."""


@dataclass(slots=True)
class Turns:
    """Which sweeps take turns."""

    first: dict[int, Turn] = field(default_factory=dict)
    """By serial of the first write of a sweep."""
    runs: list[list[Expr]] = field(default_factory=list)
    """Writes of sweeps that are to run together: their values live between them alone, so they must be in one
    step.  The runs of one array share the other buffer."""
    begin: set[int] = field(default_factory=set)
    """Serials of the first write of each run."""
    led: bool = True
    """May what makes an array run with the first sweeps over it (`leading`)?"""

    def sources(self) -> Iterator[tuple[Expr, Expr | None]]:
        """The first writes of sweeps, oldest first, each with the value whose buffer it takes."""
        for run in self.runs:
            yield from ((n, self.first[n.serial].source) for n in run if n.serial in self.first)


def turns(nodes: Sequence[Expr], asked: Asked, fits: Fits, groups: int) -> Turns:
    """Sweeps of these nodes that take turns.

    How many have one new buffer, `fits` says; and they are no more than so many `groups`."""
    found = Turns()
    swept = _swept(nodes, asked, fits, groups)
    for array in swept:
        note(array.writes[: array.length], 2 * array.most)
    for together in _together(swept):
        runs = list(_runs(max(a.sweeps for a in together), min(a.most for a in together)))
        for array in together:
            at, length = 0, array.length
            other: Expr | None = None           # what lies in the other buffer when a run begins
            for sweeps in runs:
                mine = min(sweeps, (array.sweeps - at) // 2 * 2)
                if not mine:
                    break
                writes = array.writes[at * length : (at + mine) * length]
                _enter(found, writes, length, Turn(other, array.margins))
                other, at = writes[-length - 1], at + mine
    return found


class _Swept(NamedTuple):
    """An array that several sweeps go over."""

    writes: list[Expr]
    """From the first one of a sweep on."""
    length: int
    """Of a sweep, in writes."""
    margins: tuple[Margin, ...]
    most: int
    """How many pairs of sweeps run together at most."""
    reads: set[int]
    """What is swept over and read by a sweep: what its arrays held at first, by identity."""
    begun: int
    """What it held itself."""

    @property
    def sweeps(self) -> int:
        """How many there are."""
        return len(self.writes) // self.length


def _swept(nodes: Sequence[Expr], asked: Asked, fits: Fits, groups: int) -> list[_Swept]:
    """The arrays whose sweeps may take turns."""
    found = list[_Swept]()
    readers: _Readers | None = None
    written = list(_written(nodes))
    bases = {id(writes[0].old) for writes in written}
    for writes in written:
        sweep = _sweep_of(writes, asked)
        if sweep is None:
            continue
        length, at = sweep
        frame = _frame(writes[at])
        if frame is None or not _spared(writes[at], asked):
            continue
        if length > 1 and readers is None:
            readers = _readers(nodes)
        count = (len(writes) - at) // length
        if readers is not None and length > 1 and not all(
            _complete(writes[k : k + length], readers, frame) for k in range(at, at + count * length, length)
        ):
            continue
        margins = tuple(_margins(writes[at : at + length], frame))
        region = writes[at].region
        assert region is not None           # (rows that it leaves out are as many as it reads nearby)
        beside = max(1, (frame.shape[0] - region.shape[0]) // 2)
        rows = _rows(writes[at + length :][:length], bases)
        each = sum(row << (key in bases) for key, row in rows.items())
        fit = fits(beside * frame.strides[0], frame.shape[0], beside * each, beside, length > 1)
        most = max(1, min(fit, groups // length) // 2)
        found.append(_Swept(writes[at:], length, margins, most, bases & rows.keys(), id(writes[0].old)))
    return found


def _together(swept: Sequence[_Swept]) -> list[list[_Swept]]:
    """Arrays whose sweeps read one another: their runs end at one place of the program, else those of one
    would end within the other's."""
    arrays = {array.begun: array for array in swept}
    group_of = {begun: [array] for begun, array in arrays.items()}
    for array in swept:
        for begun in array.reads & arrays.keys():
            mine, other = sorted((group_of[array.begun], group_of[begun]), key=len)
            if mine is not other:
                other += mine
                group_of.update(dict.fromkeys((each.begun for each in mine), other))
    return [*{id(group): group for group in group_of.values()}.values()]


def _runs(count: int, most: int) -> Iterator[int]:
    """So many sweeps as runs of no more pairs than that, of about one length."""
    while count > 1:
        pairs = count // 2
        yield (mine := 2 * -(-pairs // -(-pairs // most)))
        count -= mine


def _rows(sweep: Sequence[Expr], swept: Collection[int]) -> dict[int, int]:
    """Bytes of a row of all that one sweep (not the first) reads from memory, and of what is swept over."""
    rows: dict[int, int] = {}
    for node in (n for write in sweep for n in below(write)):
        for i in node.inputs:
            if isinstance(i, Read) and i.geo.ndim == region_of(sweep[0]).ndim and i.geo.shape[0] > 1:
                value = i.expr
                while value.op is not None and value.old is not None:
                    value = value.old
                if value.op is None or id(value) in swept:
                    rows[id(value)] = max(rows.get(id(value), 0), abs(i.geo.strides[0]))
    return rows


def _enter(found: Turns, writes: Sequence[Expr], length: int, first: Turn) -> None:
    """One run of sweeps: they write to the other buffer, and back, and so on."""
    base = writes[0].old
    found.runs.append(list(writes))
    found.begin.add(writes[0].serial)
    for k in range(0, len(writes), length):
        turn = first if not k else Turn(base if k == length else writes[k - length - 1])
        found.first[writes[k].serial] = turn


def _written(nodes: Sequence[Expr]) -> Iterator[list[Expr]]:
    """For each array of which parts are written, the writes, where each changes what the last one left."""
    found: dict[int, list[Expr]] = {}
    for node in nodes:
        if node.old is not None:
            writes = found.pop(id(node.old), [])
            writes.append(node)
            found[id(node)] = writes
    return (writes for writes in found.values() if len(writes) > 1)


def _sweep_of(writes: Sequence[Expr], asked: Asked) -> tuple[int, int] | None:
    """How many writes make a sweep, and with which the first one begins: the last writes repeat it."""
    last = len(writes) - 1
    if any(node.serial in asked for node in writes[:-1]):
        return None
    same_as = [(n.op, n.masked, n.covers, elements(n.region)) for n in writes if n.region is not None]
    for length in range(1, min(LONGEST, len(writes) // 2) + 1):
        begin = last + 1 - length
        while begin and same_as[begin - 1] == same_as[begin - 1 + length]:
            begin -= 1
        if begin + 2 * length <= last + 1:
            starts = [k for k in range(begin, begin + length) if shifts(writes[k])]
            return (length, starts[0]) if len(starts) == 1 else None
    return None


def _spared(write: Expr, asked: Asked) -> bool:
    """Has NumPy a temporary in the place of which the other buffer may be?"""
    made = (n.nbytes for n in below(write) if n is not write and n.serial not in asked)
    return max(made, default=0) + SLACK >= write.nbytes


class _Frame(NamedTuple):
    """The axes of an array, by its strides."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any

    @property
    def small(self) -> tuple[int, ...]:
        """The shape of the small array."""
        return tuple(min(n, 3 * BORDER) for n in self.shape)

    def bounds(self, geo: numpy.ndarray) -> list[tuple[int, int]] | None:
        """Where a part of the array begins and ends along each axis; None for what is no such part."""
        if geo.dtype != self.dtype or not geo.size:
            return None
        at, offset, left = 0, offset_of(geo), list(zip(geo.shape, geo.strides, strict=True))
        found = []
        for n, stride in zip(self.shape, self.strides, strict=True):
            begin, offset = divmod(offset, stride)
            extent = 1
            while at < len(left) and left[at][0] == 1:
                at += 1
            if at < len(left) and left[at][1] == stride:
                extent, at = left[at][0], at + 1
            if begin + extent > n:
                return None
            found.append((begin, begin + extent))
        at += sum(n == 1 for n, _ in left[at:])
        return found if at == len(left) and not offset else None

    def part(self, geo: numpy.ndarray) -> tuple[slice, ...] | None:
        """The same part of the small array."""
        bounds = self.bounds(geo)
        if bounds is None:
            return None
        found = []
        for n, few, ends in zip(self.shape, self.small, bounds, strict=True):
            if any(BORDER < end < n - BORDER for end in ends) and n > few:
                return None
            found.append(slice(*[end if end <= BORDER or n == few else few - (n - end) for end in ends]))
        return tuple(found)


def _frame(write: Expr) -> _Frame | None:
    """The axes along which a write goes, of the whole array; in C order."""
    region = write.region
    assert region is not None
    strides = region.strides
    if not strides or strides[-1] != region.itemsize or min(region.shape) < 2 or max(region.shape) < NEAR:
        return None                         # (too few rows run one by one)
    outer = (write.nbytes, *strides)
    pairs = list(zip(outer, strides, strict=False))
    if any(stride <= 0 or large % stride or large == stride for large, stride in pairs):
        return None
    frame = _Frame(tuple(large // stride for large, stride in pairs), strides, region.dtype)
    return frame if frame.part(region) is not None else None


_Readers = dict[int, list[tuple[Expr, numpy.ndarray]]]
"""By id of a value, who reads it, and where."""


def _readers(nodes: Sequence[Expr]) -> _Readers:
    """Those of all writes."""
    found: _Readers = {id(n): [] for n in nodes if n.old is not None}
    for node in nodes:
        for i in node.inputs:
            if isinstance(i, Read) and id(i.expr) in found:
                found[id(i.expr)].append((node, i.geo))
    return found


def _complete(sweep: Sequence[Expr], readers: _Readers, frame: _Frame) -> bool:
    """Is all that one sweep writes there before it is read, and at the end?

    What is copied before it is there must be written again."""
    there = numpy.ones(frame.small, bool)
    parts = []
    for node in sweep:
        part = frame.part(node.region) if node.region is not None and isinstance(node.op, Map) else None
        if part is None:
            return False
        parts.append(part)
        there[part] = False
    for k, (node, part) in enumerate(zip(sweep, parts, strict=True)):
        copied = _copied(node, sweep[k - 1], frame) if k else None
        if copied is not None:
            there[part] = there[copied].reshape(there[part].shape)
        elif not (node.masked and k):
            there[part] = True
        for reader, geo in readers[id(node)] if k + 1 < len(sweep) else ():
            if reader is sweep[k + 1] and _copied(reader, node, frame) is not None:
                continue                    # (what it copies so is not there either)
            source = frame.part(geo)
            if source is None or not there[source].all():
                return False
    return bool(there.all())


def _copied(node: Expr, value: Expr, frame: _Frame) -> tuple[slice, ...] | None:
    """The part of a value that a write but moves elsewhere, element by element."""
    op, i, region = node.op, node.inputs[0], node.region
    if not isinstance(op, Map) or op.name != "copy" or op.sig[0] != op.sig[-1] or node.masked:
        return None
    if not isinstance(i, Read) or i.expr is not value or region is None or i.geo.shape != region.shape:
        return None
    return frame.part(i.geo)


def _margins(sweep: Sequence[Expr], frame: _Frame) -> Iterator[Margin]:
    """What surrounds the first write of a sweep, axis by axis, if the sweep does not write all of it."""
    there = numpy.zeros(frame.small, bool)
    for node in sweep:
        part = frame.part(node.region) if node.region is not None else None
        assert part is not None
        there[part] = True
    if there.all():
        return
    assert sweep[0].region is not None
    bounds = frame.bounds(sweep[0].region)
    assert bounds is not None
    shape, offset = list(frame.shape), 0
    for d, (low, high) in enumerate(bounds):
        for begin, end in ((0, low), (high, frame.shape[d])):
            if begin < end:
                where = offset + begin * frame.strides[d]
                yield (*shape[:d], end - begin, *shape[d + 1 :]), frame.dtype.str, where, frame.strides
        shape[d], offset = high - low, offset + low * frame.strides[d]
