"""where, choose, copyto, putmask and place: choices and masked writes.

In: arrays and NumPy's arguments.   Out: lazy arrays, or a write of a new value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.arrays import Unsupported, fresh_array, is_numpys, is_quiet, ndarray, now, plain
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import (
    FILLED,
    MOVED,
    SCALARS,
    at_call,
    broadcast,
    elementwise,
    inputs_for,
    key_of,
    mask_of,
    operand,
    overwritten,
    reals,
    wrap_all,
)
from lazyarr.error_state import loud
from lazyarr.expr import map_of
from lazyarr.geometry import LEGACY_AXES, layout
from lazyarr.indexing import assign_masked, write
from lazyarr.late import late
from lazyarr.ufuncs import eager

if TYPE_CHECKING:
    from lazyarr.finding import found
    from lazyarr.gather import inside
else:
    late(globals(), gather="inside", finding="found")

_results: dict[Any, numpy.dtype | None] = {}


def _result_of(keys: tuple[Any, Any], choices: tuple[Any, Any]) -> numpy.dtype | None:
    """The dtype of where(c, x, y); None where the engine has no such dtype."""
    try:
        return _results[keys]
    except KeyError:
        found = numpy.where(True, *[_stand_in(x) for x in choices]).dtype
        _results[keys] = found if char_of(found) is not None else None
        return _results[keys]


def _stand_in(x: Any) -> Any:
    return numpy.empty(0, x.geo.dtype) if x.__class__ is ndarray else x.__class__(0)


def where(condition: Any, *choices: Any) -> Any:
    """numpy.where(condition, x, y): always an array, even without axes.  Without choices it is `nonzero`."""
    if not choices:
        return found(numpy.where, condition)
    if len(choices) != 2 or any(x is None for x in choices):
        raise Unsupported
    result = eager(numpy.where, (condition, *choices))
    if result is not None:
        return result
    args = tuple([operand(x) for x in (condition, *choices)])
    geos = [x.geo for x in args if x.__class__ is ndarray]
    if not geos or any(char_of(g.dtype) is None for g in geos):
        raise Unsupported
    out = _result_of((key_of(args[1]), key_of(args[2])), args[1:])
    if out is None:
        raise Unsupported
    shape = broadcast(geos)
    if at_call(math.prod(shape), args, counts=True):
        COUNT.eager += 1
        return wrap_all(numpy.where(*reals(args)))
    char = char_of(out)
    types = (numpy.bool, numpy.dtype(char).type, numpy.dtype(char).type)
    inputs = inputs_for(types, args)
    geo = layout(out, shape, geos, at_once=False)
    return fresh_array(map_of("where", f"?{char}{char}->{char}"), inputs, geo)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """numpy.copyto, as a write."""
    x = dst
    if x.__class__ is not ndarray or is_numpys(x):
        raise Unsupported
    value = plain(numpy.asarray(src)) if src.__class__ in SCALARS else operand(src)
    if not x.geo.flags.writeable or char_of(value.geo.dtype) is None or loud():
        raise Unsupported
    if src.__class__ in (int, float, complex):  # weak: checked by value, and converted now
        constant = numpy.empty((), x.geo.dtype)
        numpy.copyto(constant, src, casting=casting)
        value = plain(constant)
    elif not numpy.can_cast(value.geo.dtype, x.geo.dtype, casting):
        raise Unsupported
    mask = mask_of(where)
    if mask and (broadcast([mask[0].geo, x.geo]) != x.geo.shape):
        raise Unsupported
    overwritten(value.geo.size, MOVED)
    most = 1 if mask else MOVED if value.geo.ndim else FILLED
    if is_quiet(x) and at_call(x.geo.size, (value, *mask), most):
        COUNT.eager += 1
        given, chosen = now(value), now(mask[0]) if mask else True
        x.storage.put(x.geo, lambda real: numpy.copyto(real, given, casting="unsafe", where=chosen))
        return
    write(x, x.geo, value, mask)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """numpy.putmask with one value, or with one for each element: nothing is repeated."""
    if not _put_one(numpy.putmask, a, mask, values):
        x, key = a, mask_of(mask)
        if values.__class__ is not ndarray or not values.geo.shape == key[0].geo.shape == x.geo.shape:
            raise Unsupported
        if not numpy.can_cast(values.geo.dtype, x.geo.dtype) or at_call(x.geo.size, (values, *key)):
            raise Unsupported
        write(x, x.geo, values, key)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """numpy.place with one value."""
    if not _put_one(numpy.place, arr, mask, vals):
        raise Unsupported


def _put_one(fn: Any, x: Any, mask: Any, value: Any) -> bool:
    """A write of one value, cast as the function does; False if it is not one."""
    if x.__class__ is not ndarray or x.storage is None or not x.geo.flags.writeable or loud():
        raise Unsupported
    if mask.__class__ is not ndarray or mask.geo.dtype != bool or char_of(x.geo.dtype) is None:
        raise Unsupported
    if value.__class__ not in SCALARS:
        return False
    constant = numpy.zeros(1, x.geo.dtype)
    fn(constant, numpy.ones(1, bool), value)
    assign_masked(x, mask, constant[0])
    return True


MOST_CHOICES = 8
"""More are passed over more often than NumPy takes to pick one."""


def choose_method(x: Any, *choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """``x.choose(choices)``, or the choices one by one."""
    return choose(x, choices[0] if len(choices) == 1 else choices, out, mode)


def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """numpy.choose among a few arrays: each is passed over once, in one loop."""
    index = operand(a)
    if index.__class__ is ndarray and index.geo.ndim > LEGACY_AXES:
        raise Unsupported
    if index.__class__ is not ndarray or index.geo.dtype.kind not in "iu" or out is not None:
        raise Unsupported
    if not numpy.can_cast(index.geo.dtype, numpy.intp):
        raise Unsupported
    if mode != "raise" or choices.__class__ not in (list, tuple) or not 1 < len(choices) <= MOST_CHOICES:
        raise Unsupported
    if any(c.__class__ is not ndarray or char_of(c.geo.dtype) is None for c in choices):
        raise Unsupported
    if not all(x.geo.flags.c_contiguous for x in (index, *choices)):
        raise Unsupported               # NumPy's result is in C order, that of `where` is not
    shape = broadcast([index.geo, *(c.geo for c in choices)])
    if at_call(math.prod(shape), (index, *choices)) or not inside(index, 0, len(choices)):
        raise Unsupported
    result = choices[-1]
    for k in reversed(range(len(choices) - 1)):
        result = where(elementwise(numpy.equal, (index, k)), choices[k], result)
    return result
