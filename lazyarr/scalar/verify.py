"""Verify scalar IR: types, one definition for each value, definitions that dominate their uses.

In:  a `Function`.   Out: nothing; AssertionError says what is wrong.  Run under the option `verify`.
"""

from __future__ import annotations

from lazyarr.scalar.ir import Branch, Function, Inst, edges, uses
from lazyarr.scalar.ops import OPS
from lazyarr.scalar.values import TYPES


def verify(f: Function) -> None:
    """Check every rule of `ir`."""
    known = _dominators(f)
    made: dict[int, int] = {}
    for k, block in enumerate(f.blocks):
        for v in (*block.params, *(inst.value for inst in block.body)):
            assert v not in made, f"%{v} is defined twice"
            made[v] = k
    assert "".join(f.types[v] for v in f.blocks[0].params) == "n" + f.params, "the entry's parameters"
    for k, block in enumerate(f.blocks):
        if k not in known:
            continue                    # nothing leads there
        defined = {v for v, at in made.items() if at in known[k] and at != k} | set(block.params)
        for inst in block.body:
            assert set(inst.args) <= defined, f"{inst} uses what is not defined"
            _check(f, inst)
            defined.add(inst.value)
        assert set(uses(block.end)) <= defined, f"the end of block {k} uses what is not defined"
        if isinstance(block.end, Branch):
            assert f.types[block.end.cond] == "b", f"the condition of block {k}"
        for edge in edges(block.end):
            given = "".join(f.types[a] for a in edge.args)
            assert given == "".join(f.types[v] for v in f.blocks[edge.block].params), f"{edge} of block {k}"


def _check(f: Function, inst: Inst) -> None:
    given, result = "".join(f.types[a] for a in inst.args), f.types[inst.value]
    if inst.op == "const":
        assert result == TYPES[type(inst.attr)], inst
    elif inst.op == "element":
        assert result == "=" and given in ("b", "i", "f"), inst
    else:
        assert (given, result) == (OPS[inst.op].args, OPS[inst.op].result), inst


def _dominators(f: Function) -> dict[int, set[int]]:
    """Block -> the blocks that every way to it goes through, itself included."""
    ways: dict[int, list[int]] = {}
    order, todo = [], [0]
    while todo:
        k = todo.pop()
        if k in order:
            continue
        order.append(k)
        for edge in edges(f.blocks[k].end):
            ways.setdefault(edge.block, []).append(k)
            todo.append(edge.block)
    found = {k: set(order) for k in order}
    found[0] = {0}
    changed = True
    while changed:
        changed = False
        for k in order[1:]:
            now = {k} | set.intersection(*[found[p] for p in ways[k]])
            if now != found[k]:
                found[k], changed = now, True
    return found
