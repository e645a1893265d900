"""The engine: a plan for pending nodes, and its steps run by kernels.

In: pending nodes in program order.   Out: the same nodes, each with a buffer.

    plan (walk, partition, assemble) -> for each step: bufferize -> launch

What has no native lowering runs through NumPy (`materialize.run_through_numpy`), node by node, in its place.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from functools import lru_cache, reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr import config, flags, ready, swift_walk
from lazyarr.bufferize import Placement
from lazyarr.compiler import COMPILER, name_of, note, numpy_ns
from lazyarr.counters import COUNT
from lazyarr.dispatch.jit import NotCompiled, cached_only
from lazyarr.dtypes import char_of
from lazyarr.expr import ELEMENTWISE, EVALUATIONS, FOLDS, Expr, Map, Op, Read, Reduce, Scan, Scatter
from lazyarr.fusion.alias import Memory
from lazyarr.fusion.conflict import plain_node
from lazyarr.fusion.fold import fold_order, signature
from lazyarr.fusion.group import TOO_FEW, region_of
from lazyarr.fusion.partition import Partition
from lazyarr.interrupts import hold_signals, holding, release_signals
from lazyarr.kernels import foldable, host, lowerable, scannable
from lazyarr.late import late
from lazyarr.launch import launch
from lazyarr.launch_rows import launch_rows
from lazyarr.materialize import run_through_numpy, unplanned
from lazyarr.plan import Plan, RowBlocks, Step, Walk, walk
from lazyarr.planning import Waits, groups_of, plan_if, plan_of, too_few
from lazyarr.ready import Folded, Met, launched, walk_of
from lazyarr.reduce_order import Unproved
from lazyarr.resting import Resting
from lazyarr.segments import is_much, segments
from lazyarr.srcloc import note_lines
from lazyarr.storage import SLACK
from lazyarr.swift_walk import SWIFT
from lazyarr.switches import is_node_off
from lazyarr.target import Target
from lazyarr.threading.limits import get_num_threads
from lazyarr.values import LEDGER, is_held
from lazyarr.worth import Account

if TYPE_CHECKING:
    from lazyarr.launch_boxes import launch_boxes
    from lazyarr.launch_compress import Source, launch_kept, launch_pack, launch_tally, summed_alone
    from lazyarr.launch_feeds import launch_fed
    from lazyarr.launch_keep import launch_keep
    from lazyarr.launch_portions import Part, Portions
    from lazyarr.outlook import was_fed, was_stored
else:
    late(
        globals(), launch_boxes="launch_boxes", launch_feeds="launch_fed", launch_keep="launch_keep",
        launch_compress="Source launch_kept launch_pack launch_tally summed_alone",
        launch_portions="Part Portions", outlook="was_fed was_stored",
    )  # fmt: skip

COMPILED = (*ELEMENTWISE, *FOLDS, Scatter)
_SERIAL = attrgetter("serial")
MISALIGNED = "memory is not aligned"


def run(nodes: list[Expr], roots: list[Expr], met: Met | Folded | None, account: Account | None) -> None:
    """Compute `nodes`, of which `roots` must be stored; `met` is what was seen of them, if anything.

    Given an `account`, they may be NumPy's where there is no plan."""
    if isinstance(met, Met) and met.plan is not None:
        if _run_known(met, met.plan):
            return
        _, nodes = ready.written(met)
        met = None
    if is_much(nodes):
        _by_segments(nodes, roots, account)
    else:
        _by_plan(nodes, roots, met, account)


def _by_segments(nodes: list[Expr], roots: list[Expr], account: Account | None) -> None:
    """Compute nodes that are too many for one plan, as evaluations one after the other."""
    seconds, plans = COUNT.seconds["plan"], COUNT.plans
    asked, observed = sorted(roots, key=_SERIAL), bool(config.OBSERVED) and config.is_observed()
    serials = [*map(_SERIAL, asked)]
    end = 0
    for segment in segments(nodes):
        begin, end = end, bisect_right(serials, segment[-1].serial, end)
        # (A handler may have asked for some meanwhile.  In place: who makes the lists holds them, too.)
        segment[:] = [n for n in segment if n.op is not None]
        mine = [n for n in asked[begin:end] if n.op is not None]
        if observed:
            from lazyarr.debug.watch import watch

            watch(segment, mine, True)
        _by_plan(segment, mine, None, None)
    if account is not None and COUNT.plans > plans:
        account.planned(1e9 * (COUNT.seconds["plan"] - seconds))


