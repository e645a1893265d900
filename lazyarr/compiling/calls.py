"""Calls that a compiled function may make: what each gives.

In:  a tracer, the callable, its arguments.   Out: a value.
Functions of arrays are the face's, by their identity in tables here; Python functions are followed into their
code; builtins and `math` compute with what is known.  All else might have an effect, and is refused.
"""

from __future__ import annotations

import math
import operator
import types
from functools import cache
from typing import Any

import numpy

import lazyarr
from lazyarr.arrays import ndarray
from lazyarr.compiling.arrays import (
    applied,
    attempted,
    foreign,
    given,
    is_static,
    link,
    operated,
    rows,
    traced,
)
from lazyarr.compiling.attributes import FOLDS, GENERIC, OUT_AT, attribute, parameters
from lazyarr.compiling.interpret import NUMBERS, Tracer
from lazyarr.compiling.stenciled import stenciled
from lazyarr.compiling.tables import TABLES, table
from lazyarr.compiling.values import Method, Number, Traced
from lazyarr.elementwise import into
from lazyarr.ops import OPS
from lazyarr.scalar.bytecode import bound as given_by_name
from lazyarr.scalar.capture import defaults
from lazyarr.ufuncs import adapt

NAMES = """
    transpose swapaxes moveaxis rollaxis rot90 matrix_transpose permute_dims expand_dims squeeze flip flipud
    fliplr broadcast_to diagonal split array_split hsplit vsplit dsplit unstack broadcast_arrays
    shape ndim size result_type promote_types iscomplexobj isrealobj can_cast broadcast_shapes
    sum prod max min amax amin any all mean std var ptp clip argmax argmin reshape ravel round around
    astype repeat trace cumsum cumprod dot inner zeros_like ones_like empty_like full_like copyto
    count_nonzero where diff gradient trapezoid angle sinc roll outer nan_to_num tril triu average
    copy concatenate concat stack hstack vstack dstack column_stack append tile pad meshgrid select
    matmul vecdot tensordot linalg.norm linalg.vector_norm linalg.outer linalg.cross
"""
"""Functions of arrays without an effect, but on `out=`."""

CREATION = "zeros ones full empty"
"""They make arrays of shapes and types that are known; their nodes are part of the plan."""

TYPES = frozenset((numpy.finfo, numpy.iinfo, numpy.dtype))
PLAIN = frozenset((len, range, tuple, list, enumerate, zip, reversed, isinstance, slice))
"""Builtins with rules of their own."""
OPERATORS: frozenset[Any] = frozenset((
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.neg, operator.pos,
    operator.and_, operator.or_, operator.xor, operator.invert,
))  # fmt: skip
"""Python's operators as functions."""
METACLASSES = frozenset((type, type(ndarray)))
"""Of classes whose `isinstance` is known to have no effect."""
OF_NUMBERS: frozenset[Any] = frozenset((
    abs, min, max, int, float, bool, complex, round, divmod, pow, sum,
    *(f for f in vars(math).values() if isinstance(f, types.BuiltinFunctionType)),
))  # fmt: skip
"""Functions of numbers alone."""


Offered = tuple[Any, Any, str, bool]
"""A function, the face's, which table has it, and whether it is NumPy's own."""


@cache
def _offered() -> dict[int, Offered]:
    """By identity of the function."""
    found = {}
    for kind, names in (("array", NAMES), ("creation", CREATION), ("table", TABLES)):
        for name in names.split():
            theirs = _named(numpy, name)
            if theirs is None:          # another version of NumPy
                continue
            ours = _named(lazyarr, name)
            found[id(theirs)] = theirs, ours, kind, True
            found[id(ours)] = ours, ours, kind, False
    return found


