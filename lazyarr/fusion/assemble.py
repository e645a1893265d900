"""Assemble: the body of a fusion group -> a `Parfor` and what one launch of it binds.

In:  a group's body (`assembler`).   Out: its `Mould`, and the `Program`s that it gives over extents.
Loops are arranged so that NumPy's inner loops get NumPy's strides; where no arrangement does that,
`Unlike` names the nodes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from operator import add, attrgetter
from typing import Any, Protocol

import numpy

from lazyarr.expr import FOLDS, Expr, Scatter
from lazyarr.fusion.assembler import Assembler, Unlike
from lazyarr.fusion.body import constant_char
from lazyarr.fusion.collapse import Loops, broadcast_strides, collapse, in_sequence, lengthen, scanning
from lazyarr.fusion.crossed import crossed
from lazyarr.fusion.dead_code import is_live, live, numbered, operands_of
from lazyarr.fusion.fold import fold_order, result_strides
from lazyarr.fusion.group import Group
from lazyarr.fusion.kinds import Each, Kinds
from lazyarr.fusion.loop_strides import Call, alike, fit, strides_of
from lazyarr.fusion.operands import element
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Shift
from lazyarr.fusion.pieces import whole_of
from lazyarr.fusion.program import Program, Rewritten
from lazyarr.fusion.shifts import shifts
from lazyarr.geometry import offset_of
from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.reduce_order import Order


class Nest(Protocol):
    """The loops of a fold, outermost first (codegen.reduce_plan.Space)."""

    @property
    def dims(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def group(self) -> int: ...
    @property
    def run(self) -> int: ...


Arrange = Callable[[Order, Sequence[Sequence[int]]], Nest]


class Inside(NamedTuple):
    """A value of which only the rows of one block exist at a time, side by side in memory of their own.

    Its storage is dense, so the rows of a block are contiguous, or so are those of each period."""

    level: int
    """Which of the axes of a `Frame` the rows lie along."""
    stride: int
    """Bytes from one row to the next, in the whole value."""
    period: int
    """Bytes in which all rows lie once."""

    def within(self, extent: int, strides: tuple[int, ...], start: int) -> tuple[tuple[int, ...], int]:
        """Strides and offset of an access as they are in a block of `extent` rows."""
        period = extent * abs(self.stride)
        repeats, at = divmod(start, self.period)
        if self.stride < 0:
            at -= self.period - period
        moved = (t if t % self.period else t // self.period * period for t in strides)
        return tuple(moved), repeats * period + at


class Frame(NamedTuple):
    """Some successive rows of a group's space: positions along an axis, or along several as along one."""

    axes: tuple[int, ...]
    """The last one; before it those of which the rows are in one position."""
    shape: tuple[int, ...]
    """The part of the space that they are."""
    inside: tuple[tuple[Inside, ...], ...]
    """For each of the program's operands, axis by axis, the longest stride first; none for what lies in the
    value's own memory."""


class Sources(NamedTuple):
    """Where operands are among the accesses of a group, column by column."""

    members: Sequence[int]
    inputs: Sequence[int]
    """Which of the member's inputs, or `operands.REGION`."""
    values: tuple[int, ...]
    """Whose memory it is: k >= 0 is node k of the group, k < 0 is value -1 - k of others."""


class Kind(NamedTuple):
    """What a program says of an operand, wherever that lies."""

    char: str
    itemsize: int
    role: str


Local = tuple[int, int] | numpy.generic
"""A runtime scalar: which of the group's nodes and of its inputs, or a value that belongs to the op."""


@dataclass(slots=True, eq=False)
class Mould:
    """A body without dead code: what its programs over any extents have in common.

    It holds no node and no geometry, so plans of other shapes may have it, too."""

    insts: list[Inst]
    """Operands and scalars have the numbers that they have in programs."""
    ops: Set[str]
    """Its ops, and perhaps some of dead code."""
    kinds: list[Kind]
    """Of operands: those that are written first, which decide the loops."""
    sources: Sources
    constants: list[Local]
    chars: str
    """Types of the constants."""
    calls: list[tuple[int, int]]
    """What NumPy's inner loops compute: the value's number, and the node's."""
    rewrites: tuple[Rewritten, ...]
    parfors: dict[tuple[Any, ...], Parfor] = field(default_factory=dict)
    """By loops, operands, and the body where it is fitted to NumPy's strides: launches of equal parfors find
    their kernel at once."""
    arranged: dict[tuple[Any, ...], Arranged] = field(default_factory=dict)
    """By all that decides, but for `arrange`, which is one for all: groups that differ in offsets alone have
    one."""

    def parfor(self, a: Arranged, offsets: tuple[int, ...]) -> Parfor:
        """The parfor of operands that begin there."""
        near: tuple[Shift, ...] = ()
        if len(a.dims) > 1 and set(a.dims) == {"p"}:
            sizes = [k.itemsize for k in self.kinds]
            near = shifts(a.operands, self.sources.values, a.loops.strides, offsets, sizes)
        found = a.parfors.get(near)
        if found is None:
            body = a.body
            key = a.dims, a.operands, near, a.crossing, a.fold_group, None if body is None else tuple(body)
            found = self.parfors.get(key)
            if found is None:
                made = tuple(self.insts if body is None else body)
                if "reduce" in self.ops:
                    made = with_starts(made, a.fold_group)
                found = Parfor(a.dims, a.operands, self.chars, made, near, a.crossing)
                self.parfors[key] = found
            a.parfors[near] = found
        return found


