"""Partition: pending nodes -> fusion groups, each of which becomes one parfor.

In:  the nodes to run, in program order.   Out: `Group`s in an order that keeps all dependences.
Greedy and linear: a node joins the last group that it depends on, or one of the latest groups, if
its iteration space is the group's, perhaps seen through a view (`reindex`), and no access conflicts;
otherwise it opens a new group.  Since a node never joins a group earlier than one of its inputs', group
numbers are a topological order.

Dependences of a node: its inputs (flow), and for a write also every reader of the value that it
overwrites (anti).  What was refused, and why, is kept in `Group.refusals` for `explain`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy

from lazyarr import switches
from lazyarr.config import current
from lazyarr.draws import DRAWS
from lazyarr.expr import (
    ELEMENTWISE,
    FOLDS,
    Compress,
    Expr,
    Gather,
    Keep,
    Map,
    Read,
    Reduce,
    Scan,
    Scatter,
    Tally,
    is_dense,
)
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.boxes import Unit
from lazyarr.fusion.conflict import conflict, leader, own_conflict
from lazyarr.fusion.edges import copies, edges
from lazyarr.fusion.forms import Forms, Refuse
from lazyarr.fusion.group import (
    TOO_FEW,
    Access,
    Asked,
    Group,
    Loads,
    Placed,
    Refusal,
    loop_inputs,
    makes,
    memory_reads,
    reads_of,
    region_of,
    written,
)
from lazyarr.fusion.next_sweep import Sweep, sweeps_of
from lazyarr.fusion.outline import Barred, Elsewhere, Outline
from lazyarr.fusion.overwrites import written_again
from lazyarr.fusion.regions import Regions
from lazyarr.fusion.reindex import CROSSING, crossed, reindex, spread
from lazyarr.fusion.rows import Found
from lazyarr.fusion.structure import Tokens
from lazyarr.geometry import same
from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.switches import is_node_off, is_off

MAX_NODES = 128
"""Nodes of one kernel: compile time grows with the body, the gain from fusing does not."""

LOOK_BACK = 8
"""Groups that are tried for a node: more would make partition quadratic."""

ALONE = -1
"""In the place of their number: none is tried, each node is a group."""

IN_C_ORDER = (Tally, Keep, Compress, Scatter)
"""What runs in C order of its own space."""

CROWDED = "together they would hold more arrays at a time than NumPy"

_epochs = itertools.count()


@dataclass(slots=True, eq=False)
class Partition:
    groups: list[Group]
    stored: set[int]
    """Serials of the nodes whose values must exist in memory afterwards."""
    epoch: int
    rows: Found = field(default_factory=Found)
    """Which groups run together, block by block; filled in by who makes steps of the groups."""
    look_back: int | None = None
    """How far nodes looked for a group; None where groups read through what is written piece by piece."""
    outline: Outline | None = None
    """Filled in likewise, of evaluations whose like may come again."""
    regions: Regions = field(default_factory=Regions)
    """Which of them do, filled in likewise."""
    again: bool = False
    """Some groups compute what others do."""
    edges: frozenset[int] = frozenset()
    """The writes to borders that are not copied within an array (`edges`), by serial."""


def partition(
    nodes: list[Expr], asked: Asked, refuse: Refuse, tokens: Tokens, memory: Memory, barred: Barred,
    look_back: int = LOOK_BACK, order: Sequence[Expr | Unit] | None = None,
    places: Sequence[int] | None = None,
) -> Partition:
    """Put `nodes` (pending, in program order) into groups; those that are `asked` for must be stored.

    `order` has them with units in the place of those that these have; `places` says where each was put for
    other extents (`Outline`).

    Raises
    ------
    Elsewhere
        If some node cannot be there."""
    on = current.parallel
    tokens.tell(nodes)
    apart = len(barred) or memory.turns or switches.OFF
    sweeps = sweeps_of(nodes, asked)
    edge_of = {} if barred.edges or look_back == ALONE else edges(nodes, sweeps)
    usual = look_back > 0 and {"fusion", "reduction"} <= on and not apart and not edge_of
    terms = Terms(
        asked, Forms(refuse, tokens, memory), memory, barred, look_back,
        "fusion" in on, "reduction" in on, not is_off("views"), places, usual, sweeps, edge_of,
    )  # fmt: skip
    return _attempt(nodes, terms, order)


class Terms(NamedTuple):
    """What decides about joining, besides the nodes."""

    asked: Asked
    forms: Forms
    memory: Memory
    barred: Barred
    look_back: int
    """Groups that a node may join though it does not depend on them."""
    fuses: bool
    """Nodes share groups, as far as options go."""
    folds: bool
    """With folds, too."""
    views: bool
    """Through views, too."""
    places: Sequence[int] | None
    """Where each node was put for other extents."""
    usual: bool
    """Nothing of all this keeps nodes apart."""
    sweeps: dict[int, Sweep]
    """By serial of a node, which writes it is computed for alone."""
    edges: Mapping[int, int]
    """By serial of a node, the write to a border that it is part of (`edges`)."""


def _attempt(nodes: list[Expr], terms: Terms, order: Sequence[Expr | Unit] | None) -> Partition:
    """One pass over the nodes: each is placed once, and its accesses are entered."""
    epoch, asked, memory = next(_epochs), terms.asked, terms.memory
    groups: list[Group] = []
    stored, passing = {n.serial for n in nodes if n.serial in asked}, set[int]()
    last_reader: dict[int, int] = {}    # id(memory key) -> last group that loads it
    those: Sequence[Expr | Unit] = nodes if order is None else order
    places = repeat(None, len(those)) if terms.places is None else terms.places
    for node, place in zip(those, places, strict=True):
        if isinstance(node, Unit):
            _enter_unit(node, groups, last_reader, epoch, stored, memory)
            continue
        op, old = node.op, node.old
        key = node if old is None else memory.key(node)
        group, placed, loads = _place(node, key, groups, last_reader, epoch, terms, place)
        group.nodes.append(node)
        group.placed[node.serial] = placed
        node.epoch, node.index = epoch, group.number
        if op.__class__ is not Map and not group.opaque:
            if isinstance(op, FOLDS):
                group.fold = leader(node, group.fold)
            if isinstance(op, Scan):
                group.scan = op.axis
            group.usual = group.usual and op.__class__ in (Reduce, Gather)
        if loads:
            _enter_loads(loads, group, last_reader, stored, memory)
        if old is not None:
            region = written(node, placed.region) if op.__class__ is Scatter else placed.region
            group.stores.append(_access((node, key, region)))
            group.usual = False
            group.scatters = group.scatters or isinstance(op, Scatter)
            if node.masked:
                group.merged |= {id(key)}
            if not node.covers and not (node.masked and _passes_on(node, placed, group, passing)):
                stored.add(node.serial)
                if old.op is not None:
                    stored.add(old.serial)
    for group in groups:
        if len(group.nodes) > 1 and group.stores:
            stored.difference_update([n.serial for n in written_again(group) if n.serial not in asked])
        if group.unit is not None:
            stored -= group.unit.through
    stored.update(g.unit.fed.serial for g in groups if g.unit is not None and g.unit.fed is not None)
    return Partition(groups, stored, epoch, edges=frozenset(terms.edges.values()))


def _passes_on(node: Expr, placed: Placed, group: Group, passing: set[int]) -> bool:
    """Does a masked write get those elements that it leaves from registers, being one of all elements?

    Then it makes a whole value, in registers, too, and is noted as one that is `passing`."""
    old, region = node.old, region_of(node)
    assert old is not None
    if (
        isinstance(node.op, Map) and old.serial in group.placed
        and (old.covers or old.serial in passing)
        and region.nbytes == node.nbytes and is_dense(region)
        and same(group.placed[old.serial].region, placed.region)
    ):  # fmt: skip
        passing.add(node.serial)
        return True
    return False


_access: Any = partial(tuple.__new__, Access)
"""(The interpreter's own constructor: a class's takes three times as long.)"""


def _enter_loads(
    loads: Loads, group: Group, last_reader: dict[int, int], stored: set[int], memory: Memory
) -> None:
    number, enter = group.number, group.loads.append
    for value, geo in loads:
        key = value if value.old is None else memory.key(value)
        enter(_access((value, key, geo)))
        if last_reader.get(id(key), -1) < number:
            last_reader[id(key)] = number
        if value.op is not None:
            stored.add(value.serial)


def _enter_unit(
    unit: Unit, groups: list[Group], last_reader: dict[int, int], epoch: int, stored: set[int], memory: Memory
) -> None:
    """A unit is a group by itself."""
    group = Group(len(groups), unit.shape, memory, nodes=unit.nodes, placed=unit.placed, unit=unit)
    groups.append(group)
    for node in unit.nodes:
        node.epoch, node.index = epoch, group.number
    stored.update(node.serial for node in unit.nodes if node.old is not None and not node.covers)
    _enter_loads(unit.loads, group, last_reader, stored, memory)
    for node in unit.nodes if unit.fed is None else ():
        if node.old is not None and node.serial not in unit.through:
            region = written(node, unit.placed[node.serial].region)
            group.stores.append(Access(node, memory.key(node), region))
            if not node.covers and node.old.op is not None:
                stored.add(node.old.serial)


def is_draw(node: Expr) -> bool:
    """Is it a draw of random numbers?"""
    return isinstance(node.op, Map) and node.op.name in DRAWS


Joined = tuple[Placed, Loads]
"""How the loops of a group see a node, and what it loads."""


def _place(
    node: Expr, key: Expr, groups: list[Group], last_reader: dict[int, int], epoch: int, terms: Terms,
    known: int | None,
) -> tuple[Group, Placed, Loads]:
    """The group in whose loops a node runs, perhaps a new one, and how they see it; `key` is its buffer's.

    Where `known` says which, it is that one."""
    old, memory, forms = node.old, terms.memory, terms.forms
    own, shape, plain, twice = forms.known.get(forms.numbers[node.serial]) or forms.of(node)
    last = len(groups) - 1 if own is None and old is None and terms.usual else -1
    first = last if known is None else known
    if 0 <= first <= last:
        loads = _usual(node, shape, plain, groups[first], epoch, known is None)
        if loads is not None:
            return groups[first], plain, loads
    floor = -1                                  # the last group that must not run after it
    for i in node.inputs:
        if i.__class__ is Read:
            value = i.expr
            if value.epoch == epoch and value.op is not None and value.index > floor:
                floor = value.index
    if old is not None and old.op is not None and old.epoch == epoch and old.index > floor:
        floor = old.index
    maker = floor                               # (the last group that makes what it needs)
    edge = terms.edges.get(node.serial, 0) if terms.edges else 0
    if old is None:
        if known is None and 0 <= floor < last and len(groups[floor].nodes) < MAX_NODES:
            loads = _usual(node, shape, plain, groups[floor], epoch, True)
            if loads is not None:
                return groups[floor], plain, loads
    else:
        floor = max(floor, last_reader.get(id(key), -1))
        edge = edge or (node.serial if copies(node, memory) else 0)
    if edge and own is TOO_FEW:
        own = None
    unlike = terms.barred.unlike
    why = (unlike.get(node.serial) if unlike else None) or own
    if why is None and old is not None:
        why = "writes some element twice" if twice else own_conflict(node, plain, memory, key)
    refusals = [] if why is None else [Refusal(node.serial, why)]
    if why is None:
        apart = terms.look_back == ALONE or (not terms.look_back and floor < len(groups) - 1)
        if apart and groups:
            refusals.append(Refusal(node.serial, CROWDED, floor))
        if known is not None:
            tried = _known(groups, known, floor)
        else:
            latest = floor == len(groups) - 1 and terms.look_back > 0
            tried = groups[-1:] if latest else _candidates(groups, floor, terms.look_back)
        for group in tried:
            link = _link(node, plain, group, epoch) if group.number <= maker else None
            if refusals and link is None and shape != group.shape:
                continue                    # no view leads there
            found = _join(node, shape, plain, edge, link, group, epoch, terms)
            if not isinstance(found, str):
                return group, *found
            if not refusals:
                refusals.append(Refusal(node.serial, found, group.number))
    if known is not None and known != (len(groups) if why is None else -1 - len(groups)):
        raise Elsewhere
    group = Group(
        len(groups), shape, memory, why is not None, refusals=refusals, edge=edge,
        usual=why is None and not edge,
    )  # fmt: skip
    groups.append(group)
    return group, plain, reads_of(node, plain)


def _usual(
    node: Expr, shape: tuple[int, ...], plain: Placed, group: Group, epoch: int, needed: bool
) -> Loads | None:
    """What a new array's node loads that joins a group of its space in the usual case: an operation, or the
    only fold, and what the group makes of all it reads comes in registers.  `needed`: None unless the group
    makes some of that, where an earlier one does.

    None, too, where that has to be looked at: `_join` and `conflict` say yes to no other nodes at once."""
    if not group.usual or group.shape != shape or len(group.nodes) >= MAX_NODES:
        return None
    kind = node.op.__class__
    if kind is not Map and (kind is not Reduce or group.fold is not None or node.op.masked):  # type: ignore[union-attr]
        return None
    number, loads, made = group.number, [], group.placed
    inside = earlier = False
    for i, geo in zip(node.inputs, plain.reads, strict=True):
        if geo is None:
            continue
        value = i.expr                          # type: ignore[union-attr]
        op = value.op
        if op is None or value.epoch != epoch:
            loads.append((value, geo))
        elif value.index != number:
            if value.index > number:
                return None
            loads.append((value, geo))
            earlier = True
        elif (op.__class__ is Map or isinstance(op, ELEMENTWISE)) and (
            geo is (region := made[value.serial].region) or same(geo, region)
        ):
            inside = True
        else:
            return None
    return None if needed and earlier and not inside else loads


def _candidates(groups: list[Group], floor: int, look_back: int) -> list[Group]:
    """Groups that a node may join without running before what it depends on: the one that makes its
    inputs first, since values pass in registers there, then the latest.

    Without `look_back` only the very last: then a group is a piece of the program as it was written, and
    holds little more at a time than NumPy did."""
    if look_back <= 0:
        return [] if look_back == ALONE else groups[-1:]
    before = max(floor, len(groups) - look_back - 1)
    later = groups[: before if before >= 0 else None : -1]
    return [groups[floor], *later] if floor >= 0 else later


def _known(groups: list[Group], known: int, floor: int) -> list[Group]:
    """The group that a node was in for other extents, if it is not to be a new one."""
    if known < floor:
        raise Elsewhere
    return groups[known : known + 1]


def _join(
    node: Expr, shape: tuple[int, ...], plain: Placed, edge: int, link: Link | None, group: Group,
    epoch: int, terms: Terms,
) -> Joined | str:
    """How the group's loops see a node that joins it, or why it cannot.

    The group may take the node's space, `shape`, for that."""
    if not terms.fuses or (switches.OFF and is_node_off("fusion", node.serial)):
        return "fusion is switched off"
    if not terms.folds and (group.fold is not None or node.op.__class__ is Reduce):
        return "folds with what makes and uses their elements are switched off"
    if group.opaque:
        return "an input is made by NumPy"
    if (
        group.stores and node.old is None and node.serial in terms.sweeps
        and terms.sweeps[node.serial].is_next(group.stores, terms.memory)
    ):  # fmt: skip
        return "it is part of the next sweep, which reads elements beside those written here"
    if group.unit is not None:
        return "the group runs as several loop nests, which read through what was joined"
    if edge != group.edge:
        return "a few elements of a border are written, which may run with what sweeps over the array"
    alone = terms.barred.alone
    if alone and any(n.serial in alone for n in (node, *group.nodes)):
        return "random numbers are drawn in the order of their stream, many at a time"
    if group.fold is not None and group.fold.op.__class__ is not Reduce:
        return "elements are counted or kept in a kernel of its own"
    if len(group.nodes) >= MAX_NODES:
        return f"the kernel has {MAX_NODES} nodes already"
    apart = terms.barred.apart
    views = terms.views and node.op.__class__ not in IN_C_ORDER and not (apart and node.serial in apart)
    equal, reaches = (True, True) if link is None or not views else terms.memory.seen(*link)
    if equal and shape == group.shape:
        return _joined(node, plain, group, epoch, terms)
    if link is None or not views:
        return f"iteration space {shape} is not {group.shape}"
    if not reaches or math.prod(shape) != math.prod(group.shape):
        return _elsewhere(shape, group.shape)       # (nor would a view lead there)
    seen, made = spread(link[0], shape), spread(link[1], group.shape)
    view = reindex(seen, made)
    if view is None:
        return _elsewhere(shape, group.shape)
    placed = None if isinstance(node.op, (Reduce, Scan)) else plain.through(view)
    if placed is not None:
        why = _strides_apart(node, plain, placed, group, epoch)
        found = why or _joined(node, placed, group, epoch, terms)
        if not isinstance(found, str):
            group.bridged |= {node.serial}
        return found
    back = None if group.ordered else reindex(made, seen)
    moved = None if back is None else group.through(back, shape)
    if moved is None:
        return f"no view takes {shape} to {group.shape} for all operands"
    found = _strides_apart(node, plain, plain, moved, epoch) or _joined(node, plain, moved, epoch, terms)
    if not isinstance(found, str):
        group.become(moved)
        group.bridged |= {node.serial}
    return found