def _by_plan(
    nodes: list[Expr], roots: list[Expr], met: Met | Folded | None, account: Account | None
) -> None:  # fmt: skip
    """Compute nodes by a plan, from memory or made now, if it does not have to wait."""
    began, plans, reshaped = time.perf_counter(), COUNT.plans, COUNT.reshaped
    w, plan = walked(nodes, roots, None if account is None else account.still_waits, met is None)
    COUNT.seconds["plan"] += (took := time.perf_counter() - began)
    if account is not None and COUNT.plans > plans:
        account.planned(1e9 * took)
    if plan is None:
        w.leaves.clear()                # what is read goes with its last reader
        unplanned(nodes, account)
        return
    if COUNT.plans == plans and COUNT.reshaped == reshaped:
        plan.met = True
    elif account is not None:
        account.bought(plan, 1e9 * took)
    name = None if plan.noted else name_of(nodes)
    compiled = True
    try:
        for step in plan.steps:
            compiled = _run(step, w) and compiled
            w.let_go(step.ends)
    finally:
        if w.late:
            flags.give(w.late)
    if name is not None and compiled:
        note(name)
        plan.noted = True
    if met is not None and not EVALUATIONS.are_overtaken():
        ready.note(met, plan, w)


MANY = 500
"""Nodes whose keys have so many objects of their own that the garbage collector would look at them all, more
than once."""


def walked(
    nodes: list[Expr], roots: list[Expr], waits: Waits = None, swiftly: bool = True
) -> tuple[Walk, Plan | None]:
    """A walk through nodes, and their plan, if it does not have to wait.

    One that goes `swiftly` says of a structure met before no more than its steps ask for."""
    if len(nodes) < MANY:
        return _walked(nodes, roots, waits, swiftly)
    with Resting():
        return _walked(nodes, roots, waits, swiftly)


def _walked(
    nodes: list[Expr], roots: list[Expr], waits: Waits, swiftly: bool
) -> tuple[Walk, Plan | None]:  # fmt: skip
    looked = swift_walk.look(nodes, roots) if swiftly else None
    if looked is not None and looked.plan is not None:
        return swift_walk.walk_of(nodes, looked), looked.plan
    w = walk(nodes, roots)
    plan = plan_if(w, _refuse, waits)
    EVALUATIONS.go_on(w.nodes, w.leaves)
    if looked is None:
        SWIFT.hear(len(nodes))
    elif plan is not None:
        swift_walk.note(looked, w, plan)
    return w, plan


def _run_known(met: Met, plan: Plan) -> bool:
    """Compute nodes by a plan that was run before; False if their calls have to be written out first."""
    late: list[flags.Late] = []
    way, plan.met = met.way, True
    assert way is not None
    try:
        one = way[0]
        if len(way) == 1 and one is not None and launched(met, one, late):
            return True
        if met.calls or met.key == met.counted:
            return False                        # (its plan may be for another number of kept elements)
        w = walk_of(met, late)
        for step, one in zip(plan.steps, way, strict=True):
            if one is None or not launched(met, one, late):
                _run(step, w)
            w.let_go(step.ends)
        return True
    finally:
        if late:
            flags.give(late)


def planned(
    nodes: list[Expr], roots: list[Expr], literal: bool = True, through: bool = True
) -> tuple[Walk, Plan]:  # fmt: skip
    """The plan that computes `nodes`, of which `roots` must be stored; `literal` and `through` as of
    `walk`."""
    w = walk(nodes, roots, literal, through)
    return w, plan_of(w, _refuse)


def groups_for(roots: list[Expr], nodes: list[Expr], native: bool) -> tuple[Walk, Partition, list[Step]]:
    """How `roots` would be evaluated, with kernels or without, for `explain`."""
    w = walk(list(nodes), roots)
    return w, *groups_of(w, _refuse if native else _sooner)


def _sooner(node: Expr, memory: Memory) -> str | None:
    return "NumPy does it sooner, or jit is off"


def _refuse(node: Expr, memory: Memory) -> str | None:
    """Why a node must run through NumPy, or None if it compiles."""
    op = node.op
    if not isinstance(op, COMPILED):
        return "has no native lowering"
    if is_node_off("jit", node.serial):
        return "kernels are switched off"
    if node.old is not None and not node.covers and "setitem" not in config.current.parallel:
        return "writes to parts of arrays are switched off"
    if isinstance(op, Reduce):
        order = fold_order(node)
        if isinstance(order, Unproved):
            return order.why
    geos = [i.geo for i in node.inputs if i.__class__ is Read]
    chars = tuple([char_of(geo.dtype) for geo in (region_of(node), *geos)])
    why = _by_types(op, host(), config.current.math)
    if why is None and None in chars:
        why = plain_node(node, chars)
    if why is None and memory.odd:
        why = _misaligned(node, memory)
    return TOO_FEW if why is None and too_few(node) else why


