"""Evaluation: from pending nodes to bytes.

In: nodes that somebody needs.   Out: the same nodes, each with a buffer.

    closure -> plan (walk, partition, assemble) -> for each step: bufferize -> launch

Never recursive.  Steps run in an order that keeps program order; whatever still reads a buffer
that a write is about to overwrite runs first, or the write takes another buffer where that costs
less memory.  What has no native lowering runs through NumPy (`fusion.reference`), node by node.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Any

import numpy

from lazyarr import config, flags
from lazyarr.bufferize import Placement, place_single
from lazyarr.counters import COUNT
from lazyarr.expr import Compress, Expr, Map, Read, Reduce
from lazyarr.fusion import reference
from lazyarr.fusion.alias import memory_key
from lazyarr.fusion.fold import fold_order, signature
from lazyarr.fusion.partition import Partition, plain_node, space
from lazyarr.interrupts import hold_signals, release_signals
from lazyarr.kernels import COMPILER, cost, foldable, host, lowerable
from lazyarr.launch import launch
from lazyarr.launch_compress import Source, launch_fed, launch_pack
from lazyarr.plan import Plan, Step, Walk, groups_of, plan_of, walk
from lazyarr.reduce_order import Unproved
from lazyarr.values import LEDGER, LOCK, is_held, results

TINY = 1024
"""Elements below which NumPy, op by op, takes less than a launch (and no compile)."""

TOO_FEW = "too few elements for a kernel"


def evaluate(roots: Iterable[Expr]) -> None:
    """Compute the values `roots` and all they need."""
    with LOCK:
        roots = [r for r in roots if r.op is not None]
        if not roots:
            return
        began = time.perf_counter()
        w, plan = plan_for(roots)
        COUNT.seconds["plan"] += time.perf_counter() - began
        for step in plan.steps:
            _run(step, w)
            w.let_go(step.ends)


def plan_for(roots: list[Expr]) -> tuple[Walk, Plan]:
    """What evaluating `roots` does."""
    w = walk(closure(roots), roots)
    refuse = _refusal(w)
    return w, plan_of(w, roots, refuse, keep=refuse is _refuse)


def groups_for(roots: list[Expr]) -> Partition:
    """The fusion groups in which `roots` would be evaluated, for `explain`."""
    w = walk(closure(roots), roots)
    return groups_of(w, roots, _refusal(w))


def _refusal(w: Walk) -> Callable[[Expr], str | None]:
    """The rule by which nodes are left to NumPy; all of them, before compiling pays."""
    if config.current.jit != "never" and COMPILER.ready(sum(map(_numpy_ns, w.nodes))):
        return _refuse
    return lambda node: "NumPy does it sooner, or jit is off"


def _numpy_ns(node: Expr) -> float:
    """What NumPy would take for a node, roughly: the op, and its result into fresh pages."""
    op, region = node.op, node.region
    assert region is not None
    per_element = cost(op.name) if isinstance(op, Map) else 0.3
    return math.prod(space(node)) * (0.3 + per_element) + region.nbytes * 0.15


def closure(roots: Iterable[Expr]) -> list[Expr]:
    """All pending nodes to run for `roots`, in program order."""
    needed: dict[int, Expr] = {}
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node.op is None or node.serial in needed:
            continue
        needed[node.serial] = node
        todo.extend(node.needs())
        if node.old is not None:
            todo.extend(_first(node, needed))
    return [needed[serial] for serial in sorted(needed)]


def _first(node: Expr, needed: dict[int, Expr]) -> list[Expr]:
    """What to compute before `node` overwrites its old value in place.

    A copy of the old value (or another buffer, if this write covers all) keeps the readers lazy; it
    is taken only where it is smaller than what they would have to allocate."""
    old = node.old
    if old is None or (old.buf is None and node.covers):
        return []
    waiting = [r for r in results(old, node.serial) if r.serial not in needed]
    if node.nbytes < sum(r.nbytes for r in waiting):
        return []
    return waiting


def _refuse(node: Expr) -> str | None:
    """Why a node must run through NumPy, or None if it compiles."""
    op = node.op
    if not isinstance(op, (Map, Reduce, Compress)):
        return "has no native lowering"
    if config.current.jit == "auto" and math.prod(space(node)) <= TINY:
        return TOO_FEW
    if isinstance(op, Map):
        if not lowerable(op.name, op.sig):
            return f"{op.name} is not compiled for {op.sig}"
    elif isinstance(op, Reduce):
        order = fold_order(node)
        if isinstance(order, Unproved):
            return order.why
        if not foldable(op.name, signature(op)):
            return f"folding by {op.name} is not compiled for {op.sig}"
    return plain_node(node) or _unconverted(node) or _misaligned(node)


def _unconverted(node: Expr) -> str | None:
    """float16 is converted by compiled code only where the CPU does it."""
    geos = [node.region, *(i.geo for i in node.inputs if isinstance(i, Read))]
    half = any(geo is not None and geo.dtype.char == "e" for geo in geos) or (
        isinstance(node.op, Map | Reduce) and "e" in node.op.sig
    )
    return "this CPU does not convert float16" if half and not host().half else None


def _misaligned(node: Expr) -> str | None:
    """Foreign memory may start anywhere; compiled code wants multiples of the element's size."""
    accesses = [(i.expr, i.geo) for i in node.inputs if isinstance(i, Read)]
    if node.old is not None and node.region is not None:
        accesses.append((node.old, node.region))
    for value, geo in accesses:
        buf = memory_key(value).buf
        if not geo.flags.aligned or (buf is not None and buf.address % geo.dtype.alignment):
            return "memory is not aligned"
    return None


