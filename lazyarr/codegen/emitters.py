"""Native emitters: one op on SSA values, as vector instructions with NumPy's exact bits.

In:  an op's name, a loop signature in canonical characters, the target.
Out: ``emit(b, args)``, which appends the op to a Builder and returns its results, one value per
output; or None where the op is not native, and the kernel calls NumPy's inner loop instead.
Holds: operands are of the signature's dtypes already.  The rules by family are in `emitters_*`;
float16 arithmetic without a rule of its own is done in float32 and rounded once per op, as NumPy
does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from lazyarr.codegen import (
    emitters_anatomy,
    emitters_arith,
    emitters_bits,
    emitters_compare,
    emitters_divide,
    emitters_select,
)
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_cast import CASTS
from lazyarr.codegen.emitters_types import Fn, Rules, Value, convert, lane
from lazyarr.codegen.natives import has_emitter
from lazyarr.ops import OPS, kind
from lazyarr.target import Target

Emit = Callable[[Builder, list[Value]], list[Value]]

RULES: Rules = {
    **emitters_anatomy.RULES,
    **emitters_arith.RULES,
    **emitters_bits.RULES,
    **emitters_compare.RULES,
    **emitters_divide.RULES,
    **emitters_select.RULES,
}


@cache
def emitter(name: str, sig: str, target: Target) -> Emit | None:
    """How to emit one op, or None: not native on this target.

    `name` is a row of the op table, or 'cast', which is 'copy'.
    """
    if not has_emitter(name, sig, target):
        return None
    inputs, outputs = sig.split("->")
    if name in ("cast", "copy"):
        return bound(CASTS[inputs, outputs], lane(inputs))
    rules = RULES[OPS[name].emitter]
    operand = inputs[-1]
    kinds = kind(operand)
    if name != "where" and inputs[0] != operand:
        kinds = inputs if inputs[0] in "efd" else kind(inputs[0]) + kinds
    if inputs[0] == "e" and kinds not in rules:
        return bound(_through_float(rules[kinds.replace("e", "f")], inputs, outputs), lane(operand))
    return bound(rules[kinds], lane(operand))


@cache
def clip_within(sig: str) -> Emit:
    """How to emit `ops.WITHIN`."""
    return bound(emitters_select.WITHIN, lane(sig[0]))


def bound(fn: Fn, t: str) -> Emit:
    """A rule as an emitter of lanes of a type."""
    def emit(b: Builder, args: list[Value]) -> list[Value]:
        found = fn(b, t, *args)
        return found if isinstance(found, list) else [found]

    return emit


def _through_float(fn: Fn, inputs: str, outputs: str) -> Fn:
    def emit(b: Builder, t: str, *operands: str) -> list[Value]:
        wide = (
            convert(b, "fpext", "half", x, "float") if char == "e" else x
            for char, x in zip(inputs, operands, strict=True)
        )
        found = fn(b, "float", *wide)
        results: list[Value] = found if isinstance(found, list) else [found]
        return [
            convert(b, "fptrunc", "float", str(y), "half") if char == "e" else y
            for char, y in zip(outputs, results, strict=True)
        ]

    return emit
