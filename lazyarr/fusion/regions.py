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

from collections.abc import Collection, Sequence

from lazyarr.expr import FOLDS, Expr, Read, Reduce
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.boxes import IN_ORDER, MOST_NODES, Unit
from lazyarr.fusion.fold import across, fold_order, folded
from lazyarr.fusion.group import TOO_FEW, Group, Placed, region_of
from lazyarr.fusion.patchwork import Patchwork, patchworks
from lazyarr.fusion.pieces import copy_of
from lazyarr.fusion.uniting import Prospects, Readers, Search, Short, Uniting, is_plain
from lazyarr.geometry import same
from lazyarr.records import dataclass, field, replace

IN_VAIN = 2
"""Pieces for each node of an evaluation, besides those of one unit, that may be made for units that do not
come about: what is made of what is made, each from several places, has more pieces than anybody would run,
and planning is to end in a time that grows with the nodes."""

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


def read_through(of: Prospects, memory: Memory, out: Collection[int]) -> Regions:
    """The units that pay; groups numbered in `out` stay as they are."""
    works = patchworks(of, out)
    if not of.apart and not works:
        return Regions()
    shared = _shared(of.groups, of.asked, out)
    search = Search(MOST_NODES + IN_VAIN * len(of.nodes))
    while True:
        found = _units(of, memory, out, shared, search, works)
        lost = [serial for serial, number in shared.items() if not found.reading(serial, number)]
        if not lost and not found.distinct():
            lost = list(shared)
        if not lost:
            return found
        for serial in lost:
            del shared[serial]


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
    of: Prospects, memory: Memory, out: Collection[int], shared: Collection[int], search: Search,
    works: Sequence[Patchwork],
) -> Regions:
    """The units of groups that are apart, each of its own nodes; what is made for a value that is `shared`
    several may have."""
    found, asked, readers, short = Regions(), of.asked, of.readers, of.short
    taken = {n.serial for g in of.groups if g.opaque and g.refusals[0].why is not TOO_FEW for n in g.nodes}
    _patch(found, of, memory, works, taken, search)
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
        uniting = Uniting(group, mine, of, memory, taken, fed, shared)
        unit = uniting.unit(search)
        if uniting.whys:
            found.refused[last] = tuple(uniting.whys)
        if unit is not None:
            found.units.append(unit)
            taken.update({n.serial for n in unit.nodes} - below(unit, shared))
    found.units.sort(key=lambda unit: -unit.nodes[-1].serial)
    return found


def _patch(
    found: Regions, of: Prospects, memory: Memory, works: Sequence[Patchwork], taken: set[int],
    search: Search,
) -> None:
    """The units that make results which are written patch by patch, several of a space where they can be."""
    todo = list(works)
    while todo:
        work = todo.pop()
        writes = [node for each in work.results for node in each.writes]
        group = work.group(memory)
        uniting = Uniting(group, group.nodes, of, memory, taken, None, (), writes)
        unit = uniting.unit(search)
        if unit is None:
            todo += work.apart()
            continue
        found.units.append(unit)
        taken.update(n.serial for n in unit.nodes)


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
    first = group.fold
    if first is None or len(nodes) < len(group.nodes) or not _is_of_rows(first):
        return None
    folds = [n for n in nodes if isinstance(n.op, FOLDS) and n is not first]
    if not all(map(_is_of_rows, folds)) or not _may_unite(nodes, of.asked, of.readers):
        return None
    others = all(is_plain(n, of.short) and n.covers for n in nodes if not isinstance(n.op, FOLDS))
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
    if not all(is_plain(n, of.short) and n.covers for n in others):
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
    return free and all(is_plain(n, short) for n in group.nodes)
