"""Patterns: what a plan depends on where all arrays are whole, contiguous and of one shape.

In:  a walk that met a shape for the first time; a plan of the same pattern for another shape.
Out: the pattern's key; the plan for the new shape, without partition or assembly.

Such an evaluation has one loop over all elements, each operand moves by its element's size or not at
all, and two accesses of one buffer are the same.  So everything that partition and assembly decide
follows from ops, dtypes, which inputs are which and what is stored.  What else depends on the extents is
the size below which NumPy takes over, part of the key, and what a launch prepares for itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr import config
from lazyarr.dtypes import char_of
from lazyarr.expr import Compress, Expr, Map, Read, Reduce
from lazyarr.fusion.collapse import Loops
from lazyarr.fusion.conflict import SHARED
from lazyarr.fusion.fold import fold_order
from lazyarr.fusion.group import region_of
from lazyarr.fusion.loop_strides import is_call
from lazyarr.fusion.program import Program
from lazyarr.fusion.reindex import CROSSING
from lazyarr.fusion.structure import OPTIONS
from lazyarr.geometry import is_fresh
from lazyarr.records import replace
from lazyarr.reduce_order import Order
from lazyarr.schedule import TINY

if TYPE_CHECKING:
    from lazyarr.plan import Step, Walk

Pattern = tuple[Any, ...]

def pattern_of(w: Walk) -> tuple[Pattern, tuple[int, ...]] | None:
    """The key of an evaluation's pattern, and its one shape; None where extents may decide more."""
    first = w.nodes[0].region
    assert first is not None
    shape = first.shape
    if 0 in shape or 1 in shape or not shape or not _all_fit(w, shape):
        return None
    # The key of the walk names such geometries by identity; dtype and whether there are axes tell all.
    told = {id(geo): (geo.dtype.char, geo.ndim > 0) for geo in w.tokens.pins}
    tiny = config.current.jit == "auto" and math.prod(shape) <= TINY
    return (tiny, *_otherwise(w, told)), shape


def _otherwise(w: Walk, told: dict[Any, Any]) -> Iterator[Any]:
    """The key of a walk, in which other things are said of geometries."""
    first, last = (OPTIONS + at for at in (w.tokens.saying.start, w.tokens.saying.stop))
    said = w.key[first:last]
    return chain(w.key[:first], map(told.get, said, said), w.key[last:])


_OP, _INPUTS, _NBYTES, _EXPR = map(attrgetter, ("op", "inputs", "nbytes", "expr"))


def _all_fit(w: Walk, shape: tuple[int, ...]) -> bool:
    """Do all nodes fit?  One tells of all of its form, but for how large the values are that it makes and
    reads.

    (One question comes after the other, so that the interpreter itself goes through the nodes.)"""
    nodes, tokens = w.nodes, w.tokens
    if not _fits(nodes[0], shape) or {*map(type, map(_OP, nodes))} != {Map}:
        return False
    tokens.tell(nodes)
    kinds = tokens.kinds
    each = map(nodes.__getitem__, {*kinds.forms.values()})
    if not all(region_of(n).shape == shape and _called_alike(n, shape) for n in each):
        return False
    geos = {id(geo): geo for geo in kinds.geos}
    reads = [i for i in chain.from_iterable(map(_INPUTS, nodes)) if i.__class__ is Read]
    sizes = [*map(_NBYTES, map(_EXPR, reads)), *map(_NBYTES, nodes)]
    places = {*zip(tokens.visited, sizes, strict=True)} if len({*sizes}) > 1 else zip(geos, repeat(sizes[0]))
    return all(geos[k].shape in (shape, ()) and _whole(geos[k], nbytes) for k, nbytes in places)


def _fits(node: Expr, shape: tuple[int, ...]) -> bool:
    return (
        isinstance(node.op, Map) and _region_fits(node, shape)
        and all(_read_fits(i, shape) for i in node.inputs if isinstance(i, Read))
        and _called_alike(node, shape)
    )  # fmt: skip


def _region_fits(node: Expr, shape: tuple[int, ...]) -> bool:
    region = node.region
    assert region is not None
    return region.shape == shape and _whole(region, node.nbytes)


def _read_fits(read: Read, shape: tuple[int, ...]) -> bool:
    return read.geo.shape in (shape, ()) and _whole(read.geo, read.expr.nbytes)


def _called_alike(node: Expr, shape: tuple[int, ...]) -> bool:
    """Does NumPy's inner loop see the same whatever the extents are?"""
    op = node.op
    assert isinstance(op, Map)
    return not is_call(op.name, op.sig) or _called_once(node, op, shape)


def _whole(geo: numpy.ndarray, nbytes: int) -> bool:
    return geo.nbytes == nbytes and (not geo.ndim or (is_fresh(geo) and geo.flags.c_contiguous))


