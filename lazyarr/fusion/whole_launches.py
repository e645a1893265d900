"""Whole launches: where loops of sweeps are cut, so that as many pend as whole ones have room for.

In:  the last writes to some arrays; what plans found to have room in a launch.   Out: up to which writes to
compute.
A launch of the few sweeps that are left over takes nearly as long as one of many, and where sweeps take turns
(`turns`) an odd one goes in place: what it computes is stored, and copied where it belongs.  Arrays that a
program goes through in turn end at one place of it, else one's launches would end within the other's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lazyarr.expr import Expr, Read
from lazyarr.fusion.edges import is_thin
from lazyarr.fusion.group import region_of
from lazyarr.fusion.sweeps import LONGEST, below, shifts
from lazyarr.geometry import elements, same
from lazyarr.records import NamedTuple

MOST_LAUNCHES = 64
"""Writes of which it is known; the oldest is forgotten when there are more."""

_launches: dict[Any, int] = {}
"""By a write of theirs, how many sweeps have room in one launch, as the last plan of such ones had it."""


def forget() -> None:
    """No plan has told anything so far."""
    _launches.clear()


def note(sweep: Sequence[Expr], together: int) -> None:
    """So many sweeps like this one have room in a launch."""
    for place in map(_place, sweep):
        _launches.pop(place, None)              # (the youngest is the last one)
        _launches[place] = together
    while len(_launches) > MOST_LAUNCHES:
        _launches.pop(next(iter(_launches)))


def note_chain(chain: Sequence[Expr]) -> None:
    """These values, the oldest first, were all that had room in a launch.

    Of several arrays it has as many sweeps as of the one that has fewest, but for those of which it has no
    two: what they are is not known."""
    arrays = dict[int, list[Expr]]()
    for write in chain:
        if write.old is not None and not write.covers:
            writes = arrays.pop(id(write.old), [])
            arrays[id(write)] = [write, *writes]
    sweeps, counts = list[list[Expr]](), list[int]()
    for writes in arrays.values():
        length = _length(writes) or len(writes)
        sweeps.append(writes[:length])
        counts.append(len(writes) // length)
    together = min((n for n in counts if n > 1), default=1)
    for sweep in sweeps:
        note(sweep, together)


class _Swept(NamedTuple):
    """An array of which several sweeps pend."""

    sweeps: int
    """So many."""
    at: int
    """Which one of those given it is."""
    length: int
    """Writes of a sweep."""
    begun: int
    """Writes of the last one, of which not all pend so far."""
    writes: list[Expr]
    """The newest first."""

    def end(self, sweeps: int) -> int:
        """Up to which write so many of them go, the first ones."""
        return self.begun + (self.sweeps - sweeps) * self.length


def in_launches(writes: Sequence[Expr]) -> list[Expr]:
    """The last writes to some arrays; or some before them, up to which as many sweeps pend as run in whole
    launches, or at least an even number; and what they leave to the next sweep of the youngest."""
    chains, swept = [*map(_chain, writes)], list[_Swept]()
    launch = 1
    for at, chain in enumerate(chains):
        length = _length(chain) if len(chain) > 2 else 0        # (of two nothing is left over)
        room = length and (_launches.get(_place(chain[0]), 0) or _pairs(chain[:length]))
        if room:
            begun = _begun(chain, length)
            swept.append(_Swept((len(chain) - begun) // length, at, length, begun, chain))
            launch = max(launch, room)
    if not swept:
        return _oldest([chain[_last_whole(chain)] for chain in chains])
    sweeps = _whole(swept, launch)
    if not sweeps:
        return [*writes]
    ends, others = [*writes], list[Expr]()
    array_of = {id(write): at for at, chain in enumerate(chains) for write in chain}
    swept.sort(key=lambda array: array.writes[array.end(sweeps)].serial)    # (the youngest has the last word)
    for array in swept:
        end = array.end(sweeps)
        ends[array.at] = array.writes[end]
        for value in _found(array.writes[max(0, end - array.length) : end], ends[array.at]):
            at = array_of.get(id(value), -1)
            if at < 0:
                others.append(value)
            elif at != array.at:
                ends[at] = value
    return _oldest([*ends, *others])


def _whole(swept: Sequence[_Swept], launch: int) -> int:
    """How many sweeps whole launches have; or at least a number that does not end in place."""
    sweeps = min(array.sweeps for array in swept)
    if sweeps >= launch:                        # (as nearly always: it is not asked what shifts)
        return sweeps // launch * launch
    least = max(_pairs(array.writes[: array.length]) for array in swept) or 1
    return sweeps // least * least


def _pairs(sweep: Sequence[Expr]) -> int:
    """Two, where sweeps go by twos."""
    return 2 if any(map(shifts, sweep)) else 0


def _back(value: Expr) -> Iterator[Expr]:
    """A pending value, and those of the same array that it changed a part of."""
    while value.op is not None:
        yield value
        if value.old is None or value.covers:
            return
        value = value.old


def _chain(write: Expr) -> list[Expr]:
    """A write, and those before it to the same array that pend, too."""
    return [value for value in _back(write) if value.old is not None and not value.covers]


def _length(writes: Sequence[Expr]) -> int:
    """How many writes, newest first, make a sweep; 0 where the last ones do not repeat those before."""
    for length in range(1, min(LONGEST, len(writes) // 2) + 1):
        if all(map(_alike, writes[:length], writes[length : 2 * length])):
            return length
    return 0


def _begun(writes: Sequence[Expr], length: int) -> int:
    """How many of the writes, newest first, are of the next sweep, which begins with a large part after
    borders: 0 where all are of whole ones, or nothing tells which are."""
    thin = [*map(is_thin, writes[:length])]
    return next((k for k, at in enumerate(thin) if at and not thin[k - 1]), 0)


def _last_whole(writes: Sequence[Expr]) -> int:
    """Which one, newest first, ends the last whole sweep: the newest where nothing tells."""
    for length in range(2, min(LONGEST, len(writes) - 1) + 1):
        if all(map(_alike, writes, writes[length:])):
            return _begun(writes, length)
    return 0


def _alike(write: Expr, other: Expr) -> bool:
    """Have they one place?"""
    return write.op == other.op and same(region_of(write), region_of(other))


def _place(write: Expr) -> Any:
    return write.op, elements(region_of(write))


def _found(sweep: Sequence[Expr], end: Expr) -> Iterator[Expr]:
    """The values, of other arrays, that are there before the sweep that is the next one after `end`:
    what it finds, or what was there before others wrote what they made of `end`."""
    found = {read.serial: read for read in _read(sweep)}
    for own in (end, *sweep):
        found.pop(own.serial, None)
    for value in found.values():
        last: Expr | None = value
        for there in _back(value):
            if there.serial < end.serial:
                break
            if end in _read((there,)):
                last = there.old
        if last is not None and last.op is not None:
            yield last


def _read(writes: Sequence[Expr]) -> Iterator[Expr]:
    """The pending values of arrays of which parts were written that some writes read."""
    for node in (n for write in writes for n in below(write)):
        for i in node.inputs:
            value = i.expr if i.__class__ is Read else None
            if value is not None and value.op is not None and value.old is not None and not value.covers:
                yield value


def _oldest(values: Sequence[Expr]) -> list[Expr]:
    """Without those that lead to another one of them: to compute these would be to compute what comes then,
    too."""
    found = {value.serial: value for value in values}
    return [
        value for value in found.values()
        if not any(there is not value and there.serial in found for there in _back(value))
    ]
