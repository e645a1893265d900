"""x[key] and x[key] = value.

In: an array and any index that NumPy takes.   Out: views for basic indices, copies for the others;
single elements are NumPy scalars, read at the call.  A write is a new value of the storage.
Order of errors as in NumPy: read-only first, then index, then value.
"""

from __future__ import annotations

import operator
from sys import getrefcount, maxsize
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.array_likes import accepted
from lazyarr.arrays import (
    Unsupported,
    capture,
    export,
    is_numpys,
    is_pending,
    is_quiet,
    ndarray,
    now,
    part,
    plain,
    wrap,
)
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import FILLED, MOVED, SCALARS, at_call, mask_of, overwritten
from lazyarr.error_state import loud, remembered
from lazyarr.expr import LOCK, map_of
from lazyarr.fallback import fallback, taken
from lazyarr.flags import discards, warn_of_cast
from lazyarr.geometry import broadcast_shapes, same
from lazyarr.late import late
from lazyarr.pace import may_try
from lazyarr.recipes import NODES, known_write, measure, remember_write
from lazyarr.slot_words import WAITING
from lazyarr.storage import Storage, evaluate
from lazyarr.temporaries import KEY_REFS, element, with_last
from lazyarr.values import Buffer, Unwritten
from lazyarr.windows import INTEGERS, element_of, is_element, is_free, small_part

if TYPE_CHECKING:
    from lazyarr.gather import gathered
    from lazyarr.masks import compressed, rows_kept, unpacked
    from lazyarr.packing import packed
    from lazyarr.scatter import assign_at
else:
    late(globals(), gather="gathered", masks="compressed rows_kept unpacked")
    late(globals(), packing="packed", scatter="assign_at")

BASIC = INTEGERS | {slice, type(None), type(...)}
"""Types of indices that make views."""

CACHED = 8
"""Out of the caches NumPy picks elements as fast as a kernel does, and needs no pass before: it is the
faster one up to so many times the size of other results."""

FEW = 1025
"""Positions that NumPy has picked before a call is taken apart."""

EXACT = frozenset((int, float, numpy.float64))
"""Scalars that become what float64 makes of them where they are assigned to elements of that type."""

OBJECTS = numpy.dtype(object).num
"""The type number of objects: not all of their dtypes are one object."""

BOOLS = numpy.dtype(bool).num


_new = object.__new__


def is_basic(key: Any) -> bool:
    if key.__class__ is tuple:
        return BASIC.issuperset(map(type, key))
    return key.__class__ in BASIC


def settled(key: Any) -> Any:
    """An index with the values of lazy arrays in it."""
    c = key.__class__
    if c is ndarray:
        return now(key)
    if c is tuple or c is list:
        return c([settled(k) for k in key]) if any(k.__class__ in (ndarray, list) for k in key) else key
    return key


def _with_integers(key: Any, ndim: int) -> Any:
    """A basic index, with their values for integer arrays without axes; None where it has none, or others,
    or where only integers are left for all of `ndim` axes.

    NumPy takes such an array for the integer, but for that what is read so is a copy, not a view."""
    keys = []
    found = views = False
    for k in key if key.__class__ is tuple else (key,):
        c = k.__class__
        if c is ndarray or c is numpy.ndarray:
            geo = k.geo if c is ndarray else k
            if geo.ndim or geo.dtype.kind not in "iu":
                return None
            k, found = int(now(k) if c is ndarray else k), True
            if k > maxsize:                     # (NumPy has words for it)
                return None
        elif c not in BASIC:
            return None
        elif c is slice or k is None or k is Ellipsis:
            views = True
        keys.append(k)
    return tuple(keys) if found and (views or len(keys) < ndim) else None


