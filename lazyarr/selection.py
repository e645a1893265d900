"""where and copyto: choices and masked writes.

In: arrays and NumPy's arguments.   Out: lazy arrays, or a write of a new value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, fresh_array, is_quiet, manage, ndarray, now, plain
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import (
    SCALARS,
    at_call,
    broadcast,
    inputs_for,
    key_of,
    mask_of,
    operand,
    reals,
    wrap_all,
)
from lazyarr.expr import Map
from lazyarr.geometry import layout
from lazyarr.indexing import write
from lazyarr.ufuncs import eager

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
    """numpy.where(condition, x, y); always an array, even without axes."""
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
    if at_call(math.prod(shape), args):
        COUNT.numpy_eager += 1
        return wrap_all(numpy.where(*reals(args)))
    char = char_of(out)
    types = (numpy.bool, numpy.dtype(char).type, numpy.dtype(char).type)
    inputs = inputs_for(types, args)
    return fresh_array(Map("where", f"?{char}{char}->{char}"), inputs, layout(out, shape, geos))


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    x = dst
    if x.__class__ is not ndarray or (x.storage is None and not (current.jit == "always" and manage(x))):
        raise Unsupported
    value = plain(numpy.asarray(src)) if src.__class__ in SCALARS else operand(src)
    if not x.geo.flags.writeable or char_of(value.geo.dtype) is None:
        raise Unsupported
    if src.__class__ in (int, float, complex):  # weak: checked by value, and converted now
        numpy.copyto(numpy.empty(0, x.geo.dtype), src, casting=casting)
        value = plain(numpy.array(src).astype(x.geo.dtype))
    elif not numpy.can_cast(value.geo.dtype, x.geo.dtype, casting):
        raise Unsupported
    mask = mask_of(where)
    if mask and (broadcast([mask[0].geo, x.geo]) != x.geo.shape):
        raise Unsupported
    if is_quiet(x) and at_call(x.geo.size, (value, *mask)):
        COUNT.numpy_eager += 1
        given, chosen = now(value), now(mask[0]) if mask else True
        x.storage.put(x.geo, lambda real: numpy.copyto(real, given, casting="unsafe", where=chosen))
        return
    write(x, x.geo, value, mask)
