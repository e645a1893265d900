"""New arrays: zeros, ones, full, empty and their `_like` forms.

In: shapes, dtypes, fill values.   Out: large arrays are lazy fills, so that a first write over all
of one costs nothing; small ones and other dtypes are NumPy's.  A large arange or linspace is an op of its
elements' positions (`ranges`); eye and the like are NumPy's own code over these (see `functions`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.arrays import Unsupported, fresh_array, managed, ndarray, wrap
from lazyarr.config import current
from lazyarr.direct import DIRECT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import FOLD, SCALARS
from lazyarr.error_state import loud
from lazyarr.expr import Expr, Opaque, Read, map_of
from lazyarr.fallback import counted, fallback, through
from lazyarr.geometry import LEGACY_AXES, PROBED, fresh, like, probe
from lazyarr.habits import MEDIUM
from lazyarr.late import Late, late
from lazyarr.pace import may_try
from lazyarr.ranges import POSITION, RANGES, Range, arange_of, conforms
from lazyarr.recipes import measure
from lazyarr.slot_words import WAITING
from lazyarr.storage import Storage
from lazyarr.values import Positions, Unwritten

if TYPE_CHECKING:
    from lazyarr.movement import metadata
    from lazyarr.selection import copyto
else:
    late(globals(), movement="metadata", selection="copyto")

MOST = 1 << 44
"""Elements above which NumPy shall say that there is no such memory."""


def is_large(shape: Any, factor: int = 1) -> bool:
    """Is an array of this shape worth a lazy fill?  (What is no shape is NumPy's to refuse.)"""
    if shape.__class__ is not int and shape.__class__ is not tuple:
        return False
    try:
        size = shape if shape.__class__ is int else math.prod(shape)
        if size > MOST:
            return False
        return bool(size > factor * current.eager_elements or (size > 0 and current.jit == "always"))
    except TypeError:
        return False


def filled(shape: Any, value: Any, dtype: Any, order: Any = "C") -> ndarray:
    """A large array of `value` (already a NumPy scalar of `dtype`, or None: unset)."""
    return _fill(_lay(shape, dtype, order), value)


def _lay(shape: Any, dtype: Any, order: Any) -> numpy.ndarray:
    """The geometry of a new array that waits; Unsupported where NumPy makes it at the call."""
    if shape.__class__ is int:
        shape = (shape,)
    elif any(isinstance(n, numpy.integer) for n in shape):
        shape = tuple([int(n) if isinstance(n, numpy.integer) else n for n in shape])
    dtype = numpy.dtype(dtype)
    wrong = any(n.__class__ is not int or n < 0 for n in shape) or len(shape) > LEGACY_AXES
    if wrong or order not in ("C", "F") or char_of(dtype) is None or current.jit == "never":
        raise Unsupported
    return _waits(fresh(shape, dtype, order))


def _waits(geo: numpy.ndarray) -> numpy.ndarray:
    """Itself; Unsupported where it is NumPy's: small, or of medium size where those are just now."""
    size, small = measure(geo.size, (geo.itemsize,)), current.eager_elements
    if size <= small and current.jit != "always":
        raise Unsupported                       # (what is computed with it shall not wait either)
    if small < size <= MEDIUM * small and DIRECT.counts(size) and may_try():
        raise Unsupported
    return geo


def unset(geo: numpy.ndarray) -> ndarray:
    """A new array that takes its memory when something is first stored in it, or when it is read."""
    if geo.nbytes >= PROBED:
        probe(geo)
    return managed(Storage(Expr.leaf(Unwritten(geo))), geo)


def _fill(geo: numpy.ndarray, value: Any) -> ndarray:
    if value is None:
        return unset(geo)
    char = char_of(geo.dtype)
    return fresh_array(map_of("copy", f"{char}->{char}"), (value,), geo)


def zeros(shape: Any, dtype: Any = float, order: Any = "C") -> ndarray:
    dtype = numpy.dtype(dtype)
    return filled(shape, dtype.type(0) if char_of(dtype) else None, dtype, order)


def ones(shape: Any, dtype: Any = None, order: Any = "C") -> ndarray:
    dtype = numpy.dtype(dtype)
    return filled(shape, dtype.type(1) if char_of(dtype) else None, dtype, order)


def empty(shape: Any, dtype: Any = float, order: Any = "C") -> ndarray:
    return filled(shape, None, dtype, order)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> ndarray:
    if fill_value.__class__ is ndarray:
        return _full_of(shape, fill_value, dtype, order)
    if fill_value.__class__ not in SCALARS or loud():
        raise Unsupported
    geo = _lay(shape, numpy.asarray(fill_value).dtype if dtype is None else dtype, order)
    value = numpy.full((), fill_value, geo.dtype)       # (which reports errors, once)
    return _fill(geo, value[()])


def _full_of(shape: Any, value: ndarray, dtype: Any, order: Any) -> ndarray:
    """A new array that an array is copied into, repeated along axes that it lacks."""
    made = filled(shape, None, value.geo.dtype if dtype is None else dtype, order)
    if value.geo.ndim > made.geo.ndim or not numpy.can_cast(value.geo.dtype, made.geo.dtype, "same_kind"):
        raise Unsupported                       # (NumPy's error, or its warning)
    copyto(made, value)
    return made


def arange(*args: Any, dtype: Any = None) -> ndarray | None:
    """numpy.arange of numbers, later: how many there will be is known now, and errors are raised now.

    None: NumPy shall do it, now."""
    if not 1 <= len(args) <= 4 or not NUMBERS.issuperset(map(type, args[:3])) or current.jit == "never":
        return None
    dtype = args[3] if len(args) == 4 else dtype
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args[:3], 1)[:3]
    if not step or not (abs(start) <= MOST and abs(stop) <= MOST and abs(step) <= MOST):
        return None
    with numpy.errstate(all="ignore"):          # (NumPy shall warn, once)
        steps = (stop - start) / step
    if not math.isfinite(steps):                # (of a step next to zero)
        return None
    n = math.ceil(steps)
    if not is_large(n, FOLD):
        return None
    first = numpy.arange(start, start + 2 * step + 0 * stop, step, dtype)      # of the same types
    if char_of(first.dtype) is None:
        return None
    given = start, stop, step
    whole = all(isinstance(x, (int, numpy.intp)) for x in given)
    made = None if n < 2 else arange_of(char_of(first.dtype) or "", "l" if whole else "d", first)
    if made is None:
        op = Opaque(numpy.arange, "arange", (*given, first.dtype), makes=True)
        return fresh_array(op, (), fresh((n,), first.dtype))
    return _at_positions(made[0], n, first[0], made[1], 1, first[1], given)


