"""Arithmetic, rounding and the sign family.

In:  operands of one dtype.   Out: NumPy's bits: integers wrap, floats round to nearest even.
"""

from __future__ import annotations

import math

import numpy

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_types import (
    ZERO,
    Fn,
    Rules,
    Value,
    binary,
    bits_of,
    convert,
    fcmp,
    fdiv,
    icmp,
    intrinsic,
    literal,
    same,
    select,
)


def componentwise(fn: Fn) -> Fn:
    """A complex op that is a real one on each component."""

    def emit(b: Builder, t: str, *operands: tuple[str, str]) -> Value:
        re = fn(b, t, *(x[0] for x in operands))
        im = fn(b, t, *(x[1] for x in operands))
        assert isinstance(re, str) and isinstance(im, str)
        return re, im

    return emit


def fneg(b: Builder, t: str, x: str) -> str:
    return b.op(f"fneg {b.ty(t)} {x}")


def ineg(b: Builder, t: str, x: str) -> str:
    return b.op(f"sub {b.ty(t)} {ZERO}, {x}")


def iabs(b: Builder, t: str, x: str) -> str:
    """The most negative integer stays as it is, as in NumPy."""
    return b.intrinsic("smax", t, (t, x), (t, ineg(b, t, x)))


def conjugate(b: Builder, t: str, x: tuple[str, str]) -> Value:
    return x[0], fneg(b, t, x[1])


def square(opcode: str) -> Fn:
    def emit(b: Builder, t: str, x: str) -> str:
        return b.op(f"{opcode} {b.ty(t)} {x}, {x}")

    return emit


def reciprocal(b: Builder, t: str, x: str) -> str:
    return fdiv(b, t, b.splat(t, "1.0"), x)


def isign(b: Builder, t: str, x: str) -> str:
    """(x > 0) - (x < 0)"""
    high = b.intrinsic("smin", t, (t, x), (t, b.splat(t, "1")))
    return b.intrinsic("smax", t, (t, high), (t, b.splat(t, "-1")))


def usign(b: Builder, t: str, x: str) -> str:
    return b.intrinsic("umin", t, (t, x), (t, b.splat(t, "1")))


def fsign(b: Builder, t: str, x: str) -> str:
    """±1 by the sign; what is left is a zero, which becomes +0, or a NaN, which stays: x + 0."""
    one = b.intrinsic("copysign", t, (t, b.splat(t, "1.0")), (t, x))
    rest = b.op(f"fadd {b.ty(t)} {x}, {ZERO}")
    return select(b, t, fcmp(b, t, "one", x, ZERO), one, rest)


def heaviside(b: Builder, t: str, x: str, h: str) -> str:
    step = select(b, t, fcmp(b, t, "ogt", x, ZERO), b.splat(t, "1.0"), ZERO)
    step = select(b, t, fcmp(b, t, "uno", x, x), x, step)
    return select(b, t, fcmp(b, t, "oeq", x, ZERO), h, step)


def scaled(factors: dict[str, float]) -> Fn:
    """Times a constant that NumPy rounds to the loop's type first."""

    def emit(b: Builder, t: str, x: str) -> str:
        return b.op(f"fmul {b.ty(t)} {x}, {b.splat(t, literal(factors[t]))}")

    return emit


def _bitwise(opcode: str, mask: str) -> Fn:
    """A float16 op on the sign bit, done on the integer that it is stored as."""

    def emit(b: Builder, t: str, x: str) -> str:
        whole = bits_of(t)
        masked = b.op(f"{opcode} {b.ty(whole)} {convert(b, 'bitcast', t, x, whole)}, {b.splat(whole, mask)}")
        return convert(b, "bitcast", whole, masked, t)

    return emit


def copysign_half(b: Builder, t: str, x: str, y: str) -> str:
    ty = b.ty("i16")
    size = b.op(f"and {ty} {convert(b, 'bitcast', t, x, 'i16')}, {b.splat('i16', '32767')}")
    sign = b.op(f"and {ty} {convert(b, 'bitcast', t, y, 'i16')}, {b.splat('i16', '-32768')}")
    return convert(b, "bitcast", "i16", b.op(f"or {ty} {size}, {sign}"), t)


def signbit(b: Builder, t: str, x: str) -> str:
    whole = bits_of(t)
    return icmp(b, whole, "slt", convert(b, "bitcast", t, x, whole), ZERO)


_ADD, _SUB, _MUL = binary("add"), binary("sub"), binary("mul")
_FADD, _FSUB = binary("fadd"), binary("fsub")
_PI = numpy.float32(math.pi)
_RADIANS = {"double": math.pi / 180.0, "float": float(_PI / numpy.float32(180))}
_DEGREES = {"double": 180.0 / math.pi, "float": float(numpy.float32(180) / _PI)}


def _rounding(name: str) -> dict[str, Fn]:
    return {"b": same, "i": same, "u": same, "f": intrinsic(name)}


RULES: Rules = {
    "add": {"b": binary("or"), "i": _ADD, "u": _ADD, "f": _FADD, "c": componentwise(_FADD)},
    "subtract": {"i": _SUB, "u": _SUB, "f": _FSUB, "c": componentwise(_FSUB)},
    "multiply": {"b": binary("and"), "i": _MUL, "u": _MUL, "f": binary("fmul")},
    "divide": {"f": fdiv},
    "negative": {
        "i": ineg, "u": ineg, "f": fneg, "e": _bitwise("xor", "-32768"), "c": componentwise(fneg),
    },
    "same": {"i": same, "u": same, "e": same, "f": same, "c": same},
    "conjugate": {"i": same, "u": same, "e": same, "f": same, "c": conjugate},
    "absolute": {
        "b": same, "i": iabs, "u": same, "f": intrinsic("fabs"), "e": _bitwise("and", "32767"),
    },
    "square": {"i": square("mul"), "u": square("mul"), "f": square("fmul")},
    "reciprocal": {"f": reciprocal},
    "sqrt": {"f": intrinsic("sqrt")},
    "sign": {"i": isign, "u": usign, "f": fsign},
    "heaviside": {"f": heaviside},
    "to_radians": {"f": scaled(_RADIANS)},
    "to_degrees": {"f": scaled(_DEGREES)},
    "copysign": {"f": intrinsic("copysign"), "e": copysign_half},
    "signbit": {"f": signbit, "e": signbit},
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "rint": _rounding("rint"),
}  # fmt: skip
