"""Simplify: fewer block parameters, no dead code.

In:  a `Function` of the translation, whose blocks take everything that lives as parameters.
Out: the same function, where a block takes only what differs between the ways into it.
An op that may stop is never dead: what it stands for raises; nor is one that may raise a status flag: NumPy
warns of it.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.records import replace
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
    """Parameters that every way in gives the same value (or what is found to be that value) become it.

    All are taken for the first value that is seen to come in, until another one comes: so those that blocks
    of a loop give to each other are found, too."""
    ways: dict[int, list[tuple[int, ...]]] = {}
    for block in f.blocks:
        for edge in edges(block.end):
            ways.setdefault(edge.block, []).append(edge.args)
    params = {v for block in f.blocks[1:] for v in block.params}
    same = dict[int, int]()
    changed = True
    while changed:
        changed = False
        for k, block in enumerate(f.blocks):
            for place, v in enumerate(block.params if k else ()):
                found = {same.get(a) if a in params else a for a in (args[place] for args in ways[k])}
                given = {a for a in found if a is not None}
                if same.get(v) == v or not given or given == {same.get(v)}:
                    continue
                same[v] = given.pop() if len(given) == 1 and v not in same else v
                changed = True
    return _rebuilt(f, lambda v: same.get(v, v) == v, lambda i: True, lambda v: same.get(v, v))


def _rebuilt(
    f: Function, lives: Callable[[int], bool], stays: Callable[[Inst], bool], called: Callable[[int], int]
) -> Function:
    """The function with the parameters that live (and the entry's), the instructions that stay, and values as
    they are called now."""
    keep = [[k == 0 or lives(v) for v in block.params] for k, block in enumerate(f.blocks)]

    def moved(edge: Edge) -> Edge:
        kept = zip(edge.args, keep[edge.block], strict=True)
        return Edge(edge.block, tuple([called(a) for a, keeps in kept if keeps]))

    def ended(end: End) -> End:
        if isinstance(end, Jump):
            return Jump(moved(end.edge))
        if isinstance(end, Branch):
            return Branch(called(end.cond), moved(end.true), moved(end.false))
        if isinstance(end, Return):
            return Return(tuple(map(called, end.values)), called(end.fuel))
        return end

    return replace(f, blocks=tuple([
        Block(
            tuple([v for v, keeps in zip(block.params, keep[k], strict=True) if keeps]),
            tuple([i._replace(args=tuple(map(called, i.args))) for i in block.body if stays(i)]),
            ended(block.end),
        )
        for k, block in enumerate(f.blocks)
    ]))  # fmt: skip


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
    return _rebuilt(f, needed.__contains__, lambda i: i.value in needed, lambda v: v)
