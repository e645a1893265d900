"""Planning: the plan of an evaluation, from memory or made anew.

In:  a `Walk`, and why nodes are refused by compiled loops.   Out: `Plan`.

    partition into groups -> assemble -> feed compressions -> join what runs in row blocks -> let go

Plans are remembered by the walk's key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lazyarr import config
from lazyarr.buffers import has_rings
from lazyarr.counters import COUNT
from lazyarr.expr import EVALUATIONS, Expr, Read
from lazyarr.fusion import rows
from lazyarr.fusion.again import Chained, any_large, repeat, repeats
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.arranging import arranged
from lazyarr.fusion.assembler import Unlike
from lazyarr.fusion.boxes import IN_ORDER, Unit
from lazyarr.fusion.compress import Accesses, fed, feedable
from lazyarr.fusion.forms import Refuse
from lazyarr.fusion.group import TOO_FEW, Group, space
from lazyarr.fusion.kinds import Key
from lazyarr.fusion.outline import Barred, Elsewhere, Outline, outline
from lazyarr.fusion.partition import ALONE, LOOK_BACK, Partition, is_draw, partition
from lazyarr.fusion.portions import portioned, takes
from lazyarr.fusion.regions import Regions, read_through
from lazyarr.fusion.rows import Found, chains
from lazyarr.fusion.turns import Turns, turns
from lazyarr.fusion.uniting import Prospects
from lazyarr.late import late
from lazyarr.lifetimes import excess
from lazyarr.plan import Plan, Step, Walk
from lazyarr.plan_patterns import for_count, for_shape, kept_of, outline_of, pattern_of
from lazyarr.records import replace
from lazyarr.resting import Resting
from lazyarr.row_blocks import joined
from lazyarr.row_room import room, sweeps
from lazyarr.schedule import TINY
from lazyarr.steps import MOULDS, Alike, Made, Scattered, step_of
from lazyarr.switches import is_off
from lazyarr.traffic import moved

if TYPE_CHECKING:
    from lazyarr.launch_portions import blocks_of
else:
    late(globals(), launch_portions="blocks_of")

MAX_PLANS = 512
"""Plans kept; all are forgotten when there are more."""


LAUNCH = 1 << 16
"""What a launch more takes, in bytes that memory moves meanwhile."""

OUTLINED = 1000
"""Nodes of an evaluation whose like may come again with other extents."""

NARROWER = (LOOK_BACK, 0, ALONE)
"""How far a node looks for a group: each next one holds less at a time, and moves more."""


SEARCHED = 256
"""Nodes among which boxes are looked for also where all values stay in the first-level cache: it takes 0.1 ms
a node, for what may be read there once more."""


_plans: dict[tuple[Any, ...], Plan] = {}
_patterns: dict[tuple[Any, ...], tuple[Plan, int]] = {}
"""Plans whose shape does not matter, or how many elements masks keep, and how many these are (see
`plan_patterns`)."""
_outlines: dict[Key, Outline] = {}
"""Where nodes are, of plans by structure without extents."""


def forget() -> None:
    """Let the next plan be one of which nothing was met before."""
    for known in (_plans, _patterns, _outlines, MOULDS):
        known.clear()


def plan_of(w: Walk, refuse: Refuse) -> Plan:
    """The plan of a walk, from memory if the structure was met before."""
    found = plan_if(w, refuse, None)
    assert found is not None
    return found


Waits = Callable[[Walk, Key | None, bool], bool] | None
"""Says of a walk that no plan is to be made for it yet: given the key of those that differ in extents only,
and whether one of them has a plan (`worth`).  None: plans are made."""


def plan_if(w: Walk, refuse: Refuse, waits: Waits) -> Plan | None:
    """The plan of a walk; None if it was not met before and has to wait."""
    found = _plans.get(w.key)
    if found is None:
        found = _met(w, refuse, waits)
        if found is None:
            return None
        EVALUATIONS.go_on(w.nodes, w.leaves)
        if len(_plans) >= MAX_PLANS:
            _plans.clear()
        _plans[w.key] = found
    return found


def _met(w: Walk, refuse: Refuse, waits: Waits) -> Plan | None:
    """A plan for a new structure: a known one's, if only the shape is new."""
    pattern = pattern_of(w)
    kept = kept_of(w) if pattern is None else None
    if pattern is None and kept is None:
        return _make(w, refuse, waits)
    key = pattern[0] if pattern is not None else kept[0]            # type: ignore[index]
    known = _patterns.get(key)
    if known is not None and not excess(w, known[0].steps):
        steps: list[Step] | None
        if pattern is not None:
            steps = for_shape(known[0].steps, pattern[1])
        else:
            assert kept is not None
            steps = for_count(known[0].steps, w, kept[1], known[1])
        if steps is not None:
            return Plan(steps, w.tokens.pins, known[0].noted, for_any_count=kept is not None)
    found = _make(w, refuse, waits)
    if found is None:
        return None
    found.for_any_count = kept is not None
    EVALUATIONS.go_on(w.nodes, w.leaves)
    if len(_patterns) >= MAX_PLANS:
        _patterns.clear()
    _patterns[key] = found, 0 if kept is None else kept[1]
    return found


