"""The machine code of each scalar operation, as LLVM IR text.

In:  a `Lines` that is being written, the names of an op's operands.   Out: the name of its result.
Floating-point arithmetic and comparisons are constrained intrinsics: none is moved to where Python would not
execute it, so the CPU's status flags are Python's; ``<`` and its kin raise "invalid" on NaN, as in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lazyarr.scalar.ops import EXACT, LIBRARY

if TYPE_CHECKING:
    from lazyarr.scalar.emit import Lines

Emit = Callable[..., str]

_NEAR, _STRICT = 'metadata !"round.tonearest"', 'metadata !"fpexcept.strict"'
_MAGNITUDE, _INFINITY, _TWO_63 = (1 << 63) - 1, 0x7FF << 52, 0x43E << 52
"""Bits of a float64: all but the sign; infinity; 2**63."""
_SINGLE_NORMAL = (0x3FF - 126) << 52
"""The least normal float32; and 1.5 * 2**-97: added to less than that, it leaves a multiple of 2**-149."""
_SUBNORMALS = f"0x{(0x3FF - 97) << 52 | 1 << 51:016X}"


def called(w: Lines, result: str, name: str, args: str) -> str:
    kinds = [a.split(" ")[0] for a in args.split(", ")]
    w.declare(f"declare {result} @{name}({', '.join(kinds)})")
    return w.op(f"call {result} @{name}({args}) strictfp")


def strict(name: str, rounds: bool = True) -> Emit:
    """A floating-point operation on float64."""
    tail = f", {_NEAR}, {_STRICT}" if rounds else f", {_STRICT}"

    def emit(w: Lines, *args: str) -> str:
        given = ", ".join(f"double {a}" for a in args)
        return called(w, "double", f"llvm.experimental.constrained.{name}.f64", given + tail)

    return emit


def _compare(sign: str, signals: bool) -> Emit:
    def emit(w: Lines, a: str, b: str) -> str:
        name = f"llvm.experimental.constrained.fcmp{'s' if signals and w.signals else ''}.f64"
        return called(w, "i1", name, f'double {a}, double {b}, metadata !"{sign}", {_STRICT}')

    return emit


ADD, SUB, MUL, DIV = map(strict, ("fadd", "fsub", "fmul", "fdiv"))
FLOOR, CEIL, TRUNC, ROUND = (strict(name, rounds=False) for name in ("floor", "ceil", "trunc", "roundeven"))
LESS, GREATER, UNEQUAL = _compare("olt", True), _compare("ogt", True), _compare("une", False)


def to_double(w: Lines, x: str) -> str:
    name = "llvm.experimental.constrained.sitofp.f64.i64"
    return called(w, "double", name, f"i64 {x}, {_NEAR}, {_STRICT}")


def to_single(w: Lines, x: str) -> str:
    """Round to float32.  NumPy converts elements after it has read the flags: an underflow is not told.

    So what is subnormal in float32 is rounded to a multiple of those first: the exact does not underflow."""
    multiple = SUB(w, ADD(w, x, _SUBNORMALS), _SUBNORMALS)
    small = w.op(f"icmp ult i64 {_magnitude(w, x)}, {_SINGLE_NORMAL}")
    signed = called(w, "double", "llvm.copysign.f64", f"double {multiple}, double {x}")
    x = w.op(f"select i1 {small}, double {signed}, double {x}")
    name = "llvm.experimental.constrained.fptrunc.f32.f64"
    return called(w, "float", name, f"double {x}, {_NEAR}, {_STRICT}")


def _magnitude(w: Lines, x: str) -> str:
    bits = w.op(f"bitcast double {x} to i64")
    return w.op(f"and i64 {bits}, {_MAGNITUDE}")


def _against(sign: str, limit: int) -> Emit:
    """Compare a float's size with a limit by its bits, which raises no flag."""
    return lambda w, x: w.op(f"icmp {sign} i64 {_magnitude(w, x)}, {limit}")


NAN, INFINITE, FINITE, TOO_LARGE = (
    _against("ugt", _INFINITY), _against("eq", _INFINITY), _against("ult", _INFINITY),
    _against("uge", _TWO_63),
)  # fmt: skip


