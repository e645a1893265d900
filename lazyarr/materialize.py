"""Evaluation: from pending nodes to bytes.

In: nodes that somebody needs.   Out: the same nodes, each with a buffer.

    closure, sinking -> NumPy, node by node        before compiling pays, or with jit off
                     -> engine: plan, then kernels else

Never recursive.  Nodes run in an order that keeps program order; whatever still reads a buffer that
a write is about to overwrite runs first, or the write takes another buffer where that costs less
memory.  The engine is imported when it is first used: a short program never needs it.
"""

from __future__ import annotations

import time
from _thread import get_ident
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy

from lazyarr import config, flags
from lazyarr.bufferize import builds_on_old, place_single
from lazyarr.calls import Call, written_out
from lazyarr.compiler import COMPILER
from lazyarr.config import OBSERVED, is_observed, plan_key
from lazyarr.counters import COUNT
from lazyarr.expr import BROKEN, EVALUATIONS, LOCK, Expr, Map, Opaque, Read
from lazyarr.fusion import reference
from lazyarr.habits import WATCHED, told_by
from lazyarr.interrupts import Held, deliver, hold_signals, release_signals
from lazyarr.pace import NOW, begins, ended, weighs, work_of
from lazyarr.ranges import ASKED, RANGES
from lazyarr.resting import COLLECTING, Resting
from lazyarr.sinking import sunk
from lazyarr.slot_words import WAITING
from lazyarr.srcloc import note_lines
from lazyarr.values import Buffer, results, settle
from lazyarr.worth import Account

ENDINGS = 5
"""Small calls of Python's that an evaluation known at sight counts as: so many storages and buffers end with
it, or soon, and slots see to that (`slots.endings`)."""

_IS_PENDING = attrgetter("op")
"""Ops are true."""


def evaluate(roots: Iterable[Expr]) -> None:
    """Compute the values `roots` and all they need."""
    with LOCK:
        outer = EVALUATIONS.mine
        try:
            for left in range(TRIES, -1, -1):       # (at last what no handler can disturb)
                roots = [*filter(_IS_PENDING, roots)]
                if not roots:
                    return
                EVALUATIONS.begun += 1
                EVALUATIONS.mine = EVALUATIONS.begun
                try:
                    if left:
                        _computed(roots)
                    else:
                        one_by_one(closure(roots))
                    return
                except BROKEN:
                    if not left or not EVALUATIONS.are_overtaken():
                        raise
        finally:
            EVALUATIONS.mine = outer


TRIES = 2
"""So often an evaluation goes by a plan, if others come in between."""


def _computed(roots: list[Expr]) -> None:
    if COLLECTING.is_unsure():
        # (The only way by which nothing is overwritten or forgotten.)
        COLLECTING.apart(one_by_one, closure(roots))
        return
    asked = time.thread_time() if NOW.thread and NOW.thread == get_ident() else None
    observed = bool(OBSERVED) and is_observed()
    met = None
    if _look is not None and not observed:
        swiftly = _swift.evaluate
        if swiftly is not None:
            began = time.perf_counter() if WATCHED else 0.0
            computed = swiftly(roots, plan_key())
            if computed:
                if began:
                    _swift.tell(time.perf_counter() - began)
                if asked is not None:
                    _swift.looked(time.thread_time() - asked)
                for hear in WAITING:
                    hear(ENDINGS)
                return
            if computed is False and not (roots := [*filter(_IS_PENDING, roots)]):
                return
        met = _at_sight(roots)
        if met is None:
            met = _look(roots)
            if met is not None and met.plan is not None and not EVALUATIONS.are_overtaken():
                _note_sight(met, roots)
    nodes: Any = met.nodes if met is not None else None if _pending is None else _pending(roots)
    if nodes is None:
        nodes = sunk(closure(roots), roots)
    known = met is not None and met.plan is not None
    share = None if met is None else met.share
    if met is not None and met.calls and not known:
        (met, nodes), share = _written(met), None
    account = None if known or not may_compile() else Account(nodes)
    waits = account is not None and account.waits()
    native = known or (account is not None and not waits and COMPILER.plans(nodes))
    if observed:
        from lazyarr.debug.watch import watch
        from lazyarr.segments import is_much

        if not (native and is_much(nodes)):         # (else the engine shows it segment by segment)
            watch(nodes, roots, native)
    told = told_by(nodes, share) if WATCHED else None
    if NOW.weighs:
        weighs(nodes)
    if asked is not None:
        begins(work_of(nodes), known)
    began = time.perf_counter()
    if native:
        (_engine or _load()).run(nodes, roots, met, account)
    elif waits:
        unplanned(nodes, account)
    else:
        one_by_one(nodes)
    # (Till there is a plan, and LLVM where it takes that, waiting cannot pay.)
    if told is not None and (native or (not waits and COMPILER.usable is not None)):
        habit, seconds, share = told
        habit.ran_alone((seconds + time.perf_counter() - began) * share)
    if asked is not None:
        ended(time.thread_time() - asked)


