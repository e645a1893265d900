"""Calls of NumPy's Python code met before: their nodes are made again, without running the code.

In:  a method of an array, its arguments, and what the code made of them once.   Out: a new array whose node
stands for the same nodes on the array at hand (`calls`), or a scalar; None where the call must be run.
`mean`, `var` and the like are Python code of NumPy's over ufuncs and folds.  For arrays of one geometry and
one set of arguments they always make the same nodes: they go by no values.  To make nodes takes a fifth of
the time of running the code, and after a kernel has passed over large data, which drives the interpreter out
of the caches, every line of code that need not run counts several times.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.calls import ASKED, ITSELF, Call, Made, written_out
from lazyarr.config import current, plan_key
from lazyarr.counters import COUNT
from lazyarr.error_state import look, remembered
from lazyarr.expr import Expr, Op, Read, Reduce
from lazyarr.geometry import FRESH, PROBED, probe
from lazyarr.habits import MEDIUM
from lazyarr.ops import may_raise
from lazyarr.recipes import NODES, measure
from lazyarr.records import NamedTuple
from lazyarr.srcloc import here
from lazyarr.storage import DUE, Storage, catch_up, launch

MAX_CALLS = 1024
"""All are forgotten when there are more."""

GIVEN = frozenset((type(None), int, bool, type))
"""Classes of arguments that say all about themselves, besides tuples of integers."""

LESS = ("ddof", "correction")
"""Words for what is subtracted from the number of elements; by position the fourth argument."""


class Known(NamedTuple):
    op: Any
    """A `Call`, or what the one node computes."""
    seen: numpy.ndarray
    """How it reads the array's value."""
    region: numpy.ndarray
    """What it writes."""
    geo: numpy.ndarray
    """Of the result."""
    located: bool
    """Does any of its nodes know the place of the call?"""
    state: Any
    """`config.plan_key` of then: any other is another object."""
    pending: bool
    """Was the array's value yet to be computed?  Small ones that exist are NumPy's at the call."""
    pin: numpy.ndarray
    """The array's geometry, whose identity is part of the key, unless sequences of any length have it."""
    whole: bool = False
    """Is everything folded?  Then the result is a scalar."""


_new = object.__new__
_calls: dict[tuple[Any, ...], Known] = {}


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
    less = args[3:4]
    for word in LESS:                           # (no comprehensions: these are functions, too)
        if word in kwargs:
            less = (*less, kwargs[word])
    if not less or not any(value.__class__ in (int, bool) and value > 0 for value in less):
        return False
    least = 1 if () in args or () in kwargs.values() else min(x.geo.shape, default=1)
    return any(value.__class__ in (int, bool) and value >= least for value in less)


def _says_all(value: Any) -> bool:
    c = value.__class__
    return c in GIVEN or value is numpy._NoValue or (c is tuple and {*map(type, value)} <= {int})


def again(key: tuple[Any, ...], x: ndarray) -> Any:
    """The call once more, for a method that `fallback.method` made."""
    call, seen = _calls.get(key), None
    if call is None and x.geo.ndim == 1 and id(x.geo) in FRESH:
        waits = x.storage.value.op is not None          # type: ignore[union-attr]
        call, seen = _calls.get(_of_any_length(key, x, waits)), x.geo
        if call is not None and _may_be_numpys(x):
            return None
    if call is None or call.state is not plan_key():
        return None
    _, _, _, _, is_loud, errors, _ = look()
    if is_loud:
        return None
    storage: Any = x.storage
    if DUE:
        catch_up()
    value: Expr = storage.value
    if call.pending is not (value.op is not None) or (value.buf is not None and value.buf.shared()):
        return None
    op, reads = call.op, (Read(value, call.seen if seen is None else seen),)
    loc = here(3) if call.located else None
    if op.__class__ is Call:
        for geo in op.probed:
            probe(geo)
        node = Expr(call.op, reads, call.region, None, False, errors, loc, op.inner)
        node.depth += op.depth
        node.weight += op.inner
        COUNT.bytes_numpy += op.nbytes
    else:
        node = Expr(op, reads, call.region, None, False, errors, loc)
    result = _new(ndarray)              # (`arrays.managed`, without the call)
    result.storage, result.geo, result.origin = Storage(node), call.geo, None
    launch(node)
    COUNT.recalled += 1
    return result.storage.real(result.geo)[()] if call.whole else result