def getitem(x: Any, key: Any, _: Any = None) -> Any:
    if NODES.view is not None:
        made = NODES.view(x, key)
        if made is not None:
            return made
    geo = x.geo
    c = key.__class__
    storage = x.storage
    if storage is not None and (        # (`is_element`, without the call)
        INTEGERS.issuperset(map(type, key)) and len(key) == geo.ndim if c is tuple
        else c in INTEGERS and geo.ndim == 1
    ):
        value = storage.value
        buf = value.buf
        if value.op is None and buf.__class__ is Buffer:
            for hear in WAITING:
                hear()
            return element_of(x, buf)[key]
    if c in BASIC or (c is tuple and BASIC.issuperset(map(type, key))):     # `is_basic`, without the call
        if storage is None:
            for hear in WAITING:
                hear()
            g = geo[key]
            if g.__class__ is numpy.ndarray:
                return part(x, g) if geo.dtype.num != OBJECTS else _seen_or_element(x, g)
            return g
        if c is slice or (c is tuple and slice in map(type, key)):
            y: Any = _new(ndarray)              # (`arrays.part`, without the call)
            y.storage, y.geo = storage, geo[key]
            y.origin = x if x.origin is None else x.origin
            return y
        g = _region(geo, key)
        if g.ndim or key is Ellipsis or (c is tuple and Ellipsis in key):
            return part(x, g)
        if storage.value.op is None:
            return storage.real(g)[()]
        del storage                             # (references are counted)
        refs = getrefcount(x)
        return element(x, g, refs)
    for hear in WAITING:
        hear()
    if storage is None:
        if _many(key):
            try:
                return gathered(x, key)
            except Unsupported:
                pass
        try:
            found = _picked(geo, settled(key))
        except ValueError as error:
            found = accepted(error, operator.getitem, geo, settled(key))
        if found.__class__ is numpy.ndarray and found.base is not None:
            return _seen_or_element(x, found)
        return wrap(found)
    if key.__class__ is ndarray and key.geo.dtype == bool and key.geo.shape == geo.shape:
        return with_last(compressed, x, key) if getrefcount(key) <= KEY_REFS else compressed(x, key)
    if key.__class__ is ndarray and key.geo.dtype == bool and key.geo.ndim:
        rows = rows_kept(x, key)
        if rows is not None:
            return rows
    basic = _with_integers(key, geo.ndim)
    if basic is not None:
        return x[basic].copy("K")               # (what is small runs no Python so)
    if _picks(x, key):
        try:
            return gathered(x, key)
        except Unsupported:
            pass
    COUNT.numpy_fallbacks += 1
    DIRECT.calls += 1
    real = now(x)
    try:
        found = real[settled(key)]
    except ValueError as error:
        found = accepted(error, operator.getitem, real, settled(key))
    return taken(found) if found.__class__ is numpy.ndarray else found


def _picked(x: numpy.ndarray, key: Any) -> Any:
    """x[key]."""
    if key.__class__ is numpy.ndarray and key.dtype.num == BOOLS and key.ndim:
        return packed(x, key)
    return x[key]


def _many(key: Any) -> bool:
    """Is there a lazy array among the indices?"""
    if key.__class__ is ndarray:
        return key.storage is not None
    if key.__class__ is tuple:
        for k in key:                   # (a generator would cost more than all this)
            if k.__class__ is ndarray and k.storage is not None:
                return True
    return False


def _picks(x: Any, key: Any) -> bool:
    """Does it look as if this picked enough elements to be worth a closer look?"""
    if key.__class__ is ndarray:
        n = key.geo.size if key.geo.dtype != bool or key.geo.ndim < x.geo.ndim else 0
    elif key.__class__ is tuple:
        n = max([k.geo.size for k in key if k.__class__ is ndarray], default=0)
    else:
        return False
    if n < FEW:
        return n > 0 and current.jit == "always"
    if current.jit == "always":
        return True
    geo = x.geo
    return n * geo.size > CACHED * current.eager_elements * max(geo.shape, default=1)


def _seen_or_element(x: ndarray, taken: numpy.ndarray) -> ndarray:
    """What NumPy took from a plain array: a view of it, or memory of its own (an array among objects)."""
    base = taken.base
    return part(x, taken) if base is not None and (base is x.geo or base is x.geo.base) else wrap(taken)


def _region(geo: numpy.ndarray, key: Any) -> numpy.ndarray:
    """geo[key] as an array, even without axes."""
    if key.__class__ is tuple:
        return geo[key] if Ellipsis in key else geo[(*key, ...)]
    return geo[key] if key is Ellipsis else geo[key, ...]


def keeps(dtype: numpy.dtype, ndim: int, key: Any) -> bool:
    """Does an assignment to an array keep the value itself, as one of its objects?"""
    return dtype.num == OBJECTS and _is_one(key, ndim)


def _is_one(key: Any, ndim: int) -> bool:
    """Is it an index of integers, Python's or NumPy's, one for each axis?"""
    keys = key if key.__class__ is tuple else (key,)
    one = all(isinstance(k, int | numpy.integer) and k.__class__ is not bool for k in keys)
    return one and len(keys) == ndim


def kept(x: Any) -> Any:
    """What an array of objects keeps for a value: itself; but NumPy looks into arrays without axes."""
    return export(x) if x.__class__ is ndarray and not x.geo.ndim else x