_look: Any = None
"""`ready.look`, `ready.written`, `at_sight.at_sight`, `at_sight.SWIFT`, `at_sight.note`,
`swift_walk.pending`, and the module `engine`, once that is there."""
_written: Any = None
_at_sight: Any = None
_swift: Any = None
_note_sight: Any = None
_pending: Any = None
_engine: Any = None


def _load() -> Any:
    global _at_sight, _engine, _look, _note_sight, _pending, _swift, _written
    held = hold_signals()                           # (handlers that evaluate find whole modules)
    try:
        with Resting():
            from lazyarr import at_sight, engine, ready, swift_walk

        _swift, _at_sight, _note_sight = at_sight.SWIFT, at_sight.at_sight, at_sight.note
        _written, _pending = ready.written, swift_walk.pending
        _look, _engine = ready.look, engine         # (last: who finds them goes by the others)
    finally:
        release_signals(held)

    return _engine


def one_by_one(nodes: list[Any]) -> None:
    """Compute nodes through NumPy; what nobody needs any more goes, as in NumPy."""
    late: list[flags.Late] = []
    listener = flags.Listener()
    usual: Any = {**numpy.geterr(), "call": numpy.geterrcall()}
    began = time.perf_counter()
    held = hold_signals() if len(nodes) > 1 else None       # (once: for each node it takes as long as that)
    try:
        with numpy.errstate(all="log", call=listener):
            for k in range(len(nodes)):
                if held is not None and held.came:
                    with numpy.errstate(**usual):
                        deliver(held)
                if nodes[k].op is not None:             # (a handler may have asked for it)
                    late += _through_numpy(nodes[k], listener, held)
                nodes[k] = None
                COUNT.numpy_fallbacks += 1
    finally:
        COUNT.seconds["fallback"] += time.perf_counter() - began
        try:
            release_signals(held)
        finally:
            if late:
                flags.give(late)


def compiles(nodes: list[Expr]) -> bool:
    """Are kernels the way to compute these nodes?"""
    return may_compile() and COMPILER.plans(nodes)


def may_compile() -> bool:
    """Do the options leave anything to kernels?"""
    return config.current.jit != "never" and "numpy" in config.current.parallel


def unplanned(nodes: list[Any], account: Account | None) -> None:
    """Compute nodes through NumPy, since no plan is worth its price yet."""
    COUNT.unplanned += 1
    began = time.perf_counter()
    one_by_one(nodes)
    if account is not None:
        account.took(1e9 * (time.perf_counter() - began))
        if account.vain:
            NOW.in_vain += len(nodes)


def closure(roots: Iterable[Expr]) -> list[Expr]:
    """All pending nodes to run for `roots`, in program order."""
    needed: dict[int, Expr] = {}
    roots = list(roots)
    todo = roots.copy()
    overtaken = False
    while todo:
        node = todo.pop()
        if node.op is None or node.serial in needed:
            continue
        op: Any = node.op
        if op.__class__ is Call:
            written_out(node)
        needed[node.serial] = node
        # (`Expr.needs`, written out: this runs for every node that there ever is.)
        for i in node.inputs:
            if i.__class__ is Read:
                if i.expr.op is not None:
                    todo.append(i.expr)
                elif i.expr.buf is None:
                    overtaken = True
        if node.old is not None:
            if not node.covers:
                todo.append(node.old)
            todo.extend(_first(node, needed))
    if overtaken and follow(needed.values()):
        return closure([r for r in roots if r.op is not None])
    return list(needed.values()) if len(needed) == 1 else [needed[serial] for serial in sorted(needed)]


