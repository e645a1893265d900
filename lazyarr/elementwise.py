"""Elementwise calls: which loop NumPy would run, and where it runs.

In:  a ufunc and operands (arrays, NumPy and Python scalars, sequences).
Out: lazy arrays of Map nodes; real NumPy scalars where the result has no axes.
Two lanes: what is small and evaluated is computed by NumPy at the call, on the real memory; the rest
becomes nodes.  Types, casts and errors are asked of NumPy, so they are those of the running NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from lazyarr.arrays import (
    Unsupported,
    capture,
    face_of,
    fresh_array,
    is_numpys,
    is_pending,
    is_quiet,
    ndarray,
    now,
    wrap,
)
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.dtypes import ELEMENTS, char_of
from lazyarr.error_state import loud, prompt, raises_warnings, remembered, shared
from lazyarr.expr import Map, Read
from lazyarr.flags import discards
from lazyarr.geometry import broadcast_shapes, descends, fresh, layout, like, same
from lazyarr.habits import MEDIUM
from lazyarr.ops import OPS, may_raise
from lazyarr.pace import NOW, holds, may_try
from lazyarr.recipes import (
    WORD,
    again,
    at_first,
    known_write,
    measure,
    remember,
    remember_write,
    waits_for_more,
)

WEAK = {bool: numpy.dtype(bool), int: int, float: float, complex: complex}
"""Python scalars as operands: NumPy calls all but bool weak, since they follow the arrays."""

STRONG = {dtype.type: dtype for dtype in ELEMENTS.values()}
SCALARS = frozenset((*WEAK, *STRONG))
KEYS = {**STRONG, **WEAK}
"""Type of a scalar -> what it is to type resolution."""

# ------------------------------------------------------------------------------------ loops


def truth(x: int) -> numpy.bool:
    """An int as an operand of ``logical_and`` and the like, which NumPy may make an array of ints first.

    Raises
    ------
    OverflowError
        If it does not fit there (NumPy 2.0 takes any).
    """
    return numpy.logical_and(numpy.True_, x)


class Loop:
    """NumPy's choice of an inner loop for operand types: one Map per output."""

    __slots__ = ("maps", "neighbours", "outs", "raises", "types")

    def __init__(self, fn: numpy.ufunc, keys: tuple[Any, ...], dtypes: tuple[numpy.dtype, ...]) -> None:
        chars = [char_of(d) for d in dtypes]
        sig = "".join(chars[: fn.nin]) + "->" + "".join(chars[fn.nin :])
        self.maps = tuple(Map(fn.__name__, sig, part) for part in range(fn.nout))
        self.types = tuple([
            truth if c == "?" and key is int else numpy.dtype(c).type
            for key, c in zip(keys, chars[: fn.nin], strict=False)
        ])  # fmt: skip
        """What makes constants of the operands; their classes, but for `truth`."""
        self.outs = dtypes[fn.nin :]
        traits = OPS[fn.__name__].traits
        self.raises = "raises" in traits and dtypes[-1].kind in "iu"
        """Raises from values: integers to negative powers."""
        self.neighbours = "neighbours" in traits


_loops: dict[Any, Loop | None] = {}


def loop_of(fn: numpy.ufunc, keys: tuple[Any, ...], dtype: Any = None, casting: Any = None) -> Loop | None:
    """The loop for operand types `keys` (dtypes and weak Python types); None: NumPy must decide.

    `keys` has one entry per input, and may have one per output (dtype or None)."""
    known = (fn, keys) if dtype is None and casting is None else (fn, keys, dtype, casting)
    try:
        return _loops[known]
    except KeyError:
        pass
    except TypeError:                   # an unhashable dtype=
        raise Unsupported from None
    row = OPS.get(fn.__name__)
    if row is None or row.fn is not fn:         # somebody else's ufunc may have a name of NumPy's
        return None
    if any(isinstance(k, numpy.dtype) and char_of(k) is None for k in keys):     # cast with casting="unsafe"
        return None
    options: dict[str, Any] = {}
    if dtype is not None:
        options["signature"] = (None,) * fn.nin + (numpy.dtype(dtype),) * fn.nout
    if casting is not None:
        options["casting"] = casting
    full = keys + (None,) * (fn.nin + fn.nout - len(keys))
    try:
        dtypes = fn.resolve_dtypes(full, **options)
    except (TypeError, ValueError):
        dtypes = ()
    plain = dtypes and all(char_of(d) is not None for d in dtypes)
    loop = Loop(fn, keys, dtypes) if plain and not _discards(full, dtypes, fn.nin) else None
    if len(_loops) < 1 << 14:
        _loops[known] = loop
    return loop


