"""Row values: what only the groups of a chain read, so that a thread's memory for some rows is enough.

In:  a chain of groups (`fusion.rows`), who uses which values.   Out: the values, and how their rows lie.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.fusion.assemble import Inside
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import Group
from lazyarr.fusion.touches import in_step
from lazyarr.plan import Walk
from lazyarr.records import NamedTuple


class Uses(NamedTuple):
    """Who uses which values (serials)."""

    loads: dict[int, set[int]]
    """Numbers of the groups that load a value."""
    parts: set[int]
    """Values of which a write changes a part."""

    @classmethod
    def of(cls, groups: Sequence[Group]) -> Uses:
        found = cls({}, set())
        for group in groups:
            for a in group.loads:
                found.loads.setdefault(a.value.serial, set()).add(group.number)
            found.parts.update(n.old.serial for n in group.nodes if n.old is not None and not n.covers)
        return found


def inside_of(chain: Chain, uses: Uses, w: Walk) -> dict[int, Inside]:
    """Values that only the chain reads, and whole: a thread's memory has room for a block of them."""
    mine = set(chain.numbers)
    writes = [(t, axis) for axis, ts in zip(chain.axes, chain.touches, strict=True) for t in ts if t.writes]
    passing = {
        serial: (t, axis) for t, axis in writes
        if t.value.covers and (serial := t.value.serial) not in w.asked and serial not in uses.parts
        and mine.issuperset(uses.loads.get(serial, ()))
    }
    for k, (axis, touches) in enumerate(zip(chain.axes, chain.touches, strict=True) if passing else ()):
        standard = chain.standard(k)
        for t in touches:
            made = passing.get(t.value.serial)
            if made is not None and not (standard and in_step(*made, t, axis)):
                del passing[t.value.serial]         # rows of other blocks are read
    # Values that come to lie in an array that exists, or is made, need no memory: it is in the cache, too.
    lasting = {id(t.key) for t, _ in writes if t.value.serial not in passing or t.key.op is None}
    return {
        w.numbers[id(t.value)]: Inside(t.strides[axis], abs(t.strides[axis]) * chain.extent)
        for t, axis in writes if id(t.key) not in lasting
    }
