"""NumPy scalars and elements of arrays, as loops over elements have them: the rules are NumPy's.

In:  a tracer, values with an `Elem` or an `Array` among them.   Out: the result's value.
Dtypes of results are asked of NumPy's ufuncs.  Ints of all lengths are computed with 64 bits, float32 with
float64 and rounded after each operation, which gives the same bits (Figueroa, "When is double rounding
innocuous?", 1995).  Where NumPy would warn or raise, the loop stops or a status flag tells: an int that does
not fit its dtype, an index out of bounds, a division by zero.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.dtypes import char_of
from lazyarr.scalar.ir import Inst
from lazyarr.scalar.values import Array, Const, Elem, Pack, Val, Value

if TYPE_CHECKING:
    from lazyarr.scalar.translate import Tracer

Num = Val | Const

CHARS = {**dict.fromkeys("?", "b"), **dict.fromkeys("bhilBHIL", "i"), **dict.fromkeys("fd", "f")}
"""Dtypes of elements, and the type of their values."""
UFUNCS: dict[str, numpy.ufunc] = {
    "+": numpy.add, "-": numpy.subtract, "*": numpy.multiply, "/": numpy.true_divide,
    "//": numpy.floor_divide, "%": numpy.remainder, "**": numpy.power, "<<": numpy.left_shift,
    ">>": numpy.right_shift, "&": numpy.bitwise_and, "|": numpy.bitwise_or, "^": numpy.bitwise_xor,
    "<": numpy.less, "<=": numpy.less_equal, "==": numpy.equal, "!=": numpy.not_equal, ">": numpy.greater,
    ">=": numpy.greater_equal,
}  # fmt: skip
OF_BOOLS = {"+": "bool_or", "*": "bool_and", "&": "bool_and", "|": "bool_or", "^": "bool_xor"}
DOUBLE_ONLY = ("//", "%", "**")
"""What float32 does not compute as float64 and then round."""
WEAK = {"i": int, "f": float}
"""What stands for Python's numbers when dtypes are asked for."""


@lru_cache(1024)
def resolved(fn: numpy.ufunc, *given: Any) -> tuple[str, ...] | None:
    """The dtypes of operands and result that NumPy computes with; None where it refuses."""
    try:
        found = fn.resolve_dtypes((*given, *[None] * fn.nout))
    except TypeError:
        return None
    chars = tuple([char_of(dtype) or "" for dtype in found])
    return chars if all(c in CHARS for c in chars) else None


def _kind(x: Value) -> Any:
    """What NumPy goes by."""
    if isinstance(x, Elem):
        return numpy.dtype(x.char)
    assert isinstance(x, Val | Const)
    return WEAK.get(x.type, numpy.dtype(bool))


def is_number(x: Value) -> bool:
    return isinstance(x, Val | Const | Elem)


def dtypes(t: Tracer, fn: numpy.ufunc, what: str, *args: Value) -> tuple[str, ...]:
    if not all(map(is_number, args)):
        raise t.refuse(f"{what} of a NumPy scalar and of what is no number")
    found = resolved(fn, *map(_kind, args))
    if found is None:
        raise t.refuse(f"{what} of such NumPy scalars")
    return found


def binary(t: Tracer, sign: str, left: Value, right: Value) -> Value:
    """An operator, with a NumPy scalar among its operands."""
    from lazyarr.scalar.arithmetic import FLOAT, INT

    if sign not in UFUNCS:
        raise t.refuse(f"`{sign}` of NumPy scalars")
    one, other, out = dtypes(t, UFUNCS[sign], f"`{sign}`", left, right)
    a, b = converted(t, left, one), converted(t, right, other)
    kind = CHARS[one]
    if kind == "b":
        if sign not in OF_BOOLS:
            raise t.refuse(f"`{sign}` of NumPy's bools")
        return Elem(out, t.emit(OF_BOOLS[sign], a, b))
    if kind == "i":
        return narrowed(t, t.emit(INT[sign], a, b), out)
    if one == "f" and sign in DOUBLE_ONLY:
        raise t.refuse(f"`{sign}` of float32")
    return narrowed(t, t.emit("float_quotient" if sign == "/" else FLOAT[sign], a, b), out)


def compare(t: Tracer, sign: str, left: Value, right: Value) -> Elem:
    from lazyarr.scalar.arithmetic import COMPARE, as_int

    if all(_type(x) != "f" for x in (left, right) if is_number(x)):
        dtypes(t, UFUNCS[sign], f"`{sign}`", left, right)
        a, b = (as_int(t, _inner(x)) for x in (left, right))
        return Elem("?", t.emit(f"int_{COMPARE[sign]}", a, b))
    one, other, _ = dtypes(t, UFUNCS[sign], f"`{sign}`", left, right)
    a, b = converted(t, left, one), converted(t, right, other)
    return Elem("?", t.emit(f"float_{COMPARE[sign]}", a, b))


def unary(t: Tracer, sign: str, x: Elem) -> Value:
    kind = CHARS[x.char]
    if sign == "~" and kind == "b":
        return Elem("?", t.emit("not", x.value))
    unsigned = x.char in "BHIL"
    if kind == "b" or (sign == "~" and (kind == "f" or unsigned)):
        raise t.refuse(f"unary `{sign}` of {numpy.dtype(x.char)}")
    if sign == "+":
        return x
    if sign == "~":
        return Elem(x.char, t.emit("int_invert", x.value))
    return narrowed(t, t.emit("int_neg" if kind == "i" else "float_neg", x.value), x.char)


def absolute(t: Tracer, x: Elem) -> Value:
    kind = CHARS[x.char]
    if kind == "b":
        return x
    return narrowed(t, t.emit("int_abs" if kind == "i" else "float_abs", x.value), x.char)


