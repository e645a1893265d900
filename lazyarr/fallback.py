"""NumPy does the rest: calls on evaluated arrays, whose results are lazy arrays again.

In:  a NumPy callable and arguments with lazy arrays anywhere inside.
Out: its result, real ndarrays wrapped; a view of lent memory is a view of the array that lent it.
NumPy may write into what it is lent, so pending readers of that memory run first.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.array_likes import accepted, put_back
from lazyarr.arrays import (
    TWINS,
    ArrayType,
    Unsupported,
    is_numpys,
    ndarray,
    now,
    part,
    plain,
    twins,
    wrap,
)  # fmt: skip
from lazyarr.calls import ASKED
from lazyarr.config import current, plan_key
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT, EAGER
from lazyarr.dtypes import ELEMENTS
from lazyarr.habits import MEDIUM
from lazyarr.late import Late, late
from lazyarr.overrides import UNANSWERED, answered, created_like, meet
from lazyarr.recipes import NODES
from lazyarr.slot_words import WAITING

if TYPE_CHECKING:
    from lazyarr.recalled import again, key_of, note, tell
else:
    late(globals(), recalled="again key_of note tell")

CONTAINERS = {list, tuple, dict}
NESTED = {ndarray, ArrayType, *CONTAINERS}
INERT = frozenset((
    bool, int, float, complex, str, bytes, type(None), *[dtype.type for dtype in ELEMENTS.values()],
    *map(type, ELEMENTS.values()),
))  # fmt: skip
"""Types of arguments that hold no arrays, and are none."""


class Takers(dict):
    """Type of a result of NumPy -> what turns it into ours, or None.

    `namespace` knows about open npz files and random generators, by the names of their types."""

    def __missing__(self, cls: type) -> Any:
        self[cls] = found = TAKE_NAMED.get((cls.__module__, cls.__name__))
        return found


TAKE = Takers()
TAKE_NAMED: dict[tuple[str, str], Any] = {}
STAND_INS: set[type] = set()
"""Types of ours that hold an object of NumPy's (see `stand_ins`)."""


KEEPS = frozenset((numpy.ndarray.fill,))
"""What keeps an argument as it is in an array of objects; others take it apart if it is an array."""

NUMPYS_AXES = 64
"""Arrays have no more, so NumPy looks no deeper into nested sequences, one of which may contain itself."""


def lend(x: Any, lent: dict[int, Any], depth: int = 0) -> Any:
    """x for NumPy code: arrays become real views of their memory, inside containers too."""
    c = x.__class__
    if c is ndarray:
        real = x.geo if x.storage is None else x.storage.lend(x.geo)
        lent[id(real)] = real, x
        return real
    if c is list or c is tuple:
        if not NESTED.isdisjoint(map(type, x)) and depth < NUMPYS_AXES:
            items = [lend(y, lent, depth + 1) for y in x]
            if items[0] is x[0] and all(map(operator.is_, items, x)):
                return x                        # an array of objects keeps it
            return _instead(items if c is list else c(items), x, lent)
    elif c is dict:
        if not NESTED.isdisjoint(map(type, x.values())) and depth < NUMPYS_AXES:
            items = [lend(y, lent, depth + 1) for y in x.values()]
            same = all(map(operator.is_, items, x.values()))
            return x if same else _instead(dict(zip(x, items, strict=True)), x, lent)
    elif x is ndarray:
        return numpy.ndarray
    elif type(x) in STAND_INS:                  # (they tell another __class__)
        lent[id(x._real)] = x._real, x
        return x._real
    elif c not in INERT:
        meet(type(x))
    return x


def counted(x: Any) -> None:
    """A result of medium size that NumPy has made is one more (`direct`)."""
    if EAGER < x.size <= MEDIUM * EAGER:
        base = x.base
        if base is None or (type(base) is numpy.ndarray and getrefcount(base) <= ITS_ALONE):
            DIRECT.counts(x.size)


ITS_ALONE = 3
"""References to a variable that one attribute refers to, as an argument of getrefcount."""


def taken(x: numpy.ndarray) -> Any:
    """A large result of NumPy's as ours."""
    counted(x)
    result: ndarray = wrap(x)
    if type(x.base) is numpy.ndarray and result.storage is not None and result.origin is None:
        result.origin = wrap(x.base)            # new memory in another shape
    return result


