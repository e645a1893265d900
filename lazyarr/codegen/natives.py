"""Which instructions of a parfor kernels have code for, without importing what emits it.

In:  an op or another instruction, a signature in canonical characters, the target.
Out: whether there is an emitter; else kernels call NumPy's inner loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from lazyarr import ops
from lazyarr.op_targets import has
from lazyarr.ops import OPS, WITHIN
from lazyarr.own_loops import own
from lazyarr.ranges import RANGES
from lazyarr.target import Target

if TYPE_CHECKING:
    from lazyarr.codegen.emitters import Emit

DENSE = "dense"
"""The identity.  Being native, its result lies in contiguous memory when a call takes it."""

OFFSET, GATHER, SCATTER = "offset", "gather", "scatter"

OWN = frozenset({DENSE, OFFSET})
"""Instructions that are no ops of NumPy's, and have emitters: they raise no flag."""

GIVEN: dict[str, Mapping[str, Emit]] = {}
"""By signature: ops that a program added, by names that hold a digest of their code (`lazyarr.lowerings`)."""


@cache
def has_emitter(name: str, sig: str, target: Target) -> bool:
    """Has a row of the op table an emitter for these types (`emitters`)?  'cast' is 'copy'."""
    op = OPS.get("copy" if name == "cast" else name)
    if op is None or not has(op.targets, target.name):
        return False
    return op.name == "copy" or ops.native(name, sig)


def is_native(op: str, sig: str, target: Target) -> bool:
    """Is there an emitter of an instruction (`native`)?"""
    if op in OWN or op == WITHIN or op in RANGES:
        return True
    if op in GIVEN:
        return sig in GIVEN[op]
    if target.without("emitters", op) and op in OPS and OPS[op].is_ufunc:
        return False
    return has_emitter(op, sig, target) or (not own(op, sig) and bool(target.whose(op, sig)))