def _inner(x: Value) -> Num:
    inner = x.value if isinstance(x, Elem) else x
    assert isinstance(inner, Val | Const)
    return inner


def _type(x: Value) -> str:
    return _inner(x).type


def converted(t: Tracer, x: Value, char: str) -> Num:
    """An operand as a loop for that dtype has it."""
    from lazyarr.scalar.arithmetic import as_float, as_int

    value = _inner(x)
    kind = CHARS[char]
    if kind == "b":
        return value
    value = as_int(t, value)
    if kind == "i":
        return value if isinstance(x, Elem) else fitting(t, value, char)
    if char == "d":
        return as_float(t, value)
    if isinstance(value, Const):
        with numpy.errstate(all="ignore"):
            single = float(numpy.float32(value.value))
        if numpy.isinf(single) and not numpy.isinf(float(value.value)):
            raise t.refuse("a number that float32 cannot hold")
        return Const("f", single)
    if isinstance(x, Elem) and x.char == "f":
        return value
    return t.emit("single", value if value.type == "f" else t.emit("int_exact", value))


def fitting(t: Tracer, x: Num, char: str) -> Num:
    """An int that stops where the dtype does not hold it."""
    if char == "l":
        return x
    return t.emit(f"fits_{char}", x)


def narrowed(t: Tracer, x: Num, char: str) -> Elem:
    """A result of 64 bits as one of a dtype."""
    if CHARS[char] == "i":
        return Elem(char, fitting(t, x, char))
    return Elem(char, t.emit("single", x) if char == "f" else x)


# -------------------------------------------------------------------------------------- arrays


def _position(t: Tracer, key: Value, length: Num) -> Num | None:
    """An index of one axis; None where Python raises."""
    if isinstance(key, Elem) and CHARS[key.char] == "i":
        key = key.value
    if not isinstance(key, Val | Const) or key.type == "b":
        raise t.refuse("an index that is no int")
    if key.type == "f":
        t.stop("an index that is a float")
        return None
    return t.emit("index", key, length)


def _at(t: Tracer, x: Array, key: Value) -> Array | None:
    """What an index leaves of an array."""
    keys = key.items if isinstance(key, Pack) else (key,)
    if len(keys) > len(x.lengths):
        t.stop("too many indices")
        return None
    base = x.base
    for k, length, stride in zip(keys, x.lengths, x.strides, strict=False):
        position = _position(t, k, length)
        if position is None:
            return None
        base = t.emit("offset", base, position, stride)
    return Array(x.char, base, x.lengths[len(keys) :], x.strides[len(keys) :])


def element(t: Tracer, x: Array, key: Value) -> Value | None:
    """x[key]; None where the block has ended."""
    part = _at(t, x, key)
    if part is None or part.lengths:
        return part
    return Elem(x.char, t.emit(f"load_{x.char}", part.base))


def store(t: Tracer, x: Array, key: Value, value: Value) -> None:
    """x[key] = value."""
    if not is_number(value):
        raise t.refuse("it sets an element to what is no number")
    part = _at(t, x, key)
    if part is None:
        return
    if part.lengths:
        raise t.refuse("it sets more than one element at once")
    number = _inner(value)
    if x.char == "f" and number.type == "i":        # NumPy rounds once
        number = converted(t, value, "d") if isinstance(number, Const) else t.emit("int_exact", number)
    made = t.fresh("=")
    t.draft.body.append(Inst(made.number, "element", (t.number(number),), x.char, t.place))
    t.emit(f"store_{x.char}", part.base, made)


def attribute(t: Tracer, x: Array, name: str) -> Value:
    """x.name."""
    if name == "shape":
        return Pack(x.lengths)
    if name == "ndim":
        return Const("i", len(x.lengths))
    if name == "size" and len(x.lengths) == 1:
        return x.lengths[0]         # type: ignore[no-any-return]
    raise t.refuse(f"attribute `{name}` of an array")


# ------------------------------------------------------------------------------------ functions


def of_ufunc(fn: Any) -> numpy.ufunc | None:
    """NumPy's ufunc, if it is one or stands for one."""
    if type(fn) is numpy.ufunc:
        return fn
    own = getattr(fn, "fn", None) if isinstance(fn, numpy.ufunc) else None
    return own if type(own) is numpy.ufunc else None


def call(t: Tracer, fn: numpy.ufunc, args: tuple[Value, ...], shown: str) -> Value:
    """A ufunc of numbers."""
    sign = next((sign for sign, known in UFUNCS.items() if known is fn), None)
    if sign is not None and len(args) == 2:
        some = args if any(isinstance(x, Elem) for x in args) else (_scalar(t, args[0]), args[1])
        return compare(t, sign, *some) if sign in COMPARISONS else binary(t, sign, *some)
    if len(args) == 1 and is_number(args[0]) and fn in OF_ONE:
        one, out = dtypes(t, fn, f"`{fn.__name__}`", args[0])
        x = Elem(one, converted(t, args[0], one))
        if fn is numpy.absolute:
            return absolute(t, x)
        if fn is numpy.negative:
            return unary(t, "-", x)
        if fn is numpy.square:
            return binary(t, "*", x, x)
        return narrowed(t, t.emit("float_sqrt", x.value), out)
    raise t.refuse(f"a call of `{shown}`")


OF_ONE = (numpy.sqrt, numpy.absolute, numpy.square, numpy.negative)
COMPARISONS = frozenset(("<", "<=", "==", "!=", ">", ">="))


def _scalar(t: Tracer, x: Value) -> Value:
    """A Python number as NumPy makes a scalar of it."""
    if not isinstance(x, Val | Const):
        raise t.refuse("a ufunc of what is no number")
    return Elem({"b": "?", "i": "l", "f": "d"}[x.type], x)