@lru_cache(maxsize=4096)
def _by_types(op: Op, target: Target, math: str) -> str | None:
    """Why an op has no compiled code for the target and the option, which are those of kernels now."""
    if isinstance(op, Map):
        if not lowerable(op.name, op.sig):
            return f"{op.name} is not compiled for {op.sig}"
    elif isinstance(op, Scan):
        if not scannable(op.name, op.sig):
            return f"running {op.name} is not compiled for {op.sig}"
    elif isinstance(op, Reduce) and not foldable(op.name, signature(op)):
        return f"folding by {op.name} is not compiled for {op.sig}"
    return None


def _misaligned(node: Expr, memory: Memory) -> str | None:
    """Foreign memory may start anywhere; compiled code wants multiples of the element's size."""
    accesses = [(i.expr, i.geo) for i in node.inputs if i.__class__ is Read]
    if node.old is not None:
        accesses.append((node.old, region_of(node)))
    for value, geo in accesses:
        buf = memory.key(value).buf
        foreign = buf is not None and buf.bridge is not None
        if not geo.flags.aligned or (foreign and buf.address % geo.dtype.alignment):
            return MISALIGNED
    return None


def _run(step: Step, w: Walk) -> bool:
    """Compute a step; False if its kernel is yet to be compiled."""
    if step.program is None and not step.boxes:
        if step.rows is None:
            _by_numpy(step, w)
            return True
        if _outlive(step, step.rows, w):
            return _one_by_one(step.rows, w)
    if step.shared and any(w.nodes[k].op is None for k in step.shared):
        _by_numpy(step, w)                      # as it did the step that computed them before
        return False
    try:
        if not COMPILER.usable:
            return _by_cached_kernel(step, w)
        _by_kernel(step, w)
        return True
    except Exception as error:
        note_lines(error, [node.loc for k in step.members if (node := w.nodes[k]) is not None])
        raise


def _one_by_one(rows: RowBlocks, w: Walk) -> bool:
    compiled = True
    for part in rows.parts:
        compiled = _run(part.step, w) and compiled
        w.let_go(part.step.ends)
    return compiled


def _outlive(step: Step, rows: RowBlocks, w: Walk) -> bool:
    """Would values that nobody needs any more wait for the chain's end, and no result take their memory?"""
    dying = {v.serial: v.nbytes for k in rows.early if not is_held(v := w.value(k))}
    if sum(dying.values()) > SLACK:
        placement = _placement(step, w)
        for k, reusable in zip(step.stored, step.reusable, strict=True):
            node = w.nodes[k]
            taken = None if node.old is not None else placement.dying(node, map(w.value, reusable))
            if taken is not None:
                placement.take(node, taken)
                dying.pop(taken.serial, None)
    return sum(dying.values()) > SLACK


def _by_rows(step: Step, rows: RowBlocks, w: Walk) -> None:
    """Compute steps that run together."""
    held = hold_signals() if rows.rings else None       # (a handler's child would have none)
    try:
        placement, threads = _placement(step, w), get_num_threads()
        _place(step, rows, w, placement, threads)
        if held is None and placement.taken:
            held = hold_signals()
        EVALUATIONS.go_on([w.nodes[k] for k in step.members], placement.taken.values())
        _launch_placed(step, rows, w, placement, threads)
    finally:
        release_signals(held)


def _place(step: Step, rows: RowBlocks, w: Walk, placement: Placement, threads: int) -> None:
    turns, nodes, leaves = {turn.node: turn for turn in step.turns}, w.nodes, w.leaves
    buffers, members, taken, ended = placement.buffers, placement.members, placement.taken, placement.ended
    for k, reusable in zip(step.stored, step.reusable, strict=True):
        turn, node = turns.get(k), nodes[k]
        if turn is None:
            old = node.old
            if old is not None and (at := old.serial) in buffers and at in members and not node.covers:
                buffers[node.serial] = buffers[at]      # (`place`, written out: sweeps write many borders)
                taken[node.serial] = old
                ended.add(id(old))
            else:
                placement.place(node, map(w.value, reusable))
        elif turn.ring is not None:
            placement.ring(node, turn.ring.pattern(rows.strips(threads)))
        else:
            of = turn.source            # (`Walk.value`, written out)
            source = None if of is None else nodes[of] if of >= 0 else leaves[-1 - of]
            placement.turn(node, source, turn.margins)


