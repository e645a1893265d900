"""Simplify: fewer block parameters, no dead code.

In:  a `Function` of the translation, whose blocks take everything that lives as parameters.
Out: the same function, where a block takes only what differs between the ways into it.
An op that may stop is never dead: what it stands for raises; nor is one that may raise a status flag: NumPy
warns of it.
"""

from __future__ import annotations

from dataclasses import replace

from lazyarr.scalar.ir import Block, Branch, Edge, End, Function, Inst, Jump, Return, edges, uses
from lazyarr.scalar.ops import OPS


def simplified(f: Function) -> Function:
    """Both, until nothing changes."""
    while True:
        smaller = _live(_unmerged(f))
        if smaller == f:
            return f
        f = smaller


def _unmerged(f: Function) -> Function:
    """Parameters that every way in gives the same value (or the parameter itself) become that value."""
    same = dict[int, int]()

    def last(v: int) -> int:
        while v in same:
            v = same[v]
        return v

    ways: dict[int, list[tuple[int, ...]]] = {}
    for block in f.blocks:
        for edge in edges(block.end):
            ways.setdefault(edge.block, []).append(edge.args)
    changed = True
    while changed:
        changed = False
        for k, block in enumerate(f.blocks):
            for place, v in enumerate(block.params if k else ()):
                if v in same:
                    continue
                given = {last(args[place]) for args in ways[k]} - {v}
                if len(given) == 1:
                    same[v], changed = given.pop(), True
    keep = [[k == 0 or v not in same for v in block.params] for k, block in enumerate(f.blocks)]

    def moved(edge: Edge) -> Edge:
        kept = zip(edge.args, keep[edge.block], strict=True)
        return Edge(edge.block, tuple([last(a) for a, keeps in kept if keeps]))

    return replace(f, blocks=tuple([
        Block(
            tuple([v for v, keeps in zip(block.params, keep[k], strict=True) if keeps]),
            tuple([i._replace(args=tuple([last(a) for a in i.args])) for i in block.body]),
            _ended(block.end, moved, last),
        )
        for k, block in enumerate(f.blocks)
    ]))  # fmt: skip


def _ended(end: End, moved, last) -> End:  # type: ignore[no-untyped-def]
    if isinstance(end, Jump):
        return Jump(moved(end.edge))
    if isinstance(end, Branch):
        return Branch(last(end.cond), moved(end.true), moved(end.false))
    if isinstance(end, Return):
        return Return(tuple([last(v) for v in end.values]), last(end.fuel))
    return end


def _live(f: Function) -> Function:
    """Without the instructions and parameters whose values nobody uses."""
    needed: set[int] = set()
    todo: list[int] = []
    made: dict[int, Inst] = {}
    sources: dict[int, list[int]] = {}
    for block in f.blocks:
        for inst in block.body:
            made[inst.value] = inst
            if OPS[inst.op].stops or OPS[inst.op].flags:
                todo.append(inst.value)
        end = block.end
        todo += [end.cond] if isinstance(end, Branch) else uses(end) if isinstance(end, Return) else ()
        for edge in edges(end):
            for v, a in zip(f.blocks[edge.block].params, edge.args, strict=True):
                sources.setdefault(v, []).append(a)
    while todo:
        v = todo.pop()
        if v not in needed:
            needed.add(v)
            todo += made[v].args if v in made else sources.get(v, ())
    keep = [[k == 0 or v in needed for v in block.params] for k, block in enumerate(f.blocks)]

    def moved(edge: Edge) -> Edge:
        kept = zip(edge.args, keep[edge.block], strict=True)
        return Edge(edge.block, tuple([a for a, keeps in kept if keeps]))

    return replace(f, blocks=tuple([
        Block(
            tuple([v for v, keeps in zip(block.params, keep[k], strict=True) if keeps]),
            tuple([i for i in block.body if i.value in needed]),
            _ended(block.end, moved, lambda v: v),
        )
        for k, block in enumerate(f.blocks)
    ]))  # fmt: skip
