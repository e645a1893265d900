"""Plans: what an evaluation does, independent of the arrays at hand, remembered by structure.

In:  the pending nodes of one evaluation, in program order.
Out: `Plan`: steps that speak of nodes and leaves by number, so that the same program on other
     arrays (a time step, an iteration) finds its plan by one walk and one hash.

The key holds all that partition and assembly look at: ops, geometries, which inputs are which, what
must be stored, and the alignment of foreign memory.  Values of constants are not part of it.
A reference is a number: k >= 0 is node k of the evaluation, k < 0 is leaf -1 - k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy

from lazyarr import config
from lazyarr.codegen.reduce_plan import arrange
from lazyarr.counters import COUNT
from lazyarr.expr import Compress, Expr, Map, Read, Reduce, Tally
from lazyarr.flags import Late, Raised
from lazyarr.fusion.assemble import Unlike, assemble
from lazyarr.fusion.compress import fed, feedable
from lazyarr.fusion.group import Group
from lazyarr.fusion.partition import Partition, Refuse, is_draw, partition
from lazyarr.fusion.program import Program
from lazyarr.geometry import FRESH, offset_of, same
from lazyarr.kernels import not_together
from lazyarr.plan_patterns import for_shape, pattern_of
from lazyarr.schedule import scattered
from lazyarr.values import is_kept

Finding = Sequence[tuple[int, Raised]]
"""Which members of a step raised what."""


class Known(NamedTuple):
    """What is known of a step that raised flags."""

    left: int
    """Times that it may yet be looked at closely."""
    finding: Finding | None


MAX_PLANS = 512
"""Plans kept; all are forgotten when there are more."""


@dataclass(slots=True, eq=False)
class Step:
    """One fusion group: which nodes, which of them are stored, and the program that computes them."""

    members: tuple[int, ...]
    stored: tuple[int, ...]
    program: Program | None
    """None: NumPy runs the nodes one by one."""
    operands: tuple[int, ...]
    """For each of the program's operands, whose memory it is."""
    constants: tuple[tuple[int, int] | numpy.generic, ...]
    """For each runtime scalar: node and number of the input, or the value."""
    written: tuple[int, ...]
    """Which operands the program writes to."""
    reusable: tuple[tuple[int, ...], ...]
    """For each of the stored nodes: inputs that are read just where it writes.  One that ends here may be
    the destination."""
    why: str
    ends: tuple[int, ...] = ()
    """Values that no later step needs: the evaluation lets go of them after this one."""
    tallies: bool = False
    """The program counts, and the last member's value is the sums of the counts."""
    ranks: int | None = None
    """Of a program that packs: the value that says at which rank each block begins."""
    feeds: tuple[tuple[int, Step], ...] = ()
    """Compressions that are packed chunk by chunk, just before a chunk needs them: which operand of the
    program, and the step that it would be by itself."""
    raised: dict[tuple[str, ...], Known] = field(default_factory=dict)
    """By the categories that were raised (`replay`)."""


@dataclass(slots=True, eq=False)
class Plan:
    steps: list[Step]
    pins: list[Any]
    """Objects whose identity is part of the key."""
    noted: bool = False
    """Its kernels exist, and the cache says so (`compiler.note`)."""


@dataclass(slots=True, eq=False)
class Walk:
    """One evaluation: its nodes, leaves, and the key of its structure."""

    nodes: list[Expr]
    leaves: list[Expr]
    key: tuple[Any, ...]
    pins: list[Any]
    asked: set[int]
    """Serials of the nodes whose values somebody outside asks for, now or later: part of the key.  What
    other threads do may change that while the plan is made; so nobody asks again."""
    late: list[Late] = field(default_factory=list)
    """Warnings to give when all is done."""

    def external(self, node: Expr) -> bool:
        return node.serial in self.asked

    def value(self, k: int) -> Expr:
        return self.nodes[k] if k >= 0 else self.leaves[-1 - k]

    def let_go(self, numbers: Sequence[int]) -> None:
        """Drop the references to values that are not needed any more, and so, perhaps, their memory."""
        nodes: list[Any] = self.nodes
        leaves: list[Any] = self.leaves
        for k in numbers:
            if k >= 0:
                nodes[k] = None
            else:
                leaves[-1 - k] = None


class Scattered(Exception):
    """The random numbers of a group would be drawn in another order than the stream's, or few at a time."""


_plans: dict[tuple[Any, ...], Plan] = {}
_patterns: dict[tuple[Any, ...], Plan] = {}
"""Plans whose shape does not matter (see `plan_patterns`)."""