def _run(step: Step, w: Walk) -> None:
    members = [w.nodes[k] for k in step.members]
    if step.program is None:
        for node in members:
            _run_reference(node)
        if step.why == TOO_FEW:
            COUNT.numpy_eager += len(members)
        else:
            COUNT.numpy_fallbacks += len(members)
        return
    placement = Placement(members)
    loads = [(w.value(k), geo) for k, geo in step.loads]
    for k in step.stored:
        placement.place(w.nodes[k], loads)
    homes = [placement.of(w.value(k)) for k in step.operands]
    scalars: list[Any] = [w.nodes[c[0]].inputs[c[1]] if isinstance(c, tuple) else c for c in step.constants]
    streams = all(
        home.recycled for home, o in zip(homes, step.program.parfor.operands, strict=True) if o.role != "in"
    )
    held = hold_signals() if placement.taken else None
    try:
        raised = _launch(step, w, placement, [home.address for home in homes], scalars, streams)
        suspects = [(n.op, n.errors) for n in members] if raised else []
        _finish(members, placement)
    finally:
        release_signals(held)
    if suspects:
        flags.report(raised, suspects)


def _launch(
    step: Step, w: Walk, placement: Placement, bases: list[int], scalars: list[Any], streams: bool
) -> int:
    program = step.program
    assert program is not None
    if step.count is not None:
        return launch_pack(_source(step, w, placement), bases[-1])
    if not step.feeds:
        return launch(program, bases, scalars, streams)
    addresses = [base + offset for base, offset in zip(bases, program.offsets, strict=True)]
    feeds = [(operand, _source(source, w, placement)) for operand, source in step.feeds]
    return launch_fed(program, addresses, scalars, streams, feeds)


def _source(step: Step, w: Walk, placement: Placement) -> Source:
    """The compression of a step, with its memory."""
    assert step.program is not None and step.count is not None
    homes = [placement.of(w.value(k)) for k in step.operands[:2]]
    addresses = [home.address + o for home, o in zip(homes, step.program.offsets, strict=False)]
    region = w.nodes[step.members[0]].region
    assert region is not None
    return Source(step.count, step.program, addresses, region.size)


def _finish(members: list[Expr], placement: Placement) -> None:
    """The values exist: hand out buffers, forget what only the computation needed."""
    for node in members:
        buf = placement.buffers.get(node.serial)
        if is_held(node):
            if buf is None:
                node.spared = True
                continue
            LEDGER.unallocated -= node.nbytes
        node.done(buf)
    for value in placement.taken.values():
        value.buf = None
    COUNT.nodes_run += len(members)


def _run_reference(node: Expr) -> None:
    """One node through NumPy."""
    began = time.perf_counter()
    buf, taken = place_single(node)
    # On a copy of the old value, inputs that read it read the copy: they overlap the region exactly
    # as they would in place, so the outcome does not depend on the choice.
    old = None if node.covers or taken is not None else node.old
    inputs: list[Any] = []
    for i in node.inputs:
        if isinstance(i, Read):
            inputs.append((buf if i.expr is old else i.expr.buf).real(i.geo))
        else:
            inputs.append(i)
    mask: Any = inputs.pop() if node.masked else True
    op, region, errors = node.op, node.region, node.errors
    assert op is not None and region is not None
    raised: list[int] = []
    held = None if taken is None else hold_signals()
    try:
        with numpy.errstate(all="call", call=lambda text, flag: raised.append(flag)):
            reference.run(op, buf.real(region), tuple(inputs), mask)
        if is_held(node):
            LEDGER.unallocated -= node.nbytes
        node.done(buf)
        if taken is not None:
            taken.buf = None
    finally:
        release_signals(held)
    COUNT.nodes_run += 1
    COUNT.seconds["fallback"] += time.perf_counter() - began
    if raised:
        flags.report(reduce(or_, raised), [(op, errors)])