def groups_of(w: Walk, refuse: Refuse) -> tuple[Partition, list[Step]]:
    """The fusion groups of a walk, and the steps of its plan.

    Groups that would hold more than NumPy are made anew, of nodes that are nearer to each other."""
    found: tuple[Partition, list[Step]] | None = None
    least = 0
    for look_back in NARROWER:
        mine = _groups(w, refuse, Barred(), look_back)
        over = excess(w, mine[1])
        if over and any(chain.leading for chain in mine[0].rows.chains):
            mine = _groups(w, refuse, Barred(), look_back, led=False)
            over = excess(w, mine[1])
        if over and mine[0].rows.chains:
            mine, over = _holding_less(w, refuse, mine, over, look_back)
        if found is None or over < least:
            found, least = mine, over
        if not least:
            break
    assert found is not None
    if found[0].again:
        return found
    return _again(w, refuse, _reading_through(w, refuse, found, least), least)


def _holding_less(
    w: Walk, refuse: Refuse, found: tuple[Partition, list[Step]], over: int, look_back: int
) -> tuple[tuple[Partition, list[Step]], int]:
    """What passes within blocks of rows computed again instead, or in smaller blocks, where that holds less;
    and how much more than NumPy it is."""
    again = _repeating(w, refuse, found, {})
    if again is not None and _bytes(again[1], w) <= _bytes(found[1], w) and excess(w, again[1]) < over:
        found, over = again, excess(w, again[1])
    tight = _groups(w, refuse, Barred(), look_back, tight=True) if over else found
    left = excess(w, tight[1])
    return (tight, left) if left < over else (found, over)


def _reading_through(
    w: Walk, refuse: Refuse, found: tuple[Partition, list[Step]], most: int
) -> tuple[Partition, list[Step]]:
    """The plan in which groups read through what is written piece by piece, where that moves fewer bytes and
    holds no more."""
    parted, best = found[0], found
    if is_off("regions") or "fusion" not in config.current.parallel or not w.through:
        return found
    if len(w.nodes) > SEARCHED and not any_large(w.nodes):
        return found
    memory = Memory(w.tokens.odd)
    chained = {number for chain in parted.rows.chains for number in chain.numbers}
    prospects = Prospects(w.nodes, parted.groups, parted.stored, w.asked)
    for out in (chained, set()) if chained else (chained,):     # (row blocks may be the better way)
        regions = parted.regions = read_through(prospects, memory, out)
        mine = _in_boxes(w, refuse, regions, memory)
        if mine is not None and _bytes(mine[1], w) < _bytes(best[1], w) and excess(w, mine[1]) <= most:
            mine[0].regions = regions
            best = mine
    return best


def _again(
    w: Walk, refuse: Refuse, found: tuple[Partition, list[Step]], most: int
) -> tuple[Partition, list[Step]]:
    """The plan in which groups compute again what others have computed, where that moves fewer bytes and
    holds no more."""
    chained: dict[int, list[int]] = {}
    for chain in found[0].rows.chains:
        chained.update(dict.fromkeys(numbers := chain.numbers, numbers))
    mine = _repeating(w, refuse, found, chained)
    if mine is None or _bytes(mine[1], w) >= _bytes(found[1], w) or excess(w, mine[1]) > most:
        return found
    return mine


