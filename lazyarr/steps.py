"""Steps: a group of nodes -> its program, and what a plan says of its operands.

In:  the groups of a partition, one by one.   Out: `Step`s, which speak of nodes and values by number.
A group like one that was met has its program, or at least its body (`MOULDS`); one that reads through what is
written piece by piece has a program for each of its boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import attrgetter

import numpy

from lazyarr.codegen.reduce_plan import arrange
from lazyarr.counters import COUNT
from lazyarr.expr import EVALUATIONS, Compress, Expr, Keep, Map, Read, Reduce, Scan, Tally
from lazyarr.fusion.assemble import Filled, Local, Mould, assemble, filled, mould_of
from lazyarr.fusion.assembler import Assembler, Terms, Unlike, body_of
from lazyarr.fusion.boxes import Unit
from lazyarr.fusion.group import Group
from lazyarr.fusion.kinds import Each, Key, Kinds, once
from lazyarr.fusion.operands import REGION
from lazyarr.fusion.parfor import resumes
from lazyarr.fusion.partition import Partition
from lazyarr.fusion.pieces import whole_of
from lazyarr.fusion.program import Constant
from lazyarr.fusion.structure import OPTIONS, Framed, Tokens, form_of, structure_of
from lazyarr.geometry import same
from lazyarr.kernels import lowerable, not_together
from lazyarr.plan import Step, Walk
from lazyarr.schedule import scattered

MAX_MOULDS = 512
"""All are forgotten when there are more."""

MOULDS: dict[Key, Mould] = {}
"""Bodies of groups, by form and options: another plan, of other shapes perhaps, has one already."""

Made = tuple[Step, Framed | None]
"""A step, and its program over some rows."""

Alike = dict[Key, Made]
"""For each structure of a group: the step of one group, in which numbers are those of the group's own nodes
and of the values that it needs.  It lives as long as the planning, since it holds nodes."""


class Scattered(Exception):
    """The random numbers of a group would be drawn in another order than the stream's, or few at a time."""


def step_of(group: Group, w: Walk, parted: Partition, alike: Alike) -> Made:
    """The step of a group, with the program that a group like it has already."""
    for node in group.nodes if parted.again else ():
        node.index = group.number               # (others compute it, too)
    why = group.refusals[0].why if group.refusals else ""
    number, kept = w.numbers.__getitem__, parted.stored
    members = tuple(map(number, map(id, group.nodes)))
    stored = [n.serial in kept for n in group.nodes]
    if group.unit is not None:
        through = group.unit.through
        stored = [store and n.serial not in through for store, n in zip(stored, group.nodes, strict=True)]
    if group.opaque or True not in stored:      # (another thread let go of what was wanted when this began)
        return Step(members, tuple(compress(members, stored)), None, (), (), (), (), why), None
    if group.unit is not None:
        return _of_boxes(group, group.unit, w, parted, Step(
            members, tuple(compress(members, stored)), None, (), (), (), ((),) * sum(stored), why,
        )), None  # fmt: skip
    forms, links, needed = structure_of(group, stored, w.tokens, w.numbers)
    found = alike.get((forms, links))
    if found is None:
        form = form_of(group, forms, links, w.tokens)
        known = None if form is None else (w.key[:OPTIONS], w.tokens.literal, form)
        found = alike[forms, links] = _first(group, stored, needed, parted.epoch, known, w.tokens)
    step, framed = found
    return step.renumbered(members, [*map(number, map(id, needed))], why), framed


def _of_boxes(group: Group, unit: Unit, w: Walk, parted: Partition, whole: Step) -> Step:
    """The step of a group that runs as several loop nests; where other attempts stored the same, theirs."""
    kept = tuple([n.serial for n in unit.nodes if n.serial in parted.stored])
    known = unit.programs.get(kept)
    if known is not None:
        whole.boxes = known
        return whole
    terms = Terms(w.tokens.rules, lowerable, w.tokens.literal, w.tokens.kinds)
    member = {id(n): k for k, n in enumerate(group.nodes)}
    for number, box in enumerate(unit.boxes):
        part, stored, epoch = box.group(number, group.memory, parted.stored)
        body = body_of(part, epoch, [n.serial in stored for n in part.nodes], terms)
        body.body.constants[:] = map(_piece_constant, body.body.constants)
        values = [*body.written.values, *body.read.values]
        values += [c[0] for c in body.body.constants if isinstance(c, tuple)]
        mould, filling = _moulded(
            body, part, {id(v): w.numbers[id(whole_of(v))] for v in values}, w.tokens.kinds
        )
        mould.rewrites = tuple([
            r._replace(member=member[id(whole_of(part.nodes[r.member]))]) for r in mould.rewrites
        ])
        whole.boxes += (
            Step((), (), assemble(filling, arrange), *_bound(mould), (), ""),
        )  # fmt: skip
        COUNT.assembled += 1
    _side_by_side(whole)
    unit.programs[kept] = whole.boxes
    return whole


def _side_by_side(whole: Step) -> None:
    """Kernels that go on from others' results need loops over the same outputs.

    (Their extents tell: each box has the whole fold's order of axes, and merging axes keeps it.)"""
    kept: list[int] = []
    for box in whole.boxes:
        assert box.program is not None
        parfor, loops = box.program.parfor, box.program.loops
        outputs = [n for n, d in zip(loops.shape, parfor.dims, strict=True) if d == "p"]
        if resumes(parfor) and outputs != kept:
            raise Unlike(set(), "parts of the results lie otherwise")
        kept = outputs