def _at_positions(
    made: Range, n: int, first: Any, step: Any, place: int, other: Any, asked: Sequence[Any]
) -> ndarray:
    places = fresh((n,), POSITION)
    positions = Positions(places)
    kind = numpy.dtype(made.asked).type
    numbers = numpy.uint64(positions.address), first, step, numpy.intp(place), other, *map(kind, asked)
    inputs = Read(Expr.leaf(positions), places), *numbers
    return fresh_array(map_of(made.name, made.sig), inputs, fresh((n,), numpy.dtype(made.dtype)))


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None,
    axis: Any = 0,
) -> Any:
    """numpy.linspace between two numbers, later; None: NumPy's code shall do it."""
    plain = NUMBERS.issuperset((type(start), type(stop))) and type(num) is int and type(axis) is int
    made = RANGES["line_dd"]
    parts = num - 1 if endpoint else num
    if not plain or current.jit == "never" or not is_large(num, FOLD) or not conforms(made.name) or loud():
        return None
    first, last = numpy.float64(start), numpy.float64(stop)
    with numpy.errstate(all="ignore"):
        step = (last - first) / parts
    if not (numpy.isfinite(step) and step) or axis not in (0, -1) or abs(first) > MOST or abs(last) > MOST:
        return None
    given = start, stop, num if endpoint else -num
    y = _at_positions(made, num, first, step, num - 1 if endpoint else -1, last, given)
    if dtype is not None and numpy.dtype(dtype) != numpy.float64:
        if numpy.dtype(dtype).kind != "f":
            return None                 # (whole numbers are rounded down)
        y = y.astype(dtype)
    return (y, step) if retstep else y


