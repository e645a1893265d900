"""Sinking: of what is only read in part, or at some positions, no more is computed than that.

In:  the nodes of an evaluation, in program order.   Out: the same, some replaced by nodes for fewer elements.

    abs(x)[10:20]   is   abs(x[10:20])          a[i][2:5]   is   a[i[2:5]]
    abs(x)[i]       is   abs(x[i])              a[i][j]     is   a[i[j]]

A node sinks if nobody but its readers asks for its value, they read it in one way, its code is ours (NumPy's
inner loops may have other bits for other strides), and if it raises no floating-point flag that somebody asks
for: NumPy computes all elements, and warns of those that nobody reads, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from lazyarr.error_state import ignores
from lazyarr.expr import Expr, Gather, Map, Read, Reduce
from lazyarr.geometry import geometry, offset_of, reshaped, same
from lazyarr.ops import SEARCHES, may_raise, native
from lazyarr.records import NamedTuple
from lazyarr.switches import is_off
from lazyarr.values import is_held, is_kept

ON = not is_off("sinking")

Inputs = tuple[Read | numpy.generic, ...]

MOST_PLACES = 8
"""Positions that move at a time: each pick of a longer chain would move all of them again."""

MOVES = ("copy", "where")
"""Maps that are no ufuncs of NumPy's."""


def sunk(nodes: list[Expr], roots: Sequence[Expr]) -> list[Expr]:
    """The nodes to run in the place of `nodes`, for the same `roots`."""
    for node in nodes:
        op = node.op.__class__
        for i in node.inputs:           # (written out: this runs for every node that there ever is)
            if i.__class__ is not Read:
                continue
            value = i.expr
            if value.op is None or value.old is not None or (i.geo is value.region and op is not Gather):
                continue
            if not (value.replaced and _is_changed(value)):
                return _Sinking(nodes, roots).run() if ON else nodes
    return nodes


def _is_changed(value: Expr) -> bool:
    """Is a part of it to be changed?  Then all of it is needed: an array that is swept over, say."""
    for ref in value.readers or ():
        reader = ref()
        if reader is not None and reader.old is value and reader.op is not None:
            return True
    return False


class _Part(NamedTuple):
    """Some elements of a region, as a view of the space over it: where it starts along each axis of the
    region, and for each of its own axes that of the region along which it goes, and how far each step."""

    shape: tuple[int, ...]
    starts: tuple[int, ...]
    moves: tuple[tuple[int, int] | None, ...]
    """None: an axis of length 1."""

    def of(self, geo: numpy.ndarray, ndim: int) -> numpy.ndarray:
        """The same part of what broadcasts to a region of so many axes."""
        lead = ndim - geo.ndim
        strides = [0] * lead + [0 if n == 1 else s for n, s in zip(geo.shape, geo.strides, strict=True)]
        first = offset_of(geo) + sum(at * s for at, s in zip(self.starts, strides, strict=True))
        steps = [0 if m is None else m[1] * strides[m[0]] for m in self.moves]
        return numpy.ndarray(self.shape, geo.dtype, geo.base, first, steps)


def _part(geo: numpy.ndarray, region: numpy.ndarray) -> _Part | None:
    """How a view of what lies dense in a region looks from there; None if it goes round corners, or stays."""
    if geo.dtype != region.dtype or not geo.size:
        return None
    axes = sorted((d for d, n in enumerate(region.shape) if n > 1), key=lambda d: -region.strides[d])
    starts, left = [0] * region.ndim, offset_of(geo) - offset_of(region)
    for d in axes:
        starts[d], left = divmod(left, region.strides[d])
    moves: list[tuple[int, int] | None] = []
    for n, stride in zip(geo.shape, geo.strides, strict=True):
        if n == 1:
            moves.append(None)
            continue
        d = next((d for d in axes if region.strides[d] <= abs(stride)), -1)
        if d < 0 or stride % region.strides[d]:
            return None
        step = stride // region.strides[d]
        if not 0 <= starts[d] + (n - 1) * step < region.shape[d]:
            return None
        axes.remove(d)
        moves.append((d, step))
    inside = all(0 <= at < n for at, n in zip(starts, region.shape, strict=True))
    return None if left or not inside else _Part(geo.shape, tuple(starts), tuple(moves))


