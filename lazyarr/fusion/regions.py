"""Regions: a group takes what it reads of values written piece by piece from where the pieces come from.

In:  a partition, the nodes that it is of.   Out: `Unit`s, and for other groups why they read from memory.
``np.roll(u, 1)``, ``np.pad``, ``np.concatenate``, ``np.gradient``, a border of zeros around what a slice is
assigned to: each is several writes to parts of new memory, which somebody then reads otherwise than it was
written.  Where one group alone reads them, its space is cut into boxes (`boxes`), each a loop nest in which
what wrote the elements is computed in the place of a load, and none of it is stored: what was
elementwise(joined(parts)) becomes joined(elementwise(parts)).  A fold of rows onto rows goes on in each box
from what those before it have left.  The order of any other goes through all boxes; so it is a group by
itself, which is fed with what they make, portion by portion (`portions`).

The same goes for a value that is read at several places, as a stencil does: it is computed again for each of
them where that takes less time than to store and load it.  Each operation is done on the elements on which
NumPy does it, so flags are NumPy's: what nobody reads and may raise some is stored as before.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from operator import attrgetter

from lazyarr.draws import DRAWS
from lazyarr.expr import FOLDS, Expr, Map, Read, Reduce
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.boxes import IN_ORDER, MOST_BOXES, MOST_NODES, Box, Reading, TooMany, Unit, Unreadable
from lazyarr.fusion.fold import across, fold_order, folded
from lazyarr.fusion.group import TOO_FEW, Group, Placed, region_of
from lazyarr.fusion.overlap import all_of
from lazyarr.fusion.pieces import copy_of, is_piece
from lazyarr.fusion.reindex import CROSSING, crossed
from lazyarr.fusion.short_folds import is_short
from lazyarr.geometry import same
from lazyarr.ops import may_raise, row
from lazyarr.records import dataclass
from lazyarr.switches import is_node_off

_SERIAL = attrgetter("serial")

BOX_BYTES = 1 << 16
"""What a launch more takes, in bytes that memory moves meanwhile."""

BYTES_PER_NS = 24.0
"""What memory moves for one thread, at best."""

COST_NS = 0.1
"""Nanoseconds of an element of an op of cost 1."""

IN_VAIN = 2
"""Pieces for each node of an evaluation, besides those of one unit, that may be made for units that do not
come about: what is made of what is made, each from several places, has more pieces than anybody would run,
and planning is to end in a time that grows with the nodes."""

TOO_LONG = "to look for such loop nests would take longer than they may save"

NOT_ONE = "several folds go through what is made of it, or other nodes use that"


@dataclass(slots=True, eq=False)
class Regions:
    """What reading through makes of the groups of a partition."""

    units: list[Unit] = field(default_factory=list)
    """The last one of the program first."""
    refused: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """By serial of a group's last node: why some of what it reads is stored for it."""

    def reading(self, serial: int, number: int) -> bool:
        """Do so many units read through a value, one of which at most feeds a fold with it as it is?"""
        fed = sum(u.fed is not None and u.fed.serial == serial for u in self.units)
        return fed < 2 and fed + sum(serial in u.through for u in self.units) == number

    def distinct(self) -> bool:
        """Has each unit but the first of the program a node of its own?"""
        seen: set[int] = set()
        for unit in reversed(self.units):
            mine = {n.serial for n in unit.nodes}
            if mine <= seen:
                return False
            seen |= mine
        return True

    def drop(self, unit: Unit) -> None:
        """Take out a unit, and with it those that make something that it makes, too."""
        gone = {n.serial for n in unit.nodes}
        self.units = [u for u in self.units if gone.isdisjoint(n.serial for n in u.nodes)]


class Prospects:
    """What reading through goes by: the groups of a partition, of whose nodes some (serials) are stored, and
    some asked for from outside."""

    def __init__(
        self, nodes: Sequence[Expr], groups: Sequence[Group], stored: Collection[int], asked: Collection[int]
    ) -> None:
        self.nodes, self.groups, self.stored, self.asked = nodes, groups, stored, asked
        self.short, self.readers = Short(), Readers(nodes)
        self.apart = [group for group in groups if _is_apart(group, asked, self.short)]