def tell(
    key: tuple[Any, ...], method: Any, x: ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Let machine code know a call that was just made again, if it goes by this key alone."""
    known = _calls.get(key)
    if NODES.table is None:
        NODES.hear(nbytes=x.geo.nbytes)
    elif known is not None and not known.whole:
        NODES.table.recalls(key, method, x, args, kwargs, known)


def note(key: tuple[Any, ...], x: ndarray, value: Expr, pending: bool, result: Any) -> None:
    """Remember a call on an array that had that `value`, if the younger nodes tell all about it."""
    if result.__class__ is not ndarray:
        _note_whole(key, x, pending, result)
        return
    if result.storage is None or result.origin is not None:
        return
    last: Expr = result.storage.value
    if last.op is None or pending is not (value.op is not None) or id(x.geo) not in FRESH:
        return
    since = value.serial
    for node in last.pending(lambda node: node.serial <= since):
        if node.serial > since:
            written_out(node)
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
    if not nodes or not last.covers:
        return
    if len(_calls) >= MAX_CALLS:
        _calls.clear()
    located = any(each.located for each in made)
    op, seen = _op(made, nodes, 0 if value.op is None else value.depth, x.geo)
    _calls[key] = Known(op, seen, made[-1].region, result.geo, located, plan_key(), pending, x.geo)


def _note_whole(key: tuple[Any, ...], x: ndarray, pending: bool, result: Any) -> None:
    """The same for a fold of everything, if that is all that the call did."""
    found = ASKED.found
    if found is None or found[0] is not result or ASKED.folds != 1:
        return
    if id(x.geo) not in FRESH or _may_be_numpys(x):
        return
    _, op, seen, geo = found
    if x.geo.ndim == 1 and seen is x.geo:
        key = _of_any_length(key, x, pending)
    if len(_calls) >= MAX_CALLS:
        _calls.clear()
    _calls[key] = Known(op, seen, geo, geo, may_raise(op), plan_key(), pending, x.geo, True)


def _of_any_length(key: tuple[Any, ...], x: ndarray, pending: bool) -> tuple[Any, ...]:
    """What folds of all elements of a sequence go by."""
    name, _, *rest = key
    return name, x.geo.dtype.char, pending, *rest


def _may_be_numpys(x: ndarray) -> bool:
    """Is it of medium size?  Then NumPy folds it at times (`elementwise.at_call`)."""
    small = measure(x.geo.size, (x.geo.itemsize,)) <= MEDIUM * current.eager_elements
    return small and current.jit == "auto"


def _op(
    made: list[Made], nodes: list[Expr], depth: int, geo: numpy.ndarray
) -> tuple[Call | Op, numpy.ndarray]:
    """What computes all these nodes at once, on a value of some depth, and how that is read."""
    from lazyarr.compiler import numpy_ns  # here: whoever imports lazyarr need not wait for them
    from lazyarr.reduce_order import DECIDED_EARLY

    (first, *more), last = made[0].inputs, nodes[-1]
    if len(made) == 1 and not more and isinstance(first, tuple):
        return made[0].op, first[1]
    fresh = [node for node in nodes if node.old is None]
    large = [each.region for each in made[:-1] if each.old is None and each.region.nbytes >= PROBED]
    return Call(
        tuple(made), len(made) - 1, last.depth - depth - 1, sum(n.nbytes for n in fresh) - last.nbytes,
        tuple(large), sum(map(numpy_ns, nodes)),
        any(isinstance(each.op, Reduce) and each.op.name in DECIDED_EARLY for each in made),
    ), geo  # fmt: skip