def _launch_placed(step: Step, rows: RowBlocks, w: Walk, placement: Placement, threads: int) -> None:
    homes = _homes(rows, w, placement)
    members = [w.nodes[k] for k in step.members]
    warm = not rows.streamed or all(placement.of(w.value(k)).recycled for k in rows.streamed)
    watch = None
    if rows.delay and rows.watches:
        with holding():
            from lazyarr.replay_blocks import BlockWatch

        watch = BlockWatch(rows, members, placement)
    nodes = w.nodes                     # (`_scalars`, written out)
    scalars: Any = [nodes[c[0]].inputs[c[1]] if c.__class__ is tuple else c for c in rows.constants]
    found = launch_rows(rows, homes, scalars, warm, watch, threads)
    if EVALUATIONS.are_overtaken():     # (by a handler: nothing is written over, then, as in `_by_kernel`)
        EVALUATIONS.go_on(members, map(w.value, rows.lying))
    if any(found):
        with holding():
            from lazyarr.replay import UNWATCHED, explain

        watched = UNWATCHED if watch is None else watch.seen
        w.late += explain(step, members, found, placement, watched)
    _finish(members, placement, reduce(or_, found))
    gone = placement.passing() if rows.rings else ()
    for node in members if gone else ():
        if node.serial in gone:
            node.buf = None


def _placement(step: Step, w: Walk) -> Placement:
    staying = {w.nodes[k].serial for k in step.staying} if step.shared else ()
    return Placement([w.nodes[k] for k in step.members], {w.nodes[k].serial for k in step.stored}, staying)


def _homes(rows: RowBlocks, w: Walk, placement: Placement) -> dict[int, int]:
    """Where the values lie that have memory of their own."""
    made, nodes, leaves, homes = placement.buffers, w.nodes, w.leaves, dict[int, int]()
    for k in rows.lying:                # (`Walk.value`, `Placement.of`, written out)
        value = nodes[k] if k >= 0 else leaves[-1 - k]
        homes[k] = made.get(value.serial, value.buf).address
    return homes


def _by_cached_kernel(step: Step, w: Walk) -> bool:
    """Compute a step before LLVM is loaded: by a kernel from the cache, or by NumPy."""
    if step.work is None:
        step.work = sum(numpy_ns(w.nodes[k]) for k in step.members)
    work = step.work
    try:
        with cached_only() as missed:
            _by_kernel(step, w)
        if missed:
            COMPILER.ready(work)        # it counts as work that waits for LLVM
        return True
    except NotCompiled:
        compiles = COMPILER.ready(work)
    if compiles:
        _by_kernel(step, w)
    else:
        _by_numpy(step, w)
    return compiles


def _by_numpy(step: Step, w: Walk) -> None:
    """Node by node; each value goes as soon as nobody needs it any more, as in NumPy."""
    w.let_go([k for k in step.ends if k < 0])
    for k in step.members:
        if w.nodes[k].op is not None:
            w.late += run_through_numpy(w.nodes[k], step.why == MISALIGNED)
        if k in step.ends:
            w.let_go((k,))
    if step.why == TOO_FEW:
        COUNT.eager += len(step.members)
    else:
        COUNT.numpy_fallbacks += len(step.members)


def _by_kernel(step: Step, w: Walk) -> None:
    if step.rows is not None:
        _by_rows(step, step.rows, w)
        return
    members = [w.nodes[k] for k in step.members]
    placement = _placement(step, w)
    for k, reusable in zip(step.stored, step.reusable, strict=True):
        placement.place(w.nodes[k], map(w.value, reusable))
    held = hold_signals() if placement.taken else None
    try:
        EVALUATIONS.go_on(members, placement.taken.values())
        raised = _launch_boxes(step, w, placement) if step.boxes else _launch_at(step, w, placement)
        if EVALUATIONS.are_overtaken():         # (what was read may be something else by now: once more)
            EVALUATIONS.go_on(members, map(w.value, _lying(step)))
        if raised:
            with holding():
                from lazyarr.replay import explain

            w.late += explain(step, members, [raised], placement)
        _finish(members, placement, raised)
    finally:
        release_signals(held)


def _lying(step: Step) -> set[int]:
    """What a step's launch reads or writes, by number."""
    return {k for each in step.boxes or (step,) for k in each.operands}


def _launch_boxes(step: Step, w: Walk, placement: Placement) -> int:
    """Compute a step that runs as several loop nests."""
    homes = {k: placement.of(w.value(k)) for box in step.boxes for k in dict.fromkeys(box.operands)}
    warm = all(homes[box.operands[k]].recycled for box in step.boxes for k in box.written)
    addresses = {k: home.address for k, home in homes.items()}
    return launch_boxes(step.boxes, addresses, [_scalars(box, w) for box in step.boxes], warm)


