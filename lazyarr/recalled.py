"""Calls of NumPy's Python code met before: their nodes are made again, without running the code.

In:  a method of an array, its arguments, and what the code made of them once.   Out: the same nodes on the
array at hand, in a new array; None where the call must be run.
`mean`, `var` and the like are Python code of NumPy's over ufuncs and folds.  For arrays of one geometry and
one set of arguments they always make the same nodes: they go by no values.  To make nodes takes a fifth of
the time of running the code, and after a kernel has passed over large data, which drives the interpreter out
of the caches, every line of code that need not run counts several times.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy

from lazyarr.arrays import managed, ndarray
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.error_state import loud, remembered
from lazyarr.expr import Expr, Op, Read
from lazyarr.geometry import FRESH
from lazyarr.srcloc import here
from lazyarr.storage import DUE, Storage, catch_up, launch

MAX_CALLS = 1024
"""All are forgotten when there are more."""

GIVEN = frozenset((type(None), int, bool, type))
"""Classes of arguments that say all about themselves, besides tuples of integers."""

LESS = ("ddof", "correction")
"""Words for what is subtracted from the number of elements; by position the fourth argument."""

ITSELF = -1
"""Stands for the array's own value among a call's nodes."""


class Made(NamedTuple):
    """A node of a call."""

    op: Op
    inputs: tuple[tuple[int, numpy.ndarray] | numpy.generic, ...]
    """What it reads, by number among the nodes; constants."""
    region: numpy.ndarray
    old: int | None
    """The node whose bytes it overwrites."""
    located: bool
    """Does it know the place of the call?"""


class Call(NamedTuple):
    nodes: tuple[Made, ...]
    geo: numpy.ndarray
    """Of the result."""
    state: Any
    """`config.plan_key` of then: any other is another object."""
    pending: bool
    """Was the array's value yet to be computed?  Small ones that exist are NumPy's at the call."""
    pin: numpy.ndarray
    """The array's geometry, whose identity is part of the key."""


_calls: dict[tuple[Any, ...], Call] = {}


class _Gone:
    """A storage that nothing refers to any more: the home of what a call overwrites or only passes on."""


_home: Any = weakref.ref(_Gone())


def key_of(name: str, x: ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """What a call's nodes go by; None where that cannot be told."""
    found: list[Any] = [name, id(x.geo)]
    for value in args:
        if not _says_all(value):
            return None
        found += (value.__class__, value)
    for word, value in kwargs.items():
        if not _says_all(value):
            return None
        found += (word, value.__class__, value)
    if not x.geo.size or _has_few(x, args, kwargs):
        return None
    return tuple(found)


def _has_few(x: ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """May a slice have no more elements than are subtracted from their number?  The code warns of that."""
    less = [value for word, value in kwargs.items() if word in LESS] or args[3:4]
    if not any(value.__class__ in (int, bool) and value > 0 for value in less):
        return False
    least = 1 if () in args or () in kwargs.values() else min(x.geo.shape, default=1)
    return any(value.__class__ in (int, bool) and value >= least for value in less)


def _says_all(value: Any) -> bool:
    c = value.__class__
    return c in GIVEN or value is numpy._NoValue or (c is tuple and {*map(type, value)} <= {int})


def again(key: tuple[Any, ...], x: ndarray) -> ndarray | None:
    """The call once more, for a method that `fallback.method` made."""
    call = _calls.get(key)
    if call is None or call.state is not plan_key() or loud():
        return None
    storage: Any = x.storage
    if DUE:
        catch_up()
    value: Expr = storage.value
    if call.pending is not (value.op is not None) or (value.buf is not None and value.buf.shared()):
        return None
    errors, loc = remembered(), here(3)
    made: list[Expr] = []
    for op, inputs, region, old, located in call.nodes:
        reads: Any = [
            Read(value if i[0] == ITSELF else made[i[0]], i[1]) if isinstance(i, tuple) else i for i in inputs
        ]
        if old is not None:
            made[old].replace()
        below = None if old is None else made[old]
        node = Expr(op, tuple(reads), region, below, False, errors, loc if located else None)
        node.home = _home
        made.append(node)
    result = managed(Storage(node), call.geo)
    launch(node)
    COUNT.recalled += 1
    return result


def note(key: tuple[Any, ...], x: ndarray, value: Expr, pending: bool, result: Any) -> None:
    """Remember a call on an array that had that `value`, if the younger nodes tell all about it."""
    if result.__class__ is not ndarray or result.storage is None or result.origin is not None:
        return
    last: Expr = result.storage.value
    if last.op is None or pending is not (value.op is not None) or id(x.geo) not in FRESH:
        return
    since = value.serial
    nodes = [node for node in last.pending(lambda node: node.serial <= since) if node.serial > since]
    numbers = {node.serial: k for k, node in enumerate(nodes)}
    numbers[value.serial] = ITSELF
    errors = remembered()
    made = []
    for node in nodes:
        reads = [i.expr for i in node.inputs if i.__class__ is Read]
        older = [] if node.old is None else [node.old]
        if node.masked or node.errors is not errors or any(e.serial not in numbers for e in (*reads, *older)):
            return
        if value in older:
            return
        inputs: Any = [(numbers[i.expr.serial], i.geo) if i.__class__ is Read else i for i in node.inputs]
        old = None if node.old is None else numbers[node.old.serial]
        assert node.op is not None and node.region is not None
        made.append(Made(node.op, tuple(inputs), node.region, old, node.loc is not None))
    if len(_calls) >= MAX_CALLS:
        _calls.clear()
    _calls[key] = Call(tuple(made), result.geo, plan_key(), pending, x.geo)