class Short:
    """Which folds are short (`short_folds`): asked once for all of one op and the same geometries."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int, int], bool] = {}

    def __call__(self, node: Expr) -> bool:
        if node.op.__class__ is not Reduce:
            return False
        key = id(node.op), id(folded(node).geo), id(node.region)        # (which nodes hold)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = is_short(node)
        return found


def read_through(of: Prospects, memory: Memory, out: Collection[int]) -> Regions:
    """The units that pay; groups numbered in `out` stay as they are."""
    if not of.apart:
        return Regions()
    shared = _shared(of.groups, of.asked, out)
    search = Search(MOST_NODES + IN_VAIN * len(of.nodes))
    while True:
        found = _units(of, memory, out, shared, search)
        lost = [serial for serial, number in shared.items() if not found.reading(serial, number)]
        if not lost and not found.distinct():
            lost = list(shared)
        if not lost:
            return found
        for serial in lost:
            del shared[serial]


class Search:
    """How many pieces may yet be made in vain, by all units of an evaluation."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces


def _shared(groups: Sequence[Group], asked: Collection[int], out: Collection[int]) -> dict[int, int]:
    """What is written piece by piece and read by several groups, by serial: how many these are."""
    first: dict[int, int] = {}
    several: dict[int, set[int]] = {}
    for group in groups if any(group.stores for group in groups) else ():
        number = -1 if group.opaque or group.number in out else group.number
        for value, _, _ in group.loads:
            if value.old is not None and value.op is not None and value.serial not in asked:
                other = first.setdefault(value.serial, number)
                if other != number:
                    several.setdefault(value.serial, {other}).add(number)
    return {serial: len(those) for serial, those in several.items() if -1 not in those}


def _units(
    of: Prospects, memory: Memory, out: Collection[int], shared: Collection[int], search: Search
) -> Regions:
    """The units of groups that are apart, each of its own nodes; what is made for a value that is `shared`
    several may have."""
    found, asked, readers, short = Regions(), of.asked, of.readers, of.short
    taken = {n.serial for g in of.groups if g.opaque and g.refusals[0].why is not TOO_FEW for n in g.nodes}
    for group in reversed(of.apart):
        if group.number in out:
            continue
        mine = [n for n in group.nodes if n.serial not in taken] if taken else group.nodes
        last, fed = group.nodes[-1].serial, None
        if group.fold is not None:
            made = _of_folds(mine, group, short) or _of_rows(mine, group, of) or _fed(mine, group, of, shared)
            if isinstance(made, str):
                found.refused[last] = (made,)
                continue
            mine, group, fed = made
        elif not _may_unite(mine, asked, readers) or not _elementwise(group, short):
            continue
        uniting = _Uniting(group, mine, of, memory, taken, fed, shared)
        unit = uniting.unit(search)
        if uniting.whys:
            found.refused[last] = tuple(uniting.whys)
        if unit is not None:
            found.units.append(unit)
            taken.update({n.serial for n in unit.nodes} - below(unit, shared))
    return found


def below(unit: Unit, shared: Collection[int]) -> set[int]:
    """Serials of a unit's nodes that make values which others have, too."""
    members = {n.serial for n in unit.nodes}
    found: set[int] = set()
    todo = [n for n in unit.nodes if n.serial in shared]
    while todo:
        node = todo.pop()
        if node.serial in members and node.serial not in found:
            found.add(node.serial)
            todo += node.needs()
    return found


class Readers:
    """Who of some nodes needs each value, by serials; looked for when somebody first asks."""

    def __init__(self, nodes: Sequence[Expr]) -> None:
        self.nodes = {*map(_SERIAL, nodes)}
        self.known: dict[int, set[int]] = {}

    def of(self, value: Expr) -> set[int]:
        found = self.known.get(value.serial)
        if found is None:
            found = self.known[value.serial] = self.nodes.intersection(map(_SERIAL, value.waiting()))
        return found


def _is_apart(group: Group, asked: Collection[int], short: Short) -> bool:
    """Does it read what is made for it piece by piece, or at other elements?"""
    for value, _, geo in group.loads:
        if value.op is not None and value.serial not in asked and (
            value.old is not None or not (geo is value.region or same(geo, region_of(value)))
            or (value.op.__class__ is Reduce and short(value))
        ):  # fmt: skip
            return True
    return False


def _may_unite(nodes: Sequence[Expr], asked: Collection[int], readers: Readers) -> bool:
    """Do nodes need a pending value that nobody else needs, and that they do not change a part of?"""
    inside: set[int] = set()
    for node in nodes:
        over = None if node.covers else node.old
        for i in node.inputs:                   # (`needs`, but for what it changes a part of)
            value = i.expr if i.__class__ is Read else None
            if value is None or value.op is None or value is over or value.serial in asked:
                continue
            inside = inside or {n.serial for n in nodes}
            if value.serial not in inside and readers.of(value) <= inside:
                return True
    return False


