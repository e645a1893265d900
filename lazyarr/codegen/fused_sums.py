"""Sums as fused products with one: work for the units that compute products, where sums take longer.

In:  the body of a loop; sums among it.   Out: which of them, and their code.
``x + y`` and ``x * 1 + y`` are rounded once, to the same; which of two NaNs they give is nobody's.  Units
for sums and those for products take part in nothing of each other's, so a body of many sums and few products
waits for the one while the other rests.
LLVM must not know the one, or it makes sums of these products again.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emit_body import Registers
from lazyarr.codegen.emit_lanes import splat_value
from lazyarr.codegen.loopir import Apply, Lane

TYPES = {"d": "double", "f": "float"}
SUMS = {(op, 2 * c + "->" + c) for op in ("add", "subtract") for c in TYPES}
PRODUCTS = {("multiply", sig) for _, sig in SUMS}


def chosen(body: Sequence[Lane]) -> dict[int, str]:
    """The places in a body of sums that are to be products, with their types: every other one, as many as
    leave both kinds of units the same work."""
    sums = [k for k, lane in enumerate(body) if isinstance(lane, Apply) and (lane.op, lane.sig) in SUMS]
    products = sum(isinstance(lane, Apply) and (lane.op, lane.sig) in PRODUCTS for lane in body)
    most = max(0, len(sums) - products + 1) // 2
    found = dict[int, str]()
    for k in [*sums[::2], *sums[1::2]][:most]:
        lane = body[k]
        assert isinstance(lane, Apply)
        found[k] = lane.sig[0]
    return found


def one(b: Builder, char: str, number: str) -> str:
    """A one in all lanes, which LLVM does not know to be one: it knows nothing of a `number`, which is none
    below 0."""
    one = b.op(f"select i1 {b.op(f'icmp sge i64 {number}, 0')}, {TYPES[char]} 1.0, {TYPES[char]} 2.0")
    return str(splat_value(b, char, one))


def fused(b: Builder, lane: Apply, registers: Registers, one: str) -> None:
    """A sum or a difference, if it is among `SUMS`.

    (At tier 1 to change a sign is an operation of its own, which changes that of NaNs, too.)"""
    (result,), char = lane.values, lane.sig[0]
    x, y = (registers.value(a) for a in lane.args)
    assert isinstance(x, str) and isinstance(y, str)
    if lane.op == "subtract":
        y = b.op(f"fneg {b.ty(TYPES[char])} {y}")
    registers.chars[result] = char
    registers.values[result] = sum_as_product(b, char, x, one, y)


def sum_as_product(b: Builder, char: str, x: str, one: str, y: str) -> str:
    """``x + y``."""
    t = TYPES[char]
    return b.intrinsic("fma", t, (t, x), (t, one), (t, y))