def _flat(region: numpy.ndarray, inputs: Inputs) -> tuple[numpy.ndarray, Inputs] | None:
    """A region and what it is made of along one axis, in C order, if all of it can be seen so."""
    found: list[numpy.ndarray | None] = [reshaped(region, (-1,))]
    for i in inputs:
        if isinstance(i, Read):
            found.append(reshaped(_spread(i, region).geo, (-1,)))
    if any(geo is None for geo in found):
        return None
    whole, *geos = (geo for geo in found if geo is not None)
    rest = iter(geos)
    return whole, tuple([Read(i.expr, next(rest)) if isinstance(i, Read) else i for i in inputs])


def _dense(geo: numpy.ndarray) -> numpy.ndarray:
    """A region of its own for a view, with the axes in the same order."""
    strides, step = [0] * geo.ndim, geo.itemsize
    for d in sorted(range(geo.ndim), key=lambda d: (abs(geo.strides[d]), -d)):
        strides[d] = step
        step *= geo.shape[d]
    return geometry(geo.shape, geo.dtype, strides)


def _as_it_lies(geo: numpy.ndarray) -> tuple[numpy.ndarray, int]:
    """The same with a view's own strides, for folds: their order depends on them; and in how many bytes.

    Rows are as many bytes as they are apart, the last one, too."""
    steps = [(s, n) for s, n in zip(geo.strides, geo.shape, strict=True) if n > 1]
    first = sum(-s * (n - 1) for s, n in steps if s < 0)
    nbytes = max((abs(s) * n for s, n in steps), default=geo.itemsize)
    return geometry(geo.shape, geo.dtype, geo.strides, first, nbytes), nbytes


