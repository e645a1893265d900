"""Scalar IR: one call of a Python function on numbers, as basic blocks in SSA form.

In:  `translate` makes it from bytecode.   Out: `interpret` runs it, `emit` writes LLVM IR of it.

    function = Function(params, captured, outs, blocks, types)
    params   = a type a parameter: the arguments, then what the function captures
    outs     = a NumPy dtype character a result; "" before `results.typed`
    block    = Block(params, inst*, end)      block 0 is the entry; its params are the fuel, then `params`
    inst     = Inst(value, op, args, attr, place)   `ops.OPS` says what an op takes, makes and refuses
    end      = Jump(edge) | Branch(cond, edge, edge) | Return(values, fuel) | Stop(why, place)
    edge     = Edge(block, args)              args become the block's params
    type     = 'b' bool | 'i' int within 64 bits | 'f' float | 'n' fuel | '=' an element as it lies in memory

A value is a number, `types[value]` its type; it is defined once, in a block that dominates its uses.
An int is Python's: an op whose result would not fit in 64 bits stops.  To *stop* is to give up the whole
call: nothing has happened, so NumPy does all of it, and Python's own exception or result comes of that.
Every way round a loop takes a `tick` of the fuel, so nothing runs for ever unseen.
"""

from __future__ import annotations

from lazyarr.records import NamedTuple, dataclass

Number = bool | int | float


class Place(NamedTuple):
    """Where in the program, for reports: a function that is called may be of another file."""

    file: str = ""
    line: int = 0
    """0 where there is none."""


NOWHERE = Place()


class Inst(NamedTuple):
    value: int
    op: str
    args: tuple[int, ...] = ()
    attr: Number | str | None = None
    """The value of a `const`; the dtype character of an `element`."""
    place: Place = NOWHERE


class Edge(NamedTuple):
    block: int
    args: tuple[int, ...] = ()


class Jump(NamedTuple):
    edge: Edge


class Branch(NamedTuple):
    cond: int
    true: Edge
    false: Edge


class Return(NamedTuple):
    values: tuple[int, ...]
    fuel: int


class Stop(NamedTuple):
    why: str
    place: Place


End = Jump | Branch | Return | Stop


@dataclass(frozen=True, slots=True)
class Block:
    params: tuple[int, ...]
    body: tuple[Inst, ...]
    end: End


@dataclass(frozen=True, slots=True)
class Function:
    params: str
    outs: str
    blocks: tuple[Block, ...]
    types: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"function ({self.params}) -> ({self.outs})"]
        for k, block in enumerate(self.blocks):
            lines.append(f"  {k}({self._named(block.params)}):")
            for inst in block.body:
                attr = "" if inst.attr is None else f" {inst.attr!r}"
                args = ", ".join(f"%{a}" for a in inst.args)
                lines.append(f"    %{inst.value}:{self.types[inst.value]} = {inst.op}({args}){attr}")
            lines.append(f"    {_end(block.end)}")
        return "\n".join(lines)

    def _named(self, values: tuple[int, ...]) -> str:
        return ", ".join(f"%{v}:{self.types[v]}" for v in values)


def _end(end: End) -> str:
    match end:
        case Jump(edge):
            return f"jump {_edge(edge)}"
        case Branch(cond, true, false):
            return f"branch %{cond} {_edge(true)} else {_edge(false)}"
        case Return(values, fuel):
            return f"return {', '.join(f'%{v}' for v in values)} with %{fuel}"
        case Stop(why, place):
            return f"stop: {why} (line {place.line})"


def _edge(edge: Edge) -> str:
    return f"{edge.block}({', '.join(f'%{a}' for a in edge.args)})"


def edges(end: End) -> tuple[Edge, ...]:
    """Where a block goes on."""
    if isinstance(end, Jump):
        return (end.edge,)
    return (end.true, end.false) if isinstance(end, Branch) else ()


def uses(end: End) -> tuple[int, ...]:
    """The values that an end needs."""
    found: tuple[int, ...] = ()
    if isinstance(end, Branch):
        found = (end.cond,)
    elif isinstance(end, Return):
        found = (*end.values, end.fuel)
    return found + tuple(a for edge in edges(end) for a in edge.args)
