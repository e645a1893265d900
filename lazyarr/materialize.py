"""Evaluation: from pending nodes to bytes.

In: nodes that somebody needs.   Out: the same nodes, each with a buffer.

    closure -> partition -> bufferize -> assemble -> kernel -> launch

Never recursive.  Groups run in an order that keeps program order; whatever still reads a buffer
that a write is about to overwrite runs first, or the write takes another buffer where that costs
less memory.  What has no native lowering runs through NumPy (`fusion.reference`), node by node.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

import numpy

from lazyarr import config, flags
from lazyarr.counters import COUNT
from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion import reference
from lazyarr.fusion.alias import memory_key
from lazyarr.fusion.assemble import assemble_map
from lazyarr.fusion.partition import Group, Partition, partition, plain_node, space
from lazyarr.geometry import same
from lazyarr.kernels import COMPILER, cost, lowerable
from lazyarr.values import LEDGER, Buffer, is_held, results

LOCK = threading.RLock()
"""Held while a plan is made and run: nodes are shared by all Python threads."""


def evaluate(roots: Iterable[Expr]) -> None:
    """Compute the values `roots` and all they need."""
    with LOCK:
        roots = [r for r in roots if r.op is not None]
        if not roots:
            return
        began = time.perf_counter()
        plan = plan_for(roots)
        COUNT.seconds["plan"] += time.perf_counter() - began
        for group in plan.groups:
            _run(group, plan)


def plan_for(roots: list[Expr]) -> Partition:
    """Which groups would run, and what they would store."""
    nodes = closure(roots)
    jit = config.current.jit
    if jit == "never" or not COMPILER.ready(sum(map(_numpy_ns, nodes))):
        return partition(nodes, roots, is_held, lambda node: "NumPy does it sooner, or jit is off")
    return partition(nodes, roots, is_held, _refuse)


def _numpy_ns(node: Expr) -> float:
    """What NumPy would take for a node, roughly."""
    op = node.op
    per_element = cost(op.name) if isinstance(op, Map) else 0.3
    return math.prod(space(node)) * (0.5 + per_element)


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
    if not isinstance(op, Map):
        return "has no native lowering"
    if not lowerable(op.name, op.sig):
        return f"{op.name} is not compiled for {op.sig}"
    return plain_node(node) or _misaligned(node)


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


class Placement:
    """Where the stored values of one group live: serial -> buffer, and what it was taken from."""

    __slots__ = ("buffers", "taken", "members")

    def __init__(self, group: Group) -> None:
        self.buffers: dict[int, Buffer] = {}
        self.taken: dict[int, Expr] = {}
        self.members = {n.serial for n in group.nodes}

    def of(self, value: Expr) -> Buffer:
        found = self.buffers.get(value.serial)
        return value.buf if found is None else found

    def free(self, value: Expr) -> bool:
        """May the group overwrite this value's buffer?  (real.imag is read-only memory.)"""
        buf = self.buffers.get(value.serial) or value.buf
        return buf.memory.flags.writeable and all(r.serial in self.members for r in value.waiting())

    def place(self, node: Expr, group: Group, stored: set[int]) -> None:
        """Choose the buffer of one stored node: destination passing, decided at run time."""
        old = node.old
        while old is not None and old.buf is None and old.serial not in self.buffers:
            old = old.old               # a value of this group that nobody stores
        if old is not None and self.free(old):
            self.buffers[node.serial] = self.of(old)
            self.taken[node.serial] = old
        elif not node.covers:
            assert old is not None
            source = self.of(old)
            copy = self.buffers[node.serial] = Buffer.new(node.nbytes)
            copy.memory[:] = source.memory
        else:
            dying = self._dying(node, group)
            if dying is not None:
                self.taken[node.serial] = dying
            self.buffers[node.serial] = Buffer.new(node.nbytes) if dying is None else dying.buf

    def _dying(self, node: Expr, group: Group) -> Expr | None:
        """An input of the group that ends here, of the same layout: its buffer is the destination."""
        for access in group.loads:
            value = access.key
            if (
                value.buf is not None
                and value.nbytes == node.nbytes
                and node.region is not None
                and same(access.geo, node.region)
                and not is_held(value)
                and not any(t is value for t in self.taken.values())
                and all(a.key is not value or same(a.geo, node.region) for a in group.loads)
                and not value.buf.shared()
                and self.free(value)
            ):
                return value
        return None


TINY = 1024
"""Elements below which NumPy, op by op, takes less than a launch (and no compile)."""


def _run(group: Group, plan: Partition) -> None:
    tiny = config.current.jit == "auto" and math.prod(group.shape) <= TINY
    if group.opaque or tiny:
        for node in group.nodes:
            _run_reference(node)
            if tiny:
                COUNT.numpy_eager += 1
            else:
                COUNT.numpy_fallbacks += 1
        return
    from lazyarr.launch import launch_map

    began = time.perf_counter()
    placement = Placement(group)
    for node in group.nodes:
        if node.serial in plan.stored:
            placement.place(node, group, plan.stored)
    program = assemble_map(group, plan.epoch, plan.stored)
    bases = [placement.of(b.value).address for b in program.bindings]
    COUNT.seconds["plan"] += time.perf_counter() - began
    streams = all(placement.of(b.value).recycled for b in program.bindings if b.role != "in")
    raised = launch_map(program, bases, streams)
    suspects = [(n.op, n.errors) for n in group.nodes] if raised else []
    _finish(group, placement)
    if suspects:
        flags.report(raised, suspects)


def _finish(group: Group, placement: Placement) -> None:
    """The group's values exist: hand out buffers, forget what only the computation needed."""
    done = list(placement.taken.items())
    for node in group.nodes:
        buf = placement.buffers.get(node.serial)
        if buf is not None and is_held(node):
            LEDGER.unallocated -= node.nbytes
        node.done(buf)
    for _, value in done:
        value.buf = None
    COUNT.nodes_run += len(group.nodes)


def bufferize(node: Expr) -> tuple[Buffer, Expr | None]:
    """Where a single node's value lives: (buffer, the value that it was taken from, or None)."""
    old = node.old
    if old is not None and old.buf is not None and _free_for(old, node):
        return old.buf, old
    if not node.covers:
        assert old is not None
        buf = Buffer.new(node.nbytes)
        buf.memory[:] = old.buf.memory
        return buf, None
    return Buffer.new(node.nbytes), None


def _free_for(value: Expr, node: Expr) -> bool:
    return value.buf.memory.flags.writeable and not value.waiting(node)


def _run_reference(node: Expr) -> None:
    """One node through NumPy."""
    began = time.perf_counter()
    buf, taken = bufferize(node)
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
    with numpy.errstate(all="call", call=lambda text, flag: raised.append(flag)):
        reference.run(op, buf.real(region), tuple(inputs), mask)
    if is_held(node):
        LEDGER.unallocated -= node.nbytes
    node.done(buf)
    if taken is not None:
        taken.buf = None
    COUNT.nodes_run += 1
    COUNT.seconds["fallback"] += time.perf_counter() - began
    if raised:
        flags.report(reduce(or_, raised), [(op, errors)])