def _both(w: Lines, a: str, b: str) -> str:
    return w.op(f"and i1 {a}, {b}")


def _differ(w: Lines, a: str, b: str) -> str:
    return w.op(f"xor i1 {a}, {b}")


# --------------------------------------------------------------------------------------- ints


def _plain(text: str) -> Emit:
    return lambda w, *args: w.op(text.format(*args))


def _checked(name: str) -> Emit:
    def emit(w: Lines, a: str, b: str) -> str:
        pair = "{ i64, i1 }"
        both = called(w, pair, f"llvm.{name}.with.overflow.i64", f"i64 {a}, i64 {b}")
        w.stop_if(w.op(f"extractvalue {pair} {both}, 1"))
        return w.op(f"extractvalue {pair} {both}, 0")

    return emit


_SUB = _checked("ssub")


def _int_abs(w: Lines, a: str) -> str:
    negative = w.op(f"icmp slt i64 {a}, 0")
    return w.op(f"select i1 {negative}, i64 {_SUB(w, '0', a)}, i64 {a}")


def _divides(w: Lines, a: str, b: str) -> None:
    """Stop where an integer division would trap."""
    if b.isdigit() and b != "0":
        return
    least, minus = w.op(f"icmp eq i64 {a}, {-1 << 63}"), w.op(f"icmp eq i64 {b}, -1")
    zero = w.op(f"icmp eq i64 {b}, 0")
    w.stop_if(w.op(f"or i1 {zero}, {_both(w, least, minus)}"))


def _rest(w: Lines, a: str, b: str) -> tuple[str, str]:
    """C's remainder, and whether Python's lies on the other side."""
    rest = w.op(f"srem i64 {a}, {b}")
    some, mixed = w.op(f"icmp ne i64 {rest}, 0"), w.op(f"xor i64 {rest}, {b}")
    return rest, _both(w, some, w.op(f"icmp slt i64 {mixed}, 0"))


def _power_of_two(b: str) -> int | None:
    """Which power a literal is, if it is one."""
    n = int(b) if b.isdigit() else 0
    return n.bit_length() - 1 if n and not n & (n - 1) else None


def _int_floordiv(w: Lines, a: str, b: str) -> str:
    power = _power_of_two(b)
    if power is not None:
        return w.op(f"ashr i64 {a}, {power}")
    _divides(w, a, b)
    _, other = _rest(w, a, b)
    quotient, step = w.op(f"sdiv i64 {a}, {b}"), w.op(f"sext i1 {other} to i64")
    return w.op(f"add i64 {quotient}, {step}")


def _int_mod(w: Lines, a: str, b: str) -> str:
    if _power_of_two(b) is not None:
        return w.op(f"and i64 {a}, {int(b) - 1}")
    _divides(w, a, b)
    rest, other = _rest(w, a, b)
    return w.op(f"add i64 {rest}, {w.op(f'select i1 {other}, i64 {b}, i64 0')}")


def _exact(w: Lines, a: str) -> str:
    raised = w.op(f"add i64 {a}, {EXACT}")
    w.stop_if(w.op(f"icmp ugt i64 {raised}, {2 * EXACT}"))
    return to_double(w, a)


def _int_div(w: Lines, a: str, b: str) -> str:
    w.stop_if(w.op(f"icmp eq i64 {b}, 0"))
    return DIV(w, _exact(w, a), _exact(w, b))


def _int_pow(w: Lines, a: str, b: str) -> str:
    w.calls(POWER)
    pair = "{ i64, i1 }"
    both = w.op(f"call {pair} @power(i64 {a}, i64 {b}) strictfp")
    w.stop_if(w.op(f"extractvalue {pair} {both}, 1"))
    return w.op(f"extractvalue {pair} {both}, 0")


