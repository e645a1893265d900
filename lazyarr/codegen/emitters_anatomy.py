"""The anatomy of floats: modf, frexp, ldexp, nextafter, spacing.

In:  floats; for ldexp also integers of another width.   Out: NumPy's results, two of frexp and modf.
Numbers are taken apart as the integers that they lie in memory as, so nothing is rounded but by `ldexp`,
once.  What the C library says of a result (it left the range, it is subnormal) is said by raising the flag.
"""

from __future__ import annotations

from collections.abc import Iterator

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_types import (
    ZERO,
    Fn,
    Rules,
    Value,
    and_,
    convert,
    fcmp,
    icmp,
    literal,
    not_,
    or_,
    raise_flag,
    select,
    size_of,
)
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """Where the parts of a number lie."""

    bits: str
    """The integer that is as wide."""
    mantissa: int
    """Bits of it, less the one that is not stored."""
    bias: int
    one: int
    """The bits of 1."""

    @property
    def sign(self) -> int:
        """The sign's bit, as a signed number."""
        return -(1 << size_of(self.bits) - 1)

    @property
    def size(self) -> int:
        """All other bits."""
        return ~self.sign

    @property
    def least(self) -> int:
        """The bits of the least normal number; also 1 in the exponent."""
        return 1 << self.mantissa

    @property
    def infinite(self) -> int:
        return self.size - (self.least - 1)

    @property
    def parts(self) -> int:
        """The bits of sign and mantissa."""
        return ~self.infinite


FORMATS = {
    "half": Format("i16", 10, 15, 15 << 10),
    "float": Format("i32", 23, 127, 127 << 23),
    "double": Format("i64", 52, 1023, 1023 << 52),
}


def _int(b: Builder, f: Format, opcode: str, x: str, y: str | int) -> str:
    """An operation on integers of a format's width, or with a constant."""
    other = y if isinstance(y, str) else b.splat(f.bits, str(y))
    return b.op(f"{opcode} {b.ty(f.bits)} {x}, {other}")


def _is(b: Builder, f: Format, predicate: str, x: str, y: int) -> str:
    return icmp(b, f.bits, predicate, x, b.splat(f.bits, str(y)))


def _choose(b: Builder, f: Format, where: str, x: str | int, y: str | int) -> str:
    yes, no = (v if isinstance(v, str) else b.splat(f.bits, str(v)) for v in (x, y))
    return select(b, f.bits, where, yes, no)


def _held(b: Builder, t: str, x: str, low: int, high: int) -> str:
    low_, high_ = ((t, b.splat(t, str(limit))) for limit in (low, high))
    return b.intrinsic("smin", t, (t, b.intrinsic("smax", t, (t, x), low_)), high_)


def modf(b: Builder, t: str, x: str) -> list[Value]:
    """An infinity has no fraction; a difference would be none either, and raise a flag."""
    f, ty = FORMATS[t], b.ty(t)
    whole = b.intrinsic("trunc", t, (t, x))
    size = _int(b, f, "and", convert(b, "bitcast", t, x, f.bits), f.size)
    endless = _is(b, f, "eq", size, f.infinite)
    rest = b.op(f"fsub {ty} {select(b, t, endless, ZERO, x)}, {select(b, t, endless, ZERO, whole)}")
    return [b.intrinsic("copysign", t, (t, rest), (t, x)), whole]


def registers(b: Builder, *values: tuple[str, str]) -> Iterator[tuple[str, ...]]:
    """Registers of AVX-512 of each (type, value), in order."""
    n = 64 // max(_BYTES.get(t, 0) for t, _ in values)
    for start in range(0, b.width, n):
        order = ", ".join(f"i32 {k}" for k in range(start, start + n))
        yield tuple(
            v if n == b.width
            else b.op(f"shufflevector {b.ty(t)} {v}, {b.ty(t)} poison, <{n} x i32> <{order}>")
            for t, v in values
        )  # fmt: skip