FEW = 64
"""Elements that NumPy makes before anything is decided about them."""

NUMBERS = {int, float, numpy.float64, numpy.intp}


def arange_function(fn: Any) -> Any:
    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        few = len(args) == 1 and args[0].__class__ is int and args[0] < FEW
        if not few and kwargs.keys() <= {"dtype", "device"} and kwargs.get("device") is None:
            result = arange(*args, dtype=kwargs.get("dtype"))
            if result is not None:
                return result
        if kwargs or not NUMBERS.issuperset(map(type, args)):
            return through(fn, args, kwargs)
        for hear in WAITING:
            hear()
        made = fn(*args)
        counted(made)
        return wrap(made)

    return call


def sized(fn: Any, rule: Any, size: Any, factor: int, otherwise: Any = None) -> Any:
    """A function whose arguments say how large its result is: by the rule if that is large."""
    otherwise = otherwise or functools.partial(fallback, fn)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal rule
        try:
            wanted = "like" not in kwargs and current.jit != "never"
            large = wanted and is_large(size(*args, **kwargs), factor)
        except (TypeError, ValueError):
            large = False                       # NumPy says what is wrong
        if large:
            if rule.__class__ is Late:
                rule = rule.found()
            mark = DIRECT.mark()
            try:
                made = rule(*args, **kwargs)
                DIRECT.once(mark)
                return made
            except Unsupported:
                pass
        return otherwise(*args, **kwargs)

    return call


USUAL = frozenset((type, str, *SCALARS))
"""Types of dtypes and fill values that are no arrays."""


def maker(fn: Any, rule: Any) -> Any:
    """A function of a shape: lazy if that is large and nothing else is out of the ordinary."""

    @functools.wraps(fn, updated=())
    def call(shape: Any, *args: Any, **kwargs: Any) -> Any:
        if is_large(shape):
            if "like" not in kwargs and kwargs.get("device") is None:
                kwargs.pop("device", None)
                try:
                    return rule(shape, *args, **kwargs)
                except Unsupported:
                    pass
        elif shape.__class__ is int and not kwargs and all(x.__class__ in USUAL for x in args):
            for hear in WAITING:
                hear()
            return wrap(fn(shape, *args))       # no need to look for arrays
        return through(fn, (shape, *args), kwargs)

    return call


def _like_rule(real: Any) -> Any:
    """empty_like and its relatives: a stand-in tells the layout, then a fill."""

    def rule(a: Any, *args: Any, **kwargs: Any) -> ndarray:
        if a.__class__ is not ndarray or char_of(a.geo.dtype) is None:
            raise Unsupported
        if real is not numpy.empty_like and a.geo.size <= current.eager_elements and current.jit != "always":
            return wrap(real(a.geo, *args, **kwargs))
        given = {k: v for k, v in kwargs.items() if k != "fill_value"}
        geo = metadata(numpy.empty_like)(a, *(args[1:] if real is numpy.full_like else args), **given)
        small = current.jit != "always" and geo.size <= current.eager_elements
        if small or not geo.size or char_of(geo.dtype) is None or type(geo) is not numpy.ndarray:
            raise Unsupported
        geo = _waits(like(geo))
        if real is numpy.full_like and loud():
            raise Unsupported
        value = None if real is numpy.empty_like else _fill_value(real, a, *args, **kwargs)
        return _fill(geo, None if value is None else value.astype(geo.dtype))

    return rule


def _fill_value(real: Any, a: ndarray, *args: Any, **kwargs: Any) -> Any:
    """What a tiny stand-in is filled with."""
    if real is numpy.full_like and (args or (kwargs.get("fill_value"),))[0].__class__ not in SCALARS:
        raise Unsupported
    kwargs["shape"] = ()
    if len(args) > (4 if real is numpy.full_like else 3):
        raise Unsupported
    return real(numpy.empty((), a.geo.dtype), *args, **kwargs)[()]


empty_like, zeros_like, ones_like, full_like = map(
    _like_rule, (numpy.empty_like, numpy.zeros_like, numpy.ones_like, numpy.full_like)
)
