"""What a compiled function does to arrays, as nodes of the face's.

In:  a tracer, values.   Out: values.
Numbers take part as constants of nodes that each call sets anew (`Link`), where that is all that they do;
else the trace holds for their value.  NumPy's scalars have arithmetic of their own: what arrays do otherwise
is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.compiling.casts import may_warn
from lazyarr.compiling.extents import Length, as_numbers, has_length
from lazyarr.compiling.interpret import Link, Tracer, is_plain
from lazyarr.compiling.values import Method, Near, NeedsValue, Number, Traced
from lazyarr.elision import ELIDED, IN_PLACE, matters
from lazyarr.expr import Map, Read
from lazyarr.windows import is_element

SCALAR_ARITHMETIC = frozenset((operator.add, operator.sub, operator.mul, operator.truediv))
"""Operators that have the same bits on NumPy's scalars as on its arrays, of real floats."""
BITWISE = frozenset((operator.and_, operator.or_, operator.xor, operator.invert))
ELIDING = frozenset(
    getattr(operator, f"{name}_" if name in ("and", "or") else name) for name in IN_PLACE
)
SCALAR_SIGNS = frozenset((operator.neg, operator.pos, abs))
SCALARS = (bool, int, float, complex, numpy.generic)
COMPARISONS = frozenset((operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge))
BY_VALUE = frozenset((operator.pow, operator.ipow))
"""Operators for which NumPy runs other loops by the value of a number."""
ELEMENTS = 256
"""Single elements that a trace has: what asks for more is a loop, which has another way (`loops`)."""
ROWS = 64
"""A loop over more rows is not unrolled."""


def is_static(x: Any) -> bool:
    """Is nothing in it an array or a number of the call?"""
    if isinstance(x, tuple | list):
        return all(map(is_static, x))
    return not isinstance(x, Traced | Number | Method | Near)


def given(t: Tracer, x: Any) -> Any:
    """A value as the face takes it."""
    if isinstance(x, Traced):
        if x.lone:
            raise t.refuse("a NumPy scalar where an array is expected")
        if not x.array.geo.size:
            raise t.refuse("an array without elements")
        return x.array
    if isinstance(x, Number):
        raise t.pin(x)
    if isinstance(x, Method):
        raise t.refuse("it passes a method on")
    if isinstance(x, tuple | list):
        return type(x)([given(t, item) for item in x])
    if t.asked is not None:
        x = as_numbers(x)
    if is_plain(x) or isinstance(x, type):
        return x
    raise t.refuse(f"it passes on an object of type {type(x).__name__}")


def traced(t: Tracer, x: Any, foreign: bool) -> Any:
    """What the face returned."""
    if x.__class__ is ndarray:
        if x.storage is None or not x.geo.ndim:
            raise t.refuse("an array without axes, or one that NumPy made")
        known = t.held(x)
        if known is None:
            return t.hold(x, foreign)
        if foreign or known.foreign or known.lone:      # NumPy might give another object, a view
            raise t.refuse("a call that gives an array itself")
        return known
    if type(x) in (tuple, list):
        items = [traced(t, item, foreign) for item in x]
        return items if type(x) is list else tuple(items)
    if is_plain(x):
        return x
    raise t.refuse(f"it makes an object of type {type(x).__name__}")


