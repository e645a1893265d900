"""What all emitters share: values in SSA, their LLVM types, constants, quiet comparisons.

In:  dtype characters, a Builder.   Out: types, literals, and the few instructions with a catch.
Holds: nothing here or in any emitter carries a fast-math flag, traps, calls a library function,
or contracts a multiplication and an addition.

A value is the name of one SSA value (or a literal), or for complex the pair (re, im).  The type of
its lanes follows from the dtype: i1 for bool, iN, half, float, double.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from lazyarr.codegen import halves
from lazyarr.codegen.builder import Builder
from lazyarr.dtypes import PLAIN

Value = str | tuple[str, str]

Fn = Callable[..., Value | list[Value]]
"""``fn(b, t, *operands)``: emit one op on lanes of LLVM type `t` (of a component, if complex)."""

Rules = dict[str, dict[str, Fn]]
"""Emitter key -> kind letter (ops.py; 'iu' and 'ui' for mixed operands, of floats and integers the
signature's characters) -> how it is emitted."""

ZERO = "zeroinitializer"
"""The zero (or False) of any type."""


def lane(char: str) -> str:
    """LLVM type of one lane; of one component for complex."""
    return "i1" if char == "?" else PLAIN[char].llvm


def bits_of(t: str) -> str:
    """The integer type as wide as `t`."""
    return {"half": "i16", "float": "i32", "double": "i64"}.get(t, t)


def size_of(t: str) -> int:
    """Bits of an integer type."""
    return int(t[1:])


def literal(value: float) -> str:
    """A float or double constant, exact: LLVM writes both as the bits of a double."""
    return "0x" + struct.pack(">d", value).hex().upper()


def binary(opcode: str) -> Fn:
    """An op that is one two-operand instruction."""

    def emit(b: Builder, t: str, x: str, y: str) -> str:
        return b.op(f"{opcode} {b.ty(t)} {x}, {y}")

    return emit


def intrinsic(name: str) -> Fn:
    """An op that is one LLVM intrinsic whose operands have the type of the result."""

    def emit(b: Builder, t: str, *operands: str) -> str:
        return b.intrinsic(name, t, *((t, x) for x in operands))

    return emit


def same(b: Builder, t: str, x: Value) -> Value:
    return x


def icmp(b: Builder, t: str, predicate: str, x: str, y: str) -> str:
    return b.op(f"icmp {predicate} {b.ty(t)} {x}, {y}")


def select(b: Builder, t: str, c: str, x: str, y: str) -> str:
    ty = b.ty(t)
    return b.op(f"select {b.ty('i1')} {c}, {ty} {x}, {ty} {y}")


def convert(b: Builder, opcode: str, source: str, x: str, target: str) -> str:
    """Convert; between half and float the instruction is one on four lanes, whose flags are those of all.

    Only the constrained form of a lone conversion clears the other three.  CPUs without the instruction
    take several, and say what it would (`halves`)."""
    if {source, target} == {"half", "float"}:
        if not b.target.half:
            return _widened(b, x) if source == "half" else _narrowed(b, x)
        if not b.width:
            return _lone(b, opcode, source, x, target)
    return b.op(f"{opcode} {b.ty(source)} {x} to {b.ty(target)}")


def _widened(b: Builder, x: str) -> str:
    return halves.widened(b, b.op(f"bitcast {b.ty('half')} {x} to {b.ty('i16')}"))


def _narrowed(b: Builder, x: str) -> str:
    raise_flag(b, "overflow", halves.overflowing(b, x))
    raise_flag(b, "underflow", halves.underflowing(b, x))
    return b.op(f"bitcast {b.ty('i16')} {halves.narrowed(b, x)} to {b.ty('half')}")


def _lone(b: Builder, opcode: str, source: str, x: str, target: str) -> str:
    name = f"{target} @llvm.experimental.constrained.{opcode}.{_SHORT[target]}.{_SHORT[source]}"
    rounding = [_ROUNDING] if opcode == "fptrunc" else []
    b.declare(f"declare {name}({', '.join([source, *['metadata'] * (1 + len(rounding))])})")
    operands = [f"{source} {x}", *rounding, 'metadata !"fpexcept.maytrap"']
    return b.op(f"call {name}({', '.join(operands)})")


def not_(b: Builder, x: str) -> str:
    return b.op(f"xor {b.ty('i1')} {x}, {b.splat('i1', 'true')}")


def and_(b: Builder, x: str, y: str) -> str:
    return b.op(f"and {b.ty('i1')} {x}, {y}")


def or_(b: Builder, x: str, y: str) -> str:
    return b.op(f"or {b.ty('i1')} {x}, {y}")


def any_(b: Builder, where: str) -> str:
    """Is it True in some lane (i1)?"""
    if not b.width:
        return where
    whole = b.op(f"bitcast {b.ty('i1')} {where} to i{b.width}")
    return b.op(f"icmp ne i{b.width} {whole}, 0")


_QUIET = {"oeq", "one", "une", "ueq", "ord", "uno"}
_SHORT = {"half": "f16", "float": "f32", "double": "f64"}


def fcmp(b: Builder, t: str, predicate: str, x: str, y: str) -> str:
    """Compare floats without raising 'invalid' on a quiet NaN, as NumPy's real loops do.

    x86's ordered vector compares signal, unless AVX's quiet forms are asked for, and only the
    constrained intrinsic asks for them.  Without AVX zeros are compared in the place of NaNs.
    """
    if "+avx" in b.target.features and predicate not in _QUIET:
        return _constrained(b, t, "fcmp", predicate, x, y, "maytrap")
    if predicate in _QUIET or not b.target.x86:
        return b.op(f"fcmp {predicate} {b.ty(t)} {x}, {y}")
    nan = b.op(f"fcmp uno {b.ty(t)} {x}, {y}")
    found = b.op(f"fcmp {predicate} {b.ty(t)} {select(b, t, nan, ZERO, x)}, {select(b, t, nan, ZERO, y)}")
    return or_(b, found, nan) if predicate.startswith("u") else and_(b, found, not_(b, nan))


def fcmp_signaling(b: Builder, t: str, predicate: str, x: str, y: str) -> str:
    """Compare floats and raise 'invalid' on any NaN, as NumPy's complex loops do."""
    return _constrained(b, t, "fcmps", predicate, x, y, "strict")


def _constrained(b: Builder, t: str, name: str, predicate: str, x: str, y: str, effects: str) -> str:
    ty = b.ty(t)
    mangled = f"v{b.width}{_SHORT[t]}" if b.width else _SHORT[t]
    callee = f"{b.ty('i1')} @llvm.experimental.constrained.{name}.{mangled}"
    b.declare(f"declare {callee}({ty}, {ty}, metadata, metadata)")
    return b.op(f'call {callee}({ty} {x}, {ty} {y}, metadata !"{predicate}", metadata !"fpexcept.{effects}")')


def fdiv(b: Builder, t: str, x: str, y: str) -> str:
    """Divide.  Two floats fill half a register; only the constrained form keeps the rest of it, and the
    'invalid' of 0 / 0 there, out of it."""
    ty = b.ty(t)
    if (t, b.width) != ("float", 2):
        return b.op(f"fdiv {ty} {x}, {y}")
    callee = f"{ty} @llvm.experimental.constrained.fdiv.v2f32"
    b.declare(f"declare {callee}({ty}, {ty}, metadata, metadata)")
    return b.op(f'call {callee}({ty} {x}, {ty} {y}, {_ROUNDING}, metadata !"fpexcept.maytrap")')


_ROUNDING = 'metadata !"round.tonearest"'


def raise_flag(b: Builder, flag: str, where: str) -> None:
    """Set one of the CPU's status flags if any lane of `where` is True.

    The status is an effect that the optimiser may not drop or move into lanes that did not ask,
    hence the constrained operation on one float.
    """
    hit = any_(b, where)
    opcode, left, harmful = _RAISERS[flag]
    # An integer select is a conditional move; one of floats may become a branch.
    right = b.op(f"bitcast i32 {b.op(f'select i1 {hit}, i32 {harmful}, i32 {_ONE}')} to float")
    name = f"float @llvm.experimental.constrained.{opcode}.f32"
    b.declare(f"declare {name}(float, float, metadata, metadata)")
    b.op(f'call {name}(float {left}, float {right}, {_ROUNDING}, metadata !"fpexcept.strict")')


_ONE = 0x3F800000
"""The bits of 1.0, as of the harmful operands below: 0.0, 2**127, 2**-20, infinity."""
_RAISERS = {
    "divide": ("fdiv", "1.0", 0),
    "overflow": ("fmul", literal(2.0**127), 0x7F000000),
    "underflow": ("fmul", literal(2.0**-126 * (1 + 2.0**-23)), 0x35800000),
    "invalid": ("fmul", "0.0", 0x7F800000),
}