def _repeating(
    w: Walk, refuse: Refuse, found: tuple[Partition, list[Step]], chained: Chained
) -> tuple[Partition, list[Step]] | None:
    """The plan in which groups compute again what pays, if there is any: not what passes between those that
    are `chained`."""
    parted = found[0]
    if is_off("again") or "fusion" not in config.current.parallel or not w.tokens.literal:
        return None
    if parted.again or not any_large(w.nodes):
        return None
    if next(repeats(parted.groups, parted.stored, w.asked, chained), None) is None:
        return None
    look_back, order = LOOK_BACK, None
    if parted.look_back is not None:
        look_back = parted.look_back
    else:
        order = arranged(w.nodes, parted.regions.units, Memory(w.tokens.odd))
    try:
        mine = _groups(w, refuse, Barred(), look_back, order, chained=chained)
    except Apart:
        return None
    mine[0].regions, mine[0].outline, mine[0].look_back = parted.regions, parted.outline, parted.look_back
    return mine


class Apart(Exception):
    """NumPy's inner loops would see other strides in a unit's boxes."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.unit = unit


def _in_boxes(
    w: Walk, refuse: Refuse, regions: Regions, memory: Memory
) -> tuple[Partition, list[Step]] | None:
    """The groups and steps with units, those that can be."""
    while regions.units:
        order = arranged(w.nodes, regions.units, memory)
        if order is None:
            return None
        try:
            return _groups(w, refuse, Barred(), LOOK_BACK, order)
        except Apart as found:
            regions.drop(found.unit)
            for node in w.nodes if found.unit.fed is not None else ():
                if found.unit.fed in node.needs():
                    regions.refused[node.serial] = (IN_ORDER,)
    return None


def _bytes(steps: list[Step], w: Walk) -> int:
    return sum(sum(moved(step, w)) for step in steps)


Order = Sequence[Expr | Unit] | None
"""The nodes, with units in the place of those that these have; None for the nodes as they are."""
Places = Sequence[int] | None
"""Where each node was put for other extents."""


def _groups(
    w: Walk, refuse: Refuse, barred: Barred, look_back: int, order: Order = None, places: Places = None,
    chained: Chained | None = None, tight: bool = False, led: bool = True,
) -> tuple[Partition, list[Step]]:
    """Groups and steps, where borders are edges if these run with sweeps, or like all else."""
    found = _as_barred(w, refuse, barred, look_back, order, places, chained, False, tight, led)
    parted = found[0]
    joint = {number for chain in parted.rows.chains for number in chain.numbers}
    if places is not None or all(g.number in joint for g in parted.groups if g.edge in parted.edges):
        return found
    usual = replace(barred, edges=True)
    other = _as_barred(w, refuse, usual, look_back, order, places, chained, False, tight, led)
    return min(found, other, key=lambda each: _bytes(each[1], w) + LAUNCH * len(each[1]))


def _as_barred(
    w: Walk, refuse: Refuse, barred: Barred, look_back: int, order: Order, places: Places,
    chained: Chained | None, in_place: bool, tight: bool, led: bool,
) -> tuple[Partition, list[Step]]:
    """Groups and steps; given what is `chained`, groups may compute again what others have; writes that go
    `in_place` do not take turns with another buffer; where memory is `tight`, blocks of rows hold less; what
    makes an array may have `led` the sweeps over it."""
    memory = Memory(w.tokens.odd, None if in_place else _turns(w, look_back, order, led))
    parted, made, absorbed = _planned(w, refuse, barred, look_back, order, places, memory, chained)
    steps = {at: step for at, (step, _) in enumerate(made) if at not in absorbed}
    _let_go(list(steps.values()), w.nodes, w.numbers, memory.turns)
    edges = {id(step) for at, step in steps.items() if parted.groups[at].edge}
    if look_back == ALONE:
        parted.rows = Found()
    tried = parted.rows.chains
    joint, parted.rows = joined(w, parted, steps, [framed for _, framed in made], tight)
    if memory.turns is not None and not _together(memory.turns, parted):
        led, in_place = False, not any(chain.leading for chain in tried)
        return _as_barred(w, refuse, barred, look_back, order, places, chained, in_place, tight, led)
    if order is None:
        parted.look_back = look_back
        if len(w.nodes) <= OUTLINED:
            parted.outline = outline(w.nodes, parted.groups, barred, look_back)
    return parted, [_by_numpy(s) if id(s) in edges and too_few(w.nodes[s.members[0]]) else s for s in joint]


def _turns(w: Walk, look_back: int, order: Order, led: bool) -> Turns | None:
    """Which sweeps take turns with another buffer."""
    if look_back == ALONE or order is not None or is_off("rows"):
        return None
    if not {"fusion", "reduction", "setitem"} <= config.current.parallel:
        return None
    found = turns(w.nodes, w.asked, sweeps, rows.MOST)
    found.led = led and has_rings() and not is_off("rings")
    return found if found.first else None


def _together(found: Turns, parted: Partition) -> bool:
    """Do all writes of each run of sweeps run together, and is the first one of each sweep stored?

    (What overwrites all of it at once may be made in the same loop nest.)"""
    if not found.first.keys() <= parted.stored:
        return False
    joint = parted.rows
    chain = {id(n): k for k, each in enumerate(joint.chains) for g in each.groups for n in g.nodes}
    return all(len({chain.get(id(n), -1 - k) for k, n in enumerate(run)}) == 1 for run in found.runs)


def too_few(node: Expr) -> bool:
    """Are its elements too few for a kernel of its own?"""
    return config.current.jit == "auto" and math.prod(space(node)) <= TINY


def _by_numpy(step: Step) -> Step:
    """An edge that does not run with what sweeps over its array."""
    return Step(step.members, step.stored, None, (), (), (), (), TOO_FEW, step.ends, shared=step.shared)


def _assembled(
    w: Walk, refuse: Refuse, barred: Barred, look_back: int, order: Order, places: Places, memory: Memory,
    chained: Chained | None,
) -> tuple[Partition, list[Made]]:
    """Groups and their steps.  An attempt that fails bars nodes, so that the next one differs."""
    alike = Alike()
    while True:
        before = len(barred)
        parted = partition(w.nodes, w.asked, refuse, w.tokens, memory, barred, look_back, order, places)
        if chained is not None:
            parted.again = repeat(parted.groups, parted.stored, w.asked, chained, barred.apart)
        made = [_attempt(group, w, parted, barred, alike) for group in parted.groups]
        steps = [step for step in made if step is not None]
        if len(barred) == before:
            assert len(steps) == len(made)
            if parted.again or order is not None:
                _share(parted, steps, w)
            return parted, steps
        if places is not None:
            raise Elsewhere


def _share(parted: Partition, made: Sequence[Made], w: Walk) -> None:
    """Say which members of steps several compute."""
    seen: set[int] = set()
    shared: set[int] = set()
    for group in parted.groups:
        serials = {n.serial for n in group.nodes}
        shared |= seen & serials
        seen |= serials
    for group, (step, _) in zip(parted.groups, made, strict=True):
        step.shared = tuple([w.numbers[id(n)] for n in group.nodes if n.serial in shared])


def _attempt(group: Group, w: Walk, parted: Partition, barred: Barred, alike: Alike) -> Made | None:
    """The step of a group; None where some of its nodes had to be barred."""
    try:
        return step_of(group, w, parted, alike)
    except Scattered:
        barred.alone.update(n.serial for n in group.nodes if is_draw(n))
    except Unlike as found:
        if group.unit is not None:
            raise Apart(group.unit) from None
        barred.apart |= group.bridged           # perhaps they have NumPy's bits in a group of their own
        if not group.bridged:
            barred.unlike.update(dict.fromkeys(found.serials, found.why))
    return None


def _make(w: Walk, refuse: Refuse, waits: Waits = None) -> Plan | None:
    key = outline_of(w) if len(w.nodes) <= OUTLINED else None
    known = None if key is None else _outlines.get(key)
    if waits is not None and waits(w, key, known is not None):
        return None
    with Resting():
        return _made(w, refuse, key, known)


def _made(w: Walk, refuse: Refuse, key: Key | None, known: Outline | None) -> Plan:
    """A plan, begun by where nodes were for other extents, if something of that structure was met."""
    if known is not None:
        try:
            barred = known.barred(w.nodes)
            parted, steps = _groups(w, refuse, barred, known.look_back, places=known.places)
            parted, steps = _again(w, refuse, (parted, steps), 0)
        except Elsewhere:
            pass
        else:
            if not excess(w, steps):
                COUNT.reshaped += 1
                return Plan(steps, w.tokens.pins)
    COUNT.plans += 1
    parted, steps = groups_of(w, refuse)
    if key is not None and parted.outline is not None:
        EVALUATIONS.go_on(w.nodes, w.leaves)
        if len(_outlines) >= MAX_PLANS:
            _outlines.clear()
        _outlines[key] = parted.outline
    return Plan(steps, w.tokens.pins)


def _planned(
    w: Walk, refuse: Refuse, barred: Barred, look_back: int, order: Order, places: Places, memory: Memory,
    chained: Chained | None,
) -> tuple[Partition, list[Made], set[int]]:
    """Groups, their steps, and which of these are part of others: compressions that need not be stored
    are in the steps that read them."""
    parted, made = _assembled(w, refuse, barred, look_back, order, places, memory, chained)
    absorbed: set[int] = set()
    feeding: set[int] = set()
    accesses = Accesses(parted.groups)
    for number, sources in fed(parted.groups, parted.stored, w.asked, accesses).items():
        for source in sources:
            if _feed(made[number][0], made[source.number][0]):
                absorbed.add(source.number)
                feeding.add(number)
                parted.stored.discard(source.nodes[-1].serial)
    for number, (group, value) in _portioned(parted, w, accesses).items():
        if _portion(made[number][0], made[group.number][0], w.numbers[id(value)], value.nbytes):
            absorbed.add(group.number)
            feeding.add(number)
            parted.stored.discard(value.serial)
    for group in parted.groups:
        if group.unit is not None and group.unit.fed is not None and group.number not in absorbed:
            raise Apart(group.unit)
    alike = [] if parted.again else [framed for _, framed in made]
    parted.rows = chains(parted.groups, parted.stored, w.asked, absorbed | feeding, room(), alike)
    return parted, made, absorbed


def _overlap(step: Step, source: Step) -> bool:
    """Do both compute the same?"""
    return not {*step.shared}.isdisjoint(source.shared)


def _feed(step: Step, source: Step) -> bool:
    """Put a compression into the step that reads it, if it can take it chunk by chunk."""
    mine = source.members[-1]
    found = [at for at, k in enumerate(step.operands) if k == mine]
    if step.program is None or len(found) != 1 or not feedable(step.program) or _overlap(step, source):
        return False
    step.members = (*source.members, *step.members)
    step.operands = tuple(source.operands[-1] if k == mine else k for k in step.operands)
    step.feeds += ((found[0], source),)
    step.shared = (*source.shared, *step.shared)
    return True


def _portioned(parted: Partition, w: Walk, accesses: Accesses) -> dict[int, tuple[Group, Expr]]:
    """What may be fed in portions.  (Where constants stand for others launches are not that kind's.)"""
    return portioned(parted.groups, parted.stored, w.asked, accesses) if w.tokens.literal else {}


def _portion(step: Step, source: Step, mine: int, nbytes: int) -> bool:
    """Put what makes a value portion by portion into the step that reads it, if that can take it so."""
    found = [at for at, k in enumerate(step.operands) if k == mine]
    if step.program is None or len(found) != 1 or not takes(step.program, found[0], nbytes):
        return False
    if _overlap(step, source):
        return False
    if any(other.ranks is not None for _, other in step.feeds):
        return False                    # compressions are handed on in other steps
    for part in source.boxes or (source,):
        if part.program is None or blocks_of(part.program, part.operands.index(mine)) is None:
            return False
    step.members = (*source.members, *step.members)
    step.feeds += ((found[0], source),)
    step.shared = (*source.shared, *step.shared)
    return True


def _let_go(
    steps: list[Step], nodes: list[Expr], numbers: dict[int, int], turns: Turns | None
) -> None:  # fmt: skip
    """Say after which step each value is not needed any more."""
    turn = {} if turns is None else turns.first
    last, number = dict[int, int](), numbers.get
    for at, step in enumerate(steps):
        for k in step.members:
            last[k] = at
            for i in nodes[k].inputs:
                if i.__class__ is Read:
                    last[numbers[id(i.expr)]] = at
    writes = [k for k, node in enumerate(nodes) if node.old is not None]
    over = dict[int, int]()             # the last step that writes to what has a node's memory
    if writes:
        over = {k: at for at, step in enumerate(steps) for k in step.members}
    for k in reversed(writes):
        node = nodes[k]
        old, at = node.old, over.get(k, 0)
        if node.serial in turn:             # (what it changes it reads, but lies elsewhere)
            old = turn[node.serial].source
        below = None
        while old is not None and (below := number(id(old))) is None:
            old = old.old
        if below is not None:
            if last.get(below, -1) < at:
                last[below] = at
            if below >= 0 and over.get(below, -1) < at:
                over[below] = at
    ends: list[list[int]] = [[] for _ in steps]
    for k, at in last.items():
        ends[at].append(k)
    for step, mine in zip(steps, ends, strict=True):
        step.ends = tuple(mine)