POWER = """
define internal { i64, i1 } @power(i64 %a, i64 %b) nounwind strictfp {
entry:
  %negative = icmp slt i64 %b, 0
  br label %look
look:
  %n = phi i64 [ %b, %entry ], [ %half, %squared ]
  %base = phi i64 [ %a, %entry ], [ %square, %squared ]
  %so.far = phi i64 [ 1, %entry ], [ %product, %squared ]
  %wrong = phi i1 [ %negative, %entry ], [ %beyond, %squared ]
  %done = icmp sle i64 %n, 0
  %leave = or i1 %done, %wrong
  br i1 %leave, label %out, label %step
step:
  %low = and i64 %n, 1
  %odd = icmp ne i64 %low, 0
  %factor = select i1 %odd, i64 %base, i64 1
  %both = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %so.far, i64 %factor)
  %product = extractvalue { i64, i1 } %both, 0
  %over = extractvalue { i64, i1 } %both, 1
  %half = lshr i64 %n, 1
  %last = icmp eq i64 %half, 0
  br i1 %last, label %end, label %squared
end:
  br label %out
squared:
  %again = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %base, i64 %base)
  %square = extractvalue { i64, i1 } %again, 0
  %too = extractvalue { i64, i1 } %again, 1
  %beyond = or i1 %over, %too
  br label %look
out:
  %result = phi i64 [ %so.far, %look ], [ %product, %end ]
  %failed = phi i1 [ %wrong, %look ], [ %over, %end ]
  %one = insertvalue { i64, i1 } undef, i64 %result, 0
  %two = insertvalue { i64, i1 } %one, i1 %failed, 1
  ret { i64, i1 } %two
}
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
"""


def _int_lshift(w: Lines, a: str, n: str) -> str:
    w.stop_if(w.op(f"icmp ugt i64 {n}, 63"))
    moved = w.op(f"shl i64 {a}, {n}")
    w.stop_if(w.op(f"icmp ne i64 {w.op(f'ashr i64 {moved}, {n}')}, {a}"))
    return moved


def _int_rshift(w: Lines, a: str, n: str) -> str:
    w.stop_if(w.op(f"icmp slt i64 {n}, 0"))
    far = w.op(f"icmp ugt i64 {n}, 63")
    return w.op(f"ashr i64 {a}, {w.op(f'select i1 {far}, i64 63, i64 {n}')}")


def _range_length(w: Lines, start: str, stop: str, step: str) -> str:
    w.stop_if(w.op(f"icmp eq i64 {step}, 0"))
    up = w.op(f"icmp sgt i64 {step}, 0")
    low = w.op(f"select i1 {up}, i64 {start}, i64 {stop}")
    high = w.op(f"select i1 {up}, i64 {stop}, i64 {start}")
    by = w.op(f"select i1 {up}, i64 {step}, i64 {w.op(f'sub i64 0, {step}')}")
    some = w.op(f"icmp slt i64 {low}, {high}")
    last = w.op(f"sub i64 {w.op(f'sub i64 {high}, {low}')}, 1")
    whole = w.op(f"add i64 {w.op(f'udiv i64 {last}, {by}')}, 1")
    length = w.op(f"select i1 {some}, i64 {whole}, i64 0")
    w.stop_if(w.op(f"icmp slt i64 {length}, 0"))
    return length


# ------------------------------------------------------------------------------------- floats


def _not_zero(w: Lines, b: str) -> None:
    w.stop_if(w.op(f"icmp eq i64 {_magnitude(w, b)}, 0"))


def _float_div(w: Lines, a: str, b: str) -> str:
    _not_zero(w, b)
    return DIV(w, a, b)


def _library(w: Lines, name: str, *args: str) -> str:
    """A function of the C library, the one that Python calls."""
    return called(w, "double", name, ", ".join(f"double {a}" for a in args))


def _fmod(w: Lines, a: str, b: str) -> tuple[str, str, str]:
    """C's remainder; whether there is any; whether Python's lies on the other side."""
    rest = _library(w, "fmod", a, b)
    some = UNEQUAL(w, rest, "0.0")
    apart = _differ(w, LESS(w, b, "0.0"), LESS(w, rest, "0.0"))
    return rest, some, _both(w, some, apart)


def _copysign(w: Lines, a: str, b: str) -> str:
    return called(w, "double", "llvm.copysign.f64", f"double {a}, double {b}")


def _math_copysign(w: Lines, a: str, b: str) -> str:
    w.stop_if(NAN(w, b))
    return _copysign(w, a, b)


