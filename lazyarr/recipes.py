"""Elementwise calls met before: their nodes are built again without asking NumPy about types and layouts.

In:  a ufunc and its operands.   Out: a new lazy array, or None where the call must be looked at.
     For a write into a value that waits also where it goes; then whether it is done.
A recipe goes by the operands' geometries, which `geometry.fresh` shares among arrays, and by the types of
scalars.  It holds on to its geometries, so no other object ever has their identity.  Of a large part of an
array it is shape, strides and dtype that count: where it lies, nothing depends on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from sys import getrefcount
from time import perf_counter
from typing import Any
from weakref import getweakrefcount

import numpy

from lazyarr.arrays import capture, is_quiet, managed, ndarray, now
from lazyarr.awaited import Awaited
from lazyarr.config import OBSERVED, current
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.dtypes import CHARS, char_of
from lazyarr.error_state import Prompt, look, prompt
from lazyarr.expr import Expr, Map, Read
from lazyarr.geometry import FRESH, same
from lazyarr.habits import BUILDING, HABITS, LASTING, MEDIUM, habit_of, watch
from lazyarr.ops import may_raise
from lazyarr.pace import COMING, NOW, PACES, band, may_try, pace_of
from lazyarr.records import NamedTuple
from lazyarr.srcloc import THEIRS, Loc, nearest
from lazyarr.storage import DUE, Storage, catch_up, launch
from lazyarr.values import Buffer
from lazyarr.windows import element_of

MAX_RECIPES = 4096
"""All are forgotten when there are more."""

WORD = 8
"""The option `eager_elements` counts elements of this size; of smaller ones NumPy does more in a time."""


class Recipe(NamedTuple):
    op: Map
    types: tuple[type, ...]
    """Of the loop's inputs."""
    geo: numpy.ndarray
    """Of the result."""
    measure: float
    """What `eager_elements` is compared with."""
    band: int
    """Of that, as in `pace`."""
    flagged: bool
    """Can it raise floating-point flags?"""
    pins: tuple[numpy.ndarray, ...]


FIRSTS = 8
"""So many calls from one place have a recipe made before others are taken for ones that do not recur."""

LOOKED = 16
"""Pending nodes that are asked, from a result on, whether they are large."""

NODES_PAY = 600
"""Nodes that Python made, after which the code that makes them is looked for in the cache: to load it, and
what tells it things, takes 4 ms."""

NODES_WRITING_PAYS = 2_000
"""Nodes more after which it is compiled, in 27 ms: Python took half as long for them, and more where large
data goes through the caches; and then it is there for all processes that come."""

_new = object.__new__

_firsts: dict[tuple[int, int], int] = {}
"""By place: recipes that were made for its calls."""
_recipes: dict[tuple[Any, ...], Recipe] = {}


def measure(size: int, itemsizes: Sequence[int]) -> float:
    """How large a result is for the option `eager_elements`: in elements, or in words if that is less."""
    return min(size, size * max(itemsizes, default=WORD) / WORD)


