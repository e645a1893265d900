"""Bitwise logic, shifts and population count.

In:  integers or bools.   Out: NumPy's bits.
Holds: a shift count outside [0, width) is never given to LLVM (it would be poison): the result is
then 0, or the sign in every bit for a right shift of a negative number.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_arith import iabs
from lazyarr.codegen.emitters_types import ZERO, Fn, Rules, binary, icmp, not_, select, size_of


def invert(b: Builder, t: str, x: str) -> str:
    return b.op(f"xor {b.ty(t)} {x}, {b.splat(t, '-1')}")


def invert_bool(b: Builder, t: str, x: str) -> str:
    return not_(b, x)


def shift_to_zero(opcode: str) -> Fn:
    """`x` shifted by `n`, 0 for a count out of range; a negative count is out of range unsigned."""

    def emit(b: Builder, t: str, x: str, n: str) -> str:
        inside = icmp(b, t, "ult", n, b.splat(t, str(size_of(t))))
        count = select(b, t, inside, n, ZERO)
        return select(b, t, inside, b.op(f"{opcode} {b.ty(t)} {x}, {count}"), ZERO)

    return emit


def shift_to_sign(b: Builder, t: str, x: str, n: str) -> str:
    """An arithmetic shift by at most all bits but one, which leaves only the sign."""
    most = b.splat(t, str(size_of(t) - 1))
    return b.op(f"ashr {b.ty(t)} {x}, {b.intrinsic('umin', t, (t, n), (t, most))}")


def count(b: Builder, t: str, x: str) -> str:
    """Ones of an unsigned number; at most 64, so the narrowest type holds it."""
    ones = b.intrinsic("ctpop", t, (t, x))
    return ones if t == "i8" else b.op(f"trunc {b.ty(t)} {ones} to {b.ty('i8')}")


def count_signed(b: Builder, t: str, x: str) -> str:
    """NumPy counts the bits of the absolute value."""
    return count(b, t, iabs(b, t, x))


def _logic(opcode: str) -> dict[str, Fn]:
    return dict.fromkeys("biu", binary(opcode))


RULES: Rules = {
    "bitwise_and": _logic("and"),
    "bitwise_or": _logic("or"),
    "bitwise_xor": _logic("xor"),
    "invert": {"b": invert_bool, "i": invert, "u": invert},
    "left_shift": {"i": shift_to_zero("shl"), "u": shift_to_zero("shl")},
    "right_shift": {"i": shift_to_sign, "u": shift_to_zero("lshr")},
    "bitwise_count": {"i": count_signed, "u": count},
}
