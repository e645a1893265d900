"""Integer division: floor_divide, remainder, fmod, divmod.

In:  two integers of one dtype.   Out: NumPy's results: floor semantics (fmod: truncation), x // 0 and
x % 0 are 0 with the 'divide' status set, MIN // -1 is MIN with 'overflow' set, MIN % -1 is 0.

Vector units do not divide integers.  Up to 32 bits the quotient is taken in floating point, exactly:
with n-bit operands x / y is either an integer or at least 1/|y| away from one, while rounding
moves it by less than 2**(n - p) / |y| for a p-bit significand (n = 16, p = 24; n = 32, p = 53).
So the floor of the rounded quotient is the floor of the true one, and x - q * y is exact as well.
64 bits go through the scalar divider, whose traps (0 and MIN / -1) are guarded, or where the vector
unit converts 64-bit lanes, through estimates of the quotient that are corrected exactly.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_arith import iabs
from lazyarr.codegen.emitters_types import (
    ZERO,
    Fn,
    Rules,
    Value,
    and_,
    convert,
    fdiv,
    icmp,
    literal,
    or_,
    raise_flag,
    select,
    size_of,
)

_MIN = {"i8": -(2**7), "i16": -(2**15), "i32": -(2**31), "i64": -(2**63)}


class Division:
    """One x / y on its way: the guarded operands, and quotient and remainder when asked for.

    `floor` is how NumPy's function rounds; unsigned numbers need no distinction.
    """

    def __init__(self, b: Builder, t: str, signed: bool, floor: bool, x: str, y: str) -> None:
        self.b, self.t, self.signed, self.floor, self.x = b, t, signed, floor and signed, x
        self.by_zero = icmp(b, t, "eq", y, ZERO)
        raise_flag(b, "divide", self.by_zero)
        self.by_minus_one = icmp(b, t, "eq", y, b.splat(t, "-1")) if signed else ""
        unsafe = or_(b, self.by_zero, self.by_minus_one) if signed else self.by_zero
        self.y = select(b, t, unsafe, b.splat(t, "1"), y)
        """The divisor, or 1 in place of 0 and -1: their remainder is 0 either way."""

    def raise_overflow(self) -> None:
        if self.signed:
            least = icmp(self.b, self.t, "eq", self.x, self.b.splat(self.t, str(_MIN[self.t])))
            raise_flag(self.b, "overflow", and_(self.b, least, self.by_minus_one))

    def finish(self, quotient: str) -> str:
        """The quotient by the guarded divisor, corrected where the divisor was 0 or -1."""
        b, t = self.b, self.t
        if self.signed:
            opposite = b.op(f"sub {b.ty(t)} {ZERO}, {self.x}")
            quotient = select(b, t, self.by_minus_one, opposite, quotient)
        return select(b, t, self.by_zero, ZERO, quotient)

    def parts(self) -> tuple[str, str]:
        """Quotient and remainder by the guarded divisor."""
        return self.wide() if self.t == "i64" else self.floating()

    def floating(self) -> tuple[str, str]:
        """Up to 32 bits: divide, round and multiply back in floating point, without any rounding error.

        8 and 16 bits travel as int32, the only integer that every vector unit converts."""
        b, narrow = self.b, size_of(self.t) < 32
        f, t = ("float", "i32") if narrow else ("double", self.t)
        letter = "s" if self.signed or narrow else "u"
        x, y = (
            convert(b, f"{letter}itofp", t, self.widened(v) if narrow else v, f) for v in (self.x, self.y)
        )
        whole = b.intrinsic("floor" if self.floor else "trunc", f, (f, fdiv(b, f, x, y)))
        rest = b.op(f"fsub {b.ty(f)} {x}, {b.op(f'fmul {b.ty(f)} {whole}, {y}')}")
        q, r = (convert(b, f"fpto{letter}i", f, v, t) for v in (whole, rest))
        if narrow:
            q, r = (convert(b, "trunc", t, v, self.t) for v in (q, r))
        return q, r

    def widened(self, v: str) -> str:
        return convert(self.b, "sext" if self.signed else "zext", self.t, v, "i32")

    def wide(self) -> tuple[str, str]:
        """64 bits: truncate; where signs differ and something is left, floor is one less."""
        b, ty = self.b, self.b.ty(self.t)
        q, r = self.estimated() if b.width and "+avx512dq" in b.target.features else self.scalar()
        if not self.floor:
            return q, r
        differ = icmp(b, self.t, "slt", b.op(f"xor {ty} {r}, {self.y}"), ZERO)
        down = and_(b, differ, icmp(b, self.t, "ne", r, ZERO))
        less = b.op(f"sext {b.ty('i1')} {down} to {ty}")
        return b.op(f"add {ty} {q}, {less}"), b.op(f"add {ty} {r}, {b.op(f'and {ty} {less}, {self.y}')}")

    def scalar(self) -> tuple[str, str]:
        b, ty = self.b, self.b.ty(self.t)
        q = b.op(f"{'s' if self.signed else 'u'}div {ty} {self.x}, {self.y}")
        return q, b.op(f"sub {ty} {self.x}, {b.op(f'mul {ty} {q}, {self.y}')}")

    def estimated(self) -> tuple[str, str]:
        """Vectors, where the hardware converts and multiplies 64-bit lanes: two estimates from below.

        On magnitudes.  The reciprocal is taken 2**-50 too small, more than the four roundings of an
        estimate add up to, so no estimate exceeds the quotient (and none overflows).  The first leaves
        less than 2**15 times the divisor, the second less than twice: one comparison ends it."""
        b, t, ty = self.b, self.t, self.b.ty(self.t)
        x, y = (iabs(b, t, v) if self.signed else v for v in (self.x, self.y))
        below_one = b.splat("double", literal(1.0 - 2.0**-50))
        inverse = b.op(f"fdiv {b.ty('double')} {below_one}, {convert(b, 'uitofp', t, y, 'double')}")
        q, r = ZERO, x
        for _ in range(2):
            guess = b.op(f"fmul {b.ty('double')} {convert(b, 'uitofp', t, r, 'double')}, {inverse}")
            step = convert(b, "fptoui", "double", guess, t)
            q = b.op(f"add {ty} {q}, {step}")
            r = b.op(f"sub {ty} {r}, {b.op(f'mul {ty} {step}, {y}')}")
        short = icmp(b, t, "uge", r, y)
        q = b.op(f"sub {ty} {q}, {convert(b, 'sext', 'i1', short, t)}")
        r = b.op(f"sub {ty} {r}, {select(b, t, short, y, ZERO)}")
        if self.signed:
            q = self.negated(icmp(b, t, "slt", b.op(f"xor {ty} {self.x}, {self.y}"), ZERO), q)
            r = self.negated(icmp(b, t, "slt", self.x, ZERO), r)
        return q, r

    def negated(self, where: str, v: str) -> str:
        return select(self.b, self.t, where, self.b.op(f"sub {self.b.ty(self.t)} {ZERO}, {v}"), v)


def floor_divide(signed: bool) -> Fn:
    def emit(b: Builder, t: str, x: str, y: str) -> str:
        division = Division(b, t, signed, True, x, y)
        division.raise_overflow()
        return division.finish(division.parts()[0])

    return emit


def remainder(signed: bool, floor: bool) -> Fn:
    def emit(b: Builder, t: str, x: str, y: str) -> str:
        return Division(b, t, signed, floor, x, y).parts()[1]

    return emit


def divmod_(signed: bool) -> Fn:
    def emit(b: Builder, t: str, x: str, y: str) -> list[Value]:
        division = Division(b, t, signed, True, x, y)
        division.raise_overflow()
        quotient, rest = division.parts()
        return [division.finish(quotient), rest]

    return emit


RULES: Rules = {
    "floor_divide": {"i": floor_divide(True), "u": floor_divide(False)},
    "remainder": {"i": remainder(True, True), "u": remainder(False, True)},
    "fmod": {"i": remainder(True, False), "u": remainder(False, False)},
    "divmod": {"i": divmod_(True), "u": divmod_(False)},
}
