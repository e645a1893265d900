"""Emit `ranges.Range`: numbers at equal steps, from addresses that stand for their positions.

In:  addresses, the first one's, and the numbers of a `Range`.   Out: values.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit
from lazyarr.codegen.emitters_types import Value, lane
from lazyarr.ranges import RANGES, STEP_BYTES


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
            return [b.op(f"add {numbers} {b.op(f'mul {numbers} {n}, {step}')}, {first}")]
        n = b.op(f"sitofp {words} {k} to {numbers}")
        made: Value = b.op(f"fadd {numbers} {b.op(f'fmul {numbers} {n}, {step}')}, {first}")
        given = [(place, other)]
        if kind == "range":
            given.append((b.splat("i64", "0"), first))
        for number, element in given:
            here = b.op(f"icmp eq {words} {k}, {number}")
            made = b.op(f"select {b.ty('i1')} {here}, {numbers} {element}, {numbers} {made}")
        return [made]

    return emit