def _key(fn: numpy.ufunc, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a recipe knows a call by."""
    found: list[Any] = [fn]
    for x in args:
        if x.__class__ is not ndarray:
            found.append(x.__class__)
            continue
        geo = x.geo
        if x.storage is None:
            found.append((geo.shape, geo.strides, char_of(geo.dtype), None))
        elif id(geo) in FRESH:
            found.append(id(geo))
        else:
            dtype = geo.dtype
            found.append((geo.shape, geo.strides, CHARS.get(id(dtype)) or char_of(dtype) or dtype))
    return tuple(found)


def remember(
    fn: numpy.ufunc, args: tuple[Any, ...], op: Map, types: tuple[type, ...], geo: numpy.ndarray
) -> Recipe | None:
    """Keep a recipe for what was looked at, where geometries tell everything about it."""
    pins, itemsizes = [], []
    for x in args:
        if x.__class__ is not ndarray:
            continue
        g = x.geo
        if not g.ndim:                          # (a constant, if it is plain)
            return None
        itemsizes.append(g.itemsize)
        if x.storage is not None:
            if id(g) not in FRESH and geo.size <= current.eager_elements:
                return None                     # (NumPy computes at once)
            pins.append(g)
    if len(args) > 2 or not pins or id(geo) not in FRESH:
        return None
    if len(_recipes) >= MAX_RECIPES:
        _recipes.clear()
    size = measure(geo.size, itemsizes)
    made = _recipes[_key(fn, args)] = Recipe(op, types, geo, size, band(size), may_raise(op), tuple(pins))
    return made


def at_first(
    fn: numpy.ufunc, recipe: Recipe, args: tuple[Any, ...], depth: int, ends: bool,
    getframe: Any = sys._getframe,
) -> ndarray | None:
    """A call that has just got its recipe, by NumPy where nothing recurs: others of medium size from the same
    place of the program had geometries that were not met before, either.  So no plan would be met again.

    `depth`: callers above this function that are surely ours.   `ends`: as for `again`."""
    if recipe.measure > MEDIUM * current.eager_elements or current.jit != "auto":
        return None
    try:
        place = nearest(getframe(depth))
    except ValueError:
        return None
    if place is None:
        return None
    key = id(place[0]), place[1]
    if len(_firsts) >= MAX_RECIPES:
        _firsts.clear()
    met = _firsts[key] = _firsts.get(key, 0) + 1
    if met <= FIRSTS or not may_try() or prompt():
        return None
    NOW.unasked = max(NOW.unasked * NOW.numpys, FIRSTS)
    NOW.numpys = True                           # (calls that belong to it are NumPy's as well)
    for x in args:
        if x.__class__ is ndarray and waits_for_more(x):
            return None
    return _at_call(fn, recipe, args, ends, False)


def _may_compute(args: tuple[Any, ...]) -> bool:
    """May NumPy compute a result of medium size at the call?"""
    return may_try() and not any(x.__class__ is ndarray and waits_for_more(x) for x in args)


def waits_for_more(x: ndarray) -> bool:
    """Is it pending, and it or what it waits for larger than what is of medium size?

    A fold of much is small, but to compute it at once takes what its readers could have in the same pass."""
    storage = x.storage
    if storage is None or storage.value.op is None:
        return False
    much = MEDIUM * WORD * current.eager_elements
    nodes = [storage.value]
    for node in nodes:                          # (grows meanwhile)
        if node.nbytes > much:
            return True
        for read in node.inputs:
            if read.__class__ is Read:
                if read.geo.nbytes > much:
                    return True
                if read.expr.op is not None and len(nodes) < LOOKED:
                    nodes.append(read.expr)
    return False


class Nodes(Awaited):
    """Machine code that makes nodes by recipes (`swift_nodes`), once there were enough of them."""

    def __init__(self) -> None:
        super().__init__(NODES_PAY, NODES_WRITING_PAYS)
        self.make: Any = None
        self.view: Any = None
        self.assign: Any = None
        self.update: Any = None
        self.recall: Any = None
        self.table: Any = None

    def is_coming(self) -> bool:
        """Is it yet to be looked for, the first time?"""
        return self.left >= 0 and not self.compiles

    def load(self, compiles: bool) -> bool:
        from lazyarr.swift_nodes import load

        found = load(compiles)
        if found is not None:
            self.make, self.view, self.assign, self.update, self.recall, self.table = found
        return found is not None


NODES = Nodes()
COMING.append(NODES.is_coming)


def again(
    fn: numpy.ufunc, args: tuple[Any, ...], depth: int, ends: bool = False, place: Any = False,
    getframe: Any = sys._getframe,
) -> ndarray | None:
    """fn(*args) by its recipe, if there is one and the result is not NumPy's at the call.

    `depth`: callers above whoever is called here that are surely ours.   `ends`: the first operand is a
    temporary, in whose memory NumPy would compute the result.   `place`: what `Nodes.make` has said of it, if
    it was asked."""
    if place is False and NODES.make is not None:
        place = NODES.make(fn, depth - 1, *args)
        if place.__class__ is ndarray:
            return place
    found: list[Any] = []               # how operands lie: geometries; of plain ones what may be set in place
    for x in args:
        if x.__class__ is not ndarray:
            found.append(None)
        else:
            found.append(_plain_lay(x.geo) if x.storage is None else x.geo)
    recipe = _recipes.get(_key(fn, args))
    if recipe is None:
        return None
    _, _, _, _, is_loud, errors, _ = look()
    if is_loud:
        return None
    jit, small = current.jit, current.eager_elements
    if recipe.measure <= MEDIUM * small and jit == "auto":
        directly = False
        if recipe.measure > small:
            if DIRECT.granted:
                DIRECT.taken()
            if DIRECT.left > 1 and not DIRECT.on:       # (`Direct.counts`, written out)
                DIRECT.left -= 1
            else:
                directly = DIRECT.counts(recipe.measure)
        if recipe.measure <= small:
            pass
        elif directly:
            if _may_compute(args):
                return _at_call(fn, recipe, args, ends)
        elif NOW.quiet:
            NOW.quiet -= 1
            if NODES.table is not None:
                DIRECT.grant(None, None)
        else:
            try:
                frame = getframe(depth - 1)
            except ValueError:
                pass
            else:
                pace = PACES.get((id(frame.f_code), recipe.band)) or pace_of(frame, recipe.band)
                if pace.counts() and _may_compute(args):
                    return _at_call(fn, recipe, args, ends)
                if NODES.table is not None:
                    DIRECT.grant(pace, frame.f_code)
        for x in args:
            if x.__class__ is ndarray and x.storage is not None and x.storage.value.op is not None:
                break                           # an operand is yet to be computed
        else:
            if recipe.measure <= small:
                return None
            if place.__class__ is int:
                NODES.table.write(place, fn, args, recipe)
            else:
                NODES.hear(nbytes=recipe.geo.nbytes)
            return _by_habit(fn, recipe, args, found, errors, depth, ends)
    if jit == "never":
        return None
    if place.__class__ is int:
        NODES.table.write(place, fn, args, recipe)
    else:
        NODES.hear(nbytes=recipe.geo.nbytes)
    loc = None
    if recipe.flagged or OBSERVED:
        try:                            # (`srcloc.here`, written out)
            frame = getframe(depth - 1)
            code = frame.f_code
            loc = (code, frame.f_lasti) if id(code) in THEIRS else nearest(frame)
        except ValueError:
            pass
    return _built(recipe, args, found, errors, loc)


def _plain_lay(geo: numpy.ndarray) -> tuple[Any, ...]:
    return geo.shape, geo.strides, geo.dtype


def _built(
    recipe: Recipe, args: tuple[Any, ...], found: list[Any], errors: Any, loc: Loc | None
) -> ndarray | None:
    """The call as a node, made at a place of the program; None if an operand does not lie as it was `found`
    when the recipe was: a signal's handler, a finalizer or another thread may have set its shape since."""
    if DUE:
        catch_up()
    inputs = []
    for x, type_, lay in zip(args, recipe.types, found, strict=False):
        c = x.__class__
        if c is ndarray:
            x = capture(x) if x.storage is None else Read(x.storage.value, x.geo)
            if x.geo is not lay and (lay.__class__ is not tuple or _plain_lay(x.geo) != lay):
                return None
        elif c is not type_:                    # (NumPy may warn of that: it is surely a node by now)
            try:
                x = type_(x)
            except (OverflowError, TypeError):
                return None
        inputs.append(x)
    node = Expr(recipe.op, tuple(inputs), recipe.geo, None, False, errors, loc)
    x = _new(ndarray)                   # (`arrays.managed`, without the call)
    x.storage = Storage(node)
    x.geo = recipe.geo
    x.origin = None
    launch(node)
    return x


def _by_habit(
    fn: numpy.ufunc, recipe: Recipe, args: tuple[Any, ...], found: list[Any], errors: Any, depth: int,
    ends: bool, getframe: Any = sys._getframe,
) -> ndarray | None:
    """A call whose result is of medium size: a node, or NumPy's where waiting gains nothing at this place."""
    try:                                # (`srcloc.here`, `habits.habit_of`, written out)
        frame = getframe(depth)
        code = frame.f_code
        loc = (code, frame.f_lasti) if id(code) in THEIRS else nearest(frame)
    except ValueError:
        loc = None
    if loc is None or OBSERVED or current.math != "numpy" or current.fast_math:     # (the bits might differ)
        return _built(recipe, args, found, errors, loc if recipe.flagged or OBSERVED else None)
    habit = HABITS.get((id(loc[0]), loc[1], id(recipe))) or habit_of(loc, recipe)
    if habit.sooner and not habit.tries and habit.calls < LASTING:
        habit.calls += 1                # (settled: nobody asks what it takes)
        return _at_call(fn, recipe, args, ends)
    began = perf_counter()
    if habit.is_numpys():
        result: ndarray | None = _at_call(fn, recipe, args, ends)
        habit.took(perf_counter() - began)
        return result
    result = _built(recipe, args, found, errors, loc if recipe.flagged else None)
    if result is not None:
        node: Expr = result.storage.value       # type: ignore[union-attr]
        spent = perf_counter() - began
        if node.op is None:                     # it must not wait here
            habit.ran_alone(spent)
        else:
            if NODES.table is None:
                watch(node, habit, spent)
            else:
                watch(node, habit, min(spent, BUILDING))
                NODES.table.waits(fn, args, recipe, loc if habit.need_not_look() else None)
    return result


def _at_call(
    fn: numpy.ufunc, recipe: Recipe, args: tuple[Any, ...], ends: bool, recurs: bool = True
) -> ndarray:
    """The call by NumPy, on what exists, into memory of ours, that is recycled; or over the first operand,
    which `ends`, if it lies as the result does and nobody else may ask for it.  If its size
    does not recur, the memory is the C library's."""
    geo = recipe.geo
    COUNT.eager += 1
    COUNT.bytes_numpy += geo.nbytes
    given, held = [], []
    for x in args:
        if x.__class__ is ndarray:
            x, buf = _seen_now(x)
            held.append(buf)
        given.append(x)
    over: ndarray = args[0]
    if (
        ends and geo.dtype.kind != "c" and over.storage is not None and same(over.geo, geo)
        and _is_alone(over, getrefcount(over.storage)) and given[0].flags.writeable
        and not getweakrefcount(over) and _is_operand(over)
    ):  # fmt: skip
        fn(*given, out=given[0])        # (by its name: maximum and minimum warn of it without)
        return over                             # (as NumPy's own operators)
    buf = Buffer.new(geo.nbytes, recurs)
    fn(*given, out=numpy.ndarray(geo.shape, geo.dtype, buf.memory, 0, geo.strides))
    return managed(Storage(Expr.leaf(buf)), geo)


def _is_operand(x: ndarray, finalizing: Any = sys.is_finalizing) -> bool:
    """Is an operator under way, whose first operand this is?"""
    if finalizing():                            # (nothing can be imported any more)
        return False
    from lazyarr.stack_operands import is_operand  # here: whoever imports lazyarr need not wait for it

    return is_operand(x)


def _is_alone(x: ndarray, references: int) -> bool:
    """Does an array alone refer to its storage, which has so many references, and that to its memory?"""
    if references > STORAGE_REFS or x.origin is not None or not is_quiet(x):
        return False
    buf: Any = x.storage.value.buf              # type: ignore[union-attr]
    return buf.__class__ is Buffer and not buf.shared()


STORAGE_REFS = 2
"""To what only one attribute refers to, as an argument of getrefcount."""


def _seen_now(x: ndarray) -> tuple[numpy.ndarray, Buffer | None]:
    """The values of an array that exist, for NumPy to read; and what to hold meanwhile, since another thread
    may give the array another value, and the memory back."""
    if x.storage is None:
        return x.geo, None
    buf = x.storage.value.buf
    if buf.__class__ is not Buffer:
        return now(x), None
    return element_of(x, buf), buf


# ------------------------------------------------------------------------------------ writes


class KnownWrite(NamedTuple):
    op: Map
    types: tuple[type, ...]
    """Of the loop's inputs."""
    quiet: bool
    """No floating-point flag is raised, also where results are cast."""


_writes: dict[tuple[Any, ...], KnownWrite] = {}
"""By the ufunc (None: an assignment), the dtype that is written, and dtypes and types of operands."""


def remember_write(
    fn: numpy.ufunc | None, args: tuple[Any, ...], region: numpy.ndarray, op: Map, types: tuple[type, ...]
) -> None:
    """Keep what was found for operands of these types; not where somebody's own dtype is among them."""
    key: list[Any] = [fn, id(region.dtype)]
    for x in args:
        if x.__class__ is ndarray:
            key.append(id(x.geo.dtype))
            if key[-1] not in CHARS:
                return
        else:
            key.append(x.__class__)
    if key[1] in CHARS:
        if len(_writes) >= MAX_RECIPES:
            _writes.clear()
        _writes[tuple(key)] = KnownWrite(op, types, not may_raise(op, region.dtype.char))


def known_write(fn: numpy.ufunc | None, x: ndarray, region: numpy.ndarray, args: tuple[Any, ...]) -> bool:
    """Write fn(*args) to a part of x that may be written to, if its value waits and this was met before.

    There is no memory then in which NumPy could compute at the call; so types alone tell which loop runs, and
    where all shapes are one there is nothing to broadcast."""
    storage = x.storage
    if storage is None or storage.value.op is None:
        return False
    shape, key, geos = region.shape, [fn, id(region.dtype)], []
    for a in args:
        geos.append(geo := a.geo if a.__class__ is ndarray else None)
        if geo is None:
            key.append(a.__class__)
        elif a.storage is None or geo.shape != shape:
            return False
        else:
            key.append(id(geo.dtype))
    known = _writes.get(tuple(key))
    if known is None:
        return False
    _, _, _, _, is_loud, errors, _ = look()
    if is_loud or errors.__class__ is Prompt:
        return False
    inputs: list[Any] = []
    for a, type_, geo in zip(args, known.types, geos, strict=True):
        if geo is not None:
            if a.storage is None or a.geo is not geo:       # (somebody has changed it since)
                return False
            inputs.append(Read(a.storage.value, geo))
        elif a.__class__ is type_:
            inputs.append(a)
        else:
            try:
                inputs.append(type_(a))
            except (OverflowError, TypeError):  # NumPy has words for that
                return False
    storage.write(region, known.op, tuple(inputs), False, errors, known.quiet)
    if NODES.table is None:
        NODES.hear(nbytes=region.nbytes)
    else:
        NODES.table.know(tuple(key), region.dtype, args, known)
    return True
