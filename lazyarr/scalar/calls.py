"""Calls of builtins and of `math`: what each makes of numbers.

In:  a tracer, the function, its arguments.   Out: the result's value; None where the call ended the block.
A function that is in no table here and is no Python function is refused.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazyarr.scalar.arithmetic import Num, as_float, as_int, binary, compare, number, truth
from lazyarr.scalar.ir import Branch
from lazyarr.scalar.ops import LIBRARY
from lazyarr.scalar.values import Const, Pack, Span, Static, Value

if TYPE_CHECKING:
    from lazyarr.scalar.translate import Tracer

Rule = Callable[..., "Value | None"]


def call(t: Tracer, callee: Value, args: tuple[Value, ...], named: dict[str, Value]) -> Value | None:
    """The result of a call; None if the block has ended, or a Python function has been entered."""
    fn = callee.value if isinstance(callee, Static) else None
    if isinstance(fn, types.FunctionType):
        t.enter(fn, _bound(t, fn, args, named))
        return None
    shown = str(callee.path) if isinstance(callee, Static) and callee.path else "what is no function"
    rule = RULES.get(fn) if isinstance(fn, types.BuiltinFunctionType | type) else None
    if rule is None or named:
        raise t.refuse(f"a call of `{shown}`")
    try:
        return rule(t, *args)
    except TypeError:
        raise t.refuse(f"`{shown}` with {len(args)} arguments") from None


def _bound(
    t: Tracer, fn: types.FunctionType, args: tuple[Value, ...], named: dict[str, Value]
) -> dict[str, Value]:
    """The parameters of a Python function."""
    code = fn.__code__
    positional = code.co_varnames[: code.co_argcount]
    everything = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    held = dict(zip(positional, args, strict=False))
    wrong = len(args) > len(positional) or not set(named) <= set(everything[code.co_posonlyargcount :])
    if wrong or held.keys() & named.keys():
        raise t.refuse(f"`{fn.__name__}` does not take these arguments")
    held |= named
    for name in everything:
        if name not in held:
            held[name] = t.object(t.path("default", fn, name))
    return held


# ------------------------------------------------------------------------------- builtins


def _abs(t: Tracer, x: Value) -> Value:
    a = as_int(t, number(t, x, "`abs`"))
    return t.emit("int_abs" if a.type == "i" else "float_abs", a)


def _extreme(sign: str) -> Rule:
    def rule(t: Tracer, *args: Value) -> Value | None:
        """The first of the largest, or smallest, as Python finds it: by one comparison after another."""
        if len(args) < 2:
            raise t.refuse("`min` or `max` of one argument")
        best, *others = (number(t, x, "`min` or `max`") for x in args)
        for k, x in enumerate(others):
            better = compare(t, sign, x, best)
            if x.type == best.type:
                best = t.emit(f"select_{x.type}", better, x, best)
            elif k + 1 < len(others):
                raise t.refuse("`min` or `max` of more than two numbers of different types")
            else:
                t.end(Branch(t.number(better), t.edge(None, x), t.edge(None, best)))
                return None
        return best

    return rule


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
    if len(numbers) != 3:
        raise TypeError
    return Span(*numbers)


# ----------------------------------------------------------------------------------- math


def _library(name: str) -> Rule:
    arity = len(LIBRARY[name][0])

    def rule(t: Tracer, *args: Value) -> Value:
        if len(args) != arity:
            raise TypeError
        return t.emit(f"math_{name}", *[_float(t, x) for x in args])

    return rule


def _float(t: Tracer, x: Value) -> Num:
    return as_float(t, number(t, x, "`float`"))


def _of_float(op: str) -> Rule:
    def rule(t: Tracer, *args: Value) -> Value:
        if len(args) != (2 if op in ("copysign", "float_pow") else 1):
            raise TypeError
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


RULES: dict[Any, Rule] = {
    builtins.abs: _abs,
    builtins.max: _extreme(">"),
    builtins.min: _extreme("<"),
    builtins.int: _to_int("float_trunc"),
    builtins.float: _float,
    builtins.bool: truth,
    builtins.round: _to_int("float_round"),
    builtins.pow: _pow,
    builtins.divmod: _divmod,
    builtins.range: _range,
    **{getattr(math, name): _library(name) for name in LIBRARY},
    **{getattr(math, name): _of_float(name) for name in ("isnan", "isinf", "isfinite", "copysign")},
    math.fabs: _of_float("float_abs"),
    math.pow: _of_float("float_pow"),
    math.floor: _to_int("float_floor"),
    math.ceil: _to_int("float_ceil"),
    math.trunc: _to_int("float_trunc"),
    math.log: _log,
    math.radians: _times(math.pi / 180.0),
    math.degrees: _times(180.0 / math.pi),
}