def attempted(t: Tracer, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """fn(*args), refused where it asks for values, raises or warns: the function itself does that best."""
    return in_range(t, (args, (*kwargs.values(),)), _attempted(t, fn, *args, **kwargs))


def in_range(t: Tracer, given: Any, result: Any) -> Any:
    """What a call gave, refused where it cast a number to a type that is too small for it."""
    if may_warn(given, result):
        raise t.refuse("NumPy warns of a number that is too large for an array's type")
    return result


def _attempted(t: Tracer, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if t.asked is not None and (has_length(args) or has_length([*kwargs.values()])):
        raise t.refuse("it computes with lengths")
    try:
        return fn(*args, **kwargs)
    except NeedsValue:
        raise t.refuse(f"`{getattr(fn, '__name__', fn)}` needs values at the call") from None
    except Exception as error:
        raise t.refuse(f"{type(error).__name__}: {error}") from None


def foreign(args: Any) -> bool:
    """Are all arrays among the arguments NumPy's?"""
    return all(x.foreign or x.lone for x in args if isinstance(x, Traced))


# ----------------------------------------------------------------------------------- operators


def applied(t: Tracer, fn: Callable[..., Any], *args: Any) -> Any:
    """An operator on anything."""
    if any(isinstance(x, Traced) for x in args):
        return operated(t, fn, args)
    if not all(isinstance(x, Number) or is_static(x) for x in args):
        within = _numbers_within(args)
        if within is None:
            raise t.refuse("an operator on a tuple or list of arrays")
        raise t.pin(*within)                    # (as in ``x.shape == (y.shape[0], k)``)
    return t.derive(fn, *args)


def _numbers_within(items: Any) -> list[Number] | None:
    """The numbers in tuples and lists of what is not an array; None where there are arrays."""
    found: list[Number] = []
    for x in items:
        if isinstance(x, Number):
            found.append(x)
        elif type(x) in (tuple, list):
            inner = _numbers_within(x)
            if inner is None:
                return None
            found += inner
        elif not is_static(x):
            return None
    return found


def operated(t: Tracer, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """An operator, or a ufunc on one or two operands, with an array among them."""
    lone = all(x.lone for x in args if isinstance(x, Traced))
    values = [_operand(t, fn, x) for x in args]
    if fn is operator.mul and any(isinstance(x, ndarray) and _elides(x) for x in values):
        raise t.refuse("NumPy multiplies large complex temporaries in an order of its own")
    if fn in ELIDING and _in_two_orders(values):
        raise t.refuse("NumPy computes in large temporaries, whose memory order may be another one")
    result = _attempted(t, fn, *values)
    in_range(t, [v for v, x in zip(values, args, strict=True) if not isinstance(x, Number)], result)
    if result.__class__ is not ndarray:
        raise t.refuse("an operator that makes no array")
    if lone and not _scalar(fn, result, args):
        raise t.refuse("arithmetic of NumPy scalars that differs from that of arrays")
    for x in args:
        if isinstance(x, Number):
            link(t, result, x)
    found = traced(t, result, foreign(args))
    found.lone = lone
    return found


def _operand(t: Tracer, fn: Callable[..., Any], x: Any) -> Any:
    if isinstance(x, Traced):
        return x.array
    if isinstance(x, Number):
        if fn in BY_VALUE:
            raise t.pin(x)
        return x.value
    if type(x) is Length and fn not in BY_VALUE:
        return int(x)
    if is_plain(x) and isinstance(x, SCALARS):
        return x
    raise t.refuse(f"an operator on an array and an object of type {type(x).__name__}")


def _elides(x: ndarray) -> bool:
    return x.geo.dtype.kind == "c" and x.geo.nbytes >= ELIDED


def _in_two_orders(values: list[Any]) -> bool:
    """Are these two arrays, of which NumPy might take one's memory, which lies in another order?"""
    if len(values) < 2 or not all(isinstance(x, ndarray) for x in values) or not matters(*values):
        return False
    large = any(x.geo.nbytes >= ELIDED for x in values)
    return large and not all(x.geo.flags.f_contiguous for x in values)


def _scalar(fn: Callable[..., Any], result: ndarray, args: tuple[Any, ...]) -> bool:
    """Does the operator compute for NumPy scalars what it computes for arrays?"""
    if fn in COMPARISONS or isinstance(fn, numpy.ufunc) or hasattr(fn, "fn"):
        return True
    kinds = {x.dtype.kind for x in args if isinstance(x, Traced)}
    if fn in BITWISE:
        return kinds == {"b"} and result.geo.dtype.kind == "b"
    if fn in SCALAR_SIGNS:
        return kinds == {"f"}
    return fn in SCALAR_ARITHMETIC and result.geo.dtype.kind == "f" and not kinds - set("fiu")


def inplace(t: Tracer, fn: Callable[..., Any], x: Traced, y: Any) -> Traced:
    """x += y and the like, of an array."""
    if x.foreign and not foreign((y,)):
        raise t.refuse("a lazy array into one of NumPy's, for which another stands")
    result = _attempted(t, fn, x.array, _operand(t, fn, y))
    in_range(t, y, result)
    if result is not x.array:
        raise t.refuse("an operator in place that makes another array")
    if isinstance(y, Number):
        link(t, result, y)
    return x


def link(t: Tracer, result: ndarray, number: Number) -> None:
    """Let the constant of the node just made be the number of each call."""
    assert result.storage is not None
    node = result.storage.value
    places = [k for k, i in enumerate(node.inputs) if i.__class__ is not Read]
    if node.op.__class__ is not Map or len(places) != 1:
        raise t.pin(number)
    made: Any = node.inputs[places[0]]
    if type(made)(number.value).tobytes() != made.tobytes():
        raise t.pin(number)
    t.links.append(Link(node, places[0], number.ref, type(made)))


# ------------------------------------------------------------------------------------ elements


def element(t: Tracer, x: Any, key: Any) -> Any:
    """x[key]."""
    if isinstance(x, Traced):
        if x.lone:
            raise t.refuse("it indexes a NumPy scalar")
        _parted(t, x, key)
        index = given(t, key)
        if is_element(index, x.array.ndim):
            _count(t)
            return one(t, attempted(t, operator.getitem, x.array, _around(t, x, index)))
        return traced(t, attempted(t, operator.getitem, x.array, index), x.foreign)
    if isinstance(x, Near):
        return element(t, x.array, attempted(t, x.sight.slices, given(t, key)))
    if isinstance(key, Number):
        raise t.pin(key)
    if type(x) is tuple and type(key) is int and -len(x) <= key < len(x):
        return x[key]
    if isinstance(x, tuple | list | range | str) and isinstance(key, int | slice):
        return attempted(t, operator.getitem, x, key)
    raise t.refuse(f"an element of an object of type {type(x).__name__}")


def _parted(t: Tracer, x: Traced, key: Any) -> None:
    """Where lengths are samples: a key that means the same for others, too."""
    if t.asked is not None and not t.asked.part(key, x.array.geo.shape):
        raise t.refuse("what such a key shows depends on lengths")


def _count(t: Tracer) -> None:
    t.elements += 1
    if t.elements > ELEMENTS:
        raise t.refuse("it goes through elements one by one: that is for a loop of machine code")


def _around(t: Tracer, x: Traced, key: Any) -> tuple[slice, ...]:
    """The part of one element, which must be there."""
    index = key if isinstance(key, tuple) else (key,)
    for k, n in zip(index, x.array.geo.shape, strict=True):
        if not -n <= k < n:
            raise t.refuse(f"index {k} is out of bounds for an axis of size {n}")
    return tuple([slice(k, k + 1 or None) for k in index])


def one(t: Tracer, x: ndarray) -> Traced:
    """A NumPy scalar: the value of now of an array's only element."""
    copied = attempted(t, lambda: x.copy().reshape(1))          # type: ignore[attr-defined]
    return t.hold(copied, True, True)


def store(t: Tracer, target: Any, key: Any, value: Any) -> None:
    """target[key] = value."""
    if isinstance(target, list) and isinstance(key, int):
        attempted(t, operator.setitem, target, key, value)
        return
    if not isinstance(target, Traced) or target.lone:
        raise t.refuse(f"it writes an element of an object of type {type(target).__name__}")
    _parted(t, target, key)
    index = given(t, key)
    if is_element(index, target.array.ndim):
        _count(t)
        index = _around(t, target, index)
        if isinstance(value, Traced) and not value.lone:
            raise t.refuse("it sets an element to an array")
    if isinstance(value, Traced) and value.lone and not _holds(target, value):
        raise t.refuse("it sets ints to a NumPy scalar that may be beyond them")
    number = value if isinstance(value, Number) else None
    if number is not None:
        if type(number.value) not in (float, int) or target.dtype != float:
            raise t.pin(number)
        value = number.value
    before = target.current()
    put = value.array if isinstance(value, Traced) else given(t, value)
    attempted(t, operator.setitem, target.array, index, put)
    if target.current() is not before:
        if number is not None:
            link(t, target.array, number)
    elif before.op is None:                     # (perhaps an argument, that nothing is written to)
        raise t.refuse("it writes no element, which NumPy refuses where the array is read-only")


def _holds(target: Traced, scalar: Traced) -> bool:
    """May an element be set to it whatever its value?  (NumPy raises where an int cannot hold it.)"""
    known = target.dtype.kind not in "iu" or numpy.can_cast(scalar.dtype, target.dtype)
    return bool(known)


def rows(t: Tracer, x: Traced) -> list[Any]:
    """What a loop over an array goes through."""
    if t.asked is not None:
        raise t.refuse("it goes through rows")
    if x.lone or x.array.ndim < 2 or len(x.array) > ROWS:
        raise t.refuse("it loops over elements, or over many rows")
    return [element(t, x, k) for k in range(len(x.array))]
