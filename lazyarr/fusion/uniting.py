"""Uniting: a group, and what it may read through, on its way to a unit (`boxes`).

In:  a group of a partition, those of its nodes that read piece by piece.
Out: a `Unit` where that pays, else why it does not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter

from lazyarr.draws import DRAWS
from lazyarr.expr import Expr, Map, Read, Reduce
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.boxes import MOST_BOXES, MOST_NODES, Box, Reading, TooMany, Unit, Unreadable
from lazyarr.fusion.fold import folded
from lazyarr.fusion.group import Group, Placed, region_of
from lazyarr.fusion.overlap import all_of
from lazyarr.fusion.pieces import is_piece, whole_of
from lazyarr.fusion.reindex import CROSSING, crossed
from lazyarr.fusion.short_folds import is_short
from lazyarr.geometry import same
from lazyarr.ops import may_raise, row
from lazyarr.switches import is_node_off

_SERIAL = attrgetter("serial")

BOX_BYTES = 1 << 16
"""What a launch more takes, in bytes that memory moves meanwhile."""

BYTES_PER_NS = 24.0
"""What memory moves for one thread, at best."""

COST_NS = 0.1
"""Nanoseconds of an element of an op of cost 1."""

TOO_LONG = "to look for such loop nests would take longer than they may save"


class Prospects:
    """What reading through goes by: the groups of a partition, of whose nodes some (serials) are stored, and
    some asked for from outside."""

    def __init__(
        self, nodes: Sequence[Expr], groups: Sequence[Group], stored: Collection[int], asked: Collection[int]
    ) -> None:
        self.nodes, self.groups, self.stored, self.asked = nodes, groups, stored, asked
        self.short, self.readers = Short(), Readers(nodes)
        self.apart = [group for group in groups if _is_apart(group, asked, self.short)]
        self._making: dict[int, list[Group]] = {}

    def making(self, serials: Collection[int]) -> list[Group]:
        """The groups that have nodes of these."""
        if not self._making:
            for group in self.groups:
                for node in group.nodes:
                    self._making.setdefault(node.serial, []).append(group)
        found = {group.number: group for serial in serials for group in self._making.get(serial, ())}
        return [found[number] for number in sorted(found)]


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


class Search:
    """How many pieces may yet be made in vain, by all units of an evaluation."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces


def _is_apart(group: Group, asked: Collection[int], short: Short) -> bool:
    """Does it read what is made for it piece by piece, or at other elements?"""
    for value, _, geo in group.loads:
        if value.op is not None and value.serial not in asked and (
            value.old is not None or not (geo is value.region or same(geo, region_of(value)))
            or (value.op.__class__ is Reduce and short(value))
        ):  # fmt: skip
            return True
    return False


def is_plain(node: Expr, short: Short) -> bool:
    if is_node_off("fusion", node.serial):
        return False
    if isinstance(node.op, Map):
        return not node.masked and node.op.name not in DRAWS
    return short(node)


class Uniting:
    """One group on its way to a unit."""

    def __init__(
        self, group: Group, nodes: list[Expr], of: Prospects, memory: Memory, taken: Collection[int],
        fed: Expr | None, shared: Collection[int], patches: Sequence[Expr] = (),
    ) -> None:
        self.group, self.nodes, self.of, self.memory = group, nodes, of, memory
        self.taken, self.fed, self.shared = taken, fed, shared
        self.patches = {n.serial: n for n in patches}
        """The writes that make up what the nodes are copies of (`patchwork`)."""
        self.barred = {n.old.serial for n in nodes if n.old is not None and not n.covers}
        """Serials of values that have to be stored."""
        self.whys: dict[str, None] = {}

    def unit(self, search: Search) -> Unit | None:
        """The unit, if reading through pays."""
        while True:
            through = self._through()
            if not through or not (self.patches or any(serial in self.of.stored for serial in through)):
                return None
            if search.left <= 0:
                self.whys[TOO_LONG] = None
                return None
            reading = Reading(self.group, self.nodes, through)
            try:
                boxes = reading.boxes()
            except Unreadable as found:
                self._bar(found.value, found.why)
                if found.value.serial not in through:       # (to store it makes no difference)
                    return None
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
            for copy in self.nodes if self.patches else ():
                result = whole_of(copy).serial
                placed[result] = placed[result]._replace(region=region_of(copy))
                kept.add(result)
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
        found = dict(self.patches)
        if any(serial in self.barred or serial in self.taken for serial in found):
            return {}
        inside.update(found)
        todo = [value for n in (*self.nodes, *found.values()) for value in n.needs()]
        while todo and len(inside) < MOST_NODES:
            value = todo.pop()
            serial = value.serial
            if (
                value.op is None or serial in inside or serial in self.barred or serial in self.taken
                or serial in self.of.asked or not is_plain(value, self.of.short) or not region_of(value).size
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
            saved += 2 * region_of(node).nbytes / BYTES_PER_NS * self._is_stored(serial)
            if ns > most:
                most, worst = ns, node
        if worst is None or spent <= saved:
            return None
        return worst, "to compute it for each of its readers takes more time than to store it"

    def _is_stored(self, serial: int) -> bool:
        """Is something stored that need not be?"""
        return serial in self.of.stored and serial not in self.patches

    def _saved(self, through: Mapping[int, Expr], reading: Reading, boxes: int) -> int:
        """Bytes that memory need not move, less what the loop nests take."""
        before = sum(region_of(n).nbytes for s, n in through.items() if self._is_stored(s))
        values = {v.serial: v for v, _ in reading.loads if v.op is not None}
        new = sum(v.nbytes for s, v in values.items() if s not in self.of.stored)
        again = self._read_again(through) + self._written_again() if self.patches else 0
        return 2 * (before - new) + again - BOX_BYTES * (boxes - 1)

    def _written_again(self) -> int:
        """Bytes of patches that others cover."""
        return sum(region_of(n).nbytes for n in self.patches.values()) - sum(c.nbytes for c in self.nodes)

    def _read_again(self, through: Mapping[int, Expr]) -> int:
        """Bytes that several of the groups read which make up what is read through, but for one time each."""
        each: dict[int, list[int]] = {}
        for group in self.of.making(through):
            mine: dict[int, int] = {}
            for value, _, geo in group.loads:
                if value.serial not in through:
                    mine[value.serial] = max(mine.get(value.serial, 0), min(geo.nbytes, value.nbytes))
            for serial, nbytes in mine.items():
                each.setdefault(serial, []).append(nbytes)
        return sum(sum(sizes) - max(sizes) for sizes in each.values())

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
