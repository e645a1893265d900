"""Short ways to replays: for calls with arguments like those of the call before.

In:  arguments of a call.   Out: what the function returns; `MISFIT` where a longer way is to find out.
The long way makes a key of layouts and asks, launch by launch, where each cell lies.  Where arrays are
large, all of that follows from geometries, most of which are the same objects from call to call, and from
what is known of the launches (`Short`): what remains is to take memory and to fill in addresses.  Small
replays look at layouts themselves (`Last`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.awaited import Awaited
from lazyarr.compiling.calling import MISFIT, WARNED, replayed, warned
from lazyarr.compiling.interpret import Link
from lazyarr.compiling.known import RUNTIME, Key, Known, by_value
from lazyarr.compiling.large import Large
from lazyarr.compiling.places import Cell, Launch
from lazyarr.compiling.replay import Flagged, Replay, converted
from lazyarr.config import OBSERVED, is_observed, plan_key
from lazyarr.error_state import look, loud, remembered
from lazyarr.expr import LOCK
from lazyarr.fusion.structure import by_contents
from lazyarr.geometry import address, offset_of
from lazyarr.known_steps import Bound
from lazyarr.launch import put_scalar
from lazyarr.ready import entered
from lazyarr.records import NamedTuple
from lazyarr.values import Buffer

PAYS, WRITING_PAYS = 100, 100
"""Calls that Python does, after which machine code for them is looked for in the cache; and more, after which
it is compiled, in 20 ms."""

EACH_SMALL = 8
"""Calls of small replays that count as one: they run nothing that drives Python out of the caches."""

SETTLED, LOOKED = 4, 256
"""The how manieth call the code is told of, and after how many more again."""


class Swift(Awaited):
    """Machine code for such calls (`swift_replay`), once there were enough that Python did."""

    def __init__(self) -> None:
        super().__init__(PAYS, WRITING_PAYS)
        self.code: Any = None

    def load(self, compiles: bool) -> bool:
        from lazyarr.compiling.swift_replay import load

        self.code = load(compiles)
        return self.code is not None


SWIFT = Swift()


class Filled(NamedTuple):
    """A launch that was run before (`bound.Known`), by places."""

    bound: Bound
    addresses: tuple[tuple[int, int, int], ...]
    """Which words, whose addresses, how many bytes behind them."""
    numbers: tuple[tuple[Sequence[int], int, type], ...]
    """The first words of numbers, where these are among the call's, and their types."""


class Once(NamedTuple):
    """A launch; memory goes by places: first those of arguments, then those of other cells."""

    launch: Launch
    takes: tuple[tuple[int, int], ...]
    """Places that take memory for it, and how many bytes."""
    streamed: tuple[int, ...]
    """What may be stored past the caches where pages are warm."""
    ends: tuple[int, ...]
    """Places that give their memory back after it."""
    filled: list[Filled | None]
    """What is known where some of these pages are cold, and where all are warm."""


class Itself(NamedTuple):
    """How an argument looks that counts by its value."""

    x: Any

    def is_of(self, x: Any) -> bool:
        return x is self.x or (x.__class__ is self.x.__class__ and by_value(x) == by_value(self.x))


class Layout(NamedTuple):
    """How an array looks that is memory, not a place in some."""

    kind: type
    """NumPy's arrays, or ours."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: numpy.dtype[Any]

    def is_of(self, x: Any) -> bool:
        if x.__class__ is not numpy.ndarray or x.shape != self.shape or x.strides != self.strides:
            return False
        return x.dtype is self.dtype and not address(x) % x.dtype.alignment


class Way:
    """A way to a replay, as long as the options are those of now."""

    is_small = False

    def __init__(self, known: Known, key: Key, replay: Any, looks: Sequence[Any]) -> None:
        self.known, self.key, self.replay, self.options = known, key, replay, plan_key()
        self.looks = looks
        self.count = len(looks) if known.simple and not known.outside.inputs else -1
        """Where so many arguments are given, by place, they are all that there is to look at."""
        self.row: numpy.ndarray | None = None
        """What machine code goes by (`swift_replay`)."""
        self._refers: Any = None
        """What the row's words refer to, which lives as long."""
        self._seen = 0
        """How many calls Python has done by it."""

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """What a call gives, with the options of now; `MISFIT`, or a `Misfit`, where it is another one."""
        raise NotImplementedError

    def swift(self, args: tuple[Any, ...]) -> Any:
        """What machine code gives for a call; None where Python is to do it."""
        if self.is_small:                       # (no other thread runs meanwhile, and its row stays)
            found = self._called(args)
        else:
            with LOCK:                          # as all evaluations; a fork waits for it
                found = self._called(args)
        if found is False:
            raise Flagged
        return found

    def _called(self, args: tuple[Any, ...]) -> Any:
        row = self.row
        return None if row is None else SWIFT.code.call(row, args, plan_key())

    def _tell(self) -> bool:
        """Let machine code know of this way, unless it is under way: was it told?"""
        with LOCK:                              # no other thread's call goes by the row of before meanwhile
            if self.is_small and self.row is not None:      # (these calls take no lock: their row stays)
                return True
            found = SWIFT.code.row(self)
            if found is False or SWIFT.code.busy():         # (perhaps by a signal's handler within a call)
                return False
            self.row, self._refers = found or (None, None)
            return True