def _instead(copy: Any, x: Any, lent: dict[int, Any]) -> Any:
    """A container, with what is lent in place of arrays."""
    lent[id(copy)] = copy, x
    return copy


def _kept(lent: dict[int, Any], fn: Any, held: Sequence[Any]) -> None:
    """Arrays of objects keep the program's arrays and containers, not what was lent in their place."""
    if fn in KEEPS or any(x.__class__ in CONTAINERS for _, x in lent.values()):
        for array in held:
            put_back(array, functools.partial(_original, lent))


def _original(lent: dict[int, Any], y: Any) -> Any:
    """What an element was lent for.  (NumPy looks into arrays without axes: they stay its own.)"""
    found = lent.get(id(y))
    return None if found is None or (found[1].__class__ is ndarray and not y.ndim) else found[1]


def take_back(x: Any, lent: dict[int, Any]) -> Any:
    """A result of NumPy code as ours."""
    c = x.__class__
    if c is numpy.ndarray:
        found = lent.get(id(x))
        if found is not None:
            return found[1]
        if x.dtype.hasobject:
            remember(lent)
        result = wrap(x)
        if x.base is not None and result.origin is None:
            result.origin = _origin(x.base, lent)
            if result.origin is None and result.storage is not None:
                result.origin = wrap(x.base) if x.base.__class__ is numpy.ndarray else None
        return result
    if c is tuple or c is list or isinstance(x, tuple):
        if any(isinstance(y, (numpy.ndarray, tuple, list)) for y in x):
            items = [take_back(y, lent) for y in x]
            return c._make(items) if hasattr(c, "_make") else c(items)
        return x
    take = TAKE[c]
    if take is None:
        return x
    found = lent.get(id(x))
    return take(x) if found is None else found[1]


def remember(lent: dict[int, Any]) -> None:
    """An array of objects may hold what was lent: taken from there, it is the array that lent it."""
    for real, x in lent.values():
        if x.__class__ is ndarray:
            twins(x, real)


def _origin(base: Any, lent: dict[int, Any]) -> ndarray | None:
    """The lent array whose memory a result of NumPy's is a view of."""
    for real, x in lent.values():
        if x.__class__ is ndarray and (base is real or base is real.base):
            return x if x.origin is None else x.origin
    return None


def fallback(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """fn on evaluated arrays."""
    if INERT.issuperset(map(type, args)) and INERT.issuperset(map(type, kwargs.values())):
        for hear in WAITING:
            hear()
        result = fn(*args, **kwargs)
        if result.__class__ is numpy.ndarray:
            counted(result)
        return take_back(result, {})
    lent: dict[int, Any] = {}
    result = through(fn, args, kwargs, lent)
    if lent:
        COUNT.numpy_fallbacks += 1
        DIRECT.calls += 1
    return result


def through(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], lent: dict[int, Any] | None = None,
    held: tuple[Any, ...] = (),
) -> Any:
    """The same, for calls that count as something else.  `lent` collects what was lent; `held` are real
    arrays, besides the arguments, that may come to hold what they are given."""
    for hear in WAITING:
        hear()
    if lent is None:
        lent = {}
    args = [lend(x, lent) for x in args]
    if kwargs:
        kwargs = {k: lend(v, lent) for k, v in kwargs.items()}
        if "like" in kwargs:
            result = created_like(fn, tuple(args), kwargs)
            if result is not NotImplemented:
                return result
    try:
        result = fn(*args, **kwargs)
    except ValueError as error:
        result = accepted(error, fn, *args, **kwargs)
    except TypeError as error:
        if not str(error).startswith(UNANSWERED):
            raise
        result = answered(fn, *[take_back(given, lent) for given in (tuple(args), kwargs)])
        if result is NotImplemented:
            raise
    if lent:
        _kept(lent, fn, (result, *args, *kwargs.values(), *held))
    if result.__class__ is numpy.ndarray and id(result) not in lent:
        counted(result)
    return take_back(result, _and_outs(lent, result, fn, args, kwargs))


