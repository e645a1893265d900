"""Which outputs and steps a chunk has, and loops over them.

In:  a `Reduce`, the chunk's number.   Out: bounds as values, and loops with addresses at each position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_plan import GRAIN
from lazyarr.records import dataclass


@dataclass(slots=True)
class Chunk:
    """Which outputs and steps a chunk has."""

    low: dict[int, str]
    high: dict[int, str]
    first: str
    last: str


def decode(r: Reduce, b: Function, steps: str) -> Chunk:
    """The place of chunk number ``%chunk``."""
    grain = r.extra(b, GRAIN)
    before_last, _ = b.divided(b.add(steps, "-1"), grain)
    rest, number = b.divided("%chunk", b.add(before_last, "1"))
    first = b.mul(number, grain)
    low, high = tiles(r, b, rest)
    return Chunk(low, high, first, b.smaller(b.add(first, grain), steps))


def tiles(r: Reduce, b: Function, rest: str) -> tuple[dict[int, str], dict[int, str]]:
    """Bounds of the loops over outputs in tile number `rest`."""
    low, high = {}, {}
    for d in reversed(r.outer):
        grid, tile = (b.word("%words", w(d)) for w in (r.layout.grid, r.layout.tile))
        rest, place = b.divided(rest, grid)
        low[d] = b.mul(place, tile)
        high[d] = b.smaller(b.add(low[d], tile), r.extent(b, d))
    return low, high


@contextmanager
def outputs(
    r: Reduce, b: Function, chunk: Chunk, dims: Sequence[int], operands: Sequence[int]
) -> Iterator[tuple[str, dict[int, str]]]:
    """Loops over outputs: (number of the output, operand -> address at its position)."""
    bases = {k: b.word("%words", r.layout.pointer(k), "ptr") for k in operands}
    strides = {(k, d): r.stride(b, k, d) for k in operands for d in dims}
    extents = {d: r.extent(b, d) for d in dims}
    with nested(b, list(dims), chunk, "0", bases, strides, extents) as found:
        yield found


@contextmanager
def nested(
    b: Function, dims: list[int], chunk: Chunk, flat: str, at: dict[int, str],
    strides: dict[tuple[int, int], str], extents: dict[int, str],
) -> Iterator[tuple[str, dict[int, str]]]:
    if not dims:
        yield flat, at
        return
    d = dims[0]
    with b.loop(chunk.low[d], chunk.high[d]) as (i, _):
        inside = {k: b.at(p, b.mul(i, strides[k, d])) for k, p in at.items()}
        number = i if flat == "0" else b.add(b.mul(flat, extents[d]), i)
        with nested(b, dims[1:], chunk, number, inside, strides, extents) as found:
            yield found