def joined(b: Builder, t: str, parts: list[str]) -> str:
    """Registers side by side."""
    n = b.width // len(parts)
    while len(parts) > 1:
        order = ", ".join(f"i32 {k}" for k in range(2 * n))
        v = f"<{n} x {t}>"
        parts = [
            b.op(f"shufflevector {v} {x}, {v} {y}, <{2 * n} x i32> <{order}>")
            for x, y in zip(parts[::2], parts[1::2], strict=True)
        ]
        n *= 2
    return parts[0]


def avx512(b: Builder, name: str, t: str, *operands: tuple[str, str]) -> str:
    """One of its instructions on parts of numbers, on whole registers; an i32 is a constant of it.

    For all lanes: of a mask LLVM may make a choice among results, when flags are raised."""
    n = 64 // _BYTES[t]
    v, found = f"<{n} x {t}>", []
    wide = [(kind, x) for kind, x in operands if kind != "i32"]
    constants = [(kind, x) for kind, x in operands if kind == "i32"]
    # (The last one: the usual rounding.)
    others = [*constants, (v, "zeroinitializer"), (f"i{n}", "-1"), ("i32", "4")]
    callee = f"{v} @llvm.x86.avx512.mask.{name}.p{'sd'[t == 'double']}.512"
    b.declare(f"declare {callee}({', '.join([v] * len(wide) + [kind for kind, _ in others])})")
    for pieces in registers(b, *wide):
        taken = ", ".join(f"{kind} {x}" for kind, x in [*((v, x) for x in pieces), *others])
        found.append(b.op(f"call {callee}({taken})"))
    return joined(b, t, found)


_BYTES = {"float": 4, "double": 8}


def fills_registers(b: Builder, t: str) -> bool:
    """Are these whole registers of AVX-512, whose instructions for parts of numbers apply?"""
    return b.target.x86 and b.target.vector_bytes == 64 and b.width * _BYTES[t] >= 64


def _taken_apart(b: Builder, t: str, x: str) -> tuple[str, str, str]:
    """The bits of x, its exponent, 1 for numbers from 0.5 to 1, and which numbers have none.

    Subnormal numbers are made normal first."""
    f = FORMATS[t]
    size = _int(b, f, "and", convert(b, "bitcast", t, x, f.bits), f.size)
    tiny = _is(b, f, "ult", size, f.least)
    more = f.mantissa + 2
    factor = select(b, t, tiny, b.splat(t, literal(2.0**more)), b.splat(t, "1.0"))
    bits = convert(b, "bitcast", t, b.op(f"fmul {b.ty(t)} {x}, {factor}"), f.bits)
    field = _int(b, f, "lshr", _int(b, f, "and", bits, f.infinite), f.mantissa)
    exponent = _int(b, f, "sub", field, _choose(b, f, tiny, f.bias - 1 + more, f.bias - 1))
    special = or_(b, _is(b, f, "eq", size, 0), _is(b, f, "uge", size, f.infinite))
    return bits, exponent, special


def frexp(b: Builder, t: str, x: str) -> list[Value]:
    """Zeros, infinities and NaNs have the exponent 0, and stay."""
    f = FORMATS[t]
    if fills_registers(b, t):
        size = _int(b, f, "and", convert(b, "bitcast", t, x, f.bits), f.size)
        special = or_(b, _is(b, f, "eq", size, 0), _is(b, f, "uge", size, f.infinite))
        part = select(b, t, special, x, avx512(b, "getmant", t, (t, x), ("i32", "2")))
        held = select(b, t, special, b.splat(t, "0.5"), x)
        exponent = b.op(f"fadd {b.ty(t)} {avx512(b, 'getexp', t, (t, held))}, {b.splat(t, '1.0')}")
        return [part, convert(b, "fptosi", t, exponent, "i32")]
    bits, exponent, special = _taken_apart(b, t, x)
    half = _int(b, f, "or", _int(b, f, "and", bits, f.parts), f.one - f.least)
    part = select(b, t, special, x, convert(b, "bitcast", f.bits, half, t))
    whole = _choose(b, f, special, 0, exponent)
    return [part, whole if f.bits == "i32" else convert(b, "trunc", f.bits, whole, "i32")]