def _float_mod(w: Lines, a: str, b: str) -> str:
    _not_zero(w, b)
    rest, some, other = _fmod(w, a, b)
    moved = ADD(w, rest, w.op(f"select i1 {other}, double {b}, double 0.0"))
    return w.op(f"select i1 {some}, double {moved}, double {_copysign(w, '0.0', b)}")


def _float_floordiv(w: Lines, a: str, b: str) -> str:
    """CPython's `_float_div_mod`."""
    _not_zero(w, b)
    rest, _, other = _fmod(w, a, b)
    quotient = DIV(w, SUB(w, a, rest), b)
    quotient = SUB(w, quotient, w.op(f"select i1 {other}, double 1.0, double 0.0"))
    floor = FLOOR(w, quotient)
    above = GREATER(w, SUB(w, quotient, floor), "0.5")
    floor = ADD(w, floor, w.op(f"select i1 {above}, double 1.0, double 0.0"))
    signs = w.op(f"xor i64 {w.op(f'bitcast double {a} to i64')}, {w.op(f'bitcast double {b} to i64')}")
    zero = _copysign(w, "0.0", w.op(f"bitcast i64 {signs} to double"))
    return w.op(f"select i1 {UNEQUAL(w, quotient, '0.0')}, double {floor}, double {zero}")


def _float_pow(w: Lines, a: str, b: str) -> str:
    result = _library(w, "pow", a, b)
    finite = _both(w, FINITE(w, a), FINITE(w, b))
    w.stop_if(w.op(f"and i1 {finite}, {w.op(f'xor i1 {FINITE(w, result)}, true')}"))
    return result


def _math(name: str) -> Emit:
    """CPython's `math_1` and `math_2`: an error if the result is NaN of numbers, or infinite of finite."""
    stops = LIBRARY[name][1]

    def emit(w: Lines, *given: str) -> str:
        result = _library(w, name, *given)
        if not stops:
            return result
        nan, infinite = NAN(w, result), INFINITE(w, result)
        for x in given:
            nan = _both(w, nan, w.op(f"xor i1 {NAN(w, x)}, true"))
            infinite = _both(w, infinite, FINITE(w, x))
        w.stop_if(w.op(f"or i1 {nan}, {infinite}"))
        return result

    return emit


_EXPONENT, _MANTISSA, _HALF = 0x7FF << 52, (1 << 52) - 1, 0x3FE << 52
"""Bits of a float64's exponent, of its mantissa; of 0.5."""
_LIFTS = f"0x{(0x3FF + 54) << 52:016X}"
"""2**54, by which subnormals become normal."""


def _taken_apart(w: Lines, x: str) -> tuple[str, str]:
    """C's `frexp`, by bits; of zero, infinity and NaN themselves and 0."""
    small = w.op(f"icmp ult i64 {_magnitude(w, x)}, {1 << 52}")
    lifted = MUL(w, x, w.op(f"select i1 {small}, double {_LIFTS}, double 1.0"))
    bits = w.op(f"bitcast double {lifted} to i64")
    biased = w.op(f"lshr i64 {w.op(f'and i64 {bits}, {_EXPONENT}')}, 52")
    exponent = w.op(f"sub i64 {biased}, {w.op(f'select i1 {small}, i64 {0x3FE + 54}, i64 {0x3FE}')}")
    kept = w.op(f"and i64 {bits}, {~_EXPONENT}")
    mantissa = w.op(f"bitcast i64 {w.op(f'or i64 {kept}, {_HALF}')} to double")
    zero = w.op(f"icmp eq i64 {_magnitude(w, x)}, 0")
    itself = w.op(f"or i1 {zero}, {w.op(f'xor i1 {FINITE(w, x)}, true')}")
    return (w.op(f"select i1 {itself}, double {x}, double {mantissa}"),
            w.op(f"select i1 {itself}, i64 0, i64 {exponent}"))  # fmt: skip


