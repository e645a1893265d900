"""Calls of builtins and of `math`: what each makes of numbers.

In:  a tracer, the function, its arguments.   Out: the result's value; None where the call ended the block.
A function that is in no table here and is no Python function is refused.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lazyarr.scalar import elements
from lazyarr.scalar.arithmetic import Num, as_float, as_int, binary, compare, number, truth
from lazyarr.scalar.bytecode import bound, parameters
from lazyarr.scalar.capture import Path
from lazyarr.scalar.ir import Branch
from lazyarr.scalar.ops import LIBRARY
from lazyarr.scalar.prange import prange
from lazyarr.scalar.values import Array, Const, Elem, Pack, Span, Static, Value, kind

if TYPE_CHECKING:
    from lazyarr.scalar.translate import Tracer

Rule = Callable[..., "Value | None"]


def call(t: Tracer, callee: Value, args: tuple[Value, ...], named: dict[str, Value]) -> Value | None:
    """The result of a call; None if the block has ended, or a Python function has been entered."""
    fn = callee.value if isinstance(callee, Static) else None
    path = callee.path if isinstance(callee, Static) else None
    if fn is prange:
        fn = range
    if isinstance(fn, types.FunctionType) and path is not None:
        t.enter(fn, path, _bound(t, fn, path, args, named))
        return None
    shown = str(path) if path else "what is no function"
    ufunc = elements.of_ufunc(fn) if t.scalars else None
    if ufunc is not None and not named:
        return elements.call(t, ufunc, args, shown)
    if any(isinstance(x, Elem) and fn not in OF_SCALARS.get(x.char, OF_ALL) for x in args):
        raise t.refuse(f"a call of `{shown}` with a NumPy scalar")
    if isinstance(fn, type) and issubclass(fn, BaseException):
        t.stop("an exception")
        return None
    rule, counts = RULES.get(fn, NONE) if isinstance(fn, types.BuiltinFunctionType | type) else NONE
    if rule is None or named:
        raise t.refuse(f"a call of `{shown}`")
    if len(args) not in counts:
        raise t.refuse(f"`{shown}` with {len(args)} arguments")
    return rule(t, *args)


def _bound(
    t: Tracer, fn: types.FunctionType, path: Path, args: tuple[Value, ...], named: dict[str, Value]
) -> dict[str, Value]:
    """The parameters of a Python function, which was found there."""
    held = bound(fn.__code__, args, named)
    if held is None:
        raise t.refuse(f"`{fn.__name__}` does not take these arguments")
    for name in parameters(fn.__code__):
        if name not in held:
            held[name] = t.object(Path("default", path, name))
    return held


# ------------------------------------------------------------------------------- builtins


def _abs(t: Tracer, x: Value) -> Value:
    if isinstance(x, Elem):
        return elements.absolute(t, x)
    a = as_int(t, number(t, x, "`abs`"))
    return t.emit("int_abs" if a.type == "i" else "float_abs", a)


def _extreme(sign: str) -> Rule:
    def rule(t: Tracer, *args: Value) -> Value | None:
        """The first of the largest, or smallest, as Python finds it: by one comparison after another."""
        if len(args) < 2:
            raise t.refuse("`min` or `max` of one argument")
        for x in args:
            number(t, x, "`min` or `max`")
        best, *others = args
        for k, x in enumerate(others):
            better = truth(t, compare(t, sign, x, best))
            if kind(x) == kind(best):
                best = _selected(t, better, x, best)
            elif k + 1 < len(others):
                raise t.refuse("`min` or `max` of more than two numbers of different types")
            else:
                t.end(Branch(t.number(better), t.edge(None, x), t.edge(None, best)))
                return None
        return best

    return rule


def _selected(t: Tracer, better: Num, x: Value, best: Value) -> Value:
    """One of two numbers of the same kind."""
    one, other = number(t, x, ""), number(t, best, "")
    found = t.emit(f"select_{one.type}", better, one, other)
    return Elem(x.char, found) if isinstance(x, Elem) else found


def _len(t: Tracer, x: Value) -> Value:
    if isinstance(x, Pack):
        return Const("i", len(x.items))
    if not isinstance(x, Array) or not x.lengths:
        raise t.refuse("`len` of what is no array")
    return x.lengths[0]         # type: ignore[no-any-return]


def _to_int(op: str) -> Rule:
    def rule(t: Tracer, x: Value) -> Value:
        a = as_int(t, number(t, x, "rounding"))
        return a if a.type == "i" else t.emit(op, a)

    return rule


def _pow(t: Tracer, x: Value, y: Value) -> Value | None:
    return binary(t, "**", x, y)


def _divmod(t: Tracer, x: Value, y: Value) -> Value | None:
    quotient, rest = binary(t, "//", x, y), binary(t, "%", x, y)
    return None if quotient is None or rest is None else Pack((quotient, rest))


def _range(t: Tracer, *args: Value) -> Value | None:
    numbers = [as_int(t, number(t, x, "`range`")) for x in args]
    if any(x.type != "i" for x in numbers):
        t.stop("`range` of a float")
        return None
    if len(numbers) == 1:
        return Span(Const("i", 0), numbers[0], Const("i", 1))
    if len(numbers) == 2:
        numbers.append(Const("i", 1))
    return Span(*numbers)


# ----------------------------------------------------------------------------------- math


def _library(name: str) -> Rule:
    def rule(t: Tracer, *args: Value) -> Value:
        return t.emit(f"math_{name}", *[_float(t, x) for x in args])

    return rule


def _float(t: Tracer, x: Value) -> Num:
    return as_float(t, number(t, x, "`float`"))


def _of_float(op: str) -> Rule:
    def rule(t: Tracer, *args: Value) -> Value:
        return t.emit(op, *[_float(t, x) for x in args])

    return rule


def _log(t: Tracer, x: Value, *base: Value) -> Value:
    if not base:
        return t.emit("math_log", _float(t, x))
    (b,) = base
    return t.emit("float_div", t.emit("math_log", _float(t, x)), t.emit("math_log", _float(t, b)))


def _times(factor: float) -> Rule:
    def rule(t: Tracer, x: Value) -> Value:
        return t.emit("float_mul", _float(t, x), Const("f", factor))

    return rule


ONE, TWO, ONE_OR_TWO, ANY = (1,), (2,), (1, 2), range(256)
NONE: tuple[Rule | None, Sequence[int]] = None, ()

RULES: dict[Any, tuple[Rule | None, Sequence[int]]] = {
    builtins.abs: (_abs, ONE),
    builtins.max: (_extreme(">"), ANY),
    builtins.min: (_extreme("<"), ANY),
    builtins.int: (_to_int("float_trunc"), ONE),
    builtins.float: (_float, ONE),
    builtins.bool: (truth, ONE),
    builtins.round: (_to_int("float_round"), ONE),
    builtins.pow: (_pow, TWO),
    builtins.divmod: (_divmod, TWO),
    builtins.range: (_range, (1, 2, 3)),
    builtins.len: (_len, ONE),
    **{getattr(math, name): (_library(name), (len(row[0]),)) for name, row in LIBRARY.items()},
    **{getattr(math, name): (_of_float(name), ONE) for name in ("isnan", "isinf", "isfinite")},
    math.copysign: (_of_float("copysign"), TWO),
    math.fabs: (_of_float("float_abs"), ONE),
    math.pow: (_of_float("float_pow"), TWO),
    math.floor: (_to_int("float_floor"), ONE),
    math.ceil: (_to_int("float_ceil"), ONE),
    math.trunc: (_to_int("float_trunc"), ONE),
    math.log: (_log, ONE_OR_TWO),
    math.radians: (_times(math.pi / 180.0), ONE),
    math.degrees: (_times(180.0 / math.pi), ONE),
}
"""Each function's rule, and with how many arguments it is translated."""

_INTS = frozenset((math.floor, math.ceil, math.trunc, builtins.round))
OF_ALL = frozenset(RULES) - _INTS - {builtins.range}
"""What is known of all NumPy scalars: of these, most make Python's floats first."""
OF_SCALARS: dict[str, frozenset[Any]] = {
    **dict.fromkeys("bhilBHIL", OF_ALL | {builtins.range}), "d": OF_ALL | (_INTS - {builtins.round}),
}  # fmt: skip
