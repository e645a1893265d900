"""Which instructions of a parfor are emitted, and by what: the emitters of the op table, and `dense`."""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit, emitter
from lazyarr.codegen.emitters_types import Value
from lazyarr.target import Target

DENSE = "dense"
"""The identity.  Being native, its result lies in contiguous memory when a call takes it."""


def native(op: str, sig: str, target: Target) -> Emit | None:
    """How to emit an instruction; None if NumPy's inner loop runs it."""
    return _same if op == DENSE else emitter(op, sig, target)


def _same(b: Builder, args: list[Value]) -> list[Value]:
    return args
