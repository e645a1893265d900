"""The levels of the option `debug` (``LAZYARR_DEBUG``): what is shown on stderr of each evaluation.

In:  an explanation and the programs of its plan.   Out: text.
`LEVELS` is the table: a level shows its row and all above.  Of a structure that was met before only the
expression is shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyarr.debug.code import assembly, loop_ir, modules, optimised, source, statistics, streams, tiers
from lazyarr.debug.explain import Explanation
from lazyarr.fusion.program import Program
from lazyarr.records import NamedTuple

Programs = Sequence[tuple[str, Program]]
"""The kernels of a plan, with the name of the group of each."""


class Level(NamedTuple):
    number: int
    name: str
    what: str
    show: Callable[[Explanation, Programs], str] | None
    """None: kernels show it as they are compiled or loaded (`dispatch.jit`, `kernels`)."""


def _expression(told: Explanation, _: Programs) -> str:
    return "\n".join(map(str, (*told.inputs, *told.operations)))


def _rewrites(told: Explanation, _: Programs) -> str:
    lines = {o.serial: o.created for o in told.operations}
    found = [(g.number, r) for g in told.groups for r in g.rewrites]
    return "\n".join(
        f"group {number}: #{r.serial} {r.op}: {r.rule}; {lines[r.serial]}".rstrip("; ") for number, r in found
    )


def _shapes(told: Explanation, _: Programs) -> str:
    rows = [f"#{o.serial} {o.op}: {o.dims}" for g in told.groups for o in g.operations]
    return "\n".join([*rows, f"where {told.legend}", *told.links] if told.legend else rows)


def _parfors(told: Explanation, _: Programs) -> str:
    return "\n".join(f"{g}\n{g.parfor}".rstrip() for g in told.groups)


def _loops(_: Explanation, programs: Programs) -> str:
    return "\n".join(f"{name}\n{loop_ir(p.parfor, streams(p))}" for name, p in programs)


def _each(programs: Programs, show: Callable[[str, int], str]) -> str:
    """Of each module of each kernel, at the tier that runs."""
    found = []
    for name, p in programs:
        tier = tiers(p.parfor)
        for what, ir in modules(source(p.parfor, streams(p))).items():
            found.append(f"{name} {what}, tier {tier[what]}: {show(ir, tier[what])}")
    return "\n".join(found)


def _optimised(_: Explanation, programs: Programs) -> str:
    return _each(programs, lambda ir, tier: f"no passes run\n{optimised(ir)}")


LEVELS = (
    Level(1, "expression", "operations of an evaluation; a line for each kernel that is loaded", _expression),
    Level(2, "llvm", "LLVM IR of kernels, when they are compiled or loaded; no passes run on it", None),
    Level(3, "rewrites", "which rule saved which operation", _rewrites),
    Level(4, "shapes", "dims that the program makes equal, and why", _shapes),
    Level(5, "parfors", "groups, the reasons for their boundaries, their bodies", _parfors),
    Level(6, "loops", "loop IR: tiled and vectorized", _loops),
    Level(7, "optimised", "LLVM IR as its code generator gets it, at no tier after passes", _optimised),
    Level(8, "assembly", "machine code as text", lambda _, programs: _each(programs, assembly)),
    Level(9, "statistics", "counts of instructions", lambda _, programs: _each(
        programs, lambda ir, tier: str(statistics(assembly(ir, tier))))),
)  # fmt: skip


def shown(level: int, told: Explanation, programs: Programs, new: bool) -> str:
    """What a level says of an evaluation, whose structure is new or was met before."""
    found = []
    for row in LEVELS:
        if row.number <= level and row.show is not None and (new or row.number == 1):
            text = row.show(told, programs)
            if text:
                found.append(f"lazyarr: {row.name}\n{text}")
    return "\n".join(found)
