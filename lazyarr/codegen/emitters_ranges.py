"""Emit `ranges.Range`: numbers at equal steps, from addresses that stand for their positions.

In:  addresses, the first one's, and the numbers of a `Range`.   Out: values.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit
from lazyarr.codegen.emitters_types import Value, lane, literal
from lazyarr.ranges import RANGES, STEP_BYTES

EXPONENT, SHIFT = 0x433, 52
"""Of a double whose last bit counts one: its fraction's bits are a whole number."""


def _as_double(b: Builder, k: str) -> str:
    """A number of an element, which is small, in two instructions at any level."""
    words, doubles = b.ty("i64"), b.ty("double")
    high = b.op(f"or {words} {k}, {b.splat('i64', str(EXPONENT << SHIFT))}")
    high = b.op(f"bitcast {words} {high} to {doubles}")
    return b.op(f"fsub {doubles} {high}, {b.splat('double', literal(2.0**SHIFT))}")


def range_emitter(name: str) -> Emit:
    kind, char, _ = RANGES[name]
    t = lane(char)

    def emit(b: Builder, args: list[Value]) -> list[Value]:
        address, origin, first, step, place, other = args[:6]
        words, numbers = b.ty("i64"), b.ty(t)
        k = b.op(f"sub {words} {address}, {origin}")
        k = b.op(f"lshr {words} {k}, {b.splat('i64', str(STEP_BYTES.bit_length() - 1))}")
        if char in "li":
            n = k if char == "l" else b.op(f"trunc {words} {k} to {numbers}")
            if kind == "count":
                return [b.op(f"add {numbers} {n}, {first}")]
            return [b.op(f"add {numbers} {b.op(f'mul {numbers} {n}, {step}')}, {first}")]
        n = _as_double(b, k)
        if char == "f":
            n = b.op(f"fptrunc {b.ty('double')} {n} to {numbers}")
        made: Value = b.op(f"fadd {numbers} {b.op(f'fmul {numbers} {n}, {step}')}, {first}")
        given = [(place, other)] if kind in ("range", "line") else []
        if kind == "range":
            given.append((b.splat("i64", "0"), first))
        for number, element in given:
            here = b.op(f"icmp eq {words} {k}, {number}")
            made = b.op(f"select {b.ty('i1')} {here}, {numbers} {element}, {numbers} {made}")
        return [made]

    return emit
