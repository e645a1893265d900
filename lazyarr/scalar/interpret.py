"""Interpret scalar IR in Python: the oracle that tests compare machine code with.

In:  a `Function`, Python numbers.   Out: the numbers that it returns; `Stopped` where it gives up.
"""

from __future__ import annotations

from typing import Any

from lazyarr.scalar.ir import Branch, Edge, Function, Inst, Jump, Return
from lazyarr.scalar.ops import HIGH, OPS, Stopped
from lazyarr.scalar.results import INTEGERS

FUEL = 1 << 20


def interpret(f: Function, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results for one set of arguments: as elements, if the function returns such."""
    if any(isinstance(x, int) and x > HIGH for x in args):
        raise Stopped
    values: dict[int, Any] = dict(zip(f.blocks[0].params, (FUEL, *args), strict=True))
    block = f.blocks[0]
    while True:
        for inst in block.body:
            values[inst.value] = _value(inst, values)
        end = block.end
        if isinstance(end, Return):
            return tuple([values[v] for v in end.values])
        if not isinstance(end, Jump | Branch):
            raise Stopped
        edge: Edge = end.edge if isinstance(end, Jump) else end.true if values[end.cond] else end.false
        block = f.blocks[edge.block]
        values |= dict(zip(block.params, [values[a] for a in edge.args], strict=True))


def _value(inst: Inst, values: dict[int, Any]) -> Any:
    args = [values[a] for a in inst.args]
    if inst.op == "const":
        return inst.attr
    if inst.op == "tick":
        if args[0] <= 1:
            raise Stopped
        return args[0] - 1
    if inst.op == "element":
        return _element(args[0], str(inst.attr))
    meaning = OPS[inst.op].meaning
    if meaning is None:
        raise Stopped
    try:
        return meaning(*args)
    except (ArithmeticError, ValueError):
        raise Stopped from None


def _element(x: Any, char: str) -> Any:
    if char == "?":
        return bool(x)
    if char not in INTEGERS:
        return float(x)
    low, high = INTEGERS[char]
    try:
        whole = int(x)
    except (ArithmeticError, ValueError):
        raise Stopped from None
    if not low <= whole <= high:
        raise Stopped
    return whole
