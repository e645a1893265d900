"""By what the instructions of a parfor are emitted: the emitters of the op table, and a few more."""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit, clip_within, emitter
from lazyarr.codegen.emitters_numpys import numpys
from lazyarr.codegen.emitters_ranges import range_emitter
from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.natives import DENSE, GIVEN, OFFSET, OWN, is_native
from lazyarr.ops import WITHIN
from lazyarr.ranges import RANGES
from lazyarr.target import Target


def native(op: str, sig: str, target: Target) -> Emit | None:
    """How to emit an instruction; None if NumPy's inner loop runs it."""
    if not is_native(op, sig, target):
        return None
    if op in OWN:
        return _OWN[op]
    if op == WITHIN:
        return clip_within(sig)
    if op in RANGES:
        return range_emitter(op)
    if op in GIVEN:
        return GIVEN[op][sig]
    found = emitter(op, sig, target)
    return numpys(op, sig, target) if found is None else found


def _same(b: Builder, args: list[Value]) -> list[Value]:
    return args


def _offset(b: Builder, args: list[Value]) -> list[Value]:
    """Whatever the positions are, each step ends inside its axis: memory may change after it was checked."""
    ty, found = b.ty("i64"), ""
    for position, extent, stride in zip(args[::3], args[1::3], args[2::3], strict=True):
        negative = b.op(f"icmp slt {ty} {position}, {b.splat('i64', '0')}")
        other = b.op(f"add {ty} {position}, {extent}")
        inside = b.op(f"select {b.ty('i1')} {negative}, {ty} {other}, {ty} {position}")
        last = b.op(f"sub {ty} {extent}, {b.splat('i64', '1')}")
        held = b.intrinsic("umin", "i64", ("i64", inside), ("i64", last))
        step = b.op(f"mul {ty} {held}, {stride}")
        found = b.op(f"add {ty} {found}, {step}") if found else step
    return [found]


_OWN: dict[str, Emit] = {DENSE: _same, OFFSET: _offset}