class Arranged(NamedTuple):
    """What a mould's programs over operands that move in one way have in common, wherever these begin."""

    dims: str
    loops: Loops
    run: int
    fold_group: int
    """Longest run and tree loops of a fold."""
    body: list[Inst] | None
    """Fitted to NumPy's strides, where that makes a difference."""
    operands: tuple[Operand, ...]
    crossing: str
    parfors: dict[tuple[Shift, ...], Parfor]
    """By what operands are to each other."""


MAX_ARRANGED = 8
"""Of a mould; all are forgotten when there are more."""


def _kind_of(role: str, geo: numpy.ndarray) -> Kind:
    return Kind(element(geo), geo.itemsize, role)


_OP = attrgetter("op")

_call: Any = partial(tuple.__new__, Call)
"""(The interpreter's own constructor: that of the class takes three times as long.)"""


def mould_of(a: Assembler, numbers: Mapping[int, int]) -> tuple[Mould, Sequence[Expr], Each]:
    """The mould of a body, whose memory its operands are, and where in it these are; `numbers`, by identity,
    are those of the group's nodes and of other values."""
    body, written, read = a.body, a.written, a.read
    columns = [w + r for w, r in zip(written.columns(), read.columns(), strict=True)]
    stores, resumed = len(written.values), a.resumed
    ops = frozenset(map(_OP, body.insts))
    insts, place = (body.insts, range(len(body.insts))) if is_live(body, ops) else live(body.insts)
    scalars: list[Any] = [i.attr for i in insts if i.op == "scalar"] if body.constants else []
    constants = [body.constants[k] for k in scalars]
    if len(insts) < len(body.insts) or scalars != [*range(len(scalars))]:
        order = operands_of(insts, len(columns[0]))
        insts = numbered(insts, order, scalars)
        columns = [[column[k] for k in order] for column in columns]
        resumed = {new for new, old in enumerate(order) if old in resumed}
        stores = bisect_left(order, stores)
    values, geos, members, inputs = columns
    places = Each(geos)
    outs, ins = (places.once(partial(_kind_of, role)) for role in ("out", "in"))
    kinds = outs[:stores] + ins[stores:]
    for k in resumed:
        kinds[k] = kinds[k]._replace(role="inout")
    return Mould(
        insts, ops, kinds, Sources(members, inputs, tuple(map(numbers.__getitem__, map(id, values)))),
        [(numbers[id(c[0])], c[1]) if isinstance(c, tuple) else c for c in constants],
        "".join(map(constant_char, constants)),
        [(place[value], member) for value, member in a.calls if value in place], tuple(body.rewrites),
    ), values, places  # fmt: skip


class Filled(NamedTuple):
    """A mould, and the group whose program it gives."""

    mould: Mould
    group: Group
    values: Sequence[Expr]
    """For each operand."""
    places: Each
    """Where in these, over the group's space."""
    calls: Sequence[Call]


def filled(mould: Mould, group: Group, values: Sequence[Expr], places: Each, kinds: Kinds) -> Filled:
    """A mould with the operands of a group, and the strides that NumPy's loops see."""
    calls, nodes, forms = list[Call](), group.nodes, kinds.forms
    known, others = kinds.strides, dict[Any, tuple[int, ...] | None]()
    for value, m in mould.calls:
        node = nodes[m]
        whole = whole_of(node)
        form = forms.get(whole.serial)
        if form is None or whole.old is not None:
            if (key := alike(whole)) not in others:
                others[key] = strides_of(whole)
            strides = others[key]
        else:
            if (kind := kinds[form]) not in known:
                known[kind] = strides_of(whole)
            strides = known[kind]
        calls.append(_call((value, node.serial, strides)))
    return Filled(mould, group, values, places, calls)


