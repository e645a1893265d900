"""Row values: what only the groups of a chain read, so that a thread's memory for some rows is enough.

In:  a chain of groups (`fusion.rows`), who uses which values.   Out: the values, and how their rows lie.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lazyarr.expr import Expr
from lazyarr.fusion.assemble import Inside
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import Group
from lazyarr.fusion.touches import Touch, in_step
from lazyarr.plan import Walk
from lazyarr.records import NamedTuple


class Uses(NamedTuple):
    """Who uses which values (serials)."""

    last: dict[int, int]
    """Number of the last group that loads a value."""
    parts: set[int]
    """Values of which a write changes a part."""

    @classmethod
    def of(cls, groups: Sequence[Group]) -> Uses:
        return cls(
            {access[0].serial: group.number for group in groups for access in group.loads},
            {n.old.serial for group in groups for n in group.nodes if n.old is not None and not n.covers},
        )

    def passes(self, value: Expr, until: int, asked: Collection[int]) -> bool:
        """Do only groups up to that number read a value, and whole?"""
        serial = value.serial
        return (
            value.covers and serial not in asked and serial not in self.parts
            and self.last.get(serial, until) <= until
        )  # fmt: skip


def inside_of(chain: Chain, uses: Uses, w: Walk) -> dict[int, tuple[Inside, ...]]:
    """Values that only the chain reads (its groups have successive numbers), and whole: a thread's memory has
    room for a block of them."""
    until = chain.groups[-1].number
    writes = [(k, t) for k, ts in enumerate(chain.touches) for t in ts if t.writes]
    passing = {
        t.value.serial: (t, chain.axes[k], chain.placed(k)) for k, t in writes
        if uses.passes(t.value, until, w.asked)
    }
    for k, (axis, touches) in enumerate(zip(chain.axes, chain.touches, strict=True) if passing else ()):
        placed = chain.placed(k)
        for t in touches:
            made = passing.get(t.value.serial)
            if made is not None and not (made[2] == placed and in_step(*made[:2], t, axis)):
                del passing[t.value.serial]         # rows of other blocks are read
    # Values that come to lie in an array that exists, or is made, need no memory: it is in the cache, too.
    lasting = {id(t.key) for _, t in writes if t.value.serial not in passing or t.key.op is None}
    return {
        w.numbers[id(t.value)]: _lying(chain, k, t)
        for k, ts in enumerate(chain.touches) for t in ts if t.writes and id(t.key) not in lasting
    }


def _lying(chain: Chain, k: int, t: Touch) -> tuple[Inside, ...]:
    """How the rows lie of what a group writes, the longest stride first."""
    found = []
    for level, rows in enumerate((*chain.outer, chain)):
        stride = t.strides[rows.axes[k]]
        found.append(Inside(level, stride, abs(stride) * rows.rows(k)))
    return tuple(sorted(found, key=lambda each: -each.period))
