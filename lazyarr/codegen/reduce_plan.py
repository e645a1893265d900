"""How a reduction is launched: its loops arranged, cut into chunks, and the partial results.

In:  an `Order`, operand strides; then the parfor and the extents of its loops.
Out: `Space` (loops of the parfor) and `Cuts` (tiles, chunks, partials), and the words for them.
Cuts never change a bit: they lie at nodes of the pairwise tree, between runs, or anywhere where any
order is right.

A launch, in full::

    space = arrange(order, strides)             # fusion makes the Parfor from it
    cuts = cut(parfor, space.shape, space.run)
    words = array("q", bytes(8 * layout.extra(extras(layout))))
    ...                                         # shape, pointers, strides, scalars, loops, scratch
    fill(words, layout, cuts, address of cuts.partial_bytes bytes, address of the fold function)
    parallel_for(kernel, words, cuts.chunks, threads)
    if cuts.partial_bytes:
        parallel_for(combine, words, cuts.combine_chunks, threads)

Extra words:

    RUN       longest run, in elements of the group's index space
    RUNS      runs in that space
    DEPTH     each run is cut into 2**DEPTH subtrees
    STEPS     outer 'r' iterations x RUNS x 2**DEPTH
    GRAIN     steps of one chunk
    PARTIALS  address of one 16-byte slot for each output, step and reduction; 0: each chunk folds its
              outputs to the end and stores them
    DECIDED   set once no further element can change a lone result
    FOLD      address of the function that folds a range, where the kernel is a shell around it
    SLACK     bytes that a packing kernel may overwrite beyond what it packs
    ENDED     address of where a packing kernel leaves the address behind what it has packed; 0: nowhere
    AHEAD     for each operand, bytes from where it begins to what is asked for meanwhile, since the same
              thread will read it in a later launch, of this kernel or another; 0: nobody knows

A chunk number is ``tile number * ceil(STEPS / GRAIN) + step group``; the tile number goes by `grid` as in
every kernel, with 1 for the 'r' loops.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from lazyarr.codegen.abi import Layout
from lazyarr.fusion.parfor import Inst, Parfor, Reduction
from lazyarr.records import NamedTuple
from lazyarr.reduce_order import Loop, Order
from lazyarr.target import Target

RUN, RUNS, DEPTH, STEPS, GRAIN, PARTIALS, DECIDED, FOLD, SLACK, ENDED, AHEAD = range(11)
SLOT = 16
"""Bytes of a partial result: room for a complex128, or for a value and its position."""

PASSES = 2
"""Rows that are folded more than once before the next ones are come from memory once, which gives nothing in
the other passes: so many of them share the fetching of the next rows.  (Halves, one after the other: where
each asks for every other line, the processor's prefetchers ask for the rest at the wrong time.)"""

CHUNK = 1 << 16
"""Elements that a chunk folds, roughly."""

CHUNKS_EACH = 16
"""Chunks for each thread, at most, of what is folded along its innermost loop: larger ones waste less of what
is prefetched, and of what memory does best in a row."""

SUBTREE = 1 << 15
"""Least elements of a subtree that is a step of its own."""

MANY = 64
"""Outputs from which on only the outputs are cut."""

COLUMNS = 2048
"""Most outputs of a chunk that folds across rows: their accumulators stay in the caches."""

NARROW = 512
"""Fewest, to share the work: shorter stretches of a row cost more to fetch."""


CROSSED_RUN = 512
"""Most elements of a run with which rows are crossed with columns."""

PAIRED = 512
"""Columns of a chunk that crosses them with rows, at most."""

SHARES = 8
"""Chunks for each thread, where rows are crossed with columns, so that threads end together."""


class Space(NamedTuple):
    """The loops of a parfor with reductions, outermost first: ``p* r+`` or ``p* r+ p``."""

    dims: str
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    """Per operand, in bytes."""
    group: int
    """Innermost 'r' loops that are one index space (`Reduction.group`)."""
    run: int


def arrange(order: Order, strides: Sequence[Sequence[int]]) -> Space:
    """Loops in one of the two forms, merged where every operand moves through both as through one.

    `strides` are per operand, over the axes of the reduced array; 0 where the operand is repeated,
    and for results along reduced axes."""
    columns = {loop.axis: tuple(s[loop.axis] for s in strides) for loop in order.loops}
    still = (0,) * len(strides)
    inner = [order.loops[-1]] if order.loops and order.loops[-1].kind == "p" else []
    outer = [loop for loop in order.loops if loop.kind == "p" and loop not in inner]
    folded = [loop for loop in order.loops if loop.kind == "r"]
    runs = order.fold in ("pairwise", "cut", "long") or order.wide
    tree = min(order.tree, len(folded)) if runs else len(folded)
    blocks = [outer, folded[: len(folded) - tree], folded[len(folded) - tree :], inner]
    merged = [_merge(block, columns) for block in blocks]
    if not folded:
        merged[2] = [(1, still)]
    nest = [n for block in merged for n in block]
    size = math.prod(n for n, _ in merged[2])
    return Space(
        "p" * len(merged[0]) + "r" * (len(merged[1]) + len(merged[2])) + "p" * len(merged[3]),
        tuple(n for n, _ in nest),
        tuple(tuple(column[k] for _, column in nest) for k in range(len(strides))),
        len(merged[2]),
        min(order.run, size) if order.run else size,
    )


def _merge(
    loops: Sequence[Loop], columns: dict[int, tuple[int, ...]]
) -> list[tuple[int, tuple[int, ...]]]:
    merged: list[tuple[int, tuple[int, ...]]] = []
    for loop in loops:
        column = columns[loop.axis]
        if merged and all(o == s * loop.extent for o, s in zip(merged[-1][1], column, strict=True)):
            merged[-1] = merged[-1][0] * loop.extent, column
        else:
            merged.append((loop.extent, column))
    return merged


class Cuts(NamedTuple):
    tile: tuple[int, ...]
    """Per loop; the whole extent along 'r' loops."""
    grid: tuple[int, ...]
    chunks: int
    run: int
    runs: int
    depth: int
    steps: int
    grain: int
    partial_bytes: int
    """Memory for partial results; 0 where no combining follows."""
    combine_chunks: int


def extras(layout: Layout) -> int:
    """How many of these words a kernel has."""
    return AHEAD + layout.operands


def reductions(parfor: Parfor) -> list[tuple[Inst, Reduction]]:
    return [(i, i.attr) for i in parfor.body if isinstance(i.attr, Reduction)]


def across(parfor: Parfor) -> bool:
    """Is the innermost loop parallel: are rows folded onto each other?"""
    return parfor.dims[-1] == "p"


def stepped(parfor: Parfor) -> bool:
    """May a fold be cut into steps?  Strict sequences may not."""
    return all(r.order != "sequential" for _, r in reductions(parfor))


def lasting(parfor: Parfor, target: Target) -> bool:
    """Does an element take longer to compute than memory does to give it?"""
    return any(target.whose(i.op, i.sig) for i in parfor.body if "->" in i.sig)


def cut(
    parfor: Parfor, shape: Sequence[int], run: int, strides: Sequence[Sequence[int]] = (), threads: int = 2,
    whole: bool = False,
) -> Cuts:
    """Cut the loops of a parfor into chunks.

    `strides` (per operand) and `threads` make chunks that fit the memory and the machine better.  With
    `whole`, each chunk folds its outputs to the end."""
    kinds = [r for _, r in reductions(parfor)]
    if kinds[0].ufunc == "compress":
        return in_steps(parfor, shape)
    group = kinds[0].group
    folded = [n for n, d in zip(shape, parfor.dims, strict=True) if d == "r"]
    if across(parfor):
        return _cut_rows(parfor, shape, folded, threads, whole)
    space = math.prod(folded[len(folded) - group :])
    large = max(CHUNK, math.prod(shape) // (CHUNKS_EACH * threads))
    outer = math.prod(folded[: len(folded) - group])
    outputs = math.prod(n for n, d in zip(shape, parfor.dims, strict=True) if d == "p")
    each = outer * space
    strict = any(r.order == "pairwise" for r in kinds)
    few = outputs < MANY and each > 2 * SUBTREE and not whole
    if not few or not stepped(parfor) or (strict and run < SUBTREE // 8):
        if outer > 1 and _neighbours_between(parfor, len(folded) - group, strides):
            each = max(space, each * CHUNK // max(1, outputs * each // (4 * threads)))
        if parfor.crossed and each <= CROSSED_RUN:
            return _by_pairs(parfor, shape, each, run, threads)
        return _by_outputs(parfor, shape, each, run, -(-space // run), outer, large)
    depth, grain = 0, 1
    if not strict:
        run = CHUNK
    elif run >= space:
        depth = max(0, (space // SUBTREE).bit_length() - 1)
    runs = -(-space // run)
    steps = outer * runs << depth
    grain = max(1, large // max(1, min(run, space) >> depth))
    return _stepped(parfor, shape, [1] * len(shape), run, runs, depth, steps, grain)


def _neighbours_between(parfor: Parfor, sequence: int, strides: Sequence[Sequence[int]]) -> bool:
    """Do other outputs lie between two runs of one?  Then tiles are as wide as sharing permits."""
    outer = [d for d, kind in enumerate(parfor.dims) if kind == "p"]
    folded = [d for d, kind in enumerate(parfor.dims) if kind == "r"][sequence - 1]
    return bool(outer and strides) and any(abs(s[outer[-1]]) < abs(s[folded]) for s in strides)


def _by_outputs(
    parfor: Parfor, shape: Sequence[int], each: int, run: int, runs: int, outer: int, large: int
) -> Cuts:
    """Chunks of whole outputs, with so many elements: each is folded to the end."""
    tile, room = list(shape), max(1, large // each)
    for d in reversed(range(len(shape))):
        if parfor.dims[d] == "p":
            tile[d] = min(shape[d], room)
            room = max(1, room // tile[d])
    grid = _grid(shape, tile)
    steps = outer * runs
    return Cuts(tuple(tile), grid, math.prod(grid), run, runs, 0, steps, steps, 0, 0)


def _by_pairs(parfor: Parfor, shape: Sequence[int], each: int, run: int, threads: int) -> Cuts:
    """Chunks of rows crossed with columns: some of these, which all rows pass that sharing permits."""
    *outer, rows, columns, _ = shape
    room = max(CHUNK // each, math.prod(shape[:-1]) // (SHARES * threads))
    column = min(columns, PAIRED)
    row = max(1, min(rows, room // max(1, column)))
    tile = [1] * len(outer) + [row, column, each]
    grid = _grid(shape, tile)
    return Cuts(tuple(tile), grid, math.prod(grid), run, 1, 0, 1, 1, 0, 0)


def by_rows(parfor: Parfor, shape: Sequence[int], run: int, rows: int) -> Cuts:
    """Chunks of so many rows of the outermost loop, whose outputs are each folded to the end."""
    folded = [n for n, d in zip(shape, parfor.dims, strict=True) if d == "r"]
    group = reductions(parfor)[0][1].group
    runs = -(-math.prod(folded[len(folded) - group :]) // run)
    tile = [rows, *shape[1:]]
    grid = _grid(shape, tile)
    steps = math.prod(folded[: len(folded) - group]) * runs
    return Cuts(tuple(tile), grid, grid[0], run, runs, 0, steps, steps, 0, 0)


def _cut_rows(
    parfor: Parfor, shape: Sequence[int], folded: Sequence[int], threads: int, whole: bool
) -> Cuts:
    """Rows folded onto each other: cut the columns, and the rows where any order is right."""
    tile = [1] * len(shape)
    share = -(-shape[-1] // (64 * (2 * threads if threads > 1 else 1))) * 64
    tile[-1] = min(shape[-1], COLUMNS, max(NARROW, share))
    room = max(1, CHUNK // (tile[-1] * math.prod(folded)))
    for d in reversed(range(len(shape) - 1)):
        if parfor.dims[d] == "p":
            tile[d] = min(shape[d], room)
            room = max(1, room // tile[d])
    free = all(r.order == "any" and not r.ufunc.startswith("arg") for _, r in reductions(parfor))
    rows, inside = folded[0], math.prod(folded[1:]) * tile[-1]
    outputs = math.prod(n for n, d in zip(shape, parfor.dims, strict=True) if d == "p")
    if free and not whole and outputs * MANY <= rows and rows * inside >= 2 * CHUNK:
        run = max(1, CHUNK // inside)
        runs = -(-rows // run)
        return _stepped(parfor, shape, tile, run, runs, 0, runs, 1)
    for d, kind in enumerate(parfor.dims):
        if kind == "r":
            tile[d] = shape[d]
    grid = _grid(shape, tile)
    return Cuts(tuple(tile), grid, math.prod(grid), rows, 1, 0, 1, 1, 0, 0)


def following(cuts: Cuts, before: Parfor, parfor: Parfor, shape: Sequence[int]) -> Cuts:
    """The same chunks of outputs for other rows, which are folded onto what those `before` have left."""
    kept = iter([t for t, d in zip(cuts.tile, before.dims, strict=True) if d == "p"])
    tile = [next(kept) if d == "p" else n for n, d in zip(shape, parfor.dims, strict=True)]
    rows = next(n for n, d in zip(shape, parfor.dims, strict=True) if d == "r")
    grid = _grid(shape, tile)
    return Cuts(tuple(tile), grid, math.prod(grid), rows, 1, 0, 1, 1, 0, 0)


def _stepped(
    parfor: Parfor, shape: Sequence[int], tile: list[int], run: int, runs: int, depth: int, steps: int,
    grain: int,
) -> Cuts:
    for d, kind in enumerate(parfor.dims):
        if kind == "r":
            tile[d] = shape[d]
    grid = _grid(shape, tile)
    outputs = math.prod(n for n, d in zip(shape, parfor.dims, strict=True) if d == "p")
    chunks = math.prod(grid) * -(-steps // grain)
    size = outputs * steps * len(reductions(parfor)) * SLOT
    return Cuts(tuple(tile), grid, chunks, run, runs, depth, steps, grain, size, math.prod(grid))


def in_steps(parfor: Parfor, shape: Sequence[int]) -> Cuts:
    """One step for each chunk of one sequence; every step leaves a partial result."""
    size = math.prod(shape)
    runs = -(-size // CHUNK)
    return _stepped(parfor, shape, [1] * len(shape), CHUNK, runs, 0, runs, 1)


def _grid(shape: Sequence[int], tile: Sequence[int]) -> tuple[int, ...]:
    return tuple(-(-n // t) for n, t in zip(shape, tile, strict=True))


def fill(words: array[int], layout: Layout, cuts: Cuts, partials: int, fold: int = 0) -> None:
    """Write tiles, grid and the extra words; `partials` is the address of `cuts.partial_bytes` bytes."""
    for d, (t, g) in enumerate(zip(cuts.tile, cuts.grid, strict=True)):
        words[layout.tile(d)] = t
        words[layout.grid(d)] = g
    if not cuts.partial_bytes:
        partials = 0
    extra = (cuts.run, cuts.runs, cuts.depth, cuts.steps, cuts.grain, partials, 0, fold)
    for k, word in enumerate(extra):
        words[layout.extra(k)] = word