class _Sinking:
    """One evaluation's nodes; those that read come before what they read, so that all that can sink does."""

    def __init__(self, nodes: list[Expr], roots: Sequence[Expr]) -> None:
        self.nodes = nodes.copy()
        self.members = {id(n) for n in nodes}
        self.roots = {id(n) for n in roots}
        self.gone: dict[int, Expr] = {}
        """Nodes that others have replaced, by identity: they read no more."""
        self.places: set[int] = set()
        """By identity, positions that were made here: nobody else knows of them."""

    def run(self) -> list[Expr]:
        for k in reversed(range(len(self.nodes))):
            value = self.nodes[k]
            if not self._movable(value):
                continue
            readers = self._readers(value)
            if not readers:
                continue
            table = readers[0].inputs[0] if isinstance(readers[0].op, Gather) else None
            if isinstance(table, Read) and table.expr is value:
                made = self._under_gather(k, value, readers)
            else:
                made = self._in_part(value, readers)
            if made is not None:
                self.nodes[k] = made
                self.members.add(id(made))
                self.gone[id(value)] = value
                value.spared = value.spared or is_held(value)
        return list({id(n): n for n in self.nodes}.values())

    def _movable(self, value: Expr) -> bool:
        op = value.op
        if value.old is not None or value.masked or id(value) in self.roots:
            return False
        if isinstance(op, Map):
            assert value.region is not None
            if not native(op.name, op.sig) and op.name not in MOVES:
                return False
            if may_raise(op, value.region.dtype.char) and not ignores(value.errors):
                return False
        elif not isinstance(op, Gather) or op.along:
            return False
        return not is_kept(value)

    def _readers(self, value: Expr) -> list[Expr] | None:
        """Who reads it; None if somebody does at another time, or changes a part of it."""
        found = [r for r in value.waiting() if id(r) not in self.gone]
        if any(id(r) not in self.members or r.old is value for r in found):
            return None
        return found

    # Views

    def _in_part(self, value: Expr, readers: list[Expr]) -> Expr | None:
        """A node for the part that is read, in the place of a value."""
        geos = [i.geo for r in readers for i in r.inputs if isinstance(i, Read) and i.expr is value]
        region, seen = value.region, geos[0]
        assert region is not None
        if seen.size >= region.size or not all(same(g, seen) for g in geos):
            return None
        given = value.inputs
        part = _part(seen, region)
        if part is None and region.ndim > 1 and isinstance(value.op, Map):
            flat = _flat(region, given)
            if flat is not None:
                region, given = flat
                part = _part(seen, region)
        if part is None or not all(isinstance(r.op, Map | Reduce) for r in readers):
            return None
        target, nbytes = _dense(seen), seen.nbytes
        if seen.strides != target.strides:
            if not all(map(_is_ours, readers)):
                return None             # NumPy's inner loops would see other strides
            if any(isinstance(r.op, Reduce) for r in readers):
                target, nbytes = _as_it_lies(seen)
        inputs: Inputs
        op = value.op
        if isinstance(op, Gather):
            op, inputs = _gather_in_part(value, op, part)
        else:
            inputs = tuple([_input_in_part(i, part, region.ndim) for i in given])
        assert op is not None
        made = value.instead(op, inputs, target, nbytes)
        for reader in readers:
            assert reader.op is not None
            reader.turn(reader.op, _reading(reader, value, Read(made, target)))
        return made

    # Positions

    def _under_gather(self, k: int, value: Expr, readers: list[Expr]) -> Expr | None:
        """A node for the elements that a gather picks from a value, or for what picks them elsewhere; where
        that needs positions of later places, the first of these, which takes the value's."""
        reader, region = readers[0], value.region
        op = reader.op
        assert isinstance(op, Gather) and region is not None and reader.region is not None
        table, *positions = reader.inputs
        assert isinstance(table, Read)
        if len(readers) > 1 or reader.region.size > region.size or not same(table.geo, region):
            return None
        later = self._later(value, positions)
        if later is None:
            return None
        if isinstance(value.op, Gather):
            made = _composed(value, value.op, reader, op)
            if made is not None and made is not reader:
                self.places.add(id(made))
        else:
            made = self._picked(value, reader, op)
        return made if made is None or not later else self._moved_up(k, later, made, made is reader)

    def _later(self, value: Expr, positions: Sequence[Read | numpy.generic]) -> list[Expr] | None:
        """The positions that are found after a value was made, and what these are made of, the first ones
        first; None if they cannot be found before.

        (Then what the value reads is read later than it was.  What nobody has replaced is the same.)"""
        found: dict[int, Expr] = {}
        todo = [i for i in positions if isinstance(i, Read) and not _older(i.expr, value)]
        if todo and any(i.expr.replaced for i in value.inputs if isinstance(i, Read)):
            return None
        while todo:
            place = todo.pop().expr
            if id(place) not in self.places or len(found) == MOST_PLACES:
                return None
            if id(place) not in found:
                found[id(place)] = place
                todo += [i for i in place.inputs if isinstance(i, Read) and not _older(i.expr, value)]
        return sorted(found.values(), key=lambda n: n.serial)

    def _moved_up(self, k: int, later: list[Expr], made: Expr, in_place: bool) -> Expr:
        """Positions take each the place before its own, and what is made of them the last one's; the first,
        for which the value's place is left.  A reader keeps its number, which is behind all of these."""
        at = [self.nodes.index(place, k) for place in later]        # (all are behind the value's, `k`)
        for number, node in zip(at, [*later[1:], made], strict=True):
            self.nodes[number] = node
        if not in_place:
            self.members.add(id(made))
            numbers = [made.serial, *[place.serial for place in later]]
            for node, number in zip([*later, made], numbers, strict=True):
                node.serial = number
        return later[0]

    def _picked(self, value: Expr, reader: Expr, op: Gather) -> Expr | None:
        """The gather of what a value is computed of, which its reader then computes of fewer elements."""
        region, positions = value.region, reader.inputs[1:]
        assert region is not None and reader.region is not None
        sources = [i for i in value.inputs if isinstance(i, Read)]
        if len(sources) != 1 or op.along or reader.region.dtype != region.dtype:
            return None
        source = _spread(sources[0], region)
        target = _dense_like(reader.region, source.geo.dtype)
        made = value.instead(op, (source, *positions), target, target.nbytes)
        found = Read(made, target)
        assert value.op is not None
        reader.turn(value.op, tuple([found if isinstance(i, Read) else i for i in value.inputs]))
        return made


def _older(i: Expr, value: Expr) -> bool:
    return i.op is None or i.serial < value.serial


def _reading(reader: Expr, value: Expr, found: Read) -> Inputs:
    """The inputs of a reader that finds a value elsewhere."""
    return tuple([found if isinstance(i, Read) and i.expr is value else i for i in reader.inputs])


def _is_ours(reader: Expr) -> bool:
    """Has a reader code of our own?"""
    op = reader.op
    if isinstance(op, Reduce):
        return op.name in SEARCHES or native(op.name, op.sig)
    return isinstance(op, Map) and (op.name in MOVES or native(op.name, op.sig))


