"""Replacements with types: which instructions stand for a rule's replacement.

In:  a replacement, the types of its leaves, the ops that the program added.
Out: `Step`s, operands before operations, typed as NumPy would do it; or None where NumPy has no such loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy

from lazyarr.dtypes import char_of
from lazyarr.fusion.rewrite import CAST, Replacement, Value, is_number
from lazyarr.ops import OPS
from lazyarr.records import NamedTuple

Operand = str | type
"""The type of an operand: a character, or a Python type that follows the others."""

LEAF, NUMBER = "leaf", "number"


class Lowering(NamedTuple):
    """An op that a program added."""

    name: str
    sigs: tuple[str, ...]
    """Of an op with code of its own; empty for a composition."""
    entered: str
    """What bodies call it."""
    params: tuple[str, ...]
    tree: Replacement | None
    """Of a composition: what it stands for, with `params` for its operands."""


Ops = Mapping[str, Lowering]


class Step(NamedTuple):
    """One instruction, a leaf (`what`: the name or `Value`), or a number (`what`: a NumPy scalar)."""

    op: str
    sig: str
    args: tuple[int, ...] = ()
    """Numbers of steps."""
    what: Any = None


class Untyped(Exception):
    """NumPy has no loop for this."""


def typed(
    tree: Replacement, leaves: Mapping[Any, str], result: str, ops: Ops
) -> tuple[Step, ...] | None:
    """The steps of a replacement whose value has the type `result`; None where there are none."""
    steps: list[Step] = []
    try:
        at = _root(expanded(tree, ops), leaves, result, ops, steps)
    except (Untyped, OverflowError):
        return None
    return tuple(steps) if _char(steps[at]) == result else None


def expanded(tree: Any, ops: Ops) -> Any:
    """The replacement with compositions written out."""
    if not isinstance(tree, tuple) or isinstance(tree, Value):
        return tree
    args = [expanded(part, ops) for part in tree[1:]]
    made = ops.get(tree[0])
    if made is None or made.tree is None:
        return (tree[0], *args)
    return _put(expanded(made.tree, ops), dict(zip(made.params, args, strict=True)))


def _put(tree: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(tree, str):
        return given[tree]
    if not isinstance(tree, tuple) or isinstance(tree, Value):
        return tree
    return (tree[0], *(_put(part, given) for part in tree[1:]))


def _root(tree: Any, leaves: Mapping[Any, str], result: str, ops: Ops, steps: list[Step]) -> int:
    if isinstance(tree, tuple) and tree[0] == CAST:
        at = _step(tree[1], leaves, ops, steps)
        return _cast(steps, at, result)
    if is_number(tree):
        if not _fits(_type_of(tree), result):
            raise Untyped
        return _number(steps, tree, result)
    return _step(tree, leaves, ops, steps)


def _step(tree: Any, leaves: Mapping[Any, str], ops: Ops, steps: list[Step]) -> int:
    """Append what computes a tree; the number of its step."""
    if isinstance(tree, str | Value):
        return _append(steps, Step(LEAF, leaves[tree], (), tree))
    if is_number(tree):
        raise Untyped
    made = ops.get(tree[0])
    parts = [None if is_number(part) else _step(part, leaves, ops, steps) for part in tree[1:]]
    types = tuple(
        _type_of(part) if at is None else _char(steps[at]) for part, at in zip(tree[1:], parts, strict=True)
    )
    sig = loop_for(tree[0], types) if made is None else _of_sigs(made.sigs, types)
    if sig is None:
        raise Untyped
    args = [
        _number(steps, part, char) if at is None else _cast(steps, at, char)
        for part, at, char in zip(tree[1:], parts, sig.partition("->")[0], strict=True)
    ]
    return _append(steps, Step(tree[0] if made is None else made.entered, sig, tuple(args)))


def _append(steps: list[Step], step: Step) -> int:
    if step in steps:
        return steps.index(step)
    steps.append(step)
    return len(steps) - 1


def _char(step: Step) -> str:
    """The type of a step's value, the first of an op with several."""
    return step.sig if step.op in (LEAF, NUMBER) else step.sig.partition("->")[2][0]


def _cast(steps: list[Step], at: int, char: str) -> int:
    source = _char(steps[at])
    return at if source == char else _append(steps, Step(CAST, f"{source}->{char}", (at,)))


def _number(steps: list[Step], value: Any, char: str) -> int:
    made = numpy.dtype(char).type(value)
    steps.append(Step(NUMBER, char, (), made))
    return len(steps) - 1


def _type_of(number: Any) -> Operand:
    """As NumPy takes it: Python's numbers but bools follow the arrays."""
    if isinstance(number, numpy.generic):
        char = char_of(number.dtype)
        if char is None:
            raise Untyped
        return char
    return "?" if isinstance(number, bool) else type(number)


@cache
def loop_for(op: str, operands: tuple[Operand, ...]) -> str | None:
    """The signature of the loop that NumPy runs for such operands, or None."""
    row = OPS.get(op)
    if row is None or len(operands) != row.nin:
        return None
    types: list[Any] = [numpy.dtype(x) if isinstance(x, str) else x for x in operands]
    if op == "where":
        if operands[0] != "?":
            return None
        common = numpy.result_type(*(x if isinstance(x, numpy.dtype) else x(0) for x in types[1:]))
        char = char_of(common)
        return None if char is None else f"?{char}{char}->{char}"
    if not row.is_ufunc:
        return None
    try:
        found = row.fn.resolve_dtypes((*types, *(None,) * row.nout))
    except (TypeError, ValueError):
        return None
    chars = [char_of(dtype) for dtype in found]
    if None in chars:
        return None
    text = "".join(map(str, chars))
    return f"{text[: row.nin]}->{text[row.nin :]}"


def _of_sigs(sigs: tuple[str, ...], operands: tuple[Operand, ...]) -> str | None:
    """The first of an op's signatures that takes such operands without loss."""
    for sig in sigs:
        ins = sig.partition("->")[0]
        if len(ins) == len(operands) and all(map(_fits, operands, ins)):
            return sig
    return None


def _fits(operand: Operand, char: str) -> bool:
    target = numpy.dtype(char)
    if isinstance(operand, str):
        return numpy.can_cast(numpy.dtype(operand), target, "safe")
    return numpy.result_type(target, operand(0)) == target


def is_known(op: str, ops: Ops) -> bool:
    """May a pattern or replacement have it?"""
    row = OPS.get(op)
    return op == CAST or op in ops or (row is not None and op != "copy")


def arity(op: str, ops: Ops) -> int:
    if op == CAST:
        return 1
    made = ops.get(op)
    if made is None:
        return OPS[op].nin
    return len(made.params) if made.tree is not None else len(made.sigs[0].partition("->")[0])


