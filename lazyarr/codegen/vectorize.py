"""Vectorize: an element-wise loop -> a loop over vectors and one over the elements that are left.

In:  a kernel whose loops go one element at a time.   Out: the same with 'main' and 'rest' loops.
The widest element type of a loop fills one vector register; narrower ones travel in part of one,
so that lanes stay together without shuffles.  Loops are not unrolled: the processor overlaps iterations by
itself (2 and 4 vectors an iteration were no faster), and short rows leave less to the 'rest'.  Where an
iteration is too long for that, those of hot kernels take several vectors at once (`Tuning.abreast`), and a
loop over single ones comes in between, 'more'.
"""

from __future__ import annotations

from lazyarr.codegen.emit_rows import overlapping
from lazyarr.codegen.emitters_numpys import numpys
from lazyarr.codegen.loopir import Apply, Blocks, Gather, Kernel, Load, Loop, Scatter, Stmt, Store
from lazyarr.dtypes import PLAIN
from lazyarr.records import replace
from lazyarr.target import Target
from lazyarr.tuning import tuning


def vectorize(kernel: Kernel, target: Target) -> Kernel:
    """Cut every loop into vectors and a rest."""
    if target.without("vectorize"):
        return kernel
    kernel = replace(kernel, body=tuple(_statements(kernel.body, target)))
    if kernel.hot and tuning(target.name).abreast > 1 and not overlapping(kernel):
        return replace(kernel, body=tuple(_abreast(kernel.body, target)))
    return kernel


def _statements(stmts: tuple[Stmt, ...], target: Target) -> list[Stmt]:
    found: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, Blocks):
            found.append(replace(stmt, body=tuple(_statements(stmt.body, target))))
        elif isinstance(stmt, Loop) and vectorizable(stmt):
            lanes = lanes_of(stmt, target)
            found += [replace(stmt, part="main", lanes=lanes), replace(stmt, part="rest")]
        else:
            found.append(stmt)
    return found


def _abreast(stmts: tuple[Stmt, ...], target: Target) -> list[Stmt]:
    """Several vectors at once, then single ones, where loops are long."""
    found: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, Blocks):
            found.append(replace(stmt, body=tuple(_abreast(stmt.body, target))))
        elif isinstance(stmt, Loop) and stmt.part == "main" and is_long(stmt, target):
            lanes = stmt.lanes * tuning(target.name).abreast
            found += [replace(stmt, lanes=lanes), replace(stmt, part="more")]
        else:
            found.append(stmt)
    return found


def vectorizable(loop: Loop) -> bool:
    """Not where a store goes to one place for all elements: there is only one element then."""
    return not any(isinstance(lane, Store) and lane.ref.access == "z" for lane in loop.body)


LONG = 24
"""Instructions of a loop from which on the processor's window does not reach far enough into the next rounds:
they wait for each other, and several vectors abreast do not."""

FUNCTION = 12
"""As many instructions, at least, is a function of NumPy's that is written into the loop."""


def is_long(loop: Loop, target: Target) -> bool:
    """Is it a long chain of arithmetic, and little else?"""
    if any(not isinstance(lane, Apply | Load | Store) for lane in loop.body):
        return False
    if any(lane.ref.access != "u" for lane in loop.body if isinstance(lane, Load | Store)):
        return False
    applied = [(lane.op, lane.sig) for lane in loop.body if isinstance(lane, Apply)]
    return sum(FUNCTION if numpys(*each, target) else 1 for each in applied) >= LONG


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
