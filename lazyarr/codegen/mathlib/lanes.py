"""The language that functions are written in: real numbers, integers and conditions in lanes.

In:  Python expressions over `Real`, `Bits` and `Mask`.   Out: instructions in a `Builder`, at its width.
Lanes are of one precision, float64 or float32; a function is written once for both, with tables for each.
Holds: one definition gives the same bits at every width and on every CPU level.  Each operation is one
correctly rounded IEEE operation, or is exact:

    a + b, a * b, ...      rounded once each, never contracted
    a.times(b, plus)       a * b + plus where the product is exact: fused or not, it is rounded once

`arithmetic` has those that take several instructions on some level, `lookup` has tables.

Flags are nobody's business here: whoever calls a function's code saves and sets them (`loop`).
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_types import literal
from lazyarr.codegen.mathlib import registers, tables
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class Precision:
    """What definitions need to know of a floating-point format."""

    real: str
    bits: str
    size: int
    """Bytes."""
    mantissa: int
    """Bits of a mantissa, less the one that is not stored."""
    suffix: str
    """Of the names of its tables."""

    @property
    def magic(self) -> float:
        """What rounds to an integer when added: the integer is in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa

    @property
    def bias(self) -> int:
        return 1023 if self.size == 8 else 127

    @property
    def least(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign(self) -> int:
        """The sign's bit."""
        return 1 << (8 * self.size - 1)

    @property
    def half_root(self) -> int:
        """Less half a number's bits: those of half its root's reciprocal, within 4 %."""
        return int((1.5 * (self.bias - 0.045) - 1) * 2.0**self.mantissa)

    @property
    def exponent(self) -> int:
        """The bits of sign and exponent."""
        return (2 * self.sign - 1) & -(1 << self.mantissa)


DOUBLE = Precision("double", "i64", 8, 52, "")
SINGLE = Precision("float", "i32", 4, 23, "_F")


@dataclass(frozen=True, slots=True)
class Mask:
    """A condition in every lane."""

    on: Lanes
    name: str

    def __and__(self, other: Mask) -> Mask:
        return self._op("and", other.name)

    def __xor__(self, other: Mask) -> Mask:
        return self._op("xor", other.name)

    def __or__(self, other: Mask) -> Mask:
        return self._op("or", other.name)

    def __invert__(self) -> Mask:
        return self._op("xor", self.on.b.splat("i1", "true"))

    def _op(self, opcode: str, other: str) -> Mask:
        b = self.on.b
        return Mask(self.on, b.op(f"{opcode} {b.ty('i1')} {self.name}, {other}"))

    def real(self, yes: Real | float, no: Real | float) -> Real:
        """`yes` where it holds, else `no`."""
        b = self.on.b
        ty = b.ty(self.on.p.real)
        yes, no = self.on.real(yes), self.on.real(no)
        return Real(self.on, b.op(f"select {b.ty('i1')} {self.name}, {ty} {yes.name}, {ty} {no.name}"))

    def bits(self, yes: Bits | int, no: Bits | int) -> Bits:
        b = self.on.b
        ty = b.ty(self.on.p.bits)
        yes, no = self.on.bits(yes), self.on.bits(no)
        return Bits(self.on, b.op(f"select {b.ty('i1')} {self.name}, {ty} {yes.name}, {ty} {no.name}"))


@dataclass(frozen=True, slots=True)
class Bits:
    """An integer as wide as a number in every lane; it wraps."""

    on: Lanes
    name: str

    def _op(self, opcode: str, other: Bits | int) -> Bits:
        b = self.on.b
        return Bits(self.on, b.op(f"{opcode} {b.ty(self.on.p.bits)} {self.name}, {self.on.bits(other).name}"))

    def _compare(self, predicate: str, other: Bits | int) -> Mask:
        b = self.on.b
        return Mask(
            self.on, b.op(f"icmp {predicate} {b.ty(self.on.p.bits)} {self.name}, {self.on.bits(other).name}")
        )

    def __add__(self, other: Bits | int) -> Bits:
        return self._op("add", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._op("sub", other)

    def __mul__(self, other: Bits | int) -> Bits:
        return self._op("mul", other)

    def __and__(self, other: Bits | int) -> Bits:
        return self._op("and", other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._op("or", other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._op("xor", other)

    def __lshift__(self, other: Bits | int) -> Bits:
        return self._op("shl", other)

    def __rshift__(self, other: Bits | int) -> Bits:
        """Zeros come in from the left."""
        return self._op("lshr", other)

    def shifted(self, places: int) -> Bits:
        """To the right, keeping the sign."""
        return self._op("ashr", places)

    def least(self, other: Bits) -> Bits:
        """The lesser one, as signed numbers."""
        t = self.on.p.bits
        return Bits(self.on, self.on.b.intrinsic("smin", t, (t, self.name), (t, other.name)))

    def at_least(self, other: Bits | int) -> Mask:
        """As unsigned numbers."""
        return self._compare("uge", other)

    def is_(self, other: Bits | int) -> Mask:
        return self._compare("eq", other)

    def differs(self, other: Bits | int) -> Mask:
        return self._compare("ne", other)

    def negative(self) -> Mask:
        return self._compare("slt", 0)

    def exponent(self) -> Real:
        """The bits of sign and exponent as a signed number."""
        b, p = self.on.b, self.on.p
        if p is SINGLE or b.target.vector_bytes == 64:
            shifted = self.shifted(p.mantissa).name
            return Real(self.on, b.op(f"sitofp {b.ty(p.bits)} {shifted} to {b.ty(p.real)}"))
        biased = (self + (1024 << 52)) >> 52
        return (biased | 0x4330000000000000).real - (2.0**52 + 1024)

    @property
    def real(self) -> Real:
        """The number that has these bits."""
        b = self.on.b
        return Real(self.on, b.op(f"bitcast {b.ty(self.on.p.bits)} {self.name} to {b.ty(self.on.p.real)}"))


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point number in every lane."""

    on: Lanes
    name: str
    double: Real | None = None
    """Of float32: the same number, if it was computed in float64."""

    def _op(self, opcode: str, left: Real | float, right: Real | float) -> Real:
        on = self.on
        left, right = on.real(left), on.real(right)
        return Real(on, on.b.op(f"{opcode} {on.b.ty(self.on.p.real)} {left.name}, {right.name}"))

    def _compare(self, predicate: str, other: Real | float) -> Mask:
        on = self.on
        return Mask(
            on, on.b.op(f"fcmp {predicate} {on.b.ty(self.on.p.real)} {self.name}, {on.real(other).name}")
        )

    def __add__(self, other: Real | float) -> Real:
        return self._op("fadd", self, other)

    def __radd__(self, other: float) -> Real:
        return self._op("fadd", other, self)

    def __sub__(self, other: Real | float) -> Real:
        return self._op("fsub", self, other)

    def __rsub__(self, other: float) -> Real:
        return self._op("fsub", other, self)

    def __mul__(self, other: Real | float) -> Real:
        return self._op("fmul", self, other)

    def __rmul__(self, other: float) -> Real:
        return self._op("fmul", other, self)

    def __truediv__(self, other: Real | float) -> Real:
        return self._op("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Real:
        return self._op("fdiv", other, self)

    def __neg__(self) -> Real:
        on = self.on
        return Real(on, on.b.op(f"fneg {on.b.ty(self.on.p.real)} {self.name}"))

    def __abs__(self) -> Real:
        return self.on.call("fabs", self)

    def __lt__(self, other: Real | float) -> Mask:
        return self._compare("olt", other)

    def __le__(self, other: Real | float) -> Mask:
        return self._compare("ole", other)

    def __gt__(self, other: Real | float) -> Mask:
        return self._compare("ogt", other)

    def __ge__(self, other: Real | float) -> Mask:
        return self._compare("oge", other)

    def is_(self, other: Real | float) -> Mask:
        return self._compare("oeq", other)

    def below(self, limit: float) -> Mask:
        return self._compare("olt", limit)

    def outside(self, limit: Real | float) -> Mask:
        """At least as large as the limit, or a NaN."""
        return self._compare("uge", limit)

    def nan(self) -> Mask:
        return self._compare("uno", self)

    @property
    def wide(self) -> Real:
        """The same number in float64."""
        if self.double is not None:
            return self.double
        b, on = self.on.b, self.on.wide
        return Real(on, b.op(f"fpext {b.ty(self.on.p.real)} {self.name} to {b.ty(on.p.real)}"))

    @property
    def narrow(self) -> Real:
        """Rounded to float32."""
        b, on = self.on.b, Lanes(self.on.b, SINGLE, self.on.fused, self.on.doubts)
        return Real(on, b.op(f"fptrunc {b.ty(self.on.p.real)} {self.name} to {b.ty(on.p.real)}"))

    def odd(self, either: bool = False) -> Mask:
        """Is it no positive normal number, or, of either sign, no normal number?"""
        on, p = self.on, self.on.p
        if on.full:
            return Mask(on, registers.odd(self, either))
        least, infinite = 1 << p.mantissa, p.exponent & ~p.sign
        return ((abs(self) if either else self).bits - least).at_least(infinite - least)

    def floor_log2(self) -> Real:
        """The exponent of a positive normal number; in AVX-512 of negative ones, too, and infinite of 0 and
        infinity."""
        if self.on.full:
            return Real(self.on, registers.part("getexp", self))
        p = self.on.p
        return (self.bits - (p.bias << p.mantissa)).exponent()

    def fraction(self) -> Real:
        """A normal number less its exponent and its sign: from 1 to 2."""
        if self.on.full:
            return Real(self.on, registers.part("getmant", self, 4))
        p = self.on.p
        return ((self.bits & (1 << p.mantissa) - 1) | self.on.real(1.0).bits).real

    def times(self, factor: Real | float, plus: Real | float) -> Real:
        """self * factor + plus, where the product is exact."""
        on = self.on
        if on.b.target.fma:
            return on.call("fma", self, factor, plus)
        return self * factor + plus

    def sqrt(self) -> Real:
        return self.on.call("sqrt", self)

    def signed(self, sign: Real) -> Real:
        """The size of this with the sign of another."""
        return self.on.call("copysign", self, sign)

    def times_sign(self, sign: Real) -> Real:
        """This, negated where the other one has a sign."""
        return (self.bits ^ (sign.bits & self.on.p.sign)).real

    @property
    def bits(self) -> Bits:
        b = self.on.b
        return Bits(self.on, b.op(f"bitcast {b.ty(self.on.p.real)} {self.name} to {b.ty(self.on.p.bits)}"))


Raised = dict[str, Mask]
"""Category of errstate -> the lanes that raise it."""


class Lanes:
    """One piece of straight-line code: makes constants, and what is no operator."""

    def __init__(
        self, b: Builder, p: Precision = DOUBLE, fused: bool = True, doubts: list[Bits] | None = None
    ) -> None:
        self.b, self.p, self.fused = b, p, fused
        self.doubts = doubts
        """Where emulated operations in float32 may be quick, and note where they may be wrong
        (`arithmetic.doubtful`)."""

    @property
    def wide(self) -> Lanes:
        """The same lanes in float64."""
        return Lanes(self.b, DOUBLE, self.fused, self.doubts)

    def table(self, name: str) -> Any:
        """Constants for this precision."""
        return getattr(tables, name + self.p.suffix)

    def constant(self, x: float) -> str:
        return literal(float(numpy.float32(x)) if self.p is SINGLE else float(x))

    def real(self, x: Real | float) -> Real:
        return x if isinstance(x, Real) else Real(self, self.b.splat(self.p.real, self.constant(x)))

    def bits(self, x: Bits | int) -> Bits:
        if isinstance(x, Bits):
            return x
        return Bits(self, self.b.splat(self.p.bits, str(x - 2 * self.p.sign if x >= self.p.sign else x)))

    def power_of_two(self, exponent: Bits) -> Real:
        """2 to an exponent of a normal number."""
        return ((exponent + self.p.bias) << self.p.mantissa).real

    @property
    def full(self) -> bool:
        """Is it whole registers of AVX-512, whose instructions for parts of numbers apply?"""
        wide = self.b.target.x86 and self.b.target.vector_bytes == 64
        return wide and self.b.width > 0 and self.b.width * self.p.size % 64 == 0

    def held(self, x: Bits, low: Bits | int, high: int | None = None) -> Bits:
        """Signed numbers, within limits."""
        t = self.p.bits
        for name, limit in (("smax", low), ("smin", high)):
            if limit is not None:
                x = Bits(self, self.b.intrinsic(name, t, (t, x.name), (t, self.bits(limit).name)))
        return x

    def call(self, name: str, *operands: Real | float) -> Real:
        """An intrinsic that the processor has, or that is exact."""
        t = self.p.real
        return Real(self, self.b.intrinsic(name, t, *((t, self.real(x).name) for x in operands)))

    def each(self, function: str, x: Real, results: str) -> list[Real | Bits]:
        """A scalar function of every lane, with a letter for each result: d a real, q bits."""
        b = self.b
        types = {"d": "double", "q": "i64"}
        returned = "{ " + ", ".join(types[r] for r in results) + " }"
        found = ["poison"] * len(results)
        for k in range(max(b.width, 1)):
            lane = b.op(f"extractelement {b.ty(self.p.real)} {x.name}, i64 {k}") if b.width else x.name
            made = b.op(f"call {returned} @{function}(double {lane})")
            for r, letter in enumerate(results):
                one = b.op(f"extractvalue {returned} {made}, {r}")
                t = types[letter]
                found[r] = b.op(f"insertelement {b.ty(t)} {found[r]}, {t} {one}, i64 {k}") if b.width else one
        pairs = zip(results, found, strict=True)
        return [Real(self, name) if letter == "d" else Bits(self, name) for letter, name in pairs]
