"""Trace: a function for one kind of arguments, as a plan and what its results are made of.

In:  a function, what is known of each input (`Kind`), the names that it goes by.   Out: `Trace`.
The nodes hang on arrays without memory, so nothing can be computed by mistake, and a plan holds no array.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.compiling.extents import Asked
from lazyarr.compiling.interpret import Derived, Discovered, Link, Outside, Tracer, is_plain
from lazyarr.compiling.values import NeedsValue, Number, Pinned, Refused, Slot, Traced, argument
from lazyarr.config import options
from lazyarr.cuts import UNBOUNDED
from lazyarr.expr import Expr, Map
from lazyarr.flags import warning_of_no_cast
from lazyarr.geometry import offset_of
from lazyarr.materialize import closure
from lazyarr.plan import Plan, Step, Walk
from lazyarr.records import NamedTuple, dataclass
from lazyarr.storage import Storage

MOST_NODES = 10_000
"""Operations that are planned together, at most: a second's work."""

WHOLE = 1 << 19
"""Bytes of a value above which what is joined or rolled is read piece by piece, in one launch; smaller ones
are written as a whole, by kernels that run without Python in between (`small`)."""

OPTIONS: dict[str, Any] = {
    "jit": "always", "eager_elements": 0, "pending_nodes": UNBOUNDED, "debug": 0, "dump": "",
}  # fmt: skip
"""Everything becomes nodes, and nothing evaluates itself."""


class Kind(NamedTuple):
    """What a trace knows of an input."""

    kind: str
    """"array", "number" or "static"."""
    value: Any
    """An array of its layout, which nobody reads; a number of its type; the object itself."""
    foreign: bool = False
    """It is NumPy's own array."""


Layouts = dict[int, tuple[numpy.dtype, tuple[int, ...], tuple[int, ...]]]
"""For each input that is an array: dtype, shape, strides."""


class Result(NamedTuple):
    """A part of what the function returns."""

    kind: str
    """"input" (`at`: which), "array", "scalar" (`at`: which memory), "number" (`at`: which), "constant"
    (`at`: the object), "tuple", "list" (`at`: the parts)."""
    at: Any
    geo: numpy.ndarray | None = None
    origin: numpy.ndarray | None = None
    """Of a view: the geometry of what NumPy would call its base."""
    foreign: bool = False


@dataclass(slots=True, eq=False)
class Recorded:
    """What a function does, as nodes that are yet to be planned."""

    nodes: list[Expr]
    roots: list[Expr]
    inputs: list[Expr | None]
    """For each input that is an array: its value at the call."""
    offsets: list[int]
    """Bytes from the start of that value to the array's first element."""
    last: dict[int, Expr]
    """For each input that is written to: the value at the end."""
    result: Result
    values: list[Expr]
    """What results lie in."""
    numbers: list[int | Derived]
    links: dict[tuple[int, int], Link]
    """By node and place."""
    reach: Any
    """How far the last stencil looks, if there is one."""


@dataclass(slots=True, eq=False)
class Trace:
    recorded: Recorded
    layouts: Layouts
    walk: Walk
    plan: Plan
    flagged: bool
    """May it raise floating-point flags that NumPy warns of?"""


Root = Callable[[Tracer, dict[str, Any]], Any]
"""What is traced, of the function's arguments by name: without it, the function."""


def trace(fn: types.FunctionType, kinds: Sequence[Kind], outside: Outside, root: Root | None = None) -> Trace:
    """The trace of a function.

    Raises
    ------
    Refused
        If its calls cannot be replayed.
    Pinned, Discovered
        If more must be known of the inputs.
    """
    with tracing():
        t = Tracer(outside, {})
        with _refusing(t):
            recorded, keep = _run(t, fn, kinds, root)
            found = planned(recorded, layouts(kinds), t)
            del keep
            return found


def record(
    fn: types.FunctionType, kinds: Sequence[Kind], outside: Outside, asked: Asked, root: Root | None = None
) -> Recorded:
    """What a function does where the lengths of arrays are samples; raises as `trace` does."""
    with tracing():
        t = Tracer(outside, {})
        t.asked = asked
        with _refusing(t):
            return _run(t, fn, kinds, root)[0]


@contextmanager
def tracing() -> Iterator[None]:
    """Everything becomes nodes, and nothing evaluates itself or warns."""
    with numpy.errstate(all="ignore"), options(**OPTIONS), warning_of_no_cast():
        yield


@contextmanager
def _refusing(t: Tracer) -> Iterator[None]:
    """Whatever the function raises is a refusal."""
    try:
        yield
    except NeedsValue:
        raise t.refuse("it needs values at the call") from None
    except (Refused, Pinned, Discovered, MemoryError):
        raise
    except Exception as error:          # whatever that is, the function itself does not meet it here
        raise t.refuse(f"{type(error).__name__}: {error}") from None


def _run(
    t: Tracer, fn: types.FunctionType, kinds: Sequence[Kind], root: Root | None
) -> tuple[Recorded, list[Any]]:
    """What the function does, and what must live until that is planned."""
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount + fn.__code__.co_kwonlyargcount]
    values = [_value(t, k, kind) for k, kind in enumerate(kinds)]
    t.found.update(zip((known for _, known in t.outside.inputs), values[len(names) :], strict=True))
    before = [_current(x) for x in values]
    held = dict(zip(names, values, strict=False))
    returned = root(t, held) if root is not None else t.run(fn, held)
    owners: list[Storage] = []
    return _recorded(t, values, before, returned, owners), [values, owners]


