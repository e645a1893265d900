"""Evaluation: from pending nodes to bytes.

In: nodes that somebody needs.   Out: the same nodes, each with a buffer.
Never recursive.  Nodes run in program order; whatever still reads a buffer that a write is about
to overwrite runs first, or the write takes another buffer where that costs less memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy

from lazyarr.counters import COUNT
from lazyarr.expr import Expr, Read
from lazyarr.fusion import reference
from lazyarr.geometry import same
from lazyarr.values import LEDGER, Buffer, is_held, results

LOCK = threading.RLock()
"""Held while a plan is made and run: nodes are shared by all Python threads."""


def evaluate(roots: Iterable[Expr]) -> None:
    """Compute the values `roots` and all they need."""
    with LOCK:
        for node in closure(roots):
            if node.op is not None:
                _execute(node)


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


def bufferize(node: Expr) -> tuple[Buffer, Expr | None]:
    """Where the new value lives: (buffer, the value that it was taken from, or None)."""
    old = node.old
    if old is not None and old.buf is not None and _free_for(old, node):
        return old.buf, old
    if not node.covers:
        assert old is not None
        buf = Buffer.new(node.nbytes)
        buf.memory[:] = old.buf.memory
        return buf, None
    for i in node.inputs:               # a dying temporary of the same layout
        if i.__class__ is Read:
            value = i.expr
            if (
                value.nbytes == node.nbytes
                and not is_held(value)
                and same(i.geo, node.region)
                and _free_for(value, node)
                and not value.buf.shared()
            ):
                return value.buf, value
    return Buffer.new(node.nbytes), None


def _free_for(value: Expr, node: Expr) -> bool:
    """May `node` overwrite this value's buffer?  (real.imag is read-only memory.)"""
    return value.buf.memory.flags.writeable and not value.waiting(node)


def _execute(node: Expr) -> None:
    buf, taken = bufferize(node)
    # On a copy of the old value, inputs that read it read the copy: they overlap the region exactly
    # as they would in place, so the outcome does not depend on the choice.
    old = None if node.covers or taken is not None else node.old
    inputs: list[Any] = []
    for i in node.inputs:
        if i.__class__ is Read:
            x = (buf if i.expr is old else i.expr.buf).real(i.geo)
            inputs.append(x)
        else:
            inputs.append(i)
    mask: Any = inputs.pop() if node.masked else True
    assert node.op is not None
    with numpy.errstate(all="ignore"):
        reference.run(node.op, buf.real(node.region), tuple(inputs), mask)
    finish(node, buf, taken)


def finish(node: Expr, buf: Buffer, taken: Expr | None) -> None:
    """The value exists: give it its buffer, and free what only its computation needed."""
    if taken is not None:
        taken.buf = None
    if is_held(node):
        LEDGER.unallocated -= node.nbytes
    node.done(buf)
    COUNT.nodes_run += 1