def _joined(node: Expr, placed: Placed, group: Group, epoch: int, terms: Terms) -> Joined | str:
    """How a node that the group's loops would see so joins it, or what keeps it from that."""
    loads = memory_reads(node, placed, group, epoch)
    return conflict(node, placed, loads, group, epoch, terms.asked) or (placed, loads)


def _elsewhere(shape: tuple[int, ...], other: tuple[int, ...]) -> str:
    if shape == other:
        return "reads a value of the group at other elements"
    return f"iteration space {shape} is not {other}"


def _strides_apart(node: Expr, plain: Placed, placed: Placed, group: Group, epoch: int) -> str | None:
    """Would one loop nest stride across more large operands than two do, with the value that passes
    between them stored?"""
    if math.prod(group.shape) < CROSSING:
        return None
    link = _link(node, plain, group, epoch)
    assert link is not None
    theirs = [a.geo for a in (*group.loads, *group.stores)]
    mine = [geo for _, geo in memory_reads(node, placed, group, epoch)]
    if not isinstance(node.op, Reduce):
        mine.append(placed.region)
    between = [link[1]]
    together, one, other = (
        crossed(g for g in geos if g.shape == group.shape)
        for geos in (theirs + mine, theirs + between, mine + between)
    )
    if together > one + other:
        return "its operands lie in another order of axes"
    return None


Link = tuple[numpy.ndarray, numpy.ndarray]
"""A value of a group that a node needs: as the node's space and as the group's space has it."""


def _link(node: Expr, plain: Placed, group: Group, epoch: int) -> Link | None:
    """`plain` has the node's accesses over its own space; a table and a compression's ranks are no links."""
    kind, number = node.op.__class__, group.number
    for k, i in enumerate(loop_inputs(node) if kind is Compress else node.inputs):
        if i.__class__ is not Read or (kind is Gather and not k):
            continue
        value, geo = i.expr, plain.reads[k]
        if value.op is not None and value.index == number and value.epoch == epoch and isinstance(
            value.op, ELEMENTWISE
        ):
            assert geo is not None
            return geo, group.placed[value.serial].region
    old = node.old
    if old is not None and not node.covers and makes(old, group, epoch) and isinstance(old.op, ELEMENTWISE):
        return region_of(node) if kind is Scatter else plain.region, group.placed[old.serial].region
    return None