def _called_once(node: Expr, op: Map, shape: tuple[int, ...]) -> bool:
    """Does NumPy call the inner loop once for everything: nothing is cast, masked or repeated?"""
    ins, _, outs = op.sig.partition("->")
    region = node.region
    assert region is not None
    if node.masked or len(outs) > 1 or char_of(region.dtype) != outs:
        return False
    return all(
        char_of(i.geo.dtype if isinstance(i, Read) else i.dtype) == c
        and (not isinstance(i, Read) or i.geo.shape == shape)
        for i, c in zip(node.inputs, ins, strict=True)
    )


def for_shape(steps: list[Step], shape: tuple[int, ...]) -> list[Step]:
    """The steps of a plan of this pattern, for another shape; those that share a program still do."""
    made: dict[int, Program] = {}
    for step in steps:
        program = step.program
        if program is not None and id(program) not in made:
            loops = Loops((math.prod(shape),), program.loops.strides, program.loops.offsets)
            made[id(program)] = replace(program, loops=loops, launches={})
    return [s if s.program is None else replace(s, program=made[id(s.program)]) for s in steps]


def kept_of(w: Walk) -> tuple[Pattern, int] | None:
    """The same where nothing may be new but how many elements masks keep: the key, and that number.

    What runs over the kept elements runs over one sequence of them, whole and in order, so no extent decides
    anything of it, but for the thresholds in the key; all else is what it was."""
    kept = {n.region.shape for n in w.nodes if isinstance(n.op, Compress) and n.region is not None}
    if len(kept) != 1:
        return None
    (shape,) = kept
    over = [geo for geo in w.tokens.pins if geo.shape == shape]
    places = [(geo.shape, geo.strides) for geo in w.tokens.pins if geo.shape != shape]
    places += [said[:2] for said in w.tokens.places() if said.__class__ is tuple]
    if shape[0] < 2 or any(math.prod(extents) == shape[0] for extents, _ in places):
        return None                             # (spaces of as many elements may be one)
    if not all(_runs_over(n, shape) for n in w.nodes):
        return None
    told = {id(geo): (geo.dtype.char, True) for geo in over}
    return ("kept", bisect_left(SIZES, shape[0]), *_otherwise(w, told)), shape[0]


def _runs_over(node: Expr, shape: tuple[int, ...]) -> bool:
    geos = [i.geo for i in node.inputs if isinstance(i, Read)]
    if node.old is not None or isinstance(node.op, Compress):
        return node.old is None and all(geo.shape != shape for geo in geos)
    if node.region is None or all(geo.shape != shape for geo in (node.region, *geos)):
        return True                             # it has nothing to do with them
    if isinstance(node.op, Map):
        return _fits(node, shape)
    if not isinstance(node.op, Reduce) or len(node.inputs) > 1 or node.region.size > 1:
        return False
    (read,) = node.inputs
    return isinstance(read, Read) and read.geo.shape == shape and _whole(read.geo, read.expr.nbytes)


def for_count(steps: list[Step], w: Walk, count: int, known: int) -> list[Step] | None:
    """The steps of a plan of the same pattern for another number of kept elements; None where these are made
    anew."""
    made: dict[int, Program] = {}
    for step in steps:
        program = step.program
        if program is None or step.boxes:
            return None
        if program.loops.shape != (known,) or id(program) in made:
            continue
        run = 0
        if program.run:
            orders = {fold_order(w.nodes[k]) for k in step.members if isinstance(w.nodes[k].op, Reduce)}
            runs = {min(o.run or count, count) for o in orders if isinstance(o, Order)}
            if len(runs) != 1:
                return None
            (run,) = runs
        loops = Loops((count,), program.loops.strides, program.loops.offsets)
        made[id(program)] = replace(program, loops=loops, run=run, launches={})
    return [
        replace(s, program=made.get(id(s.program), s.program), raised={}, work=None) for s in steps
    ]


def outline_of(w: Walk) -> Pattern:
    """The key of an evaluation's structure, whatever the extents: which shapes are one, which axes have one
    element, and what thresholds sizes are beyond."""
    shapes: dict[tuple[int, ...], int] = {}
    told: dict[Any, Any] = {}
    for said in w.tokens.places():
        geo = w.tokens.shared.get(said) if said.__class__ is int else None
        shape, char = said[:3:2] if geo is None else (geo.shape, geo.dtype.char)
        told[said] = (
            char, shapes.setdefault(shape, len(shapes)), tuple([n if n < 2 else 2 for n in shape]),
            bisect_left(SIZES, math.prod(shape)),
        )  # fmt: skip
    return (w.tokens.literal, *_otherwise(w, told))


SIZES = (TINY + 1, SHARED, CROSSING)
"""Numbers of elements by which partition decides."""
