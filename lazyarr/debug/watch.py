"""Looking on: what the options `debug` and `dump` say and write of each evaluation, before it runs.

In:  the pending nodes of one evaluation.   Out: text on stderr, folders.
Nothing is changed by looking: an error here is told on stderr, and the evaluation goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from lazyarr.config import current
from lazyarr.debug.explain import Explanation, explanation
from lazyarr.debug.levels import Programs, shown
from lazyarr.engine import groups_for
from lazyarr.expr import Expr
from lazyarr.plan import Step

MAX_MET = 4096
"""Structures that are remembered, to be shown once; all are forgotten when there are more."""

LISTENERS: list[Callable[[Explanation], None]] = []
"""Who else wants to know: the option's place is taken by being here."""

PLANNERS: list[Callable[[list[Expr], list[Expr]], None]] = []
"""Who makes plans of their own of each evaluation, before it runs (`bundles`); what they raise is raised."""

_met: set[tuple[object, ...]] = set()


def watch(nodes: list[Expr], roots: list[Expr], native: bool) -> None:
    """Show and write what the options ask for."""
    for plan in PLANNERS:
        plan(nodes, roots)
    if not (current.debug or current.dump or LISTENERS):
        return
    try:
        _watch(nodes, roots, native)
    except Exception as error:
        print(f"lazyarr: cannot show an evaluation: {type(error).__name__}: {error}", file=sys.stderr)


def _watch(nodes: list[Expr], roots: list[Expr], native: bool) -> None:
    w, parted, steps = groups_for(roots, nodes, native)
    told, programs = explanation(w, parted, steps), programs_of(steps)
    for listen in LISTENERS:
        listen(told)
    if current.debug:
        text = shown(current.debug, told, programs, _is_new(told))
        print(text, file=sys.stderr)
    if current.dump:
        from lazyarr.debug.dump import dump

        dump(w, told, programs, native)


def programs_of(steps: list[Step]) -> Programs:
    """The kernels of a plan, those that feed others before these."""
    found = []
    for at, step in enumerate(steps):
        for _, source in step.feeds:
            made = source.boxes or (source,)
            found += [(f"kernel {at}, feeding", s.program) for s in made if s.program is not None]
        if step.program is not None:
            found.append((f"kernel {at}", step.program))
        for box in step.boxes:
            assert box.program is not None
            found.append((f"kernel {at}, on a part", box.program))
        for part in step.rows.parts if step.rows is not None else ():
            assert part.step.program is not None
            found.append((f"kernel {at}, on rows", part.step.program))
    return found


def _is_new(told: Explanation) -> bool:
    """Is the structure another than that of all evaluations so far?"""
    structure = tuple(
        (g.shape, g.parfor, tuple(o.op for o in g.operations), tuple(r.why for r in g.refusals))
        for g in told.groups
    )
    if structure in _met:
        return False
    if len(_met) >= MAX_MET:
        _met.clear()
    _met.add(structure)
    return True
