"""Collapse: an iteration space with strided operands -> the fewest loops that visit it.

In:  shape and, per operand, strides over that shape.   Out: `Loops`, outermost first.
Loops of extent 1 vanish.  Where every order of iterations is right, loops are
sorted by stride (stores decide first), turned round where that makes strides positive, and merged
where every operand moves through both as through one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from lazyarr.records import NamedTuple


class Loops(NamedTuple):
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    """Per operand, in bytes, outermost first."""
    offsets: tuple[int, ...]
    """Per operand: bytes to add to its base, because loops were turned round."""


@lru_cache(maxsize=4096)
def broadcast_strides(
    shape: tuple[int, ...], operand_shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[int, ...]:
    """An operand's strides over the whole space: 0 where it is repeated."""
    lead = len(shape) - len(operand_shape)
    if 1 in operand_shape:
        strides = tuple([0 if n == 1 else s for n, s in zip(operand_shape, strides, strict=True)])
    return (0,) * lead + strides if lead else strides


SHORT = 16
"""Innermost loops below this extent cost more in loop control than in work."""


def lengthen(loops: Loops) -> Loops:
    """Make a long loop the innermost one where the innermost is short (the 3 colours of a picture,
    say): whole vectors of strided elements instead of rows of a few contiguous ones."""
    if len(loops.shape) < 2 or loops.shape[-1] >= SHORT:
        return loops
    long = [d for d, n in enumerate(loops.shape) if n >= SHORT]
    if not long:
        return loops
    near = max(long)                    # the long loop of the smallest stride

    def moved(row: tuple[int, ...]) -> tuple[int, ...]:
        return (*row[:near], *row[near + 1 :], row[near])

    return Loops(moved(loops.shape), tuple(map(moved, loops.strides)), loops.offsets)


def in_sequence(
    shape: Sequence[int], strides: Sequence[tuple[int, ...]], ordered: Sequence[bool]
) -> tuple[str, Loops]:
    """The fewest loops in the given order, which counts along the axes that are `ordered`, and their kinds:
    's' along these, 'p' along others.  A short innermost 'p' goes outside of an 's': nobody sees that."""
    kinds: list[str] = []
    merged: list[tuple[int, list[int]]] = []
    for d in (d for d, n in enumerate(shape) if n != 1):
        n, column, kind = shape[d], [s[d] for s in strides], "s" if ordered[d] else "p"
        outer_n, outer = merged[-1] if merged and kinds[-1] == kind else (0, [])
        if outer_n and all(o == s * n for o, s in zip(outer, column, strict=True)):
            merged[-1] = outer_n * n, column
        else:
            kinds.append(kind)
            merged.append((n, column))
    if kinds[-2:] == ["s", "p"] and merged[-1][0] < SHORT <= merged[-2][0]:
        kinds[-2:], merged[-2:] = kinds[:-3:-1], merged[:-3:-1]
    if not merged:
        return "p", Loops((1,), tuple((0,) for _ in strides), (0,) * len(strides))
    rows = tuple(tuple(column[k] for _, column in merged) for k in range(len(strides)))
    return "".join(kinds), Loops(tuple(n for n, _ in merged), rows, (0,) * len(strides))


def scanning(shape: Sequence[int], strides: Sequence[tuple[int, ...]], axis: int) -> tuple[str, Loops]:
    """The fewest loops around or inside of the one in sequence along `axis`, and their kinds.

    That one is the innermost but one where a long loop lies nearer along the memory of the first operand
    (whole rows are scanned at a time), else the innermost."""
    others = [d for d in range(len(shape)) if d != axis and shape[d] != 1]
    column = tuple(s[axis] for s in strides)
    if not others:
        return "s", Loops((shape[axis],), tuple((s,) for s in column), (0,) * len(strides))
    near = collapse([shape[d] for d in others], [tuple(s[d] for d in others) for s in strides])
    far = lengthen(near)
    rows = far.shape[-1] >= SHORT and abs(far.strides[0][-1]) < abs(column[0])
    loops = far if rows else near
    at = len(loops.shape) - rows

    def with_axis(row: tuple[int, ...], own: int) -> tuple[int, ...]:
        return (*row[:at], own, *row[at:])

    moved = tuple(map(with_axis, loops.strides, column))
    return "p" * at + "s" + "p" * rows, Loops(with_axis(loops.shape, shape[axis]), moved, loops.offsets)


def collapse(shape: Sequence[int], strides: Sequence[tuple[int, ...]], turn: bool = True) -> Loops:
    """The fewest loops; `turn` says whether loops may be turned round."""
    alike = dict.fromkeys(strides)              # (operands that move in one way decide together)
    found = _collapsed(shape, [*alike], turn)
    if len(alike) == len(strides):
        return found
    rows = dict(zip(alike, found.strides, strict=True))
    offsets = dict(zip(alike, found.offsets, strict=True))
    return Loops(
        found.shape, tuple(map(rows.__getitem__, strides)), tuple(map(offsets.__getitem__, strides))
    )


def _collapsed(shape: Sequence[int], strides: Sequence[tuple[int, ...]], turn: bool) -> Loops:
    dims = [d for d, n in enumerate(shape) if n != 1]
    offsets = [0] * len(strides)
    if not dims:
        return Loops((1,), tuple((0,) for _ in strides), tuple(offsets))
    columns = {d: [s[d] for s in strides] for d in dims}
    for d in dims:
        column = columns[d]
        if turn and min(column) < 0 and max(column) <= 0:
            for k, s in enumerate(column):
                offsets[k] += s * (shape[d] - 1)
            columns[d] = [-s for s in column]
    dims.sort(key=lambda d: [abs(s) for s in columns[d]], reverse=True)
    merged: list[tuple[int, list[int]]] = []
    for d in dims:
        n, column = shape[d], columns[d]
        if merged:
            outer_n, outer = merged[-1]
            if all(o == s * n for o, s in zip(outer, column, strict=True)):
                merged[-1] = outer_n * n, column
                continue
        merged.append((n, column))
    rows = zip(*[column for _, column in merged], strict=True)
    return Loops(tuple([n for n, _ in merged]), tuple(rows), tuple(offsets))