class Short(Way):
    """The way to a large replay."""

    def __init__(self, known: Known, key: Key, replay: Large, looks: Sequence[Any]) -> None:
        super().__init__(known, key, replay, looks)
        self.begins = [*map(_begin, looks, replay.offsets)]
        self.homes: list[Any] = [None] * len(looks)
        """What has each place when a call begins."""
        self._places: dict[int, int] = {}
        self.results = [
            (self._place(cell), cell.nbytes, make)
            for cell, make in zip(replay.placed.results, replay.makes, strict=True)
        ]
        self.launches = [self._once(each) for each in replay.launches]
        self._filled = 0
        self._nbytes = max(map(_nbytes, looks), default=0)

    def _place(self, cell: Cell) -> int:
        if cell.kind == "input":
            return cell.at
        place = self._places.get(id(cell))
        if place is None:
            place = self._places[id(cell)] = len(self.homes)
            self.homes.append(cell.constant)
        return place

    def _once(self, each: Launch) -> Once:
        before = len(self.homes)
        cells = {self._place(cell): cell for cell in each.used()}
        takes = [(k, cells[k].nbytes) for k in range(before, len(self.homes)) if self.homes[k] is None]
        streamed = [self._places[key] for key in self.replay.streamed[id(each)] if key in self._places]
        ends = [self._place(cell) for cell in each.ends]
        return Once(each, tuple(takes), tuple(streamed), tuple(ends), [None, None])

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """What a call gives, with the options of now and the error state that NumPy begins with."""
        if self.row is not None and sys.gettrace() is None:
            found = self.swift(args)
            if found is not None:
                return found
        self._hear()
        if len(args) != len(self.looks) or not self.known.holds():
            return MISFIT
        state = look()
        observed = bool(OBSERVED) and is_observed()
        if observed or state[4] or state[5] is not None or sys.gettrace() is not None:
            return MISFIT
        if plan_key() is not self.options:
            return MISFIT
        replay: Large = self.replay
        numbers = [] if replay.numbers is None else replay.numbers(args)
        with LOCK:                              # as all evaluations; a fork waits for it
            homes = self.homes[:]
            for k, seen in enumerate(self.looks):
                x: Any = args[k]
                if x.__class__ is ndarray:
                    if x.storage is None:
                        x = homes[k] = x.geo
                    elif x.geo is seen or _is_alike(x.geo, seen):
                        buf = homes[k] = x.storage.value.buf
                        if buf.__class__ is not Buffer or buf.is_odd():
                            return MISFIT       # (it is pending, or lies elsewhere)
                        continue
                    else:
                        return MISFIT
                elif x.__class__ is numpy.ndarray:
                    homes[k] = x
                elif x.__class__ is seen:
                    continue
                if seen.__class__ is Itself:
                    if not seen.is_of(x):
                        return MISFIT
                elif seen.__class__ is not Layout or args[k].__class__ is not seen.kind or not seen.is_of(x):
                    return MISFIT
            for k, nbytes, make in self.results:
                homes[k] = Buffer.new(nbytes) if make is None else make[0](*make[1])
            raised = 0
            for each in self.launches:
                for k, nbytes in each.takes:
                    homes[k] = Buffer.new(nbytes)
                warm = True
                for k in each.streamed:
                    home = homes[k]
                    warm = warm and home.__class__ is Buffer and home.recycled
                filled = each.filled[warm] or self._fill(each, warm)
                if filled is None:
                    return MISFIT
                words = filled.bound.words[:]
                for word, k, offset in filled.addresses:
                    home = homes[k]
                    words[word] = (home.address if home.__class__ is Buffer else address(home)) + offset
                for firsts, number, type_ in filled.numbers:
                    put_scalar(words, firsts, converted(type_, numbers[number]))
                for flags in entered(filled.bound, words):
                    raised |= flags
                for k in each.ends:
                    homes[k] = None
        if raised & WARNED:
            raise Flagged
        return replay.build([homes[k] for k, _, _ in self.results], args, numbers)

    def _hear(self) -> None:
        """Python does one more call."""
        if SWIFT.code is None:
            SWIFT.hear(nbytes=self._nbytes)
            return
        self._seen += 1
        known = [sum([each is not None for each in once.filled]) for once in self.launches]
        filled = sum(known) if all(known) else 0
        more = self.row is not None and filled != self._filled
        if filled and (more or self._seen % LOOKED == SETTLED) and self._tell():
            self._filled = filled

    def _fill(self, each: Once, warm: bool) -> Filled | None:
        """What the replay knows of a launch; None if it has not met such a one yet."""
        known = self.replay.known.get((id(each.launch), warm, self.options))
        if known is None:
            return None
        addresses = [(word, self._place(cell), offset) for word, cell, offset in known.addresses]
        begins = dict(enumerate(self.begins))
        addresses = [(word, k, offset + begins.get(k, 0)) for word, k, offset in addresses]
        given = [(firsts, each.launch.scalars[part][k]) for firsts, (part, k) in known.numbers]
        found = each.filled[warm] = Filled(
            known.bound, tuple(addresses),
            tuple([(k, self.replay.places[s.ref], s.type) for k, s in given if isinstance(s, Link)]),
        )  # fmt: skip
        return found


