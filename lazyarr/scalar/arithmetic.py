"""Python's operators on numbers: which op of the table each is, for which types.

In:  a tracer, an operator as it is written, values.   Out: the result's value; None where it raises.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lazyarr.scalar import elements
from lazyarr.scalar.ops import EXACT
from lazyarr.scalar.values import Const, Elem, Pack, Static, Val, Value

if TYPE_CHECKING:
    from lazyarr.scalar.translate import Tracer

Num = Val | Const

INT = {
    "+": "int_add", "-": "int_sub", "*": "int_mul", "/": "int_div", "//": "int_floordiv", "%": "int_mod",
    "**": "int_pow", "<<": "int_lshift", ">>": "int_rshift", "&": "int_and", "|": "int_or", "^": "int_xor",
}  # fmt: skip
FLOAT = {
    "+": "float_add", "-": "float_sub", "*": "float_mul", "/": "float_div", "//": "float_floordiv",
    "%": "float_mod", "**": "float_pow",
}  # fmt: skip
BOOL = {"&": "bool_and", "|": "bool_or", "^": "bool_xor"}
COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}


def number(t: Tracer, x: Value, what: str) -> Num:
    """A value that must be a number."""
    if isinstance(x, Val | Const):
        return x
    if isinstance(x, Elem):
        return x.value          # type: ignore[no-any-return]
    shown = type(x.value).__name__ if isinstance(x, Static) else "tuple" if isinstance(x, Pack) else "range"
    raise t.refuse(f"{what} of a {shown}")


def as_int(t: Tracer, x: Num) -> Num:
    """A bool as the int that it is."""
    if x.type != "b":
        return x
    return Const("i", int(x.value)) if isinstance(x, Const) else t.emit("bool_int", x)


def as_float(t: Tracer, x: Num) -> Num:
    """What ``float(x)`` gives."""
    x = as_int(t, x)
    if x.type == "f":
        return x
    return Const("f", float(x.value)) if isinstance(x, Const) else t.emit("int_float", x)


def binary(t: Tracer, sign: str, left: Value, right: Value) -> Value | None:
    if isinstance(left, Elem) or isinstance(right, Elem):
        return elements.binary(t, sign, left, right)
    a, b = (number(t, x, f"`{sign}`") for x in (left, right))
    if a.type == b.type == "b" and sign in BOOL:
        return t.emit(BOOL[sign], a, b)
    a, b = as_int(t, a), as_int(t, b)
    if sign not in INT:
        raise t.refuse(f"`{sign}` of numbers")
    negative_power = sign == "**" and isinstance(b, Const) and b.value < 0
    if a.type == b.type == "i" and not negative_power:
        return t.emit(INT[sign], a, b)
    if sign not in FLOAT:
        return None
    a, b = as_float(t, a), as_float(t, b)
    if sign == "/" and isinstance(b, Const) and b.value != 0:
        return t.emit("float_quotient", a, b)
    return t.emit(FLOAT[sign], a, b)


SIGNALING = ("==", "!=") if sys.version_info >= (3, 12) else ()
"""Comparisons of two floats that raise "invalid" on NaN: once they have run a few times, CPython 3.12 goes by
``<=`` and ``>=``."""


def compared(t: Tracer, sign: str, left: Value, right: Value) -> Value:
    """A comparison that is an instruction of its own."""
    floats = all(isinstance(x, Val | Const) and x.type == "f" for x in (left, right))
    if floats and sign in SIGNALING:
        return t.emit(f"float_{COMPARE[sign]}_signaling", left, right)
    return compare(t, sign, left, right)


def compare(t: Tracer, sign: str, left: Value, right: Value) -> Value:
    if isinstance(left, Elem) or isinstance(right, Elem):
        return elements.compare(t, sign, left, right)
    if isinstance(left, Static) or isinstance(right, Static):
        raise t.refuse(f"`{sign}` of what is no number")
    a, b = (as_int(t, number(t, x, f"`{sign}`")) for x in (left, right))
    if a.type == b.type == "i":
        return t.emit(f"int_{COMPARE[sign]}", a, b)
    a, b = (x if x.type == "f" else _exactly(t, x) for x in (a, b))
    return t.emit(f"float_{COMPARE[sign]}", a, b)


def _exactly(t: Tracer, x: Num) -> Num:
    """An int beside a float: Python compares the two without rounding."""
    if isinstance(x, Const) and abs(x.value) <= EXACT:
        return as_float(t, x)
    return t.emit("int_exact", x)


def unary(t: Tracer, sign: str, x: Value) -> Value | None:
    if isinstance(x, Elem) and sign != "not":
        return elements.unary(t, sign, x)
    a = number(t, x, f"unary `{sign}`")
    if sign == "not":
        true = truth(t, a)
        return Const("b", not true.value) if isinstance(true, Const) else t.emit("not", true)
    if sign == "~" and a.type == "b" and sys.version_info >= (3, 12):
        raise t.refuse("`~` of a bool, which Python warns of")
    a = as_int(t, a)
    if sign == "+":
        return a
    if sign == "~":
        return t.emit("int_invert", a) if a.type == "i" else None
    return t.emit("int_neg" if a.type == "i" else "float_neg", a)


def truth(t: Tracer, x: Value) -> Num:
    """What ``bool(x)`` gives."""
    if isinstance(x, Static):
        return Const("b", bool(x.value))
    if isinstance(x, Pack):
        return Const("b", bool(x.items))
    a = number(t, x, "truth")
    if isinstance(a, Const):
        return Const("b", bool(a.value))
    if a.type == "b":
        return a
    return t.emit("int_ne", a, Const("i", 0)) if a.type == "i" else t.emit("float_ne", a, Const("f", 0.0))