def setitem(x: ndarray, key: Any, value: Any) -> None:
    if NODES.assign is not None and NODES.assign(1, x, key, value):
        return None
    storage = x.storage
    element = storage is not None and value.__class__ in SCALARS and is_element(key, x.geo.ndim)
    if element and current.jit != "always":
        for hear in WAITING:
            hear()
        with LOCK:
            held = storage.value
            buf = held.buf
            if held.op is None and buf.__class__ is Buffer and not (held.readers and held.waiting()):
                COUNT.eager += 1
                element_of(x, buf)[key] = value         # (a window is read-only where x or its memory is)
                return None
    if is_numpys(x):
        for hear in WAITING:
            hear()
        geo = x.geo
        if value.__class__ is ndarray:
            overwritten(value.geo.size, MOVED)
            value = kept(value) if keeps(geo.dtype, geo.ndim, key) else now(value)
        try:
            geo[key if key.__class__ in BASIC else settled(key)] = value
        except ValueError as error:
            accepted(error, operator.setitem, geo, settled(key), value)
        return None
    if not x.geo.flags.writeable:
        raise ValueError("assignment destination is read-only")
    try:
        c = key.__class__
        if c is slice or (c is tuple and BASIC.issuperset(map(type, key)) and slice in map(type, key)):
            return _assign(x, x.geo[key], value)        # (what follows, of most writes)
        if is_basic(key):
            region = _region(x.geo, key)
            if not region.ndim and value.__class__ not in SCALARS and _is_one(key, x.geo.ndim):
                value = _element(value, region.dtype)
            return _assign(x, region, value)
        basic = _with_integers(key, x.geo.ndim)
        if basic is not None:
            x[basic] = value
            return None
        return assign_at(x, key, value) if _picks(x, key) else assign_masked(x, key, value)
    except Unsupported:
        pass
    mask = key[0] if key.__class__ is tuple and len(key) == 1 else key
    if mask.__class__ is ndarray and mask.storage is storage and mask.geo.dtype == bool:
        value = _with_more_behind(value, x, mask.geo.size)
    return fallback(operator.setitem, x, key, value)


def _with_more_behind(value: Any, x: ndarray, size: int) -> Any:
    """A copy, with memory behind it: where a write changes the mask that it goes by, NumPy may take more
    elements of the value than it counted, up to the mask's `size`.  (A value in x's own memory changes as
    well: NumPy reads that one.)"""
    real = now(value) if value.__class__ is ndarray else value
    if real.__class__ is not numpy.ndarray or real.ndim != 1 or real.size < 2 or real.dtype.hasobject:
        return value                            # (one value is taken again and again)
    if numpy.may_share_memory(real, now(x)):
        return value
    memory = numpy.zeros(real.size + size, real.dtype)
    memory[: real.size] = real
    return memory[: real.size]


def _assign(x: ndarray, region: numpy.ndarray, value: Any) -> None:
    """Basic assignment: the value cast and broadcast into the region."""
    storage = x.storage
    if value.__class__ not in SCALARS:
        if value.__class__ is numpy.ndarray and char_of(value.dtype) is not None:
            value = wrap(value)
        elif value.__class__ is not ndarray:    # read, and checked, now
            if loud():                          # (once)
                raise Unsupported
            try:
                value = wrap(_constant(value, region.dtype))
            except Exception:                   # NumPy stores what comes before the element that it refuses
                raise Unsupported from None
        if value.storage is storage and same(value.geo, region):
            return                              # the last step of  x[key] += 1
        overwritten(value.geo.size, MOVED)
    if known_write(None, x, region, (value,)):
        return
    if _assigned(x, region, value):
        return
    if value.__class__ is not ndarray:
        if value.__class__ in EXACT and region.dtype.char == "d":
            remember_write(None, (value,), region, map_of("copy", "d->d"), (numpy.float64,))
        if loud():                              # NumPy's cast of it is to report errors once
            raise Unsupported
        value = wrap(_constant(value, region.dtype))
    if char_of(value.geo.dtype) is None or loud():
        raise Unsupported
    if is_quiet(x) and at_call(region.size, (value,), MOVED if value.geo.ndim else FILLED):
        COUNT.eager += 1
        given = now(value)
        storage.put(region, lambda real: real.__setitem__(..., given))
        return
    write(x, region, value)


def _assigned(x: ndarray, region: numpy.ndarray, value: Any) -> bool:
    """Assign a scalar, or a small array that exists, to a small region, if nothing is waiting."""
    if region.size > current.eager_elements or current.jit == "always":
        return False
    made = False
    if value.__class__ is ndarray:
        made = value.storage is None            # by NumPy, at the call
        value = small_part(value)
        if value is None or char_of(value.dtype) is None:
            return False
    with LOCK:
        if not is_free(x) and not (made and _begins(x.storage) and is_free(x)):
            return False
        COUNT.eager += 1
        x.storage.value.buf.real(region)[...] = value
    return True