def _discards(keys: tuple[Any, ...], loop: tuple[numpy.dtype, ...], nin: int) -> bool:
    """Does some operand lose its imaginary part on the way to the loop, or its fraction, or a result on its
    way out?  NumPy warns of the first, and of the second in the operation's name."""
    for i, (key, dtype) in enumerate(zip(keys, loop, strict=True)):
        if isinstance(key, numpy.dtype) and (discards(key, dtype) if i < nin else discards(dtype, key)):
            return True
        if i < nin and isinstance(key, numpy.dtype) and key.kind == "f" and dtype.kind in "iu":
            return True
    return False


# --------------------------------------------------------------------------------- operands


def operand(x: Any) -> Any:
    """An array or scalar that the rules know, or Unsupported."""
    c = x.__class__
    if c is ndarray or c in SCALARS:
        return x
    if c is numpy.ndarray:
        return wrap(x)
    if c is list or c is tuple:
        return wrap(numpy.asarray(x))
    raise Unsupported


LISTED = 512
"""Numbers in a list: more of them take longer than what is decided here."""


def is_listed(x: Any) -> bool:
    """Is it a short list of numbers, no arrays among them?  NumPy makes an array of it at the call."""
    c = x.__class__
    return (c is list or c is tuple) and 0 < len(x) <= LISTED and SCALARS.issuperset(map(type, x))


def key_of(x: Any) -> Any:
    c = x.__class__
    if c is ndarray:
        return x.geo.dtype
    return KEYS[c]


