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
from lazyarr.scalar.definitions import DEFINED, NORMS, Definition, floored, is_proved, truncated
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
    if isinstance(fn, types.FunctionType) and fn in STEPS:
        return t.emit(STEPS[fn], *args)
    if isinstance(fn, types.FunctionType) and path is not None:
        t.enter(fn, path, _bound(t, fn, path, args, named))
        return None
    shown = str(path) if path else "what is no function"
    ufunc = elements.of_ufunc(fn) if t.scalars else None
    if ufunc is not None and not named:
        return elements.call(t, ufunc, args, shown)
    built_in = isinstance(fn, types.BuiltinFunctionType | type)        # (others may have no `__hash__`)
    if any(isinstance(x, Elem) and not (built_in and fn in OF_SCALARS.get(x.char, OF_ALL)) for x in args):
        raise t.refuse(f"a call of `{shown}` with a NumPy scalar")
    if isinstance(fn, type) and issubclass(fn, BaseException):
        t.stop("an exception")
        return None
    rule, counts = RULES.get(fn, NONE) if built_in else NONE
    if rule is None or not named.keys() <= KEYWORDS.get(fn, NO_KEYWORDS):
        raise t.refuse(f"a call of `{shown}`" + (" by keyword" if rule else ""))
    if len(args) not in counts:
        raise t.refuse(f"`{shown}` with {len(args)} arguments")
    return rule(t, *args, **named)


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


def _whole(t: Tracer, x: Value) -> Num | None:
    """An int, or a bool as one; None for a float, which Python refuses."""
    a = as_int(t, number(t, x, "an integer function"))
    if a.type == "i":
        return a
    t.stop("a float where an int must be")
    return None


def _entered(t: Tracer, of: Any, definition: Definition, args: Sequence[Value], **named: Value) -> None:
    """Go on in the definition of a function."""
    if not is_proved(of, definition):
        raise t.refuse(f"`math.{of.__name__}`, which this Python computes in another way")
    made: list[Value] = []
    for x in args:
        value = _whole(t, x) if definition.kind == "i" else _float(t, x)
        if value is None:
            return
        made.append(value)
    fn: Any = definition.fn
    path = Path("definition", None, fn.__name__)
    keywords: dict[str, Value] = {name: _float(t, x) for name, x in named.items()}
    t.enter(fn, path, _bound(t, fn, path, tuple(made), keywords))


def _by_definition(of: Any) -> Rule:
    def rule(t: Tracer, *args: Value, **named: Value) -> None:
        _entered(t, of, DEFINED[of], args, **named)

    return rule


def _perm(t: Tracer, n: Value, *k: Value) -> None:
    """Of one number it is the factorial."""
    of = math.perm if k and k != (Static(None),) else math.factorial
    _entered(t, of, DEFINED[of], (n, *k) if of is math.perm else (n,))


def _common(of: Any, of_none: int) -> Rule:
    """`gcd` and `lcm`, of no, one, or two ints."""

    def rule(t: Tracer, *args: Value) -> Value | None:
        if len(args) == 2:
            _entered(t, of, DEFINED[of], args)
            return None
        if not args:
            return Const("i", of_none)
        a = _whole(t, args[0])
        return None if a is None else t.emit("int_abs", a)

    return rule


def _hypot(t: Tracer, *args: Value) -> Value | None:
    if not args:
        return Const("f", 0.0)
    _entered(t, math.hypot, NORMS[len(args) - 1], [t.emit("float_abs", _float(t, x)) for x in args])
    return None


def _dist(t: Tracer, p: Value, q: Value) -> Value | None:
    if not isinstance(p, Pack) or not isinstance(q, Pack) or not 0 < len(p.items) <= len(NORMS):
        raise t.refuse(f"`math.dist` of what is no tuples of up to {len(NORMS)} numbers")
    if len(p.items) != len(q.items):
        t.stop("points of different dimensions")
        return None
    apart = [(_float(t, x), _float(t, y)) for x, y in zip(p.items, q.items, strict=True)]
    return _hypot(t, *[t.emit("float_sub", x, y) for x, y in apart])


def _frexp(t: Tracer, x: Value) -> Value:
    a = _float(t, x)
    return Pack((t.emit("float_mantissa", a), t.emit("float_exponent", a)))


def _ldexp(t: Tracer, x: Value, n: Value) -> Value | None:
    a, exponent = _float(t, x), _whole(t, n)
    return None if exponent is None else t.emit("math_ldexp", a, exponent)


def _prod(t: Tracer, x: Value) -> Value | None:
    """The product of a tuple, from an int on."""
    if not isinstance(x, Pack) or any(isinstance(item, Elem) for item in x.items):
        raise t.refuse("`math.prod` of what is no tuple of Python's numbers")
    found: Value | None = Const("i", 1)
    for item in x.items:
        found = binary(t, "*", found, item) if found is not None else None
    return found


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
    **{of: (_by_definition(of), range(each.most, each.most + 1)) for of, each in DEFINED.items()},
    math.gcd: (_common(math.gcd, 0), range(3)),
    math.lcm: (_common(math.lcm, 1), range(3)),
    math.perm: (_perm, ONE_OR_TWO),
    math.hypot: (_hypot, range(len(NORMS) + 1)),
    math.dist: (_dist, TWO),
    math.frexp: (_frexp, ONE),
    math.ldexp: (_ldexp, TWO),
    math.prod: (_prod, ONE),
}
"""Each function's rule, and with how many arguments it is translated."""

KEYWORDS: dict[Any, frozenset[str]] = {math.isclose: frozenset(("rel_tol", "abs_tol"))}
NO_KEYWORDS: frozenset[str] = frozenset()
STEPS: dict[Any, str] = {floored: "float_floored", truncated: "float_truncated"}
"""Functions that are one operation, in definitions."""

_INTS = frozenset((math.floor, math.ceil, math.trunc, builtins.round))
_OF_INTS = frozenset([of for of, each in DEFINED.items() if each.kind == "i"])
OF_ALL = frozenset(RULES) - _INTS - _OF_INTS - {builtins.range, math.ldexp}
"""What is known of all NumPy scalars: of these, most make Python's floats first."""
OF_SCALARS: dict[str, frozenset[Any]] = {
    **dict.fromkeys("bhilBHIL", OF_ALL | _OF_INTS | {builtins.range}),
    "d": OF_ALL | (_INTS - {builtins.round}),
}  # fmt: skip