Parts = tuple[list[Expr], Group, Expr | None]
"""Nodes that read piece by piece; their group; the value that a fold is fed with, if they make that."""


def _of_folds(nodes: list[Expr], group: Group, short: Short) -> Parts | None:
    """The folds of a group that are short, over the space of their results; None if others are not."""
    folds = [n for n in nodes if isinstance(n.op, FOLDS)]
    shapes = {region_of(n).shape for n in folds}
    if len(shapes) != 1 or not all(map(short, folds)):
        return None
    placed = {n.serial: Placed((folded(n).geo,), region_of(n)) for n in folds}
    part = replace(group, shape=shapes.pop(), nodes=folds, placed=placed, fold=None, bridged=frozenset())
    return folds, part, None


def _of_rows(nodes: list[Expr], group: Group, of: Prospects) -> Parts | None:
    """What folds rows onto rows, with what is computed of each element; None if some node is another one."""
    folds = [n for n in nodes if isinstance(n.op, FOLDS)]
    if len(nodes) < len(group.nodes) or not _may_unite(nodes, of.asked, of.readers):
        return None
    if not all(map(_is_of_rows, folds)):
        return None
    others = all(_is_plain(n, of.short) and n.covers for n in nodes if not isinstance(n.op, FOLDS))
    return (nodes, group, None) if others else None


def _is_of_rows(fold: Expr) -> bool:
    return isinstance(fold.op, Reduce) and across(fold_order(fold))


def _fed(nodes: list[Expr], group: Group, of: Prospects, shared: Collection[int]) -> Parts | str:
    """What makes the one value that a group folds, which need not exist as a whole (`portions`)."""
    asked = of.asked
    folds = [n for n in nodes if isinstance(n.op, FOLDS)]
    plain = all(isinstance(n.op, Reduce) and not n.op.masked for n in folds)
    if not folds or not plain or len(nodes) < len(group.nodes):
        return IN_ORDER
    value, geo = folded(folds[0]).expr, folded(folds[0]).geo
    others = [n for n in nodes if not isinstance(n.op, FOLDS)]
    once = all(folded(n).expr is value and same(folded(n).geo, geo) for n in folds)
    if not once or value.op is None or value.serial in asked or any(n.serial in asked for n in others):
        return NOT_ONE
    alone = value.serial in shared or of.readers.of(value) <= {n.serial for n in folds}
    if not alone or geo.shape != group.shape:
        return NOT_ONE
    if not all(_is_plain(n, of.short) and n.covers for n in others):
        return IN_ORDER
    if others:
        if others[-1] is not value or not same(geo, region_of(value)):
            return NOT_ONE
        placed = {n.serial: group.placed[n.serial] for n in others}
    else:
        copy: Expr = copy_of(value, geo)
        others, placed = [copy], {copy.serial: Placed.plainly(copy)}
    return others, replace(group, nodes=others, placed=placed, fold=None, bridged=frozenset()), value


def _elementwise(group: Group, short: Short) -> bool:
    free = not group.opaque and not group.edge and not group.ordered
    return free and all(_is_plain(n, short) for n in group.nodes)


def _is_plain(node: Expr, short: Short) -> bool:
    if is_node_off("fusion", node.serial):
        return False
    if isinstance(node.op, Map):
        return not node.masked and node.op.name not in DRAWS
    return short(node)


