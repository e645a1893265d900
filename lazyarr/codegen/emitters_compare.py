"""Comparisons, logic, and questions about one value: everything whose result is bool.

In:  operands of one dtype, or a signed and an unsigned integer.   Out: i1 lanes.
Holds: NaN is unordered, unequal to itself, and true.  Complex numbers order by (re, im), and a NaN in
any imaginary part makes the real comparison False (NumPy's order).
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_types import (
    ZERO,
    Fn,
    Rules,
    and_,
    fcmp,
    fcmp_signaling,
    icmp,
    literal,
    not_,
    or_,
    select,
)

Pair = tuple[str, str]


def integer(predicate: str) -> Fn:
    def emit(b: Builder, t: str, x: str, y: str) -> str:
        return icmp(b, t, predicate, x, y)

    return emit


def floating(predicate: str) -> Fn:
    def emit(b: Builder, t: str, x: str, y: str) -> str:
        return fcmp(b, t, predicate, x, y)

    return emit


def boolean(opcode: str, invert: str) -> Fn:
    """Bools compare by logic, which no vector unit has to widen; `invert` names operands to flip."""

    def emit(b: Builder, t: str, x: str, y: str) -> str:
        x = not_(b, x) if "x" in invert else x
        y = not_(b, y) if "y" in invert else y
        return b.op(f"{opcode} {b.ty(t)} {x}, {y}")

    return emit


def mixed(predicate: str, negative: bool) -> Fn:
    """Signed x against unsigned y: `negative` is the answer for a negative x."""

    def emit(b: Builder, t: str, x: str, y: str) -> str:
        below = icmp(b, t, "slt" if negative else "sge", x, ZERO)
        return (or_ if negative else and_)(b, below, icmp(b, t, predicate, x, y))

    return emit


def swapped(fn: Fn) -> Fn:
    def emit(b: Builder, t: str, x: str, y: str) -> str:
        found = fn(b, t, y, x)
        assert isinstance(found, str)
        return found

    return emit


def complex_equal(b: Builder, t: str, x: Pair, y: Pair) -> str:
    return and_(b, fcmp(b, t, "oeq", x[0], y[0]), fcmp(b, t, "oeq", x[1], y[1]))


def complex_not_equal(b: Builder, t: str, x: Pair, y: Pair) -> str:
    return or_(b, fcmp(b, t, "une", x[0], y[0]), fcmp(b, t, "une", x[1], y[1]))


def complex_order(real: str, imaginary: str) -> Fn:
    """Lexicographic: strictly ordered real parts and no NaN beside them, or a tie and the imaginary ones.

    NumPy compares these after a tie only, so elsewhere their NaNs raise no 'invalid'."""

    def emit(b: Builder, t: str, x: Pair, y: Pair) -> str:
        strict = and_(b, fcmp_signaling(b, t, real, x[0], y[0]), fcmp(b, t, "ord", x[1], y[1]))
        tied = fcmp(b, t, "oeq", x[0], y[0])
        left, right = (select(b, t, tied, z[1], ZERO) for z in (x, y))
        return or_(b, strict, and_(b, tied, fcmp_signaling(b, t, imaginary, left, right)))

    return emit


def itruth(b: Builder, t: str, x: str) -> str:
    return icmp(b, t, "ne", x, ZERO)


def ftruth(b: Builder, t: str, x: str) -> str:
    return fcmp(b, t, "une", x, ZERO)


def ctruth(b: Builder, t: str, x: Pair) -> str:
    return or_(b, ftruth(b, t, x[0]), ftruth(b, t, x[1]))


def btruth(b: Builder, t: str, x: str) -> str:
    return x


TRUTH: dict[str, Fn] = {"b": btruth, "i": itruth, "u": itruth, "f": ftruth, "c": ctruth}
"""Kind -> x != 0, as bool() has it."""


def logical(opcode: str) -> dict[str, Fn]:
    def make(truth: Fn) -> Fn:
        def emit(b: Builder, t: str, x: str, y: str) -> str:
            return b.op(f"{opcode} {b.ty('i1')} {truth(b, t, x)}, {truth(b, t, y)}")

        return emit

    return {k: make(truth) for k, truth in TRUTH.items()}


def logical_not() -> dict[str, Fn]:
    def make(truth: Fn) -> Fn:
        def emit(b: Builder, t: str, x: str) -> str:
            found = truth(b, t, x)
            assert isinstance(found, str)
            return not_(b, found)

        return emit

    return {k: make(truth) for k, truth in TRUTH.items()}


def constant(answer: str) -> Fn:
    """No integer is infinite or NaN."""

    def emit(b: Builder, t: str, x: str) -> str:
        return b.splat("i1", answer)

    return emit


def isnan(b: Builder, t: str, x: str) -> str:
    return fcmp(b, t, "uno", x, ZERO)


def _magnitude(predicate: str) -> Fn:
    """|x| against infinity."""

    def emit(b: Builder, t: str, x: str) -> str:
        return fcmp(b, t, predicate, b.intrinsic("fabs", t, (t, x)), b.splat(t, literal(float("inf"))))

    return emit


def either(fn: Fn, opcode: str) -> Fn:
    """A question about a complex number, from the answers for its components."""

    def emit(b: Builder, t: str, x: Pair) -> str:
        return b.op(f"{opcode} {b.ty('i1')} {fn(b, t, x[0])}, {fn(b, t, x[1])}")

    return emit


def _question(fn: Fn, opcode: str, integers: str) -> dict[str, Fn]:
    return {
        "b": constant(integers), "i": constant(integers), "u": constant(integers),
        "f": fn, "c": either(fn, opcode),
    }  # fmt: skip


# signed, unsigned and float predicate; bool opcode, operands to invert; mixed predicate, answer for x < 0
_COMPARISONS: dict[str, tuple[str, str, str, str, str, str, bool]] = {
    "equal": ("eq", "eq", "oeq", "xor", "x", "eq", False),
    "not_equal": ("ne", "ne", "une", "xor", "", "ne", True),
    "less": ("slt", "ult", "olt", "and", "x", "ult", True),
    "less_equal": ("sle", "ule", "ole", "or", "x", "ule", True),
    "greater": ("sgt", "ugt", "ogt", "and", "y", "ugt", False),
    "greater_equal": ("sge", "uge", "oge", "or", "y", "uge", False),
}

_MIRROR = {
    "equal": "equal", "not_equal": "not_equal", "less": "greater", "less_equal": "greater_equal",
    "greater": "less", "greater_equal": "less_equal",
}  # fmt: skip

_COMPLEX: dict[str, Fn] = {
    "equal": complex_equal,
    "not_equal": complex_not_equal,
    "less": complex_order("olt", "olt"),
    "less_equal": complex_order("olt", "ole"),
    "greater": complex_order("ogt", "ogt"),
    "greater_equal": complex_order("ogt", "oge"),
}


def _comparison(name: str) -> dict[str, Fn]:
    signed, unsigned, ordered, opcode, invert, predicate, negative = _COMPARISONS[name]
    mirror = _COMPARISONS[_MIRROR[name]]
    return {
        "b": boolean(opcode, invert),
        "i": integer(signed),
        "u": integer(unsigned),
        "f": floating(ordered),
        "c": _COMPLEX[name],
        "iu": mixed(predicate, negative),
        "ui": swapped(mixed(mirror[5], mirror[6])),
    }


RULES: Rules = {
    **{name: _comparison(name) for name in _COMPARISONS},
    "logical_and": logical("and"),
    "logical_or": logical("or"),
    "logical_xor": logical("xor"),
    "logical_not": logical_not(),
    "isnan": _question(isnan, "or", "false"),
    "isinf": _question(_magnitude("oeq"), "or", "false"),
    "isfinite": _question(_magnitude("one"), "and", "true"),
}
