"""Evaluations met before: from what is asked for to machine code with the least Python there is.

In:  pending values that somebody asks for.   Out: the plan that was run before for such ones, its launches
prepared; or word of what is new (`Met`), by which the next one like it is known.

    look (nodes, leaves, one flat key) -> the plan -> one launch, of which only addresses are missing

For a hundred thousand elements a launch takes no longer than the Python around it, and several times as long
after large data went through the caches: what counts is how much code runs, and how many objects it looks at.
So closure, sinking, walk and plan are one loop here, for evaluations of few nodes that write to no memory of
before; the key says all that the key of a walk says of these.  All else goes the long way.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lazyarr import flags
from lazyarr.bufferize import Placement
from lazyarr.compiler import COMPILER
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.error_state import buffer_size, ignores
from lazyarr.expr import Expr, Gather, Read, Reduce
from lazyarr.fusion.structure import by_contents
from lazyarr.geometry import FRESH
from lazyarr.launch import Prepared, is_streamed, run_prepared
from lazyarr.plan import Plan, Step, Walk
from lazyarr.reduce_order import DECIDED_EARLY
from lazyarr.srcloc import note_lines
from lazyarr.values import LEDGER, Buffer

MOST = 32
"""Nodes: of more a launch takes longer than planning."""

MAX_KNOWN = 1024
"""Evaluations; all are forgotten when there are more."""


class Launch(NamedTuple):
    """A step that is one launch."""

    step: Step
    prepared: Prepared
    operands: tuple[tuple[int, int], ...]
    """Whose memory each is, and where in it."""
    constants: tuple[Any, ...]
    stored: tuple[tuple[int, tuple[int, ...]], ...]
    """Its nodes that are stored, and in the place of which inputs they may be."""
    others: tuple[int, ...]
    """Its nodes that are not."""


@dataclass(slots=True, eq=False, repr=False)
class Met:
    """An evaluation, looked at.  (Nobody may print geometries, as of a tuple: no memory is there.)"""

    nodes: list[Expr]
    leaves: list[Expr]
    """None if there is no plan yet."""
    key: tuple[Any, ...]
    pins: list[Any]
    kept: bool
    """Does an array that seems to be a temporary hold a node that is not to be stored?"""
    plan: Plan | None


_known: dict[tuple[Any, ...], weakref.ref[Plan]] = {}
"""Plans that `planning` remembers."""

_UNASKED: Any = None
"""Stands for what planning alone asks of a walk."""


def look(roots: Sequence[Expr]) -> Met | None:
    """The nodes to compute for pending `roots`, in program order, and their key; None if they go the long
    way.  (Written out, without calls: each would take as long as what it does.)"""
    if not COMPILER.usable or sys.is_finalizing():
        return None
    found: dict[int, Expr] = {}
    todo = [*roots]
    while todo:
        node = todo.pop()
        serial = node.serial
        if serial in found:
            continue
        if node.old is not None or len(found) == MOST:
            return None
        found[serial] = node
        for i in node.inputs:
            if i.__class__ is Read:
                value = i.expr
                if value.op is not None:
                    todo.append(value)
                elif value.buf is None:         # overtaken by another thread's write
                    return None
    nodes = [*found.values()] if len(found) == 1 else [found[serial] for serial in sorted(found)]
    numbers = {id(n): k for k, n in enumerate(nodes)}
    wanted = set(map(id, roots))
    leaves: list[Expr] = []
    pins: list[Any] = []
    key: list[Any] = [plan_key(), buffer_size()]
    add, kept, early = key.append, False, False
    for node in nodes:
        op = node.op
        add(op)
        if op.__class__ is Reduce:
            early = early or op.name in DECIDED_EARLY
            if op.initial is not None:
                add(op.initial.tobytes())       # (-0.0 and 0.0 are equal)
        for i in node.inputs:
            if i.__class__ is not Read:
                add(i.dtype.char)               # type: ignore[union-attr]
                continue
            value, geo = i.expr, i.geo
            k = numbers.get(id(value))
            if k is None:
                leaves.append(value)
                k = numbers[id(value)] = -len(leaves)
                if value.buf.bridge is not None:
                    add(value.buf.address & 15)
            elif k >= 0 and (geo is not value.region or op.__class__ is Gather):
                return None                     # it may sink
            add(k)
            if id(geo) in FRESH:
                pins.append(geo)
                add(id(geo))
            else:
                add(by_contents(geo))
        geo = node.region                       # type: ignore[assignment]
        if id(geo) in FRESH:
            pins.append(geo)
            add(id(geo))
        else:
            add(by_contents(geo))
        stored = id(node) in wanted
        if not stored:
            storage = None if node.home is None else node.home()
            if storage is not None and storage.value is node:
                stored = not storage.dying or node.spared
                kept = kept or not stored
            for ref in node.readers or ():
                reader = ref()
                if reader is not None and reader.op is not None and id(reader) not in numbers:
                    stored = True               # it needs the value
        add(stored)
    if early:
        key += [ignores(node.errors) for node in nodes]
    whole = tuple(key)
    known = _known.get(whole)
    plan = None if known is None else known()
    # (Who has no plan lets go of what is read as soon as that is over.)
    return Met(nodes, [] if plan is None else leaves, whole, pins, kept, plan)


def note(met: Met, plan: Plan, key: tuple[Any, ...]) -> None:
    """Remember the plan of an evaluation, which was run, all of its kernels being there; `key` is its walk's.

    It differs where rules look at constants, and where somebody let go of an array since `look`."""
    if not plan.noted or key != met.key:
        return
    plan.launches = [*map(_launch, plan.steps)]
    if len(_known) >= MAX_KNOWN:
        _known.clear()
    plan.pins += met.pins
    _known[met.key] = weakref.ref(plan)


def _launch(step: Step) -> Launch | None:
    program = step.program
    special = step.rows is not None or step.boxes or step.feeds or step.tallies or step.ranks is not None
    if program is None or special or is_streamed(program):
        return None
    prepared = program.launches.get((False, plan_key()))
    if prepared is None:
        return None
    return Launch(
        step, prepared, tuple(zip(step.operands, program.offsets, strict=True)), step.constants,
        tuple(zip(step.stored, step.reusable, strict=True)),
        tuple([k for k in step.members if k not in step.stored]),
    )  # fmt: skip


def launched(met: Met, one: Launch, late: list[flags.Late]) -> bool:
    """Compute a step by one launch into fresh memory; False if its results may lie elsewhere.

    Warnings to give are added to `late`."""
    nodes, leaves = met.nodes, met.leaves
    for _, reusable in one.stored:
        for k in reusable:
            value = nodes[k] if k >= 0 else leaves[-1 - k]
            storage = None if value.home is None else value.home()
            if storage is None or storage.value is not value:
                return False                    # it ends here: a result may take its place
    buffers = {k: Buffer.new(nodes[k].nbytes) for k, _ in one.stored}
    addresses = [
        (buffers[k] if k in buffers else nodes[k].buf if k >= 0 else leaves[-1 - k].buf).address + offset
        for k, offset in one.operands
    ]
    scalars: list[Any] = [nodes[c[0]].inputs[c[1]] if c.__class__ is tuple else c for c in one.constants]
    COUNT.memory_hits += 1
    try:
        raised = run_prepared(one.prepared, addresses, scalars)
        if raised:
            from lazyarr.replay import explain

            members = [nodes[k] for k in one.step.members]
            late += explain(one.step, members, [raised], _placement(nodes, one, buffers))
    except Exception as error:
        note_lines(error, [nodes[k].loc for k in one.step.members])
        raise
    for k, buf in buffers.items():              # (first: see `engine._finish`)
        node = nodes[k]
        storage = None if node.home is None else node.home()
        if storage is not None and storage.value is node:
            LEDGER.unallocated -= node.nbytes
        node.done(buf)
    waiting = _placement(nodes, one, buffers).waiting if met.kept or one.step.shared else ()
    for k in one.others:
        node = nodes[k]
        if node.serial in waiting:
            node.spared, node.errors = True, flags.told_again(node.errors, raised)
        else:
            node.done(None)
    COUNT.nodes_run += len(one.step.members)
    return True


def _placement(nodes: list[Expr], one: Launch, buffers: dict[int, Buffer]) -> Placement:
    serials = [{nodes[k].serial for k in those} for those in (buffers, one.step.staying)]
    placement = Placement([nodes[k] for k in one.step.members], *serials)
    placement.buffers.update({nodes[k].serial: buf for k, buf in buffers.items()})
    return placement


def walk_of(met: Met, late: list[flags.Late]) -> Walk:
    """What the steps of a known plan go by."""
    return Walk(met.nodes, met.leaves, met.key, _UNASKED, _UNASKED, _UNASKED, late)