def _launch_at(step: Step, w: Walk, placement: Placement) -> int:
    fed = [operand for operand, _ in step.feeds]
    homes = [None if at in fed else placement.of(w.value(k)) for at, k in enumerate(step.operands)]
    streams = all(home is None or home.recycled for home in map(homes.__getitem__, step.written))
    return _launch(step, w, placement, [0 if home is None else home.address for home in homes], streams)


def _scalars(step: Step, w: Walk) -> list[Any]:
    return [w.nodes[c[0]].inputs[c[1]] if isinstance(c, tuple) else c for c in step.constants]


def _launch(step: Step, w: Walk, placement: Placement, bases: list[int], streams: bool) -> int:
    program, scalars = step.program, _scalars(step, w)
    assert program is not None
    if not (step.tallies or step.keeps or step.ranks is not None or step.feeds):
        return launch(program, bases, scalars, streams)
    addresses = [base + offset for base, offset in zip(bases, program.offsets, strict=True)]
    if step.tallies:
        tally = placement.of(w.nodes[step.members[-1]])
        return launch_tally(program, addresses, scalars, tally.memory.view(numpy.int64))
    if step.keeps is not None:
        ranks = placement.of(w.nodes[step.members[-1]]).address
        return launch_keep(program, step.keeps, addresses, scalars, ranks)
    if step.ranks is not None:
        was_stored(w.value(step.ranks).serial)
        return launch_pack(_source(step, w, addresses))
    if step.feeds[0][1].ranks is not None:
        kept = [(operand, _source(source, w, _inputs(source, w))) for operand, source in step.feeds]
        counted = w.value(step.feeds[0][1].ranks).serial
        if "r" in program.parfor.dims:
            was_fed(counted, bool(summed_alone(program)))
        else:
            was_stored(counted)                 # (as many elements, nearly)
        return launch_kept(program, addresses, scalars, streams, kept)
    portions = [(operand, _portions(step, operand, source, w)) for operand, source in step.feeds]
    return launch_fed(program, addresses, scalars, streams, portions)


def _portions(step: Step, operand: int, source: Step, w: Walk) -> Portions:
    """What makes an operand of a step portion by portion."""
    assert step.program is not None
    parts: list[Part] = []
    for part in source.boxes or (source,):
        assert part.program is not None
        out = part.operands.index(step.operands[operand])
        parts.append(Part(part.program, _inputs(part, w), _scalars(part, w), out))
    return Portions(parts, step.program.loops.strides[operand][0])


def _inputs(step: Step, w: Walk) -> list[int]:
    """Where the operands lie of a step whose result is not stored: that lies nowhere."""
    assert step.program is not None
    homes = [w.value(k).buf for k in step.operands]
    return [o if buf is None else buf.address + o for buf, o in zip(homes, step.program.offsets, strict=True)]


def _source(step: Step, w: Walk, addresses: list[int]) -> Source:
    """The compression of a step, with its memory."""
    assert step.program is not None and step.ranks is not None
    ranks = w.value(step.ranks).buf.memory.view(numpy.int64)
    return Source(step.program, addresses, _scalars(step, w), ranks)


def _finish(members: list[Expr], placement: Placement, raised: int) -> None:
    """The values exist, and these flags were raised: hand out buffers, forget what nobody needs more."""
    if placement.waiting or not swift_walk.finished(members, placement.buffers):
        _finish_by_python(members, placement, raised)
    for value in placement.taken.values():
        value.buf = None
    COUNT.nodes_run += len(members)


def _finish_by_python(members: list[Expr], placement: Placement, raised: int) -> None:
    """The same where some stay pending, or machine code is not there.  What is stored goes first: an
    interrupt half way must leave the others to whatever is computed again."""
    buffers, waiting = placement.buffers, placement.waiting
    stored = [node for node in members if node.serial in buffers]
    for node in (*stored, *[node for node in members if node.serial not in buffers]):
        serial = node.serial
        if node.op is not None and serial in waiting:
            node.spared = True
            node.errors = flags.told_again(node.errors, raised)
            continue
        buf = buffers.get(serial)
        storage = None if node.home is None else node.home()    # (`values.is_held`, written out)
        if node.op is None:             # (a signal's handler asked for it: see `ready.launched`)
            continue
        if storage is not None and storage.value is node:
            LEDGER.unallocated -= node.nbytes
        node.buf = buf                  # (`Expr.done`, written out: no call since the look)
        node.op = node.region = node.old = None
        node.inputs = ()
        node.depth = node.weight = 0