def _and_outs(
    lent: dict[int, Any], result: Any, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[int, Any]:
    """What was lent, and what the caller gave as `out` of NumPy's arrays in a result: they come back."""
    results = result if result.__class__ is tuple else (result,)
    real = [x for x in results if x.__class__ is numpy.ndarray and id(x) not in lent]
    out = kwargs.get("out") if kwargs else None
    given = (*(out if out.__class__ is tuple else (out,)), *args)
    if not any(x is y for x in real for y in given):
        return lent
    given = given[: len(given) - len(args)] + tuple(args[_out_positions(fn)])
    return {**lent, **{id(x): (x, x) for x in real for y in given if x is y}}


ANYHOW = inspect.Parameter.POSITIONAL_OR_KEYWORD

OUT_AT = {
    name: at for at, names in {
        2: "all any argmax argmin choose concatenate dot max min round",
        3: "accumulate clip compress cumprod cumsum mean prod reduce std sum take var",
        4: "reduceat",
        5: "trace",
    }.items() for name in names.split()
}  # fmt: skip
"""Position of `out` where C code tells no signature, as before NumPy 2.4; methods count their array."""


@functools.lru_cache(512)
def _out_positions(fn: Any) -> slice:
    """Where a function takes `out` by position."""
    if fn.__class__ is numpy.ufunc:
        return slice(fn.nin, None)
    try:
        known = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        at = OUT_AT.get(getattr(fn, "__name__", ""))
    else:
        at = next((k for k, p in enumerate(known.values()) if p.name == "out" and p.kind is ANYHOW), None)
    return slice(0) if at is None else slice(at, at + 1)


def looking(fn: Any, x: ndarray, *args: Any, **kwargs: Any) -> Any:
    """fn on the values of x, for an fn that neither keeps nor writes what it gets."""
    if x.geo.dtype.kind == "V":                     # its elements may hold arrays, which look into x
        return fallback(fn, x, *args, **kwargs)
    found = fn(now(x), *args, **kwargs)
    return wrap(found) if found.__class__ is numpy.ndarray else found       # item() of an array of arrays


def finished(result: Any, *args: Any, **kwargs: Any) -> Any:
    """What NumPy answered to a call with these arguments, which hold no arrays but themselves."""
    if kwargs:
        args += tuple(kwargs.values())
    if result.__class__ is numpy.ndarray:
        counted(result)
    given: list[ndarray] = []
    if current.jit == "auto" and _are_plain(args, given):
        found = _small(result, given, 8 * current.eager_elements)
        if found is not UNKNOWN:
            return found
    lent: dict[int, Any] = {}
    for x in args:
        lend(x, lent)
    return take_back(result, lent)


UNKNOWN: Any = object()
"""In the place of what needs a closer look."""


def _are_plain(args: Sequence[Any], found: list[ndarray]) -> bool:
    """Are all arrays plain, among arguments and in sequences that are arguments?  They go into a list."""
    for x in args:
        c = x.__class__
        if c is ndarray:
            if x.storage is not None:
                return False
            found.append(x)
        elif c is list or c is tuple:
            if not CONTAINERS.isdisjoint(map(type, x)) or not _are_plain(x, found):
                return False
        elif c in NESTED:                       # (the array type among them)
            return False
    return True


def _small(x: Any, given: list[ndarray], most: int) -> Any:
    """`take_back`, for (a part of) what NumPy answered to a call with plain arrays: one of these, a view of
    one, an array of at most so many bytes, a scalar, or a sequence of such."""
    c = x.__class__
    if c is numpy.ndarray:
        if id(x) in TWINS.data:
            return UNKNOWN
        base = x.base
        for y in given:
            real = y.geo
            if x is real:
                return y
            if base is not None and (base is real or base is real.base):
                return part(y, x)
        owner = x if base is None else base
        if owner.__class__ is not numpy.ndarray or owner.base is not None or owner.nbytes > most:
            return UNKNOWN
        return UNKNOWN if x.dtype.hasobject else plain(x)
    if c is tuple or c is list or isinstance(x, tuple):
        items = []
        for y in x:
            item = _small(y, given, most)
            if item is UNKNOWN:
                return UNKNOWN
            items.append(item)
        return c._make(items) if hasattr(c, "_make") else c(items)
    return x if TAKE[c] is None else UNKNOWN


def on_plain(fn: Any, x: ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """fn(x, *args) for a plain x: NumPy's business, whose result is about as small."""
    COUNT.eager += 1
    for y in args:
        if y.__class__ in NESTED:
            return through(fn, (x, *args), kwargs)
    if kwargs:
        for y in kwargs.values():
            if y.__class__ in NESTED:
                return through(fn, (x, *args), kwargs)
    try:
        result = fn(x.geo, *args, **kwargs)
    except ValueError as error:
        result = accepted(error, fn, x.geo, *args, **kwargs)
    if result.__class__ is numpy.ndarray:
        if result is x.geo:
            return x
        if kwargs and result is kwargs.get("out"):
            return result
        for y in args:
            if y is result:
                return take_back(result, _and_outs({}, result, fn, (x, *args), kwargs))
        base = result.base
        if base is None:
            return taken(result)
        return part(x, result) if base is x.geo or base is x.geo.base else plain(result)
    return take_back(result, {}) if result.__class__ in CONTAINERS else result


def on_listed(fn: Any, arrays: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """fn([x, y], *args) for small plain arrays: NumPy's business, too; UNKNOWN if there is more."""
    size, reals = 0, []
    for x in arrays:
        if x.__class__ is not ndarray or x.storage is not None or x.geo.dtype.hasobject:
            return UNKNOWN
        reals.append(x.geo)
        size += x.geo.size
    if not reals or size > current.eager_elements or current.jit == "always":
        return UNKNOWN
    if not (INERT.issuperset(map(type, args)) and INERT.issuperset(map(type, kwargs.values()))):
        return UNKNOWN
    COUNT.eager += 1
    return take_back(fn(reals, *args, **kwargs), {})


def lazily(fn: Any, rule: Any, by_first: bool = True) -> Any:
    """fn by its lazy rule; where that does not apply, by NumPy.

    `by_first`: a plain first argument makes the call NumPy's, since the result is as small."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal rule
        if not args:
            return fallback(fn, **kwargs)
        if by_first:
            x = args[0]
            if x.__class__ is ndarray:
                if is_numpys(x):
                    return on_plain(fn, x, args[1:], kwargs)
            elif x.__class__ is numpy.ndarray:
                return call(wrap(x), *args[1:], **kwargs)
            elif x.__class__ is list:
                result = on_listed(fn, x, args[1:], kwargs)
                if result is not UNKNOWN:
                    return result
        if rule.__class__ is Late:
            rule = rule.found()
        mark = DIRECT.mark()
        try:
            made = rule(*args, **kwargs)
            DIRECT.once(mark)
            return made
        except Unsupported:
            pass
        except TypeError as error:
            if has_begun(error):
                raise
        return fallback(fn, *args, **kwargs)

    return call


def has_begun(error: TypeError) -> bool:
    """Did the function run that the caller called?  Else it does not take these arguments, and NumPy says so
    in its own words."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None


def method(fn: Any, rule: Any, recalls: bool = False) -> Any:
    """The same for a method, called on arrays only.

    `recalls`: for arrays of one geometry and one set of arguments its rule always makes the same nodes."""
    name = fn.__name__

    @functools.wraps(fn, updated=())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal rule
        if self.__class__ is not ndarray:           # numpy's own, through lazyarr.ndarray.<name>
            return fallback(fn, self, *args, **kwargs)
        if is_numpys(self):
            return on_plain(fn, self, args, kwargs)
        if recalls and NODES.recall is not None:
            found = NODES.recall(fn, self, args, kwargs, plan_key())
            if found is not None:
                return found
        key = key_of(name, self, args, kwargs) if recalls else None
        if key is not None:
            found = again(key, self)
            if found is not None:
                tell(key, fn, self, args, kwargs)
                return found
            value = self.storage.value
            pending = value.op is not None
        if rule.__class__ is Late:
            rule = rule.found()
        mark = DIRECT.mark()
        try:
            if key is not None:
                ASKED.of, ASKED.folds = value, 0
            result = rule(self, *args, **kwargs)
            DIRECT.once(mark)
        except Unsupported:
            pass
        except TypeError as error:
            if has_begun(error):
                raise
        else:
            if key is not None:
                note(key, self, value, pending, result)
            return result
        finally:
            if key is not None:
                ASKED.of = ASKED.found = None
        return fallback(fn, self, *args, **kwargs)

    return call