def walk(nodes: list[Expr], wanted: Sequence[Expr]) -> Walk:
    """Number the nodes and leaves, and say in one key what the plan depends on."""
    numbers = {id(n): k for k, n in enumerate(nodes)}
    roots = {id(n) for n in wanted}
    leaves: list[Expr] = []
    pins: list[Any] = []
    asked: set[int] = set()
    parts: list[Any] = [config.current.jit, config.current.cpu_level]

    def leaf(value: Expr) -> int:
        leaves.append(value)
        k = numbers[id(value)] = -len(leaves)
        if value.buf is not None and value.buf.bridge is not None:
            parts.append(value.buf.address & 15)
        return k

    for node in nodes:
        old, region = node.old, node.region
        assert region is not None
        parts.append(node.op)
        for i in node.inputs:
            if i.__class__ is Read:
                value, geo = i.expr, i.geo
                k = numbers.get(id(value))
                parts.append(leaf(value) if k is None else k)
                if id(geo) in FRESH:
                    pins.append(geo)
                    parts.append(id(geo))
                else:
                    parts.append(_geometry_key(geo))
            else:
                parts.append(i.dtype.char)      # type: ignore[union-attr]
        if id(region) in FRESH:
            pins.append(region)
            parts.append(id(region))
        else:
            parts.append(_geometry_key(region))
        while old is not None and old.op is not None and id(old) not in numbers:
            old = old.old               # a dead value: overwritten before anybody asked for it
        below = None if old is None else numbers.get(id(old))
        if old is not None and below is None:
            below = leaf(old)
        external = id(node) in roots or is_kept(node) or _read_elsewhere(node, numbers)
        if external:
            asked.add(node.serial)
        parts += (below, node.masked, node.covers, external)
    return Walk(nodes, leaves, tuple(parts), pins, asked)


def _read_elsewhere(node: Expr, numbers: dict[int, int]) -> bool:
    return any(id(r) not in numbers for r in node.waiting())


def _geometry_key(geo: numpy.ndarray) -> tuple[Any, ...]:
    """A geometry by its contents: one that arrays share goes by its identity."""
    return geo.shape, geo.strides, geo.dtype.char, offset_of(geo)


def plan_of(w: Walk, refuse: Refuse, keep: bool = True) -> Plan:
    """The plan of a walk, from memory if the structure was met before."""
    found = _plans.get(w.key) if keep else None
    if found is None:
        found = _met(w, refuse) if keep else _make(w, refuse)
        if keep:
            if len(_plans) >= MAX_PLANS:
                _plans.clear()
            _plans[w.key] = found
    return found


def _met(w: Walk, refuse: Refuse) -> Plan:
    """A plan for a new structure: a known one's, if only the shape is new."""
    pattern = pattern_of(w)
    if pattern is None:
        return _make(w, refuse)
    key, shape = pattern
    known = _patterns.get(key)
    if known is not None:
        return Plan(for_shape(known.steps, shape), w.pins, known.noted)
    found = _make(w, refuse)
    if len(_patterns) >= MAX_PLANS:
        _patterns.clear()
    _patterns[key] = found
    return found


def groups_of(w: Walk, refuse: Refuse) -> tuple[Partition, list[Step]]:
    """The fusion groups of a walk, and the steps of its plan."""
    numbers = _numbers(w)
    parted, steps = _planned(w, refuse, numbers)
    _let_go(steps, w.nodes, numbers)
    return parted, steps


def _numbers(w: Walk) -> dict[int, int]:
    return {id(n): k for k, n in enumerate(w.nodes)} | {id(v): -1 - k for k, v in enumerate(w.leaves)}


@dataclass(slots=True, eq=False)
class _Barred:
    """Nodes, by serial, that cannot be where the attempts so far have put them."""

    unlike: dict[int, str] = field(default_factory=dict)
    """They cannot have NumPy's bits in compiled loops, and why: NumPy runs them."""
    apart: set[int] = field(default_factory=set)
    """They join no group through a view."""
    alone: set[int] = field(default_factory=set)
    """They share no group."""

    def __len__(self) -> int:
        return len(self.unlike) + len(self.apart) + len(self.alone)


def _assembled(w: Walk, refuse: Refuse, numbers: dict[int, int]) -> tuple[Partition, list[Step]]:
    """Groups and their steps.  An attempt that fails bars nodes, so that the next one differs."""
    barred = _Barred()

    def why_not(node: Expr) -> str | None:
        return barred.unlike.get(node.serial) or refuse(node)

    while True:
        before = len(barred)
        parted = partition(w.nodes, w.external, why_not, barred.apart, barred.alone)
        made = [_attempt(group, numbers, parted, barred) for group in parted.groups]
        steps = [step for step in made if step is not None]
        if len(barred) == before:
            assert len(steps) == len(made)
            return parted, steps