def _nbytes(look: Any) -> int:
    """Of an argument that looks so."""
    if look.__class__ is Layout:
        return math.prod(look.shape) * look.dtype.itemsize
    return look.nbytes if look.__class__ is numpy.ndarray else 0


def looks_of(args: Sequence[Any], known: Known) -> list[Any] | None:
    """How arguments look: geometries of arrays, layouts of those that are memory, types of numbers, what
    counts by its value itself; None where there is something else."""
    found = list[Any]()
    for k, x in enumerate(args):
        kind: Any = x.__class__
        if kind is ndarray and x.storage is not None:
            found.append(x.geo)
        elif kind is ndarray or kind is numpy.ndarray:
            memory = x.geo if kind is ndarray else x
            found.append(Layout(kind, memory.shape, memory.strides, memory.dtype))
        elif kind in RUNTIME and k not in known.pinned:
            found.append(kind)
        elif by_value(x) is not None:
            found.append(Itself(x))
        else:
            return None
    return found


class Last(Way):
    """The way to a small replay: for NumPy's arrays and small lazy ones."""

    is_small = True

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """What a call gives; a `Misfit` where a layout is another one."""
        if self.row is not None and sys.gettrace() is None:
            found = self.swift(args)
            if found is not None:
                return found
        if len(args) != len(self.looks) or not self.known.holds():
            return MISFIT
        memory, writes = [], self.replay.written
        for x, seen in zip(args, self.looks, strict=True):
            c = seen.__class__
            if c is Layout:
                if x.__class__ is not seen.kind or (seen.kind is ndarray and x.storage is not None):
                    return MISFIT
                memory.append(x.geo if seen.kind is ndarray else x)
                if writes and not seen.is_of(memory[-1]):
                    return MISFIT
            elif x.__class__ is not seen and (c is not Itself or not seen.is_of(x)):
                return MISFIT
        if plan_key() is not self.options or is_watched():
            return MISFIT
        self._hear()
        return replayed(self.replay, args) if writes else self.replay(args, memory, warned(), False)

    def _hear(self) -> None:
        """Python does one more call."""
        self._seen += 1
        if SWIFT.code is None:
            if self._seen % EACH_SMALL == 0:
                SWIFT.hear()
        elif self.row is None and self._seen % LOOKED == SETTLED:
            self._tell()


def is_watched() -> bool:
    """Does somebody look on, or must NumPy itself see to floating-point errors?

    (Of an underflow kernels do not tell, where a number becomes a constant of a shorter type.)"""
    state = remembered()
    return (
        (bool(OBSERVED) and is_observed()) or sys.gettrace() is not None or loud()
        or (state is not None and state["under"] == "warn")
    )


def short_way(known: Known, key: Key, replay: Replay, args: Sequence[Any]) -> Way | None:
    """The way for calls like one that was just made; None where there is more to be looked at."""
    large = isinstance(replay, Large)
    looks = None if large and replay.written else looks_of(args, known)
    if looks is None:
        return None
    kind: type[Way] = Last
    if isinstance(replay, Large):
        kind = Short
        if len(replay.known) < len(replay.launches):
            return None
        if any(look.__class__ is numpy.ndarray and offset_of(look) % look.dtype.alignment for look in looks):
            return None
    elif any(look.__class__ is numpy.ndarray for look in looks):
        return None                             # (a geometry: no memory itself)
    way: Way | None = replay.short
    if way is None or way.options is not plan_key() or not all(map(_is_alike, way.looks, looks)):
        way = replay.short = kind(known, key, replay, looks)
    return way


def _is_alike(one: Any, other: Any) -> bool:
    if one is other or one.__class__ is not other.__class__:
        return one is other
    if one.__class__ is numpy.ndarray:          # (of a view, which may be a new one in each call)
        return by_contents(one) == by_contents(other)
    if one.__class__ is Itself:
        return bool(one.is_of(other.x))
    return one.__class__ is Layout and bool(one == other)


def _begin(look: Any, offset: int) -> int:
    """Bytes from where an argument's memory begins to the first one that kernels know; a replay's offset is
    how far that is before the first element."""
    return offset_of(look) - offset if look.__class__ is numpy.ndarray else -offset