def layouts(kinds: Sequence[Kind]) -> Layouts:
    return {
        k: (kind.value.dtype, kind.value.shape, kind.value.strides)
        for k, kind in enumerate(kinds) if kind.kind == "array"
    }  # fmt: skip


def _value(t: Tracer, k: int, kind: Kind) -> Any:
    if kind.kind == "array":
        x = kind.value
        return t.hold(argument(x.shape, x.strides, x.dtype), kind.foreign)
    return t.input(kind.value, k) if kind.kind == "number" else kind.value


def _current(x: Any) -> Expr | None:
    """What an array's storage holds."""
    return x.current() if isinstance(x, Traced) else None


def _recorded(
    t: Tracer, values: list[Any], before: list[Expr | None], returned: Any, owners: list[Storage]
) -> Recorded:
    result = _result(t, values, returned, owners, set())
    del returned
    last = {
        k: value for k, value in enumerate(map(_current, values))
        if value is not None and value is not before[k]
    }
    for k in last:
        if not is_apart(values[k].array.geo):
            raise t.refuse("it writes to an array whose elements may share memory")
    ends = [storage.value for storage in owners]
    roots = list({id(v): v for v in (*last.values(), *ends) if v.op is not None}.values())
    if not roots:
        raise t.refuse("it computes nothing")
    nodes = closure(roots)
    if len(nodes) > MOST_NODES:
        raise t.refuse("it has too many operations")
    if any(map(_warns, nodes)):
        raise t.refuse("NumPy warns of a cast that discards the imaginary part")
    links = {id(link.node): link for link in t.links}
    numbered = {(k, links[id(n)].place): links[id(n)] for k, n in enumerate(nodes) if id(n) in links}
    offsets = [offset_of(x.array.geo) if isinstance(x, Traced) else 0 for x in values]
    return Recorded(nodes, roots, before, offsets, last, result, ends, t.numbers, numbered, t.reach)


def planned(r: Recorded, known: Layouts, t: Tracer | None = None) -> Trace:
    """The trace of what was recorded, for arrays of these layouts."""
    from lazyarr import engine

    large = any(n.region is not None and n.region.nbytes > WHOLE for n in r.nodes)
    for through in (True, False) if large else (False,):
        # (Numbers of the program stand for all.)
        walk, plan = engine.planned(r.nodes, r.roots, literal=False, through=through)
        unfit = next((p for step in plan.steps for p in (step, *parts(step)) if _is_unfit(p)), None)
        if unfit is None:
            break
    else:
        assert unfit is not None
        why = f"NumPy itself is needed: {unfit.why or 'no kernel'}"
        raise Refused(why) if t is None else t.refuse(why)
    return Trace(r, known, walk, plan, any(n.op is not None and _flags(n) for n in walk.nodes))


def _is_unfit(step: Step) -> bool:
    """Is it no step of a replay?"""
    none = step.program is None and step.rows is None and not step.boxes
    return none or step.tallies or step.keeps is not None or step.ranks is not None or bool(step.feeds)


def parts(step: Step) -> list[Step]:
    """A step, or those that run together."""
    if step.boxes:
        return list(step.boxes)
    return [step] if step.rows is None else [part.step for part in step.rows.parts]


def _flags(node: Expr) -> bool:
    from lazyarr.ops import may_raise

    assert node.op is not None and node.region is not None
    return may_raise(node.op, node.region.dtype.char)


def _warns(node: Expr) -> bool:
    """Does a cast lose an imaginary part?  NumPy says so at the call."""
    op, region = node.op, node.region
    assert region is not None
    if not isinstance(op, Map) or region.dtype.kind in "cb":
        return False
    ins, _, outs = op.sig.partition("->")
    return (ins if op.name == "copy" else outs)[-1:] in ("F", "D") and region.dtype.kind != "c" and (
        op.name == "copy" or outs[op.part] in "FD"
    )


def is_apart(geo: numpy.ndarray) -> bool:
    """Are no two elements of an array in one place?  (What cannot be said at once is not.)"""
    reach = geo.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(geo.strides, geo.shape, strict=True) if n > 1):
        if stride < reach:
            return False
        reach += stride * (n - 1)
    return True


def _result(t: Tracer, values: list[Any], x: Any, owners: list[Storage], seen: set[int]) -> Result:
    for k, given in enumerate(values):
        if x is given and not isinstance(x, Number):
            return Result("input", k)
    if isinstance(x, Number):
        return Result("number", x.ref)
    if is_plain(x):
        return Result("constant", x)
    if id(x) in seen:
        raise t.refuse("it returns one object twice")
    seen.add(id(x))
    if isinstance(x, Traced):
        return _array(t, x, owners)
    if type(x) in (tuple, list):
        return Result(type(x).__name__, tuple([_result(t, values, item, owners, seen) for item in x]))
    raise t.refuse(f"it returns an object of type {type(x).__name__}")


def _array(t: Tracer, x: Traced, owners: list[Storage]) -> Result:
    array: ndarray = x.array
    storage = array.storage
    assert storage is not None
    value = storage.value
    while value.old is not None:
        value = value.old
    if isinstance(value.buf, Slot):
        raise t.refuse("it returns a view of an argument")
    if storage in owners:
        raise t.refuse("it returns two views of one array")
    owners.append(storage)
    whole = array.geo.nbytes == storage.value.nbytes and array.origin is None
    if x.foreign and not whole and not x.lone:
        raise t.refuse("it returns a view of an array that it made")
    origin = None if array.origin is None or x.lone else array.origin.geo
    return Result("scalar" if x.lone else "array", owners.index(storage), array.geo, origin, x.foreign)