def _attempt(group: Group, numbers: dict[int, int], parted: Partition, barred: _Barred) -> Step | None:
    """The step of a group; None where some of its nodes had to be barred."""
    try:
        return _step(group, numbers, parted.stored, parted.epoch)
    except Scattered:
        barred.alone.update(n.serial for n in group.nodes if is_draw(n))
    except Unlike as found:
        barred.apart |= group.bridged           # perhaps they have NumPy's bits in a group of their own
        if not group.bridged:
            barred.unlike.update(dict.fromkeys(found.serials, found.why))
    return None


def _make(w: Walk, refuse: Refuse) -> Plan:
    COUNT.plans += 1
    return Plan(groups_of(w, refuse)[1], w.pins)


def _planned(w: Walk, refuse: Refuse, numbers: dict[int, int]) -> tuple[Partition, list[Step]]:
    """Groups, and steps; compressions that need not be stored are in the steps that read them."""
    parted, made = _assembled(w, refuse, numbers)
    absorbed: set[int] = set()
    for number, sources in fed(parted.groups, parted.stored, w.external).items():
        for source in sources:
            if _feed(made[number], made[source.number]):
                absorbed.add(source.number)
                parted.stored.discard(source.nodes[-1].serial)
    return parted, [step for at, step in enumerate(made) if at not in absorbed]


def _feed(step: Step, source: Step) -> bool:
    """Put a compression into the step that reads it, if it can take it chunk by chunk."""
    mine = source.members[-1]
    found = [at for at, k in enumerate(step.operands) if k == mine]
    if step.program is None or len(found) != 1 or not feedable(step.program):
        return False
    step.members = (*source.members, *step.members)
    step.operands = tuple(source.operands[-1] if k == mine else k for k in step.operands)
    step.feeds += ((found[0], source),)
    return True


def _let_go(steps: list[Step], nodes: list[Expr], numbers: dict[int, int]) -> None:
    """Say after which step each value is not needed any more."""
    last: dict[int, int] = {}
    for at, step in enumerate(steps):
        for k in step.members:
            last[k] = at
            values = [i.expr for i in nodes[k].inputs if isinstance(i, Read)]
            old = nodes[k].old
            while old is not None:
                values.append(old)
                old = old.old
            last.update((numbers[id(v)], at) for v in values if id(v) in numbers)
    for at, step in enumerate(steps):
        step.ends = tuple(k for k, end in last.items() if end == at)


def _step(group: Group, numbers: dict[int, int], stored: set[int], epoch: int) -> Step:
    members = tuple(numbers[id(n)] for n in group.nodes)
    keep = tuple(numbers[id(n)] for n in group.nodes if n.serial in stored)
    why = group.refusals[0].why if group.refusals else ""
    if group.opaque or not keep:                # (another thread let go of what was wanted when this began)
        return Step(members, keep, None, (), (), (), (), why)
    program = assemble(group, epoch, stored, arrange)
    if scattered(program):
        raise Scattered
    why_not = None if group.fold is None else not_together(program.parfor)
    if why_not is not None:
        raise Unlike({n.serial for n in group.nodes if isinstance(n.op, Reduce)}, why_not)
    operands = tuple(numbers[id(b.value)] for b in program.bindings)
    constants = tuple(
        (numbers[id(c[0])], c[1]) if isinstance(c, tuple) else c for c in program.constants
    )
    written = tuple(k for k, o in enumerate(program.parfor.operands) if o.role != "in")
    reusable = tuple(_reusable(n, group, numbers) for n in group.nodes if n.serial in stored)
    program.forget()
    last = group.nodes[-1]
    ranks = last.inputs[2] if isinstance(last.op, Compress) else None
    return Step(
        members, keep, program, operands, constants, written, reusable, why,
        tallies=isinstance(last.op, Tally),
        ranks=numbers[id(ranks.expr)] if isinstance(ranks, Read) else None,
    )  # fmt: skip


def _reusable(node: Expr, group: Group, numbers: dict[int, int]) -> tuple[int, ...]:
    """Inputs that the group reads only where the node writes: it may store over them."""
    if not isinstance(node.op, Map):            # accumulators and ranks overlap nothing that is read
        return ()
    region = group.placed[node.serial].region
    fits: dict[int, bool] = {}
    for a in group.loads:
        k = numbers[id(a.value)]
        fits[k] = fits.get(k, True) and same(a.geo, region)
    return tuple(k for k, fit in fits.items() if fit)