def inputs_for(loop_types: tuple[type, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Captured arrays, and constants in the loop's types."""
    inputs = []
    for type_, x in zip(loop_types, args, strict=True):
        if x.__class__ is ndarray:
            if x.storage is not None:
                x = Read(x.storage.value, x.geo)
            else:
                if char_of(x.geo.dtype) is None:        # equal to one that the loop is for, as q to l
                    raise Unsupported
                x = capture(x)
                if isinstance(x, numpy.generic) and type(x) is not type_:
                    x = type_(x)
        elif x.__class__ is not type_:
            try:
                x = type_(x)
            except (OverflowError, TypeError):      # NumPy has rules for these, and words
                raise Unsupported from None
        inputs.append(x)
    return tuple(inputs)


def reals(args: tuple[Any, ...]) -> list[Any]:
    return [now(x) if x.__class__ is ndarray else x for x in args]


def broadcast(geos: list[numpy.ndarray]) -> tuple[int, ...]:
    """The common shape; Unsupported where there is none (NumPy says so in its words)."""
    shape = geos[0].shape
    for g in geos[1:]:
        if g.shape != shape:
            try:
                return broadcast_shapes(*(g.shape for g in geos))
            except ValueError:
                raise Unsupported from None
    return shape


FOLD = 8
"""A fold of existing memory writes nothing: NumPy is the faster one up to so many times the size."""


MOMENTS = 4
"""The same of a variance, which to NumPy is four operations."""

IN_PLACE = 2
"""A write over existing memory takes no fresh pages: there NumPy is the faster one up to so many times the
size, unless operands wait as well."""

MOVED = 4
"""A copy of what exists is memory moved, which NumPy does as fast as anybody: up to so many times the size a
node takes longer."""


FILLED = 8
"""The same of one value that is set over what exists: it is only written."""


def at_call(
    size: int, args: tuple[Any, ...], factor: int = 1, paced: bool = True, counts: bool = False
) -> bool:
    """Is this NumPy's, at the call?  Small results of evaluated operands are; medium ones where the program
    is faster so (`direct`, `pace`), if that is asked.   `counts`: it is a new array."""
    jit = current.jit
    if jit == "auto" and size:
        arrays = [x for x in args if x.__class__ is ndarray]
        least = measure(size, [x.geo.itemsize for x in arrays])
        medium = current.eager_elements < size and least <= MEDIUM * current.eager_elements
        directly = DIRECT.counts(least) if medium and counts else DIRECT.on and least <= DIRECT.reach
        if (directly or (
            paced and least <= MEDIUM * current.eager_elements and NOW.numpys and holds()
        )) and may_try():
            return not any(map(waits_for_more, arrays)) and not prompt()
        if least > current.eager_elements * factor:
            return False
        return not any(map(is_pending, arrays)) and not prompt()
    return jit == "never" or not size


def made(size: int) -> None:
    """There is a new array of so many elements, or it waits: one more result, if that is of medium size."""
    if current.eager_elements < size <= MEDIUM * current.eager_elements:
        DIRECT.counts(size)


def overwritten(size: int, most: int) -> None:
    """So many elements are written over: one more result of medium size, unless it is NumPy's at the call
    anyway where it exists, as up to `most` times the usual size (and as the slots count it)."""
    if most * current.eager_elements < size <= MEDIUM * current.eager_elements:
        DIRECT.counts(size)


def wrap_all(result: Any) -> Any:
    if result.__class__ is numpy.ndarray:
        return wrap(result)
    if result.__class__ is tuple:
        return tuple(wrap(x) for x in result)
    return result


# ------------------------------------------------------------------------------------ calls


def elementwise(
    fn: numpy.ufunc, args: tuple[Any, ...], dtype: Any = None, casting: Any = None, above: int = 1,
    over: numpy.ndarray | None = None, asked: bool = False, ends: bool = False,
) -> Any:
    """fn(*args) as new arrays, one per output.  `above`: callers that are surely ours.
    `over`: the only result lies in memory as this operand.   `asked`: there is no recipe.
    `ends`: the first operand is a temporary (`recipes.again`)."""
    if not asked and dtype is None and casting is None and over is None and 0 < len(args) < 3:
        made = again(fn, args, 3 + above)
        if made is not None:
            return made
    geos = []
    keys = []
    for x in args:
        c = x.__class__
        if c is ndarray:
            g = x.geo
            geos.append(g)
            keys.append(g.dtype)
        elif c in KEYS:
            keys.append(KEYS[c])
        else:
            return elementwise(fn, tuple([operand(x) for x in args]), dtype, casting, above + 1, over)
    if not geos or loud():
        raise Unsupported
    loop = loop_of(fn, tuple(keys), dtype, casting)
    if loop is None:
        raise Unsupported
    if over is not None and loop.outs[0] != over.dtype:     # a shift of bools, which NumPy refuses in place
        over = None
    shape = geos[0].shape if len(geos) == 1 else broadcast(geos)
    size = math.prod(shape)
    if (size <= WORD * current.eager_elements or current.jit == "never") and at_call(
        size, args, paced=len(args) > 2, counts=True
    ):
        return _by_numpy(fn, args, dtype, casting, over)
    if loop.raises and not _harmless(args[1]):
        raise Unsupported
    if len(loop.maps) > 1 and prompt():         # each part would warn
        raise Unsupported
    inputs = inputs_for(loop.types, args)
    if len(loop.maps) == 1:
        geo = like(over) if over is not None else result_layout(loop.outs[0], shape, geos, args, loop.types)
        if shape and dtype is None and casting is None and over is None and not loop.raises:
            recipe = remember(fn, args, loop.maps[0], loop.types, geo)
            made = None if recipe is None else at_first(fn, recipe, args, 1 + above, ends)
            if made is not None:
                return made
        result = fresh_array(loop.maps[0], inputs, geo, None, 2 + above if may_raise(loop.maps[0]) else 0)
        return result if shape else now(result)[()]
    results = [
        fresh_array(op, inputs, layout(out, shape, geos, at_once=False))
        for op, out in zip(loop.maps, loop.outs, strict=True)
    ]
    errors = shared()
    for x in results:
        x.storage.value.errors = errors
    return tuple(results) if shape else tuple(now(x)[()] for x in results)


def result_layout(
    dtype: numpy.dtype, shape: tuple[int, ...], geos: list[numpy.ndarray], args: tuple[Any, ...] = (),
    types: tuple[type, ...] = (),
) -> numpy.ndarray:
    """`geometry.layout` of a loop's only result, short for the usual case.

    `args`, `types`: the operands, and what the loop takes."""
    for g in geos:
        if not (g.flags.c_contiguous or descends(g, shape)):
            cast = any(
                x.__class__ is ndarray and x.geo.ndim and x.geo.dtype.type is not t
                for x, t in zip(args, types, strict=True)
            )
            return layout(dtype, shape, geos, not cast)
    return fresh(shape, dtype)


def _by_numpy(
    fn: numpy.ufunc, args: tuple[Any, ...], dtype: Any, casting: Any, over: numpy.ndarray | None
) -> Any:
    COUNT.eager += 1
    options: dict[str, Any] = {}
    if over is not None:
        options["out"] = numpy.empty_like(over)
    if dtype is not None:
        options["dtype"] = dtype
    if casting is not None:
        options["casting"] = casting
    return wrap_all(fn(*reals(args), **options))


def _harmless(exponent: Any) -> bool:
    """An integer exponent that cannot make a power raise."""
    return exponent.__class__ is not ndarray and exponent >= 0


def into(
    fn: numpy.ufunc, args: tuple[Any, ...], out: Any, where: Any = True, dtype: Any = None,
    casting: Any = None,
) -> Any:
    """fn(*args, out=out, where=where): a write.  Elements outside the mask keep their value."""
    alone = where is True and dtype is None and casting is None
    if out.__class__ is ndarray:
        overwritten(out.geo.size, IN_PLACE)
    known = alone and out.__class__ is ndarray and out.geo.flags.writeable
    if known and known_write(fn, out, out.geo, args):
        return out
    target = wrap(out) if out.__class__ is numpy.ndarray else out
    if target.__class__ is not ndarray or fn.nout != 1 or loud():
        raise Unsupported
    if is_numpys(target):
        raise Unsupported
    if not target.geo.flags.writeable:
        raise Unsupported
    args = tuple([operand(face_of(x)) for x in args])
    mask = mask_of(where)
    keys = (*[key_of(x) for x in args], target.geo.dtype)
    loop = loop_of(fn, keys, dtype, casting)
    if loop is None or (loop.raises and not _harmless(args[1])):
        raise Unsupported
    geos = [x.geo for x in (*args, *mask) if x.__class__ is ndarray]
    shape = target.geo.shape
    if mask and discards(target.geo.dtype, loop.outs[0]):       # what the mask leaves goes through that, too
        raise Unsupported
    if loop.neighbours and not all(geo.flags.c_contiguous for geo in (*geos, target.geo)):
        raise Unsupported                       # (NumPy 2.4 reads elements in between)
    if geos and broadcast([*geos, target.geo]) != shape:
        raise Unsupported
    if prompt() and raises_warnings() and any(_shifted(x, target) for x in args + mask):
        raise Unsupported                       # NumPy writes to a copy then, which an error discards
    if is_quiet(target) and at_call(target.geo.size, args + mask, IN_PLACE):
        COUNT.eager += 1
        options: dict[str, Any] = {"casting": casting or "same_kind"}
        if dtype is not None:
            options["dtype"] = dtype
        if mask:
            options["where"] = now(mask[0])
        given = reals(args)
        target.storage.put(target.geo, lambda real: fn(*given, out=real, **options))
        return out
    inputs = inputs_for(loop.types, args) + tuple([capture(m) for m in mask])
    if alone and not loop.raises and not loop.neighbours:
        remember_write(fn, args, target.geo, loop.maps[0], loop.types)
    target.storage.write(target.geo, loop.maps[0], inputs, bool(mask), remembered())
    return out


def _shifted(x: Any, target: ndarray) -> bool:
    """Is x another part of the memory that is written, or the same in another order or type?"""
    return x.__class__ is ndarray and x.storage is target.storage and not same(x.geo, target.geo)


def mask_of(where: Any) -> tuple[ndarray, ...]:
    """A `where=` argument as captured later: () for all elements, or one bool array."""
    if where is True or where is numpy._NoValue:        # which is as good as True to NumPy
        return ()
    mask = operand(where)
    if mask.__class__ is not ndarray or mask.geo.dtype != bool or (mask.storage is None and not mask.ndim):
        raise Unsupported
    return (mask,)
