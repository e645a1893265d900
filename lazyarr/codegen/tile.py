"""Tile: run several stages on blocks that fit the cache, and give each slot a place in scratch memory.

In:  a kernel from `lower`.   Out: the kernel with its stages in one `Blocks`, and slots placed.
Slots whose values are never alive together share a place, but a call's result never shares that of
its arguments: NumPy's loops take other paths when operands overlap.
"""

from __future__ import annotations

from lazyarr.codegen.loopir import (
    Apply,
    Blocks,
    Call,
    Gather,
    Kernel,
    Load,
    Loop,
    Once,
    Scan,
    Scatter,
    Slot,
    Stmt,
    Store,
)
from lazyarr.dtypes import PLAIN
from lazyarr.records import replace

CACHE = 16 << 10
"""Bytes that the slots of a thread may fill: half of a small first-level cache, so that operands fit too."""

LARGEST, LEAST = 1024, 256
"""Elements of a block: enough to hide a call (256 to 2048 were measured within 5 %), and no fewer even
when slots then fill the second level."""

SINGLE = 64
"""Bytes of a slot for one element: a cache line of its own."""


def tile(kernel: Kernel, share: bool = True, block: int = 0) -> Kernel:
    """`share`: may slots share places?  `block`: elements of a block, if that is given."""
    once = tuple(s for s in kernel.body if isinstance(s, Once))
    stages = tuple(s for s in kernel.body if not isinstance(s, Once))
    lives = _lifetimes(stages)
    places, sizes = _share(kernel.slots, lives if share else dict.fromkeys(lives, (0, len(stages))))
    block = block or _block(sum(sizes))
    bases = [block * sum(sizes[:place]) for place in range(len(sizes) + 1)]
    slots, end = [], bases[-1]
    for k, slot in enumerate(kernel.slots):
        if slot.single:
            slots.append(replace(slot, offset=end))
            end += SINGLE
        else:
            slots.append(replace(slot, offset=bases[places[k]]))
    blocked = len(stages) > 1 or sizes
    body: tuple[Stmt, ...] = (*once, Blocks(block, stages)) if blocked else (*once, *stages)
    return replace(kernel, slots=tuple(slots), block=block if sizes else 0, scratch_bytes=end, body=body)


def _block(bytes_per_element: int) -> int:
    """Elements of a block, a multiple of 64: whole cache lines of any element type."""
    fitting = CACHE // max(bytes_per_element, 1) // 64 * 64
    return min(max(fitting, LEAST), LARGEST)


def _lifetimes(stages: tuple[Stmt, ...]) -> dict[int, tuple[int, int]]:
    """Slot -> first and last stage that touches it."""
    lives: dict[int, tuple[int, int]] = {}
    for s, stage in enumerate(stages):
        for slot in touched(stage):
            lives[slot] = lives.get(slot, (s, s))[0], s
    return lives


def touched(stage: Stmt) -> set[int]:
    """Slots that a stage reads or writes."""
    lanes = stage.body if isinstance(stage, Loop) else (stage,)
    refs = [stage.source, stage.target] if isinstance(stage, Scan) else []
    for lane in lanes:
        if isinstance(lane, Load | Store):
            refs.append(lane.ref)
        elif isinstance(lane, Call):
            refs += [*lane.ins, *lane.outs]
        else:
            assert isinstance(lane, Apply | Gather | Scatter | Scan), lane
    return {ref.index for ref in refs if ref.space == "slot"}


def _share(slots: tuple[Slot, ...], lives: dict[int, tuple[int, int]]) -> tuple[dict[int, int], list[int]]:
    """Slot -> place, and the bytes per element of each place.  Equal element sizes share."""
    places: dict[int, int] = {}
    sizes: list[int] = []
    busy_until: list[int] = []
    for slot in sorted((k for k in lives if not slots[k].single), key=lambda k: lives[k]):
        size = PLAIN[slots[slot].char].itemsize
        first, last = lives[slot]
        free = (p for p, until in enumerate(busy_until) if until < first and sizes[p] == size)
        place = next(free, len(sizes))
        if place == len(sizes):
            sizes.append(size)
            busy_until.append(last)
        busy_until[place] = last
        places[slot] = place
    return places, sizes