def follow(nodes: Iterable[Expr]) -> bool:
    """Let nodes read the current values where what they read was overwritten meanwhile, by another thread.

    (See `Expr.recapture`.)  Those values are computed here: they are younger than the nodes.
    False if there are none."""
    moved = False
    for node in list(nodes):
        if node.op is not None and any(map(_is_lost, node.needs())):
            node.follow()
            evaluate(value for value in node.needs() if value.serial > node.serial)
            moved = moved or not any(map(_is_lost, node.needs()))
    return moved


def _is_lost(value: Expr) -> bool:
    return value.op is None and value.buf is None


def _first(node: Expr, needed: dict[int, Expr]) -> list[Expr]:
    """What to compute before `node` overwrites its old value in place.

    A copy of the old value (or another buffer, if this write covers all) keeps the readers lazy; it
    is taken only where it is smaller than what they would have to allocate."""
    old = node.old
    if old is None or (old.buf is None and node.covers):
        return []
    for ref in [*(old.readers or ())]:          # (most writes have only later readers to think of, if any)
        reader = ref()
        if reader is not None and reader.op is not None and reader.serial < node.serial:
            break
    else:
        return []
    waiting = [r for r in results(old, node.serial) if r.serial not in needed]
    if node.nbytes < sum(r.nbytes for r in waiting):
        return []
    return waiting


def run_through_numpy(node: Expr, misaligned: bool = False) -> Sequence[flags.Late]:
    """One node through NumPy: the warnings to give.

    Where it is NumPy's only because its memory is not aligned, functions that are ours stay so."""
    began = time.perf_counter()
    listener = flags.Listener()
    try:
        with numpy.errstate(all="log", call=listener):
            return _through_numpy(node, listener, None, misaligned)
    finally:
        COUNT.seconds["fallback"] += time.perf_counter() - began


def is_whole_range(node: Expr) -> bool:
    """Is it an arange as it was asked for, of which NumPy makes all?"""
    op, region = node.op, node.region
    if not isinstance(op, Map) or op.name not in RANGES or region is None or node.old is not None:
        return False
    given = node.inputs[0]
    assert isinstance(given, Read)
    whole = region.nbytes == node.nbytes and given.geo.nbytes == given.expr.nbytes
    return whole and region.ndim == 1 and region.strides[0] > 0


def _through_numpy(
    node: Expr, listener: flags.Listener, holding: Held | None, misaligned: bool = False
) -> Sequence[flags.Late]:
    """The same, in an error state that tells a listener, perhaps with all signals held."""
    op = node.op
    makes = (isinstance(op, Opaque) and op.makes) or is_whole_range(node)
    buf: Any = None
    taken: Expr | None = None
    if not makes:
        buf, taken = place_single(node)
    # On a copy of the old value, inputs that read it read the copy: they overlap the region exactly
    # as they would in place, so the outcome does not depend on the choice.
    old = node.old if taken is None and builds_on_old(node) else None
    inputs: list[Any] = []
    for i in node.inputs:
        if isinstance(i, Read):
            inputs.append((buf if i.expr is old else i.expr.buf).real(i.geo))
        else:
            inputs.append(i)
    mask: Any = inputs.pop() if node.masked else True
    region = node.region
    assert op is not None and region is not None
    held = None if taken is None or holding is not None else hold_signals()
    try:
        if held is not None:
            EVALUATIONS.go_on((node,), (taken,))
        if isinstance(op, Opaque) and makes:
            buf = Buffer.borrow(op.run(*inputs, *op.options))
        elif isinstance(op, Map) and makes:
            buf = Buffer.borrow(RANGES[op.name].as_asked(region.dtype, *inputs[ASKED]))
        else:
            reference.run(op, buf.real(region), tuple(inputs), mask, misaligned)
        settle(node, buf)
        if taken is not None:
            taken.buf = None
    except Exception as error:
        note_lines(error, [node.loc])
        raise
    finally:
        release_signals(held)
    COUNT.nodes_run += 1
    if not listener.raised:
        return ()
    raised, listener.raised = listener.raised, []
    return list(flags.late(node, raised, op))
