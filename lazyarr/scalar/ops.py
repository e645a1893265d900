"""The table of scalar operations: what each takes and makes, when it stops, and its meaning in Python.

In:  an op's name.   Out: its `Op` row; `emit_ops` has the machine code of each, tests compare the two.
Meanings are Python's own operators and `math` functions on int, float and bool.  An op gives up where its
meaning raises, `Stopped` or an exception of Python's; `stops` has the words for that, and is "" for ops that
never do.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from lazyarr.records import dataclass
from lazyarr.scalar.definitions import floored, truncated

LOW, HIGH = -(1 << 63), (1 << 63) - 1
EXACT = 1 << 53
"""Ints up to this size are floats without rounding."""


class Stopped(Exception):
    """The op gives up: NumPy must do the call."""


@dataclass(frozen=True, slots=True)
class Op:
    name: str
    args: str
    result: str
    stops: str
    """Why it may give up; "" if it never does."""
    flags: str
    """Floating-point flags that it may raise: d o u i (divide, over, under, invalid)."""
    meaning: Callable[..., Any] | None
    """What the op computes, in Python; None where only the machine can tell."""
    cost: float
    """Nanoseconds, roughly."""


def _held(x: int) -> int:
    if not LOW <= x <= HIGH:
        raise Stopped
    return x


def _int(f: Callable[..., int]) -> Callable[..., int]:
    return lambda *args: _held(f(*args))


def _true_divide(a: int, b: int) -> float:
    if max(abs(a), abs(b)) > EXACT:
        raise Stopped
    return a / b


def _exact(x: int) -> float:
    if abs(x) > EXACT:
        raise Stopped
    return float(x)


def _power(a: float, b: float) -> float:
    result: Any = a**b
    if not isinstance(result, float):
        raise Stopped               # complex
    return result


def _shift(a: int, n: int) -> int:
    if n > 63:
        raise Stopped
    return _held(a << n)


def _copysign(x: float, y: float) -> float:
    if math.isnan(y):
        raise Stopped
    return math.copysign(x, y)


def _length(start: int, stop: int, step: int) -> int:
    return len(range(start, stop, step))


FULL = "more writes than are remembered"
"""Of a loop over elements: what it writes must be undone where it stops."""
_HALF = "an int beyond 64 bits with its sign"
_WIDE, _ZERO = "an int beyond 64 bits", "division by zero"
_BOTH = f"{_ZERO}, or {_WIDE}"
_NOT_INT = "a float that is no int of 64 bits"
_FLOATS = "oui"

_COMPARISONS = {
    "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne, "gt": operator.gt,
    "ge": operator.ge,
}  # fmt: skip

_ROWS: list[Op] = [
    # bool
    Op("not", "b", "b", "", "", operator.not_, 0.3),
    Op("bool_and", "bb", "b", "", "", operator.and_, 0.3),
    Op("bool_or", "bb", "b", "", "", operator.or_, 0.3),
    Op("bool_xor", "bb", "b", "", "", operator.xor, 0.3),
    *[Op(f"select_{t}", f"b{t}{t}", t, "", "", lambda c, x, y: x if c else y, 0.5) for t in "bif"],
    # int
    Op("int_add", "ii", "i", _WIDE, "", _int(operator.add), 0.5),
    Op("int_sub", "ii", "i", _WIDE, "", _int(operator.sub), 0.5),
    Op("int_mul", "ii", "i", _WIDE, "", _int(operator.mul), 1),
    Op("int_div", "ii", "f", "division by zero, or of ints beyond 53 bits", "", _true_divide, 5),
    Op("int_floordiv", "ii", "i", _BOTH, "", _int(operator.floordiv), 8),
    Op("int_mod", "ii", "i", _BOTH, "", _int(operator.mod), 8),
    Op("int_pow", "ii", "i", _WIDE, "", _int(operator.pow), 10),
    Op("int_neg", "i", "i", _WIDE, "", _int(operator.neg), 0.5),
    Op("int_abs", "i", "i", _WIDE, "", _int(abs), 0.5),
    Op("int_invert", "i", "i", "", "", operator.invert, 0.3),
    Op("int_and", "ii", "i", "", "", operator.and_, 0.3),
    Op("int_or", "ii", "i", "", "", operator.or_, 0.3),
    Op("int_xor", "ii", "i", "", "", operator.xor, 0.3),
    Op("int_lshift", "ii", "i", "a negative count, or " + _WIDE, "", _shift, 1),
    Op("int_rshift", "ii", "i", "a negative count", "", operator.rshift, 1),
    *[Op(f"int_{name}", "ii", "b", "", "", f, 0.5) for name, f in _COMPARISONS.items()],
    Op("range_length", "iii", "i", "a step of zero, or a length beyond 64 bits", "", _length, 8),
    Op("int_next", "ii", "i", "", "", lambda a, b: (a + b + (1 << 63)) % (1 << 64) - (1 << 63), 0.5),
    # float
    Op("float_add", "ff", "f", "", "oi", operator.add, 1),
    Op("float_sub", "ff", "f", "", "oi", operator.sub, 1),
    Op("float_mul", "ff", "f", "", _FLOATS, operator.mul, 1),
    Op("float_div", "ff", "f", _ZERO, _FLOATS, operator.truediv, 4),
    Op("float_quotient", "ff", "f", "", _FLOATS, operator.truediv, 4),     # of a divisor that is not zero
    Op("float_floordiv", "ff", "f", _ZERO, _FLOATS, operator.floordiv, 20),
    Op("float_mod", "ff", "f", _ZERO, _FLOATS, operator.mod, 15),
    Op("float_pow", "ff", "f", "a power that is no float", _FLOATS, _power, 20),
    Op("float_neg", "f", "f", "", "", operator.neg, 0.5),
    Op("float_abs", "f", "f", "", "", abs, 0.5),
    *[
        Op(f"float_{name}", "ff", "b", "", "" if name in ("eq", "ne") else "i", f, 0.5)
        for name, f in _COMPARISONS.items()
    ],
    *[
        Op(f"float_{name}_signaling", "ff", "b", "", "i", _COMPARISONS[name], 0.5) for name in ("eq", "ne")
    ],
    # from type to type
    Op("bool_int", "b", "i", "", "", int, 0.3),
    Op("int_float", "i", "f", "", "", float, 1),
    Op("int_exact", "i", "f", "an int beyond 53 bits beside a float", "", _exact, 1),
    Op("float_trunc", "f", "i", _NOT_INT, "", _int(math.trunc), 2),
    Op("float_floor", "f", "i", _NOT_INT, "", _int(math.floor), 2),
    Op("float_ceil", "f", "i", _NOT_INT, "", _int(math.ceil), 2),
    Op("float_round", "f", "i", _NOT_INT, "", _int(round), 2),
    # anatomy
    Op("isnan", "f", "b", "", "", math.isnan, 0.5),
    Op("isinf", "f", "b", "", "", math.isinf, 0.5),
    Op("isfinite", "f", "b", "", "", math.isfinite, 0.5),
    Op("copysign", "ff", "f", "the sign of NaN, which nobody defines", "", _copysign, 0.5),
    Op("float_floored", "f", "f", "", "", floored, 1),
    Op("float_truncated", "f", "f", "", "", truncated, 1),
    Op("float_mantissa", "f", "f", "", "", lambda x: math.frexp(x)[0], 2),
    Op("float_exponent", "f", "i", "", "", lambda x: math.frexp(x)[1], 2),
    Op("math_ldexp", "fi", "f", "a math range error", _FLOATS, math.ldexp, 5),
    # NumPy's scalars, of dtypes with fewer bits
    Op("single", "f", "f", "", _FLOATS, None, 1),
    Op("float_sqrt", "f", "f", "", "i", None, 5),
    *[Op(f"fits_{c}", "i", "i", "an int that its dtype cannot hold", "", None, 0.5) for c in "bhiBHIL"],
    # memory
    Op("index", "ii", "i", "an index out of bounds", "", None, 1),
    Op("offset", "aii", "a", "", "", None, 0.5),
    *[
        Op(f"load_{c}", "a", t, _HALF if c == "L" else "", "", None, 1)
        for t, chars in (("b", "?"), ("i", "bhilBHIL"), ("f", "fd")) for c in chars
    ],
    *[Op(f"store_{c}", "a=", "u", FULL, "", None, 2) for c in "?bhilBHILfd"],
    # what is not computed
    Op("tick", "n", "n", "a loop so long that signals must be seen to", "", None, 0.3),
    Op("const", "", "", "", "", None, 0),
    Op("element", "", "=", "a result that the dtype cannot hold", "", None, 0.5),
]

LIBRARY = {
    name: ("ff" if name in ("atan2", "fmod", "nextafter") else "f", stops)
    for stops, names in {
        "a math domain or range error": "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos sinh "
        "cosh acosh atanh fmod",
        "": "atan tanh asinh erf erfc cbrt atan2 nextafter",
    }.items()
    for name in names.split()
    if hasattr(math, name)
}
"""Functions of `math` that are the C library's, called by their own addresses: arguments, why they stop."""

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        *_ROWS,
        *[
            Op(f"math_{name}", args, "f", stops, "" if name == "sqrt" else "oui", getattr(math, name), 15)
            for name, (args, stops) in LIBRARY.items()
        ],
    )
}