def _input_in_part(i: Read | numpy.generic, part: _Part, ndim: int) -> Read | numpy.generic:
    return Read(i.expr, part.of(i.geo, ndim)) if isinstance(i, Read) else i


def _gather_in_part(value: Expr, op: Gather, part: _Part) -> tuple[Gather, Inputs]:
    """A gather of a part of what another one picks: of its positions, and of its table."""
    table, *positions = value.inputs
    assert isinstance(table, Read) and value.region is not None
    geo, dims = table.geo, [-1] * len(part.shape)
    shape, strides, first = list(geo.shape), list(geo.strides), offset_of(geo)
    alone = {axis: start for axis, start in zip(op.dims, part.starts, strict=True) if axis >= 0}
    for k, move in enumerate(part.moves):
        axis = -1 if move is None else op.dims[move[0]]
        if move is not None and axis >= 0:
            first += alone.pop(axis) * strides[axis]
            shape[axis], strides[axis], dims[k] = part.shape[k], move[1] * strides[axis], axis
    first += sum(start * strides[axis] for axis, start in alone.items())
    kept = [d for d in range(geo.ndim) if d not in alone]
    number = {axis: at for at, axis in enumerate(kept)} | {-1: -1}
    moved = numpy.ndarray(
        [shape[d] for d in kept], geo.dtype, geo.base, first, [strides[d] for d in kept]
    )
    found = Gather(tuple(number[axis] for axis in op.axes), tuple(number[axis] for axis in dims))
    ndim = value.region.ndim
    return found, (Read(table.expr, moved), *[_input_in_part(i, part, ndim) for i in positions])


def _composed(value: Expr, first: Gather, reader: Expr, op: Gather) -> Expr | None:
    """The positions at which a gather of gathered elements finds them in the first one's table.

    If it picks along other axes, the reader has all positions, and no other node is needed."""
    table, *places = value.inputs
    positions = reader.inputs[1:]
    still = [d for d, axis in enumerate(first.dims) if axis < 0]
    assert isinstance(table, Read) and reader.region is not None and value.region is not None
    reads = [i for i in (table, *places) if isinstance(i, Read)]
    if op.along or len(reads) <= len(places) or any(i.expr.replaced for i in reads):
        return None
    dims = tuple(-1 if d < 0 else first.dims[d] for d in op.dims)
    if not set(op.axes) & set(still):
        axes = (*first.axes, *[first.dims[d] for d in op.axes])
        moves = tuple((d, 1) if d in still else None for d in op.dims)
        part = _Part(reader.region.shape, (0,) * value.region.ndim, moves)
        moved = [_input_in_part(i, part, value.region.ndim) for i in places]
        reader.turn(Gather(axes, dims), (table, *moved, *positions))
        return reader
    if len(places) > 1 or op.axes != tuple(still):
        return None
    place = reads[1]
    # The positions of both: those of the first as a table, over the axes of the result that stay.
    inner = Gather(tuple(range(len(still))), tuple(-1 for _ in op.dims))
    seen = _spread(place, value.region).geo
    extents, strides = [seen.shape[d] for d in still], [seen.strides[d] for d in still]
    lie = numpy.ndarray(extents, seen.dtype, seen.base, offset_of(seen), strides)
    shape = tuple(n if d < 0 else 1 for n, d in zip(reader.region.shape, op.dims, strict=True))
    target = geometry(shape, seen.dtype, _c_strides(shape, seen.itemsize))
    made = value.instead(inner, (Read(place.expr, lie), *positions), target, target.nbytes)
    reader.turn(Gather(first.axes, dims), (table, Read(made, target)))
    return made


def _c_strides(shape: Sequence[int], itemsize: int) -> list[int]:
    strides, step = [0] * len(shape), itemsize
    for d in reversed(range(len(shape))):
        strides[d] = step
        step *= shape[d]
    return strides


def _spread(i: Read, region: numpy.ndarray) -> Read:
    """An input over the whole region that it broadcasts to."""
    whole = _Part(region.shape, (0,) * region.ndim, tuple((d, 1) for d in range(region.ndim)))
    return Read(i.expr, whole.of(i.geo, region.ndim))


def _dense_like(region: numpy.ndarray, dtype: numpy.dtype) -> numpy.ndarray:
    strides = [s // region.itemsize * dtype.itemsize for s in region.strides]
    return geometry(region.shape, dtype, strides)