def ldexp(t: str, count: str) -> Fn:
    """x as a number from 1 to 2, times two powers of two, of which only the second one rounds."""
    f = FORMATS[t]
    least, most = 1 - f.bias, f.bias

    def power(b: Builder, exponent: str) -> str:
        bits = _int(b, f, "shl", _int(b, f, "add", exponent, f.bias), f.mantissa)
        return convert(b, "bitcast", f.bits, bits, t)

    def emit(b: Builder, _t: str, x: str, n: str) -> str:
        if count == "i64" or not fills_registers(b, t):
            n = _held(b, count, n, -3 * f.bias, 3 * f.bias)
        if fills_registers(b, t):
            return avx512(b, "scalef", t, (t, x), (t, convert(b, "sitofp", count, n, t)))
        if count != f.bits:
            n = convert(b, "sext" if size_of(count) < size_of(f.bits) else "trunc", count, n, f.bits)
        bits, exponent, special = _taken_apart(b, t, x)
        unit = _int(b, f, "or", _int(b, f, "and", bits, f.parts), f.one)
        wanted = _int(b, f, "add", _int(b, f, "sub", exponent, 1), n)
        wanted = _choose(b, f, special, 0, _held(b, f.bits, wanted, least - f.mantissa - 4, most + 2))
        first = _held(b, f.bits, wanted, least, most)
        near = b.op(f"fmul {b.ty(t)} {convert(b, 'bitcast', f.bits, unit, t)}, {power(b, first)}")
        found = b.op(f"fmul {b.ty(t)} {near}, {power(b, _int(b, f, 'sub', wanted, first))}")
        return select(b, t, special, x, found)

    return emit


def _left_the_range(b: Builder, f: Format, size: str, where: str) -> None:
    """Raise what the C library raises for a neighbour of this size."""
    raise_flag(b, "overflow", and_(b, where, _is(b, f, "eq", size, f.infinite)))
    raise_flag(b, "underflow", and_(b, where, _is(b, f, "ult", size, f.least)))


def nextafter(b: Builder, t: str, x: str, y: str) -> str:
    f = FORMATS[t]
    a, c = (convert(b, "bitcast", t, v, f.bits) for v in (x, y))
    nan, equal = fcmp(b, t, "uno", x, y), fcmp(b, t, "oeq", x, y)
    away = b.op(f"xor {b.ty('i1')} {fcmp(b, t, 'olt', x, y)}, {_is(b, f, 'slt', a, 0)}")
    moved = _int(b, f, "add", a, _choose(b, f, away, 1, -1))
    smallest = _int(b, f, "or", _int(b, f, "and", c, f.sign), 1)
    zero = _is(b, f, "eq", _int(b, f, "and", a, f.size), 0)
    moved = _choose(b, f, zero, smallest, moved)
    moves = not_(b, or_(b, nan, equal))
    _left_the_range(b, f, _int(b, f, "and", moved, f.size), moves)
    stays = select(b, t, fcmp(b, t, "uno", x, x), x, y)
    return select(b, t, moves, convert(b, "bitcast", f.bits, moved, t), stays)


def spacing(b: Builder, t: str, x: str) -> str:
    """The difference to the neighbour that is further from zero, with the sign of x; no NaN is made by it.

    NumPy calls zero's neighbours no underflow, but those of other tiny numbers."""
    f = FORMATS[t]
    a = convert(b, "bitcast", t, x, f.bits)
    size = _int(b, f, "and", a, f.size)
    step = _choose(b, f, _is(b, f, "eq", size, f.infinite), 1 << f.mantissa - 1, 1)
    moved = _choose(b, f, _is(b, f, "eq", size, 0), 1, _int(b, f, "add", a, step))
    _left_the_range(b, f, _int(b, f, "add", size, step), fcmp(b, t, "one", x, b.splat(t, "0.0")))
    return b.op(f"fsub {b.ty(t)} {convert(b, 'bitcast', f.bits, moved, t)}, {x}")