def assemble(f: Filled, arrange: Arrange, frame: Frame | None = None) -> Program:
    """The program of a body, over the group's space or over the part of it that a `frame` shows.

    `arrange` orders the loops of a fold."""
    mould, group = f.mould, f.group
    shape = group.shape
    strides = f.places.once(lambda geo: _strides(geo, shape))
    if group.fold is not None:
        for k, value in enumerate(f.values):
            if mould.kinds[k].role != "in" and isinstance(value.op, FOLDS):
                strides[k] = result_strides(value, len(shape))
    starts = f.places.once(offset_of)
    moves: list[tuple[int, ...]] = [()] * len(strides)
    if frame is not None:
        axes, shape = frame.axes, frame.shape
        moves = [tuple([s[d] for d in axes]) for s in strides]
        for k, each in enumerate(frame.inside):
            for inside in each:
                moves[k] = (0,) * len(axes)
                extent = shape[axes[inside.level]]
                strides[k], starts[k] = inside.within(extent, strides[k], starts[k])
    order = _order(group, shape)
    key = shape, order, tuple(strides), tuple([call.strides for call in f.calls])
    a = mould.arranged.get(key)
    if a is None:
        if len(mould.arranged) >= MAX_ARRANGED:
            mould.arranged.clear()
        a = mould.arranged[key] = _arranged(f, shape, order, strides, arrange)
    offsets = tuple(map(add, starts, a.loops.offsets))
    return Program(mould.parfor(a, offsets), a.loops, offsets, a.run, tuple(moves), mould.rewrites)


def _arranged(
    f: Filled, shape: tuple[int, ...], order: Ordered, strides: list[tuple[int, ...]], arrange: Arrange
) -> Arranged:
    mould = f.mould
    nests, run, fold_group = _nests(order, shape, strides, arrange)
    body, (dims, loops) = _fitting(mould.insts, f.calls, nests)
    rows = [*zip(mould.kinds, [s[-1] for s in loops.strides], strict=True)]
    made = {row: Operand(row[0].char, access_class(row[1], row[0].itemsize), row[0].role) for row in {*rows}}
    operands = tuple(map(made.__getitem__, rows))
    return Arranged(
        dims, loops, run, fold_group, None if body == mould.insts else body, operands,
        crossed(dims, operands, loops.strides), {},
    )  # fmt: skip


Nested = tuple[str, Loops]
"""Kinds of the loops, and the loops."""

Ordered = Order | tuple[bool, ...] | int | None
"""What of the order of iterations counts: that of a fold; along which axes; along the one that is scanned."""


def _order(group: Group, shape: tuple[int, ...]) -> Ordered:
    if group.scan is not None:
        return group.scan
    if group.fold is None:
        return _in_order(group) if group.scatters else None
    order = fold_order(group.fold)
    assert isinstance(order, Order)
    # (NumPy's order is that of the whole array, whatever part of it is visited.)
    return order._replace(loops=tuple([loop._replace(extent=shape[loop.axis]) for loop in order.loops]))


def _nests(
    order: Ordered, shape: tuple[int, ...], strides: list[tuple[int, ...]], arrange: Arrange
) -> tuple[list[Callable[[], Nested]], int, int]:
    """Ways to arrange the loops, the best first; longest run and tree loops of a fold."""
    if isinstance(order, Order):
        nest = arrange(order, strides)
        loops = Loops(nest.shape, nest.strides, (0,) * len(strides))
        return [lambda: (nest.dims, loops)], nest.run, nest.group
    if isinstance(order, int):
        return [lambda: scanning(shape, strides, order)], 0, 0
    if order is not None:
        return [lambda: in_sequence(shape, strides, order)], 0, 0
    return [
        lambda: _parallel(lengthen(collapse(shape, strides))),
        lambda: _parallel(collapse(shape, strides)),
        lambda: _parallel(collapse(shape, strides, turn=False)),
    ], 0, 0


def _in_order(group: Group) -> tuple[bool, ...] | None:
    """Axes of the space along which elements that go to one place must go there in order, if any."""
    ops = [n.op for n in group.nodes if isinstance(n.op, Scatter) and not n.op.free]
    found = tuple([any(op.along or op.dims[d] < 0 for op in ops) for d in range(len(group.shape))])
    return found if any(found) else None


def _parallel(loops: Loops) -> Nested:
    return "p" * len(loops.shape), loops


def _fitting(
    body: list[Inst], calls: Sequence[Call], nests: list[Callable[[], Nested]]
) -> tuple[list[Inst], Nested]:
    """The first arrangement in which NumPy's inner loops see what they see in NumPy."""
    unlike: set[int] = set()
    for nest in nests:
        dims, loops = nest()
        fitted, unlike = fit(body, calls, [s[-1] for s in loops.strides])
        if not unlike:
            return fitted, (dims, loops)
    raise Unlike(unlike)


def _strides(geo: numpy.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """An operand's strides over the group's space."""
    if geo.shape == shape and 1 not in shape:
        return geo.strides
    return broadcast_strides(shape, geo.shape, geo.strides)


def with_starts(body: Sequence[Inst], fold_group: int) -> tuple[Inst, ...]:
    """A mould's body as it is in a parfor: folds begin with scalars, by their numbers, not with values."""
    result = []
    how: Any
    for inst in body:
        how = inst.attr
        if inst.op == "reduce":
            start = how.start if how.start < 0 else body[how.start].attr
            inst = inst._replace(attr=how._replace(start=start, group=fold_group))
        result.append(inst)
    return tuple(result)


def access_class(stride: int, itemsize: int) -> str:
    return "z" if stride == 0 else "u" if stride == itemsize else "s"