def _begins(storage: Storage) -> bool:
    """Take memory for an array of which nothing is known but what was set in small parts, if anything.

    A program that sets parts to what NumPy computed for it goes through the array step by step, and will
    read in a step what it has set in the ones before.  (Parts that it sets to constants, or to parts of
    others, are borders, say: the rest comes in one piece, and then the array may need no memory at all.)"""
    value = storage.value
    if value.op is not None:
        if value.weight > storage.small_writes:         # (it stands on something else)
            return False
        evaluate([value])
    elif value.buf.__class__ is Unwritten:
        return bool(value.buf.memory.flags.writeable)   # (which is there now)
    return True


def write(x: ndarray, region: numpy.ndarray, value: ndarray, mask: tuple[ndarray, ...] = ()) -> None:
    """A write of a value, cast as by assignment, where the mask says."""
    geo = value.geo
    while geo.ndim > region.ndim and geo.shape[0] == 1:     # assignment drops leading axes of length 1
        geo = geo[0, ...]
    _check_fits(geo.shape, region)
    warn_of_cast(geo.dtype, region.dtype)
    given = capture(value if geo is value.geo else part(value, geo))
    char = char_of(region.dtype)
    if isinstance(given, numpy.generic) and char_of(given.dtype) != char:
        real = given.real if discards(given.dtype, region.dtype) else given     # (it is warned of already)
        given = real.astype(region.dtype)
    op = map_of("copy", f"{char_of(given.dtype if isinstance(given, numpy.generic) else geo.dtype)}->{char}")
    if not mask and value.storage is not None and not discards(geo.dtype, region.dtype):
        remember_write(None, (value,), region, op, (geo.dtype.type,))
    x.storage.write(region, op, (given, *[capture(m) for m in mask]), bool(mask), remembered())


def _check_fits(shape: tuple[int, ...], region: numpy.ndarray) -> None:
    try:
        fits = shape == region.shape or broadcast_shapes(shape, region.shape) == region.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {_text(shape)} into shape {_text(region.shape)}"
        )


def _text(shape: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _constant(value: Any, dtype: numpy.dtype) -> numpy.ndarray:
    """A Python value, sequence or NumPy scalar, cast as by assignment."""
    try:
        result = numpy.empty(numpy.shape(value), dtype)
        result[...] = value
    except ValueError as error:
        value = accepted(error, numpy.asarray, value)
        result = numpy.empty(value.shape, dtype)
        result[...] = value
    return result


def _element(value: Any, dtype: numpy.dtype) -> Any:
    """What an element becomes that is set to an array or sequence: most of them NumPy refuses."""
    if value.__class__ is ndarray:
        if not value.geo.ndim:
            return value
        value = now(value)
    one = numpy.empty(1, dtype)
    try:
        one[0] = value
    except ValueError as error:
        accepted(error, operator.setitem, one, 0, value)
    return one[0]


def assign_masked(x: ndarray, key: Any, value: Any) -> None:
    """x[mask] = scalar, and x[mask] = y[mask], lazily."""
    if value.__class__ is ndarray and key.__class__ is ndarray:
        return _assign_packed(x, key, value)
    if key.__class__ not in (ndarray, numpy.ndarray) or value.__class__ not in SCALARS or loud():
        raise Unsupported
    if key.shape != x.geo.shape or (is_quiet(x) and not _worth(x, key)) or _changes(key, x):
        raise Unsupported
    mask = mask_of(key)
    if isinstance(value, numpy.generic):        # wraps, where x[0] = value would raise
        constant = numpy.asarray(value).astype(x.geo.dtype)
    else:
        constant = numpy.array(value, x.geo.dtype)
    write(x, x.geo, plain(constant), mask)


def _assign_packed(x: ndarray, key: ndarray, value: ndarray) -> None:
    """Elements that were packed by the mask go back to where they were: a write that packs nothing."""
    if key.geo.dtype != bool or key.geo.shape != x.geo.shape or key.storage is None or loud():
        raise Unsupported
    if _changes(key, x):
        raise Unsupported
    mask = capture(key)
    found = unpacked(value, mask)
    if found is None:
        raise Unsupported
    op, inputs = found
    warn_of_cast(value.geo.dtype, x.geo.dtype)
    x.storage.write(x.geo, op, (*inputs, mask), True, remembered())


def _changes(mask: Any, x: ndarray) -> bool:
    """Does writing to x change the mask in other places?  NumPy goes by what the mask is by then."""
    return mask.__class__ is ndarray and mask.storage is x.storage and not same(mask.geo, x.geo)


def _worth(x: ndarray, key: Any) -> bool:
    if current.jit == "always" or (key.__class__ is ndarray and is_pending(key)):
        return True
    if DIRECT.on and measure(x.geo.size, [x.geo.itemsize]) <= DIRECT.reach and may_try():
        return False                            # (a lone node, for which all that reads it would wait)
    return x.geo.size > current.eager_elements