def nextafter_half(b: Builder, t: str, x: str, y: str) -> str:
    """Of two equal numbers NumPy returns the first one here, and tells of overflows only."""
    f = FORMATS[t]
    a, c = (convert(b, "bitcast", t, v, f.bits) for v in (x, y))
    size, other = (_int(b, f, "and", v, f.size) for v in (a, c))
    nan = or_(b, _is(b, f, "ugt", size, f.infinite), _is(b, f, "ugt", other, f.infinite))
    zero = _is(b, f, "eq", size, 0)
    equal = or_(b, icmp(b, f.bits, "eq", a, c), and_(b, zero, _is(b, f, "eq", other, 0)))
    opposite = _is(b, f, "slt", _int(b, f, "xor", a, c), 0)
    back = or_(b, opposite, icmp(b, f.bits, "ugt", size, other))
    moved = _int(b, f, "add", a, _choose(b, f, back, -1, 1))
    moved = _choose(b, f, zero, _int(b, f, "or", _int(b, f, "and", c, f.sign), 1), moved)
    moved = _choose(b, f, equal, a, moved)
    over = and_(b, _is(b, f, "eq", _int(b, f, "and", moved, f.size), f.infinite), not_(b, nan))
    raise_flag(b, "overflow", and_(b, over, _is(b, f, "ult", size, f.infinite)))
    return convert(b, "bitcast", f.bits, _choose(b, f, nan, f.infinite | f.least >> 1, moved), t)


def spacing_half(b: Builder, t: str, x: str) -> str:
    """Always positive, and in the interval towards +infinity: of a negative power of two the smaller one.
    NumPy calls that of the largest number infinite, of what is not finite invalid."""
    f = FORMATS[t]
    a = convert(b, "bitcast", t, x, f.bits)
    size = _int(b, f, "and", a, f.size)
    boundary = and_(b, _is(b, f, "slt", a, 0), _is(b, f, "eq", _int(b, f, "and", a, f.least - 1), 0))
    less = _int(b, f, "add", convert(b, "zext", "i1", boundary, f.bits), f.mantissa)
    exponent = _int(b, f, "lshr", size, f.mantissa)
    normal = _int(b, f, "shl", _int(b, f, "sub", exponent, less), f.mantissa)
    places = _held(b, f.bits, _int(b, f, "sub", exponent, _int(b, f, "sub", less, f.mantissa - 1)), 0, 15)
    tiny = b.op(f"shl {b.ty(f.bits)} {b.splat(f.bits, '1')}, {places}")
    found = _choose(b, f, icmp(b, f.bits, "ugt", exponent, less), normal, tiny)
    none, last = _is(b, f, "uge", size, f.infinite), _is(b, f, "eq", a, f.infinite - 1)
    raise_flag(b, "invalid", none)
    raise_flag(b, "overflow", last)
    found = _choose(b, f, last, f.infinite, found)
    return convert(b, "bitcast", f.bits, _choose(b, f, none, f.infinite | f.least >> 1, found), t)


RULES: Rules = {
    "modf": {"f": modf},
    "frexp": {"f": frexp},
    "ldexp": {
        sig: ldexp(t, count)
        for sig, t, count in (
            ("di", "double", "i32"), ("dl", "double", "i64"), ("fi", "float", "i32"), ("fl", "float", "i64"),
        )
    },
    "nextafter": {"f": nextafter, "e": nextafter_half},
    "spacing": {"f": spacing, "e": spacing_half},
}  # fmt: skip