def _named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def call(t: Tracer, callee: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The result of a call."""
    from lazyarr.compiling.face import Compiled
    from lazyarr.stencils import Stencil

    if isinstance(callee, Method):
        return _method(t, callee, args, named)
    offered = _offered().get(id(callee))
    if offered is not None:
        return _function(t, offered, args, named)
    if isinstance(callee, numpy.ufunc):         # ours are among them, by their `__class__`
        return _ufunc(t, callee, args, named)
    if type(callee) is Stencil:
        if t.asked is not None:
            raise t.refuse("a stencil, which depends on lengths")
        return stenciled(t, callee, args, named)
    if type(callee) is Compiled:
        callee = callee.__wrapped__
    if type(callee) is types.FunctionType:
        return _python(t, callee, args, named)
    if not isinstance(callee, types.BuiltinFunctionType | type):
        raise t.refuse(f"a call of an object of type {type(callee).__name__}")
    if callee in OPERATORS and not named:
        return applied(t, callee, *args)
    if callee in OF_NUMBERS:
        return _of_numbers(t, callee, args, named)
    if callee in PLAIN and not named:
        return _plain(t, callee, args)
    if callee in TYPES or callee in NUMBERS:
        return _type(t, callee, args, named)
    raise t.refuse(f"a call of `{getattr(callee, '__name__', type(callee).__name__)}`")


# -------------------------------------------------------------------------------- of arrays


def _method(t: Tracer, callee: Method, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    x, name = callee.owner, callee.name
    if isinstance(x, Traced) and t.asked is not None and name not in GENERIC:
        raise t.refuse(f"`{name}`, which may depend on lengths")
    if not isinstance(x, Traced):
        return attempted(t, getattr(x, name), *args, **named)
    if name in ("conj", "conjugate") and x.dtype.kind != "c":
        return x if not args and not named else _refused(t, name)
    if x.foreign and not foreign((*args, *named.values())):
        raise t.refuse(f"the method `{name}` of one of NumPy's arrays, of lazy ones")
    return _array_call(t, name, getattr(ndarray, name), (x, *args), named, True, method=True)


def _refused(t: Tracer, name: str) -> Any:
    raise t.refuse(f"a call of `{name}` with such arguments")


def _function(t: Tracer, offered: Offered, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    _, fn, kind, theirs = offered
    name = fn.__name__
    if t.asked is not None and (kind == "table" or name not in GENERIC):
        raise t.refuse(f"`{name}`, which may depend on lengths")
    if kind == "table":
        return table(t, fn, args, named, theirs)
    if kind == "creation":
        return traced(t, attempted(t, fn, *_given(t, args), **_given_by_name(t, named)), theirs)
    if name == "copyto":
        return _out(t, fn, name, args, named, args[0] if args else None, theirs)
    return _array_call(t, name, fn, args, named, theirs)


def _flat(items: Any) -> list[Any]:
    found = []
    for x in items:
        found += _flat(x) if isinstance(x, tuple | list) else [x]
    return found


def _given(t: Tracer, args: tuple[Any, ...]) -> list[Any]:
    return [given(t, x) for x in args]


def _given_by_name(t: Tracer, named: dict[str, Any]) -> dict[str, Any]:
    return {name: given(t, x) for name, x in named.items()}


def _by_name(
    t: Tracer, name: str, args: tuple[Any, ...], named: dict[str, Any], method: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments, of which those that decide what is written have their names."""
    if name in FOLDS:
        first, names = 1, parameters(name, method)
    elif len(args) > OUT_AT.get(name, len(args)):
        first, names = OUT_AT[name], ("out",)
    else:
        return args, named
    rest = dict(zip(names, args[first:], strict=False))
    if len(args) > first + len(names) or rest.keys() & named.keys():
        raise t.refuse(f"`{name}` does not take these arguments, or not in this order")
    return args[:first], rest | named


def _out(
    t: Tracer, fn: Any, name: str, args: tuple[Any, ...], named: dict[str, Any], out: Any, theirs: bool
) -> Any:
    """A function that writes into an array of the caller's."""
    _check_out(t, name, (*args, *named.values()), out, theirs)
    result = attempted(t, fn, *_given(t, args), **_given_by_name(t, named))
    if result is not None and result is not out.array:
        raise t.refuse(f"`{name}` makes another array than `out`")
    return None if result is None else out


def _check_out(t: Tracer, name: str, args: tuple[Any, ...], out: Any, theirs: bool) -> None:
    if not isinstance(out, Traced) or out.lone:
        raise t.refuse(f"`{name}` writes into what is no array")
    if out.foreign and not (theirs and foreign(_flat(args))):
        raise t.refuse(f"`{name}` of lazy arrays into one of NumPy's, for which another stands")


def _array_call(
    t: Tracer, name: str, fn: Any, args: tuple[Any, ...], named: dict[str, Any], theirs: bool,
    method: bool = False,
) -> Any:
    """A function or method of arrays; NumPy's own (`theirs`) gives NumPy's arrays for these."""
    args, named = _by_name(t, name, args, named, method)
    x = args[0] if args else named.get("a")
    if name in ("std", "var") and isinstance(x, Traced):
        _counted(t, x, named)
    if named.get("out") is not None:
        return _out(t, fn, name, args, named, named["out"], theirs)
    if name in FOLDS and isinstance(x, Traced) and _folds_all(t, x, named):
        return _whole(t, name, x, named)
    theirs = theirs and foreign(_flat((*args, *named.values())))
    return traced(t, attempted(t, fn, *_given(t, args), **_given_by_name(t, named)), theirs)


def _counted(t: Tracer, x: Traced, named: dict[str, Any]) -> None:
    """NumPy warns at the call where there are no degrees of freedom."""
    least = min(x.array.geo.shape, default=1)
    for name in ("ddof", "correction"):
        ddof = named.get(name, 0)
        if t.asked is not None and (name in named):
            raise t.refuse("`std` or `var` with degrees of freedom less")
        if not isinstance(ddof, int | float) or ddof >= least:
            raise t.refuse("`std` or `var` with so many degrees of freedom less")


def _folds_all(t: Tracer, x: Traced, named: dict[str, Any]) -> bool:
    """Does it give a NumPy scalar?"""
    axis, keepdims = given(t, named.get("axis")), given(t, named.get("keepdims", False))
    if x.lone or not isinstance(keepdims, bool):
        raise t.refuse("a fold of a NumPy scalar, or with keepdims that is no bool")
    if axis is None:
        return not keepdims
    if type(axis) is not int and not (type(axis) is tuple and all(type(k) is int for k in axis)):
        raise t.refuse(f"a fold along an axis of type {type(axis).__name__}")
    axes = attempted(t, numpy.lib.array_utils.normalize_axis_tuple, axis, x.array.ndim)
    return len(axes) == x.array.ndim and not keepdims


def _whole(t: Tracer, name: str, x: Traced, named: dict[str, Any]) -> Traced:
    """A fold to a NumPy scalar: with axes of length 1, it waits."""
    if x.dtype.kind == "c" or x.dtype == numpy.float16:
        raise t.refuse(f"`{name}` to a scalar of dtype {x.dtype}")
    named = {k: v for k, v in named.items() if k not in ("a", "keepdims", "out")}
    method = getattr(ndarray, name.removeprefix("a") if name in ("amax", "amin") else name)
    fold = attempted(t, method, given(t, x), keepdims=True, **_given_by_name(t, named))
    return t.hold(attempted(t, fold.reshape, 1), True, True)


def _ufunc(t: Tracer, callee: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A ufunc, NumPy's or ours."""
    theirs = type(callee) is numpy.ufunc
    fn: numpy.ufunc = callee if theirs else callee.fn
    row = OPS.get(fn.__name__)
    if row is None or row.fn is not fn:
        raise t.refuse(f"a call of `{fn.__name__}`, which is no ufunc of NumPy's")
    if len(args) == fn.nin + 1 and fn.nout == 1 and "out" not in named:
        args, named = args[:-1], {**named, "out": args[-1]}
    out = named.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if len(args) != fn.nin:
        raise t.refuse(f"`{fn.__name__}` with {len(args)} arguments")
    if out is not None:
        _check_out(t, fn.__name__, args, out, theirs)
        return _ufunc_into(t, fn, args, out, named)
    if not any(isinstance(x, Traced) for x in args):
        if named or not is_static(args):
            raise t.pin(*args) if not named else t.refuse(f"`{fn.__name__}` of numbers")
        return attempted(t, fn, *args)
    if named or fn.nin > 2 or fn.nout > 1 or fn.signature is not None:
        return _array_call(t, fn.__name__, adapt(fn), args, named, theirs)
    if fn in (numpy.power, numpy.float_power):
        for x in args:
            if isinstance(x, Number):
                raise t.pin(x)
    found = operated(t, adapt(fn), args)
    found.foreign = found.foreign and theirs
    return found


def _ufunc_into(t: Tracer, fn: numpy.ufunc, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
    if fn.nout > 1:
        raise t.refuse(f"`{fn.__name__}` into two arrays")
    options_ = _given_by_name(t, {k: v for k, v in named.items() if k != "out"})
    if set(options_) - {"where", "dtype", "casting"}:
        raise t.refuse(f"`{fn.__name__}` with such options")
    numbers = [x for x in args if isinstance(x, Number)]
    if fn in (numpy.power, numpy.float_power) and numbers:
        raise t.pin(*numbers)
    values = [
        x.array if isinstance(x, Traced) else x.value if isinstance(x, Number) else given(t, x) for x in args
    ]
    attempted(t, into, fn, tuple(values), out.array, **options_)
    for x in numbers:
        link(t, out.array, x)
    return out


# -------------------------------------------------------------------------------- of all else


def _python(t: Tracer, fn: types.FunctionType, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A Python function: its code is run, too."""
    if fn.__module__ is not None and fn.__module__.partition(".")[0] in ("lazyarr", "numpy"):
        raise t.refuse(f"a call of `{fn.__name__}`")
    return t.follow(fn, bound(t, fn, args, named))


def bound(t: Tracer, fn: types.FunctionType, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a function."""
    held = given_by_name(fn.__code__, args, named)
    try:
        rest = {} if held is None else defaults(fn, held)
    except KeyError:
        held = None
    if held is None:
        raise t.refuse(f"`{fn.__name__}` does not take these arguments")
    for name, value in rest.items():
        held[name] = _default(t, fn, name, value)
        if fn.__kwdefaults__ and name in fn.__kwdefaults__:
            t.guard(fn.__kwdefaults__, name, value)
    return held


def _default(t: Tracer, fn: types.FunctionType, name: str, value: Any) -> Any:
    kind = t.kind(value)
    if type(value) in NUMBERS or kind == "static":          # guarded, as `codes` has the tuple of defaults
        return value
    raise t.refuse(f"the default of `{name}` of `{fn.__name__}`")


def _of_numbers(t: Tracer, fn: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if any(isinstance(x, Traced) for x in args) and fn is abs and len(args) == 1:
        return operated(t, abs, args)
    flat = _flat(args)
    if named or any(isinstance(x, Traced | Method) for x in flat):
        raise t.refuse(f"`{fn.__name__}` of an array")
    if len(flat) != len(args) or any(isinstance(x, tuple | list) for x in args) or fn in (sum, math.prod):
        if not is_static(args):
            raise t.pin(*flat)
        return attempted(t, fn, *args)
    if not all(isinstance(x, Number) or type(x) in NUMBERS for x in args):
        raise t.refuse(f"`{fn.__name__}` of an object")
    return t.derive(fn, *args)


def _plain(t: Tracer, fn: Any, args: tuple[Any, ...]) -> Any:
    if fn is len and len(args) == 1 and isinstance(args[0], Traced) and not args[0].lone:
        return attribute(t, args[0], "shape")[0]
    if fn is isinstance and len(args) == 2:
        x, types_ = args
        if isinstance(x, Method) or not all(type(c) in METACLASSES for c in _flat([types_])):
            raise t.refuse("`isinstance` of a method, or of classes that say themselves what they are of")
        like = x.like() if isinstance(x, Traced) else x.value if isinstance(x, Number) else x
        return isinstance(like, types_)
    if fn in (range, slice):
        for x in args:
            if isinstance(x, Number):
                raise t.pin(x)
    values = [rows(t, x) if isinstance(x, Traced) else x for x in args]
    if any(isinstance(x, Number | Method) for x in values):
        raise t.refuse(f"`{fn.__name__}` of a number")
    return attempted(t, fn, *values)


def _type(t: Tracer, fn: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """float32(x), finfo(x) and the like."""
    if named or len(args) != 1 or isinstance(args[0], Traced | Method | tuple | list):
        raise t.refuse(f"`{fn.__name__}` of an array, or with such arguments")
    return t.derive(fn, *args) if fn in NUMBERS else attempted(t, fn, given(t, args[0]))
