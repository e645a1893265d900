"""Results as NumPy stores them: what an object becomes as an element of a dtype.

In:  a `Function` that returns numbers, a dtype character a result.   Out: one that returns elements.
NumPy makes an int of a float for an integer dtype and refuses what does not fit; a float that only float32
finds infinite is warned of.  Both stop.
"""

from __future__ import annotations

from lazyarr.records import replace
from lazyarr.scalar.ir import NOWHERE, Block, Function, Inst, Return, Stop

CHARS = frozenset("?bhilBHILfd")
"""Dtypes that results are stored as.  (CPUs make no float16 of a float64 in one rounding.)"""


def typed(f: Function, outs: str) -> Function:
    """The function for results of these dtypes."""
    types = list(f.types)
    blocks: list[Block] = []
    for block in f.blocks:
        end = block.end
        if not isinstance(end, Return):
            blocks.append(block)
        elif len(end.values) != len(outs):
            blocks.append(Block(block.params, block.body, Stop("another number of results", NOWHERE)))
        else:
            made = []
            for v, char in zip(end.values, outs, strict=True):
                made.append(Inst(len(types), "element", (v,), char))
                types.append("=")
            end = Return(tuple([i.value for i in made]), end.fuel)
            blocks.append(Block(block.params, (*block.body, *made), end))
    return replace(f, outs=outs, blocks=tuple(blocks), types=tuple(types))


INTEGERS = {
    "b": (-(1 << 7), (1 << 7) - 1), "h": (-(1 << 15), (1 << 15) - 1), "i": (-(1 << 31), (1 << 31) - 1),
    "l": (-(1 << 63), (1 << 63) - 1), "B": (0, (1 << 8) - 1), "H": (0, (1 << 16) - 1),
    "I": (0, (1 << 32) - 1), "L": (0, (1 << 63) - 1),
}  # fmt: skip
"""What is stored as an integer dtype; of uint64 half, since an int here has 64 bits with its sign."""


def stops(source: str, char: str) -> str:
    """Why storing a number of a type may stop; "" if it never does."""
    if source == "b" or char in "?d" or source + char in ("il", "if"):
        return ""
    return _INFINITE if char == "f" else f"a result that does not fit the dtype {char!r}"


_INFINITE = "a result that is infinite in float32"
