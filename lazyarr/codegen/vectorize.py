"""Vectorize: an element-wise loop -> a loop over vectors and one over the elements that are left.

In:  a kernel whose loops go one element at a time.   Out: the same with 'main' and 'rest' loops.
The widest element type of a loop fills one vector register; narrower ones travel in part of one,
so that lanes stay together without shuffles.  Loops are not unrolled: the processor overlaps iterations by
itself (2 and 4 vectors an iteration were no faster), and short rows leave less to the 'rest'.
"""

from __future__ import annotations

from dataclasses import replace

from lazyarr.codegen.loopir import Apply, Blocks, Gather, Kernel, Load, Loop, Scatter, Stmt, Store
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target
from lazyarr.tuning import tuning


def vectorize(kernel: Kernel, target: Target) -> Kernel:
    """Cut every loop into vectors and a rest."""
    if target.without("vectorize"):
        return kernel
    return replace(kernel, body=tuple(_statements(kernel.body, target)))


def _statements(stmts: tuple[Stmt, ...], target: Target) -> list[Stmt]:
    found: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, Blocks):
            found.append(replace(stmt, body=tuple(_statements(stmt.body, target))))
        elif isinstance(stmt, Loop) and vectorizable(stmt):
            import os
            lanes = lanes_of(stmt, target) * int(os.environ.get("WIDER","1"))
            found += [replace(stmt, part="main", lanes=lanes), replace(stmt, part="rest")]
        else:
            found.append(stmt)
    return found


def vectorizable(loop: Loop) -> bool:
    """Not where a store goes to one place for all elements: there is only one element then."""
    return not any(isinstance(lane, Store) and lane.ref.access == "z" for lane in loop.body)


def lanes_of(loop: Loop, target: Target) -> int:
    """Elements of a vector."""
    chars: set[str] = set()
    for lane in loop.body:
        if isinstance(lane, Apply):
            chars.update(lane.sig.replace("->", ""))
        elif isinstance(lane, Load | Gather | Store | Scatter):
            chars.add(lane.ref.char)
    return tuning(target.name).step_bytes // max(component_bytes(c) for c in chars)


def component_bytes(char: str) -> int:
    """Bytes of what one lane of a register holds: a complex number takes two registers."""
    plain = PLAIN[char]
    return plain.itemsize // 2 if plain.kind == "c" else plain.itemsize
