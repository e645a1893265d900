"""Which instructions of a parfor are emitted, and by what: the emitters of the op table, and a few more."""

from __future__ import annotations

from collections.abc import Mapping

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit, clip_within, emitter
from lazyarr.codegen.emitters_numpys import numpys
from lazyarr.codegen.emitters_ranges import range_emitter
from lazyarr.codegen.emitters_types import Value
from lazyarr.ops import OPS, WITHIN
from lazyarr.own_loops import own
from lazyarr.ranges import RANGES
from lazyarr.target import Target

DENSE = "dense"
"""The identity.  Being native, its result lies in contiguous memory when a call takes it."""


OFFSET, GATHER, SCATTER = "offset", "gather", "scatter"


def native(op: str, sig: str, target: Target) -> Emit | None:
    """How to emit an instruction; None if NumPy's inner loop runs it."""
    if op in OWN:
        return OWN[op]
    if op == WITHIN:
        return clip_within(sig)
    if op in RANGES:
        return range_emitter(op)
    if op in GIVEN:
        return GIVEN[op].get(sig)
    if target.without("emitters", op) and op in OPS and OPS[op].is_ufunc:
        return None
    found = emitter(op, sig, target)
    return numpys(op, sig, target) if found is None and not own(op, sig) else found


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


OWN: dict[str, Emit] = {DENSE: _same, OFFSET: _offset}
"""Instructions that are no ops of NumPy's: they raise no flag."""

GIVEN: dict[str, Mapping[str, Emit]] = {}
"""By signature: ops that a program added, by names that hold a digest of their code (`lazyarr.lowerings`)."""