def _piece_constant(c: Constant) -> Constant:
    """A runtime scalar of a piece: an input of the node; what a fold starts from pieces alone have."""
    if isinstance(c, tuple) and isinstance(whole_of(c[0]).op, Reduce):
        value = c[0].inputs[c[1]]
        assert isinstance(value, numpy.generic)
        return value
    return c


def _moulded(
    body: Assembler, group: Group, numbers: dict[int, int], kinds: Kinds
) -> tuple[Mould, Filled]:  # fmt: skip
    """The mould of a group's body, with the operands of this group."""
    mould, values, places = mould_of(body, numbers)
    return mould, filled(mould, group, values, places, kinds)


def _bound(mould: Mould) -> tuple[tuple[int, ...], tuple[Local, ...], tuple[int, ...]]:
    """What a step says of a program's operands and constants, and which operands are written."""
    written = [k for k, kind in enumerate(mould.kinds) if kind.role != "in"]
    return mould.sources.values, tuple(mould.constants), tuple(written)


def _first(
    group: Group, stored: list[bool], needed: list[Expr], epoch: int, form: Key | None, tokens: Tokens
) -> Made:
    """The step of a group whose structure was not met before, in the group's own numbers."""
    numbers = dict(zip(map(id, needed), count(-1, -1)))
    numbers.update(zip(map(id, group.nodes), count()))
    mould = None if form is None else MOULDS.get(form)
    if mould is None:
        terms = Terms(tokens.rules, lowerable, tokens.literal, tokens.kinds)
        body = body_of(group, epoch, stored, terms)
        mould, whole = _moulded(body, group, numbers, tokens.kinds)
        COUNT.bodies += 1
        if form is not None and not EVALUATIONS.are_overtaken():
            if len(MOULDS) >= MAX_MOULDS:
                MOULDS.clear()
            MOULDS[form] = mould
    else:
        whole = _filled(mould, group, needed, tokens.kinds)
    program = assemble(whole, arrange)
    COUNT.assembled += 1
    if scattered(program):
        raise Scattered
    why_not = None if group.fold is None else not_together(program.parfor)
    if why_not is not None:
        raise Unlike({n.serial for n in group.nodes if isinstance(n.op, Reduce)}, why_not)
    members, last = tuple(range(len(group.nodes))), group.nodes[-1]
    ranks = last.inputs[2] if isinstance(last.op, Compress) else None
    return Step(
        members, tuple(compress(members, stored)), program,
        *_bound(mould), tuple(_reusable(group, [*compress(group.nodes, stored)], numbers)), "",
        tallies=isinstance(last.op, Tally),
        ranks=numbers[id(ranks.expr)] if isinstance(ranks, Read) else None,
        keeps=last.op if isinstance(last.op, Keep) else None,
    ), Framed(whole, arrange)  # fmt: skip


def _filled(mould: Mould, group: Group, needed: list[Expr], kinds: Kinds) -> Filled:
    """A mould that a group of the same form has left, with the operands of this one."""
    sources = mould.sources
    values = [group.nodes[k] if k >= 0 else needed[-1 - k] for k in sources.values]
    geos = []
    for member, k in zip(sources.members, sources.inputs, strict=True):
        placed = group.placed[group.nodes[member].serial]
        geo = placed.region if k == REGION else placed.reads[k]
        assert geo is not None
        geos.append(geo)
    return filled(mould, group, values, Each(geos), kinds)


def _read(group: Group) -> dict[int, tuple[Expr, numpy.ndarray | None]]:
    """By identity, the values that a group reads, and where; None if not always at the same elements."""
    found: dict[int, tuple[Expr, numpy.ndarray | None]] = {}
    for a in group.loads:
        _, geo = found.setdefault(id(a.value), (a.value, a.geo))
        if geo is not None and geo is not a.geo and not same(geo, a.geo):
            found[id(a.value)] = a.value, None
    return found


_OP, _SERIAL, _REGION = map(attrgetter, ("op", "serial", "region"))

_OVER = {Map, Scan}
"""Ops whose results may lie over what is read."""


def _reusable(
    group: Group, nodes: Sequence[Expr], numbers: dict[int, int]
) -> list[tuple[int, ...]]:  # fmt: skip
    """For each of some nodes, which inputs the group reads only where the node writes: it may store over
    them.  Where elements are kept, a chunk may run twice (`codegen.compress_keep`)."""
    if isinstance(group.nodes[-1].op, Keep):
        return [()] * len(nodes)
    read = [(numbers[k], geo) for k, (_, geo) in _read(group).items() if geo is not None]
    geos = {id(geo): geo for _, geo in read}

    def over(region: numpy.ndarray) -> tuple[int, ...]:
        there = {k for k, geo in geos.items() if same(geo, region)}
        return tuple([number for number, geo in read if id(geo) in there])

    placed = map(group.placed.__getitem__, map(_SERIAL, nodes))
    found = once(over, [*map(_REGION, placed)])                         # (the group has few)
    if {*map(type, map(_OP, nodes))} <= _OVER:
        return found
    # (Accumulators and ranks overlap nothing that is read.)
    return [each if n.op.__class__ in _OVER else () for n, each in zip(nodes, found, strict=True)]