class _Uniting:
    """One group on its way to a unit."""

    def __init__(
        self, group: Group, nodes: list[Expr], of: Prospects, memory: Memory, taken: Collection[int],
        fed: Expr | None, shared: Collection[int],
    ) -> None:
        self.group, self.nodes, self.of, self.memory = group, nodes, of, memory
        self.taken, self.fed, self.shared = taken, fed, shared
        self.barred = {n.old.serial for n in nodes if n.old is not None and not n.covers}
        """Serials of values that have to be stored."""
        self.whys: dict[str, None] = {}

    def unit(self, search: Search) -> Unit | None:
        """The unit, if reading through pays."""
        while True:
            through = self._through()
            if not any(serial in self.of.stored for serial in through):
                return None
            if search.left <= 0:
                self.whys[TOO_LONG] = None
                return None
            reading = Reading(self.group, self.nodes, through)
            try:
                boxes = reading.boxes()
            except Unreadable as found:
                self._bar(found.value, found.why)
                continue
            except TooMany:
                self.whys[f"that would take more than {MOST_BOXES} loop nests"] = None
                return None
            finally:
                search.left -= reading.pieces
            lost = self._lost(through, reading)
            if lost is not None:
                self._bar(*lost)
                continue
            if self._crosses(max(boxes, key=lambda b: math.prod(b.shape))):
                self.whys["its operands lie in another order of axes"] = None
                return None
            if self._saved(through, reading, len(boxes)) <= 0:
                self.whys["the loop nests take more time than memory saves"] = None
                return None
            if self._overwrites(reading):
                self.whys["the group writes memory that the parts come from"] = None
                return None
            search.left += reading.pieces       # not in vain
            own = [n for n in self.nodes if not is_piece(n)]
            members = sorted((*through.values(), *own), key=lambda n: n.serial)
            placed = {n.serial: self.group.placed[n.serial] for n in own}
            placed |= {s: Placed.plainly(n) for s, n in through.items()}
            kept = set() if self.fed is None else {self.fed.serial}
            shape, through_them = self.group.shape, set(through) - kept
            return Unit(shape, members, placed, through_them, boxes, reading.loads, self.fed)

    def _bar(self, value: Expr, why: str) -> None:
        self.barred.add(value.serial)
        self.whys[why] = None

    def _through(self) -> dict[int, Expr]:
        """What only the group needs, and what only that needs, by serial."""
        inside = {n.serial for n in self.nodes}
        if self.fed is not None:
            inside |= self.of.readers.of(self.fed)
        found: dict[int, Expr] = {}
        todo = [value for n in self.nodes for value in n.needs()]
        while todo and len(inside) < MOST_NODES:
            value = todo.pop()
            serial = value.serial
            if (
                value.op is None or serial in inside or serial in self.barred or serial in self.taken
                or serial in self.of.asked or not _is_plain(value, self.of.short) or not region_of(value).size
                or not (serial in self.shared or self.of.readers.of(value) <= inside)
            ):  # fmt: skip
                continue
            found[serial] = value
            inside.add(serial)
            todo += value.needs()
        return found

    def _lost(self, through: Mapping[int, Expr], reading: Reading) -> tuple[Expr, str] | None:
        """A value that has to be stored, since it would be computed too often, or not for all elements."""
        most, worst = 0.0, None
        spent = saved = 0.0
        for serial, node in through.items():
            made = reading.made.get(serial, [])
            if may_raise(node.op, region_of(node).dtype.char) and not all_of(region_of(node).shape, made):
                return node, "elements that nobody reads may raise floating-point flags"
            again = sum(math.prod(w.shape) for w in made) - region_of(node).size
            ns = ns_of(node) * again
            spent += max(0.0, ns)
            saved += 2 * region_of(node).nbytes / BYTES_PER_NS * (serial in self.of.stored)
            if ns > most:
                most, worst = ns, node
        if worst is None or spent <= saved:
            return None
        return worst, "to compute it for each of its readers takes more time than to store it"

    def _saved(self, through: Mapping[int, Expr], reading: Reading, boxes: int) -> int:
        """Bytes that memory need not move, less what the loop nests take."""
        before = sum(region_of(n).nbytes for s, n in through.items() if s in self.of.stored)
        values = {v.serial: v for v, _ in reading.loads if v.op is not None}
        new = sum(v.nbytes for s, v in values.items() if s not in self.of.stored)
        return 2 * (before - new) - BOX_BYTES * (boxes - 1)

    def _crosses(self, box: Box) -> bool:
        """Would the loops of the largest box stride across more operands than the group's?"""
        if math.prod(box.shape) < CROSSING:
            return False
        reads = [i.geo for p in box.pieces for i in p.inputs if isinstance(i, Read) and not is_piece(i.expr)]
        stores = [
            region_of(p) for serial, p in box.own.items()
            if serial in self.of.stored and not isinstance(p.op, Reduce)
        ]
        before = [a.geo for a in self.group.loads]
        before += [self.group.placed[n.serial].region for n in self.nodes if not isinstance(n.op, Reduce)]
        return crossed(reads + stores) > crossed(before)

    def _overwrites(self, reading: Reading) -> bool:
        keys = {id(self.memory.key(value)) for value, _ in reading.loads}
        return any(n.old is not None and id(self.memory.key(n.old)) in keys for n in self.nodes)


def ns_of(node: Expr) -> float:
    """Nanoseconds of an element."""
    assert isinstance(node.op, Map | Reduce)
    return 0.0 if node.op.name == "copy" else COST_NS * row(node.op.name).cost
