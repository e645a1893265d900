"""Dead code: instructions of a body whose values nobody uses, and operands that nothing is left to access.

In:  a body.   Out: what of it is used, with new numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from operator import attrgetter
from typing import Any

from lazyarr.fusion.body import Body, moved
from lazyarr.fusion.parfor import EFFECTS, Inst, Reduction

_ARGS = attrgetter("args")

MEMORY = frozenset({"load", "gather", "store", "scatter"})
"""Instructions that say which operand they are about; a 'reduce' does so in its Reduction."""


def uses(inst: Inst) -> tuple[int, ...]:
    """The values that an instruction needs, those in a Reduction included."""
    how = inst.attr
    if isinstance(how, Reduction):
        return (*inst.args, *(k for k in (how.start, how.mask) if k >= 0))
    return inst.args


def is_live(body: Body, ops: Set[str]) -> bool:
    """Does somebody use each value, be it a later value?  (So nearly always.)"""
    if "reduce" in ops:
        return False
    used = {*chain.from_iterable(map(_ARGS, body.insts))}
    return len(used) + body.mute == len(body.insts)


def live(body: list[Inst]) -> tuple[list[Inst], Mapping[int, int] | range]:
    """The body without the instructions whose values nobody uses, and the new numbers of the others."""
    needed = [inst.op in EFFECTS for inst in body]
    for k in reversed(range(len(body))):
        if needed[k]:
            inst = body[k]
            for arg in inst.args if inst.attr.__class__ is not Reduction else uses(inst):
                needed[arg] = True
    if all(needed):
        return body, range(len(body))
    place: dict[int, int] = {}
    kept: list[Inst] = []
    for k, inst in enumerate(body):
        if needed[k]:
            place[k] = len(kept)
            kept.append(moved(inst, tuple(place[arg] for arg in inst.args), place))
    return kept, place


def operands_of(body: Sequence[Inst], count: int) -> list[int]:
    """Which of so many operands a body is about."""
    used = {i.attr for i in body if i.op in MEMORY}
    used |= {i.attr.out for i in body if isinstance(i.attr, Reduction)}
    return [k for k in range(count) if k in used]


def numbered(body: Sequence[Inst], operands: Sequence[int], scalars: Sequence[int]) -> list[Inst]:
    """A body with other numbers of operands and scalars: their places among these."""
    place, scalar = ({old: new for new, old in enumerate(each)} for each in (operands, scalars))
    found: list[Inst] = []
    how: Any
    for inst in body:
        op, _, _, how = inst
        if op in MEMORY:
            inst = inst._replace(attr=place[how])
        elif op == "scalar":
            inst = inst._replace(attr=scalar[how])
        elif op == "reduce":
            inst = inst._replace(attr=how._replace(out=place[how.out]))
        found.append(inst)
    return found
