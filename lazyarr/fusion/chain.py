"""Chains: groups that run together, block by block along the rows that they share, as they are put together.

In:  groups, what they touch, how far they lag (`rows` decides).   Out: `Chain`, with its touches by buffer.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from lazyarr.fusion.group import Group
from lazyarr.fusion.touches import Touch, narrowed, spread_out
from lazyarr.records import NamedTuple, dataclass, field

LARGE = 16
"""What has one part in so many of the bytes of a row counts."""

Placed = tuple[int, Touch, int]
"""Which group of a chain, a touch of it, and the axis along which its rows lie."""


class Latest(NamedTuple):
    """A touch of a chain."""

    lag: int
    front: int
    """Of its group (`Chain`)."""
    touch: Touch
    axis: int
    """Along which its rows lie."""
    beyond: bool
    """Is it of a row by itself before the first row, or after the last?"""

    def after(self, other: Latest) -> Latest:
        """Of two touches of the same bytes, as if all that comes later came after both."""
        return self._replace(lag=max(self.lag, other.lag), front=max(self.front, other.front))


class Buffers(NamedTuple):
    """The touches of a chain by buffer (id of the key)."""

    touched: dict[int, list[Placed]]
    written: dict[int, list[Placed]]
    """Those that write."""
    latest: dict[int, dict[tuple[object, ...], Latest]]
    """All of them again; of those of the same bytes, which sweeps touch again and again, the last one."""

    def enter(
        self, at: int, axis: int, touches: Sequence[Touch], lag: int, front: int, outside: bool
    ) -> None:
        """What the group `at` touches; does it begin `outside` the rows of the first?"""
        for t in touches:
            key, placed = id(t.key), (at, t, axis)
            beyond = outside and t.shape[axis] == 1
            where = (t.like, axis, beyond) if t.like else (*t[2:], axis, beyond)
            one = Latest(lag, front, t, axis, beyond)
            if key not in self.touched:
                self.touched[key], self.latest[key] = [placed], {where: one}
            else:
                self.touched[key].append(placed)
                before = self.latest[key].get(where)
                self.latest[key][where] = one if before is None else one.after(before)
            if t.writes:
                self.written.setdefault(key, []).append(placed)


@dataclass(slots=True, eq=False)
class Chain:
    """Groups that run together, and the axis of each along which their rows lie."""

    groups: list[Group]
    axes: list[int]
    """A group of one row only has none: its number of axes stands for it."""
    touches: list[list[Touch]]
    extent: int
    """Rows."""
    block: int = 0
    """Rows that run together; filled in by who makes a step of the chain."""
    lags: list[int] = field(default_factory=list)
    """How many blocks each group runs behind the first: what it reads or overwrites, others write or read
    in rows nearby."""
    fronts: list[int] = field(default_factory=list)
    """How many blocks more than it lags each group leaves out where a strip begins (`codegen.rows_shell`):
    what it reads or overwrites, groups with no less lag write or read in rows before."""
    reach: int = 0
    """How many rows away that is, at most: so many a block must have."""
    starts: list[int] = field(default_factory=list)
    """Which row of the first group is the first row of each group.  What begins before the first group's, or
    ends after them, is part of the first block, or of the last."""
    folds: bool = False
    """There is a fold."""
    leading: int = 0
    """So many groups make what sweeps begin with (`leading`), and may have rows before the first one, and
    after the last."""
    flat: int = 0
    """How many rows lie along several axes of the first group, as along one; 0: along one."""
    like: object = None
    """The same for chains that differ in whose memory they touch alone (`stages`); None: not known."""
    levels: tuple[Chain, ...] = ()
    """Chains of the same groups, this one among them, whose rows lie along different axes: rows of one may be
    within a row of others (`within`).  Those with the longest way from row to row come first."""
    outer: tuple[Chain, ...] = ()
    """Of the levels, those in one row of each of which these rows are."""
    _buffers: Buffers | None = None

    @property
    def buffers(self) -> Buffers:
        """Looked for when somebody first asks."""
        found = self._buffers
        if found is None:
            found = self._buffers = Buffers({}, {}, {})
            placed = zip(self.axes, self.touches, self.lags, self.fronts, strict=True)
            for at, each in enumerate(placed):
                found.enter(at, *each, self._outside(at))
        return found

    def _outside(self, at: int) -> bool:
        return not 0 <= self.starts[at] < self.extent

    def add(
        self, group: Group, axis: int, touches: list[Touch], lag: int = 0, start: int = 0, front: int = 0
    ) -> Chain:
        """One more group."""
        at = len(self.groups)
        self.groups.append(group)
        self.axes.append(axis)
        self.touches.append(touches)
        self.lags.append(lag)
        self.fronts.append(front)
        self.starts.append(start)
        self.folds = self.folds or group.fold is not None
        if self._buffers is not None:
            self._buffers.enter(at, axis, touches, lag, front, self._outside(at))
        return self

    def in_blocks(self, rows: int) -> Chain:
        """The same, of which so many rows run together."""
        return Chain(
            self.groups, self.axes, self.touches, self.extent, rows, self.lags, self.fronts, self.reach,
            self.starts, self.folds, self.leading, self.flat, self.like, self.levels, self.outer,
            self._buffers,
        )  # fmt: skip

    def span(self, k: int) -> set[int]:
        """The axes of a group's space along which its rows lie."""
        (whole, seen), axis = (self.groups[k].shape, self.touches[k][0].shape), self.axes[k]
        return {axis, *(d for d, pair in enumerate(zip(whole, seen, strict=False)) if pair[0] != pair[1])}

    def nested(self, depth: int) -> Chain:
        """Its rows, or those of the level behind so many others, within one row of each of these."""
        return self.levels[depth].within(self.levels[:depth]) if depth else self

    def within(self, outer: tuple[Chain, ...]) -> Chain:
        """These rows, as far as they are in one row of each of the outer chains."""
        found = Chain([], [], [], self.extent, outer=outer)
        for k, (group, axis) in enumerate(zip(self.groups, self.axes, strict=True)):
            once = set[int]().union(*(level.span(k) for level in outer))
            shape = tuple([1 if d in once else n for d, n in enumerate(self.touches[k][0].shape)])
            found.add(group, axis, [narrowed(t, shape) for t in self.touches[k]])
        return found

    def stride(self) -> int:
        """Bytes from row to row, in what is largest."""
        placed = zip(self.touches, self.axes, strict=True)
        _, found = max((t.value.nbytes, abs(t.strides[axis])) for ts, axis in placed for t in ts)
        return found

    @property
    def spread(self) -> int:
        """Bytes from row to row where a row is not contiguous, the least; 0 if all are.

        Of what is large: one element for each of many rows is little of what memory moves."""
        placed = [(t.row_bytes(a), t, a) for each in self.buffers.touched.values() for _, t, a in each]
        most = max((row for row, *_ in placed), default=0)
        large = ((t, a) for row, t, a in placed if row * LARGE >= most)
        return min((abs(t.strides[a]) for t, a in large if spread_out(t, a)), default=0)

    @property
    def lagging(self) -> bool:
        """Do groups follow others in the order of blocks?"""
        return any(self.lags) or any(self.fronts)

    def window(self) -> int:
        """Bytes of a row of each buffer, as often as there are blocks between the first of the groups that
        touches it and the last."""
        return self.windows()[-1]

    def windows(self, first: int = 0) -> list[int]:
        """The same of the groups up to so many, from none to all, without so many first ones."""
        found, total, seen = [0] * (first + 1), 0, dict[int, tuple[int, int, int]]()
        placed = zip(self.axes, self.touches, self.lags, strict=True)
        for axis, touches, lag in itertools.islice(placed, first, None):
            for t in touches:
                row, least, most = seen.get(id(t.key), (0, lag, lag))
                total -= row * (most - least + 1)
                row, least, most = max(row, t.row_bytes(axis)), min(least, lag), max(most, lag)
                total += row * (most - least + 1)
                seen[id(t.key)] = row, least, most
            found.append(total)
        return found

    def part(self, n: int) -> Chain:
        """The first groups."""
        found = Chain([], [], [], self.extent, reach=self.reach, leading=self.leading, flat=self.flat)
        found.like = None if self.like is None else (self.like, n)
        for k in range(n):
            placed = self.axes[k], self.touches[k], self.lags[k], self.starts[k], self.fronts[k]
            found.add(self.groups[k], *placed)
        return found

    def rows(self, k: int) -> int:
        """How many rows a group has."""
        return self.touches[k][0].shape[self.axes[k]]

    def space(self, k: int, rows: int) -> tuple[int, ...]:
        """The part of a group's space that so many rows are."""
        shape, axis = self.touches[k][0].shape, self.axes[k]
        return (*shape[:axis], rows, *shape[axis + 1 :])

    def placed(self, k: int) -> tuple[int, int]:
        """At which of the first group's rows a group begins, and how many it has."""
        return self.starts[k], self.rows(k)

    def standard(self, k: int) -> bool:
        """Has a group the rows of the first one?"""
        return self.placed(k) == (0, self.extent)

    @property
    def numbers(self) -> list[int]:
        return [g.number for g in self.groups]