def _ldexp(w: Lines, x: str, n: str) -> str:
    """CPython's: the C library's for exponents that are a C int; for lesser ones a zero without flags."""
    above = w.op(f"icmp sgt i64 {n}, {(1 << 31) - 1}")
    below = w.op(f"icmp slt i64 {n}, {-(1 << 31)}")
    beyond = w.op(f"or i1 {above}, {below}")
    short = w.op(f"trunc i64 {w.op(f'select i1 {beyond}, i64 0, i64 {n}')} to i32")
    found = called(w, "double", "ldexp", f"double {x}, i32 {short}")
    finite = FINITE(w, x)
    some = _both(w, finite, w.op(f"icmp ne i64 {_magnitude(w, x)}, 0"))
    w.stop_if(_both(w, some, w.op(f"or i1 {above}, {INFINITE(w, found)}")))
    return w.op(f"select i1 {_both(w, some, below)}, double {_copysign(w, '0.0', x)}, double {found}")


def to_int(w: Lines, x: str) -> str:
    """A float without a fraction as an int."""
    w.stop_if(TOO_LARGE(w, x))
    return called(w, "i64", "llvm.experimental.constrained.fptosi.i64.f64", f"double {x}, {_STRICT}")


def _rounded(how: Emit) -> Emit:
    return lambda w, x: to_int(w, how(w, x))


_INT_SIGNS = {"lt": "slt", "le": "sle", "eq": "eq", "ne": "ne", "gt": "sgt", "ge": "sge"}
_LLVM = {"b": "i1", "i": "i64", "f": "double"}

EMIT: dict[str, Emit] = {
    "not": _plain("xor i1 {0}, true"),
    **{f"bool_{name}": _plain(f"{name} i1 {{0}}, {{1}}") for name in ("and", "or", "xor")},
    **{f"select_{t}": _plain(f"select i1 {{0}}, {x} {{1}}, {x} {{2}}") for t, x in _LLVM.items()},
    "int_add": _checked("sadd"), "int_sub": _SUB, "int_mul": _checked("smul"), "int_div": _int_div,
    "int_floordiv": _int_floordiv, "int_mod": _int_mod, "int_pow": _int_pow,
    "int_neg": lambda w, a: _SUB(w, "0", a), "int_abs": _int_abs, "int_invert": _plain("xor i64 {0}, -1"),
    **{f"int_{name}": _plain(f"{name} i64 {{0}}, {{1}}") for name in ("and", "or", "xor")},
    "int_lshift": _int_lshift, "int_rshift": _int_rshift,
    **{f"int_{name}": _plain(f"icmp {sign} i64 {{0}}, {{1}}") for name, sign in _INT_SIGNS.items()},
    "range_length": _range_length, "int_next": _plain("add i64 {0}, {1}"),
    "float_add": ADD, "float_sub": SUB, "float_mul": MUL, "float_div": _float_div, "float_quotient": DIV,
    "float_floordiv": _float_floordiv, "float_mod": _float_mod, "float_pow": _float_pow,
    "float_neg": _plain("fneg double {0}"),
    "float_abs": lambda w, x: called(w, "double", "llvm.fabs.f64", f"double {x}"),
    **{f"float_{name}": _compare(f"o{name}", True) for name in ("lt", "le", "gt", "ge")},
    "float_eq": _compare("oeq", False), "float_ne": UNEQUAL,
    "float_eq_signaling": _compare("oeq", True), "float_ne_signaling": _compare("une", True),
    "bool_int": _plain("zext i1 {0} to i64"), "int_float": to_double, "int_exact": _exact,
    "float_trunc": _rounded(TRUNC), "float_floor": _rounded(FLOOR), "float_ceil": _rounded(CEIL),
    "float_round": _rounded(ROUND), "isnan": NAN, "isinf": INFINITE, "isfinite": FINITE,
    "float_floored": FLOOR, "float_truncated": TRUNC, "math_ldexp": _ldexp,
    "float_mantissa": lambda w, x: _taken_apart(w, x)[0],
    "float_exponent": lambda w, x: _taken_apart(w, x)[1],
    "copysign": _math_copysign, "tick": lambda w, fuel: w.tick(fuel),
    **{f"math_{name}": _math(name) for name in LIBRARY},
}  # fmt: skip
"""Op -> what writes it."""
