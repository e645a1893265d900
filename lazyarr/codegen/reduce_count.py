"""Counting: an integer sum over bools, one population count for each vector.

In:  a parfor along its innermost loop that folds a cast bool by 'add', in any order.   Out: `counted`, the
same without the cast; and the instructions that count the True lanes of vectors.
"""

from __future__ import annotations

from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.mask_bits import true_lanes
from lazyarr.codegen.reduce_flow import Function
from lazyarr.fusion.parfor import Inst, Parfor, Reduction


def counted(parfor: Parfor) -> Parfor:
    """Fold bools themselves where they are counted: the 'reduce' says an integer type, its value is bool."""
    body = [_counts(inst, parfor.body) for inst in parfor.body]
    if body == list(parfor.body):
        return parfor
    return Parfor(parfor.dims, parfor.operands, parfor.scalars, _needed(body))


def _counts(inst: Inst, body: tuple[Inst, ...]) -> Inst:
    how = inst.attr
    if not isinstance(how, Reduction) or how.ufunc != "add" or how.order != "any" or inst.sig == "?":
        return inst
    cast = body[inst.args[0]]
    return inst._replace(args=cast.args) if cast.op == "cast" and cast.sig[0] == "?" else inst


def _needed(body: list[Inst]) -> tuple[Inst, ...]:
    """Without casts that nobody uses any more; scalars stay, since they are numbered."""
    used: set[int] = set()
    for inst in body:
        used.update(inst.args)
        if isinstance(inst.attr, Reduction):
            used.add(inst.attr.mask)
    kept = [v for v, inst in enumerate(body) if inst.op != "cast" or v in used]
    place = {v: k for k, v in enumerate(kept)}
    found = []
    for v in kept:
        inst = body[v]._replace(args=tuple(place[a] for a in body[v].args))
        how = inst.attr
        if isinstance(how, Reduction) and how.mask >= 0:
            inst = inst._replace(attr=how._replace(mask=place[how.mask]))
        found.append(inst)
    return tuple(found)


def add_counts(b: Function, total: str, batch: list[tuple[Value, str | None]]) -> str:
    """`total`, a 64-bit integer, and how many lanes of some vectors of bools (or bools) are True."""
    flags = []
    for value, mask in batch:
        assert isinstance(value, str)
        i1 = b.ty("i1")
        flags.append(value if mask is None else b.op(f"and {i1} {value}, {mask}"))
    for count in _true(b, flags):
        total = b.add(total, count)
    return total


def _true(b: Function, flags: list[str]) -> list[str]:
    if b.width:
        return true_lanes(b, flags, b.width)
    return [b.op(f"zext i1 {flag} to i64") for flag in flags]
